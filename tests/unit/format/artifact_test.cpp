// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Bent files: each must end in Fault::data, whatever was bent, and never in a crash.
#include "format/artifact.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/hash.h"
#include "tests/unit/export/tiny_model.h"

namespace cupel::format {
namespace {

using Json = nlohmann::ordered_json;
using test::TemporaryFolder;

uint32_t crc_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text)));
}

ArtifactHeader header_of(const std::string& file) {
  ArtifactHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}

/// The file with this header, the header's CRC made right.
std::string with_header(std::string file, ArtifactHeader h) {
  h.header_crc = 0;
  h.header_crc = crc_of({reinterpret_cast<const char*>(&h), sizeof h});
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

std::string index_of(const std::string& file) {
  const auto h = header_of(file);
  return file.substr(h.index.offset, h.index.length);
}

/// The file with another index behind its end, all lengths and CRCs made right.
std::string with_index(std::string file, const std::string& index) {
  ArtifactHeader h = header_of(file);
  h.index = {file.size(), index.size(), crc_of(index), 0};
  file += index;
  h.file_length = file.size();
  return with_header(std::move(file), h);
}

class BentArtifact : public testing::Test {
 protected:
  BentArtifact() {
    export_::write_artifact(folder_ / "good.cupel", test::tiny_content());
    good_ = test::bytes_of_file(folder_ / "good.cupel");
    index_ = Json::parse(index_of(good_));
  }

  std::string message_of(const std::string& file) {
    const std::string path = folder_ / "bent.cupel";
    // Truncating an old file makes some file systems flush at once.
    std::filesystem::remove(path);
    test::write_bytes(path, file);
    try {
      Artifact::open(path)->verify();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::data) << e.what();
      return e.message();
    }
    return {};
  }

  void expect_refused(const std::string& file, const std::string& what) {
    EXPECT_NE(message_of(file), "") << what << " was accepted";
  }
  void expect_refused(const Json& index, const std::string& what) {
    expect_refused(with_index(good_, index.dump()), what);
  }
  void expect_message(const Json& index, const std::string& part) {
    const std::string message = message_of(with_index(good_, index.dump()));
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks " << part;
  }

  TemporaryFolder folder_;
  std::string good_;
  Json index_;
};

TEST_F(BentArtifact, TheUnbentFileAndItsMovedIndexAreGood) {
  EXPECT_EQ(message_of(good_), "");
  EXPECT_EQ(message_of(with_index(good_, index_.dump())), "");
}

TEST_F(BentArtifact, EachByteOfTheHeader) {
  for (std::size_t i = 0; i < sizeof(ArtifactHeader); ++i)
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bent = good_;
      bent[i] = static_cast<char>(bent[i] ^ flip);
      expect_refused(bent, cat("header byte ", i, " ^ ", flip));
    }
  std::string bent = good_;
  bent[3000] = 1;
  expect_refused(bent, "a byte behind the header");
}

TEST_F(BentArtifact, EachFieldOfTheHeaderUnderARightCrc) {
  const auto bend = [&](const char* what, auto set) {
    ArtifactHeader h = header_of(good_);
    set(h);
    expect_refused(with_header(good_, h), what);
  };
  // Version 2 is known, but the index says 1.
  for (const uint32_t version : {0u, 2u, 3u, ~0u})
    bend("version", [&](auto& h) { h.version = version; });
  for (const uint64_t length : {uint64_t{0}, uint64_t{4096}, uint64_t{good_.size() - 1},
                                uint64_t{good_.size() + 1}, ~uint64_t{0}})
    bend("file length", [&](auto& h) { h.file_length = length; });
  ArtifactHeader::Block ArtifactHeader::*const blocks[] = {
      &ArtifactHeader::index, &ArtifactHeader::config, &ArtifactHeader::tokenizer,
      &ArtifactHeader::manifest};
  for (const auto block : blocks) {
    for (const uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{good_.size()},
                             uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 4096}) {
      bend("block offset", [&](auto& h) { (h.*block).offset = v; });
      bend("block length", [&](auto& h) { (h.*block).length = v; });
    }
    bend("no block with an offset", [&](auto& h) { h.*block = {4096, 0, 0, 0}; });
    bend("no block with a crc", [&](auto& h) { h.*block = {0, 0, 1, 0}; });
    bend("block offset", [&](auto& h) { ++(h.*block).offset; });
    bend("block length", [&](auto& h) { --(h.*block).length; });
    bend("block crc", [&](auto& h) { (h.*block).crc ^= 1; });
    bend("reserved", [&](auto& h) { (h.*block).reserved = 1; });
  }
  bend("an empty index", [](auto& h) { h.index = {}; });
  bend("an empty config", [](auto& h) { h.config = {}; });
  bend("config for index", [](auto& h) { h.index = h.config; });
}

