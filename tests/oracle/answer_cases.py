#!/usr/bin/env python3
"""Writes cases of regular expressions, filters and exact_match with the verdicts of Python's re and lm-eval 0.4.13.

  python3 tests/oracle/answer_cases.py 400 > tests/unit/eval/answers/answer_cases.jsonl

The number is the count of cases of each kind. The test also reads a larger file that CUPEL_ANSWER_CASES names.
"""
import json, random, re, sys

sys.path = sys.path[1:]  # a neighbour has the name of a standard module

from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import RegexFilter, WhitespaceFilter
from lm_eval.filters.selection import MajorityVoteFilter, TakeFirstFilter
from lm_eval.filters.transformation import LowercaseFilter

PATTERNS = [
    r"#### (\-?[0-9\.\,]+)", r"(-?[$0-9.,]{2,})|(-?[0-9]+)", r"(?s).*#### ", r"\.$", r"\$", ",", r"x*", r"\b", r"\B",
    r"\w+", r"\W+", r"[\W_]+", r"[^\W\d]+", r"[^\S\n]+", r"[\s\S]*?a", r"[\d\D]", r"^", r"$", r"(?m)^", r"(?m)$", r"(?m)^\s*\*[^\*].*$",
    r"\Z", r"\A\w", r"a\Z", r"(?P<q>a|b)(?P=q)", r"(a)?(?(1)b|c)", r"a{,2}", r"a{}", r"a{,}", r"a{1,x}", r"{a}", r"a{2}?", r"[]a]+",
    r"[^]a]+", r"[a-c\-]+", r"[-a]+", r"[a-]+", r"[\]\[]+", r"[[:alpha:]]+", r"[a&&b]+", r"\x41|\u0042|\U00000043|\101", r"\0|\07|[\101]",
    r"(a)(b)?\1", r"(?i)ab", r"(?i:a)b", r"(?s:.)", r".", r"(?ms).$", r"\v|\a|\f", r"[\b]", r"(?#note)a", r"(?<=a)b", r"(?<!a)b", r"a++b",
    r"(?>a|ab)c", r"\s+", r"\S+", r"\d+", r"\D+", r"answer is \(?([A-D])\)?", r"(?<![\w.])[A-D](?![\w])", r"(?i)\u00df", r"\!\"\#\-", r"(\w)(\d)?",
    r"a|", r"|a", r"(a|b)*", r"((a)|(b))+", r"\.\s?", r"(-?\d+)(?!.*\d)", r"\u00e9", r"[\u00e0-\u00ff]+", r"[^\x00-\x7f]",
]
BAD = [r"\h", r"\K", r"\Q", r"\z", r"\pL", r"(?<n>a)", r"(*UTF)a", r"(?a)\w", r"(?x) a b", r"(?L)a", "a(?i)b", r"[a-\d]", r"[\w-a]", r"[b-a]", "(", "[", "\\", r"\x4",
       r"a\8", r"(?P>n)", r"(?&n)", r"(?R)", r"(?1)", r"(?|a)", r"[]", r"\N", r"*a", r"a**", r"(?)a", r"\400"]
PIECES = ["a", "b", "ab", "A", "B", "C", "D", "x", "7", "12", "1,234.50", "$5", "-3", ".", ",", "#### ", "####", " ", "\n", "\n\n", "\t", "\x1c", "\u00a0", "\u2003",
          "\u00e9", "\u00df", "\u1e9e", "\u0130", "\u0131", "_", "-", "*", "]", "[", "{", "}", "a{}", "a{1,x}", "{a}", "\x0b", "\x07", "\x08", "\0", "\u03a3", "\u0391\u03a3",
          "\u0663", "\u00bd", "\u4e2d", "\U0001f600", "answer is (B)", "The answer is C.", "\u017f", "\u212a", "\u0301", ":", "alpha", "&", "!\"#-", "'", '"', "x x", "\r", "\x85", "\u2028"]


def text(rng):
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(0, 12)))


def regex_case(rng, pattern):
    flags = rng.choice([0, 0, 0, re.IGNORECASE, re.MULTILINE, re.DOTALL])
    compiled, s = re.compile(pattern, flags), text(rng)
    if flags == re.IGNORECASE:  # PCRE2 folds these two only with a Turkish option, Python always
        s = s.replace("\u0130", "").replace("\u0131", "")
    spans = [[list(m.span(g)) for g in range(compiled.groups + 1)] for m in compiled.finditer(s)]
    at = [len(s[:i].encode()) for i in range(len(s) + 1)]
    spans = [[[at[a], at[b]] if a >= 0 else None for a, b in m] for m in spans]
    return {"kind": "regex", "pattern": pattern, "ignore_case": flags == re.IGNORECASE, "multiline": flags == re.MULTILINE,
            "dot_all": flags == re.DOTALL, "text": s, "matches": spans, "without": compiled.sub("", s)}


def filter_case(rng, pattern):
    step = {"regex_pattern": pattern, "group_select": rng.choice([0, -1]), "fallback": rng.choice(["[invalid]", " none "])}
    replies = [text(rng) for _ in range(rng.choice([1, 1, 3]))]
    names = rng.choice([["regex", "take_first"], ["remove_whitespace", "take_first"], ["lowercase", "regex", "take_first"], ["regex", "majority_vote", "take_first"],
                        ["take_first"]])
    makers = {"regex": lambda: RegexFilter(**step), "remove_whitespace": WhitespaceFilter, "lowercase": LowercaseFilter, "take_first": TakeFirstFilter,
              "majority_vote": MajorityVoteFilter}
    now = [list(replies)]
    for name in names:
        now = list(makers[name]().apply(now, [{}]))
    return {"kind": "filter", "functions": names, **step, "replies": replies, "want": now[0]}


def match_case(rng):
    options = {"ignore_case": rng.random() < 0.5, "ignore_punctuation": rng.random() < 0.5, "ignore_numbers": rng.random() < 0.3,
               "regexes_to_ignore": rng.choice([None, [",", "\\$", "(?s).*#### ", "\\.$"], ["\\s+"], ["\\b", "[aA]"]])}
    gold = text(rng)
    near = rng.choice([gold, gold.upper(), gold.lower(), gold + ".", "#### " + gold, gold.replace(",", ""), gold + "\0", gold + "1", text(rng)])
    golds = [gold] + [text(rng) for _ in range(rng.choice([0, 0, 2]))]
    rng.shuffle(golds)
    # One array a gold: numpy cuts lower-cased texts to the array's width (U+0130 becomes longer), which is no rule to copy.
    wide = lambda s: s + "\0\0\0\0"
    pad = lambda s: s if options["regexes_to_ignore"] else wide(s)
    if any("\u0130" in s for s in golds + [near]):
        return match_case(rng)
    score = exact_match_hf_evaluate([pad(near)] * len(golds), [pad(g) for g in golds], **options)["exact_match"]
    return {"kind": "match", **options, "prediction": near, "golds": golds, "want": 1 if score > 0 else 0}


def main():
    rng, count = random.Random(7), int(sys.argv[1])
    cases = [{"kind": "bad", "pattern": p} for p in BAD]
    for i in range(count):
        pattern = PATTERNS[i % len(PATTERNS)]
        cases += [regex_case(rng, pattern), filter_case(rng, pattern), match_case(rng)]
    for case in cases:
        print(json.dumps(case, separators=(",", ":")))


main()
