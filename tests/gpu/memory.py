"""Checks of where memory went: examples/allocations.cu says how much it had at most."""

import json
import shutil

from check import ROOT, Skipped, alone, check, each, run
from frameworks import python

KEPT = [1000, 70_000, 3_000_000]  # bytes, as in the example


def account(c, database, by="library"):
    """The tables of gpuprof memory: name -> rows."""
    tables = {}
    for options in ([], ["--leaks", "--by", by], ["--by", by]):
        outcome = run([c.options.gpuprof, "memory", database.path, "--json", *options])
        c.equal(outcome.code, 0, f"gpuprof memory: {outcome.stderr.strip()}")
        for table in json.loads(outcome.stdout)["tables"]:
            tables[table["table"]] = table["rows"]
    return tables


@each("memory", ["return", "exit", "abort", "kill"])
def memory(c, end):
    """Peaks to the byte, and the memory that a library keeps, with its name, class and stack."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skipped("no C compiler")
    library = c.folder / "libkeepsmemory.so"
    source = ROOT / "tests/gpu/keeps_memory.c"
    run([compiler, "-shared", "-fPIC", source, "-o", library])
    database = c.gpuprof([c.example("allocations-shared"), end, library], "--stacks")
    killed = end in ("abort", "kill")
    c.sound(database, losses=killed)
    wanted = {}
    for line in database.outcome.stdout.decode().splitlines():
        kind, _, size = line.rpartition(" ")
        wanted[kind] = int(size)
    tables = account(c, database)
    peaks = {}
    for row in tables["memory_peaks"]:
        name = f"{row['memory']} {row['pool_type'] or ''}".strip()
        peaks[name] = row["peak_bytes"]
    c.seen |= {"peaks": peaks, "wanted": wanted}
    for kind in ("Device", "Pinned", "Managed"):
        c.equal(peaks.get(kind), wanted[kind], f"peak of {kind}")
    pools = sorted(row["used_peak_bytes"] for row in tables["memory_pools"])
    c.equal(pools, sorted([wanted["pool 0"], wanted["pool 1"]]), "peaks of pools")
    leaks = {
        (row["class"], str(row["owner"]).rpartition("/")[2], row["allocation_bytes"], row["bytes"])
        for row in tables["memory_leaks"]
    }
    of = "alive" if killed else "lost"
    c.equal(leaks, {(of, library.name, size, size) for size in KEPT}, "what was kept")
    stacks = [row["owner"] for row in account(c, database, "stack")["memory_leaks"]]
    c.equal(
        [stack for stack in stacks if "keep (libkeepsmemory.so) < " not in str(stack)],
        [],
        "stacks of what was kept",
    )
    c.seen["stacks"] = stacks
    failed = [(r["function"], r["bytes"]) for r in tables["memory_failed_calls"]]
    c.expect(1 << 50 in [size for _, size in failed], f"call that found no memory: {failed}")
    c.seen["readings"] = len(tables["memory_readings"])


TORCH = """
import torch
held = [torch.randn(1 << n, device="cuda") for n in range(10, 26)]
model = torch.nn.Linear(4096, 4096, device="cuda")
for _ in range(5):
    model(torch.randn(512, 4096, device="cuda")).sum().backward()
