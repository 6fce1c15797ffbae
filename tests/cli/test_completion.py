"""Completion in shells: how a shell completes a line that is typed into it."""
# ctest-labels: plain

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
PATIENCE = 120

# Prints the line in brackets, and clears it.
BASH = r"""
PS1=
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind '"\C-t": complete'
bind '"\C-xa": insert-completions'
show() { printf '\n<%s>\n' "$READLINE_LINE"; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-xs": show'
source "$SCRIPT"
echo "<ready>"
"""
ZSH = r"""
PS1=
unsetopt beep prompt_cr prompt_sp zle_bracketed_paste
autoload -Uz compinit
compinit -D -u
zstyle ':completion:*' insert-tab false
zstyle ':completion:*:(all-matches|all-matches-for)' old-matches only
all-matches() { zle _generic; }
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
show() { print -r -- $'\n'"<$BUFFER>"; BUFFER=; }
zle -N show
bindkey '^T' complete-word '^Xa' all-matches '^Xs' show
source "$SCRIPT"
echo "<ready>"
"""


class Terminal:
    """An interactive shell that reads `start`, in `folder`."""

    def __init__(self, shell, start, script, folder):
        rc = folder / f".{shell}rc"
        rc.write_text(start)
        script_file = folder / f".completion.{shell}"
        script_file.write_text(script)
        here, there = pty.openpty()
        words = {"bash": ["bash", "--noprofile", "--rcfile", rc, "-i"], "zsh": ["zsh", "-i"]}[shell]
        environment = {
            **os.environ, "TERM": "dumb", "INPUTRC": "/dev/null", "SCRIPT": str(script_file),
            "HOME": str(folder), "ZDOTDIR": str(folder), "HISTFILE": "", "COLUMNS": "10000",
            "PATH": f"{pathlib.Path(GPUPROF).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        self.process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=there,
            stdout=there,
            stderr=there,
            start_new_session=True,
        )
        os.close(there)
        self.terminal = here
        self.read("<ready>")

    def read(self, pattern):
        seen = ""
        end = time.monotonic() + PATIENCE
        while True:
            match = re.search(pattern, seen)
            if match:
                return match
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the shell does not answer: {seen!r}")
            seen += os.read(self.terminal, 65536).decode(errors="replace").replace("\r", "")

    def key(self, typed, key):
        os.write(self.terminal, typed.encode() + key + b"\x18s")
        return self.read(r"\n<(.*)>\n")[1]

    def completed(self, typed):
        """The line after a tab."""
        return self.key(typed, b"\x14")

    def all(self, typed):
        """Every word offered there."""
        line = self.key(typed, b"\x18a")
        before = typed[: typed.rfind(" ") + 1]
        return set(line.removeprefix(before).split())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


class Shell:
    shell = ""
    start = ""

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.shell):
            raise unittest.SkipTest(f"there is no {cls.shell}")
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-completion-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "some.sqlite").touch()
        (cls.folder / "a file.sqlite").touch()
        (cls.folder / "sub").mkdir()
        script = subprocess.run([GPUPROF, "completion", cls.shell], capture_output=True, text=True)
        cls.typed = Terminal(cls.shell, cls.start, script.stdout, cls.folder)
        cls.addClassCleanup(cls.typed.close)

    def completes(self, typed, line):
        with self.subTest(typed=typed):
            self.assertEqual(self.typed.completed(typed), line)

    def test_options(self):
        self.completes("gpuprof --profile-fr", "gpuprof --profile-from-start ")
        self.completes("gpuprof -f --print-gpu-t", "gpuprof -f --print-gpu-trace ")
        self.completes("gpuprof -i some.sqlite --print-gpu-t",
                       "gpuprof -i some.sqlite --print-gpu-trace ")  # fmt: skip

    def test_options_that_do_nothing_are_not_there(self):
        for typed in ("gpuprof --annotate", "gpuprof --cpu-thread-tr", "gpuprof --aggr"):
            self.completes(typed, typed)

    def test_choices(self):
        self.completes("gpuprof --demangling mo", "gpuprof --demangling modern ")
        self.completes("gpuprof --demangling=mo", "gpuprof --demangling=modern ")
        self.completes("gpuprof --csv -fu m", "gpuprof --csv -fu ms ")
        self.completes("gpuprof --help filt", "gpuprof --help filter ")
        self.completes("gpuprof help filt", "gpuprof help filter ")
        self.completes("gpuprof help timel", "gpuprof help timeline ")

    def test_lists(self):
        self.completes("gpuprof --trace uni", "gpuprof --trace unified-memory")
        self.completes("gpuprof --trace gpu,uni", "gpuprof --trace gpu,unified-memory")
        self.completes("gpuprof --trace=gpu,uni", "gpuprof --trace=gpu,unified-memory")
        self.completes("gpuprof --trace +qu", "gpuprof --trace +queries")
        self.completes("gpuprof --trace +module,-mem", "gpuprof --trace +module,-memory")
        self.completes("gpuprof --trace -unif", "gpuprof --trace -unified-memory")

    def test_metrics_and_chips(self):
        # Two letters: CUPTI is not queried yet.
        self.completes("gpuprof --metrics ac", "gpuprof --metrics achieved_occupancy")
        self.completes("gpuprof --metrics ipc,ac", "gpuprof --metrics ipc,achieved_occupancy")
        self.completes(
            "gpuprof --query-metrics --chip GH1", "gpuprof --query-metrics --chip GH100 "
        )
        self.completes("gpuprof --query-metrics --chip A10", "gpuprof --query-metrics --chip A10")

    def test_cuptis_metrics(self):
        self.completes("gpuprof --metrics achieved", "gpuprof --metrics achieved_occupancy")
        self.completes("gpuprof --metrics ipc,dram__cycles_el",
                       "gpuprof --metrics ipc,dram__cycles_elapsed")  # fmt: skip
        self.completes(
            "gpuprof --metrics dram__bytes_read.su", "gpuprof --metrics dram__bytes_read.sum"
        )

    def test_files(self):
        self.completes("gpuprof -i some", "gpuprof -i some.sqlite ")
        self.completes("gpuprof --import-profile=some", "gpuprof --import-profile=some.sqlite ")
        self.completes("gpuprof -fo some", "gpuprof -fo some.sqlite ")
        self.completes("gpuprof info some", "gpuprof info some.sqlite ")
        self.completes("gpuprof -i a", "gpuprof -i a\\ file.sqlite ")

    def test_commands(self):
        self.completes("gpuprof trunc", "gpuprof truncate ")
        self.completes("gpuprof info --ex", "gpuprof info --exact ")
        self.completes("gpuprof query som", "gpuprof query some.sqlite ")
        self.completes("gpuprof query some.sqlite top_k", "gpuprof query some.sqlite top_kernels ")
        self.completes("gpuprof query some.sqlite --csv top_k",
                       "gpuprof query some.sqlite --csv top_kernels ")  # fmt: skip
        self.completes("gpuprof slice some.sqlite --anon", "gpuprof slice some.sqlite --anonymise ")
        self.completes(
            "gpuprof export some.sqlite --for n", "gpuprof export some.sqlite --for nvprof "
        )
        self.completes("gpuprof truncate some.sqlite --keep kernel,mars",
                       "gpuprof truncate some.sqlite --keep kernel,mars")  # fmt: skip
        self.completes("gpuprof truncate some.sqlite --keep kernel,memse",
                       "gpuprof truncate some.sqlite --keep kernel,memset")  # fmt: skip
        self.completes("gpuprof replay x --print-gpu-t", "gpuprof replay x --print-gpu-trace ")

    def test_a_command_has_its_own_options_and_no_other(self):
        self.assertEqual(
            self.typed.all("gpuprof info --"), {"--hang-after", "--help", "--json", "--exact"})  # fmt: skip
        self.completes("gpuprof info --tr", "gpuprof info --tr")

    def test_programs(self):
        (self.folder / "some_program").write_text("#!/bin/sh\n")
        (self.folder / "some_program").chmod(0o755)
        self.completes("gpuprof -f ./some_p", "gpuprof -f ./some_program ")
        self.completes("gpuprof -- ./some_p", "gpuprof -- ./some_program ")
        # After the program, words belong to the program.
        self.completes("gpuprof ./some_program --print-gpu-t",
                       "gpuprof ./some_program --print-gpu-t")  # fmt: skip
        self.completes("gpuprof -o x.sqlite ./some_program some.s",
                       "gpuprof -o x.sqlite ./some_program some.sqlite ")  # fmt: skip


