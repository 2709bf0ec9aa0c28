// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/params.h"
#include "base/params_text.h"

namespace cupel {

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fixed(value, 0) : cat(value);
}

std::string range_text(double lo, double hi) {
  // The limits of the integer types stand for "no limit".
  constexpr double kOpen = 1e15;
  using Int = std::numeric_limits<int>;
  const bool no_top = hi == Int::max() || hi >= kOpen, no_bottom = lo == Int::min() || lo <= -kOpen;
  if (no_top) return no_bottom ? "any" : cat("at least ", number_text(lo));
  if (no_bottom) return cat("at most ", number_text(hi));
  return cat("[", number_text(lo), ", ", number_text(hi), "]");
}

namespace {

// A transform may hold transforms: rows of choices inside choices end here.
constexpr int kMaxDepth = 4;

class DocVisitor : public ParamVisitor {
 public:
  DocVisitor(std::vector<FieldDoc>& rows, std::string prefix, int depth)
      : rows_(rows), prefix_(std::move(prefix)), depth_(depth) {}

  FieldRange field(const char* name, int64_t& value, const char* doc) override {
    return ranged(name, "integer", cat(value), doc);
  }
  FieldRange field(const char* name, int& value, const char* doc) override {
    return ranged(name, "integer", cat(value), doc);
  }
  FieldRange field(const char* name, double& value, const char* doc) override {
    return ranged(name, "number", number_text(value), doc);
  }
  void field(const char* name, bool& value, const char* doc) override {
    row(name, "boolean", cat(value), "true, false", doc);
  }
  void field(const char* name, std::string& value, const char* doc) override {
    row(name, "text", yaml_text(value), "", doc);
  }
  void field(const char* name, std::vector<std::string>& value, const char* doc) override {
    std::vector<std::string> items;
    for (const std::string& item : value) items.push_back(yaml_text(item));
    row(name, "list of texts", list_text(items), "", doc);
  }
  void field(const char* name, std::vector<double>& value, const char* doc) override {
    row(name, "list of numbers", list_text(value), "", doc);
  }
  void field(const char* name, Params& value, const char* doc) override {
    row(name, "mapping", "", "", doc);
    descend(name, value);
  }
  void field(const char* name, Choice& value, const char* doc) override {
    if (!value.options) fail(Fault::internal, "the choice '", name, "' has no options");
    row(name, "choice", value.name, joined(names_of(*value.options)), doc);
    if (depth_ >= kMaxDepth) return;
    for (const Alternative& option : *value.options) {
      const auto params = option.name == value.name ? value.params : option.make();
      const std::string path = cat(name, ".", option.name);
      row(path.c_str(), "mapping", "", "", option.doc.c_str());
      if (params) descend(path, *params);
    }
  }
  void list(const char* name, std::size_t size, const std::function<Params&(std::size_t)>&,
            const std::function<Params&()>&, const char* doc, const ListExtras& extras) override {
    row(name, "list of mappings", size == 0 ? "[]" : cat(size, " elements"), "", doc);
    if (extras.sample && depth_ < kMaxDepth) descend(cat(name, "[]"), *extras.sample());
  }
  void check(bool, const char*) override {}

 protected:
  void enumeration(const char* name, int& value, const EnumNames& names, const char* doc) override {
    std::string allowed;
    for (const auto& entry : names) allowed += cat(allowed.empty() ? "" : ", ", entry.first);
    row(name, "name", name_of(names, value), allowed, doc);
  }

 private:
  void row(const char* name, const char* type, std::string value, std::string allowed,
           const char* doc) {
    rows_.push_back({prefix_ + name, type, std::move(value), std::move(allowed), doc});
  }
  FieldRange ranged(const char* name, const char* type, std::string value, const char* doc) {
    row(name, type, std::move(value), "", doc);
    return FieldRange([this, i = rows_.size() - 1](double lo, double hi) {
      rows_[i].allowed = range_text(lo, hi);
    });
  }
  void descend(const std::string& name, Params& params) {
    DocVisitor inner(rows_, cat(prefix_, name, "."), depth_ + 1);
    params.visit(inner);
  }

  std::vector<FieldDoc>& rows_;
  std::string prefix_;
  int depth_;
};

}  // namespace

std::vector<FieldDoc> params_docs(const Params& params) {
  std::vector<FieldDoc> rows;
  DocVisitor visitor(rows, "", 0);
  const_cast<Params&>(params).visit(visitor);
  return rows;
}

}  // namespace cupel
