// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "eval/answers/language.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "eval/stats/python_random.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

constexpr std::size_t kGram = 3;
constexpr std::size_t kMaxCharacters = 10'000;
constexpr int kTrials = 7;
constexpr int kMaxSteps = 1000;  // of one trial
constexpr double kAlpha = 0.5, kAlphaWidth = 0.05;
constexpr double kBaseFrequency = 10'000;
constexpr double kConverged = 0.99999;
constexpr double kLeastProbability = 0.1;

bool between(char32_t c, char32_t first, char32_t last) {
  return first <= c && c <= last;
}

// Characters that stand for many: punctuation for a blank, one kana for all of them.
char32_t folded(char32_t c) {
  if (c < 0x80) return between(c, 'A', 'Z') || between(c, 'a', 'z') ? c : U' ';
  if (c == 0xA0 || c == 0xAB || c == 0xB0 || c == 0xBB) return U' ';
  if (c == 0x219) return 0x15F;  // comma below, cedilla
  if (c == 0x21B) return 0x163;
  if (between(c, 0x2000, 0x206F)) return U' ';
  if (c == 0x6CC) return 0x64A;
  if (between(c, 0x1EA0, 0x1EFF)) return 0x1EC3;
  if (between(c, 0x3040, 0x309F)) return 0x3042;
  if (between(c, 0x30A0, 0x30FF)) return 0x30A2;
  if (between(c, 0x3100, 0x312F) || between(c, 0x31A0, 0x31BF)) return 0x3105;
  if (between(c, 0xAC00, 0xD7AF)) return 0xAC00;
  return c;
}

// Vietnamese vowels with a tone mark apart become one character.
std::string composed(std::string_view s) {
  static const PythonRegex pair(
      "[AEIOUYaeiouy\\xc2\\xca\\xd4\\xe2\\xea\\xf4\\u0102\\u0103\\u01a0\\u01a1\\u01af\\u01b0]"
      "[\\u0300\\u0301\\u0303\\u0309\\u0323]");
  std::string out;
  std::size_t done = 0;
  pair.each(s, [&](const PythonRegex::Match& m) {
    out += s.substr(done, m[0].start - done);
    out += text::normalize(m[0].of(s), text::Form::nfc);
    done = m[0].end;
  });
  out += s.substr(done);
  return out;
}

// Addresses out, runs of blanks as one, Latin letters out of text that is mostly not Latin.
std::u32string cleaned(std::string_view s) {
  const std::string text = composed(without_addresses(s));
  std::u32string out;
  std::size_t latin = 0, other = 0;
  char32_t before = 0;
  for (std::size_t at = 0, n = 0; at < text.size() && n < kMaxCharacters; ++n) {
    const char32_t c = text::utf8_next(text, at);
    if (c != ' ' || before != ' ') {
      out += c;
      if (between(c, 'A', 'z'))
        ++latin;
      else if (c >= 0x300 && !between(c, 0x1E00, 0x1EFF))
        ++other;
    }
    before = c;
  }
  if (latin * 2 < other) std::erase_if(out, [](char32_t c) { return between(c, 'A', 'z'); });
  return out;
}

// random.gauss of one generator.
class Gauss {
 public:
  explicit Gauss(PythonRandom& random) : random_(random) {}
  double next() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double angle = random_.real() * 2 * std::numbers::pi;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random_.real()));
    spare_ = std::sin(angle) * radius;
    has_spare_ = true;
    return std::cos(angle) * radius;
  }

 private:
  PythonRandom& random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

