"""The papers' figures, drawn from the results of their scenarios; published numbers are hollow markers.

A figure is a function from (Results, {id: Published}) to a matplotlib Figure; FIGURES lists them by paper.
"""

from dataclasses import dataclass
from typing import Callable

from syncopate.common import style
from syncopate.common.wording import counted
from syncopate.papers.chart import Panel, Series, chart
from syncopate.papers.dts import WEIGHTS, scalability
from syncopate.papers.lasgd import LASGD, SGD, SGP, TAU_1, TAU_5, histogram, table_1, table_3
from syncopate.papers.mg_wfbp import LARGE, SIZES, all_reduce, groups
from syncopate.papers.sasgd import CIFAR10, LEARNERS, NLCF, downpour_share, numbers, over_sasgd, seconds
from syncopate.papers.ssd_sgd import linear_speed, network_gain, ssd_gain
from syncopate.report import figures, notes
from syncopate.results import labels


@dataclass(frozen=True)
class Drawing:
    paper: str
    title: str
    caption: str
    draw: Callable


def about(results, *names):
    """(subject, no warnings, for the page has them) of a figure of these scenarios, and their labelled rows."""
    runs = [results.run(name) for name in names]
    frame = labels.label(runs)
    return (notes.subject(runs, frame), []), frame


def one(published, row):
    return published[row].values[0]


def hue(number):
    return style.other_hue("mg-wfbp", number)


def named(schedule, number=0):
    return style.variant(schedule, number)


# MG-WFBP

def mg_all_reduce(results, published):
    found, _ = about(results, "mg-wfbp/figure-4")
    sizes = sorted(set(results.rows("mg-wfbp/figure-4")["bytes"]))
    shown = [(0.2, 1e3 * one(published, "mg-allreduce-200k")), (0.4, 1e3 * one(published, "mg-allreduce-400k"))]
    series = [Series(f"cluster {cluster}", hue(cluster - 1), [size / 1e6 for size in sizes],
                     [1e3 * all_reduce(results, cluster, size) for size in sizes], shown if cluster == 1 else [])
              for cluster in (1, 2, 3)]
    return chart([Panel("One all-reduce", "megabytes", "milliseconds", series)], found)


def mg_clusters(results, published):
    found, frame = about(results, "mg-wfbp/cluster-1", "mg-wfbp/cluster-2", "mg-wfbp/cluster-3")
    return figures.iteration_time(frame, style.styles(frame), found)


def mg_scaling(results, published):
    """Figs. 6 and 7: the baseline is one node, whose two GPUs need no network."""
    found, _ = about(results, "mg-wfbp/cluster-1")
    nodes = [1, 2, 4, 8]
    panels = [Panel(title, "nodes of 2 GPUs", "speed over one node", [
        Series(name, named(name), nodes, [count * results.value("mg-wfbp/cluster-1", "efficiency", model=model, nodes=count, schedule=name)
                                          for count in nodes]) for name in ("wfbp", "sync-easgd", "mg-wfbp", "ps-sgd")], ticks=nodes)
        for title, model in (("GoogLeNet", "googlenet_bvlc"), ("ResNet-50", "resnet50"))]
    return chart(panels, found)


def mg_trees(results, published):
    found, _ = about(results, "mg-wfbp/trees")
    panels = [Panel(f"{title}, {words}", "nodes", "milliseconds of an iteration", [
        Series(name, named(name), LARGE, [1e3 * results.value("mg-wfbp/trees", "iteration_s", model=model, fidelity=fidelity, nodes=nodes,
                                                              schedule=name) for nodes in LARGE])
        for name in ("wfbp", "sync-easgd", "mg-wfbp")], log="x", ticks=LARGE[::2])
        for title, model in (("GoogLeNet", "googlenet_bvlc"), ("ResNet-50", "resnet50"))
        for fidelity, words in (("alpha-beta", "closed form"), ("per-message", "messages"))]
    return chart(panels, found)


