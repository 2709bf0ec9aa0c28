// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/part.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::text {
namespace {

using nlohmann::json;

const json& in(const void* p) {
  return *static_cast<const json*>(p);
}

const json* find(const void* p, const char* key) {
  const json& j = in(p);
  if (!j.is_object()) return nullptr;
  const auto at = j.find(key);
  return at == j.end() ? nullptr : &*at;
}

}  // namespace

void Part::refuse(const std::string& message) const {
  fail(Fault::data, "tokenizer: ", path_, ": ", message);
}

void Part::unknown_type() const {
  refuse(cat("type '", type(), "' is not supported"));
}

std::string Part::type() const {
  if (!in(json_).is_object()) refuse(cat("must be an object, not ", in(json_).type_name()));
  return text("type");
}

bool Part::has(const char* key) const {
  const json* j = find(json_, key);
  return j && !j->is_null();
}

Part Part::child(const char* key) const {
  const json* j = find(json_, key);
  if (!j || j->is_null()) refuse(cat("'", key, "' is missing"));
  return Part(j, path_.empty() ? std::string(key) : cat(path_, ".", key));
}

std::vector<Part> Part::list(const char* key) const {
  return child(key).as_list();
}

std::vector<std::string> Part::keys() const {
  std::vector<std::string> out;
  if (!in(json_).is_object()) refuse(cat("must be an object, not ", in(json_).type_name()));
  for (const auto& item : in(json_).items()) out.push_back(item.key());
  return out;
}

std::string Part::text(const char* key) const {
  return child(key).as_text();
}

bool Part::flag(const char* key) const {
  const Part at = child(key);
  if (!in(at.json_).is_boolean())
    at.refuse(cat("must be true or false, not ", in(at.json_).type_name()));
  return in(at.json_).get<bool>();
}

bool Part::flag(const char* key, bool fallback) const {
  return has(key) ? flag(key) : fallback;
}

int64_t Part::integer(const char* key) const {
  return child(key).as_integer();
}

std::vector<int64_t> Part::integers(const char* key) const {
  std::vector<int64_t> out;
  for (const Part& item : list(key)) out.push_back(item.as_integer());
  return out;
}

bool Part::is_text() const {
  return in(json_).is_string();
}

std::string Part::as_text() const {
  if (!is_text()) refuse(cat("must be a string, not ", in(json_).type_name()));
  return in(json_).get<std::string>();
}

int64_t Part::as_integer() const {
  const json& j = in(json_);
  if (!j.is_number_integer()) refuse(cat("must be an integer, not ", j.type_name()));
  if (j.is_number_unsigned() && j.get<uint64_t>() > INT64_MAX) refuse("is too large");
  return j.get<int64_t>();
}

bool Part::is_list() const {
  return in(json_).is_array();
}

std::vector<Part> Part::as_list() const {
  if (!is_list()) refuse(cat("must be a list, not ", in(json_).type_name()));
  std::vector<Part> out;
  for (const json& item : in(json_)) out.emplace_back(&item, cat(path_, "[", out.size(), "]"));
  return out;
}

void Part::known(std::initializer_list<const char*> keys) const {
  for (const auto& item : in(json_).items()) {
    const auto same = [&](const char* k) { return item.key() == k; };
    if (item.key() != "type" && std::none_of(keys.begin(), keys.end(), same))
      refuse(cat("key '", item.key(), "' is not known"));
  }
}

}  // namespace cupel::text
