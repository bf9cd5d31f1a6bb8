"""Where the page draws the nodes, switches and cables of a network: nodes below, above them switches by their distance from these."""

import math
from collections import defaultdict

WIDE = 1.0      # between neighbours of the lowest row


def network(file):
    """What the page needs of a NetworkFile. Places are in distances between neighbouring nodes, from left to right and from above."""
    places, height = placed(file.vertices, file.cables)
    return {"in_rows": not all(file.vertices),
            "vertices": [{"name": name, "at": [round(part, 3) for part in places[vertex]]} for vertex, name in enumerate(file.vertices)],
            "cables": [{"ends": list(one.ends), "name": one.name, "level": one.level, "bandwidth": one.bandwidth, "used": one.used} for one in file.cables],
            "size": [max(x for x, _ in places) + WIDE, height]}


def placed(vertices, cables):
    """((x, y) of every vertex, the height). Without switches, nodes stand on a circle."""
    neighbours = defaultdict(list)
    for one in cables:
        for end, other in (one.ends, one.ends[::-1]):
            neighbours[end].append(other)
    nodes = [vertex for vertex, name in enumerate(vertices) if name]
    if len(nodes) == len(vertices):
        radius = max(1.5, len(nodes) * WIDE / (2 * math.pi))
        angles = [2 * math.pi * place / len(nodes) for place in range(len(nodes))]
        return [(radius * (1 - math.cos(angle)) + WIDE, radius * (1 - math.sin(angle)) + WIDE) for angle in angles], 2 * radius + 2 * WIDE
    rows = in_rows(nodes, neighbours, len(vertices))
    width = max(map(len, rows)) * WIDE
    across = {vertex: (place + 0.5) * width / len(rows[0]) for place, vertex in enumerate(rows[0])}
    for row in rows[1:]:
        below = sorted((mean([across[other] for other in neighbours[vertex] if other in across]), vertex) for vertex in row)
        for place, (_, vertex) in enumerate(below):
            across[vertex] = (place + 0.5) * width / len(row)
    step = max(2.0, width / 7)
    level = {vertex: number for number, row in enumerate(rows) for vertex in row}
    return [(across[vertex], (len(rows) - 1 - level[vertex]) * step + WIDE) for vertex in range(len(vertices))], (len(rows) - 1) * step + 2.5 * WIDE


def in_rows(nodes, neighbours, count):
    """Vertices by how many cables lie between them and the nearest node; those of no node are in the row above."""
    rows, seen = [nodes], set(nodes)
    while True:
        row = [vertex for vertex in range(count) if vertex not in seen and any(other in seen for other in neighbours[vertex])]
        if not row:
            rest = [vertex for vertex in range(count) if vertex not in seen]
            return rows + [rest] * bool(rest)
        rows.append(row)
        seen.update(row)


def mean(values):
    return sum(values) / len(values) if values else 0.0
