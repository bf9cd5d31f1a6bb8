"""Is every bad scenario and cluster refused with file, place, rule and value, before anything is simulated or written?"""
import json
import re
import unittest

from support import Case, cluster, parameters, scenario, schedules, trace


def without(content, key):
    return {k: v for k, v in content.items() if k != key}


def jobs(*list_of_jobs, **changes):
    return scenario(jobs=list(list_of_jobs)) | changes


LATENCY = 'expected seconds from 0 to a day (86400) or a string such as "50us"'
BANDWIDTH = 'expected bytes/second from 1 to 1e18 or a string such as "10Gbps" (bits) or "12GBps" (bytes)'
COLLECTIVES = "ring, binary-tree, recursive-doubling, halving-doubling, double-binary-tree"
SCHEDULES = ", ".join(schedules())


class BadScenario(Case):
    def test_one_row_per_rule(self):
        table = [
            (without(scenario(), "format"), '/: the required key "format" is missing'),
            (scenario(format="scenario/2"), '/format: expected "scenario/1", got "scenario/2"'),
            (without(scenario(), "name"), '/: the required key "name" is missing'),
            (without(scenario(), "trace"), '/: the required key "trace" is missing'),
            (without(scenario(), "cluster"), '/: the required key "cluster" is missing'),
            (without(scenario(), "schedule"), '/: the required key "schedule" is missing'),
            (scenario(shedule={}), '/shedule: unknown key "shedule"; did you mean "schedule"?'),
            (scenario(trace="missing.json"), "/trace: missing.json: no such file (paths are relative to the scenario file)"),
            (scenario(cluster="missing.json"), "/cluster: missing.json: no such file (paths are relative to the scenario file)"),
            (scenario(trace=3), "/trace: expected an object, got 3"),
            (scenario(cluster=[]), "/cluster: expected an object, got []"),
            (scenario(schedule="wfbp"), '/schedule: expected an object such as {"name": "wfbp"}, got "wfbp"'),
            (scenario(schedule=["wfbp"]), '/schedule: expected an object, got ["wfbp"]'),
            (scenario(schedule={}), '/schedule: the required key "name" is missing'),
            (scenario(schedule={"name": "ddp"}), '/schedule/name: "ddp" is not the name of a schedule here; PyTorch\'s DDP all-reduces buckets of gradients: '
                                                 'that is {"name": "fusion", "bucket": "25MiB"}'),
            (scenario(schedule={"name": "hsdp"}), '/schedule/name: "hsdp" is not the name of a schedule here; hybrid sharding is '
                                                  '{"name": "fsdp", "shard_group": "node"}'),
            (scenario(schedule={"name": "cross-barrier"}), '/schedule/name: "cross-barrier" is not the name of a schedule here; BytePS\'s cross-barrier is '
                                                           '{"name": "bytescheduler", "rule": "fits"}'),
            (scenario(schedule={"name": "wbfp"}), f'/schedule/name: expected one of {SCHEDULES}, got "wbfp"; did you mean "wfbp"?'),
            (scenario(schedule={"name": "wfbp", "delay": 3}), '/schedule/delay: unknown key "delay"; known here: name, accumulate, compression'),
            (scenario(schedule={"name": "dts", "delay": 9999, "period": 10000}),
             "/schedule: its pattern repeats every 99990000 steps, so warm-up and measured steps are multiples of this: 99990000 steps are more than 10000000; use parameters with a smaller common multiple"),
            (scenario(schedule={"name": "fusion", "bucket": 0}),
             '/schedule/bucket: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0'),
            (scenario(all_reduce="rings"), f'/all_reduce: expected one of {COLLECTIVES}, two-level, by-region, in-network, auto, got "rings"; did you mean "ring"?'),
            (scenario(all_reduce={"name": "ring", "chunk": 4}),
             '/all_reduce/chunk: ring has nothing to pipeline; leave "chunk" out, or use a tree, two-level or by-region'),
            (scenario(all_reduce={"name": "binary-tree", "chunk": 0}),
             '/all_reduce/chunk: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0'),
            (scenario(all_reduce={"name": "binary-tree", "chunk": 4}, fidelity="alpha-beta"),
             '/all_reduce: alpha-beta fidelity has no messages and so no chunks; leave "chunk" out or use "per-message" or "flow"'),
            (scenario(fidelity="exact"), '/fidelity: expected one of auto, alpha-beta, per-message, flow, simgrid, got "exact"'),
            (scenario(fidelity="flow", schedule={"name": "lasgd", "tau_max": 2, "participants": 0.5}),
             '/fidelity: an all-reduce in which not all ranks take part has no messages; use "per-message"'),
            (scenario(replicates=0), "/replicates: expected an integer >= 1, got 0"),
            (scenario(replicates=1001), "/replicates: expected an integer <= 1000, got 1001"),
            (scenario(iterations={"until": 0}), "/iterations/until: expected a number >= 1e-05, got 0"),
            (scenario(iterations={"until": 0.6}), "/iterations/until: expected a number <= 0.5, got 0.6"),
            (scenario(channels=0), "/channels: expected an integer >= 1, got 0"),
            (scenario(channels=1.5), "/channels: expected an integer >= 1, got 1.5"),
            (scenario(channels=1025), "/channels: expected an integer <= 1024, got 1025"),
            (scenario(channels=2, schedule={"name": "fsdp", "shard_group": 2}),
             '/channels: some of the schedule\'s collectives follow others in order, one at a time; leave "channels" out'),
            (scenario(channels=2, schedule={"name": "lasgd", "tau_max": 2, "participants": 0.5}),
             '/channels: an all-reduce in which not all ranks take part has one channel; leave "participants" or "channels" out'),
            (scenario(channels=2, schedule={"name": "dts", "delay": 1, "in_flight": "serial"}),
             '/channels: the schedule\'s "in_flight" also sets how many collectives are in flight; leave one of them out'),
            (scenario(granularity="tensors"), '/granularity: expected one of tensor, layer, got "tensors"; did you mean "tensor"?'),
            (scenario(iterations={"measured": 0}), "/iterations/measured: expected an integer >= 1, got 0"),
            (scenario(iterations={"warmup": -1}), "/iterations/warmup: expected an integer >= 0, got -1"),
            (scenario(iterations={"measured": 1.5}), "/iterations/measured: expected an integer >= 1, got 1.5"),
            (scenario(iterations={"measured": 1e30}), "/iterations/measured: expected an integer <= 10000000, got 1e+30"),
            (scenario(name="two\nlines"), '/name: expected a string without control characters, got "two\\nlines"'),
            (scenario(sweep={"/workers/slow/99999999999999999999": [1]}),
             "/workers/slow/99999999999999999999: there is no such place (in point 0: /workers/slow/99999999999999999999=1)"),
            (scenario(seed=-1), "/seed: expected an integer >= 0, got -1"),
            (scenario(seed="1"), '/seed: expected an integer >= 0, got "1"'),
            (scenario(samples=0), "/samples: expected an integer >= 1, got 0"),
            (scenario(samples=1.5), "/samples: expected an integer >= 1, got 1.5"),
            (scenario(samples=10, epochs=0), "/epochs: expected a number > 0, got 0"),
            (scenario(epochs=90), '/epochs: the length of an epoch is missing; add "samples"'),
            (scenario(workers={"jitter": {"cv": 0.1}}), '/workers/jitter: the required key "distribution" is missing'),
            (scenario(workers={"jitter": {"distribution": "log-normal", "cv": 0.1}}),
             '/workers/jitter/distribution: expected one of lognormal, uniform, exponential, empirical, got "log-normal"; did you mean "lognormal"?'),
            (scenario(workers={"jitter": {"distribution": "lognormal", "cv": -0.1}}), "/workers/jitter/cv: expected a number >= 0, got -0.1"),
            (scenario(workers={"jitter": {"distribution": "uniform", "cv": 0.6}}),
             "/workers/jitter/cv: expected a coefficient of variation < 0.577 (1/sqrt 3) for a uniform factor, which must stay positive, got 0.6"),
            (scenario(workers={"slow": [{"ranks": "0-4", "factor": 2}]}),
             '/workers/slow/0/ranks: expected ascending ranks from 0 to 3 such as "0-3,7", got "0-4"'),
            (scenario(workers={"slow": [{"ranks": "1", "factor": 0}]}), "/workers/slow/0/factor: expected a number > 0, got 0"),
            (scenario(workers={"slow": [{"ranks": "1", "factor": 2}, {"ranks": "0-2", "factor": 3}]}),
             "/workers/slow/1/ranks: rank 1 is named twice; give it one factor"),
            (scenario(sweep=[1]), '/sweep: expected an object that maps JSON pointers to lists, such as {"/cluster/nodes": [4, 8]}, got [1]'),
            (scenario(sweep={"/cluster/nodes": [4, 8, 4]}), "/sweep/~1cluster~1nodes/2: 4 is listed twice"),
            (scenario(sweep={"/cluster/nodes": []}), "/sweep/~1cluster~1nodes: expected a list that is not empty, got []"),
            (scenario(sweep={"/cluster/nodes": 4}), "/sweep/~1cluster~1nodes: expected a list that is not empty, got 4"),
            (scenario(sweep={"cluster/nodes": [4]}), '/sweep/cluster~1nodes: "cluster/nodes" is not a JSON pointer such as "/cluster/nodes"'),
            (scenario(sweep={"/a~2": [4]}), '/sweep/~1a~02: "/a~2" is not a JSON pointer: after ~ comes 0 or 1'),
            (scenario(sweep={"/sweep/x": [4]}), "/sweep/~1sweep~1x: this key cannot be swept"),
            (scenario(sweep={"/nowhere": [4]}), '/nowhere: unknown key "nowhere"; known here: format, $schema, name, trace, trace_factor, cluster, granularity, fidelity, simgrid, all_reduce, schedule, channels, workers, '
             "iterations, samples, epochs, seed, replicates, sweep, jobs, run (in point 0: /nowhere=4)"),
            (scenario(sweep={"/schedule/nmae": ["wfbp"]}), '/schedule/nmae: unknown key "nmae"; did you mean "name"? (in point 0: /schedule/nmae="wfbp")'),
            (scenario(sweep={"/name/x": [1]}), '/name: cannot set /name/x: there is no such place in "test" (in point 0: /name/x=1)'),
            (scenario(sweep={"/cluster/nodes": [4, 0]}), "/cluster/nodes: expected an integer >= 1, got 0 (in point 1: /cluster/nodes=0)"),
            (scenario(sweep={"/cluster/nodes": [4, 2]}, workers={"slow": [{"ranks": "3", "factor": 2}]}),
             '/workers/slow/0/ranks: expected ascending ranks from 0 to 1 such as "0-3,7", got "3" (in point 1: /cluster/nodes=2)'),
            (scenario(sweep={f"/seed": list(range(1001)), "/iterations/measured": list(range(1, 102))}),
             "/sweep/~1iterations~1measured: the sweep has more than 100000 points; sweep fewer values"),
            (scenario(sweep={"/cluster": ["gone.json"]}),
             '/cluster: gone.json: no such file (paths are relative to the scenario file) (in point 0: /cluster="gone.json")'),
        ]
        for content, message in table:
            with self.subTest(message):
                done = self.run_scenario(content)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))
                self.assertFalse((self.folder / "out").exists(), "nothing is written")

    def test_one_row_per_rule_of_jobs(self):
        table = [
            (scenario(jobs=3), "/jobs: expected a list that is not empty, got 3"),
            (scenario(jobs=[]), "/jobs: expected a list that is not empty, got []"),
            (scenario(jobs=[3]), "/jobs/0: expected an object, got 3"),
            (scenario(jobs=[{"nodes": "0-1"}, {"nodes": "2-3", "schedule": {"name": "lasgd", "tau_max": 2, "participants": 0.5}}]),
             '/jobs/1/schedule/participants: an all-reduce in which not all ranks take part is not simulated as flows, which jobs need; leave "participants" or "jobs" out'),
            (jobs({}), '/jobs/0: the required key "nodes" is missing'),
            (jobs({"nodes": "0-1", "node": 1}), '/jobs/0/node: unknown key "node"; did you mean "nodes"?'),
            (jobs({"nodes": 3}), '/jobs/0/nodes: expected a string that is not empty, got 3'),
            (jobs({"nodes": "0-2,2-3"}), '/jobs/0/nodes: expected ascending nodes from 0 to 3 such as "0-3,7", got "0-2,2-3"'),
            (jobs({"nodes": "0-1"}, {"nodes": "2-4"}), '/jobs/1/nodes: expected ascending nodes from 0 to 3 such as "0-3,7", got "2-4"'),
            (jobs({"nodes": "0-1", "start_s": -1}), "/jobs/0/start_s: expected a number >= 0, got -1"),
            (jobs({"nodes": "0-1"}, {"nodes": "2-3", "name": "job 0"}), '/jobs/1: two jobs are named "job 0"; give each a "name" of its own'),
            (jobs({"nodes": "0-1", "schedule": {"name": "wbfp"}}), f'/jobs/0/schedule/name: expected one of {SCHEDULES}, got "wbfp"; did you mean "wfbp"?'),
            (jobs({"nodes": "0-1", "trace": "missing.json"}), "/jobs/0/trace: missing.json: no such file (paths are relative to the scenario file)"),
            (jobs({"nodes": "0-1", "trace": 0}), "/jobs/0/trace: expected a trace, or the file or name of one, got 0"),
            (jobs({"nodes": "0-1", "workers": {"slow": [{"ranks": "2", "factor": 2}]}}),
             '/jobs/0/workers/slow/0/ranks: expected ascending ranks from 0 to 1 such as "0-3,7", got "2"'),
            (jobs({"nodes": "0-1", "schedule": {"name": "s-sgd"}}), "/schedule: every job has its own, so this one is never used; leave it out"),
            (without(jobs({"nodes": "0-1"}), "schedule"), '/jobs/0: the required key "schedule" is missing'),
            (without(jobs({"nodes": "0-1"}), "trace"), '/jobs/0: the required key "trace" is missing'),
            (without(jobs({"nodes": "0-1"}), "cluster"), '/: the required key "cluster" is missing'),
            (jobs({"nodes": "0-1"}, fidelity="alpha-beta"), '/fidelity: jobs share links, which only "flow" simulates; use it or "auto", or leave "jobs" out'),
            (jobs({"nodes": "0-1"}, fidelity="exact"), '/fidelity: expected one of auto, alpha-beta, per-message, flow, simgrid, got "exact"'),
            (jobs({"nodes": "0-1"}, epochs=2, samples=5), '/samples: "samples" is for a single training, but there are several jobs; leave one of them out'),
            (jobs({"nodes": "0-1"}, run={"steps": 5}), '/run: "run" is for a single training, but there are several jobs; leave one of them out'),
            (jobs({"nodes": "0-1"}, all_reduce="in-network"), '/all_reduce: "in-network": jobs share links, but it has no messages that do; use "ring"'),
            (jobs({"nodes": "0-1"}, cluster=cluster(fit={"a_s": 0.001, "b_s_per_B": 1e-9, "nodes": 4, "algorithm": "ring"})),
             "/cluster/fit: the cluster's fit measures whole all-reduces, but jobs share links message by message; leave \"fit\" or \"jobs\" out"),
            (jobs({"nodes": "0-1"}, cluster=cluster(regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}], wan=[{"between": ["a", "b"], "rtt": 0.1, "bandwidth": 1e9}])),
             '/cluster/regions: a ring through regions takes all nodes, but a job has only some; use a cluster without regions, or leave "jobs" out'),
            (jobs({"nodes": "0-1"}, {"nodes": "2-3"}, schedule={"name": "ps-sgd", "servers": 1}, cluster=cluster(topology={"name": "tree", "arity": 5, "levels": 1})),
             '/jobs: a tree of this size has 5 places for 4 nodes and the 2 servers of all jobs; use "levels": 2, or "colocated": true'),
        ]
        for content, message in table:
            with self.subTest(message):
                done = self.run_scenario(content)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))

    def test_one_row_per_rule_of_long_runs(self):
        fails = {"per_1000_node_days": 5}
        writes = {"write_s": 60}

        def run(**keys):
            return scenario(run={"steps": 1000, "failures": fails, "checkpoint": writes} | keys)

        table = [
            (scenario(run=3), "/run: expected an object, got 3"),
            (scenario(run={}), '/run: the length of the run is missing; add "steps" or "samples", or "epochs" to the scenario'),
            (run(samples=5), '/run/steps: "samples" also sets the length of the run; leave one of them out'),
            (run() | {"samples": 10, "epochs": 2}, '/run/steps: "epochs" of the scenario also sets the length of the run; leave one of them out'),
            (run(steps=0), "/run/steps: expected an integer >= 1, got 0"),
            (run(stepz=1), '/run/stepz: unknown key "stepz"; did you mean "steps"?'),
            (run(seeds=0), "/run/seeds: expected an integer >= 1, got 0"),
            (run(seeds=10001), "/run/seeds: expected an integer <= 10000, got 10001"),
            (run(failures={}), '/run/failures: the failure rate is missing; add "mtbf_per_gpu_h", "per_1000_node_days" or "kinds"'),
            (run(failures={"mtbf_per_gpu_h": 0}), "/run/failures/mtbf_per_gpu_h: expected a number > 0, got 0"),
            (run(failures={"per_1000_node_days": -1}), "/run/failures/per_1000_node_days: expected a number > 0, got -1"),
            (run(failures=fails | {"mtbf_per_gpu_h": 5}),
             '/run/failures/per_1000_node_days: "mtbf_per_gpu_h" also sets the failure rate; leave one of them out, or use "kinds"'),
            (run(failures={"kinds": []}), "/run/failures/kinds: expected a list that is not empty, got []"),
            (run(failures={"kinds": [{"domain": "rack", "rate": 1}]}), '/run/failures/kinds/0/domain: expected one of gpu, node, switch, region, got "rack"'),
            (run(failures={"kinds": [{"domain": "node", "rate": 0}]}), "/run/failures/kinds/0/rate: expected a number > 0, got 0"),
            (run(failures={"kinds": [{"domain": "node", "rate": 1, "weibull_shape": 0}]}), "/run/failures/kinds/0/weibull_shape: expected a number >= 0.1, got 0"),
            (run(failures={"kinds": [{"domain": "gpu"}]}),
             '/run/failures/kinds/0: the failure rate is missing; add "rate" (failures in 1000 days), or "mtbf_per_gpu_h" to "failures" for one kind'),
            (run(failures=fails | {"kinds": [{"domain": "gpu"}]}),
             '/run/failures/kinds/0: the failure rate is missing; add "rate" (failures in 1000 days), or "mtbf_per_gpu_h" to "failures" for one kind'),
            (run(failures={"kinds": [{"domain": "switch"}]}), '/run/failures/kinds/0: the failure rate is missing; add "rate" (failures in 1000 days)'),
            (run(failures=fails | {"kinds": [{"domain": "node", "rate": 1}]}),
             '/run/failures/per_1000_node_days: no kind of the domain "node" lacks a "rate", so this one is never used; leave it out'),
            (run(failures={"kinds": [{"domain": "region", "rate": 1}]}),
             '/run/failures/kinds/0/domain: the cluster has no regions; use "switch", "node" or "gpu"'),
            (run(failures={"kinds": [{"domain": "switch", "rate": 1}]}) | {"cluster": cluster(topology="torus")},
             '/run/failures/kinds/0/domain: a torus has no switches; use "node" or "gpu"'),
            (run(checkpoint={}), '/run/checkpoint: the required key "write_s" is missing'),
            (run(checkpoint={"write_s": -1}), "/run/checkpoint/write_s: expected a number >= 0, got -1"),
            (run(checkpoint=writes | {"stall_s": 61}), '/run/checkpoint/stall_s: training cannot stall for longer than the checkpoint takes; use at most "write_s", 60'),
            (run(checkpoint=writes | {"every": 0}), "/run/checkpoint/every: expected a number > 0, got 0"),
            (run(checkpoint=writes | {"every": "dayly"}), '/run/checkpoint/every: expected one of daly, young, got "dayly"; did you mean "daly"?'),
            (run(checkpoint=writes | {"every": None}), '/run/checkpoint/every: expected a number of seconds > 0, "daly" or "young", got null'),
            (run(checkpoint=writes | {"every": 30, "stall_s": 10}), "/run/checkpoint/every: a checkpoint would begin before the previous one is complete; use at least 50"),
            (scenario(run={"steps": 1, "checkpoint": writes}),
             '/run/checkpoint: the best interval depends on "failures", which are missing; add them, or give "every" in seconds'),
            (run(restart={"detect_s": -1}), "/run/restart/detect_s: expected a number >= 0, got -1"),
            (run(restart={"restart_s": "1h"}), '/run/restart/restart_s: expected a number >= 0, got "1h"'),
            (run(restart={"load": 1}), '/run/restart/load: unknown key "load"; did you mean "load_s"?'),
            (run(policy="pray"), '/run/policy: expected one of restart, hot-spare, shrink, per-step, got "pray"'),
            (run(policy="hot-spare"), '/run/policy: hot-spare has required parameters; use {"name": "hot-spare", "spares": 2}'),
            (run(policy={"name": "restart", "spares": 2}), '/run/policy/spares: unknown key "spares"; known here: name'),
            (run(policy={"name": "hot-spare", "spares": 0}), "/run/policy/spares: expected an integer >= 1, got 0"),
            (run(policy={"name": "hot-spare", "spares": 1, "repair_h": 0}), "/run/policy/repair_h: expected a number > 0, got 0"),
            (run(policy={"name": "hot-spare", "spares": 1, "min_nodes": 2}), '/run/policy/min_nodes: unknown key "min_nodes"; known here: name, spares, repair_h'),
            (run(policy={"name": "shrink"}), '/run/policy: the required key "min_nodes" is missing'),
            (run(policy={"name": "shrink", "min_nodes": 5}), "/run/policy/min_nodes: expected an integer <= 4, got 5"),
            (run(policy={"name": "per-step", "min_nodes": 2, "spares": 2}), '/run/policy/spares: unknown key "spares"; known here: name, min_nodes, repair_h'),
            (run(policy={"name": "per-step", "min_nodes": 10}) | {"cluster": cluster(nodes=300)},
             "/run/policy/min_nodes: up to 291 numbers of nodes would be simulated, but at most 256 are possible; use at least 45"),
            (run(policy={"name": "shrink", "min_nodes": 1}) | {"cluster": cluster(nodes=2, regions=[{"name": "a", "nodes": 1}, {"name": "b", "nodes": 1}],
                                                                               wan=[{"between": ["a", "b"], "rtt": "1ms", "bandwidth": "1Gbps"}])},
             '/run/policy/name: on regions it would matter which region has lost a node, which is not simulated; use "restart" or "hot-spare"'),
        ]
        for content, message in table:
            with self.subTest(message):
                done = self.run_scenario(content)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))

    def test_every_parameter_of_every_schedule_refuses_what_it_does_not_say(self):
        rows = parameters()
        self.assertGreater(len(rows), 20)
        for row in rows:
            values = row["values"]
            if found := re.fullmatch(r"integer from (\d+) to (\d+)", values):
                low, high = map(int, found.groups())
                bad = [(low - 1, f"an integer >= {low}"), (high + 1, f"an integer <= {high}"), (low + 0.5, f"an integer >= {low}"),
                       ("1", f"an integer >= {low}")]
            elif found := re.fullmatch(r"number > 0 and <= (\S+)", values):
                bad = [(0, "a number > 0"), (float(found[1]) * 1.5, f"a number <= {found[1]}"), (-1, "a number > 0"), (None, "a number > 0")]
            elif found := re.fullmatch(r"number from (\S+) to (\S+)", values):
                low, high = found.groups()
                bad = [(float(low) - 1, f"a number >= {low}"), (float(high) * 1.5, f"a number <= {high}"), ([], f"a number >= {low}")]
            elif values == "true or false":
                bad = [(1, "true or false"), ("true", "true or false")]
            elif values == "seconds":
                bad = [(-1, "a number"), (1e30, "a number"), ("1s", "a number")]
            elif values in ("bytes", "seconds per byte"):
                bad = [(-1, ""), (1e30, ""), ({}, "")]
            elif values == "a way to compress gradients":
                bad = [("top_k", "one of"), (0, "")]
            elif values == "a way to group gradients":
                bad = [("wfpb", "one of"), (3, "")]
            elif values == "list of groups":
                bad = [([], ""), (3, "")]
            else:
                choices = values.split(" or ")
                bad = [(choices[0] + "x", f"one of {', '.join(choices)}"), (True, "")]
            for schedule in row["schedule"].split(", "):
                needed = {other["parameter"]: int(other["values"].split()[2]) for other in rows
                          if schedule in other["schedule"].split(", ") and not other["default"]}
                for value, rule in bad:
                    with self.subTest(schedule=schedule, parameter=row["parameter"], value=value):
                        done = self.run_scenario(scenario(schedule={"name": schedule, **needed, row["parameter"]: value}))
                        self.assertEqual((done.returncode, done.stdout), (3, ""))
                        self.assertTrue(done.stderr.startswith(f"simctl: scenario.json: /schedule/{row['parameter']}: expected {rule}"), done.stderr)
                if not row["default"]:
                    done = self.run_scenario(scenario(schedule={"name": schedule}))
                    self.assertRegex(done.stderr, r'/schedule: the required key "\w+" is missing')

    def test_text_that_is_no_scenario(self):
        table = [
            ("", "scenario.json: not valid JSON at line 1, column 1: the file is empty"),
            (json.dumps(scenario())[:-5], None),
            ('{"seed": NaN}', "scenario.json: not valid JSON at line 1, column 10: NaN and Infinity are not JSON; give a finite number"),
            ('{"seed": 1, "seed": 2}', 'scenario.json: /: the key "seed" appears twice; remove one of them'),
            ("[]", "scenario.json: /: expected an object, got []"),
            ("\x00\x01", None),
        ]
        for text, message in table:
            with self.subTest(text[:20]):
                done = self.run_scenario(text)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertTrue(done.stderr.startswith("simctl: scenario.json: "))
                self.assertEqual(done.stderr.count("\n"), 1)
                if message:
                    self.assertEqual(done.stderr, f"simctl: {message}\n")

    def test_a_missing_scenario_and_a_folder(self):
        self.assertEqual(self.simctl("run", "gone.json").stderr, "simctl: gone.json: no such file\n")
        self.assertEqual(self.simctl("run", ".").stderr, "simctl: .: expected a file, got a folder\n")
        self.assertEqual(self.simctl("check", "gone.json").returncode, 3)
        self.assertEqual(self.simctl("show", "gone.json").returncode, 3)

    def test_show_says_what_it_can_show(self):
        self.write("scenario.json", scenario())
        self.assertEqual(self.simctl("show", "scenario.json").stderr,
                         'simctl: scenario.json: /format: this is a scenario; use "simctl check" or "simctl run"\n')
        self.write("x.json", {"format": "x/1"})
        self.assertEqual(self.simctl("show", "x.json").stderr, 'simctl: x.json: /format: expected "model/1", "trace/1", "device/1" or "cluster/1", got "x/1"\n')


