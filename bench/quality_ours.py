"""The methods of this program in quality.py: a method is one line of METHODS (every width of BITS) or of SINGLE."""

EMBEDDING = "quant.rtn: {layers: model.embed_tokens, layout: {uniform: {bits: 8, group: 64}}}"
HADAMARD = "transform: {hadamard: {block: 64}}"
UNIFORM = "layout: {uniform: {bits: %d, group: %d}}"
# {layout} is the point's layout. Each runs at every width of BITS.
METHODS = {
    "rtn": "quant.rtn: {{{layout}}}",
    "rtn mse, activation": "quant.rtn: {{{layout}, scale: mse, metric: activation}}",
    "gptq": "quant.gptq: {{{layout}}}",
    "gptq+hadamard": "quant.gptq: {{{layout}, " + HADAMARD.replace("{", "{{").replace("}", "}}") + "}}",
    "gptq+hadamard, guided": "quant.gptq: {{{layout}, metric: guided, " + HADAMARD.replace("{", "{{").replace("}", "}}") + "}}",
    "gptq+hadamard, two-sided": "quant.gptq: {{{layout}, metric: two-sided, passes: 0, "
                                + HADAMARD.replace("{", "{{").replace("}", "}}") + "}}",
}
LUT = "layout: {lut: {grid: gaussian, bits: %d, group: %d}}"
LUT_EMBEDDING = "quant.rtn: {layers: model.embed_tokens, scale: mse, %s, %s}" % (LUT, HADAMARD)
OTHER_EMBEDDING = EMBEDDING.replace("bits: 8", "bits: %d")
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = {2: (32, 64), 3: (64,), 4: (64,)}  # other widths: 64
# One point each: name to the method's step.
SINGLE = {
    "gptq nvfp4": "quant.gptq: {layout: nvfp4}",
    "rtn nvfp4": "quant.rtn: {layout: nvfp4}",
    "rtn nvfp4 four-over-six": "quant.rtn: {layout: nvfp4, scale: four-over-six}",
    "rtn nvfp4 mse": "quant.rtn: {layout: nvfp4, scale: mse}",
    "gptq mxfp4": "quant.gptq: {layout: mx}",
    "gptq mxfp4 span 3": "quant.gptq: {layout: {mx: {span: 3}}}",
    "gptq+hadamard mxfp4": "quant.gptq: {layout: mx, transform: {hadamard: {block: 64}}}",
    "gptq integer-mx": "quant.gptq: {layout: integer-mx}",
    "rtn integer-mx": "quant.rtn: {layout: integer-mx, scale: mse}",
    "gptq nf4": "quant.gptq: {layout: {lut: {grid: nf, group: 64}}}",
    "rtn nf4": "quant.rtn: {layout: {lut: {grid: nf, group: 64}}}",
    "rtn fp8": "quant.rtn: {layout: fp8}",
    "squeezellm 3": "quant.rtn: {layout: {row-table: {bits: 3}}, metric: fisher, scale: mse}",
    "squeezellm 4": "quant.rtn: {layout: {row-table: {bits: 4}}, metric: fisher, scale: mse}",
    "gptq row-table 3": "quant.gptq: {layout: {row-table: {bits: 3}}}",
    "tile 9": "quant.tile: {bits: 9, feedback: false, score: metric, layout: {mixed: {rows: 16, cols: 64, parts: "
              "[{layout: {uniform: {bits: 8, group: 64, symmetric: true}}}, {layout: {dense: {type: bf16}}}]}}}",
    "figflex 3.375": "quant.tile: {bits: 3.375, score: residual, transform: {balance: {power_of_two: common}}, layout: {mixed: "
                     "{rows: 0, cols: 64, parts: [{layout: {uniform: {bits: 2, group: 64}}}, {layout: {uniform: {bits: 3, group: 64}}}, "
                     "{layout: {uniform: {bits: 4, group: 64}}}]}}}",
    "annealed nf4": "quant.annealed: {moves: 400, layout: {sum: {base: {lut: {grid: nf, group: 64}}, rank: 8, full_rows: 4}}}",
    "greedy nf4": "quant.annealed: {moves: 0, layout: {sum: {base: {lut: {grid: nf, group: 64}}, rank: 8, full_rows: 4}}}",
    "nested 4": "quant.gptq: {layout: {nested: {bits: 4, group: 64}}}",
    **{f"shq {b}": "quant.gptq: {layout: {sinh: {bits: %d, group: 16, fit: true}}}" % b for b in (2, 3, 4, 5, 6)},
    **{f"rtn shq {b}": "quant.rtn: {scale: mse, layout: {sinh: {bits: %d, group: 16, fit: true}}}" % b for b in (3, 4)},
    **{f"auto {b} {score}": "quant.auto: {bits: %g, score: %s, transform: {hadamard: {block: 64}}}" % (b, score)
       for b in (3.5, 4.25) for score in ("measured", "output", "fisher", "first-order", "two-sided")},
}
SINGLE.update({f"gptq+hadamard lut {b} g{g}": "quant.gptq: {%s, %s}" % (LUT % (b, g), HADAMARD)
               for b in (2, 3, 4, 5, 6) for g in (64, 128)})
