"""Of links, what the oracle does not say: efficiency, and which way of simulating is chosen where latencies vary."""

import json
import re
import unittest

from support import Case, cluster, scenario, trace

JITTER = {"distribution": "lognormal", "cv": 1}


def jittered(**more):
    return cluster(link={"bandwidth": "1Gbps", "latency": "2ms", "latency_jitter": JITTER}, **more)


class LatencyJitter(Case):
    def row(self, content, *options):
        done = self.run_scenario(content, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.rows()[0], json.loads((self.folder / "out" / "results.json").read_text(encoding="utf-8"))["notes"]

    def test_merging_reckons_with_the_mean_in_every_fidelity(self):
        for name in ("mg-wfbp", "mg-wfbp-optimal"):
            messages, flows = (self.row(scenario(cluster=jittered(), schedule={"name": name}, fidelity=fidelity))[0]
                               for fidelity in ("per-message", "flow"))
            self.assertAlmostEqual(float(messages["iteration_s"]), float(flows["iteration_s"]), delta=1e-12)
            self.assertEqual(messages["communications_per_iteration"], flows["communications_per_iteration"])

    def test_who_takes_the_mean_says_so(self):
        notes = []
        for more in ({"fidelity": "alpha-beta"}, {"schedule": {"name": "lasgd", "tau_max": 1, "participants": 0.75}}):
            notes.append([note for note in self.row(scenario(cluster=jittered(), **more))[1] if "of latencies that vary it takes the mean" in note])
        self.assertEqual([len(found) for found in notes], [1, 1])
        for more in ({}, {"schedule": {"name": "asgd"}, "fidelity": "alpha-beta"}):
            self.assertFalse([note for note in self.row(scenario(cluster=jittered(), **more))[1] if "vary" in note])

    def test_a_link_that_nothing_crosses_changes_nothing(self):
        link = {"bandwidth": "1Gbps", "latency": "2ms"}
        plain, _ = self.row(scenario(cluster=cluster(nodes=65536, link=link)))
        row, notes = self.row(scenario(cluster=cluster(nodes=65536, link=link, intra_node={**link, "latency_jitter": JITTER})))
        self.assertEqual((row["fidelity"], row["iteration_s"]), ("per-message", plain["iteration_s"]))
        self.assertFalse([note for note in notes if "vary" in note])


class Efficiency(Case):
    def test_it_is_a_share_of_the_bandwidth(self):
        regions = {"nodes": 4, "regions": [{"name": "a", "nodes": 3}, {"name": "b", "nodes": 1}]}
        between = {"between": ["a", "b"], "rtt": "20ms", "bandwidth": {"up": 4e7, "down": 8e7}, "bandwidth_profile": [{"at_s": 0.2, "bandwidth": 2e7}]}
        halved = {**between, "bandwidth": {"up": 2e7, "down": 4e7}, "bandwidth_profile": [{"at_s": 0.2, "bandwidth": 1e7}]}
        link = {"bandwidth": 1e9, "latency": "2ms"}
        half = {**link, "bandwidth": 5e8}
        for share, same in ((cluster(link={**link, "efficiency": 0.5}), cluster(link=half)),
                            (cluster(link=link, gpus_per_node=2, intra_node={**link, "efficiency": 0.5}), cluster(link=link, gpus_per_node=2, intra_node=half)),
                            (cluster(**regions, link=link, wan=[{**between, "efficiency": 0.5}]), cluster(**regions, link=link, wan=[halved]))):
            rows = []
            for its in (share, same):
                self.run_scenario(scenario(cluster=its))
                rows.append(self.rows()[0])
            self.assertEqual(rows[0], rows[1])


class Outage(Case):
    def total(self, profile, **more):
        """Seconds of four iterations of s-sgd over two regions."""
        link = {"between": ["a", "b"], "rtt": "20ms", "bandwidth": 4e7} | ({"bandwidth_profile": profile} if profile else {})
        content = scenario(cluster={"format": "cluster/1", "name": "c", "nodes": 2, "regions": [{"name": "a", "nodes": 1}, {"name": "b", "nodes": 1}], "wan": [link]},
                           schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 4}, fidelity="flow")
        return 4 * self.points(content | more)[0]["iteration_s"]

    def test_what_is_on_its_way_waits_for_the_end(self):
        self.write("trace.json", trace(gradients=[{"name": "l0.w", "layer": "l0", "bytes": 1e7}]))
        plain = self.total(None)
        compute = sum(layer["forward_s"] + layer["backward_s"] for layer in trace()["layers"])
        begin = compute + 0.3 * (plain / 4 - compute)
        for seconds in (1e-3, 7.0, 1e5):
            profile = [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + seconds, "bandwidth": 4e7}]
            self.assertAlmostEqual(self.total(profile), plain + seconds, delta=1e-9 * (plain + seconds))
        # While nothing moves, an outage costs nothing.
        self.assertAlmostEqual(self.total([{"at_s": 0, "bandwidth": 0}, {"at_s": compute / 2, "bandwidth": 4e7}]), plain, delta=1e-9)
        # Slower for a while after the outage: the rest of the bytes at half the rate.
        profile = [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + 2, "bandwidth": 2e7}, {"at_s": begin + 2.05, "bandwidth": 4e7}]
        self.assertAlmostEqual(self.total(profile), plain + 2 + 0.025, delta=1e-9)

    def test_simgrid_has_outages_too(self):
        self.write("trace.json", trace(gradients=[{"name": "l0.w", "layer": "l0", "bytes": 1e7}]))
        profile = [{"at_s": 0.2, "bandwidth": 0}, {"at_s": 3.2, "bandwidth": 4e7}]
        fair = {"fidelity": "simgrid", "simgrid": {"network_model": "CM02", "fair": True}}
        self.assertAlmostEqual(self.total(profile, **fair), self.total(profile), delta=1e-6)


