"""Which files a store is built of."""

from __future__ import annotations

import glob
import os
import stat

from .._library import FileError
from .store import ROLLED_UP, Store

MAGIC = b"SQLite format 3\0"


def is_database(path: str) -> bool:
    """A regular file with the first bytes of SQLite's."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def is_rolled_up(path: str) -> bool:
    """A folder that has the roll-ups of one recording, which is read as a profile is."""
    return path.endswith(ROLLED_UP) and os.path.isfile(os.path.join(path, "store.json"))


def status_of(path: str) -> os.stat_result:
    """Size and time of change by which a source is recognized: of roll-ups those of their description."""
    if not is_rolled_up(path):
        return os.stat(path)
    keys = list(Store(path).manifests())
    return os.stat(os.path.join(path, "files", keys[0] + ".json") if keys else path)


def _listed(path: str) -> list[str]:
    """The names in a list of files, one in each line; those that are relative, from its folder."""
    folder = os.path.dirname(path)
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise FileError(f"{path} cannot be read: {reason}", "", 20) from None
    return [os.path.join(folder, line) for line in lines if line and not line.startswith("#")]


def _found(word: str) -> list[str]:
    if is_rolled_up(word):
        return [word]
    if os.path.isdir(word):
        inside = sorted(os.path.join(word, name) for name in os.listdir(word))
        return [path for path in inside if is_database(path) or is_rolled_up(path)]
    if not os.path.exists(word) and glob.has_magic(word):
        return sorted(glob.glob(word))
    if word.endswith(".txt") and os.path.isfile(word) and not is_database(word):
        return _listed(word)
    return [word]


def find(words: list[str]) -> list[str]:
    """The profiles in folders, of patterns, in lists (RUNS.txt), or named; each once, sorted by name.
    Named files are returned whatever they are, so that they can be refused with a reason."""
    found = []
    for word in words:
        paths = _found(word)
        if not paths:
            raise FileError(f"{word}: no profile is there", "a profile is a file of gpuprof -o", 20)
        found += paths
    return sorted(set(map(os.path.normpath, found)))
