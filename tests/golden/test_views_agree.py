"""The numbers of the reports compared with those that SQL returns.

For captures the views are queried, for nvprof's databases, which have none, the tables. Reports are
read as JSON: summaries as count, sum, minimum and maximum per name, traces row by row, NVTX
ranges, the summary per GPU and the dependency analysis.

GPUPROF is the path of the gpuprof binary.
"""
# ctest-labels: plain

import collections
import contextlib
import functools
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = sorted((HERE.parent / "captures").glob("*.gpcap"))
CASES = sorted((HERE / "nvprof").glob("*.json"))
GPUPROF = os.environ.get("GPUPROF")

KERNEL_KINDS = ("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL")
COPIES = ("Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed")


def report(path, *options):
    """The tables of a report."""
    ran = subprocess.run(
        [GPUPROF, "-i", path, "--json", *options], capture_output=True, text=True, timeout=60
    )
    if ran.returncode != 0:
        raise AssertionError(f"{options} of {path}: exit code {ran.returncode}: {ran.stderr}")
    return json.loads(ran.stdout)["tables"]


def rows_of(tables, name):
    return [row for table in tables if table["table"] == name for row in table["rows"]]


def query(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def totals(named_times):
    """{name: (count, sum, min, max)} of (name, time)."""
    times = collections.defaultdict(list)
    for name, time in named_times:
        times[name].append(time)
    return {name: (len(of), sum(of), min(of), max(of)) for name, of in times.items()}


def summary(tables, section):
    """The same for a section of a summary that does not belong to an NVTX range."""
    found = collections.defaultdict(list)
    for table in tables:
        if table["table"] != "summary" or "range" in table:
            continue
        for row in table["rows"]:
            if row["type"] == section:
                # With kernels launched by kernels there are two counts.
                calls = row["calls"] if "calls" in row else row["calls_host"]
                calls += row.get("calls_device") or 0
                found[row["name"]].append((calls, row["time_ns"], row["min_ns"], row["max_ns"]))
    # Names shared by two mangled names have a row for each.
    return {
        name: (
            sum(row[0] for row in of),
            sum(row[1] for row in of),
            min(row[2] for row in of),
            max(row[3] for row in of),
        )
        for name, of in found.items()
    }


def for_each_file(test):
    """Runs a test with each file of the class."""

    @functools.wraps(test)
    def run(self):
        for name, path in self.files.items():
            with self.subTest(file=name):
                test(self, path)

    return run


class ReportsAgree(unittest.TestCase):
    """The comparisons for every file; the classes below provide the expected numbers."""

    maxDiff = None

    def check_summary(self, tables, gpu, api):
        """`gpu`: (name, duration) of work with times; `api`: the same of calls."""
        self.assertEqual(summary(tables, "GPU activities"), totals(gpu))
        self.assertEqual(summary(tables, "API calls"), totals(api))

    def check_rows(self, got, expected):
        self.assertEqual(sorted(map(repr, got)), sorted(map(repr, expected)))


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Captures(ReportsAgree):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="views-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = {}
        for capture in CAPTURES:
            path = os.path.join(cls.folder.name, f"{capture.stem}.sqlite")
            subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
            cls.files[capture.stem] = path

    def test_there_are_captures_with_work_of_all_types(self):
        types = collections.Counter()
        for path in self.files.values():
            types.update(dict(query(path, "SELECT type, count(*) FROM gpu_activities GROUP BY 1")))
        self.assertGreater(min(types["kernel"], types["memcpy"], types["memset"]), 10)

    @for_each_file
    def test_summary(self, path):
        gpu = query(path, "SELECT name, duration FROM gpu_activities WHERE duration > 0")
        api = query(
            path,
            """SELECT name, duration FROM api_calls
               WHERE domain IN ('runtime', 'driver') AND start > 0 AND duration >= 0""",
        )
        for options in ((), ("--demangling", "modern")):
            self.check_summary(report(path, "-s", *options), gpu, api)
        mangled = query(path, "SELECT mangled_name, duration FROM kernels WHERE duration > 0")
        others = [row for row in gpu if row[0].startswith("[CUDA ")]
        self.check_summary(report(path, "-s", "--demangling", "off"), mangled + others, api)

    @for_each_file
    def test_summary_per_gpu(self, path):
        per_gpu = collections.defaultdict(list)
        for device, *row in query(
            path, "SELECT device_id, name, duration FROM gpu_activities WHERE duration > 0"
        ):
            per_gpu[device].append(row)
        found = {
            int(table["device"].rsplit("(", 1)[1].rstrip(")")): summary([table], "GPU activities")
            for table in report(path, "--print-summary-per-gpu", "--demangling", "modern")
            if table["rows"]
        }
        self.assertEqual(found, {device: totals(rows) for device, rows in per_gpu.items()})

    @for_each_file
    def test_gpu_trace(self, path):
        common = "start, duration, name, device_id, correlation_id, process_id"
        keys = ("start_ns", "duration_ns", "name", "device_id", "correlation_id", "process_id")
        # Contexts and streams are shown as numbers unless the program named one.
        if not query(path, "SELECT 1 FROM CUPTI_ACTIVITY_KIND_NAME WHERE objectKind IN (4, 5)"):
            common += ", CAST(context_id AS TEXT), CAST(stream_id AS TEXT)"
            keys += ("context", "stream")
        rows = rows_of(report(path, "--print-gpu-trace", "--demangling", "modern"), "gpu_trace")

        def found(kind, *more):
            return [
                tuple(row[key] if not isinstance(row[key], list) else tuple(row[key])
                      for key in keys + more)
                for row in rows
                if row["kind"] == kind
            ]  # fmt: skip

        kernels = query(
            path,
            f"""SELECT grid_x, grid_y, grid_z, block_x, block_y, block_z, {common}, registers,
                       static_shared_memory, dynamic_shared_memory
                FROM kernels WHERE duration > 0""",
        )
        self.check_rows(
            found("kernel", "registers_per_thread", "static_shared_memory_bytes",
                  "dynamic_shared_memory_bytes", "grid", "block"),
            [(*row[6:], row[:3], row[3:6]) for row in kernels],
        )  # fmt: skip
        copies = query(
            path,
            f"""SELECT {common.replace("name", "'[CUDA memcpy ' || kind || ']'")},
                       bytes, src_memory, dst_memory, throughput
                FROM memcpys WHERE duration > 0""",
        )
        self.check_rows(
            found("memcpy", "size_bytes", "source_memory", "destination_memory",
                  "throughput_bytes_per_s"),
            copies,
        )  # fmt: skip
        sets = query(
            path,
            f"""SELECT {common.replace("name", "'[CUDA memset]'")}, bytes, memory, throughput
                FROM memsets WHERE duration > 0""",
        )
        self.check_rows(
            found("memset", "size_bytes", "source_memory", "throughput_bytes_per_s"), sets
        )
        starts = [row["start_ns"] for row in rows]
        self.assertEqual(starts, sorted(starts))

    @for_each_file
    def test_api_trace(self, path):
        rows = rows_of(report(path, "--print-api-trace", "--demangling", "modern"), "api_trace")
        calls = [row for row in rows if row["kind"] in ("runtime", "driver")]
        self.check_rows(
            [(row["kind"], row["start_ns"], row["duration_ns"], row["name"],
              row["correlation_id"], row["process_id"], row["thread_id"]) for row in calls],
            query(
                path,
                """SELECT domain, start, duration, name, correlation_id, process_id, thread_id
                   FROM api_calls
                   WHERE domain IN ('runtime', 'driver') AND start > 0 AND duration >= 0""",
            ),
        )  # fmt: skip
        # A call that launched several kernels names one of them.
        launched = collections.defaultdict(set)
        for correlation, name, api in query(
            path, "SELECT correlation_id, name, api_name FROM launches WHERE api_name NOT NULL"
        ):
            launched[correlation, api].add(name)
        named = {
            (row["correlation_id"], row["name"]): row["kernel"] for row in calls if row["kernel"]
        }
        self.assertEqual(set(named), set(launched))
        for call, kernel in named.items():
            self.assertIn(kernel, launched[call])

    @for_each_file
    def test_nvtx_ranges(self, path):
        ranges = query(
            path,
            """SELECT thread_id, coalesce(domain, '<unnamed>'), coalesce(name, ''), duration
               FROM nvtx_ranges WHERE duration NOT NULL""",
        )
        found = {}
        for table in report(path, "-s"):
            for row in table["rows"]:
                if row.get("type") == "Range":
                    key = int(table["thread_id"]), table["domain"], table["range"]
                    found[key] = (row["calls"], row["time_ns"], row["min_ns"], row["max_ns"])
        self.assertEqual(found, totals((row[:3], row[3]) for row in ranges))
        # The summary over all threads.
        found = {
            (row["domain"] or "<unnamed>", row["range"]): (row["ranges"], row["wall_time_ns"])
            for row in rows_of(report(path, "--print-nvtx-summary"), "nvtx_summary")
            if row["ranges"] is not None
        }
        all_threads = totals((row[1:3], row[3]) for row in ranges)
        self.assertEqual(found, {key: of[:2] for key, of in all_threads.items()})

    @for_each_file
    def test_dependency_analysis(self, path):
        spans = dict(
            query(
                path,
                """SELECT process_id, max("end") - min(start) FROM
                   (SELECT process_id, start, "end" FROM api_calls WHERE start > 0
                    UNION ALL
                    SELECT process_id, start, "end" FROM gpu_activities WHERE duration > 0)
                   GROUP BY process_id""",
            )
        )
        tables = report(path, "-s", "--dependency-analysis")
        tables = [table for table in tables if table["table"] == "dependency_analysis"]
        self.assertEqual(len(tables), len(spans))
        for table in tables:
            rows = table["rows"]
            process = int(table.get("process_id", next(iter(spans))))
            # The path goes from the first record to the last.
            self.assertEqual(sum(row["critical_path_ns"] for row in rows), spans[process])
            percent = sum(row["critical_path_percent"] for row in rows)
            self.assertAlmostEqual(percent, 100, places=3)
        options = ("--dependency-analysis", "--print-dependency-analysis-trace")
        records = rows_of(
            report(path, *options, "--demangling", "modern"), "dependency_analysis_trace"
        )
        zero = query(path, "SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0]
        for record in records:
            self.assertEqual(record["relative_start_ns"], record["start_ns"] - zero)
            self.assertLessEqual(record["critical_path_ns"], record["duration_ns"])
            self.assertLessEqual(record["waiting_time_ns"], record["duration_ns"])
        # There, calls have suffixes that nvprof prints nowhere else.
        functions = {
            name.removesuffix("_v3020"): name.split("_")[0]
            for (name,) in query(path, "SELECT name FROM API_NAME")
        }
        self.check_rows(
            [
                (row["start_ns"], row["duration_ns"], functions.get(row["name"], row["name"]))
                for row in records
            ],
            query(
                path,
                """SELECT start, duration, name FROM gpu_activities WHERE duration > 0
                   UNION ALL
                   SELECT start, duration, name FROM api_calls
                   WHERE domain IN ('runtime', 'driver') AND start > 0 AND duration >= 0""",
            ),
        )


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Nvprof(ReportsAgree):
    """nvprof's databases: what the tables say, with C++ names as they are stored."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="views-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = {}
        for case in CASES:
            path = os.path.join(cls.folder.name, f"{case.stem}.sqlite")
            with contextlib.closing(sqlite3.connect(path)) as connection:
                sql = json.loads(case.read_text(encoding="utf-8"))["database_sql"]
                connection.executescript(sql)
            cls.files[case.stem] = path

    @staticmethod
    def read(path, kind, columns, condition="start > 0 AND [end] > start"):
        """Rows of a table; empty if it is missing."""
        table = f"CUPTI_ACTIVITY_KIND_{kind}"
        if not query(path, f"SELECT 1 FROM sqlite_master WHERE type='table' AND name='{table}'"):
            return []
        return query(path, f"SELECT {columns} FROM {table} WHERE {condition}")

    @classmethod
    def work(cls, path):
        """(kind, start, duration, name, device, correlation, size, kinds of memory)."""
        strings = dict(query(path, "SELECT _id_, value FROM StringTable"))
        rows = []
        for kind in KERNEL_KINDS:
            # Kernels launched by kernels have no correlation id.
            correlation = "0" if kind == "CDP_KERNEL" else "correlationId"
            columns = f"start, [end] - start, name, deviceId, {correlation}"
            for start, time, name, device, correlation in cls.read(path, kind, columns):
                name = (strings.get(name) if name else None) or f"<kernel name {name}>"
                rows.append(("kernel", start, time, name, device, correlation, None, None, None))
        for kind in ("MEMCPY", "MEMCPY2"):
            copies = cls.read(
                path, kind,
                "start, [end] - start, copyKind, deviceId, correlationId, bytes, srcKind, dstKind",
            )  # fmt: skip
            for start, time, copy, device, correlation, size, source, target in copies:
                copy = 10 if kind == "MEMCPY2" else copy
                name = f"[CUDA memcpy {COPIES[copy] if 0 < copy < len(COPIES) else 'Unknown'}]"
                rows.append(("memcpy", start, time, name, device, correlation, size,
                             MEMORY[source], MEMORY[target]))  # fmt: skip
        columns = "start, [end] - start, deviceId, correlationId, bytes"
        for start, time, device, correlation, size in cls.read(path, "MEMSET", columns):
            rows.append(("memset", start, time, "[CUDA memset]", device, correlation, size, None,
                         None))  # fmt: skip
        return rows

    @classmethod
    def calls(cls, path):
        """(domain, start, duration, correlation, thread, cbid)."""
        return [
            (kind.lower(), *row)
            for kind in ("RUNTIME", "DRIVER")
            for row in cls.read(
                path,
                kind,
                "start, [end] - start, correlationId, threadId, cbid",
                "start > 0 AND [end] >= start",
            )  # fmt: skip
        ]

    @classmethod
    def has_values(cls, path):
        """Whether there are results of events or metrics."""
        kinds = ("EVENT", "EVENT_INSTANCE", "METRIC", "METRIC_INSTANCE")
        return any(cls.read(path, prefix + kind, "1", "1")
                   for kind in kinds for prefix in ("", "INSTANTANEOUS_"))  # fmt: skip

    def test_there_are_cases_with_work_and_calls(self):
        self.assertGreater(sum(len(self.work(path)) for path in self.files.values()), 50)
        self.assertGreater(sum(len(self.calls(path)) for path in self.files.values()), 50)

    @for_each_file
    def test_summary(self, path):
        # Names of calls are not in the file: they come from the trace, and the summary has to agree.
        calls = self.calls(path)
        trace = rows_of(report(path, "--print-api-trace"), "api_trace")
        names = {
            (row["kind"], row["start_ns"], row["correlation_id"]): row["name"] for row in trace
        }
        functions = collections.defaultdict(set)
        for domain, start, _, correlation, _, cbid in calls:
            # With values of events and metrics there is no trace of calls.
            name = names.get((domain, start, correlation), "cudaLaunchKernel")
            functions[domain, cbid].add(name)
        self.assertTrue(all(len(of) == 1 for of in functions.values()), functions)
        self.check_summary(
            report(path, "-s", "--demangling", "off"),
            [(row[3], row[2]) for row in self.work(path)],
            [(min(functions[row[0], row[5]]), row[2]) for row in calls],
        )

    @for_each_file
    def test_gpu_trace(self, path):
        tables = report(path, "--print-gpu-trace", "--demangling", "off")
        found = [
            (row["kind"], row["start_ns"], row["duration_ns"], row["name"], row["device_id"],
             row["correlation_id"], row.get("size_bytes"), row.get("source_memory"),
             row.get("destination_memory"))
            for row in rows_of(tables, "gpu_trace")
            if row["kind"] in ("kernel", "memcpy", "memset")
        ]  # fmt: skip
        # A set has one kind of memory, in the column of the source.
        found = [(*row[:7], None, None) if row[0] == "memset" else row for row in found]
        self.check_rows(found, self.work(path))

    @for_each_file
    def test_api_trace(self, path):
        tables = report(path, "--print-api-trace")
        rows = rows_of(tables, "api_trace")
        if self.has_values(path):
            self.assertEqual(rows, [])
            self.assertTrue(rows_of(tables, "summary"))
            return
        self.check_rows(
            [(row["kind"], row["start_ns"], row["duration_ns"], row["correlation_id"],
              row["thread_id"]) for row in rows if row["kind"] in ("runtime", "driver")],
            [row[:5] for row in self.calls(path)],
        )  # fmt: skip

    def test_dependency_analysis(self):
        path = self.files["deps"]
        rows = rows_of(report(path, "-s", "--dependency-analysis"), "dependency_analysis")
        calls, work = self.calls(path), self.work(path)
        first = min(row[1] for row in calls)
        last = max(row[1] + row[2] for row in calls + work)
        self.assertEqual(sum(row["critical_path_ns"] for row in rows), last - first)


if __name__ == "__main__":
    unittest.main()
