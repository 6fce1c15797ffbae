"""The lines of Python that CUDA calls came from, with --stacks=launches in all threads."""

import collections
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import unittest

from fake_run import BUILD, FAKE, GPUPROF, SANITIZED, FakeTest

# Another interpreter: a command that runs one.
PYTHON = os.environ.get("GPUPROF_TEST_PYTHON", sys.executable).split()

BEGIN = """\
import collections, ctypes, json, os, random, sys, threading, time, traceback

cuda = ctypes.CDLL(sys.argv[1])
cuda.fake_malloc.argtypes = [ctypes.c_uint64]
cuda.fake_malloc.restype = ctypes.c_uint64
cuda.fake_free.argtypes = cuda.fake_set.argtypes = [ctypes.c_uint64]
cuda.fake_copy.argtypes = [ctypes.c_int, ctypes.c_uint64]
cuda.fake_init()
logs = collections.defaultdict(list)


# What the interpreter itself says of the caller, innermost first; a call returns it for use as an
# argument on the same line.
def here(argument=1):
    frames = traceback.walk_stack(sys._getframe(1))
    stack = traceback.StackSummary.extract(frames, lookup_lines=False)
    logs[threading.get_native_id()].append([(s.filename, s.name, s.lineno) for s in stack])
    return argument


def save():
    with open(sys.argv[2], "w") as file:
        json.dump({"process": os.getpid(), "logs": logs}, file)


"""


@unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
class LaunchStacks(FakeTest):
    def record(self, text, check=0, options=(), stacks="--stacks=launches"):
        program = self.folder / "program.py"
        program.write_text(BEGIN + textwrap.dedent(text))
        self.log = self.folder / "log.json"
        return self.profile(*PYTHON, program, FAKE / "libcuda.so.1", self.log,
                            options=[*[stacks] * bool(stacks), *options], check=check)  # fmt: skip

    def stacks(self):
        """By process and thread the stacks of calls, in order; None: the call has no stack."""
        database = self.database()
        frames = {(p, f): (file, name, line) for p, f, file, name, line in database.rows(
            "SELECT processId, frame, module, function, line FROM STACK_FRAME WHERE offset IS NULL")}  # fmt: skip
        entries = collections.defaultdict(list)
        for process, stack, frame in database.rows(
            "SELECT processId, stack, frame FROM STACK_ENTRY ORDER BY position"
        ):
            entries[process, stack].append(frames[process, frame])
        calls = {c: (p, s) for c, p, s in database.rows(
            "SELECT correlationId, processId, stack FROM CALL_STACK")}  # fmt: skip
        self.assertEqual(len(calls), database.one("SELECT count(*) FROM CALL_STACK"))
        found = collections.defaultdict(list)
        for process, thread, correlation in database.rows(
            "SELECT processId, threadId, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            " ORDER BY start, correlationId"
        ):
            found[process, thread].append(
                entries[calls[correlation]] if correlation in calls else None
            )
        return found

    def compare(self, log=None):
        """The recorded stacks with those that the program saw; returns how many."""
        saw = json.loads((log or self.log).read_text())
        found, compared = self.stacks(), 0
        for thread, expected in saw["logs"].items():
            there = found[saw["process"], int(thread)]
            self.assertEqual(len(there), len(expected))
            for calls, frames in zip(there, expected):
                # A qualified name ends with the name.
                short = [(file, name.split(".")[-1], line) for file, name, line in calls]
                self.assertEqual(short, [tuple(frame) for frame in frames[:64]])
            compared += len(expected)
        return compared

    def test_thousands_of_launches_at_random(self):
        run = self.record("""\
            def leaf(depth):
                if depth % 2: cuda.fake_launch(b"a", here())
                else: cuda.fake_launch(b"b", here()); cuda.fake_launch(b"c", here())

            def recursive(depth):
                if depth > 0 and random.random() < 0.9: recursive(depth - 1)
                elif depth % 2: leaf(depth)
                else: cuda.fake_driver_launch(b"d", 0); leaf(depth + 1)

            def generator(depth):
                for i in range(2):
                    cuda.fake_launch(b"e", here())
                    yield i
                    recursive(depth)

            class Model:
                def __call__(self, depth):
                    return [self.part(depth + i) for i in range(random.randrange(2))]

                @property
                def weights(self): cuda.fake_launch(b"f", here())

                def part(self, depth):
                    self.weights
                    return sorted([2, 1], key=lambda each: leaf(depth + each) or 0)

            def made():
                # Code that is gone when the next one comes to its place.
                lines = "\\n" * random.randrange(7)
                text = lines + "cuda.fake_launch(b'g', here())"
                exec(compile(text, f"made {random.randrange(10, 99)}", "exec"), globals())

            model = Model()
            ways = [leaf, recursive, lambda d: list(generator(d)), model, lambda d: made()]

            def work(count):
                while len(logs[threading.get_native_id()]) < count:
                    random.choice(ways)(random.randrange(80) if random.random() < 0.1 else 3)

            random.seed(7)
            work(10000)
            held = ctypes.PyDLL(sys.argv[1])

            def holding():  # the interpreter's lock, as CuPy and Triton do
                for _ in range(300): held.fake_launch(b"h", here())

            threads = [threading.Thread(target=work, args=(300,)) for _ in range(3)]
            threads.append(threading.Thread(target=holding))
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            save()
            """)
        self.assertNotIn("Python", run.stderr)
        self.assertGreaterEqual(self.compare(), 11_200)
        self.assertLess(self.database().one("SELECT count(DISTINCT stack) FROM CALL_STACK"), 5000)

    def test_deep_stacks_of_threads(self):
        """Frames in several pieces of memory, and on the thread's own stack, where C calls Python."""
        self.record("""\
            class Module:  # of which each call goes through C
                def __call__(self, depth, odd):
                    if depth: return (self if odd else plain)(depth - 1, odd)
                    cuda.fake_launch(b"a", here())

            def plain(depth, odd):
                if depth: return (self_calls if depth % 3 else plain)(depth - 1, odd)
                cuda.fake_launch(b"b", here())

            self_calls = Module()

            def work():
                for depth in [*range(90), 300, 3, 200, 90, 3, 3]:
                    for odd in 0, 1: self_calls(depth, odd); plain(depth, odd)

            sys.setrecursionlimit(3000)
            threading.stack_size(64 << 20)
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads: thread.start(); work()
            for thread in threads: thread.join()
            save()
            """)  # fmt: skip
        self.assertEqual(self.compare(), 4 * 96 * 4)

    def test_every_kind_of_call_and_what_has_none(self):
        self.record(
            """\
            memory = cuda.fake_malloc(here(64))
            cuda.fake_copy(1, here(64))
            cuda.fake_set(here(64))
            for _ in range(3): cuda.fake_synchronize(here())
            cuda.fake_free(here(memory))
            # A thread that no interpreter knows of.
            libc, native = ctypes.CDLL(None), ctypes.c_ulong()
            start = ctypes.cast(cuda.fake_set, ctypes.c_void_p)
            libc.pthread_create(ctypes.byref(native), None, start, ctypes.c_void_p(64))
            libc.pthread_join(native, None)
            save()
            """,
            options=["--print-gpu-trace"],
        )
        self.assertEqual(self.compare(), 7)
        others = [s for (_, thread), s in self.stacks().items()
                  if str(thread) not in json.loads(self.log.read_text())["logs"]]  # fmt: skip
        self.assertEqual(others, [[None]])

    def test_without_rows_of_calls_the_work_has_its_stack(self):
        self.record("for i in range(5): cuda.fake_launch(b'a', 1)\n", options=["--trace", "gpu"])
        line = BEGIN.count("\n") + 1
        self.assertEqual(
            self.database().rows(
                "SELECT s.line, count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k"
                " JOIN call_stacks AS s ON s.correlation_id = k.correlationId GROUP BY 1"
            ),
            [(line, 5)],
        )

    # The first thread launches in line 1, another one in lines 3 and, with the interpreter's lock, 4.
    USUAL = """\
        for _ in range(5): cuda.fake_launch(b"first", 1)
        def work():
            for _ in range(6): cuda.fake_launch(b"other", 1)
            for _ in range(7): ctypes.PyDLL(sys.argv[1]).fake_launch(b"holds", 1)
        thread = threading.Thread(target=work); thread.start(); thread.join()
        """

    def usual(self, *options):
        """By default, or with these options: how many launches come from which line."""
        self.record(self.USUAL, options=["-f", *options], stacks=None)
        database = self.database()
        if database.one("SELECT count(*) FROM sqlite_master WHERE name = 'CALL_STACK'") == 0:
            return None
        begin = BEGIN.count("\n")
        return {line - begin: count for line, count in database.rows(
            "SELECT line, count(*) FROM call_stacks JOIN CUPTI_ACTIVITY_KIND_RUNTIME ON correlationId = correlation_id"
            " WHERE position = 0 GROUP BY 1")}  # fmt: skip

    def test_by_default_where_no_system_call_is_needed(self):
        self.assertEqual(self.usual(), {1: 5, 4: 7})
        self.assertEqual(self.usual("--stacks=launches"), {1: 5, 3: 6, 4: 7})
        self.assertFalse(self.usual("--stacks=off"))
        # Without records of calls there would be callbacks for it alone.
        self.assertFalse(self.usual("--trace", "gpu"))

    def test_a_program_without_python_has_none_of_it(self):
        self.profile("graphs", check=0)
        self.assertFalse(
            self.database().rows("SELECT 1 FROM sqlite_master WHERE name = 'GRAPH_NODE'")
        )

    def test_a_killed_program_keeps_its_stacks(self):
        self.record(
            """\
            def work():
                for _ in range(200): cuda.fake_launch(b"a", here())
                cuda.fake_set(here(64))
            work()
            save()
            os.kill(os.getpid(), 9)
            """,
            check=None,
            options=["--flush-period", "60000"],
        )
        saw = json.loads(self.log.read_text())
        [(expected, count)] = collections.Counter(map(str, *saw["logs"].values())).most_common(1)
        found = self.stacks()[saw["process"], saw["process"]]
        self.assertEqual((len(found), count), (201, 200))
        self.assertEqual([[file, name, line] for file, name, line in found[0]],
                         [list(frame) for frame in eval(expected)])  # fmt: skip
        self.assertNotIn(None, found)

    def test_processes_have_stacks_of_their_own(self):
        program = """\
            import subprocess
            if os.fork() == 0:
                cuda.fake_set(64)  # CUDA does not survive a fork, and nor does the trace
                os._exit(0)
            os.wait()
            def work():
                for i in range(50): cuda.fake_launch(b"a", here())
            {more}
            work()
            save()
            if len(sys.argv) == 3:
                subprocess.run([sys.executable, *sys.argv, "more"])
            """
        program = program.replace("{more}", "if len(sys.argv) > 3: sys.argv[2] += '2'; work()")
        self.record(program)
        self.assertEqual(self.compare(), 50)
        self.assertEqual(self.compare(pathlib.Path(str(self.log) + "2")), 100)

    def test_nodes_of_graphs_have_the_line_that_made_them(self):
        self.record("""\
            def layer(name):
                cuda.fake_launch(name, here())  # layer

            def replay():
                cuda.fake_captured_launch(20)  # replay

            cuda.fake_launch(b"warm", 1)
            cuda.fake_capture_begin()
            for _ in range(3): layer(b"many")
            cuda.fake_launch(b"one", 1)  # one
            cuda.fake_capture_end()
            replay()
            replay()
            save()
            """)
        program = (self.folder / "program.py").read_text().split("\n")
        database = self.database()
        # Four nodes and two times their clones, with a number of their own and one that kernels have. The first
        # of these is announced as made, too.
        self.assertEqual(database.one("SELECT count(*) FROM GRAPH_NODE"), 4 + 2 * (2 * 4 + 1))
        # Each kernel of a graph, by the original of its node, and the line of that.
        rows = database.rows(
            "SELECT k.short_name, f.line, count(*) FROM kernels AS k"
            " JOIN GRAPH_NODE AS clone ON clone.node = k.graph_node_id AND clone.source IS NOT NULL"
            " JOIN GRAPH_NODE AS made ON made.node = clone.source AND made.source IS NULL"
            " JOIN CALL_STACK AS c ON c.correlationId = made.correlationId"
            " JOIN STACK_ENTRY AS e ON e.stack = c.stack AND e.position = 0"
            " JOIN STACK_FRAME AS f ON f.frame = e.frame"
            " GROUP BY 1, 2 ORDER BY 1"
        )
        line = {text.split("# ")[1]: i for i, text in enumerate(program, 1) if ")  # " in text}
        self.assertEqual(rows, [("many", line["layer"], 120), ("one", line["one"], 40)])
        printed = subprocess.run([GPUPROF, "lines", self.output, "--json"], capture_output=True,
                                 check=True, timeout=120)  # fmt: skip
        [table] = json.loads(printed.stdout)["tables"]
        self.assertEqual(
            {row["line"]: row["kernels"] for row in table["rows"] if row["kernels"]},
            {line["layer"]: 120, line["one"]: 40, line["layer"] + 5: 1},
        )
        self.assertEqual(
            [row["calls"] for row in table["rows"] if row["line"] == line["replay"]], [42]
        )

    def test_nodes_that_were_added_nested_and_updated(self):
        self.record("""\
            def capture():
                cuda.fake_capture_begin()
                cuda.fake_launch(b"captured", 1)  # captured
                cuda.fake_capture_end()

            cuda.fake_nvtx_push(b"prepare")
            capture()
            cuda.fake_nvtx_push(b"add")
            cuda.fake_graph_add(b"added")  # added
            cuda.fake_nvtx_pop()
            cuda.fake_nvtx_pop()
            cuda.fake_graph_nest()
            cuda.fake_graph_add(b"later")  # later
            cuda.fake_graph_instantiate()
            cuda.fake_executable_launch(3)
            cuda.fake_capture_begin()
            cuda.fake_launch(b"captured", 1)  # again
            cuda.fake_capture_end()
            cuda.fake_graph_update()
            cuda.fake_executable_launch(2)  # launched
            time.sleep(0.01)  # until the GPU is done
            cuda.fake_copy(1, 64)  # copied
            save()
            """)
        program = self.folder / "program.py"
        line = {text.split("# ")[1]: f"{program}:{i}"
                for i, text in enumerate(program.read_text().split("\n"), 1) if ")  # " in text}  # fmt: skip
        database = self.database()
        self.assertEqual(
            database.rows("SELECT short_name, python_line, count(*) FROM kernels GROUP BY 1, 2 ORDER BY 3, 1"),
            [("captured", line["again"], 2), ("captured", line["captured"], 3), ("added", line["added"], 5),
             ("later", line["later"], 5)],
        )  # fmt: skip
        self.assertEqual(database.rows("SELECT python_line FROM memcpys"), [(line["copied"],)])
        self.assertEqual(
            database.one("SELECT count(*) FROM api_calls WHERE name = 'cudaGraphLaunch'"
                         f" AND python_line = '{line['launched']}'"), 2)  # fmt: skip
        self.assertLessEqual({line["copied"]}, {row[0] for row in database.rows(
            "SELECT python_line FROM gpu_gaps")})  # fmt: skip
        # Each stack_id leads to its functions.
        self.assertEqual(
            database.one("SELECT count(*) FROM kernels AS k WHERE NOT EXISTS (SELECT 1 FROM call_stacks AS s"
                         " WHERE s.stack = k.stack_id AND s.process_id = k.process_id)"), 0)  # fmt: skip
        nodes = database.rows(
            "SELECT name, count, python_line, range_path FROM graph_nodes ORDER BY name"
        )
        self.assertEqual(nodes, [("added", 5, line["added"], "prepare / add"),
                                 ("captured", 5, line["again"], None),
                                 ("later", 5, line["later"], None)])  # fmt: skip
        self.assertAlmostEqual(database.one("SELECT sum(graph_share) FROM graph_nodes"), 1)
        printed = subprocess.run([GPUPROF, "query", self.output, "graphs", "--csv"], text=True,
                                 capture_output=True, check=True, timeout=120).stdout  # fmt: skip
        self.assertIn(',"' + line["added"] + '"', printed)
        # A file that is not finished says the same.
        database.close()
        with sqlite3.connect(self.output) as connection:
            connection.execute("DROP VIEW graph_nodes")
            # The node captured last may have the number of the first, which was removed from the graph before.
            made = [row[0] for row in connection.execute(
                "SELECT node FROM GRAPH_NODE WHERE source IS NULL ORDER BY correlationId")]  # fmt: skip
            for column in "node", "source":
                connection.execute(
                    f"UPDATE GRAPH_NODE SET {column} = ?1 WHERE {column} = ?2", (made[0], made[-1])
                )
        connection.close()
        again = subprocess.run([GPUPROF, "query", self.output, "graphs", "--csv"], text=True,
                               capture_output=True, check=True, timeout=120).stdout  # fmt: skip
        self.assertEqual(printed, again)
        printed = subprocess.run([GPUPROF, "lines", self.output, "--json"], capture_output=True,
                                 check=True, timeout=120)  # fmt: skip
        [table] = json.loads(printed.stdout)["tables"]
        self.assertEqual(
            {f"{row['file']}:{row['line']}": row["kernels"] for row in table["rows"] if row["kernels"]},
            {line["captured"]: 3, line["again"]: 2, line["added"]: 5, line["later"]: 5},
        )  # fmt: skip

    def test_both_kinds_of_stacks(self):
        self.record(
            """\
            memory = cuda.fake_malloc(64)
            cuda.fake_launch(b"a", 1)
            cuda.fake_free(memory)
            """,
            options=["--stacks"],
        )
        first = BEGIN.count("\n") + 1
        database = self.database()
        lines = database.rows(
            "SELECT a.name, max(s.line), max(s.offset IS NOT NULL), count(DISTINCT s.stack)"
            " FROM api_calls AS a JOIN call_stacks AS s USING (correlation_id)"
            " WHERE a.domain = 'runtime' GROUP BY a.start ORDER BY a.start"
        )
        # Calls for memory have the native functions too, others only Python's.
        self.assertEqual(
            lines[:2], [("cudaMalloc", first, 1, 1), ("cudaLaunchKernel", first + 1, 0, 1)]
        )


