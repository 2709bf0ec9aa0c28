// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "base/params_text.h"
#include "base/reader.h"

namespace cupel {

std::string hint(std::string_view given, const std::vector<std::string>& names) {
  const std::string near = nearest_name(given, names);
  return near.empty() ? "" : cat("; did you mean '", near, "'?");
}

std::string shown(const Node& node) {
  return node.quoted() ? cat("the quoted text ", node.kind()) : node.kind();
}

namespace {

// The whole text as a number; from_chars knows no plus sign.
template <class T>
std::errc parse_number(std::string_view text, T& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr != end ? std::errc::invalid_argument : result.ec;
}

class Reader : public ParamVisitor {
 public:
  // `place` is where messages about the mapping as a whole point to.
  Reader(const Node& map, const Node& place, std::vector<Problem>& problems)
      : map_(map), place_(place), problems_(problems), fields_begin_(problems.size()) {}

  FieldRange field(const char* name, int64_t& value, const char*) override {
    return integer(name, value);
  }
  FieldRange field(const char* name, int& value, const char*) override {
    return integer(name, value);
  }
  FieldRange field(const char* name, double& value, const char*) override {
    const Node node = take(name);
    if (!node || !number(node, cat("'", name, "'"), value)) return FieldRange();
    return range_check(name, node, value);
  }
  void field(const char* name, bool& value, const char*) override {
    const Node node = take(name);
    if (!node) return;
    const bool plain = node.is_scalar() && !node.quoted();
    if (plain && (node.text() == "true" || node.text() == "false"))
      value = node.text() == "true";
    else
      wrong(node, cat("'", name, "'"), "true or false");
  }
  void field(const char* name, std::string& value, const char*) override {
    if (const Node node = take(name)) text(node, cat("'", name, "'"), value);
  }
  void field(const char* name, std::vector<std::string>& value, const char*) override {
    elements(name, value, "a list of texts",
             [&](const Node& node, std::string& item) { text(node, element_of(name), item); });
  }
  void field(const char* name, std::vector<double>& value, const char*) override {
    elements(name, value, "a list of numbers",
             [&](const Node& node, double& item) { number(node, element_of(name), item); });
  }
  void field(const char* name, Params& value, const char*) override {
    const Node node = take(name);
    read_mapping(node, node ? node : place_, cat("'", name, "'"), value, problems_);
  }
  void field(const char* name, Choice& value, const char*) override {
    read_named(take(name), cat("'", name, "'"), value, problems_);
  }
  void list(const char* name, std::size_t size, const std::function<Params&(std::size_t)>& at,
            const std::function<Params&()>& make, const char*, const ListExtras& extras) override {
    const Node node = take(name);
    if (!node) return;
    if (!node.is_list()) return wrong(node, cat("'", name, "'"), "a list of mappings");
    if (extras.clear) {
      extras.clear();
      size = 0;
    }
    std::size_t i = 0;
    for (const Node& item : node.items())
      read_mapping(item, item, element_of(name), i++ < size ? at(i - 1) : make(), problems_);
  }
  void check(bool holds, const char* message) override {
    if (!holds) checks_.push_back(problem_at(place_, message));
  }

  void finish() {
    // With a wrong value in place of the author's, a condition would blame what is right.
    if (problems_.size() == fields_begin_)
      problems_.insert(problems_.end(), checks_.begin(), checks_.end());
    const auto& entries = map_.entries();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
      const Node& key = entry->first;
      const auto first = std::find_if(entries.begin(), entry, [&](const auto& other) {
        return other.first.text() == key.text();
      });
      if (first != entry)
        problems_.push_back(problem_at(
            key, cat("repeated key '", key.text(), "' (first on line ", first->first.line(), ")")));
      else if (std::ranges::find(known_, key.text()) == known_.end())
        problems_.push_back(problem_at(
            key,
            cat("unknown parameter ", key.kind(), hint(key.text(), known_),
                known_.empty() ? " (none is known here)" : cat(" (known: ", joined(known_), ")"))));
    }
  }

