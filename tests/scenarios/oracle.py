"""A second implementation of Syncopate's synchronous schedules, written from its reference pages alone, to compare simctl with.

No event queue: a step of N workers is a max-plus recurrence over one FIFO channel. Fidelity alpha-beta, star of equal links,
one GPU per node; `workers.slow` is the only disturbance.
"""

import copy
import csv
import itertools
import json
import math
import re
import statistics
from pathlib import Path

PUBLISHED = Path(__file__).resolve().parents[2] / "scenarios/clusters/runs/link-efficiencies.csv"
BITS_OR_BYTES = {"": 1, "B": 1, "Bps": 1, "bps": 1 / 8}
MULTIPLES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def quantity(value):
    """A number, or a string with its unit: "10Gbps", "50us", "25MiB" (scenarios/README.md)."""
    if not isinstance(value, str):
        return value
    number, unit = re.fullmatch(r"\s*([0-9.eE+-]+?)\s*([A-Za-z]*)\s*", value).groups()
    if unit in SECONDS:
        return float(number) * SECONDS[unit]
    multiple, base = re.fullmatch(r"(Ki|Mi|Gi|k|M|G|)(Bps|bps|B|)", unit).groups()
    return float(number) * MULTIPLES[multiple] * BITS_OR_BYTES[base]


# Files (scenarios/FORMAT.md)


def put(point, pointer, value, folder):
    *parents, last = pointer.split("/")[1:]
    for key in parents:
        point = point.setdefault(key, {})
    is_path = pointer in ("/trace", "/cluster") and isinstance(value, str)
    point[last] = json.loads((folder / value).read_text()) if is_path else copy.deepcopy(value)


def points(path):
    """The points of a scenario file, trace and cluster read: the product of the sweep, its last pointer varying fastest."""
    scenario = json.loads(Path(path).read_text())
    sweep = scenario.pop("sweep", {})
    for values in itertools.product(*sweep.values()):
        point = copy.deepcopy(scenario)
        for pointer, value in [("/trace", scenario["trace"]), ("/cluster", scenario["cluster"]), *zip(sweep, values)]:
            put(point, pointer, value, Path(path).parent)
        yield point


# Kinds of links (scenarios/CLUSTERS.md)


def usual_share(link):
    """Of a nominal bandwidth, in published benchmarks of the link's kind: the median; for TCP, of the rows near 10, 30 and 100 Gb/s, between which
    bytes per second are interpolated."""
    if "efficiency" in link or "kind" not in link:
        return link.get("efficiency", 1.0)
    with open(PUBLISHED, newline="") as text:
        rows = [row for row in csv.DictReader(line for line in text if not line.startswith("#")) if row["kind"] == link["kind"]]
    shares = [(8 * float(row["nominal_GBps"]), float(row["busbw_GBps"]) / float(row["nominal_GBps"])) for row in rows]
    if link["kind"] != "ethernet-tcp":
        return statistics.median(share for _, share in shares)
    near = [(about, round(about * statistics.median(share for gbps, share in shares if about / 2 < gbps < 2 * about), 2)) for about in (10, 30, 100)]
    gbps = quantity(link["bandwidth"]) * 8 / 1e9
    for (slow, less), (fast, more) in itertools.pairwise([(0, 0), *near]):
        if gbps <= fast:
            return (less + (more - less) * (gbps - slow) / (fast - slow)) / gbps
    return near[-1][1] / gbps


# Trace (traces/README.md)


def profile(trace, granularity):
    """Seconds of forward, backward and update, and the gradients as (seconds after the start of backward, bytes)."""
    layers, gradients, span = trace["layers"], trace["gradients"], trace.get("iteration", {})
    forward = span.get("forward_s", sum(layer["forward_s"] for layer in layers))
    total = sum(layer["backward_s"] for layer in layers)
    if "ready_s" in gradients[0]:
        backward = span.get("backward_s", gradients[-1]["ready_s"])
        ready = [gradient["ready_s"] for gradient in gradients]
    else:  # when its layer's backward ends; layer times stretch evenly to the span
        backward = span.get("backward_s", total)
        ends = itertools.accumulate(layer["backward_s"] for layer in reversed(layers))
        end_of = dict(zip((layer["name"] for layer in reversed(layers)), ends))
        ready = [end_of[gradient["layer"]] * (backward / total if total else 1) for gradient in gradients]
    named = list(zip((gradient["layer"] for gradient in gradients), ready, (gradient["bytes"] for gradient in gradients)))
    if granularity == "layer":  # bytes added, ready with the last
        last = {layer: index for index, (layer, _, _) in enumerate(named)}
        named = [(layer, named[index][1], sum(size for other, _, size in named if other == layer))
                 for layer, index in sorted(last.items(), key=lambda item: item[1])]
    return forward, backward, trace.get("update_s", 0.0), [(seconds, size) for _, seconds, size in named]


