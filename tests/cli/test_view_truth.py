"""gpuprof view: what its server answers is what SQL finds."""
# ctest-labels: plain

import collections
import contextlib
import json
import random
import re
import shutil
import sqlite3
import subprocess
import time
import unittest
import urllib.parse

import test_view
from test_view import CALLS, GPUPROF, WORK, facts, serving, touched, union
from tiles import decode


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Truth(test_view.Profiles):
    """The drawing of random windows, compared with SQL."""

    def times(self, database, track, tables):
        zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
        records = []
        for table in sorted(tables):
            records += database.execute(
                f'SELECT start - ?1, "end" - ?1 FROM {table} WHERE start > 0 AND "end" >= start {track}',
                (zero,),
            )
        return records

    def test_drawn_is_what_sql_finds(self):
        chance = random.Random(18)
        windows = checked = 0
        kinds = set()
        for name, profile in self.profiles.items():
            database = sqlite3.connect(profile)
            with serving(profile) as server:
                run = server.get("run")
                for number, track in enumerate(run["tracks"]):
                    records = self.records_of(database, track, run)
                    if records is None:
                        continue
                    self.assertEqual(track["records"], len(records), (name, track))
                    checked += 1
                    kinds.add(track["kind"])
                    for _ in range(25):
                        first, last = sorted(
                            chance.uniform(run["begin"] - 1000, run["end"] + 1000) for _ in "ab"
                        )
                        if chance.random() < 0.5 and records:
                            middle = chance.choice(records)[0]
                            first, last = (
                                middle - chance.randint(1, 10 ** chance.randint(1, 8)),
                                middle + chance.randint(1, 10**6),
                            )
                        start, end, width = int(first), int(last) + 1, chance.randint(1, 2000)
                        answer = server.get(
                            "tiles", tracks=number, width=width, **{"from": start, "to": end}
                        )
                        [(rows, _)] = decode(answer).values()
                        pieces = [piece for row in rows for piece in row]
                        drawn = {x for piece in pieces for x in range(piece[0], piece[1])}
                        self.assertEqual(
                            drawn,
                            touched(records, start, end, width),
                            (name, track, start, end, width),
                        )
                        inside = [
                            r for r in records if r[0] < end and (r[1] > start or r[0] >= start)
                        ]
                        self.assertEqual(sum(piece[3] for piece in pieces), len(inside))
                        self.assertEqual(
                            sum(piece[6] for piece in pieces), sum(b - a for a, b in inside)
                        )
                        wide = sum((b - a) * width >= end - start for a, b in inside)
                        self.assertGreaterEqual(sum(piece[3] == 1 for piece in pieces), wide)
                        windows += 1
                self.check_statistics(server, database, run, chance)
            database.close()
        self.assertGreater(checked, 20)
        self.assertGreater(windows, 500)
        self.assertLessEqual({"stream", "api", "range", "overhead"}, kinds)

    def records_of(self, database, track, run):
        last = track["path"][-1].split()
        process = next(
            (
                name.group(1) or name.group(2)
                for part in track["path"]
                if (name := re.fullmatch(r"process (\d+)|.* \[(\d+)\]", part))
            ),
            None,
        )
        if track["kind"] == "api" and last[-2] == "thread":
            where = f"AND processId = {int(process)} AND threadId = {int(last[-1])}"
            return self.times(database, where, CALLS)
        if track["kind"] == "overhead" and last[-2] == "thread":
            where = f"AND processId = {int(process)} AND threadId = {int(last[-1])}"
            return self.times(database, where, ["CUPTI_ACTIVITY_KIND_OVERHEAD"])
        if track["kind"] == "range" and last[1] == "thread" and last[2].rstrip(",").isdigit():
            domain = track["path"][-1].partition(", ")[2].partition(", ")[2]
            zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
            return database.execute(
                'SELECT start - ?1, "end" - ?1 FROM nvtx_ranges WHERE process_id = ?2 AND thread_id = ?3'
                " AND coalesce(domain, '') = ?4",
                (zero, int(process), int(last[2].rstrip(",")), domain),
            ).fetchall()
        same_path = sum(each["path"] == track["path"] for each in run["tracks"])
        if (
            track["kind"] == "stream"
            and last[0] == "stream"
            and last[1].isdigit()
            and same_path == 1
        ):
            where = (
                f'AND streamId = {int(last[1])} AND processId = {int(process)} AND "end" > start'
            )
            device = track["path"][0].split("(")[-1].rstrip(")")
            if device.isdigit():
                return self.times(
                    database, f"{where} AND deviceId = {int(device)}", self.work(database)
                )
        return None

    def work(self, database):
        return WORK & {row[0] for row in database.execute("SELECT name FROM sqlite_master")}

    def check_statistics(self, server, database, run, chance):
        devices = {track["path"][0] for track in run["tracks"] if track["kind"] == "stream"}
        for _ in range(5):
            start, end = sorted(
                chance.randint(int(run["begin"]), int(run["end"]) + 1) for _ in "ab"
            )
            end = max(end, start + 1)
            answer = server.get("statistics", **{"from": start, "to": end})
            for device in answer["devices"]:
                self.assertIn(device["name"], devices)
                number = device["name"].split("(")[-1].rstrip(")")
                if not number.isdigit():
                    continue
                where = f'AND deviceId = {int(number)} AND "end" > start'
                tables = self.work(database)
                copies = {table for table in tables if "MEM" in table}
                both = union(self.times(database, where, tables), start, end)
                self.assertEqual(device["busy"], both)
                compute = union(self.times(database, where, tables - copies), start, end)
                copying = union(self.times(database, where, copies), start, end)
                self.assertEqual((device["compute"], device["copies"]), (compute, copying))
                self.assertEqual(device["both"], compute + copying - both)
            spent = sum(work["time"] for work in answer["work"].get("stream", []))
            every = self.times(database, 'AND "end" > start', self.work(database))
            self.assertEqual(spent, sum(max(0, min(b, end) - max(a, start)) for a, b in every))

    def test_memory_is_what_sql_finds(self):
        chance = random.Random(19)
        database = sqlite3.connect(self.profiles["torch_step"])
        with serving(self.profiles["torch_step"]) as server:
            run = server.get("run")
            number = next(
                i for i, track in enumerate(run["tracks"]) if track["path"][-1] == "Device memory"
            )
            zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
            values = database.execute(
                "SELECT time - ?, in_use FROM memory_timeline WHERE memory = 'Device' AND pool_type IS NULL"
                " ORDER BY time, operation_id", (zero,)).fetchall()  # fmt: skip
            self.assertEqual(len(values), run["tracks"][number]["records"])
            for _ in range(50):
                start = chance.randint(int(run["begin"]), int(run["end"]))
                end, width = start + chance.randint(1, 10**9), chance.randint(1, 500)
                answer = server.get(
                    "tiles", tracks=number, width=width, **{"from": start, "to": end}
                )
                [(_, points)] = decode(answer).values()
                drawn = {points[i]: points[i + 1 : i + 4] for i in range(0, len(points), 4)}
                expected = {}
                for time, value in values:
                    if time < start:
                        expected[-1] = [value] * 3
                    elif time < end:
                        x = (time - start) * width // (end - start)
                        least, most, _ = expected.get(x, [value] * 3)
                        expected[x] = [min(least, value), max(most, value), value]
                self.assertEqual(drawn, expected)
        database.close()

    def work_by_function(self, profile, window=None):
        """Count and time of GPU work by the short name of kernels and the kind of copies and sets."""
        database = sqlite3.connect(profile)
        zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
        start, end = [bound + zero for bound in window or (-zero, 2**62 - zero)]
        kernels = {name: (count, time) for name, count, time in database.execute(
            'SELECT short_name, count(*), sum(min("end", ?2) - max(start, ?1)) FROM kernels'
            ' WHERE "end" > start AND start < ?2 AND "end" > ?1 GROUP BY 1', (start, end))}  # fmt: skip
        rest = [(0, 0)]
        for table in sorted(self.work(database)):
            if "KERNEL" in table:
                continue
            rest += database.execute(
                f'SELECT count(*), coalesce(sum(min("end", ?2) - max(start, ?1)), 0) FROM {table}'
                ' WHERE start > 0 AND "end" > start AND start < ?2 AND "end" > ?1', (start, end))  # fmt: skip
        database.close()
        return kernels, tuple(map(sum, zip(*rest, strict=True)))

    def check_differences(self, answer, first, second):
        """Compared with work_by_function() of both."""
        work = answer["work"]["stream"]
        shown = {each["name"]: (each["count"], each["time"]) for each in work["each"]}
        self.assertEqual(len(shown), work["names"])
        kernels = set(first[0]) | set(second[0])
        for name in kernels:
            sides = first[0].get(name, (0, 0)), second[0].get(name, (0, 0))
            self.assertEqual(shown[name], tuple(map(list, zip(*sides, strict=True))), name)
        copies = [shown[name] for name in shown if name not in kernels]
        for number, side in enumerate((first, second)):
            self.assertEqual(sum(each[0][number] for each in copies), side[1][0])
            self.assertEqual(sum(each[1][number] for each in copies), side[1][1])
            for key in ("count", "time"):
                total = sum(each[key][number] for each in work["each"])
                self.assertEqual(work["all"][key][number], total)
        apart = [abs(each["time"][0] - each["time"][1]) for each in work["each"]]
        self.assertEqual(apart, sorted(apart, reverse=True))

    def check_names(self, answer, *profiles):
        """NVTX ranges and calls by name, of whole runs."""
        for kind, view in (("range", "nvtx_ranges"), ("api", "api_calls")):
            shown = {each["name"]: each["count"] for each in answer["work"][kind]["each"]}
            counts = []
            for profile in profiles:
                with contextlib.closing(sqlite3.connect(profile)) as database:
                    counts.append(dict(database.execute(
                        f'SELECT name, count(*) FROM {view} WHERE start > 0 AND "end" > 0 GROUP BY 1')))  # fmt: skip
            expected = {
                name: [side.get(name, 0) for side in counts] for name in set().union(*counts)
            }
            self.assertEqual(shown, expected)

    def test_comparison_is_what_diff_says(self):
        for names in (("torch_step", "torch_step"), ("vector_add", "two_processes"),
                      ("streams_graph", "torch_step")):  # fmt: skip
            paths = [self.profiles[name] for name in names]
            diff = [GPUPROF, "diff", *(path.name for path in paths)]
            printed, found = (
                subprocess.run(
                    [*diff, *words], cwd=self.folder, capture_output=True, check=True
                ).stdout
                for words in ([], ["--json"])
            )
            expected = json.loads(found)
            with serving(paths) as server, self.subTest(names):
                answer = server.get("comparison")
                self.assertEqual(answer["headline"], printed.decode().splitlines()[0])
                self.assertEqual(
                    answer["time"], [expected["time"]["a_ns"], expected["time"]["b_ns"]]
                )
                for kind, key in (("parts", "class"), ("kernels", "name")):
                    self.assertEqual(len(answer[kind]), len(expected[kind]))
                    for shown, each in zip(answer[kind], expected[kind], strict=True):
                        self.assertEqual(shown["time"], [each["a_ns"], each["b_ns"]])
                        self.assertTrue(each[key].startswith(shown[key].split("…")[0]))
                for side in (0, 1):
                    parts = sum(each["time"][side] for each in answer["parts"])
                    self.assertAlmostEqual(parts, answer["time"][side], delta=1)
                self.assertIn("| Change | A | B | The GPU |", answer["markdown"])
                # A part of both, as the viewer shifts the second.
                run = server.get("run")
                middle = (run["begin"] + run["end"]) // 2
                words = {"from": run["begin"], "to": middle, "shift": 0}
                status, body, _ = server.ask(
                    f"/{server.token}/api/comparison?{urllib.parse.urlencode(words)}"
                )
                answer = json.loads(body)
                if status == 200:
                    times = [middle - run["begin"]] * 2
                    self.assertEqual(answer["time"], times)
                    self.assertFalse(answer["per_step"])
                else:
                    self.assertIn("has no GPU work with times there", answer["error"])
                status, _, _ = server.ask(f"/{server.token}/api/comparison?from=1&to=1&shift=0")
                self.assertEqual(status, 400)

    def test_what_was_allocated_at_the_peak(self):
        """From SQL: allocations before it that were not released by then."""
        profile = self.profiles["torch_step"]
        with contextlib.closing(sqlite3.connect(profile)) as database:
            rows = database.execute(
                "SELECT operation, memory, pool_type, device_id, process_id, address, bytes, time - (SELECT value"
                " FROM RUN WHERE key = 'zero_ns') FROM allocations ORDER BY time").fetchall()  # fmt: skip
            maxima = database.execute(
                "SELECT memory, pool_type, device_id, process_id, bytes, allocations FROM memory_peak WHERE bytes > 0"
            ).fetchall()
        with serving(profile) as server:
            answer = server.get("peak")
            peaks = {(each["memory"], each["pool_type"], each["device_id"], each["process_id"]): each
                     for each in answer["peaks"]}  # fmt: skip
            self.assertEqual(len(peaks), len(maxima))
            held = 0
            for *place, size, number in maxima:
                peak = peaks[tuple(place)]
                self.assertEqual((peak["peak_bytes"], peak["peak_allocations"]), (size, number))
                live = {}
                for operation, *where, address, length, at in rows:
                    if where != place or at > peak["relative_peak_time_ns"]:
                        continue
                    if operation == "allocation":
                        live[address] = (length, at, peak["relative_peak_time_ns"] - at)
                    else:
                        live.pop(address, None)
                shown = [
                    (each["bytes"], each["relative_time_ns"], each["age_ns"])
                    for each in peak["held"]
                ]
                # The largest, of the same size the oldest.
                largest = sorted(live.values(), key=lambda each: (-each[0], each[1]))
                self.assertEqual(shown, largest[:200])
                self.assertEqual(sum(each["at_peak_bytes"] for each in peak["owners"]), size)
                held += len(shown)
            self.assertGreater(held, 3)
            self.assertIn(answer["by"], answer["ways"])
            for way in answer["ways"]:
                self.assertEqual(server.get("peak", by=way)["by"], way)
            status, body, _ = server.ask(f"/{server.token}/api/peak?by=nothing")
            self.assertIn("error", json.loads(body))

    def test_differences_are_what_sql_finds(self):
        chance = random.Random(23)
        for names in (("torch_step", "streams_graph"), ("vector_add", "two_processes"),
                      ("streams_graph", "vector_add"), ("torch_step", "torch_step")):  # fmt: skip
            first, second = (self.profiles[name] for name in names)
            with serving([first, second]) as server, self.subTest(names):
                answer = server.get("differences", **{"from": -(10**15), "to": 10**15, "shift": 0})
                sides = self.work_by_function(first), self.work_by_function(second)
                self.check_differences(answer, *sides)
                self.assertGreater(answer["work"]["stream"]["all"]["count"][0], 0)
                self.check_names(answer, first, second)
                for number in (0, 1):
                    run = server.get("run", run=number)
                    self.assertEqual(
                        answer["lasted"][number], {"from": run["begin"], "to": run["end"]}
                    )
                    whole = server.get("statistics", run=number,
                                       **{"from": run["begin"], "to": run["end"] + 1})  # fmt: skip
                    self.assertEqual(answer["devices"][number], whole["devices"])
                if first == second:
                    self.assertTrue(
                        all(
                            each["time"][0] == each["time"][1]
                            for kind in answer["work"].values()
                            for each in kind["each"]
                        )
                    )
                else:
                    known = max(len(sides[0][0]), len(sides[1][0]))
                    self.assertGreater(answer["work"]["stream"]["names"], known)
                run = server.get("run")
                for _ in range(10):
                    start, end = sorted(chance.randint(run["begin"], run["end"]) for _ in "ab")
                    shift = chance.choice((0, chance.randint(-(10**9), 10**9)))
                    end = max(end, start + 1)
                    answer = server.get("differences", **{"from": start, "to": end, "shift": shift})
                    self.check_differences(
                        answer, self.work_by_function(first, (start, end)),
                        self.work_by_function(second, (start - shift, end - shift)))  # fmt: skip
                # One list of names for both, so that colours mean the same.
                tracks = [server.get("run", run=number)["tracks"] for number in (0, 1)]
                used = [{piece[4] for number, track in enumerate(tracks[side]) if track["kind"] == "stream"
                         for rows, _ in decode(server.get("tiles", run=side, tracks=number, width=5000,
                                                          **{"from": -(10**12), "to": 10**13})).values()
                         for row in rows for piece in row} for side in (0, 1)]  # fmt: skip
                known = server.get("names", ids=",".join(map(str, used[0] | used[1])))["names"]
                self.assertEqual(len(known), len(used[0] | used[1]))
                self.assertEqual(len({text for _, text, _ in known.values()}), len(known))

    def test_where_runs_are_aligned(self):
        paths = [self.profiles["nvtx_threads"], self.profiles["torch_step"]]
        ranges = calls = 0
        with serving(paths) as server:
            for number, path in enumerate(paths):
                database = sqlite3.connect(path)
                zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
                first = min(self.times(database, 'AND "end" > start', self.work(database)))[0]
                answer = server.get("begin", run=number, name="", nth=1)
                self.assertEqual(answer["begin"], first)
                steps = [start for (start,) in database.execute(
                    "SELECT start - ? FROM STEP WHERE stop > start ORDER BY start", (zero,))]  # fmt: skip
                for step in range(len(steps) + 2):
                    known = {"begin": steps[step - 1]} if 1 <= step <= len(steps) else {}
                    found = server.get("begin", run=number, name="", nth=1, step=step or -1)
                    self.assertEqual(
                        found.get("begin", "none"), known.get("begin", "none") if step else first
                    )
                view = server.get("run", run=number)["first_view"]
                steady = steps.index(view["from"]) + 1 if view["from"] in steps else None
                self.assertEqual(answer.get("steady"), steady)
                begins = {}
                for name, begin in database.execute(
                    'SELECT name, start - ? FROM nvtx_ranges WHERE "end" NOT NULL ORDER BY start', (zero,)):  # fmt: skip
                    begins.setdefault(name, []).append(begin)
                ranges += len(begins)
                names = set(begins)
                for name, begin in database.execute(
                    "SELECT name, start - ? FROM api_calls ORDER BY start", (zero,)
                ):
                    if name not in names:
                        begins.setdefault(name, []).append(begin)
                calls += len(begins) - len(names)
                for name, expected in begins.items():
                    for nth in (0, 1, len(expected), len(expected) + 1):
                        answer = server.get("begin", run=number, nth=nth,
                                            name=urllib.parse.quote(name))  # fmt: skip
                        known = {"begin": expected[nth - 1]} if 1 <= nth <= len(expected) else {}
                        self.assertEqual(answer, {"count": len(expected), **known}, (name, nth))
                self.assertEqual(
                    server.get("begin", run=number, name="no%20such", nth=1), {"count": 0}
                )
                database.close()
        self.assertGreater(ranges, 5)
        self.assertGreater(calls, 10)

    def test_stops_are_what_sql_finds(self):
        gaps = steps = losses = 0
        for name, profile in self.profiles.items():
            if name == "torch_step":  # like a run whose counter samples have gaps
                copy = self.folder / "holes.db"
                shutil.copy(profile, copy)
                database = sqlite3.connect(copy)
                first, last = database.execute(
                    'SELECT min(start), max("end") FROM kernels'
                ).fetchone()
                database.executemany(
                    "INSERT INTO PM_GAP(deviceId, start, stop, reason) VALUES(0, ?, ?, ?)",
                    [(first, first + 1000, "overflow"), (first + 5000, last, "missing"),
                     (last, None, "missing"), (0, first, "overflow"), (last, first, "missing")],
                )  # fmt: skip
                database.commit()
                database.close()
                profile = copy
            database = sqlite3.connect(profile)
            zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
            with serving(profile) as server, self.subTest(name):
                run, stops = server.get("run"), server.get("stops")
                for gap, (at, time, call, in_call, *others) in zip(
                    stops["gaps"],
                    database.execute("SELECT start - ?, duration, host_call, host_call_ns, no_call_ns, launch_ns, "
                                     "queued_ns FROM gpu_gaps"
                                     " ORDER BY duration DESC, start LIMIT 100", (zero,)).fetchall(),
                    strict=True,
                ):  # fmt: skip
                    self.assertEqual((gap["at"], gap["time"]), (at, time))
                    parts = dict(
                        zip(("no CUDA call", "launching work", "work was launched"), others)
                    )
                    parts[call] = in_call or 0
                    parts["other CUDA calls"] = time - sum(parts.values())
                    self.assertEqual(
                        dict(gap["host"]), {name: ns for name, ns in parts.items() if ns}
                    )
                    self.assertEqual(gap["host"], sorted(gap["host"], key=lambda part: -part[1]))
                self.assertEqual(
                    [(step["at"], step["time"], step["name"]) for step in stops["steps"]],
                    database.execute('SELECT start - ?, "end" - start, name FROM steps'
                                     ' WHERE "end" > 0 ORDER BY 2 DESC, 1 LIMIT 100', (zero,)).fetchall(),
                )  # fmt: skip
                times = sorted(row[0] for row in database.execute(
                    'SELECT "end" - start FROM steps WHERE "end" > 0'))  # fmt: skip
                self.assertEqual(stops["median_step"], times[(len(times) - 1) // 2] if times else 0)
                self.assertEqual(
                    [(loss["at"], loss["time"]) for loss in stops["losses"]],
                    database.execute("SELECT start - ?1, coalesce(\"end\", ?2) - start FROM pm_gaps WHERE start > 0"
                                     " AND coalesce(\"end\", ?2) >= start ORDER BY 2 DESC, 1",
                                     (zero, run["end"] + zero)).fetchall(),
                )  # fmt: skip
                for gap in stops["gaps"] + stops["losses"]:
                    self.assertEqual(run["tracks"][gap["track"]]["kind"], "stream")
                for step in stops["steps"]:
                    if step["name"].startswith("period of "):
                        self.assertEqual(step["track"], -1)
                    else:
                        self.assertEqual(run["tracks"][step["track"]]["kind"], "range")
            gaps += len(stops["gaps"])
            steps += len(stops["steps"])
            losses += len(stops["losses"])
            database.close()
        self.assertGreater(gaps, 200)
        self.assertGreater(steps, 10)
        self.assertEqual(losses, 3)

    def test_search_and_details(self):
        with serving(self.profiles["torch_step"]) as server:
            database = sqlite3.connect(self.profiles["torch_step"])
            [[expected]] = database.execute("SELECT count(*) FROM kernels WHERE name LIKE '%gemm%'")
            begins, after = [], -(10**12)
            while len(begins) <= expected:
                found = server.get("search", text="GEMM", after=after)
                if found["around"]:
                    break
                begins.append(found["next"]["begin"])
                after = begins[-1]
                place = {key: found["next"][key] for key in ("track", "row", "item")}
                told = dict(facts(server, **place))
                self.assertIn("gemm", told["name"])
                [[range_path]] = database.execute(
                    "SELECT range_path FROM kernels WHERE correlation_id = ?", (int(told["correlationId"]),))  # fmt: skip
                self.assertEqual(told["NVTX path"], range_path)
                self.assertTrue(told["launched by"].startswith("cu"))
            self.assertEqual((len(begins), found["count"]), (expected, expected))
            self.check_expressions(server)
            database.close()

    def paths_of_kernels(self, database, by):
        """ns and launches of kernels by path and name."""
        name = "coalesce(s.display, s.short, s.value)"
        if by == "ranges":
            rows = database.execute(
                "SELECT coalesce(range_path, ''), display_name, start, duration FROM kernels"
            )
            return [(tuple(path.split(" / ")) if path else (), *rest) for path, *rest in rows]
        stacks = collections.defaultdict(list)
        for call, module, function, line in database.execute(
            "SELECT correlation_id, module, function, line FROM call_stacks ORDER BY position DESC"
        ):
            stacks[call].append(f"{module.rpartition('/')[2]}:{line} {function}")
        rows = database.execute(
            f"SELECT coalesce(m.correlationId, r.correlationId), {name}, r.start, r.end - r.start"
            " FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS r JOIN StringTable AS s ON s._id_ = r.name"
            " LEFT JOIN GRAPH_NODE AS c ON c.node = r.graphNodeId AND c.source"
            " LEFT JOIN GRAPH_NODE AS m ON m.node = coalesce(c.source, r.graphNodeId) AND m.source IS NULL"
        )
        return [(tuple(stacks[call]), *rest) for call, *rest in rows]

    def test_flame_is_what_sql_finds(self):
        for name, by in (("torch_step", "ranges"), ("graph_lines", "stacks"), ("vector_add", "ranges")):  # fmt: skip
            with contextlib.closing(sqlite3.connect(self.profiles[name])) as database:
                [zero] = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
                kernels = self.paths_of_kernels(database, by)
            middle = sorted(start for _, _, start, _ in kernels)[len(kernels) // 2] - int(zero)
            with serving(self.profiles[name]) as server:
                for words in ({}, {"by": by}, {"from": middle, "to": 10**15}):
                    answer = server.get("flame", **words)
                    self.assertEqual((answer["by"], answer["rest"]), (by, [0, 0]))
                    self.assertEqual(answer["ways"], [by])
                    paths = [()]
                    for parent, text in answer["nodes"][1:]:
                        paths.append((*paths[parent], text))
                    expected = collections.Counter()
                    for path, kernel, start, duration in kernels:
                        if start - int(zero) >= words.get("from", -(10**15)):
                            expected[path, kernel, "ns"] += duration
                            expected[path, kernel, "launches"] += 1
                    found = {}
                    for node, kernel, color, ns, launches in answer["kernels"]:
                        self.assertRegex(color, r"^(kernel-\d+|communication)$")
                        found[paths[node], kernel, "ns"] = ns
                        found[paths[node], kernel, "launches"] = launches
                    self.assertEqual(found, expected)
                    self.assertTrue(any(paths))

    def test_page_of_a_kernel(self):
        """It is that of gpuprof kernels."""
        for name in ("torch_step", "graph_lines", "two_processes"):
            told = subprocess.run([GPUPROF, "kernels", self.profiles[name], "--top", "1000"],
                                  check=True, capture_output=True, text=True)  # fmt: skip
            text = " ".join(told.stdout.split())
            with serving(self.profiles[name]) as server:
                tracks = server.get("run")["tracks"]
                track = next(i for i, each in enumerate(tracks) if each["kind"] == "stream")
                pages = 0
                for item in range(min(tracks[track]["records"], 12)):
                    answer = server.get("details", track=track, row=0, item=item)
                    self.assertEqual("kernel" in answer, "grid" in dict(answer["sections"][0]["rows"]))  # fmt: skip
                    if "kernel" not in answer:
                        continue
                    [page] = server.get("kernel", **answer["kernel"])["pages"]
                    facts = dict(page["facts"])
                    self.assertIn(page["name"], text)
                    for label, lines in facts.items():
                        self.assertIn(f"{label} {' '.join(lines)}", text)
                    grid = dict(answer["sections"][0]["rows"])["grid"].replace(" x ", ",")
                    self.assertIn(f"({grid})", facts["Launch"][0])
                    self.assertIn("Waves", facts)
                    pages += 1
                self.assertGreater(pages, 0)
                for words in ({}, {"table": 99, "id": 1}, {"table": -1, "id": 1}, {"table": "x", "id": 1},
                              *({"table": table, "id": 10**12} for table in range(12))):  # fmt: skip
                    self.assertEqual(server.get("kernel", **words), {"pages": []})

    def test_found_backwards_sizes_gaps_and_first_view(self):
        with serving(self.profiles["torch_step"], "--no-browser") as server:
            database = sqlite3.connect(self.profiles["torch_step"])
            run = server.get("run")
            [[zero]] = database.execute(
                "SELECT CAST(value AS INTEGER) FROM RUN WHERE key = 'zero_ns'"
            )
            copies = database.execute("SELECT start - ?, bytes FROM memcpys ORDER BY start", (zero,)).fetchall()  # fmt: skip
            # Copies from the last to the first, with their sizes; then around.
            found, before = [], run["end"] + 1
            while len(found) <= len(copies):
                answer = server.get("search", text="%5BCUDA%20memcpy", after=before, back=1)
                if answer["around"]:
                    break
                found.append(answer["next"])
                before = found[-1]["begin"]
            self.assertEqual(answer["next"], found[0])
            self.assertEqual(
                [each["begin"] for each in found], [start for start, _ in copies[::-1]]
            )
            self.assertEqual(sum(number for _, number in answer["names"]), len(copies))
            for name, number in answer["names"]:
                self.assertEqual(server.get("search", name=name, after=0)["count"], number)
            self.assertEqual(server.get("search", name=10**6, after=0)["count"], 0)
            places = [f"{each['track']}.{each['row']}.{each['item']}" for each in found]
            hostile = [
                "",
                "1",
                "1.2",
                "-1.0.0",
                "4000000000.0.0",
                "0.0.4294967295",
                "a.b.c",
                "1.1.1.1",
            ]
            sizes = server.get("sizes", places=",".join(places + hostile))["sizes"]
            self.assertEqual(sizes, [size for _, size in copies[::-1]] + [None] * len(hostile))
            self.assertEqual(server.get("sizes")["sizes"], [])
            # Gaps of a window, and what is shown first: between the two parts is a gap of most of the run.
            gaps = database.execute("SELECT start - ?, duration FROM gpu_gaps ORDER BY duration DESC, start", (zero,)).fetchall()  # fmt: skip
            middle = gaps[3][0]
            shown = server.get("gaps", **{"from": middle, "to": middle + 10**7})["gaps"]
            expected = [gap for gap in gaps if gap[0] < middle + 10**7 and sum(gap) > middle]
            self.assertEqual([(gap["at"], gap["time"]) for gap in shown], expected)
            self.assertLessEqual({gap["cause"] for gap in shown}, {"call", "no-call", "unknown"})
            view = server.get("run")["first_view"]
            [[last]] = database.execute("SELECT max(end) - ? FROM gpu_activities", (zero,))
            self.assertEqual(view, {"from": sum(gaps[0]), "to": last})
            database.close()

    def check_expressions(self, server):
        def search(text):
            words = urllib.parse.urlencode({"text": text, "after": 0})
            status, body, _ = server.ask(f"/{server.token}/api/search?{words}")
            return status, json.loads(body)

        run = server.get("run")
        answer = server.get("statistics", **{"from": run["begin"], "to": run["end"] + 1})
        names = [each for work in answer["work"].values() for each in work]
        self.assertEqual(len(names), sum(answer["names"].values()))
        for expression in (
            "gemm.*_",
            "^cu(da)?LaunchKernel",
            "[a-z]{9}",
            "[0-9]+$",
            "Launch|^void",
        ):
            status, found = search(f"/{expression}/")
            self.assertEqual(status, 200, found)
            expected = sum(each["count"] for each in names if re.search(expression, each["name"]))
            self.assertEqual(found["count"], expected, expression)
            self.assertGreater(expected, 0, expression)
        self.assertEqual(search("/CULAUNCHKERNEL/")[1]["count"], 0)
        self.assertGreater(search("/CULAUNCHKERNEL/i")[1]["count"], 0)
        for expression, words in (
            ("/(/", "missing closing parenthesis"),
            ("/a{2,1}/i", "numbers out of order"),
            ("/" + "(" * 1000 + "/", "too deeply nested"),
            ("/(.*)*(.*)*(.*)*#/", "takes too long"),
            ("/^(([a-z_<>:, 0-9A-Z])+.)+#$/", "takes too long"),
        ):
            began = time.monotonic()
            status, found = search(expression)
            self.assertEqual(status, 400, expression[:50])
            self.assertIn(words, found["error"])
            self.assertLess(time.monotonic() - began, 5)
        # With one slash it is a name.
        for text in ("/", "//", "/gemm", "gemm/"):
            self.assertEqual(search(text)[0], 200, text)
            self.assertEqual(search(text)[1]["count"], 0)


if __name__ == "__main__":
    unittest.main()
