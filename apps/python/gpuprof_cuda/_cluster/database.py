"""A store as a DuckDB database: a view for each kind, read-only and confined to the store."""

from __future__ import annotations

import os
import tempfile

import duckdb

from .store import KINDS, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMED = ("kernels", "copies", "sets", "rollups")  # have name_id


def connect(store: Store, threads: int = 0) -> Any:
    """A DuckDB connection. The views have the columns of KINDS with `rank` before them, and `ranks` has
    what is known of each. Where a column name_id was, are name and short_name. It reads no other files,
    and writes none."""
    manifests = store.manifests()
    connection = duckdb.connect(config={"threads": threads} if threads else {})
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    spilled = os.path.join(tempfile.gettempdir(), f"gpuprof-cluster-{os.getpid()}")
    connection.execute(f"SET temp_directory = {_quoted(spilled)}")
    for kind, schema in KINDS.items():
        files = store.files(kind, manifests)
        if files:
            connection.execute(
                f"CREATE VIEW _{kind} AS SELECT rank, * EXCLUDE (rank, kind) FROM read_parquet("
                + f"[{', '.join(map(_quoted, files))}], hive_partitioning = true,"
                + " hive_types = {'rank': BIGINT, 'kind': VARCHAR})"
            )
        else:
            columns = ", ".join(f'NULL AS "{name}"' for name in schema.names)
            connection.execute(
                f"CREATE VIEW _{kind} AS SELECT NULL::BIGINT AS rank, {columns} LIMIT 0"
            )
    connection.execute(
        "CREATE TABLE names AS SELECT id, min(name) AS name, min(short_name) AS short_name "
        "FROM _names GROUP BY id ORDER BY id"
    )
    for kind in KINDS:
        if kind in _NAMED:
            connection.execute(
                f"CREATE VIEW {kind} AS SELECT w.rank, n.name, n.short_name, w.* EXCLUDE (rank, name_id) "
                f"FROM _{kind} AS w LEFT JOIN names AS n ON n.id = w.name_id"
            )
        elif kind != "names":
            connection.execute(f"CREATE VIEW {kind} AS SELECT * FROM _{kind}")
    connection.execute(
        "CREATE TABLE ranks(rank BIGINT, world_size BIGINT, local_rank BIGINT, job VARCHAR, "
        "host VARCHAR, boot_id VARCHAR, file VARCHAR, kernels BIGINT, collectives BIGINT, steps BIGINT, "
        "losses BIGINT, untimed BIGINT, rolled_up BIGINT, clock_error_ns BIGINT, link_bytes_per_second BIGINT)"
    )
    rows = ranks_of(manifests)
    if rows:
        connection.executemany(
            f"INSERT INTO ranks VALUES({', '.join('?' * len(rows[0]))})",
            [[row[key] for key in row] for row in rows],
        )
    connection.execute(f"SET allowed_directories = [{_quoted(os.path.abspath(store.path))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def ranks_of(manifests: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What is known of each rank, in their order. `boot_id` is the clock: that of the host's name, or of the
    file, where the file does not say."""
    rows = []
    for key, manifest in manifests.items():
        for rank in manifest["ranks"]:
            rows.append({
                "rank": int(rank["rank"]),
                **{name: rank[name] for name in ("world_size", "local_rank", "job")},
                "host": manifest["host_name"],
                "boot_id": manifest["boot_id"] or manifest["host_name"] or key,
                "file": manifest["path"],
                **{name: rank[name] for name in ("kernels", "collectives", "steps", "losses", "untimed")},
                "rolled_up": rank.get("rolled_up"),  # each nth step is kept; None: recorded in full
                # What NTP or PTP keeps its clock within, as its kernel says; None: it is not kept.
                "clock_error_ns": manifest.get("clock_error_ns"),
                "link_bytes_per_second": rank.get("link_bytes_per_second"),  # of NVLink, in one direction
            })  # fmt: skip
    return sorted(rows, key=lambda row: row["rank"])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
