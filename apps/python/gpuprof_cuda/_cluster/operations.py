"""Collective operations: NCCL's kernels, with the communicator that each is of."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from .._library import QuestionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._run import Run

# As schema/traits.hpp has it: names of kernels that communicate begin with it, where the file does not say
# which do.
COMMUNICATION = "nccl"
_KERNELS = """
SELECT coalesce(s.demangled, s.value) AS name FROM NCCL_KERNEL AS k JOIN StringTable AS s ON s._id_ = k.name
"""
# In names of kernels, ncclDevKernel_AllReduce_Sum_f32_RING_LL. Those that contain another come first.
OPERATIONS = ("AllReduce", "ReduceScatter", "AllGather", "AlltoAll", "Broadcast", "Reduce",
              "SendRecv")  # fmt: skip
POINT_TO_POINT = ("SendRecv", "Send", "Recv")

# Fields of the payloads of NCCL's NVTX ranges (src/include/nvtx_payload_schemas.h of NCCL).
_COMMUNICATOR, _BYTES = "NCCL communicator ID", "Message size [bytes]"
_RANK, _RANKS = "Rank", "No. of ranks"
_PAYLOADS = """
SELECT r._id_ AS id, r.processId AS process, n.value AS name, p.field AS field, p.intValue AS value
FROM NVTX_PAYLOAD AS p
JOIN NVTX_RANGE AS r ON r.id = p.id AND r.processId = p.processId
JOIN StringTable AS d ON d._id_ = r.domain
LEFT JOIN StringTable AS n ON n._id_ = r.name
WHERE d.value = 'NCCL' AND p.intValue IS NOT NULL
"""


def _rows(run: Run, sql: str) -> list[dict[str, Any]]:
    """Empty for a file without these tables."""
    try:
        return list(run.sql(sql).dicts())
    except QuestionError:
        return []


def _payloads(run: Run) -> dict[int, dict[str, Any]]:
    """By range: its name, and the whole numbers in its payload by field."""
    found: dict[int, dict[str, Any]] = {}
    for row in _rows(run, _PAYLOADS):
        found.setdefault(row["id"], {"name": row["name"]})[row["field"]] = row["value"]
    return found


# Ranges of sends and receives, and those that end groups of them and launch their kernel.
_TRANSFERS = """
SELECT r._id_ AS id, r.processId AS process, r.start AS start, n.value AS name
FROM NVTX_RANGE AS r
JOIN StringTable AS d ON d._id_ = r.domain
JOIN StringTable AS n ON n._id_ = r.name
WHERE d.value = 'NCCL' AND n.value IN ('ncclSend', 'ncclRecv', 'ncclGroupEnd') ORDER BY r.start, r._id_
"""


class _Transfers:
    """What the sends and receives before each launch of a kernel carry, in bytes."""

    def __init__(self, run: Run, payloads: dict[int, dict[str, Any]]) -> None:
        self._before: dict[
            int, tuple[int, int]
        ] = {}  # by range: sent and received until it was opened
        self._done: dict[int, tuple[int, int]] = {}  # by process: until its last kernel
        sums: dict[int, tuple[int, int]] = {}
        for row in _rows(run, _TRANSFERS):
            sent, received = sums.get(row["process"], (0, 0))
            size = payloads.get(row["id"], {}).get(_BYTES) or 0
            if row["name"] == "ncclSend":
                sent += size
            elif row["name"] == "ncclRecv":
                received += size
            self._before[row["id"]] = sums[row["process"]] = (sent, received)

    def of(self, process: int, launched_in: int | None) -> tuple[int | None, int | None]:
        """Of the next kernel of the process, which was launched in that range: sent and received."""
        if launched_in is None or launched_in not in self._before:
            return None, None
        now, done = self._before[launched_in], self._done.get(process, (0, 0))
        self._done[process] = now
        sent, received = now[0] - done[0], now[1] - done[1]
        return (sent, received) if sent >= 0 and received >= 0 and sent + received else (None, None)


# What NCCL reported to gpuprof as its profiler plug-in. Operations of a group share a kernel.
_REPORTED = """
SELECT o.processId AS process, o.communicator AS communicator, f.value AS function, o.bytes AS bytes,
       o.correlationId AS correlation, o.graphNode AS node, o.sequence AS sequence
FROM NCCL_OPERATION AS o JOIN StringTable AS f ON f._id_ = o.function
WHERE o.correlationId IS NOT NULL ORDER BY o._id_
"""
_NODES = "SELECT processId AS process, node, source FROM NCCL_NODE"
# In SQLite rank is that of the row with the most.
_RANKS_OF_PROCESSES = """
SELECT processId AS process, rank, max(ranks) AS ranks FROM NCCL_OPERATION
WHERE rank >= 0 AND rank < ranks GROUP BY processId ORDER BY processId
"""


class _Reported:
    """The operations of each kernel, as NCCL reported them."""

    def __init__(self, run: Run) -> None:
        self._by_launch: dict[int, list[dict[str, Any]]] = {}
        self._by_node: dict[tuple[int, int], list[dict[str, Any]]] = {}
        captured: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for each in _rows(run, _REPORTED):
            if each["node"] is None:
                self._by_launch.setdefault(each["correlation"], []).append(each)
            else:
                captured.setdefault((each["process"], each["node"]), []).append(each)
        for each in _rows(run, _NODES) if captured else ():
            source = captured.get((each["process"], each["source"]))
            if source:
                self._by_node[each["process"], each["node"]] = source

    def of(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Of a kernel: communicator, operation, bytes, sent and received, and the sequence number of one that
        was not captured. None: nothing was reported."""
        operations = self._by_launch.get(row["correlation_id"])
        is_captured = not operations
        if not operations:
            operations = self._by_node.get((row["process_id"], row["graph_node_id"]))
        if not operations:
            return None
        functions = [each["function"] for each in operations]
        found: dict[str, Any] = {"communicator": operations[0]["communicator"], "bytes": None,
                                 "sent": None, "received": None,
                                 "sequence": None if is_captured else operations[0]["sequence"]}  # fmt: skip
        known = all(each["bytes"] is not None for each in operations)
        if all(function in POINT_TO_POINT for function in functions):
            found["operation"] = "SendRecv"
            if known:
                for key, function in (("sent", "Send"), ("received", "Recv")):
                    found[key] = sum(
                        each["bytes"] for each in operations if each["function"] == function
                    )
        else:
            found["operation"] = functions[0]
            if known:
                found["bytes"] = sum(each["bytes"] for each in operations)
        return found