TEST_F(BentArtifact, ANewerVersionIsRefusedByItsNumber) {
  ArtifactHeader h = header_of(good_);
  h.version = 7;
  EXPECT_NE(message_of(with_header(good_, h)).find("format version 7 is newer"), std::string::npos);
}

/// The tiny model with rounded inputs at the attention of layer 0.
export_::ArtifactContent rounded_content(const InputRounding& rounding) {
  auto content = test::tiny_content();
  for (auto& weight : content.weights)
    if (weight.name.find("layers.0.self_attn") != std::string::npos &&
        weight.name.find("o_proj") == std::string::npos)
      weight.code.rounding = rounding;
  return content;
}

TEST_F(BentArtifact, RoundedInputsComeBackInANewerVersion) {
  EXPECT_EQ(header_of(good_).version, 1u) << "a file without them stays readable for all";
  for (const InputRounding& rounding :
       {InputRounding{InputRounding::Numbers::integer, 4, 64, 0},
        InputRounding{InputRounding::Numbers::integer, 4, 0, 0, 0.85F},
        InputRounding{InputRounding::Numbers::e4m3, 8, 0, 0.012345678F}}) {
    export_::write_artifact(folder_ / "rounded.cupel", rounded_content(rounding));
    EXPECT_EQ(header_of(test::bytes_of_file(folder_ / "rounded.cupel")).version, 2u);
    const auto artifact = Artifact::open(folder_ / "rounded.cupel");
    int found = 0;
    for (const ArtifactTensor& t : artifact->tensors()) {
      if (t.rounding.none()) continue;
      EXPECT_EQ(t.rounding, rounding);
      ++found;
    }
    EXPECT_EQ(found, 3);
    EXPECT_EQ(artifact->version(), 2u);
  }
}

TEST_F(BentArtifact, BentRoundingsAreRefused) {
  export_::write_artifact(folder_ / "rounded.cupel",
                          rounded_content({InputRounding::Numbers::integer, 8, 0, 0}));
  const std::string file = test::bytes_of_file(folder_ / "rounded.cupel");
  const Json index = Json::parse(index_of(file));
  std::size_t t = 0;
  while (!index["tensors"][t].contains("rounding")) ++t;
  const std::string tensor = index["tensors"][t]["name"];
  const auto expect = [&](const char* key, const Json& value, const char* part) {
    Json bent = index;
    bent["tensors"][t]["rounding"][key] = value;
    const std::string message = message_of(with_index(file, bent.dump()));
    EXPECT_NE(message.find(part), std::string::npos) << key << " as " << value << ": " << message;
  };
  expect("numbers", "e5m2", "to 'integer' or 'e4m3', not to 'e5m2'");
  expect("numbers", 3, "'numbers' must be text");
  expect("bits", 1, "[2, 8]");
  expect("bits", 9, "[2, 8]");
  expect("bits", 2.5, "'bits' must be");
  expect("group", -1, "'group' must be");
  expect("scale", -0.5, "must be 0 (dynamic) or");
  expect("scale", 1e300, "must be 0 (dynamic) or");
  expect("scale", 1e-44, "must be 0 (dynamic) or");
  expect("clip", 0, "must lie in (0, 1]");
  expect("clip", "1", "'clip' must be a number");
  expect("scale", "1", "'scale' must be a number");
  expect("zero", 1, "unknown key 'zero'");
  for (const char* key : {"numbers", "bits", "group", "scale"}) {
    Json bent = index;
    bent["tensors"][t]["rounding"].erase(key);
    expect_refused(with_index(file, bent.dump()), cat("a rounding without ", key));
  }
  Json bent = index;
  bent["tensors"][t]["rounding"] = {{"numbers", "e4m3"}, {"bits", 4}, {"group", 0}, {"scale", 0}};
  expect_refused(with_index(file, bent.dump()), "e4m3 of 4 bits");
  bent["tensors"][t]["rounding"] = {
      {"numbers", "integer"}, {"bits", 8}, {"group", 32}, {"scale", 0.5}};
  expect_refused(with_index(file, bent.dump()), "one scale for all in groups");
}

