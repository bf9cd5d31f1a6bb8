"""Uplinks, parallel connections and object storage between regions: is all as closed forms and a recurrence of this test's own say?"""

import itertools
import json
import math
import random
import unittest

from support import Case, cluster, scenario, trace

COMPUTE, SIZE, RTT = 0.009, 6e6, 0.08
ALL = ("alpha-beta", "per-message", "flow")
NOWHERE_SLOW = {"bandwidth": 1e17, "latency": 0}  # a link inside regions


def regions(*described, **more):
    """A cluster of (name, nodes, keys of the region), joined at a bandwidth that limits nothing unless `wan` says otherwise."""
    listed = [{"name": name, "nodes": nodes, **keys} for name, nodes, keys in described]
    wan = {"rtt": RTT, "bandwidth": 1e17, **more.pop("wan", {})}
    pairs = [{"between": list(pair), **{key: value for key, value in wan.items() if value is not None}} for pair in itertools.combinations([entry["name"] for entry in listed], 2)]
    return cluster(**{"nodes": sum(entry["nodes"] for entry in listed), "link": NOWHERE_SLOW, "regions": listed, "wan": pairs, "placement": "linear", **more})


def line(up, down=None):
    return {"bandwidth": up if down is None else {"up": up, "down": down}}


def round_the_ring(hops, size):
    """(alpha, beta) from each node to the next. Each of 2(N-1) messages waits for the one before it on its link, and for the one that it hands on."""
    n = len(hops)
    came, free = [0.0] * n, [0.0] * n
    for _ in range(2 * (n - 1)):
        free = [max(free[i], came[i - 1]) + beta * size / n for i, (_, beta) in enumerate(hops)]
        came = [left + alpha for left, (alpha, _) in zip(free, hops)]
    return max(came)


class Far(Case):
    def setUp(self):
        super().setUp()
        self.write("trace.json", trace(gradients=[{"name": "l0.weight", "layer": "l0", "bytes": int(SIZE)}]))

    def run_one(self, its_cluster, **more):
        return self.point(scenario(**{"cluster": its_cluster, "schedule": {"name": "sync-easgd"}, **more}))

    def communication(self, its_cluster, **more):
        return self.run_one(its_cluster, **more)["iteration_s"] - COMPUTE

    def assert_takes(self, seconds, its_cluster, **more):
        found = self.communication(its_cluster, **more)
        self.assertTrue(math.isclose(found, seconds, rel_tol=1e-9), f"{found} instead of {seconds}: {its_cluster['regions']} {more}")

    def pushes(self, *described, **more):
        """To a server beside the last region and back."""
        schedule = {"name": "ps-sgd", "servers": {"count": 1, "region": described[-1][0]}}
        return regions(*described, **more), {"schedule": schedule}

    def assert_pushes_take(self, seconds, *described, **more):
        its_cluster, schedule = self.pushes(*described, **more)
        self.assert_takes(RTT + seconds, its_cluster, **schedule)

    def links(self, its_cluster, **more):
        return self.run_one(its_cluster, **{"fidelity": "flow", **more})["links"]


