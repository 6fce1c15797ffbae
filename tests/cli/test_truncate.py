"""gpuprof truncate, and old SQLite on what the tools write."""
# ctest-labels: plain

import subprocess
import sys
import unittest

from profile_tools import ALWAYS, DERIVED, OLD_SQLITE, PREFIX, Tools, Whole, database, rows, schema


class Truncate(Tools):
    def kept(self, path, kinds):
        part = self.folder / "part.sqlite"
        self.gpuprof("truncate", path, "--keep", kinds, "-f", "-o", part)
        self.assert_sound(part)
        whole = Whole(path)
        with database(part) as connection:
            self.assertLessEqual(
                {key for key in whole.schema if key[1].startswith(PREFIX)}, set(schema(connection))
            )
            for table in whole.tables:
                if ("table", table) not in schema(connection):
                    continue
                there = rows(connection, table)
                if table == "RUN" or table in DERIVED:
                    continue
                if there:
                    self.assertEqual(
                        {i: tuple(row) for i, row in there.items()},
                        {i: tuple(row) for i, row in whole.tables[table].items()},
                    )
                elif not table.startswith(PREFIX) and table != "NVTX_RANGE":
                    self.assertFalse(whole.tables[table], table)
        return set(self.info(part)["records"]) - set(ALWAYS)

    def test_names_of_kinds(self):
        path = self.capture("torch_step")
        all_kinds = set(self.info(path)["records"]) - set(ALWAYS)
        self.assertEqual(self.kept(path, "kernel"), {"CONCURRENT_KERNEL"})
        self.assertEqual(self.kept(path, "kernel,memcpy,runtime"),
                         {"CONCURRENT_KERNEL", "MEMCPY", "RUNTIME"})  # fmt: skip
        self.assertEqual(self.kept(path, "gpu,api"),
                         {"CONCURRENT_KERNEL", "MEMCPY", "RUNTIME", "DRIVER"})  # fmt: skip
        self.assertEqual(self.kept(path, "CUPTI_ACTIVITY_KIND_DRIVER"), {"DRIVER"})
        self.assertEqual(self.kept(path, "concurrent-kernel"), {"CONCURRENT_KERNEL"})
        self.assertEqual(self.kept(path, "unified-memory"), set())
        self.assertEqual(self.kept(path, "gpu,api,nvtx,sync,overhead,memory"), all_kinds)

    def test_ranges_go_with_markers(self):
        path = self.capture("nvtx_threads")
        for kinds, ranges in (("nvtx", True), ("marker", True), ("gpu", False)):
            self.kept(path, kinds)
            with database(self.folder / "part.sqlite") as connection:
                self.assertEqual(bool(rows(connection, "NVTX_RANGE")), ranges)

    def test_an_unknown_name(self):
        ran = self.gpuprof("truncate", self.capture("vector_add"), "--keep", "gpu,bananas", "-o",
                           "part.sqlite", code=5)  # fmt: skip
        self.assertIn("bananas", ran.stderr)
        self.assertFalse((self.folder / "part.sqlite").exists())

    def test_reports_of_what_is_kept(self):
        for case, kinds, report in (
            ("basic", "gpu", "--print-gpu-summary"),
            ("basic", "api", "--print-api-summary"),
            ("cdp", "kernel", "--print-gpu-trace"),
            ("openacc", "openacc", "--print-openacc-summary"),
        ):
            with self.subTest(case=case, kinds=kinds):
                path = self.nvprof(case)
                self.kept(path, kinds)
                self.assertEqual(
                    self.gpuprof("-i", "part.sqlite", report).stderr.splitlines()[1:],
                    self.gpuprof("-i", path, report).stderr.splitlines()[1:],
                )
                path.unlink()

    def test_cpu_samples(self):
        path = self.nvprof("cpusampling")
        self.kept(path, "gpu")
        with database(self.folder / "part.sqlite") as connection:
            self.assertNotIn(("table", "collLibrary"), schema(connection))
        self.gpuprof("truncate", path, "--keep", "cpu-sampling", "-o", "samples.sqlite")
        with database(path) as whole, database(self.folder / "samples.sqlite") as part:
            self.assertEqual(len(rows(part, "collHit")), len(rows(whole, "collHit")))


class OldSqlite(Tools):
    def test_old_versions_read_parts(self):
        build = subprocess.run([sys.executable, OLD_SQLITE, "--build"], capture_output=True)
        if build.returncode == 77:
            self.skipTest("there is no old SQLite here")
        parts = []
        for path in (self.capture("nvtx_threads"), self.nvprof("nvtx"), self.nvprof("old_v11")):
            for words in (("slice", path, "--from", "1us"), ("truncate", path, "--keep", "nvtx")):
                part = self.folder / f"{len(parts)}.part"
                self.gpuprof(*words, "-o", part)
                parts.append(part)
        result = subprocess.run([sys.executable, OLD_SQLITE, *parts], text=True,
                                capture_output=True)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count(" views, "), 2 * len(parts))


if __name__ == "__main__":
    unittest.main()
