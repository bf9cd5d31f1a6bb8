"""One ring through all GPUs of all nodes: is it the recurrence over links that differ, and does nobody wait but for neighbours?"""

import functools
import random
import unittest

import collectives
import moving
import oracle
from comparing import Comparison, accumulating, cluster, compressing, disturbances, fit, node_windows, scenario, slow, trace
from network import Network, alone
from oracle import quantity
from running import draws, swept, thinned
from test_distances import distances
from test_fidelities import NOT_COMPARED, Fidelities
from test_flows import profiles
from test_messages import ALPHA, BETA, GAMMA, MOVING, SIZE, Moving, star
from test_multi_gpu import INNER_ALPHA, INNER_BETA, gpus
from test_operations import EVERYBODY, Trials
from test_regions import schedules, uneven, windows, world

FLAT = {"name": "ring", "across": "gpus"}
PLACED = [(1, 2), (1, 4), (2, 2), (3, 2), (2, 3), (4, 3)]  # nodes, GPUs of each
LASGD = [{"name": "lasgd", "tau_max": tau, "worker": "gpu"} for tau in (1, 3, 40)]
LOCAL = [{"name": "sasgd", "interval": 2}, {"name": "local-sgd", "interval": 3}, *LASGD]


def dts(*flights, **changes):
    return [{"name": "dts", "delay": delay, "period": period, "in_flight": flight, **changes}
            for delay, period in ((0, 1), (1, 1), (2, 2)) for flight in flights]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, expected, point, size=SIZE):
        found = [collectives.over_gpus(point)(size), *(max(alone(point, size, shared)) for shared in (False, True))]
        for seconds in found:
            self.assertAlmostEqual(seconds / expected, 1, places=12)

    def test_one_node(self):
        for count in (2, 3, 5, 8):
            expected = collectives.closed_form("ring", count, INNER_ALPHA, INNER_BETA, GAMMA)(SIZE)
            for algorithm in (FLAT, "ring"):
                self.check(expected, gpus(algorithm, 1, count))

    def test_one_gpu_in_each_node(self):
        for n in (2, 3, 8):
            self.check(collectives.closed_form("ring", n, ALPHA, BETA, GAMMA)(SIZE), star(FLAT, n))

    def test_links_alike(self):
        for nodes, count in PLACED:
            point = star(FLAT, nodes, gpus_per_node=count, intra_node={"bandwidth": 1 / BETA, "latency": ALPHA})
            self.check(collectives.closed_form("ring", nodes * count, ALPHA, BETA, GAMMA)(SIZE), point)

    def test_latencies(self):
        """Twice round the ring but for two hops, which are the shortest that are neighbours."""
        for nodes, count in ((2, 2), (5, 2), (2, 3), (4, 4)):
            left_out = INNER_ALPHA + (ALPHA if count == 2 else INNER_ALPHA)
            self.check(2 * nodes * (ALPHA + (count - 1) * INNER_ALPHA) - left_out, gpus(FLAT, nodes, count), 0)

    def test_the_slowest_link_is_always_busy(self):
        for nodes, count in PLACED[2:]:
            ranks = nodes * count
            point = star(FLAT, nodes, link={"bandwidth": 1 / BETA, "latency": 0}, reduce_s_per_B=0.0, gpus_per_node=count,
                         intra_node={"bandwidth": 1 / INNER_BETA, "latency": 0})
            self.check(2 * (ranks - 1) / ranks * BETA * SIZE, point)

    def test_a_latency_and_the_slowest_link(self):
        """As bytes hide most latencies, less than all of them are left beside a transfer; of nothing all are."""
        point = gpus(FLAT, 2, 2)
        cost, busy = collectives.over_gpus(point), 2 * 3 / 4 * BETA * SIZE
        latency, transfer, _ = collectives.parts(point, cost, SIZE, 0)
        self.assertAlmostEqual(transfer, busy, places=12)
        self.assertAlmostEqual(latency + transfer, cost(SIZE), places=12)
        self.assertLess(latency, cost(0))
        self.assertEqual(collectives.parts(point, cost, 0, 0)[:2], (cost(0), 0.0))

    def test_all_gather(self):
        """Everyone's own bytes take R-1 hops."""
        point = star(FLAT, 2, gpus_per_node=2, intra_node={"bandwidth": 1 / BETA, "latency": ALPHA})
        for found in (collectives.all_gather(point)(SIZE), *alone(point, SIZE, make=Network.all_gather)):
            self.assertAlmostEqual(found / (3 * (ALPHA + BETA * SIZE)), 1, places=12)

    def test_nobody_waits_for_a_late_neighbour_of_a_neighbour(self):
        """Down the ring, from the first rank to the last one, which is late: only the one before it notices."""
        broadcast = functools.partial(Network.operation, name="broadcast")
        usual, late = (alone(gpus(FLAT, 2, 3), SIZE, starts=[0, 0, 0, 0, 0, date], make=broadcast) for date in (0, 1))
        self.assertEqual(usual[:4], late[:4])
        self.assertTrue(all(end > 1 for end in late[4:]))


