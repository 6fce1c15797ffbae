"""Salvage after untrusted targets: what it loads, as which user, and how much it uses."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from fake_run import COMPILER, CUPTI, PATIENCE, FakeTest, has_other_users, pids_of

HERE = pathlib.Path(__file__).parent
NOBODY = 65534

# The beginning of each target. The arena has one unfinished record, so there is something to
# salvage.
PRELUDE = f"""
import os, struct, sys, time
sys.path.insert(0, {str(HERE)!r})
from wire_client import *
left = arena(slot=struct.pack("<I", 10 | 1 << 31))
"""


class Untrusted(FakeTest):
    def target(self, script, *arguments):
        self.program = lambda name: name
        file = self.folder / "target.py"
        file.write_text(PRELUDE + script)
        return [sys.executable, file, *arguments]

    def library(self, constructor):
        """A library that does this when it is loaded."""
        source = self.folder / "evil.c"
        source.write_text(f"""
            #include <stdio.h>
            #include <sys/stat.h>
            #include <unistd.h>
            __attribute__((constructor)) static void load(void) {{ {constructor} }}""")
        library = self.folder / "evil.so"
        compiled = subprocess.run([*COMPILER, "-shared", "-fPIC", "-o", library, source],
                                  capture_output=True, check=False)  # fmt: skip
        if compiled.returncode != 0:
            self.skipTest("there is no C compiler")
        return library

    def failed(self, run, *words):
        self.assertEqual(self.database().losses(), {"salvage_failed": 1})
        self.assertEqual(self.database().run()["loss"], 1)
        self.assertNotIn("nothing lost", run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)

    @unittest.skipUnless(has_other_users(), "only root may give its rights up")
    def test_a_library_of_one_who_gave_up_root(self):
        """A daemon: it connects as root and runs as another user, who names the library."""
        done = self.folder / "done"
        done.mkdir(mode=0o777)
        done.chmod(0o777)
        self.folder.chmod(0o755)
        library = self.library(f'mkdir("{done}/loaded", 0700);')
        os.chown(library, NOBODY, NOBODY)
        run = self.profile(*self.target("""
client = Client()
os.setgid(65534); os.setuid(65534)
client.send_arena(sys.argv[1], left)
""", library), check=0)  # fmt: skip
        self.assertEqual(list(done.iterdir()), [])
        self.failed(run, str(library), "neither root's nor its own")

    @unittest.skipUnless(has_other_users(), "only root may become somebody else")
    def test_the_rights_of_the_one_who_connected(self):
        done = self.folder / "done"
        done.mkdir()
        done.chmod(0o777)
        self.folder.chmod(0o755)
        # Names a folder after user, group and number of supplementary groups.
        library = self.library(f"""
            char name[200];
            gid_t groups[9];
            snprintf(name, sizeof name, "{done}/%d-%d-%d", (int)getuid(), (int)getgid(),
                     getgroups(9, groups));
            mkdir(name, 0755);""")
        os.chown(library, NOBODY, NOBODY)
        self.profile(*self.target("""
path = os.environ["GPUPROF_SOCKET"]
os.chmod(os.path.dirname(path), 0o755)
os.chmod(path, 0o777)
os.setgid(65534); os.setuid(65534)
Client().send_arena(sys.argv[1], left)
""", library), check=0)  # fmt: skip
        self.assertEqual([entry.name for entry in done.iterdir()], [f"{NOBODY}-{NOBODY}-0"])

    def test_nothing_is_loaded_when_nothing_is_left(self):
        done = self.folder / "done"
        library = self.library(f'mkdir("{done}", 0700);')
        run = self.profile(*self.target("""
Client().send_arena(sys.argv[1], arena(state=0))
""", library), check=0)  # fmt: skip
        self.assertFalse(done.exists())
        self.assertIn("nothing lost", run.stderr)

    def test_it_writes_no_files(self):
        file = self.folder / "file"
        library = self.library(f"""
            FILE* file = fopen("{file}", "w");
            fputs("x", file);
            fclose(file);""")
        run = self.profile(*self.target("""
Client().send_arena(sys.argv[1], left)
""", library), check=0)  # fmt: skip
        self.assertEqual(file.read_text(), "")
        self.failed(run, "failed part of the way")

    def test_it_hangs(self):
        """gpuprof serves others meanwhile, and does not outlast its user's patience."""
        library = self.library("for (int i = 3; i < 1024; i++) close(i); for (;;) pause();")
        process = self.start(*self.target("""
if os.fork() == 0:
    Client().send_arena(sys.argv[1], left)
    os._exit(0)
os.wait()
# Salvage has begun, and hangs. We are answered all the same.
time.sleep(0.5)
Client().send(frame(GOODBYE))
print("answered", flush=True)
time.sleep(0.2)
""", library))  # fmt: skip
        self.assertEqual(process.stdout.readline(), b"answered\n")
        self.assertIn(b"waiting for its process", process.stderr.readline())
        (salvage,) = pids_of(process.pid, "gpuprof-salvage"[:15])
        os.kill(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, stderr)
        self.failed_in(stderr.decode())
        self.wait_for(lambda: not pathlib.Path(f"/proc/{salvage}/fd").exists())

    def failed_in(self, stderr):
        self.assertEqual(self.database().losses(), {"salvage_failed": 1}, stderr)
        self.assertIn("not read to the end", stderr)

    def test_killed_launcher(self):
        """No process is left behind."""
        library = self.library("for (;;) pause();")
        process = self.start(*self.target("Client().send_arena(sys.argv[1], left)", library))
        (salvage,) = self.wait_for(lambda: pids_of(process.pid, "gpuprof-salvage"[:15]))
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: not pathlib.Path(f"/proc/{salvage}/fd").exists())

    def test_names_that_share_a_text(self):
        """An arena of some MB that would expand to terabytes of strings."""
        run = self.profile(*self.target(f"""
entries, room = 1 << 16, 1 << 20
shared = bytearray(arena(entries=entries, text_size=room, slot=struct.pack("<I", 10 | 1 << 31)))
for i in range(entries):
    struct.pack_into("<QIIII", shared, 8192 + 32 * i, i + 1, i + 1, 0, room, 0)
Client().send_arena({str(CUPTI)!r}, bytes(shared))
"""), check=0)  # fmt: skip
        self.assertLess(self.output.stat().st_size, 100 << 20, run.stderr)


if __name__ == "__main__":
    unittest.main()
