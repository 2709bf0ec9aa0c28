// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant_method compressed-tensors. What lies beside a weight tells its format:
//   pack-quantized   `X.weight_packed` in I32, fields along the inputs; `X.weight_scale`
//                    [outputs, groups]; `X.weight_shape`; `X.weight_zero_point`, fields along the
//                    outputs; `X.weight_g_idx`, the group of each input
//   nvfp4, mxfp4     `X.weight_packed` in U8, two E2M1 numbers in a byte; `X.weight_scale`; nvfp4
//                    divides by `X.weight_global_scale`
//   float-quantized  `X.weight` in FP8 and int-quantized in I8, times `X.weight_scale`
// config_groups say the widths, groups and blocks that occur.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/quantized_packed.h"
#include "format/quantized_scaled.h"

namespace cupel::format {
namespace {

using Form = PackedFields::Form;
using Along = PackedFields::Along;
using Order = PackedFields::Order;

constexpr std::string_view kPacked = ".weight_packed";

/// The weights of one of config_groups.
struct WeightArgs {
  int bits = 0;
  bool integer = false;
  int64_t group_size = 0;  ///< 0: none
};

struct CompressedKeys {
  std::vector<WeightArgs> args;
  std::vector<ScaleBlock> blocks;  ///< of numbers that are not packed
};

std::string shown(const SchemeConfig& value) {
  return value.dump(-1, ' ', true, SchemeConfig::error_handler_t::replace);
}

/// "128x128" or [128, 128].
ScaleBlock block_structure(const SchemeConfig& value) {
  ScaleBlock block{0, 0};
  if (value.is_array() && value.size() == 2 && value[0].is_number_integer() &&
      value[1].is_number_integer()) {
    block = {value[0].get<int64_t>(), value[1].get<int64_t>()};
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    char* end = nullptr;
    block.rows = std::strtoll(text.c_str(), &end, 10);
    if (*end == 'x') block.cols = std::strtoll(end + 1, &end, 10);
    if (*end != 0) block = {0, 0};
  }
  CUPEL_CHECK(block.rows > 0 && block.cols > 0, data, "quantization_config: block_structure is ",
              shown(value), ", two sizes expected");
  return block;
}

void check_format(const std::string& format) {
  check_known(format, "format",
              {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized",
               "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized", "mixed-precision",
               "dense"});
}

void add_group(const SchemeConfig& group, CompressedKeys& keys) {
  check_format(text_key(group, "format", "dense"));
  const SchemeConfig* weights = object_key(group, "weights");
  if (!weights) return;
  WeightArgs args;
  const std::string type = text_key(*weights, "type", "int");
  check_known(type, "type of weights", {"int", "float"});
  const int64_t bits = integer_key(*weights, "num_bits", 8);
  CUPEL_CHECK(bits >= 2 && bits <= 8, data, "quantization_config: num_bits is ", bits,
              ", 2 to 8 expected");
  const std::string strategy = text_key(*weights, "strategy", "");
  if (!strategy.empty())
    check_known(strategy, "strategy of weights",
                {"tensor", "channel", "group", "tensor_group", "block"});
  args.bits = static_cast<int>(bits);
  args.integer = type == "int";
  args.group_size = std::max<int64_t>(integer_key(*weights, "group_size", 0), 0);
  if (args.group_size > 0) keys.blocks.push_back({1, args.group_size});
  if (const auto it = weights->find("block_structure"); it != weights->end() && !it->is_null())
    keys.blocks.push_back(block_structure(*it));
  keys.args.push_back(args);
}

CompressedKeys keys_of(const SchemeConfig& config) {
  CompressedKeys keys;
  check_format(text_key(config, "format", "dense"));
  if (const SchemeConfig* sparsity = object_key(config, "sparsity_config"))
    check_known(text_key(*sparsity, "format", "dense"), "sparsity format", {"dense"});
  const SchemeConfig* transforms = object_key(config, "transform_config");
  CUPEL_CHECK(!transforms || transforms->empty(), data,
              "quantization_config: transform_config is not supported");
  if (const SchemeConfig* groups = object_key(config, "config_groups"))
    for (const auto& [name, group] : groups->items())
      in_frame(cat("reading config_groups '", name, "'"), [&] { add_group(group, keys); });
  return keys;
}

std::vector<int64_t> stored_shape(const TensorEntry& entry) {
  check_type(entry, {ElementType::i64, ElementType::i32});
  check_shape(entry, {2});
  float sizes[2];
  to_float(entry.type, entry.bytes, sizes);
  std::vector<int64_t> shape;
  for (const float size : sizes) {
    // Sizes beyond are no longer exact; no matrix is that long.
    CUPEL_CHECK(size >= 1 && size <= 0x1p24f, data, "tensor '", entry.name, "' holds ", sizes[0],
                ", ", sizes[1], ": the shape of a matrix expected");
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

/// The width of config_groups whose words are those of the file. Fields of 3, 5, 6 and 7 bits cross
/// words since compressed-tensors 0.18, before that they did not.
Form form_of(const CompressedKeys& keys, const TensorEntry& words, int64_t inputs) {
  std::vector<Form> found;
  std::string widths;
  for (const WeightArgs& args : keys.args) {
    if (!args.integer) continue;
    widths += cat(" ", args.bits);
    const bool seen =
        std::any_of(found.begin(), found.end(), [&](const Form& f) { return f.bits == args.bits; });
    for (const Order order : {Order::dense, Order::padded}) {
      const Form form{.bits = args.bits, .along = Along::columns, .order = order};
      if (seen || PackedFields::words_for(form, inputs) != words.shape[1]) continue;
      found.push_back(form);
      break;
    }
  }
  CUPEL_CHECK(found.size() == 1, data, "tensor '", words.name, "' of ", list_text(words.shape),
              " words holds ", inputs, " inputs in ", found.empty() ? "none" : "several",
              " of the widths of config_groups (num_bits", widths, ")");
  return found.front();
}

int64_t group_size_of(const CompressedKeys& keys, const GroupedParts& p) {
  if (p.groups == 1) return p.inputs;
  std::vector<int64_t> found;
  std::string sizes;
  for (const WeightArgs& args : keys.args) {
    if (!args.integer || args.bits != p.codes.bits() || args.group_size == 0) continue;
    sizes += cat(" ", args.group_size);
    if (ceil_div(p.inputs, args.group_size) == p.groups &&
        std::find(found.begin(), found.end(), args.group_size) == found.end())
      found.push_back(args.group_size);
  }
  CUPEL_CHECK(found.size() == 1, data, "tensor '", p.scales->name, "' has ", p.groups,
              " groups for ", p.inputs, " inputs, which ", found.empty() ? "no" : "more than one",
              " group_size of config_groups explains (", sizes.empty() ? " none" : sizes, " )");
  return found.front();
}

/// Scales of the tensor [1], of rows [outputs] or [outputs, 1], or of groups [outputs, groups].
void set_scales(GroupedParts& p, const TensorEntry& scales) {
  p.scales = &scales;
  if (scales.elements() == 1) return;
  p.groups = scales.shape.size() == 2 ? scales.shape[1] : 1;
  if (scales.shape.size() == 1)
    check_shape(scales, {p.outputs});
  else
    check_shape(scales, {p.outputs, p.groups});
  CUPEL_CHECK(p.groups > 0 && p.groups <= p.inputs, data, "tensor '", scales.name, "' has ",
              p.groups, " groups for ", p.inputs, " inputs");
  p.scale_output_step = p.groups;
  p.scale_group_step = 1;
}

void add_packed_integers(SchemeInput& in, const CompressedKeys& keys, const TensorEntry& words,
                         const std::string& name) {
  const TensorEntry &scales = in.need(name + "_scale", words),
                    &shape_entry = in.need(name + "_shape", words);
  check_axes(words, 2);
  const auto shape = stored_shape(shape_entry);
  const Form form = form_of(keys, words, shape[1]);
  GroupedParts p{.name = name,
                 .outputs = shape[0],
                 .inputs = shape[1],
                 .codes = PackedFields(words, form, shape[0], shape[1])};
  set_scales(p, scales);
  p.group_size = group_size_of(keys, p);
  p.zero = 1 << (form.bits - 1);
  if (const TensorEntry* zeros = in.find(name + "_zero_point")) {
    Form along = form;
    along.along = Along::rows;
    p.zeros = PackedFields(*zeros, along, p.groups, p.outputs);
  }
  p.group_index = in.find(name + "_g_idx");
  p.activation_order = p.group_index != nullptr;
  p.others = {&shape_entry};
  in.add(make_grouped(std::move(p)));
}

void add_packed_floats(SchemeInput& in, const TensorEntry& codes, const std::string& name) {
  const TensorEntry& scales = in.need(name + "_scale", codes);
  ScaledParts parts = fp4_parts(name, codes, scales);
  if (scales.type == ElementType::f8_e4m3) {
    parts.tensor_scale = &in.need(name + "_global_scale", codes);
    parts.divisor = one_number(*parts.tensor_scale);
  }
  in.add(make_scaled(std::move(parts)));
}

}  // namespace

void read_compressed_tensors(SchemeInput& in) {
  const CompressedKeys keys = keys_of(in.config);
  for (const TensorEntry& t : in.entries()) {
    if (!t.name.ends_with(kPacked)) continue;
    check_type(t, {ElementType::i32, ElementType::u8});
    const std::string name = t.name.substr(0, t.name.size() - std::string_view("_packed").size());
    if (t.type == ElementType::u8)
      add_packed_floats(in, t, name);
    else
      add_packed_integers(in, keys, t, name);
  }
  take_fp8(in, keys.blocks);
  take_int8(in, keys.blocks);
}

}  // namespace cupel::format
