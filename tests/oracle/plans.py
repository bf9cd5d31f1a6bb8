"""The messages of collectives over ranks 0..n-1, stage by stage: in a stage a rank sends and receives at most one."""

import dataclasses
import itertools
import math
import typing


class Message(typing.NamedTuple):
    sender: int
    receiver: int
    parts: tuple  # numbers of the parts of the data that it carries
    reduces: bool  # the receiver adds what arrives to what it has, else replaces it
    lane: int = 0  # it waits for receives of the same lane only
    level: int = 0
    segment: int | None = None  # which share of its parts it carries; None: inside a node, where it carries them whole


@dataclasses.dataclass
class Plan:
    ranks: int
    parts: int  # equal ones, that make up the data
    stages: list
    node: int = 1  # ranks of a node
    for_all: bool = False  # what a node's first rank receives last is for all: none ends before
    together: bool = True  # a node's ranks enter the network together

    def inside(self, message):
        """Does it stay in a node?"""
        return message.sender // self.node == message.receiver // self.node


def power_of_two(n):
    return n & (n - 1) == 0


def distances(n):
    """1, 2, 4, .. below n."""
    return list(itertools.takewhile(lambda distance: distance < n, (2**k for k in itertools.count())))


def run_of_parts(first, count, n):
    return tuple((first + offset) % n for offset in range(count))


# Reduce-scatter and all-gather


def round_the_ring(n, first, reduces):
    """`first`: the part that rank 0 starts with."""
    return [[Message(r, (r + 1) % n, ((r + first - k) % n,), reduces) for r in range(n)] for k in range(n - 1)]


