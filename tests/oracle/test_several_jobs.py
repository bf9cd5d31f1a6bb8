"""Several jobs on one network: does each take as long as where an independent model shares the links among all?"""

import random

import jobs
from running import Running, draws
from support import cluster, scenario, trace

BANDWIDTH, GRADIENT = 1e9, 1e6


def one_tensor(compute, size):
    """Of a step that computes so long and then all-reduces one tensor."""
    return trace(layers=[{"name": "l", "type": "unknown", "forward_s": compute / 2, "backward_s": compute / 2}],
                 gradients=[{"name": "l.weight", "layer": "l", "bytes": size}])


class Jobs(Running):
    def figures(self, make, drawn, warmup, measured):
        """(together, alone) of each job, or None where a rounding error makes a difference: where messages of a ring contend, it grows from one to the next."""
        figures, others = (jobs.figures(drawn, make(BANDWIDTH * (1 + error)), warmup, measured) for error in (0, 1e-12))
        errors = [abs(one / other - 1) for pair, pair_then in zip(figures, others) for one, other in zip(pair, pair_then)]
        return figures if max(errors) < 1e-9 else None

    def compare(self, make, content, drawn, warmup, measured, all_reduce="ring"):
        """`make`: the network, of links of that bandwidth. Returns whether there was anything to compare."""
        figures = self.figures(make, drawn, warmup, measured)
        if figures is None:
            return False
        described = []
        for index, job in enumerate(drawn):
            self.write(f"trace{index}.json", one_tensor(job.compute, job.size))
            described.append({"nodes": ",".join(map(str, job.nodes)), "trace": f"trace{index}.json", "start_s": job.start})
        content = scenario(cluster=content, schedule={"name": "s-sgd"}, jobs=described, all_reduce=all_reduce, iterations={"warmup": warmup, "measured": measured})
        del content["trace"]
        self.run_well(content)
        found = self.points[0]["jobs"]
        for one, (together, alone) in zip(found, figures, strict=True):
            self.assertAlmostEqual(one["iteration_s"] / together, 1.0, delta=1e-6, msg=f"{described}: {found}")
            self.assertAlmostEqual(one["iteration_alone_s"] / alone, 1.0, delta=1e-9)
        return True

    def draw(self, rng, nodes, most=3):
        drawn = []
        for _ in range(rng.randint(2, most)):
            its = sorted(rng.sample(range(nodes), rng.randint(2, nodes)))
            drawn.append(jobs.Job(its, rng.uniform(0.2, 3) * GRADIENT / BANDWIDTH, round(rng.uniform(0.2, 3) * GRADIENT), rng.choice([0.0, rng.uniform(0, 5e-3)])))
        return drawn

    def test_on_a_star(self):
        compared, seeds = 0, draws(range(14))
        for seed in seeds:
            rng = random.Random(seed)
            nodes, latency = rng.randint(3, 6), rng.choice([0, 1e-5])
            with self.subTest(seed):
                compared += self.compare(lambda bandwidth: jobs.star(nodes, bandwidth, latency), cluster(nodes=nodes, link={"bandwidth": BANDWIDTH, "latency": latency}),
                                         self.draw(rng, nodes), rng.randint(0, 2), rng.randint(1, 4))
        self.assertGreater(compared, len(seeds) * 0.7)

    def test_on_a_tree(self):
        """Whose upper links all jobs share."""
        compared, seeds = 0, draws(range(14))
        for seed in seeds:
            rng = random.Random(100 + seed)
            arity, latency = rng.choice([2, 3]), rng.choice([0, 1e-5])
            with self.subTest(seed):
                description = cluster(nodes=8, link={"bandwidth": BANDWIDTH, "latency": latency}, topology={"name": "tree", "arity": arity})
                compared += self.compare(lambda bandwidth: jobs.tree(8, arity, bandwidth, latency), description, self.draw(rng, 8), rng.randint(0, 2), rng.randint(1, 3))
        self.assertGreater(compared, len(seeds) * 0.7)

    def test_another_algorithm(self):
        for seed in draws(range(4)):
            rng = random.Random(200 + seed)
            drawn = [jobs.Job(its, rng.uniform(0.5, 2) * 1e-3, round(rng.uniform(0.5, 2) * GRADIENT), algorithm="halving-doubling") for its in ([0, 1, 2, 3], [2, 3, 4, 5])]
            with self.subTest(seed):
                star = cluster(nodes=6, link={"bandwidth": BANDWIDTH, "latency": 0})
                self.assertTrue(self.compare(lambda bandwidth: jobs.star(6, bandwidth, 0), star, drawn, 1, 3, "halving-doubling"))
