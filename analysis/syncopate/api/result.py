"""The results of a run: a table, figures, and questions about single points."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple

from syncopate.api import cache as caching
from syncopate.api import options, simctl
from syncopate.api.answers import OPENING, Explanation, Picture, Timeline, as_html, escaped
from syncopate.api.brief import brief
from syncopate.common.errors import InputError, UsageError
from syncopate.common.wording import counted, duration

if TYPE_CHECKING:
    import pandas

LARGER_IS_BETTER = ("throughput_samples_per_s", "speedup", "efficiency", "goodput", "effective_time_ratio", "effective_time_ratio_low",
                    "effective_time_ratio_high", "bus_bandwidth_Bps", "jain")
SHOWN = ("schedule", "nodes", "iteration_s", "efficiency", "throughput_samples_per_s", "total_h", "cost")      # after the swept keys
ROWS = 20               # of a table that shows itself
SUMMARY = "display: list-item; cursor: pointer"     # Jupyter's own style hides the triangle


class Call(NamedTuple):
    """What a scenario is on a command line: the positional word, stdin, the scenario where it is a dict, and what --set gets."""

    word: str
    stdin: str
    content: Any
    settings: tuple[str, ...]

    def words(self, command: str) -> list[str]:
        return [command, self.word, *(word for one in self.settings for word in ("--set", one))]


class Result:
    """What a run wrote. It shows itself in a notebook.

    `folder` has the files (sim/output/RESULTS.md explains them); analysis/report.py makes a page of it. One that is in no cache is removed with
    the last object that uses it.
    """

    def __init__(self, folder: Path, call: Call | None = None, holder: object = None) -> None:
        self.folder, self._call, self._holder = folder, call, holder

    @functools.cached_property
    def cells(self) -> tuple[pandas.DataFrame, list[str]]:
        """(the table with swept values as texts, as results.csv has them; the swept JSON pointers)."""
        from syncopate.results.folder import check_folder, how_to_write, read_table
        check_folder(self.folder)
        return read_table(self.folder / "results.csv", how_to_write(self.folder))

    @functools.cached_property
    def table(self) -> pandas.DataFrame:
        """A row for each point: its number, the swept keys as JSON pointers, and the columns of results.csv; NaN where a cell is empty.

        Swept values are numbers where all of the key are numbers in JSON, else texts. `attrs["units"]` has the unit of each column that has one.
        Raises InputError where the folder has no results, or older ones.
        """
        import pandas
        from syncopate.results.columns import COLUMNS
        rows, swept = self.cells
        numbers = {pointer: found for pointer in swept if (found := pandas.to_numeric(rows[pointer], errors="coerce")).notna().all()}
        table = rows.assign(**numbers)
        table.attrs["units"] = {name: column.unit for name, column in COLUMNS.items() if column.unit}
        return table

    @property
    def swept(self) -> list[str]:
        """The JSON pointers that are swept: columns of the table."""
        return list(self.cells[1])

    @functools.cached_property
    def about(self) -> dict[str, Any]:
        """results.json: scenario, versions, seed, traces with their provenance, points, failures, notes, the answer in words. Raises InputError."""
        from syncopate.results.folder import how_to_write, read_about
        return read_about(self.folder / "results.json", how_to_write(self.folder))

    @property
    def answer(self) -> list[str]:
        """The program's sentences: what is fastest, its lead, and what holds it back."""
        return list(self.about["answer"])

    @property
    def notes(self) -> list[str]:
        """What to keep in mind of these results."""
        return list(self.about["notes"])

    def column(self, name: str) -> str:
        """The column that a name means: itself, or the one swept pointer that ends in it. Raises InputError."""
        table, swept = self.table, self.swept
        if name in table.columns:
            return name
        found = [pointer for pointer in swept if last_word(pointer) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f'column "{name}": several swept keys end in it; expected one of {", ".join(found)}')
        import difflib
        near = difflib.get_close_matches(str(name), [*table.columns, *map(last_word, swept)], 3)
        raise InputError(f'column "{name}": expected a column of results.csv, or the end of a swept key ({", ".join(swept) or "nothing is swept"}); '
                         + (f"did you mean {' or '.join(near)}?" if near else "list(result.table) has all columns"))

    @brief
    def plot(self, x: str, y: str, *, axes: Any = None) -> Picture:
        """Draws column `y` over column `x`, with a line for each combination of the other swept keys, and 95% intervals of iteration_s.

        Up to six settings (swept keys besides schedule and all-reduce) get a panel each. `x` may be any column; one of texts becomes named
        places. Cells without a value are left out. More than 24 series are too many to tell
        apart: the first 24 by their median are drawn, and the title says so. axes: matplotlib's axes to draw into.
        Raises InputError where a column is unknown or there is nothing to draw.
        """
        from syncopate.api.plot import plot
        return plot(self, self.column(x), self.column(y), axes)

    @brief
    def best(self, figure: str = "iteration_s", *, by: Iterable[str] | None = None, largest: bool | None = None) -> pandas.DataFrame:
        """The rows with the best `figure`, one for each combination of `by`: by default of all swept keys but schedule and all-reduce.

        Best is the least, but the largest of throughput, speedup, efficiency, goodput and the like; `largest` says otherwise. by=[] asks for one
        row of all. For iteration_s the column `as_good` names other points that cannot be told apart from it (scenarios/UNCERTAINTY.md).
        Rows without a value are left out. Raises InputError where no row has one.
        """
        import pandas
        table, swept = self.table, self.swept
        name = self.column(figure)
        if not pandas.api.types.is_numeric_dtype(table[name]):
            raise InputError(f'column "{figure}": expected a column of numbers, such as iteration_s')
        keys = [pointer for pointer in swept if not is_choice(pointer)] if by is None else [self.column(key) for key in ([by] if isinstance(by, str) else by)]
        rows = table[table[name].notna()]
        if rows.empty:
            raise InputError(f'column "{figure}": no point has a value of it: {meaning_of(name)}')
        is_largest = name in LARGER_IS_BETTER if largest is None else largest
        groups = [group for _, group in rows.groupby(keys if len(keys) > 1 else keys[0], sort=False, dropna=False)] if keys else [rows]
        chosen = [group[name].idxmax() if is_largest else group[name].idxmin() for group in groups]
        found = rows.loc[chosen].reset_index(drop=True)
        if name == "iteration_s" and not is_largest:
            found.insert(1, "as_good", [self._as_good(group, place) for group, place in zip(groups, chosen)])
        found.attrs = dict(table.attrs)
        return found

    def _as_good(self, group: pandas.DataFrame, place: Any) -> str:
        """The other points of a group that are not slower than its fastest one, by the rule of scenarios/UNCERTAINTY.md."""
        from syncopate.report.standing import SLOWER, standing
        means = dict(zip(group.index, self._means(group)))
        return ", ".join(str(group["point"][one]) for one in group.index if one != place and standing(means[one], means[place]) != SLOWER)

    def _means(self, rows: pandas.DataFrame) -> list:
        from syncopate.report.standing import read_means
        from syncopate.results.folder import Run
        run = Run(self.folder, self.about, rows, self.swept, [], [], [])
        return read_means([run], rows.assign(run=0))

    @brief
    def explain(self, point: int = 0, **keywords: Any) -> Explanation:
        """Says why an iteration of a point takes as long as it does, and what would make it faster: `simctl explain`.

        Of a folder that load() read, it reads explanation-POINT.json, which run(explain=...) and `simctl run --explain` write. keywords: against,
        by, curve and limits as on the command line; cache=False leaves the cache out. Raises InputError for a point that there is not.
        """
        row = self._row(point)
        title = (f"point {point}, {row['schedule']} on {counted(row['nodes'], 'node')} of {row['cluster']}"
                 f"{self._values(row)}: {duration(row['iteration_s'])} per iteration, {row['fidelity']}")
        path = self.folder / f"explanation-{point}.json"
        if not keywords and path.exists():
            from syncopate.common.reading import read_json
            return Explanation(read_json(path, "call explain again"), title)
        if self._call is None:
            raise InputError(f"{path}: missing; write it with: simctl run SCENARIO -o {self.folder} --resume --explain {point}")
        cache = keywords.pop("cache", True)
        chosen, others = options.split(("explain",), keywords)
        if others:
            raise UsageError(f"{', '.join(others)}: no option of simctl explain; it has {', '.join(options.options_of(('explain',)))}")
        words = [*self._call.words("explain"), "--point", str(point), "--format", "json", *options.words_of(("explain",), chosen)]
        said = caching.kept(words, self._call.stdin, (), self._call.content, cache, to="").said
        if said.code:
            simctl.fail(said)
        return Explanation(json.loads(said.out), title)

    @brief
    def timeline(self, point: int = 0, **keywords: Any) -> Timeline:
        """What happened in a point: a figure of one iteration, and a file for Perfetto.

        Of a folder that load() read, it reads timeline-POINT.json, which run(timeline=...) and `simctl run --timeline` write. keywords: ranks,
        iterations, timeline_format as on the command line; cache=False leaves the cache out. Raises InputError for a point that there is not.
        """
        from syncopate.results.folder import files_of_points, point_of
        self._row(point)
        folder, holder = self.folder, self._holder
        found = [path for path in files_of_points(folder, "timeline") if point_of(path) == point]
        if keywords or not found:
            if self._call is None:
                raise InputError(f"{folder}/timeline-{point}.json: missing; write it with: simctl run SCENARIO -o {folder} --resume --timeline {point}")
            cache = keywords.pop("cache", True)
            words = [*self._call.words("run"), "--timeline", str(point), *options.words_of(("run",), options.split(("run",), keywords)[0])]
            made = caching.kept(words, self._call.stdin, ("--reuse", str(folder)), self._call.content, cache)
            if made.said.code and not files_of_points(made.out, "timeline"):
                simctl.fail(made.said)
            folder, holder = made.out, made.holder
            found = files_of_points(folder, "timeline")
        from syncopate.api.plot import timeline
        return Timeline(timeline(folder, found[0]), found[0], holder)

    def _row(self, point: int) -> Any:
        table = self.table
        rows = table[table["point"] == point]
        if rows.empty:
            raise InputError(f"point {point}: expected a point of the table, whose points are {table['point'].min()} to {table['point'].max()}; "
                             "one that failed has no row")
        return rows.iloc[0]

    def _values(self, row: Any) -> str:
        from syncopate.common.wording import parse
        from syncopate.results.labels import name_value
        swept = self.swept
        found = [name_value(pointer, parse(str(row[pointer])), swept) for pointer in swept if pointer not in ("/cluster/nodes", "/schedule/name", "/cluster")]
        return f" ({', '.join(found)})" if found else ""

    def __len__(self) -> int:
        return len(self.table)

    def _head(self) -> str:
        failed = len(self.about["failed"])
        return f"{self.about['scenario']['name']}: {counted(len(self), 'point')}" + (f", {failed} failed" if failed else "")

    def __repr__(self) -> str:
        return "\n".join([self._head(), *self.answer, f"results: {self.folder}"])

    def _repr_html_(self) -> str:
        from syncopate.common.wording import parse
        from syncopate.results import labels
        table, swept = self.table, self.swept
        sweeps = [{"/schedule/name": "schedule", "/cluster/nodes": "nodes"}.get(pointer, pointer) for pointer in swept]
        shown = [name for name in SHOWN if name != "schedule" or "/schedule" not in swept]
        columns = [name for name in dict.fromkeys(["point", *sweeps, *shown]) if table[name].notna().any()]
        rows = table[columns].head(ROWS)
        rows = rows.assign(**{name: [labels.short(parse(cell)) if isinstance(cell, str) else cell for cell in rows[name]] for name in columns if name in swept})
        more = f"<p>{len(table) - ROWS:,} more rows: .table has all</p>" if len(table) > ROWS else ""
        notes = "".join(f"<li>{escaped(note)}</li>" for note in self.notes)
        return (f"{OPENING}<p><b>{escaped(self._head())}</b></p>" + "".join(f"<p>{escaped(line)}</p>" for line in self.answer)
                + as_html(rows, ROWS) + more + (f'<details><summary style="{SUMMARY}">notes</summary><ul>{notes}</ul></details>' if notes else "") + "</div>")


def is_choice(pointer: str) -> bool:
    from syncopate.results.labels import is_choice as of
    return of(pointer)


def last_word(pointer: str) -> str:
    from syncopate.results.labels import last_word as of
    return of(pointer)


def meaning_of(name: str) -> str:
    """What the column means, and so what is missing."""
    from syncopate.results.columns import COLUMNS
    return COLUMNS[name].meaning if name in COLUMNS else "sweep numbers"
