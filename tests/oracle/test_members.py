"""Ranks that leave and join: who makes steps when, and do the others go on as the page says?"""

import random
import unittest

from comparing import Comparison, cluster, disturbances, scenario, trace
from running import draws
from test_backup import ONE, fast, point
from test_server import SCHEDULES

AWAY = [{"kind": "leave", "rank": 2, "at_s": 4.5}, {"kind": "join", "rank": 2, "at_s": 8.25}]


def members(rng, workers, first, longest=0.06):
    """Comings and goings of ranks that may leave; `first` of them stay. `longest`: between two of a rank."""
    events = []
    for rank in rng.sample(range(first, workers), rng.randint(1, min(3, workers - first))):
        now, leaves = 0.0, rng.random() < 0.7
        for _ in range(rng.randint(1, 4)):
            now += rng.uniform(1e-3, longest)
            events.append({"kind": "leave" if leaves else "join", "rank": rank, "at_s": now})
            leaves = not leaves
    return events


class Members(Comparison):
    def row(self, content, *options):
        self.run_well(content, *options)
        return self.rows()[0]

    def check(self, schedule, events, steps, nodes=3, measured=10, **expected):
        """Steps of 1 s that take nobody's time on the network; `steps`: in the window, from 1 s on."""
        row = self.row(point(nodes, 0, schedule=schedule, workers={"events": events}, iterations={"warmup": 1, "measured": measured}))
        expected |= {"iteration_s": measured * nodes / steps, "throughput_samples_per_s": 8 * steps / measured, "exposed_communication_s": 0}
        expected |= {"wait_s": expected["iteration_s"] - 1}
        for column, value in expected.items():
            self.assertAlmostEqual(row[column], value, delta=1e-6 * max(1, abs(value)), msg=column)

    # By hand

    def test_somebody_leaves_and_comes_back(self):
        """At 5 s, when its step ends, and at 8.25 s."""
        for schedule in ({"name": "asgd"}, {"name": "dc-asgd"}, {"name": "downpour", "interval": 1}, {"name": "eamsgd", "interval": 1},
                         {"name": "lasgd", "tau_max": 1, "participants": 0.4}):
            self.check(schedule, AWAY, 10 + 10 + 4 + 2.75, iteration_p95_s=1)

    def test_somebody_never_comes_back(self):
        self.check({"name": "asgd"}, AWAY[:1], 10 + 10 + 4)
        self.check({"name": "asgd"}, [{"kind": "leave", "rank": 1, "at_s": 0}, {"kind": "leave", "rank": 2, "at_s": 0}], 10)

    def test_somebody_comes_later(self):
        self.check({"name": "asgd"}, AWAY[1:], 10 + 10 + 2.75)
        self.check({"name": "asgd"}, [{"kind": "join", "rank": 2, "at_s": 100}], 10 + 10)

    def test_away_for_less_than_a_step(self):
        """Which nobody sees."""
        self.check({"name": "asgd"}, [{"kind": "leave", "rank": 1, "at_s": 4.25}, {"kind": "join", "rank": 1, "at_s": 4.75}], 30)

    def test_leaving_after_the_window_changes_nothing(self):
        """While the others end the steps that they are in: rank 2's take 20 s."""
        times = []
        for date in (5.5, 50):
            content = point(3, 0, schedule={"name": "downpour", "interval": 1}, iterations={"warmup": 1, "measured": 3},
                            workers={"slow": [{"ranks": "2", "factor": 20}], "events": [{"kind": "leave", "rank": 1, "at_s": 20 + date}]})
            times.append(self.row(content)["iteration_s"])
        self.assertEqual(*times)

    def test_a_share_of_those_who_are_there(self):
        """Half of four are two; of the two that are left it is one, and rank 1, which takes 10 s, holds nobody up."""
        events = [{"kind": "leave", "rank": rank, "at_s": 0} for rank in (2, 3)]
        content = point(4, 0, schedule={"name": "lasgd", "tau_max": 1, "participants": 0.5}, iterations={"warmup": 0, "measured": 10},
                        workers={"slow": [{"ranks": "1", "factor": 10}], "events": events})
        alone = self.row(content)["throughput_samples_per_s"]
        self.assertGreater(alone, 8)

    def test_the_pull_of_the_model(self):
        """Over 1000 B/s: 1000 B are pushed and pulled in 1 s each. Rank 1 joins at 30 s, pulls for a second, which nobody shares, and then as rank 0 does."""
        link = {"bandwidth": 1000, "latency": 0}
        events = [{"kind": "join", "rank": 1, "at_s": 30}]
        content = point(2, 0, schedule={"name": "asgd", "servers": 2}, cluster=fast(2) | {"link": link}, workers={"events": events},
                        iterations={"warmup": 0, "measured": 20})
        self.assertAlmostEqual(self.row(content)["iteration_s"], 60 * 2 / (20 + 1 + 26 / 3), places=6)

    def average(self, workers, seconds, steps, measured, **schedule):
        """Steps of 1 s in rounds of four, an all-reduce of 4 s and a model of 3 s: `measured` steps of rank 0 take so many seconds, and `steps` are made."""
        link = {"bandwidth": 500 / 3, "latency": 0}
        content = point(3, 0, schedule={"name": "diloco", "interval": 4, "quorum": 0.3, "deadline_s": 100, **schedule}, cluster=fast(3) | {"link": link}, workers=workers,
                        iterations={"warmup": 0, "measured": measured})
        self.compare(content | {"sweep": {"/fidelity": ["alpha-beta", "per-message"]}}, [ONE])
        for row in self.rows():
            self.assertAlmostEqual(row["iteration_s"], 3 * seconds / steps, places=6)

    def test_somebody_takes_over_what_the_others_have(self):
        """They average from 4 to 8 s and from 12 to 16; rank 2 joins at 17.25, has the model at 20.25 and posts at 21.25."""
        away = [{"kind": "leave", "rank": 2, "at_s": 9.5}, {"kind": "join", "rank": 2, "at_s": 17.25}]
        self.average({"events": away}, 33.25, 16 + 16 + 11, 16)

    def test_others_no_longer_wait_for_it(self):
        """Its steps take 2 s, the third one until 6 s."""
        self.average({"slow": [{"ranks": "2", "factor": 2}], "events": [{"kind": "leave", "rank": 2, "at_s": 5}]}, 18, 8 + 8 + 3, 8)

    def test_somebody_joins_an_averaging(self):
        """Rank 2 comes at 9.5 s, has the model at 12.5 and posts at 13.5, what the others have waited for since 12."""
        self.average({"events": [{"kind": "join", "rank": 2, "at_s": 9.5}]}, 25.5, 12 + 12 + 5, 12)

    def test_nothing_missed(self):
        """Away from 1 s to 3.25, it posts at 4.25 with the others."""
        self.average({"events": [{"kind": "leave", "rank": 2, "at_s": 0.5}, {"kind": "join", "rank": 2, "at_s": 3.25}]}, 16.25, 8 + 8 + 6, 8)

    def test_back_before_its_averaging_has_ended(self):
        """Which all have posted at 2 s: rank 2 waits for it from 5 s to 6, and posts the next one with the others at 8, two steps early."""
        self.average({"events": [{"kind": "leave", "rank": 2, "at_s": 1.5}, {"kind": "join", "rank": 2, "at_s": 5}]}, 18, 12 + 12 + 10, 12, overlap=2)

    # By a second simulation

    def draw(self, name, schedules, seed, nodes, gpus=1, per_rank=1, **changes):
        rng = random.Random(f"members {name} {seed}")
        workers = [one | {"events": one.get("events", []) + members(rng, nodes * gpus, per_rank)} for one in disturbances(rng, nodes * gpus, slowdown=False)[:4]]
        sweep = {"/cluster": [cluster(rng, nodes, gpus)], "/schedule": schedules(rng), "/workers": workers}
        self.compare(scenario(rng, sweep=sweep, **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(3, 9)}, **changes}), [trace(rng, 3)])

    def test_over_servers(self):
        for seed, name in draws(enumerate(("asgd", "dc-asgd", "downpour", "eamsgd"))):
            self.draw(name, lambda rng: [SCHEDULES[name](rng, 3) for _ in range(2)], seed, 4)
        self.draw("asgd", lambda rng: [SCHEDULES["asgd"](rng, 3)], 9, 3, 2, 2, fidelity="flow")

    def test_local_steps(self):
        def schedules(rng):
            return [{"name": "lasgd", "tau_max": rng.randint(1, 4), "participants": rng.uniform(0.2, 0.9), "worker": worker} for worker in ("node", "gpu")]
        for seed in draws(range(3)):
            self.draw("lasgd", schedules, seed, 5)
        self.draw("lasgd", lambda rng: schedules(rng)[:1], 3, 4, 2, 2)

    def test_who_comes_back_when_the_window_has_closed_is_not_awaited(self):
        """Rank 2, while the others end their steps."""
        one = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "drawn"}, "model": {"name": "one", "batch": 24, "dtype": "fp32"},
               "layers": [{"name": "a", "type": "x", "forward_s": 0.0011142479885930551, "backward_s": 0.001641314168292716}],
               "gradients": [{"name": "g", "layer": "a", "bytes": 11395}, {"name": "h", "layer": "a", "bytes": 614210}], "update_s": 0.0009087754768346821}
        coming = ((4, "join", 0.0465), (4, "leave", 0.3176), (4, "join", 0.5082), (2, "leave", 0.4859), (2, "join", 0.6582), (3, "leave", 0.0259), (3, "join", 0.1947),
                  (1, "leave", 0.3706), (1, "join", 0.4957))
        events = [{"kind": "pause", "rank": 4, "at_s": 0.0519, "for_s": 0.0346}, {"kind": "pause", "rank": 2, "at_s": 0.0955, "for_s": 0.0256}]
        events += [{"kind": kind, "rank": rank, "at_s": date} for rank, kind, date in coming]
        content = {"format": "scenario/1", "name": "closed", "granularity": "layer", "iterations": {"warmup": 3, "measured": 30}, "cluster": fast(5) | {
            "link": {"bandwidth": "0.917Gbps", "latency": 0.0011223882498776752}}, "schedule": {
                "name": "diloco", "interval": 1, "overlap": 1, "quorum": 0.7723466543046504, "deadline_s": 0, "bits": 19, "quantize_s_per_B": 1.1361932013058601e-10},
            "workers": {"slow": [{"ranks": "0-2", "factor": 1.0373534700111873}], "events": events}}
        self.compare(content, [one])

    def averaging(self, rng):
        for _ in range(4):
            interval = rng.randint(1, 4)
            yield {"name": "diloco", "interval": interval, "overlap": rng.randint(0, interval), "quorum": rng.uniform(0.2, 0.95),
                   "deadline_s": rng.choice([0, 10 ** rng.uniform(-3, 0)]), "bits": rng.randint(2, 32), "quantize_s_per_B": rng.choice([0, 10 ** rng.uniform(-10, -8.5)])}

    def test_averaging_without_all_over_slow_links(self):
        """Who comes back may be long behind, or find the window closed."""
        for seed in draws(range(4)):
            rng = random.Random(f"slow {seed}")
            link = {"bandwidth": f"{10 ** rng.uniform(-1.5, 0.7):.3f}Gbps", "latency": 10 ** rng.uniform(-6, -2.5)}
            workers = [{"events": members(rng, 5, 1, rng.choice([0.03, 0.2]))} | rng.choice([{}, {"slow": [{"ranks": "1-2", "factor": rng.uniform(1, 3)}]}]) for _ in range(6)]
            sweep = {"/schedule": list(self.averaging(rng)), "/workers": workers}
            self.compare(scenario(rng, cluster=cluster(rng, 5) | {"link": link}, sweep=sweep, iterations={"warmup": seed, "measured": rng.choice([8, 30])}), [trace(rng, 3)])

    def test_averaging_without_all(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (5, 1), (2, 2), (3, 2)])):
            for fidelity in ("alpha-beta", "per-message"):
                self.draw("diloco", lambda rng: list(self.averaging(rng)), seed, nodes, gpus, fidelity=fidelity, iterations={"warmup": seed, "measured": 20})


if __name__ == "__main__":
    unittest.main()
