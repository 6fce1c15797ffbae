"""--host-samples: what threads of Python do while the GPU has no work, as seen from outside."""
# ctest-labels: plain

import json
import os
import shutil
import subprocess
import sys
import unittest

from fake_run import FAKE, GPUPROF, FakeTest

# Another interpreter: a command that runs one.
PYTHON = os.environ.get("GPUPROF_TEST_PYTHON", sys.executable).split()

# Each phase ends with a launch, so the GPU has no work in it. Lines with a comment are looked up by it.
PROGRAM = """\
import ctypes, json, logging, multiprocessing, os, queue, sys, threading, time

cuda = ctypes.CDLL(sys.argv[1])
libc = ctypes.PyDLL(None)  # its functions keep the interpreter's lock
took = {}


def busy(time_s=0.15):
    end = time.monotonic() + time_s
    while time.monotonic() < end:
        pass


def sleeps():
    time.sleep(0.15)  # sleeps


def collate(results):
    while True:
        end = time.monotonic() + 0.15
        while time.monotonic() < end:
            result = end
        results.put(result)


def loads(results):
    for _ in range(3):
        results.get()


def hold():
    for _ in range(10):
        libc.usleep(20_000)  # holds


def locked():
    thread = threading.Thread(target=hold)
    thread.start()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        time.sleep(0)
    thread.join()  # the next phase has none of it


def reads():
    reader, writer = os.pipe()
    if os.fork() == 0:
        libc.usleep(150_000)
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)  # reads


class Slow(logging.Handler):
    def emit(self, record):
        for i in range(400_000):
            record.count = i


def logs():
    for _ in range(4):
        logging.warning("a message")


def writes():
    for _ in range(3):
        json.dumps(list(range(60_000)), indent=1)


def phase(what, *arguments):
    begin = time.monotonic()
    what(*arguments)
    took[what.__name__] = time.monotonic() - begin
    cuda.fake_launch(b"work", 1)


if __name__ == "__main__":
    cuda.fake_init()
    logging.getLogger().addHandler(Slow())
    multiprocessing.set_start_method("fork")
    results = multiprocessing.Queue(1)
    worker = multiprocessing.Process(target=collate, args=(results,), daemon=True)
    cuda.fake_launch(b"work", 1)
    for what in (busy, sleeps, reads, logs, writes, locked):
        phase(what)
    worker.start()
    phase(loads, results)
    worker.terminate()
    with open(sys.argv[2], "w") as file:
        json.dump(took, file)
"""


# Prints a word where it is.
FREE_THREADED = (
    "import sysconfig; print('yes' if sysconfig.get_config_var('Py_GIL_DISABLED') else '')"
)

SPINS = """\
import ctypes, sys, time

cuda = ctypes.CDLL(sys.argv[1])


def inner():
    end = time.thread_time() + 0.4  # of a processor, of which a busy machine has less
    while time.thread_time() < end:  # spins
        for i in range(100_000):  # spins
            i + i  # spins


def outer():
    inner()


def sleeps():
    time.sleep(0.2)


cuda.fake_init()
cuda.fake_launch(b"work", 1)
outer()
sleeps()
cuda.fake_launch(b"work", 1)
"""


