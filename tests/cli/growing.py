"""A file that is being written."""

import shutil
import sqlite3

KERNELS = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"


class Growing:
    """A copy of a profile that is not finished, with its writer."""

    def __init__(self, profile, path):
        shutil.copy(profile, path)
        self.path = path
        self.writer = sqlite3.connect(path, isolation_level=None)
        self.writer.execute("PRAGMA journal_mode = WAL")
        self.writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")

    def hold_kernels(self):
        """Removes the kernels, for add(), and everything that is known only at the end."""
        self.writer.execute("DELETE FROM RUN WHERE key = 'zero_ns'")
        self.rows = self.writer.execute(f"SELECT * FROM {KERNELS} ORDER BY start").fetchall()
        self.names = [column[1] for column in self.writer.execute(f"PRAGMA table_info({KERNELS})")]
        self.writer.execute(f"DELETE FROM {KERNELS}")

    def add(self, first, last, stream=None):
        """Kernels from the first position to the last, ordered by their start."""
        for row in self.rows[first:last]:
            row = list(row)
            if stream is not None:
                row[self.names.index("streamId")] = stream
            self.writer.execute(f"INSERT INTO {KERNELS} VALUES ({','.join('?' * len(row))})", row)

    def finish(self):
        self.writer.execute("UPDATE RUN SET value = 1 WHERE key = 'finished'")

    def end(self):
        self.finish()
        self.writer.close()
