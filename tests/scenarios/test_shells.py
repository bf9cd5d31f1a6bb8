"""Do the shells' completion and the manual pages know every command and option, as --help names them?"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import ROOT, SIMCTL, Case, schedules

FILES = {"scenarios": "scenarios", "clusters": "scenarios/clusters", "advice": "scenarios/advice", "models": "models", "devices": "models/devices", "traces": "traces"}


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False, **more)


def help_of(words):
    return run(SIMCTL, *words, "--help").stdout


def subcommands(text):
    found = re.search(r"^Subcommands:\n((?:  .*\n)+)", text + "\n", re.M)
    return re.findall(r"^  (\S+)", found[1], re.M) if found else []


def commands(words=()):
    """The words of every command, and what it says of itself."""
    text = help_of(words)
    yield list(words), text
    for name in subcommands(text):
        yield from commands((*words, name))


def options(text):
    """The names that a command's help has for options; a line may be one name short where it breaks."""
    return {name for line in re.findall(r"^  (-\S+)", text, re.M) for name in line.split(",") if name}


def named(kind):
    return {path.stem for path in (ROOT / FILES[kind]).glob("*.json")}


COMMANDS = list(commands())

HOSTILE = ["aa;touch PWNED", "bb$(touch PWNED)", "cc`touch PWNED`", "dd'; touch PWNED; '", 'ee"; touch PWNED; "', "ff & touch PWNED", "gg|touch PWNED", "hh>PWNED", "jj k",
           "kk\\", "vv*", "mm{a,b}", "nn:touch PWNED", "oo=;touch PWNED", "pp!!", "qq#"]
LEFT_OUT = ["\x1b[31m", "rr\n;touch PWNED", "ss\ttouch PWNED", "tt\u202etxt", "--force", "-o"]
SHELLS = {"bash": (["bash", "--norc", "--noprofile", "-i"], "source ./completion"),
          "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source ./completion"),
          "fish": (["fish", "--no-config", "-i"], "source ./completion")}


def completed(*words):
    done = run(SIMCTL, "complete", "simctl", *words, cwd=ROOT)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


