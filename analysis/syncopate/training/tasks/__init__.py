"""Small tasks that a record is replayed on, by name.

A task has `size`, how many numbers its model is; `rates`, {optimiser: the learning rate in the middle of those that are tried};
`loss`, a text that says what it is; `batch`, the samples of a gradient; and, of a seed and of models that are vectors of float64,

  initial(seed)                             the model that training begins with
  gradients(models, seed, workers, numbers) the mean gradient of each model over its worker's batch of that number: one row each
  evaluate(model)                           (loss, accuracy) on what is never trained on

Batches are drawn from (seed, worker, number) alone.
"""

import importlib
import importlib.util
from dataclasses import dataclass

from syncopate.common.errors import InputError


@dataclass(frozen=True)
class Row:
    module: str
    packages: tuple     # of Debian: (module, package)
    batch: int          # samples of a gradient, where nobody says otherwise
    what: str


TASKS = {
    "digits": Row("digits", (("sklearn", "python3-sklearn"),), 8, "1,797 images of handwritten digits, a perceptron 64-64-10"),
    "synthetic": Row("synthetic", (), 8, "labels that a random perceptron gives, learnt by another; synthetic:32-64-10 says how large they are"),
    "cnn": Row("cnn", (("torch", "python3-torch"),), 8, "drawn gratings, a small residual network"),
    "lm": Row("lm", (("torch", "python3-torch"),), 8, "text of a fixed grammar, a transformer of two layers"),
}


def row_of(text):
    """The row of TASKS that a task such as "synthetic:32-64-10" has."""
    return TASKS[text.partition(":")[0]]


def check(text):
    """Raises ValueError where no task is called so, InputError where a package is missing."""
    name, _, size = text.partition(":")
    if name not in TASKS or size and name != "synthetic":
        raise ValueError(f'expected one of {", ".join(TASKS)}, got "{text}"')
    if size and not all(part.isdecimal() and 0 < int(part) <= 4096 for part in size.split("-")) or size and size.count("-") < 1:
        raise ValueError(f'expected synthetic:INPUTS-HIDDEN-CLASSES, whole numbers from 1 to 4096, got "{text}"')
    if size and int(size.split("-")[-1]) == 1:
        raise ValueError(f'expected at least 2 classes, for of one there is nothing to learn, got "{text}"')
    for module, package in TASKS[name].packages:
        if importlib.util.find_spec(module) is None:
            raise InputError(f'the task "{name}" needs Python\'s {module}; install it with: apt install {package}')


def make(text, batch=None):
    """A task by its name; `batch` samples a gradient."""
    row, size = row_of(text), text.partition(":")[2]
    module = importlib.import_module(f"syncopate.training.tasks.{row.module}")
    return module.Task(batch or row.batch, *([[int(part) for part in size.split("-")]] if size else []))
