"""What states take on a rank: parameters, gradients, the optimiser's."""

from compression import value_bytes
from collectives import model_bytes

SERVERS_UPDATE = ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "p3")


def states(point, ranks=1):
    """Columns of a schedule whose ranks shard, or (by default) do not."""
    schedule, size = point["schedule"], model_bytes(point)
    count = size / value_bytes(point)
    parameters, gradients = (schedule.get(key, 1.0) * size for key in ("parameter_bytes", "reduce_bytes"))
    optimiser = schedule.get("optimizer_bytes_per_parameter", 12) * count
    if schedule["name"] in SERVERS_UPDATE or schedule.get("over") == "servers":
        optimiser = 0.0
    stage = schedule.get("stage", 3)
    whole = (parameters if stage < 3 else 0.0) + (gradients if stage < 2 else 0.0)
    if schedule["name"] == "fsdp":
        whole = 0.0
    return {"memory_states_bytes": whole + (parameters + gradients + optimiser - whole) / ranks}
