# ctest-cost: 8
"""gpuprof what-if: without a change the schedule of every capture runs exactly as it was recorded; with
one, small schedules that are made here take the time that follows by hand."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import unittest

from builds import asan, load_tests  # noqa: F401
from findings_made import (
    CAPTURES,
    DTOH,
    GPUPROF,
    KIND,
    PAGEABLE,
    SOURCE,
    US,
    FindingsTest,
    Made,
    gpuprof,
)

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
# Packed in the sources.
UNPACKED = "kinds", "device_graph", "metrics"
CHANGES = "--no-gaps", "--overlap-copies", "--no-copies", "--no-waits"


class WhatIfTest(FindingsTest):
    def ask(self, path, *words):
        ran = gpuprof("what-if", path, "--json", *words)
        self.assertIn(ran.returncode, (0, 20), ran.stderr)
        return json.loads(ran.stdout)

    def made(self):
        return Made(self.replayed("vector_add"), self.folder)

    def check(self, made, before, *questions):
        """`questions`: words, and the time afterwards in us. A made profile or the path of one."""
        path = made.finish() if isinstance(made, Made) else made
        for words, after in (("", before), *questions):
            with self.subTest(words):
                (device,) = self.ask(path, *words.split())["devices"]
                self.assertEqual((device["before_ns"], device["after_ns"], device["saved_ns"]),
                                 (before * US, after * US, (before - after) * US))  # fmt: skip
        return path


class Recorded(WhatIfTest):
    def unpacked(self, capture):
        path = self.folder / f"{capture}.sqlite"
        subprocess.run([GPUPROF, "replay", "-q", "-o", path,
                        BUILD / f"tests/captures/{capture}.gpcap"], check=True)  # fmt: skip
        return path

    def test_without_a_change_nothing_changes(self):
        """In no capture and no window, and its time is the account's. A change only ever saves."""
        chance = random.Random(33)
        for capture in (*CAPTURES, *UNPACKED):
            path = self.replayed(capture) if capture in CAPTURES else self.unpacked(capture)
            windows = [(), ("--from", "0")]
            devices = self.ask(path, "--from", "0")["devices"]
            for _ in range(3 if devices else 0):
                begin, end = sorted(chance.sample(range(devices[0]["before_ns"]), 2))
                windows.append(("--from", f"{begin}ns", "--to", f"{end}ns"))
            for window in windows:
                with self.subTest(capture, window=window):
                    # Findings leave idle time out where kernels were measured.
                    judged = self.findings(path, *window)["devices"]
                    found = self.ask(path, *window)["devices"]
                    self.assertEqual([each["device_id"] for each in found],
                                     [each["device_id"] for each in judged])  # fmt: skip
                    for each, its in zip(found, judged, strict=True):
                        if its["measured"]:
                            self.assertEqual(its["idle_ns"], 0)
                            self.assertGreaterEqual(each["before_ns"], its["time_ns"])
                        else:
                            self.assertEqual(each["before_ns"], its["time_ns"])
                    self.assertEqual({each["saved_ns"] for each in found} - {0}, set())
                    for each in self.ask(path, *window, *CHANGES)["devices"]:
                        self.assertGreaterEqual(each["saved_ns"], 0)
                        self.assertGreaterEqual(each["after_ns"], 0)

    def test_steps(self):
        document = self.ask(self.replayed("torch_step"))
        self.assertTrue(document["window"]["of_steps"])
        self.assertEqual(document["steps"], 2)
        text = gpuprof("what-if", self.replayed("torch_step")).stdout
        self.assertIn("NVIDIA H200 (0), the time of 2 steps:\n", text)
        self.assertIn("--from 0 simulates the whole run.", text)
        self.assertIn("Nothing is changed: the times are those of the run.", text)

    def test_kernels_are_chosen_by_name(self):
        path = self.replayed("torch_step")
        document = self.ask(path, "--from", "0", "--kernel", "gemm=2x,.=1.5")
        kernels = document["change"]["kernels"]
        self.assertEqual([(each["regex"], each["times_as_fast"]) for each in kernels],
                         [("gemm", 2), (".", 1.5)])  # fmt: skip
        self.assertEqual(sum(each["launches"] for each in kernels), 34)
        text = gpuprof("what-if", path, "--from", "0", "--kernel", "gemm=2x").stdout
        self.assertIn(f"Kernels that match gemm, {kernels[0]['launches']} launches, are 2 times as "
                      "fast.\n", text)  # fmt: skip

    def test_text(self):
        ran = gpuprof("what-if", self.replayed("vector_add"), "--overlap-copies", "--kernel",
                      "vector_add=2x")  # fmt: skip
        page = (SOURCE / "docs/what-if.md").read_text(encoding="utf-8")
        self.assertIn(f"```text\n{ran.stdout}```\n", page)

    def test_wrong_words(self):
        path = self.replayed("torch_step")
        for words in (["--kernel", "gemm"], ["--kernel", "gemm=fast"], ["--kernel", "gemm=0.5x"],
                      ["--kernel", "=2x"], ["--kernel", "gemm=nan"], ["--kernel", "(=2x"],
                      ["--kernel", "no kernel has this name=2x"], ["--from", "2s", "--to", "1s"]):  # fmt: skip
            ran = gpuprof("what-if", path, *words)
            self.assertNotEqual(ran.returncode, 0, words)
            self.assertEqual(ran.stdout, "")
            self.assertIn("gpuprof: ", ran.stderr)

    def test_a_run_without_work(self):
        empty = self.folder / "empty.sqlite"
        subprocess.run([GPUPROF, "-q", "-f", "-o", empty, "true"], check=True)
        self.assertEqual(gpuprof("what-if", empty, "--no-gaps").stdout,
                         "No GPU work has times there: there is nothing to simulate.\n")  # fmt: skip
        self.assertEqual(self.ask(empty)["devices"], [])


