"""Checks of Python programs, several processes, and every libcupti of the machine."""

import collections
import os
import re

from check import EXAMPLES, Check, Profile, Skipped, check, find_files, run, shorten
from endings import dies
from tracing import FLOAT, streams_are_right, vector_add_is_right

PYTHON_MODULES = {}


def python(c, *modules):
    """The interpreter, if it has the modules."""
    for module in modules:
        with Check.plain_lock:
            if module not in PYTHON_MODULES:
                PYTHON_MODULES[module] = (
                    run(
                        [
                            c.options.python,
                            "-c",
                            f"import importlib.util as u, sys; sys.exit(not u.find_spec('{module}'))",
                        ]
                    ).code
                    == 0
                )
        if not PYTHON_MODULES[module]:
            raise Skipped(f"{c.options.python} has no {module}")
    return c.options.python


def training_is_right(c, database, steps):
    c.sound(database)
    c.correlated(database)
    c.expect(database.one("SELECT count(*) FROM kernels") >= 10 * steps, "too few kernels")
    ranges = database.counts("SELECT name, count(*) FROM nvtx_ranges GROUP BY 1")
    wanted = {f"step {step}": 1 for step in range(steps)}
    wanted |= {part: steps for part in ("copy in", "forward", "backward", "optimizer")}
    c.equal(ranges, wanted, "ranges")
    # Two tensors are copied in at each step. Only these copies are inside the range.
    copies = database.counts(
        """SELECT r.name, m.kind, count(*) || ' copies, ' || sum(m.bytes) || ' bytes'
           FROM nvtx_ranges AS r JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS a
             ON a.threadId = r.thread_id AND a.start BETWEEN r.start AND r."end"
           JOIN memcpys AS m ON m.correlation_id = a.correlationId
           WHERE r.name = 'copy in' GROUP BY 1, 2"""
    )
    size = steps * 256 * (64 + 1) * FLOAT
    c.equal(
        copies, {("copy in", "HtoD"): f"{2 * steps} copies, {size} bytes"}, "copies inside copy in"
    )
    threads = database.one(
        """SELECT count(DISTINCT thread_id) FROM launches WHERE name NOT LIKE '%fill%'"""
    )
    c.expect(threads >= 2, f"{threads} launching threads: autograd has one of its own")


@check
def torch_training(c):
    database = c.gpuprof([python(c, "torch"), EXAMPLES / "train.py", "--steps", "5"])
    training_is_right(c, database, 5)


@check
def torch_profiler_inside(c):
    """A second CUPTI client in the target: it has its records, our data is complete, and nothing is said."""
    command = [python(c, "torch"), EXAMPLES / "train.py", "--steps", "3", "--profiler"]
    database = c.gpuprof(command)
    training_is_right(c, database, 3)
    lines = re.findall(r"^gpuprof: process \d+: .*", database.outcome.stderr, re.MULTILINE)
    c.equal(lines, [], "lines of gpuprof about the second client")
    c.seen["stderr"] = database.outcome.stderr.strip().splitlines()[:4]


