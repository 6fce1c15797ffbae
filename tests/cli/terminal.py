"""A program on a terminal."""

import os
import pty
import subprocess


def on_a_terminal(words, **options):
    """Exit code of the program, and what it prints to standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*map(str, words)], stdout=subprocess.DEVNULL, stderr=theirs, **options
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(ours)
    return process.wait(), text.decode().replace("\r\n", "\n")
