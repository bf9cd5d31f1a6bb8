#!/usr/bin/python3
"""Measures training jobs of real processes over shaped links, and predicts each from a probe of the same network.

The workers sleep where a GPU would compute, and move the bytes of their gradients with gloo. netprobe measures the network, `simctl cluster
fit` makes a cluster of that, and `simctl run` predicts: nothing else is adjusted. Needs root, for network namespaces of its own."""
import argparse
import csv
import dataclasses
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import network
import rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
REPEATS = 3
COARSE = 0.25  # beside other tests on the same cores
TIE = 1e-3  # workers of one barrier are not at the same instant


def probe(net, site, build, folder, budget):
    """`budget`: seconds for each size."""
    with tempfile.TemporaryDirectory() as meeting:
        net.run_all([[build / "netprobe", "--rank", rank, "--ranks", site.nodes, "--meet", meeting, "--interface", "eth0", "--smallest", site.smallest, "--largest", site.largest,
                      "--budget", budget, "--longest", 5, "--quiet", "-o", folder / "probe.json"] for rank in range(site.nodes)], timeout=900)


class Predictor:
    """What simctl says of jobs on a network that has been probed into `folder`. `workers`: of scenarios, besides slow ones."""

    def __init__(self, site, build, folder, workers=None):
        self.site, self.build, self.workers = site, build, workers or {}
        probe, cluster = folder / "probe.json", folder / "cluster.json"
        subprocess.run([self.build / "simctl", "cluster", "fit", probe, "-o", cluster], check=True, capture_output=True)
        self.measured = json.loads(probe.read_text())
        self.clusters = {"points": json.loads(cluster.read_text())}
        fits = self.clusters["points"]["fit"]
        points = (fits[0] if isinstance(fits, list) else fits)["points"]
        slope = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
        line = {"a_s": max(0.0, points[0][1] - slope * points[0][0]), "b_s_per_B": slope, "nodes": self.site.nodes, "algorithm": "ring"}
        self.clusters["line"] = {**self.clusters["points"], "fit": line}
        nominal = {"bandwidth": self.site.bandwidth, "latency": self.site.delay}
        self.clusters["nominal"] = {"format": "cluster/1", "name": "nominal", "nodes": self.site.nodes, "link": nominal}

    def scenario(self, job, cluster, iterations):
        schedule = dict(job.schedule)
        if job.has_servers:
            schedule["server_s_per_B"] = self.measured["add_s_per_B"]
            all_fits = sum(size for _, size in gradients_of(job)[1]) < network.room(self.site.bandwidth, self.site.delay)
            schedule["service"] = "queued" if all_fits else "shared"
        return {"format": "scenario/1", "name": job.name, "trace": str(ROOT / job.trace), "granularity": job.granularity, "cluster": cluster,
                "schedule": schedule, **({"channels": job.channels} if job.channels > 1 else {}), "iterations": iterations,
                "workers": {**self.workers, **({"slow": [{"ranks": str(rank), "factor": factor} for rank, factor in job.slow.items()]} if job.slow else {})}}

    def simulate(self, job, cluster="points", warmup=4, measured=10, timeline=False):
        """A row of results, and the gradients of each group of the first step."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "scenario.json")
            file.write_text(json.dumps(self.scenario(job, self.clusters[cluster], {"warmup": warmup, "measured": measured})))
            command = [self.build / "simctl", "run", file, "-o", folder, "--force"] + (["--timeline"] if timeline else [])
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{job.name}: {done.stderr.strip()}")
            with open(pathlib.Path(folder, "results.csv"), newline="") as text:
                row = next(csv.DictReader(text))
            if not timeline:
                return row, []
            events = json.loads(pathlib.Path(folder, "timeline-0.json").read_text())["traceEvents"]
            groups = [event["args"]["gradients"] for event in events
                      if event.get("cat") == "collective" and event["pid"] == 1 and event["args"]["iteration"] == 0
                      and not event["name"].startswith("pull ")]
            return row, groups

    def row(self, job, times, warmup, measured):
        """All that the page says of a job."""
        row = {"network": self.site.name, "model": pathlib.Path(job.trace).stem, "schedule": job.schedule["name"], "job": job.name, "warmup": warmup,
               "steps": measured, "measured_s": times}
        for cluster in self.clusters:
            predicted, _ = self.simulate(job, cluster, warmup, measured)
            row[cluster], row["compute_s"] = float(predicted["iteration_s"]), float(predicted["compute_s"])
        return row


def gradients_of(job):
    """(ready time in backward, bytes) of what is a gradient, in the order of readiness."""
    trace = json.loads((ROOT / job.trace).read_text())
    gradients = [(gradient["ready_s"], gradient["bytes"], gradient["layer"]) for gradient in trace["gradients"]]
    gradients.sort(key=lambda gradient: gradient[0])
    if job.granularity == "layer":
        layers = {}
        for ready, size, layer in gradients:
            before = layers.get(layer, (0, 0))
            layers[layer] = (max(before[0], ready), before[1] + size)
        gradients = sorted(((ready, size, layer) for layer, (ready, size) in layers.items()), key=lambda gradient: gradient[0])
    return trace, [(ready, size) for ready, size, _ in gradients]


def mebibytes(text):
    return int(text.removesuffix("MiB")) * 2**20


def parts_of(size, partition):
    """As many whole parts as there are, and what remains."""
    parts = []
    while size > partition:
        parts.append(partition)
        size -= partition
    return [*parts, size]


def plan_of(predictor, job, run_s):
    """What workers do: see worker.cpp. `run_s`: about how long a repetition lasts."""
    partition = mebibytes(job.schedule["partition"]) if "partition" in job.schedule else math.inf
    whole = dataclasses.replace(job, schedule={key: value for key, value in job.schedule.items() if key != "partition"})
    predicted, counts = predictor.simulate(whole, timeline=True)
    trace, gradients = gradients_of(job)
    name = job.schedule["name"]
    kind = {"local-sgd": "local", "dts": "dts", "lasgd": "lasgd", "ps-sgd": "servers", "asgd": "servers"}.get(name, "synchronous")
    backward = trace["iteration"]["backward_s"]
    if kind not in ("synchronous", "servers"):
        counts = [len(gradients)]
    if sum(counts) != len(gradients):
        raise RuntimeError(f"{job.name}: groups of {counts} are not {len(gradients)} gradients")
    groups, first = [], 0
    for count in counts:
        merged = gradients[first:first + count]
        after_backward = kind not in ("synchronous", "servers") or name in ("s-sgd", "sync-easgd")
        ready = backward if after_backward else merged[-1][0]
        groups += [{"ready_s": ready, "bytes": size} for size in parts_of(sum(size for _, size in merged), partition)]
        first += count
    steps = max(3, min(30, round(run_s / float(predicted["iteration_s"]))))
    cycle = {"local": job.schedule.get("interval", 1), "dts": job.schedule.get("period", 1)}.get(kind, 1)
    warmup = cycle + job.schedule.get("delay", 0)
    warmup += -warmup % cycle
    steps += -steps % cycle
    factors = [job.slow.get(rank, 1.0) for rank in range(predictor.site.nodes)]
    more = cycle + round((warmup + steps) * (max(factors) - 1))  # until the slowest has done what is measured
    return {"schedule": kind, "waits_for_all": name == "ps-sgd", "clients": predictor.site.nodes, "warmup": warmup, "measured": steps,
            "steps": warmup + steps + more,
            "forward_s": trace["iteration"]["forward_s"], "backward_s": backward, "update_s": 0 if kind == "servers" else trace["update_s"],
            "groups": groups, "factors": factors, "channels": job.channels,
            **{key: job.schedule[key] for key in ("interval", "delay", "period", "tau_max") if key in job.schedule}}


def iteration_s(workers, measured):
    """Window x workers / steps done in it, as simctl counts: from when the last worker is warm until the first has done `measured` steps that
    began after that (of lasgd, rounds; the last step of each is in `rounds`)."""
    begin = max(worker["warm"] for worker in workers)
    end = min(worker["ends"][-1] for worker in workers)
    for worker in workers:
        ends = [worker["ends"][index] for index in worker["rounds"]]
        later = [done for start, done in zip([worker["begin"], *ends], ends) if start >= begin - TIE]
        if len(later) >= measured:
            end = min(end, later[measured - 1])
    steps = 0.0
    for worker in workers:
        start = worker["begin"]
        for done in worker["ends"]:
            steps += max(0.0, min(done, end) - max(start, begin)) / (done - start)
            start = done
    return (end - begin) * len(workers) / steps


def measure(net, predictor, jobs, run_s):
    """Of every job, its plan and its iteration time in each repetition."""
    if not jobs:
        return []
    nodes, build = predictor.site.nodes, predictor.build
    ranks = nodes + jobs[0].has_servers
    plans = [plan_of(predictor, job, run_s) for job in jobs]
    channels = max([-(-plan.get("delay", 0) // plan.get("period", 1)) for plan in plans] + [plan["channels"] for plan in plans])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "plan.json").write_text(json.dumps({"channels": channels, "runs": [plan for plan in plans for _ in range(REPEATS)]}))
        (folder / "meeting").mkdir()
        net.run_all([[build / "validation_worker", folder / "plan.json", rank, ranks, folder / "meeting", "eth0", folder / f"times-{rank}.json"]
                     for rank in range(ranks)], timeout=1800)
        times = [json.loads((folder / f"times-{rank}.json").read_text()) for rank in range(nodes)]
    runs = [iteration_s([worker[run] for worker in times], plans[run // REPEATS]["measured"]) for run in range(len(plans) * REPEATS)]
    return [(plan, runs[REPEATS * i:REPEATS * (i + 1)]) for i, plan in enumerate(plans)]


def run_site(site, build, folder, short, say):
    """The rows of a network's jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    machines = site.nodes + any(job.has_servers for job in site.jobs)
    found = []
    with network.Network(machines, site.bandwidth, site.delays(machines), build / "validation_relay") as net:
        probe(net, site, build, folder, 0.02 if short else 0.1)
        predictor = Predictor(site, build, folder)
        for with_servers in (False, True):
            jobs = [job for job in site.jobs if job.has_servers == with_servers]
            for job, (plan, times) in zip(jobs, measure(net, predictor, jobs, 1.0 if short else 5.0 if with_servers else 2.0)):
                found.append(predictor.row(job, times, plan["warmup"], plan["measured"]))
                say(f"{site.name}: {job.name}: {1e3 * statistics.median(times):.1f} ms measured, {1e3 * found[-1]['points']:.1f} ms predicted")
        for row in found:
            row["sent_again"] = net.sent_again()
    return found


