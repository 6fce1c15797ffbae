# ctest-cost: 30
"""What nvprof 11.8 printed for the databases under ./nvprof, compared with `gpuprof -i`.

nvprof/*.json are whole databases, nvprof/corners has a small one for each corner case of nvprof.

Every mode of every case: stderr, stdout and exit code, byte for byte. The program's name and its
version lines differ. Rows that tie (equal time in a summary, equal start in a trace) may come in
any order, because nvprof prints them in the order of its hash. Modes in which gpuprof deliberately
differs are in DIFFERENT, with its behaviour, or have gpuprof's own text next to nvprof's, as "gpuprof";
docs/nvprof.md shows them side by side.

GPUPROF is the path of the gpuprof binary. To run one test: test_nvprof.py Nvprof.test_nvtx_csv_default
"""
# ctest-labels: plain

import ctypes
import functools
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import load_script  # noqa: E402

CASES = pathlib.Path(__file__).parent / "nvprof"
GPUPROF = os.environ.get("GPUPROF")

# (case, mode) -> a separate test below, or the reason why there is nothing to compare. A case or a
# mode may be "*".
DIFFERENT = {
    # tests/cli/test_command_line.py has tests of all these.
    ("errors", "help"): "our own help",
    ("errors", "help-short"): "our own help",
    ("errors", "help-and-import"): "our own help",
    ("errors", "version"): "our own version",
    ("errors", "version-short"): "our own version",
    ("errors", "app-false"): "the same lines, and the exit code of the application",
    ("errors", "app-missing"): "the same line, and which",
    ("errors", "app-missing-path"): "the same line, and which",
    ("errors", "app-out"): "the same, and a last line",
    ("errors", "log-nodir"): "the same line and why, and nothing else",
    ("errors", "missing-file"): "a message",
    ("errors", "quiet-error"): "a message",
    ("errors", "noargs"): "the same line, and what there is",
    ("errors", "demangling-eq"): "--name=value works",
    ("errors", "import-eq"): "--name=value works",
    ("errors", "log-stdout"): "%1 works",
    ("errors", "log-stderr"): "%2 works",
    ("errors", "devices-with-import"): "a filter",
    ("errors", "kernels-with-import"): "a filter",
    ("errors", "query-metrics"): "test_query_without_driver",
    ("errors", "query-events"): "test_query_without_driver",
    # nvprof leaves the API calls out, and crashes when the file has no device.
    ("*", "summary-per-gpu+api-summary"): "test_calls_beside_gpus",
    ("empty", "summary-per-gpu"): "test_no_gpus",
    ("empty", "summary+summary-per-gpu"): "test_no_gpus",
    ("empty", "csv-summary-per-gpu"): "test_no_gpus",
    # Files that only that test makes: a clear message, exit code 20, and the readable part.
    ("errors", "not-a-db"): "a message, exit code 20",
    ("errors", "directory"): "a message, exit code 20",
    ("errors", "empty-file"): "a message, exit code 20",
    ("errors", "truncated"): "a message, what can be read, exit code 20",
    ("errors", "wal-mode"): "can be read",
    ("errors", "foreign-sqlite"): "a message, exit code 20",
    ("errors", "only-version-table"): "a message, exit code 20",
    ("errors", "version-0"): "a message, exit code 20",
    ("errors", "version-19"): "a message that names the version, exit code 20",
    ("errors", "version-negative"): "a message that names the version, exit code 20",
    ("errors", "version-norow"): "a warning, and the report",
}


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


SUMMARY_ROW = re.compile(r"([ \w()]{15}:)(  +[\d.]+%?  .*)")


def separate(text):
    """Lines; a summary row's label gets a separate line, because it belongs to the first of tied rows."""
    lines = []
    for line in text.split("\n"):
        row = SUMMARY_ROW.fullmatch(line)
        if row:
            lines += [row[1], " " * len(row[1]) + row[2]]
        else:
            lines.append(line)
    return lines


def order(line):
    """What determines a row's position: its first column, or two in CSV."""
    return line.split(",")[:2] if line.startswith('"') or "," in line[:20] else line.split()[:1]


def same(got, expected):
    got, expected = separate(got), separate(expected)
    return got == expected or (
        sorted(got) == sorted(expected) and list(map(order, got)) == list(map(order, expected))
    )


FILES = {path.stem: path for path in CASES.rglob("*.json")}


@functools.lru_cache
def golden(case):
    return json.loads(FILES[case].read_text(encoding="utf-8"))


def make_database(sql, path):
    database = sqlite3.connect(path)
    database.executescript(sql)
    database.close()


@functools.lru_cache
def folder_of(case):
    folder = tempfile.TemporaryDirectory()
    make_database(golden(case)["database_sql"], os.path.join(folder.name, "db.sqlite"))
    return folder


