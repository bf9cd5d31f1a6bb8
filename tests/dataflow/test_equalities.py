"""Schedules that must train one and the same model, whatever it is, and what they must conserve."""

import itertools
import unittest

import numpy as np
import toy
from recording import Recorded, trace
from replayer import Replay
from support import cluster, scenario
from test_definitions import FUSION, UNEQUAL

LR, WAYS_TO_GROUP = toy.HYPER["lr"], [{"name": "s-sgd"}, {"name": "wfbp"}, {"name": "sync-easgd"}, {"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}, FUSION,
                                      {"name": "horovod", "cycle_s": 0.002}]


class Equalities(Recorded):
    def replays(self, schedules, *arguments, nodes=5, workers=UNEQUAL, told=None, **changes):
        content = scenario(trace=trace(), cluster=cluster(nodes=nodes, link={"bandwidth": "3Gbps", "latency": "1ms"}), workers=workers, schedule=schedules[0],
                           sweep={"/schedule": schedules}, iterations={"warmup": 1, "measured": 15}, **changes)
        return [self.replay(record, **(told or {})) for record in self.run_recorded(content, *arguments).values()]

    def assert_alike(self, first, second, tolerance=1e-12):
        common = sorted(set(first.taken) & set(second.taken))
        self.assertGreater(len(common), 30)
        for key in common:
            self.assert_same(first.taken[key], second.taken[key], tolerance, f"the model of gradient {key}")

    def union_batches(self, steps, nodes):
        """Sequential descent, each step on what all workers together have."""
        x, models = self.problem.initial, []
        for number in range(steps):
            models.append(x)
            x = x - LR * sum(self.problem.gradient(x, worker, number) for worker in range(nodes)) / nodes
        return models

    def test_sequential_descent_on_all_batches_together(self):
        for nodes in (2, 3, 7):
            [replay] = self.replays([{"name": "s-sgd"}], nodes=nodes)
            models = self.union_batches(20, nodes)
            for (_, number), model in replay.taken.items():
                self.assert_same(model, models[number], 1e-6, number)

    def test_all_groups_train_one_model(self):
        for optimizer in ("sgd", "adam"):
            first, *others = self.replays([*WAYS_TO_GROUP, {"name": "ps-sgd"}, {"name": "ps-sgd", "grouping": FUSION, "duplex": False},
                                           {"name": "wfbp", "compression": "none"}], "--optimizer", optimizer)
            for other in others:
                self.assert_alike(first, other)

    def test_what_is_synchronous_descent(self):
        first, *others = self.replays([{"name": "s-sgd"}, {"name": "dts", "delay": 0, "period": 1}, {"name": "sasgd", "interval": 1}, {"name": "local-sgd", "interval": 1}],
                                      told={"gamma_p": LR / 5})
        for other in others:
            self.assert_alike(first, other)

    def test_a_default_sum_is_a_mean(self):
        """gamma_p is lr / N where nobody says otherwise."""
        contents = [scenario(trace=trace(), schedule={"name": name} | parameters, iterations={"warmup": 1, "measured": 15})
                    for name, parameters in (("s-sgd", {}), ("sasgd", {"interval": 1}))]
        told = {name: value for name, value in toy.HYPER.items() if name != "gamma_p"}
        first, second = (Replay(self.run_recorded(content)[0], self.problem, **told) for content in contents)
        self.assert_alike(first, second)

    def test_without_delay_momentum_is_that_of_synchronous_descent(self):
        for optimizer in ("momentum", "nesterov", "adam", "adamw"):
            self.assert_alike(*self.replays([{"name": "s-sgd"}, {"name": "dts", "delay": 0, "period": 1}], "--optimizer", optimizer), tolerance=1e-10)

    def test_servers_one_step_old(self):
        """x(t + 1) = x(t) - eta bar(g(x(t - 1))): no local updates."""
        [replay] = self.replays([{"name": "ssd-sgd", "delay": 1}], told={"alpha": 0.0, "beta": 0.0, "wd": 0.0})
        x = before = self.problem.initial
        models = [x]
        for number in range(20):
            x, before = x - LR * sum(self.problem.gradient(before, worker, number) for worker in range(5)) / 5, x
            models.append(before)
        for (_, number), model in replay.taken.items():
            self.assert_same(model, models[number], 1e-12, number)

    def test_local_steps_between_pulls(self):
        """alpha = 1, beta = 0 and lr_loc = lr, or another local update: local descent from what was pulled last."""
        schedule = {"name": "ssd-sgd", "delay": 3}
        replays = [*self.replays([schedule], told={"alpha": 1.0, "beta": 0.0, "lr_loc": LR, "wd": 0.0}),
                   *self.replays([schedule | {"local_update": "sgd"}, schedule | {"local_update": "dc-asgd"}], told={"lr_loc": LR, "wd": 0.0})]
        for replay, worker, number in itertools.product(replays, range(5), range(10)):
            if number == 0 or number % 3:
                x = replay.taken[worker, number]
                self.assert_same(replay.taken[worker, number + 1], x - LR * self.problem.gradient(x, worker, number), 1e-12, (worker, number))

    def test_rounds_of_one_step_are_local_sgd_one_round_late(self):
        """x <- bar(x of the round before) - eta g."""
        for workers in ({}, UNEQUAL):
            [replay] = self.replays([{"name": "lasgd", "tau_max": 1}], workers=workers)
            models = [self.problem.initial] * 5
            posted = None
            for number in range(12):
                for worker in range(5):
                    self.assert_same(replay.taken[worker, number], models[worker], 1e-12, (worker, number))
                gradients = [self.problem.gradient(x, worker, number) for worker, x in enumerate(models)]
                late = models if posted is None else [sum(posted) / 5] * 5
                models = posted = [x - LR * g for x, g in zip(late, gradients)]

    def test_one_client_of_downpour_descends(self):
        descent, downpour, rarely, asgd = self.replays([{"name": "wfbp"}, {"name": "downpour", "interval": 1}, {"name": "downpour", "interval": 4}, {"name": "asgd"}], nodes=1,
                                                 workers={})
        for number in range(14):
            for other in (downpour, rarely, asgd):
                self.assert_same(other.taken[0, number], descent.taken[0, number], 1e-12, number)

    def test_one_of_several_steps_at_the_same_model(self):
        """What adds up is taken at one model."""
        [replay] = self.replays([{"name": "wfbp", "accumulate": 4}])
        for (worker, number), model in replay.taken.items():
            self.assert_same(model, replay.taken[worker, number - number % 4], 0.0, (worker, number))

    def test_the_same_record_twice(self):
        content = scenario(trace=trace(), schedule={"name": "wfbp"}, workers=UNEQUAL, iterations={"warmup": 1, "measured": 15})
        self.run_recorded(content, out="once")
        self.run_recorded(content, out="twice")
        files = [(self.folder / out / "dataflow-0.jsonl.gz").read_bytes() for out in ("once", "twice")]
        self.assertEqual(*files)
        self.assertEqual(files[0][4:8], bytes(4), "gzip's time of the file")
        first, second = (self.replay(self.records(out)[0]) for out in ("once", "twice"))
        for key, model in first.taken.items():
            self.assertTrue(np.array_equal(model, second.taken[key]))

    def test_push_sum_conserves(self):
        """What all have, and what is on its way: N times the first model, less what was stepped; and weights of N."""
        for nodes in (2, 3, 5, 8):
            content = scenario(trace=trace(), cluster=cluster(nodes=nodes), workers=UNEQUAL, schedule={"name": "sgp"}, iterations={"warmup": 1, "measured": 15})
            [record] = self.run_recorded(content).values()
            training, replay = self.define(record, {"name": "sgp"}), self.replay(record)
            steps = 1 + min(max(number for worker, number in replay.taken if worker == one) for one in range(nodes))
            stepped, weight = 0.0, [1.0] * nodes
            for number in range(steps - 1):
                here, away = training.weights[number]
                self.assertAlmostEqual(sum(here) + sum(away), nodes, places=12)
                stepped = stepped + LR * sum(self.problem.gradient(replay.taken[worker, number], worker, number) for worker in range(nodes))
                total = sum(here[worker] * replay.taken[worker, number + 1] + weight[worker] / 2 * replay.taken[worker, number] for worker in range(nodes))
                self.assert_same(total + stepped, nodes * self.problem.initial, 1e-12, (nodes, number))
                weight = here

    def test_neighbours_conserve_the_mean(self):
        [replay] = self.replays([{"name": "d-psgd"}])
        for number in range(12):
            mean = sum(replay.taken[worker, number] for worker in range(5))
            stepped = LR * sum(self.problem.gradient(replay.taken[worker, number], worker, number) for worker in range(5))
            self.assert_same(sum(replay.taken[worker, number + 1] for worker in range(5)), mean - stepped, 1e-12, number)

    def test_delayed_updates_conserve_the_mean(self):
        """What a rank gives up of its own it gets of the others: means move as by synchronous descent, once all has arrived."""
        [replay] = self.replays([{"name": "dts", "delay": 3, "period": 2}])
        for number in range(12):
            mean = sum(replay.taken[worker, number] for worker in range(5))
            stepped = LR * sum(self.problem.gradient(replay.taken[worker, number], worker, number) for worker in range(5))
            self.assert_same(sum(replay.taken[worker, number + 1] for worker in range(5)), mean - stepped, 1e-12, number)


if __name__ == "__main__":
    unittest.main()