class ProfileDetector : public LanguageDetector {
 public:
  explicit ProfileDetector(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.is_regular_file() && entry.path().filename().string()[0] != '.')
        paths.push_back(entry.path().string());
    CUPEL_CHECK(paths.size() > 1, user, "no language profiles in '", folder,
                "'; it must be the folder langdetect/profiles of the Python package langdetect");
    std::sort(paths.begin(), paths.end());
    for (std::size_t i = 0; i < paths.size(); ++i)
      in_frame(cat("reading the language profile '", paths[i], "'"),
               [&] { read(read_text(paths[i]), i, paths.size()); });
  }

  std::string name() const override { return "langdetect's profiles, seed 0"; }

  std::string detect(std::string_view text) const override {
    const auto grams = known_grams(cleaned(text));
    if (grams.empty()) return "";
    PythonRandom random(0);
    Gauss gauss(random);
    std::vector<double> total(languages_.size(), 0);
    for (int t = 0; t < kTrials; ++t) {
      const auto p = trial(grams, kAlpha + gauss.next() * kAlphaWidth, random);
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += p[i] / kTrials;
    }
    const auto best = std::max_element(total.begin(), total.end());
    return *best > kLeastProbability ? languages_[static_cast<std::size_t>(best - total.begin())]
                                     : "unknown";
  }

 private:
  using Probabilities = std::vector<double>;  // one a language

  void read(const std::string& text, std::size_t index, std::size_t count) {
    const auto file = nlohmann::json::parse(text, nullptr, false);
    CUPEL_CHECK(file.is_object() && file.contains("name") && file["name"].is_string() &&
                    file.contains("freq") && file["freq"].is_object() && file.contains("n_words") &&
                    file["n_words"].is_array() && file["n_words"].size() == kGram,
                data, "it needs 'name', 'freq' and three 'n_words'");
    languages_.push_back(file["name"]);
    for (const auto& [gram, times] : file["freq"].items()) {
      std::size_t length = 0;
      for (std::size_t at = 0; at < gram.size(); ++length) text::utf8_next(gram, at);
      auto& p = grams_[gram];
      p.resize(count, 0);
      if (length >= 1 && length <= kGram)
        p[index] = times.get<double>() / file["n_words"][length - 1].get<double>();
    }
  }

  // Every 1- to 3-gram that some language has; those in words of capitals are left out.
  std::vector<const Probabilities*> known_grams(const std::u32string& text) const {
    std::vector<const Probabilities*> out;
    std::u32string window = U" ";
    bool capitals = false;
    for (const char32_t raw : text) {
      const char32_t c = folded(raw), last = window.back();
      if (last == ' ') {
        window = U" ";
        capitals = false;
      } else if (window.size() >= kGram) {
        window.erase(0, 1);
      }
      if (last != ' ' || c != ' ') {
        window += c;
        capitals = python_upper(c) && (capitals || python_upper(last));
      }
      if (capitals) continue;
      for (std::size_t n = 1; n <= window.size(); ++n) {
        std::string gram;
        for (const char32_t g : window.substr(window.size() - n)) text::utf8_append(gram, g);
        if (gram == " ") continue;
        if (const auto found = grams_.find(gram); found != grams_.end())
          out.push_back(&found->second);
      }
    }
    return out;
  }

  Probabilities trial(const std::vector<const Probabilities*>& grams, double alpha,
                      PythonRandom& random) const {
    Probabilities p(languages_.size(), 1.0 / static_cast<double>(languages_.size()));
    const double weight = alpha / kBaseFrequency;
    for (int step = 0;; ++step) {
      const auto& gram =
          *grams[static_cast<std::size_t>(random.below(static_cast<int64_t>(grams.size())))];
      double sum = 0;
      for (std::size_t i = 0; i < p.size(); ++i) sum += p[i] *= weight + gram[i];
      if (step % 5 != 0) continue;
      for (auto& x : p) x /= sum;
      if (*std::max_element(p.begin(), p.end()) > kConverged || step >= kMaxSteps) return p;
    }
  }

  std::vector<std::string> languages_;
  std::unordered_map<std::string, Probabilities> grams_;
};

}  // namespace

std::string without_addresses(std::string_view text) {
  static const PythonRegex url("https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}");
  static const PythonRegex mail("[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}");
  return mail.replace(url.replace(text, " "), " ");
}

std::unique_ptr<LanguageDetector> profile_language_detector(const std::string& folder) {
  return std::make_unique<ProfileDetector>(folder);
}

}  // namespace cupel::eval
