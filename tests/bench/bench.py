#!/usr/bin/python3
"""Measures the figures of README.md. usage: bench.py BUILD_FOLDER

Each figure is the median of several runs of a whole process; peak memory is that of its largest process.
"""
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]


def run(*command):
    """Runs a command; returns its wall seconds and the peak memory in MB of it or of its largest child."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"bench: failed: {command}")
    return wall, usage.ru_maxrss / 1024


def measure(repeats, *command):
    results = [run(*command) for _ in range(repeats)]
    return statistics.median(wall for wall, _ in results), max(memory for _, memory in results)


def write(folder, name, content):
    path = pathlib.Path(folder) / name
    path.write_text(json.dumps(content))
    return path


def scenario(trace, nodes, **changes):
    content = {
        "format": "scenario/1",
        "name": "bench",
        "trace": str(trace),
        "cluster": {"name": "10gbe", "nodes": nodes, "link": {"bandwidth": "10Gbps", "latency": "50us"}},
        "schedule": {"name": "wfbp"},
        "fidelity": "alpha-beta",
    }
    return content | changes


def many_layers(folder, layers):
    """A large trace, for the parser: two gradients per layer."""
    return write(folder, "large.json", {
        "format": "trace/1", "provenance": {"kind": "synthetic"}, "model": {"name": "large", "batch": 1},
        "layers": [{"name": f"layer{i}", "type": "conv2d", "forward_s": 1e-4, "forward_quartiles_s": [9e-5, 1.1e-4],
                    "backward_s": 2e-4, "backward_quartiles_s": [1.9e-4, 2.1e-4]} for i in range(layers)],
        "gradients": [{"name": f"layer{i}.{p}", "layer": f"layer{i}", "bytes": 40000, "shape": [100, 100]}
                      for i in reversed(range(layers)) for p in ("weight", "bias")],
    })


def layer_times(path):
    trace = json.loads(pathlib.Path(path).read_text())
    return {(layer["name"], way): layer[way] for layer in trace["layers"] for way in ("forward_s", "backward_s")}


def capture_rows(capture, folder):
    """A capture alone, then two beside a process that keeps each core busy: how well do they agree?"""
    paths = [pathlib.Path(folder) / f"capture-{i}.json" for i in range(3)]
    command = [capture, "--model", ROOT / "models" / "resnet50.json", "--batch", 8, "--device", "cpu", "--quiet", "-o"]
    wall, memory = measure(1, *command, paths[0])
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        for path in paths[1:]:
            measure(1, *command, path)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    first, second = layer_times(paths[1]), layer_times(paths[2])
    apart = [abs(first[key] / second[key] - 1) for key in first if min(first[key], second[key]) > 1e-3]
    return [("capture ResNet-50, batch 8, on one CPU thread, whole process", f"{wall:.1f} s", f"{memory:.0f} MB"),
            (f"two such captures beside busy processes: of {len(apart)} times over 1 ms",
             f"{sum(value > 0.05 for value in apart)} differ by over 5%, median {statistics.median(apart):.1%}, worst {max(apart):.1%}", "")]


def schedule_rows(simctl, folder, trace):
    """2048 unequal workers, per iteration: the difference of two lengths leaves start-up out."""
    rows = []
    disturbed = {"jitter": {"distribution": "lognormal", "cv": 0.1}, "slow": [{"ranks": "0-63", "factor": 1.3}]}
    for schedule, lengths in (({"name": "lasgd", "tau_max": 4}, (10, 110)), ({"name": "sasgd", "interval": 5}, (10, 110)),
                              ({"name": "dts", "delay": 4, "period": 2}, (12, 112)), ({"name": "sgp"}, (10, 110)),
                              ({"name": "ps-sgd", "servers": 16}, (2, 12)), ({"name": "asgd", "servers": 16}, (2, 12)),
                              ({"name": "ssd-sgd", "servers": 16, "delay": 4}, (4, 12))):
        runs = []
        for measured in lengths:
            path = write(folder, f"schedule-{measured}.json", scenario(trace, 2048, schedule=schedule, workers=disturbed,
                                                                       iterations={"warmup": 0, "measured": measured}))
            runs.append(measure(3, simctl, "run", path, "--quiet"))
        each = (runs[1][0] - runs[0][0]) / (lengths[1] - lengths[0])
        parameters = ", ".join(f"{key} {value}" for key, value in schedule.items() if key != "name")
        name = schedule["name"] + (f" ({parameters})" if parameters else "")
        rows.append((f"2048 unequal workers, 161 gradients, {name}, per iteration", f"{each * 1e3:.2f} ms" if each < 0.1 else f"{each:.2f} s",
                     f"{runs[0][1]:.0f} MB ({lengths[0]} iterations), {runs[1][1]:.0f} MB ({lengths[1]})"))
    return rows


def sharded_rows(simctl, folder):
    """fsdp of 64 units on 2048 GPUs, and three models on H100."""
    layers = [{"name": f"layer{i}", "forward_s": 3e-3, "backward_s": 6e-3} for i in range(64)]
    units = write(folder, "units.json", {"format": "trace/1", "provenance": {"kind": "synthetic"}, "model": {"name": "units", "batch": 1}, "layers": layers,
                                         "gradients": [{"name": f"layer{i}.weight", "layer": f"layer{i}", "bytes": 50_000_000} for i in reversed(range(64))]})
    cells = []
    for name, workers, lengths in (("equal", {}, (1, 101)), ("5% jitter", {"jitter": {"distribution": "lognormal", "cv": 0.05}}, (1, 6))):
        runs = []
        for measured in lengths:
            content = scenario(str(units), 2048, schedule={"name": "fsdp", "units": "layer"}, workers=workers, fidelity="per-message",
                               iterations={"warmup": 0, "measured": measured})
            runs.append(measure(3, simctl, "run", write(folder, f"fsdp-{measured}.json", content), "--quiet"))
        each = (runs[1][0] - runs[0][0]) / (lengths[1] - lengths[0])
        cells.append(f"{name} {each * 1e3:.2g} ms" if each < 0.1 else f"{name} {each:.2f} s")
    wall, memory = measure(1, simctl, "run", ROOT / "scenarios" / "today.json", "--quiet")
    return [("fsdp of 64 units on 2048 GPUs, per-message, per iteration", ", ".join(cells), f"{runs[1][1]:.0f} MB"),
            ("scenarios/today.json, 378 points, of which 45 in flow, whole process", f"{wall:.0f} s", f"{memory:.0f} MB")]


def long_rows(simctl, folder):
    """Rounds of many steps, and runs of many days."""
    cells = []
    for name, workers in (("equal", {}), ("5% jitter", {"jitter": {"distribution": "lognormal", "cv": 0.05}})):
        content = scenario(ROOT / "traces" / "synthetic-v100-resnet50-b64.json", 64, schedule={"name": "diloco", "interval": 500}, workers=workers, fidelity="per-message",
                           iterations={"warmup": 0, "measured": 5000})
        wall, memory = measure(3, simctl, "run", write(folder, "diloco.json", content), "--quiet")
        cells.append(f"{name} {wall:.2f} s")
    wall, of_days = measure(3, simctl, "run", ROOT / "scenarios" / "llama-54-days.json", "--quiet")
    return [("diloco, 64 workers, 10 rounds of 500 steps, per-message, whole process", ", ".join(cells), f"{memory:.0f} MB"),
            ("54 days of 16,384 GPUs, 16 points of 100 seeds, whole process", f"{wall:.1f} s", f"{of_days:.0f} MB")]


def fidelity_rows(simctl, folder, trace):
    """Messages and flows, as they grow with the number of ranks."""
    rows = []
    one = {"provenance": {"kind": "synthetic"}, "model": {"name": "one", "batch": 1}, "layers": [{"name": "a", "forward_s": 1e-3, "backward_s": 1e-3}],
           "gradients": [{"name": "w", "layer": "a", "bytes": 100_000_000}]}
    once = {"schedule": {"name": "sync-easgd"}, "iterations": {"warmup": 0, "measured": 1}, "fidelity": "per-message"}
    jitter = {"jitter": {"distribution": "lognormal", "cv": 0.05}}
    fat_tree = {"name": "fat-tree", "k": 24, "oversubscription": 2}

    def growing(name, repeats, what, *options, lengths=None, cluster=None, nodes=(16, 64, 256, 1024, 2048)):
        """`lengths`: of two runs whose difference is that of so many iterations; else of a whole process."""
        cells, memory, times = [], 0, []
        for count in nodes:
            content = scenario("", count) | what
            content["cluster"] |= cluster or {}
            walls = []
            for measured in lengths or (1,):
                content["iterations"] = {"warmup": 0, "measured": measured}
                wall, memory = measure(repeats, simctl, "run", write(folder, "growing.json", content), "--quiet", *options)
                walls.append(wall)
            each = (walls[1] - walls[0]) / (lengths[1] - lengths[0]) if lengths else walls[0]
            times.append(each)
            cells.append(f"{count}: {each * 1e3:.3g} ms" if each < 1 else f"{count}: {each:.1f} s")
        exponent = math.log(times[-1] / times[-2]) / math.log(nodes[-1] / nodes[-2])
        rows.append((name, f"{', '.join(cells)} (grows with N^{exponent:.1f})", f"{memory:.0f} MB ({nodes[-1]})"))

    whole = once | {"trace": one, "workers": jitter}
    growing("a 100 MB ring all-reduce of jittered workers, per-message, per iteration", 3, whole, lengths=(20, 120))
    wfbp = {"schedule": {"name": "wfbp"}, "fidelity": "per-message", "trace": str(trace)}
    growing("wfbp, 161 gradients, per-message, equal workers, --no-symmetry, per iteration", 1, wfbp, "--no-symmetry", lengths=(2, 22))
    growing("wfbp, 161 gradients, per-message, 5% jitter, per iteration", 1, wfbp | {"workers": jitter}, lengths=(2, 22))
    flow = once | {"trace": one, "fidelity": "flow"}
    growing("a 100 MB ring as flows on a fat-tree, 2:1 oversubscribed, whole process", 1, flow, cluster={"topology": fat_tree})
    growing("the same, --no-symmetry: every message a flow", 1, flow, "--no-symmetry", cluster={"topology": fat_tree})
    growing("the same ring on nodes placed at random: every message shares links", 1, flow, cluster={"topology": fat_tree, "placement": "random"})
    in_simgrid = once | {"trace": one, "fidelity": "simgrid"}
    growing("a 100 MB ring in SimGrid, on a star, whole process", 1, in_simgrid, nodes=(16, 64, 256, 1024))
    growing("wfbp, 161 gradients, in SimGrid, whole process", 1, wfbp | {"fidelity": "simgrid"}, nodes=(16, 64))
    return rows


def size_rows(simctl, folder, trace):
    """How large a cluster may be: whole processes of two iterations."""
    rows = []
    one = {"provenance": {"kind": "synthetic"}, "model": {"name": "one", "batch": 1}, "layers": [{"name": "a", "forward_s": 1e-3, "backward_s": 1e-3}],
           "gradients": [{"name": "w", "layer": "a", "bytes": 100_000_000}]}
    jitter = {"jitter": {"distribution": "lognormal", "cv": 0.05}}
    gpus = {"gpus_per_node": 8, "intra_node": {"bandwidth": "100GBps", "latency": "5us"}}
    million = 1 << 20
    regions = {"regions": [{"name": f"r{i}", "nodes": 512} for i in range(4)],
               "wan": [{"between": [f"r{a}", f"r{b}"], "rtt": "100ms", "bandwidth": "1Gbps"} for a, b in itertools.combinations(range(4), 2)]}
    for name, nodes, what, cluster in (
            ("1,048,576 equal nodes, ring, 161 gradients, alpha-beta", million, {"fidelity": "alpha-beta"}, {}),
            ("the same, per-message", million, {"fidelity": "per-message"}, {}),
            ("131,072 equal nodes of 8 GPUs, two levels, per-message", million // 8, {"fidelity": "per-message"}, gpus),
            ("65,536 nodes on a fat-tree (k 64), 100 MB ring, per-message", 65536, {"fidelity": "per-message", "trace": one},
             {"topology": {"name": "fat-tree", "k": 64}}),
            ("65,536 jittered workers, 161 gradients, per-message", 65536, {"fidelity": "per-message", "workers": jitter}, {}),
            ("262,144 jittered workers, one gradient, alpha-beta", 262144, {"fidelity": "alpha-beta", "workers": jitter, "trace": one}, {}),
            ("dts with all-gathers of 1% over 2048 nodes in four regions, 8 iterations", 2048, {
                "fidelity": "per-message", "schedule": {"name": "dts", "delay": 4, "period": 2, "compression": 0.01},
                "iterations": {"warmup": 0, "measured": 8}}, regions)):
        content = scenario(trace, nodes, iterations={"warmup": 0, "measured": 2}) | what
        content["cluster"] |= cluster
        wall, memory = measure(1, simctl, "run", write(folder, "size.json", content), "--quiet")
        rows.append((name + ", whole process", f"{wall:.2f} s", f"{memory:.0f} MB"))
    return rows


def main():
    simctl = pathlib.Path(sys.argv[1]).resolve() / "simctl"
    resnet50 = ROOT / "traces" / "cpu-resnet50-b8.json"
    k80 = ROOT.parent / "shared" / "data" / "traces" / "k80-googlenet-b64.json"
    capture = simctl.with_name("capture")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if k80.exists():
            path = write(folder, "googlenet.json", scenario(k80, 4, granularity="layer", iterations={"warmup": 1, "measured": 3}, sweep={
                "/cluster/nodes": NODES, "/schedule/name": ["wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal"]}))
            wall, memory = measure(7, simctl, "run", path, "--quiet")
            rows.append(("K80 GoogLeNet, 4 schedules x 4..2048 nodes, 40 points, whole process", f"{wall:.3f} s", f"{memory:.0f} MB"))
        wall, memory = measure(7, simctl, "run", ROOT / "scenarios" / "scalability.json", "--quiet")
        rows.append(("the demo, 120 points, whole process", f"{wall:.3f} s", f"{memory:.0f} MB"))

        # Per iteration: the difference of two lengths leaves start-up out.
        for nodes in (256, 2048):
            walls = []
            for measured in (10, 110):
                path = write(folder, f"jitter-{measured}.json", scenario(resnet50, nodes, iterations={"warmup": 0, "measured": measured},
                             workers={"jitter": {"distribution": "lognormal", "cv": 0.05}}))
                walls.append(measure(5, simctl, "run", path, "--quiet"))
            per_iteration = (walls[1][0] - walls[0][0]) / 100
            rows.append((f"{nodes} jittered workers x 161 gradients, wfbp, per iteration", f"{per_iteration * 1e3:.2f} ms", f"{walls[0][1]:.0f} MB (10 iterations), {walls[1][1]:.0f} MB (110)"))

        path = write(folder, "full.json", scenario(resnet50, 2048, iterations={"warmup": 0, "measured": 10},
                     workers={"jitter": {"distribution": "lognormal", "cv": 0.05}}))
        wall, memory = measure(1, simctl, "run", path, "--quiet", "--no-symmetry")
        rows.append(("the same 2048 workers, 10 iterations, --no-symmetry (every shortcut off)", f"{wall:.2f} s", f"{memory:.0f} MB"))

        rows += schedule_rows(simctl, folder, resnet50)
        rows += sharded_rows(simctl, folder)
        rows += long_rows(simctl, folder)
        rows += fidelity_rows(simctl, folder, resnet50)
        rows += size_rows(simctl, folder, resnet50)
        path = write(folder, "cheap.json", scenario(resnet50, 4, iterations={"warmup": 0, "measured": 1}, sweep={"/seed": list(range(10000))}))
        wall, memory = measure(3, simctl, "run", path, "--quiet")
        rows.append(("run a sweep of 10,000 cheap points (4 equal workers, one iteration)", f"{wall:.2f} s", f"{memory:.0f} MB"))
        # Each into a new folder: a file system is slow to use again what has just been deleted.
        runs = [run(simctl, "run", path, "--quiet", "-o", pathlib.Path(folder) / f"cheap-{i}") for i in range(3)]
        rows.append(("the same with -o, which keeps every point in a file", f"{statistics.median(wall for wall, _ in runs):.2f} s",
                     f"{max(memory for _, memory in runs):.0f} MB"))

        wall, memory = measure(5, simctl, "advise", ROOT / "scenarios" / "advice" / "cheapest.json")
        rows.append(("advise: the example's 686 candidates, whole process", f"{wall:.2f} s", f"{memory:.0f} MB"))

        # What a record costs beside the same run without it.
        path = write(folder, "recorded.json", scenario(resnet50, 64, fidelity="per-message", iterations={"warmup": 0, "measured": 1000},
                                                       workers={"jitter": {"distribution": "lognormal", "cv": 0.1}}))
        for name, schedule in (("wfbp", {"name": "wfbp"}), ("sync-easgd", {"name": "sync-easgd"}), ("lasgd", {"name": "lasgd", "tau_max": 4}),
                               ("asgd, one group", {"name": "asgd", "grouping": "sync-easgd"})):
            words = [simctl, "run", path, "--set", f"/schedule={json.dumps(schedule)}", "--quiet", "-o", pathlib.Path(folder) / "recorded", "--force"]
            (plain, _), (wall, memory) = measure(3, *words, "--no-symmetry"), measure(3, *words, "--dataflow")
            rows.append((f"{name}, 64 jittered workers x 1,000 steps, with a record of its dataflow, whole process", f"{wall:.2f} s (without: {plain:.2f} s)", f"{memory:.0f} MB"))
        # Training as records say: 64,000 gradients, and a step, or many, of the models.
        for name in ("s_sgd", "asgd", "local_sgd"):
            path = pathlib.Path(folder) / "dataflow-0.jsonl.gz"
            subprocess.run([sys.executable, "-c", f"import pathlib, sys, records; records.{name}(64, 1000).write(pathlib.Path(sys.argv[1]))", path],
                           cwd=ROOT / "tests" / "analysis", check=True)
            wall, memory = measure(1, ROOT / "analysis" / "train.py", path, "--task", "digits", "--lr", "0.2", "--seeds", "1", "-o", pathlib.Path(folder) / "trained")
            rows.append((f"train digits as a record of {name.replace('_', '-')} says: 64 workers x 1,000 steps, whole process", f"{wall:.1f} s", f"{memory:.0f} MB"))

        size = resnet50.stat().st_size
        path = write(folder, "one.json", scenario(resnet50, 4))
        wall, memory = measure(15, simctl, "check", path)
        rows.append((f"parse and check a scenario and its {size / 1e3:.0f} kB trace, whole process", f"{wall * 1e3:.1f} ms", f"{memory:.0f} MB"))
        sample = ROOT.parent / "shared" / "data" / "kineto" / "v100-resnet50-b32.pt.trace.json.gz"
        out = pathlib.Path(folder) / "out.json"
        if sample.exists():
            wall, memory = measure(7, simctl, "trace", "import", sample, "-o", out)
            rows.append(("import a PyTorch profile of 31 MB of JSON (1.1 MB as gzip)", f"{wall:.2f} s", f"{memory:.0f} MB"))
        # Written by another process: memory that this one ever had counts as that of those that it starts.
        profile = pathlib.Path(folder) / "profile.json"
        subprocess.run([sys.executable, "-c", "import sys, kineto_writer as w; w.Profile(layers=w.RESIDUAL, steps=8000).write(sys.argv[1])", profile],
                       cwd=ROOT / "tests" / "traces", check=True)
        wall, memory = measure(3, simctl, "trace", "import", profile, "-o", out)
        rows.append((f"import a generated one of {profile.stat().st_size / 1e6:.0f} MB without call stacks", f"{wall:.2f} s", f"{memory:.0f} MB"))
        wall, memory = measure(7, simctl, "trace", "synth", ROOT / "models" / "densenet201.json", "--device",
                               ROOT / "models" / "devices" / "v100.json", "--batch", "32", "-o", out)
        rows.append(("read DenseNet-201 (707 layers) and synthesize its trace", f"{wall * 1e3:.0f} ms", f"{memory:.0f} MB"))
        large = many_layers(folder, 20000)
        path = write(folder, "large-scenario.json", scenario(large, 4))
        wall, memory = measure(5, simctl, "check", path)
        rows.append((f"parse and check a trace of 40,000 gradients ({large.stat().st_size / 1e6:.1f} MB)", f"{wall * 1e3:.0f} ms", f"{memory:.0f} MB"))
        path = write(folder, "points.json", scenario(resnet50, 4, sweep={"/seed": list(range(10000))}))
        wall, memory = measure(3, simctl, "check", path)
        rows.append(("expand and check a sweep of 10,000 points", f"{wall:.2f} s", f"{memory:.0f} MB"))
        rows += capture_rows(capture, folder)
    print("| what | time | peak memory |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
