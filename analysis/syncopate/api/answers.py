"""What commands answer: the program's words, what is in them as tables, and how a notebook shows them."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from syncopate.common.errors import InputError
from syncopate.common.reading import read_json
from syncopate.common.wording import duration, plain

if TYPE_CHECKING:
    import pandas

# Jupyter sets formulas between dollars, also in names; these classes say not to.
OPENING = '<div class="tex2jax_ignore mathjax_ignore">'


def preformatted(text: str) -> str:
    return f"{OPENING}<pre>{html.escape(text)}</pre></div>"


def as_html(table: pandas.DataFrame, rows: int) -> str:
    """The first rows of a table; every name stays text."""
    return table.head(rows).to_html(index=False, escape=True, border=0, na_rep="", float_format=lambda value: plain(value, 4))


class Answer:
    """What a command said.

    `text` is what the program printed, `tables` the tables in it as DataFrames of texts and numbers, `table` the first of them.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip("\n")

    @property
    def tables(self) -> list[pandas.DataFrame]:
        return tables_of(self.text)

    @property
    def table(self) -> pandas.DataFrame:
        """The first table. Raises InputError where the text has none."""
        found = self.tables
        if not found:
            raise InputError("the program printed no table; see .text")
        return found[0]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return preformatted(self.text)


class Solution(Answer):
    """What `simctl solve` found.

    `table` has a row for each point: the swept keys; `holds`: everywhere, nowhere, from, up to; the key's value from or up to which the condition
    holds, as a scenario writes it; and the column's value there. The last two are empty where it holds everywhere or nowhere.
    """

    @property
    def table(self) -> pandas.DataFrame:
        import pandas
        found = super().table
        pointer, column = found.columns[-2:]
        parts = found[pointer].astype(str).str.extract("^(?:(from|up to) )?(.*)$")
        at = parts[0].notna()
        found.insert(len(found.columns) - 2, "holds", parts[0].where(at, parts[1]))
        found[pointer] = parts[1].where(at)
        found[column] = pandas.to_numeric(found[column].where(at), errors="coerce")
        return found


class Made(dict):
    """A file that a command made, as a dict: a trace or a cluster. It can be given to run() as `trace` or `cluster`.

    `text` is what the program said. Written only where output= says so; save(path) writes it later.
    """

    def __init__(self, content: dict[str, Any], text: str) -> None:
        super().__init__(content)
        self.text = text.strip("\n")

    def save(self, path: str | Path) -> Path:
        """Writes the file, whole or not at all. Raises OutputError."""
        from syncopate.common.writing import write
        write(Path(path), (json.dumps(dict(self), indent=1, ensure_ascii=False) + "\n").encode())
        return Path(path)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return preformatted(self.text)


class Calibration(Answer):
    """What `simctl calibrate` found: `tables` are predictions by number of GPUs, and causes; `scenario` is what run() takes, a dict or a path."""

    def __init__(self, text: str, scenario: dict[str, Any] | str) -> None:
        super().__init__(text)
        self.scenario = scenario


class Advice(Answer):
    """What `simctl advise` found: `data` is advice.json, `table` its candidates, `choice` the scenario of the choice or None; `folder` has the files."""

    def __init__(self, text: str, folder: Path, holder: object) -> None:
        super().__init__(text)
        self.folder, self._holder = folder, holder
        again = "call advise again"
        self.data = read_json(folder / "advice.json", again)
        self.choice = read_json(folder / "choice.json", again) if (folder / "choice.json").exists() else None

    @property
    def table(self) -> pandas.DataFrame:
        import pandas
        return pandas.json_normalize(self.data["candidates"], max_level=0)