def halving(n):
    return [[Message(r, r ^ d, run_of_parts((r ^ d) // d * d, d, n), True) for r in range(n)] for d in reversed(distances(n))]


def doubling(n):
    return [[Message(r, r ^ d, run_of_parts(r // d * d, d, n), False) for r in range(n)] for d in distances(n)]


def bruck(n):
    return [[Message(r, (r - d) % n, run_of_parts(r, min(d, n - d), n), False) for r in range(n)] for d in distances(n)]


def mirrored_bruck(n):
    return [[Message(r, (r + d) % n, run_of_parts(r + d, min(d, n - d), n), True) for r in range(n)] for d in reversed(distances(n))]


# All-reduce


def ring(n):
    return Plan(n, n, round_the_ring(n, 0, True) + round_the_ring(n, 1, False))


def halving_doubling(n):
    return Plan(n, n, halving(n) + doubling(n) if power_of_two(n) else mirrored_bruck(n) + bruck(n))


def recursive_doubling(n):
    size = 2 ** (n.bit_length() - 1)
    extra = n - size
    folded = [Message(r, r + 1, (0,), True) for r in range(0, 2 * extra, 2)]
    doubled = list(range(1, 2 * extra, 2)) + list(range(2 * extra, n))
    stages = [[Message(doubled[i], doubled[i ^ d], (0,), True) for i in range(size)] for d in distances(size)]
    back = [Message(r + 1, r, (0,), False) for r in range(0, 2 * extra, 2)]
    return Plan(n, 1, [folded] + stages + [back] if extra else stages)


def binary_tree(n, chunks=1):
    """Binomial. A chunk is reduced to rank 0 and broadcast by itself."""
    reduce = [[Message(r, r - d, (chunk,), True, chunk) for r in range(n) if r % (2 * d) == d]
              for chunk in range(chunks) for d in distances(n)]
    broadcast = [[Message(r, r + d, (chunk,), False, chunk) for r in range(n) if r % (2 * d) == 0 and r + d < n]
                 for chunk in range(chunks) for d in reversed(distances(n))]
    return Plan(n, chunks, reduce + broadcast)


ALL_REDUCE = {"ring": ring, "recursive-doubling": recursive_doubling, "halving-doubling": halving_doubling, "binary-tree": binary_tree}


def by_region(sizes, pieces, between="ring"):
    """`sizes`: nodes of each region. A chain to its first node, an algorithm among the first nodes, a chain from the first one."""
    firsts = [sum(sizes[:index]) for index in range(len(sizes))]
    regions = ALL_REDUCE[between](len(sizes))
    parts = math.lcm(pieces, regions.parts)
    each = parts // pieces

    def chains(reduces):
        stages = []
        for stage in range(pieces + max(sizes) - 2):
            stages.append([])
            for (first, size), piece in itertools.product(zip(firsts, sizes), range(pieces)):
                hop = stage - piece
                if 0 <= hop < size - 1:
                    ends = (first + size - 1 - hop, first + size - 2 - hop) if reduces else (first + hop, first + hop + 1)
                    stages[-1].append(Message(*ends, tuple(range(piece * each, (piece + 1) * each)), reduces))
        return stages

    among = [[message._replace(sender=firsts[message.sender], receiver=firsts[message.receiver]) for message in stage]
             for stage in refined(regions, parts)]
    return Plan(sum(sizes), parts, chains(True) + among + chains(False))


def all_reduce(algorithm, n, chunks=1):
    """`algorithm`: its name, or the arguments of `by_region`."""
    if not isinstance(algorithm, str):
        return by_region(*algorithm)
    return binary_tree(n, chunks) if algorithm == "binary-tree" else chunked(ALL_REDUCE[algorithm](n), chunks)


def chunked(plan, chunks):
    """Chunk after chunk."""
    return Plan(plan.ranks, plan.parts * chunks, [
        [message._replace(parts=tuple(chunk * plan.parts + part for part in message.parts), lane=chunk) for message in stage]
        for chunk in range(chunks) for stage in plan.stages])


def refined(plan, parts):
    """The same, with more parts."""
    times = parts // plan.parts
    return [[message._replace(parts=tuple(times * part + k for part in message.parts for k in range(times))) for message in stage]
            for stage in plan.stages]


# The other operations


def reduce_scatter(algorithm, n):
    """Each rank ends with one part of the sum."""
    if algorithm == "ring":
        return Plan(n, n, round_the_ring(n, 0, True))
    return Plan(n, n, halving(n) if power_of_two(n) else mirrored_bruck(n))


def all_gather(algorithm, n):
    """Part r is what rank r contributes."""
    if algorithm == "ring":
        return Plan(n, n, round_the_ring(n, 0, False))
    return Plan(n, n, doubling(n) if power_of_two(n) else bruck(n))


def broadcast(algorithm, n):
    """From rank 0: down a chain in n pieces, or a binomial tree."""
    if algorithm != "ring":
        return Plan(n, 1, [stage for stage in binary_tree(n).stages if not stage[0].reduces])
    return Plan(n, n, [[Message(r, r + 1, (k - r,), False) for r in range(n - 1) if 0 <= k - r < n] for k in range(2 * n - 2)])


OPERATIONS = {"reduce-scatter": reduce_scatter, "all-gather": all_gather, "broadcast": broadcast}


# Nodes of several GPUs


def shares(n):
    """Rank 0 sends each other one its part."""
    return [[Message(0, r, (r,), False)] for r in range(1, n)]


def two_level(algorithm, nodes, gpus, chunks=1, operation="all-reduce"):
    """Reduce-scatter in every node, the algorithm among the nodes' first ranks, all-gather in every node: as far as the operation
    needs them. A broadcast's root first spreads what it has over its node."""
    among = all_reduce(algorithm, nodes, chunks) if operation == "all-reduce" else chunked(OPERATIONS[operation](algorithm, nodes), chunks)
    if gpus == 1:
        return among
    parts = math.lcm(among.parts, gpus * chunks)

    def inside(stages, level, count=nodes):
        return [[message._replace(sender=node * gpus + message.sender, receiver=node * gpus + message.receiver, level=level)
                 for node in range(count) for message in stage] for stage in refined(chunked(Plan(gpus, gpus, stages), chunks), parts)]

    outer = [[message._replace(sender=message.sender * gpus, receiver=message.receiver * gpus, level=1) for message in stage]
             for stage in refined(among, parts)]
    before = {"all-gather": [], "broadcast": inside(shares(gpus), 0, 1)}.get(operation, inside(round_the_ring(gpus, 0, True), 0))
    after = [] if operation == "reduce-scatter" else inside(round_the_ring(gpus, 1, False), 2)
    return Plan(nodes * gpus, parts, before + outer + after, gpus, nodes > 1 and not after)


def flat(operation, nodes, gpus):
    """A ring through all ranks: every node's, one after another."""
    plan = ring(nodes * gpus) if operation == "all-reduce" else OPERATIONS[operation]("ring", nodes * gpus)
    return dataclasses.replace(plan, node=gpus, together=False)


# Protocols


def segmented(plan, count):
    """Every message between nodes as so many, each with the same share of all that it carries."""
    def pieces(message):
        shares = [tuple(count * part + segment for part in message.parts) for segment in range(count)]
        if plan.inside(message):
            return [message._replace(parts=tuple(itertools.chain.from_iterable(shares)))]
        return [message._replace(parts=share, segment=segment) for segment, share in enumerate(shares)]

    stages = [[piece for message in stage for piece in pieces(message)] for stage in plan.stages]
    return dataclasses.replace(plan, parts=plan.parts * count, stages=stages)
