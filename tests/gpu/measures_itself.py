"""Measures its own work with the Python package, and prints the results as JSON: a dict of
measurements. With the word `ranges` it does the same in NVTX ranges, for gpuprof to measure.

  PYTHONPATH=PREFIX/share/gpuprof/python measures_itself.py ONE_PASS_METRICS MORE_METRICS
  gpuprof --range nvtx:^attention$ --metrics LIST -o run.sqlite python measures_itself.py ranges
"""

import json
import sys

import torch

CALLS = 3


def work(size=2048):
    q, k, v = (torch.ones(1, 8, size, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v) @ v.transpose(-1, -2)


def adds():
    a = torch.ones(1 << 20, device="cuda")
    return a + a


def marked():
    for _ in range(CALLS):
        with torch.cuda.nvtx.range("attention"):
            work()
            torch.cuda.synchronize()


def measured(one_pass, more):
    import gpuprof

    def flops():
        return gpuprof.range("adds", ["flop_count_sp"]).run(adds).values["flop_count_sp"]

    found = {"with": [], "run": [], "flops": [flops()]}
    for _ in range(CALLS):
        with gpuprof.range("attention", one_pass) as r:
            work()
        found["with"].append(r.values)
    found["units"] = r.units
    for _ in range(CALLS):
        r = gpuprof.range("attention", one_pass + more).run(work)
        found["run"].append(r.values)
        found["passes"] = r.passes
    try:
        gpuprof.range("attention", one_pass + more).__enter__()
    except gpuprof.Error as error:
        found["refused"] = str(error)
    with gpuprof.trace("kernels.sqlite", metrics=["sm__ctas_launched.sum"]) as t:
        work()
    blocks = 'SELECT value, gridX * gridY * gridZ FROM METRIC_RANGE AS r JOIN METRIC_VALUE AS v ON v."range" = r._id_'
    found["blocks"] = list(t.run.sql(blocks))
    found["kernels"] = len(t.run.kernels)
    with gpuprof.trace("plain.sqlite") as t:  # after everything above
        work()
    found["plain"] = [len(t.run.kernels), [row["name"] for row in t.losses]]
    m = gpuprof.measure(configs=[1024, 2048], metrics=one_pass, runs=5)(work)()
    found["rows"] = m.rows
    state = torch.zeros(1 << 20, device="cuda")
    seen = []

    def counts():
        seen.append(state.sum().item())
        state.add_(1)

    for checkpoint in (True, False):
        r = gpuprof.range("counts", one_pass + more, checkpoint=checkpoint).run(counts)
    found["checkpoint"] = [r.passes, seen]
    found["flops"].append(flops())  # tracing's changes to the code are undone
    return found


if __name__ == "__main__":
    work()  # one-time work
    torch.cuda.synchronize()
    if sys.argv[1] == "ranges":
        marked()
    else:
        print(json.dumps(measured(*(word.split(",") for word in sys.argv[1:]))))
