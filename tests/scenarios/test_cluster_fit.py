"""simctl cluster fit: clusters of what nccl-tests and OSU's micro-benchmarks print, here written from closed forms."""

import copy
import gzip
import json
import os
import pprint
import re
import shutil
import subprocess
import time
import unittest

from support import ROOT, SIMCTL, Case, scenario

REPRODUCERS = ROOT.parent / "shared/specs/reproducers/inputs"

SIZES = [8 * 4**power for power in range(14)]


def ring(size, ranks, latency=2e-5, rate=10e9):
    return 2 * (ranks - 1) * (latency + size / ranks / rate)


def nccl(hosts, each, time=ring, sizes=SIZES, factor=2, root=True):
    ranks = hosts * each
    lines = ["some launcher's noise", "# nThread 1 nGpus 1 minBytes 8 maxBytes 536870912 step: 4(factor) warmup iters: 5 iters: 20", "#",
             "# Using devices"]
    for rank in range(ranks):
        lines.append(f"#  Rank {rank:2d} Group  0 Pid {6899 + rank} on node-{rank // each} device  {rank % each} [0x07] A GPU")
    lines += ["#", "#                                       out-of-place                       in-place",
              "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"]
    for size in sizes:
        columns = []
        for more in (1, 1.25):
            seconds = more * time(size, ranks)
            rate = size / seconds / 1e9 if seconds else 0
            columns.append(f"{seconds * 1e6:8.2f} {rate:7.2f} {rate * factor * (ranks - 1) / ranks:7.2f}      0")
        lines.append(f"{size:12d} {size // 4:12d} float sum {'-1' if root else ''} {columns[0]} {columns[1]}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 4.4", ""])


