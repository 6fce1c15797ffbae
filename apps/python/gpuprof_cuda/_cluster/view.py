"""gpuprof view STORE: all ranks in a browser, and a rank's own records by a click.

A server on 127.0.0.1 with the rules of the viewer's (libprof/view/server): an address with an unguessable part, GET
alone, no other host name, and pages that load nothing from elsewhere. Records are shown by `gpuprof view FILE`, a child
for each file that was opened, whose answers are passed on, so that one port is enough."""

from __future__ import annotations

import contextlib
import hmac
import http.client
import http.server
import os
import re
import secrets
import select
import subprocess
import sys
import threading
import urllib.parse

from .. import _run
from .._library import Error, program
from .._palette import COLORS
from . import picture, report
from .database import connect
from .sources import is_rolled_up
from .tasks import about

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .store import Store

_HEADERS = (
    ("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)  # fmt: skip
_START_S = 120  # that a viewer may take to open its file
_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
_ADDRESS = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})/([0-9a-f]+)/\s*")

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ranks</title><link rel="stylesheet" href="view.css">
<h1>Ranks</h1><p id="words">Reading</p><ul id="findings"></ul>
<p><label>Show <select id="mode"><option value="account">where each step went</option>
<option value="late">how late each rank was</option></select></label>
<label>in order of <select id="sort"><option value="rank">rank</option>
<option value="late">lateness</option></select></label> <span id="legend"></span></p>
<p id="cell">A row is a rank, and a column a step. A click opens the records of the rank at that step.</p>
<canvas id="picture" tabindex="0" role="img" aria-label="A row for each rank, a column for each step; arrow keys and Enter
choose and open"></canvas><script type="module" src="view.js"></script></html>
"""
_STYLE = """
body { font: 13px/1.4 system-ui, sans-serif; margin: 24px; background: var(--ground); color: var(--text);
  font-variant-numeric: tabular-nums; }
