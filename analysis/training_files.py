"""training.json, training.csv and samples_factor.json; analysis/README.md describes them."""

import csv
import io
import json
import math
from dataclasses import dataclass

from hyper import Hyper
from training import Trainer

FORMAT = "training/1"
COLUMNS = ("setting", "schedule", "optimizer", "workers", "lr", "moment", "seconds", "gradients", "samples",
           "loss_mean", "loss_low", "loss_high", "accuracy_mean", "accuracy_low", "accuracy_high")


@dataclass
class Study:
    """Everything that the files and the page tell of; lists are by record."""

    task: str
    what: str           # the task in words
    trainer: Trainer
    seeds: int
    names: list
    trained: list
    summaries: list
    targets: dict       # by setting
    is_default: bool    # the targets
    notes: list

    @property
    def batch(self):
        """Of the records whose gradients have fewest samples."""
        return self.trainer.task.batch

    @property
    def batches(self):
        """Of all, in words."""
        *others, most = map(str, sorted(set(self.trainer.batches)))
        return f"{', '.join(others)} or {most} samples a gradient, in proportion of simulated ones" if others else f"{most} sample{'s' * (most != '1')} a gradient"

    @property
    def settings(self):
        return list(dict.fromkeys(name.setting for name in self.names))

    def members(self, setting):
        """The places of a setting's records."""
        return [place for place, name in enumerate(self.names) if name.setting == setting]


def as_json(study):
    found = {
        "format": FORMAT, "task": study.task, "loss": study.trainer.task.loss, "batch": study.batch, "evaluated": "mean" if study.trainer.of_all else "worker", "seeds": study.seeds, "set": {name: list(value) for name, value in study.trainer.settings.items()},
        "targets": {setting: {"accuracy" if target.is_accuracy else "loss": target.value} for setting, target in study.targets.items()},
        "notes": study.notes, "records": [record(study, place) for place in range(len(study.names))]}
    return (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def record(study, place):
    source, name, trained, one = study.trainer.records[place], study.names[place], study.trained[place], study.summaries[place]
    header = source.header
    return {
        "file": source.path.name, "point": header["point"], "labels": header["labels"],
        "setting": name.setting, "schedule": name.series, "optimizer": header["optimizer"], "workers": header["workers"], "samples": header["samples"], "batch": one.batch,
        "end_s": header["end_s"], "gradients": source.gradients, "is_synchronous": name.is_synchronous,
        "sweep": [{"lr": rate, "final_loss": finite(trained.sweep[rate])} for rate in sorted(trained.sweep)],
        "lr": trained.best, "lr_is_at_an_end": trained.best_is_at_an_end,
        "hyper": Hyper(source, {"lr": (trained.best,)} | study.trainer.settings).values(),
        "diverged_seeds": one.diverged, "final_loss": one.final_loss, "final_accuracy": one.final_accuracy,
        "time_to_target_s": one.time_to_target, "gradients_to_target": one.gradients_to_target, "samples_to_target": one.samples_to_target, "samples_factor": one.samples_factor,
        "curve": {"seconds": one.seconds, "gradients": one.gradients, "samples": one.samples, "loss": one.losses, "accuracy": one.accuracies},
        "by_seed": [{"seed": seed, "loss": list(map(finite, [start[0], *curve.losses])), "accuracy": list(map(finite, [start[1], *curve.accuracies]))}
                    for seed, (start, curve) in enumerate(zip(trained.start, trained.curves))],
    }


def finite(value):
    return value if math.isfinite(value) else None


def as_csv(study):
    """A row for each moment of each record; cells that a spreadsheet would take for formulas begin with a quote, as in results.csv."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(COLUMNS)
    for source, name, trained, one in zip(study.trainer.records, study.names, study.trained, study.summaries):
        for moment, (seconds, gradients, samples) in enumerate(zip(one.seconds, one.gradients, one.samples)):
            bands = [curve[key][moment] for curve in (one.losses, one.accuracies) for key in ("mean", "low", "high")]
            table.writerow([shielded(name.setting), shielded(name.series), source.header["optimizer"], source.header["workers"], trained.best, moment,
                            seconds, gradients, samples, *bands])
    return stream.getvalue().encode()


def shielded(text):
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "'") else text


def factors(study):
    """{schedule: its largest factor of all settings}, of what does not train as the baseline does and has reached the target wherever it was trained.

    A schedule is called by its name, as `samples_factor` of an advice takes it, where the records have one of that name; else by its parameters, too.
    """
    found = {}
    for name, one in zip(study.names, study.summaries):
        if not name.is_synchronous:
            found.setdefault(key_of(study, name), []).append(one.samples_factor)
    return {key: max(values) for key, values in found.items() if None not in values}


def key_of(study, name):
    is_alone = len({other.series for other in study.names if other.schedule == name.schedule}) == 1
    return name.schedule if is_alone else name.series


def factors_as_json(study):
    return (json.dumps(factors(study), indent=1, ensure_ascii=False) + "\n").encode()


def advice_lines(study):
    """What an advice takes of these, to three digits: the line of all that a name is enough for, and an entry of `schedules` for each other one."""
    known = {key: float(f"{value:.3g}") for key, value in factors(study).items()}
    named = {name.schedule: known[name.schedule] for name in study.names if name.schedule in known and key_of(study, name) == name.schedule}
    entries = {key_of(study, name): {"name": name.schedule} | name.parameters | {"samples_factor": known[key_of(study, name)]}
               for name in study.names if key_of(study, name) in known and name.schedule not in named}
    lines = [f'"samples_factor": {json.dumps(named, ensure_ascii=False)}'] if named else []
    return lines + [json.dumps(entry, ensure_ascii=False) for entry in entries.values()]
