// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Real checkpoints against figures of another implementation. Skipped where the files are not.

#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/sampling.h"
#include "format/checkpoint.h"
#include "tiny_model.h"

namespace cupel::core {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path shared_folder() {
  const char* given = std::getenv("CUPEL_SHARED");
  return given ? fs::path(given) : fs::path(CUPEL_SOURCE_DIR) / ".." / "shared";
}

json read_json(const fs::path& path) {
  return json::parse(std::ifstream(path));
}

/// Unpacks `member` of an archive; false if the archive is not there.
bool unpack(const fs::path& archive, const std::string& member, const std::string& folder) {
  if (!fs::exists(archive)) return false;
  const std::string command =
      "tar xJf '" + archive.string() + "' -C '" + folder + "' '" + member + "'";
  return std::system(command.c_str()) == 0;
}

at::Tensor ids_of(const json& list) {
  const auto ids = list.get<std::vector<int64_t>>();
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

double log_probability(Model& model, const at::Tensor& ids_nt) {
  const at::Tensor lp = at::log_softmax(model.forward(ids_nt).to(at::kDouble), -1);
  const at::Tensor next = ids_nt.slice(1, 1).unsqueeze(-1);
  return lp.slice(1, 0, -1).gather(-1, next).sum().item<double>();
}

TEST(ReferenceTest, Stories260K) {
  const c10::NoGradGuard no_grad;
  const TemporaryFolder folder;
  const fs::path archive = shared_folder() / "data" / "models.tar.xz";
  if (!unpack(archive, "models/stories260K", folder / ""))
    GTEST_SKIP() << archive << " is not there";
  const std::string path = folder / "models/stories260K";
  const json reference = read_json(path + "/reference.json");
  Model model(format::Checkpoint::open(path), {});
  EXPECT_NEAR(log_probability(model, ids_of(reference["score_ids"])),
              reference["sum_logprob"].get<double>(), 1e-4);

  const at::Tensor expected = ids_of(reference["greedy_ids"]);
  const at::Tensor prompt = ids_of(reference["prompt_ids"]);
  const at::Tensor got = sample(model, prompt, expected.size(1) - prompt.size(1), 0, Rng(0));
  for (int64_t t = 0; t < expected.size(1); ++t)
    ASSERT_EQ(got[0][t].item<int64_t>(), expected[0][t].item<int64_t>()) << "position " << t;
}

}  // namespace
}  // namespace cupel::core
