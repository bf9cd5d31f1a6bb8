"""A training of several records: what became of each, and what a reader must know of it."""

from dataclasses import dataclass

from syncopate.common.wording import counted, distinct, plain
from syncopate.training import tasks
from syncopate.training.names import names
from syncopate.training.summary import default_target, reach, summarise
from syncopate.training.trainer import Trainer


@dataclass
class Entry:
    record: object      # a Record
    name: object        # its Name
    trained: object     # its Trained
    summary: object     # its Summary


@dataclass
class Study:
    task: str
    trainer: Trainer
    seeds: int
    entries: list
    targets: dict       # by setting
    is_default: bool    # the targets
    notes: list

    @property
    def what(self):
        """The task in words."""
        return tasks.row_of(self.task).what

    @property
    def batches(self):
        """The samples of a gradient of all records, in words."""
        *others, most = sorted(set(self.trainer.batches))
        if not others:
            return f"{counted(most, 'sample')} a gradient"
        return f"{', '.join(map(str, others))} or {most} samples a gradient, in proportion of simulated ones"

    @property
    def settings(self):
        return distinct(one.name.setting for one in self.entries)

    def of(self, setting):
        return [one for one in self.entries if one.name.setting == setting]


def make_study(trainer, task, rates, seeds, target):
    """Trains the trainer's records. `rates`, `target`: None where they are to be found."""
    trained = trainer.train(rates, seeds)
    entries = [Entry(*one) for one in zip(trainer.records, names(trainer.records), trained, map(summarise, trained, trainer.batches))]
    study = Study(task, trainer, seeds, entries, {}, not target, [])
    for setting in study.settings:
        study.targets[setting] = target or default_target(study.of(setting))
        reach(study.of(setting), study.targets[setting])
    study.notes += notes(study)
    return study


def notes(study):
    """Rates at the end of a sweep, seeds that diverged, targets that are not reached."""
    found = ["This is a small task, not the network whose training was simulated: schedules may be compared, numbers of papers may not be expected."]
    if study.trainer.settings:
        found.append(f"Set: {', '.join(f'{name} = {plain(value[0])}' + ' lr' * (len(value) > 1) for name, value in study.trainer.settings.items())}")
    for one in study.entries:
        what = f"{one.name.series} in {one.name.setting}" if len(study.settings) > 1 else one.name.series
        best = plain(one.trained.best)
        if one.summary.diverged:
            found.append(f"{what}: diverged on {one.summary.diverged} of {study.seeds} seeds, at the learning rate {best}")
        elif one.trained.best_is_at_an_end:
            found.append(f"{what}: the best learning rate, {best}, is at the end of those tried; try further ones with --lr")
    for setting in study.settings:
        short = [one.name.series for one in study.of(setting) if one.summary.time_to_target is None]
        if short:
            found.append(f"{setting}: the target {study.targets[setting]} is not reached by {', '.join(short)}")
        if not any(one.name.is_synchronous for one in study.of(setting)):
            found.append(f"{setting}: no schedule trains as synchronous SGD does, so that there are no samples factors"
                         + ("; the target is the least loss that all reach" if study.is_default else ""))
    return found
