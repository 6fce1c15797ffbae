# ctest-labels: asan
"""Processes that send what no collector sends: they affect only themselves.

Alongside each, a correct process records, before and after; all of its rows are present, gpuprof ends
as the program did, and the errors are counted.
"""

import pathlib
import subprocess
import sys
import time
import unittest

from fake_metrics import ONE, MetricTest
from fake_run import PATIENCE, SANITIZED

HERE = pathlib.Path(__file__).parent
ROWS = 4000

# `script` runs between the two halves of the correct process's data. The correct process is a
# child, because the target's id belongs to the hostile one.
TARGET = """
import contextlib, os, random, resource, struct, sys, time
sys.path.insert(0, {here!r})
from wire_client import *

launcher = os.getppid()
chance = random.Random(5)

def status(name):
    for line in open(f"/proc/{{launcher}}/status"):
        if line.startswith(name + ":"):
            return int(line.split()[1])

def files():
    return len(os.listdir(f"/proc/{{launcher}}/fd"))

RUNTIME = table(5, "CUPTI_ACTIVITY_KIND_RUNTIME", [("start", "u64"), ("end", "u64"), ("cbid", "u32")])

def some_rows(client, first, count):
    for at in range(first, first + count, 50):
        client.send(batch(5, [struct.pack("<QQI", i + 1, i + 2, 3) for i in range(at, at + 50)]))

def honest(half, all_is_done):
    client = Client()
    client.send(RUNTIME)
    some_rows(client, 0, {rows} // 2)
    half.set()
    all_is_done.wait()
    some_rows(client, {rows} // 2, {rows} // 2)
    client.send(frame(GOODBYE))
    os._exit(0)

class Event:
    def __init__(self):
        self.ends = os.pipe()
    def set(self):
        os.write(self.ends[1], b"x")
    def wait(self):
        os.read(self.ends[0], 1)

half, all_is_done = Event(), Event()
child = os.fork()
if child == 0:
    honest(half, all_is_done)
half.wait()
# What is sent to somebody who has hung up is no failure of the test.
with contextlib.suppress(BrokenPipeError, ConnectionResetError, EOFError):
{script}
all_is_done.set()
assert os.waitpid(child, 0)[1] == 0
print("honest", child)
sys.exit(7)
"""


