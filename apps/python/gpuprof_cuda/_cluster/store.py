"""The files of a store.

    store.json                               that it is one, and its format
    files/KEY.json                           a source file: what it is, its ranks, what was noted
    kind=kernels/rank=3/KEY.parquet          rows of a rank; KINDS has the columns

KEY is made of the content of the source file, so a part never changes. It is there when its KEY.json is, which
is written last; other files have names that begin with a dot until they are complete. Paths are made of
keys and ranks alone, whatever a file says."""

from __future__ import annotations

import fcntl
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet

from .._library import Error, FileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FORMAT = 3
FACTS = ("host_name", "boot_id", "clock_error_ns", "gpuprof_version")  # of RUN, in a manifest
ROLLED_UP = (
    ".rollups"  # ends the name of a folder that has the roll-ups of one recording (roll_up.py)
)
ROWS_PER_GROUP = 122_880

_WORK = [
    ("start", pa.int64()),  # ns, on the clock of the source file
    ("duration", pa.int64()),  # ns
    ("step", pa.int64()),  # NULL: of no step
    ("device_id", pa.int32()),
    ("stream_id", pa.int64()),
    ("process_id", pa.int64()),
    ("correlation_id", pa.int64()),
]
# Rows of each rank, sorted by their first time. All times are ns.
KINDS: dict[str, Any] = {
    kind: pa.schema(columns)
    for kind, columns in {
        "names": [("id", pa.int64()), ("name", pa.string()), ("short_name", pa.string())],
        "kernels": [("name_id", pa.int64()), *_WORK],
        "copies": [("name_id", pa.int64()), *_WORK, ("bytes", pa.int64())],
        "sets": [("name_id", pa.int64()), *_WORK, ("bytes", pa.int64())],
        "rollups": [
            ("step", pa.int64()),
            ("work", pa.string()),  # kernel, copy, set, call
            ("name_id", pa.int64()),
            ("device_id", pa.int32()),  # NULL: of a call
            ("stream_id", pa.int64()),
            ("count", pa.int64()),
            ("ns", pa.int64()),
            ("min_ns", pa.int64()),
            ("median_ns", pa.int64()),
            ("p99_ns", pa.int64()),
            ("max_ns", pa.int64()),
            ("bytes", pa.int64()),
        ],
        "steps": [
            ("step", pa.int64()),
            ("name", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),  # when the next one began; of the last, when it ended
        ],
        "account": [
            ("step", pa.int64()),  # NULL: before the first, and after the last
            ("device_id", pa.int32()),
            ("class", pa.string()),
            ("cause", pa.string()),
            ("ns", pa.int64()),
            ("intervals", pa.int64()),
        ],
        "gaps": [
            ("start", pa.int64()),
            ("duration", pa.int64()),
            ("step", pa.int64()),
            ("device_id", pa.int32()),
            ("host_call", pa.string()),
            ("host_call_ns", pa.int64()),
            ("no_call_ns", pa.int64()),
        ],
        "collectives": [
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("step", pa.int64()),
            ("communicator", pa.string()),
            ("is_named", pa.bool_()),  # NCCL's NVTX payload names the communicator
            ("place", pa.int64()),  # in the step and the communicator, from 0; NULL: point to point
            ("operation", pa.string()),
            ("sequence", pa.int64()),  # NCCL_OPERATION.sequence; NULL: not known
            ("bytes", pa.int64()),
            ("sent", pa.int64()),  # bytes, point to point; NULL: not known
            ("received", pa.int64()),
            ("device_id", pa.int32()),
            ("stream_id", pa.int64()),
        ],
        "losses": [
            ("name", pa.string()),
            ("value", pa.int64()),
            ("severity", pa.string()),
            ("reason", pa.string()),
        ],
        "clocks": [
            ("cupti", pa.int64()),
            ("process_id", pa.int64()),
            ("moment", pa.string()),
            ("realtime", pa.int64()),
            ("monotonic_raw", pa.int64()),
            ("realtime_error", pa.int64()),
        ],
        "environment": [
            ("time", pa.int64()),
            ("device_id", pa.int32()),
            ("sm_clock", pa.int64()),  # MHz
            ("throttle_reasons", pa.int64()),  # bits of CUpti_EnvironmentClocksThrottleReason
        ],
    }.items()
}
# Paths in a store.
_PART = re.compile(
    r"(files|kind=[a-z]+/rank=-?[0-9]+)/(?P<unfinished>\.)?(?P<key>[0-9a-f]{32})\.(json|parquet)(\.[0-9]+)?"
)
_DELTAS = ("start", "end", "correlation_id", "cupti", "time")


def _replace(path: str, write: Any) -> None:
    """Complete or absent."""
    part = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
    try:
        write(part)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def _write_json(path: str, value: object) -> None:
    def write(part: str) -> None:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())

    _replace(path, write)


