"""What every figure and page must say of its data: what was simulated, what is synthetic, what is missing."""

import json
import re

from syncopate.common.wording import counted, distinct, plain


def trace_text(trace):
    """One trace in words: measured trace, Tesla V100."""
    kind = trace["provenance"]["kind"]
    return f"{kind} trace{' of ' if kind == 'synthetic' else ', '}{trace.get('device') or 'unnamed device'}"


def subject(runs, frame):
    """One line: models, batches, how the traces came about, fidelities."""
    models = [f"{model}, batch {' and '.join(map(str, sorted(set(rows['batch']))))} per worker" for model, rows in frame.groupby("model", sort=False)]
    traces = distinct(trace_text(trace) for run in runs for trace in run.about["traces"])
    return "  ·  ".join(["; ".join(models), *["; ".join(traces)] * bool(traces), " and ".join(distinct(frame["fidelity"])),
                         *(f"cluster {cluster}" for cluster in lone_cluster(frame))])


FIDELITIES = {
    "alpha-beta": "an all-reduce takes what its formula says, and no links but those of parameter servers are shared",
    "per-message": "every message of a collective moves by itself, at the full bandwidth of its path",
    "simgrid": "every message is a communication in SimGrid, by its network model",
    "flow": "every message of a collective is a flow, and flows share the links on their paths fairly",
}


def fidelity(frame):
    """Sentences: how finely every row was simulated, and what that means."""
    counts = frame["fidelity"].value_counts(sort=False)
    meanings = [f"{name}: {FIDELITIES[name]}" for name in counts.index if name in FIDELITIES]
    if len(counts) > 1:
        parts = ", ".join(f"{name} at {counted(count, 'point')}" for name, count in counts.items())
        return " ".join([f"Fidelity differs: {parts}; All points says which."] + [f"{text[0].upper()}{text[1:]}." for text in meanings])
    rows = f"All {len(frame)} points are" if len(frame) > 1 else "The point is"
    return f"{rows} simulated at fidelity {''.join(meanings) or counts.index[0]}."


def lone_cluster(frame):
    """The name of the only cluster, as a list, where no panel's title has it; else an empty list."""
    names = distinct(frame["cluster"])
    return names if len(names) == 1 and not any(names[0] in panel for panel in frame["panel"]) else []


def changed(run):
    """What --set changed: /cluster/link/bandwidth = "1Gbps"; "" where it changed nothing."""
    return "; ".join(f"{pointer} = {json.dumps(value, ensure_ascii=False)}" for pointer, value in run.about["settings"].items())


def disturbed(run):
    """How the scenario's workers differ from equal, undisturbed ones, and what of that was swept; "" where they do not."""
    workers = run.about["scenario"].get("workers")
    workers = workers if isinstance(workers, dict) else {}

    def objects(key):
        return [one for one in workers.get(key, ()) if isinstance(one, dict)] if isinstance(workers.get(key), list) else []

    found = []
    jitter = workers.get("jitter")
    if isinstance(jitter, dict):
        cv = f", cv {jitter['cv']}" if "cv" in jitter else ""
        found.append(f"{jitter.get('distribution')} jitter{cv}")
    for one in objects("slow"):
        ranks = str(one.get("ranks"))
        found.append(f"rank{'' if ranks.isdigit() else 's'} {ranks} slowed by {number(one.get('factor'))}")
    for one in objects("events"):
        found.append(f"rank {one.get('rank')} pauses at {number(one.get('at_s'))} s for {number(one.get('for_s'))} s")
    if workers.get("overlap_slowdown"):
        found.append(f"layers that overlap communication take {number(workers['overlap_slowdown'])} longer")
    swept = [name for name in run.swept if name == "/workers" or name.startswith("/workers/")]
    return "; ".join(found + [f"swept: {', '.join(swept)}"] * bool(swept))


def number(value):
    return plain(value) if isinstance(value, (int, float)) else str(value)


def of_figure(runs, frame):
    """(subject, warnings) as a figure has them: of sentences that differ in numbers alone, the first."""
    alike = {}
    for text in warnings(runs):
        alike.setdefault(re.sub(r"\d+(\.\d+)?", "0", text), []).append(text)
    return subject(runs, frame), [texts[0] + (" Likewise, with other numbers, at other points." if len(texts) > 1 else "")
                                  for texts in alike.values()]


def warnings(runs):
    """Sentences that no figure may leave out."""
    found = []
    synthetic = {}
    for run in runs:
        for trace in run.about["traces"]:
            if trace["provenance"]["kind"] == "synthetic":
                name = f"{trace.get('model')}{f' in {run.name}' if len(runs) > 1 else ''}"
                synthetic.setdefault(trace["provenance"].get("note"), []).append(name)
    for note, names in synthetic.items():
        found.append(f"Synthetic trace ({', '.join(distinct(names))}): its layer times are modelled, not measured{f'; {note}' if note else ''}.")
    found += distinct(f"{note[:1].upper()}{note[1:]}." for run in runs for note in run.about["notes"])
    for run in runs:
        failed, unrun = run.missing()
        if failed or unrun:
            parts = [f"{failed} failed"] * bool(failed) + [f"{unrun} not run"] * bool(unrun)
            of = f" of {run.name}" if len(runs) > 1 else ""
            found.append(f"Incomplete: {len(run.rows)} of {run.about['points_total']} points{of} ({', '.join(parts)}).")
    return found
