"""How a program of this folder is called: as a file of it, or by the command that an installation has for it."""

import argparse
import os
import sys
from pathlib import Path

from errors import OutputError, printable


def command_of(file):
    called = Path(sys.argv[0]).name
    return called if called.startswith("syncopate-") else f"analysis/{Path(file).name}"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        self.exit(2, printable(f"{self.prog}: {message}; see {self.prog} --help") + "\n")


def say(text, stream):
    """One line. Raises OutputError where stdout takes it no more."""
    try:
        print(printable(text), file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())      # for what Python writes when it ends
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None
