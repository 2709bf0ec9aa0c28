// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/artifact_writer.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/threads.h"
#include "export/packer.h"
#include "format/artifact.h"
#include "format/h5.h"

namespace cupel::export_ {

namespace {

using format::Array;
using format::ArtifactHeader;
using format::ElementType;
using format::InputRounding;
using format::InputTransform;
using format::WeightCode;
using Json = nlohmann::ordered_json;

constexpr std::size_t kAlignment = 4096;
constexpr int64_t kMostPacked = int64_t{1} << 27;  // numbers that are packed at a time: a gigabyte

/// Writes datasets and keeps what the index says of them; offsets are known only when all are
/// written.
class ArtifactWriter {
 public:
  explicit ArtifactWriter(const std::string& path)
      : path_(path), file_(path, ArtifactHeader::kUserblock, kAlignment) {}

  void write(const ArtifactContent& content) {
    Packer packer(usable_processors(), kMostPacked);
    for (const NamedCode& weight : content.weights) {
      WeightCode code = in_frame("packing " + weight.name, weight.code);
      while (!packer.has_room(code.rows * code.cols)) add_weight(packer.next());
      packer.add(weight.name, std::move(code));
    }
    while (!packer.empty()) add_weight(packer.next());
    for (const auto& [id, transform] : transforms_) add_transform(transform);
    const std::string index = index_json().dump();
    const ArtifactHeader header = add_blocks(index, content);
    file_.close();
    write_header(header);
  }

 private:
  Json add_plane(const std::string& folder, const std::string& name, ElementType type,
                 const std::vector<int64_t>& shape, std::span<const std::byte> bytes) {
    file_.dataset(cat(folder, "/", name), type, shape, bytes);
    return {{"name", name},           {"type", format::traits(type).name},
            {"shape", shape},         {"offset", uint64_t{0}},
            {"length", bytes.size()}, {"crc", crc32c(bytes)}};
  }

  void add_weight(const PackedWeight& weight) {
    const WeightCode& code = weight.code;
    Json record = {{"name", weight.name},
                   {"layout", code.layout->name()},
                   {"params", Json::parse(params_json(code.layout->params()))},
                   {"shape", {code.rows, code.cols}}};
    if (!code.input.identity()) {
      keep_transform(code.input);
      record["input"] = code.input.id;
    }
    if (!code.rounding.none()) add_rounding(record, code.rounding);
    const std::string folder = cat("/tensors/", weight.name);
    record["planes"] = Json::array();
    for (const auto& spec : code.layout->plane_specs(code.rows, code.cols)) {
      const Array& plane = weight.planes.at(spec.name);
      CUPEL_ASSERT(plane.type == spec.type && plane.shape == spec.shape);
      record["planes"].push_back(
          add_plane(folder, spec.name, plane.type, plane.shape, plane.bytes));
    }
    tensors_.push_back(std::move(record));
  }

  void add_rounding(Json& record, const InputRounding& r) {
    const bool integer = r.numbers == InputRounding::Numbers::integer;
    record["rounding"] = {{"numbers", integer ? "integer" : "e4m3"},
                          {"bits", r.bits},
                          {"group", r.group},
                          {"scale", r.scale}};
    if (r.clip != 1) record["rounding"]["clip"] = r.clip;
    version_ = ArtifactHeader::kVersion;
  }

  void keep_transform(const InputTransform& t) {
    CUPEL_CHECK(!t.id.empty() && t.id.find('/') == std::string::npos, internal,
                "a transform needs a name without '/', not '", t.id, "'");
    const auto [found, fresh] = transforms_.emplace(t.id, t);
    const InputTransform& first = found->second;
    CUPEL_CHECK(
        fresh || (first.hadamard == t.hadamard && first.scale == t.scale && first.signs == t.signs),
        internal, "two different transforms are named '", t.id, "'");
  }

  void add_transform(const InputTransform& t) {
    const std::string folder = cat("/transforms/", t.id);
    Json planes = Json::array();
    if (!t.signs.empty())
      planes.push_back(add_plane(folder, "signs", ElementType::i8,
                                 {static_cast<int64_t>(t.signs.size())},
                                 std::as_bytes(std::span(t.signs))));
    if (!t.scale.empty())
      planes.push_back(add_plane(folder, "scale", ElementType::f32,
                                 {static_cast<int64_t>(t.scale.size())},
                                 std::as_bytes(std::span(t.scale))));
    records_.push_back({{"id", t.id}, {"hadamard", t.hadamard}, {"planes", std::move(planes)}});
  }

  void locate(Json& records, const char* root, const char* key) const {
    for (Json& record : records)
      for (Json& plane : record["planes"])
        plane["offset"] = file_.offset(
            cat(root, record[key].get<std::string>(), "/", plane["name"].get<std::string>()));
  }

  Json index_json() {
    locate(tensors_, "/tensors/", "name");
    locate(records_, "/transforms/", "id");
    return {{"version", version_},
            {"tensors", std::move(tensors_)},
            {"transforms", std::move(records_)}};
  }

  ArtifactHeader add_blocks(const std::string& index, const ArtifactContent& content) {
    ArtifactHeader header{};
    struct {
      const char* name;
      const std::string& text;
      ArtifactHeader::Block& block;
    } const blocks[] = {{"/index", index, header.index},
                        {"/config", content.config_json, header.config},
                        {"/tokenizer", content.tokenizer_json, header.tokenizer},
                        {"/manifest", content.manifest_json, header.manifest}};
    for (const auto& b : blocks) {
      if (b.text.empty()) continue;
      const auto bytes = std::as_bytes(std::span(b.text));
      file_.dataset(b.name, ElementType::u8, {static_cast<int64_t>(bytes.size())}, bytes);
      b.block.length = bytes.size();
      b.block.crc = crc32c(bytes);
    }
    for (const auto& b : blocks)
      if (b.block.length != 0) b.block.offset = file_.offset(b.name);
    return header;
  }

  void write_header(ArtifactHeader header) const {
    std::memcpy(header.magic, ArtifactHeader::kMagic, sizeof header.magic);
    header.version = version_;
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out | std::ios::ate);
    CUPEL_CHECK(out, environment, path_, ": can't open it again for the header");
    header.file_length = static_cast<uint64_t>(out.tellp());
    header.header_crc = crc32c(std::as_bytes(std::span(&header, 1)));
    out.seekp(0);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.close();
    CUPEL_CHECK(out, environment, path_, ": can't write the header");
  }

  std::string path_;
  format::H5Writer file_;
  uint32_t version_ = ArtifactHeader::kPlainVersion;
  Json tensors_ = Json::array(), records_ = Json::array();
  std::map<std::string, InputTransform> transforms_;
};

}  // namespace

void write_artifact(const std::string& path, const ArtifactContent& content) {
  in_frame(cat("writing ", path), [&] {
    write_atomic_with(path, [&](const std::string& temporary) {
      ArtifactWriter(temporary).write(content);
      // A file that our own reader refuses must not get its name.
      format::Artifact::open(temporary);
    });
  });
}

}  // namespace cupel::export_
