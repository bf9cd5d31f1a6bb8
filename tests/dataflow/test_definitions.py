"""Is what a record has a replay compute what its schedule is defined to do? Every model at which a gradient is taken, and every one that
is evaluated, beside a plain loop."""

import unittest

import definitions
import toy
from draws import OPTIMIZERS
from recording import QUICK, SLOW, Recorded, trace
from support import cluster, scenario

SIZES = [1, 2, 3, 5, 8]
UNEQUAL = {"jitter": {"distribution": "lognormal", "cv": 0.3}, "slow": [{"ranks": "0", "factor": 1.5}]}
FUSION = {"name": "fusion", "first_bucket": "800kB", "bucket": "2MB"}
WAYS = ["fp16", "sign", "terngrad", {"name": "qsgd", "bits": 3}, {"name": "top-k", "ratio": 0.2}, {"name": "random-k", "ratio": 0.3}]

ALL_REDUCE = [{"name": "s-sgd"}, {"name": "wfbp"}, {"name": "sync-easgd"}, {"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}, FUSION,
              {"name": "horovod", "cycle_s": 0.003}, {"name": "wfbp", "accumulate": 3}, {**FUSION, "accumulate": 2}]
PS = [{"name": "ps-sgd"}, {"name": "ps-sgd", "grouping": FUSION, "servers": 1, "duplex": False}, {"name": "ps-sgd", "partition": "600kB"}]
SSD = [{"name": "ssd-sgd", "delay": 1}, {"name": "ssd-sgd", "delay": 2, "grouping": "sync-easgd"}, {"name": "ssd-sgd", "delay": 4, "warmup_iterations": 3},
       {"name": "ssd-sgd", "delay": 3, "grouping": FUSION, "warmup_iterations": 1}, {"name": "ssd-sgd", "delay": 2, "local_update": "sgd"},
       {"name": "ssd-sgd", "delay": 3, "local_update": "dc-asgd", "warmup_iterations": 1}]
DTS = [{"name": "dts", "delay": delay, "period": period} for delay, period in [(0, 1), (0, 3), (1, 1), (4, 2), (3, 3), (1, 4)]]
DTS += [{"name": "dts", "delay": 2, "period": 2, "launch": "gradient"}, {"name": "dts", "delay": 3, "in_flight": "serial", "overhead_s": 0.001}]
DILOCO = [{"name": "diloco", "interval": interval, "fragments": fragments, "overlap": overlap, **changes} for interval, fragments, overlap, changes in (
    (1, 1, 0, {}), (1, 1, 1, {"mix": 0.3}), (4, 1, 0, {"outer": "sgd"}), (4, 1, 4, {}), (3, 2, 1, {"mix": 0.5, "outer": {"optimizer": "momentum", "lr": 0.4}}), (4, 2, 2, {"posts": "layer"}),
    (5, 3, 0, {"pattern": "sequential", "outer": {"momentum": 0.3}}), (4, 4, 1, {"bits": 32, "outer": {"lr": 1, "momentum": 0}}))]
ISLANDS = [{"name": "diloco", "interval": interval, "fragments": fragments, "overlap": overlap, "worker": "node", "inner": inner} for interval, fragments, overlap, inner in (
    (2, 1, 0, "wfbp"), (3, 1, 3, "sync-easgd"), (3, 2, 1, {"name": "fusion", "first_bucket": "800kB", "bucket": "2MB"}))]
LOCAL = [{"name": "sasgd", "interval": 1}, {"name": "sasgd", "interval": 3}, {"name": "local-sgd", "interval": 1}, {"name": "local-sgd", "interval": 4},
         {"name": "lasgd", "tau_max": 1}, {"name": "lasgd", "tau_max": 1, "worker": "gpu"}]
NEIGHBOURS = [{"name": "sgp"}, {"name": "sgp", "within_node": "blocking"}, {"name": "d-psgd"}]
BEYOND = [{"name": "bytescheduler", "partition": "500kB", "credit": "1MB"}, {"name": "bytescheduler", "forward": "barrier", "partition": "1MB", "priority": "fifo"},
          {"name": "bytescheduler", "over": "servers", "servers": 1, "partition": "700kB"}, {"name": "p3"}, {"name": "dear", "bucket": "1MB"}, {"name": "dear"},
          {"name": "fsdp", "units": "layer"}, {"name": "fsdp", "accumulate": 3, "streams": 2, "prefetch": "none"}, {"name": "fsdp", "stage": 2, "units": 2},
          {"name": "fsdp", "shard_group": "node"}, {"name": "fsdp", "shard_group": 1, "units": 1}, {"name": "zero", "stage": 1, "units": "layer"},
          {"name": "zero", "stage": 2, "gather": "next-forward", "accumulate": 2}, {"name": "zero", "reshard_last": True}]
SCHEDULES = [*ALL_REDUCE, *BEYOND, *PS, *SSD, *DTS, *LOCAL, *DILOCO, *NEIGHBOURS]

COMPRESSED = [{**schedule, "compression": way} for schedule in (
    {"name": "wfbp"}, {"name": "sync-easgd"}, {**FUSION, "accumulate": 2}, {"name": "mg-wfbp"}, {"name": "ps-sgd"}, {"name": "ps-sgd", "grouping": FUSION},
    {"name": "ssd-sgd", "delay": 2, "warmup_iterations": 1, "grouping": FUSION}, {"name": "dts", "delay": 3, "period": 2},
    {"name": "bytescheduler", "partition": "800kB"}, {"name": "p3", "partition": "900kB"},
    {"name": "dts", "delay": 1, "period": 1, "launch": "gradient"}, {"name": "sasgd", "interval": 2}, {"name": "local-sgd", "interval": 2}) for way in WAYS]
COMPRESSED += [{"name": "dear", "bucket": "1MB", "compression": way} for way in ("fp16", {"name": "random-k", "ratio": 0.3})]
COMPRESSED += [{"name": "dts", "delay": 2, "period": 2, "compression": 0.2}, {"name": "ps-sgd", "compression": "none"}]


class Definitions(Recorded):
    def agree(self, schedules, *arguments, nodes=SIZES, workers=({}, UNEQUAL), **more):
        """Every other size with each of `workers`, all sizes with all of them in the slow form. Their order does not change what is defined."""
        schedules = schedules[::5] if QUICK else schedules
        if SLOW:
            self.agree_on(schedules, nodes, workers, *arguments, **more)
            return
        for place, some in enumerate(workers):
            if nodes[place::len(workers)]:
                self.agree_on(schedules, nodes[place::len(workers)], [some], *arguments, **more)

    def agree_on(self, schedules, nodes, workers, *arguments, steps=14, tolerance=1e-12, **changes):
        content = scenario(trace=trace(), cluster=cluster(link={"bandwidth": "3Gbps", "latency": "1ms"}), iterations={"warmup": 2, "measured": steps},
                           sweep={"/schedule": schedules, "/cluster/nodes": list(nodes), "/workers": list(workers)}, schedule=schedules[0])
        for key, value in changes.items():
            content[key] = content[key] | value if isinstance(value, dict) else value
        records = self.run_recorded(content, *arguments)
        self.assertEqual(len(records), len(schedules) * len(nodes) * len(workers))
        wrong = []
        for point, record in records.items():
            schedule = record.header["labels"]["/schedule"]
            try:
                self.assert_agrees(record, self.define(record, schedule, cluster=content["cluster"]), tolerance)
            except (AssertionError, KeyError, ValueError) as error:
                wrong.append(f"point {point}, {record.header['labels']}: {type(error).__name__} {str(error)[:200]}")
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} of {len(records)} differ, the first:", *wrong[:20]]))

    def test_gradient_descent(self):
        self.agree(SCHEDULES)

    def test_optimisers(self):
        for optimizer in OPTIMIZERS[1:]:
            with self.subTest(optimizer):
                self.agree(SCHEDULES, "--optimizer", optimizer, nodes=[1, 3], workers=[UNEQUAL])

    def test_compression(self):
        self.agree(COMPRESSED, nodes=[1, 3, 4])

    def test_compression_with_momentum(self):
        self.agree(COMPRESSED, "--optimizer", "momentum", nodes=[3], workers=[UNEQUAL])

    def test_nodes_of_several_gpus(self):
        """A worker is a node where GPUs act as one, else a GPU."""
        self.agree(SCHEDULES, nodes=[1, 3], cluster={"gpus_per_node": 2, "intra_node": {"bandwidth": "10GBps", "latency": "5us"}})

    def test_islands(self):
        """Whose GPUs share a model."""
        self.agree(ISLANDS, nodes=[1, 3], cluster={"gpus_per_node": 2, "intra_node": {"bandwidth": "10GBps", "latency": "5us"}})
        regions = {"regions": [{"name": "a", "nodes": 3}, {"name": "b", "nodes": 1}], "wan": [{"between": ["a", "b"], "rtt": "9ms", "bandwidth": "1Gbps"}]}
        self.agree([schedule | {"worker": "region"} for schedule in ISLANDS], nodes=[4], cluster=regions)

    def test_other_fidelities(self):
        for fidelity in ("alpha-beta", "per-message", "flow"):
            with self.subTest(fidelity):
                self.agree(SCHEDULES, nodes=[4], workers=[UNEQUAL], steps=6, fidelity=fidelity)

    def test_backup(self):
        """As the first three clients would train by themselves, where the fourth comes too late for all."""
        slow = {"slow": [{"ranks": "1", "factor": 1.2}, {"ranks": "3", "factor": 100}]}
        for schedule in ({"name": "ps-sgd"}, {"name": "ps-sgd", "grouping": FUSION}, {"name": "ps-sgd", "grouping": "sync-easgd"}):
            for optimizer in ("sgd", "adam"):
                content = scenario(trace=trace(), cluster=cluster(nodes=4), schedule=schedule | {"backup": 1}, workers=slow, sweep={}, iterations={"warmup": 1, "measured": 6})
                record = self.run_recorded(content, "--optimizer", optimizer)[0]
                steps = 1 + max(line["k"] for line in record.lines if line["o"] == "G")
                three = definitions.define(self.problem, {"name": "ps-sgd"}, 3, steps, optimizer, toy.HYPER, toy.cuts(record.header["parts"], self.problem.size), None)
                self.assert_agrees(record, three)

    def test_one_client(self):
        """Of servers that wait for nobody."""
        schedules = [{"name": "asgd"}, {"name": "asgd", "grouping": FUSION, "servers": 1}, {"name": "asgd", "partition": "700kB"}, {"name": "dc-asgd"}, {"name": "downpour", "interval": 1},
                     {"name": "downpour", "interval": 3}, {"name": "eamsgd", "interval": 1}, {"name": "eamsgd", "interval": 4}]
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer):
                self.agree(schedules, "--optimizer", optimizer, nodes=[1])
        self.agree([schedule | {"compression": way} for schedule in schedules for way in WAYS], nodes=[1], workers=[{}])


