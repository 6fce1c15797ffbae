"""gpuprof export to files of other tools: a separate reader reads each, and it has to contain what SQL
finds in the profile.
"""
# ctest-labels: plain

import collections
import csv
import gzip
import json
import os
import pathlib
import re
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

from otlp_profiles import Profiles, fields, one

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])

sys.path.insert(0, str(SOURCE / ".tools" / "frames"))
try:
    import pyarrow
    import pyarrow.ipc
except ImportError:  # scripts/setup gets it
    pyarrow = None

CAPTURES = ("vector_add", "torch_step", "two_processes", "streams_graph", "nvtx_threads", "die")
PREFIX = "CUPTI_ACTIVITY_KIND_"
ENDINGS = ("json", "pftrace", "speedscope.json", "folded", "pb.gz", "otlp", "csv", "arrow")
HOSTILE = 'q"uo\\te;\x01\n\x1b[31m / \u202e' + "x" * 65536


def read_pftrace(path):
    """Slices as (category, name, track, duration, flows), and names of tracks."""
    names, categories, tracks, events = {}, {}, {}, []
    for number, packet in fields(path.read_bytes()):
        assert number == 1
        interned = one(packet, 12, b"")
        for field, entry in fields(interned):
            table = {1: categories, 2: names}.get(field)
            if table is not None:
                table[one(entry, 1)] = one(entry, 2).decode("utf-8")
        track = one(packet, 60)
        if track is not None:
            tracks[one(track, 1)] = track
        event = one(packet, 11)
        if event is not None:
            events.append((one(packet, 8), len(events), event))
    slices, open_slices = [], collections.defaultdict(list)
    for time, _, event in sorted(events):
        place = one(event, 11)
        assert place in tracks
        if one(event, 9) == 4:  # read_pftrace_counters() reads these
            continue
        if one(event, 9) == 1:
            flows = [value for field, value in fields(event) if field == 47]
            begun = [categories[one(event, 3)], names[one(event, 10)], place, time, flows]
            open_slices[place].append(begun)
        else:
            category, name, track, start, flows = open_slices[place].pop()
            slices.append((category, name, track, time - start, flows))
    assert not any(open_slices.values())
    return slices, tracks


def read_pftrace_counters(path):
    """Name of the track and its unit -> values."""
    tracks, values = {}, collections.defaultdict(list)
    for _, packet in fields(path.read_bytes()):
        track = one(packet, 60, b"")
        counter = one(track, 8)
        if counter is not None:
            tracks[one(track, 1)] = (one(track, 2).decode(), one(counter, 6).decode())
        event = one(packet, 11, b"")
        if one(event, 9) == 4:
            (value,) = struct.unpack("<d", struct.pack("<Q", one(event, 44)))
            values[tracks[one(event, 11)]].append((one(packet, 8), value))
    return values


def sums(items):
    """(type, name, time) -> (count, time)."""
    found = collections.defaultdict(lambda: [0, 0])
    for kind, name, duration in items:
        found[kind, name][0] += 1
        found[kind, name][1] += duration
    return {key: tuple(value) for key, value in found.items()}


def ns(microseconds):
    sign, whole, part = re.fullmatch(r"(-?)(\d+)\.(\d{3})", microseconds).groups()
    return int(f"{sign}{whole}{part}")


def read_chrome(path):
    """With times as they are written."""
    return json.loads(path.read_text(encoding="utf-8"), parse_float=str)


