"""What each schedule does to models, as plain loops over steps: the table of sim/dataflow/README.md, with no record and no times.

`define` has the schedules whose arithmetic does not depend on times; in_order.py has the others."""

import math
import struct

import numpy as np

OVER_SERVERS = ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "downpour", "eamsgd", "p3")
ALL_REDUCES = ("s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion", "horovod")
BEYOND = ("bytescheduler", "p3", "dear", "fsdp", "zero")


class Training:
    """Of `workers`, each of which makes `steps` steps. `taken`: {(worker, batch): the model of its gradient}; `after`: {(worker, steps done): its model}."""

    def __init__(self, problem, schedule, workers, steps, optimizer, hyper, cuts):
        self.problem, self.schedule, self.workers, self.steps = problem, schedule, workers, steps
        self.optimizer, self.hyper, self.cuts = optimizer, hyper, cuts
        self.taken, self.after = {}, {}

    def optimiser(self):
        return Optimiser(self.optimizer, self.hyper)

    def optimisers(self):
        return [self.optimiser() for _ in range(self.workers)]

    def begin(self):
        return [self.problem.initial] * self.workers

    def gradient(self, model, worker, number):
        self.taken[worker, number] = model
        return self.problem.gradient(model, worker, number)

    def gradients(self, models, number):
        return [self.gradient(model, worker, number) for worker, model in enumerate(models)]

    def end(self, models, number):
        for worker, model in enumerate(models):
            self.after[worker, number + 1] = model

    def senders(self):
        return [Sender(self.schedule, self.problem, self.cuts) for _ in range(self.workers)]


def mean(vectors):
    return sum(vectors) / len(vectors)


# Optimisers, in PyTorch's words


class Optimiser:
    def __init__(self, name, hyper):
        self.name, self.h, self.count, self.first, self.second = name, hyper, 0, 0.0, 0.0

    def step(self, x, g):
        h = self.h
        if self.name == "sgd":
            return x - h["lr"] * g
        if self.name in ("momentum", "nesterov"):
            self.first = h["mu"] * self.first + g
            return x - h["lr"] * (self.first if self.name == "momentum" else g + h["mu"] * self.first)
        self.count += 1
        self.first = h["beta1"] * self.first + (1 - h["beta1"]) * g
        self.second = h["beta2"] * self.second + (1 - h["beta2"]) * g * g
        decayed = x if self.name == "adam" else x * (1 - h["lr"] * h["weight_decay"])
        direction = self.first / (1 - h["beta1"] ** self.count)
        return decayed - h["lr"] * direction / (np.sqrt(self.second / (1 - h["beta2"] ** self.count)) + h["epsilon"])


# Compression


def signs(a, given, part, number, problem):
    values = a.tolist()
    size = sum(map(abs, values)) / max(1, len(values))
    return np.array([-size if value < 0 else size for value in values])


def halves(a, given, part, number, problem):
    numbers = f"{len(a)}e"  # two bytes each
    return np.array(struct.unpack(numbers, struct.pack(numbers, *a.tolist())))


def count(given, a):
    """0.07 of 100 are 7, though their product is a little more."""
    return math.ceil(given.get("ratio", 0.01) * len(a) - 1e-9)


def largest(a, given, part, number, problem):
    message, sizes = np.zeros(len(a)), np.abs(a).tolist()
    for index in sorted(range(len(a)), key=lambda index: (-sizes[index], index))[:count(given, a)]:
        message[index] = a[index]
    return message


def chosen(a, given, part, number, problem):
    message = np.zeros(len(a))
    for index in problem.drawn(part, number, count(given, a), len(a)):
        message[index] = a[index]
    return message


# terngrad and qsgd as sign: what a test puts in their place
WAYS = {"none": None, "fp16": halves, "sign": signs, "top-k": largest, "random-k": chosen, "terngrad": signs, "qsgd": signs}


