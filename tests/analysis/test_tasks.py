"""Are the gradients of each task those of its loss, on batches that depend on nothing else than they should?"""

import unittest

import numpy

from syncopate.common.errors import InputError
from syncopate.training import tasks

AVAILABLE = []
for name in tasks.TASKS:
    try:
        tasks.check(name)
        AVAILABLE.append(name)
    except InputError:
        pass


class Tasks(unittest.TestCase):
    def each(self):
        for name in AVAILABLE:
            with self.subTest(name):
                yield tasks.make(name, 4)

    def test_gradients_by_finite_differences(self):
        random = numpy.random.default_rng(0)
        for task in self.each():
            x = task.initial(0) + 0.01 * random.normal(size=task.size)
            gradient = task.gradients([x], 0, [3], [40])[0]
            losses = loss_of_batch(task, 3, 40)
            for _ in range(5):
                direction = random.normal(size=task.size)
                direction /= numpy.linalg.norm(direction)
                step = 1e-6
                found = (losses(x + step * direction) - losses(x - step * direction)) / (2 * step)
                self.assertAlmostEqual(found, float(gradient @ direction), delta=1e-6 * max(1, numpy.linalg.norm(gradient)))

    def test_a_gradient_is_a_function_of_model_seed_worker_and_number(self):
        for task in self.each():
            x = task.initial(0)
            one = task.gradients([x, x, 2 * x], 5, [0, 1, 1], [0, 3, 3])
            self.assertEqual(bytes(one[1]), bytes(task.gradients([x, x], 5, [1, 2], [3, 0])[0]))
            for seed, worker, number in ((6, 1, 3), (5, 2, 3), (5, 1, 4)):
                self.assertNotEqual(bytes(one[1]), bytes(task.gradients([x], seed, [worker], [number])[0]))
            self.assertEqual(one[0].shape, (task.size,))
            self.assertEqual(one[0].dtype, float)

    def test_initial_models_and_evaluation(self):
        for task in self.each():
            x = task.initial(1)
            self.assertEqual((x.shape, x.dtype), ((task.size,), float))
            self.assertEqual(bytes(x), bytes(task.initial(1)))
            self.assertNotEqual(bytes(x), bytes(task.initial(2)))
            loss, accuracy = task.evaluate(x)
            self.assertTrue(0.5 < loss < 6 and 0 <= accuracy < 0.5, (loss, accuracy))

    def test_digits_are_split_once_and_for_all(self):
        if "digits" not in AVAILABLE:
            self.skipTest("scikit-learn is missing")
        task = tasks.make("digits")
        self.assertEqual((task.size, task.batch, len(task.train[1]), len(task.test[1])), (4810, 8, 1438, 359))

    def test_names(self):
        for text in ("synthetic:4-3", "synthetic:100-200-200-10"):
            tasks.check(text)
            self.assertGreater(tasks.make(text).size, 0)
        for text, said in (("mnist", 'expected one of digits, synthetic, cnn, lm, got "mnist"'), ("digits:3-4", "expected one of"),
                           ("synthetic:4", "expected synthetic:INPUTS-HIDDEN-CLASSES"), ("synthetic:5-1", 'expected at least 2 classes, for of one there is nothing to learn, got "synthetic:5-1"'), ("synthetic:4-0", "whole numbers from 1 to 4096"), ("synthetic:4-x", "expected synthetic")):
            with self.assertRaisesRegex(ValueError, said):
                tasks.check(text)

    def test_a_missing_package_is_named(self):
        row = tasks.TASKS["digits"]
        tasks.TASKS["digits"] = tasks.Row("digits", (("no_such_module", "python3-no-such"),), 8, "")
        self.addCleanup(tasks.TASKS.__setitem__, "digits", row)
        with self.assertRaises(InputError) as caught:
            tasks.check("digits")
        self.assertEqual(str(caught.exception), 'the task "digits" needs Python\'s no_such_module; install it with: apt install python3-no-such')


def loss_of_batch(task, worker, number):
    """The loss of models over one batch, by evaluation on it alone."""
    import copy
    from syncopate.dataflow import draws
    alone = copy.copy(task)
    kind = 4 if hasattr(task, "model") else 6
    chosen = (draws.uniform(draws.keys(kind, 0, worker, number), task.batch)[0] * len(task.train[1])).astype(int)
    alone.test = tuple(part[chosen] for part in task.train)
    return lambda model: alone.evaluate(model)[0]


if __name__ == "__main__":
    unittest.main()
