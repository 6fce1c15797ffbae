# ctest-labels: plain
"""What gpuprof.plot draws, compared with SQL on the same files.

Without matplotlib (installed by scripts/setup) only its message in that case is tested."""

import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF", "")
PACKAGES = BUILD / "share" / "gpuprof" / "python"

sys.path.append(str(SOURCE / "tests" / "support"))

from packages import TOOLS  # noqa: E402

sys.path.insert(0, str(TOOLS / "plot"))
sys.path.insert(0, str(TOOLS / "frames"))
sys.path.insert(0, str(PACKAGES))

import gpuprof  # noqa: E402
from gpuprof._measure import Measured  # noqa: E402
from gpuprof_cuda import _palette  # noqa: E402

SETTINGS = tempfile.TemporaryDirectory(prefix="gpuprof-matplotlib-")
os.environ["MPLCONFIGDIR"] = SETTINGS.name  # not into HOME
try:
    import matplotlib
    import matplotlib.pyplot

    matplotlib.use("Agg")
except ImportError:
    matplotlib = None

PARTS = 4000  # gaps shorter than one of these parts of the interval are not drawn


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-plot-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def path(self, capture):
        path = self.folder / f"{capture}.sqlite"
        if not path.exists():
            file = SOURCE / "tests" / "captures" / f"{capture}.gpcap"
            if not file.exists():
                with tarfile.open(file.with_suffix(".tar.xz")) as archive:
                    file = self.folder / file.name
                    file.write_bytes(archive.extractfile(file.name).read())
            subprocess.run([GPUPROF, "replay", file, "-q", "-o", path], check=True)
        return path

    def open(self, *captures):
        run = gpuprof.open([self.path(capture) for capture in captures])
        self.addCleanup(run.close)
        return run

    def select(self, capture, sql, *values):
        with contextlib.closing(sqlite3.connect(self.path(capture))) as connection:
            return connection.execute(sql, values).fetchall()