class FourNodes(Case):
    FAIR = {"network_model": "CM02", "fair": True}

    def setUp(self):
        super().setUp()
        self.write("trace.json", trace(gradients=[{"name": "l0.w", "layer": "l0", "bytes": 1e7}]))

    def seconds(self, *arguments, schedule="s-sgd", fidelity="auto", model=FAIR, **more):
        """Of four iterations on four nodes. `model`: of SimGrid; None: the usual one."""
        its_cluster = {"format": "cluster/1", "name": "c", "nodes": 4, "link": {"bandwidth": 4e7, "latency": "1ms"}} | more
        content = scenario(cluster=its_cluster, schedule={"name": schedule}, iterations={"warmup": 0, "measured": 4}, fidelity=fidelity)
        if fidelity == "simgrid" and model:
            content["simgrid"] = model
        return 4 * self.points(content, *arguments)[0]["iteration_s"]


class NodeLinks(FourNodes):
    """Outages of a node's own link, in whatever topology."""

    def total(self, profile, which="2", **more):
        return self.seconds(**more, **({"node_links": [{"nodes": which, "bandwidth_profile": profile}]} if profile else {}))

    def test_an_outage_adds_its_length(self):
        """A ring's messages all wait for the one that stands still, whatever stands between the nodes."""
        compute = sum(layer["forward_s"] + layer["backward_s"] for layer in trace()["layers"])
        for more in ({}, {"topology": {"name": "fat-tree", "k": 4}}):
            plain = self.total(None, fidelity="flow", **more)
            begin = compute + 0.3 * (plain / 4 - compute)
            for seconds in (0.4, 700.0):
                profile = [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + seconds, "bandwidth": 4e7}]
                self.assertAlmostEqual(self.total(profile, **more), plain + seconds, delta=1e-6 * plain)

    def test_a_slow_interface_from_the_start_is_a_slower_link_for_two(self):
        slow = self.total([{"at_s": 0, "bandwidth": 1e7}], which="1", nodes=2)
        everywhere = self.total(None, fidelity="flow", link={"bandwidth": 1e7, "latency": "1ms"}, nodes=2)
        self.assertAlmostEqual(slow, everywhere, delta=1e-9 * everywhere)
        # Half of a nominal rate, of both interfaces together
        both = self.total([{"at_s": 0, "bandwidth": 2e7}], which="1", nodes=2, link={"bandwidth": 4e7, "latency": "1ms", "efficiency": 0.5}, nics=2)
        self.assertAlmostEqual(both, everywhere, delta=1e-9 * everywhere)

    def test_all_nodes_that_change_alike_are_another_link(self):
        every = self.total([{"at_s": 0, "bandwidth": 2e7}], which="0-3")
        self.assertAlmostEqual(every, self.total(None, fidelity="flow", link={"bandwidth": 2e7, "latency": "1ms"}), delta=1e-9 * every)

    def test_simgrid_agrees(self):
        profile = [{"at_s": 0.2, "bandwidth": 0}, {"at_s": 3.2, "bandwidth": 1e7}, {"at_s": 4, "bandwidth": 4e7}]
        for schedule in ("s-sgd", "asgd"):
            self.assertAlmostEqual(self.total(profile, fidelity="simgrid", schedule=schedule), self.total(profile, fidelity="flow", schedule=schedule), delta=1e-5, msg=schedule)

    def test_jobs_and_shrinking_runs_keep_the_nodes_of_the_whole_cluster(self):
        profile = [{"at_s": 0, "bandwidth": 1e7}]
        its_cluster = {"format": "cluster/1", "name": "c", "nodes": 4, "link": {"bandwidth": 4e7, "latency": "1ms"}, "node_links": [{"nodes": "3", "bandwidth_profile": profile}]}
        jobs = [{"name": "a", "nodes": "0-1"}, {"name": "b", "nodes": "2-3"}]
        row = self.points(scenario(cluster=its_cluster, schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 4}, jobs=jobs))[0]
        times = [job["iteration_s"] for job in row["jobs"]]
        self.assertAlmostEqual(4 * times[0], self.total(None, fidelity="flow", nodes=2), delta=1e-6)
        self.assertAlmostEqual(4 * times[1], self.total(None, fidelity="flow", nodes=2, link={"bandwidth": 1e7, "latency": "1ms"}), delta=1e-6)
        run = {"steps": 1000, "failures": {"mtbf_per_gpu_h": 10}, "policy": {"name": "shrink", "min_nodes": 2}}
        done = self.run_scenario(scenario(cluster=its_cluster, schedule={"name": "s-sgd"}, run=run))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_refused(self):
        good = [{"at_s": 1, "bandwidth": 4e7}]
        place = "/cluster/node_links"
        for links, more, message in (
                ([{"nodes": "4", "bandwidth_profile": good}], {}, f"{place}/0/nodes: expected ascending nodes from 0 to 3"),
                ([{"nodes": "1", "bandwidth_profile": [{"at_s": 1, "bandwidth": 0}]}], {}, f"{place}/0/bandwidth_profile: the last bandwidth is 0"),
                ([{"nodes": "1", "bandwidth_profile": []}], {}, f"{place}/0/bandwidth_profile"),
                ([{"nodes": "1", "bandwidth_profile": [good[0], good[0]]}], {}, "a time after the previous change (1 s)"),
                ([{"nodes": "1", "bandwidth_profile": [{"at_s": 1, "bandwidth": -1}]}], {}, f"{place}/0/bandwidth_profile/0/bandwidth"),
                (2 * [{"nodes": "1", "bandwidth_profile": good}], {}, f"{place}/1/nodes: node 1 is named twice"),
                ([{"nodes": "1", "bandwidth_profile": good}], {"topology": "torus"}, f"{place}: the cluster has no links of nodes"),
                ([{"nodes": "1"}], {}, f'{place}/0: the required key "bandwidth_profile" is missing'),
                ([{"nodes": "1", "bandwidth_profile": good}], {"fit": {"nodes": 4, "algorithm": "ring", "a_s": 1e-3, "b_s_per_B": 1e-9}}, f"{place}: a \"fit\" measures whole collectives")):
            with self.subTest(message):
                done = self.run_scenario(scenario(cluster=cluster(nodes=4, node_links=links, **more), schedule={"name": "s-sgd"}))
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)
        for more, message in (({"fidelity": "per-message"}, "/fidelity: a link's \"bandwidth_profile\""), ({"fidelity": "alpha-beta"}, "/fidelity"),
                              ({"schedule": {"name": "asgd", "servers": 1, "service": "fifo"}}, "/schedule/service")):
            with self.subTest(message):
                done = self.run_scenario(scenario(cluster=cluster(nodes=4, node_links=[{"nodes": "1", "bandwidth_profile": good}])) | more)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)