TEST_F(BentArtifact, Truncated) {
  std::vector<std::size_t> lengths = {0, 1, 7, 8, 119, 120, 121, 4095, 4096, 4097};
  for (std::size_t i = 0; i < 100; ++i) lengths.push_back(good_.size() * i / 100);
  for (std::size_t i = 1; i < 20; ++i) lengths.push_back(good_.size() - i);
  for (const std::size_t length : lengths) {
    const std::string cut = good_.substr(0, length);
    expect_refused(cut, cat("a file cut to ", length));
    if (length < sizeof(ArtifactHeader)) continue;
    ArtifactHeader h = header_of(good_);
    h.file_length = length;
    expect_refused(with_header(cut, h), cat("a file cut to ", length, " that knows it"));
  }
  EXPECT_EQ(message_of(good_ + "what an HDF5 tool adds"), "");
}

TEST_F(BentArtifact, BitsOfTheIndex) {
  const std::string index = index_of(good_);
  Rng rng(11, "flips");
  for (int i = 0; i < 600; ++i) {
    const auto at = static_cast<std::size_t>(rng.below(index.size()));
    std::string bent = index;
    bent[at] = static_cast<char>(bent[at] ^ (1 << rng.below(8)));
    expect_refused(
        with_index(good_, bent),
        cat("the index with byte ", at, " flipped: ", bent.substr(at < 30 ? 0 : at - 30, 60)));
  }
  std::string damaged = good_;
  damaged[header_of(good_).index.offset + 20] ^= 4;
  expect_refused(damaged, "an index that is not its CRC's");
}

TEST_F(BentArtifact, IndexCutShort) {
  const std::string index = index_of(good_);
  for (std::size_t i = 1; i < 60; ++i)
    expect_refused(with_index(good_, index.substr(0, index.size() * i / 60)), "half an index");
  for (const std::string text : {"{}", "[]", "null", "\"x\"", "{\"version\":1}", "\xff\xfe", "\n"})
    expect_refused(with_index(good_, text), text);
  expect_refused(with_index(good_, std::string(100000, '[')), "a deep index");
  expect_refused(with_index(good_, std::string(100000, '[') + std::string(100000, ']')),
                 "a deep index");
}

/// Every value below `place`, and the lists and objects that hold them.
void collect(const Json& index, const Json::json_pointer& place,
             std::vector<Json::json_pointer>& out) {
  out.push_back(place);
  const Json& here = index[place];
  if (here.is_structured())
    for (const auto& item : here.items())
      collect(index, here.is_array() ? place / std::stoul(item.key()) : place / item.key(), out);
}

/// Values that make another model, but a sound one.
bool is_sound(const Json::json_pointer& place, const Json& value) {
  const std::string path = place.to_string();
  if (!path.starts_with("/transforms/")) return false;
  return (path.ends_with("/planes") && value == Json::array()) ||
         (path.ends_with("/hadamard") && (value == 0 || value == 1));
}

TEST_F(BentArtifact, EachValueOfTheIndexReplaced) {
  const Json others[] = {nullptr,        -1,        0,  1,    3.5,  ~uint64_t{0}, int64_t{1} << 40,
                         1e300,          "x",       "", "..", "a/", true,         Json::array(),
                         Json::object(), {{"x", 1}}};
  std::vector<Json::json_pointer> places;
  // Tensors 0, 1 and 2 have one layout each.
  for (const char* root : {"/tensors/0", "/tensors/1", "/tensors/2", "/transforms/0"})
    collect(index_, Json::json_pointer(root), places);
  for (const char* place : {"", "/version", "/tensors", "/transforms"}) places.emplace_back(place);
  int variants = 0;
  for (const auto& place : places)
    for (const Json& other : others) {
      Json bent = index_;
      if (bent[place] == other || is_sound(place, other)) continue;
      bent[place] = other;
      expect_refused(bent, cat(place.to_string(), " as ", other.dump()));
      ++variants;
    }
  EXPECT_GT(variants, 300);
}

TEST_F(BentArtifact, EachKeyRemovedOrRenamed) {
  const auto bend = [&](Json::json_pointer object) {
    for (const auto& item : index_[object].items()) {
      Json bent = index_;
      bent[object].erase(item.key());
      const std::string what = cat(object.to_string(), "/", item.key());
      // Without `input` the weight is another one, but sound.
      if (item.key() != "input") expect_refused(bent, what);
      bent[object]["x" + item.key()] = item.value();
      expect_refused(bent, what + " renamed");
    }
  };
  bend(Json::json_pointer(""));
  for (std::size_t t = 0; t < index_["tensors"].size(); ++t) {
    bend(Json::json_pointer(cat("/tensors/", t)));
    bend(Json::json_pointer(cat("/tensors/", t, "/planes/0")));
  }
  bend(Json::json_pointer("/transforms/0"));
  bend(Json::json_pointer("/transforms/0/planes/1"));
}

