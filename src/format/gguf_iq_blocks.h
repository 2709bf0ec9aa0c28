// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include "format/gguf_blocks.h"

/// GGUF's IQ1, IQ2 and IQ3 types: super-blocks of 256 elements; groups of eight (four in IQ3) are
/// entries of a code book. Internal to this module.
namespace cupel::format::blocks {

void iq1_s(const Byte* p, float* out);
void iq1_m(const Byte* p, float* out);
void iq2_xxs(const Byte* p, float* out);
void iq2_xs(const Byte* p, float* out);
void iq2_s(const Byte* p, float* out);
void iq3_xxs(const Byte* p, float* out);
void iq3_s(const Byte* p, float* out);

}  // namespace cupel::format::blocks
