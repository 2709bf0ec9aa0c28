// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf_part.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace cupel::format {
namespace {

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

/// Reads a file into a part, in the order in which things lie in it.
class GgufReader {
 public:
  explicit GgufReader(GgufPart& part) : part_(part), in_(part.file.bytes()) {}
  void read();

 private:
  void read_alignment();
  void read_metadata(uint64_t count);
  void read_tensors(uint64_t count);
  void place_tensors(std::size_t infos_end, const std::vector<uint64_t>& offsets);

  GgufPart& part_;
  GgufCursor in_;
  std::size_t alignment_ = 32;
};

void GgufReader::read() {
  const auto magic = in_.take(4, "the magic");
  const std::string_view first(reinterpret_cast<const char*>(magic.data()), 4);
  CUPEL_CHECK(first != "FUGG", data, "the file is stored in the wrong byte order");
  CUPEL_CHECK(first == "GGUF", data, "not a GGUF file: it does not start with 'GGUF'");
  const auto version = in_.number<uint32_t>("the version");
  CUPEL_CHECK((version & 0xffff) != 0 || version == 0, data,
              "GGUF in the wrong byte order (big endian)");
  CUPEL_CHECK(version == 2 || version == 3, data, "GGUF version ", version,
              " is not supported, 2 or 3 expected");
  part_.version = version;
  const auto tensors = in_.number<uint64_t>("the counts");
  const auto keys = in_.number<uint64_t>("the counts");
  read_metadata(keys);
  read_alignment();
  read_tensors(tensors);
}
void GgufReader::read_metadata(uint64_t count) {
  constexpr std::size_t kLeast = 8 + 1 + 4 + 1;
  CUPEL_CHECK(count <= in_.left() / kLeast, data, "the file claims ", count, " keys, but only ",
              in_.left(), " bytes are left");
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key(in_.string("a key of the metadata"));
    check_name(key, cat("the key ", json_quote(key.substr(0, 64))));
    CUPEL_CHECK(!part_.metadata.contains(key), data, "key '", key, "' occurs twice");
    part_.metadata.emplace(key, read_value(in_, key));
  }
}

void GgufReader::read_alignment() {
  const auto found = part_.metadata.find("general.alignment");
  if (found == part_.metadata.end()) return;
  const GgufValue& a = found->second;
  CUPEL_CHECK(!a.is_array && a.element == GgufType::u32, data, "general.alignment has type ",
              a.is_array ? "array" : gguf_type_name(a.element), ", u32 expected");
  alignment_ = element<uint32_t>(a, 0);
  CUPEL_CHECK(alignment_ >= 8 && std::has_single_bit(alignment_), data, "general.alignment is ",
              alignment_, ", a power of two of at least 8 expected");
}

void GgufReader::read_tensors(uint64_t count) {
  constexpr std::size_t kLeast = 8 + 1 + 4 + 4 + 8;
  CUPEL_CHECK(count <= in_.left() / kLeast, data, "the file claims ", count, " tensors, but only ",
              in_.left(), " bytes are left");
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < count; ++i) {
    part_.tensors.push_back(read_info(in_));
    offsets.push_back(in_.number<uint64_t>("the list of tensors"));
  }
  if (count > 0) place_tensors(in_.at(), offsets);
}

void GgufReader::place_tensors(std::size_t infos_end, const std::vector<uint64_t>& offsets) {
  const auto bytes = part_.file.bytes();
  const std::size_t start = std::min(align_up(infos_end, alignment_), bytes.size());
  const auto data = bytes.subspan(start);
  std::size_t expected = 0, end = 0;
  for (std::size_t i = 0; i < part_.tensors.size(); ++i) {
    TensorEntry& t = part_.tensors[i];
    CUPEL_CHECK(offsets[i] == expected, data, "tensor '", t.name, "' lies at offset ", offsets[i],
                ", ", expected, " expected: tensors follow one another without gaps");
    const auto size = stored_bytes(t.type, static_cast<std::size_t>(t.elements()));
    end = checked_add(expected, size, "offset of a tensor");
    CUPEL_CHECK(end <= data.size(), data, "tensor '", t.name, "' ends ", end - data.size(),
                " bytes behind the end of the file; a download may be incomplete");
    t.bytes = data.subspan(expected, size);
    if (size == 0) part_.notes.push_back(cat("tensor '", t.name, "' is empty"));
    expected = align_up(end, alignment_);
  }
  if (data.size() < expected) part_.notes.push_back("the last tensor has no padding behind it");
  if (data.size() > expected)
    part_.notes.push_back(cat(data.size() - expected, " unused bytes behind the last tensor"));
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

int64_t gguf_integer(const GgufValue& v, std::size_t i, std::string_view key) {
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

std::vector<std::string_view> gguf_strings(const GgufValue& v) {
  GgufCursor in(v.bytes);
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(v.count));
  for (uint64_t i = 0; i < v.count; ++i) out.push_back(in.string("metadata"));
  return out;
}

GgufPart::GgufPart(const std::string& path) : file(path) {
  in_frame(cat("reading '", path, "'"), [&] { GgufReader(*this).read(); });
}

}  // namespace cupel::format
