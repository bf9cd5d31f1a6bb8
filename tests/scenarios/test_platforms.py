"""Clusters that are SimGrid platforms: do they say what SimGrid says, are written clusters the clusters, and what is said of wrong files?"""
import itertools
import json
import re
import unittest

from support import Case, cluster, scenario, trace

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n<zone id="z" routing="{}">\n'
TAIL = "</zone>\n</platform>\n"
HOSTS = '<host id="a" speed="1Gf"/>\n<host id="b" speed="2Gf"/>\n<host id="c" speed="1Gf"/>\n'
LINK = '<link id="l" bandwidth="1GBps" latency="1us"/>\n'
SCHEDULES = [{"name": "s-sgd"}, {"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "dts", "delay": 2}, {"name": "sasgd", "interval": 3}, {"name": "local-sgd", "interval": 2},
             {"name": "fsdp"}, {"name": "zero"}, {"name": "dear"}, {"name": "bytescheduler"}, {"name": "sgp"}, {"name": "d-psgd"}, {"name": "ad-psgd"},
             {"name": "diloco", "interval": 3}]
OVER_SERVERS = [{"name": "ps-sgd", "servers": 2}, {"name": "asgd", "servers": 2, "colocated": True}, {"name": "dc-asgd"}, {"name": "p3"},
                {"name": "ssd-sgd", "delay": 3, "servers": 2, "pulls": "requested"}, {"name": "downpour", "interval": 2}, {"name": "eamsgd", "interval": 2}]
SMALL = {"bandwidth": "10Gbps", "latency": "37us"}


def route(source, target, link="l", more=""):
    return f'<route src="{source}" dst="{target}"{more}><link_ctn id="{link}"/></route>\n'


FULL = route("a", "b") + route("b", "c") + route("a", "c")


def zone(*parts, routing="Full"):
    return HEAD.format(routing) + "".join(parts) + TAIL


def on_platform(**changes):
    return {"format": "cluster/1", "name": "small", "platform": "room.xml", "nodes": 3, **changes}


def pods():
    """Two pods of two hosts behind an uplink each; d's cable is shared by both directions, the core is as fast for every message."""
    cables = "".join(f'<link id="cable-{host}" bandwidth="{speed}GBps" latency="10us" sharing_policy="{policy}"/>\n'
                     for host, speed, policy in (("a", 1, "SPLITDUPLEX"), ("b", 1, "SPLITDUPLEX"), ("c", 1, "SPLITDUPLEX"), ("d", 0.5, "SHARED")))
    uplinks = "".join(f'<link id="up-{pod}" bandwidth="{speed}GBps" latency="20us" sharing_policy="SPLITDUPLEX"/>\n' for pod, speed in (("x", 1.5), ("y", 0.75)))
    core = '<link id="core" bandwidth="0.7GBps" latency="5us" sharing_policy="FATPIPE"/>\n'
    up = ' direction="UP"'
    ways = "".join(f'<route src="{host}" dst="{pod}"><link_ctn id="cable-{host}"{up if host != "d" else ""}/></route>\n' for host, pod in zip("abcd", "xxyy"))
    ways += "".join(f'<route src="{pod}" dst="m{pod}"><link_ctn id="up-{pod}"{up}/></route>\n' for pod in "xy") + route("mx", "my", "core")
    return zone("".join(f'<host id="{host}" speed="{speed}Gf"/>\n' for host, speed in zip("abcd", (2, 1, 2, 4))), "".join(f'<router id="{name}"/>\n' for name in ("x", "y", "mx", "my")),
                cables, uplinks, core, ways, routing="Floyd")


class OnPlatforms(Case):
    def use(self, xml, **changes):
        self.write("room.xml", xml)
        return on_platform(**changes)

    def seconds(self, content, **changes):
        return [point["iteration_s"] for point in self.results(scenario(cluster=content, **changes))["points"]]


class Known(OnPlatforms):
    """What can be worked out by hand, of a model of 6 MB."""

    def test_messages(self):
        """a and b: 20 us and 1 GB/s. a and c: 65 us, and 700 MB/s because of the core. a and d: 65 us, and 500 MB/s for both directions together."""
        one = {"schedule": {"name": "sync-easgd"}, "all_reduce": "recursive-doubling", "iterations": {"warmup": 0, "measured": 1}}
        compute = 0.009
        for nodes, latency, rate in ((["a", "b"], 20e-6, 1e9), (["a", "c"], 65e-6, 0.7e9), (["a", "d"], 65e-6, 0.25e9)):
            [seconds] = self.seconds(self.use(pods(), nodes=nodes), **one, fidelity="flow")
            self.assertAlmostEqual(seconds, compute + latency + 6e6 / rate, delta=1e-9, msg=nodes)

    def test_nodes_are_numbers_names_or_a_pattern(self):
        for nodes, right in ((2, ["a", "b"]), (["d", "a"], ["d", "a"]), ("[cd]", ["c", "d"]), ("*", ["a", "b", "c", "d"])):
            content = self.use(pods(), nodes=nodes)
            self.write("cluster.json", content)
            drawn = self.simctl("show", "./cluster.json", "--dot")
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            boxes = [line.split('"')[1] for line in drawn.stdout.splitlines() if "shape=box" in line]
            self.assertEqual(boxes, right)
            self.assertEqual([point["nodes"] for point in self.results(scenario(cluster=content))["points"]], [len(right)])
        swept = self.results(scenario(cluster=self.use(pods(), nodes=4), sweep={"/cluster/nodes": [2, 4, ["a", "c"]]}))["points"]
        self.assertEqual([point["nodes"] for point in swept], [2, 4, 2])

    def test_chosen_hosts_stay_chosen(self):
        """By whatever says how many: a sweep, jobs, a run that shrinks, random places; the file's first host has no route."""
        alone = '<host id="alone" speed="1Gf"/>\n'
        xml = pods().replace('<host id="a"', alone + '<host id="a"', 1)
        self.write("room.xml", xml)
        [right] = self.seconds(on_platform(nodes=["c", "a"]))
        by_hosts = on_platform(hosts=["c", "a", "d"], nodes=2)
        self.assertEqual(self.seconds(by_hosts), [right])
        self.assertEqual(self.seconds(on_platform(hosts=["c", "a", "d"], nodes=3), sweep={"/cluster/nodes": [2]}), [right])
        jobs = [{"name": "x", "nodes": "0-1"}, {"name": "y", "nodes": "2-3"}]
        [point] = self.results(scenario(cluster=on_platform(nodes="[abcd]"), jobs=jobs))["points"]
        self.assertEqual(len(point["jobs"]), 2)
        run = {"hours": 10, "failures": {"mtbf_h": 50}, "checkpoint": {"interval_h": 1, "write_s": 10, "restart_s": 10}, "policy": {"name": "shrink", "min_nodes": 2}}
        shrunk = self.run_scenario(scenario(cluster=on_platform(nodes="[abcd]"), run=run))
        self.assertNotIn("alone", shrunk.stderr)
        drawn = {seconds for seed in range(6) for seconds in self.seconds(on_platform(nodes=["a", "b"], placement={"name": "random", "seed": seed}))}
        self.assertEqual(drawn, set(self.seconds(on_platform(nodes=["a", "b"]))))

    def test_a_link_that_a_route_crosses_twice(self):
        """Has half of its bandwidth for that message."""
        twice = '<route src="a" dst="b"><link_ctn id="l"/><link_ctn id="l"/></route>\n'
        one = {"schedule": {"name": "sync-easgd"}, "all_reduce": "recursive-doubling", "iterations": {"warmup": 0, "measured": 1}}
        for fidelity in ("flow", "per-message"):
            [seconds] = self.seconds(self.use(zone(HOSTS, LINK.replace("/>", ' sharing_policy="SPLITDUPLEX"/>'), twice.replace('"l"', '"l" direction="UP"')), nodes=2),
                                     fidelity=fidelity, **one)
            self.assertAlmostEqual(seconds, 0.009 + 2e-6 + 2 * 6e6 / 1e9, delta=1e-9, msg=fidelity)

    def test_files_of_one_name_in_two_folders(self):
        """A cluster file's is in its own folder, a scenario's in the scenario's."""
        self.write("room.xml", zone(HOSTS, LINK, FULL))
        (self.folder / "clusters").mkdir()
        self.write("clusters/room.xml", zone(HOSTS, LINK.replace("1GBps", "4GBps"), FULL))
        self.write("clusters/fast.json", on_platform())
        own = on_platform()
        swept = self.seconds(own, sweep={"/cluster": ["clusters/fast.json", own]})
        self.assertEqual(swept, [*self.seconds("clusters/fast.json"), *self.seconds(own)])
        self.assertLess(swept[0], swept[1])

    def test_many_platforms_in_one_study(self):
        """Only some have a process at a time."""
        for number in range(12):
            self.write(f"room{number}.xml", zone(HOSTS, LINK.replace("1GBps", f"{number + 1}GBps"), FULL))
        times = self.seconds(self.use(zone(HOSTS, LINK, FULL)), sweep={"/cluster/platform": [f"room{number}.xml" for number in range(12)]})
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(len(set(times)), 12)

    def test_links_with_the_names_of_directions(self):
        """x_UP and x_DOWN that are links of their own are no cable."""
        links = '<link id="x_UP" bandwidth="1GBps" latency="1us"/>\n<link id="x_DOWN" bandwidth="1GBps" latency="1us"/>\n'
        self.write("cluster.json", self.use(zone(HOSTS, links, route("a", "b", "x_UP"), route("b", "c", "x_DOWN"), route("a", "c", "x_UP"))))
        drawn = self.simctl("show", "./cluster.json", "--dot").stdout
        self.assertIn('tooltip="x_UP"', drawn)
        self.assertIn('tooltip="x_DOWN"', drawn)

    def test_hosts_on_one_bus_are_drawn_as_three(self):
        link = '<link id="l" bandwidth="1GBps" latency="1us"/>\n'
        self.write("cluster.json", self.use(zone(HOSTS, link, FULL)))
        drawn = self.simctl("show", "./cluster.json", "--dot").stdout
        self.assertEqual(re.findall(r'label="(\w+)", shape=box', drawn), ["a", "b", "c"])
        self.assertEqual(drawn.count('tooltip="l"'), 1)

    def test_neighbours_are_near(self):
        """A ring that leaves each pod once: two messages per step on the uplinks instead of four."""
        mixed = self.use(pods(), nodes=["a", "c", "b", "d"])
        for one in ({"schedule": {"name": "wfbp"}, "fidelity": "flow"}, {"schedule": {"name": "asgd", "colocated": True}}):
            near, right = self.seconds(mixed | {"placement": "nearest"}, **one), self.seconds(mixed | {"nodes": ["a", "b", "c", "d"]}, **one)
            self.assertEqual(near, right)
        self.assertLess(self.seconds(mixed | {"placement": "nearest"}, fidelity="flow")[0], self.seconds(mixed, fidelity="flow")[0])

    def test_hosts_have_speeds(self):
        """b computes half as fast as a, d twice as fast."""
        content = self.use(pods(), nodes=["a", "b", "d"], host_speeds=True)
        points = self.results(scenario(cluster=content, schedule={"name": "asgd", "colocated": True}, workers={"slow": [{"ranks": "2", "factor": 4}]}))["points"]
        written = self.results(scenario(cluster=content | {"host_speeds": False}, schedule={"name": "asgd", "colocated": True},
                                        workers={"slow": [{"ranks": "1", "factor": 2}, {"ranks": "2", "factor": 2}]}))["points"]
        self.assertEqual(points[0]["iteration_s"], written[0]["iteration_s"])

    def test_links_have_the_platforms_names(self):
        content = self.use(pods(), nodes=4)
        [point] = self.results(scenario(cluster=content, all_reduce="halving-doubling"))["points"]
        names = {link["name"] for link in point["links"]}
        self.assertIn("up-y_UP", names)
        self.assertIn("cable-d", names)
        self.assertNotIn("core", names)

    def test_timelines_name_hosts(self):
        content = self.use(pods(), nodes=4)
        done = self.run_scenario(scenario(cluster=content, workers={"slow": [{"ranks": "1", "factor": 1.5}]}), "--timeline")
        self.assertEqual(done.returncode, 0, done.stderr)
        timeline = json.loads((self.folder / "out/timeline-0.json").read_text())
        names = [event["args"]["name"] for event in timeline["traceEvents"] if event["name"] == "process_name"]
        self.assertEqual(names[:4], ["worker 0, a", "worker 1, b", "worker 2, c", "worker 3, d"])

    def test_a_faster_network_takes_less_time(self):
        """What explain answers is of the platform's links."""
        self.write("trace.json", trace())
        self.write("scenario.json", scenario(cluster=self.use(pods(), nodes=4)))
        done = self.simctl("explain", "scenario.json", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        saved = {(one["factor"], str(one["change"])): one["time_saved"] for one in json.loads(done.stdout)["what_if"]}
        self.assertTrue(any(factor == "link.bandwidth" and seconds > 0 for (factor, _), seconds in saved.items()), saved)
        self.assertTrue(any(factor == "network" and seconds > 0 for (factor, _), seconds in saved.items()), saved)

    def test_folders_are_merged_without_the_file(self):
        """They have the platform."""
        self.write("scenario.json", scenario(cluster=self.use(pods(), nodes=4), sweep={"/schedule/name": ["s-sgd", "wfbp"]}))
        for shard in "01":
            done = self.simctl("run", "scenario.json", "-o", f"out{shard}", "--shard", f"{shard}/2")
            self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "room.xml").unlink()
        done = self.simctl("merge", "out0", "out1", "-o", "both")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads((self.folder / "both/results.json").read_text())["points"]), 2)


