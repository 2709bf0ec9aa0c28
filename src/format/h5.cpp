// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/h5.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace cupel::format {

namespace {

/// An HDF5 handle with the function that closes it.
class Id {
 public:
  Id() = default;
  Id(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Id() { close(); }
  operator hid_t() const { return id_; }
  bool close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// The innermost entry of HDF5's error stack: the most specific reason.
std::string reason() {
  std::string text = "no reason given";
  const auto take = [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
    if (n == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
  return text;
}

/// Before the first call of an object: HDF5 neither prints, nor loads plugins, nor tidies up at
/// exit (there it would try once more to write a file that a full disk has refused, and crash).
void quiet() {
  static const herr_t once = H5dont_atexit();
  (void)once;
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

/// A float type that HDF5 has no constant for: sign bit on top, then exponent, then mantissa.
Id small_float(std::size_t bytes, std::size_t exponent, std::size_t mantissa) {
  Id type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type, exponent + mantissa, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, bytes);
  H5Tset_ebias(type, (std::size_t{1} << (exponent - 1)) - 1);
  return type;
}

Id h5_type(ElementType type) {
  const auto copy = [](hid_t id) { return Id(H5Tcopy(id), H5Tclose); };
  switch (type) {
    case ElementType::f64:
      return copy(H5T_IEEE_F64LE);
    case ElementType::f32:
      return copy(H5T_IEEE_F32LE);
    case ElementType::f16:
      return small_float(2, 5, 10);
    case ElementType::bf16:
      return small_float(2, 8, 7);
    case ElementType::f8_e4m3:
      return small_float(1, 4, 3);
    case ElementType::f8_e5m2:
      return small_float(1, 5, 2);
    case ElementType::i64:
      return copy(H5T_STD_I64LE);
    case ElementType::i32:
      return copy(H5T_STD_I32LE);
    case ElementType::i16:
      return copy(H5T_STD_I16LE);
    case ElementType::i8:
      return copy(H5T_STD_I8LE);
    case ElementType::u64:
      return copy(H5T_STD_U64LE);
    case ElementType::u32:
      return copy(H5T_STD_U32LE);
    case ElementType::u16:
      return copy(H5T_STD_U16LE);
    case ElementType::u8:
      return copy(H5T_STD_U8LE);
    case ElementType::boolean:
      return copy(H5T_STD_B8LE);
    default:
      fail(Fault::internal, "type ", traits(type).name, " is not stored in HDF5 files");
  }
}

constexpr ElementType kStored[] = {
    ElementType::u8,      ElementType::f16,     ElementType::f32,    ElementType::bf16,
    ElementType::i8,      ElementType::i16,     ElementType::i32,    ElementType::i64,
    ElementType::u16,     ElementType::u32,     ElementType::u64,    ElementType::f64,
    ElementType::boolean, ElementType::f8_e4m3, ElementType::f8_e5m2};

Id access_list(std::size_t threshold, std::size_t alignment) {
  Id fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
  H5Pset_file_locking(fapl, false, true);
  if (alignment > 1) H5Pset_alignment(fapl, threshold, alignment);
  return fapl;
}

Id data_space(const std::vector<int64_t>& shape) {
  if (shape.empty()) return Id(H5Screate(H5S_SCALAR), H5Sclose);
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return Id(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
}

/// Contiguous, never filled, without times.
Id dataset_list(H5D_alloc_time_t allocation) {
  Id dcpl(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(dcpl, H5D_CONTIGUOUS);
  H5Pset_alloc_time(dcpl, allocation);
  H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(dcpl, false);
  H5Pset_dset_no_attrs_hint(dcpl, true);
  return dcpl;
}

}  // namespace

/// HDF5's alignment also applies to its own metadata, of which a file has more pieces than
/// datasets. So only pieces of at least the alignment are aligned while datasets are made. Smaller
/// datasets are made without space; settle() opens the file again with everything aligned and
/// writes their bytes.
struct H5Writer::Impl {
  std::string path;
  std::size_t alignment;
  Id file;
  std::vector<std::pair<std::string, std::vector<std::byte>>> pending;
  std::map<std::string, uint64_t> offsets;
  std::set<std::string> groups;

  [[noreturn]] void failed(const char* what, const std::string& name) const {
    fail(Fault::environment, path, ": can't ", what, " '", name, "': ", reason());
  }

  void open(std::size_t threshold) {
    file = Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access_list(threshold, alignment)), H5Fclose);
    if (file < 0) failed("open", path);
  }

  void close_file() {
    if (file >= 0 && H5Fflush(file, H5F_SCOPE_LOCAL) < 0) failed("write", path);
    if (!file.close()) failed("close", path);
  }

  void make_groups(const std::string& name) {
    for (std::size_t at = name.find('/', 1); at != std::string::npos; at = name.find('/', at + 1)) {
      const std::string group = name.substr(0, at);
      if (!groups.insert(group).second) continue;
      const Id gcpl(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      H5Pset_obj_track_times(gcpl, false);
      const Id id(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, gcpl, H5P_DEFAULT), H5Gclose);
      if (id < 0) failed("make the group", group);
    }
  }

  void write(const Id& dataset, const std::string& name, std::span<const std::byte> bytes) {
    const Id type(H5Dget_type(dataset), H5Tclose);
    if (!bytes.empty() && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
      failed("write", name);
    const haddr_t offset = bytes.empty() ? 0 : H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) failed("locate", name);
    offsets[name] = offset;
  }

  void settle() {
    if (pending.empty()) return;
    close_file();
    open(1);
    for (const auto& [name, bytes] : pending) {
      const Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
      if (dataset < 0) failed("open", name);
      write(dataset, name, bytes);
    }
    pending.clear();
    close_file();
    open(alignment);
  }
};

H5Writer::H5Writer(const std::string& path, std::size_t userblock, std::size_t alignment)
    : impl_(std::make_unique<Impl>()) {
  quiet();
  impl_->path = path;
  impl_->alignment = alignment;
  const Id fcpl(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(fcpl, userblock);
  H5Pset_obj_track_times(fcpl, false);
  impl_->file =
      Id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, fcpl, access_list(alignment, alignment)), H5Fclose);
  if (impl_->file < 0) impl_->failed("create", path);
}

H5Writer::~H5Writer() = default;

void H5Writer::dataset(const std::string& name, ElementType type, const std::vector<int64_t>& shape,
                       std::span<const std::byte> bytes) {
  std::size_t count = 1;
  for (const int64_t n : shape)
    count = checked_mul(count, static_cast<std::size_t>(n), "a dataset");
  CUPEL_CHECK(stored_bytes(type, count) == bytes.size(), internal, "dataset '", name,
              "': ", bytes.size(), " bytes for ", traits(type).name, " ", list_text(shape));
  CUPEL_CHECK(name.starts_with('/') && !name.ends_with('/'), internal, "dataset name '", name, "'");
  impl_->make_groups(name);
  const bool small = bytes.size() < impl_->alignment;
  const Id dataset(
      H5Dcreate2(impl_->file, name.c_str(), h5_type(type), data_space(shape), H5P_DEFAULT,
                 dataset_list(small ? H5D_ALLOC_TIME_LATE : H5D_ALLOC_TIME_EARLY), H5P_DEFAULT),
      H5Dclose);
  if (dataset < 0) impl_->failed("make the dataset", name);
  if (small)
    impl_->pending.emplace_back(name, std::vector<std::byte>(bytes.begin(), bytes.end()));
  else
    impl_->write(dataset, name, bytes);
}

uint64_t H5Writer::offset(const std::string& name) const {
  impl_->settle();
  const auto found = impl_->offsets.find(name);
  CUPEL_CHECK(found != impl_->offsets.end(), internal, "no dataset '", name, "' was written");
  return found->second;
}

void H5Writer::close() {
  impl_->settle();
  impl_->close_file();
}

struct H5Reader::Impl {
  std::string path;
  Id file;
  std::set<std::string> datasets;

  [[noreturn]] void damaged(const std::string& name, const std::string& why) const {
    fail(Fault::data, path, ": dataset '", name, "': ", why);
  }

  /// Lists datasets that hard links reach: soft and external links could leave the file and stay
  /// unseen.
  static herr_t visit(hid_t group, const char* name, const H5L_info_t* link, void* self) {
    if (link->type != H5L_TYPE_HARD) return 0;
    H5O_info_t info;
    if (H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
    if (info.type == H5O_TYPE_DATASET) static_cast<Impl*>(self)->datasets.insert(cat("/", name));
    return 0;
  }

  /// A dataset that is one plain run of bytes in this file.
  Id open(const std::string& name) const {
    CUPEL_CHECK(datasets.contains(name), data, path, ": dataset '", name, "' is missing");
    Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (dataset < 0) damaged(name, reason());
    const Id dcpl(H5Dget_create_plist(dataset), H5Pclose);
    if (H5Pget_layout(dcpl) != H5D_CONTIGUOUS || H5Pget_external_count(dcpl) != 0 ||
        H5Pget_nfilters(dcpl) != 0)
      damaged(name, "must be contiguous, unfiltered and inside the file");
    return dataset;
  }

  ElementType type(const Id& dataset, const std::string& name) const {
    const Id stored(H5Dget_type(dataset), H5Tclose);
    for (const ElementType type : kStored)
      if (H5Tequal(stored, h5_type(type)) > 0) return type;
    damaged(name, "its element type is not one that Cupel writes");
  }
};

H5Reader::H5Reader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  quiet();
  impl_->path = path;
  impl_->file = Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_list(1, 1)), H5Fclose);
  CUPEL_CHECK(impl_->file >= 0, data, path, ": not a readable HDF5 file: ", reason());
  if (H5Lvisit(impl_->file, H5_INDEX_NAME, H5_ITER_INC, Impl::visit, impl_.get()) < 0)
    fail(Fault::data, path, ": can't list the datasets: ", reason());
}

H5Reader::~H5Reader() = default;

bool H5Reader::has(const std::string& name) const {
  return impl_->datasets.contains(name);
}

Array H5Reader::read(const std::string& name) const {
  const Id dataset = impl_->open(name);
  Array array;
  array.type = impl_->type(dataset, name);
  const Id space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) impl_->damaged(name, reason());
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::size_t count = 1;
  for (const hsize_t n : dims) count = checked_mul(count, n, "a dataset");
  array.shape.assign(dims.begin(), dims.end());
  const std::size_t bytes = stored_bytes(array.type, count);
  if (H5Dget_storage_size(dataset) != bytes) impl_->damaged(name, "its bytes don't fit its shape");
  array.bytes.resize(bytes);
  if (bytes != 0 &&
      H5Dread(dataset, h5_type(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, array.bytes.data()) < 0)
    impl_->damaged(name, reason());
  return array;
}

uint64_t H5Reader::offset(const std::string& name) const {
  const Id dataset = impl_->open(name);
  if (H5Dget_storage_size(dataset) == 0) return 0;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) impl_->damaged(name, "it has no bytes in the file");
  return offset;
}

std::vector<std::string> H5Reader::names() const {
  return {impl_->datasets.begin(), impl_->datasets.end()};
}

}  // namespace cupel::format
