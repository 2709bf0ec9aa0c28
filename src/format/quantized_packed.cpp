// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/quantized_packed.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::format {
namespace {

using enum ElementType;

/// Nibble of a word that holds field k of its eight.
constexpr int kAwqNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};

std::vector<float> numbers(const TensorEntry& entry) {
  std::vector<float> out(static_cast<std::size_t>(entry.elements()));
  to_float(entry.type, entry.bytes, out);
  return out;
}

class GroupedTensor final : public StoredTensor {
 public:
  explicit GroupedTensor(GroupedParts parts)
      : StoredTensor(parts.name, {parts.outputs, parts.inputs}, parts.stored_as, entries_of(parts)),
        parts_(std::move(parts)) {
    check_type(*parts_.scales, {f32, f16, bf16});
    const int64_t last = (parts_.outputs - 1) * parts_.scale_output_step +
                         (parts_.groups - 1) * parts_.scale_group_step;
    CUPEL_ASSERT(last < parts_.scales->elements());
    checked_mul(static_cast<std::size_t>(parts_.outputs), static_cast<std::size_t>(parts_.inputs),
                "size of a tensor");
    if (!parts_.group_index) {
      CUPEL_ASSERT((parts_.inputs - 1) / parts_.group_size < parts_.groups);
      return;
    }
    check_type(*parts_.group_index, {i32, i64});
    check_shape(*parts_.group_index, {parts_.inputs});
  }

  void read(int64_t slab, std::span<float> out) const override {
    CUPEL_ASSERT(slab == 0 && out.size() == static_cast<std::size_t>(slab_elements()));
    const std::vector<std::size_t> group = groups_of_inputs();
    const std::vector<float> scales = numbers(*parts_.scales);
    std::vector<float> scale(static_cast<std::size_t>(parts_.groups));
    std::vector<int> zero(scale.size());
    for (int64_t o = 0; o < parts_.outputs; ++o) {
      for (std::size_t g = 0; g < scale.size(); ++g) {
        const auto at = static_cast<int64_t>(g) * parts_.scale_group_step;
        scale[g] = scales[static_cast<std::size_t>(o * parts_.scale_output_step + at)];
        zero[g] = zero_of(static_cast<int64_t>(g), o);
      }
      float* row = out.data() + o * parts_.inputs;
      for (int64_t i = 0; i < parts_.inputs; ++i) {
        const std::size_t g = group[static_cast<std::size_t>(i)];
        const unsigned code = parts_.codes_by_input ? parts_.codes.at(i, o) : parts_.codes.at(o, i);
        row[i] = static_cast<float>(static_cast<int>(code) - zero[g]) * scale[g];
      }
    }
  }

 private:
  static std::vector<const TensorEntry*> entries_of(const GroupedParts& parts) {
    std::vector<const TensorEntry*> all{&parts.codes.entry(), parts.scales};
    if (parts.zeros) all.push_back(&parts.zeros->entry());
    if (parts.group_index) all.push_back(parts.group_index);
    for (const TensorEntry* other : parts.others) all.push_back(other);
    return all;
  }

  int zero_of(int64_t group, int64_t output) const {
    if (!parts_.zeros) return parts_.zero;
    const unsigned mask = (1u << parts_.zeros->bits()) - 1;
    return static_cast<int>(
        (parts_.zeros->at(group, output) + static_cast<unsigned>(parts_.zero_added)) & mask);
  }

  std::vector<std::size_t> groups_of_inputs() const {
    std::vector<std::size_t> out(static_cast<std::size_t>(parts_.inputs));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = i / static_cast<std::size_t>(parts_.group_size);
    if (!parts_.group_index) return out;
    const std::vector<float> stored = numbers(*parts_.group_index);
    // A writer that keeps the order of the inputs may leave -1 everywhere.
    if (std::all_of(stored.begin(), stored.end(), [](float g) { return g == -1; })) {
      CUPEL_CHECK(out.back() < static_cast<std::size_t>(parts_.groups), data, "tensor '",
                  parts_.group_index->name, "' names no groups, and ", parts_.groups, " groups of ",
                  parts_.group_size, " do not cover ", parts_.inputs, " inputs");
      return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      CUPEL_CHECK(stored[i] >= 0 && stored[i] < static_cast<float>(parts_.groups), data, "tensor '",
                  parts_.group_index->name, "' puts input ", i, " into group ", stored[i], " of ",
                  parts_.groups);
      out[i] = static_cast<std::size_t>(stored[i]);
    }
    return out;
  }

  const GroupedParts parts_;
};

}  // namespace

int64_t PackedFields::words_for(const Form& form, int64_t fields) {
  if (form.order != Order::dense) return ceil_div(fields, 32 / form.bits);
  const auto bits = checked_mul(static_cast<std::size_t>(fields),
                                static_cast<std::size_t>(form.bits), "bits of a tensor");
  CUPEL_CHECK(bits <= INT64_MAX, data, fields, " fields of ", form.bits, " bits are too many");
  return ceil_div(static_cast<int64_t>(bits), 32);
}

PackedFields::PackedFields(const TensorEntry& words, Form form, int64_t lanes, int64_t fields)
    : entry_(&words), form_(form), mask_((1u << form.bits) - 1) {
  CUPEL_ASSERT(form.bits >= 1 && form.bits <= 8 && (form.order != Order::awq || form.bits == 4));
  check_type(words, {i32, u32});
  check_axes(words, 2);
  const int64_t needed = words_for(form, fields);
  const bool along_rows = form.along == Along::rows;
  check_shape(words, along_rows ? std::vector{needed, lanes} : std::vector{lanes, needed});
  lane_step_ = along_rows ? 1 : needed;
  word_step_ = along_rows ? lanes : 1;
}

unsigned PackedFields::spread(int64_t lane, int64_t field) const {
  const int per_word = 32 / form_.bits;
  const auto place = static_cast<int>(field % per_word);
  const int nibble = form_.order == Order::awq ? kAwqNibble[place] : place;
  return word(lane, field / per_word) >> (nibble * form_.bits) & mask_;
}

std::string describe_grouped(const GroupedParts& parts) {
  std::string text = cat("int", parts.codes.bits());
  if (parts.scales->elements() == 1)
    text += " with one scale";
  else if (parts.groups == 1)
    text += " with a scale per row";
  else
    text += cat(" in groups of ", parts.group_size);
  if (parts.zeros) text += " with zero points";
  if (parts.activation_order) text += " in activation order";
  return text;
}

std::unique_ptr<StoredTensor> make_grouped(GroupedParts parts) {
  if (parts.stored_as.empty()) parts.stored_as = describe_grouped(parts);
  return std::make_unique<GroupedTensor>(std::move(parts));
}

}  // namespace cupel::format
