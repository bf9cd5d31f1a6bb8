"""Each published number, computed from the results of the papers' scenarios.

QUANTITIES has a formula over Results for every id of scenarios/papers/published.csv, or None where the simulator cannot
give the number; it yields a number or a list.
"""

from dataclasses import dataclass
from typing import Optional

from errors import InputError
from paper_remarks import REMARKS
from published import CLOSE, Published, difference

SIZES = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]      # nodes that MG-WFBP simulates
K80_NETS, V100_NETS = ["googlenet_bvlc", "resnet50"], ["resnet152", "densenet161", "densenet201", "inception_v4"]
NOMINAL = "54.5Gbps"                                       # of SSD-SGD's links
WEIGHTS = 102228128                                        # bytes of DTS's ResNet-50
JITTER, EPOCHS, IMAGES = 0.1, 90, 1281167                  # of LASGD's training
LASGD = {"sgd": {"schedule": "fusion"}, "sgp": {"schedule": "sgp"}, "wlasgd": {"schedule": "lasgd", "worker": "gpu"},
         "lasgd": {"schedule": "lasgd", "worker": "node"}}
CIFAR10, NLCF = "sasgd_cifar10", "sasgd_nlcf"


# MG-WFBP

def all_reduce(results, cluster, size):
    return results.value("mg-wfbp/figure-4", "communication_s", cluster=f"mg-wfbp-{cluster}", bytes=size)


def line(results, cluster):
    """(a, b) of the line through the simulated all-reduces."""
    rows = results.rows("mg-wfbp/figure-4", cluster=f"mg-wfbp-{cluster}").sort_values("bytes")
    sizes, times = list(rows["bytes"]), list(rows["communication_s"])
    slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    return times[0] - slope * sizes[0], slope


def gain(results, scenario, other, schedule="mg-wfbp", **where):
    """How many times as fast `schedule` is as `other`."""
    slow = results.value(scenario, "iteration_s", schedule=other, **where)
    return slow / results.value(scenario, "iteration_s", schedule=schedule, **where)


def gains(results, scenario, others, models):
    return [gain(results, scenario, other, model=model) for model in models for other in others]


def groups(results, model):
    """All-reduces per iteration of MG-WFBP for each number of nodes."""
    return [int(results.value("mg-wfbp/simulated", "communications_per_iteration", model=model, nodes=nodes, schedule="mg-wfbp"))
            for nodes in SIZES]


def crossing(results, model):
    """[the last size at which WFBP is the faster, the first at which SyncEASGD is]."""
    slower = [gain(results, "mg-wfbp/simulated", "wfbp", "sync-easgd", model=model, nodes=nodes) > 1 for nodes in SIZES]
    if slower[0] or not slower[-1]:
        raise InputError(f"mg-wfbp/simulated: WFBP and SyncEASGD never cross for {model}")
    first = slower.index(True)
    return [SIZES[first - 1], SIZES[first]]


def at_64(model, other):
    return lambda results: gain(results, "mg-wfbp/simulated", other, model=model, nodes=64)


def efficiencies(results, model):
    return [results.value("mg-wfbp/simulated", "efficiency", model=model, nodes=64, schedule=name) for name in ("wfbp", "sync-easgd")]


def on_cluster_2(model, other, schedule):
    return lambda results: gain(results, "mg-wfbp/cluster-2", other, schedule, model=model)


# SSD-SGD

def ssd_gain(results, batch, delay, servers=4):
    """How many times as fast as SSGD, ResNet-50."""
    base = results.value("ssd-sgd/delay", "iteration_s", batch=batch, schedule="ps-sgd", servers=servers)
    return base / results.value("ssd-sgd/delay", "iteration_s", batch=batch, schedule="ssd-sgd", delay=delay, servers=servers)


def ssd_range(results, batch):
    found = [ssd_gain(results, batch, delay, servers) for delay in range(1, 6) for servers in range(1, 5)]
    return [min(found), max(found)]


def network_gain(results, model, batch=64, schedule="ssd-sgd", bandwidth=NOMINAL):
    """The same for several networks, with 4 servers and a delay of 5."""
    return gain(results, "ssd-sgd/networks", "ps-sgd", schedule, model=model, batch=batch, bandwidth=bandwidth)


