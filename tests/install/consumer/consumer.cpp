// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// A program of somebody else: opens an artifact and writes eight tokens.
#include <cstdio>

#include "base/error.h"
#include "runtime/session.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto model = cupel::runtime::Model::open(argv[1], {});
    cupel::runtime::Session session(model, {});
    cupel::text::GenerateOptions options;
    options.max_tokens = 8;
    options.sampling.temperature = 0;
    const auto prompt = model->tokenizer()->encode("The");
    std::printf("%zu tokens\n", session.generate(prompt, options, {}).tokens.size());
  } catch (const cupel::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.fault());
  }
}
