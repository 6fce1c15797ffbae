"""gpuprof attach: a process that runs already, under the stand-in driver, is recorded and left again."""

import contextlib
import ctypes
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from fake_metrics import ONE, MetricTest
from fake_run import BUILD, CUPTI, GPUPROF, SANITIZED, FakeTest, Run, has_other_users

CANNOT = 13
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
NOBODY = 65534
SAMPLES = ("--cpu-profiling", "on", "--cpu-profiling-frequency", "400")


class AttachTest(FakeTest):
    def target(self, event_thread=True, **environment):
        """A process that runs already."""
        if event_thread:
            environment["FAKE_CUDA_EVENT_THREAD"] = 1
        return self.start_ready([self.program("obeys")], **environment)

    def python(self, code):
        """A process that is not what it says."""
        return self.start_ready([sys.executable, "-c", textwrap.dedent(code)])

    def proc(self, target, name):
        return pathlib.Path(f"/proc/{target.pid}/{name}").read_text()

    def attach_command(self, target, *options, output=None, cupti=CUPTI):
        process = getattr(target, "pid", target)
        return [GPUPROF, "attach", str(process), "--cupti", str(cupti),
                "-o", str(output or self.output), *options]  # fmt: skip

    def attach(self, target, *options, output=None):
        """Returns when the target is recorded."""
        process = subprocess.Popen(
            self.attach_command(target, *options, output=output), env=self.environment({}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)  # fmt: skip
        self.addCleanup(self.end, process)
        self.said_until(process, r"attached to process \d+: .* stopped for \d+\.\d\d ms")
        return process

    def said_until(self, process, text):
        said = ""
        for line in process.stderr:
            said += line
            if re.search(text, line):
                return said
        return self.fail(said)

    def detach(self, attached, code=0):
        attached.send_signal(signal.SIGINT)
        return self.ended(attached, code)

    def ended(self, attached, code=0):
        _, said = attached.communicate(timeout=60)
        self.assertEqual(attached.returncode, code, said)
        return said

    def refused(self, target, why, *options):
        ran = subprocess.run(
            self.attach_command(target, *options), env=self.environment({}), cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)  # fmt: skip
        run = Run(ran.returncode, ran.stdout, ran.stderr.decode())
        self.assertEqual(run.code, CANNOT, run.stderr)
        self.assertIn(why, run.stderr)
        self.assertFalse(self.output.exists())

    def assert_counted(self, path, kernels):
        database = self.database(path)
        self.assertEqual(
            database.one("SELECT count(*) FROM kernels WHERE name = 'counted'"), kernels
        )
        self.assertEqual(database.rows("SELECT * FROM losses"), [])
        self.assertEqual(database.one("SELECT value FROM STATISTIC WHERE name = 'begun_late'"), 1)
        return database


class Attach(AttachTest):
    def test_again_and_again(self):
        """While another thread launches. The files have what was launched in between, and no more."""
        target = self.target()
        self.tell(target, "begin")
        for i in range(2 if SANITIZED else 3):
            self.tell(target, "launch 7")
            path = self.folder / f"{i}.sqlite"
            attached = self.attach(target, output=path)
            self.tell(target, f"launch {100 + i}")
            self.assertIn("nothing lost", self.detach(attached))
            self.assert_counted(path, 100 + i)
        self.tell(target, "end")
        self.tell(target, "exit")
        self.assertEqual((target.wait(60), target.stderr.read()), (7, ""))

    def test_for_a_time(self):
        target = self.target()
        self.tell(target, "begin")
        attached = self.attach(target, "--for", "200ms")
        self.assertNotIn("Ctrl-C", self.ended(attached))
        self.assertGreater(self.database().one("SELECT count(*) FROM kernels"), 0)
        self.assertIsNone(target.poll())

    def test_until_it_ends(self):
        target = self.target()
        attached = self.attach(target)
        self.tell(target, "launch 50")
        self.tell(target, "exit")
        self.assertEqual(target.wait(60), 7)
        self.ended(attached)
        self.assert_counted(self.output, 50)

    def test_killed_target(self):
        target = self.target()
        attached = self.attach(target)
        self.tell(target, "launch 50")
        target.kill()
        self.ended(attached)
        self.assertEqual(
            self.database().one("SELECT count(*) FROM kernels WHERE name = 'counted'"), 50
        )

    def test_killed_launcher(self):
        """The collector notices, leaves CUPTI, and is there for the next launcher."""
        target = self.target()
        self.tell(target, "begin")
        attached = self.attach(target)
        attached.kill()
        attached.wait()
        self.tell(target, "launch 20")

        def threads():
            found = []
            for each in pathlib.Path(f"/proc/{target.pid}/task").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                    found += [each] if (each / "comm").read_text() == "gpuprof\n" else []
            return found

        self.wait_for(lambda: not threads())
        again = self.folder / "again.sqlite"
        attached = self.attach(target, output=again)
        self.tell(target, "launch 30")
        self.detach(attached)
        self.assert_counted(again, 30)

    def test_a_child_of_a_fork(self):
        target = self.target()
        attached = self.attach(target)
        child = int(self.answer(target, "fork"))
        self.tell(target, "launch 10")
        self.detach(attached)
        self.assert_counted(self.output, 10)
        self.refused_again = self.folder / "child.sqlite"
        os.kill(child, signal.SIGKILL)

    def test_reports_without_a_file(self):
        target = self.target()
        self.tell(target, "begin")
        ran = subprocess.run(
            [GPUPROF, "attach", str(target.pid), "--cupti", str(CUPTI), "--for", "0.2"],
            env=self.environment({}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            cwd=self.folder, timeout=60)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stderr, r"GPU activities: .*\bbeside\n")


class Container(AttachTest):
    """A process with a file system and process numbers of its own."""

    UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
               "--mount-proc")  # fmt: skip

    def setUp(self):
        super().setUp()
        mount = [*self.UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            self.skipTest("user namespaces are not allowed")

    def inside(self, *mounts):
        """The program after these commands of a shell, and its number as it is seen here."""
        script = " && ".join([*mounts, f"exec {self.program('obeys')}"])
        target = self.start_ready([*self.UNSHARE, "sh", "-c", script], FAKE_CUDA_EVENT_THREAD=1)
        children = self.proc(target, f"task/{target.pid}/children").split()
        self.assertEqual(len(children), 1)
        return target, int(children[0])

    def hide(self, folder, options="mode=1777"):
        """Nothing of it is there, but what the program needs."""
        hides = [f"mount -t tmpfs -o {options} none {folder}"]
        if not BUILD.is_relative_to(folder):
            return hides
        back = [f"mkdir -p {BUILD}", f"mount --bind /mnt {BUILD}"]
        return [f"mount --bind {BUILD} /mnt", f"mount -t tmpfs none {folder}", *back,
                f"mount -o remount,{options} {folder}"]  # fmt: skip

    def test_other_files(self):
        """It sees neither gpuprof's folder nor the launcher's for temporary files."""
        target, number = self.inside(*self.hide("/tmp"), *self.hide(BUILD / "lib/gpuprof"))

        def folders():
            return list(pathlib.Path(f"/proc/{number}/root", "tmp").glob("gpuprof-??????"))

        for count in (50, 60):
            attached = self.attach(number)
            self.assertEqual(len(folders()), 1)
            self.tell(target, f"launch {count}")
            asked = subprocess.run([GPUPROF, "status", str(number)], env=self.environment({}), capture_output=True,
                                   text=True, timeout=60, check=False)  # fmt: skip
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertIn("nothing lost", self.detach(attached))
            database = self.assert_counted(self.output, count)
            self.assertEqual(database.rows("SELECT DISTINCT process_id FROM kernels"), [(1,)])
            self.assertEqual(folders(), [])
            self.output.unlink()

    def test_it_ends_first(self):
        target, number = self.inside(*self.hide("/tmp"))
        attached = self.attach(number)
        self.tell(target, "launch 50")
        self.tell(target, "exit")
        self.ended(attached)
        self.assert_counted(self.output, 50)

    def test_no_place_for_files(self):
        mounts = [*self.hide("/tmp", "noexec"), *self.hide("/var/tmp", "ro"), *self.hide("/dev/shm", "ro")]  # fmt: skip
        _, number = self.inside(*mounts)
        self.refused(number, "neither /tmp nor /var/tmp nor /dev/shm")

    def test_several_containers(self):
        """The first process says where the files are; one in another container is left alone."""
        hidden = [mount for path in {"/tmp", tempfile.gettempdir()} for mount in self.hide(path)]
        targets = [self.inside(*hidden) for _ in range(2)]
        command = self.attach_command(os.getpid(), "--tree", "--for", "100ms")
        ran = subprocess.run(command, env=self.environment({}), stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=60, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr.count("attached to process "), 1, ran.stderr)
        first, second = sorted(number for _, number in targets)
        self.assertIn(f"process {second} does not see the files of process {first}", ran.stderr)


class Several(AttachTest):
    def test_a_tree(self):
        """A program and two children, one of which cannot be attached to."""
        steady = f"{self.program('steady')} 100 1 >>log"
        script = f"{steady} & env -u FAKE_CUDA_EVENT_THREAD {steady} & exec {self.program('obeys')}"
        (self.folder / "log").touch()
        target = self.start_ready(["sh", "-c", script], FAKE_CUDA_EVENT_THREAD=1)
        self.wait_for(lambda: (self.folder / "log").read_text().count("launching") == 2)
        attached = subprocess.Popen(
            self.attach_command(target, "--tree"), env=self.environment({}), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)  # fmt: skip
        self.addCleanup(self.end, attached)
        said = self.said_until(attached, "begun_late")
        self.assertEqual(len(re.findall(r"attached to process \d+: ", said)), 2, said)
        self.assertRegex(said, r"process \d+ has no context of CUDA yet, and is recorded once it")
        self.tell(target, "launch 20")
        self.wait_for_rows("kernels WHERE name = 'steady'")
        self.detach(attached)
        database = self.database()
        kernels = dict(database.rows("SELECT name, count(*) FROM kernels GROUP BY name"))
        self.assertEqual(kernels.pop("counted"), 20)
        self.assertEqual(list(kernels), ["steady"])
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 2)
        self.assertEqual(database.rows("SELECT * FROM losses"), [])
        self.tell(target, "launch 1")

    def test_who_comes_later(self):
        """A child that starts CUDA after the attach. The last process is waited for."""
        steady = f"{self.program('steady')} 1 1 >>log"
        obeys = self.program("obeys")
        script = f"{obeys}; until [ -e go ]; do sleep 0.02; done; {steady}; true"
        target = self.start_ready(["sh", "-c", script], FAKE_CUDA_EVENT_THREAD=1)
        attached = self.attach(target, "--tree")
        self.tell(target, "launch 20")
        self.tell(target, "exit")
        (self.folder / "go").touch()
        said = self.said_until(attached, "attached to process")
        self.ended(attached)
        self.assertNotIn(f"process {target.pid}:", said)
        database = self.database()
        self.assertEqual(database.one("SELECT count(*) FROM kernels WHERE name = 'counted'"), 20)
        self.assertGreater(database.one("SELECT count(*) FROM kernels WHERE name = 'steady'"), 0)
        self.assertEqual(database.rows("SELECT * FROM losses"), [])

    def test_all_of_the_user(self):
        """In a world without other users' tests."""
        alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
                 "--mount-proc"]  # fmt: skip
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("user namespaces are not allowed")
        command = self.attach_command("--all-of-user", "--for", "200ms")
        script = f"""
            for i in 1 2; do {self.program("steady")} 100 1 >>log & done
            until [ "$(cat log | wc -l)" = 2 ]; do sleep 0.02; done
            {" ".join(command)}"""
        ran = subprocess.run(
            [*alone, "sh", "-c", script], env=self.environment({"FAKE_CUDA_EVENT_THREAD": 1}),
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            check=False)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr.count("attached to process "), 2, ran.stderr)
        database = self.database()
        self.assertEqual(database.one("SELECT count(DISTINCT process_id) FROM kernels"), 2)

    def test_none(self):
        ran = self.attach_command(self.python("print('ready', flush=True); input()"), "--tree")
        ran = subprocess.run(ran, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, CANNOT)
        self.assertIn("nor a descendant uses CUDA", ran.stderr)
        for words in (["--all-of-user", "7"], ["--all-of-user", "--tree"], ["--tree"]):
            ran = subprocess.run([GPUPROF, "attach", *words], capture_output=True, timeout=60,
                                 check=False)  # fmt: skip
            self.assertEqual(ran.returncode, 5)


