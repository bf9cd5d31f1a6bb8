"""A perceptron with rectified hidden layers and softmax cross entropy, many models at a time."""

import numpy


class Perceptron:
    """Of so many inputs, hidden units, ..., classes. A model is a vector: weights and biases, layer by layer."""

    def __init__(self, sizes):
        self.layers = list(zip(sizes, sizes[1:]))
        self.size = sum((inputs + 1) * outputs for inputs, outputs in self.layers)

    def initial(self, random):
        """He's initial weights, and no biases."""
        model = numpy.zeros((1, self.size))
        for weight, _ in self.cut(model):
            weight[:] = random.normal(0, numpy.sqrt(2 / weight.shape[1]), weight.shape)
        return model[0]

    def cut(self, models):
        """Of n models, views: (weights n x inputs x outputs, biases n x 1 x outputs) of each layer."""
        found, start = [], 0
        for inputs, outputs in self.layers:
            end = start + inputs * outputs
            found.append((models[:, start:end].reshape(-1, inputs, outputs), models[:, end:end + outputs].reshape(-1, 1, outputs)))
            start = end + outputs
        return found

    def forward(self, layers, inputs):
        """What enters each layer, and the logits."""
        entering = [inputs]
        for place, (weight, bias) in enumerate(layers):
            outputs = entering[-1] @ weight
            outputs += bias
            entering.append(outputs if place + 1 == len(layers) else numpy.maximum(outputs, 0, out=outputs))
        return entering[:-1], entering[-1]

    def gradients(self, models, inputs, labels):
        """Of n models (or one for all), n x batch x inputs and n x batch labels: the mean gradients, n x size."""
        count, batch = labels.shape
        layers, found = self.cut(models), numpy.empty((count, self.size))
        entering, logits = self.forward(layers, inputs)
        error = softmax(logits)
        error[numpy.arange(count)[:, None], numpy.arange(batch), labels] -= 1
        error /= batch
        for place in reversed(range(len(layers))):
            weight, bias = self.cut(found)[place]
            numpy.matmul(entering[place].transpose(0, 2, 1), error, out=weight)
            numpy.sum(error, axis=1, keepdims=True, out=bias)
            if place:
                error = error @ layers[place][0].transpose(0, 2, 1)
                error *= entering[place] > 0
        return found

    def evaluate(self, model, inputs, labels):
        """(mean loss, accuracy)."""
        logits = self.forward(self.cut(model[None]), inputs[None])[1][0]
        rows = numpy.arange(len(labels))
        loss = numpy.log(numpy.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)) + logits.max(axis=1) - logits[rows, labels]
        return float(loss.mean()), float((logits.argmax(axis=1) == labels).mean())


def softmax(logits):
    found = numpy.exp(logits - logits.max(axis=-1, keepdims=True))
    found /= found.sum(axis=-1, keepdims=True)
    return found


def stacked(models):
    """As rows; a single one where all are the same vector."""
    return models[0][None] if all(model is models[0] for model in models) else numpy.stack(models)
