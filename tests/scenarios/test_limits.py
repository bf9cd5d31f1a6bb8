"""Is what a simulation takes told before, refused beyond a limit, and linear in what a scenario lists?"""
import json
import os
import pathlib
import re
import subprocess
import unittest

from support import SIMCTL, Case, cluster, scenario, trace

JITTER = {"jitter": {"distribution": "lognormal", "cv": 0.1}}
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def paused(seconds):
    return {"events": [{"kind": "pause", "rank": 0, "at_s": 0, "for_s": seconds}]}


ENDLESS = scenario(schedule={"name": "asgd"}, workers=paused(1e9))


class Estimates(Case):
    def estimate(self, content):
        """Steps and bytes that check tells of a scenario with one point."""
        self.write("scenario.json", content)
        done = self.simctl("check", "scenario.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.search(r"^a run takes (?:about|at most) \S+ \S+ on one core and (\S+) (\w+) of memory, for (\S+) gradient steps$", done.stdout, re.M)
        self.assertTrue(found, done.stdout)
        return float(found[3]), float(found[1]) * UNITS[found[2]]

    def peak(self, content):
        """Of all processes of a run, in bytes."""
        self.write("scenario.json", content)
        with subprocess.Popen([SIMCTL, "run", "scenario.json", "-j", "1", "--format", "csv", "--quiet"], cwd=self.folder, stdout=subprocess.DEVNULL) as run:
            _, status, usage = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(run.returncode, 0)
        return 1024 * usage.ru_maxrss

    def test_memory_is_estimated_within_a_factor_of_three(self):
        many = trace(layers=[{"name": f"l{i}", "forward_s": 0.0005, "backward_s": 0.001} for i in range(20)],
                     gradients=[{"name": f"g{i}", "layer": f"l{i}", "bytes": 50000} for i in reversed(range(20))])
        longer = {"warmup": 2, "measured": 10000}
        table = {
            "others go on beside a pause": scenario(schedule={"name": "asgd"}, workers=paused(1000)),
            "and exchange many gradients": scenario(trace=many, schedule={"name": "asgd"}, workers=paused(100)),
            "or little": scenario(schedule={"name": "downpour", "interval": 4}, workers=paused(1000)),
            "and wait for a share only": scenario(schedule={"name": "lasgd", "tau_max": 10, "participants": 0.5}, workers=paused(500)),
            "beside a slow worker": scenario(schedule={"name": "asgd"}, workers={"slow": [{"ranks": "1", "factor": 5e4}]}),
            "peers": scenario(schedule={"name": "ad-psgd"}, workers=paused(700)),
            "a long cycle": scenario(schedule={"name": "dts", "delay": 99, "period": 100}, iterations={"warmup": 0, "measured": 500_000}),
            "equal workers": scenario(trace=many, iterations=longer),
            "few collectives": scenario(trace=many, schedule={"name": "fusion", "bucket": "25MB"}, iterations={"measured": 200_000}),
            "unequal workers": scenario(trace=many, iterations=longer, workers=JITTER),
            "latencies that vary": scenario(trace=many, cluster=cluster(nodes=64, link={"bandwidth": "10Gbps", "latency": "50us", "latency_jitter": JITTER["jitter"]})),
            "a queue at servers": scenario(schedule={"name": "ps-sgd", "service": "fifo"}, cluster=cluster(nodes=16), iterations={"measured": 4000}),
            "a tree": scenario(all_reduce={"name": "binary-tree"}, cluster=cluster(nodes=16), iterations=longer),
            "rounds": scenario(schedule={"name": "lasgd", "tau_max": 3}, iterations=longer, workers=JITTER),
            "many workers": scenario(cluster=cluster(nodes=10000), workers={"slow": [{"ranks": "0", "factor": 2}]}, fidelity="alpha-beta"),
            "flows": scenario(cluster=cluster(nodes=64), fidelity="flow"),
            "one worker": scenario(cluster=cluster(nodes=1), iterations={"measured": 500_000}),
            "replicates": scenario(iterations=longer, workers=JITTER, replicates=2),
        }
        for name, content in table.items():
            with self.subTest(name):
                _, memory = self.estimate(content)
                peak = self.peak(content)
                self.assertLess(memory, 3 * peak)
                self.assertLess(peak, 3 * memory)

    def test_until_and_replicates_multiply_steps(self):
        once, memory = self.estimate(scenario(workers=JITTER))
        self.assertEqual(once, 16)
        self.assertEqual(self.estimate(scenario(workers=JITTER, replicates=10)), (10 * once, memory))
        steps, _ = self.estimate(scenario(workers=JITTER, iterations={"warmup": 0, "measured": 3, "until": 1e-3}))
        self.assertEqual(steps, 2 * 4 * (2 * 0.1 / 1e-3) ** 2)
        self.assertIn("a run takes at most", self.simctl("check", "scenario.json").stdout)

    def test_the_point_that_takes_the_most_is_named(self):
        self.write("scenario.json", scenario(sweep={"/iterations/measured": [3, 30000, 5]}))
        self.assertRegex(self.simctl("check", "scenario.json").stdout,
                         r"valid, 3 points\na run takes about \S+ m?s on one core and up to \S+ MB of memory a point, for 3e\+04 gradient "
                         r"steps; most of it point 1 \(/iterations/measured=30000\): \S+ m?s, for 3e\+04 steps\n$")

    def test_the_memory_is_that_of_the_point_that_takes_most_of_it(self):
        content = scenario(schedule={"name": "asgd"}, replicates=1000)
        _, memory = self.estimate(content | {"workers": paused(2000)})
        self.write("scenario.json", content | {"sweep": {"/workers": [JITTER, paused(2000)]}})
        found = re.search(r"and up to (\S+) (\w+) of memory a point, .*; most of it point 0 ", self.simctl("check", "scenario.json").stdout)
        self.assertEqual(float(found[1]) * UNITS[found[2]], memory)

    def test_check_for_other_programs(self):
        """The same as in words, to more digits."""
        self.write("scenario.json", scenario(schedule={"name": "asgd"}, sweep={"/workers": [JITTER, paused(2000)]}))
        said, told = (self.simctl("check", "scenario.json", "--format", name) for name in ("text", "json"))
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        check = json.loads(told.stdout)
        self.assertEqual((check["format"], check["scenario"], check["points"], check["refused"], check["longest_point"]["point"]), ("check/1", "scenario.json", 2, None, 1))
        self.assertIn(f"for {check['steps']:.2g} gradient steps; most of it point 1 ", said.stdout)
        self.assertGreaterEqual(check["longest_time_s"], check["time_s"])
        self.assertGreater(check["time_s"], check["longest_point"]["time_s"])
        self.write("scenario.json", ENDLESS)
        refused = json.loads(self.simctl("check", "scenario.json", "--format", "json").stdout)["refused"]
        self.assertEqual(refused["point"], 0)
        self.assertIn("gradient steps would have to be simulated, over the limit of 1e+09", refused["because"])

    def test_check_tells_what_a_run_refuses(self):
        self.write("scenario.json", ENDLESS)
        done = self.simctl("check", "scenario.json")
        self.assertRegex(done.stdout, r"\na run refuses point 0: about \S+ gradient steps would have to be simulated, over the limit of 1e\+09; ")
        self.assertEqual(done.returncode, 0)


class Refusals(Case):
    def test_every_command_refuses_before_it_starts(self):
        message = (r"about 1.6e\+11 gradient steps would have to be simulated, over the limit of 1e\+09; use fewer iterations or nodes, or shorter pauses, beside "
                   r"which other workers go on, or allow them with --max-steps 3e\+11")
        self.write("scenario.json", ENDLESS)
        for command in (["run", "scenario.json"], ["explain", "scenario.json"],
                        ["solve", "scenario.json", "--for", "/cluster/nodes", "--from", "4", "--to", "5", "--until", "efficiency > 0.5"]):
            with self.subTest(command[0]):
                done = self.simctl(*command)
                self.assertEqual(done.returncode, 4)
                self.assertRegex(done.stderr + done.stdout, message)

    def test_what_waits_for_a_share_only_goes_on_beside_the_slowest(self):
        schedule = {"name": "lasgd", "tau_max": 10, "participants": 0.5}
        for workers, advice in ((paused(1e7), "shorter pauses"), ({"slow": [{"ranks": "0", "factor": 1e6}]}, "less slow workers")):
            with self.subTest(advice):
                done = self.run_scenario(scenario(cluster=cluster(nodes=64), schedule=schedule, workers=workers), "--max-steps", "1e7")
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertRegex(done.stderr, rf"gradient steps would have to be simulated, over the limit of 1e\+07; .*or {advice}")

    def test_steps_are_counted_where_a_limit_is_near(self):
        """Of ad-psgd, those whose averages take a second hold nobody up: the others do hundreds of steps, of which formulas know nothing."""
        content = scenario(cluster=cluster(link={"bandwidth": 1e9, "latency": 1.0}), schedule={"name": "ad-psgd"}, iterations={"warmup": 2, "measured": 10})
        self.write("scenario.json", content)
        for command in (["run", "scenario.json"], ["explain", "scenario.json"],
                        ["solve", "scenario.json", "--for", "/cluster/nodes", "--from", "4", "--to", "5", "--until", "efficiency > 0.9"]):
            with self.subTest(command[0]):
                done = self.simctl(*command, "--max-steps", "1000")
                self.assertEqual(done.returncode, 4, done.stdout)
                self.assertIn("about 1.1e+03 gradient steps would have to be simulated, over the limit of 1e+03", done.stderr + done.stdout)

    def test_what_is_refused_costs_no_other_point(self):
        done = self.run_scenario(ENDLESS | {"sweep": {"/workers/events/0/for_s": [1, 1e9, 2]}})
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^simctl: scenario.json: point 1: about \S+ gradient steps")
        self.assertEqual([row["point"] for row in self.rows()], ["0", "2"])
        self.assertEqual([failed["point"] for failed in json.loads((self.folder / "out/results.json").read_text())["failed"]], [1])

    def test_the_limits_are_options(self):
        content = scenario(workers=JITTER)
        table = [
            (["--max-steps", "15"], "about 16 gradient steps would have to be simulated, over the limit of 15; use fewer iterations or nodes, or allow them with --max-steps 3e+01"),
            (["--max-memory", "8MB"], "about 16 gradient steps of 4 workers take about 36.06 MB of memory, over the limit of 8 MB; use fewer iterations or nodes, or leave out what "
                                      "makes workers unequal (equal workers are simulated as one if the schedule waits for all of them), or allow it with --max-memory 1GB"),
        ]
        for options, message in table:
            with self.subTest(message):
                done = self.run_scenario(content, *options)
                self.assertEqual((done.returncode, done.stderr), (4, f"simctl: scenario.json: point 0: {message}\n"))
        self.assertEqual(self.run_scenario(content, "--max-steps", "16", "--max-memory", "50MB").returncode, 0)
        for option, value, message in (*(("--max-steps", value, f"--max-steps {value}: expected a finite number above 0, such as 1e10") for value in ("0", "-1", "nan", "inf")),
                                       ("--max-steps", "many", "--max-steps"),
                                       ("--max-memory", "8", "--max-memory 8: expected a size such as 800MB or 16GB"),
                                       ("--max-memory", "-1GB", "--max-memory -1GB: expected a size such as 800MB or 16GB")):
            with self.subTest(value):
                done = self.run_scenario(content, f"{option}={value}")
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr)

    def test_what_until_may_add_is_not_refused(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}, iterations={"warmup": 1, "measured": 3, "until": 3e-2}, replicates=30)
        self.write("scenario.json", content)
        steps = re.search(r"at most .* for (\S+) gradient steps", self.simctl("check", "scenario.json").stdout)
        self.assertGreater(float(steps[1]), 1e5)
        self.assertEqual(self.run_scenario(content, "--max-steps", "1000").returncode, 0)
        done = self.run_scenario(content, "--max-steps", "100")
        self.assertEqual(done.returncode, 4)
        self.assertIn("about 4.8e+02 gradient steps would have to be simulated", done.stderr)

    def test_as_many_at_a_time_as_fit(self):
        done = self.run_scenario(scenario(workers=JITTER, sweep={"/seed": [1, 2, 3]}), "-j", "3", "--max-memory", "40MB")
        self.assertEqual((done.returncode, len(self.rows())), (0, 3))

    def test_a_long_cycle_is_named(self):
        done = self.run_scenario(scenario(cluster=cluster(nodes=1000), schedule={"name": "dts", "delay": 999, "period": 1000}, workers=JITTER))
        self.assertEqual(done.returncode, 4)
        self.assertIn("or a schedule whose pattern repeats sooner than every 999000 steps", done.stderr)


