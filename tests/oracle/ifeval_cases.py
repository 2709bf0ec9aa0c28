#!/usr/bin/env python3
"""Writes IFEval documents, made-up replies (that follow, nearly follow, or do not) and lm-eval 0.4.13's verdicts.

  python3 tests/oracle/ifeval_cases.py 16 > tests/unit/eval/answers/ifeval_cases.jsonl
  python3 tests/oracle/ifeval_cases.py 200 ifeval.jsonl > larger.jsonl

The number is the count of replies of each instruction type; with IFEval's own file its documents follow, each with
three replies. Needs nltk's punkt_tab. langdetect runs with seed 0; "stable" says that nine other seeds agree.
"""
import json, random, sys

HERE = sys.path.pop(0)  # a neighbour has the name of a standard module

import langdetect
from langdetect import DetectorFactory
from lm_eval.tasks.ifeval import instructions_registry, utils

sys.path.append(HERE)
from ifeval_texts import ENDINGS, LANGUAGES, MIXED, SENTENCES, WORDS

RELATIONS = ["less than", "at least"]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def sentence(self):
        return self.rng.choice(SENTENCES)

    def words(self, n):
        return " ".join(self.rng.choice(WORDS) for _ in range(n))

    def prose(self, low=1, high=8):
        out = ""
        for _ in range(self.rng.randint(low, high)):
            out += self.sentence() + self.rng.choice([" ", " ", " ", "  ", "\n", "\n\n", ""])
        return out.strip(" ") if self.rng.random() < 0.7 else out

    def near(self, n):
        """A count around n."""
        return max(0, n + self.rng.choice([-2, -1, 0, 0, 1, 3]))

    def wrap(self, reply):
        """What chat models put around a reply."""
        r = self.rng.random()
        if r < 0.1:
            return "Sure, here is the answer:\n" + reply
        if r < 0.2:
            return reply + "\nI hope this helps, let me know!"
        if r < 0.25:
            return "**" + reply + "**"
        if r < 0.28:
            return "Sure!\n\n" + reply + "\n\nBye, *friend*."
        return reply

    # One method an instruction: arguments, and a reply.
    def existence(self):
        words = self.rng.sample(WORDS, self.rng.randint(1, 3))
        keep = words if self.rng.random() < 0.6 else words[:-1]
        return {"keywords": words}, " ".join(self.sentence() + " " + self.rng.choice([w, w.upper(), w + "s"]) for w in keep) + self.prose()

    def frequency(self):
        word, n = self.rng.choice(WORDS), self.rng.randint(1, 6)
        reply = " ".join(self.rng.choice([word, word.capitalize(), word + "y"]) + " " + self.words(2) for _ in range(self.near(n)))
        return {"keyword": self.rng.choice([word, " " + word + " "]), "frequency": n, "relation": self.rng.choice(RELATIONS)}, reply + "."

    def forbidden_words(self):
        words = self.rng.sample(WORDS, self.rng.randint(1, 4))
        extra = self.rng.choice(["", words[0], words[0].upper() + ".", words[0] + "s", "_" + words[0], "-" + words[0] + "-", "\u00e9" + words[0]])
        return {"forbidden_words": words}, self.sentence() + " " + extra + " " + self.sentence()

    def letter_frequency(self):
        letter, n = self.rng.choice("aeqzTKy"), self.rng.randint(1, 12)
        reply = "".join(self.rng.choice([letter.lower(), letter.upper()]) + self.rng.choice([" bb", "-", " dd. "]) for _ in range(self.near(n)))
        if letter in "kK":
            reply += self.rng.choice(["", "\u212a"])
        return {"letter": letter, "let_frequency": n, "let_relation": self.rng.choice(RELATIONS)}, reply or "bd"

    def response_language(self):
        code = self.rng.choice(list(LANGUAGES))
        spoken = code if self.rng.random() < 0.6 else self.rng.choice(list(LANGUAGES))
        n = self.rng.randint(1, 3)
        reply = " ".join(self.rng.sample(LANGUAGES[spoken], n))
        if self.rng.random() < 0.15:
            reply += " " + self.rng.choice(MIXED)
        return {"language": code}, reply

    def number_sentences(self):
        n = self.rng.randint(1, 9)
        reply = ""
        for _ in range(self.near(n)):
            reply += self.sentence() + self.rng.choice([" ", " ", "\n", "\n\n", "  ", ""])
        return {"num_sentences": n, "relation": self.rng.choice(RELATIONS)}, reply or "Word"

    def number_paragraphs(self):
        n = self.rng.randint(1, 5)
        parts = [self.rng.choice([self.sentence(), self.sentence(), self.prose(), "", " "]) if self.rng.random() < 0.3 else self.sentence() for _ in range(max(1, self.near(n)))]
        return {"num_paragraphs": n}, self.rng.choice(["\n***\n", "***", " *** ", "\n\n***\n\n"]).join(parts) or "a"

    def number_words(self):
        n = self.rng.choice([3, 10, 30, 120])
        count = self.near(n)
        tokens = [self.rng.choice(WORDS + ["it's", "well-known", "3.5", "\u0939\u093f\u0928\u094d\u0926\u0940", "na\u00efve", "a_b", "\u00bd", "\u4f60\u597d", "e\u0301", "\u24b6", "-"]) for _ in range(count)]
        return {"num_words": n, "relation": self.rng.choice(RELATIONS)}, " ".join(tokens) or "-"

    def nth_paragraph_first_word(self):
        n = self.rng.randint(1, 4)
        nth, word = self.rng.randint(1, n), self.rng.choice(WORDS)
        parts = [self.sentence() for _ in range(max(1, self.near(n)))]
        head = self.rng.choice([word, word.capitalize(), '"' + word, "'" + word + "'", word + ",", word + "s", "**" + word, "'\"" + word, word.upper() + "!"])
        if nth <= len(parts):
            parts[nth - 1] = head + " " + parts[nth - 1]
        gap = self.rng.choice(["\n\n", "\n\n", "\n\n\n", "\n\n\n\n", "\n"])
        return {"num_paragraphs": n, "nth_paragraph": nth, "first_word": self.rng.choice([word, word.upper()])}, gap.join(parts)

    def number_placeholders(self):
        n = self.rng.randint(1, 5)
        return {"num_placeholders": n}, self.sentence() + " ".join(self.rng.choice(["[name]", "[a [b]", "[]", "[x\ny]", "[date]."]) for _ in range(self.near(n)))

    def postscript(self):
        marker = self.rng.choice(["P.S.", "P.P.S", "PS:"])
        return {"postscript_marker": marker}, self.sentence() + self.rng.choice(["\n", " "]) + self.rng.choice(["P.S. ", "P. S. ", "p.s. ", "P.P.S ", "P. P. S. ", "P.P.S. ", "PS: ", "Ps: ", "PS ", ""]) + self.sentence()

    def number_bullet_lists(self):
        n = self.rng.randint(1, 5)
        rows = [self.rng.choice(["* one", "- two", "  * three", "*four", "** bold **", "-", "*", "* ", "+ five", "1. six", "---"]) for _ in range(self.near(n) + 1)]
        return {"num_bullets": n}, self.rng.choice([self.sentence() + "\n", "", "\n\n"]) + self.rng.choice(["\n", "\n\n"]).join(rows)

    def constrained_response(self):
        return {}, self.rng.choice(["My answer is yes.", "My answer is no.", "My answer is maybe.", "my answer is yes.", "My answer is yes", "I think. My answer is no. Yes.", "**My answer is no.**", "My  answer is no."])

    def number_highlighted_sections(self):
        n = self.rng.randint(1, 4)
        parts = [self.rng.choice(["*one*", "**two**", "***three***", "* *", "****", "**  **", "*a\nb*", "* a *", "*x**y*", "**z*"]) + " " + self.words(2) for _ in range(self.near(n))]
        return {"num_highlights": n}, " ".join(parts) or "none"

    def multiple_sections(self):
        n, name = self.rng.randint(1, 4), self.rng.choice(["Section", "SECTION", "Day ", "Audience"])
        return {"section_spliter": name, "num_sections": n}, "\n".join(self.rng.choice([f"{name.strip()} {i}", f"{name.strip()}{i}", f"{name.strip().lower()} {i}", f"{name.strip()}  {i}", f"**{name.strip()} {i}:**", f"{name.strip()} \u0663"]) + "\n" + self.sentence() for i in range(1, self.near(n) + 1)) or "a"

    def json_format(self):
        value = self.rng.choice(['{"a": 1}', '[1, 2.5e3, -0, "x\\u00e9"]', '{"a": [null, true, NaN]}', '"text"', "{'a': 1}", '{"a": 1,}', '[01]', '"\\ud800"', '"a\tb"', '{"a" : {"b":[]}}', "-Infinity", "+1", "1.", "[1] x", "", "{}", '{"a":1 "b":2}', "1e5", "tru", '["\\x"]', '{"a":1}{"b":2}', '{"k": "v\nw"}', "[" * 30 + "]" * 30, "1" * 4301, "\ufeff{}", '"\\u12"'])
        return {}, self.rng.choice(["", "```json\n", "```\n", "```JSON ", "```Json", "Here: ", " \n"]) + value + self.rng.choice(["", "\n```", "```", " "]) or "x"

    def title(self):
        return {}, self.rng.choice(["<<a title>>", "<<>>", "<< >>", "<title>", "<<a\nb>>", "<<<x>>>", "<<a>> <<b>>", "<<<>>>", "<< a", "<<\u00a0>>"]) + "\n" + self.prose()

    def two_responses(self):
        parts = [self.rng.choice(["one answer", "another", "one answer ", "", " \n"]) for _ in range(self.rng.randint(1, 4))]
        return {}, self.rng.choice(["******", "\n******\n", "*****", "*******", "******\n******"]).join(parts) or "a"

    def repeat_prompt(self):
        prompt = self.sentence()
        return {"prompt_to_repeat": prompt}, self.rng.choice([prompt, prompt.upper(), " \n" + prompt, '"' + prompt, prompt[:-1], "Sure: " + prompt]) + self.rng.choice(["", "\n"]) + self.sentence()

    def end_checker(self):
        phrase = self.rng.choice(ENDINGS)
        return {"end_phrase": phrase}, self.prose() + self.rng.choice([phrase, phrase + "\n", '"' + phrase + '"', phrase.upper(), phrase + " Bye.", phrase[:-1], "*" + phrase + "*"])

    def capital_word_frequency(self):
        n = self.rng.randint(1, 8)
        tokens = [self.rng.choice(["NASA", "U.S.", "A", "I", "HELLO,", "WELL-KNOWN", "(IBM)", "\"OK\"", "B2B", "3D.", "IT'S", "CAN'T", "X.Y.", "C++", "STOP!", "A.", "GOTTA", "\u00c9T\u00c9", "USA.", "D'YE", "'TIS", "\u201cWOW\u201d", "EU--UN", "A/B", "I'M", "WE'LL", "<B>", "...NO", "YES..."]) for _ in range(self.near(n))]
        body = " ".join(self.rng.choice([t, t + " " + self.rng.choice(WORDS), t + " " + self.sentence()]) for t in tokens)
        return {"capital_frequency": n, "capital_relation": self.rng.choice(RELATIONS)}, body or "none"

    def cased(self, fold):
        text = self.prose(1, 4) if self.rng.random() < 0.8 else " ".join(LANGUAGES[self.rng.choice(list(LANGUAGES))])
        text = fold(text) if self.rng.random() < 0.8 else text
        return {}, text

    def english_capital(self):
        return self.cased(str.upper)

    def english_lowercase(self):
        return self.cased(str.lower)

    def no_comma(self):
        return {}, self.prose().replace(",", self.rng.choice(["", ",", "\uff0c", ";"]))

    def quotation(self):
        text = self.prose()
        return {}, self.rng.choice(['"%s"', ' "%s" \n', '"%s', "%s", "\u201c%s\u201d", "'%s'", '"'])  .replace("%s", text)


