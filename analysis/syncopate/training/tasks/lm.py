"""Text of a fixed grammar, word by word, continued by a transformer of two layers: 2,048 pieces of 16 words, and 128 for tests."""

import numpy
import torch
from torch.nn import functional

from syncopate.training.tasks.network import NetworkTask

# A sentence is drawn from these rules; a word that is none of them stands for itself.
GRAMMAR = {
    "SENTENCE": ("ONE VERBS-ONE .", "MANY VERBS-MANY .", "ONE that MANY VERBS-MANY VERBS-ONE .", "MANY that ONE VERBS-ONE VERBS-MANY ."),
    "ONE": ("a THING", "the THING", "the ADJECTIVE THING"),
    "MANY": ("the THINGS", "many THINGS", "ADJECTIVE THINGS"),
    "VERBS-ONE": ("waits", "sends MANY", "takes ONE", "holds MANY"),
    "VERBS-MANY": ("wait", "send ONE", "take MANY", "hold ONE"),
    "ADJECTIVE": ("slow", "old", "new", "idle"),
    "THING": ("worker", "server", "switch", "clock"),
    "THINGS": ("workers", "servers", "switches", "clocks"),
}
LENGTH, SAMPLES, TESTS, WIDTH, HEADS, LAYERS = 16, 2048, 128, 16, 2, 2
WORDS = sorted({word for texts in GRAMMAR.values() for text in texts for word in text.split()} - set(GRAMMAR))


class Task(NetworkTask):
    loss = "cross entropy of a test word"
    rates = {"sgd": 0.4, "momentum": 0.04, "nesterov": 0.04, "adam": 0.004, "adamw": 0.004}

    def __init__(self, batch):
        shapes = {"words": (len(WORDS), WIDTH), "places": (LENGTH, WIDTH)}
        for layer in range(LAYERS):
            shapes |= {f"{layer} before scale": (WIDTH,), f"{layer} before shift": (WIDTH,), f"{layer} attend": (3 * WIDTH, WIDTH), f"{layer} join": (WIDTH, WIDTH),
                       f"{layer} between scale": (WIDTH,), f"{layer} between shift": (WIDTH,), f"{layer} widen": (4 * WIDTH, WIDTH), f"{layer} narrow": (WIDTH, 4 * WIDTH)}
        super().__init__(shapes | {"end scale": (WIDTH,), "end shift": (WIDTH,), "last": (len(WORDS), WIDTH)}, batch)
        text = torch.tensor(written(numpy.random.default_rng(0), (SAMPLES + TESTS) * (LENGTH + 1))).reshape(-1, LENGTH + 1)
        inputs, labels = text[:, :-1], text[:, 1:]
        self.train, self.test = (inputs[:SAMPLES], labels[:SAMPLES]), (inputs[SAMPLES:], labels[SAMPLES:])
        self.future = torch.full((LENGTH, LENGTH), -torch.inf, dtype=torch.float64).triu(1)

    def logits(self, tensors, inputs):
        found = tensors["words"][inputs] + tensors["places"]
        for layer in range(LAYERS):
            found = found + self.attention(tensors, layer, normal(tensors, f"{layer} before", found))
            found = found + functional.gelu(normal(tensors, f"{layer} between", found) @ tensors[f"{layer} widen"].T) @ tensors[f"{layer} narrow"].T
        return (normal(tensors, "end", found) @ tensors["last"].T).reshape(-1, len(WORDS))

    def attention(self, tensors, layer, found):
        asked, offered, said = ((found @ tensors[f"{layer} attend"].T).reshape(*found.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4))
        heed = torch.softmax(asked @ offered.transpose(-1, -2) * (WIDTH / HEADS) ** -0.5 + self.future, dim=-1)
        return (heed @ said).transpose(1, 2).reshape(found.shape) @ tensors[f"{layer} join"].T


def normal(tensors, name, found):
    return functional.layer_norm(found, (WIDTH,), tensors[f"{name} scale"], tensors[f"{name} shift"])


def written(random, count):
    """So many words of sentences, each as its place among WORDS."""
    numbers, words = {word: number for number, word in enumerate(WORDS)}, []
    while len(words) < count:
        open_ = ["SENTENCE"]
        while open_:
            word = open_.pop()
            if word in GRAMMAR:
                open_ += reversed(GRAMMAR[word][random.integers(len(GRAMMAR[word]))].split())
            else:
                words.append(numbers[word])
    return words[:count]
