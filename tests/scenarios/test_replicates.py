"""Is an interval what the page says it is, and does it hold the mean as often as it says?"""
import json
import math
import statistics
import unittest

from support import Case, scenario

STUDENT = {1: 12.70620474, 2: 4.30265273, 4: 2.77644511, 9: 2.26215716}  # t(0.975), from a table
JITTER = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
MEANS = ("iteration_p50_s iteration_p95_s wait_s exposed_communication_s communication_s communications_per_iteration "
         "bytes_per_worker_per_iteration staleness_mean").split()


class Replicates(Case):
    def results(self, content, *words, folder="out"):
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", folder, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / folder / "results.json").read_text()), done.stdout

    def points(self, content, *words):
        return self.results(content, *words)[0]["points"]


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
        slices, length = 23, (end - begin) * 3 / 70
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
        cells = 2000
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
        for schedule, measured, least in (({"name": "wfbp"}, 30, 0.9), ({"name": "lasgd", "tau_max": 2}, 30, 0.9), ({"name": "sgp"}, 30, 0.87),
                                          ({"name": "dts", "delay": 2}, 30, 0.87), ({"name": "asgd"}, 300, 0.87)):
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


class Answers(Replicates):
    def test_overlapping_intervals_tie(self):
        """A tenth of noise hides a difference of a thirtieth."""
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}, iterations={"warmup": 1, "measured": 5},
                           sweep={"/schedule/name": ["wfbp", "sync-easgd"]})
        results, told = self.results(content)
        first, second = sorted(results["points"], key=lambda point: point["iteration_s"])
        self.assertGreater(second["iteration_s"], 1.005 * first["iteration_s"])
        self.assertLess(second["iteration_low_s"], first["iteration_high_s"])
        self.assertIn(" tie: ", results["answer"][0])
        self.assertIn(results["answer"][0], told)
        self.assertIn("note: the mean of 2 points is known to no better than 1%", told)

    def test_the_fastest_is_named_with_its_staleness_and_the_fastest_without(self):
        content = scenario(sweep={"/schedule": [{"name": "wfbp"}, {"name": "dts", "delay": 3}, {"name": "s-sgd"}, {"name": "sgp"}]},
                           cluster={"format": "cluster/1", "name": "slow", "nodes": 4, "link": {"bandwidth": "5Gbps", "latency": "50us"}})
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


if __name__ == "__main__":
    unittest.main()
