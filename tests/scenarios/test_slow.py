"""Workers that are slow in one pass, or from some time on."""
import json
import unittest

from support import Case, scenario

SCHEDULES = [{"name": "s-sgd"}, {"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "bytescheduler", "partition": "1MB"}, {"name": "ssd-sgd", "delay": 2, "warmup_iterations": 0},
             {"name": "dts", "delay": 2}, {"name": "lasgd", "tau_max": 2}, {"name": "sasgd", "interval": 2}, {"name": "asgd"}, {"name": "fsdp"}]
LAYERS = [("a", 0.004, 0.007, 4_000_000), ("b", 0.003, 0.008, 9_000_000), ("c", 0.005, 0.006, 1_000_000)]
UPDATE = 0.002


def trace(forward=1.0, backward=1.0, update=1.0):
    return {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "test"}, "model": {"name": "m", "batch": 8, "dtype": "fp32"}, "update_s": update * UPDATE,
            "layers": [{"name": name, "type": "x", "forward_s": forward * first, "backward_s": backward * second} for name, first, second, _ in LAYERS],
            "gradients": [{"name": f"{name}.w", "layer": name, "bytes": size} for name, _, _, size in reversed(LAYERS)]}


CLUSTER = {"format": "cluster/1", "name": "c", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "20us"}}


class Workers(Case):
    def times(self, workers, its_trace=None, schedule=None, **more):
        """Iteration times by schedule."""
        (self.folder / "trace.json").write_text(json.dumps(its_trace or trace()))
        content = scenario(cluster=CLUSTER, iterations={"warmup": 0, "measured": 8}, **more)
        if schedule:
            content["schedule"] = schedule
        else:
            content["sweep"] = {"/schedule": SCHEDULES}
        if workers is not None:
            content["workers"] = workers
        return [point["iteration_s"] for point in self.points(content)]

    def assert_close(self, got, want):
        self.assertEqual(len(got), len(want))
        for one, other, schedule in zip(got, want, SCHEDULES):
            self.assertAlmostEqual(one, other, delta=1e-9 * other, msg=schedule["name"])


