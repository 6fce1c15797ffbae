"""What a run cost, and the limit that --budget sets."""
# ctest-labels: plain

import json
import re
import subprocess
import unittest

from fake_run import FAKE, GPUPROF, FakeTest

PARTS = {"api": "API calls", "launches": "launches", "nvtx": "NVTX", "flush": "flush",
         "contexts": "contexts and modules", "cupti": "CUPTI's OVERHEAD"}  # fmt: skip


class Cost(FakeTest):
    def parts(self, database):
        """What docs/command-line.md says of the numbers, in SQL."""
        costs = database.counts(
            "SELECT kind, sum(value) FROM STATISTIC WHERE name = 'cost_ns' GROUP BY 1"
        )
        recorded = database.one(
            "SELECT max(realtime) - min(realtime) FROM CLOCK WHERE moment IN ('first', 'last')"
        )
        return costs, recorded

    def test_a_run(self):
        run = self.profile("training", 300, check=0)
        database = self.database()
        costs, recorded = self.parts(database)
        self.assertLessEqual({"api", "launches", "flush", "contexts", "start", "end"}, set(costs))
        outside = costs.pop("start") + costs.pop("end")
        in_all = sum(costs.values())
        said = re.match(r"gpuprof: cost: ([\d.]+) % of ([\d.]+) s in gpuprof's callbacks \((.*?)\), and on top .*?; "
                        r"start and end ([\d.]+) s; ", run.cost)  # fmt: skip
        self.assertTrue(said, run.cost)
        share, seconds, parts, start_and_end = said.groups()
        self.assertAlmostEqual(float(share), 100 * in_all / recorded, delta=0.05001)
        self.assertAlmostEqual(float(seconds), recorded / 1e9, delta=0.00501)
        self.assertAlmostEqual(float(start_and_end), outside / 1e9, delta=0.00501)
        shown = {
            name: float(part) for name, part in re.findall(r"([^,]+?) ([\d.]+)(?:, |$)", parts)
        }
        self.assertAlmostEqual(sum(shown.values()), float(share))
        for kind, ns in costs.items():
            self.assertAlmostEqual(shown.get(PARTS[kind], 0), 100 * ns / recorded, delta=0.1)

        contents = json.loads(subprocess.check_output([GPUPROF, "info", "--json", self.output]))
        self.assertEqual(contents["cost"]["parts_ns"], costs)
        self.assertEqual(contents["cost"]["program_ns"], in_all)
        self.assertEqual(contents["cost"]["recorded_ns"], recorded)
        for key in (
            "sent_bytes",
            "arena_bytes",
            "gpuprof_bytes",
            "gpuprof_cpu_ns",
            "collector_cpu_ns",
        ):
            self.assertGreater(contents["cost"][key], 0, key)
        text = contents["cost"]["text"]
        self.assertEqual(run.cost, f"gpuprof: cost: {text}\n")
        for command in ("info", "report"):
            said = subprocess.check_output([GPUPROF, command, self.output], text=True)
            self.assertIn(text, said)

    def test_callbacks_are_counted_for_those_that_are_not_timed(self):
        self.profile("training", 400, check=0)
        costs, _ = self.parts(self.database())
        # 16,000 launches, each with four callbacks that take more than 10 ns and less than 20 us.
        self.assertGreater(costs["api"] + costs["launches"], 16_000 * 4 * 10)
        self.assertLess(costs["api"] + costs["launches"], 16_000 * 4 * 20_000)

    def test_nvtx(self):
        self.profile("nvtx", "only", 20_000, check=0)
        costs, _ = self.parts(self.database())
        self.assertGreater(costs["nvtx"], 20_000 * 5 * 10)
        self.assertNotIn("api", costs)

    def test_killed(self):
        """The numbers outlive the program."""
        run = self.profile("die", "sigkill", 5000, 30)
        costs, _ = self.parts(self.database())
        self.assertGreater(costs["api"], 0)
        self.assertGreater(costs["start"], 0)
        self.assertRegex(run.cost, "of 0[.][0-9]+ s in gpuprof's callbacks [(]")

    def test_nothing_to_say(self):
        self.assertEqual(self.profile("hello", options=["-q"]).cost, "")
        self.output.unlink()
        subprocess.run([GPUPROF, "-q", "-o", self.output, "true"], check=True)
        said = json.loads(subprocess.check_output([GPUPROF, "info", "--json", self.output]))
        self.assertIsNone(said["cost"])


class Budget(FakeTest):
    def test_kinds_are_given_up(self):
        run = self.profile("steady", 5.3, 20, options=["--budget", "0.01%"])
        self.assertEqual(run.code, 5)
        database = self.database()
        launches = int(run.stdout.split()[-1])
        self.assertEqual(database.count("CONCURRENT_KERNEL"), launches)
        self.assertEqual(database.count("CONCURRENT_KERNEL WHERE correlationId = 0"), 0)
        calls = database.count("RUNTIME")
        self.assertLess(calls, 0.9 * launches)
        self.assertGreater(calls, 0.3 * launches)
        self.assertEqual(database.losses(), {"budget_cuts": 3})
        said = database.rows(
            "SELECT time, severity, text FROM DIAGNOSTIC WHERE statistic = 'budget_cuts'"
        )
        begins, ends = (int(database.one("SELECT value FROM RUN WHERE key = ?", key))
                        for key in ("t0_realtime_ns", "t1_realtime_ns"))  # fmt: skip
        what = []
        for (time, severity, text), after in zip(said, (1, 2, 3)):
            self.assertGreater(time, begins + after * 1_000_000_000)
            self.assertLess(time, ends)
            self.assertEqual(severity, "data_loss")
            self.assertRegex(text, r"^gpuprof took [\d.]+ % of the program's time for a second, "
                                   r"more than --budget 0[.]01 %: no more ")  # fmt: skip
            what.append(text.split(": no more ")[1])
        self.assertEqual(what, ["NVTX marks and ranges are recorded",
                                "waits and calls that request no work of the GPU are recorded",
                                "calls that request work of the GPU are recorded"])  # fmt: skip
        self.assertIn("only kernels, copies and sets are still recorded", run.stderr)
        self.assertRegex(
            run.stderr.splitlines()[-1], "3 kinds of rows given up for --budget [(]gpuprof took"
        )

    def test_a_budget_that_suffices(self):
        run = self.profile("steady", 1.7, 1, options=["--budget", "99%"])
        self.assertEqual(self.database().losses(), {})
        self.assertTrue(run.stderr.endswith("nothing lost\n"), run.stderr)

    def test_what_it_takes(self):
        for value in ("0", "101%", "2 percent", "nan"):
            run = subprocess.run(
                [GPUPROF, "--budget", value, FAKE / "hello"], capture_output=True, text=True
            )
            self.assertIn("a share of the time from 0.01% to 100%", run.stderr, value)


if __name__ == "__main__":
    unittest.main()
