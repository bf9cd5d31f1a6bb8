"""The page's section about the busiest links: all those listed of a lone point, or the busiest of each point."""

from syncopate.common.wording import counted
from syncopate.results.links import SATURATED, read_all

MOST = 20     # points that the table shows
MEANING = ("Utilisation = bytes / (bandwidth × measured window), where bytes are what the link carried in that window. "
           f"A link that uses more than {100 * SATURATED:g} % of its bandwidth while something crosses it is saturated for that share of the time.")
BEYOND = " More than 100 % means that messages which per-message fidelity moves independently share a link; flow fidelity slows them down."


def section(runs, frame):
    """What the section tells, the columns that name a row, and rows of (row of `frame`, link, whether others are as busy).

    None where no point has links. Raises InputError.
    """
    busy = read_all(runs, frame)
    if not busy:
        return None
    points = busy
    if len(busy) == 1:
        columns, rows = ["Link"], [(busy[0].row, link, False) for link in busy[0].links]
    else:
        ranked = sorted(range(len(busy)), key=lambda place: -busy[place].busiest.utilisation)
        points = [busy[place] for place in sorted(ranked[:MOST])]
        columns = [*naming(frame), "Busiest link"]
        rows = [(one.row, one.busiest, one.tied) for one in points]
    beyond = any(link.utilisation > 1.001 for one in busy for link in one.links)
    told = " ".join([*coverage(busy, frame, points), MEANING]) + BEYOND * beyond
    return {"told": told, "columns": columns, "rows": rows}


def naming(frame):
    """The columns that tell the rows of `frame` apart."""
    varying = {name: frame[name].nunique() > 1 for name in ("setting", "choice", "fidelity")}
    return ["Setting"] * varying["setting"] + ["Schedule"] * varying["choice"] + ["Nodes"] + ["Fidelity"] * varying["fidelity"]


def coverage(busy, frame, points):
    """Sentences: which rows the table leaves out, and in how many points a link is saturated."""
    if len(busy) < len(frame):
        have = {(one.row["run"], one.row["point"]) for one in busy}
        others = {fidelity for run, point, fidelity in zip(frame["run"], frame["point"], frame["fidelity"]) if (run, point) not in have}
        why = ": fidelity alpha-beta has none" if others == {"alpha-beta"} else ""
        yield f"{len(busy)} of {len(frame)} points {'have' if len(busy) > 1 else 'has'} links{why}."
    if len(busy) == 1 and len(frame) > 1:
        row = busy[0].row
        yield f"Shown: {row['setting']}, {row['choice']}, {counted(row['nodes'], 'node')}."
    if len(points) < len(busy):
        yield f"Shown: the {MOST} points whose busiest links are used most."
    if len(busy) > 1:
        yield f"A link is saturated in {sum(one.busiest.saturated for one in busy)} of {len(busy)} points."
