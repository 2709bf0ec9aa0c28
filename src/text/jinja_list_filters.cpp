// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_markup.h"
#include "text/jinja_operators.h"

namespace cupel::text::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

Value list_of(std::vector<Value> items, Flavor flavor = Flavor::list) {
  return Value(List{std::move(items), flavor});
}
Value generator_of(std::vector<Value> items) {
  return list_of(std::move(items), Flavor::generator);
}

Arguments without_first(A given, std::size_t n) {
  Arguments out = given;
  out.positional.erase(out.positional.begin(),
                       out.positional.begin() + static_cast<std::ptrdiff_t>(n));
  return out;
}

const Filter& known_filter(const std::string& name) {
  const Filter* filter = find_filter(name);
  if (!filter) raise("TemplateRuntimeError", "filter '", name, "' is not supported");
  return *filter;
}

const Test& known_test(const std::string& name) {
  const Test* test = find_test(name);
  if (!test) raise("TemplateRuntimeError", "test '", name, "' is not supported");
  return *test;
}

// select, reject, selectattr and rejectattr.
Value chosen(Frame& f, V v, A given, bool by_attribute, bool wanted) {
  const std::size_t skip = by_attribute ? 1 : 0;
  if (given.positional.size() < skip) raise("FilterArgumentError", "an attribute is missing");
  if (!truthy(v)) return generator_of({});
  const KeyOf key(by_attribute ? given.positional[0] : Value(nullptr), true);
  const bool has_test = given.positional.size() > skip;
  const Test* test = has_test ? &known_test(to_text(given.positional[skip])) : nullptr;
  const Arguments rest = without_first(given, std::min(skip + 1, given.positional.size()));
  std::vector<Value> out;
  for (const Value& element : iterate(v)) {
    const Value seen = key(element);
    if ((test ? (*test)(f, seen, rest) : truthy(seen)) == wanted) out.push_back(element);
  }
  return generator_of(std::move(out));
}

Value map(Frame& f, V v, A given) {
  std::vector<Value> out;
  if (!truthy(v)) return generator_of({});
  if (given.positional.empty()) {
    const Bound a("map", given, {"attribute", "default"});
    const KeyOf key(a.at(0), true, a.get(1, Value()));
    for (const Value& element : iterate(v)) out.push_back(key(element));
    return generator_of(std::move(out));
  }
  const Filter& filter = known_filter(to_text(given.positional[0]));
  const Arguments rest = without_first(given, 1);
  for (const Value& element : iterate(v)) out.push_back(filter(f, element, rest));
  return generator_of(std::move(out));
}

// `sort(attribute='a,b')` compares several keys.
std::vector<KeyOf> keys_of(V attribute, bool case_counts) {
  std::vector<KeyOf> out;
  if (!attribute.is_string()) return {KeyOf(attribute, case_counts)};
  std::string_view rest = attribute.as_string();
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    out.emplace_back(Value(rest.substr(0, comma)), case_counts);
    if (comma == rest.size()) return out;
    rest.remove_prefix(comma + 1);
  }
}

// Sorts by keys that are computed once; equal elements keep their order, in reverse too.
std::vector<Value> sorted(std::vector<Value> items, const std::vector<KeyOf>& keys, bool reverse) {
  std::vector<std::pair<std::vector<Value>, Value>> rows;
  for (Value& v : items) {
    std::vector<Value> row;
    for (const KeyOf& key : keys) row.push_back(key(v));
    rows.emplace_back(std::move(row), std::move(v));
  }
  std::stable_sort(rows.begin(), rows.end(), [reverse](const auto& a, const auto& b) {
    for (std::size_t i = 0; i < a.first.size(); ++i)
      if (const int order = compare(a.first[i], b.first[i]); order != 0)
        return reverse ? order > 0 : order < 0;
    return false;
  });
  items.clear();
  for (auto& row : rows) items.push_back(std::move(row.second));
  return items;
}

