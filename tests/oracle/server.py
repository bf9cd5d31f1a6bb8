"""Schedules over a parameter server: what all of their clients do, step by step."""

import itertools
import math

import synchronous
from compute import TIE, Slowdown, chunks, ranks
from oracle import profile, quantity
from server_traffic import Traffic
from window import Run, Step, covered_by, iterations, staying, window


def parts(sliced, messages, partition):
    """Of groups: the gradients that each part has something of, counted in the order of readiness; (seconds after the start of backward,
    bytes) of each."""
    carried, result, before = [], [], 0
    for group, (position, size) in zip(sliced, messages):
        ends = list(itertools.accumulate(bytes_ for _, bytes_ in group))
        part = min(partition, size)
        for number in range(math.ceil(size / part)):
            low, high = number * part, min(size, (number + 1) * part)
            carried.append([before + index for index, (start, end) in enumerate(zip([0, *ends], ends)) if start < high and low < end])
            result.append((position, high - low))
        before += len(group)
    return carried, result


class Job(Traffic):
    """Clients are generators that yield what they wait for: a date, a condition, or the begin of a layer, to learn whether the channel
    is busy then. A schedule says what a step is and what the server's answer is."""

    by_gradient = True  # else one message for the model

    def __init__(self, point):
        super().__init__(point)
        self.point, self.schedule = point, point["schedule"]
        self.clients = ranks(point, self.gpus)
        self.forward, self.backward, self.update, _ = profile(point["trace"], point.get("granularity", "tensor"))
        self.slowdown = Slowdown(point).factor  # messages bring about all of it
        self.carried, self.messages = self.grouped() if self.by_gradient else ([], [])
        self.layers = chunks(point, [position for position, _ in self.messages])
        self.starts, self.steps, self.blocked, self.exposed = ([[] for _ in range(self.n)] for _ in range(4))

    def grouped(self):
        """The gradients of each message, by their numbers; (seconds after the start of backward, bytes) of each."""
        grouping = self.schedule.get("grouping", "wfbp")
        grouping = {"name": grouping} if isinstance(grouping, str) else grouping
        line = self.cost()
        sliced = synchronous.slices(self.point, lambda size: line, grouping)
        return parts(sliced, synchronous.posted(self.point, sliced, grouping), quantity(self.schedule.get("partition", math.inf)))

    def run(self, cycle=1, before=0):
        warmup, measured = iterations(self.point, cycle)
        warmup += before
        self.counts = warmup, measured
        programs = [self.program(client) for client in range(self.n)]
        wakes = [next(program) for program in programs]

        def resume(*kinds):
            changed = False
            for client, (kind, what) in enumerate(wakes):
                if kind in kinds and (what() if kind == "wait" else self.due(what)):
                    wakes[client], changed = programs[client].send(self.is_busy(client)), True
            return changed

        begun = 0  # steps of all clients
        while not (begun < (begun := sum(map(len, self.starts))) and covered_by(self.clients, self.starts, self.starts, warmup, measured)):
            if not (any([self.progress(), resume("date", "wait")]) or self.decide() or resume("layer")):
                self.flow([what for kind, what in wakes if kind != "wait"])
        self.cut()
        return Run(warmup, measured, self.seconds(), self.gpus, self.steps, staying(self.clients, self.starts), self.blocked, self.moving, self.exposed, self.own)

    def has_closed(self):
        """The measured window, which those who stay make."""
        edges = window(staying(self.clients, self.starts), *self.counts)
        return edges is not None and self.due(edges[1])

    # A client's step

    def compute(self, client, step, pulled):
        """Forward and backward; pushes each gradient when it is ready and encoded."""
        worker, now, factor = self.clients[client], self.now, self.clients[client].factor(step)
        encoding = any(self.way.encode(size) for _, size in self.messages)
        for layer, (seconds, marks) in enumerate(self.layers):
            now = yield from self.held_up(client, layer, now)
            stretch = factor
            if self.slowdown and (yield "layer", worker.resume(now)):
                stretch = factor * (1 + self.slowdown)
            done = 0.0
            for offset, mark in marks:
                reached = worker.advance(now, (offset - done) * stretch)
                yield "date", reached
                if encoding:
                    done, now = offset, (yield from self.encode(client, mark, reached))
                self.reached(client, step, mark, pulled)
            now = worker.advance(now, (seconds - done) * stretch if seconds - done > TIE * seconds else 0.0)
        yield "date", now

    def encode(self, client, mark, now):
        """When the message has been encoded."""
        return (yield from self.stand_still(client, self.way.encode(self.messages[mark][1]), now))

    def stand_still(self, client, seconds, now):
        if seconds:
            self.exposed[client].append((now, now + seconds))
            yield "date", now + seconds
        return now + seconds

    def held_up(self, client, layer, now):
        """When a layer may begin that could begin now."""
        yield from ()
        return now

    def reached(self, client, step, mark, pulled):
        self.push(client, step, mark, self.messages[mark][1], pulled)

    def local(self, client, seconds):
        worker = self.clients[client]
        yield "date", worker.advance(self.now, worker.slow * seconds)

    def until(self, client, condition):
        begin = self.now
        yield "wait", condition
        self.blocked[client].append((begin, self.now))

    def until_pulled(self, client, step):
        """And decoded."""
        yield from self.until(client, lambda: all((step, group) in self.pulled[client] for group in range(len(self.messages))))
        yield from self.stand_still(client, sum(self.way.decode_pulled(size) for _, size in self.messages), self.now)

    def program(self, client):
        for number in itertools.count():
            back, pulled = self.clients[client].returns(self.now), 0
            if back is not None:
                self.clients[client].away = True
                yield "date", back
                if self.has_closed():
                    yield "wait", lambda: False  # stays away
                self.clients[client].away = False
            start = self.now
            self.starts[client].append(start)
            if back is not None:
                pulled = yield from self.join(client, number)
            posts, payload, staleness = yield from self.step(client, number)
            self.steps[client].append(Step(start, self.now, posts + (pulled > 0), payload + pulled, staleness))

    def join(self, client, number):
        """A client that has come back; returns how many bytes it pulls."""
        raise NotImplementedError

    def posted(self, pulled):
        """(posts, payload) of a step that pushes every gradient."""
        payload = sum(self.way.sent(size) + pulled * self.way.pulled(size) for _, size in self.messages)
        return len(self.messages) * (1 + pulled), payload

    def seconds(self):
        return self.forward + self.backward

    def step(self, client, number):
        raise NotImplementedError
