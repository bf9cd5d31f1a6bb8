"""Does a replay compute what the format's page says, to the last bit the same whenever it is asked?"""

import math
import unittest

from pages import Folder

import numpy

from syncopate.common.errors import InputError
from syncopate.dataflow import draws
from syncopate.dataflow import record as dataflow
from syncopate.dataflow.compressors import COMPRESSORS, Origin, share
from syncopate.dataflow.optimisers import OPTIMISERS
from syncopate.training import tasks
from syncopate.training.moments import moments
from syncopate.training.replay import Plan, replay, slices
import records

try:
    import torch
except ImportError:
    torch = None

TASK = tasks.make("synthetic:6-8-4", 4)
DEFAULTS = {"lr": 0.3, "mu": 0.9, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01, "lambda": 0.04}


class Replays(Folder):
    def models(self, writer, lr=0.3, seed=0, task=TASK, **settings):
        """The model at every E of the record, in the order of its lines."""
        record = dataflow.read_record(writer.write(self.tmp / "record.jsonl"))
        places = [place for place, line in enumerate(writer.lines) if line["o"] == "E"]
        found = {}
        replay(Plan(record, task.size), task, seed, {"lr": (lr,), **settings}, [(place,) for place in places], found.__setitem__)
        return numpy.array([found[number] for number in range(len(places))])

    def assert_equal(self, one, other, within=1e-12):
        numpy.testing.assert_allclose(one, other, rtol=0, atol=within)

    def test_s_sgd_is_sequential_sgd_on_the_union_of_the_batches(self):
        found = self.models(records.s_sgd(4, 10))[::4]
        x, expected = TASK.initial(0), []
        for k in range(10):
            inputs, labels = (numpy.concatenate(parts) for parts in zip(*(self.batch(w, k) for w in range(4))))
            x = x - 0.3 * TASK.model.gradients(x[None], inputs[None], labels[None])[0]
            expected.append(x)
        self.assert_equal(found, expected)

    def batch(self, w, k):
        inputs, labels = TASK.train
        chosen = (draws.uniform(draws.keys(4, 0, w, k), 4)[0] * len(labels)).astype(int)
        return inputs[chosen], labels[chosen]

    def test_schedules_that_are_s_sgd_train_as_it_does(self):
        expected = self.models(records.s_sgd(4, 12))
        for writer in (records.ps_sgd(4, 12), records.dts(4, 12, delay=0), records.sasgd(4, 12, interval=1), records.local_sgd(4, 12, interval=1)):
            with self.subTest(writer.header["schedule"]):
                self.assert_equal(self.models(writer), expected)

    def test_sasgd_with_the_default_rate_is_local_sgd(self):
        self.assert_equal(self.models(records.sasgd(4, 12, 3))[8::12], self.models(records.local_sgd(4, 12, 3))[8::12])

    def test_asgd_of_one_worker_is_sgd_in_however_many_parts(self):
        expected = self.models(records.s_sgd(1, 10))
        for parts in (1, 2, 5, 200):
            self.assert_equal(self.models(records.asgd(1, 10, parts=parts)), expected)

    def test_parts_of_one_version_are_one_model(self):
        self.assert_equal(self.models(records.asgd(3, 10, parts=4)), self.models(records.asgd(3, 10)))

    def test_momentum_within_dts(self):
        gradient = lambda x, w, k: TASK.gradients([x], 0, [w], [k])[0]     # noqa: E731
        x, u, seen, expected = [TASK.initial(0)] * 2, [0.0] * 2, [], []
        for k in range(6):
            g = [gradient(x[w], w, k) for w in range(2)]
            seen.append(g)
            for w in range(2):
                u[w] = 0.9 * u[w] + (g[w] if k < 2 else g[w] + (seen[k - 2][0] + seen[k - 2][1]) / 2 - seen[k - 2][w])
                x[w] = x[w] - 0.1 * u[w]
                expected.append(x[w])
        self.assert_equal(self.models(records.dts(2, 6, 2, "momentum"), lr=0.1), expected)

    def test_what_a_message_leaves_is_sent_later(self):
        x, residual, expected = TASK.initial(0), numpy.zeros(TASK.size), []
        for k in range(6):
            a = TASK.gradients([x], 0, [0], [k])[0] + residual
            message = COMPRESSORS["top-k"].message(a, {"k": 0.1}, None)
            x, residual = x - 0.3 * message, a - message
            expected.append(x)
        self.assert_equal(self.models(records.compressed("top-k", 1, 6, k=0.1)), expected)

    def test_parts_are_compressed_each_by_itself(self):
        found = self.models(records.compressed("sign", 1, 1, parts=2))
        cut = slices(TASK.size, [4, 8])[0].start
        g = TASK.gradients([TASK.initial(0)], 0, [0], [0])[0]
        message = numpy.concatenate([numpy.where(part < 0, -1, 1) * abs(part).mean() for part in (g[:cut], g[cut:])])
        self.assert_equal(found[0], TASK.initial(0) - 0.3 * message)

    def test_the_same_record_gives_the_same_bits(self):
        for writer in (records.asgd(4, 10), records.compressed("terngrad"), records.compressed("qsgd", bits=3, bucket=16)):
            one, other = self.models(writer), self.models(writer)
            self.assertEqual(one.tobytes(), other.tobytes())
            self.assertNotEqual(one.tobytes(), self.models(writer, seed=1).tobytes())

    def test_gradients_computed_together_are_those_computed_alone(self):
        class Alone:
            size, initial = TASK.size, staticmethod(TASK.initial)

            @staticmethod
            def gradients(models, seed, workers, numbers):
                return [TASK.gradients([model], seed, [w], [k])[0] for model, w, k in zip(models, workers, numbers)]

        for writer in (records.s_sgd(5, 8), records.asgd(5, 8), records.local_sgd(5, 8)):
            self.assert_equal(self.models(writer), self.models(writer, task=Alone))
            record = dataflow.read_record(self.tmp / "record.jsonl")
            together = Plan(record, TASK.size).batches
            self.assertEqual(sorted(place for batch in together.values() for place in batch),
                             [place for place, line in enumerate(writer.lines) if line["o"] == "G"])
            self.assertLess(len(together), record.gradients / 2)

    def test_hyper_parameters(self):
        def writer(*terms, **hyper):
            out = records.Writer("s-sgd", 1, hyper=hyper)
            out.evaluate(out.linear(*((coefficient, out.gradient(0, 0, 0), *factors) for coefficient, *factors in terms)), 0)
            return out

        g = TASK.gradients([TASK.initial(0)], 0, [0], [0])[0]
        hyper = {"mu": [0.5], "eta": [4, "lr"], "zeta": [1, "mu", "1/eta"]}
        for terms, factor in (([(2,)], 2), ([(2, "lr")], 0.6), ([(2, "eta", "1/mu")], 4.8), ([(3, "zeta")], 3 * 0.5 / 1.2), ([(1,), (-0.5, "mu")], 0.75)):
            self.assert_equal(self.models(writer(*terms, **hyper))[0], factor * g)
        self.assert_equal(self.models(writer((1, "eta"), **hyper), mu=(0.1,), eta=(7, "lr"))[0], 2.1 * g)
        for hyper, said in (({"mu": None}, 'line 1: the hyper-parameter "mu" has no default; give it, as in --set mu=0.1'),
                            ({"mu": [0]}, 'the record divides by "mu", which is 0; give another value, as in --set mu=0.1')):
            with self.assertRaisesRegex(InputError, said):
                self.models(writer((1, "1/mu"), **hyper))

    def test_a_model_is_cut_from_its_end_in_proportion_of_bytes(self):
        self.assertEqual([(one.start, one.stop) for one in slices(10, [1, 4])], [(8, 10), (0, 8)])
        self.assertEqual([(one.start, one.stop) for one in slices(100, [4, 4, 4])], [(67, 100), (33, 67), (0, 33)])
        self.assertEqual([(one.start, one.stop) for one in slices(2, [1, 1, 1, 1])], [(2, 2), (1, 2), (0, 1), (0, 0)])

    def test_moments_are_the_models_that_all_workers_compute_on(self):
        record = dataflow.read_record(records.asgd(3, 8).write(self.tmp / "record.jsonl"))
        found = moments(record, 6, True)
        self.assertEqual(found[-1].gradients, max(one.gradients for one in found))
        for one in found:
            at, *others = one.places
            line = record.operations[at]
            self.assertEqual((one.seconds, one.gradients), (line.t, line.n))
            self.assertEqual({line.w, *(record.operations[place].w for place in others)}, {0, 1, 2})
            for place in others:
                between = record.operations[at:place]
                self.assertFalse(any(isinstance(other, dataflow.Gradient) and other.w == record.operations[place].w for other in between))
        models, plan = {}, Plan(record, TASK.size)
        replay(plan, TASK, 0, {"lr": (0.3,)}, [one.places for one in found], models.__setitem__)
        alone = {}
        replay(plan, TASK, 0, {"lr": (0.3,)}, [(place,) for place in found[2].places], alone.__setitem__)
        self.assert_equal(models[2], numpy.mean(list(alone.values()), axis=0))

    def test_moments_of_a_synchronous_schedule_are_its_one_model(self):
        record = dataflow.read_record(records.s_sgd(4, 10).write(self.tmp / "record.jsonl"))
        for most, count in ((3, 3), (9, 9), (60, 9)):
            found = moments(record, most, True)
            self.assertEqual((len(found), found[-1].gradients), (count, 36))
            self.assertTrue(all(len({record.operations[place].x for place in one.places}) == 1 and len(one.places) == 4 for one in found))

    def test_moments_of_one_worker_end_with_the_record(self):
        record = dataflow.read_record(records.s_sgd(4, 10).write(self.tmp / "record.jsonl"))
        self.assertEqual([one.gradients for one in moments(record, 5, False)], [8, 16, 24, 32, 40])
        self.assertTrue(all(len(one.places) == 1 for one in moments(record, 5, False)))
        alone = dataflow.read_record(records.s_sgd(1, 10).write(self.tmp / "record.jsonl"))
        self.assertEqual([one.gradients for one in moments(alone, 5, True)], [2, 4, 6, 8, 10])


