"""The columns of results.csv: one table that reading, checking and the report's glossary share.

Units and meanings are those of sim/output/RESULTS.md.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """What one column holds; `kind` is one of results.RULES, or text."""

    kind: str
    unit: str
    meaning: str


COLUMNS = {
    "point": Column("index", "", "number of the point, from 0; the last swept pointer varies fastest"),
    "model": Column("text", "", "the trace's model"),
    "cluster": Column("text", "", "the cluster's name"),
    "schedule": Column("text", "", "the schedule's name"),
    "all_reduce": Column("text", "", "the all-reduce algorithm's name"),
    "fidelity": Column("text", "", "how bytes moved: alpha-beta, per-message or flow; with auto, the one that was chosen"),
    "nodes": Column("count", "", "nodes of the cluster"),
    "workers": Column("count", "", "workers: nodes x GPUs per node; servers do not count"),
    "batch": Column("count", "samples", "samples per worker and gradient step"),
    "iteration_s": Column("positive", "s", "mean time of a gradient step; with replicates, mean of theirs"),
    "iteration_low_s": Column("optional", "s", "lower end of the 95% interval of that mean; empty where nothing is drawn at random, or too few "
                                               "iterations are measured to tell"),
    "iteration_high_s": Column("optional", "s", "its upper end"),
    "iteration_p50_s": Column("number", "s", "median over the pooled steps of all workers that began in the window"),
    "iteration_p95_s": Column("number", "s", "95th percentile of the same, linear between neighbours"),
    "compute_s": Column("number", "s", "forward + backward + the worker's own update, undisturbed"),
    "wait_s": Column("signed", "s", "blocked while nothing moves (a rank has not posted yet), plus compute beyond "
                                    "compute_s; below 0 when the factors of jitter and slow ranks average below 1, or a little where the "
                                    "window's edges cut steps"),
    "exposed_communication_s": Column("number", "s", "blocked while bytes move or a server works; the three sum to iteration_s"),
    "communication_s": Column("number", "s", "the worker's channels are busy, hidden or not"),
    "throughput_samples_per_s": Column("number", "samples/s", "of all workers: workers x batch / iteration_s"),
    "speedup": Column("number", "", "throughput over that of one worker that only computes"),
    "efficiency": Column("number", "", "speedup / workers"),
    "communications_per_iteration": Column("number", "", "collectives, pushes, pulls and messages posted per gradient step"),
    "bytes_per_worker_per_iteration": Column("number", "bytes", "payload of those; of an all-gather, what the worker comes with"),
    "sent_bytes_per_worker": Column("number", "bytes", "what a rank of a ring sends for them, per gradient step, whatever the algorithm"),
    "network_bytes_per_iteration": Column("optional", "bytes", "from node to node, of all messages together, per gradient step; empty in "
                                                               "alpha-beta fidelity"),
    "busiest_link_bytes_per_iteration": Column("optional", "bytes", "the most that crosses one direction of a link between nodes; empty in "
                                                                    "alpha-beta fidelity"),
    "bus_bandwidth_Bps": Column("optional", "bytes/s", "payload / communication_s x 2(R-1)/R over R ranks, as nccl-tests has it, of "
                                                       "schedules that send nothing but all-reduces; waiting for ranks that come late "
                                                       "counts"),
    "memory_states_bytes": Column("number", "bytes", "a rank's share of parameters, gradients and the optimiser's state"),
    "memory_gathered_peak_bytes": Column("number", "bytes", "parameters that a rank has gathered at a time, at most"),
    "staleness_mean": Column("number", "steps", "mean age of others' gradients when an update applies them; 0 in "
                                                "synchronous schedules"),
    "staleness_max": Column("number", "steps", "the oldest"),
    "epoch_s": Column("optional", "s", "samples of the scenario / throughput; empty where it has none"),
    "total_h": Column("optional", "h", "epochs of the scenario x epoch_s; empty where it has none"),
    "cost": Column("optional", "", "total_h x nodes (servers with nodes of their own, too) x the cluster's price; empty where one is "
                                   "missing"),
    "measured_iterations": Column("number", "steps", "steps (lasgd: rounds) that the first worker did in the window; "
                                                     "whole cycles of the schedule; with until and replicates, in the longest of them"),
    "replicates": Column("count", "", "simulations with different seeds whose mean the row is; 1 where nothing is drawn"),
    "workers_simulated": Column("count", "", "1 when one worker stood for all equal ones, which --no-symmetry "
                                             "prevents and which changes results by rounding at most"),
}