# Cost of an all-reduce, a + b bytes (simctl list collectives; Thakur, Rabenseifner and Gropp 2005 for all but the double tree)


def rounds(n):
    return (n - 1).bit_length()  # lg n, rounded up


# algorithm -> N -> (A, B, G) of a = A alpha, b = B beta + G gamma
TERMS = {
    "ring": lambda n: (2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n),
    "binary-tree": lambda n: (2 * rounds(n), 2 * rounds(n), rounds(n)),
    "recursive-doubling": lambda n: (rounds(n), rounds(n), rounds(n)),
    "halving-doubling": lambda n: (2 * rounds(n), 2 - 2 / n, 1 - 1 / n),
    "double-binary-tree": lambda n: (2 * rounds(n), 1, 1),
}


def cost(cluster, algorithm):
    """(a, b) of the cluster's all-reduce, from its links or carried from its fit."""
    alpha, beta = quantity(cluster["link"]["latency"]), 1 / (usual_share(cluster["link"]) * quantity(cluster["link"]["bandwidth"]))
    gamma = cluster.get("reduce_s_per_B", 0.0)
    latencies, transfers, reductions = TERMS[algorithm](cluster["nodes"])
    if "fit" in cluster:  # scenarios/YOUR_CLUSTER.md
        fit = cluster["fit"]
        fit_latencies, fit_transfers, fit_reductions = TERMS[fit["algorithm"]](fit["nodes"])
        if fit["algorithm"] == algorithm:  # B and G of one algorithm grow alike with N
            return fit["a_s"] * latencies / fit_latencies, fit["b_s_per_B"] * transfers / fit_transfers
        alpha, beta = fit["a_s"] / fit_latencies, (fit["b_s_per_B"] - gamma * fit_reductions) / fit_transfers
    return latencies * alpha, transfers * beta + reductions * gamma


AUTOMATIC = ("ring", "halving-doubling", "recursive-doubling")  # "auto": the fastest for each size (scenarios/FIDELITY.md)


def fastest(cluster, all_reduce):
    """bytes -> the (a, b) of what carries them."""
    names = [all_reduce] if all_reduce != "auto" else [cluster["fit"]["algorithm"]] if "fit" in cluster else AUTOMATIC
    lines = [cost(cluster, name) for name in names]
    return lambda size: min(lines, key=lambda line: line[0] + line[1] * size)


# Groups (sim/schedule/README.md): slices of the gradients in the order of readiness. A rule yields every grouping
# that it admits: one, but for ties between optima.


def one_each(gradients, line, schedule):
    yield [[gradient] for gradient in gradients]


def everything(gradients, line, schedule):
    yield [gradients]


def greedy(gradients, line, schedule):
    """MG-WFBP (Shi, Chu and Li, INFOCOM 2019), Algorithm 1, by what one message takes less than two (Eq. 17). Layer L, ready first, is
    gradients[0]."""
    groups, group, free = [], [gradients[0]], 0.0
    for gradient in gradients[1:]:
        start = max(free, group[-1][0])  # tau_c of what has been merged up to here
        size = size_of(group)
        (a, b), (c, d), (e, f) = line(size), line(gradient[1]), line(size + gradient[1])
        saved = (a + c - e) + ((b - f) * size + (d - f) * gradient[1])
        if saved >= 0 and gradient[0] - start < saved:
            group = group + [gradient]
        else:
            free = start + a + b * size
            groups, group = groups + [group], [gradient]
    yield groups + [group]


