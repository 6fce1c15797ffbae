"""The command line: gpuprof cluster build, report and view."""

from __future__ import annotations

import argparse
import os
import sys
import time

from .._library import Error
from .words import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

IMPORT_FAILED = 20
BAD_OPTION = 5
_SLURM_JOBS = 8


def _say(text: str, hint: str = "") -> None:
    print(f"gpuprof: {printable(text)}", file=sys.stderr)
    if hint:
        print(f"  {printable(hint)}", file=sys.stderr)


class _Progress:
    """A line on a terminal that counts files; elsewhere nothing."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._began = time.monotonic()

    def __call__(self, done: int, files: int, last: dict[str, Any] | None) -> None:
        if last is not None and "error" in last:
            self.clear()
            _say(f"{last['path']} is left out: {last['error']}", last["hint"])
        if self._shows:
            seconds = time.monotonic() - self._began
            print(f"\r\x1b[Kgpuprof: {done} of {files} files, {seconds:.0f} s", end="",
                  file=sys.stderr, flush=True)  # fmt: skip

    def clear(self) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _build(options: argparse.Namespace) -> int:
    from . import sources, tasks
    from .store import Store

    paths = sources.find(options.files)
    progress = _Progress()
    announced = set()

    def report(done: int, files: int, last: dict[str, Any] | None) -> None:
        progress(done, files, last)
        if last is not None and "error" in last:
            announced.add(last["path"])

    if options.dask and options.jobs:
        raise Error("--dask uses the workers that are there", "leave --jobs out", BAD_OPTION)
    jobs = options.jobs or (_SLURM_JOBS if options.slurm else len(os.sched_getaffinity(0)))
    executors = tasks.Executors(jobs, options.dask, options.slurm)
    refused = tasks.build(paths, options.output, executors, report)
    progress.clear()
    for each in refused:
        if each["path"] not in announced:
            _say(f"{each['path']} is left out: {each['error']}", each["hint"])
    manifests = Store(options.output).manifests().values()
    ranks = sum(len(manifest["ranks"]) for manifest in manifests)
    kernels = sum(rank["kernels"] for manifest in manifests for rank in manifest["ranks"])
    _say(f"{options.output}: {ranks} ranks of {len(manifests)} files, {kernels} kernels")
    return IMPORT_FAILED if refused else 0


def _report(options: argparse.Namespace) -> int:
    from . import report, text
    from .store import Store

    found = report.read(Store(options.store), options.jobs)
    if options.json:
        import json

        print(json.dumps(found, indent=1, sort_keys=True))
    elif options.html:
        from . import page

        page.write(found, options.html)
    else:
        print(text.markdown(found) if options.markdown else text.plain(found), end="")
    return 0


def _roll_up(options: argparse.Namespace) -> int:
    from . import roll_up

    roll_up.follow(options.recording, options.output, options.rank, options.every,
                   options.force_overwrite, options.quiet)  # fmt: skip
    return 0


def _view(options: argparse.Namespace) -> int:
    from . import view
    from .store import Store

    view.serve(Store(options.store), options.port, not options.no_browser)
    return 0


class _Formatter(argparse.HelpFormatter):
    """Options as the other commands print them: -o,--output STORE."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return ",".join(action.option_strings) or super()._format_action_invocation(action)
        return f"{','.join(action.option_strings)} {action.metavar}"