class Uplinks(Far):
    def test_nodes_of_a_region_share_its_uplink(self):
        for nodes in (1, 3, 5):
            self.assert_pushes_take(2 * nodes * SIZE / 1e8, ("a", nodes, {"uplink": line(1e8)}), ("b", 1, {}))
            self.assert_pushes_take(nodes * SIZE * (1 / 1e8 + 1 / 3e8), ("a", nodes, {"uplink": line(1e8, 3e8)}), ("b", 1, {}))
            self.assert_pushes_take(nodes * SIZE * (1 / 3e8 + 1 / 1e8), ("a", nodes, {}), ("b", 1, {"uplink": line(1e8, 3e8)}))
        self.assert_pushes_take(2 * 2 * SIZE / 5e7, ("a", 2, {"uplink": {**line(1e8), "efficiency": 0.5}}), ("b", 1, {}))

    def test_two_regions_share_the_third_ones_uplink(self):
        both = {"uplink": line(1e8)}
        self.assert_pushes_take(2 * 5 * SIZE / 1e8, ("a", 2, {}), ("b", 3, {}), ("c", 1, both))
        self.assert_pushes_take(2 * 5 * SIZE / 1e8, ("a", 2, both), ("b", 3, both), ("c", 1, both))

    def test_every_node_has_its_own(self):
        for nodes in (1, 4):
            self.assert_pushes_take(SIZE * (1 / 2e7 + 1 / 5e7), ("a", nodes, {"node_uplink": line(2e7, 5e7)}), ("b", 1, {}))
            self.assert_pushes_take(2 * SIZE / min(2e7, 6e7 / nodes), ("a", nodes, {"node_uplink": line(2e7), "uplink": line(6e7)}), ("b", 1, {}))
        # A server's own node has one, too, which is not that of its region's other node.
        self.assert_pushes_take(3 * SIZE * (1 / 2e8 + 1 / 5e8), ("a", 3, {}), ("b", 1, {"node_uplink": line(5e8, 2e8)}))

    def test_what_stays_in_a_region_crosses_none(self):
        """Every node sends 2(N-1)/N of the bytes to the next one, of which one in each region is in the other."""
        lines = {"uplink": line(1e8), "node_uplink": line(1e8)}
        its_cluster = regions(("a", 2, lines), ("b", 2, lines), link={"bandwidth": 1e9, "latency": 1e-3})
        carried = {link["name"]: link["bytes"] for link in self.links(its_cluster)}
        names = [f"uplink {region} {way}" for region in "ab" for way in ("up", "down")] + ["node-uplink-0 down", "node-uplink-1 up", "node-uplink-2 down", "node-uplink-3 up"]
        self.assertEqual({name: size for name, size in carried.items() if "uplink" in name}, dict.fromkeys(names, 3 * 1.5 * SIZE))

    def test_regions_need_no_bandwidth_beside_uplinks(self):
        described = ("a", 2, {"uplink": line(1e8, 3e8)}), ("b", 2, {"node_uplink": line(2e8)})
        for fidelity in ALL:
            both = [self.communication(regions(*described, wan={"bandwidth": bandwidth}), fidelity=fidelity) for bandwidth in (None, 1e17)]
            self.assertEqual(*both)

    def test_a_ring_over_regions(self):
        """One message at a time leaves a region. Where ranks do not wait for the last one, a step is no longer than that."""
        for seed in range(5):
            rng = random.Random(seed)
            described, ends = [], []
            for name in "abc"[:rng.randint(2, 3)]:
                own, all_of = ([rng.uniform(5e7, 2e8) for _ in range(2)] for _ in range(2))
                keys = rng.choice([{}, {"uplink": line(*all_of)}, {"node_uplink": line(*own), "uplink": line(*all_of)}, {"node_uplink": line(*own)}])
                described.append((name, rng.randint(1, 3), keys))
                ends += [name] * described[-1][1]
            link, wan = {"bandwidth": 1e9, "latency": 1e-4}, {"bandwidth": rng.uniform(5e7, 2e8), "tcp_window": round(rng.uniform(4e6, 1e7)), "connections": 2}
            lines = {name: [keys[key]["bandwidth"] for key in ("uplink", "node_uplink") if key in keys] for name, _, keys in described}

            def hop(here, there):
                if here == there:
                    return 1e-4, 1e-9
                return RTT / 2, 1 / min([wan["bandwidth"], 2 * wan["tcp_window"] / RTT] + [each["up"] for each in lines[here]] + [each["down"] for each in lines[there]])

            hops = [hop(*pair) for pair in itertools.pairwise([*ends, ends[0]])]
            longest, messages, flows = (self.communication(regions(*described, link=link, wan=wan), fidelity=fidelity) for fidelity in ALL)
            self.assertTrue(math.isclose(longest, round_the_ring(hops, SIZE), rel_tol=1e-9))
            self.assertTrue(math.isclose(messages, flows, rel_tol=1e-9))
            self.assertLessEqual(messages, longest * (1 + 1e-9))

    def test_auto_takes_flows_where_uplinks_can_be_filled_together(self):
        described = ("a", 2, {"uplink": line(1e8)}), ("b", 2, {})
        for algorithm, fidelity in (("ring", "per-message"), ("halving-doubling", "flow")):
            self.assertEqual(self.run_one(regions(*described), all_reduce=algorithm)["fidelity"], fidelity)
        wide = ("a", 2, {"uplink": line(1e18)}), ("b", 2, {"node_uplink": line(1e8)})
        self.assertEqual(self.run_one(regions(*wide, wan={"bandwidth": None}), all_reduce="halving-doubling")["fidelity"], "per-message")

    def test_names(self):
        described = ("a", 2, {"uplink": line(1e8)}), ("b", 1, {"node_uplink": line(2e8)})
        its_cluster, schedule = self.pushes(*described)
        names = {link["name"] for link in self.links(its_cluster, **schedule)}
        self.assertLessEqual({"uplink a up", "uplink a down", "server-uplink-0 up", "server-uplink-0 down", "wan a-b", "wan b-a"}, names)
        self.assertLessEqual({"uplink a up", "node-uplink-2 down"}, {link["name"] for link in self.links(regions(*described))})
        self.write("named.json", scenario(cluster=regions(*described), schedule={"name": "wfbp"}))
        explained = json.loads(self.simctl("explain", "named.json", "--format", "json").stdout)
        self.assertLessEqual({"uplink a.bandwidth", "node_uplink b.bandwidth"}, {row["factor"] for row in explained["what_if"]})
        self.assertIn(("transfer", "uplink a"), {(row["class"], row["what"]) for row in explained["path"]})
        self.write("cluster.json", regions(*described, wan={"bandwidth": None}))
        shown = self.simctl("show", "cluster.json").stdout
        for text in ("  uplink: 0.8 Gb/s\n", "  each node's own uplink: 1.6 Gb/s\n", "to b: by uplinks alone, 40 ms end to end"):
            self.assertIn(text, shown)
        self.assertIn("uplink a", self.simctl("show", "cluster.json", "--dot").stdout)


