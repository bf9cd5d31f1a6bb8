"""A training problem of a few numbers, in which any mix-up of models, workers, batches or parts changes what comes out."""

import functools

import numpy as np

# Of other sizes than the defaults, and no two alike.
HYPER = {"lr": 0.05, "mu": 0.8, "beta1": 0.85, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1, "alpha": 1.7, "beta": 0.4, "lr_loc": 0.13, "wd": 0.06,
         "gamma_p": 0.011, "rho": 0.23, "lambda": 0.3}


class Toy:
    """A loss with a curvature and a minimum of each worker's every batch, and with a part that is not quadratic and joins distant elements."""

    def __init__(self, size=96, seed=1):
        self.size, self.seed = size, seed
        self.initial = np.random.default_rng((seed,)).normal(size=size)
        self.batch = functools.cache(self._batch)

    def _batch(self, worker, number):
        draw = np.random.default_rng((self.seed, worker, number))
        return draw.uniform(0.5, 1.5, self.size), draw.normal(size=self.size)

    def gradient(self, model, worker, number):
        curvature, minimum = self.batch(worker, number)
        distant = np.concatenate((model[-(self.size // 2):], model[:-(self.size // 2)]))
        return curvature * (model - minimum) + 0.3 * np.sin(model + 2 * distant)

    def drawn(self, part, number, count, length):
        """The elements of a part that every rank sends as its message `number`."""
        return np.random.default_rng((self.seed, 1 << 20, part, number)).permutation(length)[:count]


def cuts(parts, size):
    """Where each part lies in the model: from its end, in the proportion of their bytes."""
    total, before, result = sum(part["bytes"] for part in parts), 0, []
    for part in parts:
        after = before + part["bytes"]
        result.append(slice(size - round(size * after / total), size - round(size * before / total)))
        before = after
    return result
