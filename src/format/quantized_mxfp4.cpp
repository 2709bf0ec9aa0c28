// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant_method mxfp4 (gpt-oss): `X_blocks` [experts, outputs, inputs / 32, 16] of E2M1 pairs, the
// low nibble first, and `X_scales` [experts, outputs, inputs / 32], each a power of two plus 127.
// The matrices are [output, input], where the float file of the family has them transposed.
#include "base/error.h"
#include "format/quantized_scaled.h"

namespace cupel::format {
namespace {

constexpr std::string_view kBlocks = "_blocks";

}  // namespace

void read_mxfp4(SchemeInput& in) {
  for (const TensorEntry& blocks : in.entries()) {
    if (!blocks.name.ends_with(kBlocks)) continue;
    const std::string name = blocks.name.substr(0, blocks.name.size() - kBlocks.size());
    const TensorEntry& scales = in.need(name + "_scales", blocks);
    check_type(blocks, {ElementType::u8});
    check_type(scales, {ElementType::u8, ElementType::f8_e8m0});
    check_axes(blocks, 4);
    const auto& size = blocks.shape;
    CUPEL_CHECK(size[3] == 16, data, "tensor '", blocks.name, "' has the shape ", list_text(size),
                ", [experts, outputs, inputs / 32, 16] expected");
    check_shape(scales, {size[0], size[1], size[2]});
    ScaledParts parts{.name = name, .shape = {size[0], size[1], size[2]}, .stored_as = "mxfp4"};
    parts.shape[2] = static_cast<int64_t>(
        checked_mul(static_cast<std::size_t>(size[2]), 32, "size of a tensor"));
    parts.elements = &blocks;
    parts.type = ElementType::f4;
    parts.scales = &scales;
    parts.scale_type = ElementType::f8_e8m0;
    parts.block = {1, 32};
    parts.output_major = true;
    in.add(make_scaled(std::move(parts)));
  }
}

}  // namespace cupel::format