class Optimisers(unittest.TestCase):
    def steps(self, name, count=20):
        """The parameters after each step from the same gradients as `expected` gets."""
        random = numpy.random.default_rng(1)
        optimiser, x = OPTIMISERS[name], random.normal(size=7)
        state, found = [numpy.zeros(7)] * (optimiser.makes - 1), [x]
        for gradient in random.normal(size=(count, 7)):
            kept = [one.copy() for one in (x, *state, gradient)]
            arguments = (x, *state, gradient)
            x, *state = optimiser.step(DEFAULTS, *arguments)
            for one, other in zip(arguments, kept):
                self.assertEqual(one.tobytes(), other.tobytes())
            found.append(x)
        return numpy.array(found)

    @unittest.skipUnless(torch, "PyTorch is missing")
    def test_as_pytorch_has_them(self):
        makers = {"momentum": lambda x: torch.optim.SGD([x], 0.3, momentum=0.9), "nesterov": lambda x: torch.optim.SGD([x], 0.3, momentum=0.9, nesterov=True),
                  "adam": lambda x: torch.optim.Adam([x], 0.3), "adamw": lambda x: torch.optim.AdamW([x], 0.3, weight_decay=0.01)}
        for name, make in makers.items():
            random = numpy.random.default_rng(1)
            x = torch.tensor(random.normal(size=7), requires_grad=True)
            optimiser, expected = make(x), [x.detach().numpy().copy()]
            for gradient in random.normal(size=(20, 7)):
                x.grad = torch.tensor(gradient)
                optimiser.step()
                expected.append(x.detach().numpy().copy())
            with self.subTest(name):
                numpy.testing.assert_allclose(self.steps(name), expected, rtol=0, atol=1e-12)

    def test_momentum_in_closed_form(self):
        random = numpy.random.default_rng(1)
        start, gradients = random.normal(size=7), random.normal(size=(20, 7))
        expected = start - 0.3 * sum(g * (1 - 0.9 ** (20 - place)) / (1 - 0.9) for place, g in enumerate(gradients))
        numpy.testing.assert_allclose(self.steps("momentum")[-1], expected, rtol=0, atol=1e-12)

    def test_adams_first_step_is_the_rate_in_the_gradients_direction(self):
        g = numpy.array([3.0, -0.02, 0.0])
        x, m, s, n = OPTIMISERS["adam"].step(DEFAULTS, numpy.zeros(3), *[numpy.zeros(3)] * 3, g)
        numpy.testing.assert_allclose(x, [-0.3, 0.3, 0], atol=1e-6)
        numpy.testing.assert_allclose([m, s, n], [0.1 * g, 0.001 * g * g, numpy.ones(3)], atol=1e-15)

    def test_delay_compensation(self):
        x, b, g = numpy.array([[1.0, 2.0], [0.5, 2.5], [3.0, -4.0]])
        found, = OPTIMISERS["delay-compensated"].step(DEFAULTS, x, b, g)
        numpy.testing.assert_allclose(found, [1 - 0.3 * (3 + 0.04 * 9 * 0.5), 2 - 0.3 * (-4 + 0.04 * 16 * -0.5)], rtol=1e-15)


