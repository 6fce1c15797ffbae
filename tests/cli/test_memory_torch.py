# ctest-labels: plain
"""run.memory.with_torch(): PyTorch's segments compared with the file's data about the same memory. The
snapshots are made here, in the form that PyTorch documents."""

import copyreg
import os
import pathlib
import pickle
import resource
import struct
import sys
import unittest
import unittest.mock

from fake_run import BUILD, FakeTest

sys.path.insert(0, str(BUILD / "share" / "gpuprof" / "python"))

import gpuprof  # noqa: E402
from gpuprof_cuda import _memory  # noqa: E402

MIB = 1 << 20
MAPPED = 0x500000000000  # where the program `memory` maps
CONTEXT = 256 * MIB  # memory that the stand-in uses for one


def block(size, state="active_allocated", requested=None):
    return {"size": size, "requested_size": size if requested is None else requested,
            "address": 0, "state": state,
            "frames": [{"filename": "train.py", "name": "step", "line": 7}]}  # fmt: skip


def segment(address, blocks, device=0, **more):
    def size(*states):
        return sum(each["size"] for each in blocks if each["state"] in states)

    return {"device": device, "address": address,
            "total_size": sum(each["size"] for each in blocks), "stream": 0,
            "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
            "allocated_size": size("active_allocated"),
            "active_size": size("active_allocated", "active_awaiting_free"),
            "requested_size": 0, "blocks": blocks, "frames": [], **more}  # fmt: skip


