"""Every command of gpuprof, as it lists them itself, with arguments with which it prints."""

import os
import subprocess

GPUPROF = os.environ.get("GPUPROF", "")

# Commands that the help does not show, with their arguments.
HIDDEN = {"man": [], "options": [], "exit-codes": [], "complete": ["fish", ""],
          "schema": []}  # fmt: skip
# Arguments with which commands print output. All others print only help and messages.
PRINTS = {
    "info": [[], ["--json"]],
    "query": [[], ["top_kernels"], ["kernels", "--csv"], ["kernels", "--json"],
              ["kernels", "--markdown"]],
    "account": [[], ["--json"], ["--csv"]],
    "kernels": [[], ["--json"], ["--markdown"], ["--against", "run.sqlite"]],
    "what-if": [["--no-gaps"], ["--no-waits", "--json"]],
    "diff": [["run.sqlite"], ["run.sqlite", "--json"], ["run.sqlite", "--markdown"]],
    "gate": [["run.sqlite"]],
    "lines": [[], ["--all"], ["--json"], ["--csv"]],
    "memory": [[], ["--json"], ["--csv"], ["--timeline"], ["--leaks", "--by", "nvtx"]],
    "timeline": [[]],
    "report": [["--markdown", "-"]],
    "top": [["--times", "1"]],
    "replay": [["--json"], ["--log-file", "%1"]],
    "view": [["--no-browser"]],
    "completion": [["bash"], ["zsh"], ["fish"]],
    "help": [["all"], ["reports"], ["slice"]],
}  # fmt: skip
WITHOUT_FILE = ("completion", "help")
REPORTS = [
    ["--json"], ["--csv=plain"], ["--log-file", "%1"], ["--csv", "--log-file", "%1"],
    ["--print-gpu-trace", "--json"], ["--print-api-trace", "--json"], ["--stats", "--json"],
    ["--print-nvtx-summary", "--print-gpu-summary", "--csv=plain"],
]  # fmt: skip


def names():
    """As completed for a first word."""
    listed = subprocess.run([GPUPROF, "complete", "fish", ""], text=True, check=True,
                            capture_output=True, timeout=120).stdout  # fmt: skip
    words = [line.split("\t")[0].strip() for line in listed.splitlines()[1:]]
    found = [word for word in words if word and not word.startswith("-")]
    assert len(found) > 15 and set(PRINTS) <= set(found), listed
    return found


def that_print(profile, capture):
    """The words of each call."""
    for topic in ([], ["all"], ["metrics"]):
        yield ["--help", *topic]
    yield ["--version"]
    for command in names():
        yield [command, "--help"]
        for words in PRINTS.get(command, []):
            if command in WITHOUT_FILE:
                yield [command, *words]
            else:
                yield [command, capture if command == "replay" else profile, *words]
    yield ["query"]
    for command, words in HIDDEN.items():
        yield [command, *words]
    for words in REPORTS:
        yield ["-i", profile, *words]
