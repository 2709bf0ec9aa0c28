"""The methods of this program in quality.py: a method is one line of METHODS, a width one entry of BITS."""

# {layout} is the point's layout. Each runs at every width of BITS, or at those given behind it.
METHODS = {
    "rtn": ("quant.rtn: {{layout: {layout}}}",),
    "gptq": ("quant.gptq: {{layout: {layout}}}",),
    "gptq+hadamard": ("quant.gptq: {{layout: {layout}, transform: {{hadamard: {{block: 64}}}}}}",),
}
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = {2: (32, 64), 3: (32, 64), 4: (32, 64)}  # other widths: 64
EMBEDDING = "quant.rtn: {layers: model.embed_tokens, layout: {uniform: {bits: 8, group: 64}}}"


def points():
    """Name to the recipe's steps."""
    out = {}
    for method, (step, *widths) in METHODS.items():
        for bits in widths or BITS:
            for group in GROUPS.get(bits, (64,)):
                layout = f"{{uniform: {{bits: {bits}, group: {group}}}}}"
                out[f"{method} {bits} bits g{group}"] = [EMBEDDING, step.format(layout=layout)]
    return out


def recipe(job, steps):
    lines = "".join(f"  - {step}\n" for step in steps)
    return (f"version: 1\nmodel: {{path: {job['model']}, dtype: bfloat16}}\nseed: 17\n"
            f"data: {{calibration: {{file: {job['text']}, samples: {job['samples']}, length: {job['length']}}}}}\n"
            f"steps:\n{lines}export:\n  - artifact: {{path: model.cupel}}\n")


def quantize(cupel, job, steps):
    """Runs the recipe and returns the artifact."""
    path = job["out"].with_name(job["out"].name + ".yaml")
    path.write_text(recipe(job, steps))
    cupel("run", path, "--out", job["out"], "--device", job["device"], "-q")
    return job["out"] / "model.cupel"
