"""lasgd, sgp and d-psgd: do locally asynchronous workers step, post, wait and mix as specified?"""

import random
import unittest

import oracle
from comparing import Comparison, cluster, compressing, disturbances, fit, node_windows, scenario, trace
from running import draws


FORMS = [{}, {"within_node": "overlapped"}, {"within_node": "blocking"}]


class Local(Comparison):
    def draw(self, seed, clusters, schedules, workers, *options, slowdown=True, **changes):
        rng = random.Random(seed)
        sweep = {"/cluster": clusters(rng), "/schedule": schedules(rng), "/workers": disturbances(rng, workers, slowdown)}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng)], *options)

    def slow_links(self, rng, nodes, gpus=1, **changes):
        """A round lasts from less than a step to several."""
        link = {"bandwidth": f"{rng.uniform(0.3, 10):.3f}Gbps", "latency": rng.uniform(1e-5, 2e-3)}
        return cluster(rng, nodes, gpus, **{"link": link, **changes})

    def test_rounds(self):
        for seed in draws(range(5)):
            self.draw(seed, lambda rng: [self.slow_links(rng, 1 + (seed + 1) % 9) for _ in range(2)],
                      lambda rng: [{"name": "lasgd", "tau_max": tau} for tau in (1, 2, 5, 40)], 1 + (seed + 1) % 9,
                      all_reduce=list(oracle.TERMS)[seed])

    def test_several_gpus(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 2), (1, 3), (3, 2)], 10)):
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes, gpus), self.slow_links(rng, nodes, gpus, fit=fit(rng))],
                      lambda rng: [{"name": "lasgd", "tau_max": tau, **form} for tau in (1, 4) for form in (*FORMS, {"worker": "gpu"})],
                      nodes * gpus)

    def test_buckets(self):
        """Several of them, which may last longer than backward."""
        for seed, (nodes, gpus) in draws(enumerate([(1, 2), (2, 2), (2, 4)], 15)):
            rng = random.Random(seed)
            one = trace(rng)
            for gradient in one["gradients"]:
                gradient["bytes"] *= rng.choice([1, 10, 30])
            inside = {"bandwidth": f"{rng.uniform(2, 20):.3f}GBps", "latency": rng.uniform(1e-6, 1e-4)}
            sweep = {"/cluster": [self.slow_links(rng, nodes, gpus) | {"intra_node": inside}], "/schedule": [
                schedule | form for schedule in ({"name": "lasgd", "tau_max": 2}, {"name": "sgp"}, {"name": "d-psgd"}) for form in FORMS],
                "/workers": disturbances(rng, nodes * gpus, slowdown=False)}
            self.compare(scenario(rng, sweep=sweep), [one])

    def test_participants(self):
        """Every rank at a pace of its own: which ranks a collective takes must not hang on a rounding."""
        for seed in draws(range(20, 23)):
            rng = random.Random(seed)
            schedules = [{"name": "lasgd", "tau_max": tau, "participants": share} for tau in (1, 3, 40) for share in (0.2, 0.5, 0.75)]
            sweep = {"/cluster": [self.slow_links(rng, 4 + seed % 4) for _ in range(2)], "/schedule": schedules,
                     "/workers": disturbances(rng, 4)}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])

    def test_jittered_latency(self):
        self.draw(30, lambda rng: [self.slow_links(rng, 4, latency_cv=rng.uniform(0.1, 1)) for _ in range(2)],
                  lambda rng: [{"name": "lasgd", "tau_max": tau, "participants": share} for tau, share in ((2, 1), (9, 0.5))], 4)

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (3, 2), (8, 1)], 100)):
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes, gpus), self.slow_links(rng, nodes, gpus, **rng.choice(
                [{"fit": fit(rng)}, {"latency_cv": 0.3}]))], lambda rng: compressing(rng, [
                    {"name": "lasgd", "tau_max": tau, **form} for tau in (1, 3, 40) for form in ({}, {}, {"worker": "gpu"})]),
                nodes * gpus, all_reduce=list(oracle.TERMS)[seed % 5])

    def test_push_sum(self):
        for seed in draws(range(40, 46)):
            nodes = (1 + seed % 9) if seed < 45 else 16
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes) for _ in range(2)] + [self.slow_links(rng, nodes, 2)],
                      lambda rng: [{"name": "sgp"} | form for form in FORMS[1:]], nodes, slowdown=False)

    def test_push_sum_as_flows(self):
        """Of unequal workers two may send to one at a time."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (6, 1), (3, 2)], 60)):
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes, gpus) for _ in range(2)], lambda rng: [{"name": "sgp"}], nodes * gpus,
                      slowdown=False, fidelity="flow")

    def test_neighbours(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (16, 1), (2, 2), (3, 2), (1, 2)], 70)):
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes, gpus) for _ in range(2)],
                      lambda rng: [{"name": "d-psgd"} | form for form in FORMS[1:]], nodes * gpus, slowdown=False)

    def test_neighbours_as_flows(self):
        """Both may send to one at a time."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (6, 1), (3, 2)], 80)):
            self.draw(seed, lambda rng: [self.slow_links(rng, nodes, gpus) for _ in range(2)], lambda rng: [{"name": "d-psgd"}],
                      nodes * gpus, slowdown=False, fidelity="flow")

    def test_windows(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (3, 2)], 90)):
            for fidelity in ("alpha-beta", "per-message", "flow"):
                self.draw(seed, lambda rng: [node_windows(rng, self.slow_links(rng, nodes, gpus, nics=nics)) for nics in (1, 2)],
                          lambda rng: [{"name": "sgp"}, {"name": "d-psgd"}], nodes * gpus, slowdown=False, fidelity=fidelity)
        self.draw(95, lambda rng: [node_windows(rng, self.slow_links(rng, 3, 2))], lambda rng: [
            {"name": "lasgd", "tau_max": tau, **form} for tau in (1, 4) for form in ({}, {"worker": "gpu"})], 6)

    def test_one_by_one(self):
        self.draw(50, lambda rng: [self.slow_links(rng, 4), self.slow_links(rng, 2, 2)],
                  lambda rng: [{"name": "sgp"}, {"name": "d-psgd"}, {"name": "lasgd", "tau_max": 3}], 4, "--no-symmetry", slowdown=False)


if __name__ == "__main__":
    unittest.main()
