"""Roll-ups of a recording that goes on: what `gpuprof --ranks` keeps of the ranks that it leaves out.

The recording is a ring of records. Now and then it is copied, and what is new in it is added to a store of this
file alone, whose folder ends in .rollups: no records, and of each nth step alone what a store has by step, with
n as small as a megabyte an hour allows. What belongs to other steps is added up as of none. n is a power of two,
so that ranks with different ones have steps in common."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import select
import shutil
import subprocess
import sys
import time

import duckdb
import pyarrow as pa

from .. import _run
from .._library import Error, program
from . import operations, part
from .steps import Window
from .store import FACTS, FORMAT, KINDS, ROLLED_UP, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BYTES_PER_HOUR = 1_000_000  # of a rank
_MARGIN_NS = 5_000_000_000  # what began earlier than that before a copy is complete in it, at most
_MOST_STEPS = 1 << 40

# By kind, what of it stays: n is the distance of the steps that are kept.
_KEPT = {
    "names": "SELECT id, min(name) AS name, min(short_name) AS short_name FROM t GROUP BY 1 ORDER BY 1",
    "rollups": """
        SELECT CASE WHEN step % $n = 0 THEN step END AS step, work, name_id, device_id, stream_id,
               sum(count)::BIGINT AS count, sum(ns)::BIGINT AS ns, min(min_ns) AS min_ns,
               CASE WHEN count(*) = 1 THEN min(median_ns) END AS median_ns,
               CASE WHEN count(*) = 1 THEN min(p99_ns) END AS p99_ns, max(max_ns) AS max_ns, sum(bytes)::BIGINT AS bytes
        FROM t GROUP BY 1, 2, 3, 4, 5 ORDER BY ALL""",
    "account": """
        SELECT CASE WHEN step % $n = 0 THEN step END AS step, device_id, class, cause, sum(ns)::BIGINT AS ns,
               sum(intervals)::BIGINT AS intervals
        FROM t GROUP BY 1, 2, 3, 4 ORDER BY ALL""",
    "steps": "SELECT * FROM t WHERE step % $n = 0 ORDER BY ALL",
    "collectives": "SELECT * FROM t WHERE step % $n = 0 ORDER BY ALL",
    "gaps": "SELECT * FROM t WHERE step % $n = 0 ORDER BY ALL",
    "losses": "SELECT * FROM t",
    "clocks": "SELECT DISTINCT * FROM t ORDER BY ALL",
    "environment": "SELECT * EXCLUDE (i) FROM (SELECT *, row_number() OVER (ORDER BY time, device_id) AS i FROM t) "
                   "WHERE i % $n = 0 ORDER BY ALL",
}  # fmt: skip


class _Rank:
    """What is kept of one rank so far."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.tables = {kind: schema.empty_table() for kind, schema in KINDS.items()}
        self.counts = operations.Counts()
        self.since: int | None = None
        self.steps = 0
        self.kernels = self.untimed = 0

    def add(self, run: _run.Run, until: int | None, patience_ns: int) -> None:
        """What is new and began before that time: until the last step before it began, for which it is waited
        so long. None: all."""
        processes = self.about["processes"]
        window = Window(self.since, until, self.steps)
        new = part.RankPart(run, processes, window, self.counts)
        begin = None if until is None else new.steps.last_begin(until)
        if until is not None and begin is not None:
            if begin > (self.since or 0):
                window.until = begin
                new = part.RankPart(run, processes, window, self.counts)
            elif until - (self.since or 0) < patience_ns:
                return
        new.read()
        self.kernels += len(new.rows["kernels"]["start"])
        self.steps += len(new.rows["steps"]["step"])
        self.untimed = max(self.untimed, new.untimed)
        for kind in _KEPT:
            if kind in new.rows:
                self.tables[kind] = pa.concat_tables(
                    [self.tables[kind], store_table(kind, new.rows[kind])]
                )
        self.since = window.until
        recent = {step for step, _ in list(self.counts.places)[-1000:]}
        self.counts.places = {key: n for key, n in self.counts.places.items() if key[0] in recent}

    def is_one_step(self) -> None:
        """There were no steps: a run without steps is one."""
        if self.steps:
            return
        self.steps = 1
        for kind in ("rollups", "account"):
            table = self.tables[kind]
            zeros = pa.array([0] * len(table), type=pa.int64())
            self.tables[kind] = table.set_column(
                table.schema.get_field_index("step"), "step", zeros
            )
        self.tables["steps"] = store_table(
            "steps", {"step": [0], "name": [None], "start": [None], "end": [None]}
        )

    def thin(self, n: int) -> None:
        with contextlib.closing(duckdb.connect(config={"threads": 1})) as connection:
            for kind, query in _KEPT.items():
                connection.register("t", self.tables[kind])
                kept = connection.execute(query.replace("$n", str(n))).arrow()
                table = kept.read_all() if hasattr(kept, "read_all") else kept
                self.tables[kind] = table.select(KINDS[kind].names).cast(KINDS[kind])


