#!/usr/bin/python3
"""Predicts published throughputs of 2 to 64 GPUs, blind, and writes the page published.md.

The published throughput of one GPU scales a trace of the model; workers are those that `simctl new` writes for GPUs. Cluster and schedule are those that the project's pages name
for the machine. --check leaves out calibrated predictions, which take long, unless SYNCOPATE_SLOW is set."""
import argparse
import collections
import csv
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = "published.md"
MARK = "<!-- What follows, published.py writes. -->\n\n"


@dataclasses.dataclass
class Machine:
    """How GPUs of a dataset are connected, and which device's layer times are scaled."""
    cluster: str
    device: str
    model: str = "resnet50"
    gpus_per_node: int = 8
    changes: dict = dataclasses.field(default_factory=dict)  # of the cluster
    sixteen_bits: bool = False  # of gradients


DGX1 = Machine("dgx1-v100", "v100")
PCIE3 = {"kind": "pcie3", "bandwidth": "15.75GBps", "latency": "5.7us"}


def machine_of(row):
    """By the words that name a row."""
    name, what = row["dataset"], row["what"]
    if name.startswith("DLPerf"):
        return dataclasses.replace(DGX1, changes={"nics": 1})
    if name.startswith("NVIDIA"):
        base = Machine("dgx-a100", "a100") if "A100" in what else dataclasses.replace(DGX1, gpus_per_node=16 if "DGX-2" in what else 8)
        # MXNet's optimiser keeps the master weights, so that its gradients have 16 bits; PyTorch's autocast makes gradients of fp32.
        return dataclasses.replace(base, sixteen_bits="AMP" in what and "MXNet" in what)
    if name.startswith("TF EC2"):
        model = "resnet152" if "152" in what else "resnet50"
        return Machine("10gbe", "k80-one-gpu", model, changes={"intra_node": PCIE3})
    if name.startswith("Horovod 2017"):
        rdma = {"link": {"kind": "ethernet-rdma", "bandwidth": "25Gbps", "latency": "9.6us"}}
        return Machine("25gbe", "v100", what.split()[0], 4, {"intra_node": PCIE3} | ({} if "TCP" in what else rdma))
    raise ValueError(f"no machine is known for {name}, {what}")


def schedule_of(row):
    if row["schedule"] == "ps-sgd":
        return {"name": "ps-sgd", "servers": "nodes", "colocated": True, "in_flight": "pipelined"}
    if row["schedule"] == "horovod":
        return {"name": "horovod", "cycle_s": 5e-3, "threshold": "64MiB"}  # its defaults before version 0.21
    return {"name": row["schedule"]}