class BadSchedule(Case):
    def test_one_row_per_rule(self):
        table = [
            ({"name": "ssd-sgd", "delay": 0}, '/schedule/delay: expected an integer >= 1, got 0'),
            ({"name": "ssd-sgd"}, '/schedule: the required key "delay" is missing'),
            ({"name": "ssd-sgd", "delay": 1.5}, '/schedule/delay: expected an integer >= 1, got 1.5'),
            ({"name": "ssd-sgd", "delay": 2, "warmup_iterations": -1}, '/schedule/warmup_iterations: expected an integer >= 0, got -1'),
            ({"name": "ssd-sgd", "delay": 2, "local_update_s": -1}, '/schedule/local_update_s: expected a number >= 0, got -1'),
            ({"name": "dts", "delay": -1}, '/schedule/delay: expected an integer >= 0, got -1'),
            ({"name": "dts", "delay": 1, "period": 0}, '/schedule/period: expected an integer >= 1, got 0'),
            ({"name": "dts", "delay": 1, "compression": 0}, '/schedule/compression: expected a number > 0, got 0'),
            ({"name": "dts", "delay": 1, "compression": 1.5}, '/schedule/compression: expected a number <= 1, got 1.5'),
            ({"name": "dts", "delay": 1, "sparse": "all"}, '/schedule/sparse: expected one of all-gather, all-reduce, got "all"'),
            ({"name": "dts", "delay": 1, "in_flight": "serail"}, '/schedule/in_flight: expected one of pipelined, serial, got "serail"; did you mean "serial"?'),
            ({"name": "dts", "delay": 1, "index_bytes": -4}, '/schedule/index_bytes: expected a number >= 0, got -4'),
            ({"name": "dts", "delay": 1, "overhead_s": "1ms"}, '/schedule/overhead_s: expected a number >= 0, got "1ms"'),
            ({"name": "dts", "delay": 10001}, '/schedule/delay: expected an integer <= 10000, got 10001'),
            ({"name": "sasgd"}, '/schedule: the required key "interval" is missing'),
            ({"name": "sasgd", "interval": 0}, '/schedule/interval: expected an integer >= 1, got 0'),
            ({"name": "local-sgd", "interval": "5"}, '/schedule/interval: expected an integer >= 1, got "5"'),
            ({"name": "lasgd", "tau_max": 0}, '/schedule/tau_max: expected an integer >= 1, got 0'),
            ({"name": "lasgd", "tau_max": 1, "worker": "rank"}, '/schedule/worker: expected one of node, gpu, got "rank"'),
            ({"name": "lasgd", "tau_max": 1, "participants": 0}, '/schedule/participants: expected a number > 0, got 0'),
            ({"name": "lasgd", "tau_max": 1, "participants": 1.1}, '/schedule/participants: expected a number <= 1, got 1.1'),
            ({"name": "ps-sgd", "servers": 0}, '/schedule/servers: expected an integer >= 1, got 0'),
            ({"name": "ps-sgd", "servers": 5}, "/schedule/servers: 5 servers for 4 nodes: with 4 the clients' own links are the limit; use at most as many as nodes"),
            ({"name": "asgd", "servers": -1}, '/schedule/servers: expected an integer >= 1, got -1'),
            ({"name": "asgd", "colocated": 1}, '/schedule/colocated: expected true or false, got 1'),
            ({"name": "asgd", "duplex": "yes"}, '/schedule/duplex: expected true or false, got "yes"'),
            ({"name": "asgd", "server_s_per_B": -1}, '/schedule/server_s_per_B: expected a number >= 0, got -1'),
            ({"name": "ps-sgd", "grouping": "wfpb"}, '/schedule/grouping: expected one of s-sgd, wfbp, sync-easgd, mg-wfbp, mg-wfbp-optimal, fusion, horovod, groups, got "wfpb"; did you mean "wfbp"?'),
            ({"name": "ps-sgd", "grouping": {"name": "fusion", "bucket": 0}}, '/schedule/grouping/bucket: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0'),
            ({"name": "ps-sgd", "grouping": {"name": "wfbp", "bucket": 1}}, '/schedule/grouping/bucket: unknown key "bucket"; known here: name'),
            ({"name": "downpour", "interval": 0}, '/schedule/interval: expected an integer >= 1, got 0'),
            ({"name": "eamsgd"}, '/schedule: the required key "interval" is missing'),
            ({"name": "wfbp", "compression": {"name": "fp16", "pull": "whole"}}, '/schedule/compression/pull: unknown key "pull"; known here: name, encode_s_per_B, decode_s_per_B'),
            ({"name": "asgd", "compression": {"name": "fp16", "pull": "half"}}, '/schedule/compression/pull: expected one of whole, compressed, got "half"'),
            ({"name": "wfbp", "compression": "topk"}, '/schedule/compression: expected one of none, fp16, sign, terngrad, qsgd, top-k, gtop-k, random-k, got "topk"; did you mean "top-k"?'),
            ({"name": "wfbp", "compression": {"name": "top-k", "ratio": 0}}, '/schedule/compression/ratio: expected a number > 0, got 0'),
            ({"name": "wfbp", "compression": {"name": "fp16", "ratio": 0.1}}, '/schedule/compression/ratio: unknown key "ratio"; known here: name, encode_s_per_B, decode_s_per_B'),
            ({"name": "wfbp", "compression": {"name": "qsgd", "bits": 17}}, '/schedule/compression/bits: expected an integer <= 16, got 17'),
            ({"name": "wfbp", "compression": {"name": "qsgd", "bucket": 0}}, '/schedule/compression/bucket: expected an integer >= 1, got 0'),
            ({"name": "sasgd", "interval": 2, "compression": {"name": "sign", "encode_s_per_B": -1}}, '/schedule/compression/encode_s_per_B: expected a number >= 0, got -1'),
            ({"name": "dts", "delay": 1, "compression": {"name": "top-k", "index_bytes": -1}}, '/schedule/compression/index_bytes: expected a number >= 0, got -1'),
            ({"name": "wfbp", "accumulate": 0}, '/schedule/accumulate: expected an integer >= 1, got 0'),
            ({"name": "ps-sgd", "accumulate": 2}, '/schedule/accumulate: unknown key "accumulate"; known here: name, servers, colocated, server_s_per_B, duplex, pulls, in_flight, service, within_node, compression, grouping, partition, backup'),
            ({"name": "sgp", "peers": 2}, '/schedule/peers: unknown key "peers"; known here: name, within_node'),
            ({"name": "sgp", "within_node": "serial"}, '/schedule/within_node: expected one of overlapped, blocking, got "serial"'),
            ({"name": "asgd", "within_node": "overlapped"}, '/schedule/within_node: expected one of pipelined, serial, got "overlapped"'),
            ({"name": "asgd", "servers": {"count": 2}}, '/schedule/servers: the required key "region" is missing'),
            ({"name": "asgd", "servers": {"count": 0, "region": "a"}}, '/schedule/servers/count: expected an integer >= 1, got 0'),
            ({"name": "asgd", "servers": {"count": 2, "region": "a", "zone": 1}}, '/schedule/servers/zone: unknown key "zone"; known here: count, region'),
            ({"name": "asgd", "servers": {"count": 2, "region": "a"}}, '/schedule/servers: the cluster has no regions; give the number of servers only, such as "servers": 4'),
            ({"name": "ps-sgd", "partition": 0}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0'),
            ({"name": "asgd", "partition": -1}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got -1'),
            ({"name": "dc-asgd", "partition": "0MB"}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got "0MB"'),
            ({"name": "ps-sgd", "partition": 0.5}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0.5'),
            ({"name": "ps-sgd", "partition": "NaN"}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got "NaN"'),
            ({"name": "asgd", "partition": True}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got true'),
            ({"name": "ps-sgd", "partition": 2e15}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 2e+15'),
            ({"name": "ps-sgd", "partition": None}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got null'),
            ({"name": "ssd-sgd", "delay": 2, "partition": "1 parsec"}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got "1 parsec"'),
            ({"name": "downpour", "interval": 2, "partition": "1MB"}, '/schedule/partition: unknown key "partition"; known here: name, servers, colocated, server_s_per_B, duplex, pulls, in_flight, service, within_node, compression, interval'),
            ({"name": "bytescheduler", "credit": 0}, '/schedule/credit: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got 0'),
            ({"name": "bytescheduler", "partition": "big"}, '/schedule/partition: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got "big"'),
            ({"name": "bytescheduler", "rule": "fits", "credit": "1MB"}, '/schedule/credit: no part of "partition" bytes fits into the "credit"; give it more credit, make '
                                                                         'parts smaller, or use "rule": "positive"'),
            ({"name": "bytescheduler", "rule": "fits", "partition": "20MB"}, '/schedule/partition: no part of "partition" bytes fits into the "credit"; give it more credit, '
                                                                             'make parts smaller, or use "rule": "positive"'),
            ({"name": "bytescheduler", "servers": 2}, '/schedule/servers: there are no servers; leave it out, or use "over": "servers"'),
            ({"name": "bytescheduler", "colocated": True}, '/schedule/colocated: there are no servers; leave it out, or use "over": "servers"'),
            ({"name": "bytescheduler", "compression": {"name": "fp16", "pull": "compressed"}}, '/schedule/compression: nothing is pulled without servers; leave "pull" out, '
                                                                                               'or use "over": "servers"'),
            ({"name": "p3", "servers": 99}, '/schedule/servers: 99 servers for 4 nodes: with 4 the clients\' own links are the limit; use at most as many as nodes'),
            ({"name": "p3", "in_flight": "pipelined"}, '/schedule/in_flight: unknown key "in_flight"; known here: name, partition, servers, colocated, server_s_per_B, compression'),
            ({"name": "dear", "compression": "top-k"}, '/schedule/compression: dear reduce-scatters gradients, but messages of this compression cannot be summed part by part; use "fp16" or "random-k"'),
            ({"name": "fsdp", "stage": 1}, '/schedule/stage: expected an integer >= 2, got 1'),
            ({"name": "fsdp", "units": "layers"}, '/schedule/units: expected "layer", a number of layers without quotes, or bytes with their unit, such as "100MB", got "layers"'),
            ({"name": "fsdp", "units": "2"}, '/schedule/units: expected "layer", a number of layers without quotes, or bytes with their unit, such as "100MB", got "2"'),
            ({"name": "fsdp", "units": 25000000}, '/schedule/units: expected at most 1000000 layers, which a number counts, or bytes with their unit, such as "100MB", got 25000000'),
            ({"name": "fsdp", "units": 0}, '/schedule/units: expected an integer >= 1, got 0'),
            ({"name": "fsdp", "shard_group": 3}, '/schedule/shard_group: groups of 3 do not divide 4 workers; use a number that does, or "all"'),
            ({"name": "fsdp", "shard_group": "rack"}, '/schedule/shard_group: expected one of all, node, got "rack"'),
            ({"name": "fsdp", "compression": "fp16"}, '/schedule/compression: sharded schedules have no "compression"; use "parameter_bytes" and "reduce_bytes", '
                                                      'such as 0.5 for half of the trace\'s bytes'),
            ({"name": "fsdp", "parameter_bytes": 0}, '/schedule/parameter_bytes: expected a number > 0, got 0'),
            ({"name": "fsdp", "limit_all_gathers": 0}, '/schedule/limit_all_gathers: expected an integer >= 1, got 0'),
            ({"name": "zero", "stage": 4}, '/schedule/stage: expected an integer <= 3, got 4'),
            ({"name": "zero", "gather": "next-forward"}, '/schedule/gather: stage 3 gathers units when they are needed; leave it out, or use "stage": 2'),
            ({"name": "zero", "stage": 2, "prefetch": "pre"}, '/schedule/prefetch: parameters stay whole in stages 1 and 2; leave it out, or use "stage": 3'),
            ({"name": "diloco", "interval": 4, "fragments": 5}, '/schedule/fragments: 5 fragments are more than the 4 inner steps of a round, and each needs a step of its own; use at most 4, or a longer "interval"'),
            ({"name": "diloco", "interval": 7, "fragments": 2, "overlap": 4}, '/schedule/overlap: fragments take turns every 3 inner steps, but the outer step comes 4 steps after the snapshot; use at most 3, or fewer "fragments"'),
            ({"name": "diloco", "worker": "region"}, '/schedule/worker: the cluster has no "regions"; use "node" or "gpu"'),
            ({"name": "diloco", "worker": "rack"}, '/schedule/worker: expected one of gpu, node, region, got "rack"'),
            ({"name": "diloco", "bits": 33}, '/schedule/bits: expected an integer <= 32, got 33'),
            ({"name": "diloco", "mix": 1.5}, '/schedule/mix: expected a number <= 1, got 1.5'),
            ({"name": "diloco", "inner": "ps-sgd"}, '/schedule/inner: expected one of s-sgd, wfbp, sync-easgd, mg-wfbp, mg-wfbp-optimal, fusion, horovod, groups, got "ps-sgd"; did you mean "s-sgd"?'),
            ({"name": "diloco", "outer": "adam"}, '/schedule/outer: expected one of nesterov, momentum, sgd, got "adam"'),
            ({"name": "diloco", "outer": {"optimizer": "sgd", "lr": 1001}}, '/schedule/outer/lr: expected a number <= 1000, got 1001'),
            ({"name": "diloco", "outer": {"optimizer": "sgd", "momentum": 1.1}}, '/schedule/outer/momentum: expected a number <= 1, got 1.1'),
            ({"name": "diloco", "compression": "fp16"}, '/schedule/compression: unknown key "compression"; known here: name, interval, fragments, pattern, overlap, mix, bits, quantize_s_per_B, '
                                                        'worker, inner, outer, matchmaking_s, quorum, deadline_s, posts'),
            ({"name": "diloco", "quorum": 0}, '/schedule/quorum: expected a number > 0, got 0'),
            ({"name": "diloco", "deadline_s": 1}, '/schedule/deadline_s: with a "quorum" of 1 every averaging waits for all workers; use one below 1, or leave "deadline_s" out'),
            ({"name": "diloco", "quorum": 0.5, "deadline_s": -1}, '/schedule/deadline_s: expected a number >= 0, got -1'),
            ({"name": "diloco", "quorum": 0.5, "fragments": 2}, '/schedule/quorum: a late worker takes over the whole averaged model, so it must be one fragment; leave "fragments" out instead of 2'),
            ({"name": "diloco", "quorum": 0.5, "matchmaking_s": 1}, '/schedule/quorum: "matchmaking_s" cannot be combined with a "quorum" below 1; add it to "deadline_s" instead'),
            ({"name": "diloco", "quorum": 0.5, "posts": "layer"}, '/schedule/quorum: a late worker has missed the whole model, not single layers; use "posts": "fragment"'),
            ({"name": "ssgd"}, '/schedule/name: expected one of s-sgd, wfbp, sync-easgd, mg-wfbp, mg-wfbp-optimal, fusion, horovod, groups, ps-sgd, asgd, dc-asgd, ssd-sgd, downpour, eamsgd, dts, sasgd, local-sgd, lasgd, sgp, d-psgd, ad-psgd, bytescheduler, p3, dear, fsdp, zero, diloco, got "ssgd"; did you mean "s-sgd"?'),
        ]
        for schedule, message in table:
            with self.subTest(message):
                done = self.run_scenario(scenario(schedule=schedule))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))

    def test_what_does_not_suit_the_cluster(self):
        regions = cluster(regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}],
                          wan=[{"between": ["a", "b"], "rtt": "49ms", "bandwidth": "1Gbps"}])
        changing = json.loads(json.dumps(regions))
        changing["wan"][0]["bandwidth_profile"] = [{"at_s": 1, "bandwidth": "1Mbps"}]
        later = json.loads(json.dumps(regions))
        later["wan"][0]["rtt_profile"] = [{"at_s": 1, "rtt": 1}]
        fast = cluster(reduce_s_per_B=1e-6, fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"})
        table = [
            (regions, {"all_reduce": "binary-tree", "fidelity": "alpha-beta"},
             '/all_reduce: on regions alpha-beta fidelity supports only a ring; use "ring" instead of "binary-tree", or "per-message"'),
            (cluster(fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}), {"fidelity": "per-message"},
             "/fidelity: the cluster's fit measures whole all-reduces, not their messages; leave \"fit\" out or use \"alpha-beta\""),
            (changing, {"schedule": {"name": "lasgd", "tau_max": 2, "participants": 0.5}},
             '/schedule/participants: an all-reduce in which not all ranks take part cannot use links that change with time; leave "participants" out'),
            (cluster(fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}), {"all_reduce": {"name": "binary-tree", "chunk": 100}},
             "/all_reduce: the cluster's fit measures whole collectives, not chunks; leave \"chunk\" or \"fit\" out"),
            (cluster(topology="torus"), {"schedule": {"name": "asgd", "colocated": True}, "fidelity": "per-message"},
             '/fidelity: messages to parameter servers share links, which per-message simulates only on a star; use "flow" or "auto"'),
            (changing, {"fidelity": "per-message"}, '/fidelity: a link\'s "bandwidth_profile" or "rtt_profile" needs flows; use "flow" or "auto"'),
            (later, {"fidelity": "alpha-beta"}, '/fidelity: a link\'s "bandwidth_profile" or "rtt_profile" needs flows; use "flow" or "auto"'),
            (later, {"schedule": {"name": "lasgd", "tau_max": 2, "participants": 0.5}},
             '/schedule/participants: an all-reduce in which not all ranks take part cannot use links that change with time; leave "participants" out'),
            (regions, {"all_reduce": "in-network"}, '/all_reduce: "in-network": the cluster\'s regions have no switches in common; use "by-region"'),
            (cluster(fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}), {"all_reduce": "in-network"},
             '/all_reduce: "in-network": the cluster\'s "fit" measures another all-reduce; leave "fit" out, or use "ring"'),
            (cluster(protocol={"rendezvous": True}), {"all_reduce": "in-network"},
             '/all_reduce: "in-network": it has no messages, for which the cluster\'s "protocol" is; leave one of them out'),
            (cluster(node_links=[{"nodes": "1", "bandwidth_profile": [{"at_s": 1, "bandwidth": "1Gbps"}]}]), {"all_reduce": "in-network"},
             '/all_reduce: "in-network": it has a closed form, in which links do not change with time; use "ring"'),
            (cluster(), {"all_reduce": "in-network", "fidelity": "flow"},
             '/fidelity: an all-reduce "in-network" has a closed form, and no messages between ranks; use "alpha-beta" or "auto"'),
            (cluster(), {"all_reduce": {"name": "in-network", "chunk": 8}}, "/all_reduce/chunk: in-network has nothing to pipeline; leave \"chunk\" out, or use a tree, two-level or by-region"),
            (cluster(), {"all_reduce": {"name": "two-level", "inside": "in-network", "chunk": 8}}, '/all_reduce/chunk: sums in switches are not pipelined; leave "chunk" or "inside" out'),
            (cluster(), {"all_reduce": {"name": "two-level", "inside": "tree"}}, '/all_reduce/inside: expected one of ring, in-network, got "tree"'),
            (cluster(), {"all_reduce": {"name": "ring", "inside": "in-network"}}, '/all_reduce/inside: unknown key "inside"; known here: name, across, chunk'),
            (cluster(), {"all_reduce": {"name": "two-level", "inside": "in-network"}, "fidelity": "per-message"},
             '/fidelity: an all-reduce "two-level, inside in-network" has a closed form, and no messages between ranks; use "alpha-beta" or "auto"'),
            (cluster(), {"all_reduce": {"name": "two-level", "between": "in-network"}}, '/all_reduce/between: expected one of ring, binary-tree, recursive-doubling, halving-doubling, double-binary-tree, got "in-network"'),
            (cluster(), {"all_reduce": "by-region"}, '/all_reduce: the cluster has no regions; use "ring", or "two-level" for nodes of several GPUs'),
            (cluster(), {"all_reduce": {"name": "ring", "across": "nodse"}}, '/all_reduce/across: expected one of nodes, gpus, got "nodse"; did you mean "nodes"?'),
            (cluster(), {"all_reduce": {"name": "binary-tree", "across": "gpus"}},
             '/all_reduce/across: only a ring goes across all GPUs in one level; leave "across" out, or use "ring"'),
            (cluster(), {"all_reduce": {"name": "ring", "across": "gpus", "chunk": 8}},
             '/all_reduce/chunk: ring across gpus has nothing to pipeline; leave "chunk" out, or use a tree, two-level or by-region'),
            (cluster(protocol={"rendezvous": True}, gpus_per_node=2, intra_node=cluster()["link"]), {"all_reduce": {"name": "ring", "across": "gpus"}},
             '/all_reduce: a ring across GPUs also sends messages inside nodes, for which the cluster\'s "protocol" is not defined; leave one of them out'),
            (regions | {"gpus_per_node": 1024, "intra_node": cluster()["link"], "nodes": 6, "regions": [one | {"nodes": 3} for one in regions["regions"]]},
             {"all_reduce": {"name": "ring", "across": "gpus"}}, '/all_reduce: a ring through 6144 GPUs of regions takes too long to compute; use at most 4096, or two levels'),
            (cluster(protocol={"segments": 2}), {"fidelity": "alpha-beta"},
             '/fidelity: alpha-beta fidelity has no messages, for which the cluster\'s "protocol" is; use "per-message", "flow" or "auto"'),
            (cluster(), {"schedule": {"name": "asgd", "service": "fifo", "colocated": True}},
             '/schedule/service: "fifo" needs servers on nodes of their own; use "shared"'),
            (cluster(topology="fat-tree"), {"schedule": {"name": "asgd", "service": "queued"}}, '/schedule/service: "queued" needs a star; use "shared"'),
            (regions, {"schedule": {"name": "asgd", "service": "fifo"}}, '/schedule/service: "fifo" needs a star; use "shared"'),
            (cluster(link={"bandwidth": "1Gbps", "latency": "1ms", "tcp_window": 65536}), {"schedule": {"name": "ps-sgd", "service": "fifo"}},
             '/schedule/service: "fifo" needs links without "tcp_window", "latency_jitter" and "bandwidth_profile"; use "shared"'),
            (cluster(), {"schedule": {"name": "asgd", "service": "fifo"}, "fidelity": "flow"},
             '/fidelity: flows share links, but servers whose "service" is "fifo" or "queued" do not; use "per-message" or "auto"'),
            (regions, {"all_reduce": "by-region", "fidelity": "alpha-beta"},
             '/all_reduce: on regions alpha-beta fidelity supports only a ring; use "ring" instead of "by-region", or "per-message"'),
            (regions | {"fit": {"a_s": 1, "b_s_per_B": 1e-9, "nodes": 2, "algorithm": "ring"}}, {"all_reduce": "by-region"},
             '/all_reduce: the cluster\'s fit is of an all-reduce over all nodes; leave out "fit", or use "ring"'),
            (cluster(), {"schedule": {"name": "ps-sgd", "backup": 4}}, "/schedule/backup: a step needs a push of at least one of the 4 clients; use at most 3"),
            (cluster(), {"schedule": {"name": "ps-sgd", "backup": 1, "duplex": False}},
             '/schedule/backup: a late client pulls while it still pushes, which takes two channels; leave "duplex" or "backup" out'),
            (cluster(), {"schedule": {"name": "ps-sgd", "backup": 1, "pulls": "requested"}},
             '/schedule/backup: a late client pulls what it has not pushed, so that nothing is acknowledged; leave "pulls" or "backup" out'),
            (cluster(), {"schedule": {"name": "asgd", "in_flight": "pipelined", "duplex": False}},
             '/schedule/in_flight: "pipelined" messages do not take turns on one channel; leave "duplex" out, or use "serial"'),
            (cluster(gpus_per_node=2, intra_node=cluster()["link"]), {"schedule": {"name": "diloco", "worker": "node", "posts": "layer"}},
             '/schedule/posts: a worker of several GPUs all-reduces a layer\'s gradients before it updates the layer; use "fragment", or "worker": "gpu"'),
            (cluster(gpus_per_node=2, intra_node=cluster()["link"]), {"schedule": {"name": "downpour", "interval": 2, "in_flight": "pipelined", "within_node": "serial"}},
             '/schedule/in_flight: "pipelined" messages do not wait for their nodes in turns; leave "within_node" out, or use "serial"'),
            (regions, {"all_reduce": {"name": "by-region", "between": "by-region"}},
             '/all_reduce/between: expected the algorithm between the regions, such as "ring", got "by-region"'),
            (regions, {"all_reduce": {"name": "by-region", "between": "double-binary-tree"}},
             '/all_reduce/between: between regions the vector is sent as a whole, but double-binary-tree needs chunks; use "binary-tree"'),
            (cluster(), {"all_reduce": {"name": "two-level", "between": "by-region"}},
             '/all_reduce/between: expected the algorithm between the nodes, such as "ring", got "by-region"'),
            (regions, {"schedule": {"name": "asgd", "servers": {"count": 2, "region": "c"}}},
             '/schedule/servers/region: "c" is not one of the regions a, b'),
            (regions, {"schedule": {"name": "asgd", "servers": {"count": 3, "region": "a"}, "colocated": True}},
             '/schedule/servers/count: 3 servers on the 2 nodes of the region a; use at most as many as nodes, or leave out "colocated"'),
            (regions, {"schedule": {"name": "asgd", "servers": 5}},
             "/schedule/servers: 5 servers for 4 nodes: with 4 the clients' own links are the limit; use at most as many as nodes"),
            (cluster(), {"all_reduce": {"name": "two-level", "between": "two-level"}},
             '/all_reduce/between: expected the algorithm between the nodes, such as "ring", got "two-level"'),
            (cluster(), {"all_reduce": {"name": "two-level", "between": "rign"}},
             f'/all_reduce/between: expected one of {COLLECTIVES}, got "rign"; did you mean "ring"?'),
            (fast, {"schedule": {"name": "dts", "delay": 1, "compression": 0.1}},
             "/schedule/compression: the cluster's fit is faster than reduce_s_per_B allows, so no time is left for an all-gather; lower "
             'reduce_s_per_B or use "sparse": "all-reduce"'),
        ]
        for where, what, message in table:
            with self.subTest(message):
                self.write("cluster.json", where)
                done = self.run_scenario(scenario(**what))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))


    def test_servers_need_places_in_the_cluster(self):
        self.write("cluster.json", cluster(topology={"name": "torus", "dimensions": [2, 2]}))
        done = self.run_scenario(scenario(schedule={"name": "ps-sgd", "servers": 2}))
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: cluster.json: /topology: a torus of this size has 4 places for 4 nodes and 2 servers; "
                                                             'use "dimensions": [2, 3], or "colocated": true (named by scenario.json: /cluster)\n'))
        self.assertEqual(self.run_scenario(scenario(schedule={"name": "ps-sgd", "servers": 2, "colocated": True})).returncode, 0)

    def test_a_picture_of_a_cluster(self):
        self.write("cluster.json", cluster(nodes=513))
        done = self.simctl("show", "cluster.json", "--dot")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: cluster.json: /nodes: a picture of 513 nodes cannot be read; draw a smaller cluster of "
                                                             "the same shape, of at most 512\n"))
        done = self.simctl("show", "trace.json", "--dot")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: trace.json: /format: --dot draws clusters; leave it out\n"))


