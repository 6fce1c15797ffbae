"""A tree of processes made by multiprocessing's spawn, each with work of its own on the GPU.

  gpuprof -o run.sqlite python examples/spawn_tree.py [workers] [launches]

WORKERS children of the first process (default 2), each with one child of its own. A process prints
its pid and adds 1 to a vector LAUNCHES times (default 10). Exits with 0 when all results are right.
"""

import multiprocessing
import os
import sys

import torch


def work(launches, workers, below):
    children = [
        multiprocessing.Process(target=work, args=(launches, 1, below - 1)) for _ in range(workers)
    ]
    for child in children if below else []:
        child.start()
    values = torch.zeros(1000, device="cuda")
    for _ in range(launches):
        values.add_(1)
    right = bool((values == launches).all())
    print(f"pid {os.getpid()}", flush=True)
    for child in children if below else []:
        child.join()
        right &= child.exitcode == 0
    if not right:
        sys.exit(f"process {os.getpid()}: wrong result, or a child's")


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    work(
        launches=int(sys.argv[2]) if len(sys.argv) > 2 else 10,
        workers=int(sys.argv[1]) if len(sys.argv) > 1 else 2,
        below=2,
    )
