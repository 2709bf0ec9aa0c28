// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace cupel::text {

/// A view of one object inside a tokenizer's JSON, with the place where it stands for error
/// messages. Every error is Fault::data. Does not own the JSON.
class Part {
 public:
  Part(const void* json, std::string path) : json_(json), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// The value of "type".
  std::string type() const;
  /// True if the key is there and not null.
  bool has(const char* key) const;
  Part child(const char* key) const;
  std::vector<Part> list(const char* key) const;
  std::vector<std::string> keys() const;

  std::string text(const char* key) const;
  bool flag(const char* key) const;
  bool flag(const char* key, bool fallback) const;
  int64_t integer(const char* key) const;
  std::vector<int64_t> integers(const char* key) const;
  /// The part itself as text, integer (for elements of lists).
  bool is_text() const;
  std::string as_text() const;
  int64_t as_integer() const;
  bool is_list() const;
  std::vector<Part> as_list() const;

  /// Refuses keys beside "type" that are not in the list: what is not known would change the
  /// result.
  void known(std::initializer_list<const char*> keys) const;
  /// Throws "tokenizer: <path>: <message>".
  [[noreturn]] void refuse(const std::string& message) const;
  [[noreturn]] void unknown_type() const;

 private:
  const void* json_;
  std::string path_;
};

}  // namespace cupel::text
