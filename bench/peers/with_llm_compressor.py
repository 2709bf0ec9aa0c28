"""Run by llm-compressor's own Python: quantizes what the request (a JSON file) asks for; compressed-tensors, packed."""
import json, sys

request = json.load(open(sys.argv[1]))
import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from llmcompressor import oneshot  # noqa: E402
from llmcompressor.modifiers.gptq import GPTQModifier  # noqa: E402
from llmcompressor.modifiers.quantization import QuantizationModifier  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

s, ids = request["setting"], request["calibration"]
weights = {"num_bits": s["bits"], "type": "int", "symmetric": s.get("symmetric", True), "strategy": "group", "group_size": s["group"]}
common = {"ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
recipe = GPTQModifier(**common, actorder="static") if s["method"] == "gptq" else QuantizationModifier(**common)
model = AutoModelForCausalLM.from_pretrained(request["model"], dtype="auto").to(request["device"])
tokenizer = AutoTokenizer.from_pretrained(request["model"])
more = {}
if s["method"] == "gptq":
    more = {"dataset": Dataset.from_list([{"input_ids": row, "attention_mask": [1] * len(row)} for row in ids]), "num_calibration_samples": len(ids),
            "max_seq_length": len(ids[0]), "shuffle_calibration_samples": False}
with torch.no_grad():
    oneshot(model=model, tokenizer=tokenizer, recipe=recipe, **more)
model.save_pretrained(request["out"], save_compressed=True)
tokenizer.save_pretrained(request["out"])
