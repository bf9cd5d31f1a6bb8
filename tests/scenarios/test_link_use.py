"""Do the counter tracks of links, and the picture of a network, agree with the report of links?"""
import itertools
import json
import re
import unittest

from support import Case, cluster, scenario

TOPOLOGIES = {  # and the levels that their links have
    "star": ("star", {"node"}),
    "fat-tree": ({"name": "fat-tree", "k": 4, "oversubscription": 2}, {"node", "edge-aggregation", "aggregation-core"}),
    "tree": ({"name": "tree", "arity": 2, "levels": 3}, {"node", "level 1-2", "level 2-3"}),
    "torus": ({"name": "torus", "dimensions": [2, 2, 2]}, {"dimension 1", "dimension 2", "dimension 3"}),
    "dragonfly": ({"name": "dragonfly", "groups": 2, "chassis": 2, "routers": 2, "nodes": 1}, {"node", "intra-chassis", "intra-group", "inter-group"})}
REGIONS = cluster(nodes=6, regions=[{"name": "a", "nodes": 4}, {"name": "b", "nodes": 2}],
                  wan=[{"between": ["a", "b"], "rtt": "10ms", "bandwidth": "2Gbps"}])
JITTER = {"jitter": {"distribution": "uniform", "cv": 0.2}}
NODES_OF_TWO = {"gpus_per_node": 2, "intra_node": {"bandwidth": "1GBps", "latency": "5us"}}


def on(topology, **changes):
    return cluster(**{"nodes": 8, "topology": TOPOLOGIES[topology][0]} | changes)


