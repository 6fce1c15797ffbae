"""The check of --trigger: planted incidents of six kinds, and a snapshot of each."""

import re
import subprocess
import sys
import time

from check import Profile, alone, environment
from frameworks import python

RING = 12  # seconds
APART = 13  # seconds: a snapshot is written once in ten
# What each launcher's program does, in this order: 20 incidents.
PLANS = (
    ("step", "range", "question", "memory", "death"),
    ("idle", "step", "death", "range", "question"),
    ("memory", "idle", "step", "range", "death"),
    ("question", "memory", "idle", "step", "range"),
)
LARGE = 300 << 20  # bytes of a copy that nothing else makes
# What --trigger takes for each, and what the snapshot says of it.
TRIGGERS = {
    "step": ("step>150ms", r"^range \"step \d+\" .* (took|is open for)"),
    "range": ("range:load>100ms", r"^range \"load\" .* (took|is open for)"),
    "idle": ("idle:3s", r"^no GPU work ended for"),
    "memory": ("oom", r"^cudaMalloc of process \d+ found no memory$"),
    "question": (
        f"sql:SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE bytes = {LARGE} AND start > :since",
        r"^sql:SELECT 1 FROM .* says 1$",
    ),
    "death": (None, r"was ended by signal 6"),
}


def target(die, kinds):
    """The program: steps of some ms, and at its time each incident, in a range of its own."""
    import torch  # noqa: PLC0415

    nvtx = torch.cuda.nvtx
    matrix = torch.randn(256, 256, device="cuda")
    large = [torch.empty(LARGE, dtype=torch.uint8, device="cuda") for _ in range(2)]

    def work():
        for _ in range(40):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()

    def steps(seconds, *, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            nvtx.range_push(f"step {steps.count}")
            work()
            nvtx.range_pop()
            nvtx.range_push("load")
            time.sleep(0.001)
            nvtx.range_pop()
            steps.count += 1

    def incident(kind):
        if kind == "step":
            nvtx.range_push(f"step {steps.count}")
            work()
            time.sleep(0.3)
            nvtx.range_pop()
        elif kind == "range":
            nvtx.range_push("load")
            time.sleep(0.25)
            nvtx.range_pop()
        elif kind == "idle":
            time.sleep(4.5)
        elif kind == "memory":
            try:
                torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
            except torch.cuda.OutOfMemoryError:
                pass
        elif kind == "question":
            large[0].copy_(large[1])
            torch.cuda.synchronize()
        else:
            child = subprocess.Popen([die, "abort"], stdout=subprocess.DEVNULL)
            steps(60, until=lambda: child.poll() is not None)

    steps.count = 0
    for _ in range(100):
        work()
    steps(3)
    for number, kind in enumerate(kinds):
        began = time.monotonic()
        nvtx.range_push(f"incident {number}")
        incident(kind)
        nvtx.range_pop()
        steps(APART - (time.monotonic() - began))


@alone
def incidents(c):
    """Each planted incident has a snapshot that holds it and says why, and nothing else has one."""
    interpreter, die = python(c, "torch"), c.example("die")
    triggers = [f"--trigger={trigger}" for trigger, _ in TRIGGERS.values() if trigger]
    running = []
    for number, kinds in enumerate(PLANS):
        folder = c.folder / str(number)
        folder.mkdir()
        command = [
            c.options.gpuprof,
            f"--keep-last={RING}s",
            *triggers,
            "-o",
            folder / "run.sqlite",
        ]
        program = [interpreter, __file__, die, *kinds]
        running.append(
            subprocess.Popen(
                [str(word) for word in (*command, *program)],
                env=environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    planted = right = 0
    for number, (process, kinds) in enumerate(zip(running, PLANS, strict=True)):
        _, errors = process.communicate(timeout=60 + (APART + 5) * len(kinds))
        c.equal(process.returncode, 0, f"exit code ({errors})")
        snapshots = [
            Profile(path) for path in sorted((c.folder / str(number)).glob("run-*.sqlite"))
        ]
        reasons = [each.run().get("written_because", "") for each in snapshots]
        planted += len(kinds)
        if not c.equal(len(snapshots), len(kinds), f"snapshots of {kinds}: {reasons}"):
            continue
        for incident, kind in enumerate(kinds):
            says = c.expect(re.search(TRIGGERS[kind][1], reasons[incident]), f"{kind}: {reasons}")
            found = snapshots[incident].column(
                "SELECT name FROM nvtx_ranges WHERE name LIKE 'inc%'"
            )
            holds = c.expect(f"incident {incident}" in found, f"{kind}: the snapshot has {found}")
            right += bool(says and holds)
    c.seen["incidents"], c.seen["in their snapshots"] = planted, right


if __name__ == "__main__":
    target(sys.argv[1], sys.argv[2:])
