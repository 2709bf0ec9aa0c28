"""recipes/tiny-all.yaml end to end: every kind of step, the artifact, the runtime on it, resume after kill -9."""
import hashlib, html.parser, json, os, pathlib, random, shutil, signal, struct, subprocess, time, unittest
from support import BIN, CUPEL, ROOT, VENV_PYTHON, cupel, cupel_json, main, temporary
from task_checks import TaskChecks

RECIPE = ROOT / "recipes/tiny-all.yaml"


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class TinyAll(TaskChecks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        cls.out = pathlib.Path(cls.folder.name) / "run"
        start = time.monotonic()
        r = cupel("run", RECIPE, "--out", cls.out)
        cls.seconds = time.monotonic() - start
        assert r.returncode == 0, r.stderr
        cls.summary = json.loads((cls.out / "summary.json").read_text())
        cls.artifact = cls.out / "model.cupel"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_summary(self):
        print(f"tiny-all took {self.seconds:.0f} s")
        s = self.summary
        self.assertEqual(s["artifact"], str(self.artifact))
        self.assertEqual(s["fallbacks"], [])
        before, after = s["before"], s["after"]
        self.assertLess(before["perplexity"][0]["value"], 20, "a byte model that learned something")
        self.assertLess(after["divergence"]["kl_mean"], 0.6)
        self.assertLess(after["bits_per_weight_matrices"], 5)
        self.assertEqual(after["bytes"], self.artifact.stat().st_size)

    def test_report_is_one_file(self):
        text = (self.out / "report.html").read_text()

        class Loads(html.parser.HTMLParser):
            found = []

            def handle_starttag(self, tag, attributes):
                for name, value in attributes:
                    if name in ("src", "href") and value and not value.startswith(("#", "data:")):
                        self.found.append(value)
        parser = Loads()
        parser.feed(text)
        self.assertEqual(parser.found, [])
        self.assertIn("<svg", text)

    def test_events(self):
        events = [json.loads(l) for l in (self.out / "events.jsonl").read_text().splitlines()]
        kinds = {e["kind"] for e in events}
        self.assertTrue({"unit", "train"} <= kinds, kinds)

    def test_no_partial_checkpoint_is_left(self):
        left = [p.name for p in (self.out / "checkpoints").iterdir() if "partial" in p.name]
        self.assertEqual(left, [])

    def test_report_says_what_was_pruned(self):
        self.assertIn("prune.depth: removed layers", (self.out / "report.html").read_text())

    def test_layer_was_removed(self):
        i = cupel_json("inspect", self.artifact, "--json")
        layers = {t["name"].split(".")[2] for t in i["tensors"] if t["name"].startswith("model.layers.")}
        self.assertEqual(layers, {"0", "1", "2"})
        config = json.loads((self.out / "hf/config.json").read_text())
        self.assertEqual(config["num_hidden_layers"], 3)

    def test_generation_does_not_depend_on_threads(self):
        texts = {cupel_json("generate", self.artifact, "--prompt", "The harbour", "--temperature", 0, "--max-tokens", 60,
                            "--threads", n, "--json")["text"] for n in (1, 2, 3)}
        self.assertEqual(len(texts), 1, texts)

    def test_generation_does_not_depend_on_isa(self):
        texts = {cupel_json("generate", self.artifact, "--prompt", "The harbour", "--temperature", 0, "--max-tokens", 40,
                            "--isa", isa, "--json")["text"] for isa in ("scalar", "auto")}
        self.assertEqual(len(texts), 1, texts)

    def test_exported_folder_computes_the_same(self):
        ids = "84,104,101,32,104,97,114"
        packed = cupel_json("logits", self.artifact, "--ids", ids, "--last", "--json")["logits"][0]
        plain = cupel_json("logits", self.out / "hf", "--ids", ids, "--last", "--json")["logits"][0]
        self.assertLess(max(abs(a - b) for a, b in zip(packed, plain)), 2e-2)

    def test_engines_agree(self):
        e = cupel_json("eval", self.artifact, "--engine", "torch", "--perplexity", ROOT / "data/heldout.txt", "--length", 256,
                       "--blocks", 16, "--json", "-")
        r = cupel_json("eval", self.artifact, "--engine", "runtime", "--perplexity", ROOT / "data/heldout.txt", "--length", 256,
                       "--blocks", 16, "--json", "-")
        self.assertAlmostEqual(e["perplexity"][0]["value"], r["perplexity"][0]["value"], delta=2e-3)

    def test_inspect_and_verify(self):
        r = cupel("inspect", self.artifact, "--verify")
        self.assertEqual(r.returncode, 0, r.stderr)
        damaged = pathlib.Path(self.folder.name) / "damaged.cupel"
        data = bytearray(self.artifact.read_bytes())
        at, length = struct.unpack_from("<QQ", data, 24)  # the index's place in the header
        plane = json.loads(data[at:at + length])["tensors"][0]["planes"][0]
        data[plane["offset"] + plane["length"] // 2] ^= 1
        damaged.write_bytes(data)
        r = cupel("inspect", damaged, "--verify")
        self.assertEqual(r.returncode, 3, r.stderr)

    def test_same_recipe_same_bytes_and_other_seed_other_bytes(self):
        again = pathlib.Path(self.folder.name) / "again"
        r = cupel("run", RECIPE, "--out", again)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(digest(again / "model.cupel"), digest(self.artifact))

    def test_used_folder_is_refused_without_resume(self):
        r = cupel("run", RECIPE, "--out", self.out)
        self.assertEqual(r.returncode, 2)
        self.assertIn("--resume", r.stderr)

    def test_kill_and_resume(self):
        out = pathlib.Path(self.folder.name) / "killed"
        moments = random.Random(os.environ.get("CUPEL_KILL_SEED", "1"))
        kills, seconds = 0, self.seconds
        for attempt in range(12):
            arguments = [CUPEL, "run", str(RECIPE), "--out", str(out)] + (["--resume"] if out.exists() else [])
            p = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                _, err = p.communicate(timeout=moments.uniform(0.15, 0.45) * seconds if kills < 4 else 600)
                self.assertEqual(p.returncode, 0, err.decode())
                if kills > 0:
                    break
                # Faster than the run that was timed: that one shared the machine. Again, sooner.
                seconds /= 4
                shutil.rmtree(out)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.communicate()
                kills += 1
        print(f"killed {kills} times")
        self.assertGreaterEqual(kills, 1)
        self.assertEqual(digest(out / "model.cupel"), digest(self.artifact))

    def test_h5py_sees_what_inspect_lists(self):
        if not VENV_PYTHON.exists():
            self.skipTest("needs h5py, which scripts/setup installs")
        copy = pathlib.Path(self.folder.name) / "opened.cupel"
        shutil.copy(self.artifact, copy)
        script = ("import h5py, json, sys\n"
                  "f = h5py.File(sys.argv[1], 'a')\n"
                  "print(json.dumps({n: {p: [list(d.shape), d.dtype.itemsize] for p, d in g.items()} for n, g in f['tensors'].items()}))\n"
                  "f.close()\n")
        seen = json.loads(subprocess.run([VENV_PYTHON, "-c", script, str(copy)], capture_output=True, text=True, check=True).stdout)
        listed = cupel_json("inspect", copy, "--json")
        self.assertEqual(sorted(seen), sorted(t["name"] for t in listed["tensors"]))
        for t in listed["tensors"]:
            size = 0
            for shape, item in seen[t["name"]].values():
                n = item
                for d in shape:
                    n *= d
                size += n
            self.assertEqual(size, t["bytes"], t["name"])
        self.assertEqual(cupel("inspect", copy, "--verify").returncode, 0)
        g = cupel_json("generate", copy, "--prompt", "A", "--temperature", 0, "--max-tokens", 5, "--json")
        self.assertEqual(len(g["tokens"]), 5)

    def test_bench(self):
        b = cupel_json("bench", self.artifact, "-p", 32, "-n", 16, "-r", 2, "--json")
        self.assertGreater(b["probe_gb_per_second"], 0)
        self.assertEqual({r["test"] for r in b["results"]}, {"pp32", "tg16"})
        small = cupel_json("bench", self.artifact, "-p", 0, "-n", 1, "-r", 1, "--kv", "int8", "--json")
        self.assertEqual((b["kv"], small["kv"]), ("f16", "int8"))
        self.assertLess(small["kv_position_bytes"], b["kv_position_bytes"])

    def test_needs_glibc_alone_and_runs_in_an_empty_root(self):
        libraries = subprocess.run(["ldd", str(BIN / "cupel")], capture_output=True, text=True, check=True).stdout
        names = {l.split()[0].split("/")[-1] for l in libraries.splitlines()}
        self.assertLessEqual(names, {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                     "ld-linux-x86-64.so.2"})
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        root = pathlib.Path(self.folder.name) / "root"
        for line in libraries.splitlines():
            for word in line.split():
                if word.startswith("/"):
                    target = root / word.lstrip("/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(word, target)
        shutil.copy(BIN / "cupel", root / "cupel")
        shutil.copy(self.artifact, root / "m.cupel")
        r = subprocess.run(["chroot", str(root), "/cupel", "generate", "/m.cupel", "--prompt", "A", "--max-tokens", "4"],
                           capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)


main()
