// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/hash_impl.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace cupel {
namespace {

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__x86_64__)
bool has_sha() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (b >> 29 & 1);
}

// The SHA instructions keep the state as (a b e f) and (c d g h), high word first, and do two
// rounds each.
[[gnu::target("sha,sse4.1")]] void compress_sha(uint32_t* state, const std::byte* p,
                                                std::size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto in = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i dcba = _mm_shuffle_epi32(in(state), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(in(state + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xF0);
  for (; blocks > 0; --blocks, p += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(in(p + 16 * i), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& next = w[i & 3];
      if (i >= 4) {
        const __m128i w7 = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) & 3]), w7);
        next = _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
      }
      const __m128i wk = _mm_add_epi32(next, in(kRound + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

void detail::sha256_scalar(uint32_t* state, const std::byte* p, std::size_t blocks) {
  for (; blocks > 0; --blocks, p += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      uint32_t word;
      std::memcpy(&word, p + 4 * i, 4);
      w[i] = __builtin_bswap32(word);
    }
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    uint32_t s[8];
    std::copy_n(state, 8, s);
    // The eight words stay where they are and the names a to h move round by round.
#pragma GCC unroll 8
    for (unsigned i = 0; i < 64; ++i) {
      const auto at = [&](unsigned name) -> uint32_t& { return s[(name - i) & 7]; };
      const uint32_t a = at(0), e = at(4);
      const uint32_t t = at(7) + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                         (at(6) ^ (e & (at(5) ^ at(6)))) + kRound[i] + w[i];
      at(3) += t;
      at(7) = t + (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
              ((a & at(1)) | (at(2) & (a | at(1))));
    }
    for (int i = 0; i < 8; ++i) state[i] += s[i];
  }
}

void detail::sha256_blocks(uint32_t* state, const std::byte* p, std::size_t blocks) {
#if defined(__x86_64__)
  static const bool sha = has_sha();
  if (sha) return compress_sha(state, p, blocks);
#endif
  sha256_scalar(state, p, blocks);
}

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  length_ += bytes.size();
  if (pending_size_ > 0) {
    const std::size_t take = std::min(bytes.size(), sizeof pending_ - pending_size_);
    std::copy_n(bytes.begin(), take, pending_ + pending_size_);
    pending_size_ += take;
    bytes = bytes.subspan(take);
    if (pending_size_ < sizeof pending_) return *this;
    detail::sha256_blocks(state_, pending_, 1);
  }
  detail::sha256_blocks(state_, bytes.data(), bytes.size() / 64);
  pending_size_ = bytes.size() % 64;
  std::copy_n(bytes.end() - static_cast<std::ptrdiff_t>(pending_size_), pending_size_, pending_);
  return *this;
}

Sha256& Sha256::add(std::string_view text) {
  return add(std::as_bytes(std::span(text)));
}

std::string Sha256::hex() {
  const uint64_t bits = __builtin_bswap64(length_ * 8);
  std::byte end[128] = {std::byte{0x80}};
  // One 1 bit, zeros up to 8 bytes before the end of a block, then the length.
  const std::size_t zeros_end = (pending_size_ < 56 ? 56 : 120) - pending_size_;
  std::memcpy(end + zeros_end, &bits, 8);
  add(std::span<const std::byte>(end, zeros_end + 8));
  CUPEL_ASSERT(pending_size_ == 0);
  std::string out;
  for (const uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  return out;
}

}  // namespace cupel
