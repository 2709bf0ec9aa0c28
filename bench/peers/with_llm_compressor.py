"""Run by llm-compressor's own Python: quantizes what the request (a JSON file) asks for; compressed-tensors, packed."""
import json, sys

request = json.load(open(sys.argv[1]))
import torch  # noqa: E402
from llmcompressor import oneshot  # noqa: E402
from llmcompressor.modifiers.gptq import GPTQModifier  # noqa: E402
from llmcompressor.modifiers.quantization import QuantizationModifier  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

s, ids = request["setting"], request["calibration"]
weights = {"num_bits": s["bits"], "type": "int", "symmetric": s.get("symmetric", True), "strategy": "group", "group_size": s["group"]}
common = {"ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
recipe = GPTQModifier(**common, actorder="static") if s["method"] == "gptq" else QuantizationModifier(**common)
model = AutoModelForCausalLM.from_pretrained(request["model"], dtype="auto").to(request["device"])
tokenizer = AutoTokenizer.from_pretrained(request["model"])
more = {}
if s["method"] == "gptq":  # a DataLoader: datasets 5.2 cannot hash a table of pyarrow 26
    samples = [{"input_ids": torch.tensor(row), "attention_mask": torch.ones(len(row), dtype=torch.long)} for row in ids]
    more = {"dataset": DataLoader(samples, batch_size=1), "num_calibration_samples": len(ids), "max_seq_length": len(ids[0])}
with torch.no_grad():
    oneshot(model=model, tokenizer=tokenizer, recipe=recipe, **more)
model.save_pretrained(request["out"], save_compressed=True)
tokenizer.save_pretrained(request["out"])
