"""s-sgd, wfbp, sync-easgd, mg-wfbp, mg-wfbp-optimal, fusion: a step is a recurrence over one FIFO channel."""

import itertools

import collectives
from collectives import Channels
from compute import busy, chunks, ranks
from oracle import SCHEDULES, profile, size_of
from window import Run, Step, covered, iterations


def groups(point, a, b, schedule):
    """(seconds after the start of backward, bytes) of each message."""
    _, backward, _, gradients = profile(point["trace"], point.get("granularity", "tensor"))
    rule, after_backward = SCHEDULES[schedule["name"]]
    return [(backward if after_backward else group[-1][0], size_of(group)) for group in next(rule(gradients, a, b, schedule))]


def run(point):
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    workers, slowdown = ranks(point, 1), point.get("workers", {}).get("overlap_slowdown", 0.0)
    messages = []
    if len(workers) > 1:
        cost = collectives.over_gpus(point)
        messages = groups(point, *collectives.line(cost, collectives.model_bytes(point)), point["schedule"])
    layers = chunks(point, [position for position, _ in messages])
    warmup, measured = iterations(point)

    starts, steps, blocked, moving, channels = [[0.0] for _ in workers], [[] for _ in workers], [[] for _ in workers], [], Channels(point)
    for number in itertools.count():
        costs = [collectives.parts(point, cost, size, number * len(messages) + index) for index, (_, size) in enumerate(messages)]
        slowed = [[False] * len(layers) for _ in workers]
        while True:  # which layers meet a busy channel: causality makes one more right in every round
            timed = [worker.chunks(number, dates[-1], layers, late, slowdown) for worker, dates, late in zip(workers, starts, slowed)]
            collective = channels.carry([(max(reached[index] for _, reached, _ in timed), *both) for index, both in enumerate(costs)])
            met = [[slowdown > 0 and busy(collective, date) for date in dates] for dates, _, _ in timed]
            if met == slowed:
                break
            slowed = met
        moving += collective
        channels.ends += [end for _, end in collective]
        free = max(channels.ends[-1:], default=0.0)
        for worker, dates, mine, waits, (_, _, computed) in zip(workers, starts, steps, blocked, timed):
            ready = max(computed, free)
            waits.append((computed, ready))
            dates.append(worker.advance(ready, worker.slow * update))
            mine.append(Step(dates[-2], dates[-1], len(messages), sum(size for _, size in messages), [0] if messages else []))
        if covered(starts, starts, warmup, measured):
            return Run(warmup, measured, forward + backward + update, 1, steps, starts, blocked, moving,
                       [[] for _ in workers], [moving for _ in workers])
