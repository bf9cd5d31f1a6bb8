"""Why a simulated number differs from the published one by more than 10 %, or cannot be compared: a sentence or two by id."""

INPUT = "An input of the scenarios, read back."
SSD_RATE = "At its nominal rate a link lets SSGD hide its communication too, whatever the servers; one of 10 Gb/s and less does not " \
           "(see the figure)."
GROWTH = "Their communication slows with the number of nodes; here every node has its 10 Gb/s at any size."
FIFTH = "Halving the batch halves a step here; theirs still take about four fifths, so that something that is not compute fills them."
SLOW_LINKS = "Links run at PCIe's nominal rate here; theirs, in a busy host, must have been slower."
SHARED_HOST = "Learners compute undisturbed here; theirs share a host and slow each other."

REMARKS = {
    **{f"mg-fit-cluster{cluster}-{letter}": INPUT for cluster in (1, 2, 3) for letter in "ab"},
    "mg-8node-over-wfbp": "On the fitted line even WFBP hides behind a K80's backward, with the authors' log of GoogLeNet too: what "
                          "their runs lost is not in the line.",
    "mg-10gbe-max": "Ours is DenseNet-201's over WFBP, whose 604 all-reduces each pay the line's a; theirs must have cost less.",
    "mg-ib-max": "Theirs is over fp16 runs too, in which less compute hides communication; ours are fp32 on a modelled V100.",
    "mg-densenet161-sync-wfbp": "WFBP's 484 all-reduces each pay the line's a; theirs must have cost less.",
    "mg-densenet161-mg-sync": "Here MG-WFBP hides all but its last all-reduce; theirs lost time that is not in the line.",
    "mg-sim-googlenet-groups": "Merging depends on each layer's time, which is modelled; with the authors' log of a K80 the simulator "
                               "merges exactly as published.",
    "mg-sim-resnet50-groups": "Merging depends on each layer's time, which is modelled; theirs are not public.",
    "mg-sim-googlenet-wfbp": "Layer times are modelled; with the authors' log of a K80 the difference is -2 %.",
    "ssd-optimal-b32": INPUT,
    "ssd-optimal-b64": INPUT,
    "ssd-glu-speed": "What their workers do in a step besides compute is not given; here all communication hides, and a local update is an "
                     "ordinary one.",
    "ssd-sgd-speed": "As above; the simulator knows one kind of local update.",
    "ssd-dcasgd-speed": "What this local update costs is not given.",
    "ssd-b32-range": SSD_RATE,
    "ssd-b64-range": SSD_RATE,
    "ssd-b32-k5": SSD_RATE + " The published ratio is that of 6 to 7 Gb/s.",
    "ssd-alexnet": "A local update takes a tenth of SSD-SGD's step here, while SSGD's servers update in no time; layer times are modelled.",
    "ssd-vgg11": "As for AlexNet; links of three quarters of the nominal rate would give the published ratio (see the figure).",
    "dts-naive": "Their bandwidth is not given. Ours is what others reached with 16 connections; theirs must have been less than a "
                 "tenth of it.",
    "dts-dts": "A delay of 20 steps hides the network altogether; what else their steps lost (compression, input, unequal "
               "steps) is not given.",
    "dts-speedup": "The quotient of the two rows above, which say why.",
    "dts-ring-latency": "Ours is over the fastest ring of latencies that others measured between the same places; theirs are not in the "
                        "table.",
    "lasgd-sgd-16": GROWTH,
    "lasgd-sgd-32": GROWTH,
    "lasgd-sgp-16": GROWTH,
    "lasgd-sgp-32": GROWTH,
    "lasgd-histogram": "Jitter is assumed. Ours never takes more than tau_max 5 local steps; theirs are said to take 6 and more.",
    "lasgd-b32-sgd": FIFTH,
    "lasgd-b32-sgp": FIFTH,
    "lasgd-b32-tau1": FIFTH,
    "lasgd-b32-tau5": FIFTH,
    "sasgd-cifar-t": SLOW_LINKS + " All-reduces at 0.6 GB/s would give the published ratio.",
    "sasgd-nlcf-t": SLOW_LINKS + " All-reduces at 0.4 GB/s would give the published ratio.",
    "sasgd-cifar-speedup": SHARED_HOST,
    "sasgd-nlcf-speedup": SHARED_HOST,
    "sasgd-downpour-nlcf": SLOW_LINKS,
    "sasgd-downpour-cifar-1": "The simulator has no communication where there is one worker.",
    "sasgd-downpour-cifar-8": SLOW_LINKS,
}
