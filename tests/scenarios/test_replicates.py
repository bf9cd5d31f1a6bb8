"""Is an interval what the page says it is, and does it hold the mean as often as it says?"""
import bisect
import json
import math
import os
import re
import resource
import statistics
import unittest

from support import MISBEHAVING, Case, cluster, scenario

STUDENT = {1: 12.70620474, 2: 4.30265273, 4: 2.77644511, 9: 2.26215716}  # t(0.975), from a table
SLOW = "SYNCOPATE_SLOW" in os.environ
JITTER = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
MEANS = ("iteration_p50_s iteration_p95_s wait_s exposed_communication_s communication_s communications_per_iteration "
         "bytes_per_worker_per_iteration sent_bytes_per_worker staleness_mean").split()


class Replicates(Case):
    def results(self, content, *words, folder="out"):
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", folder, "--force", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / folder / "results.json").read_text()), done.stdout

    def points(self, content, *words):
        return (self.results(content, *words)[0] if "--timeline" in words else Case.results(self, content, *words))["points"]


class WhatTheyReport(Replicates):
    def test_the_mean_of_the_seeds_and_students_interval(self):
        for schedule in ({"name": "wfbp"}, {"name": "asgd"}, {"name": "lasgd", "tau_max": 2}):
            with self.subTest(schedule["name"]):
                content = scenario(schedule=schedule, workers=JITTER, seed=7)
                single = self.points(content | {"sweep": {"/seed": [7, 8, 9, 10, 11]}})
                (mean,) = self.points(content | {"replicates": 5})
                times = [point["iteration_s"] for point in single]
                half = STUDENT[4] * statistics.stdev(times) / math.sqrt(5)
                self.assertEqual(mean["replicates"], 5)
                self.assertEqual(mean["replicates_iteration_s"], times)
                self.assertAlmostEqual(mean["iteration_s"], statistics.fmean(times), places=12)
                self.assertAlmostEqual(mean["iteration_low_s"], statistics.fmean(times) - half, places=9)
                self.assertAlmostEqual(mean["iteration_high_s"], statistics.fmean(times) + half, places=9)
                for name in MEANS:
                    self.assertAlmostEqual(mean[name], statistics.fmean(point[name] for point in single), delta=1e-9 * max(1, mean[name]), msg=name)
                self.assertEqual(mean["staleness_max"], max(point["staleness_max"] for point in single))
                self.assertAlmostEqual(mean["throughput_samples_per_s"], 4 * 4 / mean["iteration_s"], places=6)
                self.assertAlmostEqual(mean["speedup"], 4 * mean["compute_s"] / mean["iteration_s"], places=9)
                self.assertAlmostEqual(mean["compute_s"] + mean["wait_s"] + mean["exposed_communication_s"], mean["iteration_s"], places=9)

    def test_the_option_is_the_key_and_any_number_of_jobs_gives_the_same(self):
        content = scenario(workers=JITTER, sweep={"/schedule/name": ["wfbp", "asgd"]})
        self.results(content | {"replicates": 3}, "-j", "1", folder="key")
        self.results(content, "--replicates", "3", "-j", "3", folder="option")
        rows = [(self.folder / folder / "results.csv").read_bytes() for folder in ("key", "option")]
        self.assertEqual(*rows)

    def test_nothing_drawn_is_simulated_once_and_exact(self):
        (point,) = self.points(scenario(workers={"slow": [{"ranks": "0", "factor": 2}]}, iterations={"measured": 5, "until": 0.01}, replicates=4))
        self.assertEqual((point["replicates"], point["measured_iterations"]), (1, 5))
        self.assertIsNone(point["iteration_low_s"])

    def test_what_is_drawn(self):
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        jitter = {"distribution": "uniform", "cv": 0.2}
        drawn = [{"/workers": JITTER}, {"/cluster/latency_cv": 0.2}, {"/cluster/link": link | {"latency_jitter": jitter}}, {"/schedule": {"name": "ad-psgd"}}]
        for settings in drawn:
            with self.subTest(settings):
                words = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
                (point,) = self.points(scenario(replicates=2), *words)
                self.assertEqual(point["replicates"], 2)

    def test_one_run_cuts_its_window_into_slices(self):
        content = scenario(workers=JITTER, iterations={"warmup": 1, "measured": 70}, schedule={"name": "asgd"})
        (point,) = self.points(content, "--timeline")
        events = json.loads((self.folder / "out/timeline-0.json").read_text())
        begin, end = (events["otherData"][key] for key in ("window_open_s", "window_close_s"))
        steps = [(event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6) for event in events["traceEvents"]
                 if event.get("ph") == "X" and event["name"].startswith("iteration")]
        slices, length = 35, (end - begin) * 2 / 70
        counts = [sum(max(0.0, min(b, begin + (i + 1) * length) - max(a, begin + i * length)) / (b - a) for a, b in steps) for i in range(slices)]
        mean = statistics.fmean(counts)
        square = sum((count - mean) ** 2 for count in counts)
        correlation = max(0.0, sum((a - mean) * (b - mean) for a, b in zip(counts, counts[1:])) / square)
        independent = max(2.0, slices * (1 - correlation) / (1 + correlation))
        half = student(independent - 1) * statistics.stdev(counts) / mean / math.sqrt(independent)
        self.assertAlmostEqual(point["iteration_high_s"] / point["iteration_s"] - 1, half, delta=1e-4 * half)
        self.assertAlmostEqual(1 - point["iteration_low_s"] / point["iteration_s"], half, delta=1e-4 * half)


