// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Norm, activation, rotary embedding, Hadamard transform and conversion over Vec.

namespace cupel::kernels {
namespace {

/// n rounded down to whole vectors.
inline int64_t whole_vectors(int64_t n) { return n - n % kLanes; }

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) {
  const int64_t whole = whole_vectors(n), rest = n - whole;
  SquareSum squares;
  for (int64_t i = 0; i < whole; i += kLanes) squares.add(load(x + i));
  squares.add(load_first(x + whole, rest));
  const double mean = squares.total() / static_cast<double>(n);
  const Vec inverse = splat(static_cast<float>(1.0 / square_root(mean + static_cast<double>(eps))));
  for (int64_t i = 0; i < whole; i += kLanes) store(out + i, load(x + i) * inverse * load(weight + i));
  store_first(out + whole, load_first(x + whole, rest) * inverse * load_first(weight + whole, rest), rest);
}

/// x = f(x), n numbers.
template <class Function>
void each(float* x, int64_t n, Function&& f) {
  const int64_t whole = whole_vectors(n), rest = n - whole;
  for (int64_t i = 0; i < whole; i += kLanes) store(x + i, f(load(x + i)));
  if (rest > 0) store_first(x + whole, f(load_first(x + whole, rest)), rest);
}

/// a = f(a, b), n numbers.
template <class Function>
void each(float* a, const float* b, int64_t n, Function&& f) {
  const int64_t whole = whole_vectors(n), rest = n - whole;
  for (int64_t i = 0; i < whole; i += kLanes) store(a + i, f(load(a + i), load(b + i)));
  if (rest > 0) store_first(a + whole, f(load_first(a + whole, rest), load_first(b + whole, rest)), rest);
}

void silu_mul(float* a, const float* b, int64_t n) {
  each(a, b, n, [](Vec x, Vec y) { return silu(x) * y; });
}

void gelu_tanh_mul(float* a, const float* b, int64_t n) {
  each(a, b, n, [](Vec x, Vec y) { return gelu_tanh(x) * y; });
}

void gelu_mul(float* a, const float* b, int64_t n) {
  each(a, b, n, [](Vec x, Vec y) { return gelu(x) * y; });
}

void clamped_swiglu(float* a, const float* b, int64_t n, float alpha, float limit) {
  each(a, b, n, [=](Vec gate, Vec up) {
    gate = smaller(splat(limit), gate);
    up = larger(splat(-limit), smaller(splat(limit), up));
    return (up + splat(1.0F)) * (gate / (splat(1.0F) + exponential(zeros() - gate * splat(alpha))));
  });
}

void cap(float* x, int64_t n, float cap) {
  each(x, n, [=](Vec v) { return splat(cap) * hyperbolic_tangent(v / splat(cap)); });
}

void sigmoid(float* x, int64_t n) {
  each(x, n, [](Vec v) { return sigmoid(v); });
}

void softmax(float* x, int64_t n) {
  const auto lanes_at = [n](int64_t i) { return n - i < kLanes ? n - i : kLanes; };
  const Vec lowest = splat(-__builtin_inff());
  Vec high = lowest;
  for (int64_t i = 0; i < n; i += kLanes)
    high = larger(high, pick_first(load_first(x + i, lanes_at(i)), lowest, lanes_at(i)));
  const Vec maximum = splat(lane_max(high));
  Vec total[kParts];
  for (Vec& part : total) part = zeros();
  for (int64_t i = 0; i < n; i += kLanes) {
    const Vec e = exponential(load_first(x + i, lanes_at(i)) - maximum);
    store_first(x + i, e, lanes_at(i));
    total[i / kLanes % kParts] = total[i / kLanes % kParts] + pick_first(e, zeros(), lanes_at(i));
  }
  const Vec sum = splat(lane_sum(total));
  each(x, n, [&](Vec v) { return v / sum; });
}

void rope(float* x, int64_t heads, int64_t stride, const Rotation& rotation) {
  if (rotation.interleaved) return scalar::rope_interleaved(x, heads, stride, rotation);
  const float *cosine = rotation.cosine, *sine = rotation.sine;
  const int64_t half = rotation.dims / 2, whole = whole_vectors(half), rest = half - whole;
  for (int64_t h = 0; h < heads; ++h) {
    float* low = x + h * stride;
    float* high = low + half;
    for (int64_t i = 0; i < whole; i += kLanes) {
      const Vec a = load(low + i), b = load(high + i), c = load(cosine + i), s = load(sine + i);
      store(low + i, a * c - b * s);
      store(high + i, b * c + a * s);
    }
    if (rest == 0) continue;
    const Vec a = load_first(low + whole, rest), b = load_first(high + whole, rest);
    const Vec c = load_first(cosine + whole, rest), s = load_first(sine + whole, rest);
    store_first(low + whole, a * c - b * s, rest);
    store_first(high + whole, b * c + a * s, rest);
  }
}

template <int distance>
inline Vec butterfly(Vec v) {
  const Vec other = swap_lanes<distance>(v);
  return interleave<distance>(v + other, other - v);
}

/// The butterflies inside one vector.
inline Vec butterflies(Vec v) {
  v = butterfly<1>(v);
  v = butterfly<2>(v);
  v = butterfly<4>(v);
  if constexpr (kLanes == 16) v = butterfly<8>(v);
  return v;
}

/// Runs narrower than a vector.
void butterflies_narrow(float* x, int64_t n) {
  for (int64_t distance = 1; distance < n; distance *= 2) {
    for (int64_t i = 0; i < n; ++i) {
      if ((i & distance) != 0) continue;
      const float a = x[i], b = x[i + distance];
      x[i] = a + b;
      x[i + distance] = a - b;
    }
  }
}

/// The fast transform of a run of n numbers, a power of two.
void butterflies(float* x, int64_t n) {
  if (n < kLanes) return butterflies_narrow(x, n);
  for (int64_t i = 0; i < n; i += kLanes) store(x + i, butterflies(load(x + i)));
  for (int64_t distance = kLanes; distance < n; distance *= 2) {
    for (int64_t from = 0; from < n; from += 2 * distance) {
      for (int64_t i = from; i < from + distance; i += kLanes) {
        const Vec a = load(x + i), b = load(x + i + distance);
        store(x + i, a + b);
        store(x + i + distance, a - b);
      }
    }
  }
}

/// Outputs of multiply_factor() in flight; it divides every factor above 1.
constexpr int kFactorRows = 4;

/// x [factor, power] times the factor's matrix, a vector of columns at a time. A product with 1 or -1 is exact, so fma
/// rounds as the addition does.
void multiply_factor(float* x, int64_t power, const RowTransform& t) {
  const int64_t n = t.factor, columns = power < kLanes ? power : kLanes;
  float panel[format::kLargestHadamardFactor * kLanes], signs[kFactorRows][format::kLargestHadamardFactor];
  for (int64_t j = 0; j < power; j += kLanes) {
    for (int64_t b = 0; b < n; ++b) store(panel + b * kLanes, load_first(x + b * power + j, columns));
    for (int64_t a = 0; a < n; a += kFactorRows) {
      for (int r = 0; r < kFactorRows; ++r)
        for (int64_t b = 0; b < n; ++b) signs[r][b] = static_cast<float>(t.matrix[(a + r) * n + b]);
      Vec sums[kFactorRows];
      for (Vec& sum : sums) sum = zeros();
      for (int64_t b = 0; b < n; ++b) {
        const Vec v = load(panel + b * kLanes);
        for (int r = 0; r < kFactorRows; ++r) sums[r] = fma(splat(signs[r][b]), v, sums[r]);
      }
      for (int r = 0; r < kFactorRows; ++r) store_first(x + (a + r) * power + j, sums[r], columns);
    }
  }
}

void hadamard(float* x, const RowTransform& t, float norm) {
  const int64_t power = t.block / t.factor, whole = whole_vectors(t.block);
  for (int a = 0; a < t.factor; ++a) butterflies(x + a * power, power);
  if (t.factor > 1) multiply_factor(x, power, t);
  for (int64_t i = 0; i < whole; i += kLanes) store(x + i, load(x + i) * splat(norm));
  for (int64_t i = whole; i < t.block; ++i) x[i] *= norm;
}

void transform(float* x, int64_t n, const RowTransform& t) {
  const int64_t whole = whole_vectors(n);
  if (t.scale != nullptr) {
    for (int64_t i = 0; i < whole; i += kLanes) store(x + i, load(x + i) * load(t.scale + i));
    for (int64_t i = whole; i < n; ++i) x[i] *= t.scale[i];
  }
  if (t.signs != nullptr) {
    for (int64_t i = 0; i < whole; i += kLanes) store(x + i, load(x + i) * load_signs(t.signs + i));
    for (int64_t i = whole; i < n; ++i) x[i] *= static_cast<float>(t.signs[i]);
  }
  if (t.block <= 1) return;
  const auto norm = static_cast<float>(1.0 / square_root(static_cast<double>(t.block)));
  for (int64_t i = 0; i + t.block <= n; i += t.block) hadamard(x + i, t, norm);
}

void to_f16(const float* x, uint16_t* out, int64_t n) {
  const int64_t whole = whole_vectors(n);
  for (int64_t i = 0; i < whole; i += kLanes) store_f16(out + i, load(x + i));
  if (whole == n) return;
  uint16_t rest[kLanes];
  store_f16(rest, load_first(x + whole, n - whole));
  for (int64_t i = whole; i < n; ++i) out[i] = rest[i - whole];
}

}  // namespace
}  // namespace cupel::kernels