class SwitchLinks(FourNodes):
    """Outages of links between switches, by their names; two nodes to a switch."""
    FAT_TREE = {"name": "fat-tree", "k": 4}

    def total(self, links=(), fidelity="flow", schedule="s-sgd", *arguments, **more):
        changes = {"link_profiles": [{"link": name, "bandwidth_profile": profile} for name, profile in links]} if links else {}
        return self.seconds(*arguments, schedule=schedule, fidelity=fidelity, **({"topology": self.FAT_TREE} | changes | more))

    def test_an_outage_of_a_link_that_the_ring_crosses_adds_its_length(self):
        compute = sum(layer["forward_s"] + layer["backward_s"] for layer in trace()["layers"])
        plain = self.total()
        begin = compute + 0.3 * (plain / 4 - compute)
        profile = [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + 7, "bandwidth": 4e7}]
        names = [link["name"] for link in self.points(scenario(cluster=cluster(nodes=4, topology=self.FAT_TREE), schedule={"name": "s-sgd"}, fidelity="flow"))[0]["links"]]
        crossed = sorted(name for name in names if name.startswith("edge-aggregation"))
        self.assertEqual([name.rsplit(" ", 1)[1] for name in crossed], ["down", "up"])
        for pattern in ("edge-aggregation: *", crossed[0], crossed[0].rsplit(" ", 1)[0]):
            self.assertAlmostEqual(self.total([(pattern, profile)]), plain + 7, delta=1e-6 * plain, msg=pattern)
        self.assertAlmostEqual(self.total([("edge-aggregation: *", profile)], fidelity="auto"), plain + 7, delta=1e-6 * plain)
        self.write("cluster.json", cluster(nodes=4, topology=self.FAT_TREE))
        cables = set(re.findall(r'tooltip="(edge-aggregation: [^"]+)"', self.simctl("show", "./cluster.json", "--dot").stdout))
        self.assertEqual(len(cables), 4)
        for total, right in zip(sorted(self.total([(cable, profile)]) for cable in cables), (plain, plain, plain + 7, plain + 7), strict=True):  # the ring crosses two
            self.assertAlmostEqual(total, right, delta=1e-6 * plain)

    def test_all_links_that_change_alike_are_another_link(self):
        half = [{"at_s": 0, "bandwidth": 2e7}]
        for schedule in ("s-sgd", "sgp"):
            every = self.total([("*", half)], node_links=[{"nodes": "0-3", "bandwidth_profile": half}], schedule=schedule)
            self.assertAlmostEqual(every, self.total(link={"bandwidth": 2e7, "latency": "1ms"}, schedule=schedule), delta=1e-9 * every)

    def test_the_first_pattern_counts(self):
        profile = [{"at_s": 0, "bandwidth": 1e7}]
        first = self.total([("edge-*", profile), ("*", [{"at_s": 0, "bandwidth": 1e6}])])
        self.assertAlmostEqual(first, self.total([("edge-*", profile)]), delta=1e-9)

    def test_simgrid_agrees(self):
        links = [("edge-aggregation: *", [{"at_s": 0.2, "bandwidth": 0}, {"at_s": 3.2, "bandwidth": 1e7}, {"at_s": 4, "bandwidth": 4e7}])]
        for schedule in ("s-sgd", "asgd"):
            self.assertAlmostEqual(self.total(links, "simgrid", schedule), self.total(links, "flow", schedule), delta=1e-5, msg=schedule)

    def test_simgrid_with_its_own_sharing_ends_outages(self):
        """A message that began in an outage would keep its rate; one of ad-psgd would let the others train for ever."""
        links = [("edge-aggregation: *", [{"at_s": 0.2, "bandwidth": 0}, {"at_s": 1.2, "bandwidth": 4e7}])]
        for schedule in ("s-sgd", "wfbp", "ad-psgd"):
            found = self.total(links, "simgrid", schedule, "--max-steps", "1000", model=None)
            if schedule != "ad-psgd":
                self.assertAlmostEqual(found / self.total(links, "flow", schedule), 1, delta=0.02, msg=schedule)

    def test_jobs_and_shrinking_runs_keep_the_links_of_the_whole_cluster(self):
        links = [{"link": "edge-aggregation: *", "bandwidth_profile": [{"at_s": 0, "bandwidth": 1e7}]}]
        its_cluster = {"format": "cluster/1", "name": "c", "nodes": 4, "link": {"bandwidth": 4e7, "latency": "1ms"}, "topology": self.FAT_TREE, "link_profiles": links}
        jobs = [{"name": "a", "nodes": "0-1"}, {"name": "b", "nodes": "2-3"}]
        row = self.points(scenario(cluster=its_cluster, schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 4}, jobs=jobs))[0]
        for job in row["jobs"]:  # each below its own switch
            self.assertAlmostEqual(4 * job["iteration_s"], self.total(nodes=2), delta=1e-6)
        run = {"steps": 1000, "failures": {"mtbf_per_gpu_h": 10}, "policy": {"name": "shrink", "min_nodes": 2}}
        done = self.run_scenario(scenario(cluster=its_cluster, schedule={"name": "s-sgd"}, run=run))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_refused(self):
        good = [{"at_s": 1, "bandwidth": 4e7}]
        place = "/cluster/link_profiles"
        regions = {"link": None, "regions": [{"name": name, "nodes": 1} for name in "ab"], "wan": [{"between": ["a", "b"], "rtt": 0.1, "bandwidth": 1e9}], "nodes": 2}
        fat_tree = {"topology": self.FAT_TREE}
        for links, more, message in (
                ([{"link": "spine-*", "bandwidth_profile": good}], fat_tree,
                 f'{place}/0/link: expected a link between switches of a fat-tree of 16 places such as "edge-aggregation: switch 31 - switch 23", or a pattern that some match, got "spine-*"'),
                ([{"link": "*", "bandwidth_profile": good}], {}, f'{place}/0/link: this star has no links between switches; use "node_links" for those of nodes'),
                ([{"link": "*", "bandwidth_profile": [{"at_s": 1, "bandwidth": 0}]}], fat_tree, f"{place}/0/bandwidth_profile: the last bandwidth is 0"),
                ([{"link": "*"}], fat_tree, f'{place}/0: the required key "bandwidth_profile" is missing'),
                ([{"bandwidth_profile": good}], fat_tree, f'{place}/0: the required key "link" is missing'),
                ([{"link": 3, "bandwidth_profile": good}], fat_tree, f"{place}/0/link: expected"),
                ([{"link": "*", "bandwidth_profile": good, "nodes": "1"}], fat_tree, f"{place}/0/nodes"),
                ([{"link": "*", "bandwidth_profile": good}], regions, f'{place}: a cluster with regions has no switches; give the entries of "wan" a "bandwidth_profile"')):
            with self.subTest(message):
                its_cluster = {key: value for key, value in cluster(**({"nodes": 4, "link_profiles": links} | more)).items() if value is not None}
                done = self.run_scenario(scenario(cluster=its_cluster, schedule={"name": "s-sgd"}))
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)


