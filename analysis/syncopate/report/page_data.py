"""All that the scripts of a report's page show."""

from syncopate.common import style
from syncopate.common.wording import counted, parse
from syncopate.report.axes import axes
from syncopate.report.lanes import PHASES as COMPUTING
from syncopate.report.networks import network
from syncopate.results.columns import COLUMNS
from syncopate.results.labels import said, short
from syncopate.web import theme
from syncopate.web.embedded import column, rounded

CLASSES = {      # of a critical path, in the order of its bar
    "compute": style.COMPUTE, "update": style.UPDATE, "compression": "#A0D070", "latency": "#E8D088", "transfer": style.COMMUNICATION,
    "reduce": "#A05858", "host": "#887058", "server": "#8870B8", "queue": "#584088", "straggler": "#704040",
    "jitter": "#D088E8", "overlap_slowdown": "#708858", "pause": "#585840",
}
PHASES = {kind: theme.colors(color) | {"name": name} for kind, (name, color) in COMPUTING.items()} | {
    "collective": theme.colors(style.MESSAGE) | {"name": "message"}, "message": theme.colors("#5C8A8A") | {"name": "message of a collective"},
    "critical": theme.colors(style.INK) | {"name": "critical path"}}
SLACK = [{"name": name, "most": most, **theme.colors(color)} for name, most, color in (
    ("no slack", 0.0, "#882810"), ("slack below 1% of an iteration", 0.01, "#D08840"), ("below 10%", 0.1, "#E8B870"), ("more", 1.0, "#E8D0A0"))]

# Of the table of all points: documented columns that say the same as a swept key, and those that stand in the short table.
REPEATED = {"/cluster": "cluster", "/cluster/name": "cluster", "/cluster/nodes": "nodes", "/schedule/name": "schedule",
            "/all_reduce": "all_reduce", "/all_reduce/name": "all_reduce", "/fidelity": "fidelity"}
ALWAYS = {"schedule", "nodes", "iteration_s", "compute_s", "wait_s", "exposed_communication_s", "speedup", "efficiency"}
WHERE_ANY = {"iteration_low_s", "iteration_high_s", "iteration_fast_s", "iteration_slow_s", "staleness_mean", "total_h", "cost"}
WHERE_DIFFERENT = {"model", "cluster", "all_reduce", "fidelity", "batch"}


def page_data(runs, frame, tracks, kinds, explained, networks):
    """A dict. `tracks`: what tracks.tracks() returns of points of `frame`; `kinds`: theirs; `explained`: Explanations; `networks`: NetworkFiles."""
    texts = {}
    return {
        "axes": axes(runs, frame),
        "columns": columns(runs, frame),
        "parts": [{"column": name, "name": text, **theme.colors(color)} for name, (text, color) in style.PARTS.items()],
        "phases": PHASES,
        "slack": SLACK,
        "heat": [theme.heat(step / 20) for step in range(21)],
        "kinds": list(kinds),
        "timelines": [one | {"name": name_of(frame, one["run"], one["point"])} | ({} if shows_use(one, networks) else {"use": None}) for one in tracks],
        "classes": [{"name": name, **theme.colors(color)} for name, color in CLASSES.items()],
        "best": {"timeline": fastest(frame, [(one["run"], one["point"]) for one in tracks]),
                 "explanation": fastest(frame, [(one.row["run"], one.row["point"]) for one in explained]),
                 "network": fastest(frame, [(one.row["run"], one.row["point"]) for one in networks])},
        "networks": [network(one) | {"run": int(one.row["run"]), "point": int(one.row["point"]), "name": name_of(frame, one.row["run"], one.row["point"])} for one in networks],
        "explanations": [explanation(frame, one, texts) for one in explained],
        "texts": list(texts),
    }


def shows_use(one, networks):
    """Whether the page shows the use of all links of a timeline: in the network's picture, or beside messages. Else it would only be large."""
    return any("messages" in row for row in one["rows"]) or (one["run"], one["point"]) in {(int(its.row["run"]), int(its.row["point"])) for its in networks}


def fastest(frame, points):
    """The place of the fastest of these points, (run, point) each; 0 where there is none."""
    seconds = dict(zip(zip(frame["run"], frame["point"]), frame["iteration_s"]))
    return min(range(len(points)), key=lambda place: seconds[points[place]], default=0)


def columns(runs, frame):
    """The columns of the table of all points, with the values of results.csv unrounded."""
    names = [column("scenario", [runs[run].name for run in frame["run"]], is_text=True)] if len(runs) > 1 else []
    pointers = [name for name in frame.columns if name.startswith("/")]
    first = {name if not repeats(frame, name) else REPEATED[name] for name in pointers}
    swept = [with_words(column(name, frame[name], is_text=True), said(name, pointers)) for name in pointers if not repeats(frame, name)]
    documented = [column(name, frame[name], one.unit, one.kind == "text", (is_brief(frame, name) or name in first) and f"/{name}" not in first) for name, one in COLUMNS.items()
                  if name != "point"]
    for one in documented:
        if one["name"] == "wait_s" and (frame["wait_s"] < 0).any():
            one["head"] = "wait_s (below 0: computed less)"
    return [one | {"first": one["name"] in first or one["name"] == "scenario", "priced": one["name"] == "cost"}
            for one in (*names, column("point", frame["point"]), *swept, *documented)]


def with_words(swept, head):
    """A swept column with its name and its texts as people say them."""
    return swept | {"head": head, "said_texts": [short(parse(text)) for text in swept["texts"]]}


def is_brief(frame, name):
    return name in ALWAYS or name in WHERE_ANY and frame[name].fillna(0).any() or name in WHERE_DIFFERENT and frame[name].nunique() > 1


def repeats(frame, pointer):
    """Whether every cell of a swept pointer says no more than a documented column does."""
    if pointer not in REPEATED:
        return False
    return all(short(parse(cell)) == str(value) for cell, value in zip(frame[pointer], frame[REPEATED[pointer]]) if isinstance(cell, str))


def explanation(frame, one, texts):
    """What the page shows of an Explanation. Its texts are numbers in `texts`, {text: its number}, which gets new ones."""
    def number_of(text):
        return texts.setdefault(text, len(texts))

    return {"name": name_of(frame, one.row["run"], one.row["point"]), "iteration_s": one.iteration_s,
            "path": [(number_of(kind), number_of(what), rounded(seconds, 9)) for kind, what, seconds in one.path],
            "what_if": [(number_of(factor), change, rounded(seconds, 9), rounded(saved, 9)) for factor, change, seconds, saved in one.what_if]}


def name_of(frame, run, point):
    """A point in words: wfbp, 10gbe, 64 nodes."""
    row = frame[(frame["run"] == run) & (frame["point"] == point)].iloc[0]
    settings = [row["setting"]] if frame["setting"].nunique() > 1 else []
    return ", ".join([row["choice"], *settings, counted(row["nodes"], "node")])
