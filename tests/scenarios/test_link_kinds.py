"""Do links of a kind have the bandwidth that published benchmarks got, and do results say how far these differ?"""
import collections
import csv
import json
import math
import pathlib
import re
import statistics
import unittest

from support import Case, cluster, scenario, trace

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "scenarios/clusters/runs/link-efficiencies.csv"
SHARES = ("low", "median", "high")


def published():
    """By kind and about nominal Gb/s ("any": all of the kind): the shares of the nominal bandwidth."""
    found = collections.defaultdict(list)
    with open(TABLE, newline="") as text:
        for row in csv.DictReader(line for line in text if not line.startswith("#")):
            gbps = 8 * float(row["nominal_GBps"])
            speed = "any" if row["kind"] != "ethernet-tcp" else min((10, 30, 100), key=lambda near: abs(math.log(near / gbps)))
            found[row["kind"], str(speed)].append(float(row["busbw_GBps"]) / float(row["nominal_GBps"]))
    return found


def quartiles(shares):
    return statistics.quantiles(shares, n=4, method="inclusive") if len(shares) > 1 else 3 * shares


class LinkKinds(Case):
    def link(self, **keys):
        """(what gets through in GB/s, notes)"""
        done = self.run_scenario(scenario(cluster=cluster(nodes=2, link={"latency": 0} | keys), schedule={"name": "s-sgd"}, fidelity="per-message"), "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        links = json.loads((self.folder / "out" / "results.json").read_text())["points"][0]["links"]
        return links[0]["bandwidth_Bps"] / 1e9, done.stdout

    def table(self):
        lines = self.simctl("list", "link-kinds", "--markdown").stdout.splitlines()[2:]
        rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
        return {(kind, speed): (int(results), [float(share) for share in shares]) for kind, speed, results, *shares, _ in rows}

    def test_quartiles_of_what_is_published(self):
        expected, table = published(), self.table()
        self.assertEqual(table.keys(), expected.keys())
        page = (ROOT / "scenarios/CLUSTERS.md").read_text().replace("`", "")
        self.assertIn(self.simctl("list", "link-kinds", "--markdown").stdout.replace("`", "").strip(), page)
        for key, shares in expected.items():
            wanted = quartiles(shares)
            self.assertEqual(table[key][0], len(shares), key)
            for mine, theirs in zip(table[key][1], wanted):
                self.assertAlmostEqual(mine, theirs, delta=1.1e-3, msg=key)

    def test_what_gets_through(self):
        table = self.table()
        for name, index in (*zip(SHARES, range(3)), (None, 1)):
            keys = {} if name is None else {"efficiency": name}
            for kind in ("infiniband", "pcie4"):
                self.assertAlmostEqual(self.link(kind=kind, bandwidth="100Gbps", **keys)[0], 12.5 * table[kind, "any"][1][index], places=9)
            slow, middle, fast = (float(gbps) / 8 * table["ethernet-tcp", gbps][1][index] for gbps in ("10", "30", "100"))
            for gbps, through in ((1, slow / 10), (10, slow), (20, (slow + middle) / 2), (30, middle), (65, (middle + fast) / 2), (400, fast)):
                self.assertAlmostEqual(self.link(kind="ethernet-tcp", bandwidth=f"{gbps}Gbps", **keys)[0], through, places=9)
        self.assertAlmostEqual(self.link(kind="infiniband", bandwidth="100Gbps", efficiency=0.5)[0], 6.25, places=9)

    def iteration(self, *options):
        done = self.simctl("run", "scenario.json", "--quiet", "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        points = json.loads(done.stdout)["points"]
        fast, slow = points[0]["iteration_fast_s"], points[0]["iteration_slow_s"]
        return points[0]["iteration_s"], None if fast is None and slow is None else {"fast_s": fast, "slow_s": slow}

    def test_range(self):
        """As long as with the shares of both quartiles, for few points whose links have usual shares."""
        link, inside = {"kind": "infiniband", "latency": "5us", "bandwidth": "10Gbps"}, {"kind": "pcie3", "latency": 0, "bandwidth": "15GBps"}
        for changes, links in (({"link": link}, ["link"]), ({"link": link, "gpus_per_node": 2, "intra_node": inside}, ["link", "intra_node"]),
                               ({"link": link | {"efficiency": 0.5}, "gpus_per_node": 2, "intra_node": inside}, ["intra_node"]),
                               ({"link": link, "node_links": [{"nodes": "1", "bandwidth_profile": [{"at_s": 0, "bandwidth": "5Gbps"}]}]}, ["link"])):
            for schedule in ({"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "ps-sgd"}):
                (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(**changes), schedule=schedule)))
                _, both = self.iteration()
                for end, share in (("fast_s", "high"), ("slow_s", "low")):
                    told, _ = self.iteration(*(word for name in links for word in ("--set", f'/cluster/{name}/efficiency="{share}"')))
                    self.assertAlmostEqual(both[end] / told, 1, places=9)
        for changes in ({"replicates": 2, "workers": {"jitter": {"distribution": "lognormal", "cv": 0.1}}}, {"sweep": {"/seed": list(range(13))}}):
            (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(link=link)) | changes))
            self.assertIsNone(self.iteration()[1])
        (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(link=link | {"efficiency": "high"}))))
        self.assertIsNone(self.iteration()[1])

    LINK = {"kind": "infiniband", "latency": "5us", "bandwidth": "10Gbps"}

    def test_range_of_two_swept_keys(self):
        """Two tables more, of what results.csv has."""
        sweep = {"/schedule/name": ["wfbp", "s-sgd"], "/cluster/nodes": [2, 4]}
        (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(link=self.LINK), sweep=sweep)))
        done = self.simctl("run", "scenario.json", "-o", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "out/results.csv", newline="") as text:
            rows = list(csv.DictReader(text))
        for which, column in (("faster", "iteration_fast_s"), ("slower", "iteration_slow_s")):
            table = re.search(rf"^iteration time over the {which} of usual networks, by /schedule/name\n(.*?)\n\n", done.stdout, re.M | re.S)[1]
            shown = {(column, cells[0]): cells[place] for cells in (re.split("  +", line.strip()) for line in table.splitlines()[2:])
                     for place, column in ((1, "wfbp"), (2, "s-sgd"))}
            for row in rows:
                value, unit = shown[row["/schedule/name"], row["/cluster/nodes"]].split()
                self.assertAlmostEqual(float(value) * {"s": 1, "ms": 1e-3}[unit] / float(row[column]), 1, delta=1e-3)
        done = self.simctl("run", "scenario.json", "--set", '/cluster/link/efficiency="low"')
        self.assertIn("iteration time, by /schedule/name", done.stdout)
        self.assertNotIn("usual networks", done.stdout)

    def test_estimates_count_the_range(self):
        """Three simulations of each of at most twelve points."""
        def steps(*words):
            (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(link=self.LINK), sweep={"/seed": [1]})))
            done = self.simctl("check", "scenario.json", "--format", "json", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["steps"]

        one = steps("--set", '/cluster/link/efficiency="low"')
        self.assertEqual(steps(), 3 * one)
        self.assertEqual(steps("--set", '/sweep={"/schedule/name":["wfbp","s-sgd"]}'), 6 * one)
        self.assertEqual(steps("--set", '/sweep={"/cluster/link/latency":["1us","2us","3us","4us","5us","6us","7us","8us","9us","10us","11us","12us","13us"]}'), 13 * one)

    def solved(self, *options):
        done = self.simctl("solve", "scenario.json", "--for", "/cluster/link/bandwidth", "--from", "1Gbps", "--to", "400Gbps", "--until", "efficiency >= 0.8", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_solve_over_usual_networks(self):
        """As when it is told the shares; a link whose kind has one share below some speed has a range beyond it."""
        shares = {"fast": "high", "slow": "low"}
        for link in (self.LINK, self.LINK | {"kind": "ethernet-tcp"}):
            sweep = {"/schedule/name": ["wfbp", "sync-easgd"]}
            (self.folder / "scenario.json").write_text(json.dumps(scenario(cluster=cluster(link=link), sweep=sweep)))
            points = json.loads(self.solved("--format", "json"))["points"]
            for end, share in shares.items():
                told = json.loads(self.solved("--format", "json", "--set", f'/cluster/link/efficiency="{share}"'))["points"]
                self.assertEqual([point[end] for point in points], [{key: point[key] for key in ("holds", "at")} for point in told])
                self.assertEqual([point["fast"] for point in told], [None, None])
            lines = self.solved().splitlines()
            self.assertRegex(lines[2], r"  usual networks$")
            for point in points:
                line = next(line for line in lines if line.startswith(point["sweep"]["/schedule/name"]))
                if point["fast"] == point["slow"]:
                    self.assertRegex(line, f"  {point['fast']['holds']}$")
                elif {point["fast"]["holds"], point["slow"]["holds"]} == {"from"}:
                    self.assertRegex(line, rf"  from {point['fast']['at']} to {point['slow']['at']}$")
                else:
                    self.assertRegex(line, "  fast: .*, slow: ")
        self.assertNotIn("usual networks", self.solved("--set", "/cluster/link/efficiency=0.9"))

    def test_advise_over_usual_networks(self):
        """The choice and the runner-up, as run has them."""
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        for link, price in ((self.LINK, None), (self.LINK, 3.0), (self.LINK | {"efficiency": 0.9}, None)):
            (self.folder / "cluster.json").write_text(json.dumps(cluster(link=link)))
            place = {"cluster": "cluster.json", "nodes": [2, 4]} | ({"price_per_node_hour": price} if price else {})
            (self.folder / "advice.json").write_text(json.dumps({
                "format": "advice/1", "trace": "trace.json", "clusters": [place], "schedules": ["wfbp", "mg-wfbp"], "target": {"samples": 1000000},
                "iterations": {"warmup": 1, "measured": 2}, "objective": "cost" if price else "time"}))
            done = self.simctl("advise", "advice.json", "-o", "out")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads((self.folder / "out/advice.json").read_text())
            known = [place for place, one in enumerate(result["candidates"]) if "iteration_fast_s" in one]
            if "efficiency" in link:
                self.assertEqual(known, [])
                self.assertNotIn("usual networks", done.stdout)
                continue
            self.assertEqual(sorted(known), sorted((result["choice"], result["runner_up"])))
            chosen = result["candidates"][result["choice"]]
            run = self.simctl("run", "out/choice.json", "--format", "json", "--quiet")
            (point,) = json.loads(run.stdout)["points"]
            for key in ("iteration_s", "iteration_fast_s", "iteration_slow_s"):
                self.assertAlmostEqual(chosen[key] / point[key], 1, places=9)
            whole = chosen["cost"] if price else chosen["hours"]
            ends = [f"{whole * chosen[key] / chosen['iteration_s']:.4g}" for key in ("iteration_fast_s", "iteration_slow_s")]
            self.assertRegex(done.stdout, rf"(?m)^take .*; over usual networks cost {ends[0]} to {ends[1]}$" if price else rf"(?m)^take .*; over usual networks {ends[0]} h to {ends[1]} h$")

    def test_notes(self):
        """A note wherever a kind counts; another one where GPUs are as good as ideal."""
        for keys, is_noted in (({"kind": "infiniband"}, True), ({"kind": "infiniband", "efficiency": "low"}, False), ({"kind": "infiniband", "efficiency": 0.9}, False),
                               ({}, False)):
            self.assertEqual("half of 16 published results for infiniband got 72% to 96%" in self.link(bandwidth="100Gbps", **keys)[1], is_noted)
        note = self.link(kind="ethernet-tcp", bandwidth="30Gbps")[1]
        self.assertIn("by 10 published results for ethernet-tcp, from 10 to 100 Gb/s, about 54% to 96% of the nominal bandwidth get through", note)
        alone = self.run_scenario(scenario(cluster=cluster(nodes=1, link={"kind": "efa", "latency": 0, "bandwidth": "1Gbps"})), "--force")
        self.assertNotIn("published results", alone.stdout)
        for bandwidth, workers, is_noted in (("400Gbps", {}, True), ("1Mbps", {}, False), ("400Gbps", {"jitter": {"distribution": "lognormal", "cv": 0.001}}, False)):
            done = self.run_scenario(scenario(cluster=cluster(nodes=2, link={"latency": 0, "bandwidth": bandwidth}), workers=workers), "--force")
            self.assertEqual("above 95% efficiency" in done.stdout, is_noted, done.stdout)

    def test_errors(self):
        link = {"latency": 0, "bandwidth": "10Gbps"}
        for keys, message in (({"kind": "infinband"}, '/cluster/link/kind: expected one of "efa", "ethernet-rdma", "ethernet-tcp"'), ({"kind": "infinband"}, 'did you mean "infiniband"?'),
                              ({"kind": 3}, "/cluster/link/kind: expected"), ({"kind": "efa", "efficiency": "best"}, '/cluster/link/efficiency: expected a number, or "low", "median" or "high"'),
                              ({"efficiency": "low"}, 'are those of a link\'s "kind", which it does not have; add it or use a number'),
                              ({"kind": "efa", "efficiency": 1.5}, "/cluster/link/efficiency: expected a number"), ({"kind": "efa", "efficiency": None}, "/cluster/link/efficiency"),
                              ({"kind": "efa", "efficiency": ["low"]}, '/cluster/link/efficiency: expected a number, or "low", "median" or "high"')):
            done = self.run_scenario(scenario(cluster=cluster(link=link | keys)))
            self.assertEqual(done.returncode, 3, keys)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
