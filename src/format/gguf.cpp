// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::format {

/// A position in the file that cannot leave it.
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(uint64_t size, std::string_view what) {
    CUPEL_CHECK(size <= left(), data, "the file ends inside ", what, ": ", size,
                " bytes expected, ", left(), " left; a download may be incomplete");
    const auto part = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view string(std::string_view what) {
    const auto part = take(number<uint64_t>(what), what);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kLongestName = 63, kMostDims = 4;
constexpr std::string_view kTypeNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::size_t kTypeBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};  // least, for strings

GgufType type_at(GgufCursor& in, std::string_view key) {
  const auto id = in.number<uint32_t>("metadata");
  CUPEL_CHECK(id < std::size(kTypeNames), data, "key '", key, "' has the unknown value type ", id);
  return static_cast<GgufType>(id);
}

/// Length of the UTF-8 sequence at `s`, 0 if it is not valid.
std::size_t utf8_sequence(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || outside ? 0 : size;
}

/// Keys and tensor names: not empty, valid UTF-8, no NUL that would end a C string.
void check_name(std::string_view name, std::string_view what) {
  CUPEL_CHECK(!name.empty(), data, what, " is empty");
  CUPEL_CHECK(name.find('\0') == std::string_view::npos, data, what, " contains a NUL");
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t size = utf8_sequence(name.substr(i));
    CUPEL_CHECK(size > 0, data, what, " is not valid UTF-8");
    i += size;
  }
}

GgufValue read_value(GgufCursor& in, std::string_view key) {
  GgufValue v;
  v.element = type_at(in, key);
  if (v.element == GgufType::array) {
    v.is_array = true;
    v.element = type_at(in, key);
    CUPEL_CHECK(v.element != GgufType::array, data, "key '", key, "' is an array of arrays");
    v.count = in.number<uint64_t>("metadata");
  }
  const std::size_t least = kTypeBytes[static_cast<std::size_t>(v.element)];
  CUPEL_CHECK(v.count <= in.left() / least, data, "key '", key, "' claims ", v.count, " values of ",
              gguf_type_name(v.element), ", but only ", in.left(), " bytes are left");
  GgufCursor start = in;
  if (v.element == GgufType::string)
    for (uint64_t i = 0; i < v.count; ++i) in.string("a string of the metadata");
  else
    in.take(v.count * least, "metadata");
  v.bytes = start.take(in.at() - start.at(), "metadata");
  if (v.element == GgufType::boolean)
    for (const std::byte b : v.bytes)
      CUPEL_CHECK(std::to_integer<int>(b) <= 1, data, "key '", key, "' holds ",
                  std::to_integer<int>(b), " as a boolean, 0 or 1 expected");
  return v;
}

std::size_t align_up(std::size_t value, std::size_t alignment) {
  return checked_add(value, alignment - 1, "offset of a tensor") & ~(alignment - 1);
}

std::string removed_type(uint32_t id) {
  if (id == 4 || id == 5) return " (Q4_2 and Q4_3 were removed from the format)";
  if ((id >= 31 && id <= 33) || (id >= 36 && id <= 38))
    return " (the interleaved Q4_0_4_4 and IQ4_NL_4_4 families were removed from the format)";
  return "";
}

/// Dimensions, fastest first as in the file, to a shape; checks type and product.
TensorEntry read_info(GgufCursor& in) {
  TensorEntry t;
  t.name = in.string("the name of a tensor");
  check_name(t.name, cat("the tensor name ", json_quote(t.name.substr(0, kLongestName))));
  CUPEL_CHECK(t.name.size() <= kLongestName, data, "the name of tensor '",
              t.name.substr(0, kLongestName), "...' has ", t.name.size(), " bytes, at most ",
              kLongestName, " expected");
  const auto dims = in.number<uint32_t>("the list of tensors");
  CUPEL_CHECK(dims <= kMostDims, data, "tensor '", t.name, "' has ", dims,
              " dimensions, at most 4 expected");
  uint64_t product = 1;
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  for (uint32_t i = 0; i < dims; ++i) {
    const auto size = in.number<uint64_t>("the list of tensors");
    const uint64_t factor = size > 0 ? size : 1;
    CUPEL_CHECK(size <= kMost && product <= kMost / factor, data, "tensor '", t.name,
                "' has impossible dimensions");
    product *= factor;
    t.shape.insert(t.shape.begin(), static_cast<int64_t>(size));
  }
  const auto id = in.number<uint32_t>("the list of tensors");
  const auto type = type_of_gguf(id);
  CUPEL_CHECK(type, data, "tensor '", t.name, "' has the unknown element type ", id,
              removed_type(id));
  t.type = *type;
  const int64_t row = t.shape.empty() ? 1 : t.shape.back();
  CUPEL_CHECK(row % traits(*type).block == 0, data, "tensor '", t.name, "': rows of ", row,
              " elements are not whole blocks of ", traits(*type).block, " (", traits(*type).name,
              ")");
  return t;
}

