// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/layout.h"
#include "format/layouts/dense.h"
#include "format/layouts/fp8.h"
#include "format/layouts/integer_mx.h"
#include "format/layouts/lut.h"
#include "format/layouts/mixed.h"
#include "format/layouts/mx.h"
#include "format/layouts/nested.h"
#include "format/layouts/nvfp4.h"
#include "format/layouts/row_table.h"
#include "format/layouts/sinh.h"
#include "format/layouts/sum.h"
#include "format/layouts/ternary.h"
#include "format/layouts/uniform.h"

namespace cupel::format {

namespace {

struct Entry {
  Alternative alternative;
  std::shared_ptr<const Layout> (*make)(const Params&);
};

template <class L, class P>
Entry entry(std::string name, std::string doc) {
  return {{std::move(name), std::move(doc), [] { return std::make_shared<P>(); }},
          [](const Params& p) -> std::shared_ptr<const Layout> {
            return std::make_shared<L>(dynamic_cast<const P&>(p));
          }};
}

/// The list of layouts: a new one adds its line here.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      entry<UniformLayout, UniformParams>("uniform",
                                          "integer grid of 1 to 8 bits, a scale per group"),
      entry<TernaryLayout, TernaryParams>("ternary", "levels -s, 0, s"),
      entry<Fp8Layout, Fp8Params>("fp8", "E4M3 or E5M2 with float32 scales"),
      entry<Nvfp4Layout, Nvfp4Params>("nvfp4", "E2M1 with E4M3 scales"),
      entry<MxLayout, MxParams>("mx", "OCP microscaling: MXFP4, MXFP6, MXFP8"),
      entry<IntegerMxLayout, IntegerMxParams>(
          "integer-mx", "E2M1 times integers: a row is an int8 vector times a scale"),
      entry<LutLayout, LutParams>("lut", "a table of levels with group scales: NF4, FP4, ..."),
      entry<SinhLayout, SinhParams>("sinh", "companded levels with mirrored blocks"),
      entry<RowTableLayout, RowTableParams>("row-table", "a table of levels for every row"),
      entry<NestedLayout, NestedParams>("nested",
                                        "integer grid as bit planes: every prefix is a model"),
      entry<MixedLayout, MixedParams>("mixed",
                                      "tiles, stripes or channel groups of several layouts"),
      entry<SumLayout, SumParams>("sum", "another layout plus a low-rank part and full rows"),
      entry<DenseLayout, DenseParams>("dense", "plain numbers: f32, f16 or bf16"),
  };
  return list;
}

const Entry* find_entry(std::string_view name) {
  for (const Entry& e : entries())
    if (e.alternative.name == name) return &e;
  return nullptr;
}

std::string known_names() {
  std::vector<std::string> names;
  for (const Entry& e : entries()) names.push_back(e.alternative.name);
  return list_text(names);
}

using Json = nlohmann::json;

/// Sets parameters from JSON that a file holds. A YAML reader would do as well, but the runtime has
/// none.
class JsonParams : public ParamVisitor {
 public:
  explicit JsonParams(const Json& object) : object_(object) {
    CUPEL_CHECK(object.is_object(), data, "parameters must be a JSON object");
  }

  static void read(const Json& object, Params& params) {
    JsonParams reader(object);
    params.visit(reader);
    for (const auto& item : object.items())
      CUPEL_CHECK(reader.known(item.key()), data, "unknown parameter '", item.key(), "'");
  }

