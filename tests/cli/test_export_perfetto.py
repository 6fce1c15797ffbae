"""gpuprof export -o x.pftrace, read with Perfetto's own messages: every field is one of theirs."""

import collections
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
TOOLS = SOURCE / ".tools" / "perfetto"
CAPTURES = ("torch_step", "streams_graph", "two_processes", "nvtx_threads", "metrics")

sys.path.insert(0, str(TOOLS))


def unknown(message):
    """How many fields of it, and of what is in it, Perfetto does not have."""
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415

    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            count += sum(map(unknown, value if field.is_repeated else [value]))
    return count


def read(trace):
    """(category, name, debug annotations, ns, flows) of slices, units of counters -> values, tracks."""
    names, categories, notes, tracks = {}, {}, {}, {}
    events = []
    for packet in trace.packet:
        names |= {each.iid: each.name for each in packet.interned_data.event_names}
        categories |= {each.iid: each.name for each in packet.interned_data.event_categories}
        notes |= {each.iid: each.name for each in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            events.append((packet.timestamp, len(events), packet.track_event))
    slices, counters, begun = [], collections.defaultdict(list), collections.defaultdict(list)
    for time, _, event in sorted(events, key=lambda each: each[:2]):
        if event.type == event.TYPE_COUNTER:
            counters[event.track_uuid].append((time, event.double_counter_value))
        elif event.type == event.TYPE_SLICE_BEGIN:
            begun[event.track_uuid].append((time, event))
        else:
            start, first = begun[event.track_uuid].pop()
            said = {notes[note.name_iid]: note for note in first.debug_annotations}
            slices.append((categories[first.category_iids[0]], names[first.name_iid], said,
                           time - start, tuple(first.flow_ids) + tuple(first.terminating_flow_ids)))  # fmt: skip
    assert not any(begun.values())
    return slices, counters, tracks


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
@unittest.skipUnless(TOOLS.is_dir(), "scripts/setup got no messages of Perfetto's")
class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415

        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="perfetto-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.traces = {}
        for name in CAPTURES:
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            if not capture.exists():
                archive = SOURCE / f"tests/captures/{name}.tar.xz"
                shutil.unpack_archive(archive, cls.folder, filter="data")
                capture = cls.folder / f"{name}.gpcap"
            profile, file = cls.folder / f"{name}.sqlite", cls.folder / f"{name}.pftrace"
            for words in (["replay", capture, "-q", "-o", profile], ["export", profile, "-q", "-o", file]):  # fmt: skip
                subprocess.run([GPUPROF, *map(str, words)], check=True, timeout=120)
            cls.traces[name] = perfetto_trace_pb2.Trace.FromString(file.read_bytes())

    def test_every_field_is_one_of_perfettos(self):
        for name, trace in self.traces.items():
            with self.subTest(name):
                self.assertGreater(len(trace.packet), 10)
                self.assertEqual(unknown(trace), 0)

    def test_work_and_calls_are_those_of_sql(self):
        for name, trace in self.traces.items():
            slices, _, tracks = read(trace)
            database = sqlite3.connect(self.folder / f"{name}.sqlite")
            for select, categories in (
                ('SELECT name, "end" - start FROM gpu_activities WHERE start > 0', {"kernel", "memcpy", "memset", "graph"}),
                ('SELECT name, "end" - start FROM api_calls', {"runtime", "driver"}),
            ):  # fmt: skip
                stored = sorted(database.execute(select))
                self.assertGreater(len(stored), 3, name)
                shown = sorted((each[1], each[3]) for each in slices if each[0] in categories)
                self.assertEqual(shown, stored, name)
            [joined] = database.execute(
                "SELECT count(*) FROM gpu_activities WHERE start > 0 AND correlation_id IN"
                " (SELECT correlation_id FROM api_calls)"
            ).fetchone()
            starts = {
                flow for each in slices if each[0] in ("runtime", "driver") for flow in each[4]
            }
            ends = [flow for each in slices if each[0] not in ("runtime", "driver") for flow in each[4]]  # fmt: skip
            self.assertEqual(sum(flow in starts for flow in ends), joined, name)
            self.assertTrue(all(each.name or each.HasField("process") or each.HasField("thread")
                                for each in tracks.values()))  # fmt: skip
            database.close()

    def test_memory_is_a_counter(self):
        _, counters, tracks = read(self.traces["metrics"])
        database = sqlite3.connect(self.folder / "metrics.sqlite")
        [peak] = database.execute("SELECT max(bytes) FROM memory_peak").fetchone()
        database.close()
        memory = [uuid for uuid, track in tracks.items() if "memory" in track.name]
        self.assertEqual(max(value for uuid in memory for _, value in counters[uuid]), peak)


if __name__ == "__main__":
    unittest.main()
