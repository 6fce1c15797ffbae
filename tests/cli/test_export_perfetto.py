"""gpuprof export -o x.pftrace, read with Perfetto's own messages: every field exists there."""
# ctest-labels: plain

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
    """The number of fields in it and its submessages that Perfetto does not have."""
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
                shutil.unpack_archive(archive, cls.folder)
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

    def test_measured_kernels_are_for_the_compute_tab(self):
        """As Perfetto stores GPU counters: a value holds since the previous one."""
        last, values, groups, stages, names = {}, [], {}, [], {}
        specifications, contexts = {}, {}
        packets = sorted(self.traces["metrics"].packet, key=lambda packet: packet.timestamp)
        for packet in packets:
            for each in packet.interned_data.gpu_specifications:
                specifications[each.iid] = each
            for each in packet.interned_data.graphics_contexts:
                contexts[each.iid] = each
            event = packet.gpu_counter_event
            for spec in event.counter_descriptor.specs:
                self.assertNotIn(spec.counter_id, names)
                names[spec.counter_id], groups[spec.counter_id] = spec.name, list(spec.groups)
            for counter in event.counters:
                if counter.counter_id in last:
                    last[counter.counter_id][2] = counter.double_value
                last[counter.counter_id] = [packet.timestamp, names[counter.counter_id], 0.0]
                values.append(last[counter.counter_id])
            if packet.HasField("gpu_render_stage_event"):
                stages.append((packet.timestamp, packet.gpu_render_stage_event))
        self.assertEqual({tuple(each) for each in groups.values()}, {(6,)})  # COMPUTE
        found = set()
        for start, stage in stages:
            said = {each.name: each.value for each in stage.extra_data}
            self.assertEqual(specifications[stage.stage_iid].category, 2)  # COMPUTE
            self.assertTrue(specifications[stage.hw_queue_iid].name.startswith("measured"))
            self.assertEqual(str(contexts[stage.context].pid), said["process_id"])
            self.assertEqual(contexts[stage.context].api, 4)  # CUDA
            self.assertEqual(int(said["launch__grid_size"]), stage.launch.grid_size.x
                             * stage.launch.grid_size.y * stage.launch.grid_size.z)  # fmt: skip
            found |= {
                (int(said["correlation_id"]), stage.name, stage.duration, name, value)
                for time, name, value in values
                if start <= time < start + stage.duration
            }
        database = sqlite3.connect(self.folder / "metrics.sqlite")
        stored = set(database.execute(
            "SELECT correlation_id, name, duration, metric, value FROM kernel_metrics"
            " WHERE duration NOT NULL"))  # fmt: skip
        self.assertGreater(len(stored), 30)
        self.assertEqual(found, stored)
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
