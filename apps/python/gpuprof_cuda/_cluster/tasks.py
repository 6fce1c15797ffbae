"""Builds a store: one task for each source file, in processes of this machine or on a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import ctypes
import os
import shlex
import signal

from .._library import Error
from .sources import status_of
from .store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Optional

    Result = dict[str, Any]
    Report = Callable[[int, int, Optional[Result]], None]  # files done, of, and the last one


def _end_with_parent() -> None:
    """Of a worker: it ends when the program is killed, and at once by Ctrl-C, without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        os._exit(1)


def about(path: str) -> dict[str, Any]:
    """By what a build recognizes the file again."""
    status = status_of(path)
    return {
        "path": os.path.abspath(path),
        "size": status.st_size,
        "modified_ns": status.st_mtime_ns,
    }


def _is_built(path: str, place: int, manifest: dict[str, Any]) -> bool:
    """The part is of the file as it is now, as its size and time of change say."""
    try:
        status = status_of(path)
    except OSError:
        return False
    same = manifest["size"] == status.st_size and manifest["modified_ns"] == status.st_mtime_ns
    return bool(same and (manifest["rank_is_known"] or manifest["place"] == place))


def _dask(address: Any) -> Any:
    """An executor of the Dask scheduler at the address, or of a cluster of dask_jobqueue."""
    try:
        import distributed
    except ImportError:
        raise Error(
            "Dask needs the package distributed", "pip install 'gpuprof-cuda[cluster]' brings it"
        ) from None
    try:
        return distributed.Client(address, timeout=20).get_executor(pure=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise Error(f"no Dask scheduler answers at {address}: {error}") from None


def _slurm(jobs: int) -> Any:
    """A Dask cluster whose workers are jobs of Slurm: one core and 4 GiB each, unless ~/.config/dask/jobqueue.yaml
    says otherwise, which also has partition, account and time."""
    try:
        import dask
        import dask_jobqueue
    except ImportError:
        raise Error(
            "--slurm needs the package dask-jobqueue",
            "pip install 'gpuprof-cuda[cluster]' brings it",
        ) from None
    usual = {"cores": 1, "processes": 1, "memory": "4 GiB"}
    missing = {key: value for key, value in usual.items()
               if dask.config.get(f"jobqueue.slurm.{key}", None) is None}  # fmt: skip
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    before = [
        f"export PYTHONPATH={shlex.quote(paths)}",
        *dask.config.get("jobqueue.slurm.job-script-prologue", []),
    ]
    cluster = dask_jobqueue.SLURMCluster(**missing, job_script_prologue=before)
    cluster.scale(jobs=jobs)
    return cluster


class Executors:
    """Where tasks run: `jobs` processes here, the workers of the Dask scheduler at `address`, or `jobs` jobs of
    Slurm."""

    def __init__(self, jobs: int, address: str | None, slurm: bool = False) -> None:
        self._jobs = jobs
        self._address = address
        self._is_slurm = slurm
        self._cluster: Any = None

    def open(self) -> Any:
        """A concurrent.futures.Executor, or None: in this process."""
        if self._is_slurm:
            self._cluster = _slurm(self._jobs)
            return _dask(self._cluster)
        if self._address is not None:
            return _dask(self._address)
        if self._jobs == 1:
            return None
        import multiprocessing

        return concurrent.futures.ProcessPoolExecutor(
            self._jobs, multiprocessing.get_context("spawn"), _end_with_parent
        )

    def close(self) -> None:
        """Ends the jobs that it started."""
        if self._cluster is not None:
            self._cluster.close()


def _results(waiting: list[tuple[str, int]], folder: str, executors: Executors) -> Iterator[Result]:
    from .part import build_part

    executor = executors.open() if waiting else None
    if executor is None:
        for path, place in waiting:
            yield build_part(path, place, folder)
        return
    tasks: list[Any] = []
    try:
        tasks += [executor.submit(build_part, os.path.abspath(path), place, folder)
                 for path, place in waiting]  # fmt: skip
        names = dict(zip(tasks, waiting))
        for task in concurrent.futures.as_completed(tasks):
            yield {**task.result(), "path": names[task][0]}
    except concurrent.futures.process.BrokenProcessPool:
        raise Error(
            "a worker was killed, perhaps for want of memory",
            "the files that were done are kept: build again, with a lower --jobs",
        ) from None
    finally:
        for task in tasks:  # Dask's executor knows no cancel_futures
            task.cancel()
        executor.shutdown(wait=False)
        executors.close()


def build(paths: list[str], folder: str, executors: Executors, report: Report) -> list[Result]:
    """Brings the store up to date with these files: builds the parts that are missing, then removes
    those of other files. Returns what could not be read, as {"path", "error", "hint"}."""
    store = Store(folder)
    store.prepare()
    lock = store.lock()
    try:
        return _build(paths, store, executors, report)
    finally:
        os.close(lock)


def _build(paths: list[str], store: Store, executors: Executors, report: Report) -> list[Result]:
    before = {manifest["path"]: (key, manifest) for key, manifest in store.manifests().items()}
    keys: dict[str, str] = {}  # by path
    waiting = []
    for place, path in enumerate(paths):
        absolute = os.path.abspath(path)
        if absolute in before and _is_built(path, place, before[absolute][1]):
            keys[path] = before[absolute][0]
        else:
            waiting.append((path, place))
    refused = []
    done = len(keys)
    report(done, len(paths), None)
    for result in _results(waiting, os.path.abspath(store.path), executors):
        done += 1
        if "error" in result:
            refused.append(result)
        else:
            keys[result["path"]] = result["key"]
        report(done, len(paths), result)
    refused += _refuse_twice(store, keys)
    store.remove_others(set(keys.values()))
    return sorted(refused, key=lambda each: str(each["path"]))


def _refuse_twice(store: Store, keys: dict[str, str]) -> list[Result]:
    """A rank is of one file: the first by name. Removes others from `keys`."""
    manifests = store.manifests()
    rank_of: dict[int, str] = {}
    by_key: dict[str, str] = {}
    refused = []
    for path in sorted(keys):
        key = keys[path]
        ranks = [int(rank["rank"]) for rank in manifests[key]["ranks"]]
        taken = [rank for rank in ranks if rank in rank_of]
        if key in by_key:
            refused.append({"path": path, "hint": "", "error": f"it is the same as {by_key[key]}"})
        elif taken:
            refused.append({
                "path": path, "hint": "a store is of one run: name the files of one",
                "error": f"rank {taken[0]} is in {rank_of[taken[0]]} already"})  # fmt: skip
        else:
            by_key[key] = path
            rank_of.update({rank: path for rank in ranks})
            if manifests[key]["path"] != os.path.abspath(path):  # of several that are the same
                store.write_manifest(key, {**manifests[key], **about(path)})
    for each in refused:
        del keys[each["path"]]
    return refused
