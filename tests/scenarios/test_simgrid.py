"""Finds messages that fidelity simgrid starts, shares or ends otherwise than a program for SimGrid that somebody writes by hand (tests/simgrid/natural.cpp)."""
import concurrent.futures
import itertools
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


if __name__ == "__main__":
    unittest.main()
