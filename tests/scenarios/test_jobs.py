"""Several jobs on one network: do they share its links, and nothing else?"""
import json
import unittest

from support import ROOT, Case, cluster, scenario, trace

MB = 1_000_000
LINK = {"bandwidth": 1_000_000_000, "latency": 0}
NOTHING = 1e-12     # seconds of compute, as a step must have some


def one_tensor(compute, size):
    """Of a step that computes so many seconds, and then has one gradient to send."""
    return trace(layers=[{"name": "l", "type": "unknown", "forward_s": 0, "backward_s": compute}],
                 gradients=[{"name": "l.weight", "layer": "l", "bytes": size}])


def several(jobs, **changes):
    content = scenario(cluster=cluster(nodes=8, link=LINK), schedule={"name": "s-sgd"}, jobs=jobs, iterations={"warmup": 0, "measured": 4}) | changes
    if all("trace" in job for job in jobs):
        del content["trace"]
    return content


def ring(size, nodes=4):
    """Seconds of an all-reduce by itself."""
    return 2 * (nodes - 1) / nodes * size / LINK["bandwidth"]


class Jobs(Case):
    def run_jobs(self, jobs, *arguments, **changes):
        done = self.run_scenario(several(jobs, **changes), "--quiet", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.points = json.loads((self.folder / "out/results.json").read_text())["points"]
        return self.points[0]["jobs"]

    def check(self, jobs, expected, tolerance=1e-9):
        """`expected`: (together, alone) of each."""
        found = [(job["iteration_s"], job["iteration_alone_s"]) for job in jobs]
        for one, other in zip(found, expected, strict=True):
            for seconds, right in zip(one, other):
                self.assertAlmostEqual(seconds / right, 1.0, delta=tolerance, msg=f"{found}, expected {expected}")


class Sharing(Jobs):
    def test_k_equal_all_reduces_take_k_times_as_long(self):
        transfer = ring(10 * MB)
        for k in (1, 2, 3, 5):
            for compute in (NOTHING, 0.25 * transfer):
                with self.subTest(k=k, compute=compute):
                    jobs = self.run_jobs([{"nodes": "2-5", "trace": one_tensor(compute, 10 * MB)} for _ in range(k)])
                    self.check(jobs, k * [(compute + k * transfer, compute + transfer)])
                    self.assertAlmostEqual(self.points[0]["jain"], 1.0, delta=1e-12)

    def test_who_always_sends_has_half_of_the_links(self):
        """Whatever each sends, and however often."""
        sizes = (10 * MB, 3 * MB)
        jobs = self.run_jobs([{"nodes": "0-3", "trace": one_tensor(NOTHING, size)} for size in sizes], iterations={"warmup": 1, "measured": 6})
        self.check(jobs, [(2 * ring(size), ring(size)) for size in sizes])
        link = self.points[0]["shared_links"][0]
        self.assertEqual((link["name"], link["jobs"], len(self.points[0]["shared_links"])), ("node-0 up", ["job 0", "job 1"], 8))
        self.assertAlmostEqual(link["utilisation"], 1.0, delta=1e-6)

    def test_jobs_without_common_links_do_not_slow_each_other_down(self):
        for topology in ("star", {"name": "fat-tree", "k": 4, "oversubscription": 2}):
            with self.subTest(topology):
                jobs = self.run_jobs([{"nodes": "0-3"}, {"nodes": "4-7"}], schedule={"name": "wfbp"}, cluster=cluster(nodes=8, topology=topology))
                self.check(jobs, [(job["iteration_alone_s"],) * 2 for job in jobs], 1e-12)
                self.assertEqual(self.points[0]["shared_links"], [])
                self.assertAlmostEqual(self.points[0]["slowdown_max"], 1.0, delta=1e-12)

    def test_who_begins_when_decides_who_sends_when(self):
        """Both compute as long as they send. Together they send together; half an iteration later each sends while the other one computes. A quarter
        later, half of what one sends it sends alone, and the iteration is 2.5 times its transfer."""
        transfer = ring(10 * MB)
        for shift, iteration in ((0.0, 3.0), (1.0, 2.0), (0.5, 2.5)):
            with self.subTest(shift):
                job = {"nodes": "0-3", "trace": one_tensor(transfer, 10 * MB)}
                jobs = self.run_jobs([job, job | {"start_s": shift * transfer}], iterations={"warmup": 3, "measured": 4})
                self.check(jobs, 2 * [(iteration * transfer, 2 * transfer)])
                self.assertEqual([job["start_s"] for job in jobs], [0.0, shift * transfer])

    def test_unequal_sizes_by_hand(self):
        """A computes 1 and sends 1 (of 10 MB), B computes 1 and sends 2, from 0 on. 1 to 3: both send; A has sent 1, B as much. 3 to 4: A computes, B
        sends 1 alone, and ends. 4 to 5: A sends alone, while B computes, and ends. 5 to 6: A computes, B sends 1. 6 to 8: both; A ends, B has sent 2
        and ends, too. So at 8 both begin again: three iterations of A, two of B."""
        transfer = ring(10 * MB)
        jobs = self.run_jobs([{"nodes": "0-3", "trace": one_tensor(transfer, 10 * MB)}, {"nodes": "0-3", "trace": one_tensor(transfer, 20 * MB)}],
                             iterations={"warmup": 0, "measured": 2})
        self.check(jobs, [(8 / 3 * transfer, 2 * transfer), (4 * transfer, 3 * transfer)])

    def test_whoever_ends_first_goes_on(self):
        """A does many iterations while B does one; beside all of it, A has half of the links where B sends."""
        transfer = ring(10 * MB)
        jobs = self.run_jobs([{"nodes": "0-3", "trace": one_tensor(NOTHING, 1 * MB)}, {"nodes": "0-3", "trace": one_tensor(10 * transfer, 10 * MB)}],
                             iterations={"warmup": 0, "measured": 1})
        # A's mean over B's iteration: 10 transfers alone, then 2 with half of the links: 110 iterations in 12 transfers.
        self.check(jobs, [(12 / 110 * transfer, transfer / 10), (12 * transfer, 11 * transfer)])

    def test_part_of_the_nodes(self):
        """One node in common with another job holds up the whole ring; jobs that have none meet nowhere."""
        transfer = ring(10 * MB)
        jobs = self.run_jobs([{"nodes": "0-3", "trace": one_tensor(NOTHING, 10 * MB)}, {"nodes": "4-7", "trace": one_tensor(NOTHING, 10 * MB)}, {"nodes": "3-4", "trace": one_tensor(NOTHING, 10 * MB)}],
                             iterations={"warmup": 1, "measured": 3})
        self.assertGreater(jobs[0]["slowdown"], 1.2)
        self.assertAlmostEqual(jobs[0]["slowdown"], jobs[1]["slowdown"], delta=1e-6)
        self.assertAlmostEqual(jobs[0]["iteration_alone_s"] / transfer, 1.0, delta=1e-9)
        self.assertTrue(all(set(link["jobs"]) != {"job 0", "job 1"} for link in self.points[0]["shared_links"]))

    def test_uplinks_of_a_fat_tree(self):
        """Switches of two nodes have one uplink at 2:1. A ring over one node of each of two switches fills it."""
        fat_tree = cluster(nodes=8, link=LINK, topology={"name": "fat-tree", "k": 4, "oversubscription": 2})
        job = one_tensor(NOTHING, 10 * MB)
        jobs = self.run_jobs([{"nodes": "0,2", "trace": job}, {"nodes": "1,3", "trace": job}], cluster=fat_tree)
        self.check(jobs, 2 * [(2 * ring(10 * MB, 2), ring(10 * MB, 2))])
        self.assertTrue(all(link["name"].startswith("edge-aggregation") for link in self.points[0]["shared_links"]))
        jobs = self.run_jobs([{"nodes": "0-1", "trace": job}, {"nodes": "2-3", "trace": job}], cluster=fat_tree)
        self.check(jobs, 2 * [(ring(10 * MB, 2),) * 2])


class Windows(Jobs):
    """How long is measured, if the file does not say."""
    PAIR = [{"nodes": "0-3"}, {"nodes": "2-5", "trace": one_tensor(0.0137, 5 * MB)}]

    def test_jobs_that_meet_anew_in_each_iteration_are_measured_until_their_means_are_known(self):
        """Of ten iterations the second job's mean is 2% off."""
        long = self.run_jobs(self.PAIR, iterations={"measured": 2000})
        ten = self.run_jobs(self.PAIR, iterations={"measured": 10})
        jobs = self.run_jobs(self.PAIR, iterations={})
        self.assertGreater(self.points[0]["measured_iterations"], 10)
        for one, other in zip(jobs, long):
            self.assertLessEqual(one["iteration_half"], 0.005)
            self.assertAlmostEqual(one["iteration_s"] / other["iteration_s"], 1.0, delta=0.005)
        self.assertGreater(max(abs(one["iteration_s"] / other["iteration_s"] - 1.0) for one, other in zip(ten, long)), 0.01)

    def test_a_limit_of_steps_keeps_the_window_short(self):
        self.run_jobs(self.PAIR, "--max-steps", "1000", iterations={})
        self.assertEqual(self.points[0]["measured_iterations"], 10)

    def test_jobs_that_do_not_meet_keep_ten(self):
        jobs = self.run_jobs([{"nodes": "0-3"}, {"nodes": "4-7"}], iterations={})
        self.assertEqual((self.points[0]["measured_iterations"], [job["iteration_half"] for job in jobs]), (10, [None, None]))

    def test_jobs_whose_windows_meet_other_events(self):
        """An outage in the windows beside the others, but before those alone begin to train at their own pace."""
        outage = [{"nodes": "1", "bandwidth_profile": [{"at_s": 3.0, "bandwidth": 0}, {"at_s": 3.5, "bandwidth": 1e9}]}]
        jobs = [{"nodes": "0-3", "trace": one_tensor(0.5, 10 * MB)}, {"nodes": "0-3", "trace": one_tensor(0.5, 600 * MB)}]
        self.run_jobs(jobs, cluster=cluster(nodes=8, link=LINK, node_links=outage), iterations={"warmup": 0, "measured": 3})
        self.assertEqual(self.points[0]["jobs_meet_other_events"], ["job 0"])

    def test_the_note_is_of_the_job_that_is_known_least(self):
        draws = {"workers": {"jitter": {"distribution": "lognormal", "cv": 0.5}}}
        done = self.run_scenario(several([self.PAIR[0], self.PAIR[1] | draws], iterations={"warmup": 0, "measured": 6}))
        self.assertRegex(done.stdout, r"known to no better than 1%, that of job 1 of point 0 \(s-sgd\) to [\d.]+%")

    def test_until(self):
        changes = {"workers": {"jitter": {"distribution": "lognormal", "cv": 0.3}}, "iterations": {"measured": 5, "until": 0.02}}
        jobs = self.run_jobs(self.PAIR, **changes)
        self.assertTrue(all(0.0 < job["iteration_half"] <= 0.02 for job in jobs), jobs)
        self.assertAlmostEqual(self.points[0]["iteration_high_s"] / self.points[0]["iteration_s"] - 1.0, jobs[0]["iteration_half"], delta=1e-12)


class Alone(Jobs):
    def test_one_job_is_the_scenario_without_jobs(self):
        for schedule in ({"name": "wfbp"}, {"name": "ps-sgd", "servers": 2}, {"name": "dts", "delay": 2, "period": 2}, {"name": "asgd", "servers": 1, "colocated": True},
                         {"name": "sgp"}, {"name": "fsdp"}):
            with self.subTest(schedule):
                changes = {"schedule": schedule, "workers": {"jitter": {"distribution": "uniform", "cv": 0.2}}, "seed": 5, "iterations": {"warmup": 2, "measured": 6}}
                one = self.run_jobs([{"nodes": "0-7"}], **changes)[0]
                without = {key: value for key, value in several([{}], **changes).items() if key != "jobs"}
                done = self.run_scenario(without | {"fidelity": "flow"}, "--quiet")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                alone = json.loads((self.folder / "out/results.json").read_text())["points"][0]
                for column in ("iteration_s", "exposed_communication_s", "throughput_samples_per_s"):
                    self.assertAlmostEqual(one[column], alone[column], delta=1e-9 * abs(alone[column]))
                self.assertAlmostEqual(one["slowdown"], 1.0, delta=1e-9)

    def test_several_gpus_share_their_nodes_link_only(self):
        """Two jobs of two GPUs on each node: what moves inside does not meet."""
        inside = {"bandwidth": 2 * LINK["bandwidth"], "latency": 0}
        nodes = cluster(nodes=2, link=LINK, gpus_per_node=2, intra_node=inside)
        job = {"nodes": "0-1", "trace": one_tensor(NOTHING, 10 * MB)}
        jobs = self.run_jobs([job, job], cluster=nodes)
        names = {link["name"].partition("-")[0] for link in self.points[0]["shared_links"]}
        self.assertEqual(names, {"node"})
        alone = 2 * 0.5 * 10 * MB / inside["bandwidth"] + ring(10 * MB, 2)
        self.check(jobs, 2 * [(alone + ring(10 * MB, 2), alone)])

    def test_servers_are_a_jobs_own(self):
        """Two jobs with a server each, on nodes of their own: on a star they meet nowhere."""
        jobs = self.run_jobs([{"nodes": "0-2"}, {"nodes": "3-5"}], schedule={"name": "ps-sgd", "servers": 1})
        self.check(jobs, [(job["iteration_alone_s"],) * 2 for job in jobs], 1e-9)
        jobs = self.run_jobs([{"nodes": "0-2"}, {"nodes": "0-2"}], schedule={"name": "ps-sgd", "servers": 1})
        self.check(jobs, [(job["iteration_alone_s"],) * 2 for job in jobs], 1e-9)  # a server's link carries three nodes' bytes, and each node's link two servers'

    def test_servers_have_places_in_the_whole_network(self):
        """The smallest fat-tree of 12 nodes has 16 places; that of 2 nodes would have none left."""
        network = cluster(nodes=12, topology={"name": "fat-tree"})
        self.run_jobs([{"nodes": "0-1"}, {"nodes": "2-3"}], schedule={"name": "ps-sgd", "servers": 1}, cluster=network)

    def test_draws_are_a_jobs_own(self):
        changes = {"workers": {"jitter": {"distribution": "lognormal", "cv": 0.3}}, "schedule": {"name": "wfbp"}}
        first, second = self.run_jobs([{"nodes": "0-3"}, {"nodes": "4-7"}], **changes)
        self.assertNotAlmostEqual(first["iteration_s"], second["iteration_s"], delta=1e-6)
        self.assertAlmostEqual(second["slowdown"], 1.0, delta=1e-9)
        means = [0.0, 0.0]
        for seed in (3, 4, 5):
            means = [mean + job["iteration_s"] / 3 for mean, job in zip(means, self.run_jobs([{"nodes": "0-3"}, {"nodes": "4-7"}], seed=seed, **changes))]
        jobs = self.run_jobs([{"nodes": "0-3"}, {"nodes": "4-7"}], seed=3, replicates=3, **changes)
        for job, mean in zip(jobs, means):
            self.assertAlmostEqual(job["iteration_s"], mean, delta=1e-12)


class Saying(Jobs):
    def test_what_a_job_says_of_its_own(self):
        self.write("other.json", trace(model={"name": "other", "batch": 2, "dtype": "fp16"}))
        jobs = self.run_jobs([{"name": "ours", "nodes": "0-3", "x-mine": 1}, {"name": "theirs", "nodes": "4,6-7", "trace": "other.json", "schedule": {"name": "fusion", "bucket": "1MB"},
                                                                               "granularity": "layer", "all_reduce": "halving-doubling",
                                                                               "workers": {"slow": [{"ranks": "2", "factor": 2}]}, "channels": 2}])
        self.assertEqual([(job["name"], job["model"], job["schedule"], job["nodes"], job["workers"]) for job in jobs],
                         [("ours", "three", "s-sgd", "0-3", 4), ("theirs", "other", "fusion", "4,6-7", 3)])
        self.assertGreater(jobs[1]["iteration_alone_s"], 0.018)  # its slow rank computes 2 x 9 ms
        row = self.rows()[0]
        self.assertEqual((row["nodes"], row["schedule"], row["fidelity"], row["iteration_s"]), ("4", "s-sgd", "flow", repr(jobs[0]["iteration_s"])))
        traces = json.loads((self.folder / "out/results.json").read_text())["traces"]
        self.assertEqual([one["model"] for one in traces], ["three", "other"])

    def test_sweeps(self):
        sweep = {"/jobs/1/schedule": [{"name": "s-sgd"}, {"name": "wfbp"}], "/jobs/1/trace/model/batch": [2, 3], "/jobs/0/nodes": ["0-3", "4-7"]}
        self.run_jobs([{"nodes": "0-3"}, {"nodes": "0-3", "trace": "trace.json"}], sweep=sweep)
        self.assertEqual(len(self.points), 8)
        self.assertEqual([point["jobs"][1]["schedule"] for point in self.points], 4 * ["s-sgd"] + 4 * ["wfbp"])
        rates = [point["jobs"][1]["throughput_samples_per_s"] for point in self.points]
        self.assertAlmostEqual(rates[2] / rates[0], 1.5, delta=1e-9)
        self.assertTrue(all(abs(point["jobs"][0]["slowdown"] - 1.0) < 1e-9 for point in self.points[1::2]))

    def test_a_changed_file_of_a_job_is_another_study(self):
        content = several([{"nodes": "0-3"}, {"nodes": "0-3", "trace": "other.json"}])
        self.write("other.json", trace())
        self.assertEqual(self.run_scenario(content).returncode, 0)
        digests = [json.loads((self.folder / "out/study.json").read_text())]
        self.write("other.json", trace(model={"name": "other", "batch": 2, "dtype": "fp32"}))
        done = self.simctl("run", "scenario.json", "-o", "out", "--resume")
        self.assertNotEqual(done.returncode, 0, digests)

    def test_the_summary_has_a_line_for_each_job(self):
        self.write("scenario.json", several([{"name": "ours", "nodes": "0-3"}, {"name": "theirs", "nodes": "2-5"}]))
        done = self.simctl("run", "scenario.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([line[:3] for line in lines if line[:1] in (["ours"], ["theirs"])], [["ours", "s-sgd", "0-3"], ["theirs", "s-sgd", "2-5"]])
        self.assertRegex(done.stdout, r"Together, ours takes [\d.]+ ms per iteration, [\d.]+ times as long as alone; theirs takes ")

    def test_check_counts_all_jobs(self):
        def steps(jobs):
            self.write("scenario.json", several(jobs))
            done = self.simctl("check", "scenario.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return float(done.stdout.split("for ")[1].split()[0])

        self.assertEqual(steps([{"nodes": "0-3"}, {"nodes": "4-7"}]), 2 * steps([{"nodes": "0-3"}]))

    def test_what_jobs_cannot_have(self):
        self.write("scenario.json", several([{"nodes": "0-3"}, {"nodes": "4-7"}]))
        for arguments in (["explain", "scenario.json"], ["run", "scenario.json", "-o", "out", "--explain"], ["run", "scenario.json", "-o", "out", "--dataflow"]):
            with self.subTest(arguments):
                done = self.simctl(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("there are several", done.stderr)

    def test_timeline_of_the_first_job(self):
        self.run_jobs([{"nodes": "0-3"}, {"nodes": "2-5"}], "--timeline")
        self.assertTrue(json.loads((self.folder / "out/timeline-0.json").read_text()))

    def test_links_of_a_timeline_have_the_bytes_of_all_jobs(self):
        """Each job sums 6 MB in a step. Nodes 2 and 3 are of both jobs, nodes 4 and 5 only of the second one."""
        for schedule, words in (("s-sgd", ()), ("wfbp", ()), ("wfbp", ("--iterations", "1-3"))):
            with self.subTest(schedule=schedule, words=words):
                jobs = self.run_jobs([{"nodes": "0-3"}, {"nodes": "2-5"}], "--timeline", *words, schedule={"name": schedule})
                table = json.loads((self.folder / "out/timeline-0.json").read_text())["links"]
                shown = (table["to_us"] - table["from_us"]) / 1e6
                carried = {}
                for use in table["use"]:
                    self.assertLessEqual(max(use["percent"][::2]), 100)
                    mean = sum(value * count for value, count in zip(use["percent"][::2], use["percent"][1::2])) / table["stretches"]
                    carried |= {link["name"]: mean / 100 * LINK["bandwidth"] * shown for link in use["links"]}
                self.assertEqual(len(carried), 2 * 6)
                each = 2 * 3 / 4 * 6 * MB
                for node in range(6):
                    steps = [shown / job["iteration_s"] for job, nodes in zip(jobs, ((0, 1, 2, 3), (2, 3, 4, 5))) if node in nodes]
                    for way in ("up", "down"):      # an edge may cut a step of each job
                        self.assertAlmostEqual(carried[f"node-{node} {way}"], sum(steps) * each, delta=len(steps) * each)


if __name__ == "__main__":
    unittest.main()
