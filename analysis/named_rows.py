"""Tables of papers: rows of a CSV file, each with an id of its own."""

import csv
import io

from errors import InputError
from results import read_text


def named_rows(path, columns):
    """(where a row stands, {column: text}) of every row. Raises InputError where the table has other columns, a row other cells, or two rows one id."""
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