def ranks_of_processes(run: Run) -> list[dict[str, Any]]:
    """By process: its rank in its largest communicator, and how many that has, as NCCL reported them."""
    return _rows(run, _RANKS_OF_PROCESSES)


def rank_of_communicators(run: Run) -> tuple[int, int] | None:
    """The rank that the process has in its largest communicator, and how many that one has."""
    largest = None
    for payload in _payloads(run).values():
        if _RANK in payload and _RANKS in payload and 0 <= payload[_RANK] < payload[_RANKS]:
            if largest is None or payload[_RANKS] > largest[1]:
                largest = (payload[_RANK], payload[_RANKS])
    return largest


def _operation_of(kernel: str) -> str:
    return next((each for each in OPERATIONS if each in kernel), "other")


@dataclasses.dataclass
class Counts:
    """What goes on from one part of a recording to the next."""

    places: dict[tuple[Any, str], int] = dataclasses.field(default_factory=dict)  # of the next
    streams: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    devices: set[int] = dataclasses.field(default_factory=set)  # that were used


def collectives(run: Run, kernels: pa.Table, steps: Any, counts: Counts) -> dict[str, Any]:
    """A row for each communication kernel, in order of start. The communicator is the one that NCCL
    reported, or that the payload of the NVTX range names in which it was launched; without either
    that of the other kernels of its stream, and otherwise "stream 0": that stream, counted in order of
    use."""
    name = kernels.column("name").combine_chunks()
    texts = [text or "" for text in name.dictionary.to_pylist()]
    known = {row["name"] for row in _rows(run, _KERNELS)}
    is_one = np.array([text in known if known else text.startswith(COMMUNICATION) for text in texts]
                      or [False])  # fmt: skip
    chosen = np.flatnonzero(is_one[name.indices.fill_null(0).to_numpy(zero_copy_only=False)])
    payloads = _payloads(run) if len(chosen) else {}
    transfers = _Transfers(run, payloads)
    reported = _Reported(run)
    rows = kernels.take(pa.array(chosen)).select(
        ["start", "duration", "name", "range_id", "process_id", "device_id", "stream_id", "correlation_id",
         "graph_node_id"]).to_pylist()  # fmt: skip
    steps = np.ma.asarray(steps)[chosen].tolist()
    names = [payloads.get(row["range_id"], {}) for row in rows]
    said = [reported.of(row) for row in rows]
    by_stream: dict[tuple[int, int], set[int]] = {}
    for row, payload, its in zip(rows, names, said):
        number = its["communicator"] if its else payload.get(_COMMUNICATOR)
        if number is not None:
            by_stream.setdefault((row["process_id"], row["stream_id"]), set()).add(number)
    order, places = counts.streams, counts.places
    found: dict[str, Any] = {key: [] for key in (
        "start", "end", "step", "communicator", "is_named", "place", "operation", "sequence", "bytes", "sent",
        "received", "device_id", "stream_id")}  # fmt: skip
    for row, step, payload, its in zip(rows, steps, names, said):
        stream = (row["process_id"], row["stream_id"])
        of_stream = by_stream.get(stream, set())
        number = its["communicator"] if its else payload.get(_COMMUNICATOR)
        if number is None and len(of_stream) == 1:
            (number,) = of_stream
        if number is None:
            communicator = f"stream {order.setdefault(stream, len(order))}"
        else:
            communicator = f"{number & (2**64 - 1):016x}"
        called = (payload.get("name") or "") if _COMMUNICATOR in payload else ""
        operation, size, sequence = called.removeprefix("nccl"), payload.get(_BYTES), None
        # NCCL makes sends and receives of some collectives, AlltoAll for example.
        is_made = called and operation not in POINT_TO_POINT
        if its and not (is_made and its["operation"] in POINT_TO_POINT):
            operation, size, sequence = its["operation"], its["bytes"], its["sequence"]
        elif not operation:
            operation = _operation_of(row["name"] or "")
        place = None
        if operation not in POINT_TO_POINT:
            place = places.get((step, communicator), 0)
            places[step, communicator] = place + 1
        found["start"].append(row["start"])
        found["end"].append(row["start"] + row["duration"])
        found["step"].append(step)
        found["communicator"].append(communicator)
        found["is_named"].append(number is not None)
        found["place"].append(place)
        found["operation"].append(operation)
        found["sequence"].append(sequence if place is not None else None)
        sent, received = None, None
        if place is None:
            sent, received = transfers.of(row["process_id"], row["range_id"])
            if its:
                sent, received = its["sent"], its["received"]
        found["bytes"].append(size)
        found["sent"].append(sent)
        found["received"].append(received)
        found["device_id"].append(row["device_id"])
        found["stream_id"].append(row["stream_id"])
    return found
