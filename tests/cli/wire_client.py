"""Speaks to a launcher as a collector does, or as one should not: hand-made frames of
libprof/wire/FORMAT.md. A program that uses this is run under gpuprof; it needs neither CUDA nor
the collector."""

import array
import os
import select
import socket
import struct

HELLO, CONFIG, ARENA, INFO, TABLE, BATCH, STATISTICS, GOODBYE = 1, 2, 4, 5, 6, 8, 10, 11
TYPES = {"u32": (6, 4), "u64": (8, 8)}


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(value)) + value


def fields(**pairs):
    return struct.pack("<I", len(pairs)) + b"".join(
        text(name) + text(str(value)) for name, value in pairs.items()
    )


def frame(kind, payload=b""):
    return struct.pack("<IIQ", kind, 0, len(payload)) + payload


def hello(process_id=None, version=1, **more):
    process_id = os.getpid() if process_id is None else process_id
    return frame(
        HELLO,
        struct.pack("<I", version)
        + fields(process_id=process_id, parent_process_id=os.getppid(), **more),
    )


def table(number, name, columns):
    """columns: pairs of name and type."""
    payload = struct.pack("<I", number) + text(name) + text("") + struct.pack("<I", len(columns))
    for column, kind in columns:
        code, width = TYPES[kind]
        payload += text(column) + struct.pack("<BBHB", code, 0, width, 1) + text("")
    return frame(TABLE, payload)


def batch(number, rows):
    """rows: packed ones."""
    content = b"".join(rows)
    return frame(
        BATCH,
        struct.pack("<IIII", 0xFFFFFFFF, 0, 1, 0)
        + struct.pack("<IIQ", number, len(rows), len(content))
        + content,
    )


class Client:
    """A connection that has said hello and has the answer, unless told otherwise."""

    def __init__(self, say_hello=True, **hello_fields):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["GPUPROF_SOCKET"])
        if say_hello:
            self.send(hello(**hello_fields))
            self.receive()

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def send_file(self, message, *files):
        rights = array.array("i", files)
        self.socket.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])

    def receive(self):
        kind, _, length = struct.unpack("<IIQ", self.read(16))
        return kind, self.read(length)

    def read(self, length):
        content = b""
        while len(content) < length:
            piece = self.socket.recv(length - len(content))
            if not piece:
                raise EOFError
            content += piece
        return content

    def send_arena(self, cupti, arena):
        file = os.memfd_create("arena")
        os.write(file, arena)
        self.send(frame(INFO, fields(cupti_path=cupti)))
        self.send_file(frame(ARENA, fields(slots=1)), file)
        os.close(file)


def hung_up(clients):
    """The number of connections that the other end has closed."""
    poll = select.poll()
    for client in clients:
        poll.register(client.socket, select.POLLHUP)
    return len(poll.poll(0))


def arena(slot_size=4096, entries=1, text_size=4096, slot=b"", state=1):
    """An arena with one slot, laid out as in libprof/collect/arena.hpp. state 1: the slot is lent."""
    page = 4096
    size = page

    def region(length):
        nonlocal size
        begin = size
        size += (length + page - 1) // page * page
        return begin

    headers = region(64)
    entries_at, text_at = region(32 * entries), region(text_size)
    names_at, names_text_at, launches_at = region(32), region(page), region(8)
    slots_at = region(slot_size)
    content = bytearray(size)
    struct.pack_into(
        "<QIIQQQQQQQQQQQQQQII",
        content,
        0,
        0x616E657261707067,
        5,
        1,
        slot_size,
        slots_at,
        entries_at,
        entries,
        text_at,
        text_size,
        names_at,
        1,
        names_text_at,
        page,
        launches_at,
        1,
        page,
        8,
        0,
        0,
    )
    struct.pack_into("<Q", content, 1024, 0x33306764656C7067)  # an empty ledger
    struct.pack_into("<III", content, headers, state, 1, 0)
    content[slots_at : slots_at + len(slot)] = slot
    return bytes(content)