CHROME_CATEGORIES = {
    "gpu_memcpy": "memcpy",
    "gpu_memset": "memset",
    "cuda_runtime": "runtime",
    "cuda_driver": "driver",
}


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        for capture in CAPTURES:
            cls.gpuprof("replay", SOURCE / f"tests/captures/{capture}.gpcap", "-o",
                        f"{capture}.sqlite")  # fmt: skip
            cls.export(capture)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def gpuprof(cls, *words, code=0):
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=cls.folder, text=True,
                             capture_output=True, timeout=120, check=False)  # fmt: skip
        if ran.returncode != code:
            raise AssertionError(f"{words}: {ran.returncode}\n{ran.stderr}")
        return ran

    @classmethod
    def export(cls, name, *options):
        for ending in ENDINGS:
            ran = cls.gpuprof("export", f"{name}.sqlite", "-f", "-o", f"{name}.{ending}", *options)
        return ran

    def rows(self, name, query):
        connection = sqlite3.connect(self.folder / f"{name}.sqlite")
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def gpu_work(self, name):
        return self.rows(
            name,
            'SELECT type, name, "end" - start FROM gpu_activities WHERE start > 0 AND "end" >= start',
        )

    def calls(self, name):
        # The views include versions in names of functions.
        return [
            (kind, re.sub(r"_v\d+.*$|_ptsz$|_ptds$", "", function), duration)
            for kind, function, duration in self.rows(
                name, "SELECT domain, name, duration FROM api_calls WHERE start > 0"
            )
        ]

    def csv_rows(self, name):
        csv.field_size_limit(1 << 20)
        with (self.folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def arrow_table(self, name):
        with pyarrow.ipc.open_file(self.folder / f"{name}.arrow") as file:
            table = file.read_all()
        table.validate(full=True)
        return table

    def arrow_rows(self, name):
        return self.arrow_table(name).to_pylist()

    def chrome_events(self, name):
        return read_chrome(self.folder / f"{name}.json")["traceEvents"]

    def chrome_slices(self, name):
        return [
            (CHROME_CATEGORIES.get(event["cat"], event["cat"]), event["name"], ns(event["dur"]))
            for event in self.chrome_events(name)
            if event["ph"] == "X"
        ]

    def stacks(self, name):
        """From speedscope: frames and time."""
        file = json.loads((self.folder / f"{name}.speedscope.json").read_text(encoding="utf-8"))
        frames = [frame["name"] for frame in file["shared"]["frames"]]
        for profile in file["profiles"]:
            self.assertEqual(profile["type"], "sampled")
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(profile["endValue"], sum(profile["weights"]))
            for sample, weight in zip(profile["samples"], profile["weights"]):
                yield [frames[number] for number in sample], weight

    def folded(self, name):
        text = (self.folder / f"{name}.folded").read_text(encoding="utf-8")
        for line in text.splitlines():
            stack, time = line.rsplit(" ", 1)
            yield stack.split(";"), int(time)

    def pprof(self, name):
        """For each sample: frames, time, count, labels."""
        profile = gzip.decompress((self.folder / f"{name}.pb.gz").read_bytes())
        every = collections.defaultdict(list)
        for number, value in fields(profile):
            every[number].append(value)
        strings = [text.decode("utf-8") for text in every[6]]
        self.assertEqual(strings[0], "")
        self.assertEqual(len(set(strings)), len(strings))
        types = [(strings[one(kind, 1)], strings[one(kind, 2)]) for kind in every[1]]
        self.assertEqual(types, [("gpu_work", "count"), ("gpu_time", "nanoseconds")])
        self.assertEqual([strings[number] for number in every[14]], ["gpu_time"])
        functions = {one(entry, 1): strings[one(entry, 2)] for entry in every[5]}
        places = {one(entry, 1): functions[one(one(entry, 4), 1)] for entry in every[4]}
        self.assertEqual(len(places), len(every[4]))
        self.assertNotIn(0, places)
        for sample in every[2]:
            frames = [places[value] for field, value in fields(sample) if field == 1]
            count, time = (value for field, value in fields(sample) if field == 2)
            labels = {
                strings[one(label, 1)]: strings[one(label, 2)]
                for field, label in fields(sample)
                if field == 3
            }
            yield frames[::-1], time, count, labels

    def otlp(self, name):
        """For each sample: frames, time, count, attributes; as pprof()."""
        profiles = Profiles((self.folder / f"{name}.otlp").read_bytes())
        for sample in profiles.samples:
            self.assertEqual(sample.kinds[-1], "cuda")
            yield sample.frames, sample.time, sample.count, sample.attributes

    def check_all(self, name):
        work, calls = self.gpu_work(name), self.calls(name)
        kinds = {kind for kind, _, _ in work} | {kind for kind, _, _ in calls}
        expected = sums(work + calls)
        base = lambda kind, text: re.sub(r"_v\d+.*$", "", text) if "_v" in text else text  # noqa: E731

        def named(items):
            return sums(
                (kind, base(kind, text) if kind in ("runtime", "driver") else text, time)
                for kind, text, time in items
                if kind in kinds
            )

        self.assertEqual(named(self.chrome_slices(name)), expected)
        slices, _ = read_pftrace(self.folder / f"{name}.pftrace")
        self.assertEqual(named((kind, text, time) for kind, text, _, time, _ in slices), expected)
        written = (
            (row["type"], row["name"], int(row["duration_ns"])) for row in self.csv_rows(name)
        )
        self.assertEqual(named(written), expected)
        by_name = collections.Counter()
        for _, text, duration in work:
            by_name[text] += duration
        samples = list(self.pprof(name))
        pprof = [(frames, time) for frames, time, _, _ in samples]
        for stacks in (self.stacks(name), self.folded(name), pprof):
            found = collections.Counter()
            for frames, time in stacks:
                found[frames[-1]] += time
            self.assertEqual(found, by_name)
        self.assertEqual(
            sorted((f, t, c, a["cuda.device"], a["cuda.stream"]) for f, t, c, a in self.otlp(name)),
            sorted((f, t, c, l["device"], l["stream"]) for f, t, c, l in samples),
        )
        counts = collections.Counter()
        for frames, _, count, labels in samples:
            counts[frames[-1]] += count
            self.assertLessEqual({"device", "stream"}, set(labels))
        self.assertEqual(counts, collections.Counter(text for _, text, _ in work))
        self.assertEqual(sorted((frames, time) for frames, time in self.stacks(name)),
                         sorted(pprof))  # fmt: skip
        bytes_of = self.rows(
            name,
            "SELECT (SELECT sum(bytes) FROM memcpys WHERE start > 0), "
            "(SELECT sum(bytes) FROM memsets WHERE start > 0)",
        )[0]
        total = sum(size or 0 for size in bytes_of)
        self.assertEqual(sum(int(row["bytes"] or 0) for row in self.csv_rows(name)), total)
        events = self.chrome_events(name)
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual(sum(event.get("args", {}).get("bytes", 0) for event in slices), total)

    def test_sums_of_captures(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture):
                self.check_all(capture)

    def test_ranges(self):
        for capture in ("torch_step", "nvtx_threads"):
            expected = sums(
                ("range", name, duration)
                for name, duration in self.rows(capture, "SELECT name, duration FROM nvtx_ranges")
                if duration is not None
            )
            self.assertTrue(expected)
            found = [
                ("range", name, time)
                for kind, name, time in self.chrome_slices(capture)
                if kind == "user_annotation"
            ]
            self.assertEqual(sums(found), expected)
            slices, _ = read_pftrace(self.folder / f"{capture}.pftrace")
            found = [
                ("range", name, time)
                for kind, name, _, time, _ in slices
                if kind in ("push_pop", "start_end")
            ]
            self.assertEqual(sums(found), expected)

    def test_paths(self):
        expected = collections.Counter()
        for path, time in self.rows(
            "torch_step",
            "SELECT s.value, k.duration FROM kernels AS k "
            "LEFT JOIN LAUNCH_RANGE AS r ON r.correlationId = k.correlation_id "
            "LEFT JOIN NVTX_PATH AS p ON p.range = r.range "
            "LEFT JOIN StringTable AS s ON s._id_ = p.path WHERE k.start > 0",
        ):
            expected[path or ""] += time
        self.assertGreater(len(expected), 1)
        found = collections.Counter()
        for row in self.csv_rows("torch_step"):
            if row["type"] == "kernel":
                found[row["nvtx_path"]] += int(row["duration_ns"])
        self.assertEqual(found, expected)

    def test_arrows(self):
        for capture in CAPTURES:
            events = self.chrome_events(capture)
            begun = {event["id"] for event in events if event["ph"] == "s"}
            ended = {event["id"] for event in events if event["ph"] == "f"}
            self.assertEqual(begun & ended, ended)
            slices, tracks = read_pftrace(self.folder / f"{capture}.pftrace")
            api = {flow for kind, _, _, _, flows in slices if kind == "runtime" for flow in flows}
            gpu = {flow for kind, _, _, _, flows in slices if kind == "kernel" for flow in flows}
            if capture != "die":
                self.assertTrue(api & gpu, capture)
            for track in tracks.values():
                self.assertIn(one(track, 5, next(iter(tracks))), tracks)

    def test_processes_have_names(self):
        """The program, the script it ran, and the process id."""
        wanted = {"python3 train.py [2245]"}
        events = self.chrome_events("torch_step")
        named = {event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertEqual({name for name in named if not name.startswith("GPU")}, wanted)
        _, tracks = read_pftrace(self.folder / "torch_step.pftrace")
        processes = [one(track, 3) for track in tracks.values() if one(track, 3)]
        self.assertEqual({one(process, 6).decode() for process in processes}, wanted)
        stacks = json.loads((self.folder / "torch_step.speedscope.json").read_text())
        for profile in stacks["profiles"]:
            self.assertTrue(profile["name"].endswith(", python3 train.py [2245]"), profile["name"])

    def test_how_full_multiprocessors_are(self):
        """As PyTorch's profiler reports it, and bandwidths of copies."""
        loads = self.rows("torch_step", """
            SELECT k.correlation_id, 1.0 * k.blocks / d.multiprocessors,
                   k.threads / 32.0 / d.multiprocessors,
                   min(1.0 * k.blocks / d.multiprocessors, k.blocks_per_sm)
                     * k.block_x * k.block_y * k.block_z / (32.0 * v.maxWarpsPerMultiprocessor)
            FROM kernels AS k JOIN devices AS d ON d.device_id = k.device_id
            JOIN CUPTI_ACTIVITY_KIND_DEVICE AS v ON v.id = k.device_id""")  # fmt: skip
        self.assertGreater(len(loads), 30)
        args = {event["args"].get("correlation"): event["args"]
                for event in self.chrome_events("torch_step") if event.get("cat") == "kernel"}  # fmt: skip
        for correlation, blocks, warps, occupancy in loads:
            said = args[correlation]
            self.assertAlmostEqual(float(said["blocks per SM"]), blocks)
            self.assertAlmostEqual(float(said["warps per SM"]), warps)
            self.assertAlmostEqual(said["est. achieved occupancy %"], 100 * occupancy, delta=0.51)
        moved = self.rows("torch_step", "SELECT correlation_id, 1.0 * bytes / duration FROM memcpys"
                          " UNION ALL SELECT correlation_id, 1.0 * bytes / duration FROM memsets")  # fmt: skip
        args = {event["args"].get("correlation"): event["args"]
                for event in self.chrome_events("torch_step")
                if event.get("cat") in ("gpu_memcpy", "gpu_memset")}  # fmt: skip
        self.assertGreater(len(moved), 0)
        for correlation, rate in moved:
            self.assertAlmostEqual(float(args[correlation]["memory bandwidth (GB/s)"]), rate)

    def packed(self, capture):
        """A capture from an archive, as a profile."""
        for archive in sorted((SOURCE / "tests/captures").glob("*.tar.xz")):
            with tarfile.open(archive) as packed:
                if f"{capture}.gpcap" in packed.getnames():
                    packed.extract(f"{capture}.gpcap", self.folder)
        self.gpuprof("replay", "-f", f"{capture}.gpcap", "-o", f"{capture}.sqlite")
        self.export(capture)

    def same_values(self, found, wanted):
        self.assertEqual(set(found), set(wanted))
        for key, values in wanted.items():
            self.assertEqual(len(found[key]), len(values), key)
            unlike = [
                pair for pair in zip(sorted(found[key]), sorted(values)) if len(set(pair)) > 1
            ]
            self.assertEqual(unlike[:3], [], key)

    def test_values_over_time(self):
        environment = {
            "smClock": ("clock of the multiprocessors", "MHz"),
            "memoryClock": ("clock of the memory", "MHz"),
            "gpuTemperature": ("temperature", "Celsius"),
            "power": ("power", "mW"),
            "fanSpeed": ("fan", "%"),
        }
        seen = set()
        for capture in ("pm_sampling", "kinds", "stacks"):
            self.packed(capture)
            wanted = collections.defaultdict(list)
            for metric, unit, start, value in self.rows(
                capture, "SELECT metric, unit, start, value FROM pm_samples WHERE value IS NOT NULL"
            ):
                wanted[metric, unit or ""].append((start, value))
            for time, value, kind, pool in self.rows(
                capture,
                "SELECT m.time, u.inUse, m.memory, m.pool_type FROM MEMORY_USE AS u "
                f"JOIN {PREFIX}MEMORY2 AS r ON r._id_ = u.operation "
                "JOIN allocations AS m ON m.correlation_id = r.correlationId "
                " AND m.time = r.timestamp AND m.address = r.address",
            ):
                name = f"{kind} memory" + (" from pools" if pool else "")
                wanted[name, "bytes"].append((time, float(value)))
            for column, key in environment.items():
                for time, value in self.rows(
                    capture,
                    f"SELECT timestamp, {column} FROM {PREFIX}ENVIRONMENT "
                    f"WHERE {column} IS NOT NULL",
                ):
                    wanted[key].append((time, float(value)))
            self.assertTrue(wanted, capture)
            seen |= set(wanted)
            found = collections.defaultdict(list)
            for (name, unit), values in read_pftrace_counters(
                self.folder / f"{capture}.pftrace"
            ).items():
                found[name.rpartition(": ")[2], unit] += values
            self.same_values(found, wanted)
            zero = read_chrome(self.folder / f"{capture}.json")["baseTimeNanoseconds"]
            found.clear()
            for event in self.chrome_events(capture):
                if event["ph"] == "C":
                    ((unit, value),) = event["args"].items()
                    key = event["name"].rpartition(": ")[2], "" if unit == "value" else unit
                    found[key].append((zero + ns(event["ts"]), float(value)))
            self.same_values(found, wanted)
        self.assertGreater(len(seen), 10)
        self.export("pm_sampling", "--from", "10ms", "--to", "20ms")
        for times in read_pftrace_counters(self.folder / "pm_sampling.pftrace").values():
            self.assertLess(max(times)[0] - min(times)[0], 10_000_000)
        # Memory allocated before a window is present when it begins.
        ((first, last),) = self.rows(
            "stacks", f"SELECT min(timestamp), max(timestamp) FROM {PREFIX}MEMORY2"
        )
        zero = self.rows("stacks", "SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0]
        begin = (first + last) // 2
        self.gpuprof(
            "export", "stacks.sqlite", "-f", "-o", "part.pftrace", "--from", f"{begin - zero}ns"
        )
        expected = collections.Counter(
            float(use)
            for (use,) in self.rows(
                "stacks",
                "SELECT u.inUse FROM (SELECT deviceId, processId, memoryKind, poolType, "
                f"max(_id_) AS latest FROM {PREFIX}MEMORY2 WHERE timestamp < {begin} "
                "GROUP BY 1, 2, 3, 4) AS m JOIN MEMORY_USE AS u ON u.operation = m.latest",
            )
        )
        found = collections.Counter()
        for (_, unit), values in read_pftrace_counters(self.folder / "part.pftrace").items():
            if unit == "bytes" and min(values)[0] == begin:
                found[min(values)[1]] += 1
        self.assertTrue(expected)
        self.assertEqual(found, expected)
        self.gpuprof(
            "export", "pm_sampling.sqlite", "-f", "-o", "none.pftrace", "--process", "999999"
        )
        kept = {name for name, _ in read_pftrace_counters(self.folder / "none.pftrace")}
        self.assertTrue(kept)  # of the device
        self.assertFalse([name for name in kept if "memory" in name])

    def test_metrics_of_kernels(self):
        self.packed("metrics")
        wanted = collections.Counter(
            self.rows("metrics", "SELECT name, metric, value FROM kernel_metrics WHERE start > 0")
        )
        self.assertGreater(len(wanted), 10)
        metrics = {metric for _, metric, _ in wanted}
        found = collections.Counter(
            (event["name"], metric, float(event["args"][metric]))
            for event in self.chrome_events("metrics")
            if event.get("cat") == "kernel"
            for metric in metrics & set(event["args"])
        )
        self.assertEqual(found, wanted)
        trace = (self.folder / "metrics.pftrace").read_bytes()
        names, values = {}, []
        for _, packet in fields(trace):
            for field, entry in fields(one(packet, 12, b"")):
                if field == 3:
                    names[one(entry, 1)] = one(entry, 2).decode()
            for field, entry in fields(one(packet, 11, b"")):
                if field == 4 and one(entry, 5) is not None:
                    (value,) = struct.unpack("<d", struct.pack("<Q", one(entry, 5)))
                    values.append((names[one(entry, 1)], value))
        self.assertEqual(
            collections.Counter(values),
            collections.Counter((metric, value) for _, metric, value in wanted.elements()),
        )

    def test_without_times(self):
        ran = self.export("die")
        self.assertIn("101 records of GPU work have no times", ran.stderr)

    def test_filters(self):
        self.export("torch_step", "--kernels", "gemm")
        work = [row for row in self.csv_rows("torch_step") if not row["thread_id"]]
        expected = [row for row in self.gpu_work("torch_step") if "gemm" in row[1]]
        self.assertTrue(expected)
        self.assertEqual(len(work), len(expected))
        zero = self.rows("torch_step", "SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0]
        self.export("torch_step", "--from", "100ms", "--to", "1s")
        starts = [int(row["start_ns"]) - zero for row in self.csv_rows("torch_step")]
        self.assertTrue(starts)
        self.assertTrue(all(100_000_000 <= start < 1_000_000_000 for start in starts))
        processes = {row["process_id"] for row in self.csv_rows("two_processes")}
        self.assertEqual(len(processes), 2)
        self.export("two_processes", "--process", min(processes))
        self.assertEqual({row["process_id"] for row in self.csv_rows("two_processes")},
                         {min(processes)})  # fmt: skip
        self.export("two_processes")
        self.export("torch_step")

    def test_hostile_and_odd(self):
        source = sqlite3.connect(self.folder / "streams_graph.sqlite")
        changed = sqlite3.connect(self.folder / "odd.sqlite")
        source.backup(changed)
        source.close()
        kernels = f"{PREFIX}CONCURRENT_KERNEL"
        ids = changed.execute(f"SELECT _id_ FROM {kernels} ORDER BY start LIMIT 4").fetchall()
        (one_id,), (two,), (three,), (four,) = ids
        last = changed.execute("SELECT max(_id_) FROM StringTable").fetchone()[0]
        columns = "_id_, value, demangled, short, display"
        changed.execute(f"INSERT INTO StringTable({columns}) VALUES(?1, ?2, ?2, ?2, ?2)",
                        (last + 1, HOSTILE))  # fmt: skip
        changed.execute(
            f"INSERT INTO StringTable({columns}) VALUES(?1, CAST(x'ff00fe22' AS TEXT), "
            "CAST(x'ff00fe22' AS TEXT), CAST(x'ff00fe22' AS TEXT), CAST(x'ff00fe22' AS TEXT))",
            (last + 2,),
        )
        update = f"UPDATE {kernels} SET"
        changed.execute(f"{update} name = ?, [end] = [end] + 1000000 WHERE _id_ = ?",
                        (last + 1, one_id))  # fmt: skip
        changed.execute(f"{update} name = ? WHERE _id_ = ?", (last + 2, two))
        changed.execute(f"{update} [end] = start WHERE _id_ = ?", (three,))
        changed.execute(f"{update} start = 0, [end] = 0 WHERE _id_ = ?", (four,))
        changed.commit()
        changed.close()
        ran = self.export("odd")
        self.assertIn("1 records of GPU work have no times", ran.stderr)
        kernels = [row for row in self.gpu_work("odd") if row[0] == "kernel"]
        total = sum(duration for _, _, duration in kernels)
        slices = [row for row in self.chrome_slices("odd") if row[0] == "kernel"]
        self.assertEqual((len(slices), sum(row[2] for row in slices)), (len(kernels), total))
        self.assertIn(HOSTILE, {name for _, name, _ in slices})
        tracks, _ = read_pftrace(self.folder / "odd.pftrace")
        times = [time for kind, _, _, time, _ in tracks if kind == "kernel"]
        self.assertEqual((len(times), sum(times)), (len(kernels), total))
        self.assertIn(HOSTILE, {row[1] for row in tracks})
        rows = [row for row in self.csv_rows("odd") if row["type"] == "kernel"]
        self.assertEqual(sum(int(row["duration_ns"]) for row in rows), total)
        self.assertNotIn("\x1b", (self.folder / "odd.csv").read_text(encoding="utf-8"))
        self.assertIn(HOSTILE, {frames[-1] for frames, _ in self.stacks("odd")})
        self.assertIn(HOSTILE, {frames[-1] for frames, _, _, _ in self.pprof("odd")})
        every = sum(duration for _, _, duration in self.gpu_work("odd"))
        self.assertEqual(sum(time for _, time in self.folded("odd")), every)

    @unittest.skipUnless(pyarrow, "there is no pyarrow")
    def test_arrow_has_the_rows_of_csv(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture):
                rows = [
                    {name: "" if value is None else str(value) for name, value in row.items()}
                    for row in self.arrow_rows(capture)
                ]
                self.assertTrue(rows)
                self.assertEqual(rows, self.csv_rows(capture))

    @unittest.skipUnless(pyarrow, "there is no pyarrow")
    def test_arrow_of_many_rows_and_odd_names(self):
        source = sqlite3.connect(self.folder / "vector_add.sqlite")
        changed = sqlite3.connect(self.folder / "many.sqlite")
        source.backup(changed)
        source.close()
        changed.execute(
            f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 140000) "
            f"INSERT INTO {PREFIX}RUNTIME(cbid, start, [end], processId, threadId, correlationId, "
            "returnValue) SELECT i % 400, i, 3 * i, 7, 8, 1000000 + i, 0 FROM n"
        )
        changed.execute(
            "UPDATE StringTable SET value = ?1, demangled = ?1 WHERE _id_ IN "
            f"(SELECT name FROM {PREFIX}CONCURRENT_KERNEL)",
            (HOSTILE,),
        )
        changed.commit()
        changed.close()
        self.gpuprof("export", "many.sqlite", "-o", "many.arrow")
        self.gpuprof("export", "many.sqlite", "-o", "many.csv")
        table, csv_rows = self.arrow_table("many"), self.csv_rows("many")
        self.assertGreater(len(table), 2 * 65536)
        numbers = ("start_ns", "end_ns", "duration_ns", "process_id", "correlation_id")
        rows = table.select([*numbers, "type", "name"]).to_pylist()
        self.assertEqual(
            [tuple(str(row[name]) for name in numbers) for row in rows],
            [tuple(row[name] for name in numbers) for row in csv_rows],
        )
        self.assertEqual({row["name"] for row in rows if row["type"] == "kernel"}, {HOSTILE})
        self.assertEqual(
            [row["name"] for row in rows if row["process_id"] == 7],
            [row["name"] for row in csv_rows if row["process_id"] == "7"],
        )
        with pyarrow.ipc.open_file(self.folder / "many.arrow") as file:
            self.assertEqual(file.num_record_batches, 3)

    @unittest.skipUnless(pyarrow, "there is no pyarrow")
    def test_only_own_arrow_files_are_replaced(self):
        path = self.folder / "foreign.arrow"
        table = pyarrow.table({"mine": [1, 2]})
        with pyarrow.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        written = path.read_bytes()
        self.gpuprof("export", "vector_add.sqlite", "-f", "-o", path.name, code=21)
        self.assertEqual(path.read_bytes(), written)

    def test_files(self):
        kept = self.folder / "kept.json"
        kept.write_text('{"mine": 1}')
        profile = "vector_add.sqlite"
        self.gpuprof("export", profile, "-o", kept.name, code=21)
        self.gpuprof("export", profile, "-f", "-o", kept.name, code=21)
        self.assertEqual(kept.read_text(), '{"mine": 1}')
        self.gpuprof("export", profile, "-f", "-o", profile, "--format", "csv", code=21)
        self.gpuprof("export", profile, "-o", "unknown.ending", code=5)
        ran = self.gpuprof("export", profile, "-o", "run.parquet", code=5)
        self.assertIn('.kernels.parquet("kernels.parquet")', ran.stderr)
        self.gpuprof("export", profile, "-o", "by_name", "--format", "chrome")
        self.assertTrue(read_chrome(self.folder / "by_name")["traceEvents"])
        packed = self.folder / "packed.json.gz"
        for option in ((), ("-f",)):
            self.gpuprof("export", profile, "-o", packed.name, *option)
            plain = (self.folder / "by_name").read_bytes()
            self.assertEqual(gzip.decompress(packed.read_bytes()), plain)
            self.assertLess(packed.stat().st_size, len(plain) / 4)
        packed.write_bytes(gzip.compress(b"mine"))
        self.gpuprof("export", profile, "-f", "-o", packed.name, code=21)
        self.assertEqual(gzip.decompress(packed.read_bytes()), b"mine")
        self.gpuprof("export", "missing.sqlite", "-o", "x.json", code=20)
        self.gpuprof("export", profile, "-o", "x.json", "--process", "a", code=5)
        self.gpuprof("export", profile, "-o", "x.json", "--for", "nvprof", "--kernels", "a", code=5)
        self.assertFalse((self.folder / "x.json").exists())
        self.assertEqual(os.stat(self.folder / "by_name").st_mode & 0o777, 0o600)

    def test_only_own_stacks_are_replaced(self):
        own = self.folder / "vector_add.folded"
        written = own.read_bytes()
        self.assertTrue(written)
        foreign = (
            b"GPU notes of mine\n",
            b"GPU 0;a 5",
            b"GPU 0;a b\n",
            b"GPU x;a 5\n",
            b"GPU 0 5\n",
            written + b"mine\n",
            written + b"GPU 0;cut",
            b"GPU 0;a 5\n\n",
        )
        file = self.folder / "foreign.folded"
        for text in foreign:
            with self.subTest(text=text[-20:]):
                file.write_bytes(text)
                self.gpuprof("export", "vector_add.sqlite", "-f", "-o", file.name, code=21)
                self.assertEqual(file.read_bytes(), text)
        file.write_bytes(b"GPU 3;range of mine;kernel<int, 2> 12\n")
        self.gpuprof("export", "vector_add.sqlite", "-f", "-o", file.name)
        self.assertEqual(file.read_bytes(), written)
        other = self.folder / "foreign.pb.gz"
        other.write_bytes(gzip.compress(b"mine"))
        kept = other.read_bytes()
        self.gpuprof("export", "vector_add.sqlite", "-f", "-o", other.name, code=21)
        self.assertEqual(other.read_bytes(), kept)

    def test_profiles_of_nvprof(self):
        for case in sorted((SOURCE / "tests/golden/nvprof").glob("*.json")):
            golden = json.loads(case.read_text(encoding="utf-8"))
            if "database_sql" not in golden:
                continue
            path = self.folder / "old.sqlite"
            path.unlink(missing_ok=True)
            made = sqlite3.connect(path)
            made.executescript(golden["database_sql"])
            made.commit()
            count = 0
            for kind in ("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL", "MEMCPY", "MEMCPY2",
                         "MEMSET"):  # fmt: skip
                if made.execute("SELECT 1 FROM sqlite_master WHERE name = ?",
                                (PREFIX + kind,)).fetchone():  # fmt: skip
                    count += made.execute(
                        f"SELECT count(*) FROM {PREFIX}{kind} WHERE start > 0 AND [end] >= start"
                    ).fetchone()[0]
            made.close()
            with self.subTest(case=case.name):
                self.export("old")
                work = [row for row in self.csv_rows("old") if not row["thread_id"]
                        and row["type"] in ("kernel", "memcpy", "memset")]  # fmt: skip
                self.assertEqual(len(work), count)


if __name__ == "__main__":
    unittest.main()
