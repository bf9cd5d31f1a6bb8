"""What DistributedDataParallel does, beside what was predicted of it."""

import itertools
import statistics
import time

import torch

from syncopate.common.errors import InputError
from syncopate.common.reading import Checker, is_number
from syncopate.common.wording import counted, duration, listed, prefixed
from syncopate.torch.plan import read_groups, read_plan

AGAIN = "pass a plan/1 of simctl apply, or a point of results.json"
LEAST_STEPS = 3
WARMUP = 3      # DDP makes its final buckets after the first step


def check(ddp_model, prediction, step, *, steps=10, tolerance=0.05):
    """Compares DistributedDataParallel's own log with a prediction of simctl:

        found = check(ddp_model, "plan.json", lambda: train_step(next(batches)))
        print(found["text"])

    Call it on all ranks; each tells its own times. `step()` does one whole training step, and is called 3 + `steps` times.
    `prediction`: a plan/1 (file or dict), or a point of results.json (dict). A point predicts more parts of the time; a plan, the names in buckets, too.
    `tolerance`: a part is off if it differs by more than this share of the predicted iteration.

    Returns a dict: `text`, a line per part; `off`, the names of parts that are off; and for each part that is predicted, `measured` and
    `predicted`, in seconds, medians over steps: `iteration_s`, `compute_s` (iteration without exposed communication),
    `exposed_communication_s` (from the end of backward to the end of the last all-reduce, with waiting for other ranks). `buckets` has
    lists of {"bytes", "parameters"}, `equal`, and `first_difference` (a place from 0, or None). `communication_ends_s` is measured since
    backward began, `backward_s` is its length. Raises InputError if the prediction is none, or the model is not DistributedDataParallel."""
    if not isinstance(ddp_model, torch.nn.parallel.DistributedDataParallel):
        raise InputError(f"check: expected a model in torch.nn.parallel.DistributedDataParallel, got {type(ddp_model).__name__}; pass what you train")
    if steps < LEAST_STEPS:
        raise InputError(f"check: expected steps >= {LEAST_STEPS}, got {steps}")
    predicted = _predicted(prediction)
    measured = _measure(ddp_model, step, steps)
    found = {"steps": steps, **{part: {"measured": measured[part], "predicted": predicted[part]} for part in _PARTS if part in predicted},
             "backward_s": measured["backward_s"], "communication_ends_s": measured["communication_ends_s"]}
    lines, off = [], []
    if "groups" in predicted:
        buckets = compared_buckets(buckets_of(ddp_model, measured["log"]), predicted["groups"])
        found["buckets"] = buckets
        lines.append(_said_of_buckets(buckets))
        off += [] if buckets["equal"] else ["buckets"]
    for part, words in _PARTS.items():
        if part in predicted:
            difference = measured[part] - predicted[part]
            is_off = abs(difference) > tolerance * predicted["iteration_s"]
            off += [part] if is_off else []
            lines.append(f"{words}: {duration(measured[part])} measured, {duration(predicted[part])} predicted"
                         f"{f' ({100 * difference / predicted[part]:+.1f}%)' if predicted[part] else ''}{', off' if is_off else ''}")
    lines.append(f"communication ends {duration(measured['communication_ends_s'])} after backward began, which takes {duration(measured['backward_s'])}")
    lines.append(_verdict(off, predicted))
    return found | {"off": off, "text": "\n".join(lines)}


_PARTS = {"iteration_s": "iteration", "compute_s": "compute", "exposed_communication_s": "exposed communication"}


def _predicted(prediction):
    """Parts, and the groups if it has them."""
    if not isinstance(prediction, dict) or prediction.get("format") == "plan/1":
        plan = read_plan(prediction)
        seconds = Checker(plan.name, AGAIN).positive(plan.content.get("predicted_iteration_s"), "/predicted_iteration_s")
        return {"iteration_s": seconds, "groups": plan.groups}
    checker = Checker("prediction", AGAIN)
    seconds = {part: checker.positive(prediction.get(part), f"/{part}") for part in ("iteration_s", "compute_s")}
    exposed = checker.not_negative(prediction.get("exposed_communication_s"), "/exposed_communication_s")
    wait = prediction["wait_s"] if is_number(prediction.get("wait_s")) else 0.0
    groups = {"groups": read_groups(checker, prediction["groups"], named=False)} if "groups" in prediction else {}
    return seconds | {"exposed_communication_s": exposed + wait} | groups


