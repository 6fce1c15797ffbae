#!/usr/bin/env python3
"""Records each worker of a Ray program: Ray starts their Python through gpuprof.

    python examples/cluster/ray_train.py FOLDER [--workers N] [--gpus N]

FOLDER is one that all nodes see. Each worker writes a profile there when it ends; `gpuprof cluster build FOLDER -o store`
reads them. The runtime_env below is what a program of one's own needs; with a job:
`ray job submit --runtime-env-json '{"py_executable": "gpuprof -q -o /runs/%h-%p.sqlite python"}' -- python train.py`."""

import argparse
import os

import ray


def runtime_env(folder):
    """%h is the host and %p the process, so that no two workers have one name."""
    return {"py_executable": f"gpuprof -q --trace gpu,api,nvtx -o {folder}/%h-%p.sqlite python"}


@ray.remote
class Worker:
    """A rank. torch.distributed and gpuprof read its number from the environment, before CUDA is used."""

    def __init__(self, rank, ranks, address):
        os.environ.update(
            RANK=str(rank),
            WORLD_SIZE=str(ranks),
            LOCAL_RANK="0",
            MASTER_ADDR=address,
            MASTER_PORT="29500",
        )

    def train(self, steps):
        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024).cuda())
        for step in range(steps):
            with torch.cuda.nvtx.range(f"step {step}"):
                model(torch.randn(4096, 1024, device="cuda")).sum().backward()
        torch.cuda.synchronize()
        dist.destroy_process_group()

    def process(self):
        return os.getpid()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpus", type=float, default=1, help="of each worker; 0 only starts them")
    options = parser.parse_args()
    ray.init(runtime_env=runtime_env(os.path.abspath(options.folder)))
    address = ray.util.get_node_ip_address()
    workers = [
        Worker.options(num_gpus=options.gpus).remote(rank, options.workers, address)
        for rank in range(options.workers)
    ]
    print("processes", ray.get([worker.process.remote() for worker in workers]))
    if options.gpus:
        ray.get([worker.train.remote(100) for worker in workers])
    for worker in workers:
        worker.__ray_terminate__.remote()  # ends in order, and its profile with it


if __name__ == "__main__":
    main()
