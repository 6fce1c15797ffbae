"""The pytest plug-in: profiles of tests, and limits for their work on GPUs."""

from __future__ import annotations

import os
import re
import warnings
import zlib

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ._run import Run

MARK = """gpuprof(max_gpu_ms=None, max_idle=None, max_memory_mb=None): the test is skipped where there is no \
CUDA driver, and fails when its GPUs work longer than max_gpu_ms together, when one of them is idle for more than this share (0 to 1) of the time \
between its first work and its last, or when more than so many MB (1,000,000 bytes) of device memory \
that the test allocated are in use on one GPU at a time."""

LIMITS = ("max_gpu_ms", "max_idle", "max_memory_mb")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpuprof")
    group.addoption(
        "--gpuprof", nargs="?", const="gpuprof-profiles", metavar="FOLDER",
        help="keep a profile of each test that uses a GPU, in FOLDER (gpuprof-profiles)")  # fmt: skip
    group.addoption(
        "--gpuprof-against", metavar="FOLDER",
        help="a test fails if its GPU work takes longer than in its baseline in FOLDER")  # fmt: skip
    group.addoption(
        "--gpuprof-update", action="store_true", help="write these baselines instead of comparing"
    )
    group.addoption(
        "--gpuprof-threshold", default="10%", metavar="PERCENT",
        help="what a test may take longer than in its baseline (10%%)")  # fmt: skip
    group.addoption(
        "--gpuprof-trace", metavar="LIST", help="what to record, as the program's --trace"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)


def _limits(item: pytest.Item) -> dict[str, float | None] | None:
    """The limits of the test's marks, the nearest taking precedence, or None without marks."""
    marks = list(item.iter_markers("gpuprof"))
    limits: dict[str, float | None] = {}
    for mark in marks:
        unknown = [name for name in mark.kwargs if name not in LIMITS]
        if mark.args or unknown:
            what = ", ".join([*map(repr, mark.args), *unknown])
            pytest.fail(f"the mark gpuprof takes {', '.join(LIMITS)}, not {what}", pytrace=False)
        for name, value in mark.kwargs.items():
            limits.setdefault(name, value)
    return limits if marks else None


def _file_name(nodeid: str) -> str:
    """As readable as a file name can be, and unique for each test."""
    name = re.sub(r"[^A-Za-z0-9_.=-]+", "-", nodeid)
    if name != nodeid:
        name = f"{name[:150]}-{zlib.crc32(nodeid.encode()):08x}"
    return name + ".sqlite"


def _measured(run: Run) -> dict[str, float]:
    """The values that limits apply to; zeros if nothing was done."""
    devices = list(run.gpu_utilization.dicts())
    memory: dict[int, int] = {}
    for row in run.memory_peak.dicts():
        if row["memory"] == "Device":
            memory[row["device_id"]] = memory.get(row["device_id"], 0) + row["bytes"]
    return {
        "max_gpu_ms": sum(row["busy_ms"] for row in devices),
        "max_idle": max((1 - row["busy_share"] for row in devices if row["span_ms"]), default=0),
        "max_memory_mb": max(memory.values(), default=0) / 1e6,
    }


def _baseline_name(nodeid: str) -> str:
    """The name of a test's baseline: gpuprof takes no long ones."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", nodeid)
    return f"test-{name[:80]}-{zlib.crc32(nodeid.encode()):08x}"


def _compared(item: pytest.Item, path: str) -> tuple[str, bool]:
    """What gpuprof gate says about the profile, and whether the test is slower than its baseline."""
    import subprocess

    from ._library import program

    folder, name = item.config.getoption("--gpuprof-against"), _baseline_name(item.nodeid)
    if item.config.getoption("--gpuprof-update"):
        words = ["baseline", "add", name, path, "--replace"]
    elif os.path.exists(os.path.join(folder, name + ".json")):
        threshold = item.config.getoption("--gpuprof-threshold")
        words = ["gate", "--against", name, path, "--threshold", threshold]
    else:
        return "it has no baseline: --gpuprof-update writes one", False
    ran = subprocess.run([program(), *words, "--dir", folder], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, errors="replace", check=False)  # fmt: skip
    said = ran.stdout.split("\n", 1)[0] or ran.stderr.strip()
    # 1: slower; 3: it cannot be compared.
    if ran.returncode not in (0, 1, 3):
        pytest.fail(said, pytrace=False)
    return said, ran.returncode == 1


_WORDS = {
    "max_gpu_ms": "GPUs worked {0:.3f} ms",
    "max_idle": "a GPU was idle for {0:.3f} of its time",
    "max_memory_mb": "{0:.3f} MB of device memory were in use",
}


def _driver_lacks() -> str:
    """The message if no test can use a GPU; empty if there is a driver."""
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no CUDA driver (libcuda.so.1) on this machine"
    return ""


@pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpuprof") and (lacks := _driver_lacks()):
        pytest.skip(f"gpuprof: {lacks}")


_warned = False  # warned that no profiles are kept


@pytest.hookimpl(hookwrapper=True)  # type: ignore[untyped-decorator]
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    folder = item.config.getoption("--gpuprof")
    against = item.config.getoption("--gpuprof-against")
    limits = _limits(item)
    if folder is None and limits is None and against is None:
        yield
        return
    if lacks := _driver_lacks():
        global _warned
        if not _warned:
            _warned = True
            warnings.warn(pytest.PytestWarning(f"gpuprof keeps no profiles: {lacks}"), stacklevel=1)
        yield
        return

    import tempfile

    from ._trace import trace

    with tempfile.TemporaryDirectory(prefix="gpuprof-pytest-") as temporary:
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder if folder is not None else temporary, _file_name(item.nodeid))
        kinds = item.config.getoption("--gpuprof-trace")
        if kinds is None and folder is None:
            kinds = "gpu,memory"
        with trace(path, kinds, overwrite=True) as t:
            outcome = yield
        with t.run as run:
            measured = _measured(run)
            idle = len(run.gpu_activities) == 0
            empty = idle and len(run.api_calls) == 0
        said, slower = "", False
        if against is not None and not idle and outcome.excinfo is None:
            said, slower = _compared(item, path)
        if empty and folder is not None:
            os.unlink(path)
    text = "; ".join(words.format(measured[name]) for name, words in _WORDS.items())
    lines = [text, said, "" if empty or folder is None else path]
    item.add_report_section("call", "gpuprof", "\n".join(filter(None, lines)))
    for name, value in measured.items():
        item.user_properties.append(("gpuprof_" + name[4:], round(value, 6)))
    broken = [
        f"gpuprof: {_WORDS[name].format(measured[name])}; {name} is {limit:g}"
        for name, limit in (limits or {}).items()
        if limit is not None and measured[name] > limit
    ]
    if slower:
        broken.append(f"gpuprof: {said}")
    if broken and outcome.excinfo is None:
        outcome.force_exception(pytest.fail.Exception("\n".join(broken), pytrace=False))
