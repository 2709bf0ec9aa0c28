// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "text/jinja_library.h"

namespace cupel::text::jinja {
namespace {

constexpr int64_t kLongestRange = 100000;  // Jinja's sandbox has the same limit

Value range(Frame&, const Arguments& given) {
  if (given.positional.empty() || given.positional.size() > 3 || !given.named.empty())
    raise("TypeError", "range expected 1 to 3 arguments");
  for (const Value& v : given.positional)
    if (!v.is_integral())
      raise("TypeError", "'", type_name(v), "' object cannot be interpreted as an integer");
  const auto at = [&](std::size_t i) { return given.positional[i].as_integer(); };
  const bool one = given.positional.size() == 1;
  const int64_t start = one ? 0 : at(0), stop = one ? at(0) : at(1),
                step = given.positional.size() == 3 ? at(2) : 1;
  if (step == 0) raise("ValueError", "range() arg 3 must not be zero");
  List out{{}, Flavor::range, 0, stop};
  const double count = std::ceil((static_cast<double>(stop) - static_cast<double>(start)) /
                                 static_cast<double>(step));
  const auto most = static_cast<std::size_t>(std::clamp<double>(count, 0, kLongestRange));
  spend(most / 4);
  out.items.reserve(most);
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(out.items.size()) == kLongestRange)
      raise("OverflowError", "Range too big. The sandbox blocks ranges larger than ", kLongestRange,
            ".");
    out.items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value(std::move(out));
}

Dict dict_of(const char* name, const Arguments& given) {
  if (given.positional.size() > 1) raise("TypeError", name, " expected at most 1 argument");
  Dict out;
  if (!given.positional.empty() && given.positional[0].is_dict()) {
    out = given.positional[0].as_dict();
  } else if (!given.positional.empty()) {
    for (const Value& pair : iterate(given.positional[0])) {
      const auto two = iterate(pair);
      if (two.size() != 2)
        raise("ValueError", name, ": an element has ", two.size(), " items; 2 are required");
      out.set(two[0], two[1]);
    }
  }
  for (const auto& [key, v] : given.named) out.set(Value(key), v);
  return out;
}

Value make_namespace(Frame& f, const Arguments& given) {
  if (++f.run.namespaces > Run::kMostNamespaces)
    raise("MemoryError", "more than ", Run::kMostNamespaces, " namespaces");
  auto out = std::make_shared<Namespace>();
  out->values = dict_of("namespace", given);
  return out;
}

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(List{std::move(items), Flavor::tuple}) {}
  std::string type_name() const override { return "Cycler"; }
  int depth() const override { return items_.as_list().depth; }
  Value attribute(const std::string& name) const override {
    if (name == "current") return item(items_, Value(static_cast<int64_t>(*at_)));
    if (name == "next" || name == "reset")
      return std::make_shared<Function>(
          name, [items = items_, at = at_, reset = name == "reset"](Frame&, const Arguments&) {
            if (reset) return *at = 0, Value(nullptr);
            const Value v = item(items, Value(static_cast<int64_t>(*at)));
            *at = (*at + 1) % items.as_list().items.size();
            return v;
          });
    return Object::attribute(name);
  }

 private:
  Value items_;
  std::shared_ptr<std::size_t> at_ = std::make_shared<std::size_t>(0);
};

Value cycler(Frame&, const Arguments& given) {
  if (given.positional.empty()) raise("RuntimeError", "at least one item has to be provided");
  return std::make_shared<Cycler>(given.positional);
}

Value joiner(Frame&, const Arguments& given) {
  const std::string separator = Bound("joiner", given, {"sep"}).text(0, ", ");
  return std::make_shared<Function>(
      "joiner", [separator, used = std::make_shared<bool>(false)](Frame&, const Arguments&) {
        return Value(std::exchange(*used, true) ? separator : std::string());
      });
}

Value raise_exception(Frame&, const Arguments& given) {
  throw TemplateError{"", to_text(Bound("raise_exception", given, {"message"}).at(0))};
}

// Local time; SOURCE_DATE_EPOCH, where it is set, stands for the present, in UTC.
Value strftime_now(Frame&, const Arguments& given) {
  const std::string format = Bound("strftime_now", given, {"format"}).text(0, "");
  std::tm parts{};
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    const std::time_t now = std::strtoll(epoch, nullptr, 10);
    gmtime_r(&now, &parts);
  } else {
    const std::time_t now = std::time(nullptr);
    localtime_r(&now, &parts);
  }
  if (format.empty() || format.size() > 1000) return Value("");
  std::string out(format.size() * 16 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &parts));
  return Value(std::move(out));
}

}  // namespace

Bound::Bound(const char* function, const Arguments& given, std::initializer_list<const char*> names)
    : function_(function), names_(names), values_(names.size(), nullptr) {
  if (given.positional.size() > names_.size())
    raise("TypeError", function, "() takes at most ", names_.size(), " arguments, not ",
          given.positional.size());
  for (std::size_t i = 0; i < given.positional.size(); ++i) values_[i] = &given.positional[i];
  for (const auto& [name, v] : given.named) {
    std::size_t i = 0;
    while (i < names_.size() && name != names_[i]) ++i;
    if (i == names_.size())
      raise("TypeError", function, "() got an unexpected keyword argument '", name, "'");
    if (values_[i]) raise("TypeError", function, "() got two values for argument '", name, "'");
    values_[i] = &v;
  }
}

const Value& Bound::at(std::size_t i) const {
  if (!values_[i]) raise("TypeError", function_, "() lacks the argument '", names_[i], "'");
  return *values_[i];
}

int64_t Bound::integer(std::size_t i, int64_t fallback) const {
  if (!values_[i] || values_[i]->is_none()) return fallback;
  if (values_[i]->is_undefined()) raise_undefined(*values_[i]);
  if (!values_[i]->is_integral())
    raise("TypeError", function_, "(): '", names_[i], "' must be an integer, not ",
          type_name(*values_[i]));
  return values_[i]->as_integer();
}

std::string Bound::text(std::size_t i, const std::string& fallback) const {
  return values_[i] ? to_text(*values_[i]) : fallback;
}

Value Namespace::attribute(const std::string& name) const {
  const Value* found = values.find(Value(name));
  return found ? *found : Object::attribute(name);
}

void add_globals(Scope& scope) {
  const auto add = [&](const char* name, Function::Body body) {
    scope.set(name, Value(std::make_shared<Function>(name, std::move(body))));
  };
  add("range", range);
  add("dict", [](Frame&, const Arguments& given) { return Value(dict_of("dict", given)); });
  add("namespace", make_namespace);
  add("cycler", cycler);
  add("joiner", joiner);
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
}

}  // namespace cupel::text::jinja
