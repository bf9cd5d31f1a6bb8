"""Groups of gradients, (seconds after the start of backward, bytes), by what a message costs: `tangent` is (a, b) of the line that this
is at so many bytes. A rule yields every grouping that it admits: one, but for ties between optima."""

from oracle import size_of


def greedy(gradients, tangent):
    """MG-WFBP's Algorithm 1, by how much less one message takes than two: a, where the cost is a line."""
    groups, free = [gradients[:1]], 0.0
    for gradient in gradients[1:]:
        start, size = max(free, groups[-1][-1][0]), size_of(groups[-1])
        (a, b), (c, d), (e, f) = tangent(size), tangent(gradient[1]), tangent(size + gradient[1])
        saved = (a + c - e) + ((b - f) * size + (d - f) * gradient[1])
        if saved >= 0 and gradient[0] - start < saved:
            groups[-1] = groups[-1] + [gradient]
        else:
            free = start + a + b * size
            groups.append([gradient])
    yield groups


def optimal(gradients, tangent):
    """The last message ends first: that of j gradients, if the one before it ends with i, at max(end of i, j is ready) + its cost."""
    ends, befores = [0.0], [[]]
    for j, (ready, _) in enumerate(gradients, 1):
        sizes = [size_of(gradients[i:j]) for i in range(j)]
        costs = [a + b * size for size, (a, b) in zip(sizes, map(tangent, sizes))]
        found = [max(end, ready) + cost for end, cost in zip(ends, costs)]
        ends.append(min(found))
        befores.append([i for i, end in enumerate(found) if end <= ends[-1] * (1 + 1e-9)])

    def of_first(j):
        for i in befores[j]:
            for groups in of_first(i) if i else [[]]:
                yield groups + [gradients[i:j]]

    yield from of_first(len(gradients))


RULES = {"mg-wfbp": greedy, "mg-wfbp-optimal": optimal}
