"""gpuprof view: what its server answers, and to whom."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import zlib

from builds import asan, load_tests  # noqa: F401
from growing import Growing
from tiles import decode

GPUPROF = os.environ.get("GPUPROF", "")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "build"))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CLIENT = SOURCE / "libprof/view/client"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"
WORK = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
        "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMCPY2", "CUPTI_ACTIVITY_KIND_MEMSET",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS"}  # fmt: skip


def captures():
    found = [
        *(SOURCE / "tests/captures").glob("*.gpcap"),
        *(BUILD / "tests/captures").glob("*.gpcap"),
    ]
    return sorted(found)


class Server:
    """A running `gpuprof view`."""

    def __init__(self, profile, *options, environment=None):
        self.process = subprocess.Popen(
            [GPUPROF, "view", *([profile] if isinstance(profile, pathlib.Path) else profile), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", **(environment or {})},
        )  # fmt: skip
        self.address = self.process.stdout.readline().strip()
        self.second_line = self.process.stdout.readline().strip()
        if not self.address.startswith("http://127.0.0.1:"):
            self.process.kill()
            raise AssertionError(f"no address: {self.address}\n{self.process.communicate()[1]}")
        self.port = int(self.address.split(":")[2].split("/")[0])
        self.token = self.address.split("/")[3]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, path, method="GET", headers=None, fresh=False):
        connection = self.connection
        if fresh:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        body = response.read()
        if fresh:
            connection.close()
        return response.status, body, response.headers

    def get(self, question, **parameters):
        words = "&".join(f"{name}={value}" for name, value in parameters.items())
        status, body, _ = self.ask(f"/{self.token}/api/{question}?{words}")
        if status != 200:
            raise AssertionError(f"{question} {words}: {status} {body[:500]}")
        return json.loads(body)

    def end(self, signal_number=signal.SIGINT):
        self.connection.close()
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


@contextlib.contextmanager
def serving(profile, *options, **more):
    server = Server(profile, *options, **more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.connection.close()
            server.process.kill()
            server.process.communicate()


def sections(server, **place):
    """Title: rows of a record's sections."""
    return {each["title"]: each["rows"] for each in server.get("details", **place)["sections"]}


def facts(server, **place):
    told = sections(server, **place)
    return told[""] + told.get("All columns", [])


def touched(records, start, end, width):
    pixels = set()
    for first, last in records:
        if first >= end or (last <= start and first < start) or last < start:
            continue
        begin, over = (max(first, start) - start) * width, (min(last, end) - start) * width
        pixel = begin // (end - start)
        pixels.add(pixel)
        while (pixel + 1) * (end - start) < over:
            pixel += 1
            pixels.add(pixel)
    return pixels


