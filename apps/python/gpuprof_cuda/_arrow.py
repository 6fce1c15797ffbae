"""Arrow's C data interface through ctypes: the buffers of a stream as memory that Python can see.

Nothing here needs numpy, pandas or pyarrow. They use __arrow_c_stream__ of Rows themselves.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    import numpy

    Array: TypeAlias = numpy.ndarray[Any, Any]


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowArrayStream(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))),
    ("private_data", ctypes.c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]

# Arrow's letters for types.
TYPES = {b"l": "int64", b"i": "int32", b"g": "float64", b"b": "bool", b"Z": "binary", b"n": ""}


def release(struct: Any) -> None:
    """Releases a struct; a second call does nothing."""
    if struct.release:
        struct.release(ctypes.byref(struct))


class Held:
    """An ArrowArray of one chunk, released when the last view of its memory is gone."""

    def __init__(self) -> None:
        self.array = ArrowArray()

    def __del__(self) -> None:
        release(self.array)


class Column:
    """A column of one chunk, as a view of its memory. `data` holds numbers, indices into `texts`
    (type "text"), one bit per value (type "bool"), or the bytes that `offsets` delimit (type "binary")."""

    def __init__(self, held: Held, schema: Any, array: Any) -> None:
        self._held = held
        self._array = array
        self.name: str = schema.name.decode()
        self.type: str = "text" if schema.dictionary else TYPES[schema.format]
        self.length: int = array.length
        self.null_count: int = array.null_count

    def _memory(self, array: Any, index: int, size: int) -> Any:
        """Read-only bytes that keep the chunk alive, or None if there is no such buffer."""
        address = array.buffers[index] if index < array.n_buffers else None
        if not address:
            return None
        memory: Any = (ctypes.c_char * size).from_address(address)
        memory.held = self._held
        return memoryview(memory).cast("B").toreadonly()

    @property
    def validity(self) -> Any:
        return self._memory(self._array, 0, (self.length + 7) // 8)

    @property
    def offsets(self) -> Any:
        return self._memory(self._array, 1, 8 * (self.length + 1)).cast("q")

    @property
    def data(self) -> Any:
        if self.type == "binary":
            return self._memory(self._array, 2, self.offsets[self.length])
        width = {"int64": 8, "float64": 8, "int32": 4, "text": 4}.get(self.type)
        size = (self.length + 7) // 8 if width is None else width * self.length
        return self._memory(self._array, 1, size)

    @property
    def texts(self) -> list[str]:
        """The texts that the indices refer to."""
        dictionary = self._array.dictionary.contents
        offsets = self._memory(dictionary, 1, 8 * (dictionary.length + 1)).cast("q")
        last = offsets[dictionary.length]
        content = bytes(self._memory(dictionary, 2, last)) if last else b""
        return [content[offsets[i] : offsets[i + 1]].decode() for i in range(dictionary.length)]

    def values(self) -> list[Any]:
        """Values as Python objects, None for NULL."""
        count = self.length
        if self.type == "":
            return [None] * count
        data = self.data
        if self.type == "text":
            texts = self.texts
            values = [texts[i] for i in data.cast("i")] if texts else [None] * count
        elif self.type == "bool":
            values = [bool(data[i >> 3] >> (i & 7) & 1) for i in range(count)]
        elif self.type == "binary":
            offsets = self.offsets
            values = [
                bytes(data[offsets[i] : offsets[i + 1]]) if data else b"" for i in range(count)
            ]
        else:
            values = data.cast({"int64": "q", "int32": "i", "float64": "d"}[self.type]).tolist()
        if self.null_count:
            validity = self.validity
            for i in range(count):
                if not validity[i >> 3] >> (i & 7) & 1:
                    values[i] = None
        return values


class Stream:
    """A stream that has not been consumed yet. To be used by one thread at a time."""

    def __init__(self) -> None:
        self.struct: Any = ArrowArrayStream()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self.struct.release:
            self.struct.release(ctypes.addressof(self.struct))

    def names_and_types(self) -> list[tuple[str, str]]:
        schema = ArrowSchema()
        self._check(self.struct.get_schema(ctypes.addressof(self.struct), ctypes.byref(schema)))
        try:
            columns = [schema.children[i].contents for i in range(schema.n_children)]
            return [
                (each.name.decode(), "text" if each.dictionary else TYPES[each.format])
                for each in columns
            ]
        finally:
            release(schema)

    def chunks(self) -> Iterator[list[Column]]:
        """Lists of Columns."""
        schema = ArrowSchema()
        address = ctypes.addressof(self.struct)
        self._check(self.struct.get_schema(address, ctypes.byref(schema)))
        try:
            while True:
                held = Held()
                self._check(self.struct.get_next(address, ctypes.byref(held.array)))
                if not held.array.release:
                    return
                yield [
                    Column(held, schema.children[i].contents, held.array.children[i].contents)
                    for i in range(schema.n_children)
                ]
        finally:
            release(schema)

    def _check(self, result: int) -> None:
        if result:
            raise MemoryError(self.struct.get_last_error(ctypes.addressof(self.struct)).decode())

    def capsule(self) -> object:
        """Moves the stream into a PyCapsule, as __arrow_c_stream__ returns it."""
        size = ctypes.sizeof(ArrowArrayStream)
        place = _malloc(size)
        if not place:
            raise MemoryError
        ctypes.memmove(place, ctypes.addressof(self.struct), size)
        ctypes.memset(ctypes.addressof(self.struct), 0, size)
        return _new_capsule(place, _NAME, _end_capsule)


_NAME = b"arrow_array_stream"
_libc = ctypes.CDLL(None)
_malloc = _libc.malloc
_malloc.restype, _malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_free = _libc.free
_free.restype, _free.argtypes = None, [ctypes.c_void_p]
# Called with an address, not an object, because the capsule is being destroyed at that time.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def _end(capsule: int) -> None:
    """Releases a stream that was never consumed; a consumer sets release to null."""
    place = _pointer(capsule, _NAME)
    stream = ArrowArrayStream.from_address(place)
    if stream.release:
        stream.release(place)
    _free(place)


_end_capsule = _Destructor(_end)
