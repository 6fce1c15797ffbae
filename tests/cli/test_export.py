"""gpuprof export --for nvprof: what nvprof 11.8 would read from the file.

nvprof reads columns by position, truncates numbers to 32 bits, knows nothing of processes and prints
the name that CUDA 11.8 has for a cbid. The exported file is examined in the same way.
"""
# ctest-labels: plain

import collections
import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import tarfile
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = ("vector_add", "torch_step", "two_processes", "streams_graph", "nvtx_threads", "die")
PREFIX = "CUPTI_ACTIVITY_KIND_"
GPU_WORK = ("KERNEL", "CONCURRENT_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET")


def names_of_cuda_11_8():
    text = (SOURCE / "schema/nvprof_api_names.inc").read_text()
    lists = re.findall(r"(\w+)_api_names\[\] = \{(.*?)\};", text, re.DOTALL)
    return {domain: re.findall(r'"(.*?)"', names) for domain, names in lists}


KNOWN = names_of_cuda_11_8()


def base(name):
    """The part of a name that nvprof prints."""
    return name.split("_")[0]


def cut(number):
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def nvprof_tables():
    """name -> (CREATE TABLE, columns), as nvprof 11.8 makes them."""
    golden = json.loads((SOURCE / "tests/golden/nvprof/basic.json").read_text(encoding="utf-8"))
    made = sqlite3.connect(":memory:")
    made.executescript(golden["database_sql"])
    found = made.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = {
        name: (sql, [row[1] for row in made.execute(f"PRAGMA table_info({name})")])
        for name, sql in found
        if not name.startswith("sqlite_")
    }
    made.close()
    return tables


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for capture in CAPTURES:
            cls.gpuprof("replay", SOURCE / f"tests/captures/{capture}.gpcap", "-o",
                        f"{capture}.sqlite")  # fmt: skip
            cls.gpuprof("export", f"{capture}.sqlite", "--for", "nvprof", "-o", f"{capture}.old")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def gpuprof(cls, *words, code=0):
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=cls.folder.name, text=True,
                             capture_output=True, timeout=120, check=False)  # fmt: skip
        if ran.returncode != code:
            raise AssertionError(f"{words}: {ran.returncode}\n{ran.stderr}")
        return ran

    def rows(self, file, query):
        connection = sqlite3.connect(os.path.join(self.folder.name, file))
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def both(self, capture, query):
        return self.rows(f"{capture}.sqlite", query), self.rows(f"{capture}.old", query)

    def as_nvprof_reads(self, file):
        """What nvprof reads from a file, as a file of nvprof's: its tables, columns by position,
        numbers truncated to 32 bits, and none of gpuprof's tables."""
        path = os.path.join(self.folder.name, f"{file}.cut")
        pathlib.Path(path).unlink(missing_ok=True)
        whole_file = sqlite3.connect(os.path.join(self.folder.name, file))
        cut_file = sqlite3.connect(path)
        with contextlib.closing(whole_file), cut_file:
            for table, (sql, columns) in nvprof_tables().items():
                cut_file.execute(sql)
                there = whole_file.execute(f"SELECT name FROM pragma_table_info('{table}')")
                self.assertEqual([name for (name,) in there][: len(columns)], columns, table)
                for row in whole_file.execute(f"SELECT * FROM {table}"):
                    row = [
                        cut(value)
                        if isinstance(value, int) and name[-2:] in ("id", "Id")
                        else value
                        for name, value in zip(columns, row)
                    ]
                    row = [0 if value is None else value for value in row]
                    cut_file.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)
        cut_file.close()
        return f"{file}.cut"

    def summaries(self, file, *options):
        """(range, section, name) -> [calls, time]; functions under their names in CUDA 11.8."""
        ran = self.gpuprof("-i", file, "--json", "--demangling", "off", *options)
        sums = collections.defaultdict(lambda: [0, 0])
        known = {base(name) for names in KNOWN.values() for name in names}
        for table in json.loads(ran.stdout or ran.stderr)["tables"]:
            if table["table"] != "summary":
                continue
            where = tuple(table.get(key) for key in ("device", "thread_id", "domain", "range"))
            for row in table["rows"]:
                name = row["name"]
                if row["type"] == "API calls" and name not in known:
                    name = "INVALID"
                total = sums[where, row["type"], name]
                total[0] += row["calls"]
                total[1] += row["time_ns"]
        return dict(sums)

    def without_launch_ranges(self, file):
        """nvprof cannot attribute another thread's launches to a range."""
        path = pathlib.Path(self.folder.name, f"{file}.threads")
        path.write_bytes(path.with_name(file).read_bytes())
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM LAUNCH_RANGE")
        return path.name

    def test_nvprof_would_print_what_we_print(self):
        right = {
            capture: self.summaries(self.without_launch_ranges(f"{capture}.sqlite"))
            for capture in CAPTURES
        }
        for capture in CAPTURES:
            old = self.as_nvprof_reads(f"{capture}.old")
            self.assertEqual(self.summaries(old), right[capture], capture)
        # This can fail: from unconverted files nvprof would get other names and other sums.
        for capture in ("torch_step", "two_processes"):
            as_it_is = self.as_nvprof_reads(f"{capture}.sqlite")
            self.assertNotEqual(self.summaries(as_it_is), right[capture], capture)

    def test_payloads_go_with_their_markers(self):
        """Ids of marks are renumbered, because two processes have the same."""
        archive = SOURCE / "tests/captures/kinds.tar.xz"
        with tarfile.open(archive) as packed:
            packed.extract("kinds.gpcap", self.folder.name)
        self.gpuprof("replay", "kinds.gpcap", "-o", "kinds.sqlite")
        path = os.path.join(self.folder.name, "kinds.sqlite")
        connection = sqlite3.connect(path)
        # From a process that comes before the one with payloads, so that these get other ids.
        connection.execute(f"""
            INSERT INTO {PREFIX}MARKER
              (flags, timestamp, id, objectKind, name, domain, threadId, processId)
            SELECT 1, timestamp, id, objectKind, 0, 0, threadId, 1 FROM {PREFIX}MARKER""")
        connection.commit()
        connection.close()
        self.gpuprof("export", "kinds.sqlite", "--for", "nvprof", "-o", "kinds.old")
        query = """SELECT range_name, field, value FROM nvtx_payloads WHERE range_name IS NOT NULL
                   ORDER BY time, field"""
        ours = self.rows("kinds.sqlite", query)
        self.assertEqual(len(ours), 20)
        self.assertEqual(self.rows("kinds.old", query), ours)
        ids = f"SELECT DISTINCT id FROM {PREFIX}MARKER_DATA"
        self.assertNotEqual(self.rows("kinds.old", ids), self.rows("kinds.sqlite", ids))

    def test_names_in_the_trace(self):
        ours, old = (
            [(row["start_ns"], base(row["name"]), row["kernel"])
             for table in json.loads(self.gpuprof("-i", file, "--json", "--demangling", "off",
                                                  "--print-api-trace").stdout)["tables"]
             for row in table["rows"] if row["kind"] in ("runtime", "driver")]
            for file in ("torch_step.sqlite", self.as_nvprof_reads("torch_step.old"))
        )  # fmt: skip
        known = {base(name) for names in KNOWN.values() for name in names}
        self.assertGreater(len(ours), 2000)
        self.assertEqual(
            old, [(start, name if name in known else "INVALID", kernel)
                  for start, name, kernel in ours])  # fmt: skip

    def test_functions_have_their_names(self):
        renamed = lost = 0
        for capture in CAPTURES:
            true = {(domain, cbid): name for domain, cbid, name
                    in self.rows(f"{capture}.sqlite", "SELECT * FROM API_NAME")}  # fmt: skip
            for domain in ("runtime", "driver"):
                query = f"SELECT _id_, cbid FROM {PREFIX}{domain.upper()} ORDER BY 1"
                ours, old = self.both(capture, query)
                self.assertEqual(len(ours), len(old))
                for (row, cbid), (old_row, old_cbid) in zip(ours, old):
                    self.assertEqual(row, old_row)
                    self.assertLess(old_cbid, len(KNOWN[domain]))
                    name = true[domain, cbid]
                    if name == f"cuda{cbid}":
                        self.assertEqual(old_cbid, cbid)
                    elif old_cbid:
                        self.assertEqual(base(KNOWN[domain][old_cbid]), base(name))
                        renamed += cbid != old_cbid
                    else:
                        self.assertNotIn(base(name), map(base, KNOWN[domain]))
                        lost += 1
                changed = self.both(
                    capture, f"SELECT count(*) FROM {PREFIX}{domain.upper()} WHERE cbid = 0"
                )
                self.assertEqual(changed[0], [(0,)])
        self.assertGreater(renamed, 800)  # cuGetProcAddress_v2 and others
        self.assertGreater(lost, 0)

    def test_what_cupti_said_is_kept(self):
        query = f"SELECT _id_, {{}} FROM {PREFIX}DRIVER ORDER BY 1"
        ours = self.rows("torch_step.sqlite", query.format("cbid"))
        self.assertEqual(self.rows("torch_step.old", query.format("cuptiCbid")), ours)
        names = [row[1] for row in self.rows(
            "torch_step.old", f"SELECT * FROM pragma_table_info('{PREFIX}DRIVER')")]  # fmt: skip
        self.assertEqual(names[-1], "cuptiCbid")

    def test_ids_fit_and_joins_are_the_same(self):
        for capture in CAPTURES:
            for kind in GPU_WORK:
                query = f"SELECT _id_, correlationId FROM {PREFIX}{kind}"
                ours, old = map(dict, self.both(capture, query))
                self.assertEqual(ours.keys(), old.keys())
                for api in ("RUNTIME", "DRIVER"):
                    calls, old_calls = map(dict, self.both(
                        capture, f"SELECT _id_, correlationId FROM {PREFIX}{api}"))  # fmt: skip
                    for number in old_calls.values():
                        self.assertEqual(number, cut(number))
                    joined = {(work, call) for work, a in ours.items()
                              for call, b in calls.items() if a == b}  # fmt: skip
                    self.assertEqual({(work, call) for work, a in old.items()
                                      for call, b in old_calls.items() if a == b},
                                     joined)  # fmt: skip

    def test_one_process_keeps_its_ids(self):
        query = f"SELECT _id_, correlationId FROM {PREFIX}RUNTIME"
        self.assertEqual(*self.both("torch_step", query))

    def test_devices_and_contexts_of_two_processes(self):
        ours, old = self.both("two_processes", f"SELECT id, hex(uuid) FROM {PREFIX}DEVICE")
        self.assertEqual(len(ours), 2)
        self.assertEqual(old, sorted(set(ours)))
        query = f"SELECT contextId, processId FROM {PREFIX}CONTEXT"
        ours, old = self.both("two_processes", query)
        self.assertEqual(len({context for context, _ in ours}), 1)
        self.assertEqual(len({context for context, _ in old}), 2)
        of_process = {process: context for context, process in old}
        for kind in (*GPU_WORK, "STREAM", "SYNCHRONIZATION"):
            for context, process in self.rows(
                    "two_processes.old",
                    f"SELECT contextId, processId FROM {PREFIX}{kind}"):  # fmt: skip
                self.assertEqual(context, of_process[process], kind)
        streams = self.rows("two_processes.old",
                            f"SELECT contextId, streamId FROM {PREFIX}STREAM")  # fmt: skip
        self.assertEqual(len(streams), len(set(streams)))

    def test_ranges_of_two_processes_do_not_meet(self):
        marks = self.rows("two_processes.old",
                          f"SELECT id, processId FROM {PREFIX}MARKER")  # fmt: skip
        by_id = {}
        for number, process in marks:
            self.assertEqual(by_id.setdefault(number, process), process)

    def test_devices_that_processes_see_as_others(self):
        path = os.path.join(self.folder.name, "swapped.sqlite")
        pathlib.Path(path).write_bytes(
            pathlib.Path(self.folder.name, "two_processes.sqlite").read_bytes()
        )
        connection = sqlite3.connect(path)
        with connection:
            second = connection.execute(
                "SELECT processId FROM PROCESS ORDER BY number DESC"
            ).fetchone()[0]
            connection.execute(
                f"UPDATE {PREFIX}DEVICE SET uuid = x'{'ab' * 16}' WHERE processId = {second}"
            )
        connection.close()
        self.gpuprof("export", "swapped.sqlite", "--for", "nvprof", "-o", "swapped.old")
        devices = self.rows("swapped.old", f"SELECT id, processId FROM {PREFIX}DEVICE")
        self.assertEqual(len({device for device, _ in devices}), 2)
        of_process = {process: device for device, process in devices}
        for kind in ("CONCURRENT_KERNEL", "MEMCPY", "CONTEXT"):
            for device, process in self.rows(
                    "swapped.old", f"SELECT deviceId, processId FROM {PREFIX}{kind}"):  # fmt: skip
                self.assertEqual(device, of_process[process], kind)

    def test_reports_and_views_of_the_copy(self):
        for capture in CAPTURES:
            for query in ("SELECT count(*), sum(duration) FROM kernels",
                          "SELECT count(*) FROM launches", "SELECT count(*) FROM nvtx_ranges"):  # fmt: skip
                self.assertEqual(*self.both(capture, query))
            self.gpuprof("-i", f"{capture}.old")
        run = dict(self.rows("vector_add.old", "SELECT key, value FROM RUN"))
        self.assertEqual(run["derived_from"], "gpuprof export vector_add.sqlite --for nvprof")

    def test_pc_samples(self):
        """nvprof does not see the table in today's files. From one that it sees, what it cannot read is left
        out: samples without a serialized kernel, and unknown reasons."""
        with tarfile.open(SOURCE / "tests/captures/sampling.tar.xz") as packed:
            packed.extract("pc_sampling.gpcap", self.folder.name)
        self.gpuprof("replay", "pc_sampling.gpcap", "-o", "samples.sqlite")
        self.gpuprof("export", "samples.sqlite", "--for", "nvprof", "-o", "samples.old")
        seen = f"SELECT count(*) FROM sqlite_master WHERE name = '{PREFIX}PC_SAMPLING'"
        self.assertEqual(self.rows("samples.old", seen), [(0,)])
        for query in (f"SELECT * FROM {PREFIX}PC_SAMPLING ORDER BY 1",
                      f"SELECT * FROM {PREFIX}PC_SAMPLING_RECORD_INFO ORDER BY 1",
                      "SELECT * FROM pc_samples ORDER BY 1, 2, 3, 4, 5, 6, 7"):  # fmt: skip
            ours, old = self.both("samples", query)
            self.assertGreater(len(ours), 0)
            self.assertEqual(old, ours)

        # As written by an older gpuprof: with nvprof's spelling of the name, and one serialized kernel.
        path = pathlib.Path(self.folder.name, "older.sqlite")
        path.write_bytes(path.with_name("samples.sqlite").read_bytes())
        connection = sqlite3.connect(path)
        connection.executescript(f"""
            PRAGMA legacy_alter_table = ON;
            ALTER TABLE {PREFIX}pc_sampling RENAME TO older;
            ALTER TABLE older RENAME TO {PREFIX}PC_SAMPLING;
            INSERT INTO {PREFIX}KERNEL(correlationId, name, processId)
              SELECT min(correlationId), name, processId FROM {PREFIX}CONCURRENT_KERNEL;
            UPDATE {PREFIX}PC_SAMPLING SET correlationId = CASE _id_ % 3
              WHEN 0 THEN 0 WHEN 1 THEN (SELECT min(correlationId) FROM {PREFIX}KERNEL)
              ELSE (SELECT max(correlationId) FROM {PREFIX}CONCURRENT_KERNEL) END;
            UPDATE {PREFIX}PC_SAMPLING SET stallReason = 13 WHERE _id_ % 6 = 1;""")
        connection.close()
        self.assertEqual(self.rows("older.sqlite", seen), [(1,)])
        self.gpuprof("export", "older.sqlite", "--for", "nvprof", "-o", "older.old")
        ours, old = self.both("older", f"SELECT * FROM {PREFIX}PC_SAMPLING ORDER BY 1")
        self.assertEqual(self.rows("older.old", seen), [(1,)])
        self.assertGreater(len(old), 10)
        self.assertEqual(old, [row for row in ours if row[0] % 6 == 4])
        self.gpuprof("-i", "older.old", "--print-pc-sampling")

    def test_another_tool(self):
        ran = self.gpuprof("export", "die.sqlite", "--for", "nsys", "-o", "no", code=5)
        self.assertIn('there is no export for "nsys"', ran.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "no")))


if __name__ == "__main__":
    if not GPUPROF:
        raise SystemExit("set GPUPROF to the path of the gpuprof binary")
    unittest.main()
