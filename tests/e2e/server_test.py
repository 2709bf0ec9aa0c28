"""cupel eval http://...: the same numbers as from the model's files, and clear words where a server falls short."""
import json, pathlib, unittest
import tiny_model
from completion_server import CompletionServer
from support import cupel, cupel_json, main, temporary

CHOICES = """task: choose
test_data: rows.jsonl
doc_to_text: "{{question}}"
doc_to_choice: ["{{first}}", "{{second}}", "{{third}}"]
doc_to_target: answer
metric_list: [acc, acc_norm, exact_match]
"""
LAST_WORD = """task: last_word
test_data: rows.jsonl
output_type: loglikelihood
doc_to_text: "{{question}}"
doc_to_target: " {{first}}"
metric_list: [perplexity, acc]
"""
WRITE = """task: write
test_data: rows.jsonl
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{first}}"
metric_list: [exact_match]
generation_kwargs: {until: ["z"], max_gen_toks: 8}
"""
TEXT = "The rain on the water was there again, and the boat sat in it; nobody heard the other ring.\n" * 12


def rows():
    words = ["the water", "a boat in winter", "one \u00fcber-hat", "rain", "it was there", "so on"]
    for i in range(10):
        choices = {name: f"went to {words[(i + k) % 6]}" for k, name in enumerate(("first", "second", "third"), 1)}
        yield {"question": f"On day {i} the man was at {words[i % 6]}, and then he", "answer": i % 3, **choices}


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        cls.base = base = pathlib.Path(cls.folder.name)
        cls.plain = tiny_model.write(base / "plain")
        if "http was not built in" in cupel("eval", "http://127.0.0.1:1", "--tokenizer", cls.plain).stderr:
            raise unittest.SkipTest("this build has no http; it needs Boost's headers (Debian: libboost-dev)")
        cls.with_bos = tiny_model.write(base / "bos", adds_bos=True)
        (base / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows()))
        (base / "text.txt").write_text(TEXT)
        for name, text in (("choose", CHOICES), ("last_word", LAST_WORD), ("write", WRITE)):
            (base / f"{name}.yaml").write_text(text)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tasks(self, *names):
        return ["--tasks", ",".join(str(self.base / f"{n}.yaml") for n in names), "--data", self.base]

    def samples(self, model, *options):
        file = self.base / "samples.jsonl"
        result = cupel_json("eval", model, *options, "--samples", file, "--json", "-")
        return result, [json.loads(line) for line in file.read_text().splitlines()]

    def served(self, server, tokenizer, *options):
        return self.samples(server.url, "--tokenizer", tokenizer, *options)

    def assert_same_samples(self, left, right):
        self.assertEqual(len(left), len(right))
        for a, b in zip(left, right):
            self.assertEqual(a.keys(), b.keys())
            for key in a:
                if isinstance(a[key], float) or key == "ll":
                    for x, y in zip(*[v if isinstance(v, list) else [v] for v in (a[key], b[key])], strict=True):
                        self.assertAlmostEqual(x, y, delta=1e-5)
                else:
                    self.assertEqual(a[key], b[key], key)

    def refused(self, server, code, *wanted, options=None, tokenizer=None, suffix=""):
        r = cupel("eval", server.url + suffix, "--tokenizer", tokenizer or self.plain, *(options or self.tasks("choose")))
        self.assertEqual(r.returncode, code, r.stderr)
        for w in wanted:
            self.assertIn(w, r.stderr)

    def test_tasks_are_those_of_the_model(self):
        options = self.tasks("choose", "last_word", "write")
        local, local_samples = self.samples(self.plain, "--engine", "runtime", *options)
        for ways in ({}, {"--concurrency": 3, "--batch-size": 4}):
            with CompletionServer(self.plain) as server:
                flat = [x for pair in ways.items() for x in pair]
                result, samples = self.served(server, self.plain, *options, *flat)
                self.assertLessEqual(server.most_busy, ways.get("--concurrency", 4))
            self.assert_same_samples(local_samples, samples)
            self.assertEqual(result["tasks"].keys(), local["tasks"].keys())
            self.assertEqual(result["model"], server.url + "#tiny")
            self.assertEqual(result["engine"], "completions, prompts as token ids")
            for unknown in ("bytes", "parameters", "bits_per_weight"):
                self.assertIsNone(result[unknown])

    def test_perplexity_is_that_of_the_model(self):
        for model in (self.plain, self.with_bos):
            for protocol in ("gptq", "llamacpp", "words"):
                options = ["--perplexity", self.base / "text.txt", "--protocol", protocol, "--length", 48]
                local = cupel_json("eval", model, "--engine", "runtime", *options, "--json", "-")["perplexity"][0]
                with CompletionServer(model) as server:
                    served = cupel_json("eval", server.url, "--tokenizer", model, *options, "--json", "-")["perplexity"][0]
                self.assertEqual(served["block_list"][0].keys(), local["block_list"][0].keys())
                self.assertGreater(len(local["block_nll"]), 3)
                for a, b in zip(local.pop("block_nll"), served.pop("block_nll"), strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-5)
                self.assertAlmostEqual(served["value"] / local["value"], 1, delta=1e-5)
                self.assertAlmostEqual(served["stderr"] / local["stderr"], 1, delta=1e-4)
                for key in ("protocol", "length", "blocks", "tokens", "text", "stderr_over"):
                    self.assertEqual(served[key], local[key], key)

    def test_a_block_list_of_another_run_is_used(self):
        first = cupel_json("eval", self.plain, "--engine", "runtime", "--perplexity", self.base / "text.txt", "--length", 48,
                           "--blocks", 2, "--json", "-")
        (self.base / "first.json").write_text(json.dumps(first))
        with CompletionServer(self.plain) as server:
            served = cupel_json("eval", server.url, "--tokenizer", self.plain, "--perplexity", self.base / "text.txt", "--length", 48,
                                "--blocks-file", self.base / "first.json", "--json", "-")
        self.assertEqual(served["perplexity"][0]["blocks"], 2)
        self.assertAlmostEqual(served["perplexity"][0]["value"] / first["perplexity"][0]["value"], 1, delta=1e-5)

    def test_a_server_of_text_alone(self):
        """llama-cpp-python: one prompt as text, BOS in front and not listed."""
        local, local_samples = self.samples(self.with_bos, "--engine", "runtime", *self.tasks("choose", "write"))
        with CompletionServer(self.with_bos, takes="text", adds_bos=True, hides_bos=True, positions=None) as server:
            result, samples = self.served(server, self.with_bos, *self.tasks("choose", "write"), "--max-length", 256)
            self.assertEqual(server.connections >= 1, True)
            self.assertTrue(all(isinstance(r["prompt"], str) for r in server.requests[1:]))
        self.assertEqual(result["engine"], "completions, prompts as text")
        self.assert_same_samples(local_samples, samples)
        with CompletionServer(self.plain, takes="text") as server:
            _, samples = self.served(server, self.plain, *self.tasks("choose"))
        self.assert_same_samples(self.samples(self.plain, "--engine", "runtime", *self.tasks("choose"))[1], samples)

    def test_what_fails_for_a_while(self):
        options = self.tasks("choose")
        _, wanted = self.samples(self.plain, "--engine", "runtime", *options)
        faults = [None] * 9 + [429, None, "drop", None, 503, 503, None]
        with CompletionServer(self.plain, faults=faults) as server:
            _, samples = self.served(server, self.plain, *options)
            self.assertEqual(server.faults, [])
        self.assert_same_samples(wanted, samples)

    def test_what_fails(self):
        after = [None] * 8  # the form of prompts and the proof of the echo

        def shorter(answer):
            for key in ("tokens", "token_logprobs", "top_logprobs"):
                del answer["choices"][0]["logprobs"][key][2:]
            return answer

        def nan(answer):
            answer["choices"][0]["logprobs"]["token_logprobs"][-2] = float("nan")
            return answer
        for fault, wanted in ((500, "answered 500 to /v1/completions: out of order (500)"), ("garbage", "not JSON"),
                              (shorter, "2 tokens for a prompt of"), (nan, "NaN")):
            with CompletionServer(self.plain, faults=after + [fault] * 50) as server:
                self.refused(server, 4, wanted, server.url)
        with CompletionServer(self.plain, faults=after + ["hang"] * 50) as server:
            self.refused(server, 4, "did not answer", options=[*self.tasks("choose"), "--timeout", 0.5])
        gone = server.url
        r = cupel("eval", gone, "--tokenizer", self.plain, *self.tasks("choose"))
        self.assertEqual(r.returncode, 4)
        self.assertIn("can't connect", r.stderr)

    def test_servers_whose_answers_mean_something_else(self):
        with CompletionServer(self.plain, late=True) as server:
            self.refused(server, 4, "may be shifted by one")
        with CompletionServer(self.plain, late=True, usage=False) as server:
            self.refused(server, 4, "lists none of the tokens that it wrote")
        with CompletionServer(self.plain, echoes=False) as server:
            self.refused(server, 4, "can't echo a prompt")
        with CompletionServer(self.plain, adds_bos=True, takes="text") as server:
            self.refused(server, 4, "puts BOS before every text")

    def test_names(self):
        with CompletionServer(self.plain, name="org/tiny") as server:
            self.refused(server, 2, "serves no model 'org/tinny'", "did you mean 'org/tiny'", suffix="#org/tinny")
            r = cupel("eval", server.url + "#org/tiny", "--tokenizer", self.plain, *self.tasks("choose"))
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("org/tiny", r.stdout)
        with CompletionServer(self.plain, positions=None) as server:
            self.refused(server, 2, "--max-length")

    def test_a_key(self):
        with CompletionServer(self.plain, key="s3cret") as server:
            r = cupel("eval", server.url, "--tokenizer", self.plain, *self.tasks("choose"), env={"OPENAI_API_KEY": "s3cret"})
            self.assertEqual(r.returncode, 0, r.stderr)
            r = cupel("eval", server.url, "--tokenizer", self.plain, *self.tasks("choose"), "-v", env={"OPENAI_API_KEY": "wr0ng"})
            self.assertEqual(r.returncode, 4)
            self.assertIn("OPENAI_API_KEY", r.stderr)
            self.assertNotIn("wr0ng", r.stderr)

    def test_another_tokenizer(self):
        other = tiny_model.write(self.base / "other")
        tokenizer = json.loads((other / "tokenizer.json").read_text())
        vocab = tokenizer["model"]["vocab"]
        vocab["a"], vocab["e"] = vocab["e"], vocab["a"]
        (other / "tokenizer.json").write_text(json.dumps(tokenizer))
        with CompletionServer(self.plain) as server:
            self.refused(server, 4, "on the server, and", tokenizer=other)

    def test_answers_are_kept(self):
        cache = ["--cache", self.base / "cache", *self.tasks("choose", "write")]
        with CompletionServer(self.plain, faults=[None] * 20 + [500] * 100) as server:
            self.refused(server, 4, "500", options=cache)
            server.faults.clear()
            before = len(server.requests)
            result, samples = self.served(server, self.plain, *cache)
            asked = len(server.requests) - before
            self.assertLess(asked, 30 + 10 + 8)
            again, same = self.served(server, self.plain, *cache)
            self.assertEqual(len(server.requests) - before - asked, 1, "the form of prompts alone")
        self.assertEqual(samples, same)
        files = list((self.base / "cache").iterdir())
        self.assertEqual(len(files), 1)

    def test_what_a_server_can_not_do(self):
        text = ["--perplexity", self.base / "text.txt", "--length", 48]
        with CompletionServer(self.plain) as server:
            for options, wanted in ((["--against", self.plain, *text], "divergence needs the logits"),
                                    (["--save-reference", self.base / "x.cref", *text], "--save-reference"),
                                    (["--speed", *text], "--speed")):
                r = cupel("eval", server.url, "--tokenizer", self.plain, "--engine", "runtime", *options)
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertIn(wanted, r.stderr)
            r = cupel("eval", self.plain, "--engine", "runtime", "--against", server.url, "--tokenizer", self.plain, *text)
            self.assertEqual(r.returncode, 2)
            self.assertIn("divergence needs the logits", r.stderr)
            r = cupel("eval", server.url, *text)
            self.assertEqual(r.returncode, 2)
            self.assertIn("--tokenizer MODEL", r.stderr)
            self.assertEqual(server.requests, [], "refused before anything was asked")
        r = cupel("eval", "https://localhost/v1", "--tokenizer", self.plain, *text)
        self.assertEqual(r.returncode, 2)
        self.assertIn("https is not built in", r.stderr)
        r = cupel("eval", self.plain, "--engine", "runtime", "--tokenizer", self.plain, *text)
        self.assertEqual(r.returncode, 2)
        self.assertIn("has its own", r.stderr)

    def test_report(self):
        report = self.base / "r.html"
        with CompletionServer(self.plain) as server:
            r = cupel("eval", server.url, "--tokenizer", self.plain, *self.tasks("choose"), "--perplexity", self.base / "text.txt",
                      "--length", 48, "--report", report)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(server.url + "#tiny", r.stdout)
        self.assertNotIn("0 B", r.stdout)
        html = report.read_text()
        self.assertIn("completions, prompts as token ids", html)
        self.assertNotIn("0 B", html)


if __name__ == "__main__":
    main()
