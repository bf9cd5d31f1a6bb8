"""Gratings of eight directions and a noise, 12 x 12, told apart by a small residual network: 2,048 images, and 256 for tests."""

import numpy
import torch
from torch.nn import functional

from syncopate.training.tasks.network import NetworkTask

CLASSES, PIXELS, SAMPLES, TESTS, NARROW, WIDE = 8, 12, 2048, 256, 8, 16


class Task(NetworkTask):
    loss = "cross entropy of test images"
    rates = {"sgd": 0.1, "momentum": 0.01, "nesterov": 0.01, "adam": 0.002, "adamw": 0.002}

    def __init__(self, batch):
        shapes = {"first": (NARROW, 1, 3, 3), **block("narrow", NARROW, NARROW), **block("wide", NARROW, WIDE),
                  "skip": (WIDE, NARROW, 1, 1), "last": (CLASSES, WIDE), "last shift": (CLASSES,)}
        super().__init__(shapes, batch)
        images, labels = drawn(numpy.random.default_rng(0), SAMPLES + TESTS)
        self.train, self.test = (images[:SAMPLES], labels[:SAMPLES]), (images[SAMPLES:], labels[SAMPLES:])

    def logits(self, tensors, images):
        found = functional.conv2d(images, tensors["first"], padding=1)
        found = functional.relu(found + residual(tensors, "narrow", found, 1))
        found = functional.relu(functional.conv2d(found, tensors["skip"], stride=2) + residual(tensors, "wide", found, 2))
        return found.mean(dim=(2, 3)) @ tensors["last"].T + tensors["last shift"]


def block(name, inputs, outputs):
    return {f"{name} 1": (outputs, inputs, 3, 3), f"{name} 1 scale": (outputs,), f"{name} 1 shift": (outputs,),
            f"{name} 2": (outputs, outputs, 3, 3), f"{name} 2 scale": (outputs,), f"{name} 2 shift": (outputs,)}


def residual(tensors, name, found, stride):
    """Two convolutions, each normalised by groups of four channels of a sample: a gradient depends on its batch alone."""
    for place, step in ((1, stride), (2, 1)):
        found = functional.conv2d(found, tensors[f"{name} {place}"], stride=step, padding=1)
        found = functional.group_norm(found, found.shape[1] // 4, tensors[f"{name} {place} scale"], tensors[f"{name} {place} shift"])
        found = functional.relu(found) if place == 1 else found
    return found


def drawn(random, count):
    labels = random.integers(CLASSES, size=count)
    angles, phases, waves = numpy.pi * (labels + random.uniform(-0.3, 0.3, count)) / CLASSES, random.uniform(0, 2 * numpy.pi, count), random.uniform(0.7, 1.3, count)
    down, across = numpy.mgrid[:PIXELS, :PIXELS]
    along = numpy.cos(angles)[:, None, None] * across + numpy.sin(angles)[:, None, None] * down
    images = numpy.sin(waves[:, None, None] * along + phases[:, None, None]) + random.normal(0, 0.7, (count, PIXELS, PIXELS))
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels)
