"""A substitute for scripts/bench_torch's child in its test: answers like the child, without PyTorch.

FAKE_TORCH, words separated by commas: silent, dies, dies-later, fails-gpt2, each followed by :VARIANT.
"""

import glob
import json
import os
import socket
import sys
import time

VARIANT = os.environ["BENCH_VARIANT"]
FACTORS = {"none": 1, "bare": 1.3, "bare+queries": 1.5, "gpuprof": 1.3, "gpuprof+queries": 1.8,
           "gpuprof-gpu": 1.1, "gpuprof+graph": 1.3, "gpuprof-stacks": 1.3, "gpuprof+stacks": 1.56, "gpuprof+host": 1.5}  # fmt: skip
TROUBLE = [word.split(":")[0] for word in os.environ.get("FAKE_TORCH", "").split(",")
           if word.endswith(f":{VARIANT}")]  # fmt: skip


def sampler_rests():
    """Whether gpuprof's thread that takes host samples is stopped by ptrace."""
    for path in glob.glob(f"/proc/{os.getppid()}/task/*/stat"):
        with open(path) as stat:
            if "(host samples) t " in stat.read():
                return True
    return False


def main():
    print("a library that talks")
    if "dies" in TROUBLE:
        sys.exit("no GPU here")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    stream = connection.makefile("rw")
    if "silent" in TROUBLE:
        time.sleep(60)

    def answer(**fields):
        stream.write(json.dumps(fields) + "\n")
        stream.flush()

    names, failed = sys.argv[2:], {}
    if "fails-gpt2" in TROUBLE:
        names.remove("gpt2")
        failed = {"gpt2": "ImportError: no transformers"}
    answer(ready=names, failed=failed, torch="2.11", gpu="none at all")
    asked = 0
    for line in stream:
        if line.strip() == "quit":
            break
        asked += 1
        if asked > 3 and "dies-later" in TROUBLE:
            sys.exit(3)
        answer(ms=10 * FACTORS["gpuprof" if sampler_rests() else VARIANT])


main()
