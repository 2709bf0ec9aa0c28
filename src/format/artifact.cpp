// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/artifact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "format/hadamard.h"

namespace cupel::format {

static_assert(std::endian::native == std::endian::little, "artifacts are little endian");
static_assert(sizeof(ArtifactHeader) == 120, "the header is a part of the format");

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxDim = (uint64_t{1} << 31) - 1;
constexpr std::size_t kMaxTensors = 100'000, kMaxName = 256, kMaxRank = 8;
/// Kernels read planes in lines of this many bytes.
constexpr uint64_t kPlaneAlignment = 64;

Json parse_index(std::string_view text) {
  static constexpr int kMaxDepth = 12;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    CUPEL_CHECK(depth <= kMaxDepth, data, "the index is nested deeper than ", kMaxDepth, " levels");
    return true;
  };
  Json index = Json::parse(text.begin(), text.end(), shallow, false);
  CUPEL_CHECK(index.is_object(), data, "the index is not a JSON object");
  return index;
}

void check_keys(const Json& object, std::initializer_list<std::string_view> known,
                const char* what) {
  CUPEL_CHECK(object.is_object(), data, "index: ", what, " is not an object");
  for (const auto& item : object.items())
    CUPEL_CHECK(std::find(known.begin(), known.end(), item.key()) != known.end(), data,
                "index: unknown key '", item.key(), "' in ", what);
}

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  CUPEL_CHECK(found != object.end(), data, "index: the key '", key, "' is missing");
  return *found;
}

uint64_t integer(const Json& j, const char* what, uint64_t low, uint64_t high) {
  CUPEL_CHECK(j.is_number_unsigned(), data, "index: '", what, "' must be a number of 0 or more");
  const auto value = j.get<uint64_t>();
  CUPEL_CHECK(value >= low && value <= high, data, "index: '", what, "' must lie in [", low, ", ",
              high, "], not ", value);
  return value;
}

/// A name that can be a part of an HDF5 path.
std::string name_in(const Json& object, const char* key) {
  const Json& j = member(object, key);
  CUPEL_CHECK(j.is_string(), data, "index: '", key, "' must be text");
  std::string name = j.get<std::string>();
  CUPEL_CHECK(!name.empty() && name.size() <= kMaxName && name != "." &&
                  name.find('/') == std::string::npos && name.find('\0') == std::string::npos,
              data, "index: '", key, "' is not a name");
  return name;
}

const Json& array_in(const Json& object, const char* key, std::size_t most) {
  const Json& j = member(object, key);
  CUPEL_CHECK(j.is_array() && j.size() <= most, data, "index: '", key,
              "' must be a list of at most ", most);
  return j;
}

std::vector<int64_t> shape_in(const Json& object) {
  std::vector<int64_t> shape;
  for (const Json& n : array_in(object, "shape", kMaxRank))
    shape.push_back(static_cast<int64_t>(integer(n, "shape", 1, kMaxDim)));
  return shape;
}

ElementType type_in(const Json& object) {
  const std::string name = name_in(object, "type");
  for (int i = 0; i <= static_cast<int>(ElementType::q8_0); ++i)
    if (traits(static_cast<ElementType>(i)).name == name) return static_cast<ElementType>(i);
  fail(Fault::data, "index: unknown element type '", name, "'");
}

