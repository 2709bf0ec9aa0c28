// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace cupel::test {

/// A folder of its own for a test, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

/// The folder with shared fixtures: $CUPEL_SHARED, else `shared` beside the repository; "" when
/// `relative` is not in it.
std::string shared_path(const std::string& relative);

std::string from_base64(std::string_view text);

/// The bytes of a number.
template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
std::string raw_floats(const std::vector<float>& values);

/// A safetensors file from its header text and data.
std::string safetensors_bytes(const std::string& header, const std::string& data = {});

/// Builds GGUF files: metadata, then tensors (dims fastest first), then data.
class GgufBuilder {
 public:
  GgufBuilder& text(const std::string& key, const std::string& value);
  GgufBuilder& u32(const std::string& key, uint32_t value);
  GgufBuilder& f32(const std::string& key, float value);
  GgufBuilder& flag(const std::string& key, bool value);
  GgufBuilder& texts(const std::string& key, const std::vector<std::string>& values);
  GgufBuilder& i32s(const std::string& key, const std::vector<int32_t>& values);
  GgufBuilder& f32s(const std::string& key, const std::vector<float>& values);
  /// Any value, as its bytes after the key.
  GgufBuilder& value(const std::string& key, uint32_t type, const std::string& bytes);
  GgufBuilder& tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type,
                      const std::string& data);
  std::string bytes(uint32_t version = 3) const;

 private:
  std::string keys_, infos_, data_;
  uint64_t key_count_ = 0, tensor_count_ = 0;
};

/// The error that `body` throws; fails when it throws none or one that is not an Error. `what()` is
/// its text.
Error error_of(const std::function<void()>& body);

/// Expects an Error of `fault` whose text contains `part`.
void expect_error(Fault fault, std::string_view part, const std::function<void()>& body);

/// Runs a file of cases ({name, b64, want}) through `open`: "accept..." must succeed, the rest
/// throw Fault::data.
void check_cases(const std::string& jsonl, const std::string& extension,
                 const std::function<void(const std::string& path)>& open);

}  // namespace cupel::test
