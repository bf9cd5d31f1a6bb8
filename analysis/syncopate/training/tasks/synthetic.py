"""What a random perceptron, the teacher, says of random inputs, learnt by another of the same size: 4,096 samples, and 1,024 for tests."""

import numpy

from syncopate.training.tasks.mlp import Perceptron
from syncopate.training.tasks.perceptron_task import PerceptronTask

SAMPLES, TESTS = 4096, 1024


class Task(PerceptronTask):
    def __init__(self, batch, sizes=(32, 64, 10)):
        random = numpy.random.default_rng(0)
        teacher = Perceptron(list(sizes))
        inputs = random.normal(size=(SAMPLES + TESTS, sizes[0]))
        logits = teacher.forward(teacher.cut(teacher.initial(random)[None]), inputs[None])[1][0]
        labels = (3 * logits + random.gumbel(size=logits.shape)).argmax(axis=1)      # drawn from the softmax of 3 logits: some are wrong
        super().__init__(list(sizes), batch, (inputs[:SAMPLES], labels[:SAMPLES]), (inputs[SAMPLES:], labels[SAMPLES:]))
