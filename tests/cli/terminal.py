"""A program on a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios


def on_a_terminal(words, columns=0, stdout=subprocess.DEVNULL, **options):
    """Exit code of the program, and what it prints to standard error, which is a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([*map(str, words)], stdout=stdout, stderr=theirs, **options)
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
