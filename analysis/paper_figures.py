"""The papers' figures, drawn from the results of their scenarios; published numbers are hollow markers.

A figure is a function from (Results, {id: Published}) to a matplotlib Figure; FIGURES lists them by paper.
"""

from dataclasses import dataclass
from typing import Callable

import figures
import labels
import notes
import style
from paper_chart import Panel, Series, chart
from paper_quantities import (CIFAR10, LASGD, NLCF, SIZES, all_reduce, downpour_share, epoch_ratio, groups, histogram, hours,
                              network_gain, scalability, ssd_gain)

WARNING = "Synthetic traces: layer times are modelled, not measured."


@dataclass(frozen=True)
class Drawing:
    paper: str
    title: str
    caption: str
    draw: Callable


def about(results, *names):
    """(subject, warnings) of a figure of these scenarios, and their labelled rows."""
    runs = [results.run(name) for name in names]
    frame = labels.label(runs)
    synthetic = any(trace["provenance"]["kind"] == "synthetic" for run in runs for trace in run.about["traces"])
    return (notes.subject(runs, frame), [WARNING] * synthetic), frame


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
        Series(f"{servers} server{'s' * (servers > 1)}", hue(4 - servers), delays,
               [ssd_gain(results, batch, delay, servers) for delay in delays], shown[batch] if servers == 4 else [])
        for servers in (1, 2, 3, 4)], ticks=delays) for batch in (32, 64)]
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


def dts_world(results, published):
    found, _ = about(results, "dts/world", "dts/data-centre")
    places = ["data centre", "four continents"]
    inside = {name: results.value("dts/data-centre", "efficiency", schedule=name) for name in ("s-sgd", "dts")}
    shown = {"s-sgd": list(zip(places, (one(published, "dts-datacentre"), one(published, "dts-naive")))),
             "dts": [(places[1], one(published, "dts-dts"))]}
    series = [Series(name, named(name), places, [inside[name], scalability(results, name)], shown[name]) for name in inside]
    return chart([Panel("Scalability", "", "scalability", series, log="y", bars=True)], found)


# LASGD

def lasgd_table_1(results, published):
    found, _ = about(results, "lasgd/table-1")
    sizes = [8, 16, 32]
    names = {"sgd": ("fusion", "SGD"), "sgp": ("sgp", "SGP"), "lasgd": ("lasgd", "LASGD"), "wlasgd": ("asgd", "WLASGD")}

    def panel(cv, title):
        return Panel(title, "nodes of 4 GPUs", "hours of 90 epochs", [
            Series(name, named(schedule), sizes, [hours(results.row("lasgd/table-1", cv=cv, nodes=nodes, **LASGD[key])) for nodes in sizes],
                   [(nodes, one(published, f"lasgd-{key}-{nodes}")) for nodes in sizes])
            for key, (schedule, name) in names.items()], log="x", ticks=sizes)

    return chart([panel(0.1, "Steps vary by 0.1"), panel(0, "Steps all the same")], found)


def lasgd_table_2(results, published):
    found, _ = about(results, "lasgd/table-3")
    names = ["1", "2", "3", "4", "5", "6+"]
    series = [Series(f"steps {'vary by 0.1' if cv else 'all the same'}", hue(number), names, histogram(results, cv),
                     [] if number else list(zip(names, published["lasgd-histogram"].values))) for number, cv in enumerate((0.1, 0))]
    return chart([Panel("Local steps per all-reduce", "local steps", "share of all-reduces", series, bars=True)], found)


def lasgd_table_3(results, published):
    found, _ = about(results, "lasgd/table-3")
    rows = {"SGD": ({"schedule": "fusion"}, "sgd"), "SGP": ({"schedule": "sgp"}, "sgp"),
            "LASGD, tau_max 1": ({"tau_max": 1}, "tau1"), "LASGD, tau_max 5": ({"tau_max": 5}, "tau5")}
    series = [Series(f"steps {'vary by 0.1' if cv else 'all the same'}", hue(number), list(rows),
                     [hours(results.row("lasgd/table-3", cv=cv, **where)) for where, _ in rows.values()],
                     [] if number else [(name, one(published, f"lasgd-b32-{row}")) for name, (_, row) in rows.items()])
              for number, cv in enumerate((0.1, 0))]
    return chart([Panel("Batch 32, 16 nodes", "", "hours of 90 epochs", series, bars=True)], found)