template <class T>
T element(const GgufValue& v, std::size_t i) {
  T out;
  std::memcpy(&out, v.bytes.data() + i * sizeof out, sizeof out);
  return out;
}

int64_t integer_at(const GgufValue& v, std::size_t i, std::string_view key) {
  switch (v.element) {
    case GgufType::u8:
      return element<uint8_t>(v, i);
    case GgufType::i8:
      return element<int8_t>(v, i);
    case GgufType::u16:
      return element<uint16_t>(v, i);
    case GgufType::i16:
      return element<int16_t>(v, i);
    case GgufType::u32:
      return element<uint32_t>(v, i);
    case GgufType::i32:
      return element<int32_t>(v, i);
    case GgufType::i64:
      return element<int64_t>(v, i);
    case GgufType::u64: {
      const auto value = element<uint64_t>(v, i);
      CUPEL_CHECK(value <= uint64_t{std::numeric_limits<int64_t>::max()}, data, "key '", key,
                  "' is too large: ", value);
      return static_cast<int64_t>(value);
    }
    default:
      fail(Fault::data, "key '", key, "' has type ", gguf_type_name(v.element),
           ", an integer expected");
  }
}

double real_at(const GgufValue& v, std::size_t i, std::string_view key) {
  if (v.element == GgufType::f64) return element<double>(v, i);
  CUPEL_CHECK(v.element == GgufType::f32, data, "key '", key, "' has type ",
              gguf_type_name(v.element), ", a float expected");
  const auto value = element<float>(v, i);
  char text[64];
  double out = value;
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::from_chars(text, end, out);
  return out;
}

std::vector<std::string_view> strings_of(const GgufValue& v) {
  GgufCursor in(v.bytes);
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(v.count));
  for (uint64_t i = 0; i < v.count; ++i) out.push_back(in.string("metadata"));
  return out;
}

nlohmann::ordered_json json_at(const GgufValue& v, std::size_t i) {
  switch (v.element) {
    case GgufType::f32:
    case GgufType::f64:
      return real_at(v, i, "");
    case GgufType::boolean:
      return v.bytes[i] != std::byte{0};
    case GgufType::u64:
      return element<uint64_t>(v, i);
    default:
      return integer_at(v, i, "");
  }
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

GgufFile::GgufFile(const std::string& path) : file_(path) {
  file_bytes_ = static_cast<int64_t>(file_.bytes().size());
  in_frame(cat("reading '", path, "'"), [&] {
    GgufCursor in(file_.bytes());
    const auto magic = in.take(4, "the magic");
    const std::string_view first(reinterpret_cast<const char*>(magic.data()), 4);
    CUPEL_CHECK(first != "FUGG", data, "the file is stored in the wrong byte order");
    CUPEL_CHECK(first == "GGUF", data, "not a GGUF file: it does not start with 'GGUF'");
    version_ = in.number<uint32_t>("the version");
    CUPEL_CHECK((version_ & 0xffff) != 0 || version_ == 0, data,
                "GGUF in the wrong byte order (big endian)");
    CUPEL_CHECK(version_ == 2 || version_ == 3, data, "GGUF version ", version_,
                " is not supported, 2 or 3 expected");
    const auto tensors = in.number<uint64_t>("the counts");
    const auto keys = in.number<uint64_t>("the counts");
    read_metadata(in, keys);
    read_tensors(in, tensors);
    index_names();
  });
}

void GgufFile::read_metadata(GgufCursor& in, uint64_t count) {
  constexpr std::size_t kLeast = 8 + 1 + 4 + 1;
  CUPEL_CHECK(count <= in.left() / kLeast, data, "the file claims ", count, " keys, but only ",
              in.left(), " bytes are left");
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key(in.string("a key of the metadata"));
    check_name(key, cat("the key ", json_quote(key.substr(0, 64))));
    CUPEL_CHECK(!has(key), data, "key '", key, "' occurs twice");
    metadata_.emplace(key, read_value(in, key));
  }
  if (const GgufValue* a = value("general.alignment", false)) {
    CUPEL_CHECK(a->element == GgufType::u32, data, "general.alignment has type ",
                gguf_type_name(a->element), ", u32 expected");
    alignment_ = element<uint32_t>(*a, 0);
    CUPEL_CHECK(alignment_ >= 8 && std::has_single_bit(alignment_), data, "general.alignment is ",
                alignment_, ", a power of two of at least 8 expected");
  }
  text("general.architecture");  // throws for another type
}