class Bash(Shell, unittest.TestCase):
    shell = "bash"
    start = BASH


class Zsh(Shell, unittest.TestCase):
    shell = "zsh"
    start = ZSH


class Fish(unittest.TestCase):
    def complete(self, line):
        script = subprocess.run([GPUPROF, "completion", "fish"], capture_output=True, text=True)
        path = f"{pathlib.Path(GPUPROF).parent}:{os.environ['PATH']}"
        with tempfile.TemporaryDirectory(prefix="gpuprof-completion-") as folder:
            (pathlib.Path(folder) / "some.sqlite").touch()
            ran = subprocess.run(
                ["fish", "--no-config", "-c", script.stdout + "\ncomplete -C $argv[1]", line],
                cwd=folder, env={**os.environ, "PATH": path, "HOME": folder}, capture_output=True,
                text=True, timeout=PATIENCE)  # fmt: skip
        return {words.split("\t")[0] for words in ran.stdout.splitlines()}

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_lines(self):
        for line, words in (
            ("gpuprof --print-gpu-t", {"--print-gpu-trace"}),
            ("gpuprof --annotate", set()),
            ("gpuprof --trace +module,-unif", {"+module,-unified-memory"}),
            ("gpuprof --trace=gpu,unif", {"--trace=gpu,unified-memory"}),
            ("gpuprof --demangling mo", {"modern"}),
            ("gpuprof --metrics ipc,ac", {"ipc,achieved_occupancy"}),
            ("gpuprof -i some", {"some.sqlite"}),
            ("gpuprof --import-profile=some", {"--import-profile=some.sqlite"}),
            ("gpuprof info --", {"--help", "--json", "--exact"}),
            ("gpuprof trunc", {"truncate"}),
        ):
            with self.subTest(line=line):
                found = self.complete(line)
                self.assertEqual({word for word in found if word.startswith(tuple(words))} if
                                 line.endswith("trunc") else found, words)  # fmt: skip
        self.assertIn("some.sqlite", self.complete("gpuprof -f ls some"))


class Answers(unittest.TestCase):
    """What the scripts receive if nothing can be suggested."""

    def test_nothing_is_printed_on_failure(self):
        for words in ([], ["bash"], ["bash", " "], ["zsh"], ["fish"], ["no_shell", "x"]):
            with self.subTest(words=words):
                ran = subprocess.run([GPUPROF, "complete", *words], capture_output=True, text=True)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_every_option_of_help_is_offered(self):
        ran = subprocess.run([GPUPROF, "complete", "zsh", "--"], capture_output=True, text=True)
        offered = {line.split("\t")[0] for line in ran.stdout.splitlines()[1:]}
        text = subprocess.run([GPUPROF, "--help"], capture_output=True, text=True).stdout
        shown = set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", text))
        self.assertGreater(len(shown), 20)
        self.assertLessEqual(shown, offered)


if __name__ == "__main__":
    unittest.main()