class Compressors(unittest.TestCase):
    def setUp(self):
        self.a = numpy.random.default_rng(2).normal(size=1000)

    def message(self, name, a=None, value=17, seed=0, part=0, **keys):
        with numpy.errstate(all="ignore"):
            return COMPRESSORS[name].message(self.a if a is None else a, keys, Origin(seed, value, part))

    def test_fp16(self):
        self.assertEqual(list(self.message("fp16", numpy.array([1 + 2 ** -11, 1e5, -3.0]))), [1.0, math.inf, -3.0])

    def test_sign(self):
        self.assertEqual(list(self.message("sign", numpy.array([3.0, -1.0, 0.0, -0.0]))), [1.0, -1.0, 1.0, 1.0])

    def test_top_k(self):
        self.assertEqual(list(self.message("top-k", numpy.array([1.0, -3.0, 3.0, 2.0, -3.0]), k=0.4)), [0, -3, 3, 0, 0])
        self.assertEqual(numpy.count_nonzero(self.message("top-k", k=0.0101)), 11)
        self.assertEqual(list(self.message("top-k", k=1)), list(self.a))
        self.assertEqual([share(k, v) for k, v in ((0.07, 100), (0.29, 100), (0.001, 5), (0.3, 10), (1, 7), (0.5, 0))], [7, 29, 1, 3, 7, 0])

    def test_random_k_chooses_the_same_on_all_ranks_and_anew_each_time(self):
        one, other = self.message("random-k", k=0.1, n=3), self.message("random-k", -self.a, value=99, k=0.1, n=3)
        self.assertEqual(numpy.count_nonzero(one), 100)
        self.assertEqual(list(one), list(-other))
        for changed in ({"n": 4}, {"seed": 1, "n": 3}, {"part": 1, "n": 3}):
            self.assertNotEqual(list(one), list(self.message("random-k", k=0.1, **changed)))

    def test_terngrad_is_unbiased_and_has_three_levels(self):
        found = [self.message("terngrad", value=value) for value in range(2000)]
        most = abs(self.a).max()
        self.assertEqual(set(numpy.unique(found)), {-most, 0, most})
        self.assertLess(abs(numpy.mean(found, axis=0) - self.a).max(), 5 * most / 2 / 2000 ** 0.5)

    def test_qsgd_is_unbiased_and_on_its_levels(self):
        found = numpy.array([self.message("qsgd", value=value, bits=4, bucket=64) for value in range(2000)])
        norm = numpy.concatenate([[numpy.linalg.norm(self.a[start:start + 64])] * min(64, 1000 - start) for start in range(0, 1000, 64)])
        levels = found / norm * 7
        self.assertLess(abs(levels - levels.round()).max(), 1e-12)
        self.assertLess((abs(found.mean(axis=0) - self.a) / norm).max(), 5 / 7 / 2 / 2000 ** 0.5)
        self.assertLess(abs(abs(self.message("qsgd", bits=32, bucket=64)) - abs(self.a)).max(), 1e-8)

    def test_one_bit_of_qsgd_has_one_level(self):
        found = self.message("qsgd", bits=1, bucket=1000)
        self.assertLessEqual(set(numpy.unique(abs(found).round(9))), {0, numpy.linalg.norm(self.a).round(9)})

    def test_nothing_and_zeros(self):
        keys = {"k": 0.5, "n": 0, "bits": 4, "bucket": 8}
        for name, compressor in COMPRESSORS.items():
            own = {key: keys[key] for key in compressor.keys}
            self.assertEqual(list(self.message(name, numpy.zeros(3), **own)), [0, 0, 0], name)
            self.assertEqual(list(self.message(name, numpy.zeros(0), **own)), [], name)


class Draws(unittest.TestCase):
    def test_numbers_are_even_and_of_their_key_alone(self):
        found = draws.uniform(draws.keys(1, numpy.arange(200)), 500)
        self.assertTrue(0 <= found.min() and found.max() < 1)
        self.assertLess(abs(numpy.histogram(found, 20)[0] - 5000).max(), 5 * 5000 ** 0.5)
        self.assertLess(abs(numpy.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]), 0.02)
        self.assertEqual(list(found[7]), list(draws.uniform(draws.keys(1, 7), 500)[0]))
        self.assertNotEqual(list(draws.keys(1, 2)), list(draws.keys(2, 1)))

    def test_the_first_numbers_never_change(self):
        self.assertEqual([int(key) for key in draws.keys(3, numpy.array([0, 1]))], [17514530969307720864, 8844504430897817626])


if __name__ == "__main__":
    unittest.main()
