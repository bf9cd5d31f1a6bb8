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
    "model": Column("text", "", "name of the trace's model"),
    "cluster": Column("text", "", "name of the cluster"),
    "schedule": Column("text", "", "name of the schedule"),
    "all_reduce": Column("text", "", "name of the all-reduce algorithm; empty for schedules without collectives"),
    "fidelity": Column("text", "", "how bytes moved: alpha-beta, per-message, flow or simgrid; with auto, the one that was chosen"),
    "nodes": Column("count", "", "nodes of the cluster; with several jobs, nodes of the first job"),
    "workers": Column("count", "", "nodes x GPUs per node; parameter servers do not count"),
    "batch": Column("count", "samples", "samples per worker and gradient step"),
    "iteration_s": Column("positive", "s", "mean time of a gradient step; with replicates, the mean of their means"),
    "iteration_low_s": Column("optional", "s", "lower end of the 95% interval of iteration_s; empty if every cycle is like the last or too few iterations are measured"),
    "iteration_high_s": Column("optional", "s", "upper end of that interval; empty likewise"),
    "iteration_fast_s": Column("optional", "s", "iteration_s over the faster of usual networks; empty without kinds of links, and in runs of more than 12 points"),
    "iteration_slow_s": Column("optional", "s", "over the slower of them; empty likewise"),
    "iteration_p50_s": Column("number", "s", "median duration of the steps of all workers that began in the window"),
    "iteration_p95_s": Column("number", "s", "95th percentile of these steps, interpolated linearly"),
    "compute_s": Column("number", "s", "forward + backward + the worker's own update, undisturbed"),
    "wait_s": Column("signed", "s", "blocked while nothing moves (a rank has not posted yet), plus compute beyond compute_s; can be below 0"),
    "exposed_communication_s": Column("number", "s", "blocked while bytes move or a server works; compute_s + wait_s + exposed_communication_s = iteration_s"),
    "communication_s": Column("number", "s", "the worker's channels are busy, hidden or not"),
    "throughput_samples_per_s": Column("number", "samples/s", "of all workers: workers x batch / iteration_s"),
    "speedup": Column("number", "", "throughput / throughput of one worker that only computes"),
    "efficiency": Column("number", "", "speedup / workers"),
    "communications_per_iteration": Column("number", "", "collectives, pushes, pulls and messages posted per gradient step"),
    "bytes_per_worker_per_iteration": Column("number", "bytes", "payload of these communications; of an all-gather, the part that the worker contributes"),
    "sent_bytes_per_worker": Column("number", "bytes", "what a rank of a ring sends per gradient step, whatever the algorithm; without pulls"),
    "network_bytes_per_iteration": Column("optional", "bytes", "bytes of all messages between nodes; empty in alpha-beta fidelity"),
    "busiest_link_bytes_per_iteration": Column("optional", "bytes", "most bytes over one direction of a link between nodes; empty in alpha-beta fidelity"),
    "bus_bandwidth_Bps": Column("optional", "bytes/s", "bus bandwidth as in nccl-tests; empty for schedules that send anything but all-reduces"),
    "memory_states_bytes": Column("number", "bytes", "a rank's share of parameters, gradients and optimiser state, without activations"),
    "memory_gathered_peak_bytes": Column("number", "bytes", "most gathered parameters of a rank at a time in the whole run; 0 if none"),
    "staleness_mean": Column("number", "steps", "mean age of others' gradients when an update applies them; 0 in synchronous schedules"),
    "staleness_max": Column("number", "steps", "largest such age"),
    "wasted_share": Column("number", "", "share of the compute in the window whose gradients came too late for the model (backup); else 0"),
    "epoch_s": Column("optional", "s", "the scenario's samples / throughput; empty without samples"),
    "total_h": Column("optional", "h", "the scenario's epochs x epoch_s, or the mean length of its run; empty without both"),
    "total_low_h": Column("optional", "h", "lower end of the 95% interval of total_h over the run's seeds; empty without run or failures, or with one seed"),
    "total_high_h": Column("optional", "h", "upper end of that interval; empty likewise"),
    "cost": Column("optional", "", "total_h x nodes x the cluster's price; servers' own nodes and spares count; empty if a factor is missing"),
    "goodput": Column("optional", "samples/s", "the run's samples / its length; mean over seeds; empty without run"),
    "effective_time_ratio": Column("optional", "", "share of the run's length that all nodes, undisturbed, would need; mean over seeds; empty without run"),
    "effective_time_ratio_low": Column("optional", "", "lower end of the 95% interval of effective_time_ratio; empty like total_low_h"),
    "effective_time_ratio_high": Column("optional", "", "upper end of that interval; empty likewise"),
    "checkpoint_share": Column("optional", "", "share of the run in which training stands still for a checkpoint; empty without run"),
    "lost_share": Column("optional", "", "share of the run spent on training that a failure undid; empty without run"),
    "detection_share": Column("optional", "", "share of the run in which a failure is not noticed yet; empty without run"),
    "restart_share": Column("optional", "", "share of the run in which the job restarts, loads a checkpoint or waits for nodes; empty without run"),
    "degraded_share": Column("optional", "", "extra time of fewer nodes over all nodes, as a share of the run; below 0 if fewer are faster; empty without run"),
    "checkpoint_every_s": Column("optional", "s", "training time between two checkpoints; empty without run or if none are written"),
    "failures": Column("optional", "", "failures that interrupted the run; mean over seeds; empty without run"),
    "iteration_alone_s": Column("optional", "s", "the first job's iteration_s without the others; empty with one job"),
    "slowdown": Column("optional", "", "iteration_s / iteration_alone_s; empty with one job"),
    "slowdown_max": Column("optional", "", "largest slowdown of all jobs; empty with one job"),
    "jain": Column("optional", "", "Jain's fairness index of the jobs; 1 if all are slowed down alike; empty with one job"),
    "measured_iterations": Column("number", "steps", "steps (lasgd: rounds) of the first worker in the window, in whole cycles of the schedule"),
    "replicates": Column("count", "", "simulations with different seeds whose mean the row is; 1 if nothing is random"),
    "workers_simulated": Column("count", "", "1 if one worker stood for all equal ones (not with --no-symmetry), which changes results by rounding, and of contending flows by up to 2e-4; servers over regions may amplify rounding"),
}