def predict_again(site, build, folder, before):
    """The same measurements beside new predictions."""
    predictor = Predictor(site, build, folder)
    jobs = {(pathlib.Path(job.trace).stem, job.name): job for job in site.jobs}
    return [predictor.row(jobs[row["model"], row["job"]], row["measured_s"], row["warmup"], row["steps"]) | {"sent_again": row.get("sent_again", 0)}
            for row in before if row["network"] == site.name and (row["model"], row["job"]) in jobs]


def error(row, by="points"):
    return row[by] / statistics.median(row["measured_s"]) - 1.0


def errors(found, by="points"):
    """Mean and worst, without sign."""
    sizes = [abs(error(row, by)) for row in found]
    return f"{100 * statistics.mean(sizes):.1f}%", f"{100 * max(sizes):.1f}%"


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(map(str, line)) + " |" for line in lines)])


def grouped(found, key):
    lines = []
    for value in dict.fromkeys(row[key] for row in found):
        some = [row for row in found if row[key] == value]
        lines.append([value, len(some), *(figure for by in ("nominal", "line", "points") for figure in errors(some, by))])
    return table([key, "rows", "nominal: mean", "worst", "line: mean", "worst", "points: mean", "worst"], lines)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def here(out, sites):
    """When and where was it measured?"""
    library = json.loads((folder_of(out, sites[0]) / "probe.json").read_text())["library"]
    return {"date": str(datetime.date.today()), "machine": f"{os.cpu_count()} cores of {processor()}, Linux {platform.release().split('-')[0]}, {library}"}


