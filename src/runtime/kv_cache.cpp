// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/kv_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"

namespace cupel::runtime {
namespace {

int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

KvCache::KvCache(const format::ModelConfig& config, KvType type, int64_t context)
    : type_(type),
      context_(context),
      layers_(config.layers),
      kv_heads_(config.kv_heads),
      head_dim_(config.head_dim) {
  row_bytes_ = kv_heads_ * head_dim_ * (type == KvType::f16 ? 2 : 4);
  page_bytes_ = ::sysconf(_SC_PAGESIZE);
  plane_bytes_ = round_up(context * row_bytes_, page_bytes_);
  const auto total = static_cast<std::size_t>(2 * layers_ * plane_bytes_);
  void* memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CUPEL_CHECK(memory != MAP_FAILED, user, "a context of ", context, " positions needs ",
              human_bytes(static_cast<double>(total)),
              " of KV cache, which this system does not grant");
  // A huge page per plane would commit 2 MiB for the first position.
  ::madvise(memory, total, MADV_NOHUGEPAGE);
  base_ = static_cast<std::byte*>(memory);
}

KvCache::~KvCache() {
  ::munmap(base_, static_cast<std::size_t>(2 * layers_ * plane_bytes_));
}

kernels::KvView KvCache::view(int64_t layer) const {
  const auto type = type_ == KvType::f16 ? format::ElementType::f16 : format::ElementType::f32;
  return {type, plane(layer, 0), plane(layer, 1), kv_heads_, head_dim_};
}

void KvCache::store(const kernels::CpuKernels& cpu, int64_t layer, int64_t position,
                    const float* key, const float* value) {
  std::byte* to[2] = {plane(layer, 0) + position * row_bytes_,
                      plane(layer, 1) + position * row_bytes_};
  if (type_ == KvType::f16) {
    cpu.to_f16(key, reinterpret_cast<uint16_t*>(to[0]), kv_heads_ * head_dim_);
    cpu.to_f16(value, reinterpret_cast<uint16_t*>(to[1]), kv_heads_ * head_dim_);
  } else {
    std::memcpy(to[0], key, static_cast<std::size_t>(row_bytes_));
    std::memcpy(to[1], value, static_cast<std::size_t>(row_bytes_));
  }
}

int64_t KvCache::bytes_read(int64_t positions) const {
  return 2 * layers_ * positions * row_bytes_;
}

int64_t KvCache::bytes_held(int64_t positions) const {
  return 2 * layers_ * round_up(positions * row_bytes_, page_bytes_);
}

}  // namespace cupel::runtime
