// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant_method awq, version gemm: `X.qweight` [inputs, outputs / 8] and `X.qzeros` [groups,
// outputs / 8], eight outputs in a word in the order 0 2 4 6 1 3 5 7; `X.scales` [groups, outputs].
// Value = (code - zero) * scale.
#include <algorithm>

#include "base/error.h"
#include "format/quantized_packed.h"

namespace cupel::format {
namespace {

constexpr std::string_view kCodes = ".qweight";

std::unique_ptr<StoredTensor> read_one(SchemeInput& in, int64_t group_size,
                                       const TensorEntry& codes) {
  const std::string module = codes.name.substr(0, codes.name.size() - kCodes.size());
  const TensorEntry &scales = in.need(module + ".scales", codes),
                    &zeros = in.need(module + ".qzeros", codes);
  for (const TensorEntry* entry : {&codes, &scales}) check_axes(*entry, 2);
  const int64_t inputs = codes.shape[0], outputs = scales.shape[1];
  const int64_t size = group_size == -1 ? inputs : group_size, groups = ceil_div(inputs, size);
  check_shape(scales, {groups, outputs});
  const PackedFields::Form form{.bits = 4, .order = PackedFields::Order::awq};
  GroupedParts p{.name = module + ".weight",
                 .outputs = outputs,
                 .inputs = inputs,
                 .groups = groups,
                 .codes = PackedFields(codes, form, inputs, outputs),
                 .codes_by_input = true,
                 .zeros = PackedFields(zeros, form, groups, outputs)};
  p.scales = &scales;
  p.scale_output_step = 1;
  p.scale_group_step = outputs;
  p.group_size = std::min(size, inputs);
  p.stored_as = cat("awq ", describe_grouped(p));
  return make_grouped(std::move(p));
}

}  // namespace

void read_awq(SchemeInput& in) {
  const int64_t bits = integer_key(in.config, "bits", integer_key(in.config, "w_bit", 4));
  CUPEL_CHECK(bits == 4, data, "quantization_config: awq with bits ", bits,
              " is not supported, 4 expected");
  const int64_t group_size =
      integer_key(in.config, "group_size", integer_key(in.config, "q_group_size", -1));
  CUPEL_CHECK(group_size == -1 || group_size > 0, data, "quantization_config: group_size is ",
              group_size, ", a size or -1 (the whole row) expected");
  std::string version =
      text_key(in.config, "version", text_key(in.config, "checkpoint_format", "gemm"));
  std::transform(version.begin(), version.end(), version.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  check_known(version, "awq version", {"gemm"});
  for (const TensorEntry& t : in.entries())
    if (t.name.ends_with(kCodes)) in.add(read_one(in, group_size, t));
}

}  // namespace cupel::format
