"""A task whose model is a perceptron and whose samples are a table."""

import numpy

from syncopate.dataflow import draws
from syncopate.training.tasks.mlp import Perceptron, stacked

INITIAL, BATCHES = 3, 4     # so that no two kinds of draws are the same


class PerceptronTask:
    loss = "cross entropy of test samples"
    rates = {"sgd": 0.2, "momentum": 0.02, "nesterov": 0.02, "adam": 0.002, "adamw": 0.002}

    def __init__(self, sizes, batch, train, test):
        self.model, self.batch, self.train, self.test = Perceptron(sizes), batch, train, test
        self.size = self.model.size

    def initial(self, seed):
        return self.model.initial(numpy.random.default_rng([INITIAL, seed]))

    def gradients(self, models, seed, workers, numbers):
        inputs, labels = self.train
        chosen = (draws.uniform(draws.keys(BATCHES, seed, workers, numbers), self.batch) * len(labels)).astype(int)
        return self.model.gradients(stacked(models), inputs[chosen], labels[chosen])

    def evaluate(self, model):
        return self.model.evaluate(model, *self.test)
