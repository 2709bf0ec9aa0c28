"""`cupel eval --tasks` and `cupel compare` on a model and its dense copy, with a task file of one's own."""
import json, pathlib
from support import ROOT, cupel, cupel_json

TASK = """task: halves
doc: the real second half of a sentence, or the letters backwards
test_data: halves.jsonl
doc_to_text: first
doc_to_choice: [choices]
doc_to_target: gold
metric_list: [acc, acc_norm]
"""


class TaskChecks:
    """Mixed into a TestCase that has `folder`, `artifact` and `out` (with a Hugging Face folder `hf`)."""

    def make_task(self):
        data = pathlib.Path(self.folder.name) / "task-data"
        data.mkdir(exist_ok=True)
        lines = [l.strip() for l in (ROOT / "data/heldout.txt").read_text().split(".") if 60 < len(l.strip()) < 160][:24]
        rows = []
        for i, line in enumerate(lines):
            first, second = line[:len(line) // 2].rstrip(), line[len(line) // 2:].lstrip()
            choices = [second, second[::-1]] if i % 2 == 0 else [second[::-1], second]
            rows.append(json.dumps({"first": first, "choices": choices, "gold": i % 2}))
        (data / "halves.jsonl").write_text("\n".join(rows) + "\n")
        (data / "halves.yaml").write_text(TASK)
        return data, ["--tasks", data / "halves.yaml", "--data", data]

    def test_tasks_agree_between_engines(self):
        data, options = self.make_task()
        samples = {}
        for engine in ("runtime", "torch"):
            r = cupel_json("eval", self.artifact, "--engine", engine, *options, "--samples", data / engine, "--json", "-")
            self.assertEqual(r["tasks"]["halves"]["documents"], 24)
            self.assertGreater(r["tasks"]["halves"]["acc"], 0.8)
            samples[engine] = [json.loads(l) for l in (data / engine).read_text().splitlines()]
        for a, b in zip(samples["runtime"], samples["torch"]):
            self.assertEqual(a["context_ids"], b["context_ids"])
            for x, y in zip(a["ll"], b["ll"]):
                self.assertAlmostEqual(x, y, delta=2e-2)

    def test_kept_answers_are_used(self):
        data, options = self.make_task()
        cache = data / "cache"
        first = cupel_json("eval", self.artifact, *options, "--limit", 6, "--cache", cache, "--json", "-")
        kept = sum(len(p.read_text().splitlines()) for p in cache.iterdir())
        self.assertEqual(kept, 12)
        again = cupel_json("eval", self.artifact, *options, "--cache", cache, "--json", "-")
        self.assertEqual(sum(len(p.read_text().splitlines()) for p in cache.iterdir()), 48)
        plain = cupel_json("eval", self.artifact, *options, "--json", "-")
        for r in (first, again, plain):
            r["tasks"]["halves"].pop("seconds")
        self.assertEqual(again["tasks"], plain["tasks"])

    def test_compare_gives_verdicts(self):
        data, options = self.make_task()
        report = data / "report.html"
        r = cupel_json("compare", self.out / "hf", self.artifact, *options, "--margin", 20, "--redline", 20, "--report", report,
                       "--json", "-")
        self.assertEqual(r[1]["verdicts"][0]["task"], "halves")
        self.assertIn(r[1]["verdicts"][0]["verdict"], ("no loss", "gain", "not decided"))
        self.assertEqual(r[0]["redline"]["candidates"][0]["prompts"], 24)
        self.assertIn("halves", report.read_text())

    def test_task_mistakes_are_named(self):
        data, options = self.make_task()
        for arguments, part in ((["--tasks", "halfs", "--data", data], "unknown task 'halfs'"),
                                (["--tasks", "piqa"], "--data"),
                                (["--tasks", "piqa", "--data", data], "piqa_validation.jsonl"),
                                (["--tasks", "humaneval", "--data", data], "humaneval.jsonl")):
            r = cupel("eval", self.artifact, *arguments)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(part, r.stderr)
