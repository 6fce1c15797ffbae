"""NVTX: what a program says, through copies of NVTX of its own, and what is recorded of it."""

import os
import unittest

from fake_run import PREFIX, FakeTest
from fake_trace import ScriptTest

MARKS = f"""
SELECT s.value, d.payloadInt, d.payloadDouble, d.color, d.category
FROM {PREFIX}MARKER AS m JOIN StringTable AS s ON s._id_ = m.name
LEFT JOIN {PREFIX}MARKER_DATA AS d ON d.id = m.id AND d.processId = m.processId
WHERE m.flags = 1 AND m.name != 0 ORDER BY m._id_"""


class Annotations(FakeTest):
    def annotated(self, *options):
        self.profile("annotations", options=["-f", *options], check=0)
        return self.database()

    def test_ranges(self):
        database = self.annotated()
        self.assertEqual(database.losses(), {})
        self.assertEqual(
            database.rows("""SELECT domain, name, kind, depth, "end" >= start FROM nvtx_ranges
                             ORDER BY start"""),
            [
                (None, "around", "push_pop", 0, 1),
                (None, "nested", "start_end", None, 1),
                ("sea", "handed over", "start_end", None, 1),
                (None, "outer", "push_pop", 0, 1),
                ("sky", "of the domain", "push_pop", 0, 1),
                (None, "inner", "push_pop", 1, 1),
                (None, "step 0", "push_pop", 0, 1),
                (None, "step 1", "push_pop", 0, 1),
                (None, "step 2", "push_pop", 0, 1),
                (None, "never ends", "push_pop", 0, None),
            ],
        )
        # All but the end in another thread.
        process = database.one("SELECT processId FROM PROCESS")
        self.assertEqual(database.count(f"MARKER WHERE threadId != {process}"), 1)
        self.assertEqual(database.count("MARKER WHERE threadId = 0"), 0)

    def test_marks(self):
        self.assertEqual(
            self.annotated().rows(MARKS),
            [
                ("registered", None, None, None, None),
                ("wide \u00e9\u20ac\U0001f600", None, None, None, None),
                ("uint64", 1, None, 0, 0),
                ("int64", -2, None, 0, 0),
                ("double", None, 0.25, 0, 0),
                ("uint32", 0xFFFFFFFF, None, 0, 0),
                ("int32", -3, None, 0, 0),
                ("float", None, 0.5, 0, 0),
                ("color", None, None, 0xFF102030, 9),
                ("of the other copy", 7, None, 0xFF00FF00, 2),
            ],
        )

    def test_the_rest(self):
        database = self.annotated()
        self.assertEqual(
            database.rows("SELECT intValue, textValue FROM NVTX_PAYLOAD ORDER BY _rowid_"),
            [(11, None), (None, "text of a payload")],
        )
        self.assertEqual(
            database.rows(f"""SELECT s.value, n.objectKind, n.objectDeviceId, n.objectStreamId
                              FROM {PREFIX}NAME AS n JOIN StringTable AS s ON s._id_ = n.name
                              ORDER BY n._id_"""),
            [
                ("first thread", 2, None, None),
                ("default stream", 5, 0, 7),
                ("first device", 3, 0, None),
            ],
        )
        self.assertEqual(
            database.rows(f"""SELECT m.flags, m.id - min(m.id) OVER () FROM {PREFIX}MARKER AS m
                              JOIN StringTable AS s ON s._id_ = m.name WHERE s.value = 'lock'
                              ORDER BY m._id_"""),
            [(8, 0), (16, 0), (64, 0)],
        )

    def domains(self, *options):
        database = self.annotated(*options)
        self.assertEqual(database.losses(), {})
        return {
            domain
            for (domain,) in database.rows(f"""
                SELECT coalesce(s.value, '') FROM {PREFIX}MARKER AS m
                LEFT JOIN StringTable AS s ON s._id_ = m.domain AND m.domain != 0""")
        }

    def test_domains(self):
        include, exclude = "--nvtx-domain-include", "--nvtx-domain-exclude"
        self.assertEqual(self.domains(), {"", "sky", "sea"})
        self.assertEqual(self.domains(exclude, "sea,none"), {"", "sky"})
        self.assertEqual(self.domains(exclude, "sea", exclude, "default"), {"sky"})
        self.assertEqual(self.domains(include, "default"), {""})
        self.assertEqual(self.domains(include, "sky,sea"), {"sky", "sea"})
        self.assertEqual(self.domains(include, "sky,sea", exclude, "sky"), {"sea"})
        run = self.profile("hello", options=["-f", include, "a,,b"], check=5)
        self.assertIn("--nvtx-domain-include takes names of domains", run.stderr)

    def test_without_the_group(self):
        self.profile("nvtx", "after", 10, options=["--trace", "-nvtx"], check=0)
        database = self.database()
        self.assertEqual(database.count("MARKER") + database.count("MARKER_DATA"), 0)
        self.assertEqual(database.kernels(), {"annotated": 11})


class Dying(FakeTest):
    def test_ranges_outlive_the_program(self):
        """Up to the last call before the end, with texts and payloads."""
        self.profile("nvtx_dies", 500, options=["-f"], check=137)
        database = self.database()
        self.assertEqual(
            database.rows("""SELECT name, count(*), count("end"), sum(payload_int) FROM nvtx_ranges
                             GROUP BY 1 ORDER BY 1"""),
            [("open", 1, 0, 7)] + [(f"step {i}", 50, 50, 350) for i in range(10)],
        )
        self.assertEqual(
            database.rows("SELECT intValue, textValue FROM NVTX_PAYLOAD"), [(None, "last words")]
        )
        self.assertEqual(database.statistic("strings_lost"), 0)


class OtherTools(ScriptTest):
    def test_the_environment_named_one(self):
        run = self.profile("annotations", check=0, NVTX_INJECTION64_PATH="/other/tool.so")
        self.assertIn(
            "NVTX_INJECTION64_PATH names /other/tool.so: gpuprof takes its place", run.stderr
        )
        self.assertGreater(self.database().count("MARKER"), 0)

    @unittest.skipIf(os.environ.get("GPUPROF_SANITIZE"), "python3 is no program of the sanitizer's")
    def test_it_is_in_the_process(self):
        script = """
            with trace("run.sqlite"):
                work(3)
            """
        self.run_script(script, NVTX_INJECTION64_PATH="/other/tool.so")
        database = self.database()
        self.assertEqual(database.count("MARKER"), 0)
        self.assertEqual(
            database.rows("SELECT severity, text FROM DIAGNOSTIC"),
            [
                (
                    "notice",
                    "NVTX_INJECTION64_PATH names another tool, /other/tool.so, which gets the "
                    "NVTX ranges; this profile has none",
                )
            ],
        )


if __name__ == "__main__":
    unittest.main()
