// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstring>
#include <optional>

#include "format/quantized_scheme.h"

/// Integers of 2 to 8 bits in 32-bit words, with scales for groups of inputs. Internal to this
/// module.
namespace cupel::format {

/// A matrix of words in which fields follow one another along one axis.
class PackedFields {
 public:
  /// The axis along which the fields of a lane run; the other axis counts the lanes.
  enum class Along : uint8_t { rows, columns };
  enum class Order : uint8_t {
    dense,   ///< field k begins at bit k * bits of its lane and may cross words
    padded,  ///< floor(32 / bits) fields in each word, the rest of it unused
    awq,     ///< nibble p of a word is field 0 2 4 6 1 3 5 7 [p] of its eight
  };
  struct Form {
    int bits = 4;
    Along along = Along::columns;
    Order order = Order::dense;
    uint32_t added = 0;  ///< to each word before it is taken apart
  };
  /// Fault::data unless the entry is made of 32-bit words that hold `lanes` lanes of `fields`.
  PackedFields(const TensorEntry& words, Form form, int64_t lanes, int64_t fields);

  /// Words that hold `fields` fields of a lane.
  static int64_t words_for(const Form& form, int64_t fields);
  unsigned at(int64_t lane, int64_t field) const {
    if (form_.order != Order::dense) return spread(lane, field);
    const int64_t bit = field * form_.bits;
    const int shift = static_cast<int>(bit % 32);
    uint32_t value = word(lane, bit / 32) >> shift;
    if (shift + form_.bits > 32) value |= word(lane, bit / 32 + 1) << (32 - shift);
    return value & mask_;
  }
  int bits() const { return form_.bits; }
  const TensorEntry& entry() const { return *entry_; }

 private:
  unsigned spread(int64_t lane, int64_t field) const;
  uint32_t word(int64_t lane, int64_t index) const {
    uint32_t value;
    std::memcpy(&value, entry_->bytes.data() + 4 * (lane * lane_step_ + index * word_step_), 4);
    return value + form_.added;
  }

  const TensorEntry* entry_;
  Form form_;
  uint32_t mask_;
  int64_t lane_step_, word_step_;  ///< in words
};

/// A matrix [outputs, inputs] of numbers (code - zero) * scale; inputs of a group share zero and
/// scale.
struct GroupedParts {
  std::string name, stored_as;
  int64_t outputs = 0, inputs = 0, groups = 1;
  PackedFields codes;  ///< lanes are outputs, or inputs if `codes_by_input`
  bool codes_by_input = false;
  std::optional<PackedFields> zeros;  ///< lanes are groups, fields are outputs
  int zero = 0;                       ///< without `zeros`
  int zero_added = 0;                 ///< to each zero, which wraps around
  const TensorEntry* scales = nullptr;
  int64_t scale_output_step = 0, scale_group_step = 0;  ///< in numbers
  int64_t group_size = 1;
  const TensorEntry* group_index = nullptr;  ///< the group of each input, or none: in order
  bool activation_order = false;             ///< to be said in `stored_as`
  std::vector<const TensorEntry*> others;    ///< further entries that belong to the tensor
};
/// Fault::data when entries do not have the shapes that follow from each other.
std::unique_ptr<StoredTensor> make_grouped(GroupedParts parts);

/// "int4 in groups of 128", "... with zero points", "... in activation order".
std::string describe_grouped(const GroupedParts& parts);

}  // namespace cupel::format