class Measured(AttachTest, MetricTest):
    """What launched programs can have, begun late."""

    def counted(self):
        return [v.value for v in self.values(self.database()) if v.name == "counted"]

    def test_metrics(self):
        """Several times; a graph that is being captured meanwhile is not disturbed."""
        target = self.target()
        for options in (["--replay-mode", "kernel"], ["--metrics-overhead", "1000%"]):
            attached = self.attach(target, "-f", *options, "--metrics", ONE)
            self.tell(target, "launch 10")
            time.sleep(0.3)  # which gives multiplexing something to spend
            self.tell(target, "launch 20")
            self.tell(target, "capture")
            attached.send_signal(signal.SIGINT)
            with self.assertRaises(subprocess.TimeoutExpired):
                attached.wait(0.2)
            self.tell(target, "captured")
            self.assertNotIn("no more metrics", self.ended(attached))
            counted = self.counted()
            self.assertEqual(set(counted), {64 * 1024})
            if "kernel" in options:
                self.assertEqual(len(counted), 30)
        attached = self.attach(target, "-f")
        self.tell(target, "launch 5")
        self.detach(attached)
        self.assert_counted(self.output, 5)

    def test_samples_of_instructions(self):
        target = self.target()
        self.tell(target, "begin")
        for _ in range(2):
            attached = self.attach(target, "-f", "--pc-sampling")
            self.tell(target, "launch 20")
            self.tell(target, "capture")
            attached.send_signal(signal.SIGINT)
            time.sleep(0.2)
            self.tell(target, "captured")
            self.ended(attached)
            database = self.assert_counted(self.output, 20)
            self.assertEqual(
                database.one("SELECT sum(samples) FROM pc_samples WHERE function = 'counted'"), 1200
            )

    def test_samples_of_counters(self):
        target = self.target()
        attached = self.attach(target, "--pm-sampling", "--pm-interval", "1ms")
        self.tell(target, "launch 20")
        self.assertIn(" samples of counters, nothing lost", self.detach(attached))
        database = self.assert_counted(self.output, 20)
        self.assertGreater(database.one("SELECT count(*) FROM PM_SAMPLE"), 0)

    def test_stacks_and_memory(self):
        target = self.target()
        for _ in range(2):
            attached = self.attach(target, "-f", "--native-stacks", "--track-memory")
            self.tell(target, "launch 20")
            self.tell(target, "ask 4096")
            self.detach(attached)
            database = self.assert_counted(self.output, 20)
            self.assertGreaterEqual(database.one("SELECT count(*) FROM CALL_STACK"), 20)
            self.assertGreater(database.one("SELECT count(*) FROM DEVICE_MEMORY"), 0)

    def test_samples_of_processors(self):
        """Of threads from before and of later ones. What interrupts them is gone after the detach."""
        for handles in (False, True):
            target = self.target()
            if handles:
                self.tell(target, "handle")
            threads = {int(self.answer(target, "compute")) for _ in range(2)}
            for urged in (1,) if SANITIZED and not handles else (1, 2):
                attached = self.attach(target, "-f", *SAMPLES)
                threads.add(int(self.answer(target, "compute")))
                self.wait_for_timers(target, 1 + len(threads))
                self.assertTrue(self.catches_urges(target))
                self.tell(target, "work 50")
                self.detach(attached)
                self.assertEqual(self.timers(target), [])
                self.assertEqual(self.catches_urges(target), handles)
                database = self.database()
                sampled = database.rows(
                    "SELECT s.threadId, sum(s.samples) FROM CPU_SAMPLE AS s JOIN STACK_FRAME AS f"
                    " ON f.frame = s.frame AND f.processId = s.processId"
                    " WHERE f.function LIKE '%compute_for%' GROUP BY 1")  # fmt: skip
                self.assertEqual({thread for thread, _ in sampled}, threads)
                self.assertEqual(database.one("SELECT value FROM STATISTIC WHERE name = 'begun_late'"), 1)  # fmt: skip
                self.assertEqual(database.rows("SELECT * FROM losses"), [])
                if handles:
                    self.tell(target, "work 20")
                    self.assertEqual(self.answer(target, "urge"), f"{urged} 0\n")
            self.tell(target, "launch 3")
            self.tell(target, "exit")
            self.assertEqual((target.wait(60), target.stderr.read()), (7, ""))

    def wait_for_timers(self, target, count):
        self.wait_for(lambda: len(self.timers(target)) >= count)

    def timers(self, target):
        return re.findall(r"^ID: \d+", self.proc(target, "timers"), re.MULTILINE)

    def catches_urges(self, target):
        [caught] = re.findall(r"^SigCgt:\s*(\w+)", self.proc(target, "status"), re.MULTILINE)
        return int(caught, 16) >> (signal.SIGURG - 1) & 1 == 1

    def test_what_cannot_be(self):
        for words, why in (
            (["--replay-mode", "application", "--metrics", ONE], "runs a program several times"),
            (["--replay-mode", "range", "--metrics", ONE], "ranges cannot be measured"),
            (["--metrics", ONE, "--pc-sampling"], "need the same counters"),
            (["--pm-sampling", "--keep-last", "60s"], "--keep-last keeps traces"),
            (["--activate", "every:10s", "--pm-sampling"], "--activate: what is measured"),
        ):
            ran = subprocess.run(self.attach_command(os.getpid(), *words), text=True,
                                 capture_output=True, timeout=60, check=False)  # fmt: skip
            self.assertEqual(ran.returncode, 5, words)
            self.assertIn(why, ran.stderr)


