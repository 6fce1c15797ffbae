# ctest-cost: 30
"""gpuprof report: one page of a run, for a browser and as Markdown."""
# ctest-labels: plain

import base64
import collections
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import unittest
import zlib

import browser

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>`|\x1b[31m\n\u202e\"'&"


def run(*words):
    return subprocess.run([GPUPROF, "report", *map(str, words)], capture_output=True, text=True,
                          encoding="utf-8", timeout=300, check=False)  # fmt: skip


def element(page, name):
    text = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.S)[1]
    return zlib.decompress(base64.b64decode(text, validate=True))


def union(times):
    busy, until = 0, 0
    for begin, end in sorted(times):
        busy += max(0, end - max(begin, until))
        until = max(until, end)
    return busy


def data_of(page):
    return json.loads(element(page, "data"))


def share_words(part, whole):
    percent = 100 * part / whole
    if percent < 0.1:
        return "less than 0.1 %"
    return "more than 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


LAST_BYTE = re.compile(rb"[\x00-\x7f]")  # of a number


class Level:
    """Individual records, decoded as libprof/view/page/records.hpp says: (begin, end, name) by track and row."""

    def __init__(self, content, level):
        self.content, self.at, self.level = content, 0, level
        self.rows, self.values = {}, {}
        for _ in range(self.number()):
            track = self.number()
            self.rows[track] = [self.row() for _ in range(self.number())]
            times = [
                self.number() if i else level["from"] + self.signed() for i in range(self.number())
            ]
            values = struct.unpack_from(f"<{len(times)}d", content, self.at)
            self.at += 8 * len(times)
            self.values[track] = list(zip(itertools.accumulate(times), values, strict=True))
        assert self.at == len(content)

    def number(self):
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.number()
        return -(value + 1) // 2 if value % 2 else value // 2

    def row(self):
        """The number of its records, and where they begin: only those of records() are decoded."""
        count = self.number()
        begin = self.at
        if count:
            numbers = itertools.islice(LAST_BYTE.finditer(self.content, begin), 3 * count, None)
            self.at = next(numbers).end()
        return count, begin

    def decoded(self, count, begin):
        self.at = begin
        self.number()
        begins = [self.number() if i else self.level["from"] + self.signed() for i in range(count)]
        lengths = [self.number() for _ in range(count)]
        records, end = [], 0
        for begin, length in zip(begins, lengths, strict=True):
            end += begin + length
            records.append([end - length, end])
        return [(*times, self.number()) for times in records]

    def count(self, track):
        return sum(count for count, _ in self.rows[track])

    def records(self, track):
        rows = [self.decoded(count, begin) for count, begin in self.rows[track] if count]
        return sorted(record for row in rows for record in row)


def levels_of(page):
    """The levels with individual records."""
    levels = data_of(page)["levels"]
    return [
        Level(element(page, f"level{i}"), level)
        for i, level in enumerate(levels)
        if level["width"] == 0
    ]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="report-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles, cls.captures = {}, {}
        for name in ("torch_step", "two_processes", "streams_graph"):
            cls.profiles[name] = cls.folder / f"{name}.sqlite"
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            cls.captures[name] = capture
            subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profiles[name], capture], check=True)

    def page(self, profile, name, *words):
        html, markdown = self.folder / f"{name}.html", self.folder / f"{name}.md"
        ran = run(profile, "--html", html, "--markdown", markdown, "-f", "-q", *words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertLessEqual(html.stat().st_size, 5_000_000)
        text = markdown.read_text(encoding="utf-8")
        self.assertLessEqual(text.count("\n"), 60)
        return html.read_text(encoding="utf-8"), text

    def test_numbers_are_those_of_sql(self):
        for name, profile in self.profiles.items():
            with self.subTest(name):
                html, markdown = self.page(profile, name)
                data = data_of(html)
                database = sqlite3.connect(profile)
                kernels = dict(
                    database.execute('SELECT name, sum("end" - start) FROM kernels GROUP BY 1')
                )
                shown = {
                    each["name"]: each["time"] for each in data["statistics"]["work"]["stream"]
                }
                for kernel, time in kernels.items():
                    self.assertEqual(shown[kernel], time)
                [command] = database.execute(
                    "SELECT value FROM RUN WHERE key = 'command_line'"
                ).fetchone()
                self.assertIn(["command", command], data["facts"])
                self.assertIn(f"\n`` {command} ``  \n", markdown)
                [longest] = database.execute("SELECT max(duration) FROM gpu_gaps").fetchone()
                self.assertEqual(data["stops"]["gaps"][0]["time"], longest)
                records = sum(row[0] for row in database.execute(
                    "SELECT count(*) FROM api_calls UNION ALL SELECT count(*) FROM gpu_activities"))  # fmt: skip
                self.assertGreaterEqual(data["run"]["records"], records)
                database.close()

    def test_all_time_of_a_device_is_accounted_for(self):
        """As in the view account, and in a sentence at the top."""
        for name, profile in self.profiles.items():
            with self.subTest(name):
                html, markdown = self.page(profile, name)
                account, database = data_of(html)["account"], sqlite3.connect(profile)
                rows = {}
                for device, *row in database.execute(
                    "SELECT device_id, class, coalesce(cause, ''), cast(round(1e6 * duration_ms) AS INTEGER)"
                    " FROM account"
                ):
                    rows.setdefault(device, []).append(tuple(row))
                self.assertEqual([gpu["id"] for gpu in account["gpus"]], sorted(rows))
                for gpu in account["gpus"]:
                    shown = [(row["class"], row["cause"], row["duration"]) for row in gpu["rows"]]
                    self.assertEqual(sorted(shown), sorted(rows[gpu["id"]]))
                    self.assertEqual(sum(row[2] for row in shown), account["time"])
                    work = ("compute", "communication", "copy", "set")
                    idle = [row for row in gpu["rows"] if row["class"] not in work]
                    for row in [row for row in gpu["rows"] if row["class"] in work][:6] + idle[:4]:
                        share = f"{100 * row['duration'] / account['time']:.1f} %"
                        self.assertRegex(
                            markdown, rf"\| `` {re.escape(row['words'])} `` \| .* \| {share} \|"
                        )
                [gpu] = account["gpus"]
                time = collections.Counter()
                for row in gpu["rows"]:
                    time[row["class"]] += row["duration"]
                between = account["time"] - time["before"] - time["after"]
                idle = {each: time[each] for each in ("queued", "launch", "call", "no call", "short gap",
                                                      "unknown")}  # fmt: skip
                parts = time["compute"], sum(idle.values()), max(idle.values())
                computed, idled, mostly = (share_words(part, between) for part in parts)
                self.assertRegex(account["verdict"], re.escape(gpu["name"]) + " (is|comp|cop).*: of the .* it "
                                 rf"computed in {computed}.* and was idle in {idled}, .* \({mostly}\)\.$")  # fmt: skip
                [sentence] = data_of(html)["advice"]["verdicts"]
                self.assertIn(sentence, markdown)
                database.close()

    def test_findings_are_those_of_the_command(self):
        for name, profile in self.profiles.items():
            for words in ((), ("--from", "1ms")):
                with self.subTest(name, words=words):
                    html, markdown = self.page(profile, "findings", *words)
                    ran = subprocess.run([GPUPROF, "findings", profile, "--json", *words], check=True,
                                         capture_output=True, text=True)  # fmt: skip
                    told = json.loads(ran.stdout)
                    found, advice = told["findings"], data_of(html)["advice"]
                    self.assertGreater(len(found), 1)
                    self.assertEqual([each["rule"] for each in advice["all"]],
                                     [each["rule"] for each in found if each["share"] >= 0.01])  # fmt: skip
                    for each, shown in zip(found, advice["all"], strict=False):
                        self.assertEqual([[draw["first"], draw["last"]] for draw in shown["draws"]],
                                         [[draw["relative_first_ns"], draw["relative_last_ns"]] for draw in each["draws"]])  # fmt: skip
                    listed = re.findall(
                        r"(?m)^\d\. \*\*(.*)\*\*: at most .*, ([0-9.]+)% of the time", markdown
                    )
                    self.assertEqual(
                        listed,
                        [(each["title"], f"{100 * each['share']:.2f}") for each in found[:3]],
                    )

    def test_steps_and_shares_are_those_of_sql(self):
        profile = self.profiles["torch_step"]
        html, markdown = self.page(profile, "steps")
        data, database = data_of(html), sqlite3.connect(profile)
        [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        rows = database.execute(
            'SELECT name, start, "end" - start, gpu_busy_ms FROM steps ORDER BY start'
        ).fetchall()
        self.assertEqual(
            [(each["name"], each["begin"] + zero, each["time"], each["busy"]) for each in data["steps"]["all"]],
            [(name, start, time, round(1e6 * busy)) for name, start, time, busy in rows])  # fmt: skip
        times = [row[2] for row in rows]
        self.assertEqual(data["steps"]["median"], sum(times) // 2)
        self.assertEqual(data["steps"]["longest_number"], 1 + times.index(max(times)))
        self.assertIn("2 steps: median ", markdown)
        whole = dict(database.execute("SELECT 'stream', sum(duration) FROM gpu_activities WHERE duration > 0"
                                      " UNION SELECT 'api', sum(duration) FROM api_calls"))  # fmt: skip
        self.assertEqual({kind: data["whole"][kind] for kind in whole}, whole)
        kernels = database.execute("SELECT sum(duration) FROM gpu_activities WHERE duration > 0"
                                   " GROUP BY name ORDER BY 1 DESC LIMIT 5").fetchall()  # fmt: skip
        shares = re.findall(
            r"(?m)\| ([0-9.]+) % \| \d+ \| [^|]* \|$", markdown.split("### GPU work")[1]
        )
        self.assertEqual(shares, [f"{100 * time / whole['stream']:.1f}" for (time,) in kernels])
        database.close()

    def test_gaps_name_what_took_most_of_them(self):
        """A gap of 3.5 s whose longest call took 50 us of it."""
        profile = self.folder / "gap.sqlite"
        shutil.copy(self.profiles["torch_step"], profile)
        database = sqlite3.connect(profile)
        [[start, stop, device]] = database.execute(
            "SELECT start, stop, deviceId FROM GPU_GAP ORDER BY stop - start DESC LIMIT 1")  # fmt: skip
        database.execute('DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER WHERE start < ?2 AND "end" > ?1', (start, stop))  # fmt: skip
        [[call]] = database.execute('SELECT min(_id_) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "end" > ?1 AND start < ?2', (start, stop))  # fmt: skip
        database.execute('DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "end" > ?1 AND start < ?2 AND _id_ <> ?3', (start, stop, call))  # fmt: skip
        database.execute('UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = ?1 + 10, "end" = ?1 + 60 WHERE _id_ = ?2', (start, call))  # fmt: skip
        database.commit()
        database.close()
        subprocess.run([GPUPROF, "finish", "-q", profile], check=True)
        html, _ = self.page(profile, "gap")
        gap = data_of(html)["stops"]["gaps"][0]
        self.assertEqual(gap["time"], stop - start)
        self.assertEqual(gap["host"][0], ["no CUDA call", stop - start - 50])
        self.assertEqual(gap["host"][1][1], 50)
        asked = subprocess.run([GPUPROF, "query", profile, "gpu_idle_gaps", "--json"], check=True,
                               capture_output=True, text=True)  # fmt: skip
        row = json.loads(asked.stdout)["tables"][0]["rows"][0]
        self.assertEqual(row["host_in"], "no CUDA call")
        self.assertEqual(row["host_call_us"], 0.05)
        self.assertAlmostEqual(row["no_call_us"], (stop - start - 50) / 1e3, 3)

    def test_ranges_are_what_their_work_is(self):
        """Busy time, span and launches compared with each record of work, in the run and in a part of it."""
        profile, seen, nested = self.profiles["torch_step"], 0, 0
        database = sqlite3.connect(profile)
        [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        around = dict(database.execute("SELECT _id_, parent FROM NVTX_RANGE"))
        names = dict(database.execute("SELECT _id_, value FROM StringTable"))
        message = {i: names[name] for i, name in database.execute("SELECT _id_, name FROM NVTX_RANGE")}  # fmt: skip
        work = database.execute('SELECT start, "end", range_id FROM gpu_activities WHERE "end" > start'
                                " AND range_id NOT NULL").fetchall()  # fmt: skip
        for words in ((), ("--nvtx", "step 1")):
            html, _ = self.page(profile, "ranges", *words)
            data = data_of(html)
            begin, end = (data["run"][key] + zero for key in ("begin", "end"))
            times, of_range, launches = {}, {}, collections.Counter()
            for start, stop, inner in work:
                start, stop = max(start, begin), min(stop, end)
                if stop <= start:
                    continue
                chain = []
                while inner:
                    chain.append(inner)
                    inner = around[inner]
                path = ()
                for each in reversed(chain):
                    path += (message[each],)
                    times.setdefault(path, []).append((start, stop))
                    first, last = of_range.setdefault(path, {}).get(each, (start, stop))
                    of_range[path][each] = (min(first, start), max(last, stop))
                    launches[path] += 1
            path = ()
            rows = data["ranges"]["rows"]
            self.assertEqual(len(rows) + data["ranges"]["left_out"], len(times))
            for row in rows:
                path = (*path[: row["depth"]], row["name"])
                self.assertEqual(row["busy"], union(times[path]))
                self.assertEqual(row["span"], union(of_range[path].values()))
                self.assertEqual(row["ranges"], len(of_range[path]))
                self.assertEqual(row["work"], launches[path])
                self.assertLessEqual(row["busy"], row["span"])
                self.assertLessEqual(row["busy"], end - begin)
                seen += 1
                nested += row["depth"] > 0
        self.assertGreater(seen, 8)
        self.assertGreater(nested, 4)
        database.close()

    def test_alone_it_is_markdown(self):
        profile = self.profiles["two_processes"]
        alone, named = run(profile), run(profile, "--markdown", "-")
        self.assertEqual((alone.returncode, alone.stderr), (0, ""))
        self.assertTrue(alone.stdout.startswith("<!-- gpuprof report -->"))
        self.assertEqual(alone.stdout, named.stdout)

    def test_why_nothing_is_drawn(self):
        profile = self.folder / "empty.sqlite"
        shutil.copy(self.profiles["two_processes"], profile)
        database = sqlite3.connect(profile)
        kinds = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'CUPTI_ACTIVITY_KIND_%'"
        for (table,) in database.execute(kinds).fetchall() + [("NVTX_RANGE",), ("RANGE_TIME",)]:
            database.execute(f"DELETE FROM {table}")
        database.execute("UPDATE PROCESS SET cupti_version = NULL")
        database.commit()
        database.close()
        ran = run(profile)
        self.assertEqual(ran.returncode, 0)
        self.assertIn("Nothing can be drawn: no process of this run used CUDA.", ran.stdout)
        self.assertIn(", 0 records\n", ran.stdout)

    def test_processes_have_names(self):
        html, _ = self.page(self.profiles["torch_step"], "torch_step")
        groups = {part for track in data_of(html)["run"]["tracks"] for part in track["path"][:-1]}
        [named] = [each for each in groups if re.fullmatch(r".* \[\d+\]", each)]
        self.assertRegex(named, r"^python3 train\.py \[\d+\]$")

    def test_one_number_of_records(self):
        for name, profile in self.profiles.items():
            with self.subTest(name):
                said = subprocess.run([GPUPROF, "info", profile, "--json"], check=True,
                                      capture_output=True, text=True)  # fmt: skip
                records = sum(json.loads(said.stdout)["records"].values())
                html, markdown = self.page(profile, name)
                self.assertEqual(data_of(html)["run"]["stored"], records)
                self.assertIn(f", {records} records\n", markdown)
                part = self.folder / "records.sqlite"
                for words in (("slice", profile, "-o", part, "-f", "--anonymise"),
                              ("finish", profile, "-o", part, "-f"),
                              ("replay", self.captures[name], "-o", part, "-f")):  # fmt: skip
                    ran = subprocess.run([GPUPROF, *words], check=True, capture_output=True, text=True)  # fmt: skip
                    self.assertRegex(ran.stderr, rf"\b{records} records of ")
                part.unlink()

    def test_exposed_communication(self):
        """A kernel becomes NCCL's, and is distinguished from others that run at the same time."""
        profile = self.folder / "nccl.sqlite"
        shutil.copy(self.profiles["streams_graph"], profile)
        database = sqlite3.connect(profile)
        rows = database.execute(
            'SELECT start, "end", name = (SELECT min(name) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)'
            " FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE start > 0"
        ).fetchall()
        rows += [(*row, 0) for row in database.execute(
            "SELECT start, \"end\" FROM gpu_activities WHERE type <> 'kernel'")]  # fmt: skip
        database.execute(
            "UPDATE StringTable SET short = 'ncclDevKernel_AllReduce' WHERE _id_ ="
            " (SELECT min(name) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)"
        )
        database.commit()
        database.close()
        times = sorted({time for begin, end, _ in rows for time in (begin, end)})
        expected = 0
        for begin, end in itertools.pairwise(times):
            running = [row[2] for row in rows if row[0] <= begin and row[1] >= end]
            expected += (end - begin) * (bool(running) and all(running))
        self.assertGreater(expected, 0)
        subprocess.run([GPUPROF, "finish", "-q", profile], check=True)
        html, markdown = self.page(profile, "nccl")
        data = data_of(html)
        [device] = data["statistics"]["devices"]
        self.assertEqual(device["exposed"], expected)
        [gpu] = data["account"]["gpus"]
        [row] = [row for row in gpu["rows"] if row["class"] == "communication"]
        self.assertEqual(row["duration"], expected)
        self.assertIn("| `` communicated only `` |", markdown)
        database = sqlite3.connect(profile)
        stored = database.execute("SELECT exposedCommunication FROM DEVICE_TIME").fetchall()
        self.assertEqual(stored, [(expected,)])
        database.close()

    def test_a_part_of_the_run(self):
        profile, html = self.profiles["torch_step"], self.folder / "part.html"
        markdown = self.folder / "part.md"
        ran = run(profile, "--html", html, "--markdown", markdown, "--nvtx", "step 1", "-f", "-q")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        page = html.read_text(encoding="utf-8")
        data, database = data_of(page), sqlite3.connect(profile)
        [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        window = database.execute(
            "SELECT min(start), max(\"end\") FROM nvtx_ranges WHERE name = 'step 1'"
        ).fetchone()
        self.assertEqual([data["run"][key] + zero for key in ("begin", "end")], list(window))
        shown = [f"{(time - zero) / 1e9:.4g} s" for time in window]
        self.assertEqual(data["run"]["title"], f"torch_step.sqlite, {shown[0]} to {shown[1]}")
        self.assertIn(data["run"]["title"], markdown.read_text(encoding="utf-8"))
        clipped = dict(database.execute(
            'SELECT name, sum(min("end", ?2) - max(start, ?1)) FROM kernels'
            ' WHERE "end" > ?1 AND start < ?2 GROUP BY 1', window))  # fmt: skip
        work = data["statistics"]["work"]["stream"]
        self.assertGreater(len(clipped), 3)
        self.assertEqual(
            {each["name"]: each["time"] for each in work if each["name"] in clipped}, clipped
        )
        [level] = levels_of(page)
        shown = sorted(record[:2] for number, track in enumerate(data["run"]["tracks"])
                       if track["kind"] == "stream" for record in level.records(number))  # fmt: skip
        stored = database.execute('SELECT start - ?3, "end" - ?3 FROM gpu_activities'
                                  ' WHERE "end" > ?1 AND start < ?2 ORDER BY 1, 2',
                                  (*window, zero)).fetchall()  # fmt: skip
        self.assertEqual(shown, stored)
        self.assertEqual(data["account"]["time"], window[1] - window[0])
        for gpu in data["account"]["gpus"]:
            self.assertEqual(sum(row["duration"] for row in gpu["rows"]), window[1] - window[0])
        for gap in data["stops"]["gaps"]:
            self.assertGreater(gap["at"] + gap["time"] + zero, window[0])
            self.assertLess(gap["at"] + zero, window[1])
        database.close()
        for words in (("--from", "1h"), ("--from", "2s", "--to", "1s"), ("--from", "999s"),
                      ("--nvtx", "no such range")):  # fmt: skip
            ran = run(profile, "--markdown", "-", *words)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn("gpuprof: ", ran.stderr)
            self.assertEqual(ran.stdout, "")

    def test_counters_and_metrics_are_those_of_sql(self):
        profile = self.folder / "metrics.sqlite"
        capture = self.folder / "metrics"
        shutil.unpack_archive(SOURCE / "tests/captures/metrics.tar.xz", capture)
        subprocess.run(
            [GPUPROF, "replay", "-q", "-o", profile, capture / "metrics.gpcap"], check=True
        )
        html, _ = self.page(profile, "metrics")
        data, database = data_of(html), sqlite3.connect(profile)
        peaks = dict(database.execute("SELECT memory || ' memory', max(bytes) FROM memory_peak GROUP BY 1"))  # fmt: skip
        shown = {each["path"][-1]: each["most"] for each in data["counters"]}
        self.assertTrue(peaks)
        self.assertEqual({name: shown.get(name) for name in peaks}, peaks)
        for each in data["counters"]:
            self.assertLessEqual(each["least"], each["mean"])
            self.assertLessEqual(each["mean"], each["most"])
            self.assertEqual(max(point[2] for point in each["points"]), each["most"])
        means = database.execute(
            "SELECT short_name, metric, avg(value), count(*) FROM kernel_metrics GROUP BY 1, 2"
        ).fetchall()
        self.assertGreater(len(means), 20)
        column = {name: i for i, name in enumerate(data["metrics"]["names"])}
        rows = {each["name"]: each for each in data["metrics"]["kernels"]}
        for kernel, metric, mean, launches in means:
            text = rows[kernel]["values"][column[metric]]
            self.assertAlmostEqual(float(text.split()[0].rstrip("%")), mean, delta=abs(mean) / 1000)
            self.assertEqual(rows[kernel]["launches"], launches)
        database.close()

    def test_all_records_are_in_a_small_one(self):
        for name, profile in self.profiles.items():
            html = self.page(profile, "small")[0]
            data = data_of(html)
            [level] = levels_of(html)
            self.assertEqual(
                (level.level["from"], level.level["to"]), (data["run"]["begin"], data["run"]["end"])
            )
            database = sqlite3.connect(profile)
            [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
            shown, named = collections.Counter(), 0
            for number, track in enumerate(data["run"]["tracks"]):
                if track["kind"] == "counter":
                    self.assertEqual(len(level.values[number]), track["records"])
                    continue
                records = level.records(number)
                self.assertEqual(len(records), track["records"])
                for begin, end, text in records:
                    shown[track["kind"], begin + zero, end + zero] += 1
                    named += data["names"][str(text)][1] != ""
            stored = collections.Counter()
            for kind, select in (("stream", "SELECT start, \"end\" FROM gpu_activities"),
                                 ("api", "SELECT start, \"end\" FROM api_calls")):  # fmt: skip
                stored.update((kind, *times) for times in database.execute(select))
            database.close()
            for kind in ("stream", "api"):
                self.assertEqual({key: n for key, n in shown.items() if key[0] == kind},
                                 {key: n for key, n in stored.items() if key[0] == kind}, name)  # fmt: skip
            self.assertEqual(named, sum(shown.values()))

    def long_run(self):
        """A run with too many records for all to fit."""
        profile = self.folder / "long.sqlite"
        if profile.exists():
            return profile
        shutil.copy(self.profiles["torch_step"], profile)
        database = sqlite3.connect(profile)
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        columns = [
            row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[1] != "_id_"
        ]
        names = ", ".join(f'"{name}"' for name in columns)
        # Gaps and lengths of up to 0.1 ms, as if by chance.
        values = {name: f'one."{name}"' for name in columns}
        values["start"] = "last + i * 200000 + i * i * 48271 % 99991"
        values["end"] = values["start"] + " + 1 + i * i * 69621 % 99989"
        database.execute(
            f"INSERT INTO {table}({names}) WITH RECURSIVE calls(i) AS "
            "(SELECT 1 UNION ALL SELECT i + 1 FROM calls WHERE i < 700000) "
            f"SELECT {', '.join(values.values())} FROM calls, (SELECT * FROM {table} LIMIT 1) AS one, "
            f'(SELECT max("end") AS last FROM {table})'
        )
        database.commit()
        database.close()
        return profile

    def test_longest_gaps_and_steps_of_a_long_one_are_in_it_in_full(self):
        profile = self.long_run()
        html, _ = self.page(profile, "long")
        data, levels = data_of(html), levels_of(html)
        [whole] = [level for level in data["levels"] if level["width"]]
        self.assertEqual((whole["from"], whole["to"]), (data["run"]["begin"], data["run"]["end"]))
        self.assertGreater(whole["width"], 10_000)
        database = sqlite3.connect(profile)
        [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        stops = data["stops"]["gaps"][:5] + data["stops"]["steps"][:5]
        self.assertEqual(len(stops), 7)
        for stop in stops:
            begin, end = stop["at"], stop["at"] + stop["time"]
            [level, *_] = [each for each in levels
                           if each.level["from"] <= begin and each.level["to"] >= end]  # fmt: skip
            window = level.level["from"] + zero, level.level["to"] + zero
            for kind, view in (("stream", "gpu_activities"), ("api", "api_calls")):
                stored = database.execute(f'SELECT start - ?3, "end" - ?3 FROM {view} WHERE "end" > ?1 AND start < ?2'
                                          " ORDER BY 1, 2", (*window, zero)).fetchall()  # fmt: skip
                shown = sorted(record[:2] for number, track in enumerate(data["run"]["tracks"])
                               if track["kind"] == kind for record in level.records(number))  # fmt: skip
                self.assertEqual(shown, stored)
            statistics = [
                each for each in data["of_stops"] if (each["from"], each["to"]) == (begin, end)
            ]
            self.assertEqual(len(statistics), 1)
        database.close()

    def test_all_events(self):
        profile = self.long_run()
        html = self.folder / "all.html"
        self.assertNotEqual(run(profile, "--markdown", "-", "--all-events").returncode, 0)
        ran = run(profile, "--html", html, "--all-events", "-f", "-q")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertLessEqual(html.stat().st_size, 50_000_000)
        page = html.read_text(encoding="utf-8")
        [level] = levels_of(page)
        for number, track in enumerate(data_of(page)["run"]["tracks"]):
            if track["kind"] != "counter":
                self.assertEqual(level.count(number), track["records"])

    def test_nothing_comes_from_elsewhere(self):
        html, _ = self.page(self.profiles["torch_step"], "alone")
        self.assertTrue(html.startswith("<!doctype html>\n<!-- gpuprof report -->"))
        self.assertIn("default-src 'none'", html)
        without_data = re.sub(r'<script type="text/plain".*?</script>', "", html, flags=re.S)
        addresses = set(re.findall(r"\w+://[^\s'\"]*", without_data))
        self.assertEqual(addresses, {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(without_data, r"(?m)^(import|export) ")
        self.assertNotRegex(without_data, r'(src|href)="(?!data:)')

    def hostile(self):
        profile = self.folder / "hostile.sqlite"
        shutil.copy(self.profiles["torch_step"], profile)
        database = sqlite3.connect(profile)
        database.execute("UPDATE StringTable SET value = ?1 || _id_, demangled = ?1 || _id_, short = ?1, display = ?1",
                         (HOSTILE,))  # fmt: skip
        database.execute(
            "UPDATE RUN SET value = ?1 WHERE key IN ('command_line', 'host_name')",
            (HOSTILE * 3000,),
        )
        database.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_DEVICE SET name = ?1 WHERE typeof(name) = 'text'",
            (HOSTILE,),
        )
        database.commit()
        database.close()
        return profile

    def test_texts_of_a_profile_stay_texts(self):
        html, markdown = self.page(self.hostile(), "hostile")
        self.assertEqual(html.count("<script"), 3)  # data, one level, and the program
        self.assertEqual(html.count("</script"), 3)
        self.assertNotIn("<img", html)
        self.assertNotIn("\x1b", html)
        self.assertIn("onerror", json.dumps(data_of(html)))
        for letter in ("\x1b", "\u202e"):
            self.assertNotIn(letter, markdown)
        for line in markdown.splitlines():
            for text in re.sub(r"`` .*? ``", "", line).split("``"):
                self.assertNotIn("onerror", text)

    def test_forged_values(self):
        chance = random.Random(5)
        values = [0, -1, 2**63 - 1, -(2**63), 2**62, 10**18, "text", None, 1.5, b"x" * 20, 2**32]
        forged = self.folder / "forged.db"
        for _ in range(20):
            shutil.copy(self.profiles["torch_step"], forged)
            database = sqlite3.connect(forged)
            tables = [row[0] for row in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND (name LIKE 'CUPTI%' OR name IN"
                " ('NVTX_RANGE', 'RANGE_TIME', 'MEMORY_USE', 'GPU_GAP', 'RUN', 'STATISTIC'))")]  # fmt: skip
            for table in chance.sample(tables, 12):
                columns = [
                    row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5] == 0
                ]
                row = "value" if table == "STATISTIC" else "rowid"  # which is WITHOUT ROWID
                database.execute(f'UPDATE OR IGNORE {table} SET "{chance.choice(columns)}" = ? WHERE {row} % 2'
                                 if table != "RANGE_TIME" else "UPDATE RANGE_TIME SET first = ?",
                                 (chance.choice(values),))  # fmt: skip
            database.commit()
            database.close()
            ran = run(forged, "--html", self.folder / "forged.html", "-f")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            data_of((self.folder / "forged.html").read_text(encoding="utf-8"))

    def test_overlap_and_streams_without_end(self):
        forged = self.folder / "crowded.db"
        shutil.copy(self.profiles["torch_step"], forged)
        database = sqlite3.connect(forged)
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        if database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,):
            table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        columns = ", ".join(
            f'"{row[1]}"'
            for row in database.execute(f"PRAGMA table_info({table})")
            if row[1] != "_id_"
        )
        for _ in range(10):
            database.execute(f"INSERT INTO {table}({columns}) SELECT {columns} FROM {table}")
        database.execute(f"UPDATE {table} SET streamId = _id_ % 4001 WHERE _id_ % 2")
        database.execute(
            f'UPDATE {table} SET start = start + _id_ % 1000, "end" = "end" + 10000000'
        )
        database.commit()
        database.close()
        html, _ = self.page(forged, "crowded")
        losses = " ".join(data_of(html)["run"]["losses"])
        for words in ("overlap with too many others", "too many tracks", "tracks are not drawn"):
            self.assertIn(words, losses)

    def test_what_is_there_stays(self):
        profile = self.profiles["two_processes"]
        other = self.folder / "other.html"
        other.write_text("<!doctype html>mine")
        for words in ([], ["-f"]):
            ran = run(profile, "--html", other, *words)
            self.assertNotEqual(ran.returncode, 0)
            self.assertEqual(other.read_text(), "<!doctype html>mine")
        ours = self.folder / "ours.html"
        self.assertEqual(run(profile, "--html", ours).returncode, 0)
        first = ours.read_bytes()
        self.assertNotEqual(run(profile, "--html", ours).returncode, 0)
        self.assertEqual(run(self.profiles["torch_step"], "--html", ours, "-f").returncode, 0)
        self.assertNotEqual(ours.read_bytes(), first)
        before = profile.read_bytes()
        self.assertNotEqual(run(profile, "--html", profile, "-f").returncode, 0)
        self.assertEqual(profile.read_bytes(), before)
        self.assertEqual(run(profile).returncode, 0)  # Markdown to standard output
        self.assertNotEqual(
            run(self.folder / "none", "--html", self.folder / "none.html").returncode, 0
        )
        self.assertFalse((self.folder / "none.html").exists())

    def test_markdown_to_standard_output(self):
        ran = run(self.profiles["torch_step"], "--markdown", "-")
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout, self.page(self.profiles["torch_step"], "out")[1])
        for title in ("Where the time went", "Findings", "GPU work"):
            self.assertIn(f"### {title}\n", ran.stdout)

    def test_markdown_is_short_whatever_happened(self):
        profile = self.folder / "much.sqlite"
        shutil.copy(self.profiles["torch_step"], profile)
        database = sqlite3.connect(profile)
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET deviceId = _id_ % 5")
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = _id_ % 9")
        database.commit()
        database.close()
        subprocess.run([GPUPROF, "finish", "-q", profile], check=True)
        database = sqlite3.connect(profile)
        database.execute("UPDATE STATISTIC SET value = 7")
        [losses] = database.execute("SELECT count(*) FROM losses").fetchone()
        database.commit()
        database.close()
        self.assertGreater(losses, 3)
        _, markdown = self.page(profile, "much")
        self.assertEqual(markdown.count("**Lost:**"), 2)
        self.assertIn("and 4 more GPUs", markdown)
        self.assertRegex(markdown, r"% of the time of GPU \d")

    def test_script_is_sound(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("node is not installed")
        html, _ = self.page(self.profiles["torch_step"], "script")
        script = self.folder / "script.mjs"
        script.write_text(re.search(r'<script type="module">(.*?)</script>', html, re.S)[1])
        ran = subprocess.run([node, "--check", script], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    @unittest.skipUnless(browser.PROGRAM, browser.WITHOUT)
    def test_in_a_browser(self):
        for profile, word in (
            (self.profiles["torch_step"], "reduce_kernel"),
            (self.hostile(), "onerror"),
        ):
            html, _ = self.page(profile, "browser")
            page = browser.Page(self.enterContext(browser.Browser()))
            page.go(f"file://{self.folder}/browser.html")
            body = page.evaluate("document.body.outerHTML")
            self.assertIn('data-drawn="yes"', body)
            self.assertIn("Longest times without GPU work", body)
            self.assertIn(word, body)
            curves = page.evaluate(
                "document.querySelectorAll('.curve path[d]:not([d=\"\"])').length"
            )
            self.assertEqual(curves, len(data_of(html)["counters"]))
            self.assertGreater(curves, 0)
            self.assertNotIn("<img", body)


if __name__ == "__main__":
    unittest.main()
