// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/language_words.h"

namespace cupel::eval {
namespace {

using enum Script;

constexpr LanguageWords kLanguages[] = {
    {"en", latin,
     "the of and to in is you that it he was for on are as with his they at be this have from or "
     "by "
     "not but what all were we when your can said there use an each which she do how their if will "
     "i my our its has more would about so no just like up out them then some could into than been "
     "who only other these me her him us am any",
     ""},
    {"es", latin,
     "el la los las de que y en un una es por con no para su al lo como más pero sus le ya este "
     "esta "
     "sí porque son entre está cuando muy sin sobre también me hasta hay donde quien desde todo "
     "nos "
     "ser del se mi",
     "ñ¿¡"},
    {"fr", latin,
     "le la les de des et en un une est que qui dans pour pas sur au avec il elle ce cette sont "
     "nous "
     "vous plus par mais ou se ne je du son sa ses aux être fait très bien même comme tout l d",
     "èêàçœù"},
    {"de", latin,
     "der die das und ist in den von zu mit sich des auf für nicht ein eine als auch es an werden "
     "aus "
     "er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben "
     "nur "
     "oder aber vor zur bis mehr durch man sein wir ich du mein dein kann im",
     "ßäöü"},
    {"it", latin,
     "il lo la i gli le di che e un una è per in con non si da sono del della dei come più ma "
     "anche "
     "al alla nel nella questo questa ha ho sei molto tutti essere se ci mi dal delle degli io",
     "ìòùà"},
    {"pt", latin,
     "o a os as de que e do da em um uma para com não é por mais dos das se na no como mas ao foi "
     "ele "
     "ela seu sua ou quando muito nos já eu também só pelo pela até isso entre era depois sem "
     "mesmo "
     "aos ter são você está meu minha",
     "ãõçê"},
    {"vi", latin,
     "là và của có không được cho một các những trong với người này đã để khi tôi bạn đó ra từ như "
     "cũng về nhiều rất đến sẽ vào làm thì hay nếu mà lại trên chúng",
     "ăđơưạảấầẩậắằẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"},
    {"fi", latin,
     "ja on ei se että oli hän en mutta ovat kun niin myös kuin mitä tai jos minä sinä me te he "
     "tämä "
     "ole joka vain nyt hyvin sen kaikki voi jotka sekä olla mukaan kanssa jälkeen siitä ennen",
     "äö"},
    {"sw", latin,
     "na ya wa kwa ni katika za la kuwa hii hiyo huo watu kama lakini au pia sana yake yako yangu "
     "wao "
     "sisi mimi wewe yeye hapa leo kila moja baada zaidi ili hivyo cha vya kwamba hakuna wengi mtu "
     "bila nchi siku wakati muda nini kuhusu tangu sasa",
     ""},
    {"pl", latin,
     "i w na z do się nie jest to że o jak ale po co tak za od przez dla czy już tylko być są "
     "który "
     "która może bardzo było ich jego jej mi ja ty",
     "łąężśćźń"},
    {"nl", latin,
     "de het een en van ik te dat die in is niet op aan met voor er zijn maar om hem dan zou of "
     "wat "
     "mijn men dit zo door over ze zich bij ook tot je mij uit naar heb deze hoe worden wordt",
     "ĳ"},
    {"sv", latin,
     "och att det som en på är av för med den till inte om ett han men var jag från så kan när nu "
     "vi "
     "du sin skulle hade denna eller efter mycket",
     "åäö"},
    {"da", latin,
     "og det at en den til er som på de med han af for ikke der var mig sig men et har om vi min "
     "havde "
     "ham hun nu over da fra du ud bliver blev",
     "åæø"},
    {"no", latin,
     "og det at en den til er som på de med han av for ikke der var meg seg men et har om vi min "
     "hadde "
     "jeg hun nå over da fra du ut blir ble",
     "åæø"},
    {"ro", latin,
     "și în de la cu nu este pe un o a că din care mai pentru sunt dar fi au lui ei el ea ce să ne "
     "către foarte după fost",
     "țșăţşî"},
    {"tr", latin,
     "ve bir bu da de için ile çok daha ne gibi ama o kadar sonra olarak olan var yok ben sen biz "
     "değil her şey mi mı en ya",
     "şğıçüö"},
    {"id", latin,
     "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena ada kita "
     "bisa "
     "oleh atau mereka lebih telah adalah anda sudah kami dia seperti",
     ""},
    {"tl", latin,
     "ang ng sa na mga ay at ko siya ito hindi kung para ako mo may ni ka si kami lang niya po "
     "nang "
     "natin",
     ""},
    {"ca", latin,
     "el la els les de que i en un una és per amb no del al com més però són va aquest aquesta hi "
     "ha "
     "també molt seu seva",
     "·ŀ"},
    {"hu", latin,
     "a az és hogy nem is egy van meg de ez csak már volt mint még ha vagy el kell nagyon azt aki "
     "ami",
     "őű"},
    {"cs", latin,
     "a se v na je že o s z do i to ale jako za by jsem jsou který byl pro tak po jeho jen již",
     "řěůčžý"},
    {"ru", cyrillic,
     "и в не на я что он с как это по но они мы все она так его за был от то же ты у для из бы мне "
     "было вы только есть ее их чтобы или если уже когда очень может",
     "ыэё"},
    {"uk", cyrillic,
     "і в не на що я він з як це по але вони ми все вона так його за був від те ж ти у для із та є "
     "або якщо вже коли дуже може про",
     "іїєґ"},
    {"bg", cyrillic,
     "и в не на да се за от е с са че това по но ще съм като до който си ми те аз той тя ние вие "
     "или "
     "ако много може при след както беше има няма още само",
     "ъ"},
    {"mk", cyrillic,
     "и во не на да се за од е со дека ова по но ќе сум како до кој си ми тие јас тој таа ние или "
     "ако "
     "многу може",
     "ѓќљњјѕџ"},
    {"ar", arabic,
     "في من على أن إلى هذا التي عن مع هذه كان لا ما أو الذي هو هي كل لم قد بعد بين ذلك حتى يمكن إن "
     "كما أنا نحن ثم عند",
     "ةىإأؤ"},
    {"fa", arabic,
     "و در به از که این را با است برای آن یک های می خود تا بر هم نیز شود شده ما من او اما یا آنها "
     "هر باید اگر کرد",
     "پچژگ"},
    {"ur", arabic,
     "کے کی میں ہے اور سے کا کو اس یہ پر کہ نے ہیں ہم آپ ان جو بھی ایک تھا نہیں کر وہ تو لیے ہو "
     "گیا "
     "تھی ساتھ",
     "ٹڈڑںےہھ"},
    {"hi", devanagari,
     "के में है की और से का को यह हैं नहीं पर एक कि जो भी हम आप इस था वह ने तो लिए कर हो ही थे अपने "
     "साथ बहुत मैं या होता करने",
     ""},
    {"mr", devanagari,
     "आहे आणि हे ते या मध्ये नाही तो ती आहेत एक मी तुम्ही आम्ही किंवा पण साठी होते होता करून त्या हा "
     "ही खूप आपण असे म्हणून काही सर्व केले",
     "ळ"},
    {"ne", devanagari,
     "छ र को मा लाई छन् यो हो पनि गर्न भने तपाईं हामी म त्यो गर्छ हुन्छ छैन एक लागि धेरै भएको गरेको "
     "तर वा थियो सबै हुन् गर्ने यस नेपाल आफ्नो",
     ""},
};

}  // namespace

std::span<const LanguageWords> language_words() {
  return kLanguages;
}

}  // namespace cupel::eval
