"""Reading files, and saying in one line what is wrong with one."""

import csv
import gzip
import io
import json
import math
import stat
import zlib

from syncopate.common.errors import InputError

MOST_BYTES = 256 << 20      # of a text that is read, as in simctl


def read_text(path, again):
    """The text of a file, unpacked where its name ends in .gz. `again`: how to get a good one, for the error."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: expected a regular file; {again}")
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path}: too large: a text of more than {MOST_BYTES >> 20} MiB; move it away, or {again}")
        return content.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: expected a whole gzip file ({error}); {again}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {again}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start}: expected UTF-8 text; {again}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def read_json(path, again):
    """The JSON object in a file."""
    try:
        value = json.loads(read_text(path, again))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}, column {error.colno}: expected JSON ({error.msg}); {again}") from None
    except (RecursionError, ValueError):
        raise InputError(f"{path}: expected JSON of reasonable depth and numbers; {again}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object, got {shown(value)}; {again}")
    return value


def named_rows(path, columns):
    """(where it stands, {column: text}) of each row of a CSV file whose rows have an id of their own."""
    rows = csv.DictReader(io.StringIO(read_text(path, "copy it from the repository again"), newline=""))
    if rows.fieldnames != columns:
        raise InputError(f"{path}: header: expected {','.join(columns)}, got {','.join(rows.fieldnames or [])}")
    found = set()
    for row in rows:
        place = f"{path}: line {rows.line_num}"
        if None in row or None in row.values():
            raise InputError(f"{place}: expected {len(columns)} cells")
        if row["id"] in found:
            raise InputError(f'{place}: id "{row["id"]}" appears twice, expected once')
        found.add(row["id"])
        yield place, row


class Checker:
    """Checks what a JSON file holds. Its methods raise InputError, with the JSON pointer `where` of what is wrong."""

    def __init__(self, path, again):
        self.path, self.again = path, again

    def need(self, holds, where, rule, value):
        if not holds:
            raise InputError(f"{self.path}: {where}: expected {rule}, got {shown(value)}; {self.again}")

    def object(self, value, where):
        self.need(isinstance(value, dict), where, "an object", value)
        return value

    def list(self, value, where):
        self.need(isinstance(value, list), where, "a list", value)
        return value

    def objects(self, value, where):
        """(pointer, object) of each item of a list."""
        return [(f"{where}/{place}", self.object(item, f"{where}/{place}")) for place, item in enumerate(self.list(value, where))]

    def string(self, value, where):
        self.need(isinstance(value, str), where, "a string", value)
        return value

    def number(self, value, where):
        self.need(is_number(value), where, "a number", value)
        return value

    def positive(self, value, where):
        self.need(is_number(value) and value > 0, where, "a number > 0", value)
        return value

    def not_negative(self, value, where):
        self.need(is_number(value) and value >= 0, where, "a number >= 0", value)
        return value

    def count(self, value, where):
        self.need(is_count(value), where, "an integer >= 0", value)
        return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value, least=0):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def shown(value):
    """A value as an error message quotes it: JSON, cut where it is long."""
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