class BadWorkers(Case):
    def test_one_row_per_rule(self):
        table = [
            ({"jitter": {"distribution": "exponential", "cv": 1.5}},
             "/workers/jitter/cv: expected a coefficient of variation <= 1 for an exponential factor, whose least value is 1 - cv, got 1.5"),
            ({"jitter": {"distribution": "empirical"}}, '/workers/jitter: the required key "factors" is missing'),
            ({"jitter": {"distribution": "empirical", "factors": []}}, '/workers/jitter/factors: expected a list that is not empty, got []'),
            ({"jitter": {"distribution": "empirical", "factors": [1, 0]}}, '/workers/jitter/factors/1: expected a number > 0, got 0'),
            ({"jitter": {"distribution": "empirical", "factors": [1], "cv": 1}}, '/workers/jitter/cv: unknown key "cv"; known here: distribution, factors'),
            ({"events": [{"kind": "stop", "rank": 0, "at_s": 1, "for_s": 1}]}, '/workers/events/0/kind: expected one of pause, leave, join, got "stop"'),
            ({"events": [{"kind": "pause", "rank": 4, "at_s": 1, "for_s": 1}]}, '/workers/events/0/rank: expected an integer <= 3, got 4'),
            ({"events": [{"kind": "pause", "rank": 0, "at_s": -1, "for_s": 1}]}, '/workers/events/0/at_s: expected a number >= 0, got -1'),
            ({"events": [{"kind": "pause", "rank": 0, "at_s": 1, "for_s": 0}]}, '/workers/events/0/for_s: expected a number > 0, got 0'),
            ({"events": [{"kind": "pause"}]}, '/workers/events/0: the required key "rank" is missing'),
            ({"overlap_slowdown": -0.1}, '/workers/overlap_slowdown: expected a number >= 0, got -0.1'),
            ({"overlap_slowdown": {"factor": "x", "by": "traffic"}}, '/workers/overlap_slowdown/factor: expected a number >= 0, got "x"'),
            ({"overlap_slowdown": {"factor": 0.1}}, '/workers/overlap_slowdown: the required key "by" is missing'),
            ({"overlap_slowdown": {"factor": 0.1, "by": "bytes"}}, '/workers/overlap_slowdown/by: expected one of channel, traffic, got "bytes"'),
        ]
        for workers, message in table:
            with self.subTest(message):
                done = self.run_scenario(scenario(workers=workers))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))


