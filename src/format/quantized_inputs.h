// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/stored_tensor.h"

/// Schemes in which other tools store quantized checkpoints. Internal to this module.
namespace cupel::format {

/// The tensors that a scheme stores; `taken` receives the names of the entries that they are made
/// of. Errors as stored_tensors().
std::vector<std::unique_ptr<StoredTensor>> quantized_tensors(const Container& container,
                                                             const std::string& quantization,
                                                             std::set<std::string_view>& taken,
                                                             std::vector<std::string>& notes);

}  // namespace cupel::format