class LinkUse(Case):
    def run_points(self, content, *arguments):
        """Of each: what the sweep makes of it, the links of the report, the timeline."""
        done = self.run_scenario(content, "--timeline", "--quiet", *arguments)
        self.assertEqual((done.returncode, done.stderr.count("the timelines take")), (0, done.stderr.count("\n")), done.stderr)
        points = json.loads((self.folder / "out/results.json").read_text())["points"]
        return [(point["sweep"], point.get("links", []), json.loads((self.folder / f"out/timeline-{point['point']}.json").read_text())) for point in points]

    def run_point(self, content, *arguments):
        (_, links, timeline), = self.run_points(content, *arguments)
        return links, timeline

    def tracks(self, timeline):
        """{name: (what it counts, [(seconds, value)])} of the process of links."""
        process = {e["args"]["name"]: e["pid"] for e in timeline["traceEvents"] if e["name"] == "process_name"}.get("busiest links")
        found = {}
        for event in timeline["traceEvents"]:
            if event["ph"] == "C":
                self.assertEqual(event["pid"], process)
                (unit, value), = event["args"].items()
                its_unit, changes = found.setdefault(event["name"], (unit, []))
                self.assertEqual(unit, its_unit)
                changes.append((event["ts"] / 1e6, value))
        return found

    def assert_tracks_are_the_report(self, links, timeline, is_limited=False):
        """Over the measured window, what a track says is what the report says; every reported link has a track, or is as busy as one that has.

        `is_limited`: what is spread evenly over the time of a message may exceed the link, and then counts later.
        """
        tracks = self.tracks(timeline)
        begin, end = (timeline["otherData"][f"window_{edge}_s"] for edge in ("open", "close"))
        reported = {link["name"]: link for link in links}
        self.assertTrue(tracks)
        self.assert_tracks_are_the_table(tracks, timeline["links"])
        # The report counts what the window's edges cut of a collective pro rata, also where it knows the messages: at most so many of an iteration.
        steps = sum(event.get("cat") == "step" and event["pid"] == 1 and begin - 1e-9 < event["ts"] / 1e6 < end - 1e-9 for event in timeline["traceEvents"])
        cut = 2 / steps if is_limited or any(event.get("cat") == "message" for event in timeline["traceEvents"]) else 1e-8
        carried = []
        for name, (unit, changes) in tracks.items():
            link = reported[name.removesuffix(" and others alike")]
            self.assertEqual(unit, f"% of {link['bandwidth_Bps'] * 8 / 1e9:.4g} Gb/s")
            self.assertEqual(changes, sorted(changes, key=lambda change: change[0]))
            self.assertTrue(all(before != after for (_, before), (_, after) in itertools.pairwise(changes)))
            self.assertTrue(all(value >= 0 for _, value in changes))
            ends = [time for time, _ in changes[1:]] + [end]
            area = sum(value * max(0.0, min(until, end) - max(time, begin)) for (time, value), until in zip(changes, ends))
            carried.append(area / 100 * link["bandwidth_Bps"])
            # A change moves by half a nanosecond at most, and nine digits of it are written.
            rounding = sum(5e-10 * value for _, value in changes) * 2 / 100 * link["bandwidth_Bps"]
            self.assertAlmostEqual(carried[-1], link["bytes"], delta=rounding + cut * link["bytes"])
        for link in links:
            self.assertLess(min(abs(one / link["bytes"] - 1) for one in carried), max(1e-4, cut), link["name"])

    def assert_tracks_are_the_table(self, tracks, table):
        """Of every stretch of the table, the mean of a track is what the table says of its link, which has one decimal."""
        start, length = table["from_us"] / 1e6, (table["to_us"] - table["from_us"]) / 1e6 / table["stretches"]
        stretches = {link["name"]: [value for value, count in zip(use["percent"][::2], use["percent"][1::2]) for _ in range(count)]
                     for use in table["use"] for link in use["links"]}
        for name, (_, changes) in tracks.items():
            areas, jumps = [0.0] * table["stretches"], [0.0] * table["stretches"]
            for (time, value), (until, _) in itertools.pairwise([*changes, (table["to_us"] / 1e6, 0)]):
                for stretch in range(max(0, int((time - start) / length)), min(table["stretches"], int((until - start) / length) + 1)):
                    areas[stretch] += value * max(0.0, min(until, start + (stretch + 1) * length) - max(time, start + stretch * length))
                    jumps[stretch] += 2e-9 * value
            for stretch, (area, jump, mean) in enumerate(zip(areas, jumps, stretches[name.removesuffix(" and others alike")])):
                self.assertAlmostEqual(area / length, mean, delta=0.051 + jump / length, msg=f"{name}, stretch {stretch}")

    def test_collectives_on_every_topology(self):
        sweep = {"/cluster": [on(topology) for topology in TOPOLOGIES], "/fidelity": ["per-message", "flow"], "/schedule/name": ["wfbp", "s-sgd"]}
        for swept, links, timeline in self.run_points(scenario(workers=JITTER, sweep=sweep)):
            with self.subTest(swept):
                self.assert_tracks_are_the_report(links, timeline)

    def test_what_overlaps_and_what_the_window_cuts(self):
        slow = {"link": {"bandwidth": "1Gbps", "latency": "5ms"}}
        for content in (scenario(cluster=cluster(**slow), schedule={"name": "dts", "delay": 4, "period": 1}),
                        scenario(cluster=on("fat-tree", **slow), schedule={"name": "dts", "delay": 4, "period": 1}, fidelity="flow"),
                        scenario(cluster=on("tree"), channels=3, fidelity="flow"),
                        scenario(cluster=cluster(), schedule={"name": "lasgd", "tau_max": 3}, iterations={"measured": 12}),
                        scenario(cluster=cluster(**NODES_OF_TWO), all_reduce="ring"),
                        scenario(cluster=REGIONS), scenario(cluster=REGIONS, fidelity="flow")):
            for swept, links, timeline in self.run_points(content | {"sweep": {"/workers": [{}, JITTER]}}):
                with self.subTest(content=content, workers=swept):
                    self.assert_tracks_are_the_report(links, timeline)

    def test_messages_with_servers_and_peers(self):
        schedules = [{"name": "ps-sgd", "servers": 2}, {"name": "ps-sgd", "servers": 4, "colocated": True}, {"name": "asgd", "servers": 1},
                     {"name": "ssd-sgd", "delay": 3}, {"name": "sgp"}, {"name": "ad-psgd"}]
        for fidelity, clusters in (("per-message", [cluster(), cluster(**NODES_OF_TWO)]), ("flow", [on("tree", nodes=4)])):
            sweep = {"/schedule": schedules, "/cluster": clusters, "/workers": [{}, JITTER]}
            for swept, links, timeline in self.run_points(scenario(fidelity=fidelity, iterations={"warmup": 2, "measured": 6}, sweep=sweep)):
                with self.subTest(swept, fidelity=fidelity):
                    self.assert_tracks_are_the_report(links, timeline, fidelity == "flow")

    def test_a_full_link_stands_at_its_bandwidth(self):
        """wfbp without latency: three all-reduces follow one another from 5 ms on, 1.5 x (1 + 2 + 3) MB over every link at 10 Gb/s."""
        without_latency = cluster(link={"bandwidth": "10Gbps", "latency": "0s"})
        _, timeline = self.run_point(scenario(cluster=without_latency, iterations={"warmup": 0, "measured": 1}))
        (name, (unit, changes)), = self.tracks(timeline).items()
        self.assertEqual((name, unit), ("node-0 up and others alike", "% of 10 Gb/s"))
        self.assertEqual([value for _, value in changes[:3]], [0, 100, 0])
        for (time, _), expected in zip(changes, (0, 0.005, 0.005 + 1.5 * 6e6 / 1.25e9)):
            self.assertAlmostEqual(time, expected, delta=2e-9)

    def test_iterations_are_cut_out(self):
        content = scenario(cluster=on("fat-tree"), workers=JITTER, iterations={"warmup": 2, "measured": 5})
        _, whole = self.run_point(content)
        _, part = self.run_point(content, "--iterations", "2-3")
        steps = [e for e in part["traceEvents"] if e.get("cat") == "step"]
        begin, end = min(e["ts"] for e in steps) / 1e6, max(e["ts"] + e["dur"] for e in steps) / 1e6
        self.assertEqual(set(self.tracks(part)), set(self.tracks(whole)))
        for name, (_, changes) in self.tracks(whole).items():
            _, kept = self.tracks(part)[name]
            self.assertAlmostEqual(kept[0][0], begin, delta=2e-9)
            self.assertAlmostEqual(kept[-1][0], end, delta=2e-9)
            self.assertEqual((kept[0][1], kept[-1][1]), ([value for time, value in changes if time < begin + 1e-9][-1], 0))
            self.assertEqual(kept[1:-1], [change for change in changes if begin + 1e-9 < change[0] < end - 1e-9])

    def test_where_there_are_none(self):
        for content in (scenario(fidelity="alpha-beta"), scenario(cluster=cluster(nodes=65), schedule={"name": "asgd"}, workers=JITTER)):
            self.assertEqual(self.tracks(self.run_point(content)[1]), {})
        self.assertTrue(self.tracks(self.run_point(scenario(cluster=cluster(nodes=65), workers=JITTER))[1]))


