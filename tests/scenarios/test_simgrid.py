"""Finds messages that fidelity simgrid starts, shares or ends otherwise than a program for SimGrid that somebody writes by hand (tests/simgrid/natural.cpp)."""
import concurrent.futures
import itertools
import json
import os
import random
import subprocess
import unittest

from support import Case, cluster, scenario, trace

NATURAL = os.environ.get("NATURAL_SIMGRID")
EXACT = {"network/crosstraffic": 0, "network/TCP-gamma": 1e30, "surf/precision": 1e-12, "maxmin/precision": 1e-9}  # of CM02, as its page says
FORWARD, BACKWARD = 0.001, 0.002
BANDWIDTH = 1.25e9
STEPS = 2
OVER_SERVER = {"ps-sgd": {"name": "ps-sgd"}, "ps-sgd requested": {"name": "ps-sgd", "pulls": "requested"}, "asgd": {"name": "asgd"}}
PLAIN = ["ring", "binary-tree", "ps-sgd"]
WORKERS = [4, 7, 16]
MESSAGES = [1000, 100000, 10000000]
LATENCIES = [1e-6, 1e-3, 50e-3]
MODELS = ["CM02", "LV08", "SMPI", "IB"]
DRAWN = random.Random()


def some(number, *values):
    """So many of their product, drawn; with SYNCOPATE_SLOW all."""
    every = list(itertools.product(*values))
    return every if os.environ.get("SYNCOPATE_SLOW") else DRAWN.sample(every, number)


