"""Profiles of many ranks of one training run, made of a real capture, with a planted fault or none.

The kernels of each step are those of the capture torch_step, in their order, each SCALE times as long; the
schedule around them (launches, collectives, hosts with clocks of their own) is computed. Or steps are those of
recordings of two GPUs (Recorded): each step of each rank is one that was recorded, with its kernels, the idle time
before each of them and its noise, and collectives take what recorded ones took. A Plan says what is planted; with
the same Plan the files are the same."""

import bisect
import contextlib
import dataclasses
import pathlib
import random
import shutil
import sqlite3
import statistics
import struct
import subprocess

PREFIX = "CUPTI_ACTIVITY_KIND_"
SCALE = 60
CHUNKS = 4  # of a step; an all-reduce follows each
COMPUTE, WORLD, PAIR = 7, 20, 21  # streams
LAUNCH, SYNCHRONIZE = 211, 165  # cudaLaunchKernel, cudaDeviceSynchronize
DOMAIN, SCHEMA = 3, 1 << 32 | 7
T0 = 1_795_240_556_000_000_000
TRANSFER = {"AllReduce": 300_000, "AllGather": 40_000}  # ns
BYTES = {"AllReduce": 64 << 20, "AllGather": 4 << 20}

FAULTS = ("slow rank", "slow link", "late host", "rotating", "throttling", "mismatch", "missing rank",
          "clock jump")  # fmt: skip


@dataclasses.dataclass
class Plan:
    ranks: int = 4
    steps: int = 20
    hosts: int = 1  # ranks are spread evenly, in order
    seed: int = 0
    fault: str = ""  # one of FAULTS
    rank: int = 1  # what the fault is of; of a link, the pair that it is in
    named: bool = True  # NCCL's NVTX payloads are there
    pairs: bool = True  # every two ranks have a communicator of their own, too
    clock_ns: int = 0  # largest offset of a host's clock
    drift: float = 0.0  # largest, as a share
    samples: bool = True  # clocks of the GPU are sampled

    def host_of(self, rank):
        return rank * self.hosts // self.ranks


def expected(plan):
    """What a report should find: [(kind, ranks, cause)]."""
    bad = [plan.rank]
    if plan.fault == "late host" and plan.hosts > 1:
        bad = [rank for rank in range(plan.ranks) if plan.host_of(rank) == plan.host_of(plan.rank)]
    pair = plan.rank // 2 * 2
    last = [rank for rank in range(plan.ranks) if plan.host_of(rank) == plan.hosts - 1]
    return {
        "": [],
        "slow rank": [("straggler", bad, "kernels")],
        "late host": [("straggler", bad, "host")],
        "throttling": [("straggler", bad, "throttling")],
        "rotating": [("rotating", None, "rotating")],
        "slow link": [("slow link", [pair, pair + 1], "network")],
        "mismatch": [("mismatch", bad, None)],
        "missing rank": [("missing rank", bad, None)],
        "clock jump": [("clock jump", last, None)],
    }[plan.fault]


def found(report):
    """What it did find, in the same form."""
    return [(each["kind"], None if each["kind"] == "rotating" else each["ranks"],
             each["evidence"].get("cause")) for each in report["findings"]]  # fmt: skip


class _Rank:
    def __init__(self, number):
        self.number = number
        self.host = self.device = self.world = self.pair = T0
        self.kernels, self.calls, self.ranges, self.samples = [], [], [], []
        self.correlation = 1000

    def launch(self, name, duration, stream, ready, took=4000):
        """Returns when the kernel starts; its end is added by finish_kernel()."""
        self.correlation += 1
        self.calls.append((LAUNCH, self.host, self.host + took, self.correlation))
        self.host += took
        start = max(ready, self.host + 2000)
        self.kernels.append([name, start, start + duration, stream, self.correlation])
        return start