def memory_of(process):
    """Its peak memory in KiB; 0 if it has ended."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


class HostileStreams(MetricTest):
    def beside(self, script, options=()):
        """Runs it and checks the correct process's rows. Returns the database, and lines on stdout."""
        self.program = lambda name: name
        file = self.folder / "target.py"
        lines = [f"    {line}\n" for line in script.strip().split("\n")]
        file.write_text(TARGET.format(here=str(HERE), rows=ROWS, script="".join(lines)))
        process = self.start(sys.executable, file, options=["-f", *options])
        self.peak = 0
        until = time.monotonic() + PATIENCE
        while process.poll() is None:
            self.assertLess(time.monotonic(), until, "it takes too long")
            self.peak = max(self.peak, memory_of(process.pid))
            time.sleep(0.05)
        stdout, stderr = (stream.read().decode() for stream in (process.stdout, process.stderr))
        self.assertEqual(process.returncode, 7, stderr + stdout)
        *said, last = stdout.splitlines()
        self.honest = int(last.split()[1])
        database = self.database()
        self.assertEqual(
            database.one(
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r "
                "WHERE processId = ? AND start > 0",
                self.honest,
            ),
            ROWS,
            stderr,
        )
        self.assertEqual(
            database.one("SELECT goodbye FROM PROCESS WHERE processId = ?", self.honest), 1
        )
        self.assertEqual(
            database.rows("SELECT * FROM losses WHERE process_id = ?", self.honest), []
        )
        return database, said

    def test_honest_alone(self):
        database, _ = self.beside("pass")
        self.assertEqual(database.losses(), {})

    def test_much_to_say(self):
        database, _ = self.beside("""
client = Client()
for i in range(100):
    client.send(frame(INFO, fields(warning="x" * (5000 if i == 0 else 1), time="soon")))
client.send(frame(GOODBYE))
""")
        texts = database.rows("SELECT length(text), time FROM DIAGNOSTIC")
        self.assertEqual(texts, [(4000 if i == 0 else 1, None) for i in range(64)])
        self.assertEqual(database.losses(), {"stream_limited": 36})

    def test_noise(self):
        database, _ = self.beside("""
client = Client(say_hello=False)
client.send(chance.randbytes(1 << 20))
""")
        self.assertEqual(database.losses(), {"not_profiled": 1})

    def test_noise_behind_a_hello(self):
        database, _ = self.beside("""
client = Client()
client.send(chance.randbytes(1 << 20))
""")
        self.assertEqual(database.losses(), {"stream_cut": 1})

    def test_frames_without_a_hello(self):
        database, _ = self.beside("""
client = Client(say_hello=False)
client.send(RUNTIME)
some_rows(client, 0, 50)
client.read(1)
""")
        self.assertEqual(database.losses(), {"not_profiled": 1})
        self.assertEqual(database.count("RUNTIME"), ROWS)

    def test_frames_of_any_kind(self):
        database, _ = self.beside("""
client = Client()
for i in range(20000):
    kind = chance.choice([*range(1, 19), 77])
    client.send(frame(kind, chance.randbytes(chance.randrange(200))))
client.send(frame(GOODBYE))
""")
        self.assertEqual(list(database.losses()), ["frames_malformed"])

    def test_names_of_tables(self):
        names = [
            "sqlite_master", "rows_0", "METRIC_RANGE_BY_CORRELATION", "pragma_table_info", "RUN",
            "STATISTIC", "kernels", "main.x", "temp.x", 'x"; DROP TABLE StringTable; --', "x'y",
            "string hashes", "rows 0", "index_x", "json_each", "a" * 129, "..", "", " ", "\0",
        ]  # fmt: skip
        database, _ = self.beside(f"""
client = Client()
for name in {names!r}:
    client.send(table(9, name, [("a", "u32")]), batch(9, [bytes(4)]))
    client.send(table(8, "THEIRS", [(name or "e", "u32")]), batch(8, [bytes(4)]))
client.send(frame(GOODBYE))
""")
        self.assertEqual(list(database.losses()), ["frames_malformed"])

    def test_rows_of_other_lengths(self):
        database, _ = self.beside("""
client = Client()
client.send(table(9, "THEIRS", [("a", "u32"), ("b", "u64")]))
for rows, length in (1, 11), (2, 12), (0xffffffff, 12), (0, 12), (1, 0), (1 << 31, 24), (3, 24):
    client.send(frame(BATCH, struct.pack("<IIII", 0xffffffff, 0, 1, 0)
                      + struct.pack("<IIQ", 9, rows, length) + bytes(length)))
client.send(frame(GOODBYE))
""")
        self.assertEqual(database.losses(), {"frames_malformed": 7})

    def test_a_collector_that_is_newer(self):
        database, _ = self.beside("""
client = Client(version=2)
client.send(RUNTIME)
some_rows(client, 0, 50)
client.send(frame(GOODBYE))
""")
        self.assertEqual(list(database.losses()), ["stream_refused"])
        self.assertEqual(database.count("RUNTIME"), ROWS)

    def test_frames_of_the_launcher(self):
        """They would overwrite data about the run and about other processes."""
        database, _ = self.beside("""
client = Client()
for kind in 2, 12, 15, 20:
    client.send(frame(kind, fields(schema_version=999, gpuprof_version="forged", finished=0,
                                   target_process_id=child, exit_status=77)))
client.send(frame(13, struct.pack("<I", 1) + text("") + text("records_received")
                  + struct.pack("<Q", 1 << 40)))
client.send(frame(GOODBYE))
""")
        self.assertEqual(database.losses(), {"frames_malformed": 5})
        self.assertLess(database.statistic("records_received"), 1 << 40)
        self.assertNotIn(database.run()["schema_version"], (999, "999"))
        self.assertNotIn("forged", database.run().values())
        self.assertEqual(
            database.rows("SELECT exit_status FROM PROCESS ORDER BY processId = ?", self.honest),
            [(7,), (None,)],
        )

    def test_a_second_hello(self):
        database, _ = self.beside("""
client = Client()
client.send(*(hello(executable=f"another {i}") for i in range(1000)))
client.send(frame(GOODBYE))
""")
        self.assertEqual(database.losses(), {"frames_malformed": 1000})
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 2)

    def test_the_id_of_another_process(self):
        database, said = self.beside("""
client = Client(process_id=child)
client.send(RUNTIME)
some_rows(client, 0, 50)
client.send(frame(GOODBYE))
print(os.getpid())
""")
        self.assertEqual(database.statistic("process_id_replaced"), 1)
        (theirs,) = map(int, said)
        self.assertEqual(
            dict(
                database.rows(
                    "SELECT processId, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1"
                )
            ),
            {theirs: 50, self.honest: ROWS},
        )
        self.assertEqual(database.losses(), {})

    def test_ids_in_a_namespace(self):
        """In it a process has its own id, which is not forged."""
        unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
        try:
            subprocess.run([*unshare, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no namespace can be made here")
        script = "from wire_client import *; Client().send(frame(GOODBYE))"
        database, _ = self.beside(f"""
import subprocess
subprocess.run([*{unshare!r}, sys.executable, "-c", {script!r}], check=True,
               env={{**os.environ, "PYTHONPATH": {str(HERE)!r}}})
""")
        self.assertEqual(database.statistic("process_id_replaced"), 0)
        self.assertEqual(
            sorted(database.rows("SELECT processId FROM PROCESS")), [(1,), (self.honest,)]
        )

    def test_numbers_of_launches(self):
        database, _ = self.beside(
            """
for ordinal in 0, 1 << 61, (1 << 64) - 1:
    client = Client()
    measured = struct.pack("<QqqIII3I3IBBH", ordinal, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0)
    client.send(frame(14, struct.pack("<IIIIQI", 0xffffffff, 1, 0, 0, 0, 1) + measured
                      + struct.pack("<IIQ", 0, 0, 0)))
    client.send(frame(GOODBYE))
""",
            options=["--metrics", ONE],
        )
        self.assertEqual(list(database.losses()), ["stream_refused"])

    def test_statistics_without_end(self):
        database, _ = self.beside("""
client = Client()
for i in range(0, 20000, 1000):
    client.send(frame(STATISTICS, struct.pack("<I", 1000) + b"".join(
        text(f"kind_{i + j}") + text("n") + struct.pack("<Q", 1) for j in range(1000))))
client.send(frame(GOODBYE))
""")
        self.assertGreater(database.losses()["stream_limited"], 18000)
        self.assertLess(database.one("SELECT count(*) FROM STATISTIC"), 2000)

    def test_ids_of_strings_with_gaps(self):
        database, _ = self.beside("""
for i in range(8):
    client = Client()
    for id in range(1 << 20, (1 << 26) + 1, 1 << 20):
        string = struct.pack("<I", id) + text("x")
        client.send(frame(BATCH, struct.pack("<IIIIIIQ", 0xffffffff, 0, 1, 0, 0, 1, len(string))
                          + string))
    client.send(frame(GOODBYE))
""")
        self.assertEqual(database.losses(), {})
        if not SANITIZED:
            self.assertLess(self.peak, 200 << 10)

    @unittest.skipIf(SANITIZED, "sanitizers keep what was freed")
    def test_strings_without_end(self):
        database, _ = self.beside("""
client = Client()
for i in range(0, 120000, 250):
    strings = b"".join(struct.pack("<I", i + k + 1) + text(f"{i + k} " + 4000 * "x")
                       for k in range(250))
    client.send(frame(BATCH, struct.pack("<IIIIIIQ", 0xffffffff, 0, 1, 0, 0, 250, len(strings))
                      + strings))
# Nothing is known twice.
again = struct.pack("<I", 1) + text("0 " + 4000 * "x")
client.send(frame(BATCH, struct.pack("<IIIIIIQ", 0xffffffff, 0, 1, 0, 0, 1, len(again)) + again))
client.send(frame(GOODBYE))
""")
        self.assertLess(self.peak, 440 << 10)
        self.assertEqual(database.losses(), {})
        self.assertEqual(database.one("SELECT count(*) FROM StringTable WHERE _id_ > 0"), 120000)

    @unittest.skipIf(SANITIZED, "sanitizers take terabytes of addresses")
    def test_claims(self):
        """Headers of frames of 256 MiB that never arrive."""
        database, _ = self.beside("""
room = (status("VmSize") << 10) + (2 << 30)
resource.prlimit(launcher, resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
clients = [Client(say_hello=i % 2) for i in range(60)]
for client in clients:
    client.send(struct.pack("<IIQ", BATCH, 0, 256 << 20) + bytes(100))
time.sleep(0.5)
""")
        self.assertEqual(set(database.losses()), {"not_profiled"})

    def test_descriptors(self):
        """A message has room for one."""
        database, said = self.beside("""
client = Client()
before = files()
for i in range(200):
    client.send_file(frame(77), 0, 0, 0)
client.send(hello())
client.send(frame(GOODBYE))
client.send_file(frame(77), 0)
# Some are still being read, and the profile has files of its own.
for attempt in range(1000):
    more = files() - before
    if more <= 20:
        break
    time.sleep(0.01)
print(more)
""")
        self.assertLessEqual(int(said[0]), 20)

    def test_more_connections_than_descriptors(self):
        """They are closed at once; existing connections continue, and later ones are served."""
        database, said = self.beside("""
most = files() + 12  # of which gpuprof keeps some for itself
resource.prlimit(launcher, resource.RLIMIT_NOFILE, (most, most))
clients = [Client(say_hello=False) for i in range(40)]
while hung_up(clients) < len(clients) - 12:
    time.sleep(0.01)
print(hung_up(clients))
for client in clients:
    client.socket.close()
for attempt in range(1000):
    try:
        late = Client()
        break
    except (EOFError, ConnectionResetError, BrokenPipeError):
        time.sleep(0.01)
late.send(RUNTIME)
some_rows(late, 0, 50)
late.send(frame(GOODBYE))
""")
        self.assertGreaterEqual(database.losses()["not_profiled"], int(said[0]))
        self.assertEqual(database.count("RUNTIME"), ROWS + 50)

    def test_many_connections(self):
        database, _ = self.beside("""
clients = [Client(say_hello=False) for i in range(200)]
while hung_up(clients) < 200 - 64:
    time.sleep(0.01)
""")
        self.assertEqual(database.losses(), {"not_profiled": 200})


if __name__ == "__main__":
    unittest.main()