class ClosedForms(Comparison):
    def draw(self, seed, clusters, drawn, workers, *options, **changes):
        rng = random.Random(f"flat {seed}")
        sweep = {"/cluster": clusters(rng), "/schedule": drawn(rng), "/workers": workers(rng)}
        self.compare(scenario(rng, sweep=sweep, all_reduce=FLAT, **changes), [trace(rng)], *options)

    def some(self, count):
        """Of equal workers, and others."""
        def workers(rng):
            first, *others = disturbances(rng, count)
            return [first, *rng.sample(others, 2)]
        return workers

    def families(self, rng):
        return schedules(rng) + [{"name": "local-sgd", "interval": 3}, *LASGD[::2]] + rng.sample(dts("serial", "pipelined", launch="gradient"), 2)

    def test_stars(self):
        for seed, (nodes, count) in draws(enumerate(PLACED[1:])):
            self.draw(seed, lambda rng: [cluster(rng, nodes, count)], self.families, self.some(nodes * count))

    def test_synchronous(self):
        for seed, (nodes, count) in draws(enumerate(PLACED[2:4], 10)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, count)], lambda rng: accumulating(rng, [{"name": name} for name in oracle.SCHEDULES]),
                      self.some(nodes * count))

    def test_slow_links(self):
        """The channel sets the pace."""
        for seed, (nodes, count) in draws(enumerate([(2, 2), (3, 3)], 20)):
            links = [{"bandwidth": "700Mbps", "latency": "3ms"}, {"bandwidth": "10Gbps", "latency": "9ms"}]
            self.draw(seed, lambda rng: [cluster(rng, nodes, count, link=link) for link in links], self.families, lambda rng: [{}])

    def test_compression(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2)], 30)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, count)], lambda rng: compressing(rng, self.families(rng)),
                      lambda rng: self.some(nodes * count)(rng)[::2])

    def test_channels(self):
        for seed, channels in draws(enumerate((2, 3), 40)):
            self.draw(seed, lambda rng: [cluster(rng, 3, 2)], lambda rng: [{"name": "wfbp"}, {"name": "s-sgd"}, {"name": "dts", "delay": 2}],
                      self.some(6), channels=channels)

    def test_other_clusters(self):
        self.draw(50, lambda rng: [cluster(rng, 2, 3, latency_cv=0.4), cluster(rng, 2, 2, fit=fit(rng)),
                                   *(node_windows(rng, cluster(rng, 3, 2, nics=nics)) for nics in (1, 3))],
                  self.families, lambda rng: [{}])

    def test_regions(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 1, 2), (2, 3, 2), (3, 1, 3), (3, 2, 2)], 60)):
            self.draw(seed, lambda rng: [world(rng, regions, nodes, count), windows(rng, node_windows(rng, world(rng, regions, nodes, count)))],
                      self.families, lambda rng: [{}, rng.choice(disturbances(rng, regions)[1:])])

    def test_uneven_regions(self):
        """In the order in which a ring of the nodes is fastest, as whatever else goes round them."""
        for seed, (regions, nodes, count) in draws(enumerate([(3, 1, 2), (4, 1, 2)], 70)):
            self.draw(seed, lambda rng: [uneven(rng, world(rng, regions, nodes, count)) for _ in range(2)],
                      lambda rng: [{"name": "wfbp"}, {"name": "mg-wfbp"}, *dts("pipelined")], lambda rng: [{}])

    def test_one_by_one(self):
        self.draw(80, lambda rng: [cluster(rng, 2, 2)], self.families, self.some(4), "--no-symmetry")


