// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

/// Compiles a function once per vector width and picks at load, for loops that the compiler
/// vectorizes. The same bits on each: -ffp-contract=off, and the loops fix the order of their sums.
/// Not under sanitizers: the choice at load runs before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define CUPEL_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define CUPEL_VECTOR_CLONES
#endif
