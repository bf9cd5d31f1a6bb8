"""dts, sasgd and local-sgd: are collectives launched, compressed, carried in flight and waited for as specified?"""

import random
import unittest

import oracle
from comparing import Comparison, cluster, compressing, disturbances, fit, scenario, trace
from running import draws


def dts(rng, delay, period, **changes):
    schedule = {"name": "dts", "delay": delay, "period": period, **changes}
    if rng.random() < 0.5:
        schedule["overhead_s"] = rng.uniform(1e-4, 2e-3)
    if rng.random() < 0.6:
        schedule.update(compression=rng.uniform(0.01, 0.9), sparse=rng.choice(["all-gather", "all-reduce"]))
        if rng.random() < 0.5:
            schedule["index_bytes"] = rng.choice([0, 2, 8])
    return schedule


def schedules(rng):
    flights = [{}, {"in_flight": "serial"}, {"in_flight": "pipelined"}]
    result = [dts(rng, delay, period, **rng.choice(flights))
              for delay, period in [(0, 1), (1, 1), (3, 1), (0, 2), (2, 3), (4, 2), (1, 4), (6, 2)]]
    return result + [{"name": "sasgd", "interval": rng.randint(1, 4)}, {"name": "local-sgd", "interval": rng.randint(1, 4)}]


def by_gradient(rng):
    """Launched as gradients are ready; some compressed, by a number, a name or an object."""
    drawn = [dts(rng, delay, period, launch="gradient", in_flight=rng.choice(["serial", "pipelined"]))
             for delay, period in [(0, 1), (1, 1), (3, 1), (0, 2), (2, 3), (4, 2)]]
    return drawn + compressing(rng, [{"name": "dts", "delay": delay, "period": period, "launch": "gradient", "overhead_s": 1e-3}
                                     for delay, period in [(0, 1), (1, 1), (2, 2)]])


def compressed(rng):
    """By name, or an object."""
    result = [{"name": "dts", "delay": delay, "period": period, "overhead_s": rng.choice([0, 1e-3]),
               "in_flight": rng.choice(["serial", "pipelined"])} for delay, period in [(0, 1), (1, 1), (3, 1), (0, 2), (2, 3), (4, 2)]]
    return compressing(rng, result + [{"name": name, "interval": rng.randint(1, 4)} for name in ("sasgd", "local-sgd") * 2])


class Delayed(Comparison):
    def draw(self, seed, clusters, workers, *options, schedules=schedules, **changes):
        rng = random.Random(seed)
        sweep = {"/cluster": clusters(rng), "/schedule": schedules(rng), "/workers": disturbances(rng, workers)}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng)], *options)

    def test_nodes(self):
        for seed in draws(range(6)):
            self.draw(seed, lambda rng: [cluster(rng, 1 + (seed + 1) % 9)], 1 + (seed + 1) % 9, all_reduce=[*oracle.TERMS, "auto"][seed % 6])

    def test_slow_links(self):
        """More in flight than fits: the channel sets the pace."""
        for seed in draws(range(10, 13)):
            self.draw(seed, lambda rng: [cluster(rng, 4, link={"bandwidth": "700Mbps", "latency": "3ms"}),
                                         cluster(rng, 4, link={"bandwidth": "10Gbps", "latency": "9ms"})], 4)

    def test_fit(self):
        for seed in draws(range(20, 23)):
            self.draw(seed, lambda rng: [cluster(rng, rng.randint(3, 6), rng.randint(1, 2), fit=fit(rng))], 3)

    def test_several_gpus(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 2), (1, 3), (3, 2)], 30)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus)], nodes * gpus,
                      all_reduce=random.Random(seed).choice(["ring", "halving-doubling"]))

    def test_jittered_latency(self):
        self.draw(40, lambda rng: [cluster(rng, 4, latency_cv=rng.uniform(0.1, 1)) for _ in range(2)], 4)

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (5, 1), (3, 2), (8, 1)], 60)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus), cluster(rng, nodes, gpus, **rng.choice([{"fit": fit(rng)},
                                                                                                    {"latency_cv": 0.3}]))],
                      nodes * gpus, schedules=compressed, all_reduce=[*oracle.TERMS, "auto"][seed % 6])

    def test_gradient_by_gradient(self):
        for seed, (nodes, gpus, latency) in draws(enumerate([(1, 1, 1e-4), (2, 1, 1e-3), (3, 2, 1e-5), (8, 1, 4e-3)], 80)):
            link = {"bandwidth": f"{random.Random(seed).uniform(0.7, 10):.3f}Gbps", "latency": latency}
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus, link=link)], nodes * gpus, schedules=by_gradient)

    def test_one_by_one(self):
        self.draw(50, lambda rng: [cluster(rng, 5), cluster(rng, 3, 2)], 5, "--no-symmetry")
        self.draw(51, lambda rng: [cluster(rng, 5)], 5, "--no-symmetry", schedules=compressed)


if __name__ == "__main__":
    unittest.main()
