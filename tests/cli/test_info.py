"""gpuprof info."""
# ctest-labels: plain

import os
import pathlib
import sqlite3
import subprocess
import unittest

from profile_tools import GPUPROF, PREFIX, Tools, database, rows, schema


class Info(Tools):
    def test_our_file(self):
        path = self.capture("two_processes")
        info = self.info(path)
        self.assertEqual((info["format"], info["version"], info["state"]),
                         ("gpuprof", 18, "complete"))  # fmt: skip
        self.assertEqual(info["size_bytes"], path.stat().st_size)
        self.assertEqual(info["run"]["command_line"], "./two_processes")
        self.assertEqual([process["processId"] for process in info["processes"]], [2182, 2183])
        self.assertEqual([process["cupti_version"] for process in info["processes"]],
                         [130500, 130500])  # fmt: skip
        self.assertEqual([device["name"] for device in info["devices"]], ["NVIDIA H200"])
        self.assertFalse(info["records_estimated"] or info["times_estimated"])
        self.assertEqual(info["losses"], [])
        with database(path) as connection:
            for kind, count in info["records"].items():
                self.assertEqual(len(rows(connection, PREFIX + kind)), count)
            tables = [name for kind, name in schema(connection) if kind == "table"]
            filled = {name.removeprefix(PREFIX) for name in tables
                      if name.startswith(PREFIX) and rows(connection, name)}  # fmt: skip
        self.assertEqual(set(info["records"]), filled)
        text = self.gpuprof("info", path).stdout
        for word in ("./two_processes", "NVIDIA H200", "CUPTI 13.5", "CUDA 13.0", "status 0",
                     " KiB", "complete", "nothing"):  # fmt: skip
            self.assertIn(word, text)

    def test_output_that_cannot_be_written(self):
        path = self.capture("vector_add")
        for words in (["info", path], ["info", path, "--json"], ["schema"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                ran = subprocess.run([GPUPROF, *words], stdout=full, stderr=subprocess.PIPE,
                                     text=True, timeout=120)  # fmt: skip
                self.assertEqual(ran.returncode, 21)
                self.assertIn("No space left", ran.stderr)

    def test_losses(self):
        path = self.capture("die")
        losses = {loss["name"]: loss["value"] for loss in self.info(path)["losses"]}
        self.assertGreater(losses["records_without_times"], 0)
        self.assertIn(f"{losses['records_without_times']} records_without_times",
                      self.gpuprof("info", path).stdout)  # fmt: skip

    def test_nvprofs_file(self):
        info = self.info(self.nvprof("old_v11"))
        self.assertEqual((info["format"], info["version"]), ("nvprof", 11))
        info = self.info(self.nvprof("basic"))
        self.assertEqual((info["format"], info["version"], info["state"]),
                         ("nvprof", 18, "complete"))  # fmt: skip
        self.assertIn("Version 18", info["description"])
        self.assertTrue(info["processes"][0]["processId"] > 0)

    def test_files_that_are_no_profile(self):
        (self.folder / "text").write_text("text")
        for sql, name, kind in (
            ("CREATE TABLE t(a)", "other", "other-database"),
            ("CREATE TABLE StringIds(id, value); CREATE TABLE META_DATA_EXPORT(name, value)",
             "nsys", "nsight-systems"),
            (None, "text", "no-database"),
        ):  # fmt: skip
            if sql:
                connection = sqlite3.connect(self.folder / name)
                connection.executescript(sql)
                connection.close()
            info = self.info(name, code=20)
            self.assertEqual((info["format"], info["state"]), (kind, "unreadable"))
            self.assertIn(name, info["problem"])
            self.assertIn(info["description"], self.gpuprof("info", name, code=20).stdout)

    def test_large_files_are_estimated(self):
        path = self.capture("vector_add")
        small = self.info(path)
        connection = sqlite3.connect(path)
        connection.executescript(
            "DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER WHERE _id_ = 3; "
            "INSERT INTO RUN VALUES('derived_from', 'a test')")  # fmt: skip
        connection.close()
        os.truncate(path, 600_000_000)  # SQLite ignores data after the last page
        info = self.info(path)
        self.assertTrue(info["records_estimated"] and info["times_estimated"])
        self.assertEqual(info["records"], small["records"])
        self.assertEqual((info["first_ns"], info["last_ns"]),
                         (small["first_ns"], small["last_ns"]))  # fmt: skip
        self.assertIn("--exact", self.gpuprof("info", path).stdout)
        exact = self.info(path, "--exact")
        self.assertEqual(exact["records"]["DRIVER"], small["records"]["DRIVER"] - 1)
        self.assertFalse(exact["records_estimated"] or exact["times_estimated"])

    def test_states(self):
        path = self.capture("vector_add")
        writer = sqlite3.connect(path)
        writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        writer.commit()
        self.assertEqual(self.info(path)["state"], "unfinished")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO RUN VALUES('one', 'more')")
        writer.commit()
        info = self.info(path)
        self.assertEqual(info["state"], "being written")
        self.assertEqual(info["log_bytes"], pathlib.Path(f"{path}-wal").stat().st_size)
        self.assertIn("in its log", self.gpuprof("info", path).stdout)
        self.assertEqual(info["run"]["one"], "more")
        writer.close()


if __name__ == "__main__":
    unittest.main()