class Store:
    """A folder with the parts of a store. Several processes may write parts at a time."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _marker(self) -> str:
        return os.path.join(self.path, "store.json")

    def prepare(self) -> None:
        """Makes the folder, or takes one that is empty or a store."""
        try:
            os.makedirs(self.path, exist_ok=True)
            if not os.path.exists(self._marker()):
                if os.listdir(self.path):
                    raise Error(
                        f"{self.path} is there already, and is not a store",
                        "choose another name for -o",
                        21,
                    )
                _write_json(self._marker(), {"format": FORMAT})
            self.check()
            os.makedirs(os.path.join(self.path, "files"), exist_ok=True)
        except OSError as error:
            raise Error(f"{self.path} cannot be written: {error.strerror}", "", 21) from None

    def check(self) -> None:
        try:
            with open(self._marker(), encoding="utf-8") as file:
                found = json.load(file)
            version = found["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise FileError(
                f"{self.path} is not a store", "gpuprof cluster build FILES -o STORE makes one", 20
            ) from None
        if version != FORMAT:
            raise FileError(
                f"{self.path} is a store of another version of gpuprof",
                "gpuprof cluster build FILES -o ANOTHER makes one of this version",
                20,
            )

    def lock(self) -> int:
        """One build at a time: a descriptor that holds the lock until it is closed."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise Error(f"another build writes {self.path}", "wait until it is over", 21) from None
        except OSError:
            pass  # a file system without locks
        return folder

    # Parts

    def _file(self, kind: str, rank: int, key: str) -> str:
        return os.path.join(self.path, f"kind={kind}", f"rank={rank}", f"{key}.parquet")

    def write(self, kind: str, rank: int, key: str, columns: dict[str, Any]) -> None:
        schema = KINDS[kind]
        columns = {name: values if isinstance(values, pa.ChunkedArray) else pa.array(values, type=schema.field(name).type)
                   for name, values in columns.items()}  # fmt: skip
        table = pa.table([columns[name] for name in schema.names], schema=schema)
        deltas = {name: "DELTA_BINARY_PACKED" for name in schema.names if name in _DELTAS}
        path = self._file(kind, rank, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _replace(
            path,
            lambda part: pyarrow.parquet.write_table(
                table,
                part,
                row_group_size=ROWS_PER_GROUP,
                compression="zstd",
                use_dictionary=[name for name in schema.names if name not in deltas],
                column_encoding=deltas or None,
            ),
        )

    def write_manifest(self, key: str, manifest: dict[str, Any]) -> None:
        _write_json(self._manifest_file(key), manifest)

    def _manifest_file(self, key: str) -> str:
        return os.path.join(self.path, "files", key + ".json")

    def manifest(self, key: str) -> dict[str, Any] | None:
        """None: there is no such part."""
        try:
            with open(self._manifest_file(key), encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
                return found
        except FileNotFoundError:
            return None

    def manifests(self) -> dict[str, dict[str, Any]]:
        """By key, in the order of the source files' names."""
        self.check()
        found = {}
        folder = os.path.join(self.path, "files")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if not re.fullmatch(r"[0-9a-f]{32}\.json", name):
                continue
            if manifest := self.manifest(name[:-5]):
                found[name[:-5]] = manifest
        return dict(sorted(found.items(), key=lambda item: (item[1]["path"], item[0])))

    def files(self, kind: str, manifests: dict[str, dict[str, Any]]) -> list[str]:
        """The Parquet files of a kind, by rank."""
        places = [
            (int(rank["rank"]), key)
            for key, manifest in manifests.items()
            for rank in manifest["ranks"]
        ]
        return [self._file(kind, rank, key) for rank, key in sorted(places)]

    def read(self, kind: str, rank: int, key: str) -> pa.Table:
        """Rows of a part. Throws pyarrow's errors for a file that has others."""
        found = pyarrow.parquet.read_table(self._file(kind, rank, key), partitioning=None)
        return found.select(KINDS[kind].names).cast(KINDS[kind])

    def bytes(self) -> int:
        """Of all parts."""
        return sum(os.path.getsize(path) for path, _ in self._parts())

    def _parts(self) -> Iterator[tuple[str, str | None]]:
        """Files of parts, and the key of each; None: what a killed build left. Nothing else in the folder is
        a store's."""
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = os.path.join(folder, name)
                if match := _PART.fullmatch(os.path.relpath(path, self.path)):
                    yield path, None if match["unfinished"] else match["key"]

    def remove_others(self, keys: set[str]) -> None:
        """Removes the parts that are not of these keys, and what killed builds left."""
        for path, key in list(self._parts()):
            if key not in keys:
                os.remove(path)
                self._remove_if_empty(os.path.dirname(path))

    def _remove_if_empty(self, folder: str) -> None:
        while folder != self.path:
            try:
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)