  FieldRange field(const char* name, int64_t& value, const char*) override {
    return number(name, value);
  }
  FieldRange field(const char* name, int& value, const char*) override {
    int64_t wide = value;
    number(name, wide);
    value = static_cast<int>(wide);
    CUPEL_CHECK(value == wide, data, "parameter '", name, "' is out of range: ", wide);
    return range(name, static_cast<double>(value));
  }
  FieldRange field(const char* name, double& value, const char*) override {
    if (const Json* j = find(name)) {
      CUPEL_CHECK(j->is_number(), data, "parameter '", name, "' must be a number");
      value = j->get<double>();
    }
    return range(name, value);
  }
  void field(const char* name, bool& value, const char*) override {
    if (const Json* j = find(name)) {
      CUPEL_CHECK(j->is_boolean(), data, "parameter '", name, "' must be true or false");
      value = j->get<bool>();
    }
  }
  void field(const char* name, std::string& value, const char*) override {
    if (const Json* j = find(name)) value = text(name, *j);
  }
  void field(const char* name, std::vector<std::string>& value, const char*) override {
    if (const Json* j = find_list(name)) {
      value.clear();
      for (const Json& item : *j) value.push_back(text(name, item));
    }
  }
  void field(const char* name, std::vector<double>& value, const char*) override {
    if (const Json* j = find_list(name)) {
      value.clear();
      for (const Json& item : *j) {
        CUPEL_CHECK(item.is_number(), data, "parameter '", name, "' must hold numbers");
        value.push_back(item.get<double>());
      }
    }
  }
  void field(const char* name, Params& value, const char*) override {
    if (const Json* j = find(name)) read(*j, value);
  }
  void field(const char* name, Choice& value, const char*) override {
    const Json* j = find(name);
    if (!j) return;
    const bool bare = j->is_string();
    CUPEL_CHECK(bare || (j->is_object() && j->size() == 1), data, "parameter '", name,
                "' must be a name or {name: parameters}");
    const std::string selected = bare ? j->get<std::string>() : j->begin().key();
    for (const Alternative& a : *value.options)
      if (a.name == selected) {
        value.name = selected;
        value.params = a.make();
        if (!bare) read(j->front(), *value.params);
        return;
      }
    fail(Fault::data, "parameter '", name, "': unknown '", selected, "'");
  }
  void list(const char* name, std::size_t size, const std::function<Params&(std::size_t)>& at,
            const std::function<Params&()>& make, const char*, const ListExtras& extras) override {
    const Json* j = find_list(name);
    if (!j) return;
    if (extras.clear) {
      extras.clear();
      size = 0;
    }
    for (std::size_t i = 0; i < j->size(); ++i) read((*j)[i], i < size ? at(i) : make());
  }
  void check(bool holds, const char* message) override { CUPEL_CHECK(holds, data, message); }

 protected:
  void enumeration(const char* name, int& value, const EnumNames& names, const char*) override {
    const Json* j = find(name);
    if (!j) return;
    const std::string given = text(name, *j);
    for (const auto& [known_name, number_of] : names)
      if (known_name == given) {
        value = number_of;
        return;
      }
    fail(Fault::data, "parameter '", name, "': unknown '", given, "'");
  }

 private:
  const Json* find(const char* name) {
    names_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  const Json* find_list(const char* name) {
    const Json* j = find(name);
    CUPEL_CHECK(!j || j->is_array(), data, "parameter '", name, "' must be a list");
    return j;
  }
  bool known(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  static std::string text(const char* name, const Json& j) {
    CUPEL_CHECK(j.is_string(), data, "parameter '", name, "' must be text");
    return j.get<std::string>();
  }
  FieldRange number(const char* name, int64_t& value) {
    if (const Json* j = find(name)) {
      CUPEL_CHECK(j->is_number_integer(), data, "parameter '", name, "' must be an integer");
      value = j->get<int64_t>();
    }
    return range(name, static_cast<double>(value));
  }
  static FieldRange range(const char* name, double value) {
    return FieldRange([=](double low, double high) {
      CUPEL_CHECK(value >= low && value <= high, data, "parameter '", name, "' must lie in [", low,
                  ", ", high, "], not ", value);
    });
  }

  const Json& object_;
  std::vector<std::string> names_;
};

}  // namespace

int64_t Layout::bits(int64_t rows, int64_t cols) const {
  std::size_t bytes = 0;
  for (const PlaneSpec& spec : plane_specs(rows, cols)) {
    std::size_t count = 1;
    for (const int64_t n : spec.shape)
      count = checked_mul(count, static_cast<std::size_t>(n), "a plane");
    bytes = checked_add(bytes, stored_bytes(spec.type, count), "the planes of a weight");
  }
  return static_cast<int64_t>(checked_mul(bytes, 8, "the planes of a weight"));
}

const std::vector<Alternative>& layout_alternatives() {
  static const std::vector<Alternative> list = [] {
    std::vector<Alternative> all;
    for (const Entry& e : entries()) all.push_back(e.alternative);
    return all;
  }();
  return list;
}

std::shared_ptr<const Layout> make_layout(const Choice& choice) {
  const Entry* e = find_entry(choice.name);
  CUPEL_CHECK(e, user, "unknown layout '", choice.name, "' (known: ", known_names(), ")");
  return e->make(choice.params ? *choice.params : *e->alternative.make());
}

std::shared_ptr<const Layout> make_layout(std::string_view name, std::string_view params_json) {
  const Entry* e = find_entry(name);
  CUPEL_CHECK(e, data, "unknown layout '", name, "' (known: ", known_names(),
              "); a newer version may have written it");
  const auto params = e->alternative.make();
  const Json json = Json::parse(params_json.begin(), params_json.end(), nullptr, false);
  CUPEL_CHECK(!json.is_discarded(), data, "the parameters of layout '", name, "' are not JSON");
  try {
    JsonParams::read(json, *params);
    return e->make(*params);
  } catch (const Error& error) {
    throw Error(Fault::data, cat("layout '", name, "': ", error.message()));
  }
}

}  // namespace cupel::format
