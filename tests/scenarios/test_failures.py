"""When something fails, is it said, is nothing lost, and is no number made up?"""
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import unittest

from support import MISBEHAVING, ROOT, SIMCTL, Case, cluster, scenario, simulates, trace, wait_until


class FailedPoints(Case):
    def run_misbehaving(self, names):
        return self.run_scenario(scenario(sweep={"/schedule/name": names}), binary=MISBEHAVING)

    def test_each_mistake_is_diagnosed_and_gives_no_number(self):
        table = [
            ("one-too-many", 'ranks disagree on collective 1 of stream 0: rank 0 posted all-reduce of "everything" in round 0, rank 1 posted all-reduce '
                             'of "everything" in round 1; every rank must post the same collectives in the same order'),
            ("never-posts", 'no progress: rank 1 made 5 steps without a post: all-reduce 0 of stream 0 ("everything", 6000000 B, '
                            "round 0) is awaited by ranks 0,2-3, posted by ranks 0,2-3, not posted by rank 1"),
            ("ends-early", "rank 1 ended its program in step 2, at 0.033 s, before the measured window had closed; a program must run until "
                           "next_step() returns false"),
            ("crashes", "its process was killed by signal 6 (Aborted)"),
        ]
        for name, message in table:
            with self.subTest(name):
                done = self.run_misbehaving([name])
                self.assertEqual(done.returncode, 4)
                self.assertEqual(done.stderr, f"simctl: scenario.json: point 0: {message}\n")
                self.assertNotIn(" ms", done.stdout)
                self.assertEqual(self.rows(), [])
                self.assertEqual([failed["point"] for failed in json.loads((self.folder / "out/results.json").read_text())["failed"]], [0])

    def test_more_workers_than_can_be_simulated_one_by_one(self):
        machine = pathlib.Path("/proc/meminfo").read_text()
        available = 1024 * int(re.search(r"MemAvailable:\s+(\d+)", machine)[1])
        if available > 100e9:
            self.skipTest("this machine can simulate all of them")
        most = cluster(nodes=1 << 20, gpus_per_node=8, intra_node={"bandwidth": "10Gbps", "latency": 0})
        done = self.run_scenario(scenario(cluster=most, workers={"slow": [{"ranks": "0", "factor": 2}]}, fidelity="alpha-beta"))
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^simctl: scenario.json: point 0: about 3.4e\+07 gradient steps of 8388608 workers take about 1\d\d(\.\d+)? GB of memory, over "
                                      r"the limit of [\d.]+ GB; use fewer iterations or nodes, or leave out what makes workers unequal \(equal workers are simulated as one "
                                      r"if the schedule waits for all of them\), or allow it with --max-memory \d+GB\n$")
        done = self.run_scenario(scenario(cluster=most, workers={"slow": [{"ranks": "0", "factor": 2}]}, fidelity="alpha-beta"), "--max-memory", "1TB")
        self.assertRegex(done.stderr, r"point 0: 8388608 workers would have to be simulated one by one, which takes about 126 GB of memory, of which [\d.]+ GB are "
                                      r"available; use fewer nodes, or leave out what makes the workers unequal ")
        self.assertEqual(self.run_scenario(scenario(cluster=most, fidelity="alpha-beta")).returncode, 0)

    def test_more_workers_than_guarded_stacks_can_be_simulated(self):
        point = self.point(scenario(cluster=cluster(nodes=33000), schedule={"name": "sync-easgd"}, workers={"slow": [{"ranks": "0", "factor": 2}]},
                                    fidelity="alpha-beta", iterations={"warmup": 0, "measured": 1}))
        self.assertEqual(point["workers_simulated"], 33000)

    def test_a_pause_beside_which_steps_are_nothing_ends(self):
        self.write("cluster.json", cluster(nodes=8, link={"bandwidth": "10Gbps", "latency": 0}))
        paused = {"slow": [{"ranks": "1", "factor": 1.1}], "events": [{"kind": "pause", "rank": 3, "at_s": 0.1, "for_s": 1e9}]}
        done = self.run_scenario(scenario(trace=str(ROOT / "traces" / "cpu-resnet20-b128.json"), fidelity="flow", workers=paused,
                                          iterations={"warmup": 3, "measured": 4}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_library_that_cannot_be_loaded_is_named(self):
        simctl = shutil.copy(SIMCTL, self.folder / "simctl")
        (self.folder / "libsyncopate-actors.so").write_text("")
        done = self.run_scenario(scenario(sweep={"/workers/slow/0/factor": [2, 3]}, workers={"slow": [{"ranks": "0", "factor": 2}]}), binary=simctl)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"point 0: libsyncopate-actors.so, which is needed to simulate several workers, cannot be loaded "
                                      r"\(.*libsyncopate-actors.so: file too short\); build it again, or put it next to simctl\n")
        self.assertEqual(self.run_scenario(scenario(), binary=simctl).returncode, 0)

    def test_what_all_workers_run_into_is_said_once(self):
        for nodes in (4, 2000):
            with self.subTest(nodes=nodes):
                done = self.run_scenario(scenario(cluster=cluster(nodes=nodes), schedule={"name": "takes-for-ever"}), binary=MISBEHAVING)
                self.assertEqual((done.returncode, done.stderr, self.rows()),
                                 (4, "simctl: scenario.json: point 0: the simulated time is no longer finite; a bandwidth is close to 0 or a cost is huge\n", []))

    def test_a_figure_that_no_number_holds_is_named(self):
        layers = [{"name": f"l{i}", "type": "unknown", "forward_s": 5e-324, "backward_s": 0} for i in range(3)]
        done = self.run_scenario(scenario(trace=trace(layers=layers), cluster=cluster(nodes=1)))
        self.assertEqual((done.returncode, done.stderr, self.rows()),
                         (4, "simctl: scenario.json: point 0: throughput_samples_per_s comes out as inf, which is no result; a time is too close to 0, or too "
                             "long, for a number to hold what follows from it\n", []))

    def test_the_slowest_links_that_a_file_can_say_give_numbers(self):
        slow = cluster(link={"bandwidth": 1, "latency": 86400, "efficiency": 1e-6}, reduce_s_per_B=1e9)
        sweep = {"/fidelity": ["per-message", "flow"], "/schedule": [{"name": "wfbp"}, {"name": "dts", "delay": 2}, {"name": "sgp"}, {"name": "asgd", "server_s_per_B": 1e9}],
                 "/workers": [{}, {"jitter": {"distribution": "lognormal", "cv": 100}, "slow": [{"ranks": "1", "factor": 1e6}]}]}
        done = self.run_scenario(scenario(cluster=slow, sweep=sweep))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.rows()), 16)

    def test_one_failing_point_does_not_stop_the_others(self):
        sweep = {"/seed": [1, 2], "/schedule/name": ["fine", "one-too-many"]}
        done = self.run_scenario(scenario(sweep=sweep), binary=MISBEHAVING)
        self.assertEqual(done.returncode, 4)
        self.assertEqual([row["point"] for row in self.rows()], ["0", "2"])
        self.assertEqual(done.stderr.count("\n"), 2)