def union(records, start, end):
    busy, until = 0, start
    for first, last in sorted(records):
        first, last = max(first, until), min(last, end)
        busy += max(last - first, 0)
        until = max(until, last)
    return busy


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Format(unittest.TestCase):
    def test_the_example_is_what_it_is_said_to_be(self):
        page = (SOURCE / "libprof/view/TILES.md").read_text()
        (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
        lines = re.findall(r"^\| (\d+) to (\d+) \|([\d |]+)\|$", page, re.MULTILINE)
        pieces = [[int(x), int(end), *map(int, rest.split("|"))] for x, end, rest in lines]
        self.assertEqual(len(pieces), 4)
        points = [-1, 8, 8, 8, 2, 8, 16, 12.5]
        self.assertEqual(decode(json.loads(example)), {3: ([pieces, []], []), 4: ([], points)})


class Replayed(dict):
    """Profiles by the names of captures. Each is made when a test first asks for it."""

    def __init__(self, folder):
        self.folder = folder
        self.captures = {capture.stem: capture for capture in captures()}

    def __missing__(self, name):
        self[name] = self.folder / f"{name}.sqlite"
        subprocess.run([GPUPROF, "replay", "-q", "-o", self[name], self.captures[name]], check=True)
        return self[name]

    def items(self):
        """All of them."""
        return [(name, self[name]) for name in self.captures]


class Profiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="view-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles = Replayed(cls.folder)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class View(Profiles):
    def test_the_page_comes_before_the_run_is_read(self):
        """While something else has the file locked, the viewer has its address and its page."""
        profile = self.folder / "locked.sqlite"
        shutil.copy(self.profiles["vector_add"], profile)
        with contextlib.closing(sqlite3.connect(profile, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            with serving(profile) as server:
                status, body, _ = server.ask(f"/{server.token}/")
                self.assertEqual((status, b"app.js" in body), (200, True))
                self.assertEqual(set(server.get("reading")), {"reading"})
                other = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
                with contextlib.closing(other):
                    other.request("GET", f"/{server.token}/api/run")
                    with self.assertRaises(TimeoutError):
                        other.sock.settimeout(0.3)
                        other.sock.recv(1)
                    database.execute("ROLLBACK")
                    other.sock.settimeout(120)
                    self.assertGreater(json.loads(other.getresponse().read())["records"], 10)
                self.assertEqual(server.get("reading"), {})
                code, errors = server.end()
                self.assertEqual((code, errors), (0, ""))

    @asan
    def test_who_is_answered(self):
        with serving(self.profiles["vector_add"]) as server:
            root = f"/{server.token}/"
            self.assertIn(f"ssh -L {server.port}:127.0.0.1:{server.port} ", server.second_line)
            for path in ("/", "/api/run", f"/{server.token}", f"/{server.token[:-1]}0x/api/run",
                         f"/{'0' * 32}/", f"//{server.token}/", f"/x/{server.token}/api/run",
                         f"/%2e%2e/{server.token}/api/run"):  # fmt: skip
                with self.subTest(path):
                    self.assertEqual(server.ask(path, fresh=True)[0], 403)
            for host in (
                "evil.example",
                f"evil.example:{server.port}",
                "127.0.0.1.evil.example",
                "",
                "[::1]",
            ):
                with self.subTest(host=host):
                    self.assertEqual(server.ask(root, headers={"Host": host}, fresh=True)[0], 403)
            for host in (f"localhost:{server.port}", "127.0.0.1:9999"):
                self.assertEqual(server.ask(root, headers={"Host": host}, fresh=True)[0], 200)
            self.assertEqual(server.ask(root, headers={"Host": "LOCALHOST"}, fresh=True)[0], 200)
            for headers in ({"Host": "127.0.0.1:evil"}, {"Host": "127.0.0.1:0"}, {"Content-Length": "5"},
                            {"Transfer-Encoding": "chunked"}, {"X": "a\r\n b"}):  # fmt: skip
                with self.subTest(headers):
                    self.assertEqual(server.ask(root, headers=headers, fresh=True)[0], 400)
            for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get"):
                with self.subTest(method):
                    self.assertEqual(server.ask(root, method, fresh=True)[0], 405)
            status, _, headers = server.ask(root)
            self.assertEqual(status, 200)
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_page(self):
        """All modules come as one, of which the others export the names."""
        files = sorted(CLIENT.iterdir())
        self.assertLessEqual(sum(file.stat().st_size for file in files), 200_000)
        with serving(self.profiles["vector_add"]) as server:
            for file in files:
                with self.subTest(file.name):
                    status, body, headers = server.ask(f"/{server.token}/{file.name}")
                    self.assertEqual(status, 200)
                    if file.name == "app.js":
                        self.node_accepts(body)
                        whole = set(body.splitlines())
                    elif file.suffix == ".js":
                        self.assertEqual(body, b"export * from './app.js';\n")
                    else:
                        self.assertEqual(body, file.read_bytes())
                    kind = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
                    self.assertTrue(headers["Content-Type"].startswith(kind[file.suffix]))
        # Texts of a profile enter the page as text, never as markup.
        for file in CLIENT.glob("*.js"):
            own = {
                line for line in file.read_bytes().splitlines() if not line.startswith(b"import ")
            }
            self.assertLessEqual(own, whole, file.name)
            self.assertTrue(file.read_text().startswith("// @ts-check\n"), file.name)
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
                self.assertNotIn(word, file.read_text(), file.name)

    def test_scripts_are_sound(self):
        for file in CLIENT.glob("*.js"):
            self.node_accepts(file.read_bytes())

    def node_accepts(self, script):
        copy = self.folder / "script.mjs"  # as a module, wherever the folder is
        copy.write_bytes(script)
        ran = subprocess.run(["node", "--check", copy], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    @asan
    def test_paths_of_all_kinds(self):
        chance = random.Random(17)
        pieces = ["api", "run", "tiles", "details", "names", "search", "..", ".", "", "%2e%2e", "%00",
                  "etc/passwd", "app.js", "index.html", "\\", "%", "a" * 3000, "%C3%BC%FF",
                  "api/tiles?from=0&to=1&width=1&tracks=" + "9," * 2000, "?", "&&&==", "?from=x&to=1"]  # fmt: skip
        numbers = [
            "",
            "-1",
            "0",
            "1",
            "9" * 30,
            "-9223372036854775808",
            "9223372036854775807",
            "1e9",
            "0x1",
            " 1",
            "%31",
        ]
        with serving([self.profiles["streams_graph"], self.profiles["torch_step"]]) as server:
            for _ in range(300):
                path = "/".join(chance.choices(pieces, k=chance.randint(1, 4))).replace(" ", "%20")
                self.assertIn(
                    server.ask(f"/{server.token}/{path}", fresh=True)[0], (200, 400, 404), path
                )
            for question in (
                "tiles",
                "details",
                "statistics",
                "search",
                "names",
                "stops",
                "begin",
                "differences",
                "comparison",
                "sql",
                "untimed",
                "peak",
                "account",
            ):
                for _ in range(60):
                    words = {name: chance.choice(numbers).replace(" ", "%20") for name in
                             ("from", "to", "width", "tracks", "track", "row", "item", "ids", "after", "text",
                              "shift", "name", "nth")}  # fmt: skip
                    if chance.random() < 0.5:
                        words["run"] = chance.choice(numbers).replace(" ", "%20")
                    query = "&".join(f"{name}={value}" for name, value in words.items())
                    path = f"/{server.token}/api/{question}?{query}"
                    status, body, _ = server.ask(path)
                    self.assertIn(status, (200, 400, 404), path)
                    json.loads(body)
            for raw in (
                b"\r\n\r\n",
                b"GET\r\n\r\n",
                b"GET / HTTP/9\r\n\r\n",
                b"\0" * 100 + b"\r\n\r\n",
                b"x" * 70_000,
            ):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
                connection.connect()
                connection.sock.sendall(raw)
                self.assertIn(b" 400 ", connection.sock.recv(100))
                connection.close()
            self.assertEqual(server.get("run")["title"], "streams_graph.sqlite")

    def test_ends_and_changes_nothing(self):
        profile = self.profiles["torch_step"]
        before, folder = digest(profile), sorted(os.listdir(self.folder))
        with serving(profile) as server:
            run = server.get("run")
            server.get("statistics", **{"from": run["begin"], "to": run["end"]})
            server.get("details", track=0, row=0, item=0)
            self.assertEqual(server.end(), (0, ""))
        with serving(profile) as server:
            self.assertEqual(server.end(signal.SIGTERM), (0, ""))
        self.assertEqual(digest(profile), before)
        self.assertEqual(sorted(os.listdir(self.folder)), folder)

    def test_browser(self):
        programs = self.folder / "programs"
        programs.mkdir()
        told = self.folder / "told"
        os.mkfifo(told)
        (programs / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > "{told}"\n')
        (programs / "xdg-open").chmod(0o755)
        home = pathlib.Path(os.path.realpath(self.folder)) / "home"
        home.mkdir()
        path = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home)}
        with serving(self.profiles["vector_add"], environment={**path, "DISPLAY": ":7"}) as server:
            # No part of the address, because all users may read a program's arguments.
            page = pathlib.Path(told.read_text().strip())
            self.assertEqual(page.parent.parent, home)
            self.assertFalse(page.parent.name.startswith("."))
            self.assertEqual((page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777),
                             (0o600, 0o700))  # fmt: skip
            self.assertIn(f'content="0; url={server.address}"', page.read_text())
            for process in pathlib.Path("/proc").iterdir():
                with contextlib.suppress(OSError):
                    self.assertNotIn(server.token.encode(), (process / "cmdline").read_bytes())
            self.assertEqual(server.ask("/", fresh=True)[0], 403)
            self.assertTrue(page.exists())
            self.assertEqual(server.ask(f"/{server.token}/", fresh=True)[0], 200)
            self.assertEqual(list(home.iterdir()), [])
        # It is also removed if never requested, and is elsewhere if there is no such folder.
        for environment in ({"HOME": str(home)}, {"HOME": str(home / "none"), "TMPDIR": str(home)}):
            with serving(
                self.profiles["vector_add"], environment={**path, **environment, "DISPLAY": ":7"}
            ) as server:
                page = pathlib.Path(told.read_text().strip())
                self.assertEqual(page.parent.parent, home)
                self.assertEqual(server.end()[0], 0)
                self.assertEqual(list(home.iterdir()), [])
        told.unlink()
        told.touch()
        for options, environment in ((["--no-browser"], {"DISPLAY": ":7"}), ([], {})):
            with serving(
                self.profiles["vector_add"], *options, environment={**path, **environment}
            ) as server:
                server.get("run")
                self.assertEqual(server.end()[0], 0)
        self.assertEqual(told.read_text(), "")

    @asan
    def test_what_is_refused(self):
        for code, words in ((5, ["--port", "0"]), (5, ["--port", "70000"]), (5, ["--port", "x"])):
            ran = subprocess.run([GPUPROF, "view", self.profiles["vector_add"], *words],
                                 capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
            self.assertEqual(ran.returncode, code, ran.stderr)
        with serving(self.profiles["vector_add"]) as server:
            ran = subprocess.run([GPUPROF, "view", self.profiles["vector_add"], "--port", str(server.port)],
                                 capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
            self.assertIn("cannot be had", ran.stderr)
            self.assertNotEqual(ran.returncode, 0)
        ran = subprocess.run([GPUPROF, "view", self.folder / "nothing"], capture_output=True, text=True,
                             timeout=120, check=False)  # fmt: skip
        self.assertNotEqual(ran.returncode, 0)

    def test_two_files_change_nothing(self):
        paths = [self.profiles["torch_step"], self.profiles["two_processes"]]
        before = [digest(path) for path in paths], sorted(os.listdir(self.folder))
        with serving(paths) as server:
            for number, path in enumerate(paths):
                run = server.get("run", run=number)
                self.assertEqual((run["title"], run["runs"]), (path.name, 2))
                place = {"track": 0, "row": 0, "item": 0, "run": number}
                self.assertGreater(len(facts(server, **place)), 5)
            for path in ("comparison?from=0&to=1", "run?run=2", "run?run=-1", "run?run=", "stops?run=x", "tiles?run=99",
                         "differences?from=0&to=1", "differences?from=1&to=1&shift=0", "begin?name=x"):  # fmt: skip
                self.assertEqual(server.ask(f"/{server.token}/api/{path}")[0], 400, path)
            self.assertEqual(server.ask(f"/{'0' * 32}/api/differences", fresh=True)[0], 403)
            self.assertEqual(server.end(), (0, ""))
        self.assertEqual(
            before, ([digest(path) for path in paths], sorted(os.listdir(self.folder)))
        )
        with serving(paths[0]) as server:
            status, body, _ = server.ask(f"/{server.token}/api/differences?from=0&to=1&shift=0")
            self.assertEqual(status, 400)
            self.assertIn("FILE OTHER", json.loads(body)["error"])
        ran = subprocess.run([GPUPROF, "view", *paths, paths[0]], capture_output=True, text=True,
                             timeout=120, check=False)  # fmt: skip
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        ran = subprocess.run([GPUPROF, "view", paths[0], self.folder / "nothing"], capture_output=True,
                             text=True, timeout=120, check=False)  # fmt: skip
        self.assertNotEqual(ran.returncode, 0)

    @asan
    def test_files_of_one_name_and_damaged_ones(self):
        other = self.folder / "elsewhere"
        other.mkdir()
        whole = self.profiles["torch_step"].read_bytes()
        (other / "torch_step.sqlite").write_bytes(whole[: len(whole) * 2 // 3])
        paths = [other / "torch_step.sqlite", self.profiles["torch_step"]]
        with serving(paths) as server:
            runs = [server.get("run", run=number) for number in (0, 1)]
            self.assertEqual([run["title"] for run in runs], [str(path) for path in paths])
            self.assertTrue(runs[0]["notes"])
            self.assertEqual(runs[1]["notes"], [])
            for number, run in enumerate(runs):
                track = next(i for i, each in enumerate(run["tracks"]) if each["rows"])
                place = {"track": track, "row": 0, "item": 0, "run": number}
                self.assertGreater(len(facts(server, **place)), 2)
        shutil.rmtree(other)

    @asan
    def test_damaged_file(self):
        damaged = self.folder / "damaged.db"
        whole = self.profiles["torch_step"].read_bytes()
        damaged.write_bytes(whole[: len(whole) * 2 // 3])
        with serving(damaged) as server:
            run = server.get("run")
            self.assertTrue(run["notes"])
            code, errors = server.end()
            self.assertEqual(code, 0)
            self.assertIn("gpuprof: ", errors)

    def test_account(self):
        """The rows of a GPU add up to the time, and are what gpuprof account prints."""
        for name in ("streams_graph", "torch_step"):
            profile = self.profiles[name]
            with self.subTest(name), serving(profile) as server:
                run = server.get("run")
                middle = (run["begin"] + run["end"]) // 2
                for words in (
                    {},
                    {"from": run["begin"], "to": middle},
                    {"from": middle, "to": middle + 1000},
                ):
                    answer = server.get("account", **words)
                    options = [f"--{word}={at}ns" for word, at in words.items()]
                    asked = [GPUPROF, "account", profile, "--json", *options]
                    printed = subprocess.run(
                        asked, capture_output=True, check=True, timeout=60
                    ).stdout
                    (table,) = json.loads(printed)["tables"]
                    found = [
                        [gpu["id"], row["class"], row["cause"] or None, row["duration"], row["intervals"]]
                        for gpu in answer["gpus"] for row in gpu["rows"]
                    ]  # fmt: skip
                    keys = "device_id", "class", "cause", "duration_ns", "intervals"
                    self.assertEqual(found, [[row[key] for key in keys] for row in table["rows"]])
                    for gpu in answer["gpus"]:
                        whole = sum(row["duration"] for row in gpu["rows"])
                        self.assertEqual(whole, answer["time"])
                    if words:
                        self.assertEqual(answer["time"], words["to"] - words["from"])

    def test_work_without_times_is_listed(self):
        forged = self.folder / "untimed.db"
        shutil.copy(self.profiles["torch_step"], forged)
        kernels = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        names = "(SELECT value FROM StringTable AS s WHERE s._id_ = k.name)"
        with contextlib.closing(sqlite3.connect(forged)) as database:
            database.execute(f'UPDATE {kernels} SET start = 0, "end" = 0 WHERE _id_ % 3 = 0')
            database.execute(f'UPDATE {kernels} SET "end" = start WHERE _id_ % 7 = 1')
            database.execute(f"UPDATE {kernels} SET processId = 77 WHERE _id_ % 5 = 0")
            database.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 0")
            database.commit()
            expected = database.execute(
                f"SELECT {names}, processId, count(*), group_concat(_id_) FROM {kernels} AS k"
                ' WHERE start = 0 OR "end" <= start GROUP BY name, processId'
            ).fetchall()
            [[copies]] = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY")
        self.assertGreater(len(expected), 10)
        before = digest(forged)
        with serving([forged, self.profiles["vector_add"]]) as server:
            run = server.get("run")
            answer = server.get("untimed")
            groups, none = answer["groups"], server.get("untimed", run=1)
            self.assertEqual(
                (none, server.get("run", run=1)["untimed"]), ({"groups": [], "left_out": 0}, 0)
            )
            self.assertEqual(sum(each["count"] for each in groups), run["untimed"])
            self.assertEqual(run["untimed"], sum(each[2] for each in expected) + copies)
            self.assertTrue(
                any(f"{run['untimed']} records of GPU work" in loss for loss in run["losses"])
            )
            self.assertEqual(
                [each["count"] for each in groups],
                sorted((each["count"] for each in groups), reverse=True),
            )
            found = {
                (each["process"], each["count"], tuple(each["ids"]))
                for each in groups
                if each["table"] == kernels
            }
            self.assertEqual(
                found,
                {(process, count, tuple(map(int, ids.split(",")[:5]))) for _, process, count, ids in expected},
            )  # fmt: skip
            self.assertEqual(
                sum(each["count"] for each in groups if each["table"] != kernels), copies
            )
            self.assertIn("[CUDA memcpy HtoD]", {each["name"] for each in groups})
        page, text = self.folder / "u.html", self.folder / "u.md"
        subprocess.run(
            [GPUPROF, "report", forged, "-f", "--html", page, "--markdown", text],
            check=True,
            capture_output=True,
            timeout=120,
        )
        (data,) = re.findall('id="data">([^<]*)<', page.read_text())
        told = json.loads(zlib.decompress(base64.b64decode(data)))["untimed"]["groups"]
        self.assertEqual(told, groups[: len(told)])
        self.assertGreater(len(told), 0)
        self.assertRegex(
            text.read_text(), r"\*\*Lost:\*\* `` [0-9]+ records of GPU work have no times"
        )
        page.unlink()
        text.unlink()
        self.assertEqual(digest(forged), before)
        forged.unlink()

    @asan
    def test_growing_file(self):
        growing = self.folder / "growing.db"
        shutil.copy(self.profiles["streams_graph"], growing)
        writer = sqlite3.connect(growing)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO StringTable(value) VALUES('more')")
        writer.commit()
        with serving(growing) as server:
            self.assertGreater(server.get("run")["records"], 0)
            self.assertGreater(len(facts(server, track=0, row=0, item=0)), 5)
            # The writer can end: nothing holds the file.
            writer.execute("INSERT INTO StringTable(value) VALUES('yet more')")
            writer.commit()
            self.assertEqual(writer.execute("PRAGMA journal_mode = DELETE").fetchone(), ("delete",))
            self.assertGreater(len(facts(server, track=0, row=0, item=0)), 5)
            for kind in ("CONCURRENT_KERNEL", "KERNEL", "MEMCPY", "MEMSET"):
                writer.execute(f"UPDATE CUPTI_ACTIVITY_KIND_{kind} SET start = start + 1")
            writer.commit()
            told = facts(server, track=0, row=0, item=0)
            self.assertIn("another record", told[-1][1])
        writer.close()

    @asan
    def test_live(self):
        """New records are shown, with times from the same origin; the final state is the file's."""
        growing = Growing(self.profiles["streams_graph"], self.folder / "live.db")
        growing.hold_kernels()
        half = len(growing.rows) // 2
        growing.add(half, half + 2)

        with serving(growing.path, "--live", "--no-browser") as server:
            first = server.get("run")
            self.assertEqual((first["version"], first["grows"]), (1, True))
            names = server.get("names", ids="0,1,2", version=77)
            growing.add(0, half, stream=3)
            growing.add(half + 2, len(growing.rows))
            until = time.monotonic() + 120
            while True:
                run = server.get("run")
                if run["records"] == first["records"] + len(growing.rows) - 2:
                    break
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            self.assertGreater(run["version"], 1)
            self.assertLessEqual(run["begin"], first["begin"])
            self.assertGreater(len(run["tracks"]), len(first["tracks"]))
            # Track numbers belong to one version, name numbers to all.
            status, body, _ = self.asked(server, "tiles", version=1)
            self.assertEqual(status, 409, body)
            self.assertEqual(server.get("names", ids="0,1,2", version=77), names)
            version = server.get("growth")["version"]
            status, body, _ = self.asked(server, "tiles", version=version)
            if server.get("growth")["version"] == version:
                self.assertEqual(status, 200, body)
            track = next(i for i, each in enumerate(run["tracks"]) if each["kind"] == "stream")
            self.assertTrue(facts(server, track=track, row=0, item=0))
            growing.end()
            while server.get("growth")["grows"]:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            self.assertEqual(server.get("run")["records"], run["records"])
            code, errors = server.end()
            self.assertEqual(code, 0)
            self.assertIn("still being written", errors)
        with serving(self.profiles["vector_add"], "--live", "--no-browser") as server:
            self.assertFalse(server.get("run")["grows"])
        with self.assertRaisesRegex(AssertionError, "--live shows one run"):
            Server([self.profiles["vector_add"], self.profiles["vector_add"]], "--live")

    def asked(self, server, question, **parameters):
        words = {"tracks": "0", "from": 0, "to": 1000, "width": 100, **parameters}
        return server.ask(f"/{server.token}/api/{question}?{urllib.parse.urlencode(words)}")


if __name__ == "__main__":
    unittest.main()