class HostSamples(FakeTest):
    def record(self, *options):
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        return self.profile(*PYTHON, program, FAKE / "libcuda.so.1", self.folder / "took.json",
                            options=options, check=0)  # fmt: skip

    def account(self):
        printed = subprocess.run([GPUPROF, "account", self.output, "--json"], capture_output=True,
                                 check=True, timeout=120)  # fmt: skip
        [table] = json.loads(printed.stdout)["tables"]
        return table["rows"]

    def has_host_samples(self):
        return "HOST_SAMPLE" in self.database().tables()

    def place(self, comment):
        [line] = [
            i for i, text in enumerate(PROGRAM.split("\n"), 1) if text.endswith("# " + comment)
        ]
        return f"program.py:{line} "

    def test_planted_causes_are_named(self):
        has_lock = not subprocess.check_output([*PYTHON, "-c", FREE_THREADED], text=True).strip()
        run = self.record("--host-samples")
        self.assertNotIn("host samples", run.stderr)
        took = json.loads((self.folder / "took.json").read_text())
        rows = self.account()
        causes = {
            row["cause"]: row["duration_ns"] / 1e9 for row in rows if row["class"] == "no call"
        }
        named = 0
        for phase, (words, function) in {
            "busy": ("", "busy"),
            "sleeps": ("sleeping in ", "sleeps"),
            "reads": ("waiting in ", "reads"),
            "logs": ("", "Slow.emit"),
            "writes": ("", "writes"),
            "locked": ("waiting for the interpreter's lock, held by ", "hold"),
            "loads": ("", "collate"),
        }.items():
            if phase == "locked" and not has_lock:
                continue
            # On a busy machine a line waits for a processor, and has fewer samples.
            its = sum(time for cause, time in causes.items()
                      if cause.startswith(words) and f" {function}" in cause)  # fmt: skip
            named += its
            with self.subTest(phase, causes=causes, took=took):
                self.assertGreater(its, 0.3 * took[phase])
        if has_lock:
            self.assertGreater(named, 0.8 * sum(causes.values()), causes)
        for words, comment, function in (
            ("sleeping in ", "sleeps", "sleeps"),
            ("waiting in ", "reads", "reads"),
            *[("waiting for the interpreter's lock, held by ", "holds", "hold")][:has_lock],
        ):
            self.assertIn(words + self.place(comment) + function, causes)
        self.assertTrue(any(cause.endswith(" in a child process") for cause in causes), causes)
        # What the file says adds up, and is what is computed from it.
        stored = self.database().rows("SELECT class, cause, duration_ms FROM account")
        self.assertEqual({row[:2]: round(row[2] * 1e6) for row in stored},
                         {(row["class"], row["cause"]): row["duration_ns"] for row in rows})  # fmt: skip
        self.assertAlmostEqual(sum(row["share"] for row in rows), 1, delta=1e-4)

    def test_other_numbers(self):
        """In a PID namespace of its own, where processes and threads have other numbers than outside."""
        alone = (shutil.which("unshare") or "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")  # fmt: skip
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
            self.skipTest("user namespaces are not allowed")
        program = self.folder / "spins.py"
        program.write_text(SPINS)
        self.profile(*alone, *PYTHON, program, FAKE / "libcuda.so.1", options=["--host-samples"], check=0)  # fmt: skip
        processes = "SELECT DISTINCT process_id FROM {}"
        self.assertEqual(self.database().rows(processes.format("kernels")), [(1,)])
        self.assertEqual(self.database().rows("SELECT DISTINCT processId FROM HOST_SAMPLE"), [(1,)])
        causes = {row["cause"] for row in self.account() if row["class"] == "no call"}
        for function in ("inner", "sleeps"):
            self.assertTrue(any(function in (cause or "") for cause in causes), causes)

    def test_cpu_profiling(self):
        """nvprof's options and report, of the lines that ran."""
        program = self.folder / "spins.py"
        program.write_text(SPINS)
        options = ("--cpu-profiling", "on", "--cpu-profiling-frequency", "400")
        words = (*PYTHON, program, FAKE / "libcuda.so.1")
        ran = self.profile(*words, options=(*options, "--cpu-profiling-mode", "top-down"), output=False,
                           check=0)  # fmt: skip
        self.assertRegex(
            ran.stderr,
            r"\n==\d+== CPU profiling result \(top down\):\nTime\(%\) +Time  Name\n"
            r" *[\d.]+%  +[\d.]+ms  <module>\n( .*\n)* *[\d.]+%  +[\d.]+ms  [| ] outer\n"
            r" *[\d.]+%  +[\d.]+ms  [| ] [| ] inner\n(.*\n)*\n==\d+== Data collected at \d+Hz frequency\n",
        )
        self.profile(*words, options=options, check=0)
        self.assertFalse(self.has_host_samples())

        def report(*words):
            printed = subprocess.run([GPUPROF, "-i", self.output, "--json", "--cpu-profiling", "on", *words],
                                     capture_output=True, check=True, timeout=120)  # fmt: skip
            return [table["rows"] for table in json.loads(printed.stdout)["tables"]
                    if table["table"] == "cpu_profile"][0]  # fmt: skip

        flat = report("--cpu-profiling-mode", "flat")
        self.assertEqual({row["depth"] for row in flat}, {0})
        took = {row["function"]: row["time_ns"] / 1e9 for row in flat}
        self.assertGreater(took["inner"], sum(took.values()) / 2)
        self.assertLess(took["inner"], 0.6)
        # Asleep it does not run.
        self.assertLess(took.get("sleeps", 0), 0.1)
        self.assertAlmostEqual(sum(row["time_percent"] for row in flat), 100, delta=0.1)
        [first, *_] = report(
            "--cpu-profiling-scope", "instruction", "--cpu-profiling-unwind-stack", "off"
        )
        lines = {i for i, text in enumerate(SPINS.split("\n"), 1) if "# spins" in text}
        self.assertEqual((first["function"], first["file"]), ("inner", str(program)))
        self.assertIn(first["line"], lines)
        self.assertIsNone(first["offset"])
        # The calls that lead there, innermost first.
        functions = [(row["depth"], row["function"]) for row in report("--cpu-profiling-percentage-threshold", "40")]  # fmt: skip
        self.assertEqual(functions[:3], [(0, "inner"), (1, "outer"), (2, "<module>")])
        # With both, the process counts once, and the account knows what it waits for.
        self.profile(*words, options=("-f", "--host-samples=400", *options), check=0)
        self.assertTrue(self.has_host_samples())
        took = {row["function"]: row["time_ns"] / 1e9 for row in report("--cpu-profiling-mode", "flat")}  # fmt: skip
        self.assertGreater(took["inner"], sum(took.values()) / 2)
        self.assertLess(took["inner"], 0.6)
        causes = {row["cause"] for row in self.account() if row["class"] == "no call"}
        self.assertTrue(any("sleeps" in (cause or "") for cause in causes), causes)
        other = self.profile("hello", options=("--cpu-profiling", "on"), output=False, check=0)
        self.assertIn("== No CPU samples: a program that uses CUDA is sampled", other.stderr)

    def test_without_the_option_there_are_none(self):
        self.record()
        self.assertEqual({row["cause"] for row in self.account() if row["class"] == "no call"},
                         {None})  # fmt: skip
        self.assertFalse(self.has_host_samples())


if __name__ == "__main__":
    unittest.main()
