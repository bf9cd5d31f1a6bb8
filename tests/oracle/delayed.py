"""dts, sasgd, local-sgd: a collective at the end of a step, waited for D steps later."""

import itertools
import math

import collectives
from collectives import Channels
from compute import busy, chunks, ranks
from oracle import profile
from window import Run, Step, covered, iterations


def launched(point, schedule):
    """(cost as a function of bytes, payload) of a collective."""
    size, compression = collectives.model_bytes(point), schedule.get("compression", 1)
    if compression == 1:
        return collectives.over_gpus(point), size
    value = 2 if point["trace"]["model"]["dtype"] in ("fp16", "bf16") else 4
    payload = compression * size * (1 + schedule.get("index_bytes", 4) / value)
    gather = schedule.get("sparse", "all-gather") == "all-gather"
    return (collectives.all_gather if gather else collectives.over_gpus)(point), payload


def run(point):
    schedule = dict(point["schedule"])
    if schedule["name"] != "dts":  # T local steps, then a blocking all-reduce
        schedule = {"delay": 0, "period": schedule["interval"]}
    delay, period, overhead = schedule["delay"], schedule.get("period", 1), schedule.get("overhead_s", 0.0)
    pipelined = schedule.get("in_flight", "pipelined") == "pipelined"
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    workers, slowdown, layers = ranks(point, 1), point.get("workers", {}).get("overlap_slowdown", 0.0), chunks(point)
    warmup, measured = iterations(point, math.lcm(period, max(delay, 1)))
    if len(workers) > 1:
        cost, payload = launched(point, schedule)

    channels = Channels(point, math.inf if pipelined else 1)
    starts, steps = [[0.0] for _ in workers], [[] for _ in workers]
    blocked, overheads = [[] for _ in workers], [[] for _ in workers]
    moving, done = [], {}  # done: by the step of the launch
    for number in itertools.count():
        launch = len(workers) > 1 and number % period == period - 1
        late = [chain(worker, number, dates[-1], layers, moving, slowdown) for worker, dates in zip(workers, starts)]
        ready = [date + launch * overhead for date in late]
        posts = [max(date, done.get(number - delay, date)) for date in ready]
        if launch:
            latency, transfer = collectives.parts(point, cost, payload, len(done))
            moving += channels.carry([(max(posts), latency, transfer)])
            done[number] = moving[-1][1]
            channels.ends.append(done[number])
        applied = number - delay in done
        for index, worker in enumerate(workers):
            end = max(posts[index], done[number - delay]) if applied else posts[index]
            overheads[index].append((late[index], ready[index]))
            blocked[index].append((ready[index], end))
            starts[index].append(worker.advance(end, worker.slow * update))
            steps[index].append(Step(*starts[index][-2:], int(launch), payload if launch else 0, [delay] if applied else []))
        if covered(starts, starts, warmup, measured):
            return Run(warmup, measured, forward + backward + update, 1, steps, starts, blocked, moving, overheads,
                       [moving for _ in workers])


def chain(worker, number, start, layers, moving, slowdown):
    """The end of backward. Whatever moves in a step was launched in an earlier one."""
    if not slowdown:
        return worker.chunks(number, start, layers, [False] * len(layers), 0.0)[2]
    factor, now = worker.factor(number), start
    for seconds, _ in layers:
        now = worker.advance(now, seconds * factor * (1 + slowdown * busy(moving, worker.resume(now))))
    return now
