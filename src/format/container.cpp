// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/container.h"

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace cupel::format {

int64_t TensorEntry::elements() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

const TensorEntry* Container::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

void Container::index_names() {
  by_name_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    CUPEL_CHECK(by_name_.emplace(tensors_[i].name, i).second, data, "tensor '", tensors_[i].name,
                "' is listed twice; two readers would see two models");
}

std::unique_ptr<Container> open_container(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  CUPEL_CHECK(std::filesystem::exists(status), user, "no file or folder '", path, "'");
  if (std::filesystem::is_directory(status)) return open_safetensors(path);
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  const std::string_view first(magic, sizeof magic);
  const bool named_gguf = std::filesystem::path(path).extension() == ".gguf";
  if (first == "GGUF" || first == "FUGG" || named_gguf) return open_gguf(path);
  return open_safetensors(path);
}

}  // namespace cupel::format
