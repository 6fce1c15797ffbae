"""A small PyTorch training loop, with an NVTX range around each step and its parts.

  gpuprof -o run.sqlite python examples/train.py [--steps N] [--batch N] [--width N] [--profiler]

Prints "ok" and exits with 0 when the loss went down. --profiler runs torch.profiler around it all.
"""

import argparse
import contextlib
import sys

import torch
from torch.cuda import nvtx


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--profiler", action="store_true")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, options.width), torch.nn.ReLU(), torch.nn.Linear(options.width, 1)
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(options.batch, 64)
    wanted = inputs.sum(dim=1, keepdim=True)

    profiler = torch.profiler.profile() if options.profiler else contextlib.nullcontext()
    losses = []
    with profiler:
        for step in range(options.steps):
            with nvtx.range(f"step {step}"):
                with nvtx.range("copy in"):
                    x, y = inputs.cuda(), wanted.cuda()
                with nvtx.range("forward"):
                    loss = torch.nn.functional.mse_loss(model(x), y)
                with nvtx.range("backward"):
                    optimizer.zero_grad()
                    loss.backward()
                with nvtx.range("optimizer"):
                    optimizer.step()
                losses.append(loss.item())

    if options.steps > 1 and not losses[-1] < losses[0]:
        sys.exit(f"the loss went from {losses[0]} to {losses[-1]}")
    print("ok")


if __name__ == "__main__":
    main()
