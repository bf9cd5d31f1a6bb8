"""Do other simulators that play an exported iteration take simctl's time, and what is said where none can be exported?"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from support import SIMCTL, Case, cluster, scenario, simulates, trace, wait_until

SMPI_SHOWS = 1e-6  # s: it prints so many digits
NODE = {"gpus_per_node": 4, "intra_node": {"bandwidth": "10GBps", "latency": "2us"}}
FAT_TREE = {"topology": {"name": "fat-tree", "k": 4, "oversubscription": 2}, "placement": "random", "nodes": 12}
ALGORITHMS = ["ring", "binary-tree", {"name": "binary-tree", "chunk": "250kB"}, "double-binary-tree", "halving-doubling", "recursive-doubling"]


class Exports(Case):
    def export(self, content, *arguments, to="smpi", out="out"):
        self.write("scenario.json", content)
        return self.simctl("export", "scenario.json", "--to", to, "-o", out, *arguments)

    def exported(self, content, *arguments, to="smpi", out="out"):
        """simctl's time for the iteration in `out`."""
        done = self.export(content, *arguments, to=to, out=out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return float(re.search(r"simctl's time: (\S+) s", done.stdout)[1])


@unittest.skipUnless(shutil.which("smpirun"), "smpirun is not installed")
class Smpi(Exports):
    def replayed(self, out="out"):
        """The seconds that SMPI takes for an export."""
        done = subprocess.run(["sh", self.folder / out / "replay.sh"], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return float(re.search(r"Simulation time (\S+)", done.stdout + done.stderr)[1])

    def check(self, within, run=None, **changes):
        """SMPI and simctl agree, relative to `within`; a run takes as long, relative to `run`."""
        content = scenario(**changes)
        seconds = self.exported(content, "--force")
        self.assertAlmostEqual(self.replayed(), seconds, delta=within * seconds + SMPI_SHOWS)
        if run is not None:
            self.assertAlmostEqual(self.point(content)["iteration_s"], seconds, delta=run * seconds)

    def test_algorithms_on_a_star(self):
        for nodes in (5, 8):
            for algorithm in ALGORITHMS:
                for schedule in ("wfbp", "s-sgd"):
                    with self.subTest(nodes=nodes, algorithm=algorithm, schedule=schedule):
                        self.check(0.0, 1e-9, cluster=cluster(nodes=nodes), all_reduce=algorithm, schedule={"name": schedule})

    def test_schedules(self):
        for schedule in ({"name": "mg-wfbp"}, {"name": "fusion", "bucket": 2000000}, {"name": "sync-easgd"}, {"name": "wfbp", "accumulate": 2},
                         {"name": "wfbp", "compression": {"name": "top-k", "ratio": 0.1}}, {"name": "local-sgd", "interval": 2}, {"name": "fsdp", "units": "layer"},
                         {"name": "fsdp", "streams": 2}, {"name": "zero"}):
            with self.subTest(schedule=schedule):
                self.check(1e-5, schedule=schedule)

    def test_several_gpus_per_node(self):
        for algorithm in ("ring", "halving-doubling", "double-binary-tree", {"name": "two-level", "between": "ring", "chunk": "1MB"}, {"name": "ring", "across": "gpus"}):
            for changes in ({}, {"reduce_s_per_B": 5e-11}):
                with self.subTest(algorithm=algorithm, **changes):
                    self.check(1e-5, cluster=cluster(**NODE, **changes), all_reduce=algorithm)

    def test_reductions_protocols_and_hosts(self):
        for changes in ({"reduce_s_per_B": 1e-10}, {"protocol": {"rendezvous": True, "segments": 3}}, {"host": {"per_collective_s": 5e-4}}, {"copy_s_per_B": 1e-10}):
            for algorithm in ("ring", "binary-tree"):
                with self.subTest(algorithm=algorithm, **changes):
                    self.check(1e-5, cluster=cluster(**changes), all_reduce=algorithm, schedule={"name": "mg-wfbp"})

    def test_unequal_workers(self):
        self.check(1e-5, workers={"slow": [{"ranks": "1-2", "factor": 2}], "jitter": {"distribution": "lognormal", "cv": 0.2}})

    def test_shared_links(self):
        """Where messages contend, ends depend on rounding: sim/README.md."""
        for algorithm in ("ring", "halving-doubling", "binary-tree"):
            for changes in (FAT_TREE, {"topology": {"name": "torus", "dimensions": [2, 4]}, "nodes": 8}, {**FAT_TREE, **NODE, "nodes": 4}):
                with self.subTest(algorithm=algorithm, **changes):
                    self.check(1e-3, cluster=cluster(**changes), all_reduce=algorithm)

    def test_regions_and_platforms(self):
        for name in ("world", "two-pods"):
            for algorithm in ("ring", *(["by-region"] if name == "world" else [])):
                with self.subTest(name, algorithm=algorithm):
                    self.check(1e-3, cluster=name, all_reduce=algorithm)

    def test_small_messages(self):
        """A byte of each gradient for each rank."""
        content = trace(gradients=[{"name": f"l{i}.weight", "layer": f"l{i}", "bytes": 4} for i in reversed(range(3))])
        self.check(1e-3, trace=content)

    def test_files(self):
        self.exported(scenario(cluster=cluster(nodes=2)))
        out = self.folder / "out"
        index = (out / "traces.txt").read_text().split()
        self.assertEqual(sorted(index), sorted(str(path.relative_to(out)) for path in out.glob("traces/*")))
        self.assertEqual(len((out / "hosts").read_text().split()), len(index))
        for number, name in enumerate(index):
            lines = (out / name).read_text().splitlines()
            self.assertEqual((lines[0], lines[-1]), (f"{number} init", f"{number} finalize"))
        # What a rank computes: forward and backward of three layers of 1 and 2 ms, at 1 Gflop/s.
        flops = [float(flops) for flops in re.findall(r"compute (\S+)", (out / index[0]).read_text())]
        self.assertAlmostEqual(sum(flops), 9e6, delta=1)


class Program:
    """A GOAL program, whose ranks take turns on channels: a message takes alpha + bytes x beta, the channels `bytes x beta` of it."""

    def __init__(self, text):
        self.operations, self.requires, self.ports, self.ends = {}, {}, {}, {}
        self.partners = {}
        for block in re.finditer(r"rank (\d+) \{\n(.*?)\}", text, re.S):
            rank = int(block[1])
            for line in block[2].splitlines():
                words = line.split()
                if words[1] == "requires":
                    self.requires.setdefault((rank, words[0]), []).append((rank, words[2]))
                else:
                    self.add((rank, words[0].rstrip(":")), words[1:])

    def add(self, name, words):
        self.operations[name] = words
        if words[0] == "calc":
            return
        kind, size, _, other, _, tag, _, _, _, nic = words
        way = (name[0], int(other)) if kind == "send" else (int(other), name[0])
        self.partners.setdefault((way, tag), {})[kind] = name
        if size != "1b":  # those are notices, which take no channel
            port = self.ports.setdefault((name[0], kind, nic), [])
            if port:
                self.requires.setdefault(("port", name), []).append(port[-1])
            port.append(name)

    def depends(self, name):
        """(operations whose end it waits for, operations whose transfer it waits for)"""
        words = self.operations[name]
        if words[0] == "calc":
            return self.requires.get(name, []), []
        other = words[3]
        way = (name[0], int(other)) if words[0] == "send" else (int(other), name[0])
        both = list(self.partners[way, words[5]].values())
        return ([before for end in both for before in self.requires.get(end, [])], [before for end in both for before in self.requires.get(("port", end), [])])

    def play(self, alpha, beta, inside):
        """Seconds until everything has ended."""
        freed = {}  # when an operation's transfer has ended; `ends`: when it has arrived
        for first in self.operations:
            stack = [first]
            while stack:
                name = stack[-1]
                if name in self.ends:
                    stack.pop()
                    continue
                whole, transfers = self.depends(name)
                missing = [before for before in whole + transfers if before not in self.ends]
                if missing:
                    stack.extend(missing)
                    continue
                words = self.operations[name]
                start = max([0.0, *(self.ends[before] for before in whole), *(freed[before] for before in transfers)])
                if words[0] == "calc":
                    freed[name] = self.ends[name] = start + int(words[1]) * 1e-9
                    continue
                is_inside, is_notice = words[-1] == "1", words[1] == "1b"
                latency, per_byte = inside if is_inside else (alpha, beta)
                freed[name] = start if is_notice else start + int(words[1][:-1]) * per_byte
                latency = 0.0 if is_notice and is_inside else latency
                self.ends[name] = freed[name] + (latency if words[0] == "recv" else 0.0)
        return max(self.ends.values())


class Goal(Exports):
    def check(self, inside=(0.0, 0.0), **changes):
        content = scenario(cluster=cluster(**changes.pop("cluster", {})), **changes)
        seconds = self.exported(content, "--force", to="goal")
        text = (self.folder / "out/iteration.goal").read_text()
        self.assertAlmostEqual(Program(text).play(50e-6, 8 / 10e9, inside) / seconds, 1.0, delta=1e-9)
        self.assertAlmostEqual(self.point(content | {"fidelity": "per-message"})["iteration_s"] / seconds, 1.0, delta=1e-9)

    def test_on_a_star(self):
        """Gradients of 1, 2 and 3 MB: parts and chunks are whole bytes for 8 ranks, and layers whole nanoseconds."""
        for algorithm in [*ALGORITHMS, {"name": "double-binary-tree", "chunk": "125kB"}]:
            if algorithm == "double-binary-tree":
                continue  # its own chunks are no whole bytes
            for schedule in ("wfbp", "s-sgd", "mg-wfbp", "fsdp"):
                with self.subTest(algorithm=algorithm, schedule=schedule):
                    self.check(cluster={"nodes": 8}, all_reduce=algorithm, schedule={"name": schedule})

    def test_several_gpus_per_node(self):
        for algorithm in ("ring", "halving-doubling"):
            with self.subTest(algorithm=algorithm):
                self.check(inside=(2e-6, 1e-10), cluster={"nodes": 4, **NODE}, all_reduce=algorithm)

    def test_reductions_and_rendezvous(self):
        self.check(cluster={"nodes": 8, "reduce_s_per_B": 8e-10})
        self.check(cluster={"nodes": 8, "protocol": {"rendezvous": True, "segments": 5}})

    def test_program(self):
        """Of two ranks, whose only gradient of 1000 bytes goes round in two halves."""
        content = trace(layers=[{"name": "l", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002}], gradients=[{"name": "w", "layer": "l", "bytes": 1000}])
        self.exported(scenario(cluster=cluster(nodes=2), trace=content), to="goal")
        text = (self.folder / "out/iteration.goal").read_text()
        self.assertTrue(text.startswith("num_ranks 2\n"))
        first = re.search(r"rank 0 \{\n(.*?)\}", text, re.S)[1].splitlines()
        self.assertEqual([line for line in first if "requires" not in line],
                         ["l1: calc 3000000 cpu 0", "l2: calc 0 cpu 0", "l3: calc 0 cpu 1", "l4: send 500b to 1 tag 0 cpu 1 nic 0", "l5: send 500b to 1 tag 1 cpu 1 nic 0",
                          "l6: calc 0 cpu 1", "l7: recv 500b from 1 tag 0 cpu 1 nic 0", "l8: recv 500b from 1 tag 1 cpu 1 nic 0"])


@unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
class Chakra(Exports):
    TYPES = {"ALL_REDUCE": "0", "ALL_GATHER": "2", "BROADCAST": "5", "REDUCE_SCATTER": "7"}

    def read(self, rank):
        """(the metadata's version, the nodes by id), read by protoc."""
        data = (self.folder / f"out/iteration.{rank}.et").read_bytes()
        file, at, is_first = b"", 0, True
        while at < len(data):
            size, shift, begin = 0, 0, at
            while True:
                byte = data[at]
                size |= (byte & 127) << shift
                at, shift = at + 1, shift + 7
                if byte < 128:
                    break
            file += (b"\x0a" if is_first else b"\x12") + data[begin:at + size]
            at, is_first = at + size, False
        here = pathlib.Path(__file__).parent
        text = subprocess.run(["protoc", f"--proto_path={here}", "--decode=File", "chakra.proto"], input=file, capture_output=True, check=True).stdout.decode()
        nodes = {}
        for block in re.findall(r"^nodes \{\n(.*?)^\}", text, re.M | re.S):
            def values(key, block=block):
                return [value.strip('"') for value in re.findall(rf"^  {key}: (.*)$", block, re.M)]
            attributes = {name: value.strip('"') for name, value in re.findall(r'    name: "(\w+)"\n    \w+: (.*)', block)}
            number = int((values("id") or ["0"])[0])
            self.assertNotIn(number, nodes)
            nodes[number] = {"name": values("name")[0], "type": values("type")[0], "micros": int((values("duration_micros") or ["0"])[0]),
                             "after": [int(before) for before in values("data_deps")], **attributes}
            self.assertLessEqual(set(values("ctrl_deps")), set(values("data_deps")))  # some readers know only these
        self.assertEqual(re.findall(r"^\s+\d+:", text, re.M), [], "fields that the schema does not have")
        return re.search(r'version: "(.*)"', text)[1], nodes

    def test_nodes(self):
        self.exported(scenario(), to="chakra")
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["export.txt", *(f"iteration.{rank}.et" for rank in range(4))])
        for rank in range(4):
            version, nodes = self.read(rank)
            self.assertEqual(version, "0.0.4")
            computed = [(node["name"], node["micros"]) for node in nodes.values() if node["type"] == "COMP_NODE"]
            self.assertEqual(computed, [(f"l{i}.forward", 1000) for i in range(3)] + [(f"l{i}.backward", 2000) for i in (2, 1, 0)])
            reduced = [(node["name"], node["comm_type"], node["comm_size"], node["is_cpu_op"]) for node in nodes.values() if node["type"] == "COMM_COLL_NODE"]
            self.assertEqual(reduced, [(f"l{i}.weight", self.TYPES["ALL_REDUCE"], str(1000000 * (i + 1)), "false") for i in (2, 1, 0)])
            after = {node["name"]: [nodes[before]["name"] for before in node["after"]] for node in nodes.values()}
            self.assertEqual(after["l1.weight"], ["l2.weight", "l1.backward"])
            self.assertEqual(after["l0.backward"], ["l1.backward"])

    def test_time(self):
        """Played with a + bM for each collective, one at a time, it takes the time of a run."""
        for schedule in ("wfbp", "s-sgd", "mg-wfbp", "fsdp"):
            with self.subTest(schedule=schedule):
                content = scenario(fidelity="alpha-beta", schedule={"name": schedule}, trace=trace(update_s=0.0005))
                seconds = self.exported(content, "--force", to="chakra")
                self.assertAlmostEqual(self.point(content)["iteration_s"], seconds, delta=1e-9)
                ends = {}
                for number, node in self.read(0)[1].items():  # each after those that it waits for
                    length = node["micros"] * 1e-6
                    if node["type"] == "COMM_COLL_NODE":
                        halves = 2 if node["comm_type"] == self.TYPES["ALL_REDUCE"] else 1
                        whole = int(node["comm_size"]) * (4 if node["comm_type"] == self.TYPES["ALL_GATHER"] else 1)
                        length = halves * (3 * 50e-6 + 3 / 4 * whole * 8 / 10e9)
                    ends[number] = max([0.0, *(ends[before] for before in node["after"])]) + length
                self.assertAlmostEqual(max(ends.values()), seconds, delta=5e-6)

    def test_operations_and_groups(self):
        self.exported(scenario(schedule={"name": "fsdp", "streams": 2}), to="chakra")
        found = {node["comm_type"] for node in self.read(0)[1].values() if node["type"] == "COMM_COLL_NODE"}
        self.assertEqual(found, {self.TYPES["ALL_GATHER"], self.TYPES["REDUCE_SCATTER"]})
        groups = json.loads((self.folder / "out/iteration.groups.json").read_text())
        self.assertEqual(groups, {"1": [0, 1, 2, 3], "2": [0, 1, 2, 3]})  # 0 is of all ranks

    def test_measured_line(self):
        """A cluster without messages, which has a time for each collective."""
        fit = {"nodes": 4, "algorithm": "ring", "a_s": 1e-4, "b_s_per_B": 1e-9}
        self.exported(scenario(cluster=cluster(fit=fit)), to="chakra")
        self.assert_refused(self.export(scenario(cluster=cluster(fit=fit)), "--force"), 4, "has no messages", "--to chakra")

    def assert_refused(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Refused(Exports):
    def refuse(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_schedules(self):
        for schedule, why in (({"name": "asgd"}, "parameter servers"), ({"name": "p3"}, "parameter servers"), ({"name": "d-psgd"}, "from rank to rank"),
                              ({"name": "dts", "delay": 2}, "of an earlier one"), ({"name": "bytescheduler"}, "of an earlier one"), ({"name": "dear"}, "does not wait for"),
                              ({"name": "lasgd", "tau_max": 2}, "rounds of several steps"), ({"name": "fsdp", "shard_group": 2}, "begin when others have ended")):
            for to in ("smpi", "chakra"):
                with self.subTest(schedule=schedule, to=to):
                    self.refuse(self.export(scenario(schedule=schedule), to=to), 4, "scenario.json: point 0: ", why, "such as wfbp")
                    self.assertFalse((self.folder / "out").exists())

    def test_what_else_moves(self):
        self.refuse(self.export(scenario(channels=2)), 4, "several collectives in flight", '"channels" to 1')
        self.refuse(self.export(scenario(cluster=cluster(nodes=1))), 4, "a single worker")
        self.refuse(self.export(scenario(cluster=cluster(latency_cv=0.1))), 4, '"latency_cv"')
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        for what, more in (("a latency that varies", {"latency_jitter": {"distribution": "lognormal", "cv": 0.1}}), ("several connections", {"connections": 2})):
            with self.subTest(what):
                self.refuse(self.export(scenario(cluster=cluster(link={**link, **more}))), 4, f"a platform cannot say {what} of the cluster")

    def test_too_many_messages(self):
        gradients = [{"name": f"w{i}", "layer": "l0", "bytes": 1000} for i in range(130)]
        content = scenario(cluster=cluster(nodes=128), trace=trace(gradients=gradients))
        self.refuse(self.export(content, to="goal"), 4, "4.2 million messages, over the limit of 4 million", "--to chakra")

    def test_points(self):
        content = scenario(sweep={"/cluster/nodes": [2, 4]}, cluster=cluster())
        self.refuse(self.export(content), 2, "say which one with --point 0 to 1", "0 is /cluster/nodes=2")
        self.refuse(self.export(content, "--point", "2"), 2, "--point 2: expected a point from 0 to 1")
        self.exported(content, "--point", "1", to="goal")
        self.assertTrue((self.folder / "out/iteration.goal").read_text().startswith("num_ranks 4\n"))

    def test_formats(self):
        self.refuse(self.export(scenario(), to="otf2"), 2, "--to", "smpi", "goal", "chakra")

    def test_folders(self):
        out = self.folder / "out"
        for name in ("-", ""):
            self.refuse(self.export(scenario(), out=name), 2, "name a folder")
        self.write("file", "mine")
        self.refuse(self.export(scenario(), out="file"), 5, "it is a file")
        self.refuse(self.export(scenario(), out="/proc/none"), 5, "/proc")
        out.mkdir()
        self.exported(scenario())  # an empty one will do
        self.refuse(self.export(scenario()), 2, "there are files in that folder", "--force")
        self.write("out/notes", "mine")
        self.exported(scenario(), "--force", to="goal")
        self.assertEqual(sorted(os.listdir(out)), ["export.txt", "iteration.goal", "notes"])

    def test_only_exports_are_replaced(self):
        """A user's own folders have the names of an export's."""
        (self.folder / "out/traces").mkdir(parents=True)
        self.write("out/traces/mine", "precious")
        self.refuse(self.export(scenario(), "--force", to="goal"), 2, "--force replaces an export", "export.txt is missing")
        self.write("out/export.txt", "../trace.json\n..\n/etc\nhosts\n")  # names that no export has
        self.exported(scenario(), "--force", to="goal")
        self.assertEqual((self.folder / "out/traces/mine").read_text(), "precious")
        self.assertTrue((self.folder / "trace.json").exists())

    def test_messages_beyond_counting(self):
        huge = trace(gradients=[{"name": "w", "layer": "l0", "bytes": 40 * 10**9}])
        self.refuse(self.export(scenario(trace=huge)), 4, "over the 2^31 - 1 that SMPI counts")

    def test_other_names_of_folders(self):
        (self.folder / "real").mkdir()
        (self.folder / "link").symlink_to("real")
        self.exported(scenario(), out="link/", to="goal")
        self.exported(scenario(), out="new/deeper/", to="goal")
        self.assertEqual([sorted(os.listdir(self.folder / name)) for name in ("real", "new/deeper", "new")], [["export.txt", "iteration.goal"], ["export.txt", "iteration.goal"], ["deeper"]])

    LONG = scenario(cluster=cluster(nodes=256), all_reduce="double-binary-tree",
                    trace=trace(gradients=[{"name": f"w{i}", "layer": "l0", "bytes": 1000000} for i in range(200)]))

    def test_a_limit_of_time(self):
        self.refuse(self.export(self.LONG, "--max-time", "0.3s", to="goal"), 4, "not done after", "allow more time")
        self.assertFalse((self.folder / "out").exists())

    def test_an_interruption_leaves_nothing(self):
        self.write("scenario.json", self.LONG)
        process = subprocess.Popen([SIMCTL, "export", "scenario.json", "--to", "goal", "-o", "out"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: process.poll() is not None or simulates(process))
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, error.strip()), (130, "simctl: interrupted"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["cluster.json", "scenario.json", "trace.json"])

    def test_a_failure_leaves_what_was_there(self):
        self.exported(scenario(), to="goal")
        before = (self.folder / "out/iteration.goal").read_bytes()
        self.refuse(self.export(scenario(channels=2), "--force", to="goal"), 4)
        self.assertEqual((self.folder / "out/iteration.goal").read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["export.txt", "iteration.goal"])


if __name__ == "__main__":
    unittest.main()