def verdicts(document, reply):
    given = utils.InputExample(0, document["instruction_id_list"], document["prompt"], document["kwargs"])
    DetectorFactory.seed = 0
    strict = utils.test_instruction_following_strict(given, reply).follow_instruction_list
    loose = utils.test_instruction_following_loose(given, reply).follow_instruction_list
    stable = True
    if any("language" in i or "english" in i for i in document["instruction_id_list"]):
        for seed in range(1, 10):
            DetectorFactory.seed = seed
            stable &= strict == utils.test_instruction_following_strict(given, reply).follow_instruction_list
            stable &= loose == utils.test_instruction_following_loose(given, reply).follow_instruction_list
    return {**document, "reply": reply, "strict": strict, "loose": loose, "stable": stable}


def put(case):
    print(json.dumps(case, separators=(",", ":")))


def main():
    import logging
    logging.disable(logging.ERROR)
    maker = Maker(11)
    for name in instructions_registry.INSTRUCTION_DICT:
        for _ in range(int(sys.argv[1])):
            arguments, reply = getattr(maker, name.split(":")[1])()
            reply = maker.rng.choice([reply] * 5 + [maker.wrap(reply)] * 5 + ["", " \n"][:1])
            put(verdicts({"prompt": "p", "instruction_id_list": [name], "kwargs": [arguments]}, reply))
    for path in sys.argv[2:]:
        for line in open(path, encoding="utf-8"):
            document = json.loads(line)
            document = {"prompt": document["prompt"], "instruction_id_list": document["instruction_id_list"], "kwargs": document["kwargs"]}
            if any(k.get("letter") in ("#", "!") for k in document["kwargs"]):
                continue  # lm-eval draws another letter at random
            for _ in range(3):
                put(verdicts(document, maker.wrap(from_document(maker, document))))


