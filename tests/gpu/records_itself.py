"""Records its own work with gpuprof.trace(), several times, and prints the content of the files as JSON:
a list of [name, facts]. With the word `work` it does it once, for gpuprof to record.

  PYTHONPATH=PREFIX/share/gpuprof/python records_itself.py
  gpuprof -a instruction_execution -o run.sqlite python records_itself.py work
"""

import json
import sys
import threading

import torch

COUNTED = "SELECT function, sum(value) FROM sass_metrics WHERE metric = 'inst_executed' GROUP BY 1"
SAMPLED = "SELECT function, sum(samples) FROM pc_samples GROUP BY 1"
CODE = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MODULE WHERE cubin IS NOT NULL"
STACKS = "SELECT count(*) FROM STACK_FRAME WHERE function = 'allocates'"


def work():
    a = torch.ones(1 << 22, device="cuda")
    b = torch.ones(2048, 2048, device="cuda")
    for _ in range(20):
        a + a
        b @ b
    torch.cuda.synchronize()


def allocates():
    torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()


class Beside:
    """Another thread launches kernels all the time."""

    def __enter__(self):
        self.ends, self.launched = threading.Event(), threading.Event()

        def go():
            a = torch.ones(1 << 18, device="cuda")
            with torch.cuda.stream(torch.cuda.Stream()):
                while not self.ends.is_set():
                    torch.sin(a)
                    self.launched.set()
                torch.cuda.current_stream().synchronize()

        self.thread = threading.Thread(target=go)
        self.thread.start()
        self.launched.wait()
        return self

    def work(self):
        """At least two launches of the other thread come first."""
        for _ in range(2):
            self.launched.clear()
            self.launched.wait()
        work()

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


def recorded():
    import gpuprof

    found = []

    def record(name, f=work, **options):
        with gpuprof.trace(f"own{len(found)}.sqlite", **options) as t:
            f()
        facts = {
            "kernels": len(t.run.kernels),
            "losses": [row["name"] for row in t.losses],
            "messages": t.messages[:-1],
            "counted": dict(t.run.sql(COUNTED)),
            "sampled": dict(t.run.sql(SAMPLED)),
            "code": list(t.run.sql(CODE))[0][0],
        }
        if options.get("stacks"):
            facts["peak"] = sum(row["peak_bytes"] for row in t.run.memory.peak().dicts())
            facts["frames"] = list(t.run.sql(STACKS))[0][0]
        found.append([name, facts])

    samples, counts = {"pc_sampling": True}, {"source_level_analysis": "instruction_execution"}
    for _ in range(3):
        record("samples", **samples)
    with Beside() as beside:
        record("samples beside", beside.work, **samples)
    record("plain")
    for _ in range(2):
        record("counts", **counts)
        record("memory", allocates, stacks=True)
    with Beside() as beside:
        record("counts beside", beside.work, **counts)
    record("chosen", options=["--kernels", "vectorized_elementwise", "--launch-count", 3], **counts)
    record("samples", **samples)
    record("plain")
    return found


if __name__ == "__main__":
    work() if "work" in sys.argv else print(json.dumps(recorded()))