 protected:
  void enumeration(const char* name, int& value, const EnumNames& names, const char*) override {
    const Node node = take(name);
    if (!node) return;
    std::vector<std::string> all;
    for (const auto& [word, number] : names) {
      if (node.is_scalar() && node.text() == word) {
        value = number;
        return;
      }
      all.push_back(word);
    }
    wrong(node, cat("'", name, "'"), cat("one of ", joined(all)));
  }

 private:
  static std::string element_of(const char* name) { return cat("an element of '", name, "'"); }

  Node take(const char* name) {
    known_.emplace_back(name);
    return map_.find(name);
  }

  void wrong(const Node& node, const std::string& subject, std::string_view expected) {
    problems_.push_back(
        problem_at(node, cat(subject, " must be ", expected, ", not ", shown(node))));
  }

  template <class T>
  FieldRange integer(const char* name, T& value) {
    const Node node = take(name);
    if (!node) return FieldRange();
    const bool plain = node.is_scalar() && !node.quoted();
    T parsed = 0;
    const std::errc error = plain ? parse_number(node.text(), parsed) : std::errc::invalid_argument;
    if (error == std::errc::result_out_of_range) {
      using Limits = std::numeric_limits<T>;
      wrong(node, cat("'", name, "'"), cat("within [", Limits::min(), ", ", Limits::max(), "]"));
      return FieldRange();
    }
    if (error != std::errc()) {
      wrong(node, cat("'", name, "'"), "an integer");
      return FieldRange();
    }
    value = parsed;
    return range_check(name, node, static_cast<double>(value));
  }

  bool number(const Node& node, const std::string& subject, double& value) {
    const bool plain = node.is_scalar() && !node.quoted();
    double parsed = 0;
    if (!plain || parse_number(node.text(), parsed) != std::errc() || !std::isfinite(parsed)) {
      wrong(node, subject, "a number");
      return false;
    }
    value = parsed;
    return true;
  }

  void text(const Node& node, const std::string& subject, std::string& value) {
    if (node.is_scalar())
      value = node.text();
    else
      wrong(node, subject, "text");
  }

  template <class T, class Read>
  void elements(const char* name, std::vector<T>& value, const char* expected, const Read& read) {
    const Node node = take(name);
    if (!node) return;
    if (!node.is_list()) return wrong(node, cat("'", name, "'"), expected);
    value.assign(node.items().size(), T());
    for (std::size_t i = 0; i < value.size(); ++i) read(node.items()[i], value[i]);
  }

  FieldRange range_check(const char* name, const Node& node, double value) {
    return FieldRange([this, name, node, value](double lo, double hi) {
      if (value >= lo && value <= hi) return;
      std::string needed = range_text(lo, hi);
      if (needed.starts_with('['))
        needed = cat("lie in ", needed);
      else
        needed =
            value < lo ? cat("be at least ", number_text(lo)) : cat("be at most ", number_text(hi));
      problems_.push_back(
          problem_at(node, cat("'", name, "' must ", needed, ", not ", node.text())));
    });
  }

  const Node& map_;
  const Node& place_;
  std::vector<Problem>& problems_;
  std::size_t fields_begin_;
  std::vector<std::string> known_;
  std::vector<Problem> checks_;
};

}  // namespace

void read_mapping(const Node& node, const Node& place, const std::string& subject, Params& params,
                  std::vector<Problem>& problems) {
  if (!node.is_null() && !node.is_map()) {
    problems.push_back(problem_at(node, cat(subject, " must be a mapping, not ", shown(node))));
    return;
  }
  Reader reader(node, place, problems);
  params.visit(reader);
  reader.finish();
}

void read_params(Node node, Params& params, std::vector<Problem>& problems) {
  read_mapping(node, node, "this", params, problems);
}

}  // namespace cupel
