"""Small result folders with consistent numbers, for the tests of the reports."""

import csv
import gzip
import json

COLUMNS = ("model cluster schedule all_reduce fidelity nodes workers batch iteration_s iteration_low_s iteration_high_s iteration_fast_s iteration_slow_s iteration_p50_s "
           "iteration_p95_s compute_s wait_s exposed_communication_s communication_s throughput_samples_per_s "
           "speedup efficiency communications_per_iteration bytes_per_worker_per_iteration sent_bytes_per_worker network_bytes_per_iteration "
           "busiest_link_bytes_per_iteration bus_bandwidth_Bps memory_states_bytes memory_gathered_peak_bytes staleness_mean staleness_max wasted_share epoch_s total_h total_low_h "
           "total_high_h cost goodput effective_time_ratio effective_time_ratio_low effective_time_ratio_high checkpoint_share lost_share detection_share "
           "restart_share degraded_share checkpoint_every_s failures iteration_alone_s slowdown slowdown_max jain measured_iterations replicates workers_simulated").split()
COMPUTE, WAIT, BATCH = 0.100, 0.005, 32
# exposed seconds = fixed + slope * log2(nodes): sync-easgd overtakes wfbp at 16 nodes
COST = {"wfbp": (0.010, 0.010), "sync-easgd": (0.040, 0.002), "s-sgd": (0.060, 0.012), "mg-wfbp": (0.008, 0.002)}


def row(point, sweep, cluster, schedule, nodes, exposed):
    """One row whose columns agree with each other."""
    iteration = COMPUTE + WAIT + exposed
    speedup = nodes * COMPUTE / iteration
    values = ["resnet50", cluster, schedule, "ring", "alpha-beta", nodes, nodes, BATCH, iteration, *[None] * 4, iteration, iteration,
              COMPUTE, WAIT, exposed, exposed + 0.02, nodes * BATCH / iteration, speedup, speedup / nodes, 5, 1e8, 1e8, None, None,
              None, 1e9, 0, 0, 0, 0, *[None] * 20, 10, 1, 1]
    return {"point": point, "sweep": sweep, **dict(zip(COLUMNS, values))}


def point(number, schedule="wfbp", nodes=8, links=None, fidelity="flow", sweep=None):
    """A row of a sweep over schedules or `sweep`, with links unless they are None."""
    one = row(number, {"/schedule/name": schedule} if sweep is None else sweep, "10gbe", schedule, nodes, 0.01 * (number + 1))
    one.update({"fidelity": fidelity} | ({} if links is None else {"links": links}))
    return one


def exposed(schedule, nodes, factor=1.0):
    fixed, slope = COST[schedule]
    return factor * (fixed + slope * (nodes.bit_length() - 1))


def grid(clusters=("10gbe", "100gbib"), sizes=(4, 8, 16, 32), schedules=("wfbp", "sync-easgd", "s-sgd")):
    """The product of clusters, sizes and schedules; every further cluster is ten times as fast."""
    cells = [(cluster, nodes, schedule) for cluster in clusters for nodes in sizes for schedule in schedules]
    return [row(point, {"/cluster": f"clusters/{cluster}.json", "/cluster/nodes": nodes, "/schedule/name": schedule},
                cluster, schedule, nodes, exposed(schedule, nodes, 0.1 ** clusters.index(cluster)))
            for point, (cluster, nodes, schedule) in enumerate(cells)]


