"""Run by GPTQModel's own Python: quantizes what the request (a JSON file) asks for."""
import json, os, sys

request = json.load(open(sys.argv[1]))
if (os.cpu_count() or 1) < 3:
    os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")  # its own count for so few cores, 1, is refused by its loader
from gptqmodel import GPTQModel, QuantizeConfig  # noqa: E402

s = request["setting"]
config = QuantizeConfig(bits=s["bits"], group_size=s["group"], sym=s.get("sym", True), desc_act=s.get("desc_act", False),
                        act_group_aware=s.get("act_group_aware", True), offload_to_disk=False, device=request["device"])
model = GPTQModel.load(request["model"], config)
model.quantize([{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in request["calibration"]], batch_size=1)
model.save(request["out"])