def optimal(gradients, line, schedule):
    """E[j] = min over i < j of max(E[i], ready(j)) + a + b (S[j] - S[i]) (S. Shi et al., MG-WFBP)."""
    before = [0, *itertools.accumulate(size for _, size in gradients)]

    def after(start, size):
        a, b = line(size)
        return start + a + b * size

    end, cuts = [0.0], [[]]
    for j in range(1, len(before)):
        ends = [after(max(end[i], gradients[j - 1][0]), before[j] - before[i]) for i in range(j)]
        end.append(min(ends))
        cuts.append([i for i in range(j) if ends[i] <= end[j] * (1 + 1e-9)])

    def first(j):
        """The groupings of the first j gradients."""
        for i in cuts[j]:
            for groups in first(i) if i else [[]]:
                yield groups + [gradients[i:j]]

    yield from first(len(gradients))


def buckets(gradients, line, schedule):
    """PyTorch DDP (Li et al., VLDB 2020): the tensor that reaches the limit closes the bucket."""
    first, later = quantity(schedule.get("first_bucket", 2**20)), quantity(schedule.get("bucket", 25 * 2**20))
    backwards = schedule.get("last_bucket", False)
    groups, group = [], []
    for gradient in gradients[::-1] if backwards else gradients:
        group = group + [gradient]
        if size_of(group) >= (later if groups else first):
            groups, group = groups + [group], []
    groups = groups + [group] if group else groups
    yield [group[::-1] for group in groups[::-1]] if backwards else groups


def size_of(group):
    return sum(size for _, size in group)


def cycle_of(ready, schedule):
    """The number of the cycle at whose end it is seen."""
    return math.ceil(ready / schedule.get("cycle_s", 1e-3) * (1 - 1e-12))


def cycles(gradients, line, schedule):
    """Horovod: what is ready at the end of a cycle, up to the threshold."""
    threshold, groups = quantity(schedule.get("threshold", 2**27)), []
    for gradient in gradients:
        fits = groups and cycle_of(groups[-1][0][0], schedule) == cycle_of(gradient[0], schedule)
        if fits and size_of(groups[-1]) + gradient[1] <= threshold:
            groups[-1].append(gradient)
        else:
            groups.append([gradient])
    yield groups


def given(gradients, line, schedule):
    """So many gradients in each group; what is left is one more."""
    groups, first = [], 0
    for count in [*schedule.get("groups", []), len(gradients)]:
        groups, first = groups + [gradients[first:first + count]], first + count
    yield [group for group in groups if group]


BY_COST = ("mg-wfbp", "mg-wfbp-optimal")  # whose groups depend on what they cost


# When a group is queued, after the start of backward: (when the last of it is ready, when backward ends, schedule) -> seconds


def at_the_end(ready, backward, schedule):
    return backward


def at_once(ready, backward, schedule):
    return ready


def when_seen(ready, backward, schedule):
    return min(backward, cycle_of(ready, schedule) * schedule.get("cycle_s", 1e-3))


# schedule -> (groups, when they are queued)
SCHEDULES = {
    "s-sgd": (one_each, at_the_end),
    "wfbp": (one_each, at_once),
    "sync-easgd": (everything, at_the_end),
    "mg-wfbp": (greedy, at_once),
    "mg-wfbp-optimal": (optimal, at_once),
    "horovod": (cycles, when_seen),
    "fusion": (buckets, at_once),
    "groups": (given, at_once),
}


# Steps of all workers (sim/schedule/README.md: one FIFO channel; a collective starts moving when its last rank has posted)


def classes(nodes, slow):
    """{factor: how many workers}: workers of the same factor are in lock-step, so one stands for all."""
    factors = [1.0] * nodes
    for entry in slow:
        for part in entry["ranks"].split(","):
            low, _, high = part.partition("-")
            for rank in range(int(low), int(high or low) + 1):
                factors[rank] *= entry["factor"]
    return {factor: factors.count(factor) for factor in factors}


