"""simctl cluster fit: clusters of what nccl-tests and OSU's micro-benchmarks print, here written from closed forms."""

import copy
import gzip
import json
import os
import shutil
import subprocess
import time
import unittest

from support import SIMCTL, Case, scenario

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
                    self.simctl("cluster", "fit", "run.txt", "-o", "plain.json", "--name", "stdin")
                    done = subprocess.run(["bash", "-c", command.format(SIMCTL)], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
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
            (nccl(4, 2, factor=1), (), "it fits an all-gather or reduce-scatter; run all_reduce_perf"),
            (nccl(4, 2, sizes=[*SIZES, SIZES[-1]]), (), "run.txt:31: sizes must grow, and 536870912 bytes come after 536870912; give each run a file"),
            (nccl(4, 2, time=lambda size, ranks: 0), (), "run.txt:17: an all-reduce takes 0 s; measure more iterations"),
            (nccl(4, 2, time=lambda size, ranks: 1e-4), (), "the largest all-reduce took no longer than the smallest; measure larger ones"),
            (nccl(4, 2, sizes=SIZES[:1]), (), "1 sizes were measured; measure at least two"),
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
            ("{}", (), "expected a file of netprobe (\"format\": \"network-probe/1\") or of nccl-tests with -J"),
            ('{"nccl_version": 1, "nccl_version": 1}', (), "twice"),
            (without(run, "average_bus_bandwidth"), (), 'has no "average_bus_bandwidth", so the run was cut off; run it again'),
            (without(run, "config"), (), "config"),
            ({**run, "results": []}, (), "/results: expected"),
            ({**run, "results": run["results"][:1]}, (), "1 sizes were measured; measure at least two"),
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
            (nccl_json(4, 2, factor=1), (), "it fits an all-gather or reduce-scatter; run all_reduce_perf"),
            (run, ("--ranks", "4"), "/config/devices: 8 ranks took part, but --ranks says 4; leave --ranks out"),
            ({**run, "config": {"devices": run["config"]["devices"][:7]}}, (), "/config/devices: node-0 has 2 ranks, but node-3 has 1; measure the same number on every host"),
            ({**net, "format": "network-probe/2"}, (), "/format"),
            (without(net, "library"), (), "library"),
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
            ({**net, "all_reduce": net["all_reduce"][:1]}, (), "1 sizes were measured"),
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
                (good[:1], (), "1 sizes were measured; measure at least two"),
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
            (good | {"a-b.json": iperf(1e9, protocol="UDP")}, "a-b.json: /start/test_start/protocol: gradients move over TCP; leave -u out"),
            (good | {"a-b.json": iperf(1e9, bidirectional=1)}, "a-b.json: /start/test_start/bidirectional"),
            (good | {"a-b.json": iperf(0)}, "a-b.json: /end/sum_received/bits_per_second: expected"),
            (good | {"a-b.txt": ""}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
            (good | {"a-b.txt": ping(10, 1)[:60]}, 'a-b.txt: no line "rtt min/avg/max/mdev = ... ms"'),
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
