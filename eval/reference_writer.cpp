// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/file_io.h"
#include "base/hash.h"
#include "eval/reference_header.h"

namespace cupel::eval {

struct ReferenceWriter::Impl {
  Impl(const std::string& file, std::string name, ReferenceHeader h)
      : path(std::move(name)), header(std::move(h)), top(header.top) {
    out = std::fopen(file.c_str(), "wb");
    if (!out) stop(errno);
  }
  ~Impl() {
    if (out) std::fclose(out);
  }

  [[noreturn]] void stop(int error) const {
    fail(Fault::environment, "can't write '", path, "': ", reason_of(error));
  }
  void write(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size()) stop(errno);
  }

  template <class T>
  void put(T value) {
    row.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void end_row() {
    const auto bytes = std::as_bytes(std::span(row));
    crc = crc32c(bytes, crc);
    write(bytes);
    if (++rows < header.list.blocks[block].count) return;
    write(std::as_bytes(std::span(&crc, 1)));
    ++block;
    rows = 0;
    crc = 0;
  }

  std::FILE* out = nullptr;
  std::string path;
  ReferenceHeader header;
  TopTokens top;
  std::string row;
  std::size_t block = 0;  // that the next row belongs to
  int64_t rows = 0;       // of it that are written
  uint32_t crc = 0;       // of those
};

ReferenceWriter::ReferenceWriter(const std::string& file, const std::string& path,
                                 ReferenceHeader header)
    : impl_(std::make_unique<Impl>(file, path, std::move(header))) {
  const std::string head = reference_head(impl_->header);
  impl_->write(std::as_bytes(std::span(head)));
}

ReferenceWriter::~ReferenceWriter() = default;

void ReferenceWriter::add(std::span<const float> logits, text::Token target) {
  Impl& i = *impl_;
  CUPEL_ASSERT(i.block < i.header.list.blocks.size());
  CUPEL_ASSERT(static_cast<int64_t>(logits.size()) == i.header.vocab);
  const TopRow kept = i.top.of(logits, target);
  i.row.clear();
  i.put(kept.log_target);
  i.put(kept.log_rest);
  for (const float p : kept.log_p) i.put(p);
  for (const text::Token id : kept.ids)
    if (id_bytes(i.header) == 2)
      i.put(static_cast<uint16_t>(id));
    else
      i.put(static_cast<uint32_t>(id));
  i.end_row();
}

void ReferenceWriter::finish() {
  Impl& i = *impl_;
  CUPEL_ASSERT(i.block == i.header.list.blocks.size());
  std::FILE* out = std::exchange(i.out, nullptr);
  // A full disk may show only here.
  if (std::fclose(out) != 0) i.stop(errno);
}

}  // namespace cupel::eval