def step(starts, forward, backward, update, messages):
    """From each factor's start: its next start, the intervals in which it is blocked while bytes move, and all that they move.

    `messages`: (seconds after the start of an undisturbed backward at which it is posted, seconds that it moves).
    """
    moving, free = [], 0.0
    for posted, seconds in messages:
        free = max(free, *(start + factor * (forward + posted) for factor, start in starts.items())) + seconds
        moving.append((free - seconds, free))
    ends, exposed = {}, {}
    for factor, start in starts.items():
        computed = start + factor * (forward + backward)
        ends[factor] = max(computed, free) + factor * update
        exposed[factor] = [(max(begin, computed), end) for begin, end in moving]
    return ends, exposed, moving


def overlap(interval, window):
    return max(0.0, min(interval[1], window[1]) - max(interval[0], window[0]))


def percentile(values, share):
    """Linear interpolation between order statistics."""
    values = sorted(values)
    position = share * (len(values) - 1)
    low = math.floor(position)
    return values[low] + (position - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def rows(point):
    """The columns of results.csv that closed forms determine, for every admissible grouping."""
    cluster, schedule, trace = point["cluster"], point["schedule"], point["trace"]
    forward, backward, update, gradients = profile(trace, point.get("granularity", "tensor"))
    if cluster["nodes"] == 1:
        yield row(point, forward, backward, update, [], [])
        return
    line = fastest(cluster, point.get("all_reduce", "ring"))
    rule, queued = SCHEDULES[schedule["name"]]
    for groups in rule(gradients, line, schedule):
        messages = []
        for group in groups:
            a, b = line(size_of(group))
            messages.append((queued(group[-1][0], backward, schedule), a + b * size_of(group)))
        yield row(point, forward, backward, update, groups, messages)


def row(point, forward, backward, update, groups, messages):
    nodes, batch = point["cluster"]["nodes"], point["trace"]["model"]["batch"]
    warmup, measured = (point.get("iterations", {}).get(key, default) for key, default in (("warmup", 2), ("measured", 10)))
    workers = classes(nodes, point.get("workers", {}).get("slow", []))
    starts, exposed, moving = [dict.fromkeys(workers, 0.0)], [], []
    for _ in range(warmup + measured + 2):
        after, blocked, moved = step(starts[-1], forward, backward, update, messages)
        starts.append(after)
        exposed.append(blocked)
        moving += moved

    # Window (sim/output/RESULTS.md): steps that an edge cuts count pro rata of their duration, with what a worker is exposed to in them;
    # when something moves is what lies inside.
    opening = max(starts[warmup].values())
    begun = [[start[factor] for start in starts if start[factor] >= opening] for factor in workers]
    window = opening, min(begins[measured] for begins in begun if len(begins) > measured)
    gradient_steps = exposed_seconds = 0.0
    durations = []
    for before, after, blocked in zip(starts, starts[1:], exposed):
        for factor, count in workers.items():
            begin, end = before[factor], after[factor]
            share = overlap((begin, end), window) / (end - begin)
            gradient_steps += count * share
            exposed_seconds += count * share * sum(max(0.0, until - since) for since, until in blocked[factor])
            durations += [end - begin] * (count if window[0] <= begin < window[1] else 0)

    # Metrics (sim/output/RESULTS.md)
    iteration, compute = (window[1] - window[0]) * nodes / gradient_steps, forward + backward + update
    exposed_part = exposed_seconds / gradient_steps
    throughput = nodes * batch / iteration
    speedup = throughput / (batch / compute)
    return {
        "model": point["trace"]["model"]["name"], "schedule": point["schedule"]["name"],
        "all_reduce": point.get("all_reduce", "ring"), "nodes": nodes, "workers": nodes, "batch": batch,
        "iteration_s": iteration, "iteration_p50_s": percentile(durations, 0.50), "iteration_p95_s": percentile(durations, 0.95),
        "compute_s": compute, "wait_s": iteration - compute - exposed_part, "exposed_communication_s": exposed_part,
        "communication_s": sum(overlap(interval, window) for interval in moving) * nodes / gradient_steps,
        "throughput_samples_per_s": throughput, "speedup": speedup, "efficiency": speedup / nodes,
        "communications_per_iteration": len(groups),
        "bytes_per_worker_per_iteration": sum(size_of(group) for group in groups),
        "staleness_mean": 0, "staleness_max": 0, "measured_iterations": measured,
    }