def mg_tensors(results, published):
    """Fig. 5: how many tensors have a size."""
    traces = {"GoogLeNet": "synthetic-k80-googlenet_bvlc-b64", "ResNet-50": "synthetic-k80-resnet50-b32",
              "ResNet-152": "synthetic-v100-resnet152-b128", "DenseNet-161": "synthetic-v100-densenet161-b64",
              "DenseNet-201": "synthetic-v100-densenet201-b64", "Inception-v4": "synthetic-v100-inception_v4-224-b128"}
    found, _ = about(results, "mg-wfbp/cluster-2")
    series = []
    for number, (name, trace) in enumerate(traces.items()):
        sizes = sorted(gradient["bytes"] for gradient in results.trace(f"traces/{trace}")["gradients"])
        shown = {"ResNet-152": [(1024, one(published, "mg-tensors-1024"))], "DenseNet-161": [(768, one(published, "mg-tensors-768"))]}
        distinct = sorted(set(sizes))
        series.append(Series(name, hue(number), distinct, [sizes.count(size) for size in distinct], shown.get(name, [])))
    return chart([Panel("Tensors of a size", "bytes", "tensors", series, log="xy", points=True,
                        ticks=[64, 1024, 16384, 262144, 4194304])], found)


def mg_speedup(results, published):
    found, frame = about(results, "mg-wfbp/simulated")
    return figures.speedup(frame, style.styles(frame), found)


def mg_groups(results, published):
    found, _ = about(results, "mg-wfbp/simulated")
    panels = [Panel(title, "nodes", "all-reduces per iteration", [
        Series("mg-wfbp", named("mg-wfbp"), SIZES, groups(results, model),
               list(zip(SIZES, published[f"mg-sim-{row}-groups"].values)))], log="xy", ticks=SIZES[::3])
        for title, model, row in (("GoogLeNet", "googlenet_bvlc", "googlenet"), ("ResNet-50", "resnet50", "resnet50"))]
    return chart(panels, found)


# SSD-SGD

NETWORKS = {"ResNet-50, b32": (("resnet50", 32), "ssd-b32-k5"), "ResNet-50, b64": (("resnet50", 64), "ssd-b64-k5"),
            "AlexNet": (("alexnet_mxnet", 64), "ssd-alexnet"), "VGG-11": (("vgg11", 64), "ssd-vgg11")}


def ssd_delays(results, published):
    found, _ = about(results, "ssd-sgd/delay")
    shown = {32: [(5, one(published, "ssd-b32-k5"))],
             64: [(2, one(published, "ssd-b64-k2")), (5, one(published, "ssd-b64-k5"))]}
    delays = [1, 2, 3, 4, 5]
    panels = [Panel(f"ResNet-50, batch {batch}", "delay k", "speed over ps-sgd", [
        Series(counted(servers, "server"), hue(4 - servers), delays,
               [ssd_gain(results, batch, delay, servers) for delay in delays], shown[batch] if servers == 4 else [])
        for servers in (1, 2, 3, 4)], ticks=delays) for batch in (32, 64)]
    return chart(panels, found)


def ssd_speeds(results, published):
    """Figs. 5 and 6: images per second of all machines, with SSGD's bar and the linear one's."""
    found, _ = about(results, "ssd-sgd/delay", "ssd-sgd/calibrated")
    names = ["SSGD", *(f"k = {delay}" for delay in range(1, 6)), "linear"]

    def speeds(scenario, batch):
        column = "throughput_samples_per_s"
        return [results.value(scenario, column, batch=batch, servers=4, schedule="ps-sgd"),
                *(results.value(scenario, column, batch=batch, servers=4, schedule="ssd-sgd", delay=delay) for delay in range(1, 6)),
                linear_speed(results, batch)]

    shown = {32: [("k = 5", 4 * one(published, "ssd-glu-speed")), ("linear", one(published, "ssd-optimal-b32"))],
             64: [("linear", one(published, "ssd-optimal-b64"))]}
    panels = [Panel(f"ResNet-50, batch {batch}, 4 servers", "", "images/s", [
        Series("54.5 Gb/s", named("ssd-sgd"), names, speeds("ssd-sgd/delay", batch), shown[batch]),
        Series("6 Gb/s, calibrated", hue(2), names, speeds("ssd-sgd/calibrated", batch))], bars=True) for batch in (32, 64)]
    return chart(panels, found)


def ssd_networks(results, published):
    found, _ = about(results, "ssd-sgd/networks")
    shown = [(name, one(published, row)) for name, (_, row) in NETWORKS.items()]
    series = [Series("asgd", named("asgd"), list(NETWORKS), [network_gain(results, *of, "asgd") for of, _ in NETWORKS.values()]),
              Series("ssd-sgd, delay 5", named("ssd-sgd"), list(NETWORKS), [network_gain(results, *of) for of, _ in NETWORKS.values()],
                     shown)]
    return chart([Panel("Speed over ps-sgd, 4 servers, 4 workers", "", "speed over ps-sgd", series, bars=True)], found)