class Slow(Workers):
    def test_all_ranks_slow_in_a_pass_are_another_trace(self):
        """Independent of how factors are applied: the same schedule on a trace whose pass takes longer."""
        for name in ("forward", "backward", "update"):
            with self.subTest(name):
                self.assert_close(self.times({"slow": [{"ranks": "0-3", "factor": 1.7, "pass": name}]}), self.times(None, trace(**{name: 1.7})))

    def test_all_passes_are_the_whole(self):
        for ranks in ("2", "0-1"):
            passes = [{"ranks": ranks, "factor": 1.6, "pass": name} for name in ("forward", "backward", "update")]
            self.assert_close(self.times({"slow": passes}), self.times({"slow": [{"ranks": ranks, "factor": 1.6}]}))

    def test_factors_are_multiplied(self):
        entries = [{"ranks": "1", "factor": 1.5}, {"ranks": "0-3", "factor": 1.2, "from_s": 0}, {"ranks": "1", "factor": 2, "pass": "update"}]
        self.assert_close(self.times({"slow": entries}), self.times({"slow": [{"ranks": "0,2-3", "factor": 1.2}, {"ranks": "1", "factor": 1.8, "pass": "forward"},
                                                                              {"ranks": "1", "factor": 1.8, "pass": "backward"}, {"ranks": "1", "factor": 3.6, "pass": "update"}]}))

    def test_times_that_cover_all_or_nothing(self):
        whole = self.times({"slow": [{"ranks": "1", "factor": 1.5}]})
        self.assert_close(self.times({"slow": [{"ranks": "1", "factor": 1.5, "from_s": 0, "until_s": 1e6}]}), whole)
        # Beyond the end a note says so; results() wants no warnings, so one schedule at a time.
        for schedule, plain in zip(SCHEDULES, self.times({"slow": [{"ranks": "1", "factor": 1}]})):
            self.assertAlmostEqual(self.times({"slow": [{"ranks": "1", "factor": 1.5, "from_s": 1e6}]}, schedule=schedule)[0], plain, delta=1e-9 * plain)

    def test_a_step_from_some_time_on(self):
        """s-sgd, as a recurrence: what begins in the time takes longer."""
        forward, backward = (sum(layer[i] for layer in LAYERS) for i in (1, 2))
        iteration = self.times(None, schedule={"name": "s-sgd"})[0]
        communication = iteration - forward - backward - UPDATE
        for begin, end in ((0.1, 0.25), (0.0, 0.2), (0.137, 1e9), (0.2, 0.2001)):
            with self.subTest(begin=begin, end=end):
                now, factor = 0.0, lambda start, name: 1.9 if begin <= start < end and name != "update" else 1.0
                for _ in range(8):
                    now += forward * factor(now, "forward")
                    now += backward * factor(now, "backward") + communication + UPDATE
                slow = [{"ranks": "2", "factor": 1.9, "pass": name, "from_s": begin, "until_s": end} for name in ("forward", "backward")]
                self.assertAlmostEqual(self.times({"slow": slow}, schedule={"name": "s-sgd"})[0], now / 8, delta=1e-9)

    def test_a_slow_time_outside_the_window_is_told(self):
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        done = self.run_scenario(scenario(cluster=CLUSTER, workers={"slow": [{"ranks": "1", "factor": 2, "from_s": 500}]}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the slow time of rank 1 at 500 s lies outside the measured window", done.stdout + done.stderr)

    def test_what_if_nobody_were_slow(self):
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        (self.folder / "s.json").write_text(json.dumps(scenario(cluster=CLUSTER, workers={"slow": [{"ranks": "1", "factor": 2, "pass": "backward"}]})))
        done = self.simctl("explain", "s.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"workers\.slow\.passes +off")
        self.assertIn("straggler", done.stdout)

    def test_what_is_refused(self):
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        for entry, message in (({"pass": "sideways"}, "/workers/slow/0/pass: "), ({"pass": 3}, "/workers/slow/0/pass"), ({"from_s": -1}, "/workers/slow/0/from_s: expected"),
                               ({"until_s": 0}, '/workers/slow/0/until_s: expected a time after "from_s" (0 s)'), ({"from_s": 5, "until_s": 5}, "/workers/slow/0/until_s"),
                               ({"from_s": 1e300}, "/workers/slow/0/from_s"), ({"factor": 0, "pass": "update"}, "/workers/slow/0/factor"), ({"to_s": 3}, "/workers/slow/0/to_s")):
            with self.subTest(entry):
                done = self.run_scenario(scenario(cluster=CLUSTER, workers={"slow": [{"ranks": "1", "factor": 2} | entry]}))
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)


OTHER = {"a": (1.1, 0.6), "b": (0.8, 1.9), "c": (0.9, 0.5)}  # another GPU: factors on forward and backward of each layer
PLANS_BY_TIMES = ("mg-wfbp",)


def other_trace():
    """Of a GPU that is faster in some layers and slower in others."""
    found = trace(update=1.4)
    for layer in found["layers"]:
        for key, factor in zip(("forward_s", "backward_s"), OTHER[layer["name"]]):
            layer[key] *= factor
    return found


def scaled(factor):
    """Every time, also those that a trace has besides its layers'."""
    found = trace(factor, factor, factor)
    ready = [0.006, 0.0135, 0.0215]
    found["iteration"] = {"forward_s": factor * 0.0123, "backward_s": factor * 0.022}
    for gradient, time in zip(found["gradients"], ready):
        gradient["ready_s"] = factor * time
    return found


class UnlikeGpus(Workers):
    def of(self, ranks, its_trace):
        return {"traces": [{"ranks": ranks, "trace": its_trace}]}

    def test_all_ranks_with_another_trace_are_a_scenario_with_it(self):
        """But for schedules that plan by times, which plan with the scenario's trace."""
        for got, want, schedule in zip(self.times(self.of("0-3", other_trace())), self.times(None, other_trace()), SCHEDULES):
            if schedule["name"] not in PLANS_BY_TIMES:
                self.assertAlmostEqual(got, want, delta=1e-9 * want, msg=schedule["name"])

    def test_a_trace_that_takes_longer_throughout_is_a_factor(self):
        for ranks in ("2", "0-1"):
            slow = self.times({"slow": [{"ranks": ranks, "factor": 1.6}]}, scaled(1.0))
            self.assert_close(self.times(self.of(ranks, scaled(1.6)), scaled(1.0)), slow)
            self.assert_close(self.times(self.of(ranks, scaled(0.8)) | {"slow": [{"ranks": ranks, "factor": 2}]}, scaled(1.0)), slow)

    def test_the_scenarios_trace_changes_nothing(self):
        self.assert_close(self.times(self.of("1-2", trace())), self.times(None))

    def test_a_collective_begins_when_the_slowest_gpu_has_its_gradient(self):
        """wfbp in alpha-beta fidelity, as a recurrence over the layers: which GPU is last changes from layer to layer."""
        latency, rate, ranks = 20e-6, 1.25e9, 4
        ready, updates = [], []
        for gpu in (trace(), other_trace()):
            now, times = sum(layer["forward_s"] for layer in gpu["layers"]), []
            for layer in reversed(gpu["layers"]):
                now += layer["backward_s"]
                times.append(now)
            ready.append(times)
            updates.append(gpu["update_s"])
        begun, free, last = [0.0, 0.0], 0.0, []
        for _ in range(8):
            for number, (_, _, _, size) in enumerate(reversed(LAYERS)):
                posted = [begin + times[number] for begin, times in zip(begun, ready)]
                last.append(posted.index(max(posted)))
                free = max(free, *posted) + 2 * (ranks - 1) * (latency + size / ranks / rate)
            begun = [max(free, begin + times[-1]) + update for begin, times, update in zip(begun, ready, updates)]
        self.assertEqual(set(last), {0, 1})
        others, one = (end / 8 for end in begun)
        got = self.times(self.of("2", other_trace()), schedule={"name": "wfbp"}, fidelity="alpha-beta")[0]
        self.assertAlmostEqual(got, ranks / (3 / others + 1 / one), delta=1e-12)

    def test_a_node_waits_for_the_slowest_of_its_gpus(self):
        """asgd's ranks stand for nodes. One slower GPU in each makes both nodes as slow as if all GPUs were."""
        cluster = CLUSTER | {"nodes": 2, "gpus_per_node": 2, "intra_node": {"bandwidth": "100GBps", "latency": "1us"}}
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        slower = trace(update=1.4)
        for layer in slower["layers"]:
            for key, factor in zip(("forward_s", "backward_s"), OTHER[layer["name"]]):
                layer[key] *= max(1, factor)
        times = [self.points(scenario(cluster=cluster, iterations={"warmup": 0, "measured": 8}, schedule={"name": "asgd", "servers": 1},
                                      workers=self.of(ranks, slower)))[0]["iteration_s"] for ranks in ("0-3", "0,3")]
        self.assertAlmostEqual(*times, delta=1e-12)

    def test_what_if_all_were_alike(self):
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        (self.folder / "s.json").write_text(json.dumps(scenario(cluster=CLUSTER, workers=self.of("1", scaled(2.0)))))
        done = self.simctl("explain", "s.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"workers\.traces +off")

    def test_results_name_all_traces(self):
        (self.folder / "trace.json").write_text(json.dumps(trace()))
        (self.folder / "other.json").write_text(json.dumps(other_trace() | {"device": {"kind": "gpu", "name": "another GPU"}}))
        done = self.run_scenario(scenario(cluster=CLUSTER, workers=self.of("1", "other.json")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("trace other.json: m, batch 8, another GPU; SYNTHETIC", done.stdout)

    def test_what_is_refused(self):
        (self.folder / "trace.json").write_text(json.dumps(trace(update=0)))
        fewer, larger, batch = trace(), trace(), trace()
        fewer["gradients"].pop()
        longer = trace(update=0)
        longer["layers"].append({"name": "d", "type": "x", "forward_s": 0.001, "backward_s": 0})
        larger["gradients"][1]["bytes"] += 4
        batch["model"]["batch"] = 4
        place = "/workers/traces/0/trace: "
        for entry, message in (({"trace": "none.json"}, place + "none.json: no such file"), ({"trace": 3}, place), ({"trace": fewer}, place + "it has 2 gradients, but the scenario's trace 3"),
                               ({"trace": larger}, place + "its gradient 1 is b.w of 9000004 bytes, but the scenario's trace has b.w of 9000000 bytes there"),
                               ({"trace": batch}, place + "its batch is 4, but the scenario's trace has 8"), ({"trace": trace()}, place + "it has an update, but"),
                               ({"ranks": "4"}, "/workers/traces/0/ranks: expected ascending ranks from 0 to 3"), ({"factor": 2}, "/workers/traces/0/factor"),
                               ({"trace": 0}, place + "expected a trace, or the file or name of one"),
                               ({"trace": longer}, place + "it has 4 layers, but the scenario's trace 3"),
                               ({"trace": trace(update=0) | {"layers": []}}, place[:-2])):
            with self.subTest(message):
                done = self.run_scenario(scenario(cluster=CLUSTER, workers={"traces": [{"ranks": "1", "trace": trace(update=0)} | entry]}))
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)
        done = self.run_scenario(scenario(cluster=CLUSTER, workers={"traces": 2 * [{"ranks": "1", "trace": trace(update=0)}]}))
        self.assertIn("/workers/traces/1/ranks: rank 1 is named twice; give it one trace", done.stderr)


if __name__ == "__main__":
    unittest.main()
