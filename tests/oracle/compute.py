"""When a rank computes what: random factors, slow ranks, pauses, and layers that a busy channel slows down."""

import functools
import itertools
import math

from oracle import profile

WORD = 0xFFFFFFFF
TIE = 1e-12  # two dates nearer than this, relative to them, are one


def is_one(date, other):
    return abs(date - other) <= TIE * date


def philox(counter, key):
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011)."""
    c, k = counter, key
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = (second >> 32 ^ c[1] ^ k[0], second & WORD, first >> 32 ^ c[3] ^ k[1], first & WORD)
        k = (k[0] + 0x9E3779B9 & WORD, k[1] + 0xBB67AE85 & WORD)
    return c


@functools.cache
def uniforms(seed, worker, step, layer):
    """Two numbers in (0, 1)."""
    w = philox((worker, step, layer, 0), (seed & WORD, seed >> 32))
    return [(((high << 32 | low) >> 12) + 0.5) * 2.0**-52 for high, low in (w[:2], w[2:])]


def lognormal(cv, u1, u2):
    """Of mean 1, by Box and Muller."""
    variance = math.log(1 + cv * cv)
    z = math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2)
    return math.exp(math.sqrt(variance) * z - variance / 2)


def jitter(point, gpu, step):
    spread = point.get("workers", {}).get("jitter")
    if not spread:
        return 1.0
    u1, u2 = uniforms(point.get("seed", 1), gpu, step, 0)
    if spread["distribution"] == "lognormal":
        return lognormal(spread["cv"], u1, u2)
    if spread["distribution"] == "exponential":
        return 1 - spread["cv"] - spread["cv"] * math.log(u1)
    if spread["distribution"] == "uniform":
        return 1 + spread["cv"] * math.sqrt(3) * (2 * u1 - 1)
    factors = spread["factors"]
    return factors[int(u1 * len(factors))] * len(factors) / sum(factors)


def latency_factor(point, index, stream=0):
    """Of the index-th collective of one of the job's streams."""
    cv = point["cluster"].get("latency_cv", 0)
    return lognormal(cv, *uniforms(point.get("seed", 1), WORD, index, 1 + stream)) if cv else 1.0


def slow_factor(point, gpu):
    factor = 1.0
    for entry in point.get("workers", {}).get("slow", []):
        for part in entry["ranks"].split(","):
            low, _, high = part.partition("-")
            factor *= entry["factor"] if int(low) <= gpu <= int(high or low) else 1.0
    return factor


def union(intervals):
    """Sorted and disjoint."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > begin:
            merged.append([begin, end])
    return merged


def absences(events):
    """Of a GPU: (begin, end) of each."""
    begin = 0.0
    for event in events:
        if event["kind"] == "leave":
            begin = event["at_s"]
        elif event["kind"] == "join":
            yield begin, event["at_s"]
            begin = None
    if begin:
        yield begin, math.inf


class Rank:
    """Some GPUs that step together: the slowest sets the pace, and a pause of one is a pause of all."""

    def __init__(self, point, gpus):
        self.point, self.gpus = point, list(gpus)
        self.slows = [slow_factor(point, gpu) for gpu in self.gpus]
        self.slow = max(self.slows)
        events = [event for event in point.get("workers", {}).get("events", []) if event["rank"] in self.gpus]
        self.pauses = union((event["at_s"], event["at_s"] + event["for_s"]) for event in events if event["kind"] == "pause")
        self.absences = union(absence for gpu in self.gpus for absence in absences([event for event in events if event["rank"] == gpu]))
        self.away = False

    def factor(self, step):
        return max(slow * jitter(self.point, gpu, step) for slow, gpu in zip(self.slows, self.gpus))

    def advance(self, now, work):
        """The end of `work` seconds of compute that could begin now."""
        if work == 0:
            return now
        for begin, end in self.pauses:
            if end > now * (1 + TIE) and now + work > begin * (1 + TIE):
                work -= max(0.0, begin - now)
                now = end
        return now + work

    def returns(self, now):
        """When it will be there again; None where it is there."""
        return next((end for begin, end in self.absences if begin <= now * (1 + TIE) < end), None)

    def resume(self, now):
        """When compute that could begin now does begin."""
        return next((end for begin, end in self.pauses if begin <= now * (1 + TIE) < end), now)

    def chunks(self, step, start, chunks, loads, slowdown, encoding=()):
        """When each chunk starts, when each mark is reached, and the end. `loads`: of the channel when it starts. `encoding`: for how
        long the rank stands still at each mark, which is reached after that."""
        factor, now, starts, reached = self.factor(step), start, [], {}
        for (seconds, marks), met in zip(chunks, loads):
            stretch = factor * (1 + slowdown * met)
            starts.append(self.resume(now))
            if any(encoding):
                done = 0.0
                for offset, mark in marks:
                    now = reached[mark] = self.advance(now, (offset - done) * stretch) + encoding[mark]
                    done = offset
                now = self.advance(now, (seconds - done) * stretch if seconds - done > TIE * seconds else 0.0)
                continue
            reached.update((mark, self.advance(now, offset * stretch)) for offset, mark in marks)
            now = self.advance(now, seconds * stretch)
        return starts, reached, now


def ranks(point, gpus_each):
    total = point["cluster"]["nodes"] * point["cluster"].get("gpus_per_node", 1)
    return [Rank(point, range(first, first + gpus_each)) for first in range(0, total, gpus_each)]


def chunks(point, positions=()):
    """A step's layers, forward and then backward in reverse: (seconds, marks). A mark: (seconds into the layer, index of the
    position that lies there), positions being seconds after the start of backward, undisturbed."""
    trace = point["trace"]
    forward, backward, _, _ = profile(trace, point.get("granularity", "tensor"))
    forwards = [layer["forward_s"] for layer in trace["layers"]]
    backwards = [layer["backward_s"] for layer in reversed(trace["layers"])]
    scale = forward / sum(forwards) if sum(forwards) else 0.0
    result = [(seconds * scale, []) for seconds in forwards]
    if not sum(forwards):
        result[-1] = (forward, [])
    scale = backward / sum(backwards) if sum(backwards) else 0.0
    ends = [end * scale for end in itertools.accumulate(backwards)]
    ends[-1] = backward
    marks = [[] for _ in ends]
    begins = [0.0, *ends]
    for index, position in enumerate(positions):
        layer = next(layer for layer, end in enumerate(ends) if position <= end * (1 + TIE))
        marks[layer].append((position - begins[layer], index))
    return result + [(end - begin, mark) for begin, end, mark in zip(begins, ends, marks)]


def layers_of_gradients(point):
    """The place of each gradient's layer."""
    names, layers = [gradient["layer"] for gradient in point["trace"]["gradients"]], point["trace"]["layers"]
    if point.get("granularity", "tensor") == "layer":
        last = {name: index for index, name in enumerate(names)}
        names = sorted(last, key=last.get)
    position = {layer["name"]: index for index, layer in enumerate(layers)}
    return [position[name] for name in names]


class Slowdown:
    """Of layers that start while a channel is busy: by how much at most, and the share of it that a collective brings about."""

    def __init__(self, point):
        given = point.get("workers", {}).get("overlap_slowdown", 0.0)
        self.by_traffic = isinstance(given, dict)
        self.factor = given["factor"] if self.by_traffic else given

    def share(self, latency, transfer):
        return transfer / (latency + transfer) if self.by_traffic and latency else 1.0


def load(moving, shares, now):
    """Of all that moves when a layer starts now; 1 at most."""
    now *= 1 + TIE
    return min(1.0, sum(share for (begin, end), share in zip(moving, shares) if begin <= now < end))
