// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/rng.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/hash.h"

namespace cupel {
namespace {

// What a key is derived from, so that child("x"), child(7) and Rng(seed, "x") never share a stream
// by accident.
enum class Origin : char { root = 'r', name = 'n', index = 'i' };

uint64_t derive(Origin origin, uint64_t parent, uint64_t index, std::string_view name) {
  std::string text(1, static_cast<char>(origin));
  for (const uint64_t value : {parent, index})
    for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(value >> shift & 0xff);
  text += name;
  return std::stoull(Sha256().add(text).hex().substr(0, 16), nullptr, 16);
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

Rng::Rng(uint64_t seed, std::string_view name) : key_(derive(Origin::root, seed, 0, name)) {}

Rng Rng::child(std::string_view name) const {
  Rng rng(0);
  rng.key_ = derive(Origin::name, key_, 0, name);
  return rng;
}

Rng Rng::child(uint64_t index) const {
  Rng rng(0);
  rng.key_ = derive(Origin::index, key_, index, {});
  return rng;
}

void Rng::refill() {
  block_ =
      philox4x32({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0},
                 {static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32)});
  filled_ = true;
}

uint32_t Rng::next_u32() {
  if (!filled_) refill();
  const uint32_t value = block_[used_];
  if (++used_ == 4) {
    used_ = 0;
    ++counter_;
    filled_ = false;
  }
  return value;
}

uint64_t Rng::next_u64() {
  const uint64_t low = next_u32();
  return uint64_t{next_u32()} << 32 | low;
}

double Rng::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

uint64_t Rng::below(uint64_t n) {
  CUPEL_ASSERT(n > 0);
  __extension__ using Wide = unsigned __int128;
  // Lemire's method: the high word of value * n is uniform once the few low words that occur too
  // often are rejected.
  const uint64_t reject_below = (0 - n) % n;
  for (;;) {
    const Wide product = static_cast<Wide>(next_u64()) * n;
    if (static_cast<uint64_t>(product) >= reject_below) return static_cast<uint64_t>(product >> 64);
  }
}

double Rng::normal() {
  // 1 - u lies in (0, 1]. The sine half is not kept: position() must say everything about the
  // state.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

void Rng::seek(uint64_t position) {
  counter_ = position / 4;
  used_ = static_cast<unsigned>(position % 4);
  filled_ = false;
}

}  // namespace cupel
