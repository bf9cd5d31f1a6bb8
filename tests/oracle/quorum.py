"""All-reduces that do not wait for all: who comes late takes over what the others have."""

import math

from compute import TIE
from network import Network


class Quorum:
    """Of `members`, which post one after the other; `seconds`: by what is posted, and its number."""

    def __init__(self, job, point, members, share, deadline, seconds):
        self.job, self.engine, self.members, self.deadline, self.seconds = job, job.engine, list(members), deadline, seconds
        self.network, self.share = Network(point), share
        self.there, self.looking = set(members), 0  # looking: who may post yet at this instant
        self.ends, self.after = {rank: {} for rank in members}, {}
        self.turn = dict.fromkeys(members, 0)  # the round that each has next
        self.gathering, self.posts, self.first = 0, {}, {}  # posts: own numbers, by round and rank; first: dates
        self.decided, self.present, self.free, self.spans = set(), (), 0.0, []
        self.what = {}

    def count(self, rank, number, what):
        if self.has_missed(rank):
            return self.take_over(rank, number, what)
        turn, now = self.turn[rank], self.engine.now
        self.turn[rank] += 1
        self.posts.setdefault(turn, {})[rank] = number
        self.what[turn] = what
        if turn not in self.first:
            self.first[turn] = now
            self.look_at(now + self.deadline)
        self.look_at(now)

    def look_at(self, date):
        """When all else of the instant has happened."""
        self.engine.at(date, lambda: self.engine.last.append((self.begin,)))

    def begin(self):
        if self.looking:
            self.engine.last.append((self.begin,))
            return
        self.decided |= {turn for turn, come in self.posts.items() if self.there <= come.keys() or self.is_enough(turn, len(come))}
        come, now = self.posts.get(self.gathering, {}), self.engine.now
        if self.gathering not in self.decided or now < self.free * (1 - TIE):
            return
        self.free = now + self.seconds(self.what[self.gathering], self.gathering)
        self.spans.append((now, self.free))
        for rank, number in come.items():
            self.engine.at(self.free, self.end, rank, number)
        self.look_at(self.free)
        self.present, self.gathering = sorted(come), self.gathering + 1

    def is_enough(self, turn, count):
        over = self.first[turn] + self.deadline
        return self.engine.now >= over * (1 - TIE) and count >= math.ceil(self.share * len(self.there) - 1e-9)

    def leave(self, rank):
        self.there.remove(rank)
        self.look_at(self.engine.now)

    def has_missed(self, rank):
        """An all-reduce has begun that it has not posted."""
        return self.turn[rank] < self.gathering

    def is_awaited(self, rank):
        """Others have posted what it would post next, or it has missed that. To be asked when all else of the instant has happened."""
        self.looking += 1
        yield None
        self.looking -= 1
        return self.has_missed(rank) or self.turn[rank] in self.posts

    def take_over(self, rank, number, what):
        able = [one for one in self.present if one in self.there] or self.present
        before = [one for one in able if self.members.index(one) < self.members.index(rank)]
        path = self.network.route((before or able)[-1], rank)
        self.turn[rank] = self.gathering
        self.engine.at(max(self.engine.now, self.free) + path.latency + what[1] / self.engine.full_rate(path), self.end, rank, number)

    def end(self, rank, number):
        self.ends[rank][number] = self.engine.now
        if (rank, number) in self.after:
            self.after.pop((rank, number))()
        self.job.wake(rank, self, number)

    def load(self, _):
        return 0.0

    def moving(self):
        return self.spans