def snapshot(*segments, **more):
    return {"segments": list(segments), "device_traces": [[]],
            "allocator_settings": {"expandable_segments": True, "max_split_size": -1,
                                   "garbage_collection_threshold": 0.0}, **more}  # fmt: skip


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class WithTorch(FakeTest):
    def setUp(self):
        super().setUp()
        self.profile("memory", 2, options=["--track-memory"], check=0)
        self.run_ = gpuprof.open(self.output)
        self.addCleanup(self.run_.close)
        (self.plain,) = [
            row["address"]
            for row in self.run_.allocations.dicts()
            if (row["operation"], row["bytes"]) == ("allocation", 16 * MIB)
        ]

    def write(self, content, protocol=4):
        path = self.folder / "snapshot.pickle"
        path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
        return path

    def laid(self, content, protocol=4, **asked):
        torch = self.run_.memory.with_torch(self.write(content, protocol), **asked)
        return list(torch.segments().dicts()), list(torch.devices().dicts())

    def refused(self, content, why=""):
        with self.assertRaisesRegex(gpuprof.FileError, why) as raised:
            self.laid(content)
        self.assertEqual(raised.exception.code, 20)
        self.assertIn("snapshot.pickle: ", str(raised.exception))
        self.assertIn("_dump_snapshot() writes", raised.exception.hint)

    def usual(self):
        return snapshot(
            segment(MAPPED, [block(40 * MIB, requested=39 * MIB), block(24 * MIB, "inactive")],
                    is_expandable=True),
            segment(self.plain, [block(6 * MIB), block(2 * MIB, "inactive"),
                                 block(5 * MIB, "active_awaiting_free"),
                                 block(3 * MIB, "inactive")]),
            segment(0x700000000000, [block(2 * MIB, "inactive")], segment_type="small"),
        )  # fmt: skip

    def test_segments_have_the_allocations_that_cover_them(self):
        segments, _ = self.laid(self.usual())
        by_address = {row["address"]: row for row in segments}
        plain, mapped = by_address[self.plain], by_address[MAPPED]
        unknown = by_address[0x700000000000]
        self.assertEqual(
            (plain["allocation_address"], plain["allocation_bytes"], plain["covered_bytes"]),
            (self.plain, 16 * MIB, 16 * MIB),
        )
        self.assertEqual(
            [plain[f"{x}_bytes"] for x in ("allocated", "active", "free", "largest_free")],
            [6 * MIB, 11 * MIB, 5 * MIB, 3 * MIB],
        )
        self.assertAlmostEqual(plain["fragmentation"], 1 - 3 / 5)
        # Mapped in two halves: no allocation covers it alone.
        self.assertEqual((mapped["allocations"], mapped["covered_bytes"]), (2, 64 * MIB))
        self.assertEqual((mapped["allocation_address"], mapped["expandable"]), (None, 1))
        self.assertEqual(mapped["requested_bytes"], 39 * MIB)
        self.assertEqual((mapped["fragmentation"], mapped["segment_type"]), (0, "large"))
        self.assertEqual((unknown["allocations"], unknown["covered_bytes"]), (0, 0))
        self.assertEqual((unknown["allocation_time_ns"], unknown["segment_type"]), (None, "small"))

    def test_sums_of_a_device_with_its_process_and_the_driver(self):
        _, (device,) = self.laid(self.usual())
        self.assertEqual(
            [
                device[f"{x}_bytes"]
                for x in ("reserved", "allocated", "active", "requested", "free")
            ],
            [82 * MIB, 46 * MIB, 51 * MIB, 50 * MIB, 31 * MIB],
        )
        self.assertEqual((device["segments"], device["uncovered_segments"]), (3, 1))
        self.assertEqual(device["covered_bytes"], 80 * MIB)
        # Another 32 MiB made by cuMemCreate, which are mapped nowhere.
        self.assertEqual(device["process_bytes"], 112 * MIB)
        self.assertEqual(device["outside_bytes"], 32 * MIB)
        self.assertEqual(device["driver_total_bytes"], 80 << 30)
        self.assertGreaterEqual(device["unaccounted_bytes"], CONTEXT)
        self.assertEqual(
            device["process_id"], next(iter(self.run_.processes.dicts()))["process_id"]
        )
        self.assertEqual(device["time_from"], "fit")
        # The moment is that of the last mapping.
        last = self.run_.sql("""
            SELECT max(m.time) FROM MEMORY_CALL AS m
            JOIN API_NAME AS a ON a.cbid = m.cbid AND a.domain = 'driver' WHERE a.name = 'cuMemMap'
            """)
        self.assertEqual(device["time_ns"], next(iter(last))[0])

    def test_the_time_is_that_which_is_asked_for(self):
        before = self.run_.sql("SELECT min(time) - 1 FROM MEMORY_CALL")
        asked = next(iter(before))[0]
        segments, (device,) = self.laid(self.usual(), time=asked)
        self.assertEqual((device["time_ns"], device["time_from"]), (asked, "asked"))
        self.assertEqual(device["process_bytes"], 16 * MIB)
        self.assertEqual({row["address"]: row["covered_bytes"] for row in segments}[MAPPED], 0)

    def test_the_time_is_that_of_the_snapshot_where_it_has_history(self):
        realtime, cupti = next(
            iter(self.run_.sql("SELECT realtime, cupti FROM CLOCK WHERE moment = 'last'"))
        )
        entry = {"action": "snapshot", "addr": 0, "size": 0, "stream": 0, "frames": [],
                 "time_us": realtime // 1000}  # fmt: skip
        other = {**entry, "action": "alloc", "time_us": realtime // 1000 + 5}
        content = {**self.usual(), "device_traces": [[other, entry], []]}
        _, (device,) = self.laid(content)
        self.assertEqual(device["time_from"], "snapshot")
        self.assertLess(abs(device["time_ns"] - cupti), 2000)
        self.assertEqual((device["process_bytes"], device["covered_bytes"]), (0, 0))
        # From another day, so it is ignored.
        entry["time_us"] = 1
        _, (device,) = self.laid(content)
        self.assertEqual(device["time_from"], "fit")

    def test_each_protocol_of_pickles_and_the_list_of_memory_snapshot(self):
        expected = self.laid(self.usual())
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol):
                self.assertEqual(self.laid(self.usual(), protocol), expected)
        self.assertEqual(self.laid(self.usual()["segments"]), expected)
        # Without blocks, a segment's own sums are used.
        content = snapshot(segment(self.plain, [block(16 * MIB)]))
        del content["segments"][0]["blocks"]
        (row,), _ = self.laid(content)
        self.assertEqual((row["allocated_bytes"], row["blocks"]), (16 * MIB, 0))
        self.assertIsNone(row["fragmentation"])

    def test_nothing_that_fits_is_said_with_nothing(self):
        segments, devices = self.laid(snapshot())
        self.assertEqual((segments, devices), ([], []))
        (row,), (device,) = self.laid(snapshot(segment(0x10, [block(16)])))
        self.assertEqual((row["covered_bytes"], row["allocation_address"]), (0, None))
        self.assertEqual((device["time_ns"], device["process_bytes"]), (None, None))
        self.assertEqual(device["reserved_bytes"], 16)

    def test_a_process_is_one_of_the_file(self):
        process = next(iter(self.run_.processes.dicts()))["process_id"]
        self.assertEqual(self.laid(self.usual(), process=process), self.laid(self.usual()))
        with self.assertRaisesRegex(gpuprof.QuestionError, "no memory of process 1 "):
            self.laid(self.usual(), process=1)
        both = gpuprof.open([self.output, self.output])
        self.addCleanup(both.close)
        with self.assertRaisesRegex(gpuprof.QuestionError, "one file"):
            both.memory.with_torch(self.write(self.usual()))

    def test_a_file_is_data_and_never_executed(self):
        executed = self.folder / "was-run"
        for content in (
            {**self.usual(), "x": Evil(str(executed))},
            Evil(str(executed)),
            {"segments": [Evil(str(executed))]},
        ):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                self.refused(pickle.dumps(content, protocol))
                self.assertFalse(executed.exists())
        self.refused(pickle.dumps(Evil("")), "refers to .*mkdir, .*nothing of it was executed")
        cases = {
            "global": (b"cos\nsystem\n", "refers to os.system,"),
            "global of a stack": (b"\x8c\x02os\x8c\x06system\x93", "refers to os.system,"),
            "instance": (b"(ios\nsystem\n", "refers to os.system,"),
            "name for terminals": (b"c\x1b[2J\nx\n", r"refers to \\x1b\[2J.x,"),
            "call of a word": (b"\x8c\x02os)R", "not callable"),
            "object of a number": (b"K\x01)\x81", "NEWOBJ"),
            "state of a list": (b"]}b", "__dict__"),
            "persistent id": (b"Pname\n", "persistent"),
            "persistent id of a stack": (b"K\x01Q", "persistent"),
            "extension of 1 byte": (b"\x82\x01", "extension code 1"),
            "extension of 2 bytes": (b"\x83\x01\x00", "extension code 1"),
            "extension of 4 bytes": (b"\x84\x01\x00\x00\x00", "extension code 1"),
            "buffer elsewhere": (b"\x97", "out-of-band"),
        }
        copyreg.add_extension("os", "mkdir", 1)  # that of this process does not matter
        self.addCleanup(copyreg.remove_extension, "os", "mkdir", 1)
        pickle.loads(b"\x80\x02\x82\x01.")  # now it is also in the cache
        self.addCleanup(copyreg.clear_extension_cache)
        for name, (codes, why) in cases.items():
            with self.subTest(name):
                self.refused(b"\x80\x05" + codes + b".", why)

    def test_hostile_files_are_refused_and_take_no_memory(self):
        good = pickle.dumps(self.usual(), 4)
        huge = struct.pack("<Q", 1 << 62)
        loop = []
        loop.append(loop)
        many = {"segments": [block(1)] * 10}
        cases = {
            "empty": b"",
            "text": b"no pickle at all",
            "protocol 1": pickle.dumps(self.usual(), 1),
            "long word": b"\x80\x04\x8d" + huge,
            "long number": b"\x80\x04\x8b\xff\xff\xff\xff",
            "long bytes": b"\x80\x04B\xff\xff\xff\xff",
            "memo far away": b"\x80\x04}r\xff\xff\xff\xff.",
            "memo that is not there": b"\x80\x04j\xff\xff\xff\xff.",
            "far place as text": b"\x80\x02}p99999999999\n.",
            "memo of 16 GB": b"\x80\x04}r\x00\x00\x00\x40.",
            "long frame": b"\x80\x04\x95" + huge,
            "long bytes of 8": b"\x80\x04\x8e" + huge,
            "long array": b"\x80\x05\x96" + huge,
            "frame of 1 GB": b"\x80\x04\x95" + struct.pack("<Q", 1 << 30),
            "more than 32 bytes for each": b"\x80\x04(" + b"}" * 3_000_000 + b"l.",
            "marks": b"\x80\x04" + b"(" * 3_000_000,
            "deep lists": b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
            "a deep key": b"\x80\x04})" + b"\x85" * 1_000_000 + b"Ns.",
            "no stack": b"\x80\x04.",
            "append to nothing": b"\x80\x04K\x01a.",
            "append to itself": pickle.dumps(loop, 4),
            "items of a number": b"\x80\x04K\x01(K\x02e.",
            "odd dict": b"\x80\x04}(K\x01u.",
            "protocol": b"\x80\x09}.",
            "a number": pickle.dumps(7),
            "no segments": pickle.dumps({"device_traces": []}),
            "segments of another type": pickle.dumps({"segments": {"a": 1}}),
            "a segment of another type": pickle.dumps({"segments": ["a", {"address": 1}]}),
            "other dicts": pickle.dumps(many),
            "negative": pickle.dumps(snapshot(segment(-4096, [block(1)]))),
            "size is a text": pickle.dumps(snapshot(segment(0, [block(1)], total_size="1"))),
            "size is enormous": pickle.dumps(snapshot(segment(1, [block(1)], total_size=1 << 80))),
            "ends past all memory": pickle.dumps(
                snapshot(segment((1 << 63) - 1, [block(4)], total_size=4))),
            "overlap": pickle.dumps(snapshot(segment(0, [block(9)]), segment(8, [block(9)]))),
            "blocks too large": pickle.dumps(snapshot(segment(0, [block(9)], total_size=8))),
            "blocks of another type": pickle.dumps(snapshot(segment(0, [block(9)]) |
                                                            {"blocks": {"a": [1]}})),
            "state": pickle.dumps(snapshot(segment(0, [block(9, "inactive ")]))),
            "blocks that add up to nothing": pickle.dumps(
                snapshot(segment(0, [block(1 << 62)] * 4, total_size=0))),
        }  # fmt: skip
        for name, content in cases.items():
            with self.subTest(name):
                self.refused(content)
        # Of a process that reads: none of these gets more than 64 MiB and 32 bytes per byte.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 256 << 10)
        for end in range(0, len(good) - 1, 31):  # truncated anywhere
            self.refused(good[:end])
        for path in (self.folder, self.folder / "nothing", "/dev/zero"):
            with self.assertRaises(gpuprof.FileError):
                list(self.run_.memory.with_torch(path).segments())

    def test_a_key_that_takes_2_to_the_60_steps_is_refused(self):
        """In one second, and not in the five that the reader allows itself."""
        text = pathlib.Path(_memory.__file__).with_name("_torch_snapshot.py").read_text("utf-8")
        seconds = "BASE_SECONDS, BYTES_PER_SECOND = "
        self.assertEqual(text.count(seconds + "5,"), 1)
        quick = self.folder / "_torch_snapshot.py"
        quick.write_text(text.replace(seconds + "5,", seconds + "1,"), "utf-8")
        tuples = b"".join(b"h%c\x86\x94" % place for place in range(60))
        with unittest.mock.patch.object(_memory, "__file__", str(self.folder / "_memory.py")):
            self.refused(b"\x80\x04})\x94" + tuples + b"Ns.")

    def test_what_is_spoiled_anywhere_ends_in_rows_or_a_refusal(self):
        good = pickle.dumps(self.usual(), 4)
        refused = 0
        for at in range(0, len(good), 13):
            spoiled = bytearray(good)
            spoiled[at] ^= 0x55
            try:
                self.laid(bytes(spoiled))
            except gpuprof.FileError:
                refused += 1
        self.assertGreater(refused, len(good) // 52)

    def test_lists_that_are_named_again_and_again_cost_no_time(self):
        blocks = [block(1)] * 100_000
        many = [{**segment(i * 100_000, blocks[:1]), "blocks": blocks} for i in range(20_000)]
        for each in many:
            each["total_size"] = 100_000
        # 2 billion blocks, if each were counted again.
        self.refused(pickle.dumps(snapshot(*many)), "segment 2: blocks is not a list of its own")


if __name__ == "__main__":
    unittest.main()
