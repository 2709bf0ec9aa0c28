"""The table of quality.py: Pareto front, Markdown, and its place in docs/results.md."""
import json, os, pathlib, platform, subprocess

BEGIN, END = "<!-- quality -->\n", "<!-- /quality -->"


def machine(device):
    cpu = platform.processor() or "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    text = f"{cpu}, {len(os.sched_getaffinity(0))} cores"
    if device.startswith("cuda"):
        names = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout.splitlines()
        text += f", {names[0] if names else 'a GPU'}"
    return text


def read(folder, key):
    """All finished points of this model, these texts and sizes, the smallest files first."""
    points = [json.loads(p.read_text()) for p in folder.glob("*.json")]
    return sorted((p for p in points if all(p["key"][k] == v for k, v in key.items())), key=lambda p: (p["bits_per_weight"], p["kl_mean"]))


def front(points, bits):
    """Points to which no other is as small and as near, or better: by `bits`, then by KL."""
    out = []
    for p in sorted(points, key=lambda p: (p[bits], p["kl_mean"])):
        if not out or p["kl_mean"] < out[-1]["kl_mean"]:
            out.append(p)
    return out


def error(value, digits):
    return "" if value is None else f" +- {value:.{digits}f}"


def label(p):
    iters = p["key"]["setting"].get("iters") if isinstance(p["key"]["setting"], dict) else None
    return p["name"] + (f", {iters} steps" if iters else "")


def row(p, whole, layers):
    marks = " ".join(m for m, f in (("file", whole), ("layers", layers)) if p in f)
    return (f"| {p['tool']} | {label(p)} | {p['bits_per_weight']:.3f} | {p['bits_per_weight_layers']:.3f} | {p['bytes'] / 1e6:.1f} | "
            f"{p['kl_mean']:.5f}{error(p['kl_stderr'], 5)} | {p['perplexity']:.3f}{error(p['perplexity_stderr'], 2)} | "
            f"{100 * p['same_top1']:.1f} | {p['seconds']:.0f} | {marks} |")


def markdown(points, options, common):
    if not points:
        return "No point was measured.\n"
    whole, layers = front(points, "bits_per_weight"), front(points, "bits_per_weight_layers")
    versions = sorted({(p["tool"], p["key"]["version"]) for p in points})
    k = common["key"]
    blocks = f"{points[0]['blocks']} blocks of {k['block_length']} tokens"
    command = f"bench/quality.py --text {options.text.name} --length {options.length} --blocks {options.blocks} --device {options.device}" + \
        (f" --only '{options.only}'" if options.only != "*" else "")
    dates = sorted({p["date"] for p in points})
    head = (f"Command: `{command}`, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, "
            f"{'; '.join(sorted({p['machine'] for p in points}))}. Versions: {'; '.join(v if v.startswith(t) else f'{t} {v}' for t, v in versions)}. "
            f"Model: {options.model.name} (SHA-256 {k['model'][:12]}), {points[0]['parameters']} parameters, perplexity {points[0]['perplexity_original']:.3f}; "
            f"{blocks}; calibration {options.calibration.name}, {k['samples']} samples of {k['length']} tokens, the same for all. Bits are those of all tensors in the "
            "file; \"layers\" counts the decoder layers alone. KL is to the original, nats a token; seconds are those of the "
            "quantization alone. Front: no other point is smaller and nearer, by the size of the whole file and by that of the layers.\n\n"
            "| tool | setting | bits/weight | layers | MB | KL | perplexity | same top-1, % | seconds | front |\n"
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
    return head + "\n".join(row(p, whole, layers) for p in points) + "\n"


def into(page, text):
    old = page.read_text()
    page.write_text(old[:old.index(BEGIN) + len(BEGIN)] + text + old[old.index(END):])
