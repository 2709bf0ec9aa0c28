// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// How well J, the loss of quant.unified, ranks what rounding one matrix or its input does to a
// model.
//
//   output_loss_bench MODEL TEXT [LAYERS] [OF_EACH] [SEQUENCES] [LENGTH]
//
// J is fitted on the first half of the sequences, KL is measured on the second.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/file.h"
#include "tests/method/perturbations.h"
#include "text/dataset.h"

namespace {

using namespace cupel;

int number(int argc, char** argv, int at, int otherwise) {
  return argc > at ? std::atoi(argv[at]) : otherwise;
}

void print(const char* kind, const std::vector<quant::testing::Outcome>& all) {
  std::vector<double> kl, identity, diagonal, full;
  for (const auto& o : all) {
    kl.push_back(o.divergence);
    identity.push_back(o.identity);
    diagonal.push_back(o.diagonal);
    full.push_back(o.full);
  }
  using quant::testing::rank_correlation;
  std::printf("| %s | %zu | %.3f | %.3f | %.3f |\n", kind, all.size(),
              rank_correlation(identity, kl), rank_correlation(diagonal, kl),
              rank_correlation(full, kl));
}

void run(int argc, char** argv) {
  const std::shared_ptr<const format::Checkpoint> checkpoint = format::Checkpoint::open(argv[1]);
  core::Model model(checkpoint, {});
  const auto tokenizer = text::Tokenizer::from_json(checkpoint->tokenizer_json());
  const int layers = number(argc, argv, 3, 6), sequences = number(argc, argv, 5, 16);
  auto texts = text::token_blocks(*tokenizer, read_text(argv[2]), sequences,
                                  number(argc, argv, 6, 256), argv[2]);
  const std::vector<std::vector<int32_t>> judged(texts.begin() + sequences / 2, texts.end());
  texts.resize(static_cast<std::size_t>(sequences / 2));
  quant::testing::Perturber perturber(model, texts, judged);
  std::vector<quant::testing::Outcome> weights, inputs, both, all;
  for (const auto& p : quant::testing::draw_perturbations(
           model.config(), layers, number(argc, argv, 4, 5), Rng(17, "perturbations"))) {
    all.push_back(perturber.of(p));
    (p.input_bits == 0 ? weights : p.weight_bits == 0 ? inputs : both).push_back(all.back());
  }
  std::printf(
      "| rounded | cases | G = 1 | diagonal | full |\n| --- | ---: | ---: | ---: | ---: |\n");
  print("weights", weights);
  print("inputs", inputs);
  print("both", both);
  print("all", all);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: output_loss_bench MODEL TEXT [LAYERS] [OF_EACH] [SEQUENCES] [LENGTH]\n");
    return 2;
  }
  try {
    run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