@check
def torch_killed(c):
    """A framework's process killed in the middle of a step."""
    python(c, "torch")
    script = c.folder / "killed.py"
    script.write_text(
        "import os, signal, torch\n"
        "x = torch.ones(512, 512, device='cuda')\n"
        "for i in range(200): x.add_(1)\n"
        "torch.cuda.synchronize()\n"
        "for i in range(100): x.mul_(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    database = c.gpuprof([c.options.python, script])
    c.sound(database, losses=True)
    c.correlated(database)
    by_name = collections.Counter()
    for name, count in database.rows("SELECT name, count(*) FROM kernels GROUP BY 1"):
        for part in ("CUDAFunctorOnSelf_add", "MulFunctor"):
            if part in name:
                by_name[part] += count
    names = database.counts("SELECT name, count(*) FROM kernels GROUP BY 1")
    c.equal(database.one("SELECT count(*) FROM kernels"), 301, "kernels")
    c.equal(by_name["CUDAFunctorOnSelf_add"], 200, f"kernels of add_ ({shorten(names, 600)})")
    # What the program has waited for has its times.
    waited = "SELECT count(*) FROM kernels WHERE start IS NULL AND name NOT LIKE '%MulFunctor%'"
    c.equal(database.one(waited), 0, "kernels before the wait without times")


@check
def cupy(c):
    script = c.folder / "with_cupy.py"
    script.write_text(
        "import cupy\n"
        'add = cupy.RawKernel(\'extern "C" __global__ void from_cupy(float* x)'
        " { x[threadIdx.x] += 1; }', 'from_cupy')\n"
        "x = cupy.zeros(32, dtype=cupy.float32)\n"
        "for i in range(10): add((1,), (32,), (x,))\n"
        "print(float(x.sum()))\n"
    )
    database = c.gpuprof([python(c, "cupy"), script])
    c.sound(database)
    c.correlated(database)
    got = database.one("SELECT count(*) FROM kernels WHERE short_name = 'from_cupy'")
    c.equal(got, 10, "launches of from_cupy")


@check
def jax(c):
    script = c.folder / "with_jax.py"
    script.write_text(
        "import os\n"
        "os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'\n"
        "import jax, jax.numpy as jnp\n"
        "assert jax.devices()[0].platform == 'gpu'\n"
        "step = jax.jit(lambda x: jnp.tanh(x @ x) + 1)\n"
        "x = jnp.full((256, 256), 0.01)\n"
        "for i in range(10): x = step(x)\n"
        "print(bool(jnp.isfinite(x).all()))\n"
    )
    database = c.gpuprof([python(c, "jax", "jaxlib"), script])
    c.sound(database)
    c.correlated(database)
    c.expect(database.one("SELECT count(*) FROM kernels") >= 20, "fewer kernels than steps")


@check
def triton(c):
    database = c.gpuprof([python(c, "triton", "torch"), EXAMPLES / "triton_add.py", "10"])
    c.sound(database)
    c.correlated(database)
    got = database.rows(
        """SELECT short_name, api_domain, api_name, count(*) FROM launches
           WHERE short_name LIKE 'triton_add%' GROUP BY 1, 2, 3"""
    )
    c.equal([row[3] for row in got], [10], f"launches of triton_add {got}")
    c.equal({row[1] for row in got}, {"driver"}, "domain of the calls that launched triton_add")


@check
def spawn_tree(c):
    workers, launches = 2, 10
    command = [python(c, "torch"), EXAMPLES / "spawn_tree.py", str(workers), str(launches)]
    database = c.gpuprof(command, stdout=False)
    c.sound(database)
    c.correlated(database)
    printed = {int(pid) for pid in re.findall(rb"pid (\d+)", database.outcome.stdout)}
    c.equal(len(printed), 1 + 2 * workers, "processes that worked")
    c.equal(
        set(database.column("SELECT processId FROM PROCESS WHERE cupti_version IS NOT NULL")),
        printed,
        "PROCESS",
    )
    adds = database.counts(
        """SELECT process_id, count(*) FROM kernels
           WHERE name LIKE '%FunctorOnSelf_add%' GROUP BY 1"""
    )
    c.equal(adds, {pid: launches for pid in printed}, "kernels of add_ per process")
    shared = database.one(
        """SELECT count(*) FROM (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME
             GROUP BY 1 HAVING count(DISTINCT processId) > 1)"""
    )
    c.equal(shared, 0, "correlation ids of two processes")
    parents = database.counts("SELECT processId, parentProcessId FROM PROCESS")
    top = database.one("SELECT processId FROM PROCESS WHERE number = 0")
    c.equal(list(parents.values()).count(top), workers, "children of the first process")
    numbers = database.column("SELECT number FROM PROCESS ORDER BY number")
    c.equal(numbers, list(range(len(numbers))), "PROCESS.number")
    # Only their parents know how the others ended, not gpuprof.
    c.equal(database.one("SELECT exit_status FROM PROCESS WHERE number = 0"), 0, "exit_status")


@check
def file_per_process(c):
    """-o run-%p.sqlite: a file for each process."""
    script = c.folder / "two.sh"
    one, two = c.example("vector_add"), c.example("graph")
    script.write_text(f"#!/bin/sh\n{one} 1000000 10 &\n{two} 5 10\nstatus=$?\nwait\nexit $status\n")
    script.chmod(0o755)
    outcome = run([c.options.gpuprof, "-o", c.folder / "run-%p.sqlite", script], cwd=c.folder)
    c.equal(outcome.code, 0, "exit code")
    files = sorted(c.folder.glob("run-*.sqlite"))
    c.equal(len(files), 2, f"files {[file.name for file in files]}")
    kernels = []
    for file in files:
        database = Profile(file)
        c.sound(database)
        c.correlated(database)
        pids = database.column("SELECT processId FROM PROCESS")
        c.equal([f"run-{pid}.sqlite" for pid in pids], [file.name], "process of the file")
        kernels += database.rows("SELECT short_name, count(*) FROM kernels GROUP BY 1")
    c.equal(sorted(kernels), [("add_step", 50), ("vector_add", 10)], "kernels")
    database = c.gpuprof([script])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"add_step": 50, "vector_add": 10})
    c.equal(database.one("SELECT count(*) FROM PROCESS"), 2, "processes")


@check
def toolkit_cupti(c):
    """--cupti PATH: every libcupti of the machine that is not gpuprof's own version."""
    libraries = find_files("libcupti.so.1[23]")
    if not libraries:
        raise Skipped("no libcupti of a toolkit or a Python package was found")
    own = c.gpuprof([c.example("vector_add"), "1000", "1"])
    versions = {own.one("SELECT cupti_version FROM PROCESS"): "gpuprof's own"}
    for library in libraries:
        chosen = ("--cupti", library)
        database = c.gpuprof([c.example("vector_add"), "1000000", "10"], *chosen)
        version, path = database.row("SELECT cupti_version, cupti_path FROM PROCESS")
        c.equal(os.path.realpath(path or ""), os.path.realpath(library), "PROCESS.cupti_path")
        vector_add_is_right(c, database, 1_000_000, 10)
        if version in versions:
            continue
        versions[version] = library
        database = c.gpuprof([c.example("streams-shared"), "4", "8"], *chosen)
        c.sound(database)
        c.correlated(database)
        streams_are_right(c, database, 4, 8)
        database = c.gpuprof([c.example("graph"), "5", "10"], *chosen)
        c.sound(database)
        c.correlated(database)
        c.kernels(database, {"add_step": 50})
        database = c.gpuprof([c.example("unified_memory")], *chosen)
        c.sound(database)
        rows = database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER")
        c.expect(rows > 0, f"CUPTI {version}: no unified memory rows")
        for how in ("return", "kill"):
            dies(c, how, 0, *chosen)
            dies(c, how, 300, *chosen)
    c.seen["CUPTI"] = versions
