"""What commands answer: the program's words, what is in them as tables, and how a notebook shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from syncopate.common.wording import duration, plain

if TYPE_CHECKING:
    import pandas

LEAST_SHOWN, MOST_SHOWN = 0.001, 10     # part of the iteration that a what-if saves; what-ifs
# Jupyter sets formulas between dollars, also in names; these classes say not to.
OPENING = '<div class="tex2jax_ignore mathjax_ignore">'


def escaped(text: str) -> str:
    import html
    return html.escape(text)


def preformatted(text: str) -> str:
    return f"{OPENING}<pre>{escaped(text)}</pre></div>"


def as_text(table: pandas.DataFrame) -> str:
    return table.to_string(index=False, na_rep="", float_format=lambda value: plain(value, 4))


def cell_of(value: Any) -> Any:
    """A swept value in a table: names, numbers, else JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def as_html(table: pandas.DataFrame, rows: int) -> str:
    """The first rows of a table; every name stays text."""
    return table.head(rows).to_html(index=False, escape=True, border=0, na_rep="", float_format=lambda value: plain(value, 4))


def located_from(folder: Path, value: Any) -> Any:
    """The JSON of a file in `folder`, with the paths of files that are relative to it made absolute, so that it can stand anywhere."""
    if isinstance(value, dict):
        return {key: located_from(folder, one) for key, one in value.items()}
    if isinstance(value, list):
        return [located_from(folder, one) for one in value]
    if isinstance(value, str) and "/" in value and (folder / value).is_file():
        return str((folder / value).resolve())
    return value


class Answer:
    """What a command said: `text` for people. A notebook shows it."""

    def __init__(self, text: str) -> None:
        self.text = text.strip("\n")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return preformatted(self.text)


class Solution(Answer):
    """What `simctl solve` found: `data` is solve/1.

    `table` has a row for each point: the swept keys; `holds`: everywhere, nowhere, from, up to, comes and goes, failed; the key's value from or up to
    which the condition holds, as a scenario writes it; and the column's value there. The last two are empty in all other rows.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        super().__init__(f"{data['until']}, of {data['for']} from {data['from']} to {data['to']}:\n\n{as_text(self.table)}")

    @property
    def table(self) -> pandas.DataFrame:
        import pandas
        rows = [{**{key: cell_of(value) for key, value in point["sweep"].items()}, "holds": point["holds"], self.data["for"]: point["at"],
                 self.data["column"]: point["value"]} for point in self.data["points"]]
        return pandas.DataFrame(rows).astype({self.data["column"]: float})


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
    """What `simctl calibrate` found: `data` is calibrate/1.

    `table` has samples per second by number of GPUs: measured, by the scenario as it is, calibrated, and the range from low to high of all causes that
    the runs do not tell apart. `tables` is that and the causes. `scenario` is what run() takes: the calibrated scenario as a dict, or its path.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data, self.scenario = data, data["calibrated"]
        shown = [as_text(table) for table in self.tables if len(table)]
        super().__init__("\n\n".join(["samples per second of all GPUs\n" + shown[0], *shown[1:], "\n".join(data["notes"])]))

    @property
    def table(self) -> pandas.DataFrame:
        import pandas
        return pandas.DataFrame(self.data["predictions"]).rename(columns={"gpus": "GPUs"}).astype({"measured": float, "low": float, "high": float})

    @property
    def tables(self) -> list[pandas.DataFrame]:
        import pandas
        return [self.table, pandas.DataFrame(self.data["causes"], columns=["cause", "key", "value", "off", "as_good"])]


class Advice(Answer):
    """What `simctl advise` found: `data` is advice.json, `table` its candidates, `choice` the scenario of the choice or None; `folder` has the files."""

    def __init__(self, text: str, folder: Path, holder: object) -> None:
        from syncopate.common.reading import read_json
        super().__init__(text)
        self.folder, self._holder = folder, holder
        again = "call advise again"
        self.data = read_json(folder / "advice.json", again)
        self.choice = located_from(folder, read_json(folder / "choice.json", again)) if (folder / "choice.json").exists() else None

    @property
    def table(self) -> pandas.DataFrame:
        import pandas
        return pandas.json_normalize(self.data["candidates"], max_level=0)


class Explanation:
    """Why a point takes as long as it does: `data` is explanation/1, with `against` where two points are compared.

    `path` is the critical path: class, what, s (seconds), share of the iteration. `what_if`: factor, change, iteration_s, time_saved (a part of the
    iteration), what saves most first; empty where two points are compared. What is shown adds up layers by phase; `path` has each.
    """

    def __init__(self, data: dict[str, Any], title: str) -> None:
        self.data, self.title = data, title

    @property
    def path(self) -> pandas.DataFrame:
        import pandas
        found = pandas.DataFrame(self.data["path"], columns=["class", "what", "s"])
        return found.assign(share=found["s"] / self.data["iteration_s"])

    @property
    def what_if(self) -> pandas.DataFrame:
        import pandas
        found = pandas.DataFrame(self.data.get("what_if", []))
        return found.sort_values("time_saved", ascending=False, kind="stable", ignore_index=True) if "time_saved" in found else found

    def shown(self) -> list[pandas.DataFrame]:
        """The tables that people read."""
        import pandas
        own = by_phase(self.data["path"])
        if "against" in self.data:
            other = by_phase(self.data["against"]["path"])
            keys = sorted({*own, *other}, key=lambda key: -abs(own.get(key, 0.0) - other.get(key, 0.0)))
            rows = [(*key, own.get(key, 0.0), other.get(key, 0.0)) for key in keys]
            rows.append(("iteration", "", self.data["iteration_s"], self.data["against"]["iteration_s"]))
            return [pandas.DataFrame([(kind, what, duration(one), duration(two), f"{(two - one) * 1e3:+.3f} ms") for kind, what, one, two in rows],
                                     columns=["critical path", "", f"point {self.data['point']}", f"point {self.data['against']['point']}", "difference"])]
        path = pandas.DataFrame([(*key, duration(s), f"{100 * s / self.data['iteration_s']:.1f}%") for key, s in
                                 sorted(own.items(), key=lambda one: -one[1])], columns=["critical path", "", "time", "share"])
        whole = sorted(self.data.get("what_if", []), key=lambda one: -one.get("time_saved", 0))
        saves = [(one["factor"], change_of(one["change"]), duration(one["iteration_s"]), f"{100 * one['time_saved']:.1f}%")
                 for one in whole if one.get("time_saved", 0) >= LEAST_SHOWN][:MOST_SHOWN]
        return [path] + [pandas.DataFrame(saves, columns=["what if", "", "iteration", "saves"])] * bool(saves)

    def __repr__(self) -> str:
        return "\n\n".join([self.title, *(table.to_string(index=False) for table in self.shown())])

    def _repr_html_(self) -> str:
        return f"{OPENING}<p>{escaped(self.title)}</p>{''.join(as_html(table, len(table)) for table in self.shown())}</div>"


def by_phase(path: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """{(class, what): seconds}, with the layers of a phase added up."""
    found: dict[tuple[str, str], float] = {}
    for piece in path:
        key = (piece["class"], piece["what"].rpartition(".")[2] if piece["class"] == "compute" else piece["what"])
        found[key] = found.get(key, 0.0) + piece["s"]
    return found


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
