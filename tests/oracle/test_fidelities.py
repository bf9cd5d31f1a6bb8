"""Messages between single nodes: do they take as long in every fidelity, where that should make no difference?"""

import math
import random
import unittest

from comparing import cluster, disturbances, scenario, slow, trace
from running import draws, swept, thinned
from test_messages import MOVING, Moving
from test_server import FUSION

NOT_COMPARED = ("point", "fidelity", "/fidelity", "workers_simulated")
EMPTY = ("network_bytes_per_iteration", "busiest_link_bytes_per_iteration")  # in alpha-beta
SPLIT = ("wait_s", "exposed_communication_s", "communication_s")  # sums and differences of times: their error is that of an iteration


class Fidelities(Moving):
    def agree(self, rng, clusters, sweep, fidelities=("alpha-beta", *MOVING), **changes):
        """simctl with itself, to 1e-9."""
        content = scenario(rng, sweep={"/cluster": clusters, **sweep, "/fidelity": list(fidelities)}, **changes)
        rows, wrong = [row for _, row in self.run_points(thinned(content, "/fidelity"), [trace(rng, 3)])], []
        for first in range(0, len(rows), len(fidelities)):
            one, *others = rows[first:first + len(fidelities)]
            slack = dict.fromkeys(SPLIT, 1e-9 * one["iteration_s"])
            for other, fidelity in zip(others, fidelities[1:]):
                self.assertEqual(other["fidelity"], fidelity)
                wrong += [f"{column}: {one[column]}, but {other[column]} in fidelity {fidelity}: {swept(one)}"
                          for column in one if not self.same(one[column], other[column], slack.get(column, 1e-12))
                          and column not in NOT_COMPARED and not (column in EMPTY and one["fidelity"] == "alpha-beta")]
        if wrong:
            self.fail("\n".join([f"{len(wrong)} values differ, the first:", *wrong[:12]]))

    def same(self, one, other, slack):
        return one == other or isinstance(one, float) and math.isclose(one, other, rel_tol=1e-9, abs_tol=slack)


class Servers(Fidelities):
    """On a star, flows to and from servers on nodes of their own share links as processor sharing says."""

    def servers(self, rng, nodes, name, **more):
        """Without and with work for the servers."""
        return [{"name": name, "servers": rng.randint(1, nodes), **more, "server_s_per_B": seconds}
                for seconds in (0.0, 10 ** rng.uniform(-11, -9.3))]

    def draw_all(self, names, **more):
        for seed, nodes in draws(enumerate([2, 3, 5, 8])):
            rng = random.Random(f"{names} {seed}")
            schedules = [options for name in names for options in self.servers(rng, nodes, name, **more)]
            self.agree(rng, [cluster(rng, nodes)], {"/schedule": schedules, "/workers": disturbances(rng, nodes, slowdown=False)[:4]},
                       iterations={"warmup": 1, "measured": 3})

    def test_gradient_by_gradient(self):
        self.draw_all(["ps-sgd", "asgd"])

    def test_one_direction_at_a_time(self):
        self.draw_all(["ps-sgd", "asgd"], duplex=False)

    def test_groups(self):
        self.draw_all(["ps-sgd", "asgd"], grouping=FUSION)

    def test_rounds(self):
        self.draw_all(["downpour", "eamsgd"], interval=2)

    def test_several_gpus(self):
        rng = random.Random(10)
        schedules = self.servers(rng, 3, "ps-sgd") + self.servers(rng, 3, "asgd")
        self.agree(rng, [cluster(rng, 3, 2)], {"/schedule": schedules, "/workers": [{}, {"slow": slow(rng, 6)}]})

    def test_a_server_s_links_are_full(self):
        """Four equal clients push everything to one server and pull it: what each of its links carries takes most of an iteration."""
        rng = random.Random(20)
        one = trace(rng, 1) | {"gradients": [{"name": "w", "layer": "layer0", "bytes": 100000000}]}
        content = scenario(rng, sweep={"/cluster": [cluster(rng, 4)], "/fidelity": ["flow"]}, schedule={"name": "ps-sgd", "servers": 1},
                           iterations={"warmup": 1, "measured": 2})
        (point, row), = self.run_points(content, [one])
        links = self.points[0]["links"]
        self.assertEqual(len(links), 10)
        for link in links[:2]:
            self.close(link["bytes"], 2 * 4e8)
            self.close(link["utilisation"], 4e8 / link["bandwidth_Bps"] / row["iteration_s"])
        for link in links[2:]:
            self.close(link["bytes"], 2 * 1e8)


class Pairs(Fidelities):
    schedules = [{"name": "sgp"}, {"name": "d-psgd"}]

    def test_equal_workers(self):
        """Everyone sends to another one, so that no two flows share a link."""
        for seed, (nodes, count) in draws(enumerate([(2, 1), (3, 1), (4, 1), (5, 1), (8, 1), (13, 1), (3, 2)])):
            rng = random.Random(seed)
            self.agree(rng, [cluster(rng, nodes, count) for _ in range(3)], {"/schedule": self.schedules})

    def test_unequal_workers(self):
        """A link of each sender's own, but for flows."""
        for seed, nodes in draws(enumerate([2, 3, 6], 10)):
            rng = random.Random(seed)
            self.agree(rng, [cluster(rng, nodes)], {"/schedule": self.schedules, "/workers": disturbances(rng, nodes)},
                       fidelities=("alpha-beta", "per-message"))


if __name__ == "__main__":
    unittest.main()
