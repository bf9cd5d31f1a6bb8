"""s-sgd, wfbp, sync-easgd, mg-wfbp, mg-wfbp-optimal, horovod, fusion: a step is a recurrence over one FIFO channel. Steps whose gradients only
add up are compute."""

import itertools

import collectives
from collectives import Channels
from compression import Compression
from compute import Slowdown, chunks, load, ranks
from oracle import SCHEDULES, profile, size_of
from window import Run, Step, covered, iterations


def slices(point, tangent, schedule):
    """The gradients, (seconds after the start of backward, bytes), of each message; of equally good ones the fewest, then the largest
    first one, then the largest last one, the largest one before that, and so on. `tangent`: (a, b) of a message by its bytes."""
    gradients = profile(point["trace"], point.get("granularity", "tensor"))[3]
    rule, _ = SCHEDULES[schedule["name"]]
    return min(rule(gradients, tangent, schedule), key=lambda sliced: (len(sliced), [-len(group) for group in sliced[:1] + sliced[::-1]]))


def posted(point, sliced, schedule):
    """(seconds after the start of backward, bytes) of each message."""
    _, queued = SCHEDULES[schedule["name"]]
    backward = profile(point["trace"], point.get("granularity", "tensor"))[1]
    return [(queued(group[-1][0], backward, schedule), size_of(group)) for group in sliced]


def groups(point, schedule):
    """Of a schedule that does not ask what they cost."""
    return posted(point, slices(point, None, schedule), schedule)


def with_host(point, tangent, members):
    """A start-up more."""
    more = collectives.start_up(point["cluster"], members)

    def at(size):
        a, b = tangent(size)
        return a + more, b

    return at


def sending(point, way, tangent):
    """What a step sends: (seconds after the start of backward, bytes) of each message, for how long a worker encodes and copies before it
    posts each, and for how long it decodes and copies when all have ended. `tangent`: the cost of a message, which decides on merging."""
    sliced = slices(point, tangent, point["schedule"])
    messages = posted(point, sliced, point["schedule"])
    copies = [point["cluster"].get("copy_s_per_B", 0.0) * size * (len(group) > 1) for group, (_, size) in zip(sliced, messages)]
    before = [way.encode(size) + copy for (_, size), copy in zip(messages, copies)]
    sent = [(position, collectives.Merged(way.sent(size), len(group))) for group, (position, size) in zip(sliced, messages)]
    return sent, before, sum(way.decode(size) for _, size in messages) + sum(copies)


def sends(number, cycle):
    """Does a step send what has added up?"""
    return number % cycle == cycle - 1


def run(point):
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    workers, slowdown = ranks(point, 1), Slowdown(point)
    messages, encoding, decoding, way = [], [], 0.0, Compression(point, len(workers))
    if len(workers) > 1:
        cost = way.over_gpus()
        messages, encoding, decoding = sending(point, way, with_host(point, way.tangent(cost), len(workers)))
    hosts = [collectives.host_time(point["cluster"], len(workers), size) for _, size in messages]
    shares = [slowdown.share(*collectives.mean_parts(cost, size, host)) for (_, size), host in zip(messages, hosts)]
    layers = chunks(point, [position for position, _ in messages])
    cycle = point["schedule"].get("accumulate", 1)
    warmup, measured = iterations(point, cycle)

    starts, steps, blocked, moving, channels = [[0.0] for _ in workers], [[] for _ in workers], [[] for _ in workers], [], Channels(point)
    own = [[] for _ in workers]  # encoding, decoding, copying
    for number in itertools.count():
        last = sends(number, cycle)
        now_sent = messages if last else []
        costs = [collectives.parts(point, cost, size, number // cycle * len(messages) + index, hosts[index])
                 for index, (_, size) in enumerate(now_sent)]
        loads = [[0.0] * len(layers) for _ in workers]
        while True:  # which layers meet a busy channel: causality makes one more right in every round
            timed = [worker.chunks(number, dates[-1], layers, met, slowdown.factor, encoding if last else ())
                     for worker, dates, met in zip(workers, starts, loads)]
            collective = channels.carry([(max(reached[index] for _, reached, _ in timed), *both) for index, both in enumerate(costs)])
            if not slowdown.factor:
                break
            before, loads = loads, [[load(collective, shares, date) for date in dates] for dates, _, _ in timed]
            if loads == before:
                break
        moving += collective
        channels.keep()
        free = max(channels.ends[-1:], default=0.0)
        for worker, dates, mine, waits, still, (_, reached, computed) in zip(workers, starts, steps, blocked, own, timed):
            ready = max(computed, free)
            waits.append((computed, ready))
            if last:
                still += [(reached[index] - seconds, reached[index]) for index, seconds in enumerate(encoding)]
                still.append((ready, ready + decoding))
                ready += decoding
            dates.append(worker.advance(ready, worker.slow * update * last))
            mine.append(Step(dates[-2], dates[-1], len(now_sent), sum(size for _, size in now_sent), [0] if now_sent else []))
        if covered(starts, starts, warmup, measured):
            return Run(warmup, measured, forward + backward + update / cycle, 1, steps, starts, blocked, moving,
                       own, [moving for _ in workers])