def nccl_json(hosts, each, time=ring, sizes=SIZES, factor=2, **changes):
    """What all_reduce_perf -J writes: times in microseconds, bandwidths in GB/s, numbers with six digits after the point."""
    ranks, results = hosts * each, []
    for size in sizes:
        result = {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
        for key, more in (("out_of_place", 1), ("in_place", 1.25)):
            seconds = more * time(size, ranks)
            rate = size / seconds / 1e9 if seconds else 0
            result[key] = {"time": round(seconds * 1e6, 6), "alg_bw": round(rate, 6), "bus_bw": round(rate * factor * (ranks - 1) / ranks, 6), "nwrong": 0.0}
        results.append({**result, "actual_iterations": 20, "experiment_name": ""})
    devices = [{"rank": rank, "group": 0, "pid": 6899 + rank, "hostname": f"node-{rank // each}", "device": rank % each, "device_hex": "0000:07:00",
                "device_info": "A GPU"} for rank in range(ranks)]
    return {"version": 1, "start_time": "2026-01-01 00:00:00", "args": ["all_reduce_perf"], "env": ["A=b"], "nccl_version": 22703,
            "config": {"nthreads": 1, "ngpus": 1, "devices": devices}, "results": results, "out_of_bounds": {"count": 0, "okay": "true"},
            "average_bus_bandwidth": {"bandwidth": 4.4, "okay": "unchecked"}, "errors": [], "end_time": "2026-01-01 00:01:00", **changes}


def probe(ranks=4, nodes=None, time=ring, sizes=SIZES[3:], **changes):
    """What netprobe writes."""
    timed = [{"bytes": size, "quartiles_s": [0.9 * time(size, ranks), time(size, ranks), 1.2 * time(size, ranks)], "repetitions": 5} for size in sizes]
    pairs = [{"from": a, "to": b, "latency_s": [1e-5, 2e-5 + 1e-6 * (a + b), 1e-3], "bandwidth_Bps": 10e9 - a - b} for a in range(ranks) for b in range(ranks)
             if a != b]
    return {"format": "network-probe/1", "provenance": {"kind": "measured"}, "library": "gloo 0.5.0 over TCP", "ranks": ranks, "nodes": nodes or ranks,
            "hosts": [f"node{rank * (nodes or ranks) // ranks}" for rank in range(ranks)], "timing": {}, "host_s_per_message": 1e-5, "add_s_per_B": 1e-10, "all_reduce": timed, "queued": timed, "two_at_once": timed,
            "all_gather": timed, "pairs": pairs, **changes}


def served(servers, clients, share=1.0, work=2e-10, message=1e-5, sizes=SIZES[3:10], rounds=1, rate=10e9, **changes):
    """What netprobe --servers writes where ranks are as far from each other as in probe(): latencies, so many messages and bytes for each server.
    `share`: of the shorter one of push and pull, what passes beside the other one. `rounds`: latencies until a message is in."""
    ranks = servers + clients
    latency = 2e-5 + 1e-6 * (ranks - 1)  # the median of the pairs

    def push_and_pull(some, size):
        pull = rounds * latency + some * message + max(1, some / servers) * size / rate
        return pull + some / servers * size * work, pull
    both = [sum(push_and_pull(clients, size)) - share * push_and_pull(clients, size)[1] for size in sizes]
    push, pull = zip(*(push_and_pull(clients, size) for size in sizes))
    rows = {"push": push, "pull": pull, "both": both}
    if clients > 1:
        rows |= {way: [seconds] for way, seconds in zip(("push_of_one", "pull_of_one"), push_and_pull(1, sizes[0]))}
    timed = {way: [{"bytes": size, "quartiles_s": [0.9 * seconds, seconds, 1.2 * seconds], "repetitions": 5} for size, seconds in zip(sizes, row)] for way, row in rows.items()}
    return {"count": servers, **timed, **changes}


def event(elements, microseconds, ranks=8, dtype="Float", name="allreduce"):
    """A kernel of NCCL in a profile."""
    return {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ts": 10, "dur": microseconds,
            "args": {"Collective name": name, "In msg nelems": elements, "Out msg nelems": elements, "Group size": ranks, "dtype": dtype}}


def iperf(bits, **test):
    """What iperf3 --json prints, as far as anybody looks."""
    return {"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0, **test}}, "intervals": [],
            "end": {"sum_sent": {"bits_per_second": 1.01 * bits}, "sum_received": {"bits_per_second": bits}}}


def ping(mean, deviation, word="rtt", last="mdev"):
    return ("PING host (10.0.0.1) 56(84) bytes of data.\n64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.05 ms\n\n--- host ping statistics ---\n"
            f"20 packets transmitted, 20 received, 0% packet loss, time 19000ms\n{word} min/avg/max/{last} = {0.9 * mean:.3f}/{mean:.3f}/{2 * mean:.3f}/{deviation:.3f} ms\n")


def without(document, key):
    return {name: value for name, value in document.items() if name != key}


def osu(rows, name="Allreduce"):
    return f"\n# OSU MPI {name} Latency Test v7.3\n# Size       Avg Latency(us)\n" + "".join(f"{size:<12d}{us:.2f}\n" for size, us in rows)


def osu_columns(columns, rows, name="Non-blocking Allreduce"):
    return (f"\n# OSU MPI {name} Latency Test v7.3\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n# Datatype: MPI_FLOAT.\n# Size    " +
            "".join(f"{column:>18s}" for column in columns) + "\n" + "".join(f"{size:<10d}" + "".join(f"{value:>18}" for value in values) + "\n" for size, *values in rows))


class ClusterFit(Case):
    def fit(self, text, *options):
        (self.folder / "run.txt").write_text(text, encoding="utf-8")
        (self.folder / "mine.json").unlink(missing_ok=True)
        return self.simctl("cluster", "fit", "run.txt", "-o", "mine.json", *options)

    def cluster(self):
        return json.loads((self.folder / "mine.json").read_text(encoding="utf-8"))

    def test_an_all_reduce_takes_as_long_as_measured(self):
        for hosts, each, root in ((8, 1, True), (2, 4, True), (3, 2, False)):
            done = self.fit(nccl(hosts, each, root=root))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.cluster()["nodes"], self.cluster().get("gpus_per_node", 1), self.cluster()["name"]), (hosts, each, "run"))
            done = self.run_scenario(scenario(cluster="mine.json", schedule={"name": "sync-easgd"}))
            self.assertEqual(done.returncode, 0, done.stderr)
            # Printed to 10 ns, and linear from size to size.
            self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]), ring(6000000, hosts * each), delta=2e-8)

    def test_what_nccl_tests_write_as_json(self):
        for words, more in (((), 1), (("--in-place",), 1.25)):
            done = self.fit(json.dumps(nccl_json(2, 4)), *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            cluster = self.cluster()
            self.assertEqual((cluster["nodes"], cluster["gpus_per_node"], cluster["fit"]["nodes"]), (2, 4, 8))
            self.assertEqual([bytes for bytes, _ in cluster["fit"]["points"]], SIZES)
            for size, seconds in cluster["fit"]["points"]:
                self.assertAlmostEqual(seconds / more / ring(size, 8), 1, delta=1e-5)  # six digits are written

    def test_what_netprobe_writes(self):
        done = self.fit(json.dumps(probe()))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cluster = self.cluster()
        reduces, gathers = cluster["fit"]
        self.assertEqual((cluster["nodes"], reduces["nodes"], gathers["nodes"], reduces["operation"], gathers["operation"]), (4, 4, 4, "all-reduce", "all-gather"))
        # Medians of twelve pairs, whose ends' numbers add up to 1, 2, 3, 3, 4 and 5, each twice.
        self.assertEqual(cluster["link"], {"bandwidth": 1e10, "latency": 2.3e-5})
        self.assertIn("messages from node to node take 23 us and 80 Gb/s", done.stdout)
        self.assertEqual(reduces["points"], [[size, float(f"{ring(size, 4):.6g}")] for size in SIZES[3:]])
        self.assertEqual(gathers["points"], [[4 * size, float(f"{ring(size, 4):.6g}")] for size in SIZES[3:]])
        # 6 MB in all, of which every rank comes with a quarter: C = 1/4 of the values, without indices, is that for everybody.
        done = self.run_scenario(scenario(cluster="mine.json", schedule={"name": "dts", "delay": 0, "compression": 0.25, "index_bytes": 0}))
        self.assertEqual(done.returncode, 0, done.stderr)
        low, high = next((a, b) for a, b in zip(gathers["points"], gathers["points"][1:]) if a[0] <= 6e6 <= b[0])
        self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]), low[1] + (high[1] - low[1]) * (6e6 - low[0]) / (high[0] - low[0]), delta=1e-9)
        self.assertEqual(self.fit(json.dumps(probe(all_gather=[]))).returncode, 0)
        self.assertEqual(self.cluster()["fit"], reduces)
        # Ranks that share nodes have links of two kinds, of which the medians know nothing.
        self.fit(json.dumps(probe(4, 2)))
        self.assertAlmostEqual(self.cluster()["link"]["latency"] / 2e-5, 1, delta=2e-3)

    def test_back_to_back_and_two_at_once(self):
        """Which of netprobe's times are used? All-reduces in a row take 2/3 of one alone: all but the first of s-sgd's."""
        queued = [{"bytes": size, "quartiles_s": [2 / 3 * ring(size, 4)] * 3, "repetitions": 5} for size in SIZES[3:]]
        done = self.fit(json.dumps(probe(queued=queued)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.cluster()["fit"][0]["queued"], [[size, float(f"{2 / 3 * ring(size, 4):.6g}")] for size in SIZES[3:]])
        self.assertEqual(self.cluster()["host"], {"per_message_s": 1e-5})
        self.assertRegex(done.stdout, r"off\s+back to back\s+two at once\n")
        self.assertIn('adding takes 1e-10 s/B: "server_s_per_B" of a schedule with servers', done.stdout)
        self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "s-sgd"})).returncode, 0)
        sizes = [gradient["bytes"] for gradient in json.loads((self.folder / "trace.json").read_text())["gradients"]]
        both = sum(ring(size, 4) for size in sizes)
        self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]), both - sum(ring(size, 4) for size in sizes[1:]) / 3, delta=1e-8)
        two = [{"bytes": size, "quartiles_s": [1.6 * ring(size, 4)] * 3, "repetitions": 5} for size in SIZES[3:]]
        self.fit(json.dumps(probe(two_at_once=two)))
        self.assertEqual(self.cluster()["fit"][0]["two_at_once"], [[size, float(f"{1.6 * ring(size, 4):.6g}")] for size in SIZES[3:]])
        # All start together, the latency passes once, and each takes longer by what two take longer than one.
        self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "s-sgd"}, channels=len(sizes))).returncode, 0)
        latest = 0
        for size in sizes:
            latest = max(latest, 0.4 * ring(size, 4)) + 0.6 * ring(size, 4)
        self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]), latest, delta=1e-8)
        flat = [{"bytes": size, "quartiles_s": [1e-3] * 3, "repetitions": 5} for size in SIZES[3:]]
        self.fit(json.dumps(probe(queued=flat, two_at_once=flat, library="Open MPI v4.1.4")))  # no larger one takes longer; a processor that polls
        self.assertFalse({"queued", "two_at_once"} & self.cluster()["fit"][0].keys())
        self.assertNotIn("host", self.cluster())

    def test_what_servers_take(self):
        """Files by the page's model: what is found, and what a message takes when it is simulated with that."""
        for servers, clients, share, said in ((1, 3, 1.0, "pass beside each other: \"duplex\": true"), (2, 4, 0.0, "take turns: \"duplex\": false"),
                                              (3, 2, 0.4, "pass beside each other in part: \"duplex\": false"), (1, 1, 0.6, "pass beside each other in part: \"duplex\": true")):
            done = self.fit(json.dumps(probe(servers + clients, servers=served(servers, clients, share))))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"servers: {servers}, clients: {clients}\n", done.stdout)
            self.assertIn(f"pushes and pulls {said}", done.stdout)
            words = re.search(r"for a run: --set /schedule/duplex=(\w+) --set /schedule/server_s_per_B=(\S+)\n", done.stdout)
            self.assertEqual(words[1], "true" if share > 0.5 else "false")
            self.assertAlmostEqual(float(words[2]) / 2e-10, 1, delta=0.01)
            cluster = self.cluster()
            self.assertAlmostEqual(cluster["host"]["per_message_s"] / 1e-5, 1, delta=0.01)
            self.fit(json.dumps(probe(servers + clients, servers=served(servers, clients, share, rounds=3, message=2e-5))))
            self.assertAlmostEqual(self.cluster()["host"]["per_message_s"] / (2e-5 if clients > 1 else 1e-5), 1, delta=0.01)
            self.fit(json.dumps(probe(servers + clients, servers=served(servers, clients, rate=1e8))))  # the smallest messages, too, take time for their bytes
            self.assertAlmostEqual(self.cluster()["host"]["per_message_s"] / 1e-5, 1, delta=0.01)
            if clients < servers:
                continue
            cluster |= {"nodes": clients, "link": {"bandwidth": 10e9, "latency": 2e-5 + 1e-6 * (servers + clients - 1)}}
            del cluster["fit"]
            schedule = {"name": "ps-sgd", "grouping": "sync-easgd", "servers": servers, "server_s_per_B": float(words[2]), "duplex": share > 0.5}
            self.assertEqual(self.run_scenario(scenario(cluster=cluster, schedule=schedule)).returncode, 0)
            [push], [pull] = (served(servers, clients, sizes=[6000000])[way] for way in ("push", "pull"))
            self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]) / (push["quartiles_s"][1] + pull["quartiles_s"][1]), 1, delta=0.01)

    def test_servers_that_tell_little(self):
        """No time for a message beside the latency; no bytes that take time; pushes that are faster than pulls."""
        flat = served(1, 3)
        for size, seconds in zip(flat["pull"], (1e-5, 1e-5, 1e-4, 4e-3, 4e-3, 4e-3, 4e-3)):
            size["quartiles_s"] = [seconds] * 3
        done = self.fit(json.dumps(probe(servers=flat)))
        self.assertEqual((done.returncode, "inf Gb/s" in done.stdout), (0, False))
        earlier = {key: times for key, times in served(1, 3).items() if not key.endswith("_of_one")}
        done = self.fit(json.dumps(probe(servers=earlier)))
        self.assertEqual((done.returncode, self.cluster()["host"]), (0, {"per_message_s": 1e-5}))
        self.assertIn("a server's time for a message is not known, as no single client was measured among several; the file's", done.stdout)
        done = self.fit(json.dumps(probe(servers=served(1, 3, message=0.0, rounds=3))))
        self.assertEqual((done.returncode, self.cluster()["host"]), (0, {"per_message_s": 1e-5}))
        self.assertIn("a server's time for a message cannot be told from the latency; the file's \"per_message_s\" is that of a processor alone", done.stdout)
        done = self.fit(json.dumps(probe(servers=served(1, 3, message=0.0), library="Open MPI v4.1.4")))
        self.assertEqual((done.returncode, "host" in self.cluster()), (0, False))
        done = self.fit(json.dumps(probe(servers=served(1, 3, sizes=[8, 16]))))
        self.assertEqual((done.returncode, self.cluster()["host"]), (0, {"per_message_s": 1e-5}))
        self.assertIn("which tells nothing of servers: measure larger ones", done.stdout)
        self.assertNotIn("for a run", done.stdout)
        swapped = served(1, 3)
        done = self.fit(json.dumps(probe(servers={**swapped, "push": swapped["pull"], "pull": swapped["push"]})))
        self.assertIn("--set /schedule/server_s_per_B=0\n", done.stdout)
        self.assertEqual(self.fit(json.dumps(probe())).returncode, 0)
        self.assertNotIn("servers:", self.fit(json.dumps(probe())).stdout)

    def test_several_numbers_of_ranks(self):
        """16 ranks between 8 and 64: at a third of the way, by logarithms; the larger one's files are given first."""
        (self.folder / "large.txt").write_text(nccl(16, 4, time=lambda size, ranks: 3 * ring(size, ranks)))
        (self.folder / "small.txt").write_text(nccl(2, 4))
        done = self.simctl("cluster", "fit", "large.txt", "small.txt", "-o", "mine.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cluster = self.cluster()
        self.assertEqual(([fit["nodes"] for fit in cluster["fit"]], cluster["nodes"], cluster["name"]), ([8, 64], 16, "large"))
        self.assertIn("all-reduces over 8 and 64 ranks on up to 16 nodes", cluster["source"])
        self.assertLess(done.stdout.index("small.txt: nccl-tests over 8 ranks"), done.stdout.index("large.txt: nccl-tests over 64 ranks"))
        for nodes, factor in ((1, 1), (2, 1), (4, 1 + 2 / 3), (16, 3), (32, 3)):
            done = self.run_scenario(scenario(cluster=cluster | {"nodes": nodes}, schedule={"name": "sync-easgd"}))
            self.assertEqual(done.returncode, 0, done.stderr)
            if nodes > 1:
                self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]) / (factor * ring(6000000, 4 * nodes)), 1, delta=2e-3, msg=nodes)

    def test_several_numbers_of_ranks_that_files_do_not_tell(self):
        """OSU's files of 4, 8 and 16 ranks, in any order, alone and beside nccl-tests' of 8; 12 ranks lie between."""
        for name, text in (("16", osu(self.rows_of(ring, 16))), ("4", osu(self.rows_of(ring, 4))), ("8", osu(self.rows_of(ring, 8))), ("n8", nccl(8, 1))):
            (self.folder / f"{name}.txt").write_text(text)
        for files, numbers in (("16 4 8", "16,4,8"), ("16 4 n8", "16,4,8"), ("n8 16 4", "8,16,4")):
            with self.subTest(files):
                done = self.simctl("cluster", "fit", *(f"{file}.txt" for file in files.split()), "-o", "mine.json", "--ranks", numbers)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                cluster = self.cluster()
                self.assertEqual(([fit["nodes"] for fit in cluster["fit"]], cluster["nodes"]), ([4, 8, 16], 16))
                self.assertIn("all-reduces over 4, 8 and 16 ranks on up to 16 nodes", cluster["source"])
                for nodes in (4, 8, 12, 16):
                    done = self.run_scenario(scenario(cluster=cluster | {"nodes": nodes}, schedule={"name": "sync-easgd"}))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]) / ring(6000000, nodes), 1, delta=2e-3, msg=nodes)
        # Two GPUs on each node, and one number for two files of different operations.
        (self.folder / "gather.txt").write_text(osu(self.rows_of(ring, 8), "Allgather"))
        for words, nodes, operations in ((("4.txt", "16.txt", "--ranks", "4,16", "--gpus-per-node", "2"), [4, 16], ["all-reduce"] * 2),
                                         (("8.txt", "gather.txt", "--ranks", "8"), [8, 8], ["all-reduce", "all-gather"]),
                                         (("8.txt", "gather.txt", "4.txt", "--ranks", "8,8,4"), [4, 8, 8], ["all-reduce", "all-reduce", "all-gather"])):
            done = self.simctl("cluster", "fit", *words, "-o", "mine.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(([fit["nodes"] for fit in self.cluster()["fit"]], [fit["operation"] for fit in self.cluster()["fit"]]), (nodes, operations))

    def rows_of(self, time, ranks):
        return [(size, 1e6 * time(size, ranks)) for size in SIZES]

    def test_numbers_of_ranks_that_are_refused(self):
        for ranks in (4, 8):
            (self.folder / f"{ranks}.txt").write_text(osu(self.rows_of(ring, ranks)))
        (self.folder / "nccl.txt").write_text(nccl(2, 4))
        (self.folder / "a.log").write_text("".join(json.dumps(self.inspector(size=1 << power, us=100.0 * power)) + "\n" for power in (10, 20)))
        (self.folder / "topology.txt").write_text("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-9\nGPU1\tNV4\t X \t0-9\n")
        for files, numbers, code, message in (
                (("4.txt", "8.txt"), "4,8,16", 2, "--ranks 4,8,16: 3 numbers for 2 files of collectives (4.txt, 8.txt); give one for each in this order, or one for all"),
                (("4.txt",), "4,8", 2, "--ranks 4,8: 2 numbers for 1 file of collectives (4.txt)"),
                (("4.txt", "topology.txt"), "4,2", 2, "--ranks 4,2: 2 numbers for 1 file of collectives (4.txt)"),
                (("topology.txt",), "4,2", 2, "--ranks 4,2: 2 numbers for 0 files of collectives ()"),
                (("4.txt", "8.txt"), "4,4", 3, "8.txt: all-reduces over 4 ranks are also in 4.txt; give the file of one run"),
                (("4.txt", "8.txt"), "4", 3, "8.txt: all-reduces over 4 ranks are also in 4.txt; give the file of one run"),
                (("4.txt", "nccl.txt"), "4,16", 3, "nccl.txt:2: 8 ranks took part, but --ranks says 16; leave --ranks out, or give each file its own number"),
                (("4.txt", "a.log"), "4,8", 2, "--ranks 4,8: a.log is a log of NCCL's Inspector, which tells its ranks; leave --ranks out"),
                (("4.txt", "8.txt"), "4,", 2, '--ranks 4,: expected a whole number from 2 to 1048576, or one for each file, such as 4,8,16; got ""'),
                (("4.txt", "8.txt"), "4,1", 2, 'such as 4,8,16; got "1"'), (("4.txt", "8.txt"), "4,x", 2, 'got "x"'), (("4.txt", "8.txt"), "4-8", 2, 'got "4-8"'),
                (("4.txt",), "1", 2, 'got "1"'), (("4.txt",), "9999999", 2, 'got "9999999"'), (("topology.txt",), "1", 2, 'got "1"'), (("4.txt",), "-4", 2, 'got "-4"')):
            with self.subTest(numbers, files=files):
                done = self.simctl("cluster", "fit", *files, "-o", "mine.json", f"--ranks={numbers}")
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.folder / "mine.json").exists())
        done = self.simctl("cluster", "fit", "4.txt", "-o", "mine.json", "--ranks", "")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--ranks: the value is empty; leave it out", done.stderr)

    def test_the_links_are_a_ring_of_the_same_time(self):
        self.fit(nccl(8, 1))
        link = self.cluster()["link"]
        self.assertAlmostEqual(link["latency"] / 2e-5, 1, delta=2e-3)
        self.assertAlmostEqual(link["bandwidth"] / 10e9, 1, delta=2e-3)

    def test_in_place_columns_and_a_name(self):
        done = self.fit(nccl(4, 1), "--in-place", "--name", 'a "name"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cluster()["name"], 'a "name"')
        self.assertAlmostEqual(self.cluster()["fit"]["points"][-1][1], 1.25 * ring(SIZES[-1], 4), delta=1e-5 * ring(SIZES[-1], 4))

    def test_osu_with_its_ranks(self):
        rows = [(4, 31.5), (1024, 30.5), (1048576, 900.0), (4194304, 3000.0)]
        done = self.fit(osu(rows), "--ranks", "16")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cluster()["nodes"], 16)
        # The two that a larger one was faster than share their mean.
        self.assertEqual(self.cluster()["fit"]["points"], [[4, 3.1e-5], [1024, 3.1e-5], [1048576, 9e-4], [4194304, 3e-3]])
        self.assertRegex(done.stdout, r"4 +31\.5 us +31 us")

    def test_osus_operations(self):
        """An all-gather's size is that of one rank's part."""
        sizes = [(1024, 30.5), (1048576, 900.0)]
        names = {"Allreduce": "all-reduce", "Reduce_scatter": "reduce-scatter", "Allgather": "all-gather", "Broadcast": "broadcast"}
        for name, operation in names.items():
            for kind in ("", "Non-blocking ", "Persistent "):
                self.assertEqual(self.fit(osu(sizes, kind + name), "--ranks", "8").returncode, 0)
                fit, factor = self.cluster()["fit"], 8 if name == "Allgather" else 1
                self.assertEqual((fit["operation"], fit["points"]), (operation, [[factor * 1024, 3.05e-5], [factor * 1048576, 9e-4]]))
        self.assertEqual(self.fit("".join(osu(sizes, name) for name in names), "--ranks", "8").returncode, 0)
        self.assertEqual([fit["operation"] for fit in self.cluster()["fit"]], list(names.values()))
        for text, message in ((osu(sizes) + osu(sizes), "run.txt:2: 2 runs in one file: lines 2-6 and 7-10; two are of all-reduces; give each a file of its own"),
                              (osu(sizes) + osu(sizes, "Allgatherv"), "run.txt:7: expected osu_allreduce's output")):
            done = self.fit(text, "--ranks", "8")
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(message, done.stderr)

    def test_osu_s_tests_of_libraries_and_accelerators(self):
        """Those of NCCL and RCCL were not found."""
        sizes = [(1024, 30.5), (1048576, 900.0)]
        for library in ("MPI-CUDA", "MPI-ROCM", "MPI-SYCL", "NCCL", "NCCL-CUDA", "RCCL-ROCM"):
            for warning in ("", "#Using NCCL\n" * 8):
                with self.subTest(library):
                    done = self.fit(warning + osu(sizes).replace("OSU MPI", f"OSU {library}"), "--ranks", "8")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.cluster()["fit"]["points"], [[1024, 3.05e-05], [1048576, 9e-4]])

    def test_of_osus_columns_the_time_of_the_all_reduce_alone(self):
        short, full = ("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"), ("Overall(us)", "Compute(us)", "Coll. Init(us)", "MPI_Test(us)", "MPI_Wait(us)", "Pure Comm.(us)", "Overlap(%)")
        for text in (osu_columns(short, [(4, 900.1, 800.0, 30.0, 5.0), (1048576, 2000.0, 1900.0, 900.0, 0.0)]),
                     osu_columns(full, [(4, 900.1, 800.0, 1.0, 0.0, 2.0, 30.0, 5.0), (1048576, 2000.0, 1900.0, 1.0, 0.0, 2.0, 900.0, 0.0)]),
                     osu_columns(("Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"), [(4, 30.0, 20.0, 40.0, 1000), (1048576, 900.0, 20.0, 4e3, 100)], "Allreduce"),
                     osu_columns(("Avg Latency(us)", "Validation"), [(4, 30.0, "Pass"), (1048576, 900.0, "Pass")], "Persistent Allreduce")):
            with self.subTest(text):
                done = self.fit(text, "--ranks", "4")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.cluster()["fit"]["points"], [[4, 3e-5], [1048576, 9e-4]])

    def test_results_that_nobody_checked_are_taken(self):
        unchecked = nccl_json(4, 2)
        for result in unchecked["results"]:
            result["out_of_place"]["nwrong"] = result["in_place"]["nwrong"] = None
        for text in (nccl(4, 2).replace("      0", "    N/A"), json.dumps(unchecked), json.dumps(nccl_json(4, 2, errors=[""]))):
            self.assertEqual(self.fit(text).returncode, 0)

    def test_pipes_are_read_once_and_not_waited_for_too_long(self):
        events = [event(6000000, 3000), event(100, 200)]
        for name, content in (("printed", nccl(4, 2)), ("json", json.dumps(nccl_json(4, 2))), ("profile", json.dumps({"traceEvents": events})),
                              ("large profile", json.dumps({"traceEvents": events, "x": "y" * 10_000_000})), ("zipped profile", gzip.compress(json.dumps({"traceEvents": events}).encode()))):
            content = content if isinstance(content, bytes) else content.encode()
            (self.folder / "run.txt").write_bytes(content)
            for command in ("cat run.txt | {} cluster fit /dev/stdin -o mine.json", "{} cluster fit <(sleep 0.2; cat run.txt) -o mine.json --name stdin"):
                with self.subTest(name, command=command):
                    each = " --gpus-per-node 1" if "profile" in name else ""
                    self.simctl("cluster", "fit", "run.txt", "-o", "plain.json", "--name", "stdin", *each.split())
                    done = subprocess.run(["bash", "-c", command.format(SIMCTL) + each], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual((self.folder / "mine.json").read_bytes(), (self.folder / "plain.json").read_bytes())
        os.mkfifo(self.folder / "fifo")
        began = time.monotonic()
        done = self.simctl("cluster", "fit", "fifo", "-o", "other.json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", "simctl: fifo: cannot be read: nobody writes to this pipe\n"))
        self.assertLess(time.monotonic() - began, 30)

    def test_what_simctl_would_not_read_is_not_written(self):
        escape, long = "\x1b[31m", "a" * 300
        (self.folder / "run.txt").write_text(nccl(4, 2))
        (self.folder / f"{escape}.txt").write_text(nccl(4, 2))
        for folder, names in (("pairs", ("a", "b")), ("odd", ("a", f"{escape}b")), (f"{escape}folder", ("a", "b"))):
            (self.folder / folder).mkdir()
            (self.folder / folder / "-".join(names)).with_suffix(".json").write_text(json.dumps(iperf(1e9)))
            (self.folder / folder / "-".join(names)).with_suffix(".txt").write_text(ping(10, 1))
        for code, message, *words in (
                (2, '/name: expected a name of at most 255 bytes, got "aaa', "run.txt", "--name", long), (2, "/name: expected a name of at most 255 bytes", "pairs", "--name", long),
                (2, "/name: expected a string without control characters", "run.txt", "--name", escape),
                (3, "/name: expected a string without control characters", f"{escape}.txt"), (3, "/name: expected a string without control characters", f"{escape}folder"),
                (3, "b.json: the file's name must have no control characters, because places are named after it; rename it", "odd")):
            with self.subTest(words):
                done = self.simctl("cluster", "fit", *words, "-o", "mine.json")
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual("(from --name)" in done.stderr, "--name" in words)
                self.assertFalse((self.folder / "mine.json").exists())
        self.assertEqual(self.simctl("cluster", "fit", f"{escape}.txt", "-o", "mine.json", "--name", "ok").returncode, 0)

    def test_what_is_refused(self):
        good = nccl(4, 2)
        table = [
            ("", (), "run.txt: found neither"),
            ("# nThread 1 minBytes 8\n", (), "run.txt:1: the file ends before"),
            (good[:good.index("# Out of bounds")], (), "run.txt:30: the file ends before \"# Avg bus bandwidth\", so the run was cut off; run it again"),
            (good.replace("node-3", "node-2"), (), "run.txt:2: node-0 has 2 ranks, but node-2 has 4; measure the same number on every host"),
            (good, ("--ranks", "4"), "run.txt:2: 8 ranks took part, but --ranks says 4; leave --ranks out"),
            ("\n".join(line for line in good.splitlines() if "Rank" not in line), (), "run.txt:2: no line \"# Rank 0 ... on HOST\" names the ranks"),
            (nccl(1, 1), (), "run.txt:2: one rank cannot communicate"),
            (nccl(4, 2, factor=0.5), (), "is not 2(n-1)/n size/time ="),
            (nccl(4, 2, sizes=[*SIZES, SIZES[-1]]), (), "run.txt:31: sizes must grow, and 536870912 bytes come after 536870912; give each run a file"),
            (nccl(4, 2, time=lambda size, ranks: 0), (), "run.txt:17: it takes 0 s; measure more iterations"),
            (nccl(4, 2, time=lambda size, ranks: 1e-4), (), "the largest all-reduce took no longer than the smallest; measure larger ones"),
            (nccl(4, 2, sizes=SIZES[:1]), (), "1 sizes of all-reduces were measured; measure at least two"),
            (good.replace("float sum", "float", 1), (), 'run.txt:17: expected a reduction such as "sum" as word 4, got "-1"'),
            (good.replace("float sum -1", "float", 1), (), "run.txt:17: expected the 12 or 13 columns of nccl-tests, got 11 words"),
            (good.replace("     2 float", "     2 nan float"), (), "expected the 12 or 13 columns"),
            (good.replace("      0", "   1234", 1), (), "run.txt:17: 1234 results were wrong (#wrong), so this run failed, and its times mean nothing; repair what it complains of, and measure again"),
            ("      1".join(good.rsplit("      0", 1)), (), "run.txt:30: 1 results were wrong (#wrong)"),
            (good.replace("0 OK", "20 FAILED"), (), 'run.txt:31: "# Out of bounds values : 20 FAILED", so this run failed'),
            (good.replace(": 4.4", ": 4.4 FAILED"), (), 'run.txt:32: "# Avg bus bandwidth : 4.4 FAILED", so this run failed'),
            (good + "# error: NET/IB: Got completion with error 12\n", (), 'run.txt:33: "# error: NET/IB: Got completion with error 12", so this run failed'),
            (good[:good.index("# Out of bounds")] + "node-1: Test NCCL failure common.cu:958 'unhandled system error'\n", (), 'run.txt:31: "node-1: Test NCCL failure common.cu:958'),
            (good[:good.index("# Out of bounds")] + " .. node-1 pid 7: Test failure common.cu:891\n", (), 'run.txt:31: ".. node-1 pid 7: Test failure common.cu:891", so this run failed'),
            (osu_columns(("Overall(us)", "Compute(us)", "Overlap(%)"), [(4, 1.0, 1.0, 0.0), (8, 2.0, 1.0, 0.0)]), ("--ranks", "4"),
             'run.txt:6: expected a column "Avg Latency(us)" or "Pure Comm.(us)", got "Size", "Overall(us)", "Compute(us)", "Overlap(%)"; keep OSU\'s whole output'),
            (osu_columns(("Overall(us)", "Pure Comm.(us)"), [(4, 1.0, 1.0), (8, 2.0)]), ("--ranks", "4"), 'run.txt:8: expected a time in microseconds as word 3, got ""'),
            (osu_columns(("Avg Latency(us)", "Validation"), [(4, 1.0, "Pass"), (8, 2.0)], "Allreduce"), ("--ranks", "4"), "run.txt:8: expected the 3 columns of line 6, got 2 words"),
            (osu_columns(("Avg Latency(us)", "Validation"), [(4, 1.0, "Pass"), (8, 2.0, "Fail")], "Allreduce"), ("--ranks", "4"), 'run.txt:8: the validation says "Fail", so this run failed'),
            (osu([(4, 1.0), (8, 2.0)]).replace("# Size", "#"), ("--ranks", "4"), 'run.txt:2: no line "# Size ..." names the columns'),
            (osu([(4, 1.0), (8, 2.0)]), (), "run.txt:2: OSU does not print the number of ranks; give it with --ranks"),
            (osu([(4, 1.0), (8, 2.0)], "Bcast"), ("--ranks", "4"), "run.txt:2: expected osu_allreduce's output"),
            (osu([(4, 1.0), (8, 2.0)]).replace("2.00", "fast"), ("--ranks", "4"), 'run.txt:5: expected a time in microseconds as word 2, got "fast"'),
            (osu([(4, 1.0), (8, 2.0)]), ("--ranks", "4", "--in-place"), "run.txt:2: --in-place chooses columns of nccl-tests"),
        ]
        run, net = nccl_json(4, 2), probe()
        wrong = copy.deepcopy(run)
        wrong["results"][3]["in_place"]["nwrong"] = 5.0
        slow = [{**run["results"][0], "out_of_place": {"cpu_time": 3.0, "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": None}}]
        table += [(json.dumps(document) if isinstance(document, dict) else document, options, message) for document, options, message in (
            ("{", (), "run.txt"),
            ("{}", (), "expected a file of netprobe (\"format\": \"network-probe/1\"), of nccl-tests with -J"),
            ('{"nccl_version": 1, "nccl_version": 1}', (), "twice"),
            (without(run, "average_bus_bandwidth"), (), 'has no "average_bus_bandwidth", so the run was cut off; run it again'),
            (without(run, "config"), (), "config"),
            ({**run, "results": []}, (), "/results: expected"),
            ({**run, "results": run["results"][:1]}, (), "1 sizes of all-reduces were measured; measure at least two"),
            ({**run, "results": run["results"][::-1]}, (), "/results/1: sizes must grow"),
            ({**run, "results": slow}, (), "/results/0/out_of_place/cpu_time: is the host's time"),
            ({**run, "results": [{**run["results"][0], "out_of_place": None}]}, (), "/results/0/out_of_place: was not measured; use --in-place for the other times"),
            ({**run, "results": [{**run["results"][0], "out_of_place": {**run["results"][0]["out_of_place"], "time": 0.0}}]}, (), "/results/0/out_of_place/time"),
            ({**run, "results": [{**run["results"][0], "out_of_place": {**run["results"][0]["out_of_place"], "time": "nan"}}]}, (), "/results/0/out_of_place/time"),
            ({**run, "strange": 1}, (), "/strange"),
            (wrong, (), "run.txt: /results/3/in_place/nwrong: 5.0 results were wrong, so this run failed, and its times mean nothing; repair what it complains of, and measure again"),
            ({**run, "out_of_bounds": {"count": 20, "okay": "false"}}, (), 'run.txt: /out_of_bounds/okay: is "false", so this run failed'),
            ({**run, "out_of_bounds": {"count": 20, "okay": False}}, (), "run.txt: /out_of_bounds/okay: is false, so this run failed"),
            ({**run, "average_bus_bandwidth": {"bandwidth": 4.4, "okay": "false"}}, (), 'run.txt: /average_bus_bandwidth/okay: is "false", so this run failed'),
            ({**run, "errors": ["", "unhandled system error"]}, (), 'run.txt: /errors/1: NCCL says "unhandled system error", so this run failed'),
            (nccl_json(1, 1, factor=0), (), "/config/devices: one rank cannot communicate"),
            (nccl_json(4, 2, factor=0.5), (), "is not 2(n-1)/n size/time ="),
            (run, ("--ranks", "4"), "/config/devices: 8 ranks took part, but --ranks says 4; leave --ranks out"),
            ({**run, "config": {"devices": run["config"]["devices"][:7]}}, (), "/config/devices: node-0 has 2 ranks, but node-3 has 1; measure the same number on every host"),
            ({**net, "format": "network-probe/2"}, (), "/format"),
            (without(net, "library"), (), "library"),
            *(({**net, "servers": served(1, 3, **{"count": 1, **changes})}, (), message) for changes, message in (
                ({"count": 0}, "/servers/count: expected an integer >= 1, got 0"), ({"count": 4}, "/servers/count: expected an integer <= 3, got 4"),
                ({"count": 1.5}, "/servers/count"), ({"push": []}, "/servers/push"), ({"push": "x"}, "/servers/push"), ({"strange": 1}, "/servers/strange"),
                ({"both": served(1, 3)["both"][:-1]}, '/servers/both: has other sizes than "push"; measure the same ones'),
                ({"pull": served(1, 3)["pull"][1:]}, '/servers/pull: has other sizes than "push"; measure the same ones'),
                ({"push_of_one": served(1, 3)["push"][1:2]}, '/servers/push_of_one: has other sizes than the smallest one of "push"; measure that one'),
                ({"pull_of_one": []}, '/servers/pull_of_one'), ({"pull_of_one": served(1, 3)["pull"]}, '/servers/pull_of_one: has other sizes'),
                ({"push": served(1, 3)["push"][::-1]}, "/servers/push/1/bytes: expected more bytes than in the element before"),
                ({"push": [{**served(1, 3)["push"][0], "quartiles_s": [1, -1, 1]}]}, "/servers/push/0/quartiles_s/1"),
                ({"push": [{**served(1, 3)["push"][0], "quartiles_s": [1, None, 1]}]}, "/servers/push/0/quartiles_s/1"))),
            ({**net, "servers": served(1, 3, sizes=[1024])}, (), "/servers/push: 1 size was measured; measure at least two"),
            ({**net, "servers": without(served(1, 3), "both")}, (), '/servers: the required key "both" is missing'),
            *(({**net, "servers": without(served(1, 3), key)}, (), f'/servers: the required key "{key}" is missing') for key in ("push_of_one", "pull_of_one")),
            ({**net, "servers": 2}, (), "/servers"),
            ({**net, "strange": 1}, (), "/strange"),
            ({**net, "nodes": 3}, (), "/hosts: 4 hosts with 4 different names, but 4 ranks on 3 nodes; expected a host per rank and a name per node"),
            ({**net, "hosts": ["a", "b", "c"]}, (), "/hosts: 3 hosts with 3 different names, but 4 ranks on 4 nodes; expected a host per rank and a name per node"),
            ({**net, "nodes": 2, "hosts": ["a", "a", "a", "b"]}, (), "/hosts: a has 3 ranks, but b has 1; measure the same number on every host"),
            (net, ("--gpus-per-node", "2"), "/ranks: --gpus-per-node is for files that do not say which ranks share a node; leave it out"),
            (run, ("--gpus-per-node", "2"), "/config/devices: --gpus-per-node is for files that do not say which ranks share a node"),
            (good, ("--gpus-per-node", "2"), "run.txt:2: --gpus-per-node is for files that do not say which ranks share a node"),
            (osu([(4, 1.0), (8, 2.0)]), ("--ranks", "9", "--gpus-per-node", "2"), "run.txt:2: 9 ranks are not a multiple of --gpus-per-node 2"),
            ({**net, "nodes": 5}, (), "/nodes: expected"),
            (net, ("--ranks", "8"), "/ranks: 4 ranks took part, but --ranks says 8"),
            (net, ("--in-place",), "--in-place chooses columns of nccl-tests"),
            ({**net, "all_reduce": net["all_reduce"][:1]}, (), "1 sizes of all-reduces were measured"),
            ({**net, "all_reduce": net["all_reduce"][::-1]}, (), "/all_reduce/1/bytes: expected more bytes than in the element before"),
            ({**net, "all_reduce": [{"bytes": 4, "quartiles_s": [1, 0, 1]}]}, (), "/all_reduce/0/quartiles_s/1"),
            ({**net, "all_reduce": [{"bytes": 4, "quartiles_s": [1, 1]}]}, (), "/all_reduce/0/quartiles_s: expected [first quartile, median, third quartile]"),
            ({**net, "pairs": []}, (), "/pairs: expected"),
            ({**net, "pairs": [{**net["pairs"][0], "to": 0}]}, (), "/pairs/0/to: expected another rank than"),
            ({**net, "pairs": [{**net["pairs"][0], "to": 4}]}, (), "/pairs/0/to: expected"),
            ({**net, "pairs": [{**net["pairs"][0], "bandwidth_Bps": -1}]}, (), "/pairs/0/bandwidth_Bps: expected"),
            (without(net, "all_gather"), (), "all_gather"),
        )]
        for text, options, message in table:
            with self.subTest(message):
                done = self.fit(text, *options)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertFalse((self.folder / "mine.json").exists())

    def test_a_profile_of_a_distributed_run(self):
        events = [event(6000000, 3000), event(6000000, 2000), event(2500000, 1500, dtype="BFloat16"), event(100, 9e5, name="allgather"), event(100, 200),
                  {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 5, "dur": 1, "args": {"Collective name": "allreduce", "In msg nelems": 7}}]
        for compress in (False, True):
            text = json.dumps({"schemaVersion": 1, "traceEvents": events})
            if compress:
                (self.folder / "run.txt").write_bytes(gzip.compress(text.encode()))
                done = self.simctl("cluster", "fit", "run.txt", "-o", "mine.json", "--gpus-per-node", "4")
            else:
                done = self.fit(text, "--gpus-per-node", "4")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            cluster = self.cluster()
            self.assertEqual((cluster["nodes"], cluster["gpus_per_node"], cluster["fit"]["nodes"]), (2, 4, 8))
            self.assertEqual(cluster["fit"]["points"], [[400, 0.0002], [5000000, 0.0015], [24000000, 0.002]])

    def test_profiles_that_are_refused(self):
        good = [event(6000000, 3000), event(100, 200)]
        for events, options, message in (
                ([], (), "no all-reduce of NCCL says how much it moves"),
                ([event(100, 200, name="allgather")], (), "no all-reduce of NCCL says how much it moves"),
                (good, (), "run.txt: it does not say how many of its 8 ranks share a node; give it with --gpus-per-node"),
                (good[:1], ("--gpus-per-node", "1"), "1 sizes of all-reduces were measured; measure at least two"),
                ([*good, event(5, 10, ranks=4)], (), "all-reduces over 8 ranks and over 4 are in it"),
                ([*good, event(5, 10, dtype="ComplexFloat")], (), 'elements of the type "ComplexFloat"'),
                ([event(size, 10, ranks=1) for size in (1, 2)], (), "its all-reduces are over 1 ranks"),
                (good, ("--ranks", "4"), "8 ranks took part, but --ranks says 4"),
                (good, ("--in-place",), "--in-place chooses columns of nccl-tests"),
                (good, ("--gpus-per-node", "3"), "8 ranks are not a multiple of --gpus-per-node 3")):
            with self.subTest(message):
                done = self.fit(json.dumps({"traceEvents": events}), *options)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn(message, done.stderr)
        done = self.fit(json.dumps({"traceEvents": good})[:-3])
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("not valid JSON", done.stderr)

    def places(self, files):
        shutil.rmtree(self.folder / "pairs", ignore_errors=True)
        (self.folder / "pairs").mkdir()
        for name, content in files.items():
            (self.folder / "pairs" / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        (self.folder / "mine.json").unlink(missing_ok=True)
        return self.simctl("cluster", "fit", "pairs", "-o", "mine.json")

    def test_a_folder_of_pairs(self):
        done = self.places({"tokyo-oregon.json": iperf(523e6), "oregon-tokyo.txt": ping(96.0, 0), "oregon--us-x.json": iperf(1e9), "us-x--oregon.txt": ping(10, 1),
                            "us-x--oregon.json": iperf(2e9), "us-x--tokyo.json": iperf(3e9), "tokyo--us-x.json": iperf(4e9, reverse=0),
                            "us-x--tokyo.txt": ping(20, 5, "round-trip", "stddev")})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cluster = self.cluster()
        self.assertEqual((cluster["name"], cluster["nodes"], [region["name"] for region in cluster["regions"]]), ("pairs", 3, ["oregon", "tokyo", "us-x"]))
        self.assertEqual(cluster["wan"], [
            {"between": ["oregon", "tokyo"], "rtt": 0.096, "bandwidth": 6.5375e7},
            {"between": ["oregon", "us-x"], "rtt": 0.01, "bandwidth": {"up": 1.25e8, "down": 2.5e8}, "latency_jitter": {"distribution": "lognormal", "cv": 0.1}},
            {"between": ["tokyo", "us-x"], "rtt": 0.02, "bandwidth": {"up": 5e8, "down": 3.75e8}, "latency_jitter": {"distribution": "lognormal", "cv": 0.25}}])
        done = self.run_scenario(scenario(cluster="mine.json", schedule={"name": "wfbp"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        # Both ways at once, eight connections, and BusyBox's ping.
        both = iperf(129e6, bidir=1, num_streams=8)
        both["end"]["sum_received_bidir_reverse"] = {"bits_per_second": 40e6}
        self.assertEqual(self.places({"b-a.json": both, "b-a.txt": "round-trip min/avg/max = 76.6/77.1/78.1 ms\n"}).returncode, 0)
        self.assertEqual(self.cluster()["wan"], [{"between": ["a", "b"], "rtt": 0.0771, "bandwidth": {"up": 5e6, "down": 1.6125e7}, "connections": 8}])
        # What ping6 of macOS calls the deviation.
        self.assertEqual(self.places({"a-b.json": iperf(1e9), "a-b.txt": ping(20, 5, "round-trip", "std-dev")}).returncode, 0)
        self.assertEqual((self.cluster()["wan"][0]["rtt"], self.cluster()["wan"][0]["latency_jitter"]["cv"]), (0.02, 0.25))
        # --json-stream writes an event on each line.
        stream = lambda run: "".join(f'{{"event":"{name}","data":{json.dumps(run[name])}}}\n' for name in ("start", "end"))
        self.assertEqual(self.places({"b-a.json": stream(both), "b-a.txt": ping(1, 0)}).returncode, 0)
        self.assertEqual(self.cluster()["wan"], [{"between": ["a", "b"], "rtt": 0.001, "bandwidth": {"up": 5e6, "down": 1.6125e7}, "connections": 8}])
        # With -R the other place sends.
        for back in ({}, {"b-a.json": iperf(2e9)}, {"b-a.json": iperf(2e9, reverse=0)}):
            self.assertEqual(self.places({"a-b.json": iperf(1e9), "b-a.txt": ping(1, 0)} | back).returncode, 0)
            self.assertEqual(self.cluster()["wan"][0]["bandwidth"], {"up": 1.25e8, "down": 2.5e8} if back else 1.25e8)
        self.assertEqual(self.places({"a-b.json": iperf(1e9, reverse=1), "b-a.txt": ping(1, 0), "b-a.json": iperf(2e9, reverse=1)}).returncode, 0)
        self.assertEqual(self.cluster()["wan"][0]["bandwidth"], {"up": 2.5e8, "down": 1.25e8})

    def test_pairs_that_are_refused(self):
        good = {"a-b.json": iperf(1e9), "a-b.txt": ping(10, 1)}
        table = [
            ({}, "pairs: the folder has no files of iperf3 or ping"),
            (good | {"a-c.txt": ping(10, 1)}, "pairs: all pairs of the 3 places must be measured, but 3 files are missing: a-c.json, b-c.json, b-c.txt"),
            (good | {"notes.md": ""}, "notes.md: expected .json (iperf3) or .txt (ping)"),
            (good | {"ab.txt": ping(10, 1)}, "ab.txt: the file's name must consist of two places"),
            (good | {"a-b-c.txt": ping(10, 1)}, "a-b-c.txt: the file's name must consist of two places"),
            (good | {"-b.txt": ping(10, 1)}, "-b.txt: the file's name must consist of two places"),
            (good | {"a-a.txt": ping(10, 1)}, "a-a.txt: the file's name must consist of two different places"),
            (good | {"b-a.txt": ping(10, 1)}, "b-a.txt: another file already has the round trip between a and b"),
            (good | {"b-a.json": iperf(1e9, reverse=1)}, "b-a.json: another file already has the bandwidth from a to b"),
            (good | {"a-b.json": "{"}, "a-b.json"),
            (good | {"a-b.json": {"start": {}}}, 'a-b.json: /: has no "end": it is not the output of iperf3 --json, or was cut off; run iperf3 again'),
            (good | {"a-b.json": {"start": {}, "error": "unable to connect"}}, 'iperf3 says "unable to connect"; run it again'),
            (good | {"a-b.json": "Connecting to host b, port 5201\n"}, "a-b.json: not the output of iperf3 --json, which begins with {; run iperf3 again with --json"),
            (good | {"a-b.json": '{"event":"start","data":{}}\n'}, 'a-b.json: /: has no "end"'),
            (good | {"a-b.json": '{"event":"start","data":{}}\n{"event":"error","data":"unable to connect"}\n'}, 'iperf3 says "unable to connect"; run it again'),
            (good | {"a-b.json": '{"event":"start","data":{}}\n{"event":"en'}, "a-b.json:2: not valid JSON"),
            (good | {"a-b.json": iperf(1e9, protocol="UDP")}, "a-b.json: /start/test_start/protocol: gradients move over TCP; leave -u out"),
            (good | {"a-b.json": iperf(1e9, num_streams=0)}, "a-b.json: /start/test_start/num_streams: expected"),
            (good | {"a-b.json": iperf(0)}, "a-b.json: /end/sum_received/bits_per_second: expected"),
            (good | {"a-b.txt": ""}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": ping(10, 1)[:60]}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": "rtt min/avg/max\n = 1/2/3 ms\n"}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": "rtt min/avg/max/mdev = 1/2/3/4 s\n"}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": ping(0, 0)}, "a-b.txt: a round trip with mean 0 ms and deviation 0 ms, expected a mean above 0"),
            (good | {"a-b.txt": ping(0.2, 250)}, "a-b.txt: a round trip with mean 0.2 ms and deviation 250 ms"),
            (good | {"a-b.txt": ping(1e9, 250)}, "a-b.txt: a round trip with mean 1000000000 ms"),
            (good | {"a-b.txt": "rtt min/avg/max/mdev = 0.1/./900/250 ms"}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": "rtt min/avg/max/mdev = 0.1/1.2.3/900/250 ms"}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": f"rtt min/avg/max/mdev = 0.1/{'1' * 200000}/1/1 ms"}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
        ]
        for files, message in table:
            with self.subTest(message):
                done = self.places(files)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertFalse((self.folder / "mine.json").exists())
        self.places(good)
        for words in (("--ranks", "4"), ("--in-place",), ("--gpus-per-node", "2")):
            done = self.simctl("cluster", "fit", "pairs", "-o", "other.json", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--ranks, --gpus-per-node and --in-place apply to all-reduces", done.stderr)

    def run_of(self, operation, hosts=2, each=2, time=ring):
        """nccl-tests of another operation: the reduction and the root that it prints, and its bus bandwidth."""
        word, root, factor = {"all_reduce": ("sum", "-1", 2), "reduce_scatter": ("sum", "-1", 1), "all_gather": ("none", "-1", 1), "broadcast": ("none", "0", None),
                              "reduce": ("sum", "0", None), "sendrecv": ("none", "-1", None)}[operation]
        ranks = hosts * each
        text = nccl(hosts, each, time, factor=factor or ranks / (ranks - 1))
        return text.replace(" float sum -1 ", f" float {word} {root} ")

    def test_each_operation_has_a_curve(self):
        """Those of one file, those of several, and without all-reduces."""
        slower = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1.5, "broadcast": 3}
        runs = {name: self.run_of(name, time=lambda size, ranks, more=more: more * ring(size, ranks)) for name, more in slower.items()}
        (self.folder / "files").mkdir()
        for names in (["all_reduce", "all_gather"], list(slower), ["reduce_scatter"], ["all_gather", "reduce_scatter"], ["broadcast"]):
            with self.subTest(names):
                self.assertEqual(self.fit("\n".join(runs[name] for name in names)).returncode, 0)
                fits = self.cluster()["fit"]
                fits = {fit["operation"]: fit for fit in (fits if isinstance(fits, list) else [fits])}
                self.assertEqual(set(fits), {name.replace("_", "-") for name in names})
                for name in names:
                    points = fits[name.replace("_", "-")]["points"]
                    self.assertAlmostEqual(points[-1][1] / (slower[name] * ring(points[-1][0], 4)), 1, delta=1e-4)
                one = self.cluster()
                for name in names:
                    (self.folder / "files" / name).write_text(runs[name])
                done = self.simctl("cluster", "fit", *(f"files/{name}" for name in names), "-o", "mine.json", "--name", "run")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.cluster()["fit"], one["fit"])

    def test_schedules_use_the_curve_of_their_operation(self):
        """fsdp's reduce-scatters and all-gathers take ten times as long as before, and so do its iterations' waits."""
        times = []
        for more in (1, 10):
            runs = [self.run_of("all_reduce"), *(self.run_of(name, time=lambda size, ranks: more * ring(size, ranks)) for name in ("reduce_scatter", "all_gather"))]
            self.assertEqual(self.fit("\n".join(runs)).returncode, 0)
            self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "fsdp"})).returncode, 0)
            times.append(float(self.rows()[0]["communication_s"]))
        self.assertAlmostEqual(times[1] / times[0], 10, delta=0.01)
        self.assertEqual(self.fit(self.run_of("reduce_scatter")).returncode, 0)
        self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "wfbp"})).returncode, 0)

    # By mpirun --tag-output (with a time, too), srun --label, mpiexec -l, torchrun, pdsh, docker, docker compose, kubectl and others.
    PREFIXES = ("[1,0]<stdout>:", "Fri Nov 28 17:18:00 2025[1,0]<stdout>:", " 0: ", "[0] ", "[rank0]:", "node-0: ", "2026-01-01T00:00:00.123456789Z ",
                "2026-01-01T00:00:00.1Z stdout F ", "nccl-test-0  | ", "[pod/x-launcher-abc12/main] ", "[rank0] [12:00:01] ", "\x1b[36mhost  |\x1b[0m ")

    def behind(self, prefix, text):
        """The lines after the prefix, with warnings in between."""
        lines = [(prefix + line).rstrip() for line in text.splitlines()]
        for warning in (prefix + "node-1:77:99 [3] NCCL WARN NET/IB : Got async event 1 of 2", "libibverbs: Warning: see # 3", prefix.replace("0", "3") + "bad luck"):
            lines.insert(len(lines) - 2, warning)
        return "\n".join([prefix + "warning: something else", *lines]) + "\n"

    def test_what_launchers_write_before_lines(self):
        plain = nccl(2, 4)
        self.assertEqual(self.fit(plain).returncode, 0)
        want = self.cluster()
        body = plain[plain.index("# nThread"):]
        for prefix in self.PREFIXES:
            with self.subTest(prefix):
                lines = [prefix + line for line in body.splitlines()]
                lines.insert(len(lines) // 2, prefix + "node-1:77:99 [3] NCCL WARN NET/IB : Got async event 1 of 2")
                lines.insert(0, prefix + "warning: something else")
                done = self.fit("\n".join(lines) + "\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.cluster(), want)

    def test_what_launchers_write_before_other_tables(self):
        rows = [(4, 31.5), (1024, 32.5), (1048576, 900.0), (4194304, 3000.0)]
        full = osu_columns(("Avg Latency(us)", "Min Latency(us)", "Validation"), [(4, 30.0, 20.0, "Pass"), (8, 31.0, 20.0, "Pass"), (1048576, 900.0, 20.0, "Pass")], "Allreduce")
        for text in (osu(rows), osu(rows, "Allgather"), osu(rows, "Reduce_scatter"), osu(rows) + osu(rows, "Broadcast"), full, self.deepspeed_table(), self.deepspeed_lines(),
                     self.ds_bench(), self.ds_bench("all_gather", raw=True)):
            self.assertEqual(self.fit(text, "--ranks", 8, "--gpus-per-node", 4).returncode, 0)
            want = self.cluster()
            for prefix in ("", *self.PREFIXES):
                with self.subTest(prefix, text=text):
                    done = self.fit(self.behind(prefix, text), "--ranks", 8, "--gpus-per-node", 4)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.cluster(), want)

    def test_times_and_ranks_before_lines_differ(self):
        """The rest of another program's line, before a head, is no prefix of the rows."""
        rows = [(4, 31.5), (1024, 32.5), (1048576, 900.0)]
        self.assertEqual(self.fit(osu(rows), "--ranks", 8).returncode, 0)
        want = self.cluster()
        lines = osu(rows).splitlines()[1:]
        for text in ("\n".join(f"2026-01-01T00:00:0{i}.{'9' * i}Z {line}" for i, line in enumerate(lines)), "\n".join(f"[{'Mon' if i < 3 else 'Tues'} {i}] {line}" for i, line in enumerate(lines)),
                     "\n".join(f"{' ' * (i % 2)}{9 + i}: {line}" for i, line in enumerate(lines)), "loading" + "\n".join(lines), "loading " + "\n".join(lines)):
            with self.subTest(text):
                done = self.fit(text, "--ranks", 8)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.cluster(), want)

    def named(self, operation, program=None):
        """Newer versions name the program before the head."""
        return self.run_of(operation).replace("# nThread", f"# Collective test starting: {program or operation + '_perf'}\n# nThread")

    def test_runs_whose_programs_are_named(self):
        self.assertEqual(self.fit(self.named("all_reduce") + self.named("reduce_scatter")).returncode, 0)
        self.assertEqual([fit["operation"] for fit in self.cluster()["fit"]], ["all-reduce", "reduce-scatter"])

    def test_versions_that_print_the_largest_deviation(self):
        text = nccl(2, 2).replace("#wrong", " error").replace("      0", "  2e-07")
        self.assertEqual(self.fit(text).returncode, 0)
        self.assertEqual(self.fit(nccl(2, 2)).returncode, 0)

    def with_columns(self, text, *, head, row):
        """The table with other columns: head and row change the list of words of those lines."""
        lines = []
        for line in text.splitlines():
            words = line.split()
            if words[:2] == ["#", "size"]:
                line = "# " + " ".join(head(words[1:]))
            elif words and words[0].isdigit():
                line = " ".join(row(words))
            lines.append(line)
        return "\n".join(lines) + "\n"

    def test_columns_of_other_versions(self):
        """Before 2.11 all_gather_perf and broadcast_perf have no reduction; new options add columns and a date. Refused before: each of these."""
        of_type = lambda names: names[:3] + names[5:]
        of_root = lambda names: names[:3] + names[4:]
        per_iteration = lambda more: lambda words: words[:9] + more + words[9:] + more
        dated = lambda words: words + (["timestamp"] if words[0] == "size" else ["2026-01-01", "10:00:01"])
        statistics, numbers = per_iteration(["i_min", "i_max", "i_p99", "i_cv%"]), per_iteration(["1.00", "2.00", "2.00", "3.1"])
        for operation, head, row in (("all_gather", of_type, of_type), ("broadcast", of_root, of_root), ("all_reduce", statistics, numbers), ("reduce_scatter", dated, dated),
                                     ("broadcast", lambda names: dated(statistics(names)), lambda words: dated(numbers(words)))):
            for options in ((), ("--in-place",)):
                with self.subTest(operation):
                    self.fit(self.run_of(operation), *options)
                    want = self.cluster()
                    done = self.fit(self.with_columns(self.run_of(operation), head=head, row=row), *options)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.cluster(), want)
        cpu = lambda names: [name.replace("time", "cputime") for name in names]
        second = lambda kind: nccl(2, 2).replace("# Out", "\n".join(line for line in nccl(2, 2).replace(*kind).splitlines() if line[:12].strip().isdigit()) + "\n# Out", 1)
        for text, message in ((self.with_columns(nccl(2, 2), head=cpu, row=list), 'run.txt:11: "cputime" is the host\'s time, not the operation\'s; run nccl-tests without -C'),
                              (second((" float ", " half ")), 'run.txt:27: times of "half", but those of line 13 are of "float"; run nccl-tests with one type (-d) and one reduction (-o)'),
                              (second((" sum ", " prod ")), 'run.txt:27: times of "prod", but those of line 13 are of "sum"; run nccl-tests with one type'),
                              (self.with_columns(self.run_of("all_gather"), head=of_type, row=list), "expected the 11 columns of nccl-tests, got 13 words")):
            with self.subTest(message):
                done = self.fit(text)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)
                self.assertIn(message, done.stderr)

    def test_cycles_of_the_same_sizes(self):
        """With -N all sizes are timed again: refused before, as sizes that do not grow. The median counts."""
        slower = lambda more: nccl(2, 2, time=lambda size, ranks: more * ring(size, ranks))
        rows = lambda text: "".join(f"{line}\n" for line in text.splitlines() if line[:12].strip().isdigit())
        self.fit(slower(2))
        want = self.cluster()
        cycles = slower(3).replace("# Out", rows(slower(2)) + rows(slower(1)) + "# Out")
        done = self.fit(cycles)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.cluster(), want)
        run = nccl_json(2, 2, time=lambda size, ranks: 2 * ring(size, ranks))
        self.fit(json.dumps(run))
        want = self.cluster()
        for more in (3, 1):
            run["results"] += nccl_json(2, 2, time=lambda size, ranks, more=more: more * ring(size, ranks))["results"]
        self.assertEqual(self.fit(json.dumps(run)).returncode, 0)
        self.assertEqual(self.cluster(), want)
        cut = cycles.splitlines()
        del cut[40]  # a row of the third cycle
        self.assertIn("run.txt:27: sizes must grow, and 8 bytes come after", self.fit("\n".join(cut)).stderr)

    def test_groups_of_ranks_at_the_same_time(self):
        done = self.fit(nccl(2, 2).replace("#  Rank  3 Group  0", "#  Rank  3 Group  1"))
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("run.txt:8: its ranks are split into several groups (NCCL_TESTS_SPLIT), of which each has the times of its own; run one group\n", done.stderr)

    def test_json_of_new_options(self):
        run = nccl_json(2, 4)
        for result in run["results"]:
            result["out_of_place"]["bitwise"] = {"repeats": 2, "different_elements": 0}
            result["in_place_per_iter"] = result["out_of_place_per_iter"] = {"skipped_iterations": 0, "min_us": 1.0, "times_us": [1.0]}
        self.assertEqual(self.fit(json.dumps(run)).returncode, 0)
        want = self.cluster()
        self.fit(json.dumps(nccl_json(2, 4)))
        self.assertEqual(self.cluster(), want)

    def rccl(self, times, ranks=16, nodes=2, name="AllReduce", factor=2, **more):
        """What rccl-tests -Z json write; times: by size in us, of each cycle."""
        rows = []
        for size, cycles in times.items():
            for cycle, us in enumerate(cycles):
                for in_place in (0, 1):
                    rate = size / us / (1 + in_place) / 1e3
                    rows.append({"numCycle": cycle, "name": name, "nodes": nodes, "ranks": ranks, "ranksPerNode": ranks // nodes, "gpusPerRank": 1, "size": size, "type": "float", "redop": "sum",
                                 "inPlace": in_place, "time": us * (1 + in_place), "algBw": rate, "busBw": rate * factor * (ranks - 1) / ranks, "wrong": 0} | more)
        return rows

    def test_what_other_versions_of_rccl_tests_write(self):
        """Wrong results as texts, a reduce-scatter's received bytes, an object in each line, GPUs in place of ranks, two reductions."""
        times = {1 << size: [20 + (1 << size) / 1e4] for size in range(12, 24)}
        self.assertEqual(self.fit(json.dumps(self.rccl(times, wrong="0"))).returncode, 0)
        fit = self.cluster()["fit"]
        lines = "".join(json.dumps(row) + "\n" for row in self.rccl(times, wrong="N/A"))
        self.assertEqual(self.fit(lines).returncode, 0)
        self.assertEqual(self.cluster()["fit"], fit)
        done = self.fit(json.dumps(self.rccl(times, wrong="37")))
        self.assertEqual(done.returncode, 3)
        self.assertIn("/0/wrong: 37 results were wrong", done.stderr)
        alone = [{key: value for key, value in row.items() if key not in ("nodes", "ranks", "ranksPerNode", "gpusPerRank")} | {"gpus": 16} for row in self.rccl(times)]
        self.assertEqual(self.fit(json.dumps(alone), "--gpus-per-node", "8").returncode, 0)
        self.assertEqual(self.cluster()["fit"], fit)
        done = self.fit(json.dumps([row | {"redop": "sum"} for row in self.rccl(times)] + [row | {"redop": "prod"} for row in self.rccl(times)]))
        self.assertIn("/24/redop: is not sum, as above; run rccl-tests with one reduction (-o)", done.stderr)
        whole = self.rccl(times, name="ReduceScatter", factor=1) + self.rccl(times)
        self.assertEqual(self.fit(json.dumps(whole)).returncode, 0)
        operations = self.cluster()["fit"]
        received = [row | {"size": row["size"] // 16} if row["name"] == "ReduceScatter" else row for row in whole]
        self.assertEqual(self.fit(json.dumps(received)).returncode, 0)
        self.assertEqual(self.cluster()["fit"], operations)

    def test_ddp_data_that_is_inside_something_else(self):
        nested = json.dumps({"ddp": {"world_size": 8, "bucket_sizes": "1000000", "avg_backward_comm_time": 15000000}}, indent=1)
        done = self.fit(nested, "--gpus-per-node", "4")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        two = "".join(f"{{'world_size': 8, 'bucket_sizes': '{size}', 'avg_backward_comm_time': {time}}}\n" for size, time in ((102228128, 15000000), (40000, 400000)))
        done = self.fit(two, "--gpus-per-node", "4")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: run.txt:2: 40000 bytes, but line 1 has 102228128: another model; give each a file of its own\n"))

    def test_what_rccl_tests_write_as_a_list(self):
        times = {1 << 20: [100, 90, 95], 1 << 24: [1500, 1600, 1700]}
        rows = self.rccl(times) + self.rccl(times, name="AllGather", factor=1)
        for options, more in (((), 1), (("--in-place",), 2)):
            done = self.fit(json.dumps(rows, indent=2), *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.cluster()["nodes"], self.cluster()["gpus_per_node"]), (2, 8))
            points = [[1 << 20, 95e-6 * more], [1 << 24, 1600e-6 * more]]
            self.assertEqual({fit["operation"]: fit["points"] for fit in self.cluster()["fit"]}, {"all-reduce": points, "all-gather": points})
        alone = [{key: value for key, value in row.items() if key not in ("nodes", "ranks", "ranksPerNode", "gpusPerRank")} for row in self.rccl(times)]
        self.assertEqual(self.fit(json.dumps(alone), "--ranks", 16, "--gpus-per-node", 8).returncode, 0)
        self.assertEqual((self.cluster()["nodes"], self.cluster()["fit"]["nodes"]), (2, 16))
        self.assertEqual(self.fit(json.dumps(self.rccl(times, ranks=4, nodes=2, gpusPerRank=4, factor=2 * 15 / 16 * 4 / 3))).returncode, 0)
        self.assertEqual((self.cluster()["gpus_per_node"], self.cluster()["fit"]["nodes"]), (8, 16))
        for document, options, message in ((alone, (), "/0: does not tell the number of ranks; give it with --ranks"), (alone, ("--ranks", "16"), "give it with --gpus-per-node"),
                                           (rows, ("--ranks", "4"), "/0/ranks: 16 ranks took part, but --ranks says 4"), (rows + self.rccl(times, type="half"), (), "/24/type: is not float, as above"),
                                           (self.rccl(times, name="AllToAll", factor=1), (), "/0/name: is of an operation that no schedule uses"), (self.rccl(times, wrong=3), (), "/0/wrong: 3 results were wrong"),
                                           (self.rccl(times, factor=1), (), "/0/busBw: a bus bandwidth of"), (self.rccl(times, ranks=15), (), "/0/ranks: 15 ranks on 2 nodes"),
                                           (rows + self.rccl(times, ranks=8), (), "/24: has other ranks than the rows above"), (self.rccl(times, ranks=1, nodes=1), (), "/0/ranks: one rank cannot communicate"),
                                           (self.rccl(times, inPlace=1), (), "no row was measured out of place; use --in-place"), (self.rccl({1 << 20: [90]}), (), "1 sizes of all-reduces were measured"),
                                           (self.rccl(times, time=0), (), "/0/time: is 0"), (self.rccl(times, time=-1), (), "/0/time: expected"), ([{}], (), "type"), (self.rccl(times) + [3], (), "/12")):
            with self.subTest(message):
                done = self.fit(json.dumps(document), *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)
                self.assertIn(message, done.stderr)

    def test_runs_that_cannot_be_told_apart(self):
        one = nccl(2, 2)
        alone = "\n".join([one.splitlines()[1], "#", "# Using devices", "#  Rank  0 Group  0 Pid 1 on a device  0 [0x00] A GPU"])
        table = [(one + one, "2 runs in one file: lines 2-29 and 30-56; two are of all-reduces; give each a file of its own"),
                 (one + nccl(4, 2), "2 runs in one file: lines 2-29 and 30-60; they have different ranks; give each a file of its own"),
                 (alone + "\n" + alone, "2 runs of one rank each: nccl-tests was built without MPI"),
                 (self.run_of("reduce"), "a row of an operation that no schedule uses; run all_reduce_perf"),
                 (self.run_of("sendrecv"), "a row of an operation that no schedule uses"),
                 (self.named("all_gather", "alltoall_perf"), "a row of an operation that no schedule uses"),
                 (self.named("all_reduce") + self.named("all_gather", "alltoall_perf"), "run.txt:43: a row of an operation that no schedule uses")]
        for text, message in table:
            with self.subTest(message):
                done = self.fit(text)
                self.assertEqual(done.returncode, 3)
                self.assertIn(message, done.stderr)
        (self.folder / "other.txt").write_text(one)
        (self.folder / "more.txt").write_text(nccl(4, 4))
        (self.folder / "inside.txt").write_text(nccl(1, 2))
        self.fit(one)
        for other, message in (("other.txt", "other.txt: all-reduces over 4 ranks are also in run.txt; give the file of one run"),
                               ("more.txt", "more.txt: 16 ranks on 4 nodes, but run.txt has 4 on 2; a cluster is measured with as many ranks on every node in all runs"),
                               ("inside.txt", "inside.txt: 2 ranks on 1 nodes, but run.txt has 4 on 2; one node has no network in it; make a cluster of its own of that file")):
            done = self.simctl("cluster", "fit", "run.txt", other, "-o", "x.json")
            self.assertEqual((done.returncode, done.stderr), (3, f"simctl: {message}\n"))

    def inspector(self, coll="AllReduce", size=1 << 20, us=100.0, ranks=8, nodes=2, **more):
        return {"header": {"id": "0x7f", "rank": 2, "n_ranks": ranks, "nnodes": nodes}, "metadata": {"hostname": "h"},
                "coll_perf": {"coll": coll, "coll_sn": 7, "coll_msg_size_bytes": size, "coll_exec_time_us": us} | more}

    def test_what_nccl_s_inspector_logs(self):
        records = [self.inspector(us=130), self.inspector(us=110), self.inspector(size=1 << 24, us=900), self.inspector("AllGather", 1 << 17, 60),
                   self.inspector("AllGather", 1 << 21, 500), self.inspector("ReduceScatter", 1 << 17, 70), self.inspector("ReduceScatter", 1 << 21, 510),
                   self.inspector(ranks=4, nodes=1, us=1), self.inspector("Send"), {"header": {}, "p2p_perf": {}}]
        for indent in (None, 2):
            done = self.fit("\n".join(json.dumps(record, indent=indent) for record in records))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            cluster = self.cluster()
            self.assertEqual((cluster["nodes"], cluster["gpus_per_node"]), (2, 4))
            self.assertEqual({fit["operation"]: fit["points"] for fit in cluster["fit"]},
                             {"all-reduce": [[1 << 20, 0.00011], [1 << 24, 0.0009]], "all-gather": [[1 << 20, 6e-05], [1 << 24, 0.0005]],
                              "reduce-scatter": [[1 << 20, 7e-05], [1 << 24, 0.00051]]})
            self.assertIn("note: groups of 4, 8 ranks are in it; those of 8 count\n", done.stdout)
        # A job has operations of one size, and some that move nothing.
        done = self.fit("\n".join(json.dumps(record) for record in [{"header": {}, "p2p_perf": {}}, *records, self.inspector("Broadcast"), self.inspector(size=0), self.inspector(us=0)]))
        self.assertEqual((done.returncode, len(self.cluster()["fit"])), (0, 3), done.stderr)
        self.assertIn("note: broadcasts have one size, and no fit\n", done.stdout)
        good = json.dumps(self.inspector())
        for text, options, message in (
                (good + "\n{", (), "run.txt: record 2: not valid JSON"), (good, ("--in-place",), "--in-place chooses columns of nccl-tests"),
                (good, (), "1 sizes of all-reduces were measured"), (json.dumps(self.inspector("Send")), (), "no all-reduce, reduce-scatter, all-gather or broadcast"),
                (good, ("--ranks", "4"), "8 ranks took part, but --ranks says 4"), (json.dumps(self.inspector(us=-1)), (), 'record 1: "coll_exec_time_us" is -1, expected a number > 0'),
                (json.dumps(self.inspector(size=1e300)), (), '"coll_msg_size_bytes" is 1e+300'), (json.dumps(self.inspector(ranks=None)), (), '"n_ranks" is missing'),
                (json.dumps(self.inspector(nodes=1e-300)), (), '"nnodes" is 1e-300, expected a whole number'),
                (json.dumps(self.inspector(nodes=3)) + json.dumps(self.inspector(nodes=3, size=5, us=9)), (), "8 ranks on 3 nodes"),
                (json.dumps({"coll_perf": 3}), (), '"coll" is missing')):
            with self.subTest(message):
                done = self.fit(text, *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
                self.assertIn(message, done.stderr)

    def inspected(self, *logs, options=()):
        """Fits files a.log, b.log, ... of the Inspector."""
        names = []
        for name, records in zip("abcdefgh", logs):
            names.append(f"{name}.log")
            (self.folder / names[-1]).write_text("".join(json.dumps(record) + "\n" for record in records))
        return self.simctl("cluster", "fit", *names, "-o", "mine.json", *options)

    def test_nccl_s_inspector_writes_a_file_for_each_process(self):
        """As one file with all ranks' records."""
        ranks = [[self.inspector(us=130), self.inspector(size=1 << 24, us=900), self.inspector("AllGather", 1 << 17, 60)],
                 [self.inspector(us=110), self.inspector(size=1 << 24, us=950), self.inspector("AllGather", 1 << 21, 500)],
                 [self.inspector(us=150), self.inspector(size=1 << 22, us=300), self.inspector(ranks=4, nodes=1, us=1)],
                 [self.inspector(ranks=4, nodes=1, us=1)], [self.inspector("Send"), {"header": {}, "p2p_perf": {}}]]
        self.assertEqual(self.inspected(sum(ranks, [])).returncode, 0)
        want = self.cluster()
        for logs in (ranks, ranks[::-1]):
            done = self.inspected(*logs, options=("--name", "a"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.cluster(), want)
            self.assertIn("a.log and 4 more: NCCL's Inspector over 8 ranks on 2 nodes\n", done.stdout)
            self.assertIn("note: groups of 4, 8 ranks are in them; those of 8 count\n", done.stdout)
        self.assertEqual({fit["operation"]: fit["points"] for fit in want["fit"]},
                         {"all-reduce": [[1 << 20, 0.00011], [1 << 22, 0.0003], [1 << 24, 0.0009]], "all-gather": [[1 << 20, 6e-05], [1 << 24, 0.0005]]})
        # An operation of one size in each file has two in all.
        self.assertEqual(self.inspected(ranks[0][:1], ranks[1][1:2]).returncode, 0)
        # Jobs over other numbers of nodes, with as many ranks on each.
        large = [[self.inspector(us=us, ranks=16, nodes=4), self.inspector(size=1 << 24, us=5 * us, ranks=16, nodes=4)] for us in (500, 400)]
        self.assertEqual(self.inspected(large[0], *ranks, large[1]).returncode, 0)
        fits = [fit for fit in self.cluster()["fit"] if fit["operation"] == "all-reduce"]
        self.assertEqual([fit["nodes"] for fit in fits], [8, 16])
        self.assertEqual([fit["points"] for fit in fits], [[[1 << 20, 0.00011], [1 << 22, 0.0003], [1 << 24, 0.0009]], [[1 << 20, 0.0004], [1 << 24, 0.002]]])

    def test_files_of_several_processes_that_are_refused(self):
        good = [self.inspector(), self.inspector(size=1 << 24, us=900)]
        for logs, options, message in (
                ((good, [self.inspector(nodes=4)]), (), "b.log: 8 ranks on 4 nodes, but a.log has them on 2; give the files of one job"),
                ((good, [self.inspector(), self.inspector(us=-1)]), (), 'b.log: record 2: "coll_exec_time_us" is -1, expected a number > 0'),
                ((good[:1], good[:1]), (), "a.log and 1 more: 1 sizes of all-reduces were measured; measure at least two"),
                (([self.inspector("Send")], [self.inspector("Recv")]), (), "a.log and 1 more: no all-reduce, reduce-scatter, all-gather or broadcast over several ranks is in them"),
                ((good, good), ("--ranks", "4"), "a.log and 1 more: 8 ranks took part, but --ranks says 4"),
                ((good, good), ("--in-place",), "a.log: --in-place chooses columns of nccl-tests")):
            with self.subTest(message):
                done = self.inspected(*logs, options=options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
                self.assertIn(message, done.stderr)
        self.inspected(good, good)
        (self.folder / "other.txt").write_text(nccl(2, 4))
        done = self.simctl("cluster", "fit", "a.log", "other.txt", "b.log", "-o", "x.json")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: a.log and 1 more: all-reduces over 8 ranks are also in other.txt; give the file of one run\n"))
        # Other logs have one file for each job.
        for name in ("one.txt", "two.txt"):
            (self.folder / name).write_text(self.deepspeed_table())
        done = self.simctl("cluster", "fit", "one.txt", "two.txt", "-o", "x.json", "--ranks", "8", "--gpus-per-node", "4")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: two.txt: all-reduces over 8 ranks are also in one.txt; give the file of one run\n"))

    DEEPSPEED_HEAD = "Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)\n"

    def deepspeed_table(self):
        row = "                    {:20s}{:20s}{:20s}{:20s}{:20s}{:20s}\n"
        table = self.DEEPSPEED_HEAD + "all_reduce\n" + row.format("1.0 MB", "3", "1.5", "0.5", "1", "1") + row.format("16.0 MB", "3", "9", "3.0", "1", "1")
        table += "all_gather_into_tensor\n" + row.format("256.0 KB", "2", "1", "0.5", "1", "1") + row.format("2.0 MB", "2", "4", "2.0", "1", "1")
        table += "barrier | [Caller Func: step]\n" + row.format("0 B", "2", "4", "2.0", "0", "0") + row.format("1.0 MB", "2", "4", "0.1", "0", "0")
        return table + "_______\nBreakdown with straggler effect\n" + self.DEEPSPEED_HEAD + "all_reduce\n" + row.format("1.0 MB", "3", "1.5", "1.4", "0.03", "0.01")

    def deepspeed_lines(self):
        return "".join(f"[INFO] [utils.py:35:log] rank=0 | comm op: {op} | time (ms): {ms} | msg size: {size} | algbw (Gbps): 1.0 | busbw (Gbps): 1.0\n"
                       for op, ms, size in (("all_reduce", 0.7, "1.0 MB"), ("all_reduce", 0.5, "1.0 MB"), ("all_reduce", 3.0, "16.0 MB"), ("barrier", 1.0, "0 B"),
                                            ("all_gather_into_tensor", 0.5, "256.0 KB"), ("all_gather_into_tensor", 2.0, "2.0 MB")))

    def ds_bench(self, operation="all_reduce", ranks=8, raw=False):
        """What DeepSpeed's ds_bench --scan prints."""
        text = f"\n---- Performance of {operation} on {ranks} devices {'-' * 57}\n{'Size (Bytes)':20s} {'Description':25s} {'Duration':20s} {'Throughput (Gbps)':20s} {'BusBW (Gbps)':20s}\n{'-' * 100}\n"
        for size, elements, us in (("100.0 B", 50, 40.5), ("1.0 MB", 1 << 19, 200.25), ("16.0 MB", 1 << 23, 3000.5)):
            duration = f"{us:.3f}" if raw else f"{us:.3f} us" if us < 1e3 else f"{us / 1e3:.4f} ms"
            text += f"{2 * elements if raw else size:<20} {f'{elements}x2':25s} {duration:20s} {'1.000':20s} {'1.000':20s}\n"
        return text

    def test_ds_bench(self):
        for raw in (False, True):
            done = self.fit(self.ds_bench(raw=raw) + self.ds_bench("all_gather", raw=raw) + self.ds_bench("all_to_all", raw=raw) + self.ds_bench("pt2pt", 2, raw), "--gpus-per-node", 4)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.cluster()["nodes"], self.cluster()["gpus_per_node"]), (2, 4))
            self.assertEqual({fit["operation"]: fit["points"] for fit in self.cluster()["fit"]},
                             {"all-reduce": [[100, 4.05e-05], [1 << 20, 0.00020025], [1 << 24, 0.0030005]], "all-gather": [[800, 4.05e-05], [1 << 23, 0.00020025], [1 << 27, 0.0030005]]})
        good = self.ds_bench()
        for text, options, message in ((good, (), "run.txt: it does not say how many of its 8 ranks share a node; give it with --gpus-per-node"),
                                       (good, ("--ranks", "4"), "run.txt:2: 8 ranks took part, but --ranks says 4"), (good, ("--in-place",), "run.txt:2: --in-place chooses columns of nccl-tests"),
                                       (self.ds_bench("all_to_all"), (), "run.txt:2: no all-reduce, all-gather or broadcast was timed"),
                                       (good.replace("on 8", "on 1"), (), "run.txt:2: expected at least two devices"), (good.replace("on 8", "on many"), (), 'expected a number of devices as word 6, got "many"'),
                                       (good + self.ds_bench("broadcast", 4), (), "run.txt:9: 4 devices, but 8 above; give each run a file of its own"),
                                       (good.replace("8388608x2", "infx2").replace("524288x2", "1e300x2"), ("--gpus-per-node", "8"), "1 sizes of all-reduces were measured"),
                                       (good.replace("40.500", "soon"), (), 'run.txt:5: expected a time as word 4, got "soon"')):
            with self.subTest(message):
                done = self.fit(text, *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
                self.assertIn(message, done.stderr)

    def test_what_deepspeed_logs(self):
        table, lines = self.deepspeed_table(), self.deepspeed_lines()
        head = self.DEEPSPEED_HEAD
        for text in (table, lines):
            done = self.fit(text, "--ranks", 8, "--gpus-per-node", 4)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual({fit["operation"]: fit["points"] for fit in self.cluster()["fit"]},
                             {"all-reduce": [[1 << 20, 0.0005], [1 << 24, 0.003]], "all-gather": [[1 << 21, 0.0005], [1 << 24, 0.002]]})
            self.assertIn("synchronises before and after each operation", done.stdout)
        for text, options, message in ((table, (), "give it with --ranks"), (table, ("--ranks", "8"), "give it with --gpus-per-node"),
                                       (head, ("--ranks", "8", "--gpus-per-node", "8"), "no all-reduce, reduce-scatter, all-gather or broadcast is in it"),
                                       (lines.replace("0.7", "nan"), ("--ranks", "8", "--gpus-per-node", "8"), 'run.txt:1: expected a size such as "1.22 MB" and a time in ms'),
                                       (lines.replace("16.0 MB", "inf MB"), ("--ranks", "8", "--gpus-per-node", "8"), 'run.txt:3: expected a size such as "1.22 MB" and a time in ms, got "inf MB"'),
                                       (table, ("--ranks", "8", "--in-place"), "--in-place chooses columns of nccl-tests")):
            with self.subTest(message):
                done = self.fit(text, *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
                self.assertIn(message, done.stderr)

    def test_what_ddp_counts(self):
        log = {"world_size": 8, "rank": 0, "module_name": "ResNet", "bucket_sizes": "1000000", "rebuilt_bucket_sizes": "26000000, 4000000", "avg_forward_compute_time": 30000000,
               "avg_backward_compute_time": 60000000, "avg_backward_comm_time": 15000000, "avg_backward_compute_comm_overlap_time": 12000000}
        for text in (json.dumps(log), repr(log)):
            done = self.fit(text, "--gpus-per-node", 8)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            fit = self.cluster()["fit"]
            self.assertEqual((fit["nodes"], fit["a_s"], fit["b_s_per_B"]), (8, 0, 5e-10))
            self.assertIn("note: of the job: forward 30 ms, backward 60 ms, communication 15 ms, of which 12 ms beside backward\n", done.stdout)
            self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "wfbp"})).returncode, 0)
        for change, message in (({"avg_backward_comm_time": 0}, "no communication was timed yet"), ({"rebuilt_bucket_sizes": "1, x"}, 'expected bytes such as "26214400, 4096000"'),
                                ({"world_size": 1}, "/world_size: expected"), ({"avg_backward_comm_time": -1}, "/avg_backward_comm_time: expected")):
            done = self.fit(json.dumps(log | change), "--gpus-per-node", 8)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(message, done.stderr)

    def test_ddp_s_data_in_a_log(self):
        log = {"world_size": 8, "rank": 0, "module_name": "ResNet", "bucket_sizes": "1000000", "rebuilt_bucket_sizes": "26000000, 4000000", "avg_forward_compute_time": 30000000,
               "avg_backward_compute_time": 60000000, "avg_backward_comm_time": 15000000, "avg_backward_compute_comm_overlap_time": 12000000, "nccl_socket_ifname": "eth0"}
        self.assertEqual(self.fit(repr(log), "--gpus-per-node", 8).returncode, 0)
        want = self.cluster()
        for text in (repr(log), json.dumps(log), json.dumps(log, indent=2), pprint.pformat(log)):
            for prefix in ("", "ddp: ", *self.PREFIXES):
                with self.subTest(prefix, text=text):
                    done = self.fit(f"{prefix}epoch 3 {{'loss': 0.25}}\n" + "".join(f"{prefix}{line}\n" for line in text.splitlines()) + f"{prefix}it's done\n", "--gpus-per-node", 8)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.cluster(), want)
        # pprint breaks long texts.
        many = log | {"rebuilt_bucket_sizes": ", ".join(["1000000"] * 30), "prev_iteration_grad_ready_order_indices": ", ".join(str(i) for i in range(160)), "comm_hook": "  "}
        self.assertIn("'\n", pprint.pformat(many))
        done = self.fit("".join(f"[rank0]:{line}\n" for line in pprint.pformat(many).splitlines()), "--gpus-per-node", 8)
        self.assertEqual((done.returncode, done.stderr, self.cluster()), (0, "", want))
        # All ranks print theirs, the last one to arrive the shortest, and one nothing yet.
        times = [17000000, 0, 15000000, 16000000]
        done = self.fit("".join(f"[1,{rank}]<stdout>:{log | {'rank': rank, 'avg_backward_comm_time': time}}\n" for rank, time in enumerate(times)), "--gpus-per-node", 8)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.cluster(), want)
        self.assertIn("note: the data of 4 ranks or moments is in it; that of line 3 counts, with the shortest communication: others wait longer\n", done.stdout)
        lines = [f"0: {log | {'avg_backward_comm_time': 0}}", f"1: {log | {'world_size': 4}}"]
        for text, options, message in (("\n".join(lines), (), "run.txt:2: 4 ranks, but line 1 has 8; give each run a file of its own"), (lines[0] + "\n" + lines[0], (), "run.txt:1: no communication was timed yet"),
                                       (repr(log)[:-1], (), 'run.txt:1: "avg_backward_comm_time" is in no whole dictionary'), ("x\n" + repr(log)[1:], (), 'run.txt:2: "avg_backward_comm_time" is in no whole dictionary'),
                                       (f"{log}\n{log | {'rank': 'x' * 9, 'bucket_sizes': 3, 'rebuilt_bucket_sizes': ''}}", (), "run.txt:2: /bucket_sizes: expected"),
                                       (repr(log), ("--in-place",), "run.txt:1: --in-place chooses columns of nccl-tests"), (repr(log), ("--ranks", "4"), "run.txt:1: 8 ranks took part, but --ranks says 4")):
            with self.subTest(message):
                done = self.fit(text, "--gpus-per-node", 4, *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)
                self.assertIn(message, done.stderr)

    def test_few_samples_of_a_job_are_no_measurement(self):
        events = [event(6000000, us) for us in (5000, 3000, 2000)] + [event(100, us) for us in (200, 201, 202, 203, 204)]
        done = self.fit(json.dumps({"traceEvents": events}), "--gpus-per-node", "8")
        self.assertEqual(done.returncode, 0)
        self.assertIn("note: 1 of 2 sizes have fewer than 5 samples, or most of them wait for late ranks: that is no measurement; time them with nccl-tests\n", done.stdout)

    def iteration(self, *sets, cluster="mine.json"):
        arguments = [argument for text in sets for argument in ("--set", text)]
        (self.folder / "s.json").write_text(json.dumps(scenario(cluster=cluster, schedule={"name": "s-sgd"})))
        done = self.simctl("run", "s.json", "-o", "out", "--force", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(self.rows()[0]["communication_s"]), done.stdout

    def test_a_fit_is_carried_to_another_link(self):
        """Twice the bandwidth of the link that it was measured at halves what of each time is no latency."""
        self.fit(nccl(8, 1))
        plain = self.cluster()
        without_reference = copy.deepcopy(plain)
        del without_reference["fit"]["measured_at"]
        (self.folder / "old.json").write_text(json.dumps(without_reference))
        link = plain["link"]
        for cluster in ("mine.json", "old.json"):
            with self.subTest(cluster):
                base, notes = self.iteration(cluster=cluster)
                self.assertNotIn("carried", notes)
                same, _ = self.iteration(f"/cluster/link/bandwidth={link['bandwidth']}", cluster=cluster)
                self.assertEqual(same, base)
                twice, notes = self.iteration(f"/cluster/link/bandwidth={2 * link['bandwidth']}", cluster=cluster)
                self.assertIn("carried from the link that it was measured at", notes)
                slow, _ = self.iteration(f"/cluster/link/bandwidth={link['bandwidth'] / 2}", cluster=cluster)
                # T = L + B: with L + B / 2 and L + 2 B.
                self.assertAlmostEqual((base - twice) * 2, slow - base, delta=1e-9)
                late, _ = self.iteration(f"/cluster/link/latency={3 * link['latency']}", cluster=cluster)
                self.assertAlmostEqual(late - base, 2 * (base - 2 * (base - twice)), delta=1e-9)

    def test_what_a_fit_is_carried_by(self):
        """A link's efficiency is that of what was measured unless the fit says another; interfaces add up; one node uses no link."""
        self.fit(nccl(8, 1))
        good = self.cluster()
        base, _ = self.iteration()
        link = {"bandwidth": good["link"]["bandwidth"], "latency": good["link"]["latency"]}
        (self.folder / "e.json").write_text(json.dumps(good | {"link": link | {"efficiency": 0.5}}))
        self.assertEqual(self.iteration(cluster="e.json")[0], base)
        twice, _ = self.iteration(f"/cluster/link/bandwidth={2 * link['bandwidth']}")
        del good["fit"]["measured_at"]
        (self.folder / "n.json").write_text(json.dumps(good))
        self.assertAlmostEqual(self.iteration("/cluster/nics=2", cluster="n.json")[0], twice, delta=1e-12)
        self.fit(nccl(1, 8))
        self.assertNotIn("measured_at", self.cluster()["fit"])
        self.assertEqual(self.iteration(f"/cluster/link/bandwidth={2 * self.cluster()['link']['bandwidth']}")[0], self.iteration()[0])
        # The reduction is scaled once, whatever the order of the fits.
        fits = [fit | {"measured_at": {"bandwidth": 1e9}} for fit in ({"operation": "all-reduce", "nodes": 8, "algorithm": "ring", "a_s": 1e-3, "b_s_per_B": 1e-9},
                                                                      {"operation": "all-gather", "nodes": 8, "algorithm": "ring", "a_s": 1e-3, "b_s_per_B": 5e-10})]
        times = []
        for order in (fits, fits[::-1]):
            (self.folder / "r.json").write_text(json.dumps({"format": "cluster/1", "name": "r", "nodes": 8, "link": {"bandwidth": 2e9, "latency": 1e-5},
                                                            "reduce_s_per_B": 5e-12, "fit": order}))
            times.append(self.iteration('/all_reduce="recursive-doubling"', cluster="r.json")[0])
        self.assertEqual(*times)

    def test_solve_and_sweeps_answer_which_bandwidth(self):
        self.fit(nccl(8, 1))
        bandwidth = self.cluster()["link"]["bandwidth"]
        sweep = {"/cluster/link/bandwidth": [bandwidth / 2, bandwidth, 2 * bandwidth]}
        self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "s-sgd"}, sweep=sweep)).returncode, 0)
        times = [float(row["communication_s"]) for row in self.rows()]
        self.assertGreater(times[0], 1.1 * times[1])
        self.assertGreater(times[1], 1.1 * times[2])
        (self.folder / "s.json").write_text(json.dumps(scenario(cluster="mine.json", schedule={"name": "s-sgd"})))
        done = self.simctl("solve", "s.json", "--for", "/cluster/link/bandwidth", "--from", f"{bandwidth / 4e9}GBps", "--to", f"{4 * bandwidth / 1e9}GBps", "--until",
                           f"communication_s <= {0.8 * times[1]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"from [\d.]+GBps")

    def test_what_a_fit_cannot_be_carried_from(self):
        self.fit(nccl(8, 1))
        good = self.cluster()
        for measured_at, message in (({"bandwidth": 0}, "/fit/measured_at/bandwidth: expected"), ({"latency": 0}, "/fit/measured_at/latency: expected a latency > 0, since the cluster's link has one"),
                                     ({"rtt": 1}, "/fit/measured_at/rtt"), (3, "/fit/measured_at")):
            (self.folder / "bad.json").write_text(json.dumps(good | {"fit": good["fit"] | {"measured_at": measured_at}}))
            done = self.simctl("show", "bad.json")
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(message, done.stderr)

    def matrix(self, gpus=4, word=lambda a, b: "NV12", nics=("mlx5_0", "mlx5_1"), escapes=True, numbered=True):
        """What nvidia-smi topo -m prints: interface i is nearest to GPU 2 i and 2 i + 1."""
        names = [f"NIC{i}" for i in range(len(nics))] if numbered else list(nics)
        head = "\t" + "\t".join([*(f"GPU{i}" for i in range(gpus)), *names]) + "\tCPU Affinity\tNUMA Affinity"
        lines = [f"\x1b[4m{head}\x1b[0m" if escapes else head]
        near = lambda gpu, nic: "PXB" if gpu // 2 == nic else "SYS"
        for gpu in range(gpus):
            lines.append("\t".join([f"GPU{gpu}", *(" X " if other == gpu else word(gpu, other) for other in range(gpus)), *(near(gpu, nic) for nic in range(len(nics))), "0-23", "0"]))
        for nic, name in enumerate(names):
            lines.append("\t".join([name, *(near(gpu, nic) for gpu in range(gpus)), *(" X " if other == nic else "SYS" for other in range(len(nics)))]))
        lines += ["", "Legend:", "", "  X    = Self", "  SYS  = Connection traversing PCIe", ""]
        return "\n".join(lines + (["NIC Legend:", "", *(f"  {name}: {real}" for name, real in zip(names, nics)), ""] if numbered else []))

    SYSTEM = ('<system version="1"><cpu numaid="0"><pci busid="0" class="0x060400"><pci busid="1"><gpu dev="0" sm="90"><nvlink target="0" count="12"/><nvlink target="1" count="6"/>'
              '</gpu></pci><pci busid="2"><nic><net name="mlx5_0" dev="0" speed="400000"/></nic></pci></pci><pci busid="3" class="0x060400"><pci busid="4"><gpu dev="1" sm="90">'
              '<nvlink target="0" count="18"/></gpu></pci><pci busid="5"><nic><net name="mlx5_1" dev="1" speed="400000"/></nic></pci></pci></cpu></system>')

    def test_the_topology_of_a_node(self):
        near = "interface  Gb/s  nearest to GPUs\n--------------------------------\nmlx5_0        -             0, 1\nmlx5_1        -             2, 3\n"
        for options in ({}, {"escapes": False}, {"numbered": False}):
            done = self.fit(self.matrix(**options))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(near, done.stdout)
            cluster = self.cluster()
            self.assertEqual((cluster["nodes"], cluster["gpus_per_node"], cluster["intra_node"]), (1, 4, {"bandwidth": 3e11, "latency": 3.4e-6, "efficiency": 0.8}))
            self.assertTrue(cluster["source"].startswith("nominal: "))
        # Unlike counts: links between GPUs. All ten of each are in use: five rings, in both directions.
        self.fit(self.matrix(word=lambda a, b: "NV2" if a + b == 3 else "NV4"))
        self.assertEqual(self.cluster()["intra_node"]["bandwidth"], 2.5e11)
        # As many between all pairs may lead to switches: only these count for sure.
        done = self.fit(self.matrix(word=lambda a, b: "NV4"))
        self.assertEqual(self.cluster()["intra_node"]["bandwidth"], 1e11)
        self.assertIn("if these lead to other GPUs, not to switches, it is 3 times as much", done.stdout)
        self.assertNotIn("if these lead", self.fit(self.matrix(word=lambda a, b: "NV12")).stdout)
        self.fit(self.matrix(word=lambda a, b: "NODE" if a + b == 3 else "PIX"))
        self.assertEqual(self.cluster()["intra_node"], {"bandwidth": 3.15e10, "latency": 5.7e-6, "efficiency": 0.762})
        done = self.fit(self.SYSTEM)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("mlx5_0      400                0\nmlx5_1      400                1\n", done.stdout)
        self.assertEqual((self.cluster()["intra_node"]["bandwidth"], self.cluster()["link"], self.cluster()["nics"]),
                         (4.5e11, {"bandwidth": 5e10, "latency": 9.6e-6, "efficiency": 0.96}, 2))
        self.assertEqual(self.run_scenario(scenario(cluster="mine.json", schedule={"name": "wfbp"}), "--set", "/cluster/nodes=2").returncode, 0)

    # The hybrid cube mesh of a DGX-1 with eight V100: 0 where no NVLink is. Its links of two NVLinks are a ring: 0 3 2 1 5 6 7 4.
    CUBE_MESH = ((0, 1, 1, 2, 2, 0, 0, 0), (1, 0, 2, 1, 0, 2, 0, 0), (1, 2, 0, 2, 0, 0, 1, 0), (2, 1, 2, 0, 0, 0, 0, 1), (2, 0, 0, 0, 0, 1, 1, 2), (0, 2, 0, 0, 1, 0, 2, 1),
                 (0, 0, 1, 0, 1, 2, 0, 2), (0, 0, 0, 1, 2, 1, 2, 0))

    def system(self, links, gpus=8, capability=70, speed="16.0 GT/s PCIe", width="16", per_switch=2, per_cpu=4):
        """NCCL's topology: `per_cpu` GPUs at a CPU, `per_switch` behind a PCIe switch with an interface. links(gpu): lines <nvlink>."""
        lines, number = ['<system version="1">'], 0
        for cpu in range(0, gpus, per_cpu):
            lines.append(f'<cpu host_hash="0x9f" numaid="{cpu // per_cpu}" affinity="00ff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">')
            for switch in range(cpu, min(gpus, cpu + per_cpu), per_switch):
                lines.append(f'<pci busid="0000:f{switch}:00.0" class="0x060400" vendor="0x1000" device="0xc010" link_speed="16.0 GT/s PCIe" link_width="16">')
                for gpu in range(switch, min(gpus, switch + per_switch)):
                    lines.append(f'<pci busid="0000:0{gpu}:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="{speed}" link_width="{width}">'
                                 f'<gpu dev="{gpu}" sm="{capability}" rank="{gpu}" gdr="1">{"".join(links(gpu))}</gpu></pci>')
                lines.append(f'<pci busid="0000:e{switch}:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_{number}" dev="{number}" speed="200000" '
                             'port="1" latency="0.000000" guid="0x1" maxconn="262144" gdr="1"/></nic></pci></pci>')
                number += 1
            lines.append("</cpu>")
        return "\n".join([*lines, "</system>"])

    @staticmethod
    def nvlinks(counts, kind="0x030200"):
        return [f'<nvlink target="0000:0{gpu}:00.0" count="{count}" tclass="{kind}"/>' for gpu, count in enumerate(counts) if count]

    def test_unlike_links_between_gpus(self):
        """Rings through all GPUs at a time, worked out by hand, in both directions; else the narrowest link of the best ring."""
        mesh = self.CUBE_MESH
        words = lambda counts: lambda a, b: f"NV{counts[a][b]}" if counts[a][b] else "NODE" if a // 4 == b // 4 else "SYS"
        pairs = [[4 if a // 2 == b // 2 else 0 for b in range(8)] for a in range(8)]
        square = [[0, 2, 0, 1], [2, 0, 1, 0], [0, 1, 0, 2], [1, 0, 2, 0]]
        star = [[0, 2, 2, 2], [2, 0, 0, 0], [2, 0, 0, 0], [2, 0, 0, 0]]
        best = "the narrowest link of the best ring through all GPUs, as collectives go round"
        rings = "ring{} at a time through all GPUs, in both directions"
        table = [(mesh, 1.5e11, f"NV6: 6 NVLinks of nominally 25 GB/s (NVLink 2 to 4; 5 has 50, bridges of A40, A6000 and RTX 3090 have 14); taken: 3 {rings.format('s')}"),
                 ([[min(1, count) for count in row] for row in mesh], 1e11, f"taken: 2 {rings.format('s')}"),
                 (pairs, 3.15e10, f"SYS: nominally 31.5 GB/s (PCIe 4.0 x16; 3.0 has half, 5.0 twice); pairs of GPUs are joined 4 by NV4, 8 by NODE, 16 by SYS; taken: SYS, {best}"),
                 (square, 5e10, f"taken: 1 {rings.format('')}"),
                 (star, 3.15e10, f"pairs of GPUs are joined 3 by NV2, 3 by NODE; taken: NODE, {best}")]
        for counts, bandwidth, text in table:
            with self.subTest(text):
                done = self.fit(self.matrix(gpus=len(counts), word=words(counts)))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual((self.cluster()["gpus_per_node"], self.cluster()["intra_node"]["bandwidth"]), (len(counts), bandwidth))
                self.assertIn(text, self.cluster()["source"])
                self.assertIn(text, done.stdout)
                self.assertTrue(self.cluster()["source"].startswith("nominal: "))
        # Many GPUs
        done = self.fit(self.matrix(gpus=17, word=lambda a, b: "NV1" if a + b == 1 else "NV2"))
        self.assertEqual(self.cluster()["intra_node"]["bandwidth"], 2.5e10)
        self.assertIn("taken: NV1, the narrowest, since rings are looked for among at most 16 GPUs", done.stdout)
        self.fit(self.matrix(gpus=16, word=lambda a, b: "NV1" if a + b == 1 else "NV2"))
        self.assertEqual(self.cluster()["intra_node"]["bandwidth"], 5e10)
        # Ways through PCIe have one figure, and pairs are not counted.
        self.assertNotIn("pairs", self.fit(self.matrix(word=lambda a, b: "SOC" if a + b == 3 else "PIX")).stdout)

    def test_nccl_s_topologies(self):
        switches = lambda gpu: [f'<nvlink target="0000:c{switch}:00.0" count="2" tclass="0x068000"/>' for switch in range(6)]
        mesh = lambda gpu: self.nvlinks(self.CUBE_MESH[gpu])
        pairs = lambda gpu: self.nvlinks([4 if gpu // 2 == other // 2 else 0 for other in range(8)])
        power = lambda gpu: self.nvlinks([3 if gpu // 2 == other // 2 and gpu != other else 0 for other in range(4)]) + ['<nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>']
        best = "taken: {}, the narrowest link of the best ring through all GPUs, as collectives go round"
        table = [(self.system(switches, capability=80), 3e11, "NV12: 12 NVLinks of nominally 25 GB/s\n"), (self.system(switches, capability=100), 6e11, "NV12: 12 NVLinks of nominally 50 GB/s\n"),
                 (self.system(mesh), 1.5e11, "NV6: 6 NVLinks of nominally 25 GB/s; taken: 3 rings at a time through all GPUs, in both directions"),
                 (self.system(lambda gpu: self.nvlinks([4 if other != gpu else 0 for other in range(4)]), gpus=4), 3e11, "NV12: 12 NVLinks of nominally 25 GB/s; taken: 6 rings at a time"),
                 (self.system(pairs, capability=86, speed="8.0 GT/s PCIe"), 15753800000, "SYS: nominally 15.75 GB/s (PCIe, 8 GT/s x16); pairs of GPUs are joined 4 by NV4, 8 by PHB, 16 by SYS; " + best.format("SYS")),
                 (self.system(pairs, gpus=2, capability=86), 5.624e10, "NV4: 4 NVLinks of nominally 14.06 GB/s\n"),
                 (self.system(lambda gpu: [], speed="5 GT/s", width="8"), 4e9, "SYS: nominally 4 GB/s (PCIe, 5 GT/s x8)\n"),
                 (self.system(lambda gpu: [], gpus=4, speed="", width="0"), 3.15e10, "PHB: nominally 31.5 GB/s (PCIe 4.0 x16; 3.0 has half, 5.0 twice)\n"),
                 (self.system(lambda gpu: [], gpus=2), 31507700000, "PIX: nominally 31.51 GB/s (PCIe, 16 GT/s x16)\n"),
                 # NVLinks to the CPUs of IBM's AC922 join no GPUs.
                 (self.system(power, gpus=4, per_cpu=2), 31507700000, "SYS: nominally 31.51 GB/s (PCIe, 16 GT/s x16); pairs of GPUs are joined 2 by NV3, 4 by SYS; " + best.format("SYS"))]
        for text, bandwidth, said in table:
            with self.subTest(said):
                done = self.fit(text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.cluster()["intra_node"]["bandwidth"], bandwidth)
                self.assertIn(f"joined by {said}", done.stdout)
                self.assertEqual((self.cluster()["gpus_per_node"], self.cluster()["nics"], self.cluster()["link"]["bandwidth"]), (text.count("<gpu "), text.count("<net "), 2.5e10))
        self.assertRegex(self.fit(self.system(switches)).stdout, r"mlx5_1 +200 +2, 3\n")
        done = self.fit(self.system(lambda gpu: ['<xgmi target="0000:01:00.0" count="1" tclass="0x038000"/>']))
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: run.txt: GPUs of AMD, joined by xGMI, are not read; give the cluster's intra_node yourself\n"))

    def test_what_launchers_write_before_a_topology(self):
        mesh = self.CUBE_MESH
        text = self.matrix(gpus=8, word=lambda a, b: f"NV{mesh[a][b]}" if mesh[a][b] else "SYS")
        self.assertEqual(self.fit(text).returncode, 0)
        want = self.cluster()
        near = "mlx5_0        -  0, 1, 4, 5, 6, 7\nmlx5_1        -  2, 3, 4, 5, 6, 7\n"
        for prefix in ("", *self.PREFIXES):
            with self.subTest(prefix):
                done = self.fit(self.behind(prefix, text))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.cluster(), want)
                self.assertIn(near, done.stdout)
        # Several processes of a node print it one after the other, or line by line.
        lines = [[f"[1,{rank}]<stdout>:{line}" for line in text.splitlines()] for rank in range(3)]
        for text in (sum(lines, []), [line for row in zip(*lines) for line in row]):
            self.assertEqual(self.fit("\n".join(text)).returncode, 0)
            self.assertEqual(self.cluster(), want)
        other = self.matrix(gpus=8, word=lambda a, b: f"NV{max(1, mesh[a][b])}" if a + b != 3 else "SYS")
        for second, message in ((other, "run.txt:23: another row of GPU0, of another node; give the output of one node"),
                                (self.matrix(gpus=4), "run.txt:22: another node's matrix, with other columns; give the output of one node")):
            self.assertIn(message, self.fit(self.matrix(gpus=8, word=lambda a, b: "NV12") + second).stderr)

    def test_a_topology_beside_a_benchmark(self):
        (self.folder / "topo.txt").write_text(self.matrix())
        (self.folder / "system.xml").write_text(self.SYSTEM)

        def fit(text, topology, *options):
            (self.folder / "run.txt").write_text(text)
            return self.simctl("cluster", "fit", "run.txt", topology, "-o", "mine.json", *options)

        done = fit(nccl(2, 4), "topo.txt")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.cluster()["gpus_per_node"], self.cluster()["intra_node"]["bandwidth"], self.cluster()["fit"]["nodes"]), (4, 3e11, 8))
        # It tells how many GPUs a node has where the other file does not.
        done = fit(json.dumps({"traceEvents": [event(6000000, 3000), event(100, 200)]}), "topo.txt")
        self.assertEqual((done.returncode, self.cluster()["nodes"], self.cluster()["gpus_per_node"]), (0, 2, 4))
        self.assertIn("note: 2 of a node's 4 GPUs took part\n", fit(nccl(2, 2), "topo.txt").stdout)
        done = fit(nccl(2, 2, time=lambda size, ranks: ring(size, ranks, rate=200e9)), "system.xml")
        self.assertIn("note: the links derived, 1600 Gb/s, exceed the 800 Gb/s of a node's interfaces: they stand for what NCCL does inside nodes, too, not for a cable\n", done.stdout)
        self.assertNotIn("exceed", fit(nccl(2, 2), "system.xml").stdout)
        done = fit(nccl(1, 8), "topo.txt")
        self.assertEqual((done.returncode, done.stderr),
                         (3, "simctl: topo.txt: a node has 4 GPUs, but 8 ranks of run.txt share one; give the topology of the nodes that were measured\n"))
        self.assertIn("system.xml: topo.txt is a node's topology, too; give one", self.simctl("cluster", "fit", "topo.txt", "system.xml", "-o", "x.json").stderr)

    def test_a_log_with_a_topology_and_a_benchmark(self):
        done = self.fit(self.matrix() + "\n" + nccl(2, 4))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.cluster()["nodes"], self.cluster()["intra_node"]["bandwidth"], self.cluster()["fit"]["nodes"]), (2, 3e11, 8))
        # That of a job, too, whose ranks share the node: what it says was left out before, without a word.
        log = {"world_size": 8, "bucket_sizes": "30000000", "avg_backward_comm_time": 15000000}
        for text, options in ((repr(log), ()), (self.deepspeed_lines(), ("--ranks", 8)), (self.deepspeed_table(), ("--ranks", 8)), (self.ds_bench(), ()), (osu([(4, 3), (1 << 20, 90)]), ("--ranks", 8, "--gpus-per-node", 4))):
            done = self.fit("".join(f"[rank0]: {line}\n" for line in (self.matrix() + "\n" + text).splitlines()), *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.cluster()["nodes"], self.cluster()["gpus_per_node"], self.cluster()["intra_node"]["bandwidth"]), (2, 4, 3e11))
        self.fit(self.matrix(gpus=1, nics=("mlx5_0",)))
        self.assertEqual(self.cluster()["source"], "a node of one GPU; the link between nodes is unknown, put it in")

    def test_topologies_that_are_refused(self):
        good = self.matrix(escapes=False)
        rows = good.splitlines()
        for text, message in (
                ("\n".join(rows[:3]), "run.txt: 2 of 4 GPUs have a row; give the whole output of nvidia-smi topo -m"),
                (good.replace("NV12", "NV0", 1), 'run.txt:2: "NV0" of GPU0 and GPU1, expected X, NV#, PIX, PXB, PHB, NODE or SYS'),
                (good.replace("NV12", "fast", 1), 'run.txt:2: "fast" of GPU0 and GPU1'),
                (good.replace(" X ", "NV12", 1), 'run.txt:2: "NV12" of GPU0 and GPU0'),
                (good.replace(rows[2], "GPU1\tNV12"), "run.txt:3: expected a word for each of the 6 columns, got 1; the output was cut off"),
                (good.replace(rows[2] + "\n", ""), 'run.txt:3: expected the row of GPU1, got "GPU2"'),
                ("<system><cpu>", "run.txt:1: not valid XML"), ("<system></system>", "run.txt: 0 elements <gpu>, expected 1 to 1024"),
                ('<system version="1"><cpu><pci busid="1" class="0x060400"><pci busid="2" class="0x030200"/><pci busid="3" class="0x030200"/></pci></cpu></system>',
                 "run.txt: 2 GPUs without their NVLinks: it was written for NCCL_TOPO_FILE; give what NCCL writes with it to NCCL_TOPO_DUMP_FILE"),
                (self.SYSTEM.replace('"12"', '"-1"'), 'an <nvlink> with count="-1", expected 1 to 1000'),
                (self.SYSTEM.replace('"400000"', '"nan"', 1), '<net name="mlx5_0"> has speed="nan", expected Mb/s'),
                (good.replace("GPU0", "PU0", 1), "run.txt: no line begins with GPU0, GPU1, ...; give the output of nvidia-smi topo -m"),
                ("<system>" + "<pci>" * 50000 + "</pci>" * 50000 + "</system>", "run.txt: not valid XML: more than 64 elements inside each other")):
            with self.subTest(message):
                done = self.fit(text)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), done.stderr)
                self.assertIn(message, done.stderr)

    @unittest.skipUnless(REPRODUCERS.exists(), f"there is no {REPRODUCERS}")
    def test_reproducers(self):
        for name in ("mpirun-tagged", "srun-labelled"):
            self.assertEqual(self.simctl("cluster", "fit", REPRODUCERS / f"{name}.txt", "-o", "mine.json").returncode, 0)
            self.assertEqual((self.cluster()["nodes"], self.cluster()["gpus_per_node"]), (2, 4))
            self.assertEqual([self.cluster()["fit"]["points"][i] for i in (0, -1)], [[1 << 20, 4.049e-05], [1 << 26, 0.00070109]])
        for name, message in (("wrong-results", "3 results were wrong"), ("without-mpi", "make MPI=1")):
            self.assertIn(message, self.simctl("cluster", "fit", REPRODUCERS / f"{name}.txt", "-o", "x.json").stderr)
        self.assertEqual(self.simctl("cluster", "fit", REPRODUCERS / "all-reduce-then-all-gather.txt", "-o", "mine.json").returncode, 0)
        self.assertEqual([(fit["operation"], fit["nodes"]) for fit in self.cluster()["fit"]], [("all-reduce", 4), ("all-gather", 4)])
        for name, want in (("iperf-bidir", {"bandwidth": {"up": 5e6, "down": 1.6125e7}}), ("iperf-streams", {"bandwidth": 9.875e7, "connections": 8})):
            self.assertEqual(self.simctl("cluster", "fit", REPRODUCERS / name, "-o", "mine.json").returncode, 0)
            self.assertEqual({key: self.cluster()["wan"][0][key] for key in want}, want)

    def test_files_and_words(self):
        for words, code, message in ((("gone.txt", "-o", "x.json"), 3, "gone.txt: no such file"),
                                     (("run.txt",), 2, "-o is required"), (("run.txt", "-o", "run.txt"), 2, "run.txt"),
                                     (("run.txt", "-o", "x.json", "--ranks", "1"), 2, "--ranks")):
            (self.folder / "run.txt").write_text(nccl(2, 1), encoding="utf-8")
            done = self.simctl("cluster", "fit", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
