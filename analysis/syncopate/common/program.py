"""What the command lines of analysis/ share."""

import argparse
import os
import sys
import warnings
from pathlib import Path

from syncopate.common.errors import Failure, OutputError, printable

ROOT = Path(__file__).resolve().parents[3]      # the source tree, or PREFIX/share/syncopate


def command_of(name):
    """How a user calls the program "report": analysis/report.py, or syncopate-report where it is installed."""
    called = Path(sys.argv[0]).name
    return called if called.startswith("syncopate-") else f"analysis/{name}.py"


class Formatter(argparse.RawDescriptionHelpFormatter):
    def add_usage(self, usage, actions, groups, prefix=None):
        super().add_usage(usage, actions, groups, "Usage: ")


class Parser(argparse.ArgumentParser):
    """Its --help has the headings that help2man knows. Says in one line what is wrong with the arguments, and exits with 2."""

    def __init__(self, command, **more):
        super().__init__(prog=Path(command).name, allow_abbrev=False, formatter_class=Formatter, **more)
        self._positionals.title, self._optionals.title = "Arguments", "Options"

    def error(self, message):
        self.exit(2, printable(f"{self.prog}: {message}; see {self.prog} --help") + "\n")


def exit_code(command, work):
    """Calls work(). Returns 0, or says in one line on stderr what failed and returns the failure's code."""
    warnings.filterwarnings("ignore", message="Glyph")      # a name in a script that the figures' font lacks
    try:
        work()
    except Failure as failure:
        warn(command, failure)
        return failure.code
    return 0


def warn(command, text):
    """One line on stderr."""
    print(printable(f"{Path(command).name}: {text}"), file=sys.stderr)


def say(text, stream=None):
    """One line on stdout, or on `stream`. Raises OutputError where that takes it no more."""
    stream = stream or sys.stdout
    try:
        print(printable(str(text)), file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())      # Python flushes the stream again when it ends
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None


class Progress:
    """How far work has come: one line on a terminal, nothing elsewhere."""

    def __init__(self, command, what):
        self.name, self.what, self.done, self.total, self.is_shown = Path(command).name, what, 0, 0, sys.stderr.isatty()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.show("\r\x1b[K")

    def expect(self, more):
        self.total += more

    def advance(self):
        self.done += 1
        self.show(f"\r{self.name}: {self.done} of {self.total} {self.what}")

    def show(self, text):
        if self.is_shown:
            print(text, end="", file=sys.stderr, flush=True)