class BadMembers(Case):
    def test_one_row_per_rule(self):
        away, back = {"kind": "leave", "rank": 3, "at_s": 5}, {"kind": "join", "rank": 3, "at_s": 9}
        advice = '; use asgd, dc-asgd, downpour, eamsgd, lasgd with "participants" below 1 or diloco whose workers are GPUs with a "quorum" below 1, or a "run" with a "policy"'
        asgd = {"name": "asgd"}
        table = [
            (asgd, [away, away | {"at_s": 7}], '/workers/events/1/at_s: rank 3 has left at 5 s; it must "join" before it leaves again'),
            (asgd, [away, back, back | {"at_s": 12}], '/workers/events/2/at_s: rank 3 has joined at 9 s; it must "leave" before it joins again'),
            (asgd, [away, back | {"at_s": 5}], "/workers/events/1/at_s: expected a time after the rank's previous event (5 s), got 5"),
            (asgd, [away | {"rank": 4}], "/workers/events/0/rank: expected an integer <= 3, got 4"),
            (asgd, [away | {"at_s": -1}], "/workers/events/0/at_s: expected a number >= 0, got -1"),
            (asgd, [away | {"for_s": 1}], '/workers/events/0/for_s: unknown key "for_s"; known here: kind, rank, at_s'),
            (asgd, [away | {"rank": rank} for rank in range(4)], "/workers/events: rank 0 must stay, because the measurement follows rank 0; let another rank leave"),
            *((schedule, [away], f"/workers/events: {schedule['name']} needs all of its ranks, so none may leave{advice}")
              for schedule in ({"name": "wfbp"}, {"name": "ps-sgd"}, {"name": "lasgd", "tau_max": 2}, {"name": "ad-psgd"}, {"name": "ssd-sgd", "delay": 2}, {"name": "diloco"})),
        ]
        for schedule, events, message in table:
            with self.subTest(message):
                done = self.run_scenario(scenario(schedule=schedule, workers={"events": events}, sweep={}))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: scenario.json: {message}\n"))