class Messages(Moving):
    def flat(self, seed, clusters, drawn, *options, workers=None, fidelities=MOVING, **changes):
        rng = random.Random(f"flat {seed}")
        described = clusters(rng)
        ranks = described[0]["nodes"] * described[0]["gpus_per_node"]
        sweep = {"/schedule": drawn(rng), "/workers": workers(rng) if workers else [{}, {"slow": slow(rng, ranks)}]}
        return self.draw(rng, described, *options, fidelities=fidelities, all_reduce=FLAT, sweep=sweep,
                         **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 3)}, **changes})

    def wfbp(self, rng):
        return [{"name": "wfbp"}]

    def every(self, rng):
        return [{"name": name} for name in oracle.SCHEDULES] + LOCAL[::2] + dts("serial") + dts("serial", launch="gradient")[1:2]

    def test_one_collective(self):
        for seed, (nodes, count) in draws(enumerate(PLACED)):
            self.flat(seed, lambda rng: [cluster(rng, nodes, count) for _ in range(2)], lambda rng: [{"name": "sync-easgd"}])

    def test_unequal_workers(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2), (2, 4)], 10)):
            self.flat(seed, lambda rng: [cluster(rng, nodes, count)], self.wfbp,
                      workers=lambda rng: disturbances(rng, nodes * count, slowdown=False))

    def test_every_rank_late(self):
        """Whichever GPU of whichever node it is."""
        self.flat(20, lambda rng: [cluster(rng, 2, 3)], self.wfbp,
                  workers=lambda rng: [{"slow": [{"ranks": str(rank), "factor": 2.5}]} for rank in range(6)])

    def test_schedules(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2)], 30)):
            self.flat(seed, lambda rng: [cluster(rng, nodes, count)], self.every)

    def test_compression(self):
        """What is all-gathered goes round the same ring."""
        for seed, (nodes, count) in draws(enumerate([(1, 2), (2, 2)], 40)):
            self.flat(seed, lambda rng: [cluster(rng, nodes, count)], lambda rng: compressing(rng, self.every(rng)) + dts("serial", compression=0.2))

    def test_several_in_flight(self):
        for seed, channels in draws(enumerate((2, 3), 50)):
            link = {"bandwidth": "2Gbps", "latency": "1ms"}
            self.flat(seed, lambda rng: [cluster(rng, 2, 2, link=link)], self.wfbp, shared=True, channels=channels)
        for seed, (nodes, count) in draws(enumerate([(2, 2), (3, 2)], 55)):
            self.flat(seed, lambda rng: [cluster(rng, nodes, count)], lambda rng: dts("pipelined") + dts("pipelined", compression=0.3)[1:],
                      fidelities=["per-message"])

    def test_windows_and_several_network_cards(self):
        self.flat(60, lambda rng: [node_windows(rng, cluster(rng, 3, 2, nics=nics)) for nics in (1, 2)], self.wfbp)

    def test_regions(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 2, 2), (3, 1, 2)], 70)):
            self.flat(seed, lambda rng: [world(rng, regions, nodes, count), uneven(rng, windows(rng, world(rng, regions, nodes, count)))
                                         | {"placement": "linear"}],
                      lambda rng: [*self.wfbp(rng), {"name": "mg-wfbp"}, {"name": "wfbp", "compression": "sign"}], shared=True,
                      workers=lambda rng: [{}, {"slow": slow(rng, regions)}])

    def test_regions_that_change(self):
        self.flat(80, lambda rng: [change(rng, world(rng, 2, 2, 2)) for change in (profiles, distances)], self.wfbp, shared=True,
                  fidelities=["flow"], workers=lambda rng: [{}, {"slow": slow(rng, 2)}])

    def test_one_by_one(self):
        self.flat(90, lambda rng: [cluster(rng, 2, 2), world(rng, 2, 2, 2)], self.wfbp, "--no-symmetry", shared=True)


class Operations(Trials):
    shared = True

    def test_everybody(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2), (2, 4)])):
            rng = random.Random(f"flat {seed}")
            self.draw(rng, [cluster(rng, nodes, count)], EVERYBODY, all_reduce=FLAT)

    def test_unequal_workers(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (2, 3)], 10)):
            rng = random.Random(f"flat {seed}")
            self.draw(rng, [cluster(rng, nodes, count)], EVERYBODY, all_reduce=FLAT, fidelities=MOVING,
                      sweep={"/workers": disturbances(rng, nodes * count, slowdown=False)[1:4]})

    def test_regions(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 2, 2), (3, 1, 2)], 20)):
            rng = random.Random(f"flat {seed}")
            self.draw(rng, [world(rng, regions, nodes, count)], EVERYBODY, all_reduce=FLAT)


