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
    "nodes": Column("count", "", "nodes of the cluster; of the first of several jobs, its own"),
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
    "sent_bytes_per_worker": Column("number", "bytes", "what a rank of a ring sends for them, per gradient step, whatever the algorithm: "
                                                       "2(R-1)/R of an all-reduce's vector over R ranks, (R-1)/R of an all-gather's or a "
                                                       "reduce-scatter's, pushes and messages as they are; pulls are the servers'"),
    "network_bytes_per_iteration": Column("optional", "bytes", "from node to node, of all messages together, per gradient step; empty in "
                                                               "alpha-beta fidelity"),
    "busiest_link_bytes_per_iteration": Column("optional", "bytes", "the most that crosses one direction of a link between nodes; empty in "
                                                                    "alpha-beta fidelity"),
    "bus_bandwidth_Bps": Column("optional", "bytes/s", "payload / communication_s x 2(R-1)/R over R ranks, as nccl-tests has it, of "
                                                       "schedules that send nothing but all-reduces; waiting for ranks that come late "
                                                       "counts"),
    "memory_states_bytes": Column("number", "bytes", "a rank's share of parameters, gradients and the optimiser's state; activations are not "
                                                     "counted"),
    "memory_gathered_peak_bytes": Column("number", "bytes", "parameters that a rank has gathered at a time, at most, in the whole run; 0 where "
                                                            "nothing is gathered"),
    "staleness_mean": Column("number", "steps", "mean age of others' gradients when an update applies them; 0 in "
                                                "synchronous schedules"),
    "staleness_max": Column("number", "steps", "the oldest"),
    "wasted_share": Column("number", "", "of what workers computed in the window, the share whose gradients came too late for the model "
                                         "(backup); else 0"),
    "epoch_s": Column("optional", "s", "samples of the scenario / throughput; empty where it has none"),
    "total_h": Column("optional", "h", "epochs of the scenario x epoch_s, or the mean length of its run; empty where it has neither"),
    "total_low_h": Column("optional", "h", "lower end of the 95% interval of that mean over the seeds of the run; empty where there is no "
                                           "run, nothing fails in it, or it has one seed"),
    "total_high_h": Column("optional", "h", "its upper end"),
    "cost": Column("optional", "", "total_h x nodes (servers with nodes of their own and spares, too) x the cluster's price; empty where "
                                   "one is missing"),
    "goodput": Column("optional", "samples/s", "samples of the run / its length; this and all that follows of runs is a mean over seeds, "
                                               "and empty where there is no run"),
    "effective_time_ratio": Column("optional", "", "of the run's length, the share that all nodes would take for its samples, undisturbed; "
                                                   "with the five shares it adds up to 1"),
    "effective_time_ratio_low": Column("optional", "", "lower end of the 95% interval of that mean; empty as total_low_h is"),
    "effective_time_ratio_high": Column("optional", "", "its upper end"),
    "checkpoint_share": Column("optional", "", "training stands still for a checkpoint"),
    "lost_share": Column("optional", "", "training that a failure undid"),
    "detection_share": Column("optional", "", "nobody has noticed a failure yet"),
    "restart_share": Column("optional", "", "the job restarts, loads a checkpoint, or waits for nodes"),
    "degraded_share": Column("optional", "", "what fewer nodes took longer than all would have; below 0 where fewer are faster"),
    "checkpoint_every_s": Column("optional", "s", "training between two checkpoints; empty where none are written"),
    "failures": Column("optional", "", "that interrupted the run"),
    "iteration_alone_s": Column("optional", "s", "of the first of several jobs, iteration_s without the others; empty where there is one job"),
    "slowdown": Column("optional", "", "iteration_s / iteration_alone_s"),
    "slowdown_max": Column("optional", "", "the same of the job that the others hold up most"),
    "jain": Column("optional", "", "Jain's index of all jobs' iteration_alone_s / iteration_s: 1 where all are slowed down alike"),
    "measured_iterations": Column("number", "steps", "steps (lasgd: rounds) that the first worker did in the window; "
                                                     "whole cycles of the schedule; with until and replicates, in the longest of them"),
    "replicates": Column("count", "", "simulations with different seeds whose mean the row is; 1 where nothing is drawn"),
    "workers_simulated": Column("count", "", "1 when one worker stood for all equal ones, which --no-symmetry "
                                             "prevents and which changes results by rounding at most"),
}
