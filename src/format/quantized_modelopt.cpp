// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// ModelOpt (quantization_config or hf_quant_config.json). NVFP4: `X` in U8, two E2M1 numbers in a
// byte, `X_scale` in FP8 for 16 inputs, times `X_scale_2`. FP8: `X` times `X_scale`.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/quantized_scaled.h"

namespace cupel::format {
namespace {

void check_algorithm(const std::string& name) {
  check_known(name, "quant_algo",
              {"FP8", "FP8_PB_WO", "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4", "W4A16_NVFP4", "NVFP4_AWQ",
               "MXFP8", "MIXED_PRECISION"});
}

void check_group(const SchemeConfig& object, const std::string& algorithm) {
  if (algorithm.find("NVFP4") == std::string::npos) return;
  const int64_t group = integer_key(object, "group_size", 16);
  CUPEL_CHECK(group == 16, data, "quantization_config: ", algorithm, " with group_size ", group,
              " is not supported, 16 expected");
}

void take_nvfp4(SchemeInput& in) {
  for (const TensorEntry& t : in.entries()) {
    const bool codes =
        t.type == ElementType::u8 && (in.find(t.name + "_scale") || in.find(t.name + "_scale_2"));
    if (!codes) continue;
    const TensorEntry &scales = in.need(t.name + "_scale", t),
                      &tensor_scale = in.need(t.name + "_scale_2", t);
    check_type(scales, {ElementType::f8_e4m3});
    ScaledParts parts = fp4_parts(t.name, t, scales);
    parts.tensor_scale = &tensor_scale;
    parts.multiplier = one_number(tensor_scale);
    in.add(make_scaled(std::move(parts)));
  }
}

}  // namespace

void read_modelopt(SchemeInput& in) {
  const SchemeConfig* nested = object_key(in.config, "quantization");
  const SchemeConfig& object = nested ? *nested : in.config;
  const std::string algorithm = text_key(object, "quant_algo", "");
  if (algorithm.empty()) return;  // the KV cache alone
  check_algorithm(algorithm);
  check_group(object, algorithm);
  if (const SchemeConfig* layers = object_key(object, "quantized_layers"))
    for (const auto& [name, layer] : layers->items()) {
      const std::string of_layer = text_key(layer, "quant_algo", "");
      check_algorithm(of_layer);
      check_group(layer, of_layer);
    }
  for (const TensorEntry& t : in.entries())
    CUPEL_CHECK(!t.name.ends_with(".pre_quant_scale"), data, "tensor '", t.name,
                "' scales the inputs of a matrix, which is not supported");
  take_nvfp4(in);
  constexpr ScaleBlock known[] = {{128, 128}, {1, 32}};
  take_fp8(in, known);
}

}  // namespace cupel::format