class NativeStacks(FakeTest):
    @unittest.skipUnless(
        shutil.which("addr2line") or shutil.which("llvm-addr2line"), "no addr2line"
    )
    def test_lines_of_cpp(self):
        self.profile("hello", "20", options=["--native-stacks"], check=0)
        source = pathlib.Path(__file__).resolve().parents[1] / "fake_cupti/programs/hello.cpp"
        place = {text.split("(")[0].strip(): i
                 for i, text in enumerate(source.read_text().split("\n"), 1) if "  fake_" in text}  # fmt: skip
        printed = subprocess.run([GPUPROF, "lines", self.output, "--json"], capture_output=True,
                                 check=True, timeout=120)  # fmt: skip
        [table] = json.loads(printed.stdout)["tables"]
        lines = {
            row["line"]: row for row in table["rows"] if (row["file"] or "").endswith("/hello.cpp")
        }
        self.assertEqual(lines[place["fake_launch"]]["kernels"], 20)
        self.assertEqual(lines[place["fake_driver_launch"]]["kernels"], 20)
        self.assertEqual(lines[place["fake_graph_launch"]]["kernels"], 3)
        self.assertEqual(lines[place["fake_copy"]]["copies"], 20)
        self.assertEqual({row["function"] for row in lines.values()}, {"main"})
        database = self.database()
        # Twenty launches have one stack, without the profiler's own code.
        self.assertLess(database.one("SELECT count(DISTINCT stack) FROM CALL_STACK"), 15)
        self.assertEqual(database.one("SELECT count(*) FROM call_stacks WHERE module LIKE '%libgpuprof%'"
                                      " OR module LIKE '%libcupti%'"), 0)  # fmt: skip
        # How many functions of the stand-in are below it depends on the compiler.
        self.assertIn("fake_launch", {row[0] for row in database.rows(
            "SELECT function FROM call_stacks WHERE module LIKE '%libcuda%'")})  # fmt: skip

    def test_threads_and_a_program_that_is_killed(self):
        self.profile("threads", "4", "500", options=["--native-stacks"], check=0)
        database = self.database()
        self.assertEqual(
            database.one("SELECT count(*) FROM kernels WHERE stack_id IS NOT NULL"), 2000
        )
        self.assertLess(database.one("SELECT count(DISTINCT stack) FROM CALL_STACK"), 30)


@unittest.skipUnless((BUILD / "tests" / "fake" / "lying_python").exists(), "it is not built")
class OtherPythons(FakeTest):
    def test_memory_that_lies_hurts_nobody(self):
        lies = 2_000 if SANITIZED else 5_000
        for seed in range(2):
            run = self.profile("lying_python", seed, lies, check=0,
                               options=["--stacks=launches", "--host-samples=1000"])  # fmt: skip
            self.assertNotIn("Python", run.stderr)
            database = self.database()
            self.assertEqual(
                database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), 2 * lies
            )
            # Of some lies the names were read.
            self.assertGreater(database.one("SELECT count(*) FROM STACK_FRAME"), 100)
            self.output.unlink()

    def test_one_that_is_not_known_is_reported_once(self):
        run = self.profile("other_python", options=["--stacks=launches"], check=0)
        [line] = [line for line in run.stderr.splitlines() if "Python" in line]
        self.assertIn("calls have no lines of Python: the layout of Python 3.99.0 is not known, "
                      "only those of 3.9 to 3.15", line)  # fmt: skip
        self.assertEqual(self.database().one("SELECT count(*) FROM CALL_STACK"), 0)


if __name__ == "__main__":
    unittest.main()