void GgufFile::read_tensors(GgufCursor& in, uint64_t count) {
  constexpr std::size_t kLeast = 8 + 1 + 4 + 4 + 8;
  CUPEL_CHECK(count <= in.left() / kLeast, data, "the file claims ", count, " tensors, but only ",
              in.left(), " bytes are left");
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < count; ++i) {
    tensors_.push_back(read_info(in));
    offsets.push_back(in.number<uint64_t>("the list of tensors"));
  }
  if (count > 0) place_tensors(in.at(), offsets);
}

void GgufFile::place_tensors(std::size_t infos_end, const std::vector<uint64_t>& offsets) {
  const auto bytes = file_.bytes();
  const std::size_t start = std::min(align_up(infos_end, alignment_), bytes.size());
  const auto data = bytes.subspan(start);
  std::size_t expected = 0, end = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    TensorEntry& t = tensors_[i];
    CUPEL_CHECK(offsets[i] == expected, data, "tensor '", t.name, "' lies at offset ", offsets[i],
                ", ", expected, " expected: tensors follow one another without gaps");
    const auto size = stored_bytes(t.type, static_cast<std::size_t>(t.elements()));
    end = checked_add(expected, size, "offset of a tensor");
    CUPEL_CHECK(end <= data.size(), data, "tensor '", t.name, "' ends ", end - data.size(),
                " bytes behind the end of the file; a download may be incomplete");
    t.bytes = data.subspan(expected, size);
    if (size == 0) notes_.push_back(cat("tensor '", t.name, "' is empty"));
    expected = align_up(end, alignment_);
  }
  if (data.size() < expected) notes_.push_back("the last tensor has no padding behind it");
  if (data.size() > expected)
    notes_.push_back(cat(data.size() - expected, " unused bytes behind the last tensor"));
}

const GgufValue* GgufFile::value(std::string_view key, bool array) const {
  const auto it = metadata_.find(key);
  if (it == metadata_.end()) return nullptr;
  CUPEL_CHECK(it->second.is_array == array, data, "key '", key, "' is ",
              array ? "a single value, an array expected" : "an array, a single value expected");
  return &it->second;
}

std::optional<std::string> GgufFile::text(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::string, data, "key '", key, "' has type ",
              gguf_type_name(v->element), ", a string expected");
  return std::string(strings_of(*v).front());
}

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  const int64_t number = integer_at(*v, 0, key);
  CUPEL_CHECK(number >= 0, data, "key '", key, "' is negative: ", number);
  return number;
}

std::optional<double> GgufFile::real(std::string_view key) const {
  const GgufValue* v = value(key, false);
  return v ? std::optional(real_at(*v, 0, key)) : std::nullopt;
}

std::optional<bool> GgufFile::flag(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::boolean, data, "key '", key, "' has type ",
              gguf_type_name(v->element), ", bool expected");
  return v->bytes[0] != std::byte{0};
}

std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::string, data, "key '", key, "' is an array of ",
              gguf_type_name(v->element), ", strings expected");
  return strings_of(*v);
}

std::optional<std::vector<int64_t>> GgufFile::integers(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  std::vector<int64_t> out(static_cast<std::size_t>(v->count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = integer_at(*v, i, key);
  return out;
}

std::optional<std::vector<float>> GgufFile::reals(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::f32, data, "key '", key, "' is an array of ",
              gguf_type_name(v->element), ", f32 expected");
  std::vector<float> out(static_cast<std::size_t>(v->count));
  if (!out.empty()) std::memcpy(out.data(), v->bytes.data(), v->bytes.size());
  return out;
}

std::string GgufFile::metadata_json() const {
  constexpr uint64_t kLongestListed = 16;
  using Json = nlohmann::ordered_json;
  Json all = Json::object();
  for (const auto& [key, v] : metadata_) {
    Json& out = all[key];
    if (v.is_array && v.count > kLongestListed) {
      out = {{"type", gguf_type_name(v.element)}, {"count", v.count}};
      continue;
    }
    Json items = Json::array();
    if (v.element == GgufType::string)
      for (const std::string_view s : strings_of(v)) items.push_back(std::string(s));
    else
      for (std::size_t i = 0; i < v.count; ++i) items.push_back(json_at(v, i));
    out = v.is_array ? items : items.front();
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string GgufFile::kind() const {
  return cat("gguf v", version_);
}

std::unique_ptr<Container> open_gguf(const std::string& path) {
  return std::make_unique<GgufFile>(path);
}

}  // namespace cupel::format
