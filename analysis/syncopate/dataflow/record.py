"""Reading a record of dataflow, which `simctl run SCENARIO -o DIR --dataflow` writes; sim/dataflow/README.md describes the format."""

import gzip
import json
import stat
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from syncopate.common.errors import InputError
from syncopate.common.reading import shown
from syncopate.dataflow.header import Fault, check
from syncopate.dataflow.lines import Compression, Evaluation, Gradient, Linear, Lines, Step

AGAIN = "write it again: simctl run SCENARIO -o DIR --dataflow --force"
MOST = 64 << 20     # bytes of a line


@dataclass
class Record:
    """A file that was read to its end and obeys every rule."""

    path: Path
    header: dict
    operations: list
    ends: list          # for each operation, the values that no later one takes: they can be freed after it
    functions: set      # the names of all S and C

    @property
    def gradients(self):
        return sum(isinstance(one, Gradient) for one in self.operations)


def read_record(path):
    """A Record. Raises InputError."""
    header, operations, functions = None, [], set()
    for number, found in objects(path):
        try:
            if header is None:
                check(found)
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
    del lines       # frees its tables of all values, of which a record may have millions
    return Record(Path(path), header, operations, last_uses(header, operations), functions)


def objects(path):
    """(line number, JSON object) of every line; the file is read line by line."""
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
    """For each operation, the values that it is the last to take. A value that nothing takes is listed where it is made."""
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