class Explanation:
    """Why a point takes as long as it does: `data` is explanation/1.

    `path` is the critical path: class, what, s (seconds), share. `what_if`: factor, change, iteration_s, time_saved (a part of the iteration),
    what saves most first. Layers are added up by phase in what is shown, and single in `path`.
    """

    def __init__(self, data: dict[str, Any], title: str) -> None:
        self.data, self.title = data, title

    @property
    def path(self) -> pandas.DataFrame:
        import pandas
        found = pandas.DataFrame(self.data["path"])
        return found.assign(share=found["s"] / self.data["iteration_s"]) if "s" in found else found

    @property
    def what_if(self) -> pandas.DataFrame:
        import pandas
        found = pandas.DataFrame(self.data["what_if"])
        return found.sort_values("time_saved", ascending=False, kind="stable", ignore_index=True) if "time_saved" in found else found

    def shown(self) -> list[pandas.DataFrame]:
        """Both tables in short, as people read them."""
        import pandas
        path = self.path
        path["what"] = [what.rpartition(".")[2] if kind == "compute" else what for kind, what in zip(path["class"], path["what"])]
        path = path.groupby(["class", "what"], sort=False, as_index=False)["s"].sum().sort_values("s", ascending=False, kind="stable")
        total, saves = self.data["iteration_s"], self.what_if
        saves = saves[saves["time_saved"] >= 0.001].head(10) if "time_saved" in saves else saves.head(0)
        return [pandas.DataFrame({"critical path": path["class"], "": path["what"], "time": [duration(s) for s in path["s"]],
                                  "share": [f"{100 * s / total:.1f}%" for s in path["s"]]}),
                pandas.DataFrame({"what if": [row["factor"] for row in saves.to_dict("records")],
                                  "": [change_of(row["change"]) for row in saves.to_dict("records")],
                                  "iteration": [duration(s) for s in saves.get("iteration_s", [])],
                                  "saves": [f"{100 * s:.1f}%" for s in saves.get("time_saved", [])]})]

    def __repr__(self) -> str:
        return "\n\n".join([self.title, *(table.to_string(index=False) for table in self.shown() if len(table))])

    def _repr_html_(self) -> str:
        tables = "".join(as_html(table, len(table)) for table in self.shown() if len(table))
        return f"{OPENING}<p>{html.escape(self.title)}</p>{tables}</div>"


def change_of(change: Any) -> str:
    return f"x {plain(change)}" if isinstance(change, (int, float)) else str(change)


class Picture:
    """A figure that shows itself in a notebook, without a display. `figure` is matplotlib's, `axes` its axes; save() writes a file."""

    def __init__(self, figure: Any) -> None:
        self.figure = figure

    @property
    def axes(self) -> Sequence[Any]:
        return self.figure.axes

    def save(self, path: str | Path) -> Path:
        """Writes a png, svg or pdf, by the path's ending, whole or not at all. Raises OutputError, or UsageError for another ending."""
        from syncopate.common.errors import UsageError
        from syncopate.common.sheet import to_bytes
        from syncopate.common.writing import write
        kind = Path(path).suffix.removeprefix(".").lower()
        if kind not in ("png", "svg", "pdf"):
            raise UsageError(f"{path}: expected a name that ends in .png, .svg or .pdf")
        write(Path(path), to_bytes(self.figure, kind))
        return Path(path)

    def _repr_png_(self) -> bytes:
        from syncopate.common.sheet import to_bytes
        return to_bytes(self.figure, "png", dpi=110)


class Timeline(Picture):
    """What happened in a point: shown as one iteration. `path` is the file for Perfetto (https://ui.perfetto.dev)."""

    def __init__(self, figure: Any, path: Path, holder: object) -> None:
        super().__init__(figure)
        self.path, self._holder = path, holder

    def __repr__(self) -> str:
        return f"timeline {self.path}"


def tables_of(text: str) -> list[pandas.DataFrame]:
    """The tables that simctl prints: a header, a line of dashes as wide as the table, and rows until an empty line or one that is no row."""
    lines = text.split("\n")
    found = []
    for place, line in enumerate(lines):
        if place and line and set(line) == {"-"}:
            rows = []
            for row in lines[place + 1:]:
                if not row or len(row) > len(line):
                    break
                rows.append(row)
            found.append(table_of(lines[place - 1], rows, len(line)))
    return found


def table_of(header: str, rows: Sequence[str], width: int) -> pandas.DataFrame:
    """Columns stand apart by two spaces or more in all lines; a place without a header belongs to the column before it."""
    import pandas
    lines = [line.ljust(width) for line in (header, *rows)]
    blank = [all(line[place] == " " for line in lines) for place in range(width)]
    starts = [0] + [place for place in range(2, width) if not blank[place] and blank[place - 1] and blank[place - 2]]
    starts = [start for number, start in enumerate(starts) if number == 0 or header[start:(starts + [width])[number + 1]].strip()]
    spans = list(zip(starts, starts[1:] + [width]))
    cells = [[line[start:end].strip() for start, end in spans] for line in lines]
    table = pandas.DataFrame(cells[1:], columns=cells[0])
    for number in range(len(spans)):
        column = pandas.to_numeric(table.iloc[:, number], errors="coerce")
        if column.notna().any() and (column.notna() | (table.iloc[:, number] == "")).all():
            table.isetitem(number, column)
    return table
