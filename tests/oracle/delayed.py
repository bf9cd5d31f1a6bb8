"""dts, sasgd, local-sgd: a collective at the end of a step, waited for D steps later."""

import itertools
import math

import collectives
from collectives import Channels
from compression import Compression
from compute import busy, chunks, ranks
from oracle import profile
from window import Run, Step, covered, iterations


def run(point):
    schedule = dict(point["schedule"])
    if schedule["name"] != "dts":  # T local steps, then a blocking all-reduce
        schedule = {"delay": 0, "period": schedule["interval"]}
    delay, period, overhead = schedule["delay"], schedule.get("period", 1), schedule.get("overhead_s", 0.0)
    pipelined = schedule.get("in_flight", "pipelined") == "pipelined"
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    workers, slowdown, layers = ranks(point, 1), point.get("workers", {}).get("overlap_slowdown", 0.0), chunks(point)
    warmup, measured = iterations(point, math.lcm(period, max(delay, 1)))
    way, size = Compression(point, len(workers)), collectives.model_bytes(point)
    cost, payload, decoding = way.over_gpus(), way.sent(size), way.decode(size)
    overhead += way.encode(size)

    channels = Channels(point, math.inf if pipelined else 1)
    starts, steps = [[0.0] for _ in workers], [[] for _ in workers]
    blocked, overheads = [[] for _ in workers], [[] for _ in workers]
    moving, done = [], {}  # done: by the step of the launch
    for number in itertools.count():
        launch = len(workers) > 1 and number % period == period - 1
        late = [chain(worker, number, dates[-1], layers, moving, slowdown) for worker, dates in zip(workers, starts)]
        ready = [date + launch * overhead for date in late]
        decoded = decoding if number - delay in done else 0.0
        posts = [max(date, done.get(number - delay, date)) + decoded for date in ready]
        if launch:
            latency, transfer = collectives.parts(point, cost, payload, len(done))
            moving += channels.carry([(max(posts), latency, transfer)])
            done[number] = moving[-1][1]
            channels.ends.append(done[number])
        applied = number - delay in done
        for index, worker in enumerate(workers):
            waited = max(ready[index], done[number - delay]) if applied else ready[index]
            end = waited + decoding if applied else waited
            overheads[index] += [(late[index], ready[index]), (waited, end)]
            blocked[index].append((ready[index], waited))
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
