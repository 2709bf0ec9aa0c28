#!/usr/bin/env python3
"""Prints a header of expected values for the statistics tests, computed by CPython, SciPy and statsmodels.

  python3 tests/oracle/statistics.py random > tests/unit/eval/stats_random_oracle.h
  python3 tests/oracle/statistics.py distributions > tests/unit/eval/stats_distributions_oracle.h

  python3 tests/oracle/statistics.py comparison > tests/unit/eval/stats_comparison_oracle.h
  python3 tests/oracle/statistics.py verdict > tests/unit/eval/stats_verdict_oracle.h

Needs SciPy, statsmodels and lm_eval 0.4.13 (CPython 3.11: later ones add floats otherwise). Values of `random` are those of CPython 3.11 (older and newer ones of 3.x give the same).
"""
import contextlib, itertools, math, os, random, sys, textwrap

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


def wrapped(text):
    return textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)


def table(type_name, name, values):
    """As many entries on a line as fit; one that does not fit on a line has lines of its own."""
    texts = [(flat(v) if isinstance(v, (list, tuple)) else number(v)) + "," for v in values]
    if max(map(len, texts)) <= 96:
        lines = wrapped(" ".join(text.replace(" ", "\0") for text in texts))
    else:
        lines = [line for text in texts for line in wrapped(text)]
    body = "\n  ".join(lines).replace("\0", " ")
    print(f"inline const std::vector<{type_name}> {name} = {{\n  {body}\n}};")


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


def scores(seed, n):
    """Skewed and without ties, so that every part of BCa has work to do."""
    r = random.Random(seed)
    return [0.02 + 0.3 * r.gauss(0, 1) ** 2 * r.choice([-1, 1, 1]) for _ in range(n)]


def print_bootstrap():
    import numpy as np
    from lm_eval.api import metrics
    from scipy import stats
    values, log_probs = scores(3, 40), [-abs(x) for x in scores(4, 30)]
    table("double", "bootstrap_values", values)
    table("double", "bootstrap_log_probs", log_probs)
    print("// Of 2000 replicates, each statistic(Random(11).choices(values, k=40)), by scipy.stats.bootstrap.")
    print("struct IntervalValue {\n  double confidence, low, high, bca_low, bca_high, error;\n};")
    for name, statistic in (("mean", lambda x, axis=-1: np.mean(x, axis=axis)),
                            ("exp_mean", lambda x, axis=-1: np.exp(-np.mean(x, axis=axis)))):
        r = random.Random(11)
        class Given:
            bootstrap_distribution = np.array([statistic(np.array(r.choices(values, k=40))) for _ in range(2000)])
        entries = []
        for confidence in (0.5, 0.9, 0.95, 0.99):
            found = [stats.bootstrap((values,), statistic, n_resamples=0, bootstrap_result=Given, vectorized=True,
                                     method=method, confidence_level=confidence) for method in ("percentile", "BCa")]
            entries.append((confidence, *(float(v) for f in found for v in f.confidence_interval),
                            float(found[0].standard_error)))
        table("IntervalValue", name + "_intervals", entries)
    print("// lm_eval.api.metrics.bootstrap_stderr.")
    constants = (("perplexity_error", metrics.perplexity, 100000), ("perplexity_error_1500", metrics.perplexity, 1500),
                 ("mean_error_300", metrics.mean, 300))
    for name, f, draws in constants:
        error = metrics._bootstrap_internal_no_mp  # the pool of processes gives the same
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            value = metrics.sample_stddev(error(f, log_probs, draws))
        print(f"inline constexpr double {name} = {value!r};")


def print_comparison():
    from statsmodels.stats import contingency_tables, multitest
    print_bootstrap()
    print("\nstruct McnemarValue {\n  int64_t reference_only, model_only;\n  double exact, plain, corrected;\n};")
    pairs = [(0, 1), (1, 0), (0, 6), (5, 5), (12, 2), (3, 17), (40, 61), (150, 100), (1000, 1100), (2, 900)]
    p = lambda b, c, **options: float(contingency_tables.mcnemar([[50, b], [c, 7]], **options).pvalue)
    table("McnemarValue", "mcnemar_values",
          [(b, c, p(b, c, exact=True), p(b, c, exact=False, correction=False),
            p(b, c, exact=False, correction=True) if b != c else 1.0) for b, c in pairs])
    print("// statsmodels.stats.multitest.multipletests")
    p_values = [0.01, 0.04, 0.03, 0.0005, 0.04, 0.2, 0.9, 0.021, 1.0, 0.0]
    table("double", "p_values", p_values)
    for name, method in (("holm", "holm"), ("hochberg", "simes-hochberg"), ("benjamini_hochberg", "fdr_bh")):
        table("double", name + "_values", [float(v) for v in multitest.multipletests(p_values, method=method)[1]])


def paired_score(n, b, c, loss):
    """Tango's statistic with the constrained maximum of the likelihood found numerically."""
    from scipy import optimize
    log = lambda count, p: count * math.log(p) if count > 0 else 0.0
    def minus_log_likelihood(won):
        return -(log(b, won + loss) + log(c, won) + log(n - b - c, 1 - 2 * won - loss))
    low, high = max(0.0, -loss), (1 - loss) / 2
    tiny = 1e-13 * (high - low)
    found = optimize.minimize_scalar(minus_log_likelihood, bounds=(low + tiny, high - tiny), method="bounded",
                                     options={"xatol": 1e-13})
    return (b - c - n * loss) / math.sqrt(n * (2 * found.x + loss - loss * loss))


def print_verdict():
    from scipy import optimize, stats
    print("\n// Tango's score and interval of the loss (b - c) / n, likelihood maximised numerically, 1e-6 good.")
    print("struct PairedScoreValue {\n  int64_t n, reference_only, model_only;\n  double confidence, low, high, z_at_margin;\n};")
    entries = []
    for n, b, c in ((300, 0, 0), (300, 12, 5), (50, 12, 2), (44, 1, 0), (1000, 40, 61), (20, 0, 7), (200, 100, 1)):
        for confidence in (0.95, 0.9):
            z = float(stats.norm.isf((1 - confidence) / 2))
            seen = (b - c) / n
            low = optimize.brentq(lambda d: paired_score(n, b, c, d) - z, -0.999, seen - 1e-9, xtol=1e-12)
            high = optimize.brentq(lambda d: paired_score(n, b, c, d) + z, seen + 1e-9, 0.999, xtol=1e-12)
            entries.append((n, b, c, confidence, low, high, paired_score(n, b, c, 0.01)))
    table("PairedScoreValue", "paired_score_values", entries)


SECTIONS = {"random": print_random, "distributions": print_distributions, "comparison": print_comparison,
            "verdict": print_verdict}

def main():
    section = sys.argv[1] if len(sys.argv) == 2 else ""
    if section not in SECTIONS:
        sys.exit("usage: statistics.py " + "|".join(SECTIONS))
    print(HEAD % section, end="")
    SECTIONS[section]()
    print(TAIL)


main()