class Without(Files):
    def test_without_matplotlib_it_says_how_to_get_it(self):
        code = "import sys; sys.modules['matplotlib'] = None; import gpuprof, gpuprof.plot as p\n"
        code += "run = gpuprof.open(sys.argv[1])\n"
        code += "for draw in p.__all__:\n"
        code += "    try: getattr(gpuprof.plot, draw)(run)\n"
        code += "    except gpuprof.Error as error: print(draw, error.hint)\n"
        ran = subprocess.run(
            [sys.executable, "-c", code, self.path("vector_add")],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(
            (ran.stdout.splitlines(), ran.stderr),
            ([f"{draw} pip install matplotlib" for draw in gpuprof.plot.__all__], ""),
        )


@unittest.skipUnless(matplotlib, "there is no matplotlib")
class Plots(Files):
    ROOF = {"flops": ["flop_count_sp"], "traffic": ["dram__bytes_read.sum"]}  # in the capture

    def tearDown(self):
        matplotlib.pyplot.close("all")

    def texts(self, ax):
        return [text.get_text() for text in ax.get_legend().get_texts()]

    def bars(self, ax):
        """Rectangles of a bar chart or histogram, by label."""
        return {group.patches[0].get_label(): group.patches for group in ax.containers}

    def test_kernel_histogram(self):
        for capture in ("streams_graph", "torch_step"):
            ax = gpuprof.plot.kernel_histogram(self.open(capture), bins=7)
            rows = self.select(
                capture, "SELECT display_name, duration FROM kernels WHERE duration > 0"
            )
            names = dict.fromkeys(name for name, _ in rows)
            total = {name: sum(time for each, time in rows if each == name) for name in names}
            first = sorted(names, key=lambda name: (-total[name], name))[:5]
            bars = self.bars(ax)
            others = [f"{len(names) - 5} others"] if len(names) > 5 else []
            self.assertEqual([label[:40] for label in bars], [name[:40] for name in first] + others)
            for label, drawn in zip(first + others, bars.values()):
                times = [
                    time / 1e3 for name, time in rows
                    if name == label or (label in others and name not in first)
                ]  # fmt: skip
                self.assertEqual(len(drawn), 7)
                self.assertEqual(sum(bar.get_height() for bar in drawn), len(times))
                for i, bar in enumerate(drawn):
                    left, right = bar.get_x(), bar.get_x() + bar.get_width()
                    near = 1e-9 * right  # a time at an edge may be on either side
                    inside = [t for t in times if left + near < t < right - near]
                    about = [t for t in times if left - near <= t <= right + near]
                    self.assertLessEqual(len(inside), bar.get_height(), (label, i))
                    self.assertLessEqual(bar.get_height(), len(about), (label, i))
            self.assertEqual(ax.get_xscale(), "log")

    def test_kernels_have_the_colors_of_the_viewer_and_none_looks_like_another(self):
        run = self.open("torch_step")
        ax = gpuprof.plot.kernel_histogram(run, top=12)
        function = {row["display_name"]: row["short_name"] for row in run.kernels.dicts()}
        looks = set()
        for label, bars in self.bars(ax).items():
            face = matplotlib.colors.to_hex(bars[0].get_facecolor())
            looks.add((face, bars[0].get_hatch()))
            if label in function:
                self.assertEqual(face, _palette.color(_palette.color_of_work(function[label])))
        self.assertEqual(len(looks), len(self.bars(ax)))
        ax = gpuprof.plot.timeline(run)
        faces = {each.get_label().lstrip("_"): matplotlib.colors.to_hex(each.get_facecolor()[0]) for each in ax.collections}  # fmt: skip
        self.assertEqual(faces["kernel"], _palette.color("compute"))
        self.assertEqual(faces["memcpy"], _palette.color("copy"))

    def test_kernel_histogram_of_a_name(self):
        ax = gpuprof.plot.kernel_histogram(self.open("torch_step"), "gemm")
        ((count,),) = self.select(
            "torch_step", "SELECT count(*) FROM kernels WHERE name LIKE '%gemm%'"
        )
        drawn = sum(bar.get_height() for group in self.bars(ax).values() for bar in group)
        self.assertGreater(count, 0)
        self.assertEqual(drawn, count)
        ax = gpuprof.plot.kernel_histogram(self.open("torch_step"), "no such kernel")
        self.assertEqual(self.bars(ax), {})

    def test_names_are_texts_and_neither_formulas_nor_hidden(self):
        copy = self.folder / "names.sqlite"
        copy.write_bytes(self.path("vector_add").read_bytes())
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute(
                "UPDATE StringTable SET display = '_$\\frac{' || char(27) || '[31m$' WHERE _id_ IN"
                " (SELECT name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)"
            )
            connection.commit()
        with gpuprof.open(copy) as run:
            ax = gpuprof.plot.kernel_histogram(run)
        ax.figure.savefig(self.folder / "names.png")  # draws the texts: a formula would fail
        self.assertEqual(self.texts(ax), [r" _\$\frac{?[31m\$"])

    def test_memory_curve_has_the_peaks_to_the_byte(self):
        for capture in ("streams_graph", "two_processes"):
            run = self.open(capture)
            ax = gpuprof.plot.memory_curve(run, points=50)
            peaks = self.select(
                capture, "SELECT process_id, device_id, memory, pool_type, sum(bytes) FROM memory_peak"
                " GROUP BY 1, 2, 3, 4 ORDER BY 5")  # fmt: skip
            drawn = sorted(max(line.get_ydata()) for line in ax.lines)
            known = sorted(bytes_ / 1e6 for *_, bytes_ in peaks)
            self.assertTrue(any(known))
            self.assertEqual([size for size in drawn if size], [size for size in known if size])
            rows = list(run.memory.timeline(50).dicts())
            self.assertEqual(sum(len(line.get_xdata()) for line in ax.lines), len(rows))
            processes = {process for process, *_ in peaks}
            for process in processes if len(processes) > 1 else ():
                self.assertTrue(any(f"process {process}" in text for text in self.texts(ax)))

    def drawn(self, ax):
        """(label of the lane, kind) -> intervals in ms."""
        lanes = [text.get_text() for text in ax.get_yticklabels()]
        found = {}
        for collection in ax.collections:
            kind = collection.get_label().lstrip("_")
            for path in collection.get_paths():
                box = path.get_extents()
                lane = lanes[round((box.y0 + box.y1) / 2)]
                found.setdefault((lane, kind), []).append((box.x0, box.x1))
        return found

    def check_timeline(self, ax, rows):
        """Every record is drawn, and nothing farther from one than the visible resolution."""
        left, right = ax.get_xlim()
        near = 1e-6 * max(right - left, 1)
        records = {}
        for device, stream, kind, begin, duration in rows:
            lane = f"GPU {device} stream {stream}"
            records.setdefault((lane, kind), []).append((begin, begin + duration / 1e6))
        drawn = self.drawn(ax)
        self.assertEqual(set(drawn), set(records))
        for key, times in records.items():
            for begin, end in times:
                self.assertTrue(
                    any(b - near <= begin and end <= e + near for b, e in drawn[key]), (key, begin)
                )
            for b, e in drawn[key]:
                inside = sorted(time for time in times if b - near <= time[0] <= e + near)
                at = b
                for begin, end in inside:
                    self.assertLessEqual(begin - at, (right - left) / PARTS + near)
                    at = max(at, end)
                self.assertAlmostEqual(at, e, delta=near)
        return sum(map(len, drawn.values()))

    COLUMNS = "SELECT device_id, stream_id, type, t_ms, duration FROM gpu_activities"

    def test_timeline(self):
        for capture in ("vector_add", "streams_graph", "torch_step"):
            with self.subTest(capture=capture):
                rows = self.select(capture, self.COLUMNS)
                ax = gpuprof.plot.timeline(self.open(capture))
                self.assertGreater(self.check_timeline(ax, rows), 0)
                self.assertEqual(set(self.texts(ax)), {kind for _, _, kind, _, _ in rows})

    def test_timeline_of_a_window(self):
        run = self.open("streams_graph")
        times = self.select(
            "streams_graph",
            'SELECT start, "end" FROM gpu_activities WHERE duration > 1 ORDER BY start',
        )
        # From within one record to within a later one.
        (first, first_end), (last, last_end) = times[3], times[20]
        start, end = (first + first_end) // 2, (last + last_end) // 2
        ax = gpuprof.plot.timeline(run, start, end)
        rows = self.select(
            "streams_graph", f'{self.COLUMNS} WHERE start < ? AND "end" > ?', end, start
        )
        self.assertGreater(len(rows), 10)
        self.assertGreater(self.check_timeline(ax, rows), 10)
        ((zero,),) = self.select(
            "streams_graph", "SELECT start - t_ms * 1e6 FROM gpu_activities LIMIT 1"
        )
        self.assertAlmostEqual(ax.get_xlim()[1] - ax.get_xlim()[0], (end - start) / 1e6, places=6)
        self.assertAlmostEqual(ax.get_xlim()[0], (start - zero) / 1e6, delta=0.001)
        self.assertEqual(len(gpuprof.plot.timeline(run, end=times[0][0]).collections), 0)
        self.assertEqual(len(gpuprof.plot.timeline(run, device=99).collections), 0)

    def test_several_files_have_lanes_of_their_own(self):
        run = self.open("vector_add", "vector_add")
        lanes = [text.get_text() for text in gpuprof.plot.timeline(run).get_yticklabels()]
        self.assertTrue(lanes)
        self.assertTrue(all(lane.startswith("rank ") for lane in lanes), lanes)

    def test_overlap(self):
        path = self.path("streams_graph")
        rows = self.select(
            "streams_graph",
            "SELECT device_id, kind, copying_ms, beside_kernels_ms FROM copy_overlap",
        )
        self.assertGreater(len(rows), 1)
        # The copies in the captures ran alone.
        copy = self.folder / "beside.sqlite"
        copy.write_bytes(path.read_bytes())
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute("UPDATE COPY_TIME SET besideKernels = copying / copyKind")
            connection.commit()
            changed = connection.execute(
                "SELECT device_id, kind, copying_ms, beside_kernels_ms FROM copy_overlap"
            ).fetchall()
        self.assertTrue(any(beside for *_, beside in changed))
        for file, wanted in ((path, rows), (copy, changed)):
            with gpuprof.open(file) as run:
                ax = gpuprof.plot.overlap(run)
            labels = [text.get_text() for text in ax.get_yticklabels()]
            self.assertEqual(labels, [f"GPU {device} {kind}" for device, kind, _, _ in wanted])
            beside, alone = (group.patches for group in ax.containers)
            for (_, _, copying, with_kernels), one, other in zip(wanted, beside, alone):
                self.assertAlmostEqual(one.get_width(), with_kernels)
                self.assertAlmostEqual(other.get_x(), with_kernels)
                self.assertAlmostEqual(other.get_x() + other.get_width(), copying)

    def test_the_examples_of_docs_python(self):
        text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
        examples = [
            example for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
            if "gpuprof.plot" in example
        ]  # fmt: skip
        self.assertTrue(examples)
        run, here = self.open("vector_add"), os.getcwd()
        ((first,),) = self.select("vector_add", "SELECT min(start) FROM kernels")
        names = {"gpuprof": gpuprof, "run": run, "first": first}
        os.chdir(self.folder)
        try:
            for example in examples:
                exec(example, names)
        finally:
            os.chdir(here)
        self.assertIn("copying (ms)", (self.folder / "overlap.svg").read_text(encoding="utf-8"))

    def test_draws_into_the_axes_that_are_given(self):
        row = {"config": (1,), "metric": "duration", "unit": "ns", "median": 1.0, "mad": 0.0}
        more = {"measured": Measured("step", [row]), "roofline": self.open("metrics")}
        for name in gpuprof.plot.__all__:
            ax = matplotlib.pyplot.figure().add_subplot()
            words = self.ROOF if name == "roofline" else {}
            drawn = getattr(gpuprof.plot, name)(
                more.get(name) or self.open("vector_add"), ax=ax, **words
            )
            self.assertIs(drawn, ax)
        ax.figure.savefig(self.folder / "plot.png")
        self.assertGreater((self.folder / "plot.png").stat().st_size, 1000)

    def test_roofline(self):
        rows = self.select(
            "metrics",
            """SELECT k.name, sum(k.value), sum(b.value), sum(k.duration) FROM kernel_metrics AS k
               JOIN kernel_metrics AS b USING (correlation_id, name)
               WHERE k.metric = 'flop_count_sp' AND b.metric = 'dram__bytes_read.sum'
               GROUP BY 1 HAVING sum(k.value) > 0 ORDER BY 4 DESC""",
        )
        self.assertGreater(len(rows), 2)
        ((units, clock, rate),) = self.select(
            "metrics", "SELECT multiprocessors * 128, core_clock, memory_bandwidth FROM devices"
        )
        peak = 2 * units * clock  # for an H200
        for top in (1, 5):
            ax = gpuprof.plot.roofline(self.open("metrics"), top=top, **self.ROOF)
            points = [tuple(each.get_offsets()[0]) for each in ax.collections]
            self.assertEqual(len(points), len(rows))
            for (x, y), (_, done, moved, time) in zip(points, rows):
                self.assertAlmostEqual(x, done / moved, delta=1e-9 * x)
                self.assertAlmostEqual(y, done / time, delta=1e-9 * y)  # GFLOP/s is FLOP/ns
                # The measured values are possible.
                self.assertLess(y, min(peak, x * rate) / 1e9)
            others = [f"{len(rows) - 1} others"] if top == 1 else []
            self.assertEqual([text[:9] for text in self.texts(ax)],
                             [name[:9] for name, *_ in rows[:top]] + [text[:9] for text in others])  # fmt: skip
            slope, roof = ax.lines
            (left, ridge), (low, high) = slope.get_data()
            self.assertAlmostEqual(low, left * rate / 1e9, delta=1e-9 * low)
            self.assertAlmostEqual(ridge, peak / rate, delta=1e-9 * ridge)
            self.assertEqual(high, peak / 1e9)
            self.assertEqual(list(roof.get_ydata()), [peak / 1e9] * 2)
            self.assertEqual(roof.get_xdata()[0], ridge)
            self.assertLess(left, min(x for x, _ in points))
            self.assertGreater(roof.get_xdata()[1], max(x for x, _ in points))
            self.assertEqual((ax.get_xscale(), ax.get_yscale()), ("log", "log"))

    def test_roofline_with_peaks_of_ones_own(self):
        run = self.open("metrics")
        ax = gpuprof.plot.roofline(run, peak_flops=1e15, peak_bandwidth=4e12, **self.ROOF)
        slope, roof = ax.lines
        self.assertEqual((slope.get_xdata()[1], roof.get_ydata()[0]), (250, 1e6))
        copy = self.folder / "unknown.sqlite"
        copy.write_bytes(self.path("metrics").read_bytes())
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute("UPDATE CUPTI_ACTIVITY_KIND_DEVICE SET computeCapabilityMajor = 99")
            connection.commit()
        with gpuprof.open(copy) as other:  # the memory bandwidth is still known
            ax = gpuprof.plot.roofline(other, **self.ROOF)
        self.assertEqual(len(ax.lines), 1)

    def test_roofline_says_what_is_missing(self):
        for capture, more, missing, hint in (
            ("metrics", {}, "DRAM traffic", "flop_count_dp,dram_read_bytes,dram_write_bytes,gpu__"),
            ("vector_add", {}, "floating-point operations and DRAM traffic", "flop_count_sp,"),
            (
                "metrics",
                {**self.ROOF, "flops": ["a", "b"]},
                "a and b",
                " a,b,dram__bytes_read.sum,",
            ),
        ):
            with self.subTest(capture=capture, more=more):
                with self.assertRaises(gpuprof.Error) as caught:
                    gpuprof.plot.roofline(self.open(capture), **more)
                self.assertIn(f"no values of {missing} by kernel", str(caught.exception))
                self.assertIn(hint, caught.exception.hint)

    def test_measured(self):
        def row(config, metric, median, mad):
            return {"config": config, "metric": metric, "unit": "ns", "median": median, "mad": mad}

        rows = [row((2048,), "duration", 40.0, 2.0), row((1024,), "duration", 10.0, 1.0),
                row((512,), "duration", None, None), row((1024,), "other", 1.0, 0.0)]  # fmt: skip
        ax = Measured("product", rows).plot()
        (bars,) = ax.containers
        self.assertEqual(bars.lines[0].get_xydata().tolist(), [[1024, 10], [2048, 40]])
        spreads = [path.vertices[:, 1].tolist() for path in bars.lines[2][0].get_paths()]
        self.assertEqual(spreads, [[9, 11], [38, 42]])
        self.assertEqual((ax.get_xlabel(), ax.get_ylabel()), ("product", "duration (ns)"))
        names = [row((64, "half"), "duration", 3.0, 0.0), row((32, "$x$"), "duration", 2.0, 0.0)]
        ax = gpuprof.plot.measured(Measured("product", names))
        labels = [text.get_text() for text in ax.get_xticklabels()]
        self.assertEqual(labels, ["64, 'half'", r"32, '\$x\$'"])
        with self.assertRaisesRegex(gpuprof.Error, "no metric tea .*duration"):
            gpuprof.plot.measured(Measured("product", names), "tea")


if __name__ == "__main__":
    unittest.main()