class BadCluster(Case):
    def test_one_row_per_rule(self):
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        fit = {"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}
        two = [{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}]
        wan = [{"between": ["a", "b"], "rtt": "49ms", "bandwidth": "1Gbps"}]
        up = {"uplink": {"bandwidth": "1Gbps"}}
        table = [
            (without(cluster(), "format"), '/: the required key "format" is missing'),
            (cluster(format="cluster/2"), '/format: expected "cluster/1", got "cluster/2"'),
            (without(cluster(), "nodes"), '/: the required key "nodes" is missing'),
            (without(cluster(), "link"), '/: the required key "link" is missing'),
            (cluster(nodes=0), "/nodes: expected an integer >= 1, got 0"),
            (cluster(nodes=-4), "/nodes: expected an integer >= 1, got -4"),
            (cluster(nodes=1e9), "/nodes: expected an integer <= 1048576, got 1000000000.0"),
            (cluster(nodes="4"), '/nodes: expected an integer >= 1, got "4"'),
            (cluster(node=4), '/node: unknown key "node"; did you mean "nodes"?'),
            (cluster(link={"bandwidth": 0, "latency": 0}), f"/link/bandwidth: {BANDWIDTH}, got 0"),
            (cluster(link={"bandwidth": 1e-300, "latency": 0}), f"/link/bandwidth: {BANDWIDTH}, got 1e-300"),
            (cluster(link={"bandwidth": 5e-324, "latency": 0}), f"/link/bandwidth: {BANDWIDTH}, got 5e-324"),
            (cluster(link={"bandwidth": "1e-9Gbps", "latency": 0}), f'/link/bandwidth: {BANDWIDTH}, got "1e-9Gbps"'),
            (cluster(link={"bandwidth": "10Gb", "latency": 0}), f'/link/bandwidth: {BANDWIDTH}, got "10Gb"'),
            (cluster(link={"bandwidth": 1e300, "latency": 0}), f"/link/bandwidth: {BANDWIDTH}, got 1e+300"),
            (cluster(link={"latency": 0}), '/link: the required key "bandwidth" is missing'),
            (cluster(link={"bandwidth": 1, "latency": -1}), f"/link/latency: {LATENCY}, got -1"),
            (cluster(link={"bandwidth": 1, "latency": "2 days"}), f'/link/latency: {LATENCY}, got "2 days"'),
            (cluster(link={"bandwidth": 1, "latency": "90000s"}), f'/link/latency: {LATENCY}, got "90000s"'),
            (cluster(link=link | {"mtu": 1500}), '/link/mtu: unknown key "mtu"; known here: bandwidth, latency, tcp_window, connections, latency_jitter, kind, efficiency'),
            (cluster(link=link | {"connections": 0}), "/link/connections: expected an integer >= 1, got 0"),
            (cluster(regions=two, wan=[wan[0] | {"connections": 1025}]), "/wan/0/connections: expected an integer <= 1024, got 1025"),
            (cluster(link=link | {"efficiency": 0}), "/link/efficiency: expected a number >= 1e-06, got 0"),
            (cluster(link=link | {"efficiency": 1e-300}), "/link/efficiency: expected a number >= 1e-06, got 1e-300"),
            (cluster(link=link | {"efficiency": 1.5}), "/link/efficiency: expected a number <= 1, got 1.5"),
            (cluster(regions=two, wan=[wan[0] | {"efficiency": -1}]), "/wan/0/efficiency: expected a number >= 1e-06, got -1"),
            (cluster(reduce_s_per_B=-1), "/reduce_s_per_B: expected a number >= 0, got -1"),
            (cluster(topology="stars"), '/topology: expected one of star, fat-tree, tree, torus, dragonfly, got "stars"; did you mean "star"?'),
            (cluster(topology={"name": "star", "k": 4}), '/topology/k: unknown key "k"; known here: name'),
            (cluster(nodes=20, topology={"name": "torus", "dimensions": [4, 4]}),
             '/topology: a torus of this size has places for 16 nodes, but the cluster has 20; use "dimensions": [4, 5]'),
            (cluster(topology={"name": "torus", "dimensions": [4]}), "/topology/dimensions: expected two or three dimensions, such as [4, 4], got [4]"),
            (cluster(topology={"name": "torus", "dimensions": [4, 1]}), "/topology/dimensions/1: expected an integer >= 2, got 1"),
            (cluster(topology={"name": "torus", "dimensions": [65536, 65536]}),
             "/topology/dimensions: a torus of 65536 x 65536 has 4294967296 places; at most 65536 can be simulated"),
            (cluster(nodes=20, topology={"name": "fat-tree", "k": 4}),
             '/topology: a fat-tree of this size has places for 16 nodes, but the cluster has 20; use "k": 6'),
            (cluster(topology={"name": "fat-tree", "k": 5}), "/topology/k: half of a switch's ports go up, so k must be even; use 4 or 6"),
            (cluster(topology={"name": "fat-tree", "k": 1}), "/topology/k: expected an integer >= 2, got 1"),
            (cluster(topology={"name": "fat-tree", "k": 6, "oversubscription": 2}),
             '/topology/k: an edge switch of 6 ports has 3 nodes, which is not a multiple of "oversubscription" 2; use "k": 8'),
            (cluster(topology={"name": "fat-tree", "oversubscription": 0}), "/topology/oversubscription: expected an integer >= 1, got 0"),
            (cluster(topology={"name": "tree", "arity": 1}), "/topology/arity: expected an integer >= 2, got 1"),
            (cluster(topology={"name": "tree", "levels": 0}), "/topology/levels: expected an integer >= 1, got 0"),
            (cluster(nodes=20, topology={"name": "tree", "levels": 4}), '/topology: a tree of this size has places for 16 nodes, but the cluster has 20; use "levels": 5'),
            (cluster(topology={"name": "tree", "arity": 1000, "levels": 3}), "/topology/levels: a tree with 3 levels of arity 1000 has more than 1048576 places, the most that can be simulated; use fewer"),
            (cluster(topology={"name": "fat-tree", "kk": 4}), '/topology/kk: unknown key "kk"; did you mean "k"?'),
            (cluster(topology="dragonfly"), '/topology: a dragonfly needs its sizes, such as {"name": "dragonfly", "groups": 3, "chassis": 4, '
                                            '"routers": 4, "nodes": 2}'),
            (cluster(topology={"name": "dragonfly", "groups": 3, "chassis": 2, "routers": 2, "nodes": 2}),
             "/topology/groups: the link to group g is at router g of a chassis, so there are at most as many groups as routers in a chassis, not 3 and 2; use \"groups\": 2 or \"routers\": 3"),
            (cluster(nodes=40, topology={"name": "dragonfly", "groups": 2, "chassis": 2, "routers": 4, "nodes": 2}),
             '/topology: a dragonfly of this size has places for 32 nodes, but the cluster has 40; use "nodes": 3'),
            (cluster(topology={"name": "dragonfly", "groups": 256, "chassis": 256, "routers": 256, "nodes": 1}),
             "/topology: a dragonfly of 256 x 256 x 256 x 1 has 16777216 places; at most 65536 can be simulated"),
            (cluster(topology={"name": "dragonfly", "groups": 2, "chassis": 2, "routers": 4}), '/topology: the required key "nodes" is missing'),
            (cluster(regions=two, wan=wan, topology="torus"),
             '/topology: a cluster with regions has no topology (the nodes of each region form a star); leave out "torus"'),
            (cluster(nics=0), "/nics: expected an integer >= 1, got 0"),
            (cluster(nics=65), "/nics: expected an integer <= 64, got 65"),
            (cluster(placement="randomly"), '/placement: expected one of linear, by-region, nearest, random, got "randomly"; did you mean "random"?'),
            (cluster(placement={"name": "random", "seed": -1}), "/placement/seed: expected an integer >= 0, got -1"),
            (cluster(placement="by-region"), '/placement: "by-region" needs regions, which the cluster does not have; use "linear" or "random"'),
            (cluster(regions=two, wan=[wan[0] | {"tcp_window": 0}]), '/wan/0/tcp_window: expected a whole number of bytes from 1 to 1e15 or a string such as '
                                                                     '"25MB" or "1MiB", got 0'),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth": {"up": 1}}]), '/wan/0/bandwidth: the required key "down" is missing'),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth": {"up": 1, "down": 0}}]), f"/wan/0/bandwidth/down: {BANDWIDTH}, got 0"),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth": {"up": 1, "down": 1, "both": 1}}]), '/wan/0/bandwidth/both: unknown key "both"; known here: up, down'),
            (cluster(link={"bandwidth": 1, "latency": 0, "tcp_window": -1}), '/link/tcp_window: expected a whole number of bytes from 1 to 1e15 or a string such as "25MB" or "1MiB", got -1'),
            (cluster(fit=[]), "/fit: expected a list that is not empty, got []"),
            (cluster(fit=[fit, fit]), "/fit/1: the list already has a fit of all-reduces over 8 ranks; keep one"),
            (cluster(fit=[fit, fit | {"operation": "all-reduce"}]), "/fit/1/operation: the list already has a fit of all-reduces over 8 ranks; keep one"),
            (cluster(fit=[fit, fit | {"operation": "alltoall"}]), '/fit/1/operation: expected one of all-reduce, reduce-scatter, all-gather, broadcast, got "alltoall"'),
            (cluster(host=3), "/host: expected an object, got 3"),
            (cluster(host={"per_message_s": -1}), "/host/per_message_s: expected a number >= 0, got -1"),
            (cluster(protocol={"segments": 0}), '/protocol/segments: expected an integer >= 1, got 0'),
            (cluster(protocol={"segments": 65}), '/protocol/segments: expected an integer <= 64, got 65'),
            (cluster(protocol={"rendezvous": 1}), '/protocol/rendezvous: expected true or false, got 1'),
            (cluster(protocol="gloo"), '/protocol: expected an object, got "gloo"'),
            (cluster(protocol={"window": 2}), '/protocol/window: unknown key "window"; known here: rendezvous, segments'),
            (cluster(protocol={"segments": 2}, fit=fit), '/protocol: a "protocol" describes single messages, but a "fit" measures whole collectives; leave one of them out'),
            (cluster(host={"per_collective_s": "1ms"}), '/host/per_collective_s: expected a number >= 0, got "1ms"'),
            (cluster(host={"per_message": 1}), '/host/per_message: unknown key "per_message"; did you mean "per_message_s"?'),
            (cluster(fit={"points": [[1000, 0.1]], "nodes": 8, "algorithm": "ring"}), "/fit/points: expected at least two points, got [[1000,0.1]]"),
            (cluster(fit={"points": [[1000, 0.1], [1000, 0.2]], "nodes": 8, "algorithm": "ring"}),
             "/fit/points/1/0: expected more bytes than in the point before (1000), got 1000"),
            (cluster(fit={"points": [[1000, 0.1], [2000, 0.05]], "nodes": 8, "algorithm": "ring"}),
             "/fit/points/1/1: expected at least the time of the point before (0.1 s): more bytes do not take less time, got 0.05"),
            (cluster(fit={"points": [[1000, 0], [2000, 0.05]], "nodes": 8, "algorithm": "ring"}), "/fit/points/0/1: expected a number > 0, got 0"),
            (cluster(fit={"points": [[1000, 0.1, 2], [2000, 0.05]], "nodes": 8, "algorithm": "ring"}),
             "/fit/points/0: expected two numbers, bytes and seconds, got [1000,0.1,2]"),
            (cluster(fit={"points": [[1000, 0.1], [2000, 0.2]], "a_s": 1, "nodes": 8, "algorithm": "ring"}),
             '/fit/a_s: unknown key "a_s"; known here: operation, points, queued, two_at_once, nodes, algorithm, measured_at'),
            (cluster(regions=two, wan=[wan[0] | {"rtt_profile": []}]), "/wan/0/rtt_profile: expected a list that is not empty, got []"),
            (cluster(regions=two, wan=[wan[0] | {"rtt_profile": [{"at_s": 1, "rtt": -1}]}]), f"/wan/0/rtt_profile/0/rtt: {LATENCY}, got -1"),
            (cluster(regions=two, wan=[wan[0] | {"rtt_profile": [{"at_s": 1, "bandwidth": 1}]}]), '/wan/0/rtt_profile/0: the required key "rtt" is missing'),
            (cluster(regions=two, wan=[wan[0] | {"rtt_profile": [{"at_s": 1, "rtt": 1}, {"at_s": 0.5, "rtt": 1}]}]),
             "/wan/0/rtt_profile/1/at_s: expected a time after the previous change (1 s), got 0.5"),
            (cluster(regions=two, wan=[wan[0] | {"latency_jitter": 0.1}]), "/wan/0/latency_jitter: expected an object, got 0.1"),
            (cluster(link=link | {"latency_jitter": {"distribution": "normal", "cv": 1}}),
             '/link/latency_jitter/distribution: expected one of lognormal, uniform, exponential, empirical, got "normal"'),
            (cluster(link=link | {"latency_jitter": {"distribution": "lognormal", "cv": -1}}), "/link/latency_jitter/cv: expected a number >= 0, got -1"),
            (cluster(link=link | {"latency_jitter": {"distribution": "uniform", "cv": 0.6}}),
             "/link/latency_jitter/cv: expected a coefficient of variation < 0.577 (1/sqrt 3) for a uniform factor, which must stay positive, got 0.6"),
            (cluster(link=link | {"latency_jitter": {"distribution": "empirical", "factors": []}}),
             "/link/latency_jitter/factors: expected a list that is not empty, got []"),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth_profile": []}]), "/wan/0/bandwidth_profile: expected a list that is not empty, got []"),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth_profile": [{"at_s": 1, "bandwidth": 0}]}]),
             "/wan/0/bandwidth_profile: the last bandwidth is 0, so that what is on its way never arrives; add the time at which the outage ends"),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth_profile": [{"at_s": 1, "bandwidth": -1}]}]),
             f"/wan/0/bandwidth_profile/0/bandwidth: {BANDWIDTH}, got -1"),
            (cluster(regions=two, wan=[wan[0] | {"bandwidth_profile": [{"at_s": 1, "bandwidth": 1}, {"at_s": 1, "bandwidth": 2}]}]),
             "/wan/0/bandwidth_profile/1/at_s: expected a time after the previous change (1 s), got 1"),
            (cluster(gpus_per_node=8), '/gpus_per_node: nodes with several GPUs need a link between the GPUs; add "intra_node": {"bandwidth": "12GBps", "latency": "5us"}'),
            (cluster(gpus_per_node=0), '/gpus_per_node: expected an integer >= 1, got 0'),
            (cluster(gpus_per_node=2,intra_node={"bandwidth":1}), '/intra_node: the required key "latency" is missing'),
            (cluster(wan=[]), '/wan: links between regions need "regions": [{"name": ..., "nodes": ...}, ...]'),
            (cluster(regions=two), '/regions: regions need a link between every two of them; add "wan": [{"between": [..., ...], "rtt": "49ms", "bandwidth": "1Gbps"}]'),
            (cluster(regions=two, wan=[]), '/wan: expected a list that is not empty, got []'),
            (cluster(regions=two[:1],wan=wan), '/regions: expected a list of 2 to 256 regions, got [{"name":"a","nodes":2}]'),
            (cluster(regions=two, wan=wan+wan), '/wan/1/between: a and b already have a link; keep one'),
            (cluster(regions=two, wan=[{"between":["a","c"],"rtt":0,"bandwidth":1}]), '/wan/0/between/1: "c" is not one of the regions a, b'),
            (cluster(regions=[two[0] | {"uplink": "1Gbps"}, two[1]], wan=wan), '/regions/0/uplink: expected an object, got "1Gbps"'),
            (cluster(regions=[two[0] | {"uplink": {}}, two[1]], wan=wan), '/regions/0/uplink: the required key "bandwidth" is missing'),
            (cluster(regions=[two[0] | {"uplink": {"bandwidth": 1, "latency": 1}}, two[1]], wan=wan), '/regions/0/uplink/latency: unknown key "latency"; known here: bandwidth, efficiency'),
            (cluster(regions=[two[0] | {"node_uplink": {"bandwidth": {"up": 1}}}, two[1]], wan=wan), '/regions/0/node_uplink/bandwidth: the required key "down" is missing'),
            (cluster(regions=[two[0] | {"node_uplink": {"bandwidth": 0}}, two[1]], wan=wan), f"/regions/0/node_uplink/bandwidth: {BANDWIDTH}, got 0"),
            (cluster(regions=[two[0] | {"nodeuplink": {"bandwidth": 1}}, two[1]], wan=wan), '/regions/0/nodeuplink: unknown key "nodeuplink"; did you mean "node_uplink"?'),
            (cluster(regions=[two[0] | up, two[1]], wan=[without(wan[0], "bandwidth")]), '/wan/0: the required key "bandwidth" is missing'),
            (cluster(regions=[two[0] | up, two[1] | up], wan=[without(wan[0], "bandwidth") | {"efficiency": 0.5}]),
             """/wan/0/efficiency: the link has no "bandwidth" of its own; add one"""),
            (cluster(regions=[two[0] | up, two[1] | up], wan=[without(wan[0], "bandwidth") | {"bandwidth_profile": [{"at_s": 1, "bandwidth": 1}]}]),
             """/wan/0/bandwidth_profile: the link has no "bandwidth" of its own; add one"""),
            (cluster(regions=[two[0] | up, two[1] | up], wan=[without(wan[0], "bandwidth") | {"via": "object-storage"}]),
             """/wan/0/via: the link has no "bandwidth" of its own; add one"""),
            (cluster(regions=two, wan=[wan[0] | {"via": "bucket"}]), '/wan/0/via: expected one of object-storage, got "bucket"'),
            (cluster(regions=two, wan=[wan[0] | {"via": {"download": 1}}]), '/wan/0/via: the required key "name" is missing'),
            (cluster(regions=two, wan=[wan[0] | {"via": {"name": "object-storage", "download": 0}}]), f"/wan/0/via/download: {BANDWIDTH}, got 0"),
            *((cluster(regions=two, wan=[wan[0] | {"via": "object-storage", key: value}]), f'/wan/0/{key}: a transfer by object storage has no "{key}"; leave it or "via" out')
              for key, value in (("tcp_window", 1000), ("connections", 2), ("bandwidth_profile", [{"at_s": 1, "bandwidth": 1}]))),
            (cluster(regions=two, wan=[{"between":["a"],"rtt":0,"bandwidth":1}]), '/wan/0/between: expected two names of regions, got ["a"]'),
            (cluster(regions=two, wan=[{"between":["a","a"],"rtt":0,"bandwidth":1}]), '/wan/0/between: expected two different regions, got ["a","a"]'),
            (cluster(regions=two+[{"name":"c","nodes":1}],wan=wan, nodes=5), '/wan: no link between the regions a and c; add {"between": ["a", "c"], "rtt": ..., "bandwidth": ...}'),
            (cluster(regions=two, wan=wan, nodes=5), '/regions: the regions have 4 nodes in total, but the cluster has 5; leave out the regions\' "nodes" to spread them evenly, or give each a "share"'),
            (without(cluster(regions=two, wan=wan), "link"), '/regions: a region with several nodes needs a "link" between its nodes; add it to the cluster'),
            (cluster(regions=[two[0],two[0]],wan=wan), '/regions/1/name: there are two regions "a"; rename one'),
            (cluster(regions=[{"name":"a","nodes":0},two[1]],wan=wan), '/regions/0/nodes: expected an integer >= 1, got 0'),
            (cluster(latency_cv=-1), '/latency_cv: expected a number >= 0, got -1'),
            (cluster(latency_cv=101), '/latency_cv: expected a number <= 100, got 101'),
            (cluster(gpus_per_node=1024,intra_node=link,nodes=65536), '/gpus_per_node: 65536 nodes of 1024 GPUs are more than 8388608 workers; use fewer'),
            (cluster(fit=fit | {"nodes": 1}), "/fit/nodes: expected an integer >= 2, got 1"),
            (cluster(fit=fit | {"a_s": -1}), "/fit/a_s: expected a number >= 0, got -1"),
            (cluster(fit=fit | {"algorithm": "rign"}), f'/fit/algorithm: expected one of {COLLECTIVES}, got "rign"; did you mean "ring"?'),
            (cluster(fit=without(fit, "algorithm")), '/fit: the required key "algorithm" is missing'),
        ]
        for content, message in table:
            with self.subTest(message):
                self.write("cluster.json", content)
                done = self.run_scenario(scenario())
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: cluster.json: {message} (named by scenario.json: /cluster)\n"))
                if "format" in message:
                    continue  # without it, show cannot know what the file is
                self.assertEqual(self.simctl("show", "cluster.json").stderr, f"simctl: cluster.json: {message}\n")

    def test_a_fit_that_cannot_be_carried(self):
        self.write("cluster.json", cluster(reduce_s_per_B=1e-6, fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}))
        done = self.run_scenario(scenario(all_reduce="binary-tree"))
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: cluster.json: /fit: a fit of ring that is faster than reduce_s_per_B allows cannot be converted to binary-tree; lower reduce_s_per_B or use \"all_reduce\": \"ring\" (named by scenario.json: /cluster)\n"))
        self.assertEqual(self.run_scenario(scenario()).returncode, 0)
        shown = self.simctl("show", "cluster.json")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("\nring ", shown.stdout)
        self.assertNotIn("binary-tree", shown.stdout)


class BadTrace(Case):
    """Its rules are tested one by one in tests/unit/test_trace.cpp."""

    def test_the_file_is_named(self):
        self.write("trace.json", trace(layers=[]))
        done = self.run_scenario(scenario())
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: trace.json: /layers: expected a list that is not empty, got [] (named by scenario.json: /trace)\n"))
        self.write("trace.json", '{"format":')
        done = self.run_scenario(scenario())
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stderr.startswith("simctl: trace.json: not valid JSON at line 1, column 11: unexpected end of input"), done.stderr)

    def test_a_swept_value_in_a_trace_is_named_by_the_scenario(self):
        done = self.run_scenario(scenario(sweep={"/trace/model/batch": [4, 0]}))
        self.assertEqual(done.stderr, "simctl: scenario.json: /trace/model/batch: expected an integer >= 1, got 0 (in point 1: /trace/model/batch=0)\n")


if __name__ == "__main__":
    unittest.main()
