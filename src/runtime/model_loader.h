// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <initializer_list>
#include <map>
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
  Model::Attention attention(int l);
  void low_rank(int l, Model::Attention& attention);
  Model::Mlp dense_mlp(int l);
  Model::Mlp expert(int l, int e);
  Model::Mlp shared_expert(int l);
  Model::Experts experts(int l);

  const std::vector<format::ArtifactTensor>& tensors() const;
  /// The weight, with the shape that the configuration demands.
  const format::ArtifactTensor& weight(format::WeightId id) const;
  std::vector<float> vector(format::WeightId id);
  std::vector<float> vector_if(bool present, format::WeightId id);
  /// What a norm multiplies by.
  std::vector<float> norm_if(bool present, format::WeightId id);
  kernels::Linear matrix(format::WeightId id);
  void count_bytes(const format::ArtifactTensor& tensor);
  /// The transform that the weights share; Fault::data unless it is one.
  const kernels::RowTransform* shared_input(std::initializer_list<format::WeightId> ids);
  const kernels::RowTransform* made_ready(const format::ArtifactTensor& tensor);

  std::map<format::WeightId, const format::ArtifactTensor*> by_id_;
  int64_t expert_bytes_ = 0;
  bool rounds_twice_ = false;  ///< said once
  std::shared_ptr<Model> model_;
};

}  // namespace cupel::runtime