def ssd_links(results, published):
    found, _ = about(results, "ssd-sgd/networks")
    rates = list(dict.fromkeys(results.rows("ssd-sgd/networks")["bandwidth"]))
    numbers = [float(rate.removesuffix("Gbps")) for rate in rates]
    series = [Series(name, hue(number), numbers, [network_gain(results, *of, bandwidth=rate) for rate in rates],
                     [(numbers[0], one(published, row))]) for number, (name, (of, row)) in enumerate(NETWORKS.items())]
    return chart([Panel("Speed of ssd-sgd, delay 5, over ps-sgd", "what a machine's link carries (Gb/s)", "speed over ps-sgd", series,
                        log="x", ticks=[4, 6, 10, 20, 54.5])], found)


# DTS

def dts_latency(results, published):
    found, _ = about(results, "dts/figure-3")

    def series(number, name, **where):
        rows = results.rows("dts/figure-3", **where).sort_values("a_s")
        return Series(name, style.other_hue("dts", number), list(rows["a_s"]), list(rows["efficiency"]))

    base = series(6, "s-sgd", schedule="s-sgd")
    delays = [series(place, f"delay {steps}", delay=steps, period=1) for place, steps in enumerate((4, 12, 20))]
    periods = [series(place + 3, f"period {steps}", delay=0, period=steps) for place, steps in enumerate((4, 12, 20))]
    both = series(7, "delay 20, period 20", delay=20, period=20)
    ticks = [0.001, 0.01, 0.1, 1, 10]
    return chart([Panel("Delayed", "latency of an all-reduce (s)", "scalability", [base, *delays], log="x", ticks=ticks),
                  Panel("Temporally sparse, and both", "latency of an all-reduce (s)", "scalability", [base, *periods, both],
                        log="x", ticks=ticks)], found)


def dts_calibrated(results, published):
    """Table 1: the delays, periods and the compression of its rows."""
    found, _ = about(results, "dts/calibrated")
    rows = results.rows("dts/calibrated")
    names = ["s-sgd" if row["schedule"] == "s-sgd" else f"D {row['delay']:.0f}, T {row['period']:.0f}" for _, row in rows.iterrows()]
    shown = [(names[0], one(published, "dts-naive")), (names[1], one(published, "dts-dts"))]
    return chart([Panel("Scalability over 33.4 Mb/s and 79.8 ms a hop", "", "scalability",
                        [Series("ours", named("dts"), names, list(rows["efficiency"]), shown)], log="y", bars=True)], found)


def dts_world(results, published):
    found, _ = about(results, "dts/world", "dts/data-centre")
    places = ["data centre", "four continents"]
    inside = {name: results.value("dts/data-centre", "efficiency", schedule=name, bytes=WEIGHTS) for name in ("s-sgd", "dts")}
    shown = {"s-sgd": list(zip(places, (one(published, "dts-datacentre"), one(published, "dts-naive")))),
             "dts": [(places[1], one(published, "dts-dts"))]}
    series = [Series(name, named(name), places, [inside[name], scalability(results, name)], shown[name]) for name in inside]
    return chart([Panel("Scalability", "", "scalability", series, log="y", bars=True)], found)


# LASGD

NAMES = {"sgd": ("fusion", "SGD"), "sgp": ("sgp", "SGP"), "lasgd": ("lasgd", "LASGD"), "wlasgd": ("asgd", "WLASGD")}
NODES = [8, 16, 32]


def lasgd_table_1(results, published):
    found, _ = about(results, "lasgd/table-1")

    def panel(cv, title):
        return Panel(title, "nodes of 4 GPUs", "hours of 90 epochs", [
            Series(name, named(schedule), NODES, [results.value("lasgd/table-1", "total_h", cv=cv, nodes=nodes, **LASGD[key]) for nodes in NODES],
                   [(nodes, one(published, f"lasgd-{key}-{nodes}")) for nodes in NODES])
            for key, (schedule, name) in NAMES.items()], log="x", ticks=NODES)

    return chart([panel(0.1, "Steps vary by 0.1"), panel(0, "Steps all the same")], found)


