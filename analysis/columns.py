"""The columns of results.csv: one table that reading, checking and the report's glossary share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """What one column holds. `kind` is text, count (an integer >= 1) or number (>= 0)."""

    kind: str
    unit: str
    meaning: str


COLUMNS = {
    "point": Column("index", "", "index of the point in the sweep, from 0; the last swept key varies fastest"),
    "model": Column("text", "", "the model that the trace was taken from"),
    "cluster": Column("text", "", "the cluster's name"),
    "schedule": Column("text", "", "when a worker communicates"),
    "all_reduce": Column("text", "", "how an all-reduce moves its bytes"),
    "fidelity": Column("text", "", "how transfers were timed: alpha-beta (one formula per collective), "
                                   "per-message (each message on its own link), flow (fair sharing where flows meet)"),
    "nodes": Column("count", "", "machines that train; servers are not counted"),
    "workers": Column("count", "", "nodes times GPUs per node; servers are not counted"),
    "batch": Column("count", "samples", "samples per worker and iteration"),
    "iteration_s": Column("positive", "s", "measured window times workers, divided by the gradients computed in it"),
    "iteration_p50_s": Column("number", "s", "median over the steps of all workers"),
    "iteration_p95_s": Column("number", "s", "95th percentile over the steps of all workers"),
    "compute_s": Column("number", "s", "forward, backward and the worker's own update, undisturbed"),
    "wait_s": Column("number", "s", "waiting for a worker that has not posted yet, or lost to slowness"),
    "exposed_communication_s": Column("number", "s", "waiting while bytes move or a server works; "
                                                     "with compute and wait it sums to iteration_s"),
    "communication_s": Column("number", "s", "time in which the worker's communication channel is busy, per iteration"),
    "throughput_samples_per_s": Column("number", "samples/s", "workers times batch, divided by iteration_s"),
    "speedup": Column("number", "", "throughput relative to one worker that never communicates; "
                                    "linear scaling equals workers"),
    "efficiency": Column("number", "", "speedup divided by workers; 1 is linear scaling"),
    "communications_per_iteration": Column("number", "", "collectives, or pushes plus pulls, posted per gradient step"),
    "bytes_per_worker_per_iteration": Column("number", "B", "payload that a worker hands over per gradient step"),
    "staleness_mean": Column("number", "steps", "mean age of the gradients of others when they are applied"),
    "staleness_max": Column("number", "steps", "largest age of the gradients of others when they are applied"),
    "measured_iterations": Column("number", "", "iterations in the measured window, rounded up to whole cycles"),
    "workers_simulated": Column("count", "", "workers that ran in the simulation; 1 stands for all where they "
                                             "move in lock-step"),
}
