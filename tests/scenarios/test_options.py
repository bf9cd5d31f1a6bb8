"""The options of the command line that change a scenario, and the lists of what they may name."""
import json
import unittest

from support import Case, cluster, scenario, trace


class DailyOptions(Case):
    """--trace, --cluster, --schedule, --bandwidth and --nodes."""

    def swept(self, *options, sweep=None, **keys):
        done = self.run_scenario(scenario(**{"sweep": sweep} if sweep else {}, **keys), *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [(row["schedule"], row["nodes"]) for row in self.rows()]

    def test_one_value_is_set_and_several_are_swept(self):
        self.assertEqual(self.swept("--nodes", "8"), [("wfbp", "8")])
        self.assertEqual(self.swept("--nodes", "2,8", "--schedule", "s-sgd,wfbp"), [(name, nodes) for name in ("s-sgd", "wfbp") for nodes in "28"])
        # a sweep of the schedule's keys goes with it, that of nodes is pinned or replaced
        sweep = {"/schedule/name": ["s-sgd", "wfbp"], "/cluster/nodes": [2, 4, 8]}
        self.assertEqual(self.swept("--schedule", "mg-wfbp", "--nodes", "4", sweep=sweep), [("mg-wfbp", "4")])
        self.assertEqual(self.swept("--nodes", "3,5", sweep=sweep), [(name, nodes) for name in ("s-sgd", "wfbp") for nodes in "35"])
        self.assertEqual(self.swept("--nodes", "4", "--set", "/cluster/nodes=2"), [("wfbp", "2")])  # the last one

    def test_named_cases_of_schedules(self):
        """A name is that of a case, where the scenario sweeps such cases; others replace them."""
        cases = {"/schedule": {"dts": {"/schedule": {"name": "dts", "delay": 3, "period": 2}}, "wfbp": {"/schedule": {"name": "wfbp", "accumulate": 2}}}}
        for option, expected, label in (("dts", ["dts"], "dts"), ("wfbp,dts", ["wfbp", "dts"], "wfbp"), ("wfbp,s-sgd", ["wfbp", "s-sgd"], {"name": "wfbp"}),
                                        ("s-sgd", ["s-sgd"], {"name": "s-sgd"})):
            self.assertEqual(self.swept("--schedule", option, sweep=cases), [(name, "4") for name in expected])
            self.assertEqual(json.loads((self.folder / "out/results.json").read_text())["points"][0]["sweep"], {"/schedule": label})

    def test_what_is_inside_of_what_is_swept(self):
        """A value inside of a swept key counts in each of its values; --set, which cannot, says so."""
        self.write("other.json", cluster(name="other", nodes=2))
        done = self.run_scenario(scenario(), "--cluster", "cluster.json,other.json", "--nodes", "6", "--bandwidth", "40Gbps")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([(row["cluster"], row["nodes"]) for row in self.rows()], [("small", "6"), ("other", "6")])
        for options, message in ((("--cluster", "cluster.json,other.json", "--set", "/cluster/nics=4"), "--set /cluster/nics: the scenario sweeps /cluster, which would overwrite it"),
                                 (("--schedule", "dts,wfbp", "--set", "/schedule/delay=1"), "--set /schedule/delay: the scenario sweeps /schedule, which would overwrite it")):
            done = self.run_scenario(scenario(), *options)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(message, done.stderr)
        inside = {"/case": {"slow": {"/schedule/name": "s-sgd", "/cluster/nodes": 8}, "fast": {"/schedule/name": "wfbp"}}}
        for option in ("fusion", "fusion,mg-wfbp"):
            done = self.run_scenario(scenario(sweep=inside), "--schedule", option)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--schedule: the cases of /case set /schedule/name, which would overwrite it", done.stderr)
        self.assertEqual(self.swept("--schedule", "s-sgd,wfbp", "--set", "/sweep={}", sweep={"/cluster/nodes": [2, 4]}), [("s-sgd", "4"), ("wfbp", "4")])

    def test_parameters_that_papers_measured_with(self):
        self.swept("--schedule", "dts,sasgd,lasgd,ssd-sgd")
        document = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual(document["settings"], {"/sweep/~1schedule": [{"name": "dts", "delay": 4}, {"name": "sasgd", "interval": 50}, {"name": "lasgd", "tau_max": 1},
                                                                      {"name": "ssd-sgd", "delay": 5}]})
        self.assertEqual(self.swept("--schedule", '{"name":"dts","delay":2}'), [("dts", "4")])

    def test_bandwidths_and_files(self):
        """Of files, names are as the scenario has them, paths relative to the current folder."""
        (self.folder / "below").mkdir()
        self.write("below/scenario.json", scenario(trace="../trace.json", cluster="../cluster.json"))
        self.write("below/fast.json", cluster(name="fast", link={"bandwidth": "40Gbps", "latency": "50us"}))
        self.write("other.json", trace(model={"name": "other", "batch": 8}))
        exposed = {}
        for options in ((), ("--bandwidth", "40Gb/s"), ("--cluster", "below/fast.json"), ("--cluster", "fast"), ("--cluster", self.folder / "below/fast.json")):
            done = self.simctl("run", "below/scenario.json", "--format", "json", "--quiet", "--trace", "other.json", *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            point, = json.loads(done.stdout)["points"]
            self.assertEqual((point["model"], point["batch"]), ("other", 8))
            exposed[options] = point["exposed_communication_s"]
        slow, *fast = exposed.values()
        self.assertEqual(len(set(fast)), 1)
        self.assertLess(fast[0], slow)
        done = self.simctl("check", "below/scenario.json", "--bandwidth", "10Gbps,20Gbps,40Gbps")
        self.assertIn("valid, 3 points", done.stdout)

    def test_what_is_refused(self):
        self.write("scenario.json", scenario())
        for options, code, message in ((("--schedule", "wbfp"), 2, '--schedule: no schedule is called "wbfp"; did you mean "wfbp"?'),
                                       (("--schedule", '{"name":'), 2, "--schedule: not valid JSON"),
                                       (("--nodes", "0"), 2, "--nodes 0: expected ascending whole numbers from 1 on"),
                                       (("--nodes", ""), 2, "--nodes: the value is empty"), (("--bandwidth", "25Gbps,"), 2, '--bandwidth "25Gbps,": a value is empty'),
                                       (("--nodes", "8,4"), 2, "--nodes 8,4: expected ascending"),
                                       (("--bandwidth", "fast"), 2, 'scenario.json: /cluster/link/bandwidth: expected bytes/second from 1 to 1e18 or a string such as "10Gbps" (bits) or "12GBps" (bytes), got "fast" (from --bandwidth)'),
                                       (("--cluster", "nowhere"), 3, "nowhere: no such file, and no cluster has this name"),
                                       (("--cluster", "nowhere/x.json"), 3, "nowhere/x.json")):
            done = self.simctl("run", "scenario.json", *options)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)


class Lists(Case):
    def test_one_schedule(self):
        for words in (("list", "schedules", "dts"), ("show", "dts")):
            done = self.simctl(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^schedule dts: .*\npaper: L. Zhu et al.*\n")
            self.assertRegex(done.stdout, r"\ndelay +integer from 0 to 10000 +none; paper: 4 +D: steps")
        done = self.simctl("list", "schedules", "dst")
        self.assertEqual((done.returncode, done.stderr), (2, 'simctl: no schedule is called "dst"; did you mean "dts"?\n'))
        self.assertEqual(self.simctl("list", "columns").stdout, self.simctl("list", "figures").stdout)
        self.assertEqual(self.simctl("help", "list").stdout, self.simctl("list", "--help").stdout)
        done = self.simctl("help", "nonsense")
        self.assertEqual((done.returncode, done.stderr), (2, 'simctl: no subcommand is called "nonsense"; "simctl --help" lists them\n'))
        self.assertEqual(self.simctl("help").stdout, self.simctl("--help").stdout)


if __name__ == "__main__":
    unittest.main()
