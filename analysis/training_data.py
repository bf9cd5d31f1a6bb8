"""All that the scripts of a training's page show."""

import page_look
import page_table
from training_figures import styles

# Columns of the table of all records: name, unit, meaning, of a place in the study; texts have True at the end.
COLUMNS = (
    ("setting", "", "the folder of the records, and what else differs between them: swept values, the optimiser", lambda study, place: study.names[place].setting, True),
    ("schedule", "", "the schedule, with its parameters where they differ", lambda study, place: study.names[place].series, True),
    ("optimizer", "", "what applies gradients", lambda study, place: study.trainer.records[place].header["optimizer"], True),
    ("workers", "", "how many compute gradients", lambda study, place: study.trainer.records[place].header["workers"], False),
    ("best_lr", "", "the smallest learning rate whose final loss, in the mean of the seeds, is at most a tenth above the least", lambda study, place: study.trained[place].best, False),
    ("time_to_target_s", "s", "simulated seconds until the mean of the seeds reaches the target", lambda study, place: study.summaries[place].time_to_target, False),
    ("gradients_to_target", "", "gradients of all workers until then", lambda study, place: study.summaries[place].gradients_to_target, False),
    ("samples_to_target", "", "these, times the samples of a gradient", lambda study, place: study.summaries[place].samples_to_target, False),
    ("samples_factor", "", "these by those of the setting's synchronous schedule", lambda study, place: study.summaries[place].samples_factor, False),
    ("final_loss", "", "mean over the last tenth of the moments, and over the seeds", lambda study, place: study.summaries[place].final_loss, False),
    ("final_accuracy", "share", "the same of the accuracy", lambda study, place: study.summaries[place].final_accuracy, False),
    ("diverged_seeds", "", "seeds that ended in numbers that are not finite", lambda study, place: study.summaries[place].diverged, False),
    ("gradients", "", "of all workers, in the record", lambda study, place: study.trainer.records[place].gradients, False),
    ("simulated_s", "s", "the record's simulated seconds", lambda study, place: study.trainer.records[place].header["end_s"], False),
)


def data(study):
    looks = styles(study)
    return {
        "columns": [column(study, *one) for one in COLUMNS],
        "settings": [{"name": setting, "target": study.targets[setting].value, "target_is_accuracy": study.targets[setting].is_accuracy,
                      "records": study.members(setting)} for setting in study.settings],
        "loss": study.trainer.task.loss,
        "series": [{"name": name.series, **page_look.look(looks[name.series])} for name in study.names],
        "curves": [{"seconds": rounded(one.seconds), "gradients": one.gradients, "samples": one.samples, "loss": bands(one.losses), "accuracy": bands(one.accuracies)}
                   for one in study.summaries],
    }


def column(study, name, unit, _, value, is_text):
    values = [value(study, place) for place in range(len(study.names))]
    values = values if is_text else [float("nan") if one is None else one for one in values]
    return page_table.column(name, values, unit, is_text, name not in ("gradients", "simulated_s", "optimizer"))


def bands(curve):
    return {name: rounded(values) for name, values in curve.items()}


def rounded(values):
    return [None if value is None else float(f"{value:.6g}") for value in values]