def from_document(maker, document):
    """A reply in the shape that the document's instructions ask for, with faults."""
    reply = maker.prose(2, 20)
    for name, k in zip(document["instruction_id_list"], document["kwargs"]):
        _, other = getattr(maker, name.split(":")[1])()
        if maker.rng.random() < 0.4:
            reply = other + "\n\n" + reply
        for key in ("keywords", "forbidden_words"):
            reply += " ".join(maker.rng.sample(k.get(key) or [], len(k.get(key) or []) // 2 if key == "forbidden_words" else len(k.get(key) or [])))
        if k.get("keyword"):
            reply += (" " + k["keyword"]) * maker.near(int(k["frequency"]))
        if k.get("section_spliter"):
            reply = "".join(f"{k['section_spliter']} {i}\n{maker.sentence()}\n" for i in range(1, maker.near(int(k["num_sections"])) + 1)) + reply
        if k.get("language") in LANGUAGES and maker.rng.random() < 0.7:
            reply = " ".join(LANGUAGES[k["language"]])
        if k.get("prompt_to_repeat") and maker.rng.random() < 0.7:
            reply = k["prompt_to_repeat"] + "\n" + reply
        if k.get("end_phrase"):
            reply += " " + k["end_phrase"]
        if k.get("num_paragraphs") and "nth" not in name:
            reply = "\n***\n".join(maker.sentence() for _ in range(maker.near(int(k["num_paragraphs"])) or 1))
        if "english_capital" in name:
            reply = reply.upper()
        if "lowercase" in name:
            reply = reply.lower()
    return reply


main()
