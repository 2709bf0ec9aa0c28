// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "format/checkpoint.h"
#include "runtime/model.h"

namespace cupel::runtime {

/// Builds one Model: finds its weights, maps or converts them, prepares a kernel for each.
class ModelLoader {
 public:
  ModelLoader(const std::string& path, const LoadOptions& options);
  std::shared_ptr<const Model> load();

 private:
  void map();
  void convert();
  void convert_weight(const format::Checkpoint& checkpoint, std::size_t index);
  void prepare();
  Model::Layer layer(int l);

  const std::vector<format::ArtifactTensor>& tensors() const;
  const format::ArtifactTensor* find(format::WeightId id) const;
  /// The weight, with the shape that the configuration demands.
  const format::ArtifactTensor& weight(format::Role role, int l = -1);
  std::vector<float> vector(format::Role role, int l = -1);
  kernels::Linear matrix(const format::ArtifactTensor& tensor);
  /// The transform that the weights share; Fault::data unless it is one.
  const format::InputTransform* shared_input(int l, std::initializer_list<format::Role> roles);

  std::shared_ptr<Model> model_;
};

}  // namespace cupel::runtime