Value sort(Frame&, V v, A given) {
  const Bound a("sort", given, {"reverse", "case_sensitive", "attribute"});
  return list_of(
      sorted(iterate(v), keys_of(a.get(2, nullptr), a.flag(1, false)), a.flag(0, false)));
}

std::vector<Value> pairs(V v) {
  if (v.is_undefined()) return {};
  if (!v.is_dict())
    raise("TypeError", "can only get item pairs from a mapping, not ", type_name(v));
  std::vector<Value> out;
  for (const auto& [key, value] : v.as_dict().items)
    out.push_back(list_of({key, value}, Flavor::tuple));
  return out;
}

Value dictsort(Frame&, V v, A given) {
  const Bound a("dictsort", given, {"case_sensitive", "by", "reverse"});
  const std::string by = a.text(1, "key");
  if (v.is_undefined()) raise_undefined(v);
  if (by != "key" && by != "value")
    raise("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  return list_of(
      sorted(pairs(v), {KeyOf(Value(by == "key" ? 0 : 1), a.flag(0, false))}, a.flag(2, false)));
}

Value extreme(V v, A given, bool largest) {
  const Bound a(largest ? "max" : "min", given, {"case_sensitive", "attribute"});
  const KeyOf key(a.get(1, nullptr), a.flag(0, false));
  const auto items = iterate(v);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const auto less = [&](V x, V y) {
    return largest ? compare(key(y), key(x)) < 0 : compare(key(x), key(y)) < 0;
  };
  return *std::min_element(items.begin(), items.end(), less);
}

Value sum(Frame&, V v, A given) {
  const Bound a("sum", given, {"attribute", "start"});
  const KeyOf key(a.get(0, nullptr), true);
  Value total = a.get(1, 0);
  for (const Value& element : iterate(v)) total = add(total, key(element));
  return total;
}

Value unique(Frame&, V v, A given) {
  const Bound a("unique", given, {"case_sensitive", "attribute"});
  const KeyOf key(a.get(1, nullptr), a.flag(0, false));
  std::vector<Value> seen, out;
  for (const Value& element : iterate(v)) {
    const Value k = key(element);
    check_hashable(k);
    if (std::any_of(seen.begin(), seen.end(), [&](V other) { return equal(other, k); })) continue;
    seen.push_back(k);
    out.push_back(element);
  }
  return generator_of(std::move(out));
}

Value groupby(Frame&, V v, A given) {
  const Bound a("groupby", given, {"attribute", "default", "case_sensitive"});
  const KeyOf key(a.at(0), a.flag(2, false), a.get(1, Value())),
      shown(a.at(0), true, a.get(1, Value()));
  std::vector<Value> groups;
  std::vector<Value> members;
  const auto items = sorted(iterate(v), {key}, false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    members.push_back(items[i]);
    if (i + 1 < items.size() && equal(key(items[i]), key(items[i + 1]))) continue;
    groups.push_back(list_of({shown(members[0]), list_of(members)}, Flavor::group));
    members.clear();
  }
  return list_of(std::move(groups));
}

Value batch(Frame&, V v, A given) {
  const Bound a("batch", given, {"linecount", "fill_with"});
  const int64_t n = a.integer(0, 1);
  if (n < 1 || n > 1000000) raise("ValueError", "batch: the size must be positive");
  std::vector<Value> out, row;
  for (const Value& element : iterate(v)) {
    row.push_back(element);
    if (static_cast<int64_t>(row.size()) == n) out.push_back(list_of(std::exchange(row, {})));
  }
  if (!row.empty()) {
    if (!a.get(1, nullptr).is_none()) row.resize(static_cast<std::size_t>(n), a.at(1));
    out.push_back(list_of(std::move(row)));
  }
  return generator_of(std::move(out));
}

Value slice_filter(Frame&, V v, A given) {
  const Bound a("slice", given, {"slices", "fill_with"});
  const int64_t n = a.integer(0, 1);
  if (n < 1 || n > 1000000) raise("ValueError", "slice: the number must be positive");
  const auto items = iterate(v);
  const auto size = static_cast<int64_t>(items.size());
  std::vector<Value> out;
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t end = at + size / n + (i < size % n ? 1 : 0);
    std::vector<Value> row(items.begin() + at, items.begin() + end);
    if (!a.get(1, nullptr).is_none() && i >= size % n && size % n != 0) row.push_back(a.at(1));
    out.push_back(list_of(std::move(row)));
    at = end;
  }
  return generator_of(std::move(out));
}

