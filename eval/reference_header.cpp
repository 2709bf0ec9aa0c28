// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/reference_header.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_io.h"
#include "base/hash.h"

namespace cupel::eval {

namespace {

static_assert(std::endian::native == std::endian::little, "reference files are little endian");

constexpr std::string_view kMagic = "CUPELREF";
constexpr uint32_t kVersion = 1;
constexpr std::size_t kPreamble = kMagic.size() + 8;  // magic, version, size of the header

using nlohmann::ordered_json;

std::string raw(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  uint32_t out = 0;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

ReferenceHeader header_from(std::string_view text) {
  const auto json = ordered_json::parse(text, nullptr, false);
  CUPEL_CHECK(json.is_object(), data, "the header is not a JSON object");
  ReferenceHeader h;
  try {
    json.at("model").get_to(h.model);
    json.at("text_file").get_to(h.text_file);
    json.at("vocabulary_sha256").get_to(h.vocabulary_sha256);
    json.at("vocab").get_to(h.vocab);
    json.at("top").get_to(h.top);
  } catch (const ordered_json::exception& e) {
    fail(Fault::data, "the header lacks something: ", e.what());
  }
  CUPEL_CHECK(h.top > 0 && h.top <= h.vocab && h.vocab <= 0x7FFFFFFF, data, "the header has ",
              h.top, " kept tokens of ", h.vocab);
  h.list = block_list_from_json(text);
  return h;
}

}  // namespace

std::size_t id_bytes(const ReferenceHeader& header) {
  return header.vocab <= 65536 ? 2 : 4;
}

std::size_t row_bytes(const ReferenceHeader& header) {
  return 8 + static_cast<std::size_t>(header.top) * (4 + id_bytes(header));
}

std::string reference_head(const ReferenceHeader& h) {
  ordered_json json = {{"model", h.model},
                       {"text_file", h.text_file},
                       {"vocabulary_sha256", h.vocabulary_sha256},
                       {"vocab", h.vocab},
                       {"top", h.top}};
  json.update(ordered_json::parse(block_list_json(h.list)));
  // A path need not be UTF-8: what isn't becomes U+FFFD.
  const std::string text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string out = cat(kMagic, raw(kVersion), raw(static_cast<uint32_t>(text.size())), text);
  return out + raw(crc32c(std::as_bytes(std::span(out))));
}

ReferenceHead read_reference_head(std::span<const std::byte> file) {
  CUPEL_CHECK(
      file.size() >= kPreamble && std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0, data,
      "it is no reference file: it does not begin with ", kMagic);
  const uint32_t version = word_at(file, kMagic.size());
  CUPEL_CHECK(version == kVersion, data, "it has version ", version, ", this program reads ",
              kVersion);
  const std::size_t end = kPreamble + word_at(file, kMagic.size() + 4);
  CUPEL_CHECK(end + 4 <= file.size(), data, "it ends inside its header");
  CUPEL_CHECK(crc32c(file.first(end)) == word_at(file, end), data,
              "its header is damaged: the checksum differs");
  const auto text = file.subspan(kPreamble, end - kPreamble);
  return {header_from({reinterpret_cast<const char*>(text.data()), text.size()}), end + 4};
}

bool is_reference_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  char begin[kMagic.size()] = {};
  const bool read = std::fread(begin, 1, sizeof begin, file) == sizeof begin;
  std::fclose(file);
  return read && std::string_view(begin, sizeof begin) == kMagic;
}

}  // namespace cupel::eval
