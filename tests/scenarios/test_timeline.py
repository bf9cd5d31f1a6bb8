"""Does a timeline show what happened, in a form that Perfetto opens?"""
import collections
import json
import unittest

from support import Case, cluster, scenario

COMPUTE, COMMUNICATION = 1, 2


class Timeline(Case):
    def timeline(self, content, *arguments, point=0):
        done = self.run_scenario(content, "--timeline", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads((self.folder / f"out/timeline-{point}.json").read_text())

    def slices(self, timeline, track, worker=0, category=None):
        return [event for event in timeline["traceEvents"]
                if event["ph"] == "X" and event["tid"] == track and event["pid"] == worker + 1 and category in (None, event["cat"])]

    def assert_nested(self, timeline):
        """Slices on one track are nested or apart; Perfetto drops others."""
        tracks = collections.defaultdict(list)
        for event in timeline["traceEvents"]:
            if event["ph"] == "X":
                start = round(event["ts"] * 1000)
                tracks[event["pid"], event["tid"]].append((start, start + round(event["dur"] * 1000)))
        for events in tracks.values():
            open_ends = []
            for start, end in sorted(events, key=lambda e: (e[0], -e[1])):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                self.assertTrue(not open_ends or end <= open_ends[-1], "a slice overlaps its neighbour")
                open_ends.append(end)

    def test_one_worker_for_all(self):
        timeline = self.timeline(scenario())
        self.assert_nested(timeline)
        names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in timeline["traceEvents"] if e["ph"] == "M"}
        self.assertEqual(names["process_name", 1, 0], "worker 0 (stands for all 4)")
        self.assertEqual(names["thread_name", 1, COMPUTE], "compute")
        self.assertEqual(names["thread_name", 1, COMMUNICATION], "communication")
        collectives = self.slices(timeline, COMMUNICATION)
        self.assertEqual([e["name"] for e in collectives[:3]], ["l2.weight, iteration 0", "l1.weight, iteration 0", "l0.weight, iteration 0"])
        # forward 3 ms; l2 is ready after 2 ms of backward; a ring over 4 nodes costs 6 x 50 us + 1.5 x 3 MB / 1.25 GB/s.
        self.assertAlmostEqual(collectives[0]["ts"], 5000, places=2)
        self.assertAlmostEqual(collectives[0]["dur"], 300 + 3600, places=2)
        self.assertEqual(collectives[0]["args"], {"iteration": 0, "bytes": 3000000, "gradients": 1})
        layers = self.slices(timeline, COMPUTE, category="layer")
        self.assertEqual([e["name"] for e in layers[:6]], [f"l{i}, iteration 0" for i in (0, 1, 2, 2, 1, 0)])
        self.assertAlmostEqual(sum(e["dur"] for e in layers[:6]), 9000, places=2)

    def test_the_parts_of_the_results_are_those_of_the_picture(self):
        timeline = self.timeline(scenario(workers={"slow": [{"ranks": "1", "factor": 2}]}, fidelity="alpha-beta"))
        self.assert_nested(timeline)
        window = timeline["otherData"]
        row = self.rows()[0]
        sums = collections.Counter()
        steps = 0
        for worker in range(4):
            for event in self.slices(timeline, COMPUTE, worker):
                if window["window_open_s"] * 1e6 - 1e-2 <= event["ts"] and event["ts"] + event["dur"] <= window["window_close_s"] * 1e6 + 1e-2:
                    sums[event["cat"]] += event["dur"] / 1e6
                    steps += event["cat"] == "step"
        self.assertEqual(steps, 4 * 3)
        self.assertAlmostEqual(sums["step"] / steps, float(row["iteration_s"]), places=8)
        self.assertAlmostEqual(sums["exposed"] / steps, float(row["exposed_communication_s"]), places=8)
        lost_to_slowness = (sums["forward"] + sums["backward"] + sums["update"]) / steps - float(row["compute_s"])
        self.assertAlmostEqual(sums["wait"] / steps + lost_to_slowness, float(row["wait_s"]), places=8)

    def test_the_parts_of_schedules_that_do_not_wait_in_every_step(self):
        slow = {"slow": [{"ranks": "1", "factor": 2}], "jitter": {"distribution": "uniform", "cv": 0.1},
                "events": [{"kind": "pause", "rank": 2, "at_s": 0.05, "for_s": 0.01}]}
        nodes_of_two = {"gpus_per_node": 2, "intra_node": {"bandwidth": "1GBps", "latency": "5us"}}
        for schedule, changes, tracks in (
                ({"name": "ps-sgd", "servers": 2}, {}, {"communication", "pulls"}),
                ({"name": "asgd", "servers": 1, "duplex": False, "server_s_per_B": 1e-9}, nodes_of_two, {"communication", "pulls"}),
                ({"name": "ssd-sgd", "delay": 3}, {}, {"communication", "pulls"}),
                ({"name": "eamsgd", "interval": 2}, {}, {"communication", "pulls"}),
                ({"name": "dts", "delay": 4, "period": 1, "overhead_s": 0.0005}, {"link": {"bandwidth": "1Gbps", "latency": "5ms"}},
                 {"communication", "communication 2"}),
                ({"name": "lasgd", "tau_max": 3}, nodes_of_two, {"communication"}),
                ({"name": "lasgd", "tau_max": 3, "participants": 0.5}, {}, {"communication"}),
                ({"name": "sgp"}, nodes_of_two, {"communication"})):
            with self.subTest(schedule):
                self.write("cluster.json", cluster(**changes))
                timeline = self.timeline(scenario(schedule=schedule, workers=slow, iterations={"warmup": 2, "measured": 12}))
                self.assert_nested(timeline)
                named = {e["args"]["name"] for e in timeline["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
                self.assertLessEqual(tracks | {"compute"}, named)
                window = [1e6 * timeline["otherData"][f"window_{edge}_s"] for edge in ("open", "close")]
                sums = collections.Counter()
                for worker in range(4):
                    for event in self.slices(timeline, COMPUTE, worker):
                        inside = min(event["ts"] + event["dur"], window[1]) - max(event["ts"], window[0])
                        sums[event["cat"]] += max(0, inside) / 1e6
                row = self.rows()[0]
                steps = sums["step"] / float(row["iteration_s"])
                self.assertAlmostEqual(sums["exposed"] / steps, float(row["exposed_communication_s"]), places=7)
                lost_to_slowness = (sums["forward"] + sums["backward"] + sums["update"]) / steps - float(row["compute_s"])
                self.assertAlmostEqual(sums["wait"] / steps + lost_to_slowness, float(row["wait_s"]), places=7)

    def test_the_critical_path_is_a_process_that_fills_the_window(self):
        for fidelity in ("alpha-beta", "per-message", "flow"):
            with self.subTest(fidelity):
                timeline = self.timeline(scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, fidelity=fidelity, sweep={}))
                names = {e["args"]["name"]: e["pid"] for e in timeline["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"}
                path = [(e["ts"], e["ts"] + e["dur"]) for e in timeline["traceEvents"] if e["ph"] == "X" and e["pid"] == names["critical path"]]
                about = timeline["otherData"]
                self.assertAlmostEqual(path[0][0], about["window_open_s"] * 1e6, places=2)
                self.assertAlmostEqual(path[-1][1], about["window_close_s"] * 1e6, places=2)
                for (_, end), (start, _) in zip(path, path[1:]):
                    self.assertAlmostEqual(end, start, places=2)

    def test_points_are_chosen_and_at_most_eight_workers_shown(self):
        content = scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, sweep={"/cluster/nodes": [2, 12, 4]})
        timeline = self.timeline(content, "0-1", point=1)
        self.assert_nested(timeline)
        self.assertEqual({e["pid"] for e in timeline["traceEvents"]}, set(range(1, 10)))  # and the critical path
        self.assertTrue((self.folder / "out/timeline-0.json").exists())
        self.assertFalse((self.folder / "out/timeline-2.json").exists())

    def test_timelines_of_an_earlier_run_do_not_stay(self):
        self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 12, 4]}), "--timeline", "all")
        (self.folder / "out/mine.json").write_text("kept")
        self.run_scenario(scenario(), "--timeline")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         ["mine.json", "results.csv", "results.json", "timeline-0.json"])
        self.run_scenario(scenario())
        self.assertFalse((self.folder / "out/timeline-0.json").exists())


if __name__ == "__main__":
    unittest.main()