TEST_F(BentArtifact, RecordsMissingTwiceOrSwapped) {
  for (std::size_t t = 0; t < index_["tensors"].size(); ++t) {
    Json bent = index_;
    bent["tensors"].erase(t);
    expect_refused(bent, cat("without tensor ", t));
    bent = index_;
    bent["tensors"].push_back(bent["tensors"][t]);
    expect_refused(bent, cat("tensor ", t, " twice"));
    bent = index_;
    bent["tensors"][t]["planes"].push_back(bent["tensors"][t]["planes"][0]);
    expect_refused(bent, cat("a plane of tensor ", t, " twice"));
    bent = index_;
    std::swap(bent["tensors"][t]["planes"],
              bent["tensors"][(t + 1) % bent["tensors"].size()]["planes"]);
    const bool equal_shape =
        bent["tensors"][t]["planes"][0]["shape"] == index_["tensors"][t]["planes"][0]["shape"];
    if (!equal_shape) expect_refused(bent, cat("planes of tensor ", t, " swapped"));
    bent = index_;
    bent["tensors"][t]["planes"][0]["offset"] =
        bent["tensors"][(t + 3) % 20]["planes"][0]["offset"];
    expect_refused(bent, cat("plane of tensor ", t, " moved onto another"));
    bent = index_;
    bent["tensors"][t]["planes"][0]["offset"] =
        bent["tensors"][t]["planes"][0]["offset"].get<int64_t>() + 32;
    expect_refused(bent, cat("plane of tensor ", t, " off its alignment"));
  }
}

TEST_F(BentArtifact, MessagesNameTheThing) {
  Json bent = index_;
  bent["tensors"].erase(5);
  expect_message(bent, index_["tensors"][5]["name"].get<std::string>() + " is missing");
  bent = index_;
  bent["transforms"][0]["hadamard"] = 128;
  expect_message(bent, "does not fit its 64 inputs");
  bent["transforms"][0]["hadamard"] = 48;
  expect_message(bent, "does not fit its 64 inputs");
  bent["transforms"][0]["hadamard"] = 92;
  expect_message(bent, "the order of a matrix that we know");
  bent = index_;
  bent["tensors"][2]["layout"] = "trellis";
  expect_message(bent, "unknown layout 'trellis'");
  bent = index_;
  bent["tensors"][2]["planes"][0]["offset"] = (uint64_t{1} << 63) - 64;
  expect_message(bent, "must lie in");
  bent = index_;
  bent["tensors"][2]["planes"][0]["crc"] = 1;
  expect_message(bent, "damaged (CRC");
}

TEST_F(BentArtifact, BitsOfThePlanesAreFoundByVerify) {
  for (const auto& tensor : index_["tensors"])
    for (const auto& plane : tensor["planes"]) {
      std::string bent = good_;
      const auto at = plane["offset"].get<std::size_t>() + plane["length"].get<std::size_t>() / 2;
      bent[at] = static_cast<char>(bent[at] ^ 16);
      expect_refused(bent,
                     cat(tensor["name"].get<std::string>(), " ", plane["name"].get<std::string>()));
    }
}

TEST_F(BentArtifact, BitsAnywhereNeverCrash) {
  Rng rng(12, "anywhere");
  for (int i = 0; i < 300; ++i) {
    std::string bent = good_;
    for (int k = 0; k < 8; ++k) {
      const auto at = static_cast<std::size_t>(rng.below(bent.size()));
      bent[at] = static_cast<char>(bent[at] ^ (1 << rng.below(8)));
    }
    message_of(bent);
  }
}

TEST_F(BentArtifact, NotAnArtifact) {
  EXPECT_TRUE(is_artifact(folder_ / "good.cupel"));
  test::write_bytes(folder_ / "short", "CUPEL");
  EXPECT_FALSE(is_artifact(folder_ / "short"));
  EXPECT_FALSE(is_artifact(folder_ / "absent"));
  expect_refused(std::string(10000, '\0'), "zeros");
}

}  // namespace
}  // namespace cupel::format
