// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "runtime/model.h"

#include "base/error.h"
#include "runtime/model_loader.h"

namespace cupel::runtime {

std::shared_ptr<const Model> Model::open(const std::string& path, const LoadOptions& options) {
  return in_frame("opening the model " + path, [&] { return ModelLoader(path, options).load(); });
}

const std::shared_ptr<const text::Tokenizer>& Model::tokenizer() const {
  // A mutex and not call_once: an exception through pthread_once aborts in a program with static
  // libgcc.
  const std::lock_guard lock(tokenizer_mutex_);
  const std::string& json = artifact_ ? artifact_->tokenizer_json() : tokenizer_json_;
  if (tokenizer_ || json.empty()) return tokenizer_;
  tokenizer_ = in_frame("reading the tokenizer of " + path_,
                        [&] { return text::Tokenizer::from_json(json); });
  std::string().swap(tokenizer_json_);
  return tokenizer_;
}

void Model::embed(text::Token token, float* out) const {
  const int64_t width = embedding_->cols;
  embedding_->layout->unpack(embedding_->planes, embedding_->rows, width, token, 1,
                             {out, static_cast<std::size_t>(width)});
  // The stored row acts on transformed inputs; as an embedding it stands for itself.
  if (!embedding_->input.identity()) format::undo_on_weight(embedding_->input, out, 1, width);
}

}  // namespace cupel::runtime