def compression(schedule):
    """Any form as an object."""
    given = schedule.get("compression", "none")
    if isinstance(given, (int, float)):  # of dts
        given = {"name": "top-k", "ratio": given} if given < 1 else "none"
    return {"name": given} if isinstance(given, str) else given


class Sender:
    """What one worker sends of vectors, with error feedback."""

    def __init__(self, schedule, problem, cuts):
        self.given, self.problem, self.cuts = compression(schedule), problem, cuts
        self.way, self.residual = WAYS[self.given["name"]], np.zeros(problem.size)

    def send(self, vector, number):
        """In step `number`."""
        message = vector.copy()
        for part, cut in enumerate(self.cuts):
            message[cut] = self.send_part(part, vector[cut], number)
        return message

    def send_part(self, part, vector, number):
        if self.way is None:
            return vector
        cut = self.cuts[part]
        whole = vector + self.residual[cut]
        message = self.way(whole, self.given, part, number, self.problem)
        self.residual[cut] = whole - message
        return message


def sent(senders, vectors, number):
    return [sender.send(vector, number) for sender, vector in zip(senders, vectors)]


# Schedules


def alone(training):
    x, optimiser = training.problem.initial, training.optimiser()
    for number in range(training.steps):
        x = optimiser.step(x, training.gradient(x, 0, number))
        training.end([x], number)


def synchronous(training):
    """One model for all."""
    cycle, x, optimiser = training.schedule.get("accumulate", 1), training.problem.initial, training.optimiser()
    senders, added = training.senders(), [0.0] * training.workers
    for number in range(training.steps):
        found = training.gradients([x] * training.workers, number)
        added = [before + g for before, g in zip(added, found)]
        if number % cycle == cycle - 1:
            x = optimiser.step(x, mean(sent(senders, [total / cycle for total in added], number)))
            added = [0.0] * training.workers
        training.end([x] * training.workers, number)


def ssd_sgd(training):
    h, schedule = training.hyper, training.schedule
    delay, warmup = schedule["delay"], schedule.get("warmup_iterations", 0)
    m = h["mu"] if training.optimizer in ("momentum", "nesterov") else 0.0
    server, optimiser, senders = training.problem.initial, training.optimiser(), training.senders()
    models, pulled_before, arrived = training.begin(), training.begin(), None
    for number in range(training.steps):
        found, computed_on = training.gradients(models, number), list(models)
        if number >= warmup:
            for worker, g in enumerate(found):
                if arrived is not None:
                    models[worker] = arrived
                d = (pulled_before[worker] - models[worker]) * (1 - m) / (h["lr"] * delay)
                if arrived is not None:
                    pulled_before[worker] = arrived
                along = {"glu": h["alpha"] * g + h["wd"] * models[worker] + h["beta"] * d, "sgd": g,
                         "dc-asgd": g + h["lambda"] * g * g * (models[worker] - computed_on[worker])}[schedule.get("local_update", "glu")]
                models[worker] = models[worker] - h["lr_loc"] * along
        server = optimiser.step(server, mean(sent(senders, found, number)) + h["wd"] * server)
        arrived = server if number >= warmup and (number - warmup) % delay == delay - 1 else None
        if number < warmup:
            models, pulled_before = [server] * training.workers, [server] * training.workers
        training.end(models, number)


def dts(training):
    delay, period = training.schedule["delay"], training.schedule.get("period", 1)
    models, optimisers, senders = training.begin(), training.optimisers(), training.senders()
    added, launched = [0.0] * training.workers, {}
    for number in range(training.steps):
        found = training.gradients(models, number)
        added = [before + g for before, g in zip(added, found)]
        if number % period == period - 1:
            launched[number] = sent(senders, added, number)
            added = [0.0] * training.workers
        for worker, g in enumerate(found):
            if number - delay in launched:
                a = launched[number - delay]
                g = g + mean(a) - a[worker]
            models[worker] = optimisers[worker].step(models[worker], g)
        training.end(models, number)