InputRounding rounding_in(const Json& object) {
  check_keys(object, {"numbers", "bits", "group", "scale", "clip"}, "a rounding");
  InputRounding r;
  const std::string numbers = name_in(object, "numbers");
  CUPEL_CHECK(numbers == "integer" || numbers == "e4m3", data,
              "index: inputs are rounded to 'integer' or 'e4m3', not to '", numbers, "'");
  r.numbers = numbers == "integer" ? InputRounding::Numbers::integer : InputRounding::Numbers::e4m3;
  r.bits = static_cast<int>(integer(member(object, "bits"), "bits", 2, 8));
  CUPEL_CHECK(numbers == "integer" || r.bits == 8, data, "index: e4m3 has 8 bits, not ", r.bits);
  r.group = static_cast<int>(integer(member(object, "group"), "group", 0, kMaxDim));
  const Json& scale = member(object, "scale");
  CUPEL_CHECK(scale.is_number(), data, "index: 'scale' must be a number");
  r.scale = scale.get<float>();
  if (object.contains("clip")) {
    CUPEL_CHECK(object["clip"].is_number(), data, "index: 'clip' must be a number");
    r.clip = object["clip"].get<float>();
  }
  check_rounding(r);
  CUPEL_CHECK(r.dynamic() || r.group == 0, data, "index: one scale for all inputs and groups of ",
              r.group, " exclude each other");
  return r;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_float(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32;
}

void check_finite(const Artifact::Dataset& dataset, std::span<const std::byte> bytes) {
  constexpr std::size_t kAtOnce = 4096;
  std::vector<float> values;
  const auto size = static_cast<std::size_t>(traits(dataset.type).bytes);
  for (std::size_t at = 0; at < bytes.size(); at += kAtOnce) {
    const auto part = bytes.subspan(at, std::min(kAtOnce, bytes.size() - at));
    values.resize(part.size() / size);
    to_float(dataset.type, part, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      CUPEL_CHECK(std::isfinite(values[i]), data, dataset.name, ": element ", at / size + i,
                  " is not finite");
  }
}

}  // namespace

/// Checks in order of trust: header, blocks, index, then each record against the layouts and the
/// config.
class ArtifactReader {
 public:
  explicit ArtifactReader(Artifact& artifact) : a_(artifact), file_(artifact.file_.bytes()) {}

  void read() {
    const ArtifactHeader header = read_header();
    a_.version_ = header.version;
    file_ = file_.first(header.file_length);
    const std::string index_text = read_block("index", header.index, true);
    a_.config_json_ = read_block("config", header.config, true);
    a_.tokenizer_json_ = read_block("tokenizer", header.tokenizer, false);
    a_.manifest_json_ = read_block("manifest", header.manifest, false);
    a_.config_ = config_from_json(a_.config_json_);

    const Json index = parse_index(index_text);
    check_keys(index, {"version", "tensors", "transforms"}, "the index");
    integer(member(index, "version"), "version", header.version, header.version);
    for (const Json& record : array_in(index, "transforms", kMaxTensors)) read_transform(record);
    for (const Json& record : array_in(index, "tensors", kMaxTensors)) read_tensor(record);
    check_disjoint();
    check_complete();
  }

 private:
  ArtifactHeader read_header() const {
    ArtifactHeader h;
    CUPEL_CHECK(file_.size() >= ArtifactHeader::kUserblock, data, "it has only ", file_.size(),
                " bytes, less than an artifact's header");
    std::memcpy(&h, file_.data(), sizeof h);
    CUPEL_CHECK(std::memcmp(h.magic, ArtifactHeader::kMagic, sizeof h.magic) == 0, data,
                "it is not a Cupel artifact (the first 8 bytes differ)");
    CUPEL_CHECK(h.version <= ArtifactHeader::kVersion, data, "format version ", h.version,
                " is newer than ", ArtifactHeader::kVersion,
                ", the newest that this program reads; update it");
    CUPEL_CHECK(h.version >= ArtifactHeader::kPlainVersion, data, "there is no format version ",
                h.version);
    ArtifactHeader zeroed = h;
    zeroed.header_crc = 0;
    CUPEL_CHECK(crc32c(std::as_bytes(std::span(&zeroed, 1))) == h.header_crc, data,
                "its header is damaged (CRC differs)");
    // Longer is sound: an HDF5 tool that adds an attribute writes behind our bytes.
    CUPEL_CHECK(h.file_length >= ArtifactHeader::kUserblock && h.file_length <= file_.size(), data,
                "it should have ", h.file_length, " bytes, not ", file_.size(),
                "; an incomplete copy?");
    for (const auto& block : {h.index, h.config, h.tokenizer, h.manifest})
      CUPEL_CHECK(block.reserved == 0, data, "a reserved field of its header is not zero");
    for (std::size_t i = sizeof h; i < ArtifactHeader::kUserblock; ++i)
      CUPEL_CHECK(file_[i] == std::byte{0}, data, "byte ", i, " behind its header is not zero");
    return h;
  }

  void check_bounds(const Artifact::Dataset& d) const {
    CUPEL_CHECK(d.length > 0 && d.length <= file_.size() &&
                    d.offset >= ArtifactHeader::kUserblock && d.offset <= file_.size() - d.length,
                data, d.name, ": bytes [", d.offset, ", +", d.length, ") lie outside the file of ",
                file_.size());
  }

  std::span<const std::byte> checked_bytes(const Artifact::Dataset& d) const {
    const auto bytes = a_.bytes_of(d);
    const uint32_t crc = crc32c(bytes);
    CUPEL_CHECK(crc == d.crc, data, d.name, ": its bytes are damaged (CRC ", crc, ", ", d.crc,
                " expected)");
    return bytes;
  }

  std::string read_block(const char* name, const ArtifactHeader::Block& block, bool required) {
    const bool absent = block.length == 0;
    CUPEL_CHECK(!(absent && required), data, "its /", name, " is missing");
    if (absent) {
      CUPEL_CHECK(block.offset == 0 && block.crc == 0, data, "its /", name,
                  " is empty but has a place");
      return {};
    }
    Artifact::Dataset d{cat("/", name), ElementType::u8, {}, block.offset, block.length, block.crc};
    check_bounds(d);
    d.shape = {static_cast<int64_t>(d.length)};
    std::string text(as_text(checked_bytes(d)));
    a_.datasets_.push_back(std::move(d));
    return text;
  }

  /// A plane's record, checked against the type and shape that it must have.
  Artifact::Dataset read_plane(const Json& record, const std::string& folder,
                               const std::vector<Layout::PlaneSpec>& specs) const {
    check_keys(record, {"name", "type", "shape", "offset", "length", "crc"}, "a plane");
    const std::string name = name_in(record, "name");
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&](const Layout::PlaneSpec& s) { return s.name == name; });
    CUPEL_CHECK(spec != specs.end(), data, folder, ": unknown plane '", name, "'");
    Artifact::Dataset d{cat(folder, "/", name), type_in(record), shape_in(record), 0, 0, 0};
    CUPEL_CHECK(d.type == spec->type && d.shape == spec->shape, data, d.name, ": it must be ",
                traits(spec->type).name, " ", list_text(spec->shape), ", not ", traits(d.type).name,
                " ", list_text(d.shape));
    d.offset = integer(member(record, "offset"), "offset", 0, file_.size());
    d.length = integer(member(record, "length"), "length", 0, file_.size());
    d.crc = static_cast<uint32_t>(integer(member(record, "crc"), "crc", 0, UINT32_MAX));
    std::size_t elements = 1;
    for (const int64_t n : d.shape)
      elements = checked_mul(elements, static_cast<std::size_t>(n), d.name.c_str());
    const std::size_t expected = stored_bytes(d.type, elements);
    CUPEL_CHECK(d.length == expected, data, d.name, ": it must have ", expected, " bytes, not ",
                d.length);
    CUPEL_CHECK(d.offset % kPlaneAlignment == 0, data, d.name, ": offset ", d.offset,
                " is not a multiple of ", kPlaneAlignment);
    check_bounds(d);
    return d;
  }

  void read_transform(const Json& record) {
    check_keys(record, {"id", "hadamard", "planes"}, "a transform");
    InputTransform t;
    t.id = name_in(record, "id");
    const std::string folder = cat("/transforms/", t.id);
    t.hadamard = static_cast<int>(integer(member(record, "hadamard"), "hadamard", 0, 1u << 30));
    CUPEL_CHECK(t.hadamard == 0 || hadamard_order(t.hadamard), data, folder,
                ": a Hadamard block must be the order of a matrix that we know, not ", t.hadamard);
    for (const Json& plane : array_in(record, "planes", 2)) {
      const auto width = shape_in(plane);
      const auto d = read_plane(
          plane, folder, {{"signs", ElementType::i8, width}, {"scale", ElementType::f32, width}});
      CUPEL_CHECK(width.size() == 1, data, d.name, ": it must have one axis");
      const auto bytes = checked_bytes(d);
      if (d.type == ElementType::i8) {
        CUPEL_CHECK(t.signs.empty(), data, d.name, " appears twice");
        t.signs.resize(bytes.size());
        std::memcpy(t.signs.data(), bytes.data(), bytes.size());
        for (const int8_t sign : t.signs)
          CUPEL_CHECK(sign == 1 || sign == -1, data, d.name, ": a sign must be 1 or -1, not ",
                      int{sign});
      } else {
        CUPEL_CHECK(t.scale.empty(), data, d.name, " appears twice");
        check_finite(d, bytes);
        t.scale.resize(bytes.size() / sizeof(float));
        std::memcpy(t.scale.data(), bytes.data(), bytes.size());
      }
      a_.datasets_.push_back(d);
    }
    CUPEL_CHECK(!t.identity(), data, folder, " does nothing");
    const std::string id = t.id;
    CUPEL_CHECK(transforms_.emplace(id, std::move(t)).second, data, folder, " appears twice");
  }

  const InputTransform& transform_of(const std::string& id, const ArtifactTensor& tensor) const {
    const auto found = transforms_.find(id);
    CUPEL_CHECK(found != transforms_.end(), data, tensor.name, ": unknown transform '", id, "'");
    const InputTransform& t = found->second;
    const auto cols = static_cast<std::size_t>(tensor.cols);
    CUPEL_CHECK((t.signs.empty() || t.signs.size() == cols) &&
                    (t.scale.empty() || t.scale.size() == cols) &&
                    (t.hadamard == 0 || tensor.cols % t.hadamard == 0),
                data, tensor.name, ": the transform '", id, "' does not fit its ", cols, " inputs");
    return t;
  }

  void check_shape(const ArtifactTensor& t) const {
    std::vector<int64_t> expected = a_.config_.shape_of(t.id.role);
    if (expected.size() == 1) expected.insert(expected.begin(), 1);
    const std::vector<int64_t> shape = {t.rows, t.cols};
    CUPEL_CHECK(shape == expected, data, t.name, ": the config wants ", list_text(expected),
                ", the tensor is ", list_text(shape));
  }

  std::shared_ptr<const Layout> layout_of(const Json& record) {
    const std::string name = name_in(record, "layout"), params = member(record, "params").dump();
    auto& layout = layouts_[cat(name, " ", params)];
    if (!layout) layout = make_layout(name, params);
    return layout;
  }

  void read_tensor(const Json& record) {
    check_keys(record, {"name", "layout", "params", "shape", "input", "rounding", "planes"},
               "a tensor");
    ArtifactTensor t;
    t.name = name_in(record, "name");
    const auto id = id_of_canonical(a_.config_.architecture(), t.name);
    CUPEL_CHECK(id, data, t.name, ": not a tensor of the family ", a_.config_.family);
    CUPEL_CHECK(seen_.insert(t.name).second, data, t.name, " appears twice");
    t.id = *id;
    CUPEL_CHECK(t.id.layer < a_.config_.layers, data, t.name, ": the model has only ",
                a_.config_.layers, " layers");
    t.layout = layout_of(record);
    const auto shape = shape_in(record);
    CUPEL_CHECK(shape.size() == 2, data, t.name, ": its shape must have two axes");
    t.rows = shape[0];
    t.cols = shape[1];
    check_shape(t);
    if (record.contains("input")) t.input = transform_of(name_in(record, "input"), t);
    if (record.contains("rounding"))
      in_frame(t.name, [&] { t.rounding = rounding_in(record["rounding"]); });

    const auto specs = t.layout->plane_specs(t.rows, t.cols);
    const std::string folder = cat("/tensors/", t.name);
    for (const Json& plane : array_in(record, "planes", specs.size())) {
      const auto d = read_plane(plane, folder, specs);
      const std::string plane_name = d.name.substr(folder.size() + 1);
      CUPEL_CHECK(t.planes.emplace(plane_name, PlaneView{d.type, d.shape, a_.bytes_of(d)}).second,
                  data, d.name, " appears twice");
      t.bytes += static_cast<int64_t>(d.length);
      a_.datasets_.push_back(d);
    }
    CUPEL_CHECK(t.planes.size() == specs.size(), data, t.name, ": it has ", t.planes.size(),
                " planes, ", specs.size(), " expected");
    a_.tensors_.push_back(std::move(t));
  }

  void check_disjoint() const {
    std::vector<const Artifact::Dataset*> order;
    for (const auto& d : a_.datasets_) order.push_back(&d);
    std::sort(order.begin(), order.end(),
              [](const auto* x, const auto* y) { return x->offset < y->offset; });
    for (std::size_t i = 1; i < order.size(); ++i)
      CUPEL_CHECK(order[i - 1]->offset + order[i - 1]->length <= order[i]->offset, data,
                  order[i - 1]->name, " and ", order[i]->name, " overlap");
  }

  void check_complete() const {
    const Architecture& arch = a_.config_.architecture();
    for (const WeightId id : weight_ids(a_.config_)) {
      const std::string name = canonical_name(arch, id);
      CUPEL_CHECK(seen_.contains(name), data, name, " is missing");
    }
  }

  Artifact& a_;
  std::span<const std::byte> file_;
  std::set<std::string> seen_;
  std::map<std::string, InputTransform> transforms_;
  std::map<std::string, std::shared_ptr<const Layout>> layouts_;
};

