"""sgp, d-psgd, ad-psgd: models between pairs of nodes."""

import collections
import itertools
import math
import random

import collectives
from compute import Slowdown, chunks, ranks
from local import Inside
from network import Network
from oracle import profile
from window import Run, Step, covered, iterations


class Pairs:
    """Workers are generators that yield a date to go on at, the message that they wait for, (sender, receiver, step), or None to learn
    whether they send. A schedule says whom a rank sends to, and what a step does after backward."""

    messages_each = 1  # for each receiver

    def __init__(self, point):
        gpus = point["cluster"].get("gpus_per_node", 1)
        self.point, self.network, self.workers, self.inside = point, Network(point), ranks(point, gpus), Inside(point)
        self.engine, self.size = self.network.engine(point.get("fidelity") == "flow"), collectives.model_bytes(point)
        self.n, self.layers = len(self.workers), chunks(point, self.inside.positions)
        self.slowdown = Slowdown(point).factor  # messages bring about all of it
        self.forward, self.backward, self.update, _ = profile(point["trace"], "tensor")
        self.queues, self.sending = [collections.deque() for _ in self.workers], [None] * self.n  # messages; since when
        self.arrived, self.waiting = {}, {}  # the date, and who waits, by message
        empty = [[[] for _ in self.workers] for _ in range(5)]
        self.starts, self.steps, self.blocked, self.exposed, self.moving = empty

    def send(self, rank):
        """One message at a time: the next one when the one before has arrived."""
        if self.queues[rank] and self.sending[rank] is None:
            message, self.sending[rank] = self.queues[rank].popleft(), self.engine.now
            path = self.network.way(*(self.network.place[end] for end in message[:2]))
            self.engine.transfer(self.size, path, lambda: self.engine.at(self.engine.now + path.latency, self.arrive, message))

    def arrive(self, message):
        rank, *_ = message
        self.moving[rank].append((self.sending[rank], self.engine.now))
        self.sending[rank], self.arrived[message] = None, self.engine.now
        self.send(rank)
        if message in self.waiting:
            self.resume(self.waiting.pop(message))

    def resume(self, rank, answer=None):
        while True:
            request, answer = self.programs[rank].send(answer), None
            if request is None:
                self.engine.last.append((self.tell, rank))
                return
            if isinstance(request, float):
                self.engine.at(request, self.resume, rank)
                return
            if request not in self.arrived:
                self.waiting[request] = rank
                return

    def tell(self, rank):
        self.resume(rank, self.sending[rank] is not None)

    # A rank's step

    def program(self, rank):
        worker = self.workers[rank]
        for number in itertools.count():
            start = self.engine.now
            self.starts[rank].append(start)
            receivers = self.receivers(rank, number) if self.n > 1 else []
            self.queues[rank] += [(rank, receiver, number) for receiver in receivers]
            self.send(rank)
            now, ready, sends = start, [], False
            for layer in self.layers:
                if self.slowdown:
                    yield worker.resume(now)
                    sends = yield None
                _, reached, now = worker.chunks(number, now, [layer], [sends], self.slowdown)
                ready += reached.values()
            spans = self.inside.spans(ready)
            self.moving[rank] += spans
            done = max([now] + [end for _, end in spans[-1:]])
            self.exposed[rank].append((now, done))
            yield done
            staleness = yield from self.after_backward(rank, number)
            count = self.messages_each * len(receivers)
            self.steps[rank].append(Step(start, self.engine.now, count, self.size * count, staleness))

    def local_update(self, rank):
        worker = self.workers[rank]
        yield worker.advance(self.engine.now, worker.slow * self.update)

    def receive(self, sender, rank, step):
        """Exposed from the moment it has been sent."""
        now = self.engine.now
        yield sender, rank, step
        self.exposed[rank].append((max(now, self.starts[sender][step]), self.engine.now))

    def receivers(self, rank, step):
        raise NotImplementedError

    def after_backward(self, rank, step):
        """Returns the staleness of its updates."""
        raise NotImplementedError

    def run(self):
        warmup, measured = iterations(self.point)
        self.programs = [self.program(rank) for rank in range(self.n)]
        for rank in range(self.n):
            self.engine.at(0.0, self.resume, rank)
        known = 0
        while self.engine.step():
            begun = min(map(len, self.starts))
            if begun > known and covered(self.starts, self.starts, warmup, measured):
                break
            known = begun
        for sending, moving in zip(self.sending, self.moving):  # cut off by the end of the run, after the close
            moving += [(sending, math.inf)] if sending is not None else []
        gpus = self.point["cluster"].get("gpus_per_node", 1)
        return Run(warmup, measured, self.forward + self.backward + self.update, gpus, self.steps, self.starts, self.blocked, [],
                   self.exposed, self.moving)


class PushSum(Pairs):
    """sgp: what was sent in the step before."""

    def peer(self, rank, step, way=1):
        """Whom it sends to in a step, or (-1) who sends to it."""
        return (rank + way * 2 ** (step % math.ceil(math.log2(self.n)))) % self.n

    def receivers(self, rank, step):
        return [self.peer(rank, step)]

    def after_backward(self, rank, step):
        yield from self.local_update(rank)
        if not step or self.n == 1:
            return []
        yield from self.receive(self.peer(rank, step - 1, -1), rank, step - 1)
        return [1]


class Neighbours(Pairs):
    """d-psgd: what both neighbours have sent in the same step."""

    def receivers(self, rank, step):
        return list(dict.fromkeys([(rank + 1) % self.n, (rank - 1) % self.n]))

    def after_backward(self, rank, step):
        senders = list(dict.fromkeys([(rank - 1) % self.n, (rank + 1) % self.n])) if self.n > 1 else []
        for sender in senders:
            yield from self.receive(sender, rank, step)
        yield from self.local_update(rank)
        return [0] if senders else []


class Averaging(Pairs):
    """ad-psgd: a passive node answers with what it has at that moment. Draws are of their own: only those of one node out of one are
    the simulator's."""

    messages_each = 2  # the answer counts where it was asked for

    def __init__(self, point):
        super().__init__(point)
        self.draws, self.asked, self.last = random.Random(point.get("seed", 1)), [], {}  # last: step of the last gradient in an answer
        self.peers = {}

    def receivers(self, rank, step):
        if rank % 2:
            return []
        near = [(rank - 1) % self.n, (rank + 1) % self.n] if self.point["schedule"].get("peers", "ring") == "ring" else range(self.n)
        self.peers[rank, step] = self.draws.choice(sorted({peer for peer in near if peer % 2}))
        return [self.peers[rank, step]]

    def arrive(self, message):
        super().arrive(message)
        if message[0] % 2 == 0:
            self.asked.append(message)
            self.engine.last.append((self.answer,))

    def answer(self):
        """All that have asked at this instant."""
        for sender, receiver, step in sorted(self.asked):
            answer = receiver, sender, step
            self.last[answer] = len(self.steps[receiver]) - 1
            self.queues[receiver].append(answer)
        for receiver in {receiver for _, receiver, _ in self.asked}:
            self.send(receiver)
        self.asked = []

    def after_backward(self, rank, step):
        staleness = []
        if rank % 2 == 0 and self.n > 1:
            now, answer = self.engine.now, (self.peers[rank, step], rank, step)
            yield answer
            self.exposed[rank].append((now, self.engine.now))
            staleness = [max(0, step - self.last[answer])]
        yield from self.local_update(rank)
        return staleness


def run(point):
    return {"sgp": PushSum, "d-psgd": Neighbours, "ad-psgd": Averaging}[point["schedule"]["name"]](point).run()
