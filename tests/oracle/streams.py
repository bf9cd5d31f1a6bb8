"""Collectives of some ranks: which one starts when at each of them, in the order of posting or by priority."""

import collections
import functools
import math

from compute import is_one


class Stream:
    """In the order of posting, which numbers are of: some at a time. `make` knows what moves: so many bytes, or whatever was posted.
    `members`: the ranks whose collectives these are."""

    def __init__(self, job, make, members=None, channels=1):
        self.job, self.engine, self.make, self.channels, self.row = job, job.engine, make, channels, len(job.streams)
        self.members = list(members or range(len(job.workers)))
        self.share = lambda what: 1.0  # of the slowdown
        self.what, self.posts = {}, collections.Counter()  # posts: ranks, of a collective
        self.underway = {rank: set() for rank in self.members}  # what each has entered and not ended
        self.collectives, self.spans, self.queues = {}, {}, {rank: collections.deque() for rank in self.members}
        self.entered, self.left = collections.Counter(), collections.Counter()  # ranks, of a collective
        self.ends, self.after = {rank: {} for rank in self.members}, {}  # after: what follows an end, by rank and number

    def post(self, rank, number, *rest):
        self.engine.at(self.engine.now, self.count, rank, number, *rest)

    def count(self, rank, number, what):
        self.posts[number] += 1
        self.queues[rank].append((number, what))
        self.follow(rank)

    def follow(self, rank):
        while len(self.underway[rank]) < self.channels and self.queues[rank]:
            self.enter(rank, *self.queues[rank].popleft())

    def enter(self, rank, number, what):
        if number not in self.collectives:
            self.collectives[number] = self.make(self.job.network, self.engine, what, lambda one: self.ended(one, number))
            self.collectives[number].age, self.collectives[number].row = number, self.row
            self.spans[number], self.what[number] = [0.0, 0.0], what
        self.spans[number][0] = self.engine.now
        self.entered[number] += 1
        self.underway[rank].add(number)
        host = self.job.host_time(len(self.members), what)
        self.engine.at(self.engine.now + host, self.collectives[number].enter, rank) if host else self.collectives[number].enter(rank)

    def ended(self, rank, number):
        self.ends[rank][number] = self.spans[number][1] = self.engine.now
        self.underway[rank].remove(number)
        self.left[number] += 1
        self.follow(rank)
        if (rank, number) in self.after:
            self.after.pop((rank, number))()
        self.job.wake(rank, self, number)

    def load(self, rank):
        """A collective keeps a rank's channel busy from when this one has entered and all have posted until this one ends."""
        moving = [number for number in self.underway.get(rank, ()) if self.posts[number] == len(self.members)]
        return sum(self.share(self.what[number]) for number in moving)

    def moving(self):
        return [(begin, end if self.left[number] == len(self.members) else math.inf) for number, (begin, end) in self.spans.items()
                if self.entered[number] == len(self.members)]


class ByPriority(Stream):
    """What starts next is decided for all ranks at once, when the first rank has room for it and nothing else happens at the instant.
    Every rank starts it when it has posted it and has room itself: a channel, and credit, of which what it has under way takes its
    weight. `fits`: as much of it as that weighs, else any."""

    def __init__(self, *arguments, credit=math.inf, fits=False, **others):
        super().__init__(*arguments, **others)
        self.credit, self.fits = credit, fits
        self.undecided, self.decided = {}, []  # {number: (priority, what, weight)} in the order of posting; numbers
        self.posted, self.started = {rank: {} for rank in self.members}, collections.Counter()  # started: how many, by rank
        self.weights, self.due = {}, False

    def count(self, rank, number, what, priority=0.0, weight=0.0):
        if not self.posts[number]:
            self.undecided[number], self.weights[number] = priority, weight
        self.posts[number] += 1
        self.posted[rank][number] = what
        self.follow(rank)

    def follow(self, rank):
        """Before anybody looks at what moves."""
        if not self.due:
            self.due = True
            self.engine.last.appendleft((self.decide,))

    def decide(self):
        self.due = False
        while True:
            for rank in self.members:
                self.start(rank)
            ready = self.ready()
            if not ready:
                return
            number = min(ready, key=self.undecided.get)
            if not any(self.started[rank] == len(self.decided) and self.has_room(rank, number) for rank in self.members):
                return
            self.decided.append(number)
            del self.undecided[number]

    def start(self, rank):
        while self.started[rank] < len(self.decided):
            number = self.decided[self.started[rank]]
            if number not in self.posted[rank] or not self.has_room(rank, number):
                return
            self.started[rank] += 1
            self.enter(rank, number, self.posted[rank].pop(number))

    def has_room(self, rank, number):
        left = self.credit - sum(self.weights[one] for one in self.underway[rank])
        return len(self.underway[rank]) < self.channels and (left >= self.weights[number] if self.fits else left > 0)

    def ready(self):
        """Among equals the first is, whoever has posted it; else what all have posted."""
        alike = len(set(self.undecided.values())) == 1
        return [number for number in self.undecided if alike or self.posts[number] == len(self.members)]


class Line:
    """Collectives by their closed form, `parts(what, number)` being (latency, transfer) or these and what they are of one that enters when
    the last one ends: the latencies of those in flight pass at the
    same time, their transfers follow each other."""

    def __init__(self, parts):
        self.parts, self.free = parts, None

    def make(self, members):
        return functools.partial(OnLine, self, members)


class OnLine:
    def __init__(self, line, members, _, engine, what, ended):
        self.line, self.left, self.engine, self.what, self.ended, self.members = line, len(members), engine, what, ended, members
        self.age = 0  # its number

    def enter(self, _):
        self.left -= 1
        if not self.left:
            latency, transfer, *queued = self.line.parts(self.what, self.age)
            if queued and self.line.free is not None and is_one(self.engine.now, self.line.free):
                latency, transfer = queued[0]
            self.line.free = max(self.engine.now + latency, self.line.free or 0.0) + transfer
            self.engine.at(self.line.free, self.end)

    def end(self):
        for member in self.members:
            self.ended(member)