class Refusals(AttachTest):
    def test_by_name(self):
        """The one of this user's that uses CUDA. With two of them, none is chosen."""
        name = f"obeys-{os.getpid()}"
        (self.folder / name).symlink_to(self.program("obeys"))
        first = self.start_ready([str(self.folder / name)], FAKE_CUDA_EVENT_THREAD=1)
        script = self.folder / "idle.py"
        script.write_text("print('ready', flush=True)\ninput()\n")
        idle = self.start_ready([sys.executable, "-u", str(script)])
        command = self.attach_command("-n", output=self.output)
        command.insert(3, name)
        ran = subprocess.run([*command, "--for", "100ms"], env=self.environment({}), timeout=60,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"attached to process {first.pid}:", ran.stderr)
        second = self.start_ready([str(self.folder / name)], FAKE_CUDA_EVENT_THREAD=1)
        both = ", ".join(map(str, sorted((first.pid, second.pid))))
        for called, why in (
            (name, f"2 processes named {name} use CUDA: {both}"),
            ("idle.py", f"process {idle.pid} has that name and does not use CUDA (yet)"),
            ("no\x1bsuch", r"no process of this user that uses CUDA is named no\x1bsuch"),
        ):
            refused = subprocess.run([GPUPROF, "attach", "--name", called], cwd=self.folder, timeout=60,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
            self.assertEqual(refused.returncode, CANNOT, refused.stderr)
            self.assertIn(why, refused.stderr)

    def test_what_is_no_process(self):
        self.refused(2**22 + 1, "there is no process")
        ran = subprocess.run(self.attach_command("x1"), capture_output=True, check=False)
        self.assertEqual(ran.returncode, 5)

    def test_no_cuda(self):
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.refused(sleeper, "does not use CUDA")

    def test_cuda_without_a_context(self):
        self.refused(self.target(event_thread=False), "no safe place")

    @unittest.skipUnless(has_other_users(), "only root can start another user's processes")
    def test_another_user(self):
        sleeper = subprocess.Popen(["sleep", "60"], user=NOBODY)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.refused(sleeper, "belongs to another user")

    def test_a_stopped_process(self):
        target = self.target()
        target.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: "\nState:\tT" in self.proc(target, "status"))
        self.refused(target, "is stopped")

    def test_a_debugger(self):
        target = self.target()
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, target.pid, None, None), 0)
        self.refused(target, f"process {os.getpid()} traces process {target.pid}")

    def test_recorded_already(self):
        target = self.target()
        attached = self.attach(target, output=self.folder / "first.sqlite")
        self.refused(target, "gpuprof records this process already")
        self.detach(attached)

    def test_another_client(self):
        target = self.target(FAKE_CUPTI_FAIL="cuptiSubscribe=39")
        self.refused(target, "another profiler (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)")
        self.tell(target, "launch 3")

    def test_musl(self):
        self.refused(self.python(LIAR.format(files=["ld-musl-x86_64.so.1"])), "musl")

    def test_another_architecture(self):
        code = b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7"  # pause, again and again
        header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, 0x8048054, 52, 0,
                             0, 52, 32, 1, 0, 0, 0)  # fmt: skip
        segment = struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5,
                              4096)  # fmt: skip
        program = self.folder / "of32bits"
        program.write_bytes(header + segment + code)
        program.chmod(0o755)
        try:
            process = subprocess.Popen([program])
        except OSError:
            self.skipTest("this kernel runs no 32-bit programs")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.refused(process, "is no 64-bit x86 program")


