"""What one collective costs in alpha-beta fidelity: a function of its bytes, whose value at 0 is its latency part."""

import functools
import itertools
import math

from compute import is_one, latency_factor
from oracle import TERMS, quantity, rounds


def window_rate(description):
    """Bytes per second of a flow over a link: the window of each of its connections in each round trip."""
    seconds = quantity(description["rtt"]) if "rtt" in description else 2 * quantity(description["latency"])
    return description.get("connections", 1) * quantity(description["tcp_window"]) / seconds if "tcp_window" in description and seconds else math.inf


def directed(bandwidth):
    """Bytes per second (from the first to the second region, back)."""
    return tuple(quantity(bandwidth[way]) for way in ("up", "down")) if isinstance(bandwidth, dict) else (quantity(bandwidth),) * 2


def uplinks(region, way):
    """{key: bytes per second} of a region's own and its nodes' own, "up" or "down"."""
    found = {}
    for key in ("uplink", "node_uplink"):
        if key in region:
            up, down = directed(region[key]["bandwidth"])
            found[key] = (up if way == "up" else down) * region[key].get("efficiency", 1)
    return found


def far(cluster, entry, way):
    """Bytes per second (out of a region, into another one), of the link between them and of uplinks. They are two if all is stored between them."""
    source, target = ({region["name"]: region for region in cluster["regions"]}[name] for name in both_ways(entry)[way])
    via = entry.get("via")
    out = [directed(entry["bandwidth"])[way]] if "bandwidth" in entry else []
    into = [directed(via.get("download", entry["bandwidth"]) if isinstance(via, dict) else entry["bandwidth"])[way]] if via else []
    return min([*out, *uplinks(source, "up").values()], default=math.inf), min([*into, *uplinks(target, "down").values()], default=math.inf)


def far_beta(cluster, entry, way):
    out, into = far(cluster, entry, way)
    return 1 / out + 1 / into if "via" in entry else 1 / min(out, into, window_rate(entry))


def link(description, count=1):
    """(alpha, beta) of so many network interfaces"""
    return quantity(description["latency"]), 1 / min(quantity(description["bandwidth"]), window_rate(description)) / count


def node_link(cluster):
    return link(cluster["link"], cluster.get("nics", 1))


def sizes(cluster):
    return cluster["nodes"], cluster.get("gpus_per_node", 1)


