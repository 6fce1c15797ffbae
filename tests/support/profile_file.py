"""A profile from the view of tests: read-only, with the few forms of query that they need."""

import sqlite3

PREFIX = "CUPTI_ACTIVITY_KIND_"

# cuDriverGetVersion, cuDeviceGetCount, cuDeviceGetAttribute, cuCtxSynchronize, cuCtxSetCurrent
OWN_CALLS = "(2, 4, 9, 17, 303)"


class Profile:
    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)

    def close(self):
        self.connection.close()

    # Any query

    def rows(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()

    def row(self, sql, *values):
        return self.connection.execute(sql, values).fetchone()

    def one(self, sql, *values):
        return self.row(sql, *values)[0]

    def column(self, sql, *values):
        return [row[0] for row in self.rows(sql, *values)]

    def counts(self, sql, *values):
        """{everything but the last column: the last column}; a single key is not a tuple."""
        return {row[0] if len(row) == 2 else row[:-1]: row[-1] for row in self.rows(sql, *values)}

    # Contents

    def tables(self):
        return self.column("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")

    def count(self, kind):
        return self.one(f"SELECT count(*) FROM {PREFIX}{kind}")

    def own_calls(self):
        """Driver calls that no stand-in program makes: the collector's."""
        return self.count(f"DRIVER WHERE cbid IN {OWN_CALLS}")

    def kernels(self):
        """The number of kernels by mangled name."""
        return self.counts("SELECT mangled_name, count(*) FROM kernels GROUP BY 1")

    def statistics(self):
        """{(kind, name): value}; the kind without CUPTI's prefix."""
        return {
            (kind.removeprefix(PREFIX), name): value
            for kind, name, value in self.rows("SELECT kind, name, value FROM STATISTIC")
        }

    def statistic(self, name):
        return self.one("SELECT coalesce(sum(value), 0) FROM STATISTIC WHERE name = ?", name)

    def losses(self):
        return self.counts("SELECT name, sum(value) FROM losses GROUP BY name")

    def run(self):
        return self.counts("SELECT key, value FROM RUN")
