"""A task whose model is a function in PyTorch of named tensors, which are cut from one vector of float64."""

import math

import numpy
import torch

from syncopate.dataflow import draws

INITIAL, BATCHES = 5, 6     # so that no two kinds of draws are the same

torch.set_num_threads(1)    # replays run beside each other, and give the same bits however many there are


class NetworkTask:
    """`shapes`: {name: shape}; a name that ends in "scale" begins with ones, "shift" with zeros, others with random numbers.

    What derives from it has `train`, all inputs and labels to draw batches from, `test`, the same for tests, and logits(tensors, inputs), which has a row for
    each label.
    """

    def __init__(self, shapes, batch):
        self.shapes, self.batch = shapes, batch
        self.size = sum(map(math.prod, shapes.values()))

    def initial(self, seed):
        random = numpy.random.default_rng([INITIAL, seed])
        return numpy.concatenate([self.first(name, shape, random).ravel() for name, shape in self.shapes.items()])

    def first(self, name, shape, random):
        if name.endswith("scale"):
            return numpy.ones(shape)
        if name.endswith("shift"):
            return numpy.zeros(shape)
        return random.normal(0, math.prod(shape[1:]) ** -0.5, shape)

    def tensors(self, vector):
        found, start = {}, 0
        for name, shape in self.shapes.items():
            found[name] = vector[start:start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
        return found

    def gradients(self, models, seed, workers, numbers):
        return [self.gradient(model, *self.batch_of(key)) for model, key in zip(models, draws.keys(BATCHES, seed, workers, numbers))]

    def batch_of(self, key):
        inputs, labels = self.train
        chosen = torch.from_numpy((draws.uniform(key[None], self.batch)[0] * len(labels)).astype(int))
        return inputs[chosen], labels[chosen]

    def gradient(self, model, inputs, labels):
        vector = torch.tensor(model, requires_grad=True)
        loss = torch.nn.functional.cross_entropy(self.logits(self.tensors(vector), inputs), labels.reshape(-1))
        return torch.autograd.grad(loss, vector)[0].numpy()

    def evaluate(self, model):
        inputs, labels = self.test
        with torch.no_grad():
            logits = self.logits(self.tensors(torch.from_numpy(model)), inputs)
            loss = torch.nn.functional.cross_entropy(logits, labels.reshape(-1))
            return float(loss), float((logits.argmax(dim=1) == labels.reshape(-1)).double().mean())
