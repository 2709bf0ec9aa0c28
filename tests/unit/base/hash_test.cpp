// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "base/hash_impl.h"
#include "base/rng.h"
#include "support.h"

namespace cupel {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string random_text(std::size_t size) {
  Rng rng(1, "hash");
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(rng.below(256));
  return text;
}

// FIPS 180-4 examples and one of NIST's long messages.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256().add("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().add("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256().add(std::string(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
  const std::string text = random_text(1000);
  const std::string whole = Sha256().add(text).hex();
  for (const std::size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 119u, 128u, 500u}) {
    Sha256 sha;
    for (std::size_t i = 0; i < text.size(); i += piece) sha.add(text.substr(i, piece));
    EXPECT_EQ(sha.hex(), whole) << piece;
  }
}

TEST(Sha256, InstructionsAgreeWithPortableCode) {
  const std::string text = random_text(64 * 9);
  uint32_t fast[8] = {1, 2, 3, 4, 5, 6, 7, 8}, scalar[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  detail::sha256_blocks(fast, bytes_of(text).data(), 9);
  detail::sha256_scalar(scalar, bytes_of(text).data(), 9);
  EXPECT_EQ(std::memcmp(fast, scalar, sizeof fast), 0);
}

TEST(Sha256, File) {
  const test::TempFolder folder;
  const std::string text = random_text(3'000'000);
  write_atomic(folder.file("a"), text);
  EXPECT_EQ(sha256_file(folder.file("a")), Sha256().add(text).hex());
  EXPECT_EQ(test::error_of([&] { sha256_file(folder.file("b")); }).fault(), Fault::user);
}

TEST(KeyOf, SeparatesParts) {
  EXPECT_EQ(key_of({"a", "b"}).size(), 32u);
  EXPECT_EQ(key_of({"a", "b"}), key_of({"a", "b"}));
  EXPECT_NE(key_of({"a", "b"}), key_of({"ab"}));
  EXPECT_NE(key_of({"a", "b"}), key_of({"b", "a"}));
  EXPECT_NE(key_of({"a", ""}), key_of({"a"}));
}

// RFC 3720, B.4.
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AAu);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62A8AB43u);
}

TEST(Crc32c, ContinuesAndAgreesWithTheTable) {
  const std::string text = random_text(1003);
  const auto bytes = bytes_of(text);
  for (std::size_t cut = 0; cut < 40; ++cut)
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), crc32c(bytes)) << cut;
  for (std::size_t size = 990; size <= bytes.size(); ++size)
    EXPECT_EQ(detail::crc32c_by_table(bytes.first(size), 7), crc32c(bytes.first(size), 7)) << size;
}

}  // namespace
}  // namespace cupel