# SASGD

def sasgd_interval(results, published):
    found, _ = about(results, "sasgd/interval")
    intervals = [1, 5, 10, 25, 50]
    panels = [Panel(title, "interval", "epoch of interval 1 / epoch", [
        Series(f"{learners} learners", hue(number), intervals, [epoch_ratio(results, model, steps, learners) for steps in intervals],
               [(50, one(published, row))] if learners == 8 else []) for number, learners in enumerate((8, 4, 2))], ticks=intervals)
        for title, model, row in (("CIFAR-10", CIFAR10, "sasgd-cifar-t"), ("NLC-F", NLCF, "sasgd-nlcf-t"))]
    return chart(panels, found)


def sasgd_downpour(results, published):
    found, _ = about(results, "sasgd/downpour")
    learners = [1, 2, 4, 8]
    shown = {CIFAR10: [(1, one(published, "sasgd-downpour-cifar-1")), (8, one(published, "sasgd-downpour-cifar-8"))],
             NLCF: [(count, one(published, "sasgd-downpour-nlcf")) for count in learners]}
    series = [Series(name, hue(number), learners, [downpour_share(results, model, count) for count in learners], shown[model])
              for number, (name, model) in enumerate((("CIFAR-10", CIFAR10), ("NLC-F", NLCF)))]
    return chart([Panel("Downpour", "learners", "communication's share of an epoch", series, ticks=learners)], found)


FIGURES = [
    Drawing("MG-WFBP", "All-reduces (Fig. 4)", "The fitted lines of the three clusters, as the simulator uses them, and two all-reduces "
            "that the text mentions.", mg_all_reduce),
    Drawing("MG-WFBP", "Three clusters (Secs. 6.3.1 and 6.3.2)", "Where an iteration's time goes.", mg_clusters),
    Drawing("MG-WFBP", "Speedup of up to 2048 nodes (Sec. 6.4)", "Throughput relative to one worker that never communicates.", mg_speedup),
    Drawing("MG-WFBP", "All-reduces per iteration (Sec. 6.4)", "After MG-WFBP has merged gradients.", mg_groups),
    Drawing("SSD-SGD", "Delays and servers (Sec. 4.5)", "Published: with 4 servers.", ssd_delays),
    Drawing("SSD-SGD", "Networks (Sec. 4.6)", "Published: SSD-SGD with a delay of 5.", ssd_networks),
    Drawing("SSD-SGD", "What if links carried less", "The published numbers stand at the nominal rate. Those of ResNet-50 fit links that "
            "carry 6 to 7 Gb/s.", ssd_links),
    Drawing("DTS", "Latency (Fig. 3)", "Scalability is throughput over that of workers that never communicate.", dts_latency),
    Drawing("DTS", "Over the world (Sec. 4.3)", "S-SGD and DTS inside a data centre and over Tokyo, London, Oregon and Ohio.", dts_world),
    Drawing("LASGD", "Training time (Table 1)", "Left with the assumed jitter, right without any. The published hours are the same.",
            lasgd_table_1),
    Drawing("LASGD", "Local steps per all-reduce (Table 2)", "Batch 32, 16 nodes, tau_max 5.", lasgd_table_2),
    Drawing("LASGD", "Training time at batch 32 (Table 3)", "", lasgd_table_3),
    Drawing("SASGD", "Interval between all-reduces (Figs. 4-6)", "How many times as long an epoch takes when every step ends with an "
            "all-reduce. Published: 8 learners.", sasgd_interval),
    Drawing("SASGD", "Downpour (Fig. 1)", "The published share of NLC-F is a lower bound.", sasgd_downpour),
]
