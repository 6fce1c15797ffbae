"""One source file becomes Parquet: its part of the store. Runs in a worker, one thread, in the same way
wherever it runs, so that the same file gives the same bytes."""

from __future__ import annotations

import hashlib
import os

import duckdb
import numpy as np
import pyarrow as pa

from .. import _run
from .._library import Error, FileError
from . import operations
from .sources import is_rolled_up, status_of
from .steps import Steps, Window, inside
from .store import FACTS, FORMAT, KINDS, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._run import Run

    Columns = dict[str, Any]

SCHEMA = 1  # RUN's schema_version


def digest(path: str) -> str:
    """Of the content, 32 hexadecimal digits."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()[:32]


def _check(run: Run, contents: dict[str, Any], is_over: bool = True) -> None:
    about = contents.get("run") or {}
    if about.get("schema_version") is None:
        raise FileError("it is not a profile of gpuprof", "gpuprof import makes one of it", 20)
    if about["schema_version"] != SCHEMA:
        raise FileError("it is a profile of another version of gpuprof", "", 20)
    if is_over and contents.get("state") != "complete":
        raise FileError(
            f"it is {contents.get('state') or 'not complete'}",
            "if its gpuprof is no longer at work, gpuprof finish FILE completes it",
            20,
        )
    notes = run.notes()
    if any("damaged" in note for note in notes):
        raise FileError("; ".join(notes), "", 20)


def _plain(table: pa.Table, name: str, null: int = 0) -> np.ndarray[Any, Any]:
    """A column of whole numbers; NULL is `null`."""
    column = table.column(name)
    if column.null_count:
        column = column.fill_null(null)
    return np.asarray(column.to_numpy(), dtype=np.int64)


class Names:
    """Names with ids, which are hashes: the same in all files."""

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[str, str]] = {}

    def id_of(self, name: str, short: str) -> int:
        number = int.from_bytes(
            hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True
        )
        if number not in self.by_id:
            self.by_id[number] = (name, short)
        return number

    def ids(self, column: Any) -> np.ndarray[Any, Any]:
        """Of a column of texts that is encoded by a dictionary."""
        chunk = column.combine_chunks()
        texts = [text or "" for text in chunk.dictionary.to_pylist()]
        known = np.array([self.id_of(text, text) for text in texts] or [0], dtype=np.int64)
        indices = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(known[indices])

    def set_short(self, long: Any, short: Any) -> None:
        """The short names of kernels, from two columns."""
        pairs = pa.table({"long": long, "short": short}).group_by(["long", "short"]).aggregate([])
        for row in pairs.to_pylist():
            if row["long"] is not None:
                number = self.id_of(row["long"], row["long"])
                self.by_id[number] = (row["long"], row["short"] or row["long"])

    def columns(self) -> Columns:
        ids = sorted(self.by_id)
        return {
            "id": ids,
            "name": [self.by_id[number][0] for number in ids],
            "short_name": [self.by_id[number][1] for number in ids],
        }


class RankPart:
    """What a file has of one rank."""

    def __init__(
        self,
        run: Run,
        processes: list[int] | None,
        window: Window | None = None,
        counts: operations.Counts | None = None,
    ) -> None:
        self._run = run
        self._processes = processes  # None: all of the file
        self._window = window or Window()
        self._counts = counts or operations.Counts()
        self.names = Names()
        self.steps = Steps.read(run, processes, self._window)
        self.rows: dict[str, Columns] = {}
        self.untimed = 0

    def read(self) -> None:
        kernels = self._work("kernels", "name", "short_name", "graph_node_id")
        self.names.set_short(kernels.column("name"), kernels.column("short_name"))
        self.rows["kernels"] = {
            "name_id": self.names.ids(kernels.column("name")), **self._common(kernels)}  # fmt: skip
        copies = self._work("memcpys", "kind", "bytes")
        named = pa.array([f"memcpy {kind}" for kind in copies.column("kind").to_pylist()])
        self.rows["copies"] = {
            "name_id": self.names.ids(pa.chunked_array([named.dictionary_encode()])),
            **self._common(copies), "bytes": _plain(copies, "bytes")}  # fmt: skip
        sets = self._work("memsets", "bytes")
        self.rows["sets"] = {
            "name_id": np.full(len(sets), self.names.id_of("memset", "memset")),
            **self._common(sets), "bytes": _plain(sets, "bytes")}  # fmt: skip
        calls = self._calls()
        self.rows["rollups"] = self._rollups(calls)
        self.rows["collectives"] = operations.collectives(
            self._run, kernels, self.rows["kernels"]["step"], self._counts
        )
        self.rows["steps"] = self.steps.columns()
        devices = self._devices()
        self.rows["account"] = self._account(devices)
        self.rows["gaps"] = self._gaps(devices)
        self.rows["clocks"] = self._clocks()
        self.rows["environment"] = self._environment(devices)
        self.rows["names"] = self.names.columns()

    def _where(self, table: Any) -> Any:
        return table if self._processes is None else table.where(process=self._processes)

    def _work(self, view: str, *columns: str) -> pa.Table:
        """Work with times, in order of start."""
        common = ("start", "duration", "device_id", "stream_id", "process_id", "correlation_id",
                  "range_id")  # fmt: skip
        table = self._where(self._run.table(view)).columns(*columns, *common).arrow()
        if table.column("start").null_count or table.column("duration").null_count:
            timed = table.filter(
                pa.compute.and_(
                    pa.compute.is_valid(table.column("start")),
                    pa.compute.is_valid(table.column("duration")),
                )
            )
            self.untimed += len(table) - len(timed)
            table = timed
        if not self._window.is_all:
            table = table.filter(pa.array(inside(self._window, _plain(table, "start"))))
        start, correlation = _plain(table, "start"), _plain(table, "correlation_id")
        return table.take(pa.array(np.lexsort((correlation, start))))

    def _common(self, table: pa.Table) -> Columns:
        start = _plain(table, "start")
        return {
            "start": start,
            "duration": _plain(table, "duration"),
            "step": self.steps.of_work(_plain(table, "range_id", -1), start),
            **{
                name: _plain(table, name)
                for name in ("device_id", "stream_id", "process_id", "correlation_id")
            },
        }

    def _calls(self) -> Columns:
        """Calls of the runtime API; a driver call is inside of one, or has its own name here."""
        calls = self._where(self._run.table("api_calls")).columns(
            "domain", "name", "start", "duration", "correlation_id").arrow()  # fmt: skip
        if not self._window.is_all:
            calls = calls.filter(pa.array(inside(self._window, _plain(calls, "start"))))
        start = _plain(calls, "start")
        return {
            "name_id": self.names.ids(calls.column("name")),
            "domain": calls.column("domain").cast(pa.string()),
            "duration": _plain(calls, "duration"),
            "step": self.steps.at(start),
        }

    def _rollups(self, calls: Columns) -> Columns:
        connection = duckdb.connect(config={"threads": 1})
        connection.execute("SET enable_progress_bar = false")
        columns = "count(*), sum(duration)::BIGINT, min(duration), quantile_disc(duration, 0.5), quantile_disc(duration, 0.99), max(duration)"
        parts = []
        for work, kind in (("kernel", "kernels"), ("copy", "copies"), ("set", "sets")):
            connection.register(kind, _arrow(self.rows[kind]))
            size = "sum(bytes)::BIGINT" if kind != "kernels" else "NULL"
            parts.append(
                f"SELECT step, '{work}', name_id, device_id, stream_id, {columns}, {size} "
                f"FROM {kind} GROUP BY ALL"
            )
        connection.register("calls", _arrow(calls))
        parts.append(
            f"SELECT step, 'call', name_id, NULL, NULL, {columns}, NULL "
            "FROM calls WHERE domain = 'runtime' GROUP BY ALL"
        )
        found = connection.execute(" UNION ALL ".join(parts) + " ORDER BY ALL").fetchall()
        connection.close()
        keys = ("step", "work", "name_id", "device_id", "stream_id", "count", "ns", "min_ns",
                "median_ns", "p99_ns", "max_ns", "bytes")  # fmt: skip
        return dict(zip(keys, zip(*found))) if found else {key: [] for key in keys}

    def _devices(self) -> list[int]:
        used = self._counts.devices
        for kind in ("kernels", "copies", "sets"):
            used |= set(np.unique(self.rows[kind]["device_id"]).tolist())
        return sorted(used)

    def _account(self, devices: list[int]) -> Columns:
        found: Columns = {
            key: [] for key in ("step", "device_id", "class", "cause", "ns", "intervals")
        }
        steps = self.steps.windows()
        for row in self._run.accounts([window for _, window in steps]).dicts():
            if row["device_id"] not in devices:
                continue
            found["step"].append(steps[row["window"]][0])
            found["ns"].append(row["duration"])
            for key in ("device_id", "class", "cause", "intervals"):
                found[key].append(row[key])
        return found

    def _gaps(self, devices: list[int]) -> Columns:
        gaps = self._run.table("gpu_gaps").where(device=devices).columns(
            "device_id", "start", "duration", "host_call", "host_call_ns", "no_call_ns").arrow()  # fmt: skip
        rows = self._in_window(gaps.to_pylist(), "start")
        rows.sort(key=lambda row: (row["start"], row["device_id"]))
        found: Columns = {key: [row[key] for row in rows] for key in gaps.schema.names}
        found["step"] = self.steps.at(np.array(found["start"], dtype=np.int64))
        return found

    def _in_window(self, rows: list[dict[str, Any]], time: str) -> list[dict[str, Any]]:
        times = np.array([row[time] or 0 for row in rows], dtype=np.int64)
        return [row for row, is_in in zip(rows, inside(self._window, times)) if is_in]

    def _clocks(self) -> Columns:
        rows = list(self._run.sql(
            "SELECT cupti, processId AS process_id, moment, realtime, monotonicRaw AS monotonic_raw, "
            "realtimeError AS realtime_error FROM CLOCK ORDER BY 1, 2").dicts())  # fmt: skip
        mine = [
            row
            for row in self._in_window(rows, "cupti")
            if self._processes is None or row["process_id"] in self._processes
        ]
        keys = ("cupti", "process_id", "moment", "realtime", "monotonic_raw", "realtime_error")
        return {key: [row[key] for row in mine] for key in keys}

    def link_speed(self) -> int | None:
        """What NVLink carries in one direction between its GPU and another, in bytes per second; of several
        connections, that of the slowest. CUPTI counts both directions. None if no connection is known."""
        rows = self._run.sql(
            "SELECT bandwidth, processId AS process_id FROM CUPTI_ACTIVITY_KIND_NVLINK WHERE bandwidth > 0"
        ).dicts()
        mine = [row["bandwidth"] for row in rows
                if self._processes is None or row["process_id"] in self._processes]  # fmt: skip
        return min(mine) * 1000 // 2 if mine else None

    def _environment(self, devices: list[int]) -> Columns:
        rows = list(self._run.sql(
            "SELECT timestamp AS time, deviceId AS device_id, smClock AS sm_clock, "
            "clocksThrottleReasons AS throttle_reasons FROM CUPTI_ACTIVITY_KIND_ENVIRONMENT "
            "WHERE smClock IS NOT NULL ORDER BY 1, 2").dicts())  # fmt: skip
        mine = [row for row in self._in_window(rows, "time") if row["device_id"] in devices]
        keys = ("time", "device_id", "sm_clock", "throttle_reasons")
        return {key: [row[key] for row in mine] for key in keys}


def _arrow(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(values) if not isinstance(values, pa.ChunkedArray) else values
                     for name, values in columns.items()})  # fmt: skip


def _losses(run: Run) -> Columns:
    rows = list(run.losses.columns("name", "value", "severity", "reason").dicts())
    return {key: [row[key] for row in rows] for key in ("name", "value", "severity", "reason")}


def _ranks(run: Run, place: int) -> tuple[list[dict[str, Any]], bool]:
    """The ranks in the file with their processes, and whether the file says which they are. A file that
    does not is a rank of its own, whose number is its place among the files. Without GPU work it has no
    rank: it is of the process that starts them, for instance."""
    processes = list(run.processes.columns(
        "process_id", "rank", "world_size", "local_rank", "job").dicts())  # fmt: skip
    ranks: dict[int, dict[str, Any]] = {}
    for process in processes:
        if process["rank"] is None or process["rank"] < 0:
            continue
        rank = ranks.setdefault(process["rank"], {
            "rank": process["rank"], "world_size": process["world_size"],
            "local_rank": process["local_rank"], "job": process["job"], "processes": []})  # fmt: skip
        rank["processes"].append(process["process_id"])
    for row in operations.ranks_of_processes(run) if not ranks else ():
        rank = ranks.setdefault(row["rank"], {"rank": row["rank"], "world_size": row["ranks"],
                                              "local_rank": None, "job": None, "processes": []})  # fmt: skip
        rank["processes"].append(row["process"])
    if ranks:
        return [ranks[rank] for rank in sorted(ranks)], True
    if not list(run.sql("SELECT 1 FROM gpu_activities LIMIT 1").dicts()):
        return [], True
    named = operations.rank_of_communicators(run)
    rank = {"rank": place if named is None else named[0], "local_rank": None, "job": None,
            "world_size": None if named is None else named[1],
            "processes": sorted({process["process_id"] for process in processes})}  # fmt: skip
    return [rank], named is not None


def build_part(path: str, place: int, folder: str) -> dict[str, Any]:
    """Reads the file and writes its part, unless it is there. `place`: among the files, for a file
    that does not say which rank it is. Returns the manifest, or {"path", "error", "hint"}."""
    try:
        return _build_part(path, place, Store(folder))
    except OSError as error:
        if error.filename is not None and str(error.filename).startswith(folder):
            raise
        return {"path": path, "error": error.strerror or str(error), "hint": ""}
    except (Error, pa.ArrowException, duckdb.Error, ValueError, OverflowError) as error:
        hint = error.hint if isinstance(error, Error) else ""
        text = str(error)
        if hint and text.endswith(f" ({hint})"):
            text = text[: -len(hint) - 3]
        text = text.removeprefix(path + ": ").replace(path + " is", "it is", 1)
        return {"path": path, "error": text, "hint": hint}


def _build_part(path: str, place: int, store: Store) -> dict[str, Any]:
    status = status_of(path)
    if is_rolled_up(path):
        name, known = _copy_part(Store(path), store)
    else:
        name, known = _read_part(path, place, store)
    known.update({"path": os.path.abspath(path), "size": status.st_size, "modified_ns": status.st_mtime_ns,
                  "place": place})  # fmt: skip
    now = status_of(path)
    if (now.st_size, now.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
        raise FileError("it changed while it was read", "build again when nothing writes it", 20)
    store.write_manifest(name, known)
    return {**known, "key": name}


def _copy_part(rolled: Store, store: Store) -> tuple[str, dict[str, Any]]:
    """Of roll-ups: what they have is what a store has."""
    manifests = rolled.manifests()
    if not manifests:
        raise FileError(
            "it has nothing yet", "build again when its program has run for a while", 20
        )
    ((key, known),) = manifests.items()
    try:
        tables = {(kind, int(rank["rank"])): rolled.read(kind, int(rank["rank"]), key)
                  for rank in known["ranks"] for kind in KINDS}  # fmt: skip
    except (OSError, KeyError, TypeError) as error:
        raise FileError(f"it is damaged: {error}", "", 20) from None
    content = hashlib.sha256()
    for (kind, rank), table in sorted(tables.items()):
        content.update(f"{kind} {rank} {table.to_pydict()}".encode())
    name = hashlib.sha256(f"{FORMAT} {content.hexdigest()}".encode()).hexdigest()[:32]
    for (kind, rank), table in tables.items():
        store.write(kind, rank, name, dict(zip(table.column_names, table.columns)))
    return name, {**known, "content": content.hexdigest()[:32]}


def _read_part(path: str, place: int, store: Store) -> tuple[str, dict[str, Any]]:
    content = digest(path)
    with _run.open(path) as run:
        contents = run.info()[0]
        _check(run, contents)
        ranks, is_known = _ranks(run, place)
        key = hashlib.sha256(f"{FORMAT} {content} {None if is_known else place}".encode())
        name = key.hexdigest()[:32]
        known = store.manifest(name)
        if known is None:
            known = {"format": FORMAT, "content": content, "ranks": _write(run, ranks, name, store)}
            about = contents["run"]
            known.update({k: about.get(k) for k in FACTS})
            known["rank_is_known"] = is_known
        return name, known


def _write(run: Run, ranks: list[dict[str, Any]], key: str, store: Store) -> list[dict[str, Any]]:
    losses = _losses(run)
    for rank in ranks:
        part = RankPart(run, rank["processes"] if len(ranks) > 1 or rank["job"] else None)
        part.read()
        part.rows["losses"] = losses if rank is ranks[0] else {key: [] for key in losses}
        for kind, columns in part.rows.items():
            store.write(kind, rank["rank"], key, columns)
        rank["kernels"] = len(part.rows["kernels"]["start"])
        rank["collectives"] = len(part.rows["collectives"]["start"])
        rank["steps"] = len(part.rows["steps"]["step"])
        rank["devices"] = part._devices()
        rank["link_bytes_per_second"] = part.link_speed()
        rank["untimed"] = part.untimed
        rank["losses"] = len(part.rows["losses"]["name"])
    return ranks