def lasgd_iterations(results, published):
    """Fig. 6. The published times follow from Table 1's hours."""
    found, _ = about(results, "lasgd/table-1")

    def seconds_of(key, nodes):
        row = results.row("lasgd/table-1", cv=0.1, nodes=nodes, **LASGD[key])
        return one(published, f"lasgd-{key}-{nodes}") * row["iteration_s"] / row["total_h"]

    series = [Series(name, named(schedule), NODES, [results.value("lasgd/table-1", "iteration_s", cv=0.1, nodes=nodes, **LASGD[key]) for nodes in NODES],
                     [(nodes, seconds_of(key, nodes)) for nodes in NODES]) for key, (schedule, name) in NAMES.items()]
    return chart([Panel("Batch 64", "nodes of 4 GPUs", "seconds of an iteration", series, log="x", ticks=NODES)], found)


def lasgd_table_2(results, published):
    found, _ = about(results, "lasgd/table-3")
    names = ["1", "2", "3", "4", "5", "6+"]
    series = [Series(f"steps {'vary by 0.1' if cv else 'all the same'}", hue(number), names, histogram(results, cv),
                     [] if number else list(zip(names, published["lasgd-histogram"].values))) for number, cv in enumerate((0.1, 0))]
    return chart([Panel("Share of the all-reduces", "local steps until an all-reduce has ended", "share", series, bars=True)], found)


def lasgd_table_3(results, published):
    found, _ = about(results, "lasgd/table-3", "lasgd/calibrated")
    rows = {"SGD": (SGD, "sgd"), "SGP": (SGP, "sgp"), "tau_max 1": (TAU_1, "tau1"), "tau_max 5": (TAU_5, "tau5")}
    panels = [Panel("Batch 32, 16 nodes", "", "hours of 90 epochs", [
        Series("as given", hue(0), list(rows), [table_3(results, 32, where) for where, _ in rows.values()],
               [(name, one(published, f"lasgd-b32-{row}")) for name, (_, row) in rows.items()]),
        Series("calibrated", hue(1), list(rows), [table_3(results.calibrated(), 32, where) for where, _ in rows.values()])], bars=True),
        Panel("Batch 64, 16 nodes", "", "hours of 90 epochs", [
            Series("as given", hue(0), list(rows)[:3], [table_1(results, 16, LASGD[key]) for key in ("sgd", "sgp", "lasgd")],
                   [(name, one(published, f"lasgd-t3-b64-{row}")) for name, row in zip(rows, ("sgd", "sgp", "tau1"))])], bars=True)]
    return chart(panels, found)


# SASGD

def sasgd_interval(results, published):
    """Figs. 4 and 5. An epoch of one learner that never communicates is 1."""
    found, _ = about(results, "sasgd/interval", "sasgd/calibrated", "sasgd/calibrated-one")

    def epochs(model, interval, of=results):
        alone = seconds(results, model, learners=1)
        return [seconds(of, model, interval=interval, learners=learners) / learners / alone for learners in numbers(of)]

    panels = [Panel(name, "learners", "epoch / sequential epoch", [
        Series("T = 1", hue(0), LEARNERS, epochs(model, 1)),
        Series("T = 50", hue(1), LEARNERS, epochs(model, 50), [(8, 1 / one(published, row))]),
        Series("T = 1, calibrated", hue(2), [1, 8], epochs(model, 1, results.calibrated())),
        Series("T = 50, calibrated", hue(3), [1, 8], epochs(model, 50, results.calibrated())),
        Series("sequential", named("s-sgd"), LEARNERS, [1] * len(LEARNERS))], log="xy", ticks=LEARNERS)
        for name, model, row in (("CIFAR-10", CIFAR10, "sasgd-cifar-speedup"), ("NLC-F", NLCF, "sasgd-nlcf-speedup"))]
    return chart(panels, found)


def sasgd_servers(results, published):
    """Fig. 6: SASGD's epoch is 1."""
    found, _ = about(results, "sasgd/servers", "sasgd/calibrated")
    names = {"C, T = 1": (CIFAR10, 1), "N, T = 1": (NLCF, 1), "C, T = 50": (CIFAR10, 50), "N, T = 50": (NLCF, 50)}
    panels = [Panel(title, "", "epoch / SASGD's epoch", [
        Series(schedule, named(schedule), list(names), [over_sasgd(of, model, schedule, interval) for model, interval in names.values()])
        for schedule in ("downpour", "eamsgd")], bars=True)
        for title, of in (("8 learners, nominal links", results), ("calibrated", results.calibrated()))]
    return chart(panels, found)


