"""Are the messages of collectives that a timeline shows those of the algorithm, when and where they move?"""
import collections
import json
import unittest

from support import Case, cluster, scenario, trace

NODES, BANDWIDTH, LATENCY = 16, 1.25e9, 50e-6
GRADIENTS = (3e6, 2e6, 1e6)      # as support.trace() makes them ready: 2, 4 and 6 ms after the forward of 3 ms
SLOW = {3: 1.5, 9: 1.2}
STAR = cluster(nodes=NODES)
FAT_TREE = cluster(nodes=NODES, placement={"name": "random", "seed": 3}, topology={"name": "fat-tree", "k": 4, "oversubscription": 2})


def ring(starts, data):
    """When the messages of a ring all-reduce move, {(sender, step): (start, end)}, and when it ends at each rank: a recurrence over steps.

    A message leaves when its sender has sent the one before and has the part that it passes on, and when its receiver takes part and has
    received the one before.
    """
    ranks, each = len(starts), data / len(starts) / BANDWIDTH
    moved, arrived, times = list(starts), list(starts), {}
    for step in range(2 * (ranks - 1)):
        begin = [max(moved[rank], arrived[rank], starts[(rank + 1) % ranks]) for rank in range(ranks)]
        moved = [time + each for time in begin]
        for rank, time in enumerate(begin):
            times[rank, step] = time, moved[rank]
        arrived = [moved[rank - 1] + LATENCY for rank in range(ranks)]
    return times, [max(pair) for pair in zip(moved, arrived)]