class MadeSchedules(WhatIfTest):
    """Launches reach an idle GPU 5 us after their call."""

    def test_a_faster_kernel(self):
        made = self.made()
        made.kernel(100, 200, "critical", launched=(90, 95))
        made.kernel(200, 300, "second", launched=(96, 99))
        # At the same time in another stream.
        made.kernel(110, 150, "hidden", launched=(100, 105), streamId=13)
        self.check(made, 200, ("--kernel critical=2x", 150), ("--kernel hidden=2x", 200),
                   ("--kernel critical=4x,second=2x", 75),
                   ("--kernel critical=100,second=100", 50))  # fmt: skip

    def test_launches_that_are_slower_than_the_kernels(self):
        made = self.made()
        for begin in range(100, 400, 30):
            made.kernel(begin, begin + 10, launched=(begin - 10, begin - 5))
        # What the host did while a kernel ran still takes its 10 us.
        self.check(made, 280, ("--kernel .=2x", 275), ("--no-gaps", 100), ("--no-waits", 280),
                   ("--no-gaps --kernel .=2x", 95))  # fmt: skip

    def test_waits(self):
        """The host goes on 3 us after the kernel, and launches the next 7 us later."""
        for kind in (1, 3, 4):
            made = self.made()
            for begin in range(100, 700, 120):
                made.kernel(begin + 10, begin + 110, launched=(begin, begin + 5))
                made.wait(begin + 6, begin + 113, kind)
            self.check(made, 580, ("--kernel .=2x", 4 * 70 + 50), ("--no-waits", 500),
                       ("--no-gaps", 500), ("--no-waits --kernel .=10x", 4 * 16 + 10))  # fmt: skip

    def test_copies_to_the_device(self):
        """They are launched ahead, and each is in the way of the kernel that does not need it."""
        made = self.made()
        for i in range(3):
            made.copy(30 + 300 * i, 130 + 300 * i, launched=(10 + 6 * i, 12 + 6 * i))
            made.kernel(130 + 300 * i, 330 + 300 * i, launched=(13 + 6 * i, 15 + 6 * i))
        self.check(made, 900, ("--overlap-copies", 700), ("--no-copies", 600), ("--no-waits", 900))

    def test_work_that_is_gone_takes_the_gap_before_it_with_it(self):
        """Between works of one stream, the GPU takes 2 us."""
        made = self.made()
        made.kernel(100, 200, launched=(10, 12))
        for i in range(5):
            made.copy(202 + 12 * i, 212 + 12 * i, launched=(14 + 4 * i, 16 + 4 * i))
        made.kernel(262, 362, launched=(50, 52))
        self.check(made, 262, ("--no-copies", 202))

    def test_a_copy_needs_what_was_over_when_it_was_launched(self):
        made = self.made()
        made.kernel(100, 200, "before", launched=(90, 95))
        made.wait(96, 203)
        made.copy(220, 320, launched=(210, 215))
        made.kernel(320, 420, launched=(216, 218))
        # The host comes to the copy 107 us earlier, but the kernel before it is not over then.
        self.check(made, 320, ("--no-waits --overlap-copies", 300), ("--kernel before=2x", 270))

    def test_copies_to_the_host(self):
        made = self.made()
        for i in range(2):
            made.kernel(30 + 300 * i, 230 + 300 * i, launched=(20 + 6 * i, 25 + 6 * i))
            made.copy(230 + 300 * i, 330 + 300 * i, DTOH, launched=(26 + 6 * i, 28 + 6 * i))
        self.check(made, 600, ("--overlap-copies", 500))

    def test_copies_that_the_host_waits_for(self):
        made = self.made()
        made.copy(20, 120, asynchronous=False, launched=(10, 125))
        made.kernel(140, 240, launched=(130, 135))
        made.copy(240, 340, DTOH, asynchronous=False, launched=(142, 345))
        made.kernel(360, 460, launched=(350, 355))
        # Without waits both calls return after 5 us, and the rest is in one stream. In a stream of
        # its own, the copy to the host runs at the same time as the second kernel.
        self.check(made, 440, ("--no-waits", 400), ("--overlap-copies", 300), ("--no-copies", 240))

    def test_a_pageable_copy_is_over_after_its_call(self):
        """The call returns 4 us before: the rest of the data is in a buffer of the driver."""
        made = self.made()
        made.kernel(100, 200, "before", launched=(90, 95))
        made.copy(200, 300, host=PAGEABLE, launched=(110, 296))
        made.kernel(310, 410, launched=(300, 305))
        self.check(made, 310, ("--kernel before=2x", 260))

    def test_events(self):
        """A kernel waits for one in another stream; only the wait is recorded, or the event too."""
        for recorded in (None, False, True):
            made = self.made()
            made.kernel(100, 300, "first", launched=(90, 95), streamId=13)
            if recorded:
                made.event(made.call("cudaEventRecord", 96, 97), 13, 5)
                made.kernel(300, 600, launched=(98, 99), streamId=13)
            if recorded is not None:
                call = made.call("cudaStreamWaitEvent", 110, 112)
                made.insert("SYNCHRONIZATION", 110, 112, type=2, streamId=14, cudaEventId=5,
                            cudaEventSyncId=5 if recorded else 0, correlationId=call)  # fmt: skip
            made.kernel(303, 703, launched=(113, 118), streamId=14)
            with self.subTest(recorded=recorded):
                self.check(made, 603, ("--kernel first=2x", 603 if recorded is None else 503))

    def test_the_default_stream(self):
        """It waits for streams that block with it."""
        for flag, after in ((1, 150), (2, 200)):
            made = self.made()
            made.database.execute(
                f"INSERT INTO {KIND}STREAM(contextId, streamId, priority, flag, correlationId, "
                f"processId) SELECT contextId, 13, 0, ?, 0, processId FROM {KIND}STREAM LIMIT 1",
                (flag,),
            )
            made.kernel(100, 200, "first", launched=(90, 95), streamId=13)
            made.kernel(200, 300, launched=(96, 101), streamId=7)
            with self.subTest(flag):
                self.check(made, 200, ("--kernel first=2x", after))

    def test_a_dependent_launch_keeps_its_overlap(self):
        made = self.made()
        made.kernel(100, 200, "first", launched=(90, 95))
        made.kernel(190, 290, launched=(96, 99))
        self.check(made, 190, ("--kernel first=2x", 140))

    def test_a_thread_waits_for_another(self):
        """As autograd's does: it has made no call for 100 us, and the other thread has."""
        for paused in (True, False):
            made = self.made()
            if not paused:
                made.kernel(321, 322, launched=(311, 316), thread=77, streamId=14)
            made.kernel(20, 220, "first", launched=(10, 15))
            made.wait(16, 223)
            made.kernel(410, 510, launched=(400, 405), thread=77)
            with self.subTest(paused=paused):
                self.check(made, 490, ("--kernel first=2x", 390))
        made = self.made()
        made.kernel(121, 122, launched=(111, 116), thread=77, streamId=14)
        made.kernel(20, 120, "first", launched=(10, 15))
        made.wait(16, 123)
        made.kernel(210, 310, launched=(200, 205), thread=77)
        self.check(made, 290, ("--kernel first=2x", 290))

    def test_a_full_queue(self):
        """Launches wait for room. With fast kernels they no longer do."""
        made = self.made()
        end = 10
        for i in range(1400):
            begin, end = end, end + 2
            if i >= 1130:
                end = 100 + 10 * (i - 905) + 11
            made.kernel(100 + 10 * i, 110 + 10 * i, launched=(begin, end))
        (device,) = self.ask(made.finish(), "--kernel", ".=10x")["devices"]
        self.assertEqual(device["before_ns"], 14_000 * US)
        # 2 us for each launch until then, 1 us for each from then on.
        self.assertAlmostEqual(device["after_ns"], (1130 * 2 + 270) * US, delta=100 * US)

    def test_a_window(self):
        made = self.made()
        for i in range(3):
            made.kernel(100 + 100 * i, 200 + 100 * i, launched=(80 + i, 81 + i))
        path = made.finish()
        self.check(path, 300)
        window = "--from 150us --to 350us"
        (device,) = self.ask(path, *window.split(), "--kernel", ".=2x")["devices"]
        self.assertEqual((device["before_ns"], device["after_ns"]), (200 * US, 100 * US))

    def test_a_window_ends_with_what_comes_after_it(self):
        made = self.made()
        made.kernel(100, 200, "first", launched=(90, 95))
        made.wait(96, 203)
        made.kernel(400, 500, launched=(390, 395))
        path = made.finish()
        # 100 us of the kernel and 100 us of the gap; the launch after it comes 50 us earlier.
        (device,) = self.ask(path, "--to", "300us", "--kernel", "first=2x")["devices"]
        self.assertEqual((device["before_ns"], device["after_ns"]), (200 * US, 150 * US))

    def test_two_devices(self):
        made = self.made()
        for device in (0, 1):
            made.kernel(100, 200, f"of{device}", launched=(90 + device, 95), deviceId=device,
                        contextId=device + 1)  # fmt: skip
        made.wait(100, 203)
        for device in (0, 1):
            made.kernel(220, 320, launched=(210 + device, 215), deviceId=device,
                        contextId=device + 1)  # fmt: skip
        devices = self.ask(made.finish(), "--kernel", "of0=2x")["devices"]
        # The host, which waits for the first only, launches work of both earlier; that of the
        # second waits for the kernel before it.
        self.assertEqual([each["after_ns"] for each in devices], [170 * US, 200 * US])

    def test_without_calls(self):
        made = self.made()
        made.kernel(100, 200, "first")
        made.kernel(300, 400)
        path = made.finish()
        self.check(path, 300, ("--kernel first=2x", 250), ("--no-gaps", 300))
        (doubt,) = self.ask(path)["doubts"]
        self.assertIn("Calls of CUDA are not in the file", doubt)
        self.assertIn(doubt, gpuprof("what-if", path).stdout)