def ssd_row(results, batch):
    return results.row("ssd-sgd/delay", batch=batch, schedule="ssd-sgd", delay=5, servers=4)


def linear_speed(results, batch):
    """Images per second of all GPUs if nothing but their own steps, updates included, took time."""
    row = ssd_row(results, batch)
    return row["workers"] * row["batch"] / row["compute_s"]


def speed_per_machine(results):
    row = ssd_row(results, 32)
    return row["throughput_samples_per_s"] / row["nodes"]


# DTS

def scalability(results, schedule):
    return results.value("dts/world", "efficiency", schedule=schedule, bytes=WEIGHTS)


def tolerance(results):
    """The largest latency at which a delay of 20 steps hides everything."""
    rows = results.rows("dts/figure-3", schedule="dts", delay=20, period=1)
    return rows[rows["iteration_s"] <= 1.001 * rows["compute_s"]]["a_s"].max()


# LASGD

def hours(row):
    return row["iteration_s"] * EPOCHS * IMAGES / (row["batch"] * row["workers"]) / 3600


def table_1(nodes, where):
    return lambda results: hours(results.row("lasgd/table-1", cv=JITTER, nodes=nodes, **where))


def table_3(**where):
    return lambda results: hours(results.row("lasgd/table-3", cv=JITTER, **where))


def histogram(results, cv=JITTER):
    """Shares of the all-reduces that took 1, 2, 3, 4, 5, and 6 or more local steps."""
    shares = results.point("lasgd/table-3", schedule="lasgd", tau_max=5, cv=cv)["local_steps_per_all_reduce"]
    return [shares.get(str(steps), 0.0) for steps in range(1, 6)] + [sum(share for steps, share in shares.items() if int(steps) > 5)]


# SASGD

def epoch_ratio(results, model, interval=50, learners=8):
    """Time of an epoch with an all-reduce in every step over that with one in `interval` steps."""
    often, seldom = (results.value("sasgd/interval", "iteration_s", model=model, nodes=learners, interval=steps) for steps in (1, interval))
    return often / seldom


def sasgd_speedup(results, model):
    return results.value("sasgd/interval", "speedup", model=model, nodes=8, interval=50)


def downpour_share(results, model, learners):
    row = results.row("sasgd/downpour", model=model, nodes=learners)
    return row["exposed_communication_s"] / row["iteration_s"]