h1 { font-size: 15px; } #cell { min-height: 3em; } a { color: var(--accent); }
#picture { width: 100%; display: block; cursor: pointer; } select { font: inherit; }
#legend span { margin-left: 12px; white-space: nowrap; } .color { display: inline-block; width: 10px; height: 10px; margin-right: 4px; }
"""


def _style() -> str:
    both = [
        "".join(f"--{name}:{pair[ground]};" for name, pair in COLORS.items()) for ground in range(2)
    ]
    colors = "".join(f".color.{name}{{background:var(--{name})}}" for name in COLORS)
    return f":root{{{both[0]}}}@media (prefers-color-scheme: dark){{:root{{{both[1]}}}}}{_STYLE}{colors}"


class _Viewer:
    """`gpuprof view` of one file, which ends with this process."""

    def __init__(self, path: str) -> None:
        self._child = subprocess.Popen(
            [program(), "view", "--no-browser", "--end-with-parent", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        assert self._child.stdout is not None and self._child.stderr is not None
        ready, _, _ = select.select([self._child.stdout], [], [], _START_S)
        match = _ADDRESS.fullmatch(self._child.stdout.readline().decode()) if ready else None
        if match is None:
            self._child.kill()
            said = self._child.stderr.read().decode(errors="replace").strip()
            raise Error(said or "the viewer did not start", "", 20)
        self._port, self._token = int(match.group(1)), match.group(2)

    def is_running(self) -> bool:
        return self._child.poll() is None

    def answer(self, path: str) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("GET", f"/{self._token}/{path}")
            response = connection.getresponse()
            return (
                response.status,
                response.getheader("Content-Type", "text/plain"),
                response.read(),
            )
        finally:
            connection.close()


class _Pages:
    """What the server answers."""

    def __init__(self, store: Store) -> None:
        connection = connect(store)
        try:
            found = report._read(connection)
            self.picture = picture.draw(connection, found)
            self._starts = dict(
                ((rank, step), (start, end)) for rank, step, start, end in connection.execute(
                    'SELECT rank, step, start, "end" FROM steps WHERE start IS NOT NULL').fetchall())  # fmt: skip
        finally:
            connection.close()
        self._bytes = self.picture.written()
        self._files = {int(rank["rank"]): manifest for manifest in store.manifests().values()
                       for rank in manifest["ranks"]}  # fmt: skip
        self._viewers: dict[int, _Viewer] = {}
        self._lock = threading.Lock()

    def answer(self, path: str, query: str) -> tuple[int, str, bytes]:
        """Status, type and body; of a redirection the body is the address."""
        if path == "":
            return 200, "text/html", _PAGE.encode()
        if path == "view.css":
            return 200, "text/css", _style().encode()
        if path == "view.js":
            with open(os.path.join(os.path.dirname(__file__), "view.js"), "rb") as file:
                return 200, "text/javascript", file.read()
        if path == "picture":
            return 200, "application/octet-stream", self._bytes
        if path == "open":
            return 303, "text/plain", self._open(urllib.parse.parse_qs(query)).encode()
        if match := re.fullmatch(r"rank/([0-9]{1,9})/(.*)", path):
            return self._viewer(int(match.group(1))).answer(
                match.group(2) + (f"?{query}" if query else "")
            )
        return 404, "text/plain", b"there is no such page"

    def _open(self, asked: dict[str, list[str]]) -> str:
        """Where the records of a rank are, at a step of it."""
        rank = int(asked["rank"][0])
        self._viewer(rank)
        where = f"rank/{rank}/"
        window = self._starts.get((rank, int(asked["step"][0]))) if "step" in asked else None
        if window is None:
            return where
        with _run.open(self._files[rank]["path"]) as run:
            zero = int(
                list(run.sql("SELECT value FROM RUN WHERE key = 'zero_ns'").dicts())[0]["value"]
            )
        return f"{where}#from={window[0] - zero}&to={window[1] - zero}"

    def _viewer(self, rank: int) -> _Viewer:
        with self._lock:
            viewer = self._viewers.get(rank)
            if viewer is None or not viewer.is_running():
                viewer = self._viewers[rank] = _Viewer(self._checked(rank))
            return viewer

    def _checked(self, rank: int) -> str:
        """The file of the rank, as it was when the store was built."""
        manifest = self._files.get(rank)
        if manifest is None:
            raise Error(f"there is no rank {rank}", "", 5)
        path = str(manifest["path"])
        if is_rolled_up(path):
            raise Error(
                f"of rank {rank} there are roll-ups only",
                "gpuprof --ranks says of which ranks more is kept",
                20,
            )
        try:
            now = about(path)
        except OSError as error:
            raise Error(f"{path} cannot be read: {error.strerror}", "", 20) from None
        if (now["size"], now["modified_ns"]) != (manifest["size"], manifest["modified_ns"]):
            raise Error(f"{path} has changed since the store was built", "", 20)
        return path


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: _Pages, port: int) -> None:
        self.pages = pages
        self.token = secrets.token_hex(16)
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def send_response(self, code: int, message: str | None = None) -> None:
        self.send_response_only(code, message)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        status, kind, body = self._judged()
        self.send_response(status)
        if status == 303:
            self.send_header("Location", f"/{self.server.token}/{body.decode()}")
            body = b""
        if status == 405:
            self.send_header("Allow", "GET")
        for name, value in _HEADERS:
            self.send_header(name, value)
        self.send_header("Content-Type", kind if "charset" in kind else f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _judged(self) -> tuple[int, str, bytes]:
        if not _HOST.fullmatch(self.headers.get("Host", "")):
            return 403, "text/plain", b"this address is not the server's"
        path, _, query = self.path.partition("?")
        token, slash, rest = path.removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(
            token.encode(errors="replace"), self.server.token.encode()
        ):
            return 403, "text/plain", b"open the address that gpuprof view printed"
        if self.command != "GET":
            return 405, "text/plain", b"only GET is answered"
        try:
            return self.server.pages.answer(rest, query)
        except Error as error:
            return 404, "text/plain", str(error).encode()
        except (KeyError, IndexError, ValueError):
            return 400, "text/plain", b"this is not a request"
        except OSError:
            return 502, "text/plain", b"the viewer of this rank has ended"


def serve(store: Store, port: int, shows_browser: bool) -> None:
    """Until Ctrl-C."""
    try:
        server = _Server(_Pages(store), port)
    except OSError as error:
        raise Error(
            f"port {port} cannot be used: {error.strerror}", "choose another --port", 21
        ) from None
    address = f"http://127.0.0.1:{server.server_address[1]}/{server.token}/"
    print(f"{address}\nCtrl-C ends it.", flush=True)
    shows_browser &= bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    with server, _shown(address) if shows_browser else contextlib.nullcontext():
        server.serve_forever(poll_interval=0.2)


@contextlib.contextmanager
def _shown(address: str) -> Iterator[None]:
    """Opens a browser at a page that only this user can read, so that the address is in no program's arguments. The
    page is there as long as the server."""
    import tempfile
    import webbrowser

    with tempfile.NamedTemporaryFile("w", prefix="gpuprof-view-", suffix=".html") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">')
        file.flush()
        try:
            webbrowser.open("file://" + file.name)
        except webbrowser.Error:
            print("no browser was found", file=sys.stderr)
        yield
