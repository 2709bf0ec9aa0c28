"""The parts of bench/quality.py that can be wrong without a model."""
import json, struct, subprocess, sys, pathlib, unittest

import support

BENCH = support.ROOT / "bench"
sys.path.append(str(BENCH))
import quality_table, tensors  # noqa: E402


def point(name, bits, kl):
    return {"name": name, "bits_per_weight": bits, "kl_mean": kl}


class Bench(unittest.TestCase):
    def test_the_scaled_model_computes_the_same(self):
        if not support.VENV_PYTHON.exists():
            self.skipTest(f"{support.VENV_PYTHON} is not there: numpy is needed")
        done = subprocess.run([support.VENV_PYTHON, BENCH / "off_grid.py", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_front_has_the_points_that_nothing_beats(self):
        points = [point("worse", 4.5, 0.3), point("large", 8, 0.01), point("small", 2, 0.9), point("equal", 4, 0.2), point("middle", 4, 0.1), point("useless", 9, 0.01)]
        self.assertEqual([p["name"] for p in quality_table.front(points, "bits_per_weight")], ["small", "middle", "large"])

    def test_every_tensor_of_every_file_is_counted(self):
        with support.temporary() as folder:
            for file, entries in (("a", {"x": ("F16", [3, 2], 12)}), ("b", {"y": ("I32", [2], 8), "z": ("U8", [5], 5)})):
                header, offset = {"__metadata__": {"format": "pt"}}, 0
                for name, (dtype, shape, size) in entries.items():
                    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
                    offset += size
                text = json.dumps(header).encode()
                pathlib.Path(folder, file + ".safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(offset))
            self.assertEqual(tensors.sizes(folder), {"x": 12, "y": 8, "z": 5})


support.main()
