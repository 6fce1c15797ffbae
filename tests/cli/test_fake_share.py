"""Other clients of CUPTI in a recorded program get what they ask for, and the profile is complete."""
# ctest-labels: plain

import subprocess
import sys
import textwrap
import unittest

from command_line import SOURCE
from fake_run import BARE_CUPTI, COMPILER, CUPTI, FAKE, SANITIZED
from test_fake_attach import AttachTest

TRACED, OTHERS = 50, 10  # kernels of a round: in it, and before and after


def got(number):
    """What tests/fake_cupti/programs/client prints of a round."""
    return (
        f"kernels {TRACED} others 0 calls {TRACED + 1} ids {TRACED + 1} wrong 0 odd 0 "
        f"callbacks {2 * TRACED} lent 0 dropped 0 last {70 + number} wrong times 0 clock 1\n"
    )


class Share(AttachTest):
    def assert_complete(self, rounds):
        database = self.database()
        expected = {"traced": rounds * TRACED, "other": (2 * rounds + 1) * OTHERS}
        self.assertEqual(database.kernels(), expected)
        self.assertEqual(database.rows("SELECT * FROM losses"), [])
        # The client's ids, each with the kernel that it is for.
        ids = database.rows(
            """
            SELECT externalId, count(*) FROM CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION
            JOIN kernels ON correlation_id = correlationId WHERE name = 'traced'
            GROUP BY externalId ORDER BY externalId"""
        )
        self.assertEqual(ids, [(70 + i, TRACED) for i in range(rounds)])
        # Each launch has one call; a round copies and waits, too.
        calls = database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
        self.assertEqual(calls, sum(expected.values()) + 2 * rounds)

    @unittest.skipIf(SANITIZED, "a sanitizer wants to be preloaded first")
    def test_linked(self):
        """In rounds, as with torch.profiler's schedule; and the same without gpuprof."""
        rounds = 20
        expected = "".join(map(got, range(rounds)))
        alone = subprocess.run(
            [self.program("client"), str(rounds)], env=self.environment({"LD_PRELOAD": CUPTI}),
            capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual(alone.stdout, expected)
        run = self.profile("client", rounds, check=0, LD_PRELOAD=CUPTI)
        self.assertEqual(run.stdout.decode(), expected)
        self.assert_complete(rounds)

    def test_found_by_dlsym(self):
        """Also in another copy, which lacks a function that ours has."""
        for copy in (CUPTI, BARE_CUPTI):
            with self.subTest(copy=copy):
                run = self.profile("client", 2, copy, options=["-f"], check=0)
                self.assertEqual(run.stdout.decode(), got(0) + got(1))
                self.assert_complete(2)

    def test_without_records_of_its_kinds(self):
        """The profile has only what was asked for, and the client what it asked for."""
        run = self.profile("client", 2, CUPTI, options=["--trace", "gpu"], check=0)
        self.assertEqual(run.stdout.decode(), got(0) + got(1))
        database = self.database()
        self.assertEqual(database.kernels()["traced"], 2 * TRACED)
        self.assertEqual(database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), 0)

    @unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
    def test_cupti_in_two_libraries(self):
        """What the collector loads as CUPTI is no client of it, whatever its name is."""
        library, records = self.folder / "libbothways.so", self.folder / "calls"
        compiled = [*COMPILER, "-shared", "-fPIC", SOURCE / "tests/gpu/both_ways.c", "-o", library, CUPTI,
                    f"-Wl,-rpath,{CUPTI.parent}", "-ldl"]  # fmt: skip
        subprocess.run(compiled, check=True)
        run = self.profile(
            sys.executable, "-c",
            f"__import__('ctypes').CDLL({str(FAKE / 'libcuda.so.1')!r}).fake_launch(b'k', 5)",
            cupti=library, check=0, BOTH_WAYS=records)  # fmt: skip
        self.assertEqual(self.database().kernels(), {"k": 5}, run.stderr)
        self.assertGreaterEqual(len(records.read_bytes()), 5 * 40)

    def test_not_shared(self):
        for options in (["--no-share"], ["--pc-sampling"]):
            with self.subTest(options=options):
                run = self.profile("client", 2, CUPTI, options=["-f", *options], check=4)
                self.assertEqual(run.stdout, b"refused: 39\n")

    @unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
    def test_ctypes(self):
        """Loaded and asked when CUDA is at work, as PyTorch 2.15 does."""
        program = self.folder / "program.py"
        program.write_text(
            textwrap.dedent(f"""\
            import sys
            cuda = __import__("ctypes").CDLL({str(FAKE / "libcuda.so.1")!r})
            cuda.fake_launch(b"before", 3)
            import ctypes
            from ctypes import POINTER, byref, c_size_t, c_uint8, c_uint32, c_void_p
            cupti = ctypes.CDLL({str(CUPTI)!r})
            handle = c_void_p()
            callback = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_uint32, c_void_p)(lambda *_: None)
            assert cupti.cuptiSubscribe(byref(handle), callback, None) == 0
            buffer, lent, kinds = (c_uint8 * 65536)(), [], []
            @ctypes.CFUNCTYPE(None, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t))
            def requested(at, size, most):
                lent.append(1)
                at[0], size[0], most[0] = ctypes.addressof(buffer), len(buffer), 0
            @ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)
            def completed(context, stream, at, size, used):
                lent.pop()
                record = c_void_p()
                while cupti.cuptiActivityGetNextRecord(c_void_p(at), c_size_t(used), byref(record)) == 0:
                    kinds.append(c_uint32.from_address(record.value).value)
            assert cupti.cuptiActivityRegisterCallbacks(requested, completed) == 0
            assert cupti.cuptiActivityEnable(10) == 0
            cuda.fake_launch(b"traced", 7)
            cupti.cuptiActivityFlushAll(1)
            print(kinds, lent)
            """)
        )
        run = self.profile(sys.executable, program, check=0)
        self.assertEqual(run.stdout.decode(), f"{[10] * 7} []\n", run.stderr)
        self.assertEqual(self.database().kernels(), {"before": 3, "traced": 7})

    def test_goes_on_after_the_detach(self):
        """What it asked for is asked of CUPTI when gpuprof has left."""
        process = self.start_ready(
            [self.program("client"), "wait", str(CUPTI)], FAKE_CUDA_EVENT_THREAD=1
        )
        attached = self.attach(process)
        process.stdin.write("go\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.detach(attached)
        self.assertEqual(process.communicate("go\n", timeout=60)[0], got(0))
        self.assertEqual(self.database().kernels(), {"other": OTHERS, "traced": 20})


del AttachTest

if __name__ == "__main__":
    unittest.main()