class Completion(Case):
    def test_every_command_and_option(self):
        self.assertGreater(len(COMMANDS), 14)
        for words, text in COMMANDS:
            with self.subTest(words):
                self.assertGreaterEqual(set(completed(*words, "")), set(subcommands(text)))
                self.assertIn("--help", options(text))
                self.assertEqual(set(completed(*words, "-")), options(text))

    def test_names_where_help_says_that_they_go(self):
        found = 0
        for words, text in COMMANDS:
            for option, kind in re.findall(r"^  (--[\w-]+|[A-Z]+) .*?\"simctl list (\w+)\" +shows", re.sub(r"\n {8,}", " ", text), re.M):
                found += 1
                names = set(completed(*words, option, "") if option.startswith("-") else completed(*words, ""))
                with self.subTest(words=words, option=option):
                    self.assertEqual(names, set(schedules()) if kind == "schedules" else named(kind))
        self.assertGreater(found, 9)
        self.assertEqual(set(completed("show", "")), set.union(*map(named, ("models", "traces", "devices", "clusters"))))

    def test_values_of_closed_sets(self):
        for words, text in COMMANDS:
            for option, values in re.findall(r"^  (?:-\w,)?(--[\w-]+|[A-Z]+) TEXT:\{(.*?)\}", text, re.M):
                with self.subTest(words=words, option=option):
                    self.assertEqual(completed(*words, *([option] if option.startswith("-") else []), ""), values.split(","))

    def test_what_stands_before_counts(self):
        self.assertEqual(completed("ru"), ["run"])
        self.assertEqual(completed("run", "--ti"), ["--timeline", "--timeline-format"])
        self.assertEqual(completed("run", "--format", "c"), ["csv"])
        self.assertEqual(completed("run", "--format=c"), ["--format=csv"])
        self.assertEqual(completed("run", "--format", "=", "c"), ["csv"])     # bash's words
        self.assertEqual(completed("run", "--format", "="), ["csv", "json"])
        self.assertEqual(completed("run", "--quiet", "quick"), ["quickstart"])
        self.assertEqual(completed("run", "--set", "/cluster/nodes", "=", "8", "quick"), ["quickstart"])
        self.assertEqual(completed("run", "-o", "quick"), [])
        self.assertEqual(completed("run", "quickstart", "scal"), [])          # one scenario
        self.assertEqual(completed("trace", "fit", "cpu-resnet50-b8", "cpu-vgg"), ["cpu-vgg11-b8"])
        self.assertEqual(completed("trace", "compare", "cpu-resnet50-b8", "cpu-vgg"), ["cpu-vgg11-b8"])
        self.assertEqual(completed("nonsense", "x"), [])
        self.assertEqual(completed("run", "scenarios/qu"), [])               # a file's name, which the shell completes

    def test_where_the_project_is_not_there(self):
        done = run(SIMCTL, "complete", "simctl", "run", "--t", cwd="/")
        self.assertIn("--timeline\t", done.stdout)

    def test_names_that_no_shell_can_take_are_left_out(self):
        (self.folder / "scenarios").mkdir()
        for name in [*HOSTILE, *LEFT_OUT]:
            self.write(f"scenarios/{name}.json", "{}")
        names = [line.split("\t")[0] for line in run(SIMCTL, "complete", "simctl", "check", "", cwd=self.folder).stdout.splitlines()]
        self.assertEqual(set(names) - named("scenarios"), set(HOSTILE))

    def type_into(self, shell, lines, words):
        """Types lines at a terminal. The end of each waits until the shell has answered its beginning, and the next line until a command has run."""
        (self.folder / "bin").mkdir(exist_ok=True)
        # It completes as simctl does; any other call notes its words.
        stand_in = self.write("bin/simctl", f'#!/bin/bash\n[ "$1" = complete ] && exec {SIMCTL} "$@"\nprintf "%s\\n" "$@" >> "{words}"\necho >> "{words}"\n')
        stand_in.chmod(0o755)
        self.write("completion", run(SIMCTL, "completion", shell).stdout)
        command, begin = SHELLS[shell]
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe(command[0], command, os.environ | {"PATH": f"{stand_in.parent}:{os.environ['PATH']}", "TERM": "xterm", "HOME": str(self.folder), "PS1": "$ "})

        def type_text(text, is_done, quiet_s=0.15):
            os.write(terminal, text.encode())
            heard, deadline = time.monotonic(), time.monotonic() + 20
            while time.monotonic() < deadline and not (is_done() and time.monotonic() - heard > quiet_s):
                if select.select([terminal], [], [], 0.02)[0]:
                    os.read(terminal, 1 << 16)
                    heard = time.monotonic()
        try:
            type_text(f"{begin}; echo ready > ready\n", lambda: (self.folder / "ready").exists(), 0.5)
            for number, (beginning, end) in enumerate(lines, 1):
                type_text(beginning, lambda: True)
                type_text(end, lambda number=number: words.read_text().count("\n\n") == number, 0)
        finally:
            os.kill(child, signal.SIGKILL)
            os.close(terminal)
            os.waitpid(child, 0)

    def test_what_a_shell_inserts_is_the_name_and_nothing_runs(self):
        (self.folder / "scenarios").mkdir()
        for name in HOSTILE:
            self.write(f"scenarios/{name}.json", "{}")
        for shell in SHELLS:
            if not shutil.which(shell):
                continue
            with self.subTest(shell):
                words = self.folder / "words"
                words.write_text("")
                self.type_into(shell, [(f"simctl check {name[:2]}\t", "\n") for name in HOSTILE], words)
                self.assertEqual(words.read_text(), "".join(f"check\n{name}\n\n" for name in HOSTILE))
                self.assertFalse((self.folder / "PWNED").exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_scenarios_above_that_are_somebody_elses_are_not_offered(self):
        inner = self.folder / "inner"
        for folder in (inner, self.folder / "scenarios"):
            folder.mkdir()
        self.write("scenarios/planted.json", "{}")

        def offered(cwd):
            found = run(SIMCTL, "complete", "simctl", "check", "planted", cwd=cwd).stdout != ""
            done = run(SIMCTL, "check", "planted", cwd=cwd)
            self.assertEqual("no scenario has this name" in done.stderr, not found)
            return found
        self.assertTrue(offered(inner))
        for given_away in (self.folder / "scenarios/planted.json", self.folder / "scenarios", self.folder):
            with self.subTest(given_away):
                os.chown(given_away, 12345, 12345)
                self.assertFalse(offered(inner))
                self.assertTrue(offered(self.folder))     # the current folder is the user's choice
                os.chown(given_away, 0, 0)
        self.assertTrue(offered(inner))

    def test_bash(self):
        def in_bash(*words):
            line = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _simctl "$1"; printf "%s\\n" "${COMPREPLY[@]}"'
            done = run("bash", "--norc", "-euc", line, self.write("simctl.bash", run(SIMCTL, "completion", "bash").stdout), SIMCTL, *words, cwd=ROOT)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.split("\n")[:-1]
        self.assertEqual(in_bash("ru"), ["run"])
        self.assertEqual(in_bash("run", "--ti"), ["--timeline", "--timeline-format"])
        self.assertEqual(in_bash("list", "sche"), ["schedules"])
        self.assertEqual(in_bash("show", ""), completed("show", ""))
        self.assertEqual(in_bash("run", "no-such"), [""])

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("there is no zsh")
        script = self.write("_simctl", run(SIMCTL, "completion", "zsh").stdout)
        self.assertEqual(run("zsh", "-n", script).stderr, "")
        # What it hands to zsh's own functions.
        line = ('compdef() { true }; _files() { print files }; _describe() { print -l "${(@P)2}" }; source $1; '
                'words=($2 run --format ""); CURRENT=4; _simctl; words=($2 run x:); CURRENT=3; _simctl')
        done = run("zsh", "-fc", line, "zsh", script, SIMCTL, cwd=ROOT)
        self.assertEqual((done.stdout, done.stderr), ("csv:\njson:\nfiles\n", ""))

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("there is no fish")
        script = self.write("simctl.fish", run(SIMCTL, "completion", "fish").stdout)
        self.assertEqual(run("fish", "-n", script).stderr, "")
        path = f"{pathlib.Path(SIMCTL).parent}:{os.environ['PATH']}"
        for line, wanted in (("simctl ru", ["run"]), ("simctl run --ti", ["--timeline", "--timeline-format"]), ("simctl run --format ", ["csv", "json"])):
            done = run("fish", "--no-config", "-c", f'source {script}; complete -C "{line}"', cwd=self.folder, env=os.environ | {"PATH": path, "HOME": str(self.folder)})
            names = [row.split("\t")[0] for row in done.stdout.splitlines()]
            self.assertEqual([name for name in names if not (self.folder / name).exists()], wanted, done.stderr)


@unittest.skipUnless(shutil.which("help2man") and shutil.which("cmake"), "there is no help2man")
class Manual(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        done = run("cmake", "-D", f"HELP2MAN={shutil.which('help2man')}", "-D", f"BIN={pathlib.Path(SIMCTL).resolve().parent}", "-D", f"OUT={folder}", "-D", "VERSION=1.2.3",
                   "-P", ROOT / "sim/manual.cmake")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        cls.pages = {path.name: path for path in folder.glob("simctl*")}

    def test_a_page_of_every_command_with_all_options(self):
        self.assertEqual(set(self.pages), {"-".join(["simctl", *words]) + ".1" for words, _ in COMMANDS})
        for words, text in COMMANDS:
            page = self.pages["-".join(["simctl", *words]) + ".1"].read_text().replace("\\-", "-")
            for option in [*options(text), *subcommands(text)]:
                self.assertIn(option, page.replace("\\fB", "").replace("\\fR", ""))

    def test_it_reads_as_text(self):
        if not shutil.which("man"):
            self.skipTest("there is no man")
        done = run("man", "--warnings", "-l", self.pages["simctl-run.1"], env=os.environ | {"MANWIDTH": "120", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(r".\x08|\x1b\[\d*m", "", done.stdout)
        self.assertIn("simctl run [OPTIONS] SCENARIO", text)
        self.assertIn("--timeline-format", text)


if __name__ == "__main__":
    unittest.main()
