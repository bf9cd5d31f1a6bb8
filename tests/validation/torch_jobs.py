#!/usr/bin/python3
"""Runs PyTorch jobs over shaped links, and predicts each from a probe of the same network before it runs.

Layers sleep for the times of a trace, or compute themselves, recorded by syncopate.torch.record; DistributedDataParallel and
syncopate.torch.MergedGradients do the rest, with gloo. syncopate.torch.probe measures the network, `simctl cluster fit` makes a cluster of that,
`simctl run` predicts. Needs root, for network namespaces of its own, and python3-torch. Writes torch.csv, torch.md and torch.png."""
import argparse
import csv
import datetime
import importlib.util
import io
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import network
import rows
import validate

SKIPPED, REPEATS, WARMUP = 77, 3, 3
HERE = pathlib.Path(__file__).resolve().parent
TRACE = rows.LARGE
MIB = 1 << 20
BASE, PER_TENSOR = "DDP 25 MB", "a group per tensor"
# name, schedule of simctl; "fusion" is run by DDP, the others by MergedGradients
JOBS = [*((f"DDP {size} MB", {"name": "fusion", "bucket": size * MIB, "first_bucket": MIB}) for size in (25, 4, 1)),
        ("mg-wfbp", {"name": "mg-wfbp"}), ("mg-wfbp-optimal", {"name": "mg-wfbp-optimal"}),
        ("mg-wfbp-optimal, 1%", {"name": "mg-wfbp-optimal", "tolerance": 0.01}), ("one group", {"name": "sync-easgd"}),
        (PER_TENSOR, {"name": "wfbp"})]
APPLIED = ("DDP, sizes of apply", {"name": "mg-wfbp-optimal"})  # the two sizes of buckets that `simctl apply` finds for it, if it finds any


class Site(rows.Site):
    """`computes`: layers compute; otherwise they sleep. `largest_mib`: of the probe's all-reduces."""
    computes, largest_mib = False, 32

    @property
    def name(self):
        return super().name + (", computing" if self.computes else "")


def sites():
    found = [Site(nodes, mbps, delay, []) for nodes, mbps, delay in ((4, 1000, 0), (4, 300, 0), (2, 100, 0), (4, 1000, 0.002), (8, 100, 0), (2, 1000, 0), (2, 300, 0))]
    for site, largest in zip(found, (32, 8, 4, 32, 4, 64, 16)):
        site.largest_mib = largest
    for site in found[-2:]:
        site.computes = True
    return found


SITES = sites()
COLUMNS = ["network", "job", "groups", "compute_s", "predicted_s", "measured_s", "measured_least_s", "measured_most_s", "predicted_gain", "measured_gain",
           "buckets_as_predicted", "overlap_slowdown", "date", "load", "machine"]


def plan_of(trace, schedule, counts, predicted_s):
    """plan/1: as many gradients as a group has, in the order of readiness."""
    gradients = sorted(json.loads(trace.read_text())["gradients"], key=lambda gradient: gradient["ready_s"])
    groups, first = [], 0
    for count in counts:
        merged = gradients[first:first + count]
        groups.append({"bytes": sum(gradient["bytes"] for gradient in merged), "parameters": [gradient["name"] for gradient in merged]})
        first += count
    if first != len(gradients):
        raise RuntimeError(f"{schedule}: groups of {counts} are not {len(gradients)} gradients")
    return {"format": "plan/1", "schedule": schedule, "predicted_iteration_s": predicted_s, "groups": groups}


def applied(predictor, trace):
    """The job of DDP with the sizes of its buckets that `simctl apply` finds, or nothing where it finds none."""
    name, schedule = APPLIED
    with tempfile.TemporaryDirectory() as folder:
        scenario, plan = pathlib.Path(folder, "scenario.json"), pathlib.Path(folder, "plan.json")
        scenario.write_text(json.dumps(predictor.scenario(rows.Job(trace, schedule), predictor.clusters["points"], {"warmup": 4, "measured": 10})))
        subprocess.run([predictor.build / "simctl", "apply", scenario, "-o", plan], check=True, capture_output=True)
        sizes = json.loads(plan.read_text())["ddp"].get("two_sizes")
    return [(name, {"name": "fusion", "bucket": round(sizes["bucket_cap_mb"] * MIB), "first_bucket": sizes["first_bucket_bytes"]})] if sizes else []


