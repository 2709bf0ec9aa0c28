// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/file_io.h"

namespace cupel {
namespace {

[[noreturn]] void fail_writing(const std::string& path, int error) {
  fail(Fault::environment, "can't write '", path, "': ", reason_of(error));
}

void write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail_writing(path, errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// Pipes and devices (/dev/stdout) are written in place: a rename would replace them by a file.
bool is_special(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// The file behind a symbolic link, so that the link stays one.
std::filesystem::path behind_links(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? std::filesystem::path(path) : real;
}

std::string temporary_beside(const std::filesystem::path& target) {
  static std::atomic<unsigned> count{0};
  const std::string name =
      cat(".", target.filename().string(), ".", ::getpid(), "-", ++count, ".tmp");
  return (target.parent_path() / name).string();
}

// A name is durable only after its folder is synced; some file systems refuse that, and then it is
// not needed.
void sync_folder_of(const std::filesystem::path& target) {
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle && ::fsync(handle.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    fail_writing(target.string(), errno);
}

void sync_file(const std::string& temporary, const std::string& path) {
  const FileHandle handle(::open(temporary.c_str(), O_RDWR | O_CLOEXEC));
  if (!handle || ::fsync(handle.get()) != 0) fail_writing(path, errno);
}

void write_plain(const std::string& file, std::string_view text, const std::string& path) {
  FileHandle handle(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!handle) fail_writing(path, errno);
  write_all(handle.get(), text, path);
  // Network file systems report a full disk only here.
  if (::close(handle.release()) != 0) fail_writing(path, errno);
}

}  // namespace

void write_atomic_with(const std::string& path,
                       const std::function<void(const std::string& temporary)>& write) {
  if (is_special(path)) return write(path);
  const std::filesystem::path target = behind_links(path);
  const std::string temporary = temporary_beside(target);
  struct Cleanup {
    const char* name;
    ~Cleanup() {
      if (name) ::unlink(name);
    }
  } cleanup{temporary.c_str()};
  write(temporary);
  sync_file(temporary, path);
  if (std::rename(temporary.c_str(), target.c_str()) != 0) fail_writing(path, errno);
  cleanup.name = nullptr;
  sync_folder_of(target);
}

void write_atomic(const std::string& path, std::string_view text) {
  write_atomic_with(path, [&](const std::string& file) { write_plain(file, text, path); });
}

}  // namespace cupel