class Connections(Far):
    def test_windows_add_up(self):
        """Over two nodes, two messages of half the bytes."""
        window, bandwidth = 1000000, 1e8
        for count in (1, 3, 8, 100):
            rate = min(count * window / RTT, bandwidth)
            for fidelity in ALL:
                wan = {"bandwidth": bandwidth, "tcp_window": window, "connections": count}
                self.assert_takes(2 * (RTT / 2 + SIZE / 2 / rate), regions(("a", 1, {}), ("b", 1, {}), wan=wan), fidelity=fidelity)
            link = {"bandwidth": bandwidth, "latency": RTT / 2, "tcp_window": window, "connections": count}
            found = self.communication(cluster(nodes=2, link=link))
            self.assertTrue(math.isclose(found, 2 * (RTT / 2 + SIZE / 2 / rate), rel_tol=1e-9), found)

    def test_shares_are_those_of_so_many_flows(self):
        """From c, b's four connections get four fifths of the uplink, and end after 5/4 M/U; a then has the rest of its bytes, M (1 - 1/4), at
        no more than U/2. So b is that much earlier in its next step, and its push is over, after M/U, when a begins to push at U/2."""
        uplink = 1e8
        its_cluster, schedule = self.pushes(("a", 1, {}), ("b", 1, {}), ("c", 1, {"uplink": line(uplink)}))
        for entry in its_cluster["wan"]:
            if entry["between"] == ["b", "c"]:
                entry["connections"] = 4
            else:
                entry["bandwidth"] = uplink / 2
        self.assert_takes(RTT + (2 + 1.25 + 0.75 * 2) * SIZE / uplink, its_cluster, **schedule)


