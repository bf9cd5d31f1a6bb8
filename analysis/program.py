"""How a program of this folder is called: as a file of it, or by the command that an installation has for it."""

import sys
from pathlib import Path


def command_of(file):
    called = Path(sys.argv[0]).name
    return called if called.startswith("syncopate-") else f"analysis/{Path(file).name}"
