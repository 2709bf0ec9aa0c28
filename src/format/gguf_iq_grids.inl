// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// The code books of GGUF's IQ types. The packing is ours, the data are those of ggml (by its authors;
// taken from its Python package gguf 0.19), under this licence:
//
// MIT License
//
// Copyright (c) 2023 Georgi Gerganov
//
// Permission is hereby granted, free of charge, to any person obtaining a copy
// of this software and associated documentation files (the "Software"), to deal
// in the Software without restriction, including without limitation the rights
// to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
// copies of the Software, and to permit persons to whom the Software is
// furnished to do so, subject to the following conditions:
//
// The above copyright notice and this permission notice shall be included in all
// copies or substantial portions of the Software.
//
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
// FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
// AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
// LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
// OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
// SOFTWARE.
//
// An entry is two characters. A character c stands for the number c - '(': four digits of base 3
// (IQ1, IQ2) or two of base 8 (IQ3), the first value of the entry in the lowest digit. Digits index
// the list of levels that goes with the table. Line ends do not count.

inline constexpr std::string_view kIq2XxsGrid = R"(
((*(,(.(0(2(4(:(<(@(B(D(F(L(R(V(X(^(`(f(r())+)1)5)C)a)m)(***<*`*)+++1+;+=+C+E+I+U+_+a+g+s+(,*,.,:,
H,\,^,h,/-1-C-a-s-(.,...4.@.D.F.L.N.d.+/C/*040)1+111;1C1U1a1g1k1(2.2:2L2T2^2=3G3(4.4:4>4J4^475W5(6
66)7+717C7_7(8,8p8M9(:*:0:F:V:^:`:A;I;(<*<)=+=1=C=Q=(>D>X>g?.@:@j@FB)C+C1C7C;C=CCCICQCUC_CaCgC(D:D
VD^DbD)E1EIEQE[E(F.F:F^FnF3G=G(H)I+I1ICIGI(JRJVJ`JGKgK(L.L2L8L:L^LdL+MEMsMhNgOiO0P)QOQ(R2R8RXRCS.T
+U1UCU[U(VPV7WUW(X,X1Y3YaYE[(^*^0^D^`^+_7_C_2`)a+a1a5aCaUa(bHbjb/cCcUc*d+e2f+g1g=gCgqg6h^hGi(j<jFj
Mk_m:n*pLpbp/q(r7sLv+w
)";

inline constexpr std::string_view kIq2XsGrid = R"(
((*(,(.(0(2(4(6(8(:(<(>(@(D(F(H(J(L(N(P(R(V(X(^(`(b(d(h(j(n(p())+)-)/)1)3)5)7)9);)=)C)E)G)I)M)O)U)
[)_)a)g)(***,*.*2*4*:*D*F*L*P*^*f*)+++-+/+1+3+5+7+;+=+C+E+G+I+M+O+Q+U+_+a+g+(,*,,,.,2,4,:,D,F,L,V,
^,)-+-1-?-C-E-a-(.*.,...0.2.4.:.>.D.F.L.R.^.p.x.)/+/1/C/_/e/(0:0@0l0p0)1+1-1/111315171;1=1C1E1G1I1
M1O1U1]1_1a1g1(2*2,2.22242:2D2F2L2^2j2l2)3+3-313C3U3(4*4,4.42444:4D4F4J4L4X4^4)5+515C5(646J6)7+717
37C7O7c7(8,8Z8M9w9(:*:,:.:0:2:4:::D:F:L:^:p:);+;1;C;I;Y;(<<<^<v<)=+=1=A=C=(>D>N>n>)?9?u?(@.@0@:@P@
d@r@[AgA.B:B`BdBfB)C+C-C/C1C3C5C7C;C=CCCECGCICKCMCOCUCYC_CaCgC(D*D,D.D2D4D:DDDFDLD^DbDrD)E+E1E3EAE
CE(F*F,F.F2F4F8F:FDFFFLF^FjF)G+G1G=GCGoG(H0HFHLH)I+I1ICIGIOIWI(J2JFJLJ\J+K(L*L,L.L2L4L:L@LDLFLLL^L
)M+M1M5MCMEM(NFNxN)O+O1O;OCOUO_OqO(P.P^PdP;Q[QqQ(R4RDRLRnR9SCSESbT)U+U1UCUOUWUcUwU(V=WKWiW(X6X1YCY
GYsY)[][>\-]O]W](^*^,^.^2^4^:^B^D^F^L^^^`^v^x^)_+_-_1_C_M_S_(`:`^```p`v`)a+a1a3a5aCaUaea(bFbtb7c]c
(d.d>dTd^d`dvd-e<f^fdflfvf)g+g1gCgQgag(h<hXhQiei(j,jFjLjRjAkgkikDlMmumJn5oUo(p*p.p0p:pBpppMqSquq(r
*r.rBr^rprCsksYumu0v:v<v@vpvvv+wawcw@xBxhxxx
)";

inline constexpr std::string_view kIq2SGrid = R"(
((*(,(.(0(2(4(6(8(:(<(>(@(D(F(H(J(L(N(P(R(V(X(Z(\(^(`(b(d(h(j(p(t(x())+)-)/)1)3)5)7);)=)C)E)G)I)M)
O)Q)S)U)Y)[)_)a)g)i)k)q)s)(***,*.*2*4*:*B*D*F*H*J*L*P*^*b*f*j*r*)+++-+/+1+3+5+7+;+=+?+A+C+E+G+I+K+
M+O+Q+S+U+W+Y+_+a+c+e+g+k+m+q+s+(,*,,,.,0,2,4,6,8,:,>,@,D,F,H,J,L,N,P,R,V,X,^,`,b,d,h,j,p,)-+---/-
1-5-C-G-I-M-O-U-_-a-g-(.*.,...2.4.6.8.:.>.B.D.F.H.J.L.N.P.R.V.X.^.b.j.x.)/+/1/3/5/7/;/C/G/I/M/O/U/
_/g/(02040<0@0B0L0n0)1+1-1/111315171;1=1?1C1E1G1I1M1O1Q1S1U1W1Y1[1_1a1c1g1k1m1q1s1(2*2,2.202224262
82:2<2>2@2D2F2H2J2L2N2P2R2V2X2^2`2b2d2h2j2)3+3/31353;3=3C3G3M3O3_3a3g3(4*4,4.424446484:4>4@4D4F4H4
J4L4N4P4R4V4X4^4`4b4d4h4j4p4)5+5-5/515355575;5=5C5E5G5I5M5O5U5_5a5g5(6,6.62646:6D6F6L6^6x6)7+7-7/7
175777;7C7E7G7I7M7O7U7_7a7(8*8,8.82848:8D8F8L8\8r8+919C9Q9(:*:,:.:2:4:6:8:::>:B:D:F:L:N:P:X:^:f:j:
x:);+;1;3;5;;;C;E;G;M;O;U;_;a;g;(<0<<<@<B<F<L<d<f<v<)=+=-=/=1=5=7=;===C=E=G=I=M=O=U=_=a=g=(>,>.>2>
4>:>D>F>L>Z>^>)?+?1?C?S?(@,@2@4@D@F@L@f@x@)A+A1AkA0B<BXBdBfB)C+C-C/C1C3C5C7C9C;C=C?CCCECGCICKCMCOC
QCSCUCWCYC_CaCgCkCmCqCsC(D*D,D.D2D4D6D8D:D<D>DDDFDHDJDLDNDPDRDVDXD^D`DbDdDhDjDpD)E+E1E3E5E7E=ECEGE
IEMEOEUE_EaE(F*F,F.F0F2F4F6F8F:F<F>F@FDFFFHFJFLFNFPFRFVFXF^F`FbFdFhFjFpF)G+G-G/G1G3G5G7G;G=GCGEGGG
IGMGOGUG]G_GaGgG(H*H,H.H2H4H:HDHFHLH^HtH)I+I/I1I3I5I7I;I=ICIEIGIIIMIOIUIaIgI(J*J,J.J2J4J:JDJFJLJ^J
lJ)K+K1KCK(L*L,L.L2L4L6L8L:L<L>L@LDLFLHLJLLLNLPLRLVLXL^L`LbLdLhLjL)M+M-M/M1M3M5M7M;M=MCMEMGMIMMMOM
UM_MaMgM(N,N.N2N4N:NDNFNLN\N^N)O+O-O/O1O3O5O7O;O=OCOEOGOIOMOOOUO_OaOgO(P*P,P.P2P4P:PDPFPLP^P)Q+Q1Q
?QCQ(R*R,R.R2R4R:RDRFRLRTR^R)S+S1SCS(T8TbTvT)U+U-U1U3U5U7U;U=UCUGUIUMUOUUUaUgU(V*V,V.V2V4V:VDVFVLV
^VnV+W1WCWQWqW(X,X.X2X4X:XDXFXLX^X)Y+Y1YCYKY[YiY(ZjZ)[+[1[Y[m[(\B\E]q](^*^,^.^2^4^8^:^>^D^F^L^N^P^
R^V^^^b^h^j^)_+_/_1_3_5_7_;_=_C_E_G_I_M_O___a_g_w_(`,`0`2`4`D`F`L`)a+a-a/a1a3a5a7a;aCaEaGaIaMaOaUa
_aaaga(b*b,b.b2b4b:bDbFbLb^bfb)c+c1cAcCc(d,d2d4dDdFdLdrd)e+eCeYe<fRfTf`frf)g+g/g1g3g5g7g=gCgEgGgIg
MgOgUg_gaggg(h,h2h4hDhFhLhTh)i+i1iCiui(j*j,j.j2j4j:jDjFjLj^jlj)k+k1kCkmkqk(lHlXl)m+m1m?mCmwm(nJnNn
go(p,p0p4p<pBpDpFpLprpxpCqYq*r0r<r@rBr`rdrfrvr)s+s1sCsesss(t8tMu0v@vrvOwcw.x0x:x<x@xdxxx
)";

inline constexpr std::string_view kIq1SGrid = R"(
((*(,(.(0(2(5(:(<(@(B(G(M(O(Q(Y(^(`(d(f(k(p(r(v(x(+),)2)4)6)8)9)>)D)H)J)N)P)T)V)X)Z)[)b)h)j)l)t)(*
**.*0*5*:*<*@*B*G*M*S*X*\*^*`*d*f*h*k*n*p*r*v*x*2+4+6+>+D+J+P+T+X+Y+h+n+t+),+,,,-,5,7,9,A,C,G,K,L,
M,O,P,Q,S,U,W,Y,[,],_,h,k,m,o,q,s,t,u,w,4-8-D-F-L-N-P-R-U-V-Z-\-b-h-j-n-(.*...0.5.:.<.@.B.G.M.Q.Y.
^.`.d.f.k.p.r.v.x.,/2/4/8/=/>/D/L/M/P/V/X/\/h/j/l/n/t/(0*0.00050:0<0@0B0G0M0S0V0Y0^0`0b0d0f0k0p0r0
v0x011214181=1>1D1F1L1P1R1V1X1Y1\1h1j1l1q1t1)2+2-2/212325272;2=2A2G2K2L2M2N2O2P2Q2S2U2Y2a2i2k2q2s2
234363>3C3H3J3N3P3R3T3X3Z3b3h3j3l3t3)4-4/444547484;4?4D4G4H4I4K4M4O4P4Q4S4W4Y4[4a4e4g4j4k4m4n4o4q4
s4t4w4*5,5052545556585:5<5>5@5B5D5F5G5H5M5N5O5P5Q5S5T5V5X5Y5Z5\5^5`5a5b5d5f5g5h5j5k5l5n5o5p5r5t5)6
+6,6-656667696;6?6C6E6F6G6I6K6M6P6Q6R6S6V6X6Y6[6\6]6c6f6i6k6s6w62767>7D7F7H7J7L7P7R7T7U7V7X7Z7\7b7
h7j7t718385898;8>8E8F8G8I8M8O8P8Q8S8T8U8Y8]8e8h8i8k8m8q8u8w8/969=9?9F9H9J9L9N9P9R9V9Z9\9b9h9l9o9(:
*:.:0:5:::<:>:@:B:G:M:S:V:Y:^:`:d:f:k:p:r:t:v:x:,;2;4;8;>;E;F;J;P;R;T;V;X;Y;Z;b;g;l;n;t;)<.<0<2<5<
:<<<@<B<G<M<Q<S<Y<_<d<f<h<k<p<r<v<x<,=4=6=8=>=F=G=H=J=N=P=R=T=Z=b=h=j=n=q=t=/>5>;>A>C>G>I>M>O>P>S>
W>Y>[>e>g>j>k>m>o>q>s>u>w>,?1?3?8?>?D?J?P?U?V?\?a?c?g?o?(@*@.@0@5@:@<@@@B@G@M@O@Y@^@`@d@f@p@r@v@x@
/A2A4A8A>AHAJANAPAVAXAZA\AbAgAlAnAsAtA(B*B.B0B:B<B@BBBGBMBQBSBYB^B`BdBfBkBpBrBvBxB,C2C6C>CJCNCPCRC
TCVCXCZCjCnCqCuC(D)D+D-D/D3D5D6D7D9D;D?DADGDIDKDMDODPDQDSDTDYD[D]D_DaDcDgDiDkDpDqDrD,E2E4E6E>EDENE
PETEXE\EeEjEtE)F5F8FAFGFIFKFMFOFPFQFVFWFYF[F]F_FcFeFgFiFkFpFqFwF)G*G,G0G2G4G5G6G8G:G>GBGDGFGGGHGJG
LGMGOGPGQGRGSGVGXGYGZG\G`GaGbGdGhGjGkGlGnGoGtGvGxG)H,H/H4H5H7H9H;H=HAHCHEHGHIHLHMHNHPHQHSHWHYH[H_H
bHfHjHkHqHsHuH,I2I5I9I>IEIJILIPIRIVIXIZI\IbIhIjIlInItI)J,J-J0J1J4J5J7J;J=J?JCJGJKJMJNJOJPJQJSJUJWJ
YJZJ]JcJeJiJkJlJmJqJsJuJwJ6KFKHKJKPKRKTKXK\KjKtK)L+L,L-L/L3L5L9L;L=LALCLGLILMLOLPLQLSLYL[LcLeLkLmL
pLqLuLwL,M.M/M0M2M4M5M6M7M8M:M>M?M@MBMDMFMGMHMJMLMMMNMOMPMQMRMSMTMVMXMYMZM\M`MbMhMjMkMlMnMpMtMxM)N
-N3N5N9N;N=NENGNKNMNONPNQNSNWNYNbNgNiNkNnNoNsN+O,O2O4O5O6O7O8O;O>O@OBODOFOGOHOJOKOLOMOOOPOQOROSOTO
VOWOXOYOZO\O^OdOfOhOjOkOlOnOqOsOtOxO)P*P+P,P-P/P1P2P3P4P5P6P8P9P;P=P>P?PAPCPDPEPFPGPHPIPJPLPMPNPOP
PPQPRPSPTPUPVPXPYPZP[P\P]P_PaPbPePfPgPhPjPkPlPmPnPqPsPtPuPwP(Q)Q*Q+Q-Q.Q/Q2Q4Q5Q7Q8Q:Q;Q<Q=Q>Q?Q@Q
AQDQGQHQIQJQKQLQMQNQOQPQQQRQSQTQVQXQYQ\Q`QbQcQdQeQfQhQkQoQrQtQuQvQwQ+R,R-R/R1R5R7R;RBRGRIRKRMRORPR
QRRRSRURWRXRYR`ReRgRiRkRmRqRwR)S*S,S0S2S4S5S6S8S>SDSFSGSHSJSLSMSNSOSPSQSRSSSTSVSXSYSZS\S_SbSeShSjS
kSlSmSnStS+T.T5T9T:T>T?TATGTITJTMTPTQTRTSTWTYT[T]T_TfTiTkTlTmToTqT,U4U6U8U>UFULUPUQURUTUVUXUZU\U_U
lUtU)V+V-V/V3V5V;V<V?VAVGVJVMVPVQVSVYVZV]VaVfViVkVqVuVwV2W6W8WCWDWHWPWQWRWUWbWhWlWtW2X3X5X6X9X;X?X
AXCXEXGXIXKXMXOXPXQXSXTXUXWXYXaXbXeXgXiXjXkXlXmXoXqXsXwX,Y.Y0Y2Y5Y6Y8YFYGYHYJYLYMYOYPYQYSYVYXYYYZY
\YcYeYfYhYkYlYnYoYrYtYuYvY*Z/Z5Z:Z?Z@ZAZCZGZIZKZMZOZPZQZRZTZUZYZ[Z^Z`ZbZfZjZlZmZnZpZsZuZxZ6[8[>[D[
N[P[T[V[\[b[h[m[u[)\+\1\5\;\=\?\A\C\D\G\H\I\M\O\P\Q\S\U\Y\]\`\a\f\k\q\s\t\w\2]6]7]D]F]J]L]P]R]T]X]
Y]\]c]j]m]o]u](^*^.^0^:^<^@^B^G^L^M^O^Q^S^Y^^^`^d^f^k^p^r^v^x^,_2_4_6_8_>_D_F_J_L_N_P_Q_R_S_X_Z_\_
b_e_j_l_n_t_(`*`.`0`5`:`<`@`B`M`O`S`Y`^```d`f`k`p`r`v`x`4a8aDaFaMaPaTaVaXa\ajana)b/b3b5b9b?bAbCbDb
GbIbMbObPbQbSbTbYbZb[b]b_babcbebgbibkbmbub2c6c8c>cDcFcJcKcLcPcScTcVcZc]cbchcocsc(d*d.d0d5d:d<d@dBd
DdGdMdOdSdYd\d^d`dddfdkdpdrdvdxd,e-e2e4e6e>eDeFeHeJeLeNePeTeVeXebelenete(f*f.f0f5f:f<f@fBfGfMfOfQf
^f`fdfffkfpfrfvfxf,g2g6g7g8g>gDgHgJgPgRgTg\g]gbghgjglgngtg)h+h-h/h1h5h7h9h;h=h?hAhChGhLhMhOhPhQhSh
WhYhahchihkhmhqhshuhwh,i2i4i8i>iFiHiJiLiNiPiRiZi\ibijiliwi)j+j-j1j5j7j?jCjKjMjOjPjQjRjSjUjVjWjYjaj
cjijjjkjmjqjwj(k,k.k0k1k2k4k5k6k8k;k>kAkBkDkFkGkHkJkLkMkNkOkPkQkRkSkTkVkXkYkZk\k_kbkdkhkikjkkklknk
okpkrktkvkxk)l+l1l5l8l:l?lAlGlIlJlMlNlPlQlSlYl[l`lalelfliljlklslulwl,m6m8m>mDmHmLmNmPmQmTmXmYmbmhm
lmnmtm+n-n/n1n3n5n7n9n:n;n=n?nCnEnGnInKnMnOnPnQnSnWnYnZn]n_nangninknonqnun,o5o>oFoHoJoLoPoRoVoboho
jokolo(p*p.p0p5p:p<p@pBpGpMpOpQpSp^p`pdpfpkppprpvpxp,q/q2q4q6q8q9qHqJqMqPqRqTqVqXqbqgqiqlqnq*r.r0r
1r8r<r@rBrGrMrQrSrYr^r`rdrfrkrprrrvrxr8s>sDsFsLsOsPsRsTsVsYsZs[s\sbs-t/t1t3t5t7t?tAtEtGtMtOtPtQtSt
Yt]t_tatbtctetitktmt,u2u6u9u;u>uFuHuKuNuPuQuRuUuWucugukulunuqusuuu(v*v.v0v:v<v@vBvMvOvQvSv^v`vdvfv
kvpvrvvvxv,w4w8w;w>wDwLwPwTwVwZw\wgwlw(x*x.x0x:x<x@xBxMxOxQx^x`xdxfxkxpxrxvxxx
)";

inline constexpr std::string_view kIq3XxsGrid = R"(
((*(,(1(3(7(8(:(A(J(c(e())+)0)2)9)=)@)B)I)T)`)(***,*1*8*:*A*C*G*Q*W*e*)+/+0+2+=+`+3,G,L,W,c,e,)-/-
B-R-E.\.0/4/6/K/Y/)0+0002090;0@0B0D0O0P0(1*11181:1)2+2022292@2b2(3*383A3N3^3)4-4P485<5N5a5-6:7H7(8
*8183888:8>8A8J8)9+9-9092999@9[9_9`9(:*:1:7:8:::G:H:U:);0;4;`;d;E<S<+=?=I=d=)?+?6?M?)@0@2@9@;@P@]@
b@(A*A8AAALANA)B+B0B=BRBbB1CCC@DODbD(E.E:EUE4FFF[FCGXG,H7HEHGHSHWHdI8JGJHJXJ^J/KMK,LQL\L=MKM`M-O0O
2O@O2PIP`P(Q.Q>QUQ4RBRbR*SSS0T;T?TbT*UAUPV<WJW<XLXNX\X9YYY7Z\Z@[F[L\-]R]C^+_9_+`-`/`0`B`R`>aHa2bMb
Rb(c5cCcXc9dId(e*e<e@f
)";

inline constexpr std::string_view kIq3SGrid = R"(
(()(*(-(/(0(1(2(4(6(8(9(=(C(H(J(M(O(Q(S(X(Z(a(d(g(()))*),)0)1)5)8);)?)A)E)L)Y)])b)(*)*-*/*0*3*6*9*
=*@*D*J*M*O*Q*S*`*c*++1+5+8+:+A+C+F+L+P+R+_+a+e+(,3,7,9,<,B,H,K,Q,`,*-,-8-:->-C-I-M-O-^-c-..1.3.A.
R.a.(/*/,/8/:/>/C/P/T/(0)0*0,0001030507080:0A0D0F0T0V0Y0b0(1)1+1.1014191@1C1I1P1R1`1f1(222527282<2
B2H2K2U2X2b2)3,3/3033393?3@3D3I3Z3`3+4-42444A4C4J4N4P4T4)5053595@5B5Q586<6?6L6N6)7+7072797E7I7Z7`7
(8)8+8-8/80828486898;8?8@8B8I8K8M8P8R8_8`8c8e8(9*9093979:9=9A9D9J9Q9):,:/:9:;:@:G:I:S:W:a:d:(;*;-;
1;:;<;A;C;J;P;^;)</<8<;<B<E<I<b<e<,=1=:=G=H=S=`=(>*>/>9>U>Y>-?1?>?@?K?P?*@1@3@5@7@:@A@C@E@J@L@O@Q@
[@a@)A+A-A4A9A;AHAXAbAfA(B2B8BBBDBPB)C0C4C9C;C?C@CICKCOCUCcC+D1D6D:DADRDXD\D)E0E2E=EBELEVEcE6FIF)G
+G8G:GEG(H,H2H8H<H?HBHIHPH`H*I/I1I3I:I@IEIKIQIUI)J+J0J5J9JCJHJWJZJ`J,K1K3K8K:KAKEK(L*L<LGLHLaL-M/M
9MZM3NDNXN0O5O@OKOQO*P0P4P:PHPLPOPRP^PdP)Q+Q-Q2Q9QBQbQ(R1R;R@RFRSR*S/S0S?SLSQS]ScS)T,T8TBTNT2U>UQU
SUJV*W,W:W1X3X5XAXCXXX(Y8Y?Y\Y2ZDZJZUZZZ`Z([4[9[H[=\K\Z\(]+]D]X]-^H^1_3_(`,`/`8`:`F`H`T`Z`*a1a<aKa
Ma)b,b0b6b9b@bQb*cBcEcSc)d-d3d8dPd:eJe*fAf(g
)";