class LongLists(Case):
    """What would take minutes if its time grew with the square of its length; the helpers wait for one."""

    def check(self, content, code=0):
        self.write("scenario.json", content)
        done = self.simctl("check", "scenario.json")
        self.assertEqual(done.returncode, code, done.stderr[:1000])
        return done

    def test_a_sweep_of_many_values(self):
        self.check(scenario(sweep={"/seed": list(range(20_000))}))
        done = self.check(scenario(sweep={"/seed": list(range(100_000)) + [7.0]}), code=3)
        self.assertEqual(done.stderr, "simctl: scenario.json: /sweep/~1seed/100000: 7.0 is listed twice\n")

    def test_an_object_of_many_keys(self):
        self.check(scenario(**{f"x-{i}": i for i in range(200_000)}))
        keys = ", ".join(f'"x-{i % 50_000}": 1' for i in range(50_001))
        self.assertIn('/: the key "x-0" appears twice', self.check("{" + keys + "}", code=3).stderr)

    def test_a_long_word_that_nothing_is_like(self):
        self.check(scenario(schedule={"name": "w" * 400_000}), code=3)
        regions = [{"name": name * 200_000, "nodes": 1} for name in "ab"]
        self.check(scenario(cluster={"nodes": 2, "regions": regions, "wan": [{"between": ["c" * 200_000, "d"], "rtt": 0.1, "bandwidth": 1e9}]}), code=3)

    def test_a_trace_in_the_scenario_is_read_once(self):
        many = trace(gradients=[{"name": f"g{i}", "layer": "l0", "bytes": 1000 + i} for i in range(40_000)])
        swept = {"/cluster/nodes": list(range(1, 201)), "/trace/model/batch": [1, 2]}
        self.write("scenario.json", scenario(trace=many, schedule={"name": "s-sgd"}, sweep=swept))
        with subprocess.Popen([SIMCTL, "check", "scenario.json"], cwd=self.folder, stdout=subprocess.PIPE, text=True) as check:
            told = check.stdout.read()
            _, status, usage = os.wait4(check.pid, 0)
            check.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn("valid, 400 points", told)
        self.assertLess(1024 * usage.ru_maxrss, 500e6, "a trace by itself takes some 10 MB, as JSON 50 MB")

    def test_the_values_of_a_shared_trace_are_those_of_its_points(self):
        content = scenario(trace=trace(), sweep={"/cluster/nodes": [2, 4], "/trace/model/batch": [4, 8], "/trace/layers/0/forward_s": [0.001, 0.002]})
        self.assertEqual(self.run_scenario(content).returncode, 0)
        single = content | {"sweep": {}}
        for row in self.rows():
            del single["sweep"]
            settings = [f"{pointer}={row[pointer]}" for pointer in content["sweep"]]
            self.assertEqual(self.run_scenario(single, *(word for setting in settings for word in ("--set", setting)), out="one").returncode, 0)
            (one,) = self.rows("one")
            self.assertEqual(one, {key: value for key, value in row.items() if key in one} | {"point": "0"})
            single["sweep"] = {}

    def test_the_ring_through_many_regions(self):
        def wan(count):
            return [{"between": [f"r{a}", f"r{b}"], "rtt": 0.001 * (1 + (a * 7 + b * 13) % 97), "bandwidth": 1e8 * (1 + (a * 3 + b * 5) % 11)}
                    for a in range(count) for b in range(a + 1, count)]
        for count, nodes in ((32, 8), (128, 1)):
            with self.subTest(regions=count):
                place = {"nodes": count * nodes, "regions": [{"name": f"r{i}", "nodes": nodes} for i in range(count)], "wan": wan(count), "link": {"bandwidth": "10Gbps", "latency": "50us"}}
                done = self.run_scenario(scenario(cluster=place, fidelity="alpha-beta"))
                self.assertEqual(done.returncode, 0, done.stderr[:1000])


if __name__ == "__main__":
    unittest.main()