std::shared_ptr<const Artifact> Artifact::open(const std::string& path) {
  auto artifact = std::make_shared<Artifact>();
  artifact->file_ = MappedFile(path);
  // Whatever goes wrong from here on is the file's doing.
  try {
    ArtifactReader(*artifact).read();
  } catch (const Error& e) {
    throw Error(Fault::data, cat(path, ": ", e.message()));
  } catch (const std::exception& e) {
    throw Error(Fault::data, cat(path, ": ", e.what()));
  }
  return artifact;
}

const ArtifactTensor* Artifact::find(WeightId id) const {
  for (const ArtifactTensor& t : tensors_)
    if (t.id == id) return &t;
  return nullptr;
}

void Artifact::verify() const {
  for (const Dataset& d : datasets_) {
    const uint32_t crc = crc32c(bytes_of(d));
    CUPEL_CHECK(crc == d.crc, data, file_.path(), ": ", d.name, ": its bytes are damaged (CRC ",
                crc, ", ", d.crc, " expected)");
    if (is_float(d.type)) check_finite(d, bytes_of(d));
  }
}

bool is_artifact(const std::string& path) {
  char magic[sizeof ArtifactHeader::kMagic] = {};
  std::ifstream in(path, std::ios::binary);
  return in.read(magic, sizeof magic) &&
         std::memcmp(magic, ArtifactHeader::kMagic, sizeof magic) == 0;
}

}  // namespace cupel::format