class Recorded:
    """Steps of a rank, from one profile, and collectives of two ranks, from a pair of profiles. Steps in which the
    program warmed up are left out, and those with a pause of its own, which is a fault itself."""

    def __init__(self, steps, pair):
        found = self._steps(steps)[3:]
        times = [sum(idle + ns for idle, ns, _ in step) for step in found]
        usual = statistics.median(times)
        self.steps = [step for step, time in zip(found, times) if time < 1.1 * usual]
        self.transfers = self._transfers(pair)

    def _steps(self, path):
        """Of each: (idle ns before it, ns, number of its name) of each kernel that computes."""
        with contextlib.closing(sqlite3.connect(path)) as db:
            begins = [row[0] for row in db.execute("SELECT start FROM steps ORDER BY start")]
            kernels = db.execute(
                f"SELECT k.start, k.\"end\", k.name, s.value LIKE '%nccl%' FROM {PREFIX}CONCURRENT_KERNEL AS k "
                "JOIN StringTable AS s ON s._id_ = k.name ORDER BY k.start"
            ).fetchall()
        steps, busy, idle = [[] for _ in begins], 0, 0
        for start, end, name, waits in kernels:
            place = bisect.bisect(begins, start) - 1
            if place < 0:
                continue
            if busy < begins[place]:
                busy, idle = begins[place], 0
            idle += max(0, start - busy)
            busy = max(busy, end)
            if not waits:
                steps[place].append((idle, end - start, name))
                idle = 0
        return [step for step in steps if step]

    def _transfers(self, pair):
        """By operation of the plan: (bytes, what recorded all-reduces of that size took: the shorter of both)."""
        found = []
        for path in pair:
            with contextlib.closing(sqlite3.connect(path)) as db:
                found.append(db.execute(
                    f'SELECT k."end" - k.start, p.intValue FROM {PREFIX}CONCURRENT_KERNEL AS k '
                    "JOIN LAUNCH_RANGE AS l ON l.correlationId = k.correlationId JOIN NVTX_RANGE AS r ON r._id_ = l.range "
                    "JOIN NVTX_PAYLOAD AS p ON p.id = r.id AND p.processId = r.processId "
                    "JOIN StringTable AS s ON s._id_ = r.name WHERE s.value = 'ncclAllReduce' "
                    "AND p.field = 'Message size [bytes]' ORDER BY k.start").fetchall())  # fmt: skip
        every = [size for _, size in found[0] if size > 1 << 16]
        sizes = sorted(sorted(set(every), key=every.count)[-2:])
        both = [(min(a, b), size) for (a, size), (b, _) in zip(*found)]
        return {operation: (size, [ns for ns, of in both if of == size])
                for operation, size in zip(("AllGather", "AllReduce"), sizes)}  # fmt: skip


