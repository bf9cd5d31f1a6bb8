#!/usr/bin/python3
"""Reads and checks a record of dataflow, which `simctl run SCENARIO -o DIR --dataflow` writes, and says what is in it.

sim/dataflow/README.md describes the format. Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.
"""

import gzip
import json
import stat
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import dataflow_header  # noqa: E402
from dataflow_header import Fault  # noqa: E402
from dataflow_lines import Compression, Evaluation, Gradient, Linear, Lines, Step  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from program import Parser, command_of, say  # noqa: E402
from results import shown  # noqa: E402

COMMAND = command_of(__file__)
NAME = Path(COMMAND).name
AGAIN = "write it again: simctl run SCENARIO -o DIR --dataflow --force"
MOST = 64 << 20     # bytes of a line


@dataclass
class Record:
    """A file that was read to its end and obeys every rule."""

    path: Path
    header: dict
    operations: list
    ends: list          # for each operation, the values that no later one takes: they may go after it
    functions: set      # the names of all S and C

    @property
    def gradients(self):
        return sum(isinstance(one, Gradient) for one in self.operations)


def read(path):
    """A Record. Raises InputError."""
    header, operations, functions = None, [], set()
    for number, found in objects(path):
        try:
            if header is None:
                dataflow_header.check(found)
                header, lines = found, Lines(found)
                continue
            one = lines.operation(found, number)
        except Fault as fault:
            raise InputError(f"{path}: line {number}: {fault}; {AGAIN}") from None
        except OverflowError:
            raise InputError(f"{path}: line {number}: expected numbers below 1e308; {AGAIN}") from None
        operations.append(one)
        if isinstance(one, (Step, Compression)):
            functions.add(one.f)
    if header is None:
        raise InputError(f"{path}: empty: expected a header; {AGAIN}")
    try:
        lines.finish(len(operations))
    except Fault as fault:
        raise InputError(f"{path}: line {len(operations) + 1}: {fault}; {AGAIN}") from None
    del lines       # which knows every value, and a record may have millions
    return Record(Path(path), header, operations, last_uses(header, operations), functions)


def objects(path):
    """(line, JSON object) of every line of the file, which is read no further than that."""
    number = 0
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise InputError(f"{path}: expected a regular file; name a record, dataflow-<point>.jsonl.gz")
        with (gzip.open if Path(path).suffix == ".gz" else open)(path, "rb") as stream:
            while line := stream.readline(MOST):
                number += 1
                yield number, parsed(path, number, line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: line {number + 1}: expected a whole gzip file ({error}); {AGAIN}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {AGAIN}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def parsed(path, number, line):
    if len(line) == MOST:
        raise InputError(f"{path}: line {number}: expected at most {MOST >> 20} MiB, got more; {AGAIN}")
    try:
        found = json.loads(line, object_pairs_hook=without_repeats, parse_constant=no_number)
    except (UnicodeDecodeError, RecursionError):
        raise InputError(f"{path}: line {number}: expected JSON in UTF-8 of reasonable depth; {AGAIN}") from None
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise InputError(f"{path}: line {number}: expected JSON ({said}); {AGAIN}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: line {number}: expected a JSON object, got {shown(found)}; {AGAIN}")
    return found


def without_repeats(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {shown(repeated)} appears twice")
    return found


def no_number(text):
    raise ValueError(f"{text} is no number")


def last_uses(header, operations):
    """For each operation, the values that it is the last to take; what nobody takes ends where it is made."""
    last = dict.fromkeys((*header["initial"], *header["zeros"]), 0)
    for place, one in enumerate(operations):
        for value in (*made(one), *taken(one)):
            last[value] = place
    ends = [[] for _ in operations]
    for value, place in last.items() if operations else ():
        ends[place].append(value)
    return ends


def taken(one):
    """The values that an operation takes."""
    if isinstance(one, Linear):
        return [value for _, value, _ in one.of]
    return one.x if isinstance(one, (Gradient, Evaluation)) else one.of


def made(one):
    if isinstance(one, Evaluation):
        return ()
    return (one.v,) if isinstance(one, Linear) else one.v


def summary(record):
    """Lines that say what is in a record."""
    header, kinds = record.header, Counter(type(one) for one in record.operations)
    total = sum(part["bytes"] for part in header["parts"])
    labels = ", ".join(f"{pointer} = {shown(value)}" for pointer, value in header["labels"].items())
    functions = f" ({', '.join(sorted(record.functions))})" if record.functions else ""
    return [
        f"point       {header['point']}" + (f": {labels}" if labels else ""),
        f"schedule    {header['schedule']}, optimizer {header['optimizer']}",
        f"workers     {header['workers']}, {header['samples']:g} samples a gradient",
        f"model       {total:g} bytes in {len(header['parts'])} part{'s' * (len(header['parts']) > 1)}",
        f"operations  {len(record.operations)}: {kinds[Gradient]} gradients, {kinds[Linear]} combinations, "
        f"{kinds[Step]} steps, {kinds[Compression]} compressions{functions}, {kinds[Evaluation]} places to evaluate",
        f"seconds     {header['end_s']:g} simulated",
        f"hyper       {', '.join(header['hyper']) or 'none'}",
    ]


def main(argv=None):
    parser = Parser(prog=NAME, description="Check a record of dataflow and say what is in it.", allow_abbrev=False,
                    epilog=f"example: {COMMAND} results/dataflow/dataflow-0.jsonl.gz")
    parser.add_argument("file", metavar="FILE", type=Path, help="dataflow-<point>.jsonl.gz, or the same unpacked")
    options = parser.parse_args(argv)
    try:
        for line in summary(read(options.file)):
            say(line, sys.stdout)
    except (InputError, OutputError) as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 3 if isinstance(error, InputError) else 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
