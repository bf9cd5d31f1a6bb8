"""Several jobs on one network: each computes, all-reduces one vector, and begins again. Written from scenarios/JOBS.md."""

import plans
import window
from compute import TIE
from movement import Engine, Operation, Path, compiled


def star(nodes, bandwidth, latency):
    """(capacity of its links, the path between two nodes)"""
    capacity = {f"node-{node} {way}": bandwidth for node in range(nodes) for way in ("up", "down")}
    return capacity, lambda here, there: Path((f"node-{here} up", f"node-{there} down"), latency)


def tree(nodes, arity, bandwidth, latency):
    """Every switch has one link to the one above it. Two nodes of a switch have all of the latency between them."""
    levels = 1
    while arity ** levels < nodes:
        levels += 1
    capacity = {f"{level}.{number} {way}": bandwidth for level in range(levels) for number in range(nodes) for way in ("up", "down")}

    def path(here, there):
        level = 0
        while here // arity ** level != there // arity ** level:
            level += 1
        ends = [(below, node // arity ** below, way) for below in range(level) for node, way in ((here, "up"), (there, "down"))]
        return Path(tuple(f"{below}.{number} {way}" for below, number, way in ends), latency * level)

    return capacity, path


class Own:
    """The engine of all jobs, for one of them: ranks of several have the same numbers, and their messages do not wait for each other's."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def arrival(self, way, latency):
        return self.engine.arrival((id(self), way), latency)


class Job:
    """`nodes`: of the cluster, by rank."""

    def __init__(self, nodes, compute, size, start=0.0, algorithm="ring"):
        self.nodes, self.compute, self.size, self.start, self.algorithm = nodes, compute, size, start, algorithm

    def begin_run(self, engine, path):
        self.engine, self.path = Own(engine), path
        self.begins, self.collectives = [[] for _ in self.nodes], []
        for rank in range(len(self.nodes)):
            self.engine.at(self.start, self.begin, rank)

    def begin(self, rank):
        self.begins[rank].append(self.engine.now)
        self.engine.at(self.engine.now + self.compute, self.post, rank, len(self.begins[rank]) - 1)

    def post(self, rank, number):
        if len(self.nodes) == 1:
            return self.begin(rank)
        if number == len(self.collectives):
            plan = compiled(1, plans.two_level, self.algorithm, len(self.nodes), 1, 1, "all-reduce")
            self.collectives.append(Operation(self.engine, plan, self.size, 0.0, self.route, self.begin))
        return self.collectives[number].enter(rank)

    def route(self, sender, receiver):
        return self.path(self.nodes[sender], self.nodes[receiver])


def windows(jobs, warmup, measured):
    """(opening, close) of each job, or None as long as they are not known."""
    if any(len(dates) <= warmup for job in jobs for dates in job.begins):
        return None
    all_warm = max(dates[warmup] for job in jobs for dates in job.begins)
    edges, inside = [], []
    for job in jobs:
        begun = [date for dates in job.begins for date in dates if date >= all_warm * (1 - TIE)]
        if not begun:
            return None
        edges.append(min(begun))
        inside.append([[date for date in dates if date >= min(begun) * (1 - TIE)] for dates in job.begins])
    ends = [[dates[measured] for dates in lists if len(dates) > measured] for lists in inside]
    if not all(ends):
        return None
    all_measured = max(min(dates) for dates in ends)
    closes = [[date for dates in lists for date in dates[measured:] if date >= all_measured * (1 - TIE)] for lists in inside]
    return [(opening, min(dates)) for opening, dates in zip(edges, closes)] if all(closes) else None


def iteration(job, edges):
    """Window x ranks / steps in it, those that its edges cut pro rata."""
    steps = sum(window.overlap((start, end), edges) / (end - start) for dates in job.begins for start, end in zip(dates, dates[1:]))
    return (edges[1] - edges[0]) * len(job.nodes) / steps


def together(jobs, capacity, path, warmup, measured):
    """The mean iteration of each job."""
    engine = Engine(capacity, True)
    for job in jobs:
        job.begin_run(engine, path)
    while all(engine.step() for _ in range(64)):
        edges = windows(jobs, warmup, measured)
        if edges and all(dates[-1] >= end for job, (_, end) in zip(jobs, edges) for dates in job.begins):
            return [iteration(job, its) for job, its in zip(jobs, edges)]
    raise AssertionError("nothing moves")


def figures(jobs, network, warmup, measured):
    """[(together, alone)] of each job."""
    by_itself = [together([job], *network, warmup, measured)[0] for job in jobs]
    return list(zip(together(jobs, *network, warmup, measured), by_itself))
