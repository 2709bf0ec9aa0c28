// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/quantized_inputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/checkpoint_kinds.h"
#include "format/quantized_scheme.h"

namespace cupel::format {
namespace {

using enum ElementType;

struct Scheme {
  std::string_view method;  ///< quant_method
  void (*read)(SchemeInput& in);
};
constexpr Scheme kSchemes[] = {
    {"fp8", read_fp8},
    {"fbgemm_fp8", read_fp8},
    {"mxfp4", read_mxfp4},
    {"compressed-tensors", read_compressed_tensors},
    {"gptq", read_gptq},
    {"awq", read_awq},
    {"modelopt", read_modelopt},
    {"modelopt_fp4", read_modelopt},
    {"modelopt_mixed", read_modelopt},
};

/// Endings of scales and zero points that belong to activations and to the KV cache.
constexpr std::string_view kActivationEndings[] = {
    ".input_scale",        "_input_scale",      ".activation_scale", "_activation_scale",
    ".input_global_scale", ".input_zero_point", ".input_scale_ub"};
constexpr std::string_view kCacheEndings[] = {".k_scale",
                                              ".v_scale",
                                              ".q_scale",
                                              ".kv_scale",
                                              ".k_zero_point",
                                              ".v_zero_point",
                                              ".k_proj.output_scale",
                                              ".v_proj.output_scale"};

SchemeConfig parsed(const std::string& text) {
  try {
    SchemeConfig config = SchemeConfig::parse(plain_json(text));
    CUPEL_CHECK(config.is_object(), data, "quantization_config is not an object");
    return config;
  } catch (const nlohmann::json::exception& e) {
    fail(Fault::data, "quantization_config is not valid JSON: ", e.what());
  }
}

const Scheme& scheme_of(const SchemeConfig& config) {
  // ModelOpt writes no quant_method into hf_quant_config.json, and old ones none into config.json.
  const bool modelopt = config.contains("quantization") || config.contains("quant_algo");
  const std::string method = text_key(config, "quant_method", modelopt ? "modelopt" : "");
  CUPEL_CHECK(!method.empty(), data, "quantization_config names no quant_method");
  std::vector<std::string_view> known;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.method == method) return scheme;
    known.push_back(scheme.method);
  }
  fail(Fault::data, "quantization_config: quant_method '", method,
       "' is not supported (known: ", joined(known), ")");
}

template <class Endings>
void note_unused(SchemeInput& in, const Endings& endings, std::string_view of) {
  const TensorEntry* first = nullptr;
  int64_t count = 0;
  for (const TensorEntry& t : in.entries()) {
    const bool ends = std::any_of(std::begin(endings), std::end(endings),
                                  [&](std::string_view e) { return t.name.ends_with(e); });
    if (!ends || in.taken(t)) continue;
    in.take(t);
    if (count++ == 0) first = &t;
  }
  if (count > 0)
    in.notes.push_back(cat(count, " scales of ", of, " are not applied to weights, the first is '",
                           first->name, "'"));
}

/// "weights are stored as a, b, read as float32".
void note_storage(SchemeInput& in, std::string_view method) {
  std::vector<std::string> kinds;
  for (const auto& t : in.tensors)
    if (std::find(kinds.begin(), kinds.end(), t->stored_as) == kinds.end())
      kinds.push_back(t->stored_as);
  if (kinds.empty())
    in.notes.push_back(
        cat("quantization_config (", method, "): no weight is stored in this scheme"));
  else
    in.notes.push_back(cat(in.tensors.size(), " weights are stored as ", joined(kinds), " (",
                           method, "), read as float32"));
}

/// Numbers that mean nothing without a scheme must not be read as weights.
void check_rest(const Container& container, const std::set<std::string_view>& taken,
                std::string_view method) {
  constexpr ElementType kFp8[] = {f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz};
  constexpr ElementType kCodes[] = {i8, u8, i32, u32, f8_e8m0, f6_e2m3, f6_e3m2, f4};
  for (const TensorEntry& t : container.tensors()) {
    if (taken.contains(t.name)) continue;
    CUPEL_CHECK(std::find(std::begin(kFp8), std::end(kFp8), t.type) == std::end(kFp8), data,
                "FP8 tensor '", t.name, "' has no scales that quantization_config (",
                method.empty() ? "missing" : method, ") explains");
    const bool codes = std::find(std::begin(kCodes), std::end(kCodes), t.type) != std::end(kCodes);
    CUPEL_CHECK(!codes || t.shape.size() < 2, data, "tensor '", t.name, "' is stored as ",
                traits(t.type).name, ", which quantization_config (",
                method.empty() ? "missing" : method, ") does not explain");
  }
}

}  // namespace

std::vector<std::unique_ptr<StoredTensor>> quantized_tensors(const Container& container,
                                                             const std::string& quantization,
                                                             std::set<std::string_view>& taken,
                                                             std::vector<std::string>& notes) {
  if (quantization.empty()) {
    check_rest(container, taken, "");
    return {};
  }
  const SchemeConfig config = parsed(quantization);
  const Scheme& scheme = scheme_of(config);
  SchemeInput in(container, config, taken);
  scheme.read(in);
  note_storage(in, scheme.method);
  note_unused(in, kActivationEndings, "activations");
  note_unused(in, kCacheEndings, "the KV cache");
  check_rest(container, taken, scheme.method);
  notes.insert(notes.end(), in.notes.begin(), in.notes.end());
  return std::move(in.tensors);
}

}  // namespace cupel::format
