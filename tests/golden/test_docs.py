"""The documentation compared with its subjects: the schema, files, options, metrics, and output of
queries.

GPUPROF is the path of the gpuprof binary, GPUPROF_SOURCE the root of the sources.

  python3 tests/golden/test_docs.py --write

rewrites docs/schema.md, the Python package's list of tables, the options in docs/nvprof.md, the tables
in docs/metrics.md, and in all pages the exit codes and the output of queries and commands.
"""
# ctest-labels: plain

import glob
import os
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packed import replay_packed  # noqa: E402

ROOT = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF") or str(ROOT / "build/bin/gpuprof")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD") or ROOT / "build")
CAPTURES = ROOT / "tests/captures"
SCHEMA = ROOT / "docs/schema.md"
NVPROF = ROOT / "docs/nvprof.md"
METRICS = ROOT / "docs/metrics.md"
TABLES = ROOT / "apps/python/gpuprof_cuda/_tables.pyi"

PAGES = sorted(
    page
    for page in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*/**/README.md"),
        *ROOT.glob("libprof/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
    if not any(part.startswith((".", "build")) for part in page.relative_to(ROOT).parts)
)

# The first folder of paths in the text. Paths in build/ exist only after a build.
FOLDERS = "apps|cmake|docs|examples|libprof|schema|scripts|tests"
PATH = re.compile(rf"(?<![\w./$-])((?:{FOLDERS})/[\w./*-]*)(?![\w{{<])")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--?[A-Za-z][\w-]*")
# <!-- capture: NAME --> is before a query, whose output follows in a separate block.
QUERY = re.compile(r"<!-- capture: (\w+) -->\n```sql\n(.*?)```\n+```text\n(.*?)```\n", re.DOTALL)
# <!-- summary: NAME --> is before the first lines of `gpuprof -i`; … replaces the others.
SUMMARY = re.compile(r"<!-- summary: (\w+) -->\n```text\n(.*?)```\n", re.DOTALL)
# <!-- printed: COMMAND --> is before what that command of gpuprof prints; NAME.sqlite is of a capture.
# … in the last line replaces the rest.
PRINTED = re.compile(r"<!-- printed: (.+?) -->\n```text\n(.*?)```\n", re.DOTALL)
# Between <!-- options --> and <!-- end of options --> is the output of `gpuprof options`.
OPTIONS = re.compile(r"(<!-- options -->\n).*?(<!-- end of options -->\n)", re.DOTALL)
# Between <!-- exit codes --> and <!-- end of exit codes --> is that of `gpuprof exit-codes`.
EXIT_CODES = re.compile(r"(<!-- exit codes -->\n).*?(<!-- end of exit codes -->\n)", re.DOTALL)
# Between these are counts of tests/golden/metrics_by_chip.tsv and the output of `gpuprof metric-map`.
CHIPS = re.compile(r"(<!-- chips -->\n).*?(<!-- end of chips -->\n)", re.DOTALL)
METRIC_MAP = re.compile(r"(<!-- metric map -->\n).*?(<!-- end of metric map -->\n)", re.DOTALL)


def output_of(*arguments, **how):
    ran = subprocess.run([GPUPROF, *arguments], capture_output=True, text=True, timeout=120, **how)
    if ran.returncode:
        raise AssertionError(f"gpuprof {' '.join(arguments)}: {ran.stderr}")
    return ran.stdout or ran.stderr


def subcommand_names():
    """The commands that the program's help lists."""
    listed = output_of("--help", "all").partition("\nCommands\n")[2].partition("\n\n")[0]
    names = re.findall(r"^ {2}([a-z-]+)", listed, re.MULTILINE)
    if len(names) < 15:
        raise AssertionError(f"gpuprof --help lists no commands: {listed}")
    return names


def shown(path):
    return path.relative_to(ROOT)


def anchors(page):
    """The anchors that GitHub generates for the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Options:
    """The options in a help text, and which of them accept a value."""

    LINE = re.compile(
        r"^ {2}(-[\w,-]+)(?:\{\w+\})?(?:\[=[\w|]+\])?(?: (\S.*?))?(?: {2,}|$)", re.MULTILINE
    )

    def __init__(self, text):
        self.takes_value = {}
        for names, value in self.LINE.findall(text):
            for name in names.split(","):
                self.takes_value[name] = bool(value)

    def unknown(self, words):
        """The first word that is an unknown option, and the words after the options."""
        words = list(words)
        while words and words[0].startswith("-"):
            name, equals, _ = words.pop(0).partition("=")
            if name == "--":
                break
            if name not in self.takes_value:
                return name, words
            if self.takes_value[name] and not equals and words:
                words.pop(0)
        return None, words


def commands(text):
    """The gpuprof commands in shell blocks, as lists of words after `gpuprof`."""
    for language, block in FENCE.findall(text):
        if language not in ("sh", "bash", "console"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"[;|&]+", line.split(" #")[0].removeprefix("$ ")):
                words = shlex.split(part)
                if words and os.path.basename(words[0]) == "gpuprof":
                    yield words[1:]


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        text = format(value, ".15g")
        return text if re.search(r"[.e]", text) else text + ".0"
    return str(value)


def table(rows, names):
    """Rows as `sqlite3 -header -column` prints them, without trailing blanks."""
    lines = [list(names), *[[cell(value) for value in row] for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    lines.insert(1, ["-" * width for width in widths])
    return "".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() + "\n"
        for line in lines
    )


class Replays:
    """Databases of captures, each loaded once."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.paths = {}

    def path(self, name):
        if name not in self.paths:
            path = os.path.join(self.folder.name, f"{name}.sqlite")
            capture = CAPTURES / f"{name}.gpcap"
            if not capture.exists():  # packed, and unpacked in the build tree
                capture = BUILD / "tests/captures" / capture.name
            if name.startswith("gpt2"):
                replay_packed(GPUPROF, "training/gpt2", name, path)
            else:
                output_of("replay", str(capture), "-o", path)
            self.paths[name] = path
        return self.paths[name]

    def query(self, name, sql):
        connection = sqlite3.connect(self.path(name))
        try:
            cursor = connection.execute(sql)
            return table(cursor.fetchall(), [column[0] for column in cursor.description])
        finally:
            connection.close()

    def summary(self, name, lines):
        printed = output_of("-i", self.path(name)).splitlines(keepends=True)
        return "".join(printed[:lines]) + "…\n"

    def printed(self, command, old):
        words = shlex.split(command)
        for word in words:
            if word.endswith(".sqlite"):
                self.path(word.removesuffix(".sqlite"))
        text = output_of(*words, cwd=self.folder.name)
        if not old.endswith("…\n"):
            return text
        return "".join(text.splitlines(keepends=True)[: old.count("\n") - 1]) + "…\n"


def blocks_of(pattern):
    """The matches on all pages."""
    return [block for page in PAGES for block in pattern.findall(page.read_text(encoding="utf-8"))]


class Docs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.replays = Replays()
        cls.addClassCleanup(cls.replays.folder.cleanup)

    def test_schema_is_up_to_date(self):
        self.assertTrue(
            SCHEMA.read_text(encoding="utf-8") == output_of("schema"),
            "docs/schema.md is not what `gpuprof schema` prints: run "
            "python3 tests/golden/test_docs.py --write",
        )

    def test_tables_of_the_python_package_are_up_to_date(self):
        self.assertTrue(
            TABLES.read_text(encoding="utf-8") == tables_of_python(output_of("schema")),
            "run python3 tests/golden/test_docs.py --write",
        )

    def test_options_are_up_to_date(self):
        text = NVPROF.read_text(encoding="utf-8")
        self.assertTrue(text == with_options(text), "run python3 tests/golden/test_docs.py --write")

    def test_exit_codes_are_up_to_date(self):
        found = 0
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            found += len(EXIT_CODES.findall(text))
            self.assertTrue(
                text == with_exit_codes(text), "run python3 tests/golden/test_docs.py --write"
            )
        self.assertEqual(found, 2)

    def test_metrics_are_up_to_date(self):
        text = METRICS.read_text(encoding="utf-8")
        self.assertTrue(text == with_metrics(text), "run python3 tests/golden/test_docs.py --write")

    def test_links(self):
        for page in PAGES:
            text = FENCE.sub("", page.read_text(encoding="utf-8"))
            for link in LINK.findall(text):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=str(shown(page)), link=link):
                    self.assertTrue(target.exists(), "no such file")
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target))

    def test_paths(self):
        for page in PAGES:
            if page == SCHEMA:
                continue
            for path in PATH.findall(LINK.sub("", page.read_text(encoding="utf-8"))):
                path = path.rstrip(".")
                with self.subTest(page=str(shown(page)), path=path):
                    self.assertTrue(glob.glob(str(ROOT / path)), "no such file")

    def test_commands(self):
        main = Options(output_of("--help", "all"))
        subcommands = {name: Options(output_of(name, "--help")) for name in subcommand_names()}
        found = 0
        for page in PAGES:
            for words in commands(page.read_text(encoding="utf-8")):
                found += 1
                with self.subTest(page=str(shown(page)), command=" ".join(words)):
                    unknown, rest = main.unknown(words)
                    self.assertIsNone(unknown)
                    if not rest or rest[0] not in subcommands:
                        continue
                    options = subcommands[rest.pop(0)]
                    while rest:
                        unknown, rest = options.unknown(rest)
                        self.assertIsNone(unknown)
                        rest = rest[1:]
        self.assertGreater(found, 10)

    def test_options_in_the_text(self):
        """`--option` must be an option of gpuprof, of a script, or of the Python package."""
        known = set(OPTION.findall(output_of("--help", "all")))
        for name in subcommand_names():
            known.update(OPTION.findall(output_of(name, "--help")))
        package = (ROOT / "apps" / "python" / "gpuprof_cuda").glob("*.py")
        for script in [*filter(pathlib.Path.is_file, (ROOT / "scripts").iterdir()), *package]:
            known.update(OPTION.findall(script.read_text(encoding="utf-8")))
        for page in PAGES:
            text = FENCE.sub("", page.read_text(encoding="utf-8"))
            for option in re.findall(r"`(--[A-Za-z][\w-]*)", text):
                with self.subTest(page=str(shown(page)), option=option):
                    self.assertIn(option, known)

    def test_output_of_queries(self):
        blocks = blocks_of(QUERY)
        self.assertGreaterEqual(len(blocks), 7)
        for name, sql, expected in blocks:
            with self.subTest(capture=name, sql=sql):
                self.assertEqual(self.replays.query(name, sql), expected)

    def test_summaries(self):
        blocks = blocks_of(SUMMARY)
        self.assertTrue(blocks)
        for name, expected in blocks:
            self.assertEqual(self.replays.summary(name, expected.count("\n") - 1), expected)

    def test_what_commands_print(self):
        blocks = blocks_of(PRINTED)
        self.assertTrue(blocks)
        for command, expected in blocks:
            with self.subTest(command):
                self.assertEqual(self.replays.printed(command, expected), expected)


