"""All that the page's scripts show."""

import json

import axes
import page_look
import page_table
import style
import timeline
from units import plain

CLASSES = {      # of a critical path, in the order of its bar
    "compute": style.BLUE, "update": style.GREEN, "compression": style.MOSS, "latency": style.SKY, "transfer": style.ORANGE,
    "reduce": style.BROWN, "host": style.GREY, "server": style.PURPLE, "queue": style.MAGENTA, "straggler": style.CRIMSON,
    "jitter": style.VIOLET, "overlap_slowdown": style.OLIVE, "pause": style.BLACK,
}
PHASES = {kind: page_look.colors(color) | {"name": name} for kind, (name, color) in timeline.PHASES.items()} | {
    "collective": page_look.colors(style.PURPLE) | {"name": "message"}, "critical": page_look.colors(style.VERMILLION) | {"name": "critical path"}}

SLACK = [{"name": name, "most": most, **page_look.colors(color)} for name, most, color in (
    ("no slack", 0.0, style.VERMILLION), ("slack below 1% of an iteration", 0.01, style.ORANGE), ("below 10%", 0.1, style.SKY),
    ("more", 1.0, style.lighter(style.SKY, 0.6)))]


def data(runs, frame, tracks, kinds, explained):
    """A dict; `tracks` are what tracks.tracks returns of points of `frame`, `kinds` theirs, `explained` what explanations.read_all returns."""
    texts = {}
    return {
        "axes": axes.axes(runs, frame),
        "columns": page_table.columns(runs, frame),
        "parts": [{"column": column, "name": name, **page_look.colors(color)} for column, (name, color) in style.PARTS.items()],
        "phases": PHASES,
        "slack": SLACK,
        "kinds": list(kinds),
        "timelines": [one | {"name": name_of(frame, one["run"], one["point"])} for one in tracks],
        "classes": [{"name": name, **page_look.colors(color)} for name, color in CLASSES.items()],
        "explanations": [explanation(frame, one, texts) for one in explained],
        "texts": list(texts),
    }


def explanation(frame, one, texts):
    """Of an explanations.Explanation what the page shows; its texts are numbers in `texts`, {text: its number}, which gets new ones."""
    def number_of(text):
        return texts.setdefault(text, len(texts))

    return {"name": name_of(frame, one.row["run"], one.row["point"]), "iteration_s": one.iteration_s,
            "path": [(number_of(kind), number_of(what), short(seconds)) for kind, what, seconds in one.path],
            "what_if": [(number_of(factor), change, short(seconds), short(saved)) for factor, change, seconds, saved in one.what_if]}


def short(value):
    """A number to the nine digits that matter."""
    return None if value is None else float(f"{value:.9g}")


def as_text(found):
    """The data as JSON that may stand in a script element."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=lambda number: number.item())   # pandas'
    return text.replace("<", "\\u003c")


def name_of(frame, run, point):
    """A point in words: wfbp, 10gbe, 64 nodes."""
    row = frame[(frame["run"] == run) & (frame["point"] == point)].iloc[0]
    settings = [row["setting"]] if frame["setting"].nunique() > 1 else []
    return ", ".join([row["choice"], *settings, f"{plain(row['nodes'])} node{'s' if row['nodes'] > 1 else ''}"])
