"""Reads a snapshot of PyTorch's allocator on stdin, and writes its segments to stdout as JSON.

_memory.py starts this file as a process of its own. An Unpickler that refuses classes executes nothing of a
pickle, but 10 bytes of one can make it allocate 64 GB (a place of the memo) or overflow the stack (nested
tuples as a key). Here the kernel limits memory and time in proportion to the file, and a crash is an answer."""

from __future__ import annotations

import gc
import json
import os
import pickle
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

BASE_BYTES, BYTES_PER_BYTE = 64 << 20, 32  # snapshots of PyTorch take about 5 bytes per byte
BASE_SECONDS, BYTES_PER_SECOND = 5, 1 << 20  # of CPU time; about 100 MB per second are usual
LARGEST = (1 << 63) - 1


class Refused(Exception):
    pass


class Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        wanted = ascii(f"{module}.{name}")[1:-1]
        raise Refused(
            f"it refers to {wanted:.100}, but a snapshot has only data; nothing of it was executed"
        )


def limit(kind: int, most: int) -> None:
    limits = resource.getrlimit(kind)
    lowest = min(each for each in (most, *limits) if each != resource.RLIM_INFINITY)
    resource.setrlimit(kind, (lowest, limits[1]))


def limit_process(file_bytes: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as statm:
        present = int(statm.read().split()[0]) * resource.getpagesize()
    limit(resource.RLIMIT_AS, present + BASE_BYTES + BYTES_PER_BYTE * file_bytes)
    limit(resource.RLIMIT_CPU, BASE_SECONDS + file_bytes // BYTES_PER_SECOND)
    limit(resource.RLIMIT_CORE, 0)


def number(of: dict[Any, Any], key: str, otherwise: int | None = None) -> int:
    value = of.get(key, otherwise)
    if not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise Refused(f"{key} is not a number of 0 or more")
    return int(value)


def sums_of_blocks(blocks: list[Any], segment_bytes: int) -> dict[str, int]:
    sums = dict.fromkeys(("allocated", "active", "requested", "largest_free"), 0)
    total = 0
    for block in blocks:
        if not isinstance(block, dict):
            raise Refused("a block is not a dict")
        size, state = number(block, "size"), block.get("state")
        total += size
        if state == "inactive":
            sums["largest_free"] = max(sums["largest_free"], size)
            continue
        if state not in ("active_allocated", "active_pending_free", "active_awaiting_free"):
            raise Refused("a block has an unknown state")
        sums["allocated"] += size if state == "active_allocated" else 0
        sums["active"] += size
        sums["requested"] = min(sums["requested"] + number(block, "requested_size", size), LARGEST)
    if total > segment_bytes:
        raise Refused("its blocks are larger than the segment")
    return {**sums, "blocks": len(blocks)}


def segment(its: Any, seen: set[int]) -> dict[str, Any]:
    if not isinstance(its, dict):
        raise Refused("it is not a dict")
    made: dict[str, Any] = {
        "device": number(its, "device", 0),
        "address": number(its, "address"),
        "bytes": number(its, "total_size"),
        "stream": number(its, "stream", 0),
        "expandable": number(its, "is_expandable", 0) != 0,
    }
    if its.get("segment_type") in ("small", "large"):
        made["type"] = its["segment_type"]
    if "blocks" in its:
        blocks = its["blocks"]
        # A file can refer to a list many times, and must not have it read as often.
        if not isinstance(blocks, list) or id(blocks) in seen:
            raise Refused("blocks is not a list of its own")
        seen.add(id(blocks))
        return {**made, **sums_of_blocks(blocks, made["bytes"])}
    made["allocated"] = number(its, "allocated_size")
    made["active"] = number(its, "active_size", made["allocated"])
    made["requested"] = number(its, "requested_size", made["active"])
    return made


def time_of(traces: list[Any]) -> int | None:
    """When the snapshot was taken, in ns since 1970, or None: with history, each snapshot leaves an entry."""
    lists = {id(each): each for each in traces if isinstance(each, list)}
    times = [
        entry["time_us"]
        for each in lists.values()
        for entry in each
        if isinstance(entry, dict)
        and entry.get("action") == "snapshot"
        and isinstance(entry.get("time_us"), int)
        and entry["time_us"] > 0
    ]
    return min(max(times) * 1000, LARGEST) if times else None


def read(file: BufferedReader) -> dict[str, Any]:
    if file.peek(1)[:1] != b"\x80":  # numbers of older protocols are text
        raise Refused("it is not a pickle of protocol 2 or newer")
    try:
        content = Unpickler(file).load()
    except (Refused, MemoryError):
        raise
    except Exception as error:
        why = ascii(" ".join(str(error).split()))[1:-1]
        raise Refused(f"the pickle is damaged or incomplete ({why:.200})") from None
    segments, traces = content, None  # the list of torch.cuda.memory_snapshot()
    if isinstance(content, dict):
        segments, traces = content.get("segments"), content.get("device_traces")
    if not isinstance(segments, list):
        raise Refused("it has no segments: it is not a snapshot of PyTorch's memory")
    made: list[dict[str, Any]] = []
    seen: set[int] = set()
    for place, each in enumerate(segments, 1):
        try:
            made.append(segment(each, seen))
        except Refused as refused:
            raise Refused(f"segment {place}: {refused}") from None
    return {"segments": made, "taken_at": time_of(traces if isinstance(traces, list) else [])}


def main() -> None:
    limit_process(os.fstat(0).st_size)
    gc.disable()  # it would search millions of objects for cycles again and again
    try:
        answer: dict[str, Any] = read(open(0, "rb"))  # noqa: SIM115
    except Refused as refused:
        answer = {"refused": str(refused)}
    except MemoryError:
        os._exit(1)
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # does not release millions of objects first


if __name__ == "__main__":
    main()
