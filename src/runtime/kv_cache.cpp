// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/kv_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace cupel::runtime {
namespace {

int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

KvCache::Plane KvCache::plane_of(int64_t dim) const {
  const int64_t row = kv_heads_ * kernels::kv_head_bytes(type_, dim);
  return {dim, row, round_up(context_ * row, page_bytes_)};
}

KvCache::KvCache(const format::ModelConfig& config, KvType type, int64_t context)
    : type_(type),
      context_(context),
      kv_heads_(config.is_low_rank() ? config.heads : config.kv_heads),
      page_bytes_(::sysconf(_SC_PAGESIZE)),
      keys_(plane_of(config.head_dim)),
      values_(plane_of(config.values_dim())) {
  for (int layer = 0; layer < config.layers; ++layer) windows_.push_back(config.kind(layer).window);
  const auto total = static_cast<std::size_t>(config.layers * layer_bytes());
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
  ::munmap(base_, windows_.size() * static_cast<std::size_t>(layer_bytes()));
}

kernels::KvView KvCache::view(int64_t layer) const {
  return {type_, keys(layer), values(layer), kv_heads_, keys_.dim, values_.dim};
}

void KvCache::store(const kernels::CpuKernels& cpu, const Plane& plane, const float* from,
                    std::byte* to) const {
  if (type_ == KvType::f16)
    cpu.to_f16(from, reinterpret_cast<uint16_t*>(to), kv_heads_ * plane.dim);
  else if (type_ != KvType::f32)
    cpu.pack_kv(type_, from, kv_heads_, plane.dim, reinterpret_cast<uint8_t*>(to));
  else
    std::memcpy(to, from, static_cast<std::size_t>(plane.row_bytes));
}

void KvCache::store(const kernels::CpuKernels& cpu, int64_t layer, int64_t position,
                    const float* key, const float* value) {
  store(cpu, keys_, key, keys(layer) + position * keys_.row_bytes);
  store(cpu, values_, value, values(layer) + position * values_.row_bytes);
}

void KvCache::copy(int64_t layer, const KvCache& from, int64_t end) {
  std::memcpy(keys(layer), from.keys(layer), static_cast<std::size_t>(end * keys_.row_bytes));
  std::memcpy(values(layer), from.values(layer), static_cast<std::size_t>(end * values_.row_bytes));
}

int64_t KvCache::position_bytes() const {
  return static_cast<int64_t>(windows_.size()) * (keys_.row_bytes + values_.row_bytes);
}

int64_t KvCache::bytes_read(int64_t positions) const {
  int64_t seen = 0;
  for (const int64_t window : windows_)
    seen += window > 0 ? std::min(window, positions) : positions;
  return seen * (keys_.row_bytes + values_.row_bytes);
}

int64_t KvCache::bytes_held(int64_t positions) const {
  return static_cast<int64_t>(windows_.size()) *
         (round_up(positions * keys_.row_bytes, page_bytes_) +
          round_up(positions * values_.row_bytes, page_bytes_));
}

}  // namespace cupel::runtime
