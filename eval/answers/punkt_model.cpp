// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "eval/answers/punkt.h"
#include "eval/answers/python_text.h"

namespace cupel::eval {
namespace {

// Titles, companies, months, days, states, units, initials: abbreviations inside a sentence.
constexpr const char* kAbbreviations =
    "mr mrs ms messrs dr prof gen lt col maj rep reps sen st jr sr inc corp co cos ltd bros ave "
    "dec "
    "jan feb aug sept sep oct nov tues wed fri a.m p.m u.s u.s.a u.s.s.r u.k u.n d.c n.y l.a ph.d "
    "m.b.a vs v ok ga va wash calif ariz ore okla minn mich ill conn fla pa tenn wis colo kan ky "
    "ala "
    "vt nev n.j n.c s.c n.h n.m n.d w.va yr a.s s.a p.m a.a j.p j.r r.h w.w e.l adm sw mg ft c d e "
    "f "
    "g h k l m n p r s t w";

// Words that often start a sentence behind an abbreviation.
constexpr const char* kStarters =
    "he it they i this these there the in if but so since while when although though despite "
    "however "
    "instead moreover meanwhile nevertheless nonetheless thus indeed similarly under among both "
    "some "
    "many even yet nor according";

// Words that have a capital only at the start of a sentence; words that titles too give one.
constexpr const char* kPlainWords =
    "her your which without within therefore furthermore here finally either neither yes please "
    "remember try think were does always sometimes overall likewise otherwise still such same "
    "between through along so though thus moreover instead similarly nevertheless nonetheless "
    "indeed "
    "yet";
constexpr const char* kTitleWords =
    "the a an this that these those it its he she they we you his their our my who what when where "
    "why how if in on at by for from with to of as and or but because since while after before "
    "during until although despite however meanwhile also then there now today first second third "
    "next once one two three some many most more all each every both any no not let make take get "
    "keep use look find see know add start stop be is are was do did has have had can could will "
    "would should may might must never often perhaps maybe even only just another other others "
    "under "
    "over among across against about below around";

std::vector<std::string> lines_of(const std::string& folder, const char* file) {
  std::vector<std::string> out;
  const std::string text = read_text(folder + "/" + file);
  for (const auto line : split_at(strip(text), "\n")) out.emplace_back(line);
  return out;
}

std::pair<std::string, std::string> cut_at_tab(const std::string& line, const char* file) {
  const auto tab = line.find('\t');
  CUPEL_CHECK(tab != std::string::npos, data, file, ": no tab in line '", line, "'");
  return {line.substr(0, tab), line.substr(tab + 1)};
}

}  // namespace

PunktModel small_english_model() {
  PunktModel model;
  for (const auto word : split_spaces(kAbbreviations)) model.abbreviations.emplace(word);
  for (const auto word : split_spaces(kStarters)) model.starters.emplace(word);
  constexpr unsigned kPlain = PunktModel::begin_upper | PunktModel::middle_lower;
  for (const auto word : split_spaces(kPlainWords)) model.seen[std::string(word)] = kPlain;
  for (const auto word : split_spaces(kTitleWords))
    model.seen[std::string(word)] = kPlain | PunktModel::middle_upper;
  return model;
}

PunktModel read_punkt_model(const std::string& folder) {
  return in_frame(cat("reading the sentence model in '", folder, "'"), [&] {
    PunktModel model;
    for (auto& line : lines_of(folder, "abbrev_types.txt")) model.abbreviations.insert(line);
    for (auto& line : lines_of(folder, "sent_starters.txt")) model.starters.insert(line);
    for (auto& line : lines_of(folder, "collocations.tab"))
      model.collocations.insert(cut_at_tab(line, "collocations.tab"));
    for (auto& line : lines_of(folder, "ortho_context.tab")) {
      const auto [word, bits] = cut_at_tab(line, "ortho_context.tab");
      unsigned value = 0;
      const auto end = bits.data() + bits.size();
      CUPEL_CHECK(std::from_chars(bits.data(), end, value).ptr == end && !bits.empty(), data,
                  "ortho_context.tab: '", bits, "' is not a number");
      model.seen[word] = value;
    }
    return model;
  });
}

}  // namespace cupel::eval
