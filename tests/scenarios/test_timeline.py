"""Does a timeline show what happened, in a form that Perfetto opens?"""
import collections
import gzip
import json
import re
import unittest

from oracle import overlap
from support import Case, cluster, scenario, trace

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
        self.assertEqual([e["name"] for e in collectives[:3]], ["l2.weight", "l1.weight", "l0.weight"])
        # forward 3 ms; l2 is ready after 2 ms of backward; a ring over 4 nodes costs 6 x 50 us + 1.5 x 3 MB / 1.25 GB/s.
        self.assertAlmostEqual(collectives[0]["ts"], 5000, places=2)
        self.assertAlmostEqual(collectives[0]["dur"], 300 + 3600, places=2)
        self.assertEqual(collectives[0]["args"], {"iteration": 0, "bytes": 3000000, "gradients": 1, "slack_us": 0})
        layers = self.slices(timeline, COMPUTE, category="layer")
        self.assertEqual([e["name"] for e in layers[:6]], [f"l{i}" for i in (0, 1, 2, 2, 1, 0)])
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
                    steps = [(event["ts"], event["ts"] + event["dur"]) for event in self.slices(timeline, COMPUTE, worker, "step")]
                    for event in self.slices(timeline, COMPUTE, worker):
                        for step in steps:      # all that is in it counts as much as the step
                            share = overlap(step, window) / (step[1] - step[0])
                            sums[event["cat"]] += share * overlap((event["ts"], event["ts"] + event["dur"]), step) / 1e6
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

    def test_arrows_lead_from_the_critical_path_to_the_layers_that_it_consists_of(self):
        timeline = self.timeline(scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, iterations={"warmup": 1, "measured": 4}, sweep={}))
        arrows = self.arrows(timeline, "critical")
        self.assertEqual(len(arrows), 4, "one in every step: in this one the path returns from the last collective to forward")
        for path, layer in arrows:
            self.assertEqual(path["cat"], "critical")
            self.assertEqual(path["name"], f"layers.{layer['name']}.{layer['args']['phase']}")
            self.assertEqual(path["args"]["worker"], layer["pid"] - 1)

    def test_slack_of_layers_and_collectives(self):
        # Gradients of 3, 2 and 1 MB of l2, l1, l0 on a ring over 4 nodes: 3.9, 2.7 and 1.5 ms. Layers take 1 ms forward, 2 ms backward.
        timeline = self.timeline(scenario(sweep={}, iterations={"warmup": 0, "measured": 2}))
        backward = [e["args"]["slack_us"] for e in self.slices(timeline, COMPUTE, category="layer") if e["args"]["phase"] == "backward"]
        # l2 is waited for by the channel from 5 ms on, until 8.9 ms, l1 is ready at 7 ms, and l0 at 9 ms, moves from 11.6 ms.
        for got, expected in zip(backward[:3], (0, 1900, 2600)):
            self.assertAlmostEqual(got, expected, places=2)
        moved = self.slices(timeline, COMMUNICATION)
        self.assertEqual([e["args"]["slack_us"] for e in moved[:3]], [0, 0, 0])
        timeline = self.timeline(scenario(schedule={"name": "ps-sgd", "servers": 2}, sweep={}))
        self.assertFalse([e for e in timeline["traceEvents"] if "slack_us" in e.get("args", {})], "of servers nothing is known")

    def test_iterations_beyond_a_window_that_chose_its_length_are_warned_of(self):
        """Of a fixed window they are refused beforehand."""
        content = scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.05}}, iterations={"warmup": 1}, sweep={"/cluster/nodes": [2, 4]})
        self.write("scenario.json", content)
        run = lambda *words: self.simctl("run", "scenario.json", "-o", "out", "--force", *words)
        self.assertEqual(run("--timeline", "0", "--iterations", "2").stderr, "")
        measured = {row["point"]: int(row["measured_iterations"]) for row in self.rows()}
        first = measured["0"]
        for words, points in (((f"{first}-{first}",), ["0"]), ((f"{first + 5}-{first + 9}",), ["0"]), ((f"{first - 1}-{first + 9}",), []), ((str(10 * first),), [])):
            done = run("--timeline", "0", "--iterations", *words)
            self.assertEqual((done.returncode, done.stderr), (0, "".join(
                f"simctl: warning: scenario.json: point {point} measures iterations 0 to {measured[point] - 1}; its timeline has none of --iterations {words[0]}; choose others, or "
                "set /iterations/measured\n" for point in points)))
            timeline = json.loads((self.folder / "out/timeline-0.json").read_text())
            self.assertEqual([not self.slices(timeline, COMPUTE, worker, "step") for worker in range(2)], [bool(points)] * 2, words)
        far = max(measured.values())
        self.assertEqual(run("--timeline", "--iterations", f"{far}-{far}").stderr.count("warning"), 2)
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--resume", "--timeline", "--iterations", f"{far}-{far}").stderr, "")
        done = run("--set", "/iterations/measured=3", "--timeline", "0", "--iterations", "3-4")
        self.assertEqual((done.returncode, done.stderr), (2, "simctl: --iterations: iteration 3 is the first one that is wanted, and point 0 measures 0 to 2\n"))

    def test_points_are_chosen_and_at_most_eight_workers_shown(self):
        content = scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, sweep={"/cluster/nodes": [2, 12, 4]})
        timeline = self.timeline(content, "0-1", point=1)
        self.assert_nested(timeline)
        self.assertEqual({e["pid"] for e in timeline["traceEvents"]}, set(range(1, 11)))  # and the critical path and the links
        self.assertTrue((self.folder / "out/timeline-0.json").exists())
        self.assertFalse((self.folder / "out/timeline-2.json").exists())

    def test_slices_of_all_iterations_have_one_name(self):
        timeline = self.timeline(scenario(schedule={"name": "ps-sgd", "servers": 2}))
        names = {event["name"] for event in timeline["traceEvents"] if event["ph"] == "X" and event["pid"] == 1}
        self.assertEqual(names, {"iteration", "forward", "backward", "exposed communication", "l0", "l1", "l2"} |
                         {f"{way} l{i}.weight" for way in ("push", "pull") for i in range(3)})
        self.assertTrue(all("iteration" in event["args"] for event in timeline["traceEvents"] if event["ph"] == "X" and event["pid"] == 1))

    def arrows(self, timeline, name="gradient"):
        """(slice from, slice to) of every arrow of that name: the innermost ones that its ends lie in."""
        ends = collections.defaultdict(dict)
        for event in timeline["traceEvents"]:
            if event["ph"] in "sf" and event["name"] == name:
                self.assertNotIn(event["ph"], ends[event["id"]])
                ends[event["id"]][event["ph"]] = event
        found = []
        for pair in ends.values():
            around = []
            for way in "sf":
                event = pair[way]
                at = round(event["ts"] * 1000)
                inside = [one for one in timeline["traceEvents"] if one["ph"] == "X" and (one["pid"], one["tid"]) == (event["pid"], event["tid"]) and
                          round(one["ts"] * 1000) <= at < round((one["ts"] + one["dur"]) * 1000)]
                around.append(min(reversed(inside), key=lambda one: one["dur"]))
            found.append(around)
        return found

    def test_arrows_lead_from_backward_to_what_takes_its_gradients_away(self):
        jitter = {"jitter": {"distribution": "uniform", "cv": 0.1}}
        ready = trace()
        for gradient, ready_s in zip(ready["gradients"], (0.0015, 0.0035, 0.0055)):  # before their layers' backward is over
            gradient["ready_s"] = ready_s
        for schedule, changes, way in (({"name": "wfbp"}, {}, ""), ({"name": "ps-sgd", "servers": 2}, {}, "push "),
                                       ({"name": "wfbp"}, {"trace": ready}, "")):
            with self.subTest(schedule=schedule, changes=changes):
                timeline = self.timeline(scenario(schedule=schedule, workers=jitter, **{"iterations": {"warmup": 2, "measured": 4}} | changes))
                self.assert_nested(timeline)
                arrows = self.arrows(timeline)
                moved = [e for worker in range(4) for e in self.slices(timeline, COMMUNICATION, worker) if e["name"].startswith(way)]
                self.assertEqual(len(arrows), len(moved))
                for backward, message in arrows:
                    self.assertEqual(backward["args"]["phase"], "backward")
                    self.assertEqual(message["name"], f"{way}{backward['name']}.weight")
                    self.assertEqual(message["args"]["iteration"], backward["args"]["iteration"])
        for schedule in ({"name": "sync-easgd"}, {"name": "dts", "delay": 2, "period": 1}):
            merged = self.arrows(self.timeline(scenario(schedule=schedule, workers=jitter, cluster=cluster(link={"bandwidth": "1Gbps", "latency": "5ms"}))))
            self.assertEqual([backward["name"] for backward, _ in merged][:3], ["l0", "l1", "l2"])
            self.assertTrue(all(backward["args"]["iteration"] == message["args"]["iteration"] for backward, message in merged))
        rounds = self.timeline(scenario(schedule={"name": "lasgd", "tau_max": 3}, workers=jitter, iterations={"measured": 12}))
        for backward, message in self.arrows(rounds):
            self.assertLess(backward["ts"], message["ts"])
        self.assertTrue(self.arrows(rounds))

    def test_ranks_and_iterations_are_chosen(self):
        self.write("cluster.json", cluster(nodes=6))
        content = scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, iterations={"warmup": 2, "measured": 5})
        whole = self.timeline(content)
        part = self.timeline(content, "--ranks", "1,4-5", "--iterations", "2-3")
        self.assert_nested(part)
        names = {e["args"]["name"]: e["pid"] for e in part["traceEvents"] if e["name"] == "process_name"}
        self.assertEqual(names, {"worker 1": 2, "worker 4": 5, "worker 5": 6, "critical path": 7, "busiest links": 8})
        for worker in (1, 4, 5):
            for track in (COMPUTE, COMMUNICATION):
                kept = self.slices(part, track, worker)
                steps = [e for e in self.slices(whole, COMPUTE, worker, "step") if e["args"]["iteration"] in (4, 5)]
                begin, end = steps[0]["ts"], steps[1]["ts"] + steps[1]["dur"]
                self.assertEqual(kept, [e for e in self.slices(whole, track, worker) if e["ts"] < end - 1e-3 and e["ts"] + e["dur"] > begin + 1e-3])
        self.assertEqual(len(self.slices(self.timeline(content, "--iterations", "2"), COMPUTE, 0, "step")), 2)
        self.assertEqual(len(self.slices(self.timeline(content, "--iterations", "4-99"), COMPUTE, 0, "step")), 1)

    def test_large_ones_have_only_their_first_iterations_unless_all_are_wanted(self):
        """Ten points of 100 steps take about 30 MB each, which is more than a tenth of 200 MB and less than all of that."""
        layers = [{"name": f"l{i}", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002} for i in range(100)]
        its = trace(layers=layers, gradients=[{"name": f"{layer['name']}.weight", "layer": layer["name"], "bytes": 1000} for layer in reversed(layers)])
        jitter = {"jitter": {"distribution": "uniform", "cv": 0.1}}
        sweep = {"/schedule": [{"name": "s-sgd"}, {"name": "local-sgd", "interval": 5}], "/seed": list(range(5))}
        content = scenario(trace=its, workers=jitter, iterations={"warmup": 2, "measured": 100}, sweep=sweep)
        done = self.run_scenario(content, "--timeline")
        self.assertRegex(done.stderr.splitlines()[0], r"^simctl: the timelines take about [\d.]+ MB, as they show only the first measured iterations; those of the whole "
                         r"runs, with --iterations all, take about [\d.]+ MB$")
        for point, warmup, count in ((0, 2, 3), (5, 5, 5)):     # in whole cycles
            path = self.folder / f"out/timeline-{point}.json"
            timeline = json.loads(path.read_text())
            self.assertEqual([e["args"]["iteration"] for e in self.slices(timeline, COMPUTE, 0, "step")], list(range(warmup, warmup + count)))
            self.assertEqual(timeline["otherData"]["left_out"], f"Only the first {count} measured iterations are here; --iterations all keeps the whole run.")
            self.assertLess(path.stat().st_size, 4e6)
        done = self.simctl("run", "scenario.json", "-o", "out", "--resume", "--quiet", "--timeline", "0", "--iterations", "all")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.slices(json.loads((self.folder / "out/timeline-0.json").read_text()), COMPUTE, 0, "step")), 102)
        for words in (("--timeline", "0"), ("--timeline", "0", "--iterations", "all"), ("--set", "/sweep/~1seed=[0]", "--timeline", "--iterations", "all")):
            done = self.run_scenario(content, "--quiet", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            timeline = json.loads((self.folder / "out/timeline-0.json").read_text())
            self.assertEqual(len(self.slices(timeline, COMPUTE, 0, "step")), 102)
            self.assertNotIn("left_out", timeline["otherData"])

    def test_a_rank_that_others_stand_for_is_shown_by_them(self):
        self.assertEqual(len(self.slices(self.timeline(scenario(), "--ranks", "2-3"), COMPUTE, 0, "step")), 4)
        self.write("cluster.json", cluster(nodes=3, gpus_per_node=2, intra_node={"bandwidth": "1GBps", "latency": "5us"}))
        timeline = self.timeline(scenario(schedule={"name": "sgp"}, workers={"slow": [{"ranks": "0", "factor": 2}]}), "--ranks", "2-5")
        self.assertEqual([e["args"]["name"] for e in timeline["traceEvents"] if e["name"] == "process_name"],
                         ["node 1 (2 GPUs)", "node 2 (2 GPUs)", "critical path", "busiest links"])

    def test_a_choice_that_shows_nothing_is_a_usage_error(self):
        for words, message in ((["--ranks", "4"], "--ranks: rank 4 is the first one that is wanted, and point 0 has ranks 0 to 3"),
                               (["--iterations", "3-4"], "--iterations: iteration 3 is the first one that is wanted, and point 0 measures 0 to 2"),
                               (["--iterations", "0"], "--iterations 0: expected how many, from 1 on, a range from 0 on, such as 3-4, or \"all\""),
                               (["--iterations", "1,3"], "--iterations 1,3: expected how many, from 1 on, a range from 0 on, such as 3-4, or \"all\""),
                               (["--ranks", "3-1"], '--ranks 3-1: expected ascending ranks such as "0-3,7"')):
            done = self.run_scenario(scenario(), "--timeline", *words)
            self.assertEqual((done.returncode, done.stderr), (2, f"simctl: {message}\n"))
        self.assertEqual(self.run_scenario(scenario(), "--ranks", "0").returncode, 2)

    def test_a_compressed_timeline_is_the_same_one(self):
        plain = self.timeline(scenario())
        self.assertEqual(self.run_scenario(scenario(), "--timeline", "--timeline-format", "json.gz").returncode, 0)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), [".lock", "points", "results.csv", "results.json", "run.json", "study.json", "timeline-0.json.gz"])
        self.assertEqual(json.loads(gzip.decompress((self.folder / "out/timeline-0.json.gz").read_bytes())), plain)

    def test_large_timelines_are_announced_with_their_size(self):
        """The size that is told is between a half and twice the files'."""
        for workers, schedule in (({}, "wfbp"), ({"jitter": {"distribution": "uniform", "cv": 0.1}}, "wfbp"), ({}, "asgd"),
                                  ({"jitter": {"distribution": "uniform", "cv": 0.1}}, {"name": "ps-sgd", "partition": "100kB"}),
                                  ({"jitter": {"distribution": "uniform", "cv": 0.1}}, "ps-sgd")):
            with self.subTest(workers=workers, schedule=schedule):
                schedule = {"name": schedule} if isinstance(schedule, str) else schedule
                content = scenario(trace="cpu-resnet50-b8", workers=workers, schedule=schedule, iterations={"warmup": 0, "measured": 10})
                done = self.run_scenario(content, "--timeline")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                size = 200 * (self.folder / "out/timeline-0.json").stat().st_size
                done = self.run_scenario(content | {"iterations": {"warmup": 0, "measured": 2000}}, "--timeline", "--iterations", "all", "--max-time", "0.1")
                told = re.match(r"simctl: the timelines take about ([\d.]+) ([MG])B; --timeline with fewer points, --ranks, --iterations and "
                                r"--timeline-format json.gz make them smaller\n", done.stderr)
                bytes_told = float(told[1]) * {"M": 1e6, "G": 1e9}[told[2]]
                self.assertTrue(size / 2 < bytes_told < 2 * size, (size, bytes_told))
        done = self.run_scenario(content | {"iterations": {"warmup": 0, "measured": 2000}}, "--timeline", "--iterations", "3", "--max-time", "0.1")
        self.assertNotIn("timelines", done.stderr)

    def test_timelines_of_an_earlier_run_do_not_stay(self):
        self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 12, 4]}), "--timeline", "all")
        (self.folder / "out/mine.json").write_text("kept")
        self.run_scenario(scenario(), "--timeline")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         [".lock", "mine.json", "points", "results.csv", "results.json", "run.json", "study.json", "timeline-0.json"])
        self.run_scenario(scenario())
        self.assertFalse((self.folder / "out/timeline-0.json").exists())


if __name__ == "__main__":
    unittest.main()