class LinkNames(Case):
    def cables(self, content):
        """{name: (level, Gb/s, colour, places of its ends)} of a cluster's picture."""
        drawn = self.simctl("show", self.write("drawn.json", content), "--dot")
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        cables = re.findall(r'(\d+)--(\d+) \[tooltip="([^"]*)", label="([^"]*)\\n([\d.]+) Gb/s", color="(#\w+)"', drawn.stdout)
        self.assertEqual(len(cables), drawn.stdout.count("--"))
        return {name: (level, float(bandwidth), color, {a, b}) for a, b, name, level, bandwidth, color in cables}

    def reported(self, content, **more):
        """[(name, Gb/s)] of the busiest links of a run, over whatever links a large all-reduce in several algorithms takes."""
        points = self.points(scenario(cluster=content, sweep={"/all_reduce": ["ring", "recursive-doubling", "binary-tree"]}, **more))
        return [(link["name"], link["bandwidth_Bps"] * 8 / 1e9) for point in points for link in point["links"]]

    def test_the_picture_has_the_names_and_levels_of_the_report(self):
        for topology, (_, levels) in TOPOLOGIES.items():
            with self.subTest(topology):
                cables = self.cables(on(topology))
                self.assertEqual({level for level, *_ in cables.values()}, levels)
                self.assertEqual(len({(level, color) for level, _, color, _ in cables.values()}), len(levels))
                self.assertEqual(len({color for _, _, color, _ in cables.values()}), len(levels))
                for name, (level, *_) in cables.items():
                    self.assertRegex(name, rf"^{level}\b")
                for name, bandwidth in self.reported(on(topology)):
                    cable = re.sub(r" (up|down)$", "", name)
                    self.assertIn(cable, cables)
                    self.assertEqual(cables[cable][1], bandwidth)

    def test_levels_are_where_the_links_are(self):
        chassis, group = 2, 4      # routers
        by_numbers = {"tree": lambda a, b: "level 2-3" if a == 0 else "level 1-2",      # the root is 0, those below it 1 and 2
                      "torus": lambda a, b: f"dimension {1 + (1, 2, 4).index(b - a)}",
                      "dragonfly": lambda a, b: "intra-chassis" if a // chassis == b // chassis else "intra-group" if a // group == b // group else "inter-group"}
        for topology, level_of in by_numbers.items():
            for name, (level, *_) in self.cables(on(topology)).items():
                if level != "node":
                    self.assertEqual(level, level_of(*sorted(int(number) for number in re.findall(r"(?:switch|place|router) (\d+)", name))), name)
        cables = self.cables(on("fat-tree")).values()
        beside_nodes = set().union(*(places for level, _, _, places in cables if level == "node"))
        for level, _, _, places in cables:
            self.assertEqual(bool(places & beside_nodes), level != "aggregation-core")

    def test_regions(self):
        cables = self.cables(REGIONS)
        self.assertEqual({level for level, *_ in cables.values()}, {"node", "wan"})
        links = self.point(scenario(cluster=REGIONS))["links"]
        self.assertEqual({link["name"] for link in links} - {f"{name} {way}" for name in cables for way in ("up", "down")}, {"wan a-b", "wan b-a"})
        self.assertIn("wan a-b", cables)

    def test_a_picture_of_a_point_shows_how_much_its_cables_are_used(self):
        """The busier direction of every cable that the report lists; none of the others is busier than those."""
        for its, schedule, fidelity in ((on("fat-tree"), {"name": "wfbp"}, "flow"), (on("torus"), {"name": "s-sgd"}, "per-message"),
                                        (cluster(), {"name": "ps-sgd", "servers": 1, "colocated": False}, "per-message"), (REGIONS, {"name": "wfbp"}, "flow")):
            with self.subTest(cluster=its, schedule=schedule):
                links = self.point(scenario(cluster=its, schedule=schedule, fidelity=fidelity, workers=JITTER))["links"]
                drawn = self.simctl("explain", "scenario.json", "--format", "dot")
                self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
                found = re.findall(r'tooltip="([^"]*)", label="[^"]*\\n([^"%]*)%", color="#\w+", penwidth=([\d.]+)', drawn.stdout)
                self.assertEqual(len(found), drawn.stdout.count("--"))
                shown = {name: (float(percent), float(width)) for name, percent, width in found}
                busier = {}
                for link in links:  # the busiest first
                    name = "wan a-b" if link["name"] == "wan b-a" else re.sub(r" (up|down)$", "", link["name"])
                    busier.setdefault(name, 100 * link["utilisation"])
                for name, (percent, width) in shown.items():
                    if name in busier:
                        self.assertAlmostEqual(percent, busier[name], delta=5e-3 * percent)
                    else:
                        self.assertLessEqual(percent, min(busier.values()) * 1.005)
                    self.assertAlmostEqual(width, max(0.3, 8 * percent / 100), delta=0.01 * width)
                self.assertLessEqual(set(busier), set(shown))

    def test_pictures_that_cannot_be_drawn(self):
        for content, arguments, code, message in (
                (scenario(fidelity="alpha-beta"), (), 4, "scenario.json: alpha-beta fidelity does not know what crosses which link; "
                 'use "fidelity": "per-message" or "flow"'),
                (scenario(cluster=cluster(nodes=513)), (), 4, "scenario.json: a picture of 513 nodes cannot be read; use at most 512"),
                (scenario(), ("--against", "0"), 2, "--format dot draws one point; leave --against out")):
            self.write("scenario.json", content)
            done = self.simctl("explain", "scenario.json", "--format", "dot", *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", f"simctl: {message}\n"))


if __name__ == "__main__":
    unittest.main()
