// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel {

class ParamVisitor;

/// Parameters of anything that a recipe can configure: one struct with one visit(). The same
/// visit() drives the YAML reader, the error messages, `cupel methods`, the docs, the resolved
/// recipe, and the hash of a unit of work.
struct Params {
  virtual ~Params() = default;
  virtual void visit(ParamVisitor& v) = 0;
};

/// One alternative of a Choice: its key in the recipe, one line for people, and how to make its
/// parameters.
struct Alternative {
  std::string name;
  std::string doc;
  std::function<std::shared_ptr<Params>()> make;
};

/// A parameter that is "one of several things, each with its own parameters": `{uniform: {bits:
/// 3}}` in a recipe, or the bare name when the defaults will do. `options` is the list it may come
/// from (not owned).
struct Choice {
  const std::vector<Alternative>* options = nullptr;
  std::string name;
  std::shared_ptr<Params> params;

  Choice() = default;
  /// The alternative `selected` of `list` with its default parameters.
  Choice(const std::vector<Alternative>& list, std::string_view selected);
  template <class T>
  const T& as() const {
    return dynamic_cast<const T&>(*params);
  }
};

/// What a numeric field may hold; `in(lo, hi)` sets an inclusive range.
class FieldRange {
 public:
  explicit FieldRange(std::function<void(double, double)> set = {}) : set_(std::move(set)) {}
  void in(double lo, double hi) {
    if (set_) set_(lo, hi);
  }

 private:
  std::function<void(double, double)> set_;
};

/// What list() can use beyond reading elements and appending: `clear` drops the elements, `sample`
/// makes one that is not part of the list (for documentation).
struct ListExtras {
  std::function<void()> clear;
  std::function<std::shared_ptr<Params>()> sample;
};

using EnumNames = std::vector<std::pair<std::string, int>>;

/// Sees each field of a Params once, in order. Implementations read YAML, write YAML, JSON or
/// Markdown.
class ParamVisitor {
 public:
  virtual ~ParamVisitor() = default;
  virtual FieldRange field(const char* name, int64_t& value, const char* doc) = 0;
  virtual FieldRange field(const char* name, int& value, const char* doc) = 0;
  virtual FieldRange field(const char* name, double& value, const char* doc) = 0;
  virtual void field(const char* name, bool& value, const char* doc) = 0;
  virtual void field(const char* name, std::string& value, const char* doc) = 0;
  virtual void field(const char* name, std::vector<std::string>& value, const char* doc) = 0;
  virtual void field(const char* name, std::vector<double>& value, const char* doc) = 0;
  /// A nested mapping.
  virtual void field(const char* name, Params& value, const char* doc) = 0;
  /// One of several named things, each with parameters of its own.
  virtual void field(const char* name, Choice& value, const char* doc) = 0;
  /// A list of mappings of one kind; `make` appends an element and returns it.
  virtual void list(const char* name, std::size_t size,
                    const std::function<Params&(std::size_t)>& at,
                    const std::function<Params&()>& make, const char* doc,
                    const ListExtras& extras = {}) = 0;
  /// An enumeration by name.
  template <class E>
  void field(const char* name, E& value, const EnumNames& names, const char* doc) {
    int number = static_cast<int>(value);
    enumeration(name, number, names, doc);
    // Visitors that only look may run on one object in several threads: no write without a change.
    if (number != static_cast<int>(value)) value = static_cast<E>(number);
  }
  /// A condition over several fields, checked when a recipe is read; `message` says what must hold.
  virtual void check(bool holds, const char* message) = 0;

 protected:
  virtual void enumeration(const char* name, int& value, const EnumNames& names,
                           const char* doc) = 0;
};

/// A vector of one Params type as a field.
template <class T>
void list_field(ParamVisitor& v, const char* name, std::vector<T>& items, const char* doc) {
  v.list(
      name, items.size(), [&](std::size_t i) -> Params& { return items[i]; },
      [&]() -> Params& { return items.emplace_back(); }, doc,
      {.clear = [&] { items.clear(); }, .sample = [] { return std::make_shared<T>(); }});
}

/// All fields as one JSON object on one line, in the order of visit(): the form that is hashed.
std::string params_json(const Params& params);

/// All fields as YAML in flow style `{a: 1, b: {c: 2}}`.
std::string params_yaml(const Params& params);

/// A row for people: name, type, default, allowed range or names, doc; nested fields have dotted
/// names.
struct FieldDoc {
  std::string name, type, value, allowed, doc;
};
std::vector<FieldDoc> params_docs(const Params& params);

}  // namespace cupel
