// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant_method gptq: `X.qweight` [inputs * bits / 32, outputs], fields along the inputs;
// `X.qzeros` [groups, outputs * bits / 32], fields along the outputs; `X.scales` [groups, outputs];
// `X.g_idx`, the group of each input. Value = (code - zero) * scale. The format gptq stores
// zero - 1, gptq_v2 the zero.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/quantized_packed.h"

namespace cupel::format {
namespace {

constexpr std::string_view kCodes = ".qweight";

struct GptqKeys {
  int64_t bits = 0, group_size = 0;
  bool v2 = false, sym = false, desc_act = false;
  bool mixed = false;        ///< `dynamic`: some modules have bits and groups of their own
  bool whole_words = false;  ///< the writer subtracted 1 from all fields of a word at once
  int64_t really_v2 = 0;     ///< tensors of gptq that turned out to be gptq_v2
};

bool is_known_width(int64_t bits) {
  return bits == 2 || bits == 3 || bits == 4 || bits == 8;
}

bool written_by_gptqmodel(const SchemeConfig& config) {
  const SchemeConfig* meta = object_key(config, "meta");
  return meta && meta->contains("quantizer") &&
         (*meta)["quantizer"]
                 .dump(-1, ' ', true, SchemeConfig::error_handler_t::replace)
                 .find("gptqmodel") != std::string::npos;
}

GptqKeys keys_of(const SchemeConfig& config) {
  GptqKeys k;
  k.bits = integer_key(config, "bits", 0);
  CUPEL_CHECK(is_known_width(k.bits), data, "quantization_config: bits is ", k.bits,
              ", 2, 3, 4 or 8 expected");
  k.group_size = integer_key(config, "group_size", -1);
  CUPEL_CHECK(k.group_size == -1 || k.group_size > 0, data, "quantization_config: group_size is ",
              k.group_size, ", a size or -1 (the whole row) expected");
  const std::string format =
      text_key(config, "checkpoint_format", text_key(config, "format", "gptq"));
  check_known(format, "checkpoint_format", {"gptq", "gptq_v2"});
  CUPEL_CHECK(!flag_key(config, "is_marlin_format", false), data,
              "quantization_config: is_marlin_format is not supported");
  check_known(text_key(config, "pack_dtype", "int32"), "pack_dtype", {"int32"});
  k.v2 = format == "gptq_v2";
  k.sym = flag_key(config, "sym", false);
  k.desc_act = flag_key(config, "desc_act", false);
  const SchemeConfig* dynamic = object_key(config, "dynamic");
  k.mixed = dynamic && !dynamic->empty();
  k.whole_words = written_by_gptqmodel(config);
  return k;
}

/// The width that the shape of the zero points tells, where modules differ.
int64_t bits_of(const GptqKeys& k, const TensorEntry& zeros, int64_t outputs) {
  const auto fits = [&](int64_t bits) {
    const PackedFields::Form form{.bits = static_cast<int>(bits)};
    return PackedFields::words_for(form, outputs) == zeros.shape[1];
  };
  if (!k.mixed || fits(k.bits)) return k.bits;
  for (const int64_t bits : {2, 3, 4, 8})
    if (fits(bits)) return bits;
  return k.bits;
}

int64_t inputs_of(const TensorEntry& codes, const TensorEntry* index, int64_t bits) {
  if (index) {
    check_axes(*index, 1);
    return index->shape[0];
  }
  const auto all = static_cast<int64_t>(
      checked_mul(static_cast<std::size_t>(codes.shape[0]), 32, "bits of a tensor"));
  CUPEL_CHECK(all % bits == 0, data, "tensor '", codes.name, "' of ", list_text(codes.shape),
              " words does not hold whole columns of ", bits, " bits");
  return all / bits;
}

int64_t group_size_of(const GptqKeys& k, const GroupedParts& p) {
  if (p.groups == 1) return p.inputs;
  if (k.group_size > 0 && ceil_div(p.inputs, k.group_size) == p.groups) return k.group_size;
  CUPEL_CHECK(k.mixed && p.inputs % p.groups == 0, data, "tensor '", p.scales->name, "' has ",
              p.groups, " groups for ", p.inputs, " inputs, which does not follow from group_size ",
              k.group_size);
  return p.inputs / p.groups;
}

/// 1 in every field of a word.
uint32_t ones(int bits) {
  uint32_t word = 0;
  for (int at = 0; at < 32; at += bits) word |= 1u << at;
  return word;
}

/// How the zero points of one tensor are stored. Some symmetric files call themselves gptq and hold
/// gptq_v2: the only zero that they can mean tells.
PackedFields zeros_of(GptqKeys& k, const TensorEntry& words, GroupedParts& p) {
  PackedFields::Form form{.bits = p.codes.bits()};
  const PackedFields plain(words, form, p.groups, p.outputs);
  if (k.v2) return plain;
  if (k.sym && plain.at(0, 0) == 1u << (form.bits - 1)) {
    ++k.really_v2;
    return plain;
  }
  if (k.whole_words && 32 % form.bits == 0) {
    form.added = ones(form.bits);
    return PackedFields(words, form, p.groups, p.outputs);
  }
  p.zero_added = 1;
  return plain;
}

std::unique_ptr<StoredTensor> read_one(SchemeInput& in, GptqKeys& k, const TensorEntry& codes) {
  const std::string module = codes.name.substr(0, codes.name.size() - kCodes.size());
  const TensorEntry &scales = in.need(module + ".scales", codes),
                    &zeros = in.need(module + ".qzeros", codes);
  for (const TensorEntry* entry : {&codes, &scales, &zeros}) check_axes(*entry, 2);
  const TensorEntry* index = in.find(module + ".g_idx");
  CUPEL_CHECK(index || !k.desc_act, data, "tensor '", codes.name, "' needs '", module,
              ".g_idx', which is missing (desc_act is true)");
  const int64_t groups = scales.shape[0], outputs = scales.shape[1];
  const int64_t bits = bits_of(k, zeros, outputs), inputs = inputs_of(codes, index, bits);
  const PackedFields::Form form{.bits = static_cast<int>(bits), .along = PackedFields::Along::rows};
  GroupedParts p{.name = module + ".weight",
                 .outputs = outputs,
                 .inputs = inputs,
                 .groups = groups,
                 .codes = PackedFields(codes, form, outputs, inputs)};
  p.scales = &scales;
  p.scale_output_step = 1;
  p.scale_group_step = outputs;
  p.group_index = index;
  p.activation_order = k.desc_act;
  p.group_size = group_size_of(k, p);
  p.zeros = zeros_of(k, zeros, p);
  p.stored_as = cat("gptq ", describe_grouped(p));
  return make_grouped(std::move(p));
}

}  // namespace

void read_gptq(SchemeInput& in) {
  GptqKeys keys = keys_of(in.config);
  for (const TensorEntry& t : in.entries())
    if (t.name.ends_with(kCodes)) in.add(read_one(in, keys, t));
  if (keys.really_v2 > 0)
    in.notes.push_back(cat("the zero points of ", keys.really_v2,
                           " tensors are symmetric as gptq_v2 stores them, and read so"));
}

}  // namespace cupel::format