class ObjectStorage(Far):
    def test_an_upload_then_a_download(self):
        up, down = 1e8, 2.5e8
        for via, beta in (("object-storage", 2 / up), ({"name": "object-storage", "download": down}, 1 / up + 1 / down)):
            for fidelity in ALL:
                its_cluster = regions(("a", 1, {}), ("b", 1, {}), wan={"bandwidth": up, "via": via})
                self.assert_takes(2 * (RTT / 2 + SIZE / 2 * beta), its_cluster, fidelity=fidelity)

    def test_each_direction_has_its_own(self):
        """Gradients go up to the server in b, and back."""
        via = {"name": "object-storage", "download": {"up": 3e8, "down": 5e8}}
        wan = {"bandwidth": {"up": 1e8, "down": 2e8}, "via": via}
        for nodes in (1, 3):
            seconds = nodes * SIZE * (1 / 1e8 + 1 / 3e8 + 1 / 2e8 + 1 / 5e8)
            self.assert_pushes_take(seconds, ("a", nodes, {}), ("b", 1, {}), wan=wan)
            self.assert_pushes_take(seconds / 2, ("a", nodes, {}), ("b", 1, {}), wan={**wan, "bandwidth": {"up": 2e8, "down": 4e8}, "via": {
                "name": "object-storage", "download": {"up": 6e8, "down": 1e9}}})
            self.assert_pushes_take(seconds * 2, ("a", nodes, {}), ("b", 1, {}), wan={**wan, "efficiency": 0.5})

    def test_uplinks_of_either_end(self):
        """An upload crosses the one's, a download the other's."""
        wan = {"bandwidth": 1e9, "via": "object-storage"}
        self.assert_pushes_take(2 * SIZE * (1 / 1e8 + 1 / 3e8 + 1 / 4e8 + 1 / 2e8), ("a", 2, {"uplink": line(1e8, 2e8)}), ("b", 1, {"uplink": line(4e8, 3e8)}), wan=wan)

    def test_a_ring(self):
        hops = [(1e-4, 1e-9), (RTT / 2, 1 / 1e8 + 1 / 5e7), (1e-4, 1e-9), (RTT / 2, 2 / 1e8)]
        its_cluster = regions(("a", 2, {}), ("b", 2, {"uplink": line(1e9, 5e7)}), link={"bandwidth": 1e9, "latency": 1e-4}, wan={"bandwidth": 1e8, "via": "object-storage"})
        for fidelity in ALL:
            self.assert_takes(round_the_ring(hops, SIZE), its_cluster, fidelity=fidelity)

    def test_names(self):
        its_cluster = regions(("a", 1, {}), ("b", 1, {}), wan={"bandwidth": 1e8, "via": "object-storage"})
        self.assertEqual({link["name"] for link in self.links(its_cluster) if link["name"].startswith("wan")},
                         {f"wan {way} {kind}" for way in ("a-b", "b-a") for kind in ("upload", "download")})
        self.write("cluster.json", its_cluster)
        self.assertIn("by way of object storage, from which 0.8 Gb/s", self.simctl("show", "cluster.json").stdout)


class AmongRegions(Far):
    def test_closed_forms(self):
        """One node in each of four regions: long ways one after the other."""
        its_cluster = regions(*((name, 1, {}) for name in "abcd"), wan={"bandwidth": 1e8})
        far, whole = RTT / 2, SIZE / 1e8
        for among, seconds in (("ring", 6 * (far + whole / 4)), ("binary-tree", 4 * (far + whole)), ("recursive-doubling", 2 * (far + whole)),
                               ("halving-doubling", 4 * far + 1.5 * whole)):
            self.assert_takes(seconds, its_cluster, all_reduce={"name": "by-region", "between": among})


if __name__ == "__main__":
    unittest.main()