def page(found, measured):
    mean, worst = errors(found)
    sent_again = {row["network"]: row["sent_again"] for row in found}
    rows_of = []
    for row in found:
        times = sorted(row["measured_s"])
        middle = statistics.median(times)
        rows_of.append([row["network"], row["model"], row["job"], f"{1e3 * row['compute_s']:.1f}", f"{1e3 * middle:.1f}",
                        f"{100 * (times[-1] - times[0]) / middle:.1f}%", *(f"{100 * error(row, by):+.1f}%" for by in ("nominal", "line")),
                        f"{1e3 * row['points']:.1f}", f"{100 * error(row):+.1f}%"])
    return "\n\n".join([
        "# Measured beside predicted",
        f"{len(found)} jobs of real processes over shaped links. Predictions from the network's probe alone are off by **{mean}** on average and **{worst}** at worst. "
        f"Measured {measured['date']} on {measured['machine']}.",
        "[README.md](README.md) says how it works and how to run it. Times are iteration times in ms, medians of three repetitions; `spread` is their range over their median. "
        "`nominal` is predicted from the links' nominal figures, `line` from a line through the first and last point of the probe, `points` (in the last table `predicted` and "
        "`error`) from all points.",
        f"TCP segments lost and sent again: {', '.join(f'{count} ({name})' for name, count in sent_again.items())}.",
        grouped(found, "network"), grouped(found, "schedule"),
        table(["network", "trace", "job", "compute", "measured", "spread", "nominal", "line", "predicted", "error"], rows_of)]) + "\n"