Value join(Frame&, V v, A given) {
  const Bound a("join", given, {"d", "attribute"});
  const std::string separator = a.text(0, "");
  const KeyOf key(a.get(1, nullptr), true);
  std::string out;
  bool first = true;
  for (const Value& element : iterate(v)) {
    if (!std::exchange(first, false)) out += separator;
    out += to_text(key(element));
    check_size(static_cast<double>(out.size()));
  }
  return Value(std::move(out));
}

Value reverse(Frame&, V v, A) {
  auto items = iterate(v);
  std::reverse(items.begin(), items.end());
  if (!v.is_string()) return generator_of(std::move(items));
  std::string out;
  for (const Value& c : items) out += c.as_string();
  return marked_like(v, std::move(out));
}

Value first(Frame&, V v, A) {
  const auto items = iterate(v);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Frame&, V v, A) {
  const auto items = iterate(v);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value attr(Frame&, V v, A given) {
  const std::string name = to_text(Bound("attr", given, {"name"}).at(0));
  if (v.is_dict() && !method(v, name))
    return Value::undefined(cat("'dict object' has no attribute '", name, "'"));
  return attribute(v, name);
}

}  // namespace

KeyOf::KeyOf(const Value& path, bool case_counts, Value fallback)
    : case_counts_(case_counts), fallback_(std::move(fallback)) {
  if (path.is_none()) return;
  if (!path.is_string()) {
    path_.push_back(path);
    return;
  }
  for (std::string_view rest = path.as_string();;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool index =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    path_.push_back(index ? Value(std::atoi(std::string(part).c_str())) : Value(part));
    if (dot == rest.size()) return;
    rest.remove_prefix(dot + 1);
  }
}

Value KeyOf::operator()(const Value& element) const {
  Value v = element;
  for (const Value& part : path_) {
    v = item(v, part);
    if (v.is_undefined() && !fallback_.is_undefined()) v = fallback_;
  }
  return !case_counts_ && v.is_string() ? Value(lower_text(v.as_string())) : v;
}

void add_list_filters(FilterTable& table) {
  table["select"] = [](Frame& f, V v, A a) { return chosen(f, v, a, false, true); };
  table["reject"] = [](Frame& f, V v, A a) { return chosen(f, v, a, false, false); };
  table["selectattr"] = [](Frame& f, V v, A a) { return chosen(f, v, a, true, true); };
  table["rejectattr"] = [](Frame& f, V v, A a) { return chosen(f, v, a, true, false); };
  table["min"] = [](Frame&, V v, A a) { return extreme(v, a, false); };
  table["max"] = [](Frame&, V v, A a) { return extreme(v, a, true); };
  table["list"] = [](Frame&, V v, A) { return list_of(iterate(v)); };
  table["items"] = [](Frame&, V v, A) { return generator_of(pairs(v)); };
  for (const char* name : {"length", "count"})
    table[name] = [](Frame&, V v, A) { return Value(length(v)); };
  table["map"] = map;
  table["sort"] = sort;
  table["dictsort"] = dictsort;
  table["sum"] = sum;
  table["unique"] = unique;
  table["groupby"] = groupby;
  table["batch"] = batch;
  table["slice"] = slice_filter;
  table["join"] = join;
  table["reverse"] = reverse;
  table["first"] = first;
  table["last"] = last;
  table["attr"] = attr;
}

const Filter* find_filter(std::string_view name) {
  static const FilterTable table = [] {
    FilterTable t;
    add_text_filters(t);
    add_list_filters(t);
    return t;
  }();
  const auto at = table.find(name);
  return at == table.end() ? nullptr : &at->second;
}

}  // namespace cupel::text::jinja