def tables_of_python(schema):
    """_tables.pyi: what `gpuprof schema` says about each table and view, as an attribute of a run."""
    lines = [
        "# Written by tests/golden/test_docs.py --write. Change schema/ instead of this file.",
        '"""The tables and views of gpuprof\'s files, for editors and type checkers."""',
        "",
        "from ._table import Table",
        "",
        "class Tables:",
    ]
    for section in re.split(r"^### ", schema, flags=re.MULTILINE)[1:]:
        name, _, text = section.partition("\n")
        text = re.split(r"^## ", text, flags=re.MULTILINE)[0]
        doc = re.sub(r"\[(\w+)\]\(#\w+\)", r"\1", text.strip().partition("\n\n")[0])
        columns = re.findall(r"^\| `(\w+)` \| \w* \| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
        lines += [f"    {name}: Table", f'    r"""{"" if doc.startswith("|") else doc}', ""]
        for column, unit, meaning in columns:
            unit = f" ({unit.strip()})" if unit.strip() else ""
            lines.append(f"    {column}{unit}: {meaning}".rstrip().removesuffix(":"))
        lines += ['    """']
    return "".join(line + "\n" for line in lines)


def with_exit_codes(text):
    return EXIT_CODES.sub(lambda block: block[1] + output_of("exit-codes") + block[2], text)


def with_options(text):
    return OPTIONS.sub(lambda block: block[1] + output_of("options") + block[2], text)


def chips():
    """A table with one row for all chips that have the same numbers of metrics and events."""
    with open(ROOT / "tests/golden/metrics_by_chip.tsv", encoding="utf-8") as file:
        names, *rows = (line.rstrip("\n").split("\t") for line in file)
    groups = {}
    for column in range(2, len(names)):
        counts = [0, 0]
        for kind, _, *choices in rows:
            counts[kind == "event"] += choices[column - 2] != "-"
        groups.setdefault(tuple(counts), []).append(names[column])
    lines = ["| chips | metrics | events |", "|---|---|---|"]
    for (metrics, events), members in sorted(groups.items(), reverse=True):
        lines.append(f"| {', '.join(members)} | {metrics} | {events} |")
    return "".join(line + "\n" for line in lines)


def with_metrics(text):
    text = CHIPS.sub(lambda block: block[1] + chips() + block[2], text)
    return METRIC_MAP.sub(lambda block: block[1] + output_of("metric-map") + block[2], text)


def write():
    SCHEMA.write_text(output_of("schema"), encoding="utf-8")
    TABLES.write_text(tables_of_python(output_of("schema")), encoding="utf-8")
    METRICS.write_text(with_metrics(METRICS.read_text(encoding="utf-8")), encoding="utf-8")
    replays = Replays()

    def renewed(block, old, new):
        return block.group(0).removesuffix(old + "```\n") + new + "```\n"

    def query(block):
        name, sql, old = block.groups()
        return renewed(block, old, replays.query(name, sql))

    def summary(block):
        name, old = block.groups()
        return renewed(block, old, replays.summary(name, old.count("\n") - 1))

    def printed(block):
        command, old = block.groups()
        return renewed(block, old, replays.printed(command, old))

    for page in PAGES:
        text = with_exit_codes(with_options(page.read_text(encoding="utf-8")))
        text = PRINTED.sub(printed, SUMMARY.sub(summary, QUERY.sub(query, text)))
        page.write_text(text, encoding="utf-8")
    replays.folder.cleanup()


if __name__ == "__main__":
    if not os.access(GPUPROF, os.X_OK):
        raise SystemExit("set GPUPROF to the path of the gpuprof binary")
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