def _measure(ddp_model, step, steps):
    """Medians over single samples of the log, whose averages include the first step."""
    ddp_model._set_ddp_runtime_logging_sample_rate(1)
    device = next(ddp_model.parameters()).device
    samples, logs = [], []
    for number in range(WARMUP + steps):
        _settle(device)
        begin = time.perf_counter()
        step()
        _settle(device)
        log = ddp_model._get_ddp_logging_data()
        if number >= WARMUP:
            exposed = max(0, log["backward_comm_time"] - log["backward_compute_comm_overlap_time"]) / 1e9
            iteration, backward = time.perf_counter() - begin, log["backward_compute_time"] / 1e9
            logs.append(log)
            samples.append({"iteration_s": iteration, "compute_s": iteration - exposed, "exposed_communication_s": exposed, "backward_s": backward,
                            "communication_ends_s": backward + exposed})
    return {part: statistics.median(sample[part] for sample in samples) for part in samples[0]} | {"log": logs[-1]}


def _settle(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def buckets_of(ddp_model, log):
    """What DDP sends together, in the order of sending. Its log has numbers of trainable parameters in the order of declaration."""
    named = [(name, parameter) for name, parameter in ddp_model.module.named_parameters() if parameter.requires_grad]
    if not log.get("has_rebuilt_buckets"):
        raise InputError("check: DDP has made no buckets of its own order after several steps (it does not with find_unused_parameters); "
                         "make it with find_unused_parameters=False or static_graph=True")
    sizes = [int(size) for size in log["rebuilt_bucket_sizes"].split(",")]
    members = [[named[int(number)][0] for number in bucket.split()] for bucket in log["rebuilt_per_bucket_param_indices"].split(",")]
    return [{"bytes": size, "parameters": names} for size, names in zip(sizes, members)]


def compared_buckets(measured, groups):
    """Of groups without names, sizes alone."""
    predicted = [{"bytes": group.bytes} | ({"parameters": list(group.parameters)} if group.parameters else {}) for group in groups]
    differing = [place for place, (one, other) in enumerate(itertools.zip_longest(measured, predicted))
                 if None in (one, other) or any(one[key] != other[key] for key in other)]
    return {"measured": measured, "predicted": predicted, "equal": not differing, "first_difference": differing[0] if differing else None}


def _said_of_buckets(buckets):
    measured, predicted = buckets["measured"], buckets["predicted"]
    if buckets["equal"]:
        return f"buckets: {len(measured)}, as predicted in sizes and order ({listed([prefixed(bucket['bytes'], 'B') for bucket in measured])})"
    place = buckets["first_difference"]
    shown = [_said_of_bucket(some[place]) if place < len(some) else "none" for some in (measured, predicted)]
    same_sizes = [bucket["bytes"] for bucket in measured] == [bucket["bytes"] for bucket in predicted]
    return (f"buckets: {len(measured)}, {len(predicted)} predicted; number {place + 1} is {shown[0]}, but {shown[1]} predicted"
            f"{'; all sizes are equal, the order within or between differs' if same_sizes else ''}, off")


def _said_of_bucket(bucket):
    names = bucket.get("parameters")
    of = f" of {counted(len(names), 'parameter')} from {names[0]} on" if names else ""
    return f"{prefixed(bucket['bytes'], 'B')}{of}"


def _verdict(off, predicted):
    if not off:
        return "nothing is off"
    advice = {"buckets": "buckets (give DDP the predicted schedule's bucket sizes; the order is that of readiness: record a trace of this model)",
              "compute_s": "compute (record a trace of this model on this device)",
              "exposed_communication_s": "communication (measure the network with netprobe, with as many ranks)"}
    parts = [advice[part] for part in off if part in advice]
    if parts:
        return f"off: {'; '.join(parts)}"
    return "off: the iteration" + ("" if "compute_s" in predicted else "; a point of results.json tells whether compute or communication")
