"""dts, sasgd, local-sgd: collectives at the end of a step, or as its gradients are ready, that are waited for D steps later."""

import itertools
import math

import collectives
from collectives import Channels
from compression import Compression
from compute import Slowdown, chunks, load, ranks
from oracle import profile
from window import Run, Step, covered, iterations


class Launches:
    """What a launching step sends: together at its end, or each gradient when it is ready."""

    def __init__(self, point, way):
        schedule = point["schedule"]
        gradients = profile(point["trace"], point.get("granularity", "tensor"))[3]
        self.each = schedule.get("launch", "step") == "gradient"
        sizes = [size for _, size in gradients] if self.each else [collectives.model_bytes(point)]
        self.positions = [position for position, _ in gradients] if self.each else []
        counts = [1] * len(sizes) if self.each else [len(gradients)]
        self.payloads = [collectives.Merged(way.sent(size), count) for size, count in zip(sizes, counts)]
        encoding = [way.encode(size) for size in sizes]
        self.decoding = sum(way.decode(size) for size in sizes)
        overhead = schedule.get("overhead_s", 0.0)
        self.between, self.encoding = (overhead, encoding) if self.each else (0.0, ())  # before backward; at each position
        self.after = 0.0 if self.each else overhead + sum(encoding)

    def passes(self, worker, number, start, layers, loads, slowdown, launch):
        """When each layer starts, when each position is reached, the end of backward, and intervals of standing still."""
        half = len(layers) // 2
        between = launch * self.between
        forward, _, now = worker.chunks(number, start, layers[:half], loads[:half], slowdown)
        encoding = self.encoding if launch else ()
        backward, reached, end = worker.chunks(number, now + between, layers[half:], loads[half:], slowdown, encoding)
        still = [(reached[index] - seconds, reached[index]) for index, seconds in enumerate(encoding)]
        return forward + backward, reached, end, [(now, now + between), *still]


def as_dts(schedule):
    """Of the others T local steps, then a blocking all-reduce."""
    return schedule if schedule["name"] == "dts" else {"delay": 0, "period": schedule["interval"]}


def run(point):
    schedule = as_dts(point["schedule"])
    delay, period = schedule["delay"], schedule.get("period", 1)
    pipelined = schedule.get("in_flight", "pipelined") == "pipelined"
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    workers, slowdown = ranks(point, 1), Slowdown(point)
    warmup, measured = iterations(point, math.lcm(period, max(delay, 1)))
    way = Compression(point, len(workers))
    cost, sent = way.over_gpus(), Launches(point, way)
    layers, decoding = chunks(point, sent.positions), sent.decoding
    hosts = [collectives.host_time(point["cluster"], len(workers), size) for size in sent.payloads]
    shares = [slowdown.share(*collectives.mean_parts(cost, size, host)) for size, host in zip(sent.payloads, hosts)]

    channels = Channels(point, math.inf if pipelined else 1)
    starts, steps = [[0.0] for _ in workers], [[] for _ in workers]
    blocked, overheads = [[] for _ in workers], [[] for _ in workers]
    moving, done = [], {}  # done: by the step of the launch

    def carry(posts):
        """(start, end) of the next collectives; `posts`: the last date of each."""
        return channels.carry([(date, *collectives.parts(point, cost, size, len(channels.ends) + index, hosts[index]))
                               for index, (date, size) in enumerate(zip(posts, sent.payloads))])

    for number in itertools.count():
        launch, spans = len(workers) > 1 and number % period == period - 1, []
        loads = [[0.0] * len(layers) for _ in workers]
        while True:  # which layers meet a busy channel: causality makes one more right in every round
            timed = [sent.passes(worker, number, dates[-1], layers, met, slowdown.factor, launch)
                     for worker, dates, met in zip(workers, starts, loads)]
            if launch and sent.each:
                spans = carry([max(reached[index] for _, reached, _, _ in timed) for index in range(len(sent.payloads))])
            if not slowdown.factor:
                break
            before, loads = loads, [[load(moving + spans, itertools.cycle(shares), date) for date in dates] for dates, *_ in timed]
            if loads == before:
                break
        ready = [computed + launch * sent.after for _, _, computed, _ in timed]
        earlier = number - delay in done
        if launch and not sent.each:
            spans = carry([max(max(date, done[number - delay]) + decoding if earlier else date for date in ready)])
        if launch:
            moving += spans
            channels.keep()
            done[number] = spans[-1][1]
        applied = number - delay in done
        for index, worker in enumerate(workers):
            waited = max(ready[index], done[number - delay]) if applied else ready[index]
            end = waited + decoding if applied else waited
            _, _, computed, still = timed[index]
            overheads[index] += [*still, (computed, ready[index]), (waited, end)]
            blocked[index].append((ready[index], waited))
            starts[index].append(worker.advance(end, worker.slow * update))
            posted = (len(sent.payloads), sum(sent.payloads)) if launch else (0, 0)
            steps[index].append(Step(*starts[index][-2:], *posted, [delay] if applied else []))
        if covered(starts, starts, warmup, measured):
            return Run(warmup, measured, forward + backward + update, 1, steps, starts, blocked, moving, overheads,
                       [moving for _ in workers])