def student(freedom):
    """t(0.975) by Simpson's rule over its density, and bisection."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def above(t):
        cells = 400
        heights = [(1 + (t * i / cells) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(cells + 1)]
        return 0.5 - scale * t / cells / 3 * sum(height * (1 if i in (0, cells) else 4 if i % 2 else 2) for i, height in enumerate(heights))

    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > 0.025 else (low, middle)
    return low


class HowOftenTheyHold(Replicates):
    def test_nineteen_in_twenty_hold_the_mean_or_nearly(self):
        """Slices of a run are few and not quite independent, so that somewhat fewer do; a wrong formula shows."""
        few = (({"name": "wfbp"}, 30, 0.9), ({"name": "asgd"}, 150, 0.87))
        more = (({"name": "lasgd", "tau_max": 2}, 30, 0.9), ({"name": "sgp"}, 30, 0.87), ({"name": "dts", "delay": 2}, 30, 0.87), ({"name": "asgd"}, 300, 0.87))
        for schedule, measured, least in (*few, *more) if SLOW else few:
            with self.subTest(schedule["name"]):
                content = scenario(schedule=schedule, workers=JITTER, iterations={"warmup": 3, "measured": measured}, sweep={"/seed": list(range(300))})
                points = self.points(content)
                mean = statistics.fmean(point["iteration_s"] for point in points)
                held = statistics.fmean(point["iteration_low_s"] <= mean <= point["iteration_high_s"] for point in points)
                self.assertGreaterEqual(held, least)
                self.assertLessEqual(held, 0.995)


class Until(Replicates):
    def test_it_measures_as_many_as_it_takes(self):
        content = scenario(workers=JITTER, iterations={"warmup": 1, "measured": 4, "until": 0.01}, schedule={"name": "sasgd", "interval": 3})
        (point,) = self.points(content, "--timeline")
        self.assertLessEqual(point["iteration_high_s"] / point["iteration_s"] - 1, 0.01)
        self.assertGreater(point["measured_iterations"], 12)
        self.assertEqual(point["measured_iterations"] % 3, 0)
        (again,) = self.points(scenario(workers=JITTER, schedule={"name": "sasgd", "interval": 3},
                                        iterations={"warmup": 1, "measured": point["measured_iterations"]}))
        self.assertEqual(again["iteration_s"], point["iteration_s"])

    def test_what_is_never_known_so_well_says_so(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 9}}, iterations={"warmup": 0, "measured": 10000, "until": 1e-5},
                           cluster="cluster.json", schedule={"name": "sync-easgd"})
        results, told = self.results(content)
        self.assertEqual(results["points"][0]["measured_iterations"], 100000)
        self.assertGreater(results["points"][0]["until_missed"], 1e-5)
        self.assertIn("note: point 0 (sync-easgd): 100000 iterations tell the mean to", told)


    def test_it_does_not_stop_before_thirty_cycles(self):
        for schedule, cycles in (({"name": "wfbp"}, 1), ({"name": "sasgd", "interval": 3}, 3)):
            (point,) = self.points(scenario(workers=JITTER, schedule=schedule, iterations={"warmup": 1, "measured": 4, "until": 0.5}))
            self.assertEqual(point["measured_iterations"], 30 * cycles)

    def test_a_result_is_kept_where_more_iterations_fail(self):
        self.write("scenario.json", scenario(schedule={"name": "ends-late"}, workers=JITTER, iterations={"warmup": 1, "measured": 40, "until": 1e-5}))
        done = self.simctl("run", "scenario.json", "-o", "out", "--force", binary=MISBEHAVING)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (point,) = json.loads((self.folder / "out/results.json").read_text())["points"]
        self.assertEqual(point["measured_iterations"], 40)
        self.assertAlmostEqual(point["until_missed"], point["iteration_high_s"] / point["iteration_s"] - 1, places=9)
        self.assertRegex(point["until_missed_because"], r"^more fail: rank 1 ended its program in step 100, ")
        self.assertIn("note: point 0 (ends-late): 40 iterations tell the mean to ", done.stdout)
        self.assertIn(f" only, and {point['until_missed_because']}\n", done.stdout)

    def test_a_result_is_kept_where_more_would_not_fit_in_memory(self):
        self.write("scenario.json", scenario(cluster=cluster(nodes=64), workers=JITTER, iterations={"warmup": 1, "measured": 40, "until": 1e-5}))
        most = 400 << 20
        done = self.simctl("run", "scenario.json", "-o", "out", "--force", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (point,) = json.loads((self.folder / "out/results.json").read_text())["points"]
        self.assertGreater(point["until_missed"], 1e-5)
        self.assertRegex(point["until_missed_because"], r"^\d+ take about [\d.]+ [MG]B of memory, of which [\d.]+ [MG]B are left$")

    def test_that_replicates_missed_it_is_told(self):
        self.write("scenario.json", scenario(schedule={"name": "ends-late"}, workers=JITTER, iterations={"warmup": 1, "measured": 40, "until": 1e-5}))
        done = self.simctl("run", "scenario.json", "-o", "out", "--force", "--replicates", "2", binary=MISBEHAVING)
        (point,) = json.loads((self.folder / "out/results.json").read_text())["points"]
        self.assertGreater(point["until_missed"], 1e-5)
        self.assertIn("note: point 0 (ends-late): 40 iterations of a replicate tell the mean to ", done.stdout)


class Advice(Replicates):
    def advice(self, content):
        results, told = self.results(content)
        return results["points"][0], next((line for line in told.splitlines() if "is known to no better than" in line), "")

    def needed(self, point, wanted):
        """Replicates whose Student's interval is as narrow as wanted, with the deviation that these have."""
        deviation = statistics.stdev(point["replicates_iteration_s"]) / point["iteration_s"]
        return 2 + bisect.bisect_left(range(2, 1001), True, key=lambda count: student(count - 1) * deviation / math.sqrt(count) <= wanted)

    def test_replicates_that_would_do(self):
        for wanted, more in ((0.01, {}), (0.03, {"until": 0.03})):
            point, told = self.advice(scenario(workers={"jitter": {"distribution": "lognormal", "cv": 1}}, replicates=2, seed=2, iterations={"warmup": 1, "measured": 30} | more))
            needed = self.needed(point, wanted)
            some = int(re.search(rf"known to no better than {100 * wanted:g}%, .*: some (\d+) replicates would do$", told)[1])
            self.assertGreaterEqual(some, needed)
            self.assertLessEqual(some, 1.1 * needed + 1)

    def test_more_than_there_may_be(self):
        point, told = self.advice(scenario(workers={"jitter": {"distribution": "lognormal", "cv": 9}}, replicates=2))
        self.assertTrue(told.endswith("over 1000 replicates, the most that there may be, would be needed; measure more iterations in each"), told)
        point, told = self.advice(scenario(workers={"jitter": {"distribution": "lognormal", "cv": 9}}, iterations={"warmup": 0, "measured": 20}))
        self.assertTrue(told.endswith('over 100000 iterations, the most that "until" measures, would be needed; take replicates'), told)

    def test_iterations_that_would_do(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 1}}, iterations={"warmup": 1, "measured": 20})
        point, told = self.advice(content)
        some = int(re.search(r': some (\d+) iterations would do, which "iterations": {"until": 0.01} finds, or replicates$', told)[1])
        (longer,) = self.points(content | {"iterations": {"warmup": 1, "measured": some}})
        self.assertLess(longer["iteration_high_s"] / longer["iteration_s"] - 1, 0.015)

    def test_who_wants_less_gets_no_advice(self):
        jitter = {"jitter": {"distribution": "lognormal", "cv": 1}}
        self.assertEqual(self.advice(scenario(workers=jitter, iterations={"warmup": 1, "measured": 30, "until": 0.4}))[1], "")


