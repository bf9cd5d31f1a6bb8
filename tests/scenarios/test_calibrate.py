"""Does calibrate find what makes runs slower than a scenario says, and does it say what it cannot tell?"""
import csv
import json
import unittest

from support import Case, cluster, scenario

COMPUTE, TENSORS, SIZE = 0.1, 10, 4e6  # seconds, gradients, bytes of each
BANDWIDTH, LATENCY = 1e9, 1e-4


def trace():
    layers = [{"name": f"l{index}", "type": "x", "forward_s": 0.3 * COMPUTE / TENSORS, "backward_s": 0.7 * COMPUTE / TENSORS} for index in range(TENSORS)]
    return {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "made for a test"}, "model": {"name": "ten", "batch": 32, "dtype": "fp32"},
            "layers": layers, "gradients": [{"name": f"g{index}", "layer": f"l{index}", "bytes": SIZE} for index in reversed(range(TENSORS))]}


def s_sgd(nodes, host=0.0, compute=COMPUTE):
    """Seconds of an iteration: ten all-reduces round a ring after backward, each after so much time of the hosts."""
    return compute + TENSORS * (host + 2 * (nodes - 1) * (LATENCY + SIZE / nodes / BANDWIDTH))


def runs(times):
    return ",".join(f"{gpus}:{seconds!r}" for gpus, seconds in times.items())


