// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/params.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/params_text.h"
#include "base/yaml.h"

namespace cupel {

Choice::Choice(const std::vector<Alternative>& list, std::string_view selected) : options(&list) {
  for (const Alternative& option : list)
    if (option.name == selected) {
      name = option.name;
      params = option.make();
      return;
    }
  const std::vector<std::string> names = names_of(list);
  const std::string near = nearest_name(selected, names);
  fail(Fault::user, "unknown name '", selected, "'",
       near.empty() ? "" : cat("; did you mean '", near, "'?"), " (known: ", joined(names), ")");
}

std::vector<std::string> names_of(const std::vector<Alternative>& list) {
  std::vector<std::string> names;
  for (const Alternative& option : list) names.push_back(option.name);
  return names;
}

std::string name_of(const EnumNames& names, int value) {
  for (const auto& [name, number] : names)
    if (number == value) return name;
  fail(Fault::internal, "an enumeration holds ", value, ", which has no name");
}

std::string yaml_text(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto safe = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_./+-*").find(c) != std::string_view::npos;
  };
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(c | 0x20);
  // Words and beginnings that other readers of YAML take for numbers, booleans or nothing.
  bool plain = !text.empty() && (letter(text[0]) || text[0] == '/');
  plain = plain && std::ranges::all_of(text, safe);
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
    plain = plain && lower != word;
  return plain ? text : json_quote(text);
}

namespace {

// One object in flow style, JSON or YAML.
class FlowWriter : public ParamVisitor {
 public:
  explicit FlowWriter(bool json) : json_(json) {}

  static std::string object(Params& params, bool json) {
    FlowWriter writer(json);
    params.visit(writer);
    return cat("{", writer.out_, "}");
  }

  FieldRange field(const char* name, int64_t& value, const char*) override {
    put(name, cat(value));
    return FieldRange();
  }
  FieldRange field(const char* name, int& value, const char*) override {
    put(name, cat(value));
    return FieldRange();
  }
  FieldRange field(const char* name, double& value, const char*) override {
    put(name, number(value));
    return FieldRange();
  }
  void field(const char* name, bool& value, const char*) override { put(name, cat(value)); }
  void field(const char* name, std::string& value, const char*) override { put(name, text(value)); }
  void field(const char* name, std::vector<std::string>& value, const char*) override {
    std::vector<std::string> items;
    for (const std::string& item : value) items.push_back(text(item));
    put(name, list_text(items, json_ ? "," : ", "));
  }
  void field(const char* name, std::vector<double>& value, const char*) override {
    std::vector<std::string> items;
    for (const double item : value) items.push_back(number(item));
    put(name, list_text(items, json_ ? "," : ", "));
  }
  void field(const char* name, Params& value, const char*) override {
    put(name, object(value, json_));
  }
  void field(const char* name, Choice& value, const char*) override {
    if (!value.params) return put(name, json_ ? "null" : "~");
    const std::string params = object(*value.params, json_);
    if (!json_ && params == "{}") return put(name, text(value.name));
    put(name, cat("{", text(value.name), json_ ? ":" : ": ", params, "}"));
  }
  void list(const char* name, std::size_t size, const std::function<Params&(std::size_t)>& at,
            const std::function<Params&()>&, const char*, const ListExtras&) override {
    std::vector<std::string> items;
    for (std::size_t i = 0; i < size; ++i) items.push_back(object(at(i), json_));
    put(name, list_text(items, json_ ? "," : ", "));
  }
  void check(bool, const char*) override {}

 protected:
  void enumeration(const char* name, int& value, const EnumNames& names, const char*) override {
    put(name, text(name_of(names, value)));
  }

 private:
  void put(const char* name, const std::string& value) {
    if (!out_.empty()) out_ += json_ ? "," : ", ";
    out_ += cat(json_ ? json_quote(name) : name, json_ ? ":" : ": ", value);
  }
  std::string text(const std::string& value) const {
    return json_ ? json_quote(value) : yaml_text(value);
  }
  // JSON has no infinity.
  std::string number(double value) const {
    const std::string digits = cat(value);
    return json_ && !std::isfinite(value) ? cat("\"", digits, "\"") : digits;
  }

  bool json_;
  std::string out_;
};

}  // namespace

std::string params_json(const Params& params) {
  return FlowWriter::object(const_cast<Params&>(params), true);
}

std::string params_yaml(const Params& params) {
  return FlowWriter::object(const_cast<Params&>(params), false);
}

}  // namespace cupel
