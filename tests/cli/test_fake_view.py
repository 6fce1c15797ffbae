# ctest-labels: plain
"""gpuprof --view: a run in the browser while it is recorded, with the stand-ins."""

import http.client
import json
import signal
import subprocess
import time
import unittest

from fake_run import GPUPROF, PATIENCE, FakeTest


class View(FakeTest):
    def begin(self, *output):
        self.over = self.folder / "over"
        self.gpuprof = self.start("steady", 600, 1, self.over, options=("--view", *output),
                                  output=not output, NAME="training", DISPLAY="",
                                  WAYLAND_DISPLAY="")  # fmt: skip
        for line in self.gpuprof.stderr:
            if line.startswith(b"http://127.0.0.1:"):
                _, _, host, token, _ = line.decode().split("/")
                return host, token
        self.fail("no address")

    def ask(self, place, question):
        host, token = place
        connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        connection.request("GET", f"/{token}/api/{question}")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def shown(self, place, wanted):
        until = time.monotonic() + PATIENCE
        while not wanted(answer := self.ask(place, "run")):
            self.assertLess(time.monotonic(), until, answer)
            time.sleep(0.05)
        return answer

    def goes_on(self, process):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                return b"--live" in file.read()
        except FileNotFoundError:
            return False

    def viewer(self):
        children = f"/proc/{self.gpuprof.pid}/task/{self.gpuprof.pid}/children"
        with open(children, encoding="ascii") as file:
            (process,) = [child for child in file.read().split() if self.goes_on(child)]
        return process

    def test_meanwhile_and_afterwards(self):
        place = self.begin()
        first = self.shown(place, lambda run: run["grows"] and run["records"] > 0)
        self.shown(place, lambda run: run["records"] > first["records"])
        self.over.touch()
        run = self.shown(place, lambda run: not run["grows"])
        database = self.database()
        self.assertEqual(run["title"], self.output.name)
        self.assertGreaterEqual(run["records"], database.count("CONCURRENT_KERNEL"))
        viewer = self.viewer()
        for line in self.gpuprof.stderr:
            if b"still shown" in line:
                break
        else:
            self.fail("it does not wait")
        self.gpuprof.send_signal(signal.SIGINT)
        out, err = self.gpuprof.communicate(timeout=PATIENCE)
        self.assertEqual(self.gpuprof.returncode, 5, err)  # the program's
        self.assertEqual(out.decode().split()[0], "launching")
        self.assertFalse(self.goes_on(viewer))

    def test_it_ends_with_gpuprof(self):
        self.begin()
        viewer = self.viewer()
        self.gpuprof.kill()
        until = time.monotonic() + PATIENCE
        while self.goes_on(viewer):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.over.touch()

    def test_a_name_with_placeholders(self):
        place = self.begin("-o", "%q{NAME}-100%%.sqlite")
        run = self.shown(place, lambda run: run["records"] > 0)
        self.assertEqual(run["title"], "training-100%.sqlite")
        self.over.touch()

    def test_several_files_are_not_shown(self):
        ran = subprocess.run(
            [GPUPROF, "--view", "-o", "run-%p.sqlite", "true"], cwd=self.folder, text=True,
            capture_output=True, env=self.environment({}), timeout=PATIENCE)  # fmt: skip
        self.assertEqual(ran.returncode, 5)
        self.assertIn("leave %p out", ran.stderr)


if __name__ == "__main__":
    unittest.main()