def store_table(kind: str, columns: dict[str, Any]) -> pa.Table:
    schema = KINDS[kind]
    return pa.Table.from_arrays(
        [pa.array(columns[field.name], type=field.type) for field in schema], schema=schema
    )


class RollUp:
    """The roll-ups of one recording, in a store at `output`."""

    def __init__(self, output: str, rank: int, every_ns: int) -> None:
        self._patience_ns = every_ns  # a third of what the ring keeps
        self._margin_ns = min(_MARGIN_NS, every_ns)
        self._store = Store(output)
        self._place = rank  # of a recording that does not say which rank it is
        self._ranks: dict[int, _Rank] = {}
        self._about: dict[str, Any] = {}
        self._losses: dict[str, Any] = {"name": [], "value": [], "severity": [], "reason": []}
        self._late_ns = 0
        self._first: int | None = None  # the earliest time, and the latest
        self._last = 0
        self._n = 1
        self._serial = 0

    def late(self, ns: int) -> None:
        """Of so much time records may be missing, because they were let go before they were rolled up."""
        self._late_ns += ns

    def add(self, path: str, copied: int | None) -> None:
        """Adds what is new in a copy that was begun at that time (CLOCK_MONOTONIC_RAW), or, with None, in the
        recording that is over."""
        is_over = copied is None
        with _run.open(path) as run:
            contents = run.info()[0]
            part._check(run, contents, is_over)
            ranks, _ = part._ranks(run, self._place)
            times = list(run.sql(
                "SELECT min(start) AS first, max(start) AS last FROM (SELECT min(start) AS start FROM api_calls UNION ALL "
                "SELECT max(start) FROM api_calls UNION ALL SELECT min(start) FROM gpu_activities UNION ALL "
                "SELECT max(start) FROM gpu_activities)").dicts())[0]  # fmt: skip
            if times["last"] is None:
                return
            self._first = times["first"] if self._first is None else self._first
            self._last = max(self._last, times["last"])
            until = None if copied is None else self._time(run, copied) - self._margin_ns
            self._about = contents["run"]
            self._losses = part._losses(run)
            for each in ranks:
                rank = self._ranks.setdefault(each["rank"], _Rank(each))
                rank.about = {
                    **each,
                    "processes": each["processes"] if len(ranks) > 1 or each["job"] else None,
                }
                if until is None or until > (rank.since or self._first):
                    rank.add(run, until, self._patience_ns)
        if is_over:
            for rank in self._ranks.values():
                rank.is_one_step()
        self._write()

    def _time(self, run: _run.Run, raw: int) -> int:
        """That time on CUPTI's clock. What began before has come with the copy."""
        clocks = list(run.sql("SELECT cupti, monotonicRaw AS raw FROM CLOCK WHERE monotonicRaw IS NOT NULL "
                              "ORDER BY cupti DESC LIMIT 1").dicts())  # fmt: skip
        return int(clocks[0]["cupti"] + raw - clocks[0]["raw"]) if clocks else self._last

    def _write(self) -> None:
        """Complete, or as it was before."""
        hours = max(1.0, (self._last - (self._first or 0)) / 3.6e12)
        most = BYTES_PER_HOUR * hours * max(1, len(self._ranks))
        while self._written() > most and self._n < _MOST_STEPS:
            self._n *= 2

    def _written(self) -> int:
        """With this n: how many bytes."""
        losses = {key: list(values) for key, values in self._losses.items()}
        # Says of the recording that is over whether anything was let go.
        if self._late_ns and "--keep-last" in (self._about.get("derived_from") or ""):
            for key, value in (("name", "not_rolled_up_ns"), ("value", self._late_ns), ("severity", "data_loss"),
                               ("reason", "rolling up took longer than records are kept")):  # fmt: skip
                losses[key].append(value)
        self._serial += 1
        key = hashlib.sha256(
            f"{self._store.path} {self._place} {self._serial}".encode()
        ).hexdigest()[:32]
        described: list[dict[str, Any]] = []
        for number, rank in sorted(self._ranks.items()):
            rank.thin(self._n)
            is_first = not described
            rank.tables["losses"] = store_table(
                "losses", losses if is_first else {name: [] for name in losses}
            )
            for kind, table in rank.tables.items():
                self._store.write(kind, number, key, dict(zip(table.column_names, table.columns)))
            described.append({
                **{name: rank.about[name] for name in ("rank", "world_size", "local_rank", "job")},
                "kernels": rank.kernels, "steps": rank.steps, "untimed": rank.untimed, "rolled_up": self._n,
                "collectives": len(rank.tables["collectives"]), "losses": len(rank.tables["losses"]),
            })  # fmt: skip
        facts = {name: self._about.get(name) for name in FACTS}
        self._store.write_manifest(
            key, {"format": FORMAT, "content": key, "path": "", "place": 0, "size": 0, "modified_ns": 0,
                  "rank_is_known": True, "ranks": described, **facts})  # fmt: skip
        self._store.remove_others({key})
        return self._store.bytes()

    def words(self) -> str:
        if not self._ranks:
            return "nothing was recorded"
        kernels = sum(rank.kernels for rank in self._ranks.values())
        steps = max(rank.steps for rank in self._ranks.values())
        each = "" if self._n == 1 else f", of which each {self._n}th is kept"
        return f"roll-ups of {kernels} kernels in {steps} steps{each}; {self._store.bytes() / 1e3:.0f} kB"


