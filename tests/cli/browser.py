"""A headless chromium, controlled by its DevTools protocol over a pipe, for tests of pages."""

import base64
import collections
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = (
    os.environ.get("GPUPROF_BROWSER")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
)
WITHOUT = (
    "there is no chromium (scripts/setup --tests installs Debian's; GPUPROF_BROWSER names another)"
)
PATIENCE = 240  # seconds, for a busy machine
OPTIONS = ("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
           "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
           "--disable-breakpad",
           # The list of the address bar, pages of the browser's own that start along with it for 0.3 to 0.7 s of CPU.
           "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
           "--force-color-profile=srgb", "--remote-debugging-pipe")  # fmt: skip


class Browser:
    """Ends with the `with` it is used in."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="browser-")
        # The program reads descriptor 3 and writes 4: the pipes are moved there once both are free.
        reads, ours_out = os.pipe()
        ours_in, writes = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (reads, writes)]
        command = [PROGRAM, *OPTIONS, *["--no-sandbox"] * (os.getuid() == 0),
                   f"--user-data-dir={self.folder}", "about:blank"]  # fmt: skip
        self.process = subprocess.Popen(
            command, close_fds=False, start_new_session=True, preexec_fn=lambda: [os.dup2(ends[i], 3 + i) for i in (0, 1)],
            env={**os.environ, "HOME": self.folder}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        for end in (reads, writes, *ends):
            os.close(end)
        self.out, self.into = ours_in, ours_out
        self.received, self.count = b"", 0
        self.events = collections.defaultdict(list)  # session: (method, parameters)
        self.opened = set()  # pages
        self.idle = {}  # protocol: a closed page that shows such an address
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with its helpers
        self.process.wait()
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def page(self, address, *size, **more):
        """Shows an address, in a page that has been closed if there is one.

        That takes half of the time of a new page, which has a process of its own."""
        page = self.idle.pop(address.split(":")[0], None)
        if page:
            page.call("Page.bringToFront")  # a hidden page draws nothing
            page.set(*size, **more)
            self.opened.add(page)
        else:
            page = Page(self, *size, **more)
        page.go(address)
        return page

    def call(self, method, session="", **parameters):
        self.count += 1
        asked = {"id": self.count, "method": method, "params": parameters}
        if session:
            asked["sessionId"] = session
        os.write(self.into, json.dumps(asked).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while (answer := self.receive(until)).get("id") != self.count:
            if "method" in answer:
                self.events[answer.get("sessionId", "")].append(
                    (answer["method"], answer["params"])
                )
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self, until):
        while b"\0" not in self.received:
            if not select.select([self.out], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            more = os.read(self.out, 1 << 20)
            if not more:
                raise AssertionError("the browser has ended")
            self.received += more
        answer, _, self.received = self.received.partition(b"\0")
        return json.loads(answer)


class Page:
    """A page of a browser; `wrong()` returns what goes wrong on it."""

    def __init__(self, browser, width=1600, height=900, ratio=1, dark=False):
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.browser, self.session = browser, attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.set(width, height, ratio, dark)
        browser.opened.add(self)

    def set(self, width=1600, height=900, ratio=1, dark=False):
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=False)
        self.resize(width, height, ratio)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height, ratio=1):
        self.call("Emulation.setDeviceMetricsOverride",
                  width=width, height=height, deviceScaleFactor=ratio, mobile=False)  # fmt: skip

    def evaluate(self, expression):
        """The value of an expression; if it is a promise, the value it resolves to."""
        ran = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in ran:
            details = ran["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return ran["result"].get("value")

    def wait(self, condition):
        until = time.monotonic() + PATIENCE
        while not self.evaluate(f"!!({condition})"):
            if time.monotonic() > until:
                raise AssertionError(
                    f"not so after {PATIENCE} s: {condition}; wrong: {self.wrong()}"
                )
            time.sleep(0.02)

    def settle(self):
        """Waits until no request is under way and what the last one brought has been laid out and drawn.

        What is at a place of the page, which a test then clicks, moves until that."""
        until, calm = time.monotonic() + PATIENCE, 0
        while calm < 2:
            self.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
            )
            begun = {event["requestId"] for _, event in self.happened("Network.requestWillBeSent")}
            ended = self.happened("Network.loadingFinished", "Network.loadingFailed")
            calm = 0 if begun - {event["requestId"] for _, event in ended} else calm + 1
            if time.monotonic() > until:
                raise AssertionError(f"requests are under way after {PATIENCE} s")

    def go(self, address):
        self.evaluate("window.outdated = true")
        if "loaderId" not in self.call("Page.navigate", url=address):
            self.call("Page.reload")  # only the hash is another
        self.wait(
            "!window.outdated && document.readyState === 'complete' && document.body?.dataset.drawn === 'yes'"
        )
        # What happened to the document before is forgotten.
        events = self.browser.events[self.session]
        begin, loader = next(
            (i, event["frame"]["loaderId"])
            for i, (method, event) in reversed([*enumerate(events)])
            if method == "Page.frameNavigated" and "parentId" not in event["frame"]
        )
        events[:begin] = [
            each
            for each in events[:begin]
            if loader in (each[1].get("loaderId"), each[1].get("requestId"))
        ]

    def key(self, name):
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **typed)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def close(self):
        """If no other page is open, this one remains for Browser.page."""
        protocol = self.evaluate("location.protocol.slice(0, -1)")
        if self.browser.opened != {self} or protocol in self.browser.idle:
            self.end()
        else:
            self.browser.opened.remove(self)
            self.browser.idle[protocol] = self

    def end(self):
        self.browser.opened.remove(self)
        self.call("Page.close")

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def requests(self):
        return [
            event["request"]["url"] for method, event in self.happened("Network.requestWillBeSent")
        ]

    def happened(self, *methods):
        return [each for each in self.browser.events[self.session] if each[0] in methods]

    def wrong(self):
        """Exceptions, errors and warnings of the console, and requests that failed."""
        self.call("Runtime.getIsolateId")  # everything before it has arrived
        found = self.happened("Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        for method, event in self.happened("Runtime.consoleAPICalled", "Network.responseReceived"):
            if (
                event.get("type") in ("error", "warning", "assert")
                or event.get("response", {}).get("status", 0) >= 400
            ):
                found.append((method, event))
        return found