class AsAnother(Fidelities):
    """simctl with itself: where one flat ring is the ring that there is anyway."""

    def alike(self, seed, clusters, drawn, workers=({},), fidelities=("alpha-beta", *MOVING)):
        rng = random.Random(f"flat {seed}")
        sweep = {"/cluster": clusters(rng), "/schedule": drawn, "/workers": list(workers), "/fidelity": list(fidelities),
                 "/all_reduce": ["ring", FLAT]}
        rows = [row for _, row in self.run_points(thinned(scenario(rng, sweep=sweep), "/all_reduce"), [trace(rng)])]
        for ring, flat in zip(rows[::2], rows[1::2]):
            wrong = [f"{column}: {ring[column]}, but flat {flat[column]}" for column in ring
                     if column not in (*NOT_COMPARED, "/all_reduce", "all_reduce")
                     and not self.same(ring[column], flat[column], 1e-9 * ring["iteration_s"])]
            self.assertFalse(wrong, "\n".join([str(swept(flat)), *wrong]))

    def test_one_gpu_in_each_node(self):
        drawn = [{"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "dts", "delay": 1, "compression": 0.1}]
        self.alike(0, lambda rng: [cluster(rng, 4), world(rng, 2, 2)], drawn, [{}, {"slow": [{"ranks": "1", "factor": 1.5}]}])

    def test_one_node(self):
        self.alike(1, lambda rng: [cluster(rng, 1, count) for count in (2, 4)], [{"name": "wfbp"}, {"name": "mg-wfbp"}])

    def test_ranks_that_are_nodes(self):
        drawn = [{"name": "lasgd", "tau_max": 2}, {"name": "lasgd", "tau_max": 2, "compression": "sign"}, {"name": "sgp"}, {"name": "d-psgd"}]
        self.alike(2, lambda rng: [cluster(rng, 3, 2), world(rng, 2, 2, 2)], drawn, [{}, {"slow": [{"ranks": "1", "factor": 1.5}]}])

    def test_fit(self):
        self.alike(3, lambda rng: [cluster(rng, 3, 2, fit=fit(rng))], [{"name": "wfbp"}, {"name": "dts", "delay": 1, "compression": 0.1}],
                   fidelities=["alpha-beta"])


class Links(Moving):
    def test_bytes(self):
        """From each node to the next, and from each GPU but the last to the next of its node, the same: 2(R-1)/R of all bytes, but for
        what the window's edges cut."""
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2)])):
            rng, ranks, measured = random.Random(f"flat {seed}"), nodes * count, 3
            one = trace(rng)
            content = scenario(rng, sweep={"/cluster": [cluster(rng, nodes, count)], "/fidelity": MOVING}, all_reduce=FLAT,
                               schedule={"name": "sync-easgd"}, iterations={"warmup": 0, "measured": measured})
            pairs = self.run_points(content, [one])
            whole, share = measured * sum(gradient["bytes"] for gradient in one["gradients"]), 2 * (ranks - 1) / ranks
            used = {f"node-{node} {way}" for node in range(nodes) for way in ("up", "down") if nodes > 1}
            used |= {f"gpu-{rank + way} {name}" for rank in range(ranks) if nodes == 1 or (rank + 1) % count
                     for way, name in ((0, "up"), (1 if rank + 1 < ranks else 1 - ranks, "down"))}
            for (point, _), written in zip(pairs, self.points):
                carrying = {link["name"]: link for link in written["links"] if link["bytes"]}
                self.assertEqual(len(carrying), min(10, len(used)))
                self.assertLessEqual(set(carrying), used)
                for name, link in carrying.items():
                    inner = name.startswith("gpu-")
                    self.close(link["bytes"], written["links"][0]["bytes"])
                    self.assertAlmostEqual(link["bytes"] / (share * whole), 1, places=2)
                    self.close(link["bandwidth_Bps"], quantity(point["cluster"]["intra_node" if inner else "link"]["bandwidth"]))

    def test_what_edges_cut_counts_pro_rata(self):
        for seed, regions in draws(enumerate((False, True))):
            rng = random.Random(f"flat {seed}")
            description = world(rng, 2, 2, 2) | {"placement": "linear"} if regions else cluster(rng, 2, 2)
            content = scenario(rng, sweep={"/cluster": [description]}, schedule={"name": "wfbp"}, workers={"slow": slow(rng, 4)}, all_reduce=FLAT,
                               fidelity="flow", iterations={"warmup": 0, "measured": 1})
            (point, _), = self.run_points(content, [trace(rng)])
            expected = moving.links(point, shared=True)
            for link in self.points[0]["links"]:
                for key, right in zip(("bandwidth_Bps", "bytes", "utilisation"), expected[link["name"]]):
                    self.close(link[key], right)

    def test_automatic_fidelity(self):
        """No link can be filled by two messages."""
        rng = random.Random(0)
        for clusters, fidelity in (([cluster(rng, 3, 2), world(rng, 3, 2, 2)], "per-message"), ([cluster(rng, 3, 2, fit=fit(rng))], "alpha-beta")):
            content = scenario(rng, sweep={"/cluster": clusters}, schedule={"name": "wfbp"}, fidelity="auto", all_reduce=FLAT)
            for _, row in self.run_points(content, [trace(rng)]):
                self.assertEqual(row["fidelity"], fidelity)


if __name__ == "__main__":
    unittest.main()