def sasgd(training):
    interval, models, optimisers = training.schedule["interval"], training.begin(), training.optimisers()
    senders, added, left = training.senders(), [0.0] * training.workers, training.problem.initial
    for number in range(training.steps):
        found = training.gradients(models, number)
        added = [before + g for before, g in zip(added, found)]
        if number % interval == interval - 1:
            left = left - training.hyper["gamma_p"] * sum(sent(senders, added, number))
            models, added = [left] * training.workers, [0.0] * training.workers
        else:
            models = [optimiser.step(x, g) for optimiser, x, g in zip(optimisers, models, found)]
        training.end(models, number)


def local_sgd(training):
    interval, models, optimisers = training.schedule["interval"], training.begin(), training.optimisers()
    senders, left = training.senders(), training.problem.initial
    for number in range(training.steps):
        models = [optimiser.step(x, g) for optimiser, x, g in zip(optimisers, models, training.gradients(models, number))]
        if number % interval == interval - 1:
            left = left + mean(sent(senders, [x - left for x in models], number))
            models = [left] * training.workers
        training.end(models, number)


def lasgd(training):
    """With rounds of one local step."""
    models, posted, optimisers = training.begin(), None, training.optimisers()
    for number in range(training.steps):
        models = [optimiser.step(x, g) for optimiser, x, g in zip(optimisers, models, training.gradients(models, number))]
        if posted:
            models = [mean(posted) + (x - before) for x, before in zip(models, posted)]
        posted = models
        training.end(models, number)


def sgp(training):
    n, optimisers = training.workers, training.optimisers()
    y, weight, coming = training.begin(), [1.0] * n, None
    training.weights = []  # by steps done: those of the workers, and of what is on its way
    for number in range(training.steps):
        x = [vector / one for vector, one in zip(y, weight)]
        hop = 2 ** (number % (n - 1).bit_length())
        leaving = {(rank + hop) % n: (y[rank] / 2, weight[rank] / 2) for rank in range(n)}
        found = training.gradients(x, number)
        y = [optimiser.step(vector / 2, g) for optimiser, vector, g in zip(optimisers, y, found)]
        weight = [one / 2 for one in weight]
        if coming:
            y = [vector + coming[rank][0] for rank, vector in enumerate(y)]
            weight = [one + coming[rank][1] for rank, one in enumerate(weight)]
        coming = leaving
        training.weights.append((weight, [one for _, one in coming.values()]))
        training.end([vector / one for vector, one in zip(y, weight)], number)


def d_psgd(training):
    n, models, optimisers = training.workers, training.begin(), training.optimisers()
    for number in range(training.steps):
        found = training.gradients(models, number)
        mixed = [mean([models[other] for other in sorted({(rank - 1) % n, rank, (rank + 1) % n})]) for rank in range(n)]
        models = [optimiser.step(x, g) for optimiser, x, g in zip(optimisers, mixed, found)]
        training.end(models, number)


def one_client(training):
    """downpour's and eamsgd's servers, which nobody else meets."""
    interval, elastic = training.schedule["interval"], training.schedule["name"] == "eamsgd"
    x, centre, optimiser, [sender] = training.problem.initial, training.problem.initial, training.optimiser(), training.senders()
    added = 0.0
    for number in range(training.steps):
        g = training.gradient(x, 0, number)
        x, added = optimiser.step(x, g), added + g
        if number % interval == interval - 1:
            if elastic:
                d = sender.send(training.hyper["rho"] * (x - centre), number)
                x, centre = x - d, centre + d
            else:
                x = centre = centre - training.hyper["lr"] * sender.send(added, number)
                added = 0.0
        training.end([x], number)


def compensated(training):
    """dc-asgd's server, which one client meets: there is no delay."""
    x, [sender] = training.problem.initial, training.senders()
    for number in range(training.steps):
        x = x - training.hyper["lr"] * sender.send(training.gradient(x, 0, number), number)
        training.end([x], number)