class Calibrate(Case):
    def setUp(self):
        super().setUp()
        self.write("ten.json", trace())

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content))

    def scenario(self, **changes):
        place = cluster(nodes=4, link={"bandwidth": BANDWIDTH, "latency": LATENCY}, **changes.pop("cluster", {}))
        self.write("runs.json", scenario(trace="ten.json", cluster=place, schedule=changes.pop("schedule", {"name": "s-sgd"}), fidelity="per-message", **changes))

    def calibrate(self, times, *options, unit="s", code=0):
        done = self.simctl("calibrate", "runs.json", "--measured", times if isinstance(times, str) else runs(times), "--unit", unit, *options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def causes(self, times, *options):
        """The keys of the scenario that was written, its cause and those that are as good; rows of samples per second."""
        done = self.calibrate(times, "-o", "found.json", "--force", *options)
        found = json.loads((self.folder / "found.json").read_text())
        table = [line.split() for line in done.stdout.split("all GPUs\n")[1].split("\n\n")[0].splitlines()[2:]]
        return found, {int(row[0]): row[1:] for row in table}

    def iteration(self, file, *options):
        done = self.simctl("run", file, "--quiet", "--format", "csv", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(next(csv.DictReader(done.stdout.splitlines()))["iteration_s"])

    def assert_within(self, row, samples_per_s):
        """A row of what was not measured: the scenario's, the calibrated value and, where there is one, its range."""
        low, high = (float(row[2]), float(row[4])) if len(row) > 2 else (float(row[1]),) * 2
        self.assertTrue(low * 0.995 <= samples_per_s <= high * 1.005, (row, samples_per_s))

    def test_one_gpu_scales_the_trace(self):
        self.scenario()
        found, table = self.causes({1: 1.25 * COMPUTE}, "--sizes", "4")
        self.assertAlmostEqual(found["trace_factor"], 1.25, places=9)
        self.assertAlmostEqual(float(table[4][0]) / (4 * 32 / s_sgd(4)), 1, delta=1e-3)
        self.assertAlmostEqual(float(table[4][1]) / (4 * 32 / s_sgd(4, compute=1.25 * COMPUTE)), 1, delta=1e-3)
        self.assertAlmostEqual(self.iteration("found.json"), s_sgd(4, compute=1.25 * COMPUTE), places=9)

    def test_hosts_by_a_closed_form(self):
        """Two sizes tell a time per collective from one per rank; per tensor is the same here, as nothing is merged."""
        self.scenario()
        for key, host in (("per_collective_s", lambda nodes: 7e-4), ("per_rank_s", lambda nodes: 1e-4 * nodes)):
            found, table = self.causes({nodes: s_sgd(nodes, host(nodes)) for nodes in (4, 16)}, "--sizes", "64")
            good = {entry["key"]: entry["value"] for entry in found["x-calibrated"]["as_good"]}
            self.assertAlmostEqual(good[f"/cluster/host/{key}"] / host(1), 1, delta=2e-3)
            self.assertNotIn("/cluster/host/per_rank_s" if key == "per_collective_s" else "/cluster/host/per_collective_s", good)
            self.assert_within(table[64], 64 * 32 / s_sgd(64, host(64)))

    def test_samples_per_second(self):
        self.scenario()
        first, _ = self.causes({4: s_sgd(4, 5e-4)})
        done = self.calibrate(f"4:{4 * 32 / s_sgd(4, 5e-4)}", "-o", "second.json", unit="samples/s")
        self.assertIn("Chosen: ", done.stdout)
        second = json.loads((self.folder / "second.json").read_text())
        for one in (first, second):
            del one["x-calibrated"]
        self.assertEqual(first, second)

    def test_every_cause_of_runs_that_have_it(self):
        """It is among those that are as good, with its amount, and the range holds what another size takes."""
        self.scenario(schedule={"name": "wfbp"})
        for pointer, value in (("/workers", {"jitter": {"distribution": "lognormal", "cv": 0.06}}), ("/workers", {"overlap_slowdown": 0.3}), ("/cluster/host", {"per_tensor_s": 3e-3}),
                               ("/cluster/link/efficiency", 0.6)):
            with self.subTest(pointer, value=value):
                truth = {nodes: self.iteration("runs.json", "--set", f"{pointer}={json.dumps(value)}", "--set", f"/cluster/nodes={nodes}") for nodes in (4, 8, 16)}
                found, table = self.causes({nodes: truth[nodes] for nodes in (4, 8)}, "--sizes", "16")
                key = pointer if not isinstance(value, dict) else f"{pointer}/{next(iter(value))}"
                amounts = {entry["key"]: entry["value"] for entry in found["x-calibrated"]["as_good"]}
                self.assertIn(key, amounts)
                amount, wanted = (one["cv"] if isinstance(one, dict) else one for one in (amounts[key], value if not isinstance(value, dict) else next(iter(value.values()))))
                self.assertAlmostEqual(amount / wanted, 1, delta=0.02)
                self.assert_within(table[16], 16 * 32 / truth[16])

    def test_what_is_written_runs_from_anywhere(self):
        self.scenario()
        (self.folder / "deep").mkdir()
        self.write("place.json", cluster(nodes=4, link={"bandwidth": BANDWIDTH, "latency": LATENCY}))
        for changes in ({}, {"cluster": "place.json"}, {"workers": {"traces": [{"ranks": "1", "trace": "ten.json"}]}}, {"trace_factor": 1.5}):
            file = json.loads((self.folder / "runs.json").read_text()) | changes
            self.write("other.json", file)
            compute = COMPUTE * file.get("trace_factor", 1)
            done = self.simctl("calibrate", "other.json", "--measured", runs({4: s_sgd(4, 1e-3, compute)}), "--unit", "s", "-o", "deep/found.json", "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertAlmostEqual(self.iteration("deep/found.json"), s_sgd(4, 1e-3, compute), delta=1e-4)

    def test_pinned_sweeps_and_other_places(self):
        self.scenario(sweep={"/schedule/name": ["wfbp", "s-sgd"], "/cluster/nodes": [2, 4, 8]})
        _, table = self.causes({4: s_sgd(4, 1e-3)}, "--set", '/schedule/name="s-sgd"')
        self.assertEqual(list(table), [2, 4, 8])
        self.scenario(sweep={"/network": {"near": {"/cluster/link/latency": LATENCY}, "far": {"/cluster/link/latency": 1e-2}}})
        self.causes({4: s_sgd(4, 1e-3)}, "--set", '/network="near"')
        text = (self.folder / "runs.json").read_text()
        done = self.simctl("calibrate", "-", "--measured", runs({4: s_sgd(4, 1e-3)}), "--unit", "s", "--set", '/network="near"', input=text)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_cause_replaces_what_was_set_inside_its_key(self):
        self.scenario(schedule={"name": "wfbp"}, workers={"jitter": {"distribution": "lognormal", "cv": 0.2}})
        inner = ("--set", "/workers/jitter/cv=0.01")
        slow = self.iteration("runs.json", "--set", "/workers/jitter/cv=0.06")
        found, _ = self.causes({4: slow}, *inner)
        self.assertIn("/workers/jitter", {entry["key"] for entry in found["x-calibrated"]["as_good"]})
        self.assertAlmostEqual(self.iteration("found.json") / slow, 1, delta=0.005)

    def test_what_has_no_such_key(self):
        """Regions without links inside, a fit, servers, and all-reduces of some."""
        world = {"regions": [{"name": "a", "nodes": 1}, {"name": "b", "nodes": 1}], "wan": [{"between": ["a", "b"], "rtt": "10ms", "bandwidth": "1Gbps"}]}
        for changes, key in (({"cluster": {"fit": {"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 4, "algorithm": "ring"}}}, "per_collective_s"),
                             ({"schedule": {"name": "ps-sgd"}}, "per_message_s"), ({"schedule": {"name": "lasgd", "tau_max": 1, "participants": 0.5}}, "per_collective_s")):
            self.scenario(**changes)
            if "fit" in changes.get("cluster", {}):
                self.write("runs.json", json.loads((self.folder / "runs.json").read_text()) | {"fidelity": "auto"})
            slow = self.iteration("runs.json", "--set", f'/cluster/host={{"{key}":0.005}}')
            self.assertIn(f"/cluster/host/{key}", self.calibrate({4: slow}).stdout)
        self.write("runs.json", scenario(trace="ten.json", cluster={"format": "cluster/1", "name": "world", "nodes": 2} | world, schedule={"name": "s-sgd"}))
        self.assertIn("per_collective_s", self.calibrate({2: 1.1 * self.iteration("runs.json")}).stdout)

    def test_several_gpus_in_a_node(self):
        """Less than a node's GPUs are on one node; the links inside nodes may be what delivers less."""
        self.scenario(cluster={"gpus_per_node": 4, "intra_node": {"bandwidth": 1e10, "latency": 0}})
        at = lambda gpus, *options: self.iteration("runs.json", "--set", "/cluster/nodes=1", "--set", f"/cluster/gpus_per_node={gpus}", *options)
        slow = ("--set", "/cluster/intra_node/efficiency=0.25")
        found, _ = self.causes({2: at(2, *slow), 4: at(4, *slow)}, "--sizes", "8")
        self.assertIn("/cluster/intra_node/efficiency", {entry["key"] for entry in found["x-calibrated"]["as_good"]})

    def test_bad_input(self):
        self.scenario()
        self.write("there.json", {})
        for times, options, code, message in (
                ("4:", (), 2, "--measured 4:: expected GPUS:VALUE"), ("4", (), 2, "expected GPUS:VALUE"), ("", (), 2, "expected GPUS:VALUE"), ("0:1", (), 2, "expected GPUS:VALUE"),
                ("4:-1", (), 2, "a value above 0"), ("4:nan", (), 2, "a value above 0"), ("4:1e999", (), 2, "a value above 0"), ("4.5:1", (), 2, "a whole number of GPUs"),
                ("4:1,", (), 2, "expected GPUS:VALUE"), ("4:0.2,4:0.3", (), 2, "0.2 and 0.3 for 4 GPUs contradict each other"),
                ("1:9000", ("--unit", "s"), 2, "is --unit s right?"), ("1:0.1", ("--unit", "samples/s"), 2, "is --unit samples/s right?"),
                ("4:0.05", (), 2, "less than the 100 ms that one GPU computes by the trace"), ("1:0.2,4:0.15", (), 2, "less than the 200 ms that one GPU computes; check the batch"),
                ("4:0.2", ("--sizes", "x"), 2, "--sizes x: expected numbers of GPUs"), ("4:0.2", ("--unit", "h"), 2, "--unit"), ("4:0.2", ("-o", "there.json"), 2, "--force"),
                ("4:50", (), 4, "no cause by itself explains the runs (4 GPUs: 50 s measured"), ("4:0.2", ("-o", "/proc/found.json"), 5, "/proc: cannot be written")):
            with self.subTest(times, options=options):
                done = self.simctl("calibrate", "runs.json", "--measured", times, *(() if "--unit" in options else ("--unit", "s")), *options)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
        self.scenario(sweep={"/schedule/name": ["s-sgd", "wfbp"]})
        self.assertIn("the scenario sweeps /schedule/name; pin it with --set", self.calibrate("4:0.2", code=2).stderr)
        self.scenario(cluster={"gpus_per_node": 4, "intra_node": {"bandwidth": 1e10, "latency": 0}})
        self.assertIn("6 GPUs are not whole nodes of 4; give a multiple, or at most 4", self.calibrate("6:0.2", code=2).stderr)
        self.assertEqual(json.loads((self.folder / "there.json").read_text()), {})

    def test_runs_that_contradict_each_other(self):
        """More GPUs in less time: no cause is near both."""
        self.scenario()
        self.assertIn("The runs contradict each other as far as one cause explains them", self.calibrate({4: 0.24, 16: 0.235}).stdout)
        done = self.calibrate({4: 1.2, 16: 0.2}, "-o", "found.json", code=4)
        self.assertIn("no cause by itself explains the runs (4 GPUs: 1.2 s measured", done.stderr)
        self.assertFalse((self.folder / "found.json").exists())


if __name__ == "__main__":
    unittest.main()