class Headers(Recorded):
    def headers(self, schedules, *arguments, **changes):
        content = scenario(trace=trace(), sweep={"/schedule": schedules}, schedule=schedules[0], **changes)
        return [record.header for record in self.run_recorded(content, *arguments).values()]

    def test_workers_and_samples(self):
        nodes = {"cluster": cluster(nodes=3, gpus_per_node=2, intra_node={"bandwidth": "10GBps", "latency": "5us"})}
        gpus = ["wfbp", "s-sgd", "fusion", "mg-wfbp", {"name": "dts", "delay": 1}, {"name": "sasgd", "interval": 2}, {"name": "local-sgd", "interval": 2},
                {"name": "lasgd", "tau_max": 2, "worker": "gpu"}]
        whole = ["ps-sgd", "asgd", "dc-asgd", {"name": "ssd-sgd", "delay": 2}, {"name": "downpour", "interval": 2}, {"name": "eamsgd", "interval": 2},
                 {"name": "lasgd", "tau_max": 2}, "sgp", "d-psgd", "ad-psgd"]
        for names, right in ((gpus, (6, 4)), (whole, (3, 8))):
            schedules = [{"name": name} if isinstance(name, str) else name for name in names]
            for schedule, header in zip(schedules, self.headers(schedules, **nodes), strict=True):
                self.assertEqual((header["workers"], header["samples"]), right, schedule)
                self.assertEqual((header["schedule"], header["optimizer"]), (schedule["name"], "sgd"))
                self.assertEqual(header["labels"], {"/schedule": schedule})

    def test_parts(self):
        """One but where groups move by themselves; their bytes are the model's, in the order of readiness."""
        sizes = [2_100_000, 900_000, 1_300_000, 700_000]
        top = {"compression": "top-k"}
        table = [({"name": "wfbp"}, [sum(sizes)]), ({"name": "wfbp", **top}, sizes), ({"name": "s-sgd", **top}, sizes), ({"name": "sync-easgd", **top}, [sum(sizes)]),
                 ({**FUSION, **top}, [2_100_000, 2_200_000, 700_000]), ({"name": "ps-sgd"}, [sum(sizes)]),
                 ({"name": "ps-sgd", "grouping": FUSION, **top}, [2_100_000, 2_200_000, 700_000]), ({"name": "asgd"}, sizes), ({"name": "dc-asgd"}, sizes),
                 ({"name": "asgd", "grouping": FUSION}, [2_100_000, 2_200_000, 700_000]),
                 ({"name": "asgd", "grouping": FUSION, "partition": "1MB"}, [1_000_000, 1_000_000, 100_000, 1_000_000, 1_000_000, 200_000, 700_000]),
                 ({"name": "ps-sgd", "grouping": FUSION, "partition": "2MB", **top}, [2_000_000, 100_000, 2_000_000, 200_000, 700_000]), ({"name": "dts", "delay": 1, "launch": "gradient", **top}, sizes),
                 ({"name": "dts", "delay": 1, **top}, [sum(sizes)]), ({"name": "local-sgd", "interval": 2, **top}, [sum(sizes)]),
                 ({"name": "downpour", "interval": 2}, [sum(sizes)]), ({"name": "lasgd", "tau_max": 2}, [sum(sizes)])]
        headers = self.headers([schedule for schedule, _ in table])
        for (schedule, right), header in zip(table, headers, strict=True):
            self.assertEqual([part["bytes"] for part in header["parts"]], right, schedule)
            self.assertTrue(all(isinstance(part["name"], str) for part in header["parts"]))

    def test_defaults(self):
        """Hyper-parameters that the record names, and what they are where nobody says otherwise."""
        table = [("wfbp", {}, {}), ("ssd-sgd", {"delay": 2}, {"alpha": [0.5], "beta": [0.5], "lr_loc": [4, "lr"], "wd": [0.0]}),
                 ("sasgd", {"interval": 2}, {"gamma_p": [0.25, "lr"]}), ("eamsgd", {"interval": 2}, {"rho": [0.225]}), ("dc-asgd", {}, {"lambda": [0.04]})]
        optimizers = {"sgd": {}, "momentum": {"mu": [0.9]}, "nesterov": {"mu": [0.9]}, "adam": {"beta1": [0.9], "beta2": [0.999], "epsilon": [1e-8]},
                      "adamw": {"beta1": [0.9], "beta2": [0.999], "epsilon": [1e-8], "weight_decay": [0.01]}}
        schedules = [{"name": name} | parameters for name, parameters, _ in table]
        for optimizer, known in optimizers.items():
            for (name, _, own), header in zip(table, self.headers(schedules, "--optimizer", optimizer), strict=True):
                right = {"lr": None} | ({} if name == "dc-asgd" else known) | own
                if "lr_loc" in right and optimizer == "sgd":
                    right["lr_loc"] = [1, "lr"]
                self.assertEqual(header["hyper"], right, (name, optimizer))
                self.assertEqual(header["optimizer"], optimizer)

    def test_times(self):
        """A gradient is there when its backward ends; what is evaluated, when a step does."""
        one = trace(2, update_s=0.25, layers=[{"name": f"l{i}", "type": "unknown", "forward_s": 0.5, "backward_s": 1.0} for i in range(2)])
        content = scenario(trace=one, cluster=cluster(nodes=2, link={"bandwidth": "1GBps", "latency": 0}), schedule={"name": "sync-easgd"}, fidelity="alpha-beta",
                           workers={"slow": [{"ranks": "1", "factor": 2}]}, iterations={"warmup": 0, "measured": 3})
        [record] = self.run_recorded(content).values()
        size, ends = sum(gradient["bytes"] for gradient in one["gradients"]) / 1e9, [[], []]
        for number, [fast, slow] in enumerate(zip(*([line["t"] for line in record.lines if line["o"] == "G" and line["w"] == worker] for worker in (0, 1)))):
            begins = [times[-1] if times else 0.0 for times in ends]
            self.assertAlmostEqual(fast, begins[0] + 3.0, places=9, msg=number)
            self.assertAlmostEqual(slow, begins[1] + 6.0, places=9, msg=number)
            for worker, times in enumerate(ends):
                times.append(slow + size + 0.25 * (1 + worker))
        for line in record.lines:
            if line["o"] == "E" and line["n"]:
                self.assertTrue(any(abs(line["t"] - end) < 1e-9 for end in ends[line["w"]]), line)
        self.assertAlmostEqual(record.header["end_s"], max(line["t"] for line in record.lines if "t" in line))

    def test_a_compression_keeps_its_parameters(self):
        ways = [{"name": "top-k", "ratio": 0.2}, {"name": "qsgd", "bits": 3, "bucket": 64}, {"name": "random-k", "ratio": 0.3}]
        content = scenario(trace=trace(), schedule={"name": "wfbp"}, sweep={"/schedule/compression": ways}, iterations={"warmup": 0, "measured": 4})
        top, quantised, chosen = self.run_recorded(content).values()
        self.assertEqual({line["k"] for line in top.lines if line["o"] == "C"}, {0.2})
        self.assertEqual({(line["bits"], line["bucket"]) for line in quantised.lines if line["o"] == "C"}, {(3, 64)})
        numbers = {}
        for line in chosen.lines:
            if line["o"] == "C":
                numbers.setdefault((line["part"], line["n"]), []).append(line)
        for lines in list(numbers.values())[:-4]:  # each number of a part is that of one message of every worker
            self.assertEqual(len(lines), 4)


if __name__ == "__main__":
    unittest.main()