class Messages(Case):
    def timeline(self, content, *arguments, ranks=""):
        done = self.run_scenario(content, "--timeline", "--quiet", "--ranks", ranks or f"0-{NODES - 1}", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.result,) = json.loads((self.folder / "out/results.json").read_text())["points"]
        return json.loads((self.folder / "out/timeline-0.json").read_text())

    def messages(self, timeline):
        """Dictionaries with `from`, `start`, `end` and what a slice says of its message, in seconds."""
        found = []
        for event in timeline["traceEvents"]:
            if event["ph"] == "X" and event["cat"] == "message":
                its = {key.removesuffix("_us"): value * 1e-6 if key.endswith("_us") else value for key, value in event["args"].items()}
                found.append(its | {"from": event["pid"] - 1, "start": event["ts"] * 1e-6, "end": (event["ts"] + event["dur"]) * 1e-6})
        return found

    def test_a_ring_on_a_star_is_a_recurrence(self):
        """Three all-reduces in each of two iterations, of ranks that are ready at different times."""
        workers = {"slow": [{"ranks": str(rank), "factor": factor} for rank, factor in SLOW.items()]}
        content = scenario(cluster=STAR, all_reduce="ring", fidelity="flow", workers=workers, iterations={"warmup": 0, "measured": 2})
        messages = self.messages(self.timeline(content, "--iterations", "2"))
        self.assertEqual(len(messages), 2 * len(GRADIENTS) * 2 * (NODES - 1) * NODES)
        expected, ends = {}, [0.0] * NODES
        for iteration in range(2):
            began = ends
            for place, data in enumerate(GRADIENTS):
                posted = [begin + (3 + 2 * (place + 1)) * 1e-3 * SLOW.get(rank, 1) for rank, begin in enumerate(began)]
                times, ends = ring([max(pair) for pair in zip(posted, ends)], data)
                expected |= {(3 * iteration + place, *key): time for key, time in times.items()}
            ends = [max(end, begin + 9e-3 * SLOW.get(rank, 1)) for rank, (begin, end) in enumerate(zip(began, ends))]
        for one in messages:
            start, end = expected.pop((one["collective"], one["from"], one["step"]))
            self.assertAlmostEqual(one["start"], start, delta=1e-9)
            self.assertAlmostEqual(one["end"], end, delta=1e-9)
            self.assertAlmostEqual(one["arrives"], end + LATENCY, delta=1e-9)
            self.assertAlmostEqual(one["alone"], end - start, delta=1e-9)
            self.assertEqual((one["to"], one["iteration"]), ((one["from"] + 1) % NODES, one["collective"] // 3))
            # Parts go round: in the first half each rank begins with its own, in the second one with the sum that it has.
            self.assertEqual(one["part"], (one["from"] - one["step"] + (one["step"] > NODES - 2) * NODES) % NODES)
            self.assertEqual(one["bytes"], GRADIENTS[one["collective"] % 3] / NODES)
            self.assertIn(one["link"], (f"node-{one['from']} up", f"node-{one['to']} down"))
        self.assertEqual(expected, {})

    def test_who_waits_for_whom(self):
        """The first messages of a ring whose rank 3 comes late: rank 4 waits for it, and rank 2 waits until it may send to it."""
        content = scenario(cluster=STAR, all_reduce="ring", fidelity="flow", schedule={"name": "s-sgd"}, workers={"slow": [{"ranks": "3", "factor": 2}]},
                           iterations={"warmup": 0, "measured": 1})
        first = {one["from"]: one for one in self.messages(self.timeline(content)) if one["step"] == 0 and one["collective"] == 0}
        for rank, one in first.items():
            late = 9e-3 if rank in (2, 3) else 0.0
            self.assertAlmostEqual(one["start"], 9e-3 + late, delta=1e-9)
            self.assertAlmostEqual(one["sender_ready"], 18e-3 if rank == 3 else 9e-3, delta=1e-9)
            self.assertAlmostEqual(one["receiver_ready"], 18e-3 if rank == 2 else 9e-3, delta=1e-9)

    def test_bytes_add_up_to_the_loads_of_links(self):
        """What the report counts of collectives that the window's edges cut is the share of their time."""
        for its, fidelity in ((STAR, "flow"), (FAT_TREE, "flow"), (FAT_TREE, "simgrid")):
            for name in ("ring", "double-binary-tree"):
                with self.subTest(cluster=its, fidelity=fidelity, all_reduce=name):
                    timeline = self.timeline(scenario(cluster=its, all_reduce=name, fidelity=fidelity, iterations={"warmup": 2, "measured": 3}))
                    messages = self.messages(timeline)
                    crossing = collections.defaultdict(collections.Counter)      # by link of a node and collective
                    for one in messages:
                        crossing[f"node-{one['from']} up"][one["collective"]] += one["bytes"]
                        crossing[f"node-{one['to']} down"][one["collective"]] += one["bytes"]
                    shares = self.shares_in_window(timeline)
                    links = {link["name"]: link for link in self.result["links"]}
                    self.assertTrue(links)
                    for link in set(links) & set(crossing):
                        expected = sum(share * crossing[link][collective] for collective, share in shares.items())
                        self.assertAlmostEqual(links[link]["bytes"], expected, delta=1e-6 * expected)
                    sent = collections.Counter()
                    for one in messages:
                        sent[one["collective"]] += one["bytes"]
                    for collective, share in shares.items():
                        if share > 0:       # any algorithm moves the least bytes that an all-reduce of so many ranks can
                            self.assertAlmostEqual(sent[collective] / (2 * (NODES - 1) * GRADIENTS[collective % 3]), 1, delta=1e-9)
                    self.assert_stretches_are_of_these(timeline["links"], messages, its is STAR)
                    if fidelity == "flow":
                        self.assertLessEqual(max(value for use in timeline["links"]["use"] for value in use["percent"][::2]), 100)

    def shares_in_window(self, timeline):
        """{collective: the share of its time in the measured window}."""
        begin, end = (timeline["otherData"][f"window_{edge}_s"] for edge in ("open", "close"))
        spans = [(event["ts"] * 1e-6, (event["ts"] + event["dur"]) * 1e-6) for event in timeline["traceEvents"]
                 if event["ph"] == "X" and event["cat"] == "collective" and event["pid"] == 1]
        return {place: max(0.0, min(end, until) - max(begin, since)) / (until - since) for place, (since, until) in enumerate(sorted(spans))}

    def assert_stretches_are_of_these(self, table, messages, is_steady):
        """In each stretch, the links of nodes carry what the messages do then; at a rate that is not `is_steady`, up to the last complete one.

        A percentage has one decimal.
        """
        begin, each = table["from_us"] * 1e-6, (table["to_us"] - table["from_us"]) * 1e-6 / table["stretches"]
        carried = {}
        for use in table["use"]:
            values = [value for value, count in zip(use["percent"][::2], use["percent"][1::2]) for _ in range(count)]
            self.assertEqual(len(values), table["stretches"])
            for link in use["links"]:
                self.assertTrue(link["name"].startswith(link["cable"]), link)
                carried[link["name"]] = [value / 100 * link["bandwidth_Bps"] * each for value in values]
        for rank in range(NODES):
            moved = [0.0] * table["stretches"]
            last = 0.0
            for one in messages:
                if one["from"] != rank:
                    continue
                last = max(last, one["end"])
                for stretch in range(max(0, int((one["start"] - begin) / each) - 1), min(table["stretches"], int((one["end"] - begin) / each) + 2)):
                    within = min(one["end"], begin + (stretch + 1) * each) - max(one["start"], begin + stretch * each)
                    moved[stretch] += max(0.0, within) / (one["end"] - one["start"]) * one["bytes"]
            complete = int((last - begin) / each) - 1      # the run ended during a later collective
            pairs = list(zip(moved, carried[f"node-{rank} up"]))[:complete]
            rounding = 0.00051 * BANDWIDTH * each + 2 * BANDWIDTH * 1e-9
            for expected, value in pairs if is_steady else ():
                self.assertAlmostEqual(value, expected, delta=rounding)
            both = [sum(its) for its in zip(*pairs)]
            self.assertAlmostEqual(both[0], both[1], delta=len(pairs) * rounding / 8 + max(one["bytes"] for one in messages))

    def test_messages_queue_on_the_busiest_links_of_a_narrow_fat_tree(self):
        content = scenario(cluster=FAT_TREE, all_reduce="ring", fidelity="flow", schedule={"name": "s-sgd"}, iterations={"warmup": 1, "measured": 1})
        messages = [one for one in self.messages(self.timeline(content)) if one["collective"] == 3]      # the first measured one
        self.assertEqual(len(messages), 2 * (NODES - 1) * NODES)
        by_link = collections.defaultdict(list)
        for one in messages:
            self.assertGreaterEqual(one["end"] - one["start"], one["alone"] - 2e-9)
            by_link[one["link"]].append((one["end"] - one["start"]) / one["alone"])
        busiest = self.result["links"][0]["name"]
        self.assertRegex(busiest, "^(edge-aggregation|aggregation-core)")
        self.assertGreater(min(by_link[busiest]), 1.1, "all that it holds back move slower than alone")
        self.assertEqual(max(by_link, key=lambda name: sum(by_link[name])), busiest)
        for name, slowdowns in by_link.items():
            if name.startswith("node"):
                self.assertLess(max(slowdowns), 1.001, "a node's link has room for what its node sends or receives")
        wide = self.messages(self.timeline(content | {"cluster": FAT_TREE | {"placement": "linear"}}))
        self.assertTrue(all(one["end"] - one["start"] < one["alone"] + 2e-9 for one in wide), "in order, a ring needs no more than the half")

    def test_arrows_lead_to_what_the_receiver_sends_next(self):
        timeline = self.timeline(scenario(cluster=STAR, all_reduce="ring", fidelity="flow", schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 1}))
        by_start = {(event["pid"], event["tid"], event["ts"]): event["args"] for event in timeline["traceEvents"]
                    if event["ph"] == "X" and event["cat"] == "message"}
        ends = {(event["id"], event["ph"]): event for event in timeline["traceEvents"] if event.get("cat") == "message" and event["ph"] in "sf"}
        arrows = [(ends[number, "s"], ends[number, "f"]) for number, kind in ends if kind == "s"]
        steps = 2 * (NODES - 1)
        collectives = {args["collective"] for args in by_start.values()}
        self.assertEqual(len(arrows), len(collectives) * (steps - 1) * NODES)      # what comes last is not passed on
        for begin, end in arrows:
            target = by_start[end["pid"], end["tid"], end["ts"]]
            (source,) = (args for (pid, tid, ts), args in by_start.items() if pid == begin["pid"] and args["collective"] == target["collective"] and
                         args["step"] == target["step"] - 1)
            self.assertEqual((source["to"], source["part"]), (end["pid"] - 1, target["part"]))

    def test_simgrid_moves_the_same_messages(self):
        content = scenario(cluster=FAT_TREE, all_reduce="ring", workers={"jitter": {"distribution": "uniform", "cv": 0.1}}, iterations={"warmup": 0, "measured": 1})
        by_flow, in_simgrid = (
            {(one["collective"], one["from"], one["step"]): one for one in self.messages(self.timeline(content | more))}
            for more in ({"fidelity": "flow"}, {"fidelity": "simgrid", "simgrid": {"network_model": "CM02", "fair": True}}))
        self.assertEqual(set(by_flow), set(in_simgrid))
        self.assertTrue(all("link" in one for one in by_flow.values()))
        self.assertTrue(all("link" not in one for one in in_simgrid.values()), "SimGrid does not tell")
        for key, one in by_flow.items():
            if key[0] == 0:
                self.assertAlmostEqual(one["start"], in_simgrid[key]["start"], delta=1e-6 * one["start"])

    def test_overlapping_messages_have_lanes_of_their_own(self):
        content = scenario(cluster=STAR, all_reduce="ring", fidelity="flow", channels=3, iterations={"warmup": 0, "measured": 1},
                           workers={"jitter": {"distribution": "uniform", "cv": 0.1}})
        timeline = self.timeline(content)
        lanes = collections.defaultdict(list)
        for event in timeline["traceEvents"]:
            if event["ph"] == "X" and event["cat"] == "message":
                lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        self.assertGreater(len(lanes), NODES)
        for spans in lanes.values():
            spans.sort()
            self.assertTrue(all(end <= start + 1e-4 for (_, end), (start, _) in zip(spans, spans[1:])))

    def test_a_timeline_changes_no_result(self):
        for its in (STAR, FAT_TREE):
            content = scenario(cluster=its, all_reduce="ring", fidelity="flow", iterations={"warmup": 2, "measured": 5})
            self.timeline(content)
            with_timeline = self.result["iteration_s"]
            self.assertEqual(self.point(content)["iteration_s"], with_timeline)

    def test_collectives_that_are_known_from_before_have_their_messages(self):
        """Equal all-reduces of equal workers are simulated once, but for --no-symmetry."""
        for its, name in ((STAR, "ring"), (FAT_TREE | {"placement": "linear"}, "halving-doubling")):
            content = scenario(cluster=its, all_reduce=name, fidelity="flow", iterations={"warmup": 1, "measured": 4})
            again, each = (sorted(self.messages(self.timeline(content, *words)), key=lambda one: (one["collective"], one["from"], one["step"]))
                           for words in ((), ("--no-symmetry",)))
            self.assertEqual(len(again), len(each))
            for one, other in zip(again, each):
                for key in ("collective", "from", "to", "step", "part", "iteration"):
                    self.assertEqual(one[key], other[key])
                for key in ("start", "end", "arrives", "sender_ready", "receiver_ready", "alone"):
                    self.assertAlmostEqual(one[key], other[key], delta=2e-9)
            self.assertGreaterEqual(len({one["collective"] for one in again}), 5 * len(GRADIENTS))

    def test_only_what_is_chosen_is_shown(self):
        content = scenario(cluster=FAT_TREE, all_reduce="ring", fidelity="flow", iterations={"warmup": 1, "measured": 4})
        whole = self.messages(self.timeline(content))
        part = self.messages(self.timeline(content, "--iterations", "1-2", ranks="2,5"))
        self.assertEqual({one["from"] for one in part}, {2, 5})
        self.assertEqual(len(part), 2 * len(GRADIENTS) * 2 * (NODES - 1) * 2)
        key = lambda one: (one["collective"], one["from"], one["step"])
        known = {key(one): one for one in whole}
        self.assertEqual([known[key(one)] for one in part], part)

    def test_where_there_are_none_it_says_why(self):
        jitter = {"jitter": {"distribution": "uniform", "cv": 0.1}}
        flow = '; "fidelity": "flow" simulates each message.'
        for content, why in ((scenario(cluster=STAR, fidelity="alpha-beta"), "No messages of collectives: in fidelity alpha-beta a collective is one event" + flow),
                             (scenario(cluster=STAR, fidelity="per-message"), "No messages of collectives: one worker is simulated, which stands for all" + flow),
                             (scenario(cluster=STAR, fidelity="per-message", workers=jitter),
                              "No messages of collectives: the times of a collective's messages are computed all at once" + flow),
                             (scenario(cluster=STAR, fidelity="per-message", channels=2, workers=jitter), None),
                             (scenario(cluster=STAR, schedule={"name": "lasgd", "tau_max": 4, "participants": 0.8}, workers=jitter),
                              "No messages of collectives: one in which not all ranks take part is one event."),
                             (scenario(cluster=STAR, schedule={"name": "sgp"}, workers=jitter), None),
                             (scenario(cluster=STAR, fidelity="flow"), None)):
            with self.subTest(why=why, content=content):
                timeline = self.timeline(content)
                self.assertEqual(timeline["otherData"].get("messages"), why)
                has_collectives = content["schedule"]["name"] != "sgp"
                self.assertEqual(bool(self.messages(timeline)), why is None and has_collectives)

    def test_too_many_are_cut_at_a_whole_collective(self):
        layers = 120
        content = scenario(cluster=STAR, all_reduce="ring", fidelity="flow", trace=trace(
            layers=[{"name": f"l{i}", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002} for i in range(layers)],
            gradients=[{"name": f"l{i}.weight", "layer": f"l{i}", "bytes": 1000} for i in reversed(range(layers))]))
        timeline = self.timeline(content)
        each, most = 2 * (NODES - 1) * NODES, 50_000
        self.assertEqual(len(self.messages(timeline)), most // each * each)
        self.assertEqual(timeline["otherData"]["messages"], f"Messages of the first {most // each} collectives only: with the {each} of the next one they would be more than "
                         f"the 500000 of all workers, or {most} of those that are shown, that a timeline keeps; choose fewer with --iterations and --ranks.")


if __name__ == "__main__":
    unittest.main()
