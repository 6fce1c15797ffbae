"""A Triton kernel that adds two vectors, launched a number of times.

  gpuprof -o run.sqlite python examples/triton_add.py [launches]

Prints "ok" and exits with 0 when the sums are right. Default: 10 launches.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def triton_add(a, b, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(a + at, inside) + tl.load(b + at, inside), inside)


def main():
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    count = 100_000
    a = torch.arange(count, device="cuda", dtype=torch.float32)
    b = 2 * a
    out = torch.empty_like(a)
    for _ in range(launches):
        triton_add[(triton.cdiv(count, 1024),)](a, b, out, count, BLOCK=1024)
    torch.cuda.synchronize()
    if not torch.equal(out, 3 * a):
        sys.exit("wrong sums")
    print("ok")


if __name__ == "__main__":
    main()