class Contests(Case):
    def test_no_winner_is_called_if_an_event_meets_only_some_windows(self):
        """An outage that ends before the slower schedule's window opens makes the faster one's mean longer: its loser would come first."""
        schedules = {"sweep": {"/schedule": [{"name": "wfbp"}, {"name": "s-sgd"}]}, "iterations": {"warmup": 20, "measured": 10}, "fidelity": "flow"}
        plain = self.results(scenario(**schedules))
        fast, slow = (point["iteration_s"] for point in plain["points"])
        self.assertIn("wfbp is fastest", plain["answer"][0])
        begin = 20 * fast + 0.3 * 20 * (slow - fast)
        for events in ({"cluster": cluster(node_links=[{"nodes": "1", "bandwidth_profile": [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + 0.3 * 20 * (slow - fast), "bandwidth": 1e6}]}])},
                       {"workers": {"events": [{"kind": "pause", "rank": 1, "at_s": begin, "for_s": 0.4 * 20 * (slow - fast)}]}}):
            found = self.results(scenario(**schedules, **events))
            self.assertEqual([len(point.get("events_outside_window", [])) for point in found["points"]], [0, 1], found["points"])
            self.assertIn("cannot be told apart", found["answer"][0])
            self.assertTrue(any("their windows meet other events, so that their means are not compared" in note for note in found["notes"]), found["notes"])
        # Of several values only those that hold in no part of the window are missed.
        whole = [{"at_s": 0.001, "bandwidth": 1.2e9}, {"at_s": begin, "bandwidth": 0}, {"at_s": begin + 0.3 * 20 * (slow - fast), "bandwidth": 1e6}, {"at_s": 1e6, "bandwidth": 2e6}]
        found = self.results(scenario(**schedules, cluster=cluster(node_links=[{"nodes": "1", "bandwidth_profile": whole}])))
        self.assertIn("cannot be told apart", found["answer"][0])
        self.assertEqual([[event["count"] for event in point["events_outside_window"]] for point in found["points"]], [[1], [3]])
        lasting = self.results(scenario(**schedules, cluster=cluster(node_links=[{"nodes": "1", "bandwidth_profile": [{"at_s": 0, "bandwidth": 1e7}]}])))
        self.assertTrue(all("events_outside_window" not in point for point in lasting["points"]))
        # Links between regions change, too.
        far = {"link": {"bandwidth": "1Gbps", "latency": "50us"}, "regions": [{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}]}
        wan = {"between": ["a", "b"], "rtt": "1ms", "bandwidth": "1Gbps"}
        plain = self.results(scenario(**schedules, cluster=cluster(**far, wan=[wan])))
        fast, slow = (point["iteration_s"] for point in plain["points"])
        begin = 20 * fast + 0.3 * 20 * (slow - fast)
        outage = [{"at_s": begin, "bandwidth": 0}, {"at_s": begin + 0.3 * 20 * (slow - fast), "bandwidth": "1Gbps"}]
        self.assertIn("cannot be told apart", self.results(scenario(**schedules, cluster=cluster(**far, wan=[wan | {"bandwidth_profile": outage}])))["answer"][0])
        # Where all windows meet it, they are compared.
        self.assertIn("is fastest", self.results(scenario(**(schedules | {"iterations": {"warmup": 0, "measured": 30}}), **events))["answer"][0])