def sasgd_downpour(results, published):
    found, _ = about(results, "sasgd/servers", "sasgd/calibrated", "sasgd/calibrated-one")
    shown = {CIFAR10: [(1, one(published, "sasgd-downpour-cifar-1")), (8, one(published, "sasgd-downpour-cifar-8"))],
             NLCF: [(count, one(published, "sasgd-downpour-nlcf")) for count in LEARNERS]}
    panels = [Panel(title, "learners", "communication's share of an epoch", [
        Series(name, hue(number), numbers(of), [downpour_share(of, model, count) for count in numbers(of)], shown[model])
        for number, (name, model) in enumerate((("CIFAR-10", CIFAR10), ("NLC-F", NLCF)))], ticks=LEARNERS)
        for title, of in (("Downpour, nominal links", results), ("calibrated", results.calibrated()))]
    return chart(panels, found)


FIGURES = [
    Drawing("MG-WFBP", "All-reduces (Fig. 4)", "The fitted lines of the three clusters, as the simulator uses them, and two all-reduces "
            "that the text mentions.", mg_all_reduce),
    Drawing("MG-WFBP", "Sizes of tensors (Fig. 5)", "Hollow: the two counts that the text gives.", mg_tensors),
    Drawing("MG-WFBP", "K80s (Figs. 6 and 7)", "Speed over one node; ps-sgd, with one server on a machine of its own, stands for TensorFlow.", mg_scaling),
    Drawing("MG-WFBP", "Three clusters (Figs. 8 and 9)", "Where an iteration's time goes. Of the V100s in fp16 the text gives no times; "
            "they are assumed to multiply twice as fast. On InfiniBand only DenseNet-201 in fp16 gains more than 14 %, by 36 %: that this is near the published "
            "26 %, of which the text names no network, is chance.", mg_clusters),
    Drawing("MG-WFBP", "Speedup of up to 2048 nodes (Fig. 10)", "Throughput relative to one worker that never communicates.", mg_speedup),
    Drawing("MG-WFBP", "All-reduces per iteration (Sec. 6.4)", "After MG-WFBP has merged gradients.", mg_groups),
    Drawing("MG-WFBP", "Double binary trees (Fig. 11)", "By the closed form, as the paper reckons, and with every message of the pipelined trees, in the "
            "fastest number of chunks of 32 KiB or more. WFBP's lead over SyncEASGD depends on small chunks: with 128 KiB it would lose.", mg_trees),
    Drawing("SSD-SGD", "Speeds (Figs. 5 and 6)", "Images per second of four machines.", ssd_speeds),
    Drawing("SSD-SGD", "Delays and servers (Fig. 6)", "Published: with 4 servers.", ssd_delays),
    Drawing("SSD-SGD", "Networks (Fig. 7)", "Published: SSD-SGD with a delay of 5.", ssd_networks),
    Drawing("SSD-SGD", "What if links carried less", "The published numbers stand at the nominal rate. Those of ResNet-50 fit links that "
            "carry 6 to 7 Gb/s.", ssd_links),
    Drawing("DTS", "Latency (Fig. 3)", "Scalability is throughput over that of workers that never communicate.", dts_latency),
    Drawing("DTS", "Over the world (Sec. 4.3)", "S-SGD and DTS inside a data centre and over Tokyo, London, Oregon and Ohio.", dts_world),
    Drawing("DTS", "Over the world, calibrated (Table 1)", "The bandwidth is chosen on S-SGD's scalability. Which row of the table gave the published "
            "one of DTS is not said; it stands at the first, the nearest.", dts_calibrated),
    Drawing("LASGD", "Training time (Table 1)", "Left with the assumed jitter, right without any. The published hours are the same.",
            lasgd_table_1),
    Drawing("LASGD", "Iterations (Fig. 6)", "Published: from the hours of Table 1.", lasgd_iterations),
    Drawing("LASGD", "Local steps per all-reduce (Table 2)", "Batch 32, 16 nodes, tau_max 5; 6+ had not ended after five steps.", lasgd_table_2),
    Drawing("LASGD", "Training time by batch (Tables 3 and 4)", "", lasgd_table_3),
    Drawing("SASGD", "Epochs (Figs. 4 and 5)", "Published: the speed-ups of 8 learners, by context those of T = 50.", sasgd_interval),
    Drawing("SASGD", "SASGD, Downpour, EAMSGD (Fig. 6)", "How many times as long as SASGD's an epoch takes. C is CIFAR-10, N is NLC-F.", sasgd_servers),
    Drawing("SASGD", "Downpour (Fig. 1)", "The published share of NLC-F is a lower bound.", sasgd_downpour),
]