class Simulation:
    """Runs the plan; `ranks` has what each rank recorded, on the true clock."""

    def __init__(self, plan, durations, recorded=None):
        self.plan = plan
        self.recorded = recorded
        self.random = random.Random(f"{plan.seed} {plan.fault}")
        self.durations = durations  # of the capture's kernels, by place
        self.ranks = [_Rank(number) for number in range(plan.ranks)]
        self.clocks = [(0, 0.0)]
        for _ in range(plan.hosts - 1):
            offset = self.random.uniform(-1, 1) * plan.clock_ns
            self.clocks.append((round(offset), self.random.uniform(-1, 1) * plan.drift))
        self.jump = None
        for step in range(plan.steps):
            self._step(step)
        if plan.fault == "clock jump":
            self.jump = (self.ranks[0].host + T0) // 2

    def local(self, rank, time):
        """A time on the clock of the rank's host."""
        host = self.plan.host_of(rank)
        offset, drift = self.clocks[host]
        jumped = 3_000_000 if self.jump and host == self.plan.hosts - 1 and time > self.jump else 0
        return time + round(offset + drift * (time - T0)) + jumped

    def _is_bad(self, rank):
        if self.plan.fault == "late host" and self.plan.hosts > 1:
            return self.plan.host_of(rank) == self.plan.host_of(self.plan.rank)
        return rank == self.plan.rank

    def _speed(self, rank, step):
        speed = 1 if self.recorded else self.random.gauss(1, 0.002)
        if self._is_bad(rank):
            if self.plan.fault == "slow rank":
                speed *= 1.03
            if self.plan.fault == "throttling" and step >= self.plan.steps // 2:
                speed *= 1.15
        return speed

    def _step(self, step):
        paused = None
        if self.plan.fault == "rotating" and self.random.random() < 0.6:
            paused = self.random.randrange(self.plan.ranks)
        begins = [rank.host for rank in self.ranks]
        speeds = [self._speed(rank.number, step) for rank in self.ranks]
        if self.recorded:
            for rank in self.ranks:
                rank.recorded = self.random.choice(self.recorded.steps)
        for chunk in range(CHUNKS):
            for rank, speed in zip(self.ranks, speeds):
                if not self.recorded and self.random.random() < 0.02:
                    rank.host += round(self.random.uniform(50_000, 200_000))
                if self.plan.fault == "late host" and self._is_bad(rank.number) and chunk == 1:
                    rank.host = max(rank.host, rank.device) + round(
                        self.random.gauss(800_000, 40_000)
                    )
                if paused == rank.number and chunk == 2:
                    rank.host = max(rank.host, rank.device) + 6_000_000
                self._compute(rank, chunk, speed)
            if self.plan.pairs:
                for first in range(0, self.plan.ranks - 1, 2):
                    self._collective("AllGather", self.ranks[first : first + 2], step, chunk)
            self._collective("AllReduce", self.ranks, step, chunk)
        for rank, begin in zip(self.ranks, begins):
            end = max(rank.device, rank.world) + 5000
            rank.correlation += 1
            rank.calls.append((SYNCHRONIZE, rank.host, end, rank.correlation))
            rank.host = rank.device = end
            rank.ranges.append((f"step {step}", None, begin, end))
            slow = self.plan.fault == "throttling" and self._is_bad(rank.number)
            is_slow = slow and step >= self.plan.steps // 2
            rank.samples.append((begin, 1600 if is_slow else 1980, 4 if is_slow else 0))
            rank.host += round(self.random.uniform(20_000, 40_000))

    def _compute(self, rank, chunk, speed):
        if self.recorded:
            part = [len(rank.recorded) * i // CHUNKS for i in (chunk, chunk + 1)]
            for idle, duration, name in rank.recorded[slice(*part)]:
                rank.host = max(rank.host, rank.device + idle - 6000)
                start = rank.launch(name, round(duration * speed), COMPUTE, rank.device)
                rank.device = start + round(duration * speed)
            return
        for place in range(chunk, len(self.durations), CHUNKS):
            duration = round(self.durations[place] * SCALE * speed * self.random.gauss(1, 0.01))
            start = rank.launch(place, duration, COMPUTE, rank.device)
            rank.device = start + duration

    def _collective(self, operation, members, step, chunk):
        is_world = operation == "AllReduce"
        size, transfer = BYTES[operation], TRANSFER[operation] * self.random.gauss(1, 0.01)
        if self.recorded:
            size, times = self.recorded.transfers[operation]
            transfer = self.random.choice(times)
        if (
            self.plan.fault == "slow link"
            and not is_world
            and members[0].number == self.plan.rank // 2 * 2
        ):
            transfer *= 2
        starts = []
        for rank in members:
            begin = rank.host
            name = operation
            if self.plan.fault == "mismatch" and self._is_bad(rank.number) and is_world:
                name = "AllGather" if (step, chunk) == (self.plan.steps // 2, 2) else operation
            ready = max(rank.device, rank.world if is_world else rank.pair)
            starts.append(rank.launch(name, 0, WORLD if is_world else PAIR, ready, 6000))
            group = 0 if is_world else 1 + members[0].number // 2
            rank.ranges.append((f"nccl{name}", (group, size), begin, rank.host))
        for rank in members:
            end = round(max(starts) + transfer + self.random.uniform(0, 3000))
            rank.kernels[-1][2] = end
            if is_world:
                rank.world = end
            else:
                rank.pair = rank.device = end


class Writer:
    """Writes the profiles. `gpuprof` is the program, `capture` torch_step.gpcap."""

    def __init__(self, gpuprof, capture, folder):
        self.gpuprof = str(gpuprof)
        self.folder = pathlib.Path(folder)
        self.base = self.folder / "base.sqlite"
        self._run("replay", "-q", "-f", "-o", self.base, capture)
        base = sqlite3.connect(self.base)
        base.row_factory = sqlite3.Row
        kernels = base.execute(f"SELECT * FROM {PREFIX}CONCURRENT_KERNEL ORDER BY start").fetchall()
        self.kernels = [dict(row) for row in kernels]
        self.durations = [row["end"] - row["start"] for row in self.kernels]
        self.process = self.kernels[0]["processId"]
        self.object_id = struct.pack("<III", self.process, self.process, 0)
        with base:
            for kind in ("CONCURRENT_KERNEL", "RUNTIME", "DRIVER", "MARKER", "MARKER_DATA", "MEMCPY",
                         "MEMSET", "OVERHEAD", "SYNCHRONIZATION", "MEMORY2", "MEMORY"):  # fmt: skip
                base.execute(f"DELETE FROM {PREFIX}{kind}")
            for table in ("NVTX_RANGE", "NVTX_PAYLOAD"):
                base.execute(f"DELETE FROM {table}")
            # Then gpuprof finish computes everything.
            base.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
            base.execute("INSERT INTO RUN(key, value) VALUES('not_computed', 'all')")
            base.execute("UPDATE RUN SET value = ? WHERE key = 'zero_ns'", (T0,))
            base.executemany(
                "INSERT INTO NVTX_PAYLOAD_ENTRY(processId, domainId, schemaId, isEnum, schema, size, place,"
                " field, type, flags, length, offset) VALUES(?, ?, ?, 0, 'call', 16, ?, ?, ?, 0, 0, ?)",
                [(self.process, DOMAIN, SCHEMA, 0, "NCCL communicator ID", 18, 0),
                 (self.process, DOMAIN, SCHEMA, 1, "Message size [bytes]", 22, 8)],
            )  # fmt: skip
        base.execute("VACUUM")
        base.close()

    def _run(self, *words):
        subprocess.run([self.gpuprof, *map(str, words)], check=True, timeout=300)

    def write(self, plan, folder, change=lambda path: None):
        """Returns the paths of the ranks' files. `change` is called with each before it is finished."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        simulation = Simulation(plan, self.durations)
        paths = []
        for rank in simulation.ranks:
            if plan.fault == "missing rank" and rank.number == plan.rank:
                continue
            path = folder / f"rank{rank.number:04}.sqlite"
            shutil.copyfile(self.base, path)
            self._fill(path, plan, simulation, rank)
            change(path)
            self._run("finish", "-q", path)
            paths.append(path)
        return paths

    def _fill(self, path, plan, simulation, rank):
        db = sqlite3.connect(path)
        db.execute("PRAGMA synchronous = OFF")
        names = {}

        def string(text):
            if text not in names:
                names[text] = db.execute(
                    "INSERT INTO StringTable(value, demangled, short) VALUES(?, ?, ?)",
                    (text, text, text.partition("(")[0])).lastrowid  # fmt: skip
            return names[text]

        def local(time):
            return simulation.local(rank.number, time)

        with db:
            host = plan.host_of(rank.number)
            for key, value in (
                ("host_name", f"node{host}"),
                ("boot_id", f"boot-{plan.seed}-{host}"),
                ("clock_error_ns", 200_000 + 50_000 * host),
            ):
                db.execute("INSERT OR REPLACE INTO RUN(key, value) VALUES(?, ?)", (key, value))
            db.execute("UPDATE PROCESS SET rank = ?, worldSize = ?, localRank = ?, job = 'MASTER_PORT=1'",
                       (rank.number, plan.ranks, rank.number % (plan.ranks // plan.hosts)))  # fmt: skip
            rows = []
            for name, start, end, stream, correlation in rank.kernels:
                row = dict(self.kernels[name if isinstance(name, int) else 0])
                if not isinstance(name, int):
                    row["name"] = string(
                        f"ncclDevKernel_{name}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                    )
                row.update(start=local(start), end=local(end), completed=local(end), streamId=stream,
                           correlationId=correlation, _id_=None, gridId=correlation)  # fmt: skip
                rows.append(tuple(row.values()))
            columns = ", ".join(f'"{name}"' for name in self.kernels[0])
            marks = ", ".join("?" * len(self.kernels[0]))
            db.executemany(
                f"INSERT INTO {PREFIX}CONCURRENT_KERNEL({columns}) VALUES({marks})", rows
            )
            db.executemany(
                f'INSERT INTO {PREFIX}RUNTIME(cbid, start, "end", processId, threadId, correlationId, '
                "returnValue) VALUES(?, ?, ?, ?, ?, ?, 0)",
                [(cbid, local(begin), local(end), self.process, self.process, correlation)
                 for cbid, begin, end, correlation in rank.calls],
            )  # fmt: skip
            self._mark(db, plan, rank, string, local)
            if plan.samples:
                db.executemany(
                    f"INSERT INTO {PREFIX}ENVIRONMENT(deviceId, timestamp, environmentKind, data, smClock, "
                    "memoryClock, clocksThrottleReasons, processId) VALUES(0, ?, 1, x'', ?, 2619, ?, ?)",
                    [(local(time), clock, reasons, self.process) for time, clock, reasons in rank.samples],
                )  # fmt: skip
        db.close()

    def _mark(self, db, plan, rank, string, local):
        for i, (name, payload, begin, end) in enumerate(sorted(rank.ranges, key=lambda r: r[2]), 1):
            if payload and not plan.named:
                continue
            domain = string("NCCL") if payload else 0
            for flags, time, text in ((2, begin, string(name)), (4, end, 0)):
                db.execute(
                    f"INSERT INTO {PREFIX}MARKER(flags, timestamp, id, objectKind, objectId, name, domain, "
                    "threadId, processId) VALUES(?, ?, ?, 2, ?, ?, ?, ?, ?)",
                    (flags, local(time), i, self.object_id, text, domain, self.process, self.process),
                )  # fmt: skip
            if payload:
                group, size = payload
                db.execute(
                    f"INSERT INTO {PREFIX}MARKER_DATA(flags, id, payloadKind, payload, color, category, "
                    "cuptiDomainId, payloadSchema, payloadData, processId) "
                    "VALUES(0, ?, 6, x'', 0, 0, ?, ?, ?, ?)",
                    (i, DOMAIN, SCHEMA, struct.pack("<QQ", 0xA000 + group, size), self.process),
                )  # fmt: skip


# Without files: the tables of a store, as far as the analysis reads them


def _union(spans):
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def _length(spans):
    return sum(end - begin for begin, end in spans)


def _within(spans, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in spans if a < end and b > begin]


def _step_rows(rank, begin, end):
    """Of one step: (class, ns)."""
    kernels = _within([(k[1], k[2]) for k in rank.kernels if isinstance(k[0], int)], begin, end)
    others = _within([(k[1], k[2]) for k in rank.kernels if not isinstance(k[0], int)], begin, end)
    compute = _length(_union(kernels))
    busy = _length(_union(kernels + others))
    return (
        ("compute", compute),
        ("communication", busy - compute),
        ("no call", end - begin - busy),
    )


def tables(simulation):
    """{table: [row as a dict]}"""
    plan = simulation.plan
    found = {
        name: []
        for name in ("ranks", "steps", "account", "collectives", "rollups", "gaps", "environment")
    }
    for rank in simulation.ranks:
        number, host = rank.number, plan.host_of(rank.number)
        if plan.fault == "missing rank" and number == plan.rank:
            continue

        def local(time, number=number):
            return simulation.local(number, time)

        steps = [(begin, end) for name, payload, begin, end in rank.ranges if payload is None]
        ends = [begin for begin, _ in steps[1:]] + [steps[-1][1]]
        places, calls = {}, [each for each in rank.ranges if each[1]]
        operations = [each for each in rank.kernels if not isinstance(each[0], int)]
        for kernel, call in zip(operations, calls):
            step = max(i for i, (begin, _) in enumerate(steps) if begin <= call[2])
            name = f"{0xA000 + call[1][0]:016x}" if plan.named else f"stream {kernel[3] - WORLD}"
            place = places[step, name] = places.get((step, name), -1) + 1
            found["collectives"].append({
                "rank": number, "start": local(kernel[1]), "end": local(kernel[2]), "step": step,
                "communicator": name, "is_named": plan.named, "place": place, "operation": kernel[0], "sequence": None,
                "bytes": call[1][1] if plan.named else None,
                "sent": None, "received": None})  # fmt: skip
        for step, ((begin, _), end) in enumerate(zip(steps, ends)):
            found["steps"].append(
                {"rank": number, "step": step, "start": local(begin), "end": local(end)}
            )
            for name, ns in _step_rows(rank, begin, end):
                found["account"].append({"rank": number, "step": step, "device_id": 0, "class": name,
                                         "cause": None, "ns": ns})  # fmt: skip
            mine = [k for k in rank.kernels if isinstance(k[0], int) and begin <= k[1] < end]
            for kernel in {k[0] for k in mine}:
                times = [k[2] - k[1] for k in mine if k[0] == kernel]
                found["rollups"].append({"rank": number, "step": step, "work": "kernel", "name": f"k{kernel}",
                                         "count": len(times), "ns": sum(times)})  # fmt: skip
        if plan.samples:
            found["environment"] += [{"rank": number, "time": local(time), "sm_clock": clock,
                                      "throttle_reasons": reasons}
                                     for time, clock, reasons in rank.samples]  # fmt: skip
        found["ranks"].append({
            "rank": number, "host": f"node{host}", "boot_id": f"boot{host}", "world_size": plan.ranks,
            "kernels": len(rank.kernels), "collectives": len(operations), "steps": len(steps), "losses": 0,
            "rolled_up": None, "clock_error_ns": None, "link_bytes_per_second": None})  # fmt: skip
    found["gaps"].append({"rank": None, "step": None, "start": None, "duration": None})
    return found


def fill(connection, simulation):
    """These tables, in a DuckDB database."""
    import pyarrow

    found = tables(simulation)
    none = {"rank": None, "time": None, "sm_clock": None, "throttle_reasons": None}
    found["environment"] = found["environment"] or [none]
    for name, rows in found.items():
        connection.register("rows", pyarrow.Table.from_pylist(rows))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        connection.unregister("rows")
    for name in ("rolled_up", "clock_error_ns", "link_bytes_per_second"):
        connection.execute(f"ALTER TABLE ranks ALTER {name} TYPE BIGINT")
    connection.execute("ALTER TABLE account ALTER cause TYPE VARCHAR")
    connection.execute("ALTER TABLE collectives ALTER sequence TYPE BIGINT")
