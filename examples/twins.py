"""Small PyTorch programs, each with one fault, and their mended twins.

  gpuprof -o run.sqlite python3 examples/twins.py FAULT [--mended] [--steps N]

Each does the same work in every step, an NVTX range, with the fault or without it. `gpuprof findings`
should name the fault first, and not find it in the twin: scripts/gpu_check tries that."""

import argparse
import time

import torch
from torch.cuda import nvtx

FAULTS = {}  # by name: the function that returns a step


def fault(function):
    FAULTS[function.__name__] = function
    return function


def matrices(size, count=2):
    return [torch.randn(size, size, device="cuda") / size**0.5 for _ in range(count)]


def multiply(a, b, times):
    for _ in range(times):
        a = a @ b
    return a


@fault
def small_kernels(mended):
    """A layer of hundreds of small operations, which a graph launches at once."""
    x = torch.randn(64, 64, device="cuda")

    def work():
        y = x
        for _ in range(200):
            y = (y + 1.0) * 0.5
        return y

    if not mended:
        return work
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


@fault
def parameters_one_by_one(mended):
    """An optimizer that updates each parameter by itself."""
    parameters = [torch.randn(256, device="cuda", requires_grad=True) for _ in range(200)]
    for each in parameters:
        each.grad = torch.randn_like(each)
    optimizer = torch.optim.Adam(parameters, foreach=mended, fused=False)
    return optimizer.step


@fault
def item_of_each_loss(mended):
    """The loss is read after each batch."""
    a, b = matrices(4096)
    total = torch.zeros((), device="cuda")

    def step():
        nonlocal total
        for _ in range(10):
            loss = multiply(a, b, 1).mean()
            total = total + (loss if mended else loss.item())

    return step


@fault
def synchronize_each_layer(mended):
    a, b = matrices(4096)

    def step():
        for _ in range(10):
            multiply(a, b, 1).relu_()
            if not mended:
                torch.cuda.synchronize()

    return step


@fault
def wait_for_an_event(mended):
    a, b = matrices(4096)
    event = torch.cuda.Event()

    def step():
        for _ in range(10):
            multiply(a, b, 1).relu_()
            event.record()
            if not mended:
                event.synchronize()

    return step


@fault
def pageable_batches(mended):
    a, b = matrices(2048)
    batch = torch.randn(2048, 2048)
    if mended:
        batch = batch.pin_memory()
    side = torch.cuda.Stream()

    def step():
        if mended:
            with torch.cuda.stream(side):
                batch.to("cuda", non_blocking=True)
        else:
            batch.to("cuda")
        multiply(a, b, 4)

    return step


@fault
def pageable_results(mended):
    a, b = matrices(2048)
    result = torch.empty(2048, 2048, pin_memory=mended)

    def step():
        result.copy_(multiply(a, b, 4), non_blocking=mended)

    return step


@fault
def copies_before_the_work(mended):
    """Copies in the stream of the work, though the batch of the next step could be copied meanwhile."""
    a, b = matrices(2048)
    batch = torch.randn(2048, 2048).pin_memory()
    targets = [torch.empty(2048, 2048, device="cuda") for _ in range(2)]
    side = torch.cuda.Stream()

    def step():
        with torch.cuda.stream(side if mended else torch.cuda.current_stream()):
            targets[0].copy_(batch, non_blocking=True)
        targets.reverse()
        multiply(a, b, 4)

    return step


@fault
def many_small_copies(mended):
    a, b = matrices(2048)
    side = torch.cuda.Stream()
    batch = torch.randn(400, 256).pin_memory()
    target = torch.empty(400, 256, device="cuda")

    def step():
        with torch.cuda.stream(side):
            if mended:
                target.copy_(batch, non_blocking=True)
            else:
                for i in range(len(batch)):
                    target[i].copy_(batch[i], non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        multiply(a, b, 4)

    return step


@fault
def memory_given_back(mended):
    """empty_cache() in each step: the next tensors take cudaMalloc."""
    a, b = matrices(1024)

    def step():
        for _ in range(4):
            multiply(a, b, 2)
            torch.empty(64 << 20, device="cuda", dtype=torch.uint8).zero_()
            if not mended:
                torch.cuda.empty_cache()

    return step


@fault
def slow_loader(mended):
    """The host prepares a batch for longer than the GPU works on one."""
    a, b = matrices(2048)

    def step():
        if not mended:
            time.sleep(0.02)
        multiply(a, b, 16)

    return step


@fault
def work_of_the_host(mended):
    """Python computes between the kernels what does not change."""
    a, b = matrices(1024)

    def step():
        for _ in range(8):
            multiply(a, b, 1)
            if not mended:
                sum(i * i for i in range(20_000))

    return step


@fault
def few_blocks(mended):
    """A kernel of 16 blocks that loop, or one with a block for each part."""
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(x, parts, block: tl.constexpr):
        for part in range(tl.program_id(0), parts, tl.num_programs(0)):
            place = x + part * block + tl.arange(0, block)
            tl.store(place, tl.load(place) + 1)

    x = torch.zeros(1 << 25, device="cuda")
    parts = x.numel() // 1024
    return lambda: add_one[(parts if mended else 16,)](x, parts, 1024)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("--mended", action="store_true", help="without the fault")
    parser.add_argument("--steps", type=int, default=18)
    options = parser.parse_args()
    step = FAULTS[options.fault](options.mended)
    torch.cuda.synchronize()
    # The host is one step ahead, so that a step takes as long as its work.
    ends = [torch.cuda.Event(), torch.cuda.Event()]
    for number in range(options.steps):
        with nvtx.range(f"step {number}"):
            step()
            ends[0].record()
            ends.reverse()
            ends[0].synchronize()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
