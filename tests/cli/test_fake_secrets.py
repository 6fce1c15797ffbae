"""What profiles do not reveal: secrets of the environment, command lines, who made them and where."""
# ctest-labels: plain

import json
import os
import pathlib
import sqlite3
import stat
import subprocess
import unittest

from fake_run import FAKE, GPUPROF, PATIENCE, FakeTest

PREFIX = "CUPTI_ACTIVITY_KIND_"


class SecretsTest(FakeTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "run.gpcap"

    def program(self, name):
        return name if "/" in str(name) else super().program(name)

    def gpuprof(self, *words, code=0):
        process = subprocess.run(
            [GPUPROF, *map(str, words)], capture_output=True, cwd=self.folder, text=True
        )
        self.assertEqual(process.returncode, code, process.stderr)
        return process.stdout + process.stderr

    def assert_nowhere(self, secret, *files):
        for file in files:
            self.assertNotIn(secret.encode(), pathlib.Path(file).read_bytes(), file)


class Environment(SecretsTest):
    def test_only_names_that_are_known(self):
        secrets = {
            "NVIDIA_API_KEY": "Zaphod", "SLURM_JWT": "Zarquon", "CUDA_OF_MINE": "Zebedee",
            "NCCL_TOKEN": "Zoroaster", "AWS_SECRET_ACCESS_KEY": "Zwingli",
        }  # fmt: skip
        known = {"CUDA_DEVICE_MAX_CONNECTIONS": "8", "NCCL_DEBUG": "WARN", "RANK": "3"}
        self.profile("hello", options=["--save-capture", self.capture], check=0, **secrets, **known)
        stored = json.loads(self.database().run()["environment"])
        self.assertEqual({name: stored.get(name) for name in known}, known)
        for name, value in secrets.items():
            self.assertNotIn(name, stored)
            self.assert_nowhere(value, self.output, self.capture)


class Modes(SecretsTest):
    def mode(self, name):
        return stat.S_IMODE((self.folder / name).stat().st_mode)

    def make_all(self, *options):
        """Makes every kind of file that gpuprof makes; returns their names."""
        old = os.umask(0)
        try:
            self.profile(
                "hello", 5, check=0,
                options=["--save-capture", self.capture, "--log-file", "log", *options],
            )  # fmt: skip
            self.gpuprof("replay", self.capture, "-q", "-o", "again.sqlite", *options)
            self.gpuprof("slice", self.output, "--from", "0", "-o", "slice.sqlite", *options)
            self.gpuprof("truncate", self.output, "--keep", "gpu", "-o", "part.sqlite", *options)
        finally:
            os.umask(old)
        names = sorted(entry.name for entry in self.folder.iterdir())
        self.assertEqual(
            names, ["again.sqlite", "log", "part.sqlite", "run.gpcap", "run.sqlite",
                    "slice.sqlite"])  # fmt: skip
        return names

    def test_owner_alone(self):
        for name in self.make_all():
            self.assertEqual(self.mode(name), 0o600, name)

    def test_as_asked_for(self):
        for name in self.make_all("--umask", "027"):
            self.assertEqual(self.mode(name), 0o640, name)

    def test_owner_always(self):
        self.profile("hello", options=["--umask", "777"], check=0)
        self.assertEqual(self.mode("run.sqlite"), 0o600)

    def test_no_number(self):
        for value in ("8", "1000", "rw", "7x", "0x7"):
            self.gpuprof("--umask", value, "true", code=5)
            self.gpuprof("slice", "a", "--from", "0", "-o", "b", f"--umask={value}", code=5)

    def test_log_of_the_database(self):
        for options, mode in (((), 0o600), (("--umask", "022"), 0o644)):
            self.output.unlink(missing_ok=True)  # or it would be mistaken for the new one
            process = self.start("steady", 30, 5, options=options)
            process.stdout.readline()
            for name in ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm"):
                self.wait_for((self.folder / name).exists)
                self.assertEqual(self.mode(name), mode, name)
            process.terminate()
            process.communicate(timeout=PATIENCE)


class CommandLines(SecretsTest):
    def test_not_stored(self):
        script = f"{FAKE}/hello 5--password=Zaphod; exec {FAKE}/hello 3--token=Zarquon"
        run = self.profile(
            "/bin/sh", "-c", script, check=0,
            options=["--no-command-line", "--save-capture", self.capture, "--log-file", "log",
                     "--print-gpu-summary"],
        )  # fmt: skip
        self.assertEqual(run.code, 0)
        log = self.folder / "log"
        again = self.folder / "again.sqlite"
        self.gpuprof("replay", self.capture, "-q", "-o", again)
        for secret in ("Zaphod", "Zarquon"):
            self.assert_nowhere(secret, self.output, self.capture, log, again)
        for file in (self.output, again):
            database = self.database(file)
            self.assertEqual(
                database.rows("SELECT DISTINCT executable, command_line FROM PROCESS"),
                [(f"{FAKE}/hello", None)],
            )
            self.assertFalse({"command_line", "gpuprof_command_line"} & database.run().keys())
            said = self.gpuprof("info", file)
            self.assertIn(f"{FAKE}/hello, CUPTI", said)
            self.gpuprof("info", file, "--json")
            self.assertIn("vector", self.gpuprof("-i", file))
        self.assertIn("vector", log.read_text())

    def test_stored_otherwise(self):
        self.profile("hello", 5, check=0)
        database = self.database()
        self.assertEqual(database.one("SELECT command_line FROM PROCESS"), f"{FAKE}/hello 5")
        self.assertEqual(database.run()["command_line"], f"{FAKE}/hello 5")


class Anonymous(SecretsTest):
    """`gpuprof slice --anonymise`."""

    REPORTS = ("--print-gpu-trace", "--print-api-trace", "--print-summary")
    secrets = {
        "host": "Zaphodhost", "folder": "/home/zaphod/Zarquon", "argument": "--token=Zebedee",
        "variable": "Zoroaster", "source": "/home/zaphod/Zwingli.cu", "cubin": "Zenocubin",
        "cache": "/home/zaphod/Zola", "library": "/home/zaphod/Zlib.so", "word": "Zugzwang",
        "process": "Zeusprocess", "scope": "Zidane", "unused": "Zinedine",
        "python": "/home/zaphod/Zorro.py",
    }  # fmt: skip

    def tell_all(self, path):
        """Puts a secret into every place that may hold one."""
        database = sqlite3.connect(path)
        run, secret = database.execute, self.secrets

        def string(text):
            return run("INSERT INTO StringTable(value) VALUES(?)", (text,)).lastrowid

        ours = run("SELECT count(*) FROM sqlite_master WHERE name = 'RUN'").fetchone()[0]
        if ours:
            for key, value in (
                ("host_name", secret["host"]), ("working_directory", secret["folder"]),
                ("command_line", secret["argument"]), ("environment", secret["variable"]),
                ("gpuprof_command_line", secret["argument"]), ("of_mine", secret["word"]),
                ("derived_from", secret["folder"]),
            ):  # fmt: skip
                run("INSERT OR REPLACE INTO RUN VALUES(?, ?)", (key, value))
            run("UPDATE PROCESS SET executable = ?, command_line = ?, cupti_path = ?",
                (secret["folder"], secret["argument"], secret["library"]))  # fmt: skip
            run(f"INSERT INTO {PREFIX}MODULE(id, cubinSize, cubin) VALUES(1, 9, ?)",
                (secret["cubin"].encode(),))  # fmt: skip
            run(f"INSERT INTO {PREFIX}JIT(cachePath) VALUES(?)", (string(secret["cache"]),))
            run(f"UPDATE {PREFIX}MEMORY2 SET source = ?", (string(secret["library"]),))
            run("INSERT INTO METRIC_GROUP(scope) VALUES(?)", (secret["scope"],))
            run("INSERT INTO STACK_FRAME(frame, module) VALUES(1, ?)", (secret["python"],))
            run("CREATE VIEW view_of_mine AS SELECT ? AS a".replace("?", f"'{secret['word']}'"))
        run(f"INSERT INTO {PREFIX}SOURCE_LOCATOR(id, lineNumber, fileName) VALUES(7, 8, ?)",
            (string(secret["source"]),))  # fmt: skip
        run(f"""INSERT INTO {PREFIX}NAME(objectKind, objectId, name) VALUES(1, x'00', ?)""",
            (string(secret["process"]),))  # fmt: skip
        run(f"""INSERT INTO {PREFIX}NAME(objectKind, objectId, name) VALUES(5, x'00', ?)""",
            (string("a stream of mine"),))  # fmt: skip
        string(secret["unused"])
        run("CREATE TABLE OF_MINE(a)")
        run("INSERT INTO OF_MINE VALUES(?)", (secret["word"],))
        run(f"CREATE INDEX index_of_mine ON {PREFIX}NAME(name) WHERE name <> '{secret['word']}'")
        run(f"ALTER TABLE {PREFIX}MEMCPY ADD COLUMN of_mine TEXT")
        run(f"UPDATE {PREFIX}MEMCPY SET of_mine = ?", (secret["word"],))
        for view in ("collFunction", "profStringTable"):  # nvprof's own files have tables
            run(f"DROP VIEW IF EXISTS {view}")
        run("CREATE TABLE collFunction(id INTEGER PRIMARY KEY, name INTEGER, "
            "library INTEGER, fp INTEGER, sourcePos INTEGER)")  # fmt: skip
        run("CREATE TABLE profStringTable(id INTEGER PRIMARY KEY, value TEXT)")
        run("INSERT INTO profStringTable VALUES(1, ?)", (secret["source"],))
        database.commit()
        database.close()

    def check(self, path, *window):
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, "--anonymise", *window, "-f", "-o", part)
        content = part.read_bytes()
        for name, secret in self.secrets.items():
            self.assertIn(secret.encode(), path.read_bytes(), name)  # else it proves nothing
            self.assertNotIn(secret.encode(), content, name)
        self.assertNotIn(str(self.folder).encode(), content)
        self.assertNotIn(path.name.encode(), content)
        self.assertIn(b"a stream of mine", content)
        self.assertEqual(self.database(part).rows("PRAGMA foreign_key_check"), [])
        return part

    def test_our_file(self):
        self.profile("hello", 20, check=0)
        recorded = self.folder / "whole.sqlite"
        self.output.rename(recorded)
        self.tell_all(recorded)
        part = self.check(recorded)
        # Reports of GPU work match those of the whole.
        for report in self.REPORTS:
            self.assertEqual(self.gpuprof("-i", recorded, report), self.gpuprof("-i", part, report))
        whole, database = self.database(recorded), self.database(part)
        indexes = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY 1"
        self.assertEqual(
            database.rows(indexes),
            [row for row in whole.rows(indexes) if row != ("index_of_mine",)],
        )
        self.assertGreater(len(database.rows(indexes)), 5)
        for kind in ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER", "MEMORY2"):
            self.assertGreater(database.count(kind), 0)
            self.assertEqual(database.count(kind), whole.count(kind), kind)
        self.assertEqual(database.kernels(), whole.kernels())
        self.assertEqual(
            database.rows(f"SELECT lineNumber, fileName FROM {PREFIX}SOURCE_LOCATOR"), [(8, 0)]
        )
        self.assertEqual(
            database.rows("SELECT executable, command_line, cupti_path FROM PROCESS"),
            [(None, None, None)],
        )
        run = database.run()
        self.assertEqual(run["derived_from"], "gpuprof slice --anonymise")
        self.assertEqual(run["finished"], 1)
        self.assertEqual(run["exit_status"], 0)
        said = self.gpuprof("info", part)
        self.assertIn("slice --anonymise", said)
        self.assertIn("CUPTI 13.5", said)
        self.assertNotRegex(said, r"\bhost\b")
        self.gpuprof("info", part, "--json")
        # A second time: nothing changes.
        self.gpuprof("slice", part, "--anonymise", "-o", "again.sqlite")
        self.assertEqual(
            self.database(self.folder / "again.sqlite").rows("SELECT * FROM StringTable"),
            database.rows("SELECT * FROM StringTable"),
        )

    def test_ranges(self):
        source = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
        whole, part = self.folder / "whole.sqlite", self.folder / "part.sqlite"
        self.gpuprof("replay", source / "tests/captures/nvtx_threads.gpcap", "-q", "-o", whole)
        said = self.gpuprof("slice", whole, "--anonymise", "-o", part)
        self.assertNotIn("left out", said)
        report = "--print-nvtx-summary"
        self.assertEqual(self.gpuprof("-i", whole, report), self.gpuprof("-i", part, report))

    def test_with_a_window(self):
        self.profile("hello", 20, check=0)
        whole = self.folder / "whole.sqlite"
        self.output.rename(whole)
        self.tell_all(whole)
        part = self.check(whole, "--from", "1ns")
        self.assertLess(self.database(part).count("RUNTIME"), self.database(whole).count("RUNTIME"))

    def test_nothing_to_do(self):
        self.profile("hello", check=0)
        self.assertIn("no time window", self.gpuprof("slice", self.output, "-o", "a", code=5))


class AnonymousNvprof(Anonymous):
    """The same for a file of nvprof's."""

    secrets = {name: Anonymous.secrets[name] for name in ("source", "process", "word", "unused")}
    test_our_file = test_ranges = test_with_a_window = test_nothing_to_do = None

    def test_file_of_nvprof(self):
        source = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
        case = source / "tests" / "golden" / "nvprof" / "basic.json"
        path = self.folder / "whole.sqlite"
        database = sqlite3.connect(path)
        database.executescript(json.loads(case.read_text(encoding="utf-8"))["database_sql"])
        database.close()
        self.tell_all(path)
        part = self.check(path)
        for report in self.REPORTS:
            self.assertEqual(self.gpuprof("-i", path, report), self.gpuprof("-i", part, report))
        self.assertIn("profile of nvprof", self.gpuprof("info", part))


if __name__ == "__main__":
    unittest.main()