def _gpuprof(*words: str) -> bool:
    return subprocess.run([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0  # fmt: skip


class _Follower:
    """Copies the recording now and then, until standard input ends."""

    def __init__(self, recording: str, rolled: RollUp, every: float) -> None:
        self._recording, self._rolled, self._every = recording, rolled, every
        self._copied = time.monotonic()

    def run(self) -> None:
        begin = time.monotonic()
        while not self._is_over(begin + self._every - time.monotonic()):
            begin = time.monotonic()
            self._copy()
        self._look_at_the_clock()
        with self._kept_folder():
            if not self._is_finished():
                _gpuprof("finish", "-q", self._recording)
            self._rolled.add(self._recording, None)

    @contextlib.contextmanager
    def _kept_folder(self) -> Iterator[None]:
        """The folder of the recording, which is gpuprof's, or that of nobody if gpuprof was killed: then the next one
        would remove it, unless its lock is held."""
        folder = os.path.dirname(self._recording)
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield
        else:
            yield
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)

    def _look_at_the_clock(self) -> None:
        """A copy has what began up to `every` before it at most, and the ring keeps what came in three times that."""
        late = time.monotonic() - self._copied - 2 * self._every
        if late > 0:
            self._rolled.late(round(late * 1e9))

    def _is_over(self, seconds: float) -> bool:
        readable, _, _ = select.select([0], [], [], max(0.0, seconds))
        return bool(readable)

    def _is_finished(self) -> bool:
        with _run.open(self._recording) as run:
            return bool(run.info()[0].get("state") == "complete")

    def _copy(self) -> None:
        copy = self._recording + ".copy"
        begin, raw = time.monotonic(), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if not _gpuprof("snapshot", "-q", "-f", "-o", copy, self._recording):
            return  # nothing was recorded yet, or the run has just ended
        try:
            self._look_at_the_clock()
            self._copied = begin
            self._rolled.add(copy, raw)
        finally:
            os.remove(copy)


def follow(
    recording: str, output: str, rank: int, every: float, overwrite: bool, quiet: bool
) -> None:
    """Rolls up the recording until standard input ends. One byte on standard output: it has begun."""
    if not output.endswith(ROLLED_UP):
        raise Error(f"the name of a folder of roll-ups ends in {ROLLED_UP}", "", 5)
    os.nice(10)
    store = Store(output)
    store.prepare()
    if store.manifests() and not overwrite:
        raise Error(
            f"{output} is there already", "use -f to replace it, or choose another name for -o", 21
        )
    lock = store.lock()
    try:
        store.remove_others(set())
        os.write(1, b"\n")
        rolled = RollUp(output, rank, round(every * 1e9))
        _Follower(recording, rolled, every).run()
        if not quiet:
            print(f"gpuprof: {output}: {rolled.words()}", file=sys.stderr)
    finally:
        os.close(lock)
