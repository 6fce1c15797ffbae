"""gpuprof export --for hta, read by Holistic Trace Analysis itself: its breakdowns match SQL's."""
# ctest-labels: plain

import contextlib
import json
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
TOOLS = SOURCE / ".tools"
CAPTURES = ("torch_step", "streams_graph", "two_processes", "vector_add")

# Runs in a separate process, because HTA sets up logging and reads the environment on import.
ANALYSIS = """
import json, sys
from hta.trace_analysis import TraceAnalysis

answers = {}
for name, path in json.loads(sys.argv[1]).items():
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir=".")
    trace, text = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
    work = trace[trace.stream >= 0]
    answers[name] = {
        "work": [[text[row.cat], text[row.name], round(float(row.dur) * 1000), int(row.index_correlation)]
                 for row in work.itertuples()],
        "time": {key: round(float(value) * 1000) for key, value in
                 analysis.get_temporal_breakdown(visualize=False).iloc[0].items() if key.endswith("(us)")},
        "bandwidth": {} if (rates := analysis.get_memory_bw_summary()) is None else
                     {name: float(most) for (_, name), most in rates["memory_bw_gbps"]["max"].items()},
        "overlap": float(analysis.get_comm_comp_overlap(visualize=False).iloc[0, 1]),
    }
with open("answers.json", "w") as file:
    json.dump(answers, file)
"""

HTA_NAMES = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
@unittest.skipUnless((TOOLS / "hta").is_dir(), "scripts/setup got no HTA")
class HolisticTraceAnalysis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hta-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        files = {}
        for name in (*CAPTURES, "collectives"):
            profile = cls.folder / f"{name}.sqlite"
            if name == "collectives":
                cls.make_collectives(profile)
            else:
                capture = SOURCE / f"tests/captures/{name}.gpcap"
                cls.gpuprof("replay", "-q", "-o", profile, capture)
            ending = "json" if name == "vector_add" else "json.gz"
            files[name] = f"{name}.{ending}"
            cls.gpuprof("export", profile, "--for", "hta", "-q", "-o", cls.folder / files[name])
        paths = os.pathsep.join(str(TOOLS / each) for each in ("hta", "frames"))
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", ANALYSIS, json.dumps(files)], cwd=cls.folder,
            env={**os.environ, "PYTHONPATH": paths, "HTA_DISABLE_NS_ROUNDING": "1"},
            capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
        if ran.returncode != 0:
            raise AssertionError(ran.stderr)
        cls.answers = json.loads((cls.folder / "answers.json").read_text())

    @staticmethod
    def gpuprof(*words):
        subprocess.run([GPUPROF, *map(str, words)], check=True, timeout=120)

    @classmethod
    def make_collectives(cls, profile):
        """Renames a kernel of a capture to one of NCCL's."""
        shutil.copy(cls.folder / "streams_graph.sqlite", profile)
        database = sqlite3.connect(profile)
        database.execute(
            "UPDATE StringTable SET value = 'ncclDevKernel_AllReduce', short = 'ncclDevKernel_AllReduce',"
            " demangled = 'ncclDevKernel_AllReduce', display = NULL"
            " WHERE _id_ = (SELECT min(name) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)"
        )
        database.commit()
        database.close()
        cls.gpuprof("finish", "-q", profile)

    def for_each(self, check):
        """Calls check(answer, database) for each profile."""
        for name, answer in self.answers.items():
            database = sqlite3.connect(self.folder / f"{name}.sqlite")
            with self.subTest(name), contextlib.closing(database):
                check(answer, database)

    def test_all_work_is_there(self):
        def check(answer, database):
            stored = sorted(
                (HTA_NAMES[kind], f"Mem{name[9:-1]}" if name.startswith("[CUDA mem") else name, length)
                for kind, name, length in database.execute(
                    'SELECT type, name, "end" - start FROM gpu_activities')
            )  # fmt: skip
            self.assertGreater(len(stored), 2)
            self.assertEqual(sorted(tuple(each[:3]) for each in answer["work"]), stored)

        self.for_each(check)

    def test_work_leads_to_its_calls(self):
        def check(answer, database):
            [joined] = database.execute(
                "SELECT count(*) FROM gpu_activities WHERE correlation_id IN"
                " (SELECT correlation_id FROM api_calls)"
            ).fetchone()
            self.assertGreater(joined, 0)
            self.assertEqual(sum(each[3] > 0 for each in answer["work"]), joined)

        self.for_each(check)

    def test_breakdown_of_time(self):
        """For a GPU: HTA counts everything except kernels, and NCCL's kernels, as not computing."""

        def check(answer, database):
            [(span, busy, computing)] = database.execute(
                "SELECT last - first, busy, kernelsOnly + both - exposedCommunication FROM DEVICE_TIME"
            ).fetchall()
            time = answer["time"]
            self.assertEqual(time["kernel_time(us)"], span)
            self.assertEqual(time["idle_time(us)"], span - busy)
            self.assertEqual(time["compute_time(us)"], computing)
            self.assertEqual(time["non_compute_time(us)"], busy - computing)

        self.for_each(check)

    def test_bandwidth_of_copies(self):
        def check(answer, database):
            most = dict(database.execute(
                "SELECT 'Memcpy ' || kind, max(1.0 * bytes / duration) FROM memcpys GROUP BY kind"
                " UNION ALL SELECT 'Memset', max(1.0 * bytes / duration) FROM memsets"
                " HAVING count(*) > 0"
            ))  # fmt: skip
            found = answer["bandwidth"]
            self.assertEqual(set(found), set(most))
            for name, rate in most.items():
                self.assertAlmostEqual(found[name], rate, places=3)

        self.for_each(check)

    def test_communication_beside_kernels(self):
        database = sqlite3.connect(self.folder / "collectives.sqlite")
        [(exposed, all_of_it)] = database.execute(
            'SELECT (SELECT exposedCommunication FROM DEVICE_TIME), sum("end" - start) FROM kernels'
            " WHERE name LIKE 'nccl%'"
        ).fetchall()
        database.close()
        self.assertGreater(exposed, 0)
        self.assertLessEqual(exposed, all_of_it)
        share = 100 * (1 - exposed / all_of_it)
        self.assertAlmostEqual(self.answers["collectives"]["overlap"], share, places=1)


if __name__ == "__main__":
    unittest.main()
