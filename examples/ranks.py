#!/usr/bin/env python3
"""Three ways to spread a model over GPUs, one process for each. Steps are NVTX ranges, "step 12".

    torchrun --nproc-per-node 2 examples/ranks.py ddp|pipeline|experts [--steps N] [--late MS] [--tokens N]

ddp: each GPU has the model, and gradients are reduced. --late: rank 1 sleeps for MS milliseconds in each step.
pipeline: each GPU has a stage; four microbatches go forward and then back through all of them.
experts: each GPU has an expert, and tokens go to it and come back by all-to-all. The last GPU gets three times as
many as the others, or with --even the same.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MICROBATCHES = 4


def layers(width, count):
    return torch.nn.Sequential(
        *(torch.nn.Linear(width, width, bias=False) for _ in range(count))
    ).cuda()


def ddp(options):
    model = torch.nn.parallel.DistributedDataParallel(layers(options.width, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(options.tokens, options.width, device="cuda")

    def step():
        if RANK == 1 and options.late:
            time.sleep(options.late / 1000)
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    return step


def pipeline(options):
    stage = layers(options.width, 3)
    shape = (options.tokens // MICROBATCHES, options.width)
    first, last = RANK == 0, RANK == RANKS - 1
    data = torch.randn(shape, device="cuda")

    def step():
        kept = []
        for _ in range(MICROBATCHES):
            received = data if first else torch.empty(shape, device="cuda")
            if not first:
                dist.recv(received, RANK - 1)
            received = received.requires_grad_(not first)
            sent = stage(received)
            if not last:
                dist.send(sent.detach(), RANK + 1)
            kept.append((received, sent))
        for received, sent in kept:
            gradient = torch.empty_like(sent)
            if last:
                gradient = sent.detach() / sent.numel()
            else:
                dist.recv(gradient, RANK + 1)
            sent.backward(gradient)
            if not first:
                dist.send(received.grad, RANK - 1)
        stage.zero_grad()

    return step


def experts(options):
    expert = layers(options.width, 2)
    shares = [1 if options.even or rank < RANKS - 1 else 3 for rank in range(RANKS)]
    sent = [options.tokens * share // sum(shares) for share in shares]
    received = [sent[RANK]] * RANKS
    data = torch.randn(sum(sent), options.width, device="cuda")

    @torch.no_grad()
    def step():
        mine = torch.empty(sum(received), options.width, device="cuda")
        dist.all_to_all_single(mine, data, received, sent)
        back = torch.empty_like(data)
        dist.all_to_all_single(back, expert(mine), sent, received)
        dist.all_reduce(back.mean())

    return step


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("ddp", "pipeline", "experts"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=4096, help="rows of a batch")
    parser.add_argument("--width", type=int, default=1024, help="of the layers")
    parser.add_argument("--late", type=float, default=0, help="milliseconds")
    parser.add_argument("--even", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", RANK)))
    dist.init_process_group("nccl")
    step = {"ddp": ddp, "pipeline": pipeline, "experts": experts}[options.what](options)
    for number in range(options.steps):
        with torch.cuda.nvtx.range(f"step {number}"):
            step()
            torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