QUANTITIES = {
    "mg-allreduce-200k": lambda results: all_reduce(results, 1, 200000),
    "mg-allreduce-400k": lambda results: all_reduce(results, 1, 400000),
    **{f"mg-fit-cluster{cluster}-{letter}": lambda results, cluster=cluster, place=place: line(results, cluster)[place]
       for cluster in (1, 2, 3) for place, letter in enumerate("ab")},
    "mg-8node-over-wfbp": lambda results: gains(results, "mg-wfbp/cluster-1", ["wfbp"], K80_NETS),
    "mg-8node-over-sync": lambda results: gains(results, "mg-wfbp/cluster-1", ["sync-easgd"], K80_NETS),
    "mg-10gbe-max": lambda results: max(gains(results, "mg-wfbp/cluster-2", ["wfbp", "sync-easgd"], V100_NETS)),
    "mg-ib-max": lambda results: max(gains(results, "mg-wfbp/cluster-3", ["wfbp", "sync-easgd"], V100_NETS)),
    "mg-resnet152-wfbp-sync": on_cluster_2("resnet152", "sync-easgd", "wfbp"),
    "mg-resnet152-mg-wfbp": on_cluster_2("resnet152", "wfbp", "mg-wfbp"),
    "mg-densenet161-sync-wfbp": on_cluster_2("densenet161", "wfbp", "sync-easgd"),
    "mg-densenet161-mg-sync": on_cluster_2("densenet161", "sync-easgd", "mg-wfbp"),
    "mg-sim-googlenet-groups": lambda results: groups(results, "googlenet_bvlc"),
    "mg-sim-resnet50-groups": lambda results: groups(results, "resnet50"),
    "mg-sim-googlenet-wfbp": at_64("googlenet_bvlc", "wfbp"),
    "mg-sim-googlenet-sync": at_64("googlenet_bvlc", "sync-easgd"),
    "mg-sim-resnet50-wfbp": at_64("resnet50", "wfbp"),
    "mg-sim-resnet50-sync": at_64("resnet50", "sync-easgd"),
    "mg-sim-efficiency": lambda results: efficiencies(results, "resnet50"),
    "mg-sim-crossing": lambda results: [size for model in K80_NETS for size in crossing(results, model)],
    "ssd-optimal-b32": lambda results: linear_speed(results, 32),
    "ssd-optimal-b64": lambda results: linear_speed(results, 64),
    "ssd-glu-speed": speed_per_machine,
    "ssd-sgd-speed": speed_per_machine,
    "ssd-dcasgd-speed": None,
    "ssd-b32-range": lambda results: ssd_range(results, 32),
    "ssd-b64-range": lambda results: ssd_range(results, 64),
    "ssd-b32-k5": lambda results: ssd_gain(results, 32, 5),
    "ssd-b64-k2": lambda results: ssd_gain(results, 64, 2),
    "ssd-b64-k5": lambda results: ssd_gain(results, 64, 5),
    "ssd-alexnet": lambda results: network_gain(results, "alexnet_mxnet"),
    "ssd-vgg11": lambda results: network_gain(results, "vgg11"),
    "dts-naive": lambda results: scalability(results, "s-sgd"),
    "dts-dts": lambda results: scalability(results, "dts"),
    "dts-speedup": lambda results: scalability(results, "dts") / scalability(results, "s-sgd"),
    "dts-datacentre": lambda results: results.value("dts/data-centre", "efficiency", schedule="s-sgd"),
    "dts-ring-latency": lambda results: results.value("dts/world", "communication_s", schedule="s-sgd", bytes=1),
    "dts-tolerance": tolerance,
    **{f"lasgd-{name}-{nodes}": table_1(nodes, where) for name, where in LASGD.items() for nodes in (8, 16, 32)},
    "lasgd-histogram": histogram,
    "lasgd-b32-sgd": table_3(schedule="fusion"),
    "lasgd-b32-sgp": table_3(schedule="sgp"),
    "lasgd-b32-tau1": table_3(schedule="lasgd", tau_max=1),
    "lasgd-b32-tau5": table_3(schedule="lasgd", tau_max=5),
    "sasgd-cifar-t": lambda results: epoch_ratio(results, CIFAR10),
    "sasgd-nlcf-t": lambda results: epoch_ratio(results, NLCF),
    "sasgd-cifar-speedup": lambda results: sasgd_speedup(results, CIFAR10),
    "sasgd-nlcf-speedup": lambda results: sasgd_speedup(results, NLCF),
    "sasgd-downpour-nlcf": lambda results: [downpour_share(results, NLCF, learners) for learners in (2, 4, 8)],
    "sasgd-downpour-cifar-1": None,
    "sasgd-downpour-cifar-8": lambda results: downpour_share(results, CIFAR10, 8),
}
HOW = {"mg-sim-crossing": "within", "lasgd-histogram": "shares", "sasgd-downpour-nlcf": "at least"}     # others: "each"


@dataclass(frozen=True)
class Comparison:
    """A published number beside ours; `ours` is a list, and like `difference` None where nothing can be compared."""

    published: Published
    ours: Optional[list]
    difference: Optional[float]
    how: str
    remark: str

    @property
    def close(self):
        return self.difference is not None and abs(self.difference) <= CLOSE


def compare(results, published):
    """A Comparison for every published number, in their order. Raises InputError."""
    for ids, known, where in ((published, QUANTITIES, "QUANTITIES in analysis/paper_quantities.py"),
                              (QUANTITIES, published, "published.csv")):
        unknown = [row for row in ids if row not in known]
        if unknown:
            raise InputError(f"{where}: no row for {', '.join(unknown)}; add it")
    return [compare_one(results, row) for row in published.values()]


def compare_one(results, row):
    formula, how, remark = QUANTITIES[row.id], HOW.get(row.id, "each"), REMARKS.get(row.id, "")
    if formula is None:
        return Comparison(row, None, None, how, remark)
    ours = formula(results)
    ours = list(ours) if isinstance(ours, (list, tuple)) else [ours]
    return Comparison(row, ours, difference(row.values, ours, how), how, remark)