def nodes_of(cluster, members=None):
    """The places of the nodes of some ranks, all by default, and how many each of them has."""
    nodes, gpus = sizes(cluster)
    places = sorted({rank // gpus for rank in members}) if members else range(nodes)
    return places, len(members or range(nodes * gpus)) // len(places)


def host(cluster, key):
    """Seconds of a processor."""
    return cluster.get("host", {}).get(key, 0.0)


class Merged(float):
    """Bytes of several tensors."""

    def __new__(cls, size, tensors):
        merged = super().__new__(cls, size)
        merged.tensors = tensors
        return merged


def start_up(cluster, members):
    """Of a host, for a collective of so many ranks, whatever is in it."""
    return host(cluster, "per_collective_s") + members * host(cluster, "per_rank_s") if members > 1 else 0.0


def host_time(cluster, members, size):
    """From when a rank could start a collective until its first message."""
    tensors = getattr(size, "tensors", 1) if members > 1 else 0
    return start_up(cluster, members) + tensors * host(cluster, "per_tensor_s")


def workers(point):
    nodes, gpus = sizes(point["cluster"])
    return nodes * gpus


def between(point):
    """The algorithm over nodes: two-level names it."""
    name = point.get("all_reduce", "ring")
    if isinstance(name, dict):
        name = name.get("between", "ring") if name["name"] == "two-level" else name["name"]
    return name


def is_flat(point):
    """Is it one ring through all GPUs, whatever node they are on?"""
    name, (_, gpus) = point.get("all_reduce", "ring"), sizes(point["cluster"])
    return isinstance(name, dict) and name.get("across") == "gpus" and gpus > 1


def terms(operation, algorithm, n):
    """(A, B, G) of a = A alpha, b = B beta + G gamma"""
    if operation == "all-reduce":
        return TERMS[algorithm](n)
    latencies, share = n - 1 if algorithm == "ring" else rounds(n), (n - 1) / n
    if operation == "broadcast":
        return latencies, 2 * share if algorithm == "ring" else rounds(n), 0
    return latencies, share, share if operation == "reduce-scatter" else 0


def closed_form(algorithm, n, alpha, beta, gamma, operation="all-reduce"):
    if n == 1:
        return lambda size: 0.0
    if algorithm == "auto":
        each = [terms(operation, name, n) for name in ("ring", "halving-doubling", "recursive-doubling")]
        return Lowest([(latencies * alpha, transfers * beta + reductions * gamma) for latencies, transfers, reductions in each])
    latencies, transfers, reductions = terms(operation, algorithm, n)
    return lambda size: latencies * alpha + (transfers * beta + reductions * gamma) * size


def fits_of(cluster, operation):
    """The measured ones of an operation, by growing ranks."""
    fits = cluster["fit"] if isinstance(cluster["fit"], list) else [cluster["fit"]]
    return sorted((fit for fit in fits if fit.get("operation", "all-reduce") == operation), key=lambda fit: fit["nodes"])


def measured_line(fit):
    """(a, b): of points, through the first and the last one."""
    if "points" not in fit:
        return fit["a_s"], fit["b_s_per_B"]
    (first, least), (last, most) = fit["points"][0], fit["points"][-1]
    slope = (most - least) / (last - first)
    return least - slope * first, slope


def implied(cluster, fit, operation="all-reduce"):
    """(alpha, beta) of which the fit is the operation's cost. No latency is below 0, whatever its points say."""
    latencies, transfers, reductions = terms(operation, fit["algorithm"], fit["nodes"])
    a, b = measured_line(fit)
    return max(0.0, a) / latencies, (b - cluster.get("reduce_s_per_B", 0.0) * reductions) / transfers


class Curve:
    """Lines from point to point, the last of which goes on; before the first one its time."""

    def __init__(self, points):
        self.points = points

    def tangent(self, size):
        """(a, b) of the line that it is at a size."""
        return measured_line({"points": self.around(size)}) if size >= self.points[0][0] else (self.points[0][1], 0.0)

    def around(self, size):
        return next((pair for pair in itertools.pairwise(self.points) if size < pair[1][0]), self.points[-2:])

    def __call__(self, size):
        a, b = self.tangent(size)
        return a + b * size

    def of_each(self, n):
        return Curve([(size / n, seconds) for size, seconds in self.points])


class Lowest(Curve):
    """Of lines (a, b)."""

    def __init__(self, lines):
        self.lines = lines

    def tangent(self, size):
        return min(self.lines, key=lambda line: line[0] + line[1] * size)

    def after(self, inner):
        """With a line before it."""
        a, b = line(inner, 1e6)
        return Lowest([(a + start, b + rate) for start, rate in self.lines])

    def of_each(self, n):
        return Lowest([(a, b * n) for a, b in self.lines])


class Between(Curve):
    """(1 - weight) of one cost and weight of another."""

    def __init__(self, lower, upper, weight):
        self.lower, self.upper, self.weight = lower, upper, weight

    def tangent(self, size):
        (a, b), (c, d) = (cost.tangent(size) if isinstance(cost, Curve) else line(cost, 1e6) for cost in (self.lower, self.upper))
        return (1 - self.weight) * a + self.weight * c, (1 - self.weight) * b + self.weight * d

    def of_each(self, n):
        return Between(of_each(self.lower, n), of_each(self.upper, n), self.weight)


def carried_from(cluster, fit, of, algorithm, n, operation, points):
    """One fit, which is `of` an operation, at another number of ranks, for another algorithm, for another operation."""
    if of != operation or n == 1 or fit["algorithm"] != algorithm:
        return closed_form(algorithm, n, *implied(cluster, fit, of), cluster.get("reduce_s_per_B", 0.0), operation)
    there, here = terms(operation, algorithm, fit["nodes"]), terms(operation, algorithm, n)
    messages, transfers = here[0] / there[0], here[1] / there[1]  # B and G of one algorithm grow alike with N
    if "points" in fit:  # with as many bytes in each message
        return Curve([(size * messages / transfers, seconds * messages) for size, seconds in fit.get(points, fit["points"])])
    return lambda size: fit["a_s"] * messages + fit["b_s_per_B"] * transfers * size


def carried_by(cluster, algorithm, n, operation, points):
    """By the fit over as many ranks, the nearest if all have more or all have fewer, else the two around them."""
    of = operation if fits_of(cluster, operation) else "all-reduce"
    costs = {fit["nodes"]: carried_from(cluster, fit, of, algorithm, n, operation, points) for fit in fits_of(cluster, of)}
    lower, upper = [ranks for ranks in costs if ranks <= n], [ranks for ranks in costs if ranks >= n]
    if not lower or not upper or lower[-1] == upper[0]:
        return costs[upper[0] if upper else lower[-1]]
    return Between(costs[lower[-1]], costs[upper[0]], math.log2(n / lower[-1]) / math.log2(upper[0] / lower[-1]))


def carried(cluster, algorithm, n, operation="all-reduce"):
    """The operation's fits, at another number of ranks or for another algorithm; if there are none, the link of those of all-reduces."""
    cost = carried_by(cluster, algorithm, n, operation, "points")
    if isinstance(cost, Curve):
        cost.queued = carried_by(cluster, algorithm, n, operation, "queued")
        own = fits_of(cluster, operation)
        if own and all("two_at_once" in fit and fit["algorithm"] == algorithm for fit in own):
            two = carried_by(cluster, algorithm, n, operation, "two_at_once")
            cost.longer = cost.queued.longer = lambda size: two(size) - cost(size)
    return cost


def of_each(cost, n):
    """A cost by what each of n ranks comes with."""
    if not isinstance(cost, Curve):
        return lambda size: cost(n * size)
    scaled = cost.of_each(n)
    if hasattr(cost, "queued"):
        scaled.queued = cost.queued.of_each(n)
    if hasattr(cost, "longer"):
        scaled.longer = scaled.queued.longer = lambda size: cost.longer(n * size)
    return scaled


def startup(cost, size):
    """Its value at 0; a curve's, that of its tangent."""
    return max(0.0, cost.tangent(size)[0]) if isinstance(cost, Curve) else cost(0)


# Regions: a ring whose links differ


def ring(links, messages, size, gamma, reduced):
    """Max-plus: on every link `messages` messages of `size` bytes, each handed on once it has come; the first `reduced` that come
    are added up first. All ranks start at 0."""
    arrived, transferred = [0.0] * len(links), [0.0] * len(links)
    for message in range(messages):
        starts = [max(arrived[index - 1], transferred[index]) for index in range(len(links))]
        transferred = [start + beta * size for start, (_, beta) in zip(starts, links)]
        arrived = [done + alpha + (gamma * size if message < reduced else 0.0) for done, (alpha, _) in zip(transferred, links)]
    return max(arrived)


def ring_all_reduce(links, size, gamma):
    n = len(links)
    return ring(links, 2 * (n - 1), size / n, gamma, n - 1) if n > 1 else 0.0


def ring_all_gather(links, size):
    return ring(links, len(links) - 1, size, 0.0, 0) if len(links) > 1 else 0.0


def chain(links, size):
    """Max-plus: down all links in a piece per node."""
    transferred, pieces = [0.0] * len(links), len(links) + 1
    for _ in range(pieces):
        arrived = 0.0
        for index, (alpha, beta) in enumerate(links):
            transferred[index] = max(arrived, transferred[index]) + beta * size / pieces
            arrived = transferred[index] + alpha
    return arrived


def round_regions(operation, links, size, gamma):
    n = len(links)
    if operation == "all-reduce":
        return ring_all_reduce(links, size, gamma)
    if operation == "broadcast":
        return chain(links[:-1], size)
    return ring(links, n - 1, size / n, gamma, n - 1) if operation == "reduce-scatter" else ring_all_gather(links, size / n)


def both_ways(entry):
    """(from, to) of each direction."""
    first, second = entry["between"]
    return (first, second), (second, first)


def hops(cluster, order, members=None):
    """(alpha, beta) of the link from each node to the next, the regions' nodes one after another. `members`: of some only."""
    regions = cluster["regions"]
    place = [index for index in order for _ in range(regions[index]["nodes"])]
    place = [place[member] for member in members or range(len(place))]
    wan = {pair: (quantity(entry["rtt"]) / 2, far_beta(cluster, entry, way)) for entry in cluster["wan"] for way, pair in enumerate(both_ways(entry))}
    return [node_link(cluster) if here == there else wan[regions[here]["name"], regions[there]["name"]]
            for here, there in zip(place, place[1:] + place[:1])]


def gpu_hops(cluster, order=None, members=None):
    """From each GPU to the next, the nodes one after another."""
    places, each = nodes_of(cluster, members)
    inside = [link(cluster["intra_node"])]
    if len(places) == 1:
        return inside * each
    between_nodes = hops(cluster, order, places) if "regions" in cluster else [node_link(cluster)] * len(places)
    return [hop for far in between_nodes for hop in (*inside * (each - 1), far)]


def best_order(cluster, size):
    """The order of regions of the fastest all-reduce; the first stays first, and of equals the lexicographically first wins."""
    gamma = cluster.get("reduce_s_per_B", 0.0)
    orders = [(0, *rest) for rest in itertools.permutations(range(1, len(cluster["regions"])))]
    return min(orders, key=lambda order: ring_all_reduce(hops(cluster, order), size, gamma))


def named_order(point):
    """That of the results: a ring of equal directions is as fast the other way round, a chain is not."""
    names = [region["name"] for region in point["cluster"]["regions"]]
    return [names.index(name) for name in point.get("region_order") or []]


# The job's collectives


def model_bytes(point):
    return sum(gradient["bytes"] for gradient in point["trace"]["gradients"])


def gpu_ring(point, members=None):
    """The links of the flat ring."""
    cluster = point["cluster"]
    if "regions" not in cluster:
        return gpu_hops(cluster, members=members)
    return gpu_hops(cluster, named_order(point) or best_order(cluster, model_bytes(point)), members)


def reduced_around(links, gamma):
    """An all-reduce round them."""
    share = 2 * (len(links) - 1) / len(links)
    return with_busiest(functools.cache(lambda size: ring_all_reduce(links, size, gamma)),
                        lambda size: share * size * max(beta for _, beta in links))


def gathered_around(links):
    """An all-gather round them, of `size` bytes from everyone."""
    return with_busiest(functools.cache(lambda size: ring_all_gather(links, size)),
                        lambda size: (len(links) - 1) * size * max(beta for _, beta in links))


def over_nodes(point):
    """An all-reduce of one rank per node."""
    cluster, gamma = point["cluster"], point["cluster"].get("reduce_s_per_B", 0.0)
    nodes, _ = sizes(cluster)
    if "fit" in cluster:
        return carried(cluster, between(point), nodes)
    if "regions" in cluster:
        return reduced_around(hops(cluster, best_order(cluster, model_bytes(point))), gamma)
    return closed_form(between(point), nodes, *node_link(cluster), gamma)


def inside_node(cluster):
    """A ring over the GPUs of a node."""
    _, gpus = sizes(cluster)
    return closed_form("ring", gpus, *link(cluster["intra_node"]), cluster.get("reduce_s_per_B", 0.0)) if gpus > 1 else lambda size: 0.0


def over_gpus(point):
    """An all-reduce of all GPUs: flat from a fit or round one ring, else two-level."""
    nodes, gpus = sizes(point["cluster"])
    if "fit" in point["cluster"]:
        return carried(point["cluster"], between(point), nodes * gpus)
    if is_flat(point):
        return reduced_around(gpu_ring(point), point["cluster"].get("reduce_s_per_B", 0.0))
    outer, inner = over_nodes(point), inside_node(point["cluster"])
    if isinstance(outer, Lowest):
        return outer.after(inner)
    return with_busiest(lambda size: inner(size) + outer(size), lambda size: inner(size) - inner(0) + busiest(outer, size))


def spread(operation, cluster, gpus):
    """What an operation does inside nodes."""
    (alpha, beta), gamma, share = link(cluster["intra_node"]), cluster.get("reduce_s_per_B", 0.0), (gpus - 1) / gpus
    scatter = lambda size: (gpus - 1) * alpha + share * (beta + gamma) * size
    gather = lambda size: (gpus - 1) * alpha + share * beta * size
    root = lambda size: alpha + share * beta * size  # latencies pass at the same time
    return {"all-reduce": [scatter, gather], "reduce-scatter": [scatter], "all-gather": [gather], "broadcast": [root, gather]}[operation]


def over_ranks(point, operation, members=None):
    """An operation on `size` bytes over all GPUs, or over some of which every node has none or as many."""
    cluster, gamma = point["cluster"], point["cluster"].get("reduce_s_per_B", 0.0)
    places, each = nodes_of(cluster, members)
    if "fit" in cluster and len(places) == 1 < cluster["nodes"]:
        cluster = {key: value for key, value in cluster.items() if key != "fit"}  # that was measured among nodes
    if "fit" in cluster:
        return carried(cluster, between(point), len(places) * each, operation)
    if is_flat(point):
        return round_busiest(operation, gpu_ring(point, members), gamma)
    levels, outer = spread(operation, cluster, each) if each > 1 else [], lambda size: 0.0
    if "regions" not in cluster:
        outer = closed_form(between(point), len(places), *node_link(cluster), gamma, operation)
    elif len(places) > 1:
        outer = round_busiest(operation, hops(cluster, named_order(point) or best_order(cluster, model_bytes(point)), places), gamma)
    inner = lambda size: sum(level(size) for level in levels)
    if isinstance(outer, Lowest):
        return outer.after(inner)
    return with_busiest(lambda size: inner(size) + outer(size), lambda size: inner(size) - inner(0) + busiest(outer, size))


def round_busiest(operation, links, gamma):
    """Over these links; a broadcast goes down the chain of all but the last one."""
    share = {"all-reduce": 2 * (len(links) - 1) / len(links), "broadcast": 0.0}.get(operation, (len(links) - 1) / len(links))
    return with_busiest(functools.cache(lambda size: round_regions(operation, links, size, gamma)),
                        lambda size: share * size * max(beta for _, beta in links))


def all_gather(point):
    """Every GPU contributes `size` bytes."""
    cluster, whole = point["cluster"], over_ranks(point, "all-gather")
    nodes, gpus = sizes(cluster)

    if is_flat(point) and "fit" not in cluster:
        return gathered_around(gpu_ring(point))
    cost = of_each(whole, nodes * gpus)
    if "fit" in cluster or "regions" not in cluster:
        return cost
    slowest = max(beta for _, beta in hops(cluster, best_order(cluster, model_bytes(point))))
    inner_beta = link(cluster["intra_node"])[1] if gpus > 1 else 0.0
    return with_busiest(cost, lambda size: ((nodes - 1) * gpus * slowest + (gpus - 1) * nodes * inner_beta) * size)


def all_gather_over_nodes(point):
    """Every node contributes `size` bytes."""
    cluster, gamma = point["cluster"], point["cluster"].get("reduce_s_per_B", 0.0)
    nodes, _ = sizes(cluster)
    if "regions" in cluster and "fit" not in cluster:
        return gathered_around(hops(cluster, best_order(cluster, model_bytes(point))))
    whole = carried(cluster, between(point), nodes, "all-gather") if "fit" in cluster else closed_form(
        between(point), nodes, *node_link(cluster), gamma, "all-gather")
    return of_each(whole, nodes)


def with_busiest(cost, seconds):
    """A cost whose transfer takes at least these seconds, for which its busiest link is busy."""
    cost.busiest = seconds
    return cost


def busiest(cost, size):
    return cost.busiest(size) if hasattr(cost, "busiest") else 0.0


def line(cost, size):
    """(a, b) through its values at 0 and at `size`."""
    return cost(0), (cost(size) - cost(0)) / size


class Channels:
    """A stream in the order of posting, with some channels: the latencies of collectives in flight pass at the same time, their
    transfers follow each other."""

    def __init__(self, point, usual=1):
        self.count, self.ends = point.get("channels", usual), []

    def carry(self, posted):
        """(start, end) of each (last post, latency, transfer, these if it starts when the last one ends), which `keep` makes final."""
        ends, spans = list(self.ends), []
        for date, *alone, queued in posted:
            begin = max(date, ends[-self.count] if self.count <= len(ends) else 0.0)
            latency, transfer = queued if ends and is_one(begin, ends[-1]) else alone
            ends.append(max([begin + latency, *ends[-1:]]) + transfer)
            spans.append((begin, ends[-1]))
        self.carried = ends
        return spans

    def keep(self):
        self.ends = self.carried


def mean_parts(cost, size, host=0.0):
    """(latency, transfer). While it is transferred no other one is. Hosts take their time before. Of two at once that were measured, the
    transfer is what they take longer than one."""
    transfer = max(cost(size) - startup(cost, size), busiest(cost, size))
    if hasattr(cost, "longer"):
        transfer = min(max(cost.longer(size), 0.0), cost(size))
    return host + cost(size) - transfer, transfer


def parts(point, cost, size, index, host=0.0):
    """Those of the job's index-th collective, and both if it starts when the one before it ends."""
    factor = latency_factor(point, index)
    (latency, transfer), (sooner, faster) = mean_parts(cost, size), mean_parts(getattr(cost, "queued", cost), size)
    return host + latency * factor, transfer, (host + sooner * factor, faster)