def islands(schedule, workers, cluster):
    """Of diloco: who share a model at every step."""
    gpus = cluster.get("gpus_per_node", 1)
    sizes = {"gpu": [1] * workers, "node": [gpus] * (workers // gpus), "region": [gpus * region["nodes"] for region in cluster.get("regions", [])]}
    ends = np.cumsum(sizes[schedule.get("worker", "gpu")])
    return [range(end - size, end) for end, size in zip(ends, sizes[schedule.get("worker", "gpu")])]


def outer_optimizer(schedule):
    given = schedule.get("outer", {})
    return {"optimizer": "nesterov", "lr": 0.7, "momentum": 0.9} | ({"optimizer": given} if isinstance(given, str) else given)


def diloco(training):
    """A fragment's differences are those at its snapshot; at the very begin of a round, those before the outer step of that instant."""
    schedule, groups = training.schedule, training.islands
    interval, count, overlap, mix = (schedule.get(key, usual) for key, usual in (("interval", 100), ("fragments", 1), ("overlap", 0), ("mix", 0)))
    models, optimisers, outer = training.begin(), training.optimisers(), outer_optimizer(schedule)
    cuts = training.cuts if count > 1 else [slice(None)]
    x0, v, snapshots = training.problem.initial.copy(), np.zeros(training.problem.size), {}  # snapshots: by round and fragment
    ends = [-(-(fragment + 1) * interval // count) for fragment in range(count)]
    for number in range(training.steps):
        found, here = training.gradients(models, number), divmod(number, interval)
        for group in groups:
            g = mean([found[worker] for worker in group])
            for worker in group:
                models[worker] = optimisers[worker].step(models[worker], g)
        done = here[1] + 1  # of the round
        for fragment, (end, cut) in enumerate(zip(ends, cuts)):
            for later in range(2):  # of this round, or of the next one
                if end - overlap + later * interval == done and len(groups) > 1:
                    snapshots[here[0] + later, fragment] = mean([x0[cut] - models[group[0]][cut] for group in groups])
        for fragment, (end, cut) in enumerate(zip(ends, cuts)):
            if end == done and (here[0], fragment) in snapshots:
                m = snapshots.pop((here[0], fragment))
                v[cut] = outer["momentum"] * v[cut] + m
                along = {"nesterov": m + outer["momentum"] * v[cut], "momentum": v[cut], "sgd": m}[outer["optimizer"]]
                x0[cut] = x0[cut] - outer["lr"] * along
                models = [x.copy() for x in models]
                for x in models:
                    x[cut] = (1 - mix) * x0[cut] + mix * x[cut]
        training.end(models, number)


ANY_SIZE = {**dict.fromkeys((*ALL_REDUCES, *BEYOND), synchronous), "ps-sgd": synchronous, "ssd-sgd": ssd_sgd, "dts": dts, "sasgd": sasgd,
            "local-sgd": local_sgd, "diloco": diloco, "sgp": sgp, "d-psgd": d_psgd}
ONE = {**dict.fromkeys((*ALL_REDUCES, *BEYOND), synchronous), "ps-sgd": synchronous, "asgd": synchronous, "dc-asgd": compensated, "ssd-sgd": ssd_sgd,
       "downpour": one_client, "eamsgd": one_client}


def define(problem, schedule, workers, steps, optimizer, hyper, cuts, cluster=None):
    """None where the arithmetic depends on times. `cluster`: whose GPUs diloco's workers are, with regions in the order of the ranks."""
    name = schedule["name"]
    if workers == 1:
        rule = ONE.get(name, alone)
    elif name == "lasgd" and schedule["tau_max"] == 1 and schedule.get("participants", 1) == 1:
        rule = lasgd
    else:
        rule = ANY_SIZE.get(name)
    if rule is None:
        return None
    if workers == 1 and name not in OVER_SERVERS and schedule.get("over") != "servers":
        schedule = {**schedule, "compression": "none"}
    training = Training(problem, schedule, workers, steps, optimizer, hyper, cuts)
    if rule is diloco:
        training.islands = islands(schedule, workers, cluster or {})
    rule(training)
    return training