# Maps files of these names, and has a thread that is called as CUDA's and waits in poll.
LIAR = """
    import ctypes, mmap, os, select, threading
    maps = []
    for name in ["libcuda.so.1", *{files}]:
        with open(name, "w+b") as file:
            file.write(os.urandom(8192))
            file.flush()
            maps.append(mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ))
    def wait():
        ctypes.CDLL(None).prctl(15, b"cuda000", 0, 0, 0)
        poll = select.poll()
        poll.register(os.pipe()[0], select.POLLIN)
        print("ready", flush=True)
        poll.poll()
    threading.Thread(target=wait, daemon=True).start()
    input()
    """


@unittest.skipIf(SANITIZED, "python3 is no program of the sanitizer's")
class Liars(AttachTest):
    def test_no_driver(self):
        target = self.python(LIAR.format(files=[]))
        self.refused(target, "process")
        target.communicate("\n", timeout=60)
        self.assertEqual(target.returncode, 0)

    def test_libraries_full_of_garbage(self):
        # The first of the name may be at any address; whichever it is, nobody is harmed.
        target = self.python(LIAR.format(files=["libc.so.6", "libgpuprof_collector.so"]))
        self.refused(target, "process")
        _, errors = target.communicate("\n", timeout=60)
        self.assertEqual((target.returncode, errors), (0, ""))


if __name__ == "__main__":
    unittest.main()