def write(folder, rows, kind="measured", total=None, failed=(), name="small sweep", scenario=(), note="", **more):
    """results.csv and results.json of these rows; `more` are further keys of results.json."""
    folder.mkdir(parents=True, exist_ok=True)
    swept = list(rows[0]["sweep"])
    with open(folder / "results.csv", "w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["point", *swept, *COLUMNS])
        for one in rows:
            cells = [value if isinstance(value, str) else json.dumps(value) for value in one["sweep"].values()]
            table.writerow([one["point"], *cells, *(one[column] for column in COLUMNS)])
    about = {
        "format": "results/1", "scenario_file": "scenarios/small.json", "scenario": {"name": name, **dict(scenario)},
        "versions": {"syncopate": "0.1.0", "simgrid": "4.1"}, "seed": 7,
        "traces": [{"path": "traces/r50.json", "model": "resnet50", "batch": BATCH, "device": "Tesla V100",
                    "provenance": {"kind": kind, "source": "bench <1>", "note": note}}],
        "wall_s": 1.25, "points_total": total or len(rows), "failed": list(failed), "points": rows,
        **more,
    }
    (folder / "results.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


def timeline(folder, one, iterations=4, compressed=False):
    """timeline-<point>.json, or .json.gz, of a row: iterations of equal length, of which the first lies before the window, and their critical path."""
    length = one["iteration_s"]
    events = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 0"}},
              {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "compute"}},
              {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "communication"}},
              {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "critical path"}}]

    def add(tid, cat, start, end, iteration, name=None, pid=1, **more):
        events.append({"ph": "X", "pid": pid, "tid": tid, "cat": cat, "name": name or cat, "ts": start * 1e6,
                       "dur": (end - start) * 1e6, "args": {"iteration": iteration, **more}})

    for iteration in range(iterations):
        begin = iteration * length
        marks = [0, 0.04, COMPUTE, COMPUTE + WAIT, length]
        add(1, "step", begin, begin + length, iteration)
        for kind, start, end in zip(("forward", "backward", "wait", "exposed"), marks, marks[1:]):
            add(1, kind, begin + start, begin + end, iteration)
        add(1, "layer", begin, begin + 0.01, iteration, f"conv1, iteration {iteration}", phase="forward", slack_us=0.0)
        add(2, "collective", begin + 0.06, begin + COMPUTE + WAIT, iteration, f"fc.bias, iteration {iteration}", bytes=8192, slack_us=2500.0)
        add(2, "collective", begin + COMPUTE + WAIT, begin + length, iteration, f"conv1.weight, iteration {iteration}", bytes=1_500_000)
        if iteration > 0:
            for name, start, end in zip(("layers.conv1.forward", "transfer, link, fc.bias"), (0, 0.04), (0.04, length)):
                add(1, "critical", begin + start, begin + end, None, name, 2)
    about = {key: one[key] for key in ("point", "model", "cluster", "schedule", "nodes")}
    about.update(window_open_s=length, window_close_s=iterations * length)
    text = json.dumps({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events})
    path = folder / f"timeline-{one['point']}.json{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    return path


def explanation(folder, one, **changed):
    """explanation-<point>.json of a row: half of it computing, a tenth latency, the rest a transfer."""
    seconds = one["iteration_s"]
    path = [("transfer", "link", 0.4), ("compute", "layers.fc.backward", 0.3), ("compute", "layers.fc.forward", 0.2), ("latency", "link", 0.1)]
    what_if = [("link.latency", 0.9, 0.012), ("link.bandwidth", 1.1, 0.036), ("network", "free", 0.5), ("bytes", 0.5, 0.2)]
    about = {"format": "explanation/1", "scenario": "small.json", "point": one["point"], "sweep": one["sweep"], "fidelity": one["fidelity"],
             "iteration_s": seconds, "path": [{"class": kind, "what": what, "s": part * seconds} for kind, what, part in path],
             "what_if": [{"factor": factor, "change": change, "iteration_s": (1 - saved) * seconds, "time_saved": saved}
                         for factor, change, saved in what_if] + [{"factor": "compute", "change": 1.1, "error": "deadlock"}]}
    path = folder / f"explanation-{one['point']}.json"
    path.write_text(json.dumps(about | changed), encoding="utf-8")
    return path


def candidate(number, schedule, hours, cost=None, sgd=True, **more):
    """Of an advice; `schedule`: its name, or with parameters."""
    return {"candidate": number, "cluster": "10gbe", "nodes": 4 + number, "schedule": schedule if isinstance(schedule, dict) else {"name": schedule},
            "fidelity": "per-message", "simulated_deepest": True, "iteration_s": 0.1, "throughput_samples_per_s": 320.0, "staleness_mean": 0.0 if sgd else 3.0,
            "is_sgd": sgd, "is_comparable": sgd, "samples_factor": 1.0 if sgd else None, "paid_nodes": 4 + number, "hours": hours, "cost": cost, "within_limits": True, "on_front": number == 0, **more}


def advice(*candidates, **changes):
    """advice.json of these candidates."""
    return {"format": "advice-result/1", "name": "test", "objective": "time", "samples": 1e6, "samples_factor": {}, "choice": 0, "runner_up": 1,
            "decides": [{"factor": "link.bandwidth", "change": 1.1, "time_saved": 0.0312}, {"factor": "workers.jitter", "change": "off", "time_saved": 0.5}],
            "simulated": {"alpha-beta": 3}, "notes": [], "left_out": [], "candidates": list(candidates), **changes}