def folder_of(out, site):
    return out / site.name.replace(" ", "-").replace("/", "")


def write(out, found, measured):
    order = [site.name for site in rows.SITES]
    found.sort(key=lambda row: order.index(row["network"]) if row["network"] in order else -1)
    (out / "rows.json").write_text(json.dumps({"measured": measured, "rows": found}, indent=1) + "\n")
    (out / "measured.md").write_text(page(found, measured))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder with the programs")
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True, help="folder for measured.md and rows.json")
    parser.add_argument("--short", action="store_true", help="six jobs only")
    parser.add_argument("--networks", default="", help="only those whose name has this in it")
    parser.add_argument("--predict", action="store_true", help="predict anew what has been measured into the folder before")
    options = parser.parse_args()
    build = options.build.resolve()
    sites = [site for site in (rows.SHORT if options.short else rows.SITES) if options.networks in site.name]
    if not sites:
        parser.error(f'--networks "{options.networks}": none of {", ".join(site.name for site in rows.SITES)} has that in its name')
    found, measured = [], None
    before = options.out / "rows.json"
    if before.exists() and not options.short:
        kept = json.loads(before.read_text())
        measured, found = kept["measured"], kept["rows"]
    if options.predict:
        if not found:
            parser.error(f"--predict: {before} has no measurements; leave it out")
        chosen = [site for site in sites if (folder_of(options.out, site) / "probe.json").exists()]
        others = [row for row in found if row["network"] not in [site.name for site in chosen]]
        found = others + [row for site in chosen for row in predict_again(site, build, folder_of(options.out, site), found)]
        write(options.out, found, measured)
    else:
        reason = network.missing()
        if reason:
            print(f"SKIPPED: {reason}")
            sys.exit(SKIPPED)
        network.enter()
        for site in sites:
            others = [row for row in found if row["network"] != site.name]
            found = others + run_site(site, build, folder_of(options.out, site), options.short, lambda text: print(text, flush=True))
            write(options.out, found, here(options.out, sites))
    print("mean {} and worst {}".format(*errors(found)), f"over {len(found)} rows: {options.out / 'measured.md'}")
    if options.short and max(abs(error(row)) for row in found) > COARSE:
        sys.exit(f"a job is off by more than {COARSE:.0%}")


if __name__ == "__main__":
    main()