class Written(OnPlatforms):
    """A cluster that show --platform writes has the cluster's times."""

    CLUSTERS = {
        "star": cluster(nodes=6, link=SMALL, reduce_s_per_B=1e-10),
        "window": cluster(nodes=4, link={"bandwidth": "10Gbps", "latency": "2ms", "tcp_window": "400kB"}),
        "fat-tree": cluster(nodes=12, link=SMALL, topology={"name": "fat-tree", "k": 4}, placement={"name": "random", "seed": 3}),
        "torus": cluster(nodes=9, link=SMALL, topology={"name": "torus", "dimensions": [3, 6]}),
        "tree": cluster(nodes=5, link=SMALL, topology="tree"),
        "dragonfly": cluster(nodes=8, link=SMALL, topology={"name": "dragonfly", "groups": 3, "chassis": 2, "routers": 3, "nodes": 2}),
        "two levels": cluster(nodes=3, gpus_per_node=2, intra_node={"bandwidth": "12GBps", "latency": "5us"}, link=SMALL),
        "regions": cluster(nodes=5, link=SMALL, regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}, {"name": "c", "nodes": 1}],
                           wan=[{"between": ["a", "b"], "rtt": "50ms", "bandwidth": "1Gbps"}, {"between": ["a", "c"], "rtt": "90ms", "bandwidth": "500Mbps"},
                                {"between": ["b", "c"], "rtt": "70ms", "bandwidth": "700Mbps"}]),
    }

    def written(self, name):
        self.write("cluster.json", self.CLUSTERS[name])
        done = self.simctl("show", "./cluster.json", "--platform", "room.xml")
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        return json.loads(done.stdout)

    def test_times(self):
        for name, content in self.CLUSTERS.items():
            platform = self.written(name)
            for fidelity in ("per-message", "flow"):
                servers = [] if fidelity == "per-message" or name == "regions" else [one for one in OVER_SERVERS if name != "tree" or one.get("servers", 1) < 2]
                more = {"fidelity": fidelity, "sweep": {"/schedule": SCHEDULES + servers, "/all_reduce": ["ring", "halving-doubling"]},
                        "workers": {"jitter": {"distribution": "uniform", "cv": 0.1}}, "iterations": {"warmup": 1, "measured": 6}}
                pairs = itertools.zip_longest(self.seconds(content, **more), self.seconds(platform, **more))
                for number, (right, found) in enumerate(pairs):
                    self.assertAlmostEqual(found / right, 1, delta=1e-9, msg=(name, fidelity, more["sweep"]["/schedule"][number // 2]))

    def test_what_a_platform_cannot_say(self):
        table = [(cluster(link=SMALL | {"connections": 4, "tcp_window": "1MB"}), "/link: a platform cannot say several connections"),
                 (cluster(link=SMALL | {"latency_jitter": {"distribution": "uniform", "cv": 0.1}}), "/link: a platform cannot say a latency that varies"),
                 (cluster(nodes=257), "/nodes: a platform of 257 nodes has a route for every pair; write one of at most 256")]
        for content, message in table:
            self.write("cluster.json", content)
            done = self.simctl("show", "./cluster.json", "--platform", "room.xml")
            self.assertEqual(done.returncode, 3)
            self.assertIn(message, done.stderr)
            self.assertFalse((self.folder / "room.xml").exists())


class Profiles(OnPlatforms):
    """Links whose bandwidths change with time."""
    CHANGES = [(0.02, 0), (1.5, 2e8), (1.6, 1e9)]
    TEXT = "# of cable c\n" + "".join(f"{date} {bandwidth}  # from then on\n" for date, bandwidth in CHANGES)

    def star(self, of_link="", more=""):
        """Three hosts with a cable of two directions each."""
        cables = "".join(f'<link id="cable-{host}" bandwidth="1GBps" latency="10us" sharing_policy="SPLITDUPLEX"{of_link if host == "c" else ""}/>\n' for host in "abc")
        ways = "".join(f'<route src="{host}" dst="r"><link_ctn id="cable-{host}" direction="UP"/></route>\n' for host in "abc")
        return zone(HOSTS, '<router id="r"/>\n', cables, more, ways, routing="Floyd")

    def test_they_are_those_of_a_clusters_node_links(self):
        profile = [{"at_s": date, "bandwidth": bandwidth} for date, bandwidth in self.CHANGES]
        same = cluster(nodes=3, link={"bandwidth": 1e9, "latency": "20us"}, node_links=[{"nodes": "2", "bandwidth_profile": profile}])
        self.write("c.bw", self.TEXT)
        schedules = [{"name": "s-sgd"}, {"name": "asgd", "colocated": True}, {"name": "sgp"}, {"name": "dts", "delay": 2}]
        more = {"sweep": {"/schedule": schedules}, "iterations": {"warmup": 0, "measured": 6}}
        connected = '<trace_connect kind="BANDWIDTH" trace="t" element="cable-c"/>\n'
        for fidelity in ({"fidelity": "flow"}, {"fidelity": "simgrid", "simgrid": {"network_model": "CM02", "fair": True}}):
            right = self.seconds(same, **more, **fidelity)
            plain = self.seconds(cluster(nodes=3, link={"bandwidth": 1e9, "latency": "20us"}), **more, **fidelity)
            self.assertTrue(all(one > 1.1 * other for one, other in zip(right, plain)), (right, plain))
            for xml in (self.star(' bandwidth_file="c.bw"'), self.star(more=f'<trace id="t" periodicity="-1.0">\n{self.TEXT}</trace>\n{connected}'),
                        self.star(more='<trace id="t" file="c.bw"/>\n' + connected)):
                for one, other in zip(self.seconds(self.use(xml), **more, **fidelity), right, strict=True):
                    self.assertAlmostEqual(one / other, 1, delta=1e-6, msg=(fidelity, xml))

    def test_latencies_are_those_of_links_between_regions(self):
        """In every fidelity that moves messages."""
        changes = [(0.0, 3e-3), (0.01, 1e-3), (0.2, 8e-3), (0.9, 0.0)]
        regions = cluster(nodes=2, link={"bandwidth": "100Gbps", "latency": "1us"}, regions=[{"name": name, "nodes": 1} for name in "ab"],
                          wan=[{"between": ["a", "b"], "rtt": "4ms", "bandwidth": "8Gbps", "rtt_profile": [{"at_s": at, "rtt": 2 * latency} for at, latency in changes]}])
        steady = regions | {"wan": [{key: value for key, value in regions["wan"][0].items() if key != "rtt_profile"}]}
        text = "".join(f"{at} {latency}\n" for at, latency in changes)
        self.write("a-b.lat", text)
        ends = '<host id="a" speed="1Gf"/>\n<host id="b" speed="1Gf"/>\n'

        def cable(of_link="", more="", latency="2ms"):
            xml = zone(ends, f'<link id="a-b" bandwidth="1GBps" latency="{latency}" sharing_policy="SPLITDUPLEX"{of_link}/>\n', more,
                       '<route src="a" dst="b"><link_ctn id="a-b" direction="UP"/></route>\n')
            return self.use(xml, nodes=2)

        connected = f'<trace id="t">{text}</trace>\n<trace_connect kind="LATENCY" trace="t" element="a-b"/>\n'
        schedules = [{"name": "s-sgd"}, {"name": "wfbp"}, {"name": "asgd", "colocated": True}, {"name": "sgp"}, {"name": "dts", "delay": 2}]
        more = {"sweep": {"/schedule": schedules}, "iterations": {"warmup": 0, "measured": 30}}
        for fidelity in ({"fidelity": "flow"}, {"fidelity": "simgrid", "simgrid": {"network_model": "CM02", "fair": True}}):
            right = self.seconds(regions, **more, **fidelity)
            moved = [abs(one / other - 1) > 0.01 for one, other in zip(right, self.seconds(steady, **more, **fidelity), strict=True)]
            self.assertGreaterEqual(sum(moved), 4, fidelity)
            for content in (cable(' latency_file="a-b.lat"'), cable(more=connected), cable(' latency_file="a-b.lat" bandwidth_file="a-b.bw"')):
                self.write("a-b.bw", "0 1e9\n")
                for schedule, one, other in zip(schedules, self.seconds(content, **more, **fidelity), right, strict=True):
                    self.assertAlmostEqual(one / other, 1, delta=1e-9, msg=(fidelity, schedule))

    def test_routes_that_share_no_link(self):
        """FATPIPE cables: nothing shares bandwidth. Servers, jobs and links that change move over them as elsewhere."""
        self.write("c.lat", "0 10e-6\n")
        pipes = self.star().replace("SPLITDUPLEX", "FATPIPE").replace(' direction="UP"', "")
        wide = cluster(nodes=3, link={"bandwidth": 1e9, "latency": "20us"})
        schedules = [{"name": "s-sgd"}, {"name": "sgp"}, {"name": "wfbp"}]
        more = {"sweep": {"/schedule": schedules}, "fidelity": "flow", "all_reduce": "ring"}
        right = self.seconds(wide, **more)
        for content in (self.use(pipes), self.use(pipes.replace('<link id="cable-c"', '<link id="cable-c" latency_file="c.lat"'))):
            for one, other in zip(self.seconds(content, **more), right, strict=True):
                self.assertAlmostEqual(one / other, 1, delta=1e-9)
        done = self.run_scenario(scenario(cluster=self.use(pipes), fidelity="flow", sweep={"/schedule": [{"name": "ps-sgd", "colocated": True}, {"name": "asgd", "colocated": True}]}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_scenario(scenario(cluster=self.use(pipes), jobs=[{"nodes": "0-1", "schedule": {"name": "s-sgd"}}, {"nodes": "2"}]))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_job_of_one_node_has_its_server_on_a_host_that_is_left(self):
        content = self.use(self.star(), nodes=2)
        jobs = [{"name": "x", "nodes": "0", "schedule": {"name": "ps-sgd", "servers": 1}}, {"name": "y", "nodes": "1"}]
        done = self.run_scenario(scenario(cluster=content, jobs=jobs))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_scenario(scenario(cluster=self.use(self.star()), jobs=jobs))
        self.assertIn("has 3 places for 3 nodes and the 1 servers of all jobs", done.stderr)

    def test_groups_are_merged_by_the_latency_at_the_beginning(self):
        self.write("c.lat", "0 5e-3\n")
        cables = self.star(' latency_file="c.lat"')
        steady = self.star().replace('id="cable-c" bandwidth="1GBps" latency="10us"', 'id="cable-c" bandwidth="1GBps" latency="5ms"')
        more = {"sweep": {"/schedule": [{"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}]}, "fidelity": "flow", "all_reduce": "ring"}
        found = self.seconds(self.use(cables), **more)
        for one, other in zip(found, self.seconds(self.use(steady), **more), strict=True):
            self.assertAlmostEqual(one / other, 1, delta=1e-12)

    def test_writers_refuse_links_that_change(self):
        self.write("c.lat", "0 5e-3\n")
        content = self.use(self.star(' latency_file="c.lat"'))
        self.write("cluster.json", content)
        done = self.simctl("show", "./cluster.json", "--platform", "out.xml")
        self.assertEqual(done.returncode, 3)
        self.assertIn("/platform: its links change with time, which is not written; leave their profiles out", done.stderr)
        self.write("scenario.json", scenario(cluster=content, schedule={"name": "wfbp"}, all_reduce="ring"))
        done = self.simctl("export", "scenario.json", "--to", "smpi", "-o", "smpi")
        self.assertEqual(done.returncode, 4)
        self.assertIn("a platform cannot say a link that changes with time", done.stderr)

    def test_latencies_add_up_over_a_route(self):
        """Of links that change at different times, with a FATPIPE one among them."""
        self.write("c.lat", "0 1e-3\n0.5 3e-3\n")
        self.write("p.lat", "0 5e-4\n")
        more = {"schedule": {"name": "s-sgd"}, "iterations": {"warmup": 0, "measured": 3}, "fidelity": "flow", "all_reduce": "ring"}

        def star(first, profiled):
            pipe = f'<link id="p" bandwidth="5GBps" latency="{first[0]}" sharing_policy="FATPIPE"{profiled[0]}/>\n'
            cables = "".join(f'<link id="cable-{host}" bandwidth="1GBps" latency="{first[1] if host == "c" else "10us"}" sharing_policy="SPLITDUPLEX"{profiled[1] if host == "c" else ""}/>\n'
                             for host in "abc")
            ways = "".join(f'<route src="{host}" dst="r"><link_ctn id="cable-{host}" direction="UP"/>{"" if host != "c" else """<link_ctn id="p"/>"""}</route>\n' for host in "abc")
            return self.use(zone(HOSTS, '<router id="r"/>\n', cables, pipe, ways, routing="Floyd"))

        changing = self.seconds(star(("1us", "10us"), (' latency_file="p.lat"', ' latency_file="c.lat"')), **more)
        self.assertEqual(changing, self.seconds(star(("500us", "1ms"), ("", "")), **more))
        long = more | {"iterations": {"warmup": 0, "measured": 200}}
        first, later = (self.seconds(star(("500us", latency), ("", "")), **long)[0] for latency in ("1ms", "3ms"))
        [mean] = self.seconds(star(("1us", "10us"), (' latency_file="p.lat"', ' latency_file="c.lat"')), **long)
        before = 0.5 / first  # iterations, up to one that meets both
        self.assertAlmostEqual(200 * mean, 0.5 + (200 - before) * later, delta=later)

    def test_a_cluster_can_change_a_platforms_links_itself(self):
        profile = [{"at_s": date, "bandwidth": bandwidth} for date, bandwidth in self.CHANGES]
        more = {"schedule": {"name": "s-sgd"}, "iterations": {"warmup": 0, "measured": 6}}
        self.write("c.bw", self.TEXT)
        [right] = self.seconds(self.use(self.star(' bandwidth_file="c.bw"')), **more)
        for pattern in ("cable-c", "cable-c*"):
            [seconds] = self.seconds(self.use(self.star(), link_profiles=[{"link": pattern, "bandwidth_profile": profile}]), **more)
            self.assertAlmostEqual(seconds / right, 1, delta=1e-9)
        self.assertIn('or a pattern that some match, got "cable-x"',
                      self.run_scenario(scenario(cluster=self.use(self.star(), link_profiles=[{"link": "cable-x", "bandwidth_profile": profile}]))).stderr)

    def test_the_cluster_comes_before_the_file(self):
        profile = [{"at_s": 0, "bandwidth": 5e8}]
        more = {"schedule": {"name": "s-sgd"}, "iterations": {"warmup": 0, "measured": 6}}
        self.write("c.bw", self.TEXT)
        times = [self.seconds(self.use(xml, link_profiles=[{"link": "cable-c", "bandwidth_profile": profile}]), **more) for xml in (self.star(), self.star(' bandwidth_file="c.bw"'))]
        self.assertEqual(*times)

    def test_texts_that_are_hard_to_read(self):
        """What looks like the end of an element, a mark before the text, links that cannot change among those that a pattern names."""
        self.write("c.bw", self.TEXT)
        [right] = self.seconds(self.use(self.star(' bandwidth_file="c.bw"')), schedule={"name": "s-sgd"})
        connected = '<trace_connect kind="BANDWIDTH" trace="t>x" element="cable-c"/>\n'
        self.assertEqual(self.seconds(self.use(self.star(more=f'<trace id="t>x">{self.TEXT}</trace>\n{connected}')), schedule={"name": "s-sgd"}), [right])
        (self.folder / "c.bw").write_bytes(b"\xef\xbb\xbf" + self.TEXT.encode())
        self.assertEqual(self.seconds(self.use(self.star(' bandwidth_file="c.bw"')), schedule={"name": "s-sgd"}), [right])
        halved = [{"link": "*", "bandwidth_profile": [{"at_s": 0, "bandwidth": 1e8}]}]
        self.assertEqual(self.run_scenario(scenario(cluster=self.use(pods(), nodes=4, link_profiles=halved))).returncode, 0)

    def test_another_profile_is_another_study(self):
        content = scenario(cluster=self.use(self.star(' bandwidth_file="c.bw"')), schedule={"name": "s-sgd"})
        self.write("c.bw", self.TEXT)
        self.assertEqual(self.run_scenario(content).returncode, 0)
        (self.folder / "c.bw").write_text("0 5e8\n")
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--resume").returncode, 2)


class Wrong(OnPlatforms):
    """Each is an error with the file and the element; SimGrid never ends simctl."""

    FILES = [
        (zone(HOSTS, LINK)[:-12], "room.xml: Parse error at room.xml:"),
        ("hello", "room.xml: Parse error at room.xml:1: Invalid XML"),
        (zone(), "room.xml: it has no hosts; a node needs one"),
        (zone('<router id="r"/>\n'), "it has no hosts"),
        (zone(HOSTS, LINK, route("a", "zz")), "room.xml:9: Route dst='zz'"),
        (zone(HOSTS, LINK, route("a", "b", "none")), "room.xml: Link not found: none"),
        (zone(HOSTS, LINK, route("a", "b")), 'room.xml: there is no route with links from host "b" to host "c"; give one for this direction'),
        (zone(HOSTS, LINK, route("a", "b"), route("b", "c"), route("a", "c", more=' symmetrical="NO"')), 'no route with links from host "c" to host "a"'),
        (zone(HOSTS), 'no route with links from host "a" to host "b"'),
        (zone(HOSTS, LINK.replace("1GBps", "0"), FULL), 'room.xml: link "l" has a bandwidth of 0 bytes/s; give it one above 0'),
        (zone(HOSTS, LINK.replace("1GBps", "-1"), FULL), 'link "l" has a bandwidth of -1 bytes/s'),
        (zone(HOSTS, LINK.replace("1GBps", "nan"), FULL), 'link "l" has a bandwidth of nan bytes/s'),
        (zone(HOSTS, LINK.replace("1us", "-1s"), FULL), 'link "l" has a latency of -1 s; give it one from 0 to a day'),
        (zone(HOSTS, LINK.replace("1us", "1e300s"), FULL), 'link "l" has a latency of 1e+300 s'),
        (zone(HOSTS, LINK.replace("1GBps", "1furlong"), FULL), "room.xml:8: unknown unit: furlong"),
        (zone(HOSTS, HOSTS, LINK, FULL), "Refusing to create a second host named 'a'"),
        (zone(HOSTS, LINK, FULL, routing="Zen"), "room.xml: Not a valid model!"),
        (zone(HOSTS, '<hostess id="x"/>\n'), "room.xml: Parse error at room.xml:8"),
        (zone('<include file="x.xml"/>\n', HOSTS), 'room.xml:5: "<include": of profiles only those of bandwidths and latencies are taken, and no other files; leave it out'),
        (zone(HOSTS, "<!-- state_file=\n-->\n", LINK.replace("/>", ' state_file ="on"/>'), FULL), 'room.xml:10: "state_file=": of profiles only those of bandwidths and latencies are taken'),
        (zone(HOSTS.replace("/>", ' availability_file="a"/>', 1), LINK, FULL), 'room.xml:5: "availability_file=": of profiles only those of bandwidths and latencies are taken'),
        (zone(HOSTS, LINK.replace("/>", ' bandwidth_file="none.bw"/>'), FULL), "none.bw: no such file"),
        *((zone(HOSTS, LINK, f'<trace id="t"{more}>{text}</trace>\n<trace_connect kind="BANDWIDTH" trace="t" element="{link}"/>\n', FULL), message) for text, link, more, message in (
            ("1 5\n0.5 6", "l", "", 'room.xml: trace "t":2: expected a date after that of the line before (1 s), got 0.5'),
            ("1 x", "l", "", 'trace "t":1: expected a date in seconds and a bandwidth in bytes per second, such as "1.5 1e9", got "1 x"'),
            ("1", "l", "", 'got "1"'), ("1 2 3", "l", "", 'got "1 2 3"'), ("-1 2", "l", "", 'got "-1 2"'), ("1 -2", "l", "", 'got "1 -2"'), ("1 nan", "l", "", 'got "1 nan"'),
            ("", "l", "", 'trace "t":0: expected lines of a date and a bandwidth'), ("1 5\n2 0", "l", "", 'trace "t":2: the last bandwidth is 0'),
            ("PERIODICITY 5\n1 2", "l", "", '"PERIODICITY": a profile that repeats is not taken'), ("1 2", "l", ' periodicity="3"', 'trace: "t" repeats, which is not taken'),
            ("1 2", "m", "", 'a profile is of link "m", which is not there; use the id of a link'))),
        (zone(HOSTS, LINK, '<trace id="t">1 2</trace>\n<trace_connect kind="LINK_AVAIL" trace="t" element="l"/>\n', FULL),
         'room.xml: trace_connect: a profile of kind LINK_AVAIL of "l" is not taken, only BANDWIDTH and LATENCY are; leave it out'),
        (zone(HOSTS, LINK, '<trace id="t">1 -2</trace>\n<trace_connect kind="LATENCY" trace="t" element="l"/>\n', FULL),
         'room.xml: trace "t":1: expected a date in seconds and a latency in seconds, such as "1.5 2e-5", got "1 -2"'),
        (zone(HOSTS, LINK, '<trace id="t">1 2</trace>\n<trace_connect kind="LATENCY" trace="t" element="m"/>\n', FULL),
         'a profile is of link "m", which is not there; use the id of a link'),
        (zone(HOSTS, LINK.replace("/>", ' latency_file="none.lat"/>'), FULL), "none.lat: no such file"),
        (zone(HOSTS, LINK, '<trace id="t">1 2</trace>\n', 2 * '<trace_connect kind="LATENCY" trace="t" element="l"/>\n', FULL), 'link "l" has two profiles of one kind; leave one out'),
        (zone(HOSTS, LINK, '<trace id="t">1 2</trace>\n', 2 * '<trace_connect kind="BANDWIDTH" trace="t" element="l"/>\n', FULL), 'link "l" has two profiles of one kind; leave one out'),
        (zone(HOSTS, LINK, '<trace_connect kind="BANDWIDTH" trace="t" element="l"/>\n', FULL), 'trace_connect: "t" is the id of no trace before it; use one that is'),
        (zone(HOSTS, LINK.replace("/>", ' sharing_policy="FATPIPE"/>'), '<trace id="t">1 2</trace>\n<trace_connect kind="BANDWIDTH" trace="t" element="l"/>\n', FULL),
         'link "l": the bandwidth of a FATPIPE link does not change; leave its profile out, or use another sharing_policy'),
        (zone(HOSTS, LINK, FULL).replace("4.1", "3"), "THIS FILE IS TOO OLD"),
    ]

    def assert_refused(self, content, message, place="/cluster/platform: "):
        done = self.run_scenario(scenario(cluster=content))
        self.assertEqual(done.returncode, 3, (done.stdout, done.stderr, message))
        self.assertIn(place, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("/dev/fd", done.stderr)

    def test_files(self):
        for xml, message in self.FILES:
            with self.subTest(message):
                self.assert_refused(self.use(xml), message)

    def test_keys(self):
        good = zone(HOSTS, LINK, FULL)
        table = [({"platform": "none.xml"}, "none.xml: no such file (paths are relative to the file that names the platform)", "/cluster/platform: "),
                 ({"platform": 3}, "expected", "/cluster/platform: "), ({"platform": {"file": "x"}}, 'the name of a SimGrid platform, such as "room.xml"', "/cluster/platform: "),
                 ({"nodes": 4}, "room.xml has 3 hosts for 4 nodes; use at most 3", "/cluster/nodes: "), ({"nodes": 0}, "expected an integer", "/cluster/nodes: "),
                 ({"nodes": ["a", "x"]}, 'expected a host of', "/cluster/nodes/1: "), ({"nodes": ["a", "a"]}, '"a" is listed twice', "/cluster/nodes/1: "),
                 ({"nodes": []}, "expected", "/cluster/nodes: "), ({"nodes": "x*"}, "expected a pattern that some host of", "/cluster/nodes: "),
                 ({"nodes": ["a"], "hosts": ["b"]}, 'a number of the "hosts" is meant', "/cluster/nodes: "), ({"hosts": ["a", "b"]}, "has 2 hosts for 3 nodes", "/cluster/nodes: "),
                 ({"link": SMALL}, 'the platform has the network; leave this or "platform" out', "/cluster/link: "),
                 ({"nodes": 3, "placement": "by-region"}, '"by-region" needs regions', "/cluster/placement: "), ({"topology": "star"}, "the platform has the network", "/cluster/topology: "), ({"host_speeds": 1}, "expected true or false", "/cluster/host_speeds: ")]
        for changes, message, place in table:
            with self.subTest(changes):
                self.assert_refused(self.use(good, **changes), message, place)
        self.assert_refused(self.use(zone(HOSTS.replace('"1Gf"', '"0f"', 1), LINK, FULL), host_speeds=True), 'host "a" of', "/cluster/host_speeds: ")
        self.assert_refused(cluster(placement="nearest"), '"nearest" needs a "platform"', "/cluster/placement: ")
        self.assert_refused(cluster(host_speeds=True), 'hosts are those of a "platform"', "/cluster/host_speeds: ")
        done = self.run_scenario(scenario(cluster=self.use(good), fidelity="alpha-beta"))
        self.assertIn("/fidelity: alpha-beta fidelity knows no routes, which a platform is", done.stderr)
        self.write("cluster.json", self.use(good))
        done = self.simctl("show", "./cluster.json", "--platform", "room.xml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--platform room.xml: the cluster's own platform; write into another file", done.stderr)
        self.assertEqual((self.folder / "room.xml").read_text(), good)
        done = self.run_scenario(scenario(cluster=self.use(good), schedule={"name": "asgd"}))
        self.assertIn('/cluster/nodes: a platform of this size has 3 places for 3 nodes and 1 servers; use a platform of 4 hosts, or "colocated": true', done.stderr)

    def test_a_route_that_only_some_messages_take_is_missed_by_those(self):
        ring = route("a", "b") + route("b", "c") + route("c", "d") + route("d", "a")
        content = self.use(zone(HOSTS, '<host id="d" speed="1Gf"/>\n', LINK, ring), nodes=4)
        self.assertEqual(self.run_scenario(scenario(cluster=content, all_reduce="ring")).returncode, 0)
        done = self.run_scenario(scenario(cluster=content, all_reduce="recursive-doubling"))
        self.assertIn(done.returncode, (3, 4))
        self.assertIn('there is no route with links from host "a" to host "c"', done.stderr)

    def test_a_hundred_thousand_hosts(self):
        many = HEAD.format("None").replace('<zone id="z" routing="None">\n', "") + \
            '<cluster id="c" prefix="n" suffix="" radical="0-99999" speed="1Gf" bw="1GBps" lat="1us"/>\n</platform>\n'
        content = self.use(many, nodes=["n99999", "n0"])
        [seconds] = self.seconds(content, schedule={"name": "sync-easgd"}, all_reduce="recursive-doubling", iterations={"warmup": 0, "measured": 1})
        self.assertAlmostEqual(seconds, 0.009 + 2e-6 + 6e6 / 1e9, delta=1e-9)


if __name__ == "__main__":
    unittest.main()
