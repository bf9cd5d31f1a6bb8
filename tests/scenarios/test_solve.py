"""Does `simctl solve` find the value from which on a result is as wanted, and say so where there is none?"""
import json
import math
import re
import statistics
import unittest

from support import MISBEHAVING, Case, scenario, trace

LINK = {"bandwidth": "10Gbps", "latency": "50us"}


class Solve(Case):
    def solve(self, content, *words):
        self.write("scenario.json", content)
        return self.simctl("solve", "scenario.json", *words)

    def one(self, **changes):
        described = {"format": "cluster/1", "name": "four", "nodes": 4, "link": LINK} | changes.pop("cluster", {})
        return scenario(**({"cluster": described, "fidelity": "alpha-beta", "sweep": {}, "schedule": {"name": "sync-easgd"}} | changes))

    def cells(self, done):
        """Of the table's lines below its header."""
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        first = next(index for index, line in enumerate(lines) if line.startswith("---"))
        return [re.split("  +", line) for line in lines[first + 1:] if line and not line.startswith("run it at")]

    def figure(self, content, column, *settings):
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "--quiet", "-o", "out", "--force", *(word for setting in settings for word in ("--set", setting)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / "out/results.json").read_text())["points"][0][column]

    def test_the_bandwidth_that_an_all_reduce_needs(self):
        """Compute and one all-reduce after it: of four digits the first that is enough."""
        for efficiency in (0.5, 0.73, 0.9):
            content = self.one()
            done = self.solve(content, "--for", "/cluster/link/bandwidth", "--from", "1Mbps", "--to", "1000000Mbps", "--until", f"efficiency >= {efficiency}")
            self.assertEqual(done.returncode, 0, done.stderr)
            compute = self.figure(content, "compute_s")
            size = sum(gradient["bytes"] for gradient in trace()["gradients"])
            needed = 1.5 * size / (compute / efficiency - compute - 6 * 50e-6) * 8e-6  # Mb/s
            step = 10 ** (math.floor(math.log10(needed)) - 3)
            self.assertEqual(self.cells(done)[0][0], f"from {math.ceil(needed / step - 1e-9) * step:g}Mbps")

    def test_either_side_whole_numbers_and_each_point_of_a_sweep(self):
        content = self.one(schedule={"name": "wfbp"}, cluster={"link": {"bandwidth": "1Gbps", "latency": "100us"}})
        content["sweep"] = {"/schedule/name": ["wfbp", "sync-easgd"]}
        done = self.solve(content, "--for", "/cluster/nodes", "--from", "2", "--to", "300", "--until", "iteration_s < 0.15")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, (schedule, where, _) in zip(("wfbp", "sync-easgd"), self.cells(done), strict=True):
            side, most = where.rsplit(" ", 1)
            self.assertEqual((schedule, side), (name, "up to"))
            times = [self.figure(content, "iteration_s", f"/cluster/nodes={int(most) + more}", f'/schedule/name="{name}"') for more in (0, 1)]
            self.assertLess(times[0], 0.15)
            self.assertGreaterEqual(times[1], 0.15)
        self.assertIn(f"run it at that value: {self.own_command()} run scenario.json --set /cluster/nodes=", done.stdout)

    def test_everywhere_and_nowhere(self):
        for condition, answer in (("iteration_s > 0", "everywhere"), ("efficiency > 1.5", "nowhere")):
            done = self.solve(self.one(), "--for", "/cluster/link/latency", "--from", "1us", "--to", "100us", "--until", condition)
            self.assertEqual((done.returncode, self.cells(done)[0][0].strip()), (0, answer))
            self.assertNotIn("run it at", done.stdout)

    def test_what_comes_and_goes_is_no_answer(self):
        content = self.one(schedule={"name": "wfbp"}, workers={"jitter": {"distribution": "lognormal", "cv": 0.5}})
        middle = statistics.median(self.figure(content, "iteration_s", f"/seed={seed}") for seed in range(1, 7))
        done = self.solve(content, "--for", "/seed", "--from", "1", "--to", "40", "--until", f"iteration_s < {middle}")
        self.assertEqual(done.returncode, 4)
        self.assertIn("comes and goes, after ", done.stdout)

    def test_a_point_that_fails_leaves_the_others(self):
        content = self.one(schedule={"name": "fine"}) | {"sweep": {"/schedule/name": ["fine", "ends-early"]}}
        self.write("scenario.json", content)
        done = self.simctl("solve", "scenario.json", "--for", "/cluster/link/bandwidth", "--from", "1Gbps", "--to", "2Gbps", "--until", "efficiency > 0.001",
                           binary=MISBEHAVING)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"\Asimctl: scenario\.json: point 1 at [\d.]+Gbps: rank \d ended its program in step 2, [^\n]+\n\Z")
        self.assertEqual([re.split("  +", line)[:2] for line in done.stdout.splitlines()[4:]], [["fine", "everywhere"], ["ends-early", "failed"]])

    def test_what_cannot_be_asked(self):
        swept = self.one() | {"sweep": {"/schedule/name": ["wfbp", "sync-easgd"]}}
        usual = {"--for": "/cluster/link/bandwidth", "--from": "1Gbps", "--to": "2Gbps", "--until": "efficiency > 0"}
        for changes, message in (({"--until": "efficiency"}, "--until 'efficiency': expected a column, >=, <=, > or <, and a number, such as 'efficiency >= 0.9'"),
                                 ({"--until": "iteration_slow_s < 1"}, "--until 'iteration_slow_s < 1': iteration_slow_s is of usual networks, over which the column "
                                  "\"usual networks\" has the answers; use iteration_s"),
                                 ({"--until": "eficiency > 1"}, "--until 'eficiency > 1': results have no column \"eficiency\"; did you mean \"efficiency\"?"),
                                 ({"--until": "efficiency > 1e"}, "--until 'efficiency > 1e': \"1e\" is not a number"),
                                 ({"--until": "schedule > 1"}, "--until: the column schedule has no number in this scenario"),
                                 ({"--until": "total_h > 1"}, "--until: the column total_h has no number in this scenario"),
                                 ({"--from": "fast"}, "--from fast: expected a number above 0, perhaps with a unit, such as 64, 0.5 or 10Gbps"),
                                 ({"--from": "0Gbps"}, "--from 0Gbps: expected a number above 0, perhaps with a unit, such as 64, 0.5 or 10Gbps"),
                                 ({"--to": "9Mbps"}, "--to 9Mbps: expected the unit of --from 1Gbps"),
                                 ({"--to": "1Gbps"}, "--to 1Gbps: expected more than --from 1Gbps"),
                                 ({"--from": "1.00001Gbps", "--to": "1.00002Gbps"}, "--to 1.00002Gbps: expected another value of four digits than --from 1.00001Gbps"),
                                 ({"--for": "/schedule/name"}, "--for /schedule/name: the scenario sweeps /schedule/name; pin that with --set, or leave it out of the sweep"),
                                 ({"--for": "/schedule"}, "--for /schedule: the scenario sweeps /schedule/name; pin that with --set, or leave it out of the sweep")):
            with self.subTest(changes):
                done = self.solve(swept, *(word for option in (usual | changes).items() for word in option))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"simctl: {message}\n"))
        done = self.solve(self.one(), *(word for option in (usual | {"--for": "/cluster/link/bandwith"}).items() for word in option))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r'/cluster/link/bandwith: unknown key "bandwith".*\(from --for\)\n\Z')


if __name__ == "__main__":
    unittest.main()
