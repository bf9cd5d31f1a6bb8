"""Does "all_reduce": "auto" take the fastest algorithm for each size, and does a note say where latency is most of an all-reduce?"""
import json
import math
import random
import unittest

from support import ROOT, Case, cluster, scenario, trace

NAMES = ("ring", "halving-doubling", "recursive-doubling")
ALPHA, BETA = 50e-6, 0.8e-9


def seconds(name, ranks, size):
    """Closed forms (MG-WFBP, Table 2; Thakur et al. 2005), without reduction."""
    rounds, share = math.ceil(math.log2(ranks)), (ranks - 1) / ranks
    latencies, transfers = {"ring": (2 * (ranks - 1), 2 * share), "halving-doubling": (2 * rounds, 2 * share), "recursive-doubling": (rounds, rounds)}[name]
    return latencies * ALPHA + transfers * BETA * size


def of_sizes(*sizes):
    layers = [{"name": f"l{i}", "type": "unknown", "forward_s": 1e-6, "backward_s": 1e-6} for i in range(len(sizes))]
    return trace(layers=layers, gradients=[{"name": f"l{i}.w", "layer": f"l{i}", "bytes": size} for i, size in reversed(list(enumerate(sizes)))])


class Auto(Case):
    def exposed(self, content):
        return self.point(content)["exposed_communication_s"]

    def test_closed_forms(self):
        """Each gradient has the least of the three times, which differ from size to size."""
        rng = random.Random(1)
        for ranks in (2, 3, 8, 24, 200):
            sizes = [round(10 ** rng.uniform(2, 7)) for _ in range(6)]
            self.write("trace.json", of_sizes(*sizes))
            found = self.exposed(scenario(cluster=cluster(nodes=ranks), schedule={"name": "s-sgd"}, fidelity="alpha-beta", all_reduce="auto"))
            self.assertAlmostEqual(found / sum(min(seconds(name, ranks, size) for name in NAMES) for size in sizes), 1, delta=1e-9, msg=ranks)

    def test_messages(self):
        """Also where it is no power of two, which halving and doubling pay for with messages that the closed forms leave out."""
        for ranks, gpus in ((3, 1), (13, 1), (4, 3)):
            for size in (100, 300000, 100000000):
                self.write("trace.json", of_sizes(size))
                inside = {"gpus_per_node": gpus, "intra_node": {"bandwidth": "100GBps", "latency": "2us"}} if gpus > 1 else {}
                times = {name: self.exposed(scenario(cluster=cluster(nodes=ranks, **inside), schedule={"name": "sync-easgd"}, fidelity="per-message", all_reduce=name))
                         for name in (*NAMES, "auto")}
                self.assertAlmostEqual(times["auto"] / min(times[name] for name in NAMES), 1, delta=1e-9, msg=(ranks, gpus, size))

    def test_links_that_messages_share(self):
        """On a fat-tree of 2:1, halving and doubling of large vectors queue where a ring does not."""
        tree = cluster(nodes=16, topology={"name": "fat-tree", "k": 4, "oversubscription": 2})
        for size, fastest in ((1000, "recursive-doubling"), (100000000, "ring")):
            self.write("trace.json", of_sizes(size))
            times = {name: self.exposed(scenario(cluster=tree, schedule={"name": "sync-easgd"}, fidelity="flow", all_reduce=name)) for name in (*NAMES, "auto")}
            self.assertAlmostEqual(times["auto"], times[fastest], delta=1e-12)
            self.assertEqual(min(NAMES, key=times.get), fastest)

    def test_regions_and_fits(self):
        regions = cluster(nodes=4, regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}], wan=[{"between": ["a", "b"], "rtt": "80ms", "bandwidth": "1Gbps"}])
        fitted = cluster(fit={"a_s": 1e-3, "b_s_per_B": 2e-9, "nodes": 4, "algorithm": "recursive-doubling"})
        for where, same in ((regions, "ring"), (fitted, "recursive-doubling")):
            both = [self.exposed(scenario(cluster=where, fidelity="alpha-beta", all_reduce=name)) for name in ("auto", same)]
            self.assertEqual(*both)

    def test_merging(self):
        """mg-wfbp merges by the fastest one's start-up, which is a tenth of the ring's here."""
        self.write("trace.json", of_sizes(*[40000] * 12))
        points = [self.point(scenario(cluster=cluster(nodes=64, link={"bandwidth": "10Gbps", "latency": "1us"}), schedule={"name": "mg-wfbp"},
                                      fidelity="alpha-beta", all_reduce=name)) for name in ("ring", "auto")]
        self.assertLess(points[1]["iteration_s"], points[0]["iteration_s"])
        self.assertLess(points[0]["communications_per_iteration"], points[1]["communications_per_iteration"] + 1e-9)

    def test_the_note(self):
        """64 nodes, 1 kB: 126 latencies of 50 us, 99% and more of it; auto has 6."""
        self.write("trace.json", of_sizes(1000))
        for name, noted in (("ring", True), ("auto", False), ("recursive-doubling", False)):
            notes = self.results(scenario(cluster=cluster(nodes=64), all_reduce=name))["notes"]
            self.assertEqual(any('latency is most of what all-reduces take at 1 point, such as 0 (wfbp): 100% of a mean one by ring over 64 nodes, 6.302 ms; '
                                 '"all_reduce": "auto" takes' in note for note in notes), noted, (name, notes))
        self.write("trace.json", of_sizes(100000000))
        self.assertFalse(any("latency is most" in note for note in self.results(scenario(cluster=cluster(nodes=64)))["notes"]))

    def test_what_is_refused(self):
        for value, message in (({"name": "auto", "chunk": "1MB"}, "auto has nothing to pipeline"), ({"name": "two-level", "between": "auto"}, "the algorithm between the nodes"),
                               ({"name": "auto", "across": "gpus"}, "only a ring goes across all GPUs")):
            done = self.run_scenario(scenario(all_reduce=value))
            self.assertEqual(done.returncode, 3)
            self.assertIn(message, done.stderr)