torch.cuda.synchronize()
print(torch.cuda.memory_reserved(), flush=True)
"""


# Alone: what the device has in use is of all programs.
@each("memory_of_torch", ["segments", "expandable"], register_one=alone)
def memory_of_torch(c, how):
    """The memory that PyTorch says it reserved is alive at the end, attributed to its library."""
    setting = f"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:{how == 'expandable'}"
    command = ["env", setting, python(c, "torch"), "-c", TORCH]
    database = c.gpuprof(command, "--stacks")
    c.sound(database)
    reserved = int(database.outcome.stdout)
    tables = account(c, database)
    owners = {}
    for row in tables["memory_owners"]:
        key = f"{row['memory']} {str(row['owner']).rpartition('/')[2]}"
        owners[key] = owners.get(key, 0) + row["end_bytes"]
    c.seen |= {"owners": owners, "reserved": reserved}
    if how == "segments":
        c.equal(owners.get("Device libc10_cuda.so"), reserved, f"reserved; owners {owners}")
    else:
        mapped = sum(row["end_mapped_bytes"] for row in tables["memory_virtual"])
        c.equal(mapped, reserved, f"reserved; owners {owners}")
    stacks = account(c, database, "stack")["memory_owners"]
    of_allocator = sum(
        row["end_bytes"]
        for row in stacks
        if "(libc10_cuda.so)" in str(row["owner"]).split(" < ")[0]
    )
    c.equal(of_allocator, reserved, f"reserved, by stack; {stacks}")
    c.seen["stacks"] = [row["owner"] for row in stacks][:3]
    last = tables["memory_readings"][-1]
    named = sum(r["bytes"] for r in tables["memory_unaccounted"] if r["function"])
    c.seen["unaccounted"] = tables["memory_unaccounted"]
    c.seen["last reading"] = last
    unnamed = last["unaccounted_bytes"] - named
    c.expect(unnamed <= 0.01 * last["used_bytes"], f"{unnamed} of {last['used_bytes']} unnamed")


NESTED = """
import threading, torch
kept = []
def keep(size):
    kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
class Model(torch.nn.Module):
    def forward(self, size):
        keep(size)
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return 2 * x
    @staticmethod
    def backward(context, gradient):
        keep(214 << 20)
        return 2 * gradient
Model()(202 << 20)
thread = threading.Thread(target=Model(), args=(206 << 20,))
thread.start()
thread.join()
Doubled.apply(torch.ones(1, device="cuda", requires_grad=True)).backward()
torch.cuda.synchronize()
"""


def line_of(text):
    """Where a line of NESTED is, as stacks show it."""
    return f"(<string>:{NESTED.splitlines().index(text) + 1})"


@check
def memory_of_python_functions(c):
    """Python functions are above PyTorch's allocations, on each of its threads."""
    database = c.gpuprof([python(c, "torch"), "-c", NESTED], "--stacks")
    c.sound(database)
    owners = {
        row["allocated_bytes"] >> 20: str(row["owner"]).split(" < ")
        for row in account(c, database, "stack")["memory_owners"]
    }
    c.seen["owners"] = owners
    keep = "keep " + line_of('    kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))')
    model = "Model.forward " + line_of("        keep(size)")
    for size, functions in (
        (202, [keep, model, "<module> " + line_of("Model()(202 << 20)")]),
        (206, [keep, model, "Thread.run (threading.py:"]),
        (214, [keep, "Doubled.backward " + line_of("        keep(214 << 20)")]),
    ):
        places = [
            next((i for i, owner in enumerate(owners.get(size, [])) if owner.startswith(name)), -1)
            for name in functions
        ]
        c.expect(min(places) > 0 and places == sorted(places), f"{size} MiB: {functions} {places}")


@check
def memory_tracking_costs_little(c):
    """A loop of allocations and releases, with and without tracking."""
    command = [python(c, "torch"), "-c", LOOP]
    times = {}
    for options in ([], ["--track-memory"], ["--stacks"]):
        for _ in range(3):
            database = c.gpuprof(command, *options, stdout=False)
            took = float(database.outcome.stdout)
            times.setdefault(" ".join(options) or "traced", []).append(took)
    c.seen["us for cudaMalloc and cudaFree"] = times


LOOP = """
import ctypes, time, torch
torch.zeros(1, device="cuda")
runtime = ctypes.CDLL(next(l.split()[-1] for l in open("/proc/self/maps") if "libcudart.so" in l))
p = ctypes.c_void_p()
for turn in range(2):
    began = time.perf_counter()
    for _ in range(5000):
        runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1 << 16))
        runtime.cudaFree(p)
    took = time.perf_counter() - began
print(took / 5000 * 1e6)
"""
