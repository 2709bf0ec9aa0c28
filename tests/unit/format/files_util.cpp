// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "files_util.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cupel::test {
namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "cupel-test-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}
TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
std::string TempFolder::write(const std::string& name, std::string_view bytes) const {
  fs::remove(file(name));  // truncating an existing file makes ext4 flush it: 5 ms each
  std::ofstream(file(name), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file(name);
}

std::string shared_path(const std::string& relative) {
  const char* set = std::getenv("CUPEL_SHARED");
  const fs::path root = set ? fs::path(set) : fs::path(CUPEL_SOURCE_DIR) / ".." / "shared";
  const fs::path path = root / relative;
  return fs::exists(path) ? path.string() : "";
}

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<uint32_t>(alphabet.find(c));
    if ((have += 6) < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 255);
  }
  return out;
}

std::string raw_floats(const std::vector<float>& values) {
  std::string out;
  for (const float v : values) out += raw(v);
  return out;
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  return raw(uint64_t{header.size()}) + header + data;
}

namespace {
std::string counted(const std::string& text) {
  return raw(uint64_t{text.size()}) + text;
}
template <class T>
std::string array(uint32_t type, const std::vector<T>& values) {
  std::string out = raw(type) + raw(uint64_t{values.size()});
  for (const T& v : values) out += raw(v);
  return out;
}
}  // namespace

GgufBuilder& GgufBuilder::value(const std::string& key, uint32_t type, const std::string& bytes) {
  keys_ += counted(key) + raw(type) + bytes;
  ++key_count_;
  return *this;
}
GgufBuilder& GgufBuilder::text(const std::string& key, const std::string& v) {
  return value(key, 8, counted(v));
}
GgufBuilder& GgufBuilder::u32(const std::string& key, uint32_t v) {
  return value(key, 4, raw(v));
}
GgufBuilder& GgufBuilder::f32(const std::string& key, float v) {
  return value(key, 6, raw(v));
}
GgufBuilder& GgufBuilder::flag(const std::string& key, bool v) {
  return value(key, 7, raw(static_cast<uint8_t>(v)));
}
GgufBuilder& GgufBuilder::texts(const std::string& key, const std::vector<std::string>& values) {
  std::string bytes = raw(uint32_t{8}) + raw(uint64_t{values.size()});
  for (const std::string& v : values) bytes += counted(v);
  return value(key, 9, bytes);
}
GgufBuilder& GgufBuilder::i32s(const std::string& key, const std::vector<int32_t>& values) {
  return value(key, 9, array(5, values));
}
GgufBuilder& GgufBuilder::f32s(const std::string& key, const std::vector<float>& values) {
  return value(key, 9, array(6, values));
}
GgufBuilder& GgufBuilder::tensor(const std::string& name, const std::vector<uint64_t>& dims,
                                 uint32_t type, const std::string& data) {
  infos_ += counted(name) + raw(static_cast<uint32_t>(dims.size()));
  for (const uint64_t d : dims) infos_ += raw(d);
  infos_ += raw(type) + raw(uint64_t{data_.size()});
  data_ += data;
  data_.resize((data_.size() + 31) / 32 * 32);
  ++tensor_count_;
  return *this;
}
std::string GgufBuilder::bytes(uint32_t version) const {
  std::string out = "GGUF" + raw(version) + raw(tensor_count_) + raw(key_count_) + keys_ + infos_;
  if (tensor_count_ > 0) out.resize((out.size() + 31) / 32 * 32);
  return out + data_;
}

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an exception of another type: " << e.what();
    return Error(Fault::internal, e.what());
  }
  ADD_FAILURE() << "no error";
  return Error(Fault::internal, "none");
}

void expect_error(Fault fault, std::string_view part, const std::function<void()>& body) {
  const Error e = error_of(body);
  EXPECT_EQ(static_cast<int>(e.fault()), static_cast<int>(fault)) << e.what();
  EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos)
      << "'" << part << "' expected in: " << e.what();
}

void check_cases(const std::string& jsonl, const std::string& extension,
                 const std::function<void(const std::string& path)>& open) {
  const TempFolder folder;
  std::ifstream lines(jsonl);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto c = nlohmann::json::parse(line);
    const auto name = c["name"].get<std::string>();
    const auto path = folder.write("case" + extension, from_base64(c["b64"].get<std::string>()));
    const bool accept = c["want"].get<std::string>().starts_with("accept");
    if (accept) {
      EXPECT_NO_THROW(open(path)) << name;
    } else {
      SCOPED_TRACE(name);
      expect_error(Fault::data, "", [&] { open(path); });
    }
  }
  EXPECT_GT(count, 0) << jsonl;
}

}  // namespace cupel::test
