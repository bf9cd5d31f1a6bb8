"""What every figure and page must say of its data: what was simulated, what is synthetic, what is missing."""


def distinct(values):
    return list(dict.fromkeys(values))


def trace_text(trace):
    """One trace in words: measured on Tesla V100."""
    kind = trace["provenance"]["kind"]
    return f"{kind} trace{' of ' if kind == 'synthetic' else ', '}{trace.get('device') or 'unnamed device'}"


def subject(runs, frame):
    """One line: models, batches, how the traces came about, fidelities."""
    models = [f"{model}, batch {' and '.join(map(str, sorted(set(rows['batch']))))} per worker"
              for model, rows in frame.groupby("model", sort=False)]
    traces = distinct(trace_text(trace) for run in runs for trace in run.about["traces"])
    return "  ·  ".join(["; ".join(models)] + (["; ".join(traces)] if traces else [])
                        + [" and ".join(distinct(frame["fidelity"]))])


def warnings(runs):
    """Sentences that no figure may leave out."""
    found = []
    synthetic = distinct(f"{trace.get('model')}{f' in {run.name}' if len(runs) > 1 else ''}"
                         for run in runs for trace in run.about["traces"]
                         if trace["provenance"]["kind"] == "synthetic")
    if synthetic:
        found.append(f"Synthetic trace ({', '.join(synthetic)}): its layer times are modelled, not measured.")
    found += distinct(f"{note[:1].upper()}{note[1:]}." for run in runs for note in run.about.get("notes", []))
    for run in runs:
        failed, unrun = run.missing()
        if failed or unrun:
            parts = [f"{failed} failed"] * bool(failed) + [f"{unrun} not run"] * bool(unrun)
            of = f" of {run.name}" if len(runs) > 1 else ""
            found.append(f"Incomplete: {len(run.rows)} of {run.about['points_total']} points{of} "
                         f"({', '.join(parts)}).")
    return found
