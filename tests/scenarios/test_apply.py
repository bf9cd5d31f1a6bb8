"""Does `simctl apply` write the groups that were simulated, and does the schedule `groups` simulate what it is given?"""
import hashlib
import json
import random
import unittest

from support import Case, cluster, scenario, trace

MEBIBYTE = 2**20


def of_sizes(sizes):
    names = [f"layer{i}.weight" for i in range(len(sizes))]
    layers = [{"name": f"layer{i}", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002} for i in range(len(sizes))]
    return trace(layers=layers, gradients=[{"name": name, "layer": f"layer{i}", "bytes": size} for i, (name, size) in reversed(list(enumerate(zip(names, sizes))))])


class Apply(Case):
    def setUp(self):
        super().setUp()
        self.sizes = [random.Random(7).randint(10000, 9000000) for _ in range(12)]
        self.ready = [(f"layer{i}.weight", size) for i, size in reversed(list(enumerate(self.sizes)))]
        self.write("trace.json", of_sizes(self.sizes))
        self.write("scenario.json", scenario())

    def plan(self, *options, code=0):
        done = self.simctl("apply", "scenario.json", "-o", "plan.json", "--force", *options)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return json.loads((self.folder / "plan.json").read_text()), done.stdout

    def iteration(self, schedule, *options):
        self.write("other.json", scenario(schedule=schedule))
        done = self.simctl("run", "other.json", "--format", "json", "--quiet", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["points"][0]["iteration_s"]

    def test_a_plan_is_what_was_simulated(self):
        for schedule in ("mg-wfbp", "mg-wfbp-optimal", "fusion", "wfbp", "s-sgd"):
            plan, told = self.plan("--schedule", schedule)
            names = [name for group in plan["groups"] for name in group["parameters"]]
            self.assertEqual(names, [name for name, _ in self.ready])
            sizes = dict(self.ready)
            self.assertEqual([group["bytes"] for group in plan["groups"]], [sum(sizes[name] for name in group["parameters"]) for group in plan["groups"]])
            self.assertEqual(plan["ddp"]["bucket_cap_mb_list"], [group["bytes"] / MEBIBYTE for group in plan["groups"]])
            self.assertEqual(plan["trace_digest"], hashlib.sha256("".join(f"{name} {size}\n" for name, size in self.ready).encode()).hexdigest())  # the trace lists them so
            self.assertEqual(plan["predicted_iteration_s"], self.iteration({"name": schedule}))
            self.assertEqual(self.results(scenario(schedule={"name": schedule}))["points"][0]["groups"], plan["groups"])
            self.assertEqual(plan["predicted_ddp_s"], self.iteration({"name": "fusion"}))
            self.assertIn(f"{len(plan['groups'])} group", told)
            if schedule != "s-sgd":  # which sends after backward
                self.assertEqual(self.iteration({"name": "groups", "groups": plan["groups"]}), plan["predicted_iteration_s"])
            for kind in ("one_size", "two_sizes"):
                if sizes := plan["ddp"].get(kind):
                    bucket = round(sizes["bucket_cap_mb"] * MEBIBYTE)
                    again = self.iteration({"name": "fusion", "bucket": bucket, "first_bucket": sizes.get("first_bucket_bytes", bucket)})
                    self.assertEqual(again, sizes["predicted_iteration_s"])
                    self.assertLess(again, 1.01 * plan["predicted_iteration_s"])
                    self.assertIn(f"bucket_cap_mb={sizes['bucket_cap_mb']:.10g}", told)
            self.assertEqual("change nothing" in told, plan["predicted_ddp_s"] <= 1.01 * plan["predicted_iteration_s"])

    def test_what_else_a_schedule_says_holds_for_ddp_too(self):
        """Steps that only add up, and compression: DDP's buckets have them as well, so that fusion is as fast as itself."""
        for more in ({"accumulate": 4}, {"compression": "fp16"}):
            plan, told = self.plan("--schedule", json.dumps({"name": "fusion", **more}))
            self.assertEqual(plan["predicted_ddp_s"], plan["predicted_iteration_s"])
            self.assertIn("1.000 times as fast as DDP's default", told)
            self.assertLess(plan["ddp"]["two_sizes"]["predicted_iteration_s"], 1.0001 * plan["predicted_iteration_s"])

    def test_no_pair_of_sizes_of_the_best_is_missed(self):
        """All pairs that differ, one by one, against the pair that is found."""
        plan, _ = self.plan("--schedule", "mg-wfbp-optimal")
        total, best = 0, {}
        for _, first in self.ready:
            total += first
            for bucket in range(200000, sum(self.sizes), 3000000):
                best[total, bucket] = self.iteration({"name": "fusion", "bucket": bucket, "first_bucket": total}, "--set", '/fidelity="alpha-beta"')
        self.assertLess(plan["ddp"]["two_sizes"]["predicted_iteration_s"], 1.005 * min(best.values()))

    def test_layers_are_named_by_their_parameters(self):
        two = of_sizes([1000000, 2000000])
        two["gradients"].insert(1, {"name": "layer1.bias", "layer": "layer1", "bytes": 400})
        self.write("trace.json", two)
        plan, _ = self.plan("--set", '/granularity="layer"')
        self.assertEqual(plan["groups"], [{"bytes": 2000400, "parameters": ["layer1.weight", "layer1.bias"]}, {"bytes": 1000000, "parameters": ["layer0.weight"]}])
        again = self.iteration({"name": "groups", "groups": plan["groups"]}, "--set", '/granularity="layer"')  # a plan's names are its parameters'
        self.assertEqual(again, plan["predicted_iteration_s"])

    def test_the_folder_of_a_run(self):
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--schedule", "wfbp,mg-wfbp").returncode, 0)
        done = self.simctl("apply", "out", "--point", "1", "-o", "of_run.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads((self.folder / "of_run.json").read_text())["groups"], self.plan("--schedule", "mg-wfbp")[0]["groups"])
        done = self.simctl("apply", "out", "--point", "1", "--nodes", "8")
        self.assertEqual(done.returncode, 2)
        self.assertIn("out: a run has been made as it is; give its scenario to change it", done.stderr)

    def test_what_is_refused(self):
        table = [(("--schedule", "dts"), 3, "scenario.json: point 0: dts has no groups of gradients, and no library of PyTorch runs it as it is"),
                 (("--schedule", "local-sgd"), 3, "local-sgd has no groups of gradients; run it by PyTorch's PeriodicModelAverager"),
                 (("--nodes", "1"), 3, "one worker has nobody to communicate with"),
                 (("--schedule", "wfbp,mg-wfbp"), 2, "--point"), (("-o", "scenario.json"), 2, "there is such a file"), (("-o", "/proc/plan.json"), 5, "/proc: cannot be written")]
        for options, code, message in table:
            done = self.simctl("apply", "scenario.json", *options)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)


class Groups(Case):
    def run_groups(self, groups, sizes=(300, 200, 100)):
        self.write("trace.json", of_sizes(sizes))
        return self.run_scenario(scenario(schedule={"name": "groups", "groups": groups}))

    def test_every_way_to_say_the_same(self):
        """100 bytes are ready first, then 200, then 300."""
        first, second, third = (f"layer{i}.weight" for i in (2, 1, 0))
        found = set()
        for groups in ([2, 1], [2], [[first, second]], [[second, first], [third]], [{"bytes": 300}], [{"bytes": 300}, {"bytes": 300, "parameters": [third]}],
                       [{"parameters": [first, second]}, 1]):
            done = self.run_groups(groups)
            self.assertEqual((done.returncode, done.stderr), (0, ""), groups)
            row, = self.rows()
            found.add((row["iteration_s"], row["communications_per_iteration"]))
        self.assertEqual({count for _, count in found}, {"2"})
        self.assertEqual(len(found), 1)

    def test_what_is_refused(self):
        first, second, third = (f"layer{i}.weight" for i in (2, 1, 0))
        place = "simctl: scenario.json: /schedule/groups"
        for groups, message in (([4], f"{place}/0: 4 gradients, but only 3 left"), ([3, 1], f"{place}/1: 1 gradient, but only 0 left"),
                                ([[first, third]], f'{place}/0: "{third}" is not next: in the trace\'s order of readiness then comes "{second}"'),
                                ([["layer2.wieght"]], f'{place}/0: the trace has no gradient "layer2.wieght"; did you mean "layer2.weight"?'),
                                ([[first, first]], f"{place}/0: it names a gradient twice"),
                                ([1, {"bytes": 250}], f'{place}/1: 250 bytes, but the gradients from "{second}" to "{third}" have 500'),
                                ([{"bytes": 101, "parameters": [first]}], f'{place}/0: 101 bytes, but the gradients from "{first}" to "{first}" have 100'),
                                ([], f"{place}: expected"), ([0], f"{place}/0: expected"), ([{}], f'{place}/0: expected "parameters", "bytes" or both'), ([[]], f"{place}/0: expected"),
                                ([True], f"{place}/0: expected"), ({"a": 1}, f"{place}: expected"), ([{"byte": 1}], f"{place}/0")):
            done = self.run_groups(groups)
            self.assertEqual(done.returncode, 3, (groups, done.stdout, done.stderr))
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
