"""The same questions to a run with pandas: python pandas_queries.py run.sqlite

Each function takes the connection and returns a DataFrame; its docstring says what it answers.
"""

import sqlite3
import sys

import pandas as pd


def top_kernels(run):
    """Which kernels take most of the GPU's time?"""
    kernels = pd.read_sql("SELECT short_name, duration FROM kernels", run)
    table = kernels.groupby("short_name")["duration"].agg(["count", "sum", "mean", "max"])
    return table.sort_values("sum", ascending=False).head(10)


def launch_latency(run):
    """How is the time from the call to the kernel's start spread, in ns?"""
    launches = pd.read_sql("SELECT short_name, launch_latency FROM launches", run)
    return launches.groupby("short_name")["launch_latency"].describe(percentiles=[0.5, 0.9, 0.99])


def copies_by_kind(run):
    """How much was copied in each direction, and how fast?"""
    copies = pd.read_sql("SELECT kind, bytes, duration FROM memcpys", run)
    table = copies.groupby("kind").sum()
    return table.assign(gigabytes_per_second=table["bytes"] / table["duration"])


def gpu_busy(run):
    """How busy was each GPU, in percent of the time from its first activity to its last?"""
    work = pd.read_sql(
        'SELECT device_id, start, "end" FROM gpu_activities WHERE start > 0 ORDER BY start', run
    )
    rows = []
    for device, its in work.groupby("device_id"):
        busy_until = its["end"].cummax().shift(fill_value=0)
        busy = (its["end"] - its["start"].clip(lower=busy_until)).clip(lower=0).sum()
        rows.append((device, 100 * busy / (its["end"].max() - its["start"].min())))
    return pd.DataFrame(rows, columns=["device_id", "busy_percent"])


def api_time(run):
    """Which CUDA functions does each thread spend its time in?"""
    calls = pd.read_sql("SELECT name, thread_id, duration FROM api_calls", run)
    table = calls.pivot_table(index="name", columns="thread_id", values="duration", aggfunc="sum")
    return table.fillna(0).astype("int64")


QUERIES = [top_kernels, launch_latency, copies_by_kind, gpu_busy, api_time]

if __name__ == "__main__":
    connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    for query in QUERIES:
        print(f"\n{query.__doc__}\n{query(connection)}")
