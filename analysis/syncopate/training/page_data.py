"""All that the scripts of a training's page show."""

from dataclasses import dataclass
from typing import Callable

from syncopate.training.figures import looks_of
from syncopate.web import theme
from syncopate.web.embedded import column, rounded


@dataclass(frozen=True)
class Column:
    """A column of the table of all records."""

    name: str
    unit: str
    meaning: str
    value: Callable     # of an Entry
    is_text: bool = False
    brief: bool = True


COLUMNS = (
    Column("setting", "", "the folder of the records, and what else differs between them: swept values, the optimiser", lambda one: one.name.setting, True),
    Column("schedule", "", "the schedule, with its parameters where they differ", lambda one: one.name.series, True),
    Column("optimizer", "", "what applies gradients", lambda one: one.record.header["optimizer"], True, brief=False),
    Column("workers", "", "how many compute gradients", lambda one: one.record.header["workers"]),
    Column("best_lr", "", "the smallest learning rate whose final loss, in the mean of the seeds, is at most a tenth above the least", lambda one: one.trained.best),
    Column("time_to_target_s", "s", "simulated seconds until the mean of the seeds reaches the target", lambda one: one.summary.time_to_target),
    Column("gradients_to_target", "", "gradients of all workers until then", lambda one: one.summary.gradients_to_target),
    Column("samples_to_target", "", "these, times the samples of a gradient", lambda one: one.summary.samples_to_target),
    Column("samples_factor", "", "these by those of the setting's synchronous schedule", lambda one: one.summary.samples_factor),
    Column("final_loss", "", "mean over the last tenth of the moments, and over the seeds", lambda one: one.summary.final_loss),
    Column("final_accuracy", "share", "the same of the accuracy", lambda one: one.summary.final_accuracy),
    Column("diverged_seeds", "", "seeds that ended in numbers that are not finite", lambda one: one.summary.diverged),
    Column("gradients", "", "of all workers, in the record", lambda one: one.record.gradients, brief=False),
    Column("simulated_s", "s", "the record's simulated seconds", lambda one: one.record.header["end_s"], brief=False),
)


def page_data(study):
    looks = looks_of(study)
    return {
        "columns": [column(one.name, [one.value(entry) for entry in study.entries], one.unit, one.is_text, one.brief) for one in COLUMNS],
        "settings": [{"name": setting, "target": study.targets[setting].value, "target_is_accuracy": study.targets[setting].is_accuracy,
                      "records": [place for place, one in enumerate(study.entries) if one.name.setting == setting]} for setting in study.settings],
        "loss": study.trainer.task.loss,
        "series": [{"name": one.name.series, **theme.look(looks[one.name.series])} for one in study.entries],
        "curves": [{"seconds": digits(one.seconds), "gradients": one.gradients, "samples": one.samples, "loss": band(one.losses), "accuracy": band(one.accuracies)}
                   for one in (entry.summary for entry in study.entries)],
    }


def band(curve):
    return {name: digits(values) for name, values in curve.items()}


def digits(values):
    return [rounded(value, 6) for value in values]
