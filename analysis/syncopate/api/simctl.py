"""Finding simctl and calling it: exit codes become exceptions, an interrupt ends it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple, NoReturn, Sequence

from syncopate.common.errors import Failure, InputError, OutputError, SimulationError, UsageError, printable

VARIABLE = "SYNCOPATE_SIMCTL"
ERRORS = {error.code: error for error in (UsageError, InputError, SimulationError, OutputError)}
INTERRUPTED = 130
LOOK_EVERY = 0.2        # seconds
PATIENCE = 10           # seconds that an interrupted simctl gets to end by itself


class Said(NamedTuple):
    """What a finished program printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def find() -> Path:
    """The program: $SYNCOPATE_SIMCTL, that of the tree or the prefix that this package is in, or one on the PATH. Raises InputError."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        path = Path(wanted).absolute()
        if is_program(path):
            return path
        raise InputError(f"{path}: expected a program that can be run, as {VARIABLE} names it; set it to simctl's path, or unset it")
    places = [folder / name for folder in Path(__file__).resolve().parents for name in ("build/simctl", "bin/simctl")
              if name == "bin/simctl" or (folder / "CMakeLists.txt").exists()]
    for path in places:
        if is_program(path):
            return path
    found = shutil.which("simctl")
    if found:
        return Path(found).absolute()
    looked = ", ".join(str(path) for path in places if path.parent.is_dir() or path.parent.name == "build")
    raise InputError(f"simctl: not found; looked for {looked}, and in PATH; build it with make build in the source tree (INSTALL.md), "
                     f"or set {VARIABLE} to its path")


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def call(words: Sequence[str], stdin: str = "", watch: Callable[[], None] = lambda: None) -> Said:
    """Runs `simctl WORDS`, and calls `watch` now and then meanwhile. An interrupt is passed on, and raised once simctl has ended."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        program = find()
        try:
            # A process group of its own: a terminal's Ctrl-C reaches it through us only, as a notebook's does.
            process = subprocess.Popen([program, *words], stdin=given, stdout=out, stderr=err, process_group=0)
        except (OSError, ValueError) as error:
            raise InputError(f"{program}: cannot be run: {error}; set {VARIABLE} to a simctl for this machine") from None
        try:
            code = wait(process, watch)
        except BaseException:
            end(process)
            raise
        return Said(code, *(text_of(stream) for stream in (out, err)))


def wait(process: subprocess.Popen, watch: Callable[[], None]) -> int:
    while True:
        try:
            return process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            watch()


def end(process: subprocess.Popen) -> None:
    """Asks it to end, and waits until it has."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def text_of(stream) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def message_of(said: Said) -> str:
    """The program's own words, without its name."""
    lines = said.err.strip().splitlines()
    errors = [line.removeprefix("simctl: ") for line in lines if line.startswith("simctl: ")]
    return "\n".join(printable(line) for line in errors or lines)


def fail(said: Said, result: object = None) -> NoReturn:
    """Raises the exception of an exit code other than 0."""
    if said.code == INTERRUPTED:
        raise KeyboardInterrupt
    message = message_of(said)
    if said.code < 0:
        raise Failure(f"simctl was ended by signal {-said.code} ({signal.Signals(-said.code).name}){': ' if message else ''}{message}")
    error = ERRORS.get(said.code, Failure)(message or f"simctl ended with exit code {said.code}")
    if isinstance(error, SimulationError):
        error.result = result
    raise error
