"""What a reader must know of a training: rates at the end of a sweep, seeds that diverged, targets that are not reached."""

from units import plain


def notes(study):
    found = ["This is a small task, not the network whose training was simulated: schedules may be compared, numbers of papers may not be expected."]
    if study.trainer.settings:
        found.append(f"Set: {', '.join(f'{name} = {plain(value[0])}' + ' lr' * (len(value) > 1) for name, value in study.trainer.settings.items())}")
    for name, trained, one in zip(study.names, study.trained, study.summaries):
        what = f"{name.series} in {name.setting}" if len(study.settings) > 1 else name.series
        if one.diverged:
            found.append(f"{what}: diverged on {one.diverged} of {study.seeds} seeds, at the learning rate {plain(trained.best)}")
        elif trained.best_is_at_an_end:
            found.append(f"{what}: the best learning rate, {plain(trained.best)}, is at the end of those tried; try further ones with --lr")
    for setting in study.settings:
        short = [study.names[place].series for place in study.members(setting) if study.summaries[place].time_to_target is None]
        if short:
            found.append(f"{setting}: the target {study.targets[setting]} is not reached by {', '.join(short)}")
        if not any(study.names[place].is_synchronous for place in study.members(setting)):
            found.append(f"{setting}: no schedule trains as synchronous SGD does, so that there are no samples factors"
                         + ("; the target is the least loss that all reach" if study.is_default else ""))
    return found
