#!/usr/bin/env python3
"""The column loop of GPTQ as it is usually written in PyTorch (lazy updates in blocks of 128 columns), for one block of Llama 3 8B's
shapes: what solve_bench is compared with.

  solve_torch.py [--device cuda] [--group 128]
"""
import argparse, time

import torch

SHAPES = [("q/k/v", 4096, (4096, 1024, 1024)), ("o", 4096, (4096,)), ("gate/up", 4096, (14336, 14336)), ("down", 14336, (4096,))]
TOKENS = 16384


def second_moment(inputs, device):
    spread = torch.exp(torch.arange(inputs, device=device) * -3.0 / inputs)
    x = torch.randn(TOKENS, inputs, device=device) * spread + 0.3
    return (x.T @ x) / TOKENS


def upper_inverse(h):
    damped = h + 0.01 * torch.mean(torch.diag(h)) * torch.eye(len(h), device=h.device)
    return torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(damped)), upper=True)


def round_matrix(w, u, group, top=15, block=128):
    codes = torch.empty(w.shape, dtype=torch.uint8, device=w.device)
    for begin in range(0, w.shape[1], block):
        end = min(begin + block, w.shape[1])
        part, errors, u_part = w[:, begin:end].clone(), torch.empty_like(w[:, begin:end]), u[begin:end, begin:end]
        for c in range(end - begin):
            if (begin + c) % group == 0:
                span = w[:, begin + c:begin + c + group]
                low, high = span.amin(1).clamp(max=0), span.amax(1).clamp(min=0)
                scale = ((high - low) / top).clamp(min=1e-8)
                zero = torch.round(-low / scale)
            x = part[:, c]
            q = torch.clamp(torch.round(x / scale) + zero, 0, top)
            codes[:, begin + c] = q.to(torch.uint8)
            error = (x - scale * (q - zero)) / u_part[c, c]
            part[:, c:] -= error.unsqueeze(1) @ u_part[c, c:].unsqueeze(0)
            errors[:, c] = error
        w[:, end:] -= errors @ u[begin:end, end:]
    return codes.cpu()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--group", type=int, default=128)
    options = parser.parse_args()
    moments = {inputs: second_moment(inputs, options.device) for inputs in (4096, 14336)}
    round_matrix(torch.randn(64, 4096, device=options.device), upper_inverse(moments[4096]), options.group)  # warm
    total = 0
    for name, inputs, outputs in SHAPES:
        weights = [torch.randn(o, inputs, device=options.device) * 0.02 for o in outputs]
        weights[-1].sum().item()
        start = time.perf_counter()
        u = upper_inverse(moments[inputs])
        for w in weights:
            round_matrix(w, u, options.group)
        seconds = time.perf_counter() - start
        total += seconds
        print(f"{name}: {seconds:.2f} s")
    print(f"one block, plain PyTorch: {total:.2f} s; 32 blocks would take {32 * total:.0f} s")


main()