class Predictor:
    def __init__(self, build, folder):
        self.simctl, self.folder, self.traces = build / "simctl", folder, {}
        self.workers = json.loads(self.call("new", "--trace", "h100-resnet50-b32"))["workers"]

    def call(self, *arguments):
        done = subprocess.run([self.simctl, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"simctl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def trace(self, machine, batch, one):
        """A trace of the model on the device, whose iteration takes batch / one seconds."""
        key = machine.model, machine.device, batch
        if key not in self.traces:
            path = self.folder / f"trace-{len(self.traces)}.json"
            self.call("trace", "synth", machine.model, "--device", machine.device, "--batch", batch, "-o", path)
            self.traces[key] = json.loads(path.read_text())
        trace = json.loads(json.dumps(self.traces[key]))
        step = sum(layer["forward_s"] + layer["backward_s"] for layer in trace["layers"]) + trace.get("update_s", 0.0)
        factor = float(batch) / float(one) / step
        scale(trace, factor)
        if machine.sixteen_bits:
            trace["model"]["dtype"] = "fp16"
            for gradient in trace["gradients"]:
                gradient["bytes"] //= 2
        return trace

    def write(self, row):
        """The row's scenario."""
        machine, gpus = machine_of(row), int(row["gpus"])
        cluster = json.loads((ROOT / "scenarios/clusters" / f"{machine.cluster}.json").read_text()) | machine.changes
        per_node = min(gpus, machine.gpus_per_node)
        cluster |= {"nodes": gpus // per_node, "gpus_per_node": per_node}
        scenario = {"format": "scenario/1", "name": row["what"], "trace": self.trace(machine, row["batch"], row["one"]), "cluster": cluster,
                    "schedule": schedule_of(row), "workers": self.workers}
        if row["schedule"] != "ps-sgd":
            scenario["all_reduce"] = {"name": "ring", "across": "gpus"}
        path = self.folder / "scenario.json"
        path.write_text(json.dumps(scenario))
        return path

    def iteration(self, row):
        self.call("run", self.write(row), "-o", self.folder / "out", "--force")
        with open(self.folder / "out" / "results.csv", newline="") as text:
            return float(next(csv.DictReader(text))["iteration_s"])

    def calibrated(self, first, others):
        """Errors of the others, if simctl calibrate knows the series' smallest row."""
        machine, known = machine_of(first), f"1:{first['one']},{first['gpus']}:{first['measured']}"
        path = self.write(first | {"gpus": str(max(machine.gpus_per_node, int(first["gpus"])))})
        done = self.call("calibrate", path, "--measured", known, "--sizes", ",".join(row["gpus"] for row in others))
        lines = done.split("samples per second of all GPUs\n")[1].split("\n\n")[0].splitlines()
        # Columns end where the ruled header's titles do; what was measured is empty for the others.
        column = lines[0].index("calibrated") + len("calibrated")
        now = {line.split()[0]: float(line[:column].split()[-1]) for line in lines[2:]}
        return [now[row["gpus"]] / float(row["measured"]) - 1 for row in others]


def scale(value, factor):
    """All times in a trace."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, (dict, list)):
            scale(inner, factor)
        elif isinstance(key, str) and key.endswith("_s") and isinstance(inner, (int, float)):
            value[key] = inner * factor


def published():
    with open(HERE / "published.csv", newline="") as text:
        return list(csv.DictReader(line for line in text if not line.startswith("#")))


def error(row):
    return row["predicted"] / float(row["measured"]) - 1


def percent(value, sign=""):
    return f"{100 * value:{sign}.1f}%"


def summary(errors):
    sizes = [abs(one) for one in errors]
    figures = [percent(statistics.mean(sizes)), percent(statistics.median(sizes)), percent(max(sizes)), f"{100 * sum(one > 0 for one in errors) / len(errors):.0f}%"]
    return [str(len(errors)), *figures]


def series(rows):
    """The smallest row of each series, and the others."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row["dataset"], row["what"], row["batch"]].append(row)
    for some in found.values():
        first, *others = sorted(some, key=lambda row: int(row["gpus"]))
        if others:
            yield first, others


def scaled(rows):
    """Errors of what follows the smallest row of each series, as if predictions were scaled to that."""
    return [(1 + error(row)) / (1 + error(first)) - 1 for first, others in series(rows) for row in others]


def table(header, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]) + "\n"


def row_of_calibrated(errors):
    return "| " + " | ".join(["the same, each series [calibrated](../../scenarios/CALIBRATE.md) with one GPU and its smallest row", *summary(errors)]) + " |\n"


def page(head, rows, calibrated):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["dataset"]].append(row)
    header = ["rows", "mean", "median", "worst", "too fast"]
    overview = [[name, *summary(list(map(error, some)))] for name, some in groups.items()]
    within = [row for row in rows if int(row["gpus"]) <= machine_of(row).gpus_per_node]
    across = [row for row in rows if row not in within]
    smaller = [row for _, others in series(rows) for row in others]
    overview += [["within one node", *summary(list(map(error, within)))], ["across nodes", *summary(list(map(error, across)))]]
    overview += [["**all**", *summary(list(map(error, rows)))], ["all but the smallest row of each series", *summary(list(map(error, smaller)))],
                 ["the same, each series scaled by its smallest row", *summary(scaled(rows))]]
    each = [[row["dataset"], row["what"], row["batch"], row["gpus"], f"{float(row['measured']):g}", f"{row['predicted']:.0f}", percent(error(row), "+")] for row in rows]
    return head + table(["dataset", *header], overview) + calibrated + "\n## Every row\n\nImages per second of all GPUs.\n\n" + table(
        ["dataset", "what", "batch", "GPUs", "published", "predicted", "error"], each)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="folder with simctl")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=HERE / PAGE, help="the page")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the page would change")
    options = parser.parse_args()
    now = (HERE / PAGE).read_text()
    rows = published()
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(options.build.resolve(), pathlib.Path(folder))
        for row in rows:
            row["predicted"] = int(row["gpus"]) * float(row["batch"]) / predictor.iteration(row)
        if options.check and "SYNCOPATE_SLOW" not in os.environ:
            calibrated = next(line for line in now.splitlines(True) if "calibrated]" in line and line.startswith("| the same"))
        else:
            calibrated = row_of_calibrated([one for first, others in series(rows) for one in predictor.calibrated(first, others)])
    text = page(now[:now.index(MARK) + len(MARK)], rows, calibrated)
    if not options.check:
        options.output.write_text(text)
    elif now != text:
        sys.exit(f"{PAGE} is not what published.py writes now; run tests/validation/published.py {options.build}, and read what changes")


if __name__ == "__main__":
    main()
