"""The page's section of two result folders: the same points of both beside each other, and what only one of them has."""

import json
import statistics
from dataclasses import dataclass

from syncopate.common.wording import counted, distinct, listed, parse, plain, quantity
from syncopate.report.page_data import REPEATED
from syncopate.report.standing import EQUAL, SLOWER, UNDECIDED, read_means, standing
from syncopate.results.labels import NODES, records, said, short

MOST_ROWS = 400
MOST_CHANGES = 12
MOST_NAMED = 12
SAME = "same"
UNSURE = "cannot be told apart"


@dataclass(frozen=True)
class Pair:
    """A point of both folders."""

    cells: list           # its swept values as people say them
    name: str             # all of them
    times: tuple          # seconds of an iteration in each
    efficiencies: tuple
    change: float         # time of the second / time of the first - 1
    verdict: str          # faster or slower (the second), SAME or UNSURE

    @property
    def told(self):
        return percent(self.change)


def section(runs, frame):
    """What the template shows; None unless there are two folders."""
    if len(runs) != 2:
        return None
    names = folder_names([run.folder for run in runs])
    about = {"names": names, "told": [], "changes": changes(runs), "columns": [], "pairs": [], "more": 0, "only": []}
    pointers = [run.swept for run in runs]
    if set(pointers[0]) != set(pointers[1]):
        about["told"].append("Their points are not compared one by one, as they do not sweep the same keys: "
                             + "; ".join(f"only {name} sweeps {listed(only)}" for name, only in zip(names, only_in(pointers)) if only) + ".")
        return about
    trained = [distinct(f"{model}, batch {batch}" for model, batch in zip(run.rows["model"], run.rows["batch"])) for run in runs]
    if set(trained[0]) != set(trained[1]):
        about["told"].append(f"They train unlike models or batches, so that times compare unlike work: {names[0]} {listed(trained[0])}; {names[1]} {listed(trained[1])}.")
    sides = sides_of(runs, frame, pointers[0])
    common = [key for key in sides[0] if key in sides[1]]
    about["columns"] = [REPEATED.get(pointer) or said(pointer, pointers[0]) for pointer in pointers[0]]
    pairs = [pair(sides[0][key], sides[1][key], pointers[0]) for key in common]
    if not pairs:
        about["told"].append("They have no point in common: no values of the swept keys are in both.")
    else:
        about["told"] += sentences(pairs, names)
        most = sorted(range(len(pairs)), key=lambda place: -abs(pairs[place].change))[:MOST_ROWS]
        about["pairs"], about["more"] = [pairs[place] for place in sorted(most)], len(pairs) - len(most)
        about["largest"] = max(abs(one.change) for one in pairs)
    about["only"] = [(name, len(only), "; ".join(name_of(row, pointers[0]) for row, _ in only[:MOST_NAMED]) + ("; ..." if len(only) > MOST_NAMED else ""))
                     for name, only in zip(names, ([side[key] for key in side if key not in other] for side, other in (sides, sides[::-1]))) if only]
    return about


def folder_names(folders):
    """The ends of two different paths that tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-count:]) for one in parts]
        if names[0] != names[1]:
            return names
    return names


def only_in(lists):
    return [[one for one in here if one not in there] for here, there in (lists, lists[::-1])]


def sides_of(runs, frame, pointers):
    """Per folder {values of the swept keys: (row, Mean)}. Files count as equal by their names, 25Gbps and 25Gb/s by what they mean, unless two
    points of one folder would be the same."""
    rows = list(zip(records(frame, [*dict.fromkeys(["run", "point", "iteration_s", "efficiency", *pointers])]), read_means(runs, frame)))
    for key_of in (meaning, str):
        sides = [{}, {}]
        for row, mean in rows:
            sides[row["run"]][tuple(key_of(row[pointer]) for pointer in pointers)] = (row, mean)
        if sum(map(len, sides)) == len(rows):
            break
    return sides


def meaning(cell):
    """What a swept cell of results.csv means, as far as that can be compared."""
    value = parse(cell) if isinstance(cell, str) else None
    return quantity(value) or (short(value) if isinstance(value, str) else json.dumps(value, sort_keys=True))


def words(row, pointers):
    return [short(parse(row[pointer])) if isinstance(row[pointer], str) else "–" for pointer in pointers]


def name_of(row, pointers):
    cells = [counted(int(cell), "node") if pointer == NODES and cell.isdigit() else cell for pointer, cell in zip(pointers, words(row, pointers))]
    return ", ".join(cells) or "the only one"


def pair(one, other, pointers):
    (first, its), (second, others) = one, other
    change = second["iteration_s"] / first["iteration_s"] - 1
    fast, slow = (its, others) if change > 0 else (others, its)
    stand = standing(slow, fast)
    verdict = {EQUAL: SAME, UNDECIDED: UNSURE, SLOWER: "slower" if change > 0 else "faster"}[stand]
    return Pair(words(first, pointers), name_of(first, pointers), (first["iteration_s"], second["iteration_s"]), (first["efficiency"], second["efficiency"]), change, verdict)


def sentences(pairs, names):
    """What stands above the table."""
    counts = {verdict: sum(one.verdict == verdict for one in pairs) for verdict in ("faster", "slower", SAME, UNSURE)}
    told = [f"{text} at {'all ' * (count == len(pairs) > 1)}{count}" for text, count in (("faster", counts["faster"]), ("slower", counts["slower"]), ("as fast, within 0.5 %,", counts[SAME]),
                                                     ("not to be told apart", counts[UNSURE])) if count]
    found = [f"Of {counted(len(pairs), 'point')} of both, {names[1]} is {listed(told)}."]
    if counts["faster"] or counts["slower"]:
        least, most = min(pairs, key=lambda one: one.change), max(pairs, key=lambda one: one.change)
        middle = statistics.median(one.change for one in pairs)
        found.append(f"Its iteration times change by {percent(middle)} in the median" + (f", from {at(least)} to {at(most)}." if least is not most else "."))
    return found


def percent(change):
    """A change as a text with its sign."""
    return f"{'+' if change > 0 else '−' if change < 0 else ''}{plain(100 * abs(change), 3)} %"


def at(one):
    return f"{one.told} ({one.name})"


def changes(runs):
    """Where what was simulated differs, as (where, what the first has, what the second has)."""
    found = [("scenario's name", *(run.name for run in runs))] * (runs[0].name != runs[1].name)
    documents = [{key: value for key, value in run.about["scenario"].items() if key != "name"} for run in runs]
    found += list(differences(*documents))
    for key in distinct([*runs[0].about["versions"], *runs[1].about["versions"]]):
        found += differing(f"version of {key}", *(run.about["versions"].get(key) for run in runs))
    found += differing("seed", *(run.about["seed"] for run in runs))
    found += differing("traces", *(trace_names(run) for run in runs))
    shown = [(where, told(one), told(other)) for where, one, other in found]
    return shown[:MOST_CHANGES] + [("and more", f"{len(shown) - MOST_CHANGES} other keys", "")] * (len(shown) > MOST_CHANGES)


def trace_names(run):
    """Model, batch and device of each trace: what its file held when it was simulated."""
    return ", ".join(f"{trace.get('model')} batch {trace.get('batch')}, {trace.get('device') or 'unnamed device'}" for trace in run.about["traces"])


def differing(where, one, other):
    return [(where, one, other)] * (one != other)


def differences(one, other, pointer=""):
    """(pointer, value in one, value in the other) of every value that differs; objects are entered."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in distinct([*one, *other]):
            yield from differences(one.get(key), other.get(key), f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif one != other:
        yield pointer, one, other


def told(value):
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else text[:89] + "…"