class MeasuredPoints(Case):
    def exposed(self, fit, nodes=8, **more):
        self.write("trace.json", trace(gradients=[{"name": "l0.w", "layer": "l0", "bytes": 1000000}]))
        done = self.run_scenario(scenario(cluster=cluster(nodes=nodes, fit=fit), schedule={"name": "sync-easgd"}, **more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(self.rows()[0]["exposed_communication_s"])

    def test_an_all_reduce_takes_what_was_measured(self):
        points = {"nodes": 8, "algorithm": "ring", "points": [[1000, 1e-3], [500000, 2e-3], [1500000, 8e-3]]}
        self.assertAlmostEqual(self.exposed(points), 5e-3, delta=1e-12)
        # Over 16 ranks twice as many bytes have messages that large, and there are 15/7 as many.
        self.assertAlmostEqual(self.exposed(points, nodes=16), 15 / 7 * 2e-3, delta=1e-12)
        self.assertAlmostEqual(self.exposed(points, nodes=2), (8e-3 + (4 - 1.5) * 6e-3) / 7, delta=1e-12)

    def test_two_points_are_their_line(self):
        line = {"nodes": 8, "algorithm": "ring", "a_s": 1e-3, "b_s_per_B": 2e-9}
        points = {"nodes": 8, "algorithm": "ring", "points": [[500000, 2e-3], [2500000, 6e-3]]}
        for nodes in (8, 12):
            for algorithm in ("ring", "binary-tree"):
                two, one = (self.exposed(fit, nodes=nodes, all_reduce=algorithm) for fit in (points, line))
                self.assertAlmostEqual(two, one, delta=1e-12)


if __name__ == "__main__":
    unittest.main()