def natural(case, model, config):
    """iteration_s of the program's workers, whose window closes when the first of them has done its steps."""
    what, workers, message, latency, stagger, window, connections = case
    settings = {"network/model": model, **(EXACT if model == "CM02" else {}), **config}
    done = subprocess.run([NATURAL, *map(str, (what, workers, message, BANDWIDTH, latency, FORWARD + BACKWARD, stagger, STEPS, window, connections)),
                           *(f"--cfg={key}:{value}" for key, value in settings.items()), "--log=root.thresh:critical"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{case}: {done.stderr[-500:]}")
    ends = [[0.0, *map(float, line.split())] for line in done.stdout.splitlines()]
    close = min(its[STEPS] for its in ends if len(its) > STEPS)
    steps = sum(min(1.0, max(0.0, (close - begin) / (end - begin))) for its in ends for begin, end in itertools.pairwise(its))
    return close * workers / steps


@unittest.skipUnless(NATURAL, "NATURAL_SIMGRID does not name the program")
class Natural(Case):
    def setUp(self):
        super().setUp()
        DRAWN.seed(1)  # each test draws the same, also by itself

    def simulated(self, cases, model, config):
        named = {}
        for number, (what, workers, message, latency, stagger, window, connections) in enumerate(cases):
            link = {"bandwidth": BANDWIDTH, "latency": latency, "connections": connections} | ({"tcp_window": window} if window else {})
            slow = [{"ranks": str(rank), "factor": 1 + stagger * rank} for rank in range(1, workers)] if stagger else []
            named[str(number)] = {"/cluster/nodes": workers, "/cluster/link": link, "/workers": {"slow": slow},
                                  "/trace/gradients/0/bytes": message * workers if what == "ring" else message,
                                  "/schedule": OVER_SERVER.get(what, {"name": "s-sgd"}), "/all_reduce": "ring" if what in OVER_SERVER else what}
        layers = [{"name": "layer", "type": "unknown", "forward_s": FORWARD, "backward_s": BACKWARD}]
        one = trace(layers=layers, gradients=[{"name": "weight", "layer": "layer", "bytes": 4}])
        points = self.points(scenario(trace=one, cluster=cluster(), fidelity="simgrid", simgrid={"network_model": model, "config": config},
                                      iterations={"warmup": 0, "measured": STEPS}, sweep={"/case": named}))
        self.assertEqual([point["nodes"] for point in points], [case[1] for case in cases])
        return [point["iteration_s"] for point in points]

    def compare(self, cases, model, config=None):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            theirs = threads.map(lambda case: natural(case, model, config or {}), cases)
            ours = self.simulated(cases, model, config or {})
            for case, seconds, right in zip(cases, ours, theirs, strict=True):
                with self.subTest(case=case, model=model, config=config):
                    self.assertAlmostEqual(seconds / right, 1.0, delta=1e-9, msg=f"{seconds} in place of {right}")


class Models(Natural):
    def test_every_model(self):
        for model in MODELS:
            self.compare([(*case, 0, 0, 1) for case in some(20, PLAIN, WORKERS, MESSAGES, LATENCIES)], model)

    def test_settings(self):
        for model, config in itertools.product(("CM02", "LV08", "SMPI"), ({"network/TCP-gamma": 65536}, {"network/crosstraffic": 0})):
            self.compare([(*case, 0, 0, 1) for case in some(9, PLAIN, [2, 7], MESSAGES, LATENCIES)], model, config)

    def test_workers_at_different_times(self):
        for model in MODELS:
            self.compare([(*case, 0, 1) for case in some(14, [*PLAIN, "asgd"], [7], MESSAGES, LATENCIES, [0.01, 0.3])], model)

    def test_messages_without_bytes(self):
        """Acknowledgements of pushes, and requests of pulls. LV08 has a factor for them, which the page does without."""
        for model in ("CM02", "SMPI", "IB"):
            self.compare([(*case, 0, 0, 1) for case in some(4, ["ps-sgd requested"], [4, 7], MESSAGES, LATENCIES)], model)

    def test_windows_and_connections(self):
        for model in ("CM02", "LV08"):
            for window, connections in ((65536, 1), (65536, 4), (1 << 20, 2), (0, 5)):
                self.compare([(*case, 0, window, connections) for case in some(4, PLAIN, [4], MESSAGES, LATENCIES)], model)


TWO_REGIONS = {"regions": [{"name": "a", "nodes": 2}, {"name": "b", "nodes": 1}], "wan": [{"between": ["a", "b"], "rtt": "20ms", "bandwidth": "1Gbps", "tcp_window": "4MB"}]}


class InSimGrid(Case):
    """Known times, files and messages of the fidelity: finds what the command line loses or lets through."""

    def seconds(self, simgrid=None, **changes):
        return self.point(scenario(fidelity="simgrid", **({"simgrid": simgrid} if simgrid is not None else {}), **changes))["iteration_s"]

    def test_known_ring(self):
        """2(N-1) messages of M/N bytes after all compute: L + bytes / W each; of LV08 13.01 L + bytes / (0.97 W)."""
        nodes, size, latency, bandwidth = 4, 4_000_000, 1e-4, 1e9
        layers = [{"name": "a", "forward_s": 0.001, "backward_s": 0.002}]
        one = {"trace": trace(layers=layers, gradients=[{"name": "w", "layer": "a", "bytes": size}]), "schedule": {"name": "s-sgd"}, "all_reduce": "ring",
               "cluster": cluster(nodes=nodes, link={"bandwidth": bandwidth, "latency": latency})}
        messages = 2 * (nodes - 1)
        self.assertAlmostEqual(self.seconds(**one), 0.003 + messages * (latency + size / nodes / bandwidth), delta=1e-12)
        config = {"network/crosstraffic": 0}
        self.assertAlmostEqual(self.seconds({"network_model": "LV08", "config": config}, **one), 0.003 + messages * (13.01 * latency + size / nodes / (0.97 * bandwidth)), delta=1e-12)
        # Acknowledgements of the other direction take a twentieth of each link.
        self.assertAlmostEqual(self.seconds({"network_model": "LV08"}, **one), 0.003 + messages * (13.01 * latency + size / nodes / (0.97 * bandwidth) * 1.05), delta=1e-4)
        # A window of the model: G / 2L bytes per second.
        window = {"network/TCP-gamma": 100_000, "network/crosstraffic": 0}
        self.assertAlmostEqual(self.seconds({"config": window}, **one), 0.003 + messages * (latency + size / nodes / (100_000 / (2 * latency))), delta=1e-9)

    def test_as_flows(self):
        """Networks that random scenarios have not: a dragonfly, a platform, several jobs, outages' links that change, with several simulations of a process."""
        dragonfly = {"nodes": 16, "topology": {"name": "dragonfly", "groups": 2, "chassis": 2, "routers": 2, "nodes": 2}, "placement": {"name": "random", "seed": 5}}
        changing = {"nodes": 3, "regions": TWO_REGIONS["regions"], "wan": [TWO_REGIONS["wan"][0] | {"bandwidth_profile": [{"at_s": 0.004, "bandwidth": "2Gbps"}, {"at_s": 0.009, "bandwidth": "0.5Gbps"}]}]}
        jobs = [{"name": "ours", "nodes": "0-1"}, {"name": "theirs", "nodes": "2-3", "schedule": {"name": "ps-sgd"}}]
        for changes in ({"cluster": cluster(**dragonfly), "all_reduce": "halving-doubling"}, {"cluster": cluster(**changing)}, {"jobs": jobs, "cluster": cluster(nodes=4)},
                        {"cluster": cluster(nodes=5), "schedule": {"name": "mg-wfbp"}}, {"cluster": cluster(nodes=4), "schedule": {"name": "asgd", "servers": 2}, "replicates": 2},
                        {"cluster": cluster(nodes=4, gpus_per_node=2, intra_node={"bandwidth": "10GBps", "latency": "5us"}), "schedule": {"name": "fsdp"}}):
            with self.subTest(changes):
                fair = self.seconds({"fair": True}, **changes)
                self.assertAlmostEqual(fair / self.point(scenario(fidelity="flow", **changes))["iteration_s"], 1.0, delta=1e-9)

    def test_precision_of_shares(self):
        """Latencies of regions that differ, over many connections: at the precision of equal shares, SimGrid ends the process."""
        latencies = {("a", "b"): "93ms", ("a", "c"): "106ms", ("b", "c"): "119ms"}
        regions = {"regions": [{"name": name, "nodes": 3} for name in "abc"],
                   "wan": [{"between": list(ends), "rtt": rtt, "bandwidth": 1e8, "connections": 16} for ends, rtt in latencies.items()]}
        self.assertGreater(self.seconds(cluster=cluster(nodes=9, **regions), schedule={"name": "asgd", "servers": "nodes", "colocated": True}), 0.0)

    def test_many_points(self):
        """SimGrid keeps its settings for a process: points of all models and of flows, one after the other."""
        models = {f"{model}-{number}": {"/fidelity": "simgrid", "/simgrid": {"network_model": model}, "/cluster/nodes": number} for model in MODELS for number in range(2, 8)}
        models |= {f"flow-{number}": {"/fidelity": "flow", "/cluster/nodes": number} for number in range(2, 8)}
        mixed = scenario(sweep={"/model": dict(sorted(models.items(), key=lambda case: case[0][-1]))}, workers={"slow": [{"ranks": "0", "factor": 1.2}]})
        seconds = [point["iteration_s"] for point in self.points(mixed, "-j", "1")]
        self.assertEqual(len(seconds), 30)
        self.assertEqual(seconds, [point["iteration_s"] for point in self.points(mixed, "-j", "2")])

    def test_messages_beyond_counting(self):
        huge = trace(layers=[{"name": "a", "forward_s": 1, "backward_s": 1}], gradients=[{"name": "w", "layer": "a", "bytes": 18 * 10**12}])
        self.write("huge.json", scenario(trace=huge, fidelity="simgrid", cluster=cluster(nodes=2), schedule={"name": "ps-sgd"}))
        done = self.simctl("run", "huge.json")
        self.assertEqual(done.returncode, 4)
        self.assertIn("a message of 18000000000000 bytes is over the 2.7e+11 that SimGrid counts", done.stderr)

    def test_says_its_model(self):
        simgrid = {"network_model": "SMPI", "config": {"network/crosstraffic": False}}
        point = self.point(scenario(fidelity="simgrid", simgrid=simgrid, cluster=cluster(nodes=2)))
        self.assertEqual(point["fidelity"], "simgrid")
        self.assertEqual(point["simgrid"], {"network_model": "SMPI", "config": [["network/crosstraffic", "0"]], "fair": False})

    def test_tracing(self):
        """The file is whole, for a schedule that measures collectives first, too, and figures are those without it."""
        for schedule in ("wfbp", "mg-wfbp", "asgd"):
            content = scenario(fidelity="simgrid", cluster=cluster(nodes=4), schedule={"name": schedule})
            self.write("traced.json", content)
            traced = self.simctl("run", "traced.json", "--paje", "links.paje", "--format", "json")
            self.assertEqual(traced.returncode, 0, traced.stderr)
            self.assertEqual(json.loads(traced.stdout)["points"][0]["iteration_s"], self.point(content)["iteration_s"])
            lines = (self.folder / "links.paje").read_text().splitlines()
            self.assertTrue(lines[0].startswith("#This file was generated using SimGrid"))
            destroyed = [line for line in lines if line.startswith("7 ")]
            created = [line for line in lines if line.startswith("6 ")]
            self.assertEqual(len(destroyed), len(created))  # the end has been written
            self.assertTrue(any('"node-0 up' in line for line in created), created)
    
    def test_refusals(self):
        def fails(status, needle, *arguments, **changes):
            self.write("wrong.json", scenario(**({"fidelity": "simgrid", "cluster": cluster(nodes=3)} | changes)))
            done = self.simctl(*(arguments or ("check",)), "wrong.json")
            with self.subTest(needle):
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(needle, done.stderr)

        for simgrid, needle in (
                ({"network_model": "LV09"}, "/simgrid/network_model: expected one of"), ({"network_model": "ns-3"}, "routes of one link"), ({"network_model": "Constant"}, "has no links"),
                ({"network_model": 3}, "/simgrid/network_model"), ([], "/simgrid: expected an object"), ({"fare": True}, '/simgrid/fare: unknown key "fare"; did you mean "fair"?'), ({"fair": 1}, "/simgrid/fair"),
                ({"fair": True, "network_model": "LV08"}, "/simgrid/fair: its latencies are waits"),
                ({"config": {"network/TCP-gama": 1}}, "/simgrid/config/network~1TCP-gama: SimGrid refuses it: Bad config key"),
                ({"config": {"network/TCP-gamma": "fast"}}, "/simgrid/config/network~1TCP-gamma: SimGrid refuses it"),
                ({"config": {"network/TCP-gamma": None}}, "a text, a number, true or false"), ({"config": {"network/TCP-gamma": [1]}}, "a text, a number, true or false"),
                ({"config": {"smpi/bw-factor": "a:b"}, "network_model": "SMPI"}, "/simgrid/config/smpi~1bw-factor: SimGrid refuses it: Uncaught exception"),
                ({"config": {"network/bandwidth-factor": "1 network/model:LV08"}}, "/simgrid/config/network~1bandwidth-factor: expected a value without spaces"),
                ({"config": {"network/latency-factor": -1}}, "/simgrid/config/network~1latency-factor: expected numbers of 0 or more"),
                ({"config": {"surf/precision": 0}}, "/simgrid/config/surf~1precision: SimGrid refuses it: a message with it never ends"),
                ({"config": {"network/weight-S": 1, "network/bandwidth-factor": "nan"}}, "/simgrid/config/network~1bandwidth-factor: SimGrid refuses it"),
                ({"config": {"smpi/bw-factor": "0:1"}}, 'use "network_model": "SMPI"'), ({"network_model": "SMPI", "config": {"smpi/np": 3}}, "it has no effect"),
                ({"config": {"network/loopback-bw": 1}}, "it has no effect"), ({"fair": True, "config": {"network/weight-S": 1}}, "SimGrid's exact form"),
                ({"config": {"network/TCP gamma": 1}}, "only SimGrid's settings"),
                ({"config": {"network/model": "LV08"}}, 'use "network_model"'), ({"config": {"contexts/factory": "thread"}}, "only SimGrid's settings of networks")):
            fails(3, needle, simgrid=simgrid)
        fails(3, 'it is for "fidelity": "simgrid"', simgrid={}, fidelity="flow")
        fails(3, 'it is for "fidelity": "simgrid"', simgrid={}, fidelity="auto")
        fails(3, "has no messages", schedule={"name": "lasgd", "tau_max": 2, "participants": 0.5})
        fails(3, "share links, but servers", schedule={"name": "asgd", "service": "fifo"})
        fails(2, "SimGrid does not tell which link", "explain")
        fails(2, "SimGrid does not tell which link", "run", "-o", "out", "--explain", "0")
        fails(2, "it traces one point", "run", "--paje", "x", sweep={"/cluster/nodes": [2, 3]})
        fails(2, "it traces one simulation", "run", "--paje", "x", replicates=2)
        fails(2, "SimGrid traces what it simulates", "run", "--paje", "x", fidelity="flow")
        fails(5, "wrong.json: cannot be used as an output folder", "run", "--paje", "wrong.json/x")
        fails(4, "over the limit of one", "run", cluster=cluster(nodes=8192))


if __name__ == "__main__":
    unittest.main()
