"""Training steps of Hugging Face's GPT-2, with an NVTX range around each step and its parts.

  gpuprof -o run.sqlite python examples/gpt2.py [--steps N]

The model is made from its configuration: nothing is downloaded. Prints "ok" and exits with 0 when the
loss went down.
"""

import argparse
import os
import sys

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"

import torch  # noqa: E402
from torch.cuda import nvtx  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=256)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config()).cuda()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    text = torch.randint(0, 50000, (options.batch, options.tokens)).pin_memory()

    losses = []
    for step in range(options.steps):
        with nvtx.range(f"step {step}"):
            with nvtx.range("copy in"):
                tokens = text.cuda(non_blocking=True)
            with nvtx.range("forward"):
                loss = model(input_ids=tokens, labels=tokens).loss
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
