// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/hash.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file_io.h"

namespace cupel {

std::string key_of(std::initializer_list<std::string_view> parts) {
  Sha256 sha;
  for (const std::string_view part : parts) sha.add(cat(part.size(), ":")).add(part);
  return sha.hex().substr(0, 32);
}

std::string sha256_file(const std::string& path) {
  // Read, not mapped: the pages of a large model would count as memory of this process.
  const FileHandle file = open_for_reading(path);
  std::vector<std::byte> buffer(1 << 20);
  Sha256 sha;
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Fault::environment, "can't read '", path, "': ", reason_of(errno));
    if (got == 0) return sha.hex();
    sha.add(std::span<const std::byte>(buffer.data(), static_cast<std::size_t>(got)));
  }
}

}  // namespace cupel
