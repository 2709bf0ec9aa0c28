// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file_io.h"

namespace cupel {

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string reason_of(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "the disk quota is used up";
    case EACCES:
    case EPERM:
      return "no permission";
    case EROFS:
      return "the file system is read-only";
    case ENOENT:
      return "no such file or folder";
    default:
      return std::strerror(error);
  }
}

FileHandle open_for_reading(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    if (missing) fail(Fault::user, "no such file: '", path, "'");
    fail(Fault::environment, "can't open '", path, "': ", reason_of(errno));
  }
  struct stat info;
  if (::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode))
    fail(Fault::user, "'", path, "' is a folder, a file was expected");
  return file;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const FileHandle file = open_for_reading(path);
  struct stat info;
  if (::fstat(file.get(), &info) != 0)
    fail(Fault::environment, "can't read '", path, "': ", reason_of(errno));
  if (info.st_size == 0) return;  // an empty map is an error to mmap, not to us
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) fail(Fault::environment, "can't map '", path, "': ", reason_of(errno));
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_text(const std::string& path) {
  const FileHandle file = open_for_reading(path);
  std::string text;
  // Not by size: files of /proc and pipes have none.
  for (std::size_t size = 0;;) {
    text.resize(size + (std::size_t{1} << 16) + size / 2);
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Fault::environment, "can't read '", path, "': ", reason_of(errno));
    size += static_cast<std::size_t>(got);
    if (got == 0) {
      text.resize(size);
      return text;
    }
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    fail(Fault::environment, "can't create the folder '", path, "': ", reason_of(error.value()));
}

std::string cache_folder() {
  if (const char* cache = std::getenv("CUPEL_CACHE"); cache && *cache) return cache;
  const char* home = std::getenv("HOME");
  if (!home || !*home)
    fail(Fault::environment, "no place for the cache: neither CUPEL_CACHE nor HOME is set");
  return cat(home, "/.cache/cupel");
}

}  // namespace cupel