def predict(predictor, trace, run_s):
    """What each job does, with what it is predicted to take."""
    found = []
    for name, schedule in [*JOBS, *applied(predictor, trace)]:
        row, counts = predictor.simulate(rows.Job(trace, schedule), timeline=True)
        predicted = float(row["iteration_s"])
        found.append({"name": name, "bucket_mib": schedule["bucket"] / MIB if schedule["name"] == "fusion" else None,
                      "first_bucket": schedule.get("first_bucket", MIB), "plan": plan_of(trace, schedule, counts, predicted), "warmup": WARMUP,
                      "repeats": REPEATS, "steps": max(2, min(10, round(run_s / predicted))), "compute_s": float(row["compute_s"])})
    return found


def run_site(site, build, folder, run_s, machine):
    """The rows of a network."""
    load = f"{os.getloadavg()[0]:.1f}"

    def say(what):
        print(f"{datetime.datetime.now():%H:%M:%S} {site.name}: {what}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    with network.Network(site.nodes, site.bandwidth, site.delays(site.nodes), build / "validation_relay") as net, tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)

        def run_all(jobs):
            (folder / "jobs.json").write_text(json.dumps({"layers": "compute" if site.computes else "sleep", **jobs}, indent=1) + "\n")
            worker = ["chrt", "--other", "0", sys.executable, HERE / "torch_worker.py", folder / "jobs.json"]  # it takes real-time priority when all have begun
            net.run_all([[*worker, rank, site.nodes, net.address(0), place / f"{rank}.json"] for rank in range(site.nodes)], timeout=900)
        say("probe")
        run_all({"probe": {"smallest": 1 << 10, "largest": MIB * site.largest_mib, "longest_s": 5.0}})
        (folder / "probe.json").write_text((place / "0.json").read_text())
        trace, slowdown = validate.ROOT / TRACE, 0.0
        if site.computes:
            say("record")
            run_all({"record": True})
            recorded = json.loads((place / "0.json").read_text())
            trace, slowdown = folder / "trace.json", recorded["overlap_slowdown"]
            trace.write_text(json.dumps(recorded["trace"]))
            say(f"steps take {100 * slowdown:.0f}% longer beside all-reduces")
        jobs = predict(validate.Predictor(site, build, folder, {"overlap_slowdown": slowdown} if slowdown else {}), trace, run_s)
        say("jobs")
        run_all({"trace": str(trace), "jobs": jobs})
        workers = [json.loads((place / f"{rank}.json").read_text()) for rank in range(site.nodes)]
    found = []
    for number, job in enumerate(jobs):
        runs = [worker[number] for worker in workers]
        times = [(max(run["times"][repeat][1] for run in runs) - max(run["times"][repeat][0] for run in runs)) / job["steps"] for repeat in range(REPEATS)]
        found.append({"network": site.name, "job": job["name"], "groups": len(job["plan"]["groups"]), "compute_s": job["compute_s"],
                      "predicted_s": job["plan"]["predicted_iteration_s"], "measured_s": statistics.median(times), "measured_least_s": min(times),
                      "measured_most_s": max(times), "buckets_as_predicted": str(all(run["buckets"]["equal"] for run in runs)) if "buckets" in runs[0] else "",
                      "overlap_slowdown": slowdown, "date": str(datetime.date.today()), "load": load, "machine": machine})
    base = next(row for row in found if row["job"] == BASE)
    for row in found:
        row |= {f"{kind}_gain": base[f"{kind}_s"] / row[f"{kind}_s"] for kind in ("predicted", "measured")}
        say(f"{row['job']}: {1e3 * row['measured_s']:.1f} ms measured, {1e3 * row['predicted_s']:.1f} ms predicted")
    return found


def percent(value):
    return f"{100 * value:+.1f}%"


def kind_of(row):
    """Rows that are summed up together."""
    return f"layers compute, {row['network'].split(',')[0]}" if "computing" in row["network"] else f"layers sleep, {PER_TENSOR}" if row["job"] == PER_TENSOR else "layers sleep, groups of several tensors"


def off(found):
    """Mean and worst error of times and of gains over BASE, without sign."""
    times = [abs(row["predicted_s"] / row["measured_s"] - 1) for row in found]
    gains = [abs(row["predicted_gain"] / row["measured_gain"] - 1) for row in found if row["job"] != BASE]
    return [f"{100 * figure:.1f}%" for errors in (times, gains) for figure in (statistics.mean(errors), max(errors))]


def kinds(found):
    groups = {}
    for row in found:
        groups.setdefault(kind_of(row), []).append(row)
    return [[kind, len(some), *off(some)] for kind, some in groups.items()]


def choices(found):
    """Of each network: the fastest by prediction, the fastest measured, and how much longer the first takes than the second."""
    lines = []
    for name in dict.fromkeys(row["network"] for row in found):
        some = [row for row in found if row["network"] == name]
        chosen, best = min(some, key=lambda row: row["predicted_s"]), min(some, key=lambda row: row["measured_s"])
        lines.append([name, chosen["job"], best["job"], percent(chosen["measured_s"] / best["measured_s"] - 1),
                      f"{chosen['predicted_gain']:.3f}", f"{chosen['measured_gain']:.3f}"])
    return lines


def page(found):
    buckets = [row["buckets_as_predicted"] == "True" for row in found if row["buckets_as_predicted"]]
    slowdowns = dict.fromkeys(f"{row['overlap_slowdown']:.2f} ({row['network']})" for row in found if row["overlap_slowdown"])
    loads = dict.fromkeys(f"{row['load']} ({row['network']})" for row in found)
    dates, machines = (sorted({row[key] for row in found}) for key in ("date", "machine"))
    lines = [[row["network"], row["job"], row["groups"], *(f"{1e3 * row[key]:.1f}" for key in ("compute_s", "predicted_s", "measured_s")),
              percent(row["predicted_s"] / row["measured_s"] - 1), f"{100 * (row['measured_most_s'] - row['measured_least_s']) / row['measured_s']:.1f}%",
              f"{row['predicted_gain']:.3f}", f"{row['measured_gain']:.3f}", {"": "", "True": "yes", "False": "no"}[row["buckets_as_predicted"]]] for row in found]
    return "\n\n".join([
        "# PyTorch jobs beside predictions",
        f"{len(found)} PyTorch jobs over shaped links, predicted before they ran. DDP's rebuilt buckets are the predicted ones in {sum(buckets)} of "
        f"{len(buckets)} rows. How far are the predictions off?",
        validate.table(["jobs", "rows", "times: mean", "worst", f"gains over {BASE}: mean", "worst"], kinds(found)),
        f"Measured {' and '.join(dates)} on {' and '.join(machines)}. Load averages over a minute before each network, by others and the network before: {', '.join(loads)}.",
        f"`tests/validation/torch_jobs.py build` makes this page. Layers sleep for the times of `{TRACE}`, on every rank; so does the optimizer. Where the "
        "network is \"computing\", two processes train ResNet-18 on a core each. All else is PyTorch's: autograd, hooks, buckets, gloo. \"DDP\" is "
        "`DistributedDataParallel` with that `bucket_cap_mb`, or with the two sizes of buckets that `simctl apply` finds for mg-wfbp-optimal; the others are "
        "[`MergedGradients`](../../analysis/syncopate/torch/README.md). gloo has one thread, not PyTorch's two, so that all-reduces move one after another. "
        "Predictions are made from the trace and [`probe`](../../analysis/syncopate/torch/README.md#probe-the-network) on the same network alone; of processes that compute, from a trace by `record`, and from how much longer a "
        f"step takes beside all-reduces (`overlap_slowdown`: {', '.join(slowdowns)}). Times are in ms, medians of {REPEATS} repetitions; `spread` is their "
        "range over their median; a gain is the time of DDP 25 MB over the row's.",
        "## The choice\n\nHow much longer does the fastest schedule by prediction take than the fastest measured one?",
        validate.table(["network", "fastest predicted", "fastest measured", "takes longer", "predicted gain", "measured gain"], choices(found)),
        "## All rows",
        validate.table(["network", "job", "groups", "compute", "predicted", "measured", "error", "spread", "predicted gain", "measured gain",
                        "buckets as predicted"], lines)]) + "\n"


def draw(found, out):
    """A panel for each network; for each job the predicted gain over BASE above the measured one."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    networks, jobs = (list(dict.fromkeys(row[key] for row in found if row["job"] != BASE)) for key in ("network", "job"))
    jobs.sort(key=lambda job: not job.startswith("DDP"))
    figure, panels = pyplot.subplots(1, len(networks), figsize=(9, 0.5 + 0.42 * len(jobs)), sharey=True, squeeze=False)
    most = max(max(row["predicted_gain"], row["measured_gain"]) for row in found)
    for panel, name in zip(panels[0], networks):
        rows_of = {row["job"]: row for row in found if row["network"] == name}
        for offset, (key, colour) in enumerate((("predicted_gain", "#9ecae1"), ("measured_gain", "#08519c"))):
            bars = panel.barh([place + 0.36 * offset for place, _ in enumerate(jobs)], [rows_of[job][key] if job in rows_of else 0 for job in jobs], 0.36, color=colour)
            panel.bar_label(bars, fmt="%.2f", fontsize=6, padding=1)
        panel.axvline(1, color="0.6", linewidth=0.8)
        panel.set_title(name.replace(", ", "\n"), fontsize=8)
        panel.set_xlim(0, 1.25 * most)
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_yticks([place + 0.18 for place, _ in enumerate(jobs)], jobs)
    panels[0][0].invert_yaxis()
    figure.legend(handles=[matplotlib.patches.Patch(color="#9ecae1", label="predicted"), matplotlib.patches.Patch(color="#08519c", label="measured")],
                  loc="lower center", ncols=2, fontsize=7, frameon=False)
    figure.supxlabel(f"times as fast as {BASE}", fontsize=7, x=0.85, y=0.02)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(out, dpi=120)
    pyplot.close(figure)


def read(file):
    """The rows of a torch.csv."""
    with file.open() as text:
        rows_of = csv.DictReader(text)
        if rows_of.fieldnames != COLUMNS:
            sys.exit(f"{file}: expected the columns {', '.join(COLUMNS)}; it is of another version: move it away to measure all networks")
        return [{key: float(value) if key.endswith(("_s", "_gain", "_slowdown")) else value for key, value in row.items()} for row in rows_of]


def write(out, found):
    names = [site.name for site in SITES]
    found = sorted(found, key=lambda row: names.index(row["network"]) if row["network"] in names else len(names))
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()} for row in found)
    for name, content in (("torch.csv", text.getvalue()), ("torch.md", page(found))):
        beside = out / f".{name}"
        beside.write_text(content)
        os.replace(beside, out / name)
    draw(found, out / "torch.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder with the programs")
    parser.add_argument("-o", dest="out", type=pathlib.Path, default=HERE, help="folder for torch.csv and torch.md [beside this script]")
    parser.add_argument("--networks", default="", help="only those whose name has this in it; rows of others stay as they are")
    parser.add_argument("--draw", action="store_true", help="measure nothing, and write torch.md and torch.png from torch.csv")
    parser.add_argument("--seconds", type=float, default=5.0, help="about how long a repetition lasts; it has 2 to 10 steps [5]")
    options = parser.parse_args()
    if options.draw:
        return write(options.out, read(options.out / "torch.csv"))
    sites = [site for site in SITES if options.networks in site.name]
    if not sites:
        parser.error(f'--networks "{options.networks}": none of {", ".join(site.name for site in SITES)} has that in its name')
    reason = network.missing() or (None if importlib.util.find_spec("torch") else "no torch (Debian: python3-torch)")
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    network.enter()
    options.out.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], check=True, capture_output=True, text=True).stdout.strip()
    machine = f"{os.cpu_count()} cores of {validate.processor()}, Linux {platform.release().split('-')[0]}, PyTorch {version}"
    before = options.out / "torch.csv"
    found = [row for row in read(before) if row["network"] not in [site.name for site in sites]] if before.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for number, site in enumerate(sites):
            found += run_site(site, options.build.resolve(), pathlib.Path(folder, str(number)), options.seconds, machine)
            write(options.out, found)
    print(options.out / "torch.md")


if __name__ == "__main__":
    main()