class InNetwork(Case):
    """Sums in switches: a latency, and the bytes once."""
    INSIDE = {"bandwidth": "100GBps", "latency": "2us"}

    def exposed(self, size, schedule="sync-easgd", **more):
        self.write("trace.json", of_sizes(size))
        content = scenario(cluster=cluster(**more), schedule={"name": schedule}, all_reduce="in-network")
        point = self.point(content)
        self.assertEqual(point["fidelity"], "alpha-beta")
        return point["exposed_communication_s"]

    def test_one_latency_and_the_bytes_once_whatever_the_number_of_nodes(self):
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        for nodes in (2, 3, 64, 1000):
            for size in (100, 30_000_000):
                self.assertAlmostEqual(self.exposed(size, nodes=nodes, link=link, reduce_s_per_B=1e-9), 50e-6 + 0.8e-9 * size, delta=1e-12)

    def test_several_gpus_add_up_round_a_ring_and_a_single_node_in_its_own_switch(self):
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        inside = 2 * 3 * 2e-6 + 2 * 0.75 * 1e-11 * 1e7 + 0.75 * 1e-9 * 1e7
        gpus = {"gpus_per_node": 4, "intra_node": self.INSIDE, "link": link, "reduce_s_per_B": 1e-9}
        self.assertAlmostEqual(self.exposed(10_000_000, nodes=3, **gpus), inside + 50e-6 + 0.8e-9 * 1e7, delta=1e-12)
        self.assertAlmostEqual(self.exposed(10_000_000, nodes=1, **gpus), 2e-6 + 1e-11 * 1e7, delta=1e-12)

    def test_switches_inside_nodes_add_up_too_where_a_scenario_says_so(self):
        """NVLS inside nodes, below SHARP or a ring between them: NCCL's NVLS trees."""
        inside = 2e-6 + 1e-11 * 1e7
        among = {"ring": 4 * 50e-6 + 2 * 2 / 3 * 0.8e-9 * 1e7 + 2 / 3 * 1e-9 * 1e7, "halving-doubling": None, "in-network": 50e-6 + 0.8e-9 * 1e7}
        gpus = {"gpus_per_node": 4, "intra_node": self.INSIDE, "link": {"bandwidth": "10Gbps", "latency": "50us"}, "reduce_s_per_B": 1e-9}
        self.write("trace.json", of_sizes(10_000_000))

        def exposed(all_reduce, nodes=3, **more):
            point = self.point(scenario(cluster=cluster(nodes=nodes, **gpus), schedule={"name": "sync-easgd"}, all_reduce=all_reduce, **more))
            self.assertEqual(point["fidelity"], "alpha-beta")
            return point["exposed_communication_s"]

        for between, seconds in among.items():
            name = {"name": "in-network"} if between == "in-network" else {"name": "two-level", "between": between}
            found = exposed(name | {"inside": "in-network"})
            if seconds is not None:
                self.assertAlmostEqual(found, inside + seconds, delta=1e-12, msg=between)
            rings = exposed(name | {"inside": "ring"}, fidelity="alpha-beta")
            self.assertEqual(rings, exposed(name, fidelity="alpha-beta"))
            self.assertAlmostEqual(rings - found, 2 * 3 * 2e-6 + 2 * 0.75 * 1e-11 * 1e7 + 0.75 * 1e-9 * 1e7 - inside, delta=1e-12, msg=between)
            self.assertAlmostEqual(exposed(name | {"inside": "in-network"}, nodes=1), inside, delta=1e-12, msg=between)

    def test_it_is_a_ring_of_two_nodes_with_half_of_the_latency(self):
        """2 alpha + M beta: so is every schedule of all-reduces."""
        schedules = [{"name": name} for name in ("s-sgd", "wfbp", "mg-wfbp", "mg-wfbp-optimal", "fusion", "sync-easgd")]
        schedules += [{"name": "dts", "delay": 2}, {"name": "sasgd", "interval": 3}, {"name": "local-sgd", "interval": 2}, {"name": "lasgd", "tau_max": 2}]
        times = []
        for all_reduce, latency in (("in-network", 100e-6), ("ring", 50e-6)):
            self.write("trace.json", of_sizes(3000, 40_000, 2_000_000, 900))
            content = scenario(cluster=cluster(nodes=2, link={"bandwidth": "10Gbps", "latency": latency}), all_reduce=all_reduce, fidelity="alpha-beta",
                               workers={"jitter": {"distribution": "lognormal", "cv": 0.2}}, sweep={"/schedule": schedules})
            times.append([point["iteration_s"] for point in self.results(content)["points"]])
        for one, other, schedule in zip(*times, schedules, strict=True):
            self.assertAlmostEqual(one / other, 1, delta=1e-9, msg=schedule)

    def test_what_nvls_was_measured_to_take(self):
        """FIDELITY.md's share of the nominal bandwidth, and how far it holds."""
        nvlink = {"bandwidth": "450GBps", "latency": "3.4us", "efficiency": 0.61}
        for name in ("azure-nd-h100-v5", "azure-nd-h200-v5"):
            points = dict(json.loads((ROOT / f"scenarios/clusters/{name}.json").read_text())["fit"]["points"])
            ratios = {size: points[size] / self.exposed(size, nodes=1, gpus_per_node=8, intra_node=nvlink) for size in (8 << 30, 64 << 20)}
            self.assertAlmostEqual(ratios[8 << 30], 1, delta=0.005)
            self.assertAlmostEqual(ratios[64 << 20], 1.3, delta=0.05)

    def test_other_operations_are_those_of_a_ring(self):
        self.write("trace.json", of_sizes(3_000_000, 40_000))
        times = [self.point(scenario(cluster=cluster(nodes=8), schedule={"name": "fsdp"}, all_reduce=name, fidelity="alpha-beta"))["iteration_s"] for name in ("in-network", "ring")]
        self.assertAlmostEqual(times[0] / times[1], 1, delta=1e-12)

    def test_an_export_of_messages_is_refused(self):
        self.write("scenario.json", scenario(all_reduce="in-network", schedule={"name": "wfbp"}))
        done = self.simctl("export", "scenario.json", "--to", "goal", "-o", "goal")
        self.assertEqual(done.returncode, 4)
        self.assertIn('"in-network" all-reduces have no messages between ranks; export with --to chakra', done.stderr)
        self.assertEqual(self.simctl("export", "scenario.json", "--to", "chakra", "-o", "chakra").returncode, 0)


if __name__ == "__main__":
    unittest.main()
