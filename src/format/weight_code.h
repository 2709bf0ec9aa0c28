// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "format/element_type.h"
#include "format/input_rounding.h"

namespace cupel::format {

/// A plain host array: row-major, outermost first.
struct Array {
  ElementType type = ElementType::u8;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  template <class T>
  static Array of(ElementType type, std::vector<int64_t> shape, std::span<const T> values) {
    const auto raw = std::as_bytes(values);
    return {type, std::move(shape), std::vector<std::byte>(raw.begin(), raw.end())};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// What happens to the input of a linear layer before its stored weight: y = W x = W' (T x). Order:
/// multiply by `scale` (if any), then flip `signs`, then an orthonormal Hadamard transform inside
/// blocks of `hadamard` inputs. Weights that share an input share the transform (equal `id`), so
/// the runtime applies it once.
///
/// The Hadamard transform of a block of factor * power inputs (hadamard.h): the fast transform of
/// each run of `power` inputs, then the factor's matrix F over the runs (out[a] = sum_b F[a][b]
/// in[b], from 0, b in order), then one multiplication by 1/sqrt(block). F need not be symmetric:
/// the inverse is the transpose.
struct InputTransform {
  std::string id;    ///< names the transform inside a model; "" is the identity
  int hadamard = 0;  ///< block width: divides the input width, hadamard_order() knows it; 0 is none
  std::vector<float> scale;   ///< [i] or empty
  std::vector<int8_t> signs;  ///< [i] of +1/-1 or empty
  bool identity() const { return hadamard == 0 && scale.empty() && signs.empty(); }
};
/// T applied to rows of x [n, i] in place: the definition, float32.
void apply(const InputTransform& transform, float* x, int64_t n, int64_t width);
/// T^-1 applied to rows of x [n, i] in place; the scales must not be zero.
void undo(const InputTransform& transform, float* x, int64_t n, int64_t width);
/// W = W' T applied to rows of a stored weight [n, i] in place: back to the weight that acts on x
/// itself.
void undo_on_weight(const InputTransform& transform, float* w, int64_t n, int64_t width);

/// What a matrix reads where its input is rounded. As an input of W = W' T: T^-1 Q(T x).
struct RoundedInput {
  InputTransform transform;
  InputRounding rounding;
};

class Layout;

/// One compressed matrix: which layout, and the layout's arrays before packing (uniform: codes u8
/// [o, i], scales f16 [o, g], zeros u8 [o, g] when asymmetric). Owns its buffers; `layout` is
/// shared and immutable.
struct WeightCode {
  std::shared_ptr<const Layout> layout;
  int64_t rows = 0, cols = 0;
  InputTransform input;
  std::map<std::string, Array> arrays;
  InputRounding rounding = {};  ///< of the input, after the transform
};

/// A packed matrix: named planes as they lie in the artifact.
using Planes = std::map<std::string, Array>;
/// The same as views into a map; the owner of the bytes must outlive it.
struct PlaneView {
  ElementType type = ElementType::u8;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};
using PlaneViews = std::map<std::string, PlaneView>;

}  // namespace cupel::format