@asan
class ForgedProfiles(WhatIfTest):
    QUESTION = *CHANGES, "--from", "0"

    def check_forged(self, path):
        for device in self.ask(path, *self.QUESTION)["devices"]:
            self.assertGreater(device["before_ns"], 0)
            self.assertGreaterEqual(device["saved_ns"], 0)
            self.assertGreaterEqual(device["after_ns"], 0)
        for device in self.ask(path, "--from", "0")["devices"]:
            self.assertEqual(device["saved_ns"], 0)

    def test_numbers(self):
        values = "NULL", "'a text'", "x'00ff'", "-1", "1", "0.5", str(2**63 - 1), str(-(2**63))
        columns = {
            "CONCURRENT_KERNEL": ("start", "[end]", "name", "deviceId", "correlationId", "streamId",
                                  "contextId", "processId"),
            "MEMCPY": ("start", "[end]", "copyKind", "srcKind", "flags", "correlationId", "graphId"),
            "SYNCHRONIZATION": ("correlationId", "type", "streamId", "contextId", "processId",
                                "cudaEventSyncId"),
            "RUNTIME": ("start", "[end]", "cbid", "correlationId", "processId", "threadId"),
            "STREAM": ("flag", "streamId"),
        }  # fmt: skip
        chance = random.Random(35)
        for table, names in columns.items():
            for name in names:
                value = chance.choice(values)
                with self.subTest(table, column=name, value=value):
                    path = self.folder / "forged.sqlite"
                    shutil.copyfile(self.replayed("torch_step"), path)
                    with contextlib.closing(sqlite3.connect(path)) as database, database:
                        database.execute(
                            f"UPDATE {KIND}{table} SET {name} = {value} WHERE rowid % 2"
                        )
                    self.check_forged(path)

    def test_all_at_once(self):
        """Many streams, threads and waits whose times overlap at random."""
        made = self.made()
        chance = random.Random(36)
        for _ in range(400):
            begin = chance.randrange(1, 3000)
            launched = sorted(chance.sample(range(1, 3000), 2))
            thread, stream = chance.randrange(1, 4), chance.choice((7, 13, 14))
            made.kernel(begin, begin + chance.randrange(1, 300), launched=launched, thread=thread,
                        streamId=stream)  # fmt: skip
            made.copy(begin, begin + chance.randrange(1, 300), chance.choice((1, 2, 8)),
                      chance.choice((1, 2)), chance.random() < 0.5,
                      launched=sorted(chance.sample(range(1, 3000), 2)), streamId=stream)  # fmt: skip
            begin = chance.randrange(1, 3000)
            made.wait(begin, begin + chance.randrange(1, 900), chance.choice((1, 2, 3, 4)), stream)
        path = made.finish()
        self.check_forged(path)
        for words in ((), ("--no-gaps",), ("--overlap-copies",), ("--no-waits", "--kernel=.=3")):
            for window in ((), ("--from", "1ms", "--to", "2ms")):
                for device in self.ask(path, *words, *window)["devices"]:
                    self.assertGreaterEqual(device["saved_ns"], 0, words)

    def test_names(self):
        made = self.made()
        made.kernel(100, 200, "\x1b[2J\x1b]0;x\x07", launched=(90, 95))
        path = made.finish()
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute(f"UPDATE {KIND}DEVICE SET name = (SELECT max(_id_) FROM StringTable)")
            for column in ("value", "demangled", "short"):
                database.execute(
                    f"UPDATE StringTable SET {column} = char(27) || '[2J' || char(8238)"
                )
        for words in ((), ("--json",), ("--kernel", r"\x1b=2x")):
            ran = gpuprof("what-if", path, *words)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertNotRegex(ran.stdout + ran.stderr, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")

    def test_other_tables_in_their_place(self):
        for table in ("API_NAME", "STEP", KIND + "RUNTIME", KIND + "SYNCHRONIZATION", KIND + "STREAM",
                      KIND + "CUDA_EVENT", KIND + "CONCURRENT_KERNEL"):  # fmt: skip
            for other in (f"CREATE TABLE {table}(other)",
                          f"CREATE VIEW {table} AS SELECT abs(-9223372036854775807 - 1) AS cbid, "
                          "'x' AS domain, 'x' AS name",
                          f"CREATE VIEW {table} AS SELECT randomblob(9) AS other"):  # fmt: skip
                with self.subTest(other):
                    path = self.folder / "other.sqlite"
                    shutil.copyfile(self.replayed("torch_step"), path)
                    with contextlib.closing(sqlite3.connect(path)) as database, database:
                        database.executescript(f"DROP TABLE {table};{other}")
                    ran = gpuprof("what-if", path, *self.QUESTION)
                    self.assertIn(ran.returncode, (0, 20), ran.stderr)


if __name__ == "__main__":
    unittest.main()