class Failures(Replicates):
    def test_a_failed_replicate_is_named_with_its_seed(self):
        self.write("scenario.json", scenario(schedule={"name": "ends-early"}, workers=JITTER, seed=7, replicates=3))
        done = self.simctl("run", "scenario.json", binary=MISBEHAVING)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"\Asimctl: scenario.json: point 0: replicate 0 \(seed 7\): rank 1 ended its program ")

    def test_rivals_that_failed_are_missed_in_the_answer_and_the_tables(self):
        self.write("scenario.json", scenario(sweep={"/cluster/nodes": [2, 4], "/schedule/name": ["fine", "ends-early"]}))
        told = self.simctl("run", "scenario.json", binary=MISBEHAVING).stdout
        self.assertIn("iteration time, by /schedule/name (* fastest of those that are there, within 0.5% of it, or not to be told apart from it)\n", told)
        self.assertIn("; 2 of 4 points are missing.\n", told)
        self.write("scenario.json", scenario(sweep={"/schedule/name": ["fine", "ends-early", "never-posts"]}))
        self.assertIn("; 2 of 3 points are missing.\n", self.simctl("run", "scenario.json", binary=MISBEHAVING).stdout)


class Answers(Replicates):
    def test_what_differs_by_less_than_its_interval_cannot_be_told_apart(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}, iterations={"warmup": 1, "measured": 5},
                           sweep={"/schedule/name": ["wfbp", "sync-easgd"]})
        results, told = self.results(content)
        first, second = sorted(results["points"], key=lambda point: point["iteration_s"])
        self.assertGreater(second["iteration_s"], 1.005 * first["iteration_s"])
        self.assertLess(second["iteration_low_s"], first["iteration_high_s"])
        self.assertIn(f"{first['schedule']} and {second['schedule']} cannot be told apart: {1000 * first['iteration_s']:.4g} ms ± ", results["answer"][0])
        self.assertIn(f" and {1000 * second['iteration_s']:.4g} ms ± ", results["answer"][0])
        self.assertIn(results["answer"][0], told)
        self.assertIn("note: the mean of 2 points is known to no better than 1%", told)

    def test_two_replicates_of_wild_noise_decide_nothing(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 5}}, seed=4, replicates=2, sweep={"/schedule/name": ["wfbp", "asgd"]})
        results, _ = self.results(content)
        fast, slow = sorted(point["iteration_s"] for point in results["points"])
        self.assertGreater(slow, 2 * fast)
        self.assertIn(" cannot be told apart: ", results["answer"][0])

    def test_a_small_difference_in_every_replicate_decides(self):
        """All of them meet the same noise, which hides nothing."""
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}, replicates=5, sweep={"/schedule/name": ["wfbp", "sync-easgd"]})
        results, told = self.results(content)
        first, second = results["points"]
        self.assertLess(second["iteration_low_s"], first["iteration_high_s"])
        differences = [b - a for a, b in zip(first["replicates_iteration_s"], second["replicates_iteration_s"], strict=True)]
        self.assertGreater(statistics.fmean(differences), STUDENT[4] * statistics.stdev(differences) / math.sqrt(5))
        self.assertIn("On 4 x small, wfbp is fastest: ", told)

    def test_unsure_is_called_so_and_counted(self):
        content = scenario(workers=JITTER, iterations={"warmup": 1, "measured": 2}, sweep={"/schedule/name": ["wfbp", "sync-easgd"]})
        results, told = self.results(content)
        self.assertIn("wfbp and sync-easgd cannot be told apart by so few iterations: ", results["answer"][0])
        self.assertEqual([point["unsure"] for point in results["points"]], [True, True])
        self.assertIn('note: how sure the mean of 2 points, such as point 0 (wfbp), is cannot be told from 2 measured iterations; leave "measured" out', told)
        self.assertRegex(told, r"wfbp +[\d.]+ ms +\?")
        _, told = self.results(content | {"sweep": {}})
        self.assertIn("wfbp takes ", told)
        self.assertIn(" per iteration, by too few iterations to say how sure, on 4 x small", told)
        self.assertIn("95% interval of its mean    unknown: too few iterations\n", told)
        self.assertNotIn("unsure", self.points(scenario())[0])

    def test_large_numbers_have_no_exponent(self):
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 5}}, seed=3, replicates=2)
        results, told = self.results(content)
        self.assertRegex(results["answer"][0], r" ± \d{3,}% ")
        self.assertRegex(told, r"that of point 0 \(wfbp\) to \d{3,}%: ")
        self.assertNotRegex(told, r"\de\+")

    def test_the_fastest_is_named_with_its_staleness_and_the_fastest_without(self):
        content = scenario(sweep={"/schedule": [{"name": "wfbp"}, {"name": "dts", "delay": 3}, {"name": "s-sgd"}, {"name": "sgp"}]},
                           cluster={"format": "cluster/1", "name": "slow", "nodes": 4, "link": {"bandwidth": "5Gbps", "latency": "50us"}},
                           iterations={"warmup": 3, "measured": 30})
        results, _ = self.results(content)
        times = {point["schedule"]: point["iteration_s"] for point in results["points"]}
        fastest = min(times, key=times.get)
        self.assertIn(fastest, ("dts", "sgp"))
        text = results["answer"][0]
        self.assertRegex(text, rf"^On 4 x slow, {fastest}[^:(]*\(staleness [13]\) is fastest: ")
        self.assertRegex(text, rf"(without staleness|Next comes) ?,? wfbp")
        self.assertIn(f"{times['wfbp'] / times[fastest]:.3g} times", text)

    def test_a_sweep_over_seeds_is_pointed_to_replicates(self):
        _, told = self.results(scenario(workers=JITTER, sweep={"/seed": [1, 2], "/schedule/name": ["wfbp", "s-sgd"]}))
        self.assertIn('note: each /seed is a setting with a winner of its own; "replicates" takes the mean over seeds', told)
        _, told = self.results(scenario(workers=JITTER, replicates=3, sweep={"/seed": [1, 9, 3]}))
        self.assertIn("note: 3 replicates of /seed 1 and of /seed 3 share seeds, so that these points are not independent; sweep seeds that are 3 apart, or none", told)
        _, told = self.results(scenario(workers=JITTER, replicates=3, sweep={"/seed": [1, 7, 4]}))
        self.assertNotIn("share seeds", told)


if __name__ == "__main__":
    unittest.main()
