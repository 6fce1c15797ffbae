"""Protocol buffer messages, and OpenTelemetry's profiles among them, read without their library."""

import collections
import dataclasses
import struct


def fields(message):
    """(number, value) pairs of a protocol buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<Q", message[at : at + 8])[0]
            at += 8
        elif key & 7 == 2:
            size = varint()
            if at + size > len(message):
                raise AssertionError("a field is cut off")
            yield key >> 3, message[at : at + size]
            at += size
        else:
            raise AssertionError(f"wire type {key & 7}")


def one(message, number, default=None):
    found = [value for field, value in fields(message) if field == number]
    return found[-1] if found else default


@dataclasses.dataclass
class Sample:
    frames: list  # names, the outermost first
    kinds: list  # profile.frame.type of each; None: it has none
    time: int
    count: int
    attributes: dict


class Profiles:
    """What a message of two profiles with the same samples says."""

    def __init__(self, message):
        self._tables = collections.defaultdict(list)
        for number, value in fields(one(message, 2)):
            self._tables[number].append(value)
        self._strings = [text.decode("utf-8") for text in self._tables[5]]
        assert self._strings[0] == ""
        for number, table in self._tables.items():  # the first is for what is not set
            assert (len(set(table)), table[0]) == (len(table), b""), number
        scope = one(one(message, 1), 2)
        assert one(one(scope, 1), 1) == b"gpuprof"
        times, counts = (value for field, value in fields(scope) if field == 2)
        for profile, type_and_unit in (
            (times, ["gpu_time", "nanoseconds"]),
            (counts, ["gpu_work", "count"]),
        ):
            assert [self._strings[v] for _, v in fields(one(profile, 1))] == type_and_unit
        facts = [(one(p, 3), one(p, 4), self._attributes(p, 11)) for p in (times, counts)]
        assert facts[0] == facts[1]
        self.begin, self.duration, self.attributes = facts[0]
        samples = [[v for f, v in fields(profile) if f == 2] for profile in (times, counts)]
        assert len(samples[0]) == len(samples[1])
        self.samples = [self._sample(*both) for both in zip(*samples)]

    def _attributes(self, message, number):
        found = {}
        for field, place in fields(message):
            if field == number:
                entry = self._tables[6][place]
                value = one(entry, 2)
                text = one(value, 1)
                found[self._strings[one(entry, 1)]] = (
                    one(value, 3) if text is None else text.decode("utf-8")
                )
        return found

    def _frame(self, location):
        entry = self._tables[2][location]
        kinds = self._attributes(entry, 4)
        assert set(kinds) <= {"profile.frame.type"}
        function = self._tables[3][one(one(entry, 3), 1)]
        return self._strings[one(function, 1)], kinds.get("profile.frame.type")

    def _sample(self, time, count):
        assert one(time, 1) == one(count, 1)
        frames = [self._frame(value) for _, value in fields(self._tables[7][one(time, 1)])][::-1]
        names, kinds = ([frame[i] for frame in frames] for i in (0, 1))
        return Sample(names, kinds, one(time, 4), one(count, 4), self._attributes(time, 2))
