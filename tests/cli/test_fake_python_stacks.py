"""--stacks of a Python program: its functions, files and lines, after the native functions."""

import os
import re
import subprocess
import sys
import textwrap
import unittest

from fake_run import BUILD, FAKE, GPUPROF, SANITIZED, FakeTest

# Another interpreter: a command that runs one.
PYTHON = os.environ.get("GPUPROF_TEST_PYTHON", sys.executable).split()
QUALIFIED = subprocess.run(
    [*PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"],
    capture_output=True,
    text=True,
).stdout.startswith("True")

BEGIN = """\
import ctypes, sys, threading

cuda = ctypes.CDLL(sys.argv[1])
cuda.fake_malloc.argtypes = [ctypes.c_uint64]
cuda.fake_malloc.restype = ctypes.c_uint64
cuda.fake_init()

"""
LINES = BEGIN.count("\n")


def line_of(script, mark):
    """The line that ends with this comment."""
    (line,) = [i for i, text in enumerate(script.split("\n"), 1) if text.endswith("# " + mark)]
    return line


@unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
class PythonStacks(FakeTest):
    def record(self, text, name="program.py", check=0):
        self.script = BEGIN + textwrap.dedent(text)
        self.file = self.folder / name
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(self.script)
        run = self.profile(
            *PYTHON, self.file, FAKE / "libcuda.so.1", options=["--stacks"], check=check
        )
        return run, self.database()

    def stack(self, database, size):
        """The stack of the one call with this size: native functions, and functions of Python."""
        rows = database.rows(
            """
            SELECT s.position, s.function, s.module, s.offset, s.line
            FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
            JOIN call_stacks AS s ON s.correlation_id = m.correlationId
            WHERE m.memoryOperationType = 1 AND m.bytes = ? ORDER BY s.position""",
            size,
        )
        self.assertEqual([row[0] for row in rows], list(range(len(rows))), "one call has this size")
        native = [(row[1], row[2]) for row in rows if row[3] is not None]
        python = [(row[1], row[2], row[4]) for row in rows if row[3] is None]
        # First the native ones.
        self.assertTrue(all(row[3] is None for row in rows[len(native) :]), rows)
        return native, python

    def expected(self, *frames):
        # Before 3.11, code has no qualified name.
        names = [name if QUALIFIED else name.rpartition(".")[2] for name, _ in frames]
        return [(name, str(self.file), line_of(self.script, mark))
                for name, (_, mark) in zip(names, frames)]  # fmt: skip

    def test_functions_files_and_lines(self):
        run, database = self.record("""\
            class Model:
                def build(self, size):
                    return [
                        [
                            cuda.fake_malloc(size)  # build
                        ]
                        for _ in range(1)
                    ] if size < 0 else (
                        1,
                        cuda.fake_malloc(size),  # plain
                    )

                def steps(self, size):
                    yield self.build(size)  # steps

                @property
                def weights(self):
                    return cuda.fake_malloc(4) + cuda.fake_malloc(5)  # weights


            def train(size):
                for _ in Model().steps(size):  # train
                    pass
                list(map(lambda more: cuda.fake_malloc(size + more), [1]))  # lambda


            train(1000)  # main
            Model().weights  # property
            thread = threading.Thread(target=train, args=(2000,))
            thread.start()
            thread.join()

            # A thread that no interpreter knows of calls at the same time.
            libc = ctypes.CDLL(None)
            native = ctypes.c_ulong()
            start = ctypes.cast(cuda.fake_malloc, ctypes.c_void_p)
            libc.pthread_create(ctypes.byref(native), None, start, ctypes.c_void_p(3000))
            train(4000)  # again
            libc.pthread_join(native, None)
            """)
        self.assertNotIn("Python", run.stderr)
        inner = [("Model.build", "plain"), ("Model.steps", "steps"), ("train", "train")]
        native, python = self.stack(database, 1000)
        self.assertEqual(python, self.expected(*inner, ("<module>", "main")))
        self.assertEqual(native[0][0], "fake_malloc")
        # None of the interpreter's own functions, which the file's symbols would name.
        self.assertFalse([name for name, _ in native if name and "PyEval" in name], native)
        _, python = self.stack(database, 1001)
        self.assertEqual(
            python,
            self.expected(("train.<locals>.<lambda>", "lambda"), ("train", "lambda"), ("<module>", "main")),
        )  # fmt: skip
        for size in (4, 5):
            _, python = self.stack(database, size)
            self.assertEqual(
                python, self.expected(("Model.weights", "weights"), ("<module>", "property"))
            )
        _, python = self.stack(database, 2000)
        self.assertEqual(python[:3], self.expected(*inner))
        self.assertEqual(
            [(name, os.path.basename(file)) for name, file, _ in python[3:]],
            [(("Thread." if QUALIFIED else "") + name, "threading.py")
             for name in ("run", "_bootstrap_inner", "_bootstrap")],
        )  # fmt: skip
        native, python = self.stack(database, 3000)
        self.assertEqual((native[0][0], python), ("fake_malloc", []))
        _, python = self.stack(database, 4000)
        self.assertEqual(python, self.expected(*inner, ("<module>", "again")))

        ran = subprocess.run(
            [GPUPROF, "memory", self.output, "--by", "stack"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertIn(
            " < ".join(f"{name} (program.py:{line})"
                       for name, _, line in self.expected(*inner, ("<module>", "main"))),
            ran.stdout,
        )  # fmt: skip

    def test_code_that_comes_to_the_place_of_other_code(self):
        _, database = self.record("""\
            for i in range(100):
                space = {"cuda": cuda}
                text = "\\n" * (i % 7) + "def made():\\n  cuda.fake_malloc(%d)\\nmade()" % (10000 + i)
                exec(compile(text, "made %d" % (i % 50 + 10), "exec"), space)  # exec
                del space, text
            """)
        for i in range(100):
            file, line = f"made {i % 50 + 10}", i % 7 + 2
            _, python = self.stack(database, 10000 + i)
            self.assertEqual(
                python,
                [("made", file, line), ("<module>", file, line + 1), *self.expected(("<module>", "exec"))],
            )  # fmt: skip

    def test_of_many_functions_the_innermost_are_kept(self):
        _, database = self.record("""\
            def deep(more):
                if more == 0:
                    return cuda.fake_malloc(1000)  # call
                return deep(more - 1)  # deep


            deep(200)
            """)
        _, python = self.stack(database, 1000)
        self.assertEqual(
            python, [*self.expected(("deep", "call")), *63 * self.expected(("deep", "deep"))]
        )

    def test_names_of_any_letters_and_any_length(self):
        long = "f" * 300
        _, database = self.record(
            f"""\
            def größe_ω():
                cuda.fake_malloc(1000)  # letters


            def {long}():
                cuda.fake_malloc(2000)  # long


            größe_ω()
            {long}()
            space = {{"cuda": cuda}}
            exec(compile("cuda.fake_malloc(3000)", "/a" * 500 + "/end.py", "exec"), space)
            exec(compile("cuda.fake_malloc(4000)", "\\U0001f40d" * 200 + "/end.py", "exec"), space)
            exec(compile("cuda.fake_malloc(5000)", "", "exec"), space)
            """,
            name="übung 𝛼/program.py",
        )
        _, python = self.stack(database, 1000)
        self.assertEqual(python[:1], self.expected(("größe_ω", "letters")))
        _, python = self.stack(database, 2000)
        name, file, line = python[0]
        self.assertEqual((file, line), self.expected(("", "long"))[0][1:])
        self.assertRegex(name, "^f{100,}…$")
        for size, pattern in ((3000, "…/?a?(/a){100,}/end.py"), (4000, "…\U0001f40d{50,}/end.py")):
            _, python = self.stack(database, size)
            self.assertTrue(re.fullmatch(pattern, python[0][1]), python[0])
        _, python = self.stack(database, 5000)
        self.assertEqual((python[0][0], python[0][1] or ""), ("<module>", ""))

    def test_the_line_in_a_long_module(self):
        text = "".join(f"x{i} = [{i}, 'a' if len(sys.argv) > {i} else 'b']\n" for i in range(3000))
        _, database = self.record(
            text + "for size in 1000, 1001:\n    cuda.fake_malloc(size)  # late\n"
        )
        for size in (1000, 1001):
            _, python = self.stack(database, size)
            self.assertEqual(python, self.expected(("<module>", "late")))

    def test_while_and_after_the_interpreter_ends(self):
        run, database = self.record("""\
            import atexit


            class Last:
                def __del__(self):
                    cuda.fake_malloc(2000)


            @atexit.register
            def end():
                cuda.fake_malloc(1000)  # end


            last = Last()
            last.itself = [last]
            cuda.fake_malloc(64)  # the trace begins here, and ends after what is said below
            # What C calls when the interpreter is gone.
            ctypes.CDLL(None).__cxa_atexit(
                ctypes.cast(cuda.fake_malloc, ctypes.c_void_p), ctypes.c_void_p(3000), None
            )
            """)
        _, python = self.stack(database, 1000)
        self.assertEqual(python, self.expected(("end", "end")))
        native, python = self.stack(database, 3000)
        self.assertEqual((native[0][0], python), ("fake_malloc", []))
        self.assertNotIn("Python", run.stderr)

    def test_threads_that_call_while_the_interpreter_ends(self):
        for _ in range(3):
            run, database = self.record("""\
                def work():
                    while True:
                        cuda.fake_free(cuda.fake_malloc(64))


                cuda.fake_free.argtypes = [ctypes.c_uint64]
                for _ in range(4):
                    threading.Thread(target=work, daemon=True).start()
                while cuda.fake_malloc(1000) < 0x100:
                    pass
                """)
            self.assertNotIn("Python", run.stderr)
            self.assertGreater(database.one("SELECT count(*) FROM call_stacks WHERE line > 0"), 0)
            self.output.unlink()


@unittest.skipUnless((BUILD / "tests" / "fake" / "other_python").exists(), "it is not built")
class OtherPython(FakeTest):
    def test_one_that_is_not_known_is_told_once_and_left_alone(self):
        run = self.profile("other_python", options=["--stacks"], check=0)
        told = [line for line in run.stderr.splitlines() if "Python" in line]
        self.assertEqual(len(told), 1, run.stderr)
        self.assertIn("stacks lack the functions of Python: the layout of Python 3.99.0 is not "
                      "known, only those of 3.9 to 3.15", told[0])  # fmt: skip
        names = self.database().rows("SELECT function FROM call_stacks ORDER BY position")
        self.assertEqual([name for (name,) in names[:3]], ["fake_malloc", "_ZL8allocatev", "main"])


if __name__ == "__main__":
    unittest.main()