def run(case, mode):
    return subprocess.run(
        [GPUPROF, *golden(case)["modes"][mode]["args"]],
        cwd=folder_of(case).name,
        env={**os.environ, "GPENV": "value"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def differs(case, mode):
    return any(key in DIFFERENT for key in ((case, mode), (case, "*"), ("*", mode)))


class Nvprof(unittest.TestCase):
    maxDiff = None

    def check(self, case, mode):
        runs = mode.startswith(("app-", "query-"))
        if runs and has_driver():
            self.skipTest("nvprof ran where there was no driver")
        expected = golden(case)["modes"][mode]
        ran = run(case, mode)
        text = expected.get("gpuprof", expected.get("stderr", ""))
        stderr = text.replace('"nvprof --help"', '"gpuprof --help"')
        if "csv" in mode and "gpuprof" not in expected:
            # nvprof leaves quotes in names unchanged; a CSV reader needs them doubled.
            stderr = re.sub('^(["0-9].*)"quoted"', r'\1""quoted""', stderr, flags=re.M)
        if not same(ran.stderr, stderr):
            self.assertEqual(ran.stderr, stderr)
        self.assertEqual(ran.stdout, expected.get("stdout", ""))
        self.assertEqual(ran.returncode, expected["exit_code"], ran.stderr)

    def test_query_without_driver(self):
        """nvprof's message, and what can be done without a driver."""
        if has_driver():
            self.skipTest("nvprof ran where there was no driver")
        for mode in ("query-metrics", "query-events"):
            expected = golden("errors")["modes"][mode]
            ran = run("errors", mode)
            self.assertTrue(ran.stderr.startswith(expected["stderr"]), ran.stderr)
            more = ran.stderr[len(expected["stderr"]) :]
            self.assertRegex(more, "^======== Name one of these chips with --chip: .*GH100.*\n$")
            self.assertEqual(ran.returncode, expected["exit_code"])

    def test_calls_beside_gpus(self):
        modes = golden("um")["modes"]
        per_gpu, calls = (modes[mode]["stderr"] for mode in ("summary-per-gpu", "api-summary"))
        ran = run("um", "summary-per-gpu+api-summary")
        self.assertEqual(ran.stderr, per_gpu + "\n" + calls.split("\n", 1)[1])
        self.assertEqual(ran.returncode, 0)

    def test_graphs_count_once(self):
        """nvprof prints nothing for whole graphs; if there are nodes, which count, neither does gpuprof."""
        whole = """
            UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET graphNodeId = 7, graphId = 1
              WHERE _id_ IN (2, 3);
            INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE(correlationId, start, "end", deviceId,
                                                        graphId, contextId, streamId)
              SELECT correlationId, start, "end", deviceId, 1, contextId, streamId
              FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE _id_ IN (2, 3);"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "db.sqlite")
            make_database(golden("basic")["database_sql"] + ";" + whole, path)
            tried = 0
            for mode, expected in golden("basic")["modes"].items():
                if differs("basic", mode) or mode.startswith(("app-", "query-")):
                    continue
                ran = subprocess.run([GPUPROF, *expected["args"]], cwd=folder, text=True,
                                     capture_output=True, timeout=60, check=False)  # fmt: skip
                text = expected.get("gpuprof", expected.get("stderr", ""))
                text = text.replace('"nvprof --help"', '"gpuprof --help"')
                if "quoted" not in text and not same(ran.stderr, text):
                    self.assertEqual(ran.stderr, text, mode)
                tried += 1
            self.assertGreater(tried, 30)

    def test_own_cpu_samples(self):
        """The same samples as gpuprof stores them are reported in the same words."""
        own = """
            CREATE TABLE STACK_FRAME(_id_ INTEGER PRIMARY KEY, frame INT, module TEXT, offset INT, function TEXT,
                                     line INT, processId INT);
            CREATE TABLE STACK_ENTRY(_id_ INTEGER PRIMARY KEY, stack INT, position INT, frame INT, processId INT);
            CREATE TABLE NATIVE_LINE(processId INT, frame INT, file TEXT, line INT, function TEXT);
            CREATE TABLE CPU_SAMPLE(_id_ INTEGER PRIMARY KEY, time INT, stop INT, threadId INT, frame INT, stack INT,
                                    samples INT, cpuTime INT, processId INT);
            INSERT INTO STACK_FRAME(frame, module, offset, function, processId)
              SELECT i.id, library.value, i.offset, name.value, 7 FROM collInstruction AS i
              JOIN collFunction AS f ON f.id = i.function JOIN profStringTable AS name ON name.id = f.name
              JOIN collLibrary AS l ON l.id = f.library JOIN profStringTable AS library ON library.id = l.name;
            INSERT INTO NATIVE_LINE SELECT 7, i.id, file.value, p.lineNo, '' FROM collInstruction AS i
              JOIN collSourcePos AS p ON p.id = i.sourcePos JOIN profStringTable AS file ON file.id = p.fileName
              WHERE p.lineNo > 0;
            WITH RECURSIVE callers(call, position, caller) AS (
              SELECT callee, 0, caller FROM collFunctionCall
              UNION ALL SELECT callers.call, position + 1, c.caller FROM callers
              JOIN collFunctionCall AS c ON c.callee = callers.caller)
            INSERT INTO STACK_ENTRY(stack, position, frame, processId)
              SELECT call, position, p.instruction, 7 FROM callers JOIN profCall AS p ON p.id = caller;
            INSERT INTO CPU_SAMPLE(time, stop, threadId, frame, stack, samples, cpuTime, processId)
              SELECT time, time, tid, p.instruction, call, 1, 10000000, 7 FROM collHit JOIN profCall AS p ON p.id = call;
            """
        sql = golden("cpusampling")["database_sql"]
        made = "".join(f"DROP TABLE {name};\n"
                       for name in re.findall(r"^CREATE TABLE ((?:coll|prof)\w+)\(", sql, flags=re.M))  # fmt: skip
        self.assertIn("collHit", made)
        with tempfile.TemporaryDirectory() as folder:
            make_database(sql + own + made, os.path.join(folder, "db.sqlite"))
            tried = 0
            for mode, expected in golden("cpusampling")["modes"].items():
                if differs("cpusampling", mode) or "CPU profiling" not in expected.get(
                    "stderr", ""
                ):
                    continue
                command = [GPUPROF, *expected["args"], "--cpu-profiling", "on"]
                ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=60,
                                     check=False)  # fmt: skip
                self.assertEqual((ran.returncode, ran.stderr), (0, expected["stderr"]), mode)
                tried += 1
            self.assertGreater(tried, 10)

    def test_no_gpus(self):
        for mode in ("summary-per-gpu", "summary+summary-per-gpu", "csv-summary-per-gpu"):
            ran = run("empty", mode)
            self.assertEqual(
                ran.stderr, "======== Profiling result:\nNo devices are in the profile.\n"
            )
            self.assertEqual(ran.returncode, 0)


class WithoutEnd(unittest.TestCase):
    """Metrics that are infinite or not a number, as a division by zero produces."""

    def check(self, path, *options):
        ran = subprocess.run([GPUPROF, "-i", path, *options], capture_output=True, text=True,
                             timeout=30, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, 0, f"{options}\n{ran.stderr[-2000:]}")
        return ran.stdout + ran.stderr

    def check_all(self, path, printed):
        """Every report, and every format."""
        reports = subprocess.run([GPUPROF, "--help", "reports"], capture_output=True, text=True,
                                 check=True).stdout  # fmt: skip
        names = set(re.findall(r"--(?:print-[a-z-]+|dependency-analysis)\b", reports))
        names -= {"--print-dependency-analysis-trace", "--print-openacc-constructs"}
        self.assertGreater(len(names), 15)
        traces = {name for name in names if name.endswith("-trace")}
        for together in (traces, names - traces):  # the two exclude each other
            self.check(path, *sorted(together))
        formats = [["--csv"], ["--csv=plain"], ["--stats"]]
        formats += [["-u", unit] for unit in ("s", "ms", "us", "ns", "col", "auto")]
        summaries = ["--print-summary", "--print-summary-per-gpu"]
        for chosen in (summaries, ["--print-gpu-trace"]):
            for more in formats:
                text = self.check(path, *chosen, *more)
                if more in (["--csv"], ["-u", "auto"]):
                    self.assertRegex(text, printed)
            # JSON has no such numbers.
            json.loads(self.check(path, *chosen, "--json"), parse_constant=self.fail)
        self.assertRegex(self.check(path), printed)

    def test_nvprofs_metrics(self):
        for bits, printed in (("000000000000f07f", r"\binf"), ("000000000000f87f", r"\bnan"),
                              ("000000000000f0ff", r"-inf"), ("000000000000f8ff", r"\bnan")):  # fmt: skip
            with self.subTest(bits), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "db.sqlite")
                make_database(golden("metrics")["database_sql"], path)
                make_database(f"UPDATE CUPTI_ACTIVITY_KIND_METRIC SET value = x'{bits}'", path)
                self.check_all(path, printed)

    def test_own_metrics(self):
        capture = load_script(CASES.parents[1] / "captures" / "make_expected")
        (metrics,) = [each for each in capture.captures() if each.stem == "metrics"]
        with tempfile.TemporaryDirectory() as folder:
            path = capture.replayed(GPUPROF, metrics, pathlib.Path(folder) / "run.sqlite")
            for value, printed in (("9e999", r"\binf"), ("-9e999", "-inf"), ("NULL", r"\bnan")):
                make_database(f"UPDATE METRIC_VALUE SET value = {value}", path)
                self.check_all(path, printed)


def add_tests():
    for case in sorted(FILES):
        for mode in golden(case)["modes"]:
            if differs(case, mode):
                continue
            name = f"test_{case}_{mode}".replace("-", "_").replace("+", "_and_")
            setattr(Nvprof, name, lambda self, case=case, mode=mode: self.check(case, mode))


add_tests()

if __name__ == "__main__":
    if not GPUPROF:
        raise SystemExit("set GPUPROF to the path of the gpuprof binary")
    unittest.main()