SINGLE.update({f"gptq+hadamard lut {b} g{g}, 2 passes": "quant.gptq: {%s, passes: 2, %s}" % (LUT % (b, g), HADAMARD)
               for b, g in ((3, 64),)})
OPTIONS = ", ".join("{%s}" % (LUT % o) for o in ((2, 128), (2, 64), (3, 128), (3, 64), (4, 64), (5, 64), (6, 64)))
SINGLE.update({f"auto lut {b}": "quant.auto: {bits: %g, options: [%s], %s}" % (b, OPTIONS, HADAMARD) for b in (3.25, 3.5, 4.25)})
SINGLE.update({f"auto lut {b}, {r} rounds": "quant.auto: {bits: %g, rounds: %d, options: [%s], %s}" % (b, r, OPTIONS, HADAMARD)
               for b in (3.5, 4.25) for r in (0, 3)})
SINGLE.update({f"auto lut {b}, by group": "quant.auto: {bits: %g, unit: group, options: [%s], %s}" % (b, OPTIONS, HADAMARD) for b in (3.5,)})
# Whole files, the embedding inside the budget.
WHOLE = {f"auto lut {b} whole": 'quant.auto: {layers: "*,model.embed_tokens", bits: %g, options: [%s], %s}' % (b, OPTIONS, HADAMARD)
         for b in (2.2, 2.5, 3, 3.5, 4, 4.25, 4.5, 5, 5.5, 6)}
WHOLE |= {f"auto {b} whole": 'quant.auto: {layers: "*,model.embed_tokens", bits: %g, options: [%s], transform: {hadamard: {block: 64}}}'
         % (b, ", ".join("{%s}" % (UNIFORM % (w, g)) for w, g in ((2, 64), (2, 32), (3, 64), (4, 64), (5, 64), (6, 64), (8, 64))))
         for b in (2.4, 2.75, 3, 3.5, 4, 4.5, 5, 5.5, 6)}


def points():
    """Name to the recipe's steps."""
    out = {}
    for method, step in METHODS.items():
        for bits in BITS:
            for group in GROUPS.get(bits, (64,)):
                out[f"{method} {bits} bits g{group}"] = [EMBEDDING, step.format(layout=UNIFORM % (bits, group))]
    out.update({name: [EMBEDDING, step] for name, step in SINGLE.items()})
    out.update({f"gptq+hadamard lut {b} g64, embedding {e} bits": [OTHER_EMBEDDING % e, SINGLE[f"gptq+hadamard lut {b} g64"]]
                for b, e in ((3, 4), (4, 5), (5, 6))})
    out.update({name: [step] for name, step in WHOLE.items()})
    out.update({f"gptq+hadamard lut {b} g{g} whole": [LUT_EMBEDDING % (b, g), SINGLE[f"gptq+hadamard lut {b} g{g}"]]
                for b, g in ((2, 128), (2, 64), (3, 128), (3, 64), (4, 128), (4, 64), (5, 64), (6, 64))})
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
    cupel("run", path, "--out", job["out"], "--device", job["device"], "--threads", job["threads"], "-q")
    return job["out"] / "model.cupel"