class Writing(Case):
    def test_an_output_folder_that_cannot_be_made(self):
        self.write("taken", "a file")
        done = self.run_scenario(scenario(), out="taken")
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stderr, r"^simctl: taken: cannot be used as an output folder: .*; choose another with -o\n$")
        self.assertEqual((self.folder / "taken").read_text(), "a file")
        done = self.run_scenario(scenario(), out="taken/deeper")
        self.assertEqual(done.returncode, 5)

    def test_an_unwritable_folder_is_noticed_before_simulating_and_left_as_it_was(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/results.csv").write_text("precious")
        self.write("scenario.json", scenario())
        (self.folder / "out").chmod(0o555)
        self.folder.chmod(0o755)
        options = {}
        if os.geteuid() == 0:
            options["user"] = pwd.getpwnam("nobody").pw_uid  # root may write anywhere
        try:
            done = self.simctl("run", "scenario.json", "-o", "out", "--force", **options)
        finally:
            (self.folder / "out").chmod(0o755)
        self.assertEqual(done.returncode, 5)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["results.csv"])
        self.assertEqual((self.folder / "out/results.csv").read_text(), "precious")

    def test_no_temporary_file_is_left(self):
        self.run_scenario(scenario(), "--timeline")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), [".lock", "points", "results.csv", "results.json", "run.json", "study.json", "timeline-0.json"])

    def test_a_file_that_cannot_be_written_costs_no_other(self):
        (self.folder / "out/results.csv").mkdir(parents=True)
        done = self.run_scenario(scenario())
        self.assertEqual(done.returncode, 5)
        self.assertIn("out/results.csv: cannot be written", done.stderr)
        self.assertIn("exposed communication", done.stdout)
        self.assertEqual(len(json.loads((self.folder / "out/results.json").read_text())["points"]), 1)

    def test_a_shortage_of_files_only_slows_a_sweep_down(self):
        self.write("scenario.json", scenario(sweep={"/seed": list(range(40))}))
        command = f"ulimit -n 20; exec {SIMCTL} run scenario.json -o out -j 100 --quiet"
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.rows()), 40)

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs /dev/full")
    def test_results_that_cannot_be_printed_do_not_spoil_the_files(self):
        self.write("scenario.json", scenario())
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([SIMCTL, "run", "scenario.json", "-o", "out", "--force"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                  check=False, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: standard output cannot be written: No space left on device\n"))
        self.assertEqual(len(self.rows()), 1)


class Interruption(Case):
    def interrupt(self, number):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        self.write("cluster.json", cluster(nodes=64))
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.1}}
        self.write("scenario.json", scenario(workers=jitter, sweep={"/iterations/measured": [1, 2, 200_000]}))
        with subprocess.Popen([SIMCTL, "run", "scenario.json", "-o", "out", "--force", "-j", "1", "--timeline", "0-1"], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            wait_until((self.folder / "out/timeline-1.json").exists)
            wait_until(lambda: simulates(process))  # the third point
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # Ctrl-C reaches the points' processes too
            else:
                process.send_signal(number)
            _, errors = process.communicate(timeout=300)
        return process.returncode, errors

    def test_finished_points_are_kept_and_counted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.assertEqual(self.interrupt(number), (130, "simctl: interrupted: 2 of 3 points finished; they are in out, where --resume goes on\n"))
                self.assertEqual([row["measured_iterations"] for row in self.rows()], ["1", "2"])

    def interrupt_when(self, is_time, *words):
        """Ctrl-C at some time: (exit code, stderr). Nothing goes on afterwards."""
        with subprocess.Popen([SIMCTL, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            wait_until(is_time)
            wait_until(lambda: simulates(process))
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=300)
            wait_until(lambda: not self.lives(process.pid), 10)
            self.assertFalse(self.lives(process.pid))
        return process.returncode, errors

    def lives(self, group):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True

    def test_explanations_and_searches_end_and_leave_nothing_behind(self):
        self.write("cluster.json", cluster(nodes=64))
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.1}}
        self.write("scenario.json", scenario(workers=jitter, iterations={"warmup": 1, "measured": 200_000}))
        for words in (["explain", "scenario.json", "-j", "2"],
                      ["solve", "scenario.json", "-j", "2", "--for", "/cluster/nodes", "--from", "32", "--to", "64", "--until", "efficiency > 0.5"]):
            with self.subTest(words):
                self.assertEqual(self.interrupt_when(lambda: True, *words), (130, "simctl: interrupted\n"))

    def test_an_explanation_that_is_interrupted_is_missing(self):
        self.write("cluster.json", cluster(nodes=64))
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.1}}
        self.write("scenario.json", scenario(workers=jitter, iterations={"warmup": 1, "measured": 1500}))
        code, errors = self.interrupt_when((self.folder / "out/results.json").exists, "run", "scenario.json", "--explain", "-o", "out", "--force", "-j", "1")
        self.assertEqual((code, errors), (130, "simctl: interrupted: 1 explanation is missing\n"))
        self.assertFalse((self.folder / "out/explanation-0.json").exists())
        self.assertEqual(len(self.rows()), 1)


if __name__ == "__main__":
    unittest.main()
