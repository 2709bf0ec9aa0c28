#!/usr/bin/env python3
"""Prints a header of expected values for the statistics tests, computed by CPython, SciPy and statsmodels.

  python3 tests/oracle/statistics.py random > tests/unit/eval/stats_random_oracle.h
  python3 tests/oracle/statistics.py distributions > tests/unit/eval/stats_distributions_oracle.h

Values of `random` are those of CPython 3.11 (older and newer ones of 3.x give the same).
"""
import itertools, random, sys, textwrap

sys.path = sys.path[1:]  # this file's name is also that of a standard module

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once
// Printed by tests/oracle/statistics.py %s
// clang-format off

#include <cstdint>
#include <vector>

namespace cupel::test::oracle {
"""
TAIL = "\n}  // namespace cupel::test::oracle"


def number(value):
    return repr(float(value)) if isinstance(value, float) or hasattr(value, "dtype") else str(value) + suffix(value)


def suffix(value):
    return "u" if value >= 2**63 else ""


def flat(values):
    return "{" + ", ".join(flat(v) if isinstance(v, (list, tuple)) else number(v) for v in values) + "}"


def table(type_name, name, values):
    texts = [(flat(v) if isinstance(v, (list, tuple)) else number(v)) + "," for v in values]
    packed = max(map(len, texts)) < 48
    wrap = lambda text: textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    lines = wrap(" ".join(texts)) if packed else [line for text in texts for line in wrap(text)]
    print(f"inline const std::vector<{type_name}> {name} = {{\n  " + "\n  ".join(lines) + "\n};")


def print_random():
    print("\nstruct RandomValues {\n  uint64_t seed;\n  std::vector<uint64_t> bits;  // 32 three times, 1, 7, 33, 53, 64"
          "\n  std::vector<int64_t> below;  // 1, 10, 2^40, 2^62 + 1\n  std::vector<double> real;\n};")
    values = []
    for seed in (0, 1234, 2**32 - 1, 2**32, 2**63 + 12345):
        r = random.Random(seed)
        values.append((seed, [r.getrandbits(k) for k in (32, 32, 32, 1, 7, 33, 53, 64)],
                       [r.randrange(n) for n in (1, 10, 2**40, 2**62 + 1)], [r.random(), r.random()]))
    table("RandomValues", "random_values", values)
    r = random.Random(1234)
    print("// {population, k} and what sample() draws, one after the other out of Random(1234).")
    sizes = [(20, 3), (21, 5), (22, 5), (85, 6), (86, 6), (5, 5), (5, 0), (1000, 22), (277, 22), (278, 22)]
    print("struct SampleValues {\n  int64_t population, k;\n  std::vector<int64_t> drawn;\n};")
    table("SampleValues", "sample_values", [(n, k, r.sample(range(n), k)) for n, k in sizes])
    r = random.Random(7)
    print("// Random(7): 12 choices of 10, then 8 numbers shuffled.")
    table("int64_t", "choice_values", r.choices(range(10), k=12))
    x = list(range(8))
    r.shuffle(x)
    table("int64_t", "shuffled_values", x)
    r = random.Random(5)
    late = [r.random() for _ in range(2001)][-1]
    print(f"inline constexpr double late_value = {late!r};  // the 2001st of Random(5)")


def print_distributions():
    from scipy import special, stats
    print("\n// An argument tuple and the value that SciPy gives.")
    print("struct OneArgument {\n  double x, value;\n};\nstruct TwoArguments {\n  double x, a, value;\n};")
    print("struct BinomialValue {\n  int64_t k, n;\n  double p, value, above;\n};")
    print("struct BoundValue {\n  int64_t k, n;\n  double error, lower, upper;\n};")
    grid = [-38.0, -12.5, -5.0, -2.0, -0.3, 0.0, 1e-9, 0.7, 1.959963984540054, 6.0]
    table("OneArgument", "normal_cdf_values", [(z, float(special.ndtr(z))) for z in grid])
    shares = [1e-300, 1e-30, 1e-10, 0.001, 0.025, 0.2, 0.4999, 0.5, 0.75, 0.975, 0.9999999]
    table("OneArgument", "normal_quantile_values", [(p, float(special.ndtri(p))) for p in shares])
    chi2 = itertools.product([1e-8, 0.05, 0.4549, 3.841, 10.0, 60.0, 500.0], [1, 2, 3, 7.5, 100])
    table("TwoArguments", "chi2_sf_values", [(x, f, float(stats.chi2.sf(x, f))) for x, f in chi2])
    t = list(itertools.product([-40.0, -2.0, -0.1, 0.0, 0.5, 3.0], [1, 2, 4.5, 30, 10000]))
    table("TwoArguments", "student_cdf_values", [(x, f, float(stats.t.cdf(x, f))) for x, f in t])
    t = itertools.product([1e-8, 0.025, 0.2, 0.3, 0.4999, 0.9, 0.995], [1, 2, 4.5, 30, 10000])
    table("TwoArguments", "student_quantile_values", [(p, f, float(stats.t.ppf(p, f))) for p, f in t])
    trials = [(k, n, p) for n in (1, 7, 50, 300, 10042, 1000000) for p in (1e-6, 0.05, 0.5, 0.93)
              for k in sorted({0, n // 20, n // 2 - 1, n * 93 // 100, n}) if 0 <= k <= n]
    table("BinomialValue", "binomial_values",
          [(k, n, p, float(stats.binom.cdf(k, n, p)), float(stats.binom.sf(k, n, p))) for k, n, p in trials])
    bounds = [(k, n, e) for k, n in ((0, 300), (5, 200), (20, 400), (1, 1), (0, 1), (150, 300), (299, 300), (4321, 10042))
              for e in (0.05, 0.0125, 1e-6)]
    table("BoundValue", "bound_values", [(k, n, e) + clopper_pearson(k, n, e) for k, n, e in bounds])


def clopper_pearson(k, n, error):
    from scipy import stats
    lower = float(stats.beta.ppf(error, k, n - k + 1)) if k > 0 else 0.0
    upper = float(stats.beta.isf(error, k + 1, n - k)) if k < n else 1.0
    return lower, upper


SECTIONS = {"random": print_random, "distributions": print_distributions}


def main():
    section = sys.argv[1] if len(sys.argv) == 2 else ""
    if section not in SECTIONS:
        sys.exit("usage: statistics.py " + "|".join(SECTIONS))
    print(HEAD % section, end="")
    SECTIONS[section]()
    print(TAIL)


main()