class _Parser(argparse.ArgumentParser):
    def __init__(self, **more: Any) -> None:
        super().__init__(formatter_class=_Formatter, **more)
        self.parts: list[argparse.ArgumentParser] = []  # whose help follows

    def format_help(self) -> str:
        return "\n".join([super().format_help(), *(part.format_help() for part in self.parts)])

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:  # argparse ignores it where it cannot be written
            (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        _say(message, f"see {self.prog} --help")
        sys.exit(BAD_OPTION)


def _number(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 4096:
        raise ValueError
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65535:
        raise ValueError
    return number


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="gpuprof cluster",
        description="Read the profiles of many ranks as one: who is late, and why. docs/cluster.md says more.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="build|report|view",
                                  parser_class=_Parser)  # fmt: skip
    build = commands.add_parser(
        "build",
        help="make a store of profiles, or bring it up to date",
        description="Makes a store of profiles: Parquet files by rank, and what is computed of them. "
        "A store that is there is brought up to date with the files: those that have not changed are not "
        "read again, and parts of others are removed. A build that was killed goes on where it was.",
    )
    build.add_argument("files", nargs="+", metavar="DIR|PATTERN|RUNS.txt|FILE",
                       help="profiles: those in a folder, of a pattern, in a list, or named")  # fmt: skip
    build.add_argument("-o", "--output", required=True, metavar="STORE", help="the folder to write")
    build.add_argument("--jobs", type=_number, metavar="N",
                       help="how many files are read at a time, here (one for each processor), or by jobs of Slurm (8)")  # fmt: skip
    where = build.add_mutually_exclusive_group()
    where.add_argument("--dask", metavar="ADDRESS",
                       help="read them on the workers of this Dask scheduler, which see the same files")  # fmt: skip
    where.add_argument("--slurm", action="store_true",
                       help="read them in jobs of Slurm, which see the same files; ~/.config/dask/jobqueue.yaml has "
                       "their partition, account and time")  # fmt: skip
    build.set_defaults(run=_build)
    view = commands.add_parser(
        "view",
        help="all ranks in a browser",
        description="Shows all ranks of a store in a browser: a row for each rank, a column for each step, the "
        "account as color. A click opens the records of the rank. gpuprof view STORE is the same.",
    )
    view.add_argument("store", metavar="STORE", help="a folder that gpuprof cluster build wrote")
    view.add_argument("--port", type=_port, default=0, metavar="N",
                      help="port of 127.0.0.1; one that is free unless given")  # fmt: skip
    view.add_argument("--no-browser", action="store_true", help="do not open a browser")
    view.set_defaults(run=_view)
    report = commands.add_parser(
        "report",
        help="who is late, and why; where the steps of all ranks went",
        description="Says what a store says: the account of the steps of all ranks, who makes the others wait "
        "and why, communicators, and clocks.",
    )
    report.add_argument("store", metavar="STORE", help="a folder that gpuprof cluster build wrote")
    layout = report.add_mutually_exclusive_group()
    layout.add_argument(
        "--html", metavar="FILE", help="write a page, with a heat map of ranks and steps"
    )
    layout.add_argument("--markdown", action="store_true", help="as Markdown")
    layout.add_argument("--json", action="store_true", help="as one JSON document")
    report.add_argument("--jobs", type=_number, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="how many threads read (one for each processor)")  # fmt: skip
    report.set_defaults(run=_report)
    # What gpuprof --ranks starts.
    rolled = commands.add_parser("roll-up")
    rolled.add_argument("recording")
    rolled.add_argument("--rank", type=int, required=True)
    rolled.add_argument("--every", type=float, required=True)
    rolled.add_argument("-o", "--output", required=True)
    rolled.add_argument("-f", "--force-overwrite", action="store_true")
    rolled.add_argument("-q", "--quiet", action="store_true")
    rolled.set_defaults(run=_roll_up)
    top.parts += [build, report, view]
    return top


def _main(words: list[str] | None) -> int:
    options = parser().parse_args(words)
    code: int = options.run(options)
    return code


def main(words: list[str] | None = None) -> int:
    """Exit codes are those of gpuprof."""
    try:
        try:
            return _main(words)
        finally:
            sys.stdout.flush()
    except SystemExit as end:  # of argparse: help, or a wrong option
        return end.code if isinstance(end.code, int) else 0
    except Error as error:
        message = str(error)
        if error.hint:
            message = message.removesuffix(f" ({error.hint})")
        _say(message, error.hint)
        return error.code
    except ModuleNotFoundError as error:
        _say(f"gpuprof cluster needs the package {error.name}",
             "pip install 'gpuprof-cuda[cluster]' brings it")  # fmt: skip
        return 4
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.filename is not None:
            _say(f"{error.filename} cannot be read: {error.strerror}")
            return IMPORT_FAILED
        # Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return 141
        _say(f"standard output cannot be written: {error.strerror}")
        return 21
