"""Run by AutoRound's own Python: quantizes what the request (a JSON file) asks for, and writes the GPTQ format."""
import json, sys

request = json.load(open(sys.argv[1]))
import torch  # noqa: E402
from auto_round import AutoRound  # noqa: E402

s, ids = request["setting"], torch.tensor(request["calibration"])
rounder = AutoRound(request["model"], scheme="W4A16", bits=s["bits"], group_size=s["group"], sym=s.get("sym", True), iters=s.get("iters", 200),
                    nsamples=len(ids), seqlen=ids.shape[1], batch_size=min(8, len(ids)), dataset=list(ids.split(min(8, len(ids)))),
                    device_map=request["device"], enable_torch_compile=False)
rounder.quantize_and_save(request["out"], format="auto_gptq")
