"""A small PyTorch training loop, with an NVTX range around each step and its parts.

  gpuprof -o run.sqlite python examples/train.py [--steps N] [--batch N] [--width N] [--profiler]

Prints "ok" and exits with 0 when the loss went down. --profiler runs torch.profiler around it all,
--chrome-trace FILE writes what that saw.
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
    parser.add_argument("--chrome-trace", metavar="FILE")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, options.width), torch.nn.ReLU(), torch.nn.Linear(options.width, 1)
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(options.batch, 64)
    wanted = inputs.sum(dim=1, keepdim=True)

    wanted_profiler = options.profiler or options.chrome_trace
    profiler = torch.profiler.profile() if wanted_profiler else contextlib.nullcontext()

    @contextlib.contextmanager
    def part(name):
        with nvtx.range(name), torch.profiler.record_function(name):
            yield

    losses = []
    with profiler:
        for step in range(options.steps):
            with nvtx.range(f"step {step}"):
                with part("copy in"):
                    x, y = inputs.cuda(), wanted.cuda()
                with part("forward"):
                    loss = torch.nn.functional.mse_loss(model(x), y)
                with part("backward"):
                    optimizer.zero_grad()
                    loss.backward()
                with part("optimizer"):
                    optimizer.step()
                losses.append(loss.item())

    if options.chrome_trace:
        profiler.export_chrome_trace(options.chrome_trace)
    if options.steps > 1 and not losses[-1] < losses[0]:
        sys.exit(f"the loss went from {losses[0]} to {losses[-1]}")
    print("ok")


if __name__ == "__main__":
    main()
