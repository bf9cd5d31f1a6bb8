"""Do named cases, servers per node and nodes spread over regions say what their long forms say?"""
import json
import unittest

from support import ROOT, Case, cluster, scenario

NETWORKS = {"slow ring": {"/cluster/link/bandwidth": "1Gbps", "/all_reduce": "ring"}, "tree": {"/all_reduce": "binary-tree"}, "plain": {}}
WAN = [{"between": ["a", "b"], "rtt": "50ms", "bandwidth": "1Gbps"}, {"between": ["a", "c"], "rtt": "90ms", "bandwidth": "500Mbps"}, {"between": ["b", "c"], "rtt": "70ms", "bandwidth": "700Mbps"}]


def far(count, **of_regions):
    return cluster(nodes=count, regions=[{"name": name} | {key: values[name] for key, values in of_regions.items()} for name in "abc"], wan=WAN)


class RefusingCase(Case):
    def assert_refused(self, content, message):
        done = self.run_scenario(content)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(message, done.stderr)


class Cases(RefusingCase):
    def test_a_case_sets_all_of_its_keys(self):
        content = scenario(sweep={"/network": NETWORKS, "/cluster/nodes": [2, 4]})
        points = self.results(content)["points"]
        self.assertEqual([point["sweep"] for point in points], [{"/network": name, "/cluster/nodes": nodes} for name in NETWORKS for nodes in (2, 4)])
        for point in points:
            written = scenario(cluster=cluster(nodes=point["nodes"]))
            for pointer, value in NETWORKS[point["sweep"]["/network"]].items():
                place = written
                *way, last = pointer[1:].split("/")
                for key in way:
                    place = place[key]
                place[last] = value
            (alone,) = self.results(written)["points"]
            with self.subTest(point["sweep"]):
                self.assertEqual(point["iteration_s"], alone["iteration_s"])
                self.assertEqual(point["all_reduce"], alone["all_reduce"])

    def test_tables_and_the_answer_name_the_case(self):
        done = self.run_scenario(scenario(sweep={"/network": NETWORKS, "/schedule/name": ["s-sgd", "wfbp"]}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^slow ring +\*?\d")
        self.assertIn("(network ", done.stdout)

    def test_points_that_differ_in_an_unused_all_reduce_have_one_result(self):
        """Simulated once or, where files of both are wanted, twice. Other swept values still count."""
        sweep = {"/all_reduce": ["ring", "binary-tree"], "/seed": [1, 2], "/schedule/name": ["asgd", "wfbp"]}
        content = scenario(sweep=sweep, workers={"jitter": {"distribution": "uniform", "cv": 0.2}}, iterations={"warmup": 0, "measured": 8})
        once = self.results(content)["points"]
        for more in (("--timeline", "0,4"), ("--timeline", "4"), ("--max-steps", "1000")):
            self.assertEqual(self.run_scenario(content, *more, "--force", out="out").returncode, 0)
            points = json.loads((self.folder / "out/results.json").read_text())["points"]
            self.assertEqual([point["iteration_s"] for point in points], [point["iteration_s"] for point in once], more)
        times = {(point["sweep"]["/all_reduce"], point["sweep"]["/seed"], point["schedule"]): point["iteration_s"] for point in once}
        self.assertEqual(len(times), 8)
        for seed in (1, 2):
            self.assertEqual(times["ring", seed, "asgd"], times["binary-tree", seed, "asgd"])
        self.assertNotEqual(times["ring", 1, "asgd"], times["ring", 2, "asgd"])
        self.assertNotEqual(times["ring", 1, "wfbp"], times["binary-tree", 1, "wfbp"])
        failed = self.run_scenario(content, "--max-steps", "1", out="none")
        self.assertEqual(failed.stderr.count("over the limit of 1"), 8, failed.stderr)

    def test_an_all_reduce_that_one_of_several_jobs_uses_counts(self):
        jobs = [{"name": "a", "nodes": "0-1", "schedule": {"name": "ps-sgd"}}, {"name": "b", "nodes": "2-5", "schedule": {"name": "s-sgd"}}]
        content = scenario(cluster=cluster(nodes=6), jobs=jobs, sweep={"/all_reduce": ["ring", "binary-tree"]}, iterations={"warmup": 0, "measured": 2})
        del content["schedule"]
        ring, tree = self.results(content)["points"]
        self.assertNotEqual(ring["jobs"][1]["iteration_s"], tree["jobs"][1]["iteration_s"])

    def test_null_removes_a_key(self):
        jitter = {"distribution": "lognormal", "cv": 0.5}
        plain, varied = (self.points(scenario(workers=workers))[0]["iteration_s"] for workers in ({}, {"jitter": jitter}))
        self.assertNotEqual(plain, varied)
        self.assertEqual(self.points(scenario(workers={"jitter": jitter}), "--set", "/workers/jitter=null")[0]["iteration_s"], plain)
        swept = self.points(scenario(sweep={"/workers/jitter": [None, jitter]}))
        self.assertEqual([point["iteration_s"] for point in swept], [plain, varied])
        fitted = cluster(fit={"nodes": 4, "algorithm": "ring", "a_s": 1, "b_s_per_B": 1e-9})
        self.write("c.json", fitted)
        one, other = (self.points(scenario(cluster="c.json"), *words)[0]["iteration_s"] for words in ((), ("--set", "/cluster/fit=null")))
        self.assertGreater(one, other + 1)
        done = self.run_scenario(scenario(), "--set", "/wrokers=null")
        self.assertEqual((done.returncode, done.stderr), (2, "simctl: --set /wrokers=null: there is no such key to remove\n"))
        self.assert_refused(scenario(sweep={"/cluster/nodes": [None, 4]}), "/cluster")

    def test_set_picks_a_case(self):
        content = scenario(sweep={"/network": NETWORKS})
        done = self.run_scenario(content, "--set", '/network="tree"', out="out")
        self.assertEqual(done.returncode, 0, done.stderr)
        (point,) = json.loads((self.folder / "out/results.json").read_text())["points"]
        self.assertEqual((point["sweep"], point["all_reduce"]), ({"/network": "tree"}, "binary-tree"))
        done = self.run_scenario(content, "--set", '/network="star"')
        self.assertEqual(done.returncode, 2)
        self.assertIn('the scenario sweeps named cases there; use one of "slow ring", "tree", "plain"', done.stderr)
        done = self.run_scenario(content, "--set", '/all_reduce="ring"')
        self.assertIn("the scenario sweeps /network, which would overwrite it; set /network instead", done.stderr)

    def test_shards_of_cases_are_merged(self):
        content = scenario(sweep={"/network": NETWORKS, "/cluster/nodes": [2, 4]})
        self.assertEqual(self.run_scenario(content, out="whole").returncode, 0)
        for shard in ("0/2", "1/2"):
            self.assertEqual(self.simctl("run", "scenario.json", "-o", f"part{shard[0]}", "--shard", shard).returncode, 0)
        done = self.simctl("merge", "part0", "part1", "-o", "merged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "merged/results.csv").read_text(), (self.folder / "whole/results.csv").read_text())

    def test_wrong_cases(self):
        for sweep, message in (
                ({"/network": {}}, "/sweep/~1network: expected at least one case"),
                ({"/schedule": {"name": "wfbp"}}, "/sweep/~1schedule: expected a list of values, or an object of named cases, such as "),
                ({"/network": {"a": {"all_reduce": "ring"}}}, '/sweep/~1network/a/all_reduce: "all_reduce" is not a JSON pointer'),
                ({"/network": {"a": {"/sweep": []}}}, "/sweep/~1network/a/~1sweep: this key cannot be swept"),
                ({"network": {"a": {}}}, '/sweep/network: "network" is not a JSON pointer'),
                ({"/network": {"a": {"/cluster/nodes": 2}}, "/cluster/nodes": [4]}, "/sweep/~1cluster~1nodes: it sets /cluster/nodes, which /network sets, too; keep one of them"),
                ({"/network": {"a": {"/cluster/nodes": 0}}}, "/cluster/nodes: expected an integer >= 1"),
                ({"/network": {"a": {"/cluster/nodes": 2}, "b": {"/cluster/nodes": -2}}}, '/cluster/nodes: expected an integer >= 1, got -2 (in point 1: /network="b")')):
            with self.subTest(sweep):
                self.assert_refused(scenario(sweep=sweep), message)


class Servers(RefusingCase):
    def test_a_share_of_the_nodes_is_rounded_and_at_least_one(self):
        for servers, nodes, count in (("nodes", 6, 6), ({"share": 0.25}, 8, 2), ({"share": 0.25}, 2, 1), ({"share": 0.3}, 5, 2), ({"share": 1}, 3, 3)):
            for name in ("asgd", "downpour", "ssd-sgd", "p3", "bytescheduler"):
                schedule = {"name": name} | {"downpour": {"interval": 2}, "ssd-sgd": {"delay": 2}, "bytescheduler": {"over": "servers"}}.get(name, {})
                with self.subTest(servers=servers, nodes=nodes, schedule=name):
                    content = scenario(cluster=cluster(nodes=nodes))
                    short, long = (self.results(content | {"schedule": schedule | {"servers": value}})["points"][0] for value in (servers, count))
                    self.assertEqual((short["iteration_s"], short["servers"]), (long["iteration_s"], count))

    def test_servers_in_a_region(self):
        content = scenario(cluster=far(6, nodes={"a": 2, "b": 2, "c": 2}))
        short, long = (self.results(content | {"schedule": {"name": "ps-sgd", "servers": value}})["points"][0]
                       for value in ({"share": 0.5, "region": "b"}, {"count": 3, "region": "b"}))
        self.assertEqual(short["iteration_s"], long["iteration_s"])

    def test_wrong_servers(self):
        for servers, message in (("node", '/schedule/servers: expected an integer >= 1, "nodes", or an object such as {"share": 0.25}, got "node"'), ({"share": 0}, "/schedule/servers/share: expected a number > 0, got 0"),
                                 ({"share": 1.5}, "/schedule/servers/share: expected a number <= 1, got 1.5"), ({"share": 0.5, "count": 2}, 'the number is the "share" of the nodes'),
                                 ({"share": 0.5, "region": "a"}, "the cluster has no regions"), ({}, 'the required key "count" is missing'), (9, "9 servers for 4 nodes")):
            with self.subTest(servers):
                self.assert_refused(scenario(schedule={"name": "asgd", "servers": servers}), message)

    def test_servers_that_are_alike_are_simulated_as_one(self):
        """Every message by itself (--no-symmetry) beside those of a region, or of a star, as one flow; also where links limit clients."""
        clusters = [far(7, share={"a": 0.5, "b": 0.3, "c": 0.2}), cluster(nodes=5), cluster(nodes=6, link={"bandwidth": "1Gbps", "latency": "10us"}), far(5, node_uplink=dict.fromkeys("abc", {"bandwidth": "200Mbps"}))]
        for number, network in enumerate(clusters):
            for schedule in ({"name": "asgd"}, {"name": "ssd-sgd", "delay": 3}, {"name": "downpour", "interval": 3}, {"name": "ps-sgd", "in_flight": "pipelined"}):
                with self.subTest(cluster=number, schedule=schedule["name"]):
                    content = scenario(cluster=network, fidelity="flow", schedule=schedule | {"servers": {"share": 0.8}}, workers={"jitter": {"distribution": "lognormal", "cv": 0.1}},
                                       iterations={"warmup": 1, "measured": 12})
                    seconds = []
                    for out, words in (("joined", []), ("apart", ["--no-symmetry"])):
                        self.assertEqual(self.run_scenario(content, *words, out=out).returncode, 0)
                        seconds.append(json.loads((self.folder / out / "results.json").read_text())["points"][0]["iteration_s"])
                    self.assertAlmostEqual(seconds[0] / seconds[1], 1, delta=1e-9)


class Regions(RefusingCase):
    def test_nodes_are_spread_evenly_or_by_shares(self):
        for nodes, shares, spread in ((3, None, (1, 1, 1)), (8, None, (3, 3, 2)), (9, None, (3, 3, 3)), (10, {"a": 0.5, "b": 0.3, "c": 0.2}, (5, 3, 2)), (4, {"a": 0.8, "b": 0.1, "c": 0.1}, (2, 1, 1)),
                                      (20, {"a": 0.05, "b": 0.05, "c": 0.9}, (1, 1, 18))):
            with self.subTest(nodes=nodes, shares=shares):
                short, long = (self.results(scenario(cluster=content))["points"][0]["iteration_s"]
                               for content in (far(nodes, **({"share": shares} if shares else {})), far(nodes, nodes=dict(zip("abc", spread)))))
                self.assertEqual(short, long)

    def test_the_nodes_can_be_swept(self):
        points = self.results(scenario(cluster=far(3), sweep={"/cluster/nodes": [3, 4, 12]}))["points"]
        self.assertEqual([point["nodes"] for point in points], [3, 4, 12])

    def test_wrong_regions(self):
        for content, message in (
                (far(2), "/regions: 2 nodes for 3 regions: each needs one; use at least 3, or fewer regions"),
                (far(6, share={"a": 0.5, "b": 0.3, "c": 0.3}), "/regions: the regions' shares add up to 1.1, not to 1; change them"),
                (cluster(nodes=6, regions=[{"name": "a", "share": 1}, {"name": "b"}], wan=WAN[:1]), 'some regions have a "share" of the nodes and others not'),
                (cluster(nodes=6, regions=[{"name": "a", "nodes": 3}, {"name": "b"}], wan=WAN[:1]), 'some regions have a number of "nodes" and others not'),
                (cluster(nodes=6, regions=[{"name": "a", "nodes": 3, "share": 0.5}, {"name": "b"}], wan=WAN[:1]), '/regions/0/share: the region has a number of "nodes" already'),
                (cluster(nodes=6, regions=[{"name": "a", "share": -1}, {"name": "b"}], wan=WAN[:1]), "/regions/0/share: expected a number > 0, got -1")):
            with self.subTest(message):
                self.assert_refused(scenario(cluster=content), message)


class Delayed(Case):
    def test_dts_whose_collectives_do_not_overlap_takes_the_recurrence(self):
        """With a delay up to the period one channel is enough; "in_flight" says nothing then."""
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
        for delay, period in ((1, 1), (2, 3), (4, 4), (0, 2)):
            for network in (cluster(nodes=5), far(6)):
                both = [self.results(scenario(cluster=network, workers=jitter, fidelity="per-message", schedule={"name": "dts", "delay": delay, "period": period, "in_flight": how}))["points"][0]["iteration_s"]
                        for how in ("pipelined", "serial")]
                self.assertAlmostEqual(both[0] / both[1], 1, delta=1e-12)


class Mission(Case):
    def test_the_mission_has_every_point(self):
        done = self.simctl("check", ROOT / "scenarios/mission.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("210 points", done.stdout)
        done = self.simctl("run", ROOT / "scenarios/mission.json", "--set", "/sweep/~1cluster~1nodes=[4]", "-o", self.folder / "out", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads((self.folder / "out/results.json").read_text())["points"]), 21)


if __name__ == "__main__":
    unittest.main()
