"""What schedules do to models whose workers do not wait for each other: in the order in which the oracle of times has things happen."""

import copy

import definitions
import local
import pairs
import server_schedules
from definitions import mean



def logged(kind):
    """The same, which notes what the server handles, "asked" or "pushed", and when it sends what has been pushed for, "sent": (client, step, message, what)."""

    class Logged(kind):
        def answer(self, message):
            self.note(message, "asked" if message.asks else "pushed")
            super().answer(message)

        def give(self, message):
            self.note(message, "sent")
            super().give(message)

        def note(self, message, what):
            self.log.append((message.client, message.step, message.group, what))

    return Logged


def handled(kind, point, cycle):
    job = logged(kind)(point)
    job.log = []
    job.run(cycle)
    return job.log


# Servers


def asynchronous(training, point):
    """asgd and dc-asgd, message by message."""
    cuts, n, h = training.cuts, training.workers, training.hyper
    server, optimisers = training.problem.initial.copy(), [training.optimiser() for _ in cuts]
    models, senders = [server.copy() for _ in range(n)], training.senders()
    found, taken = [None] * n, [set() for _ in range(n)]
    for client, step, group, what in handled(server_schedules.Asynchronous, point, 1):
        cut = cuts[group]
        if what == "sent":
            models[client][cut] = server[cut]
            taken[client].add(group)
            if len(taken[client]) == len(cuts):
                training.after[client, step + 1] = models[client].copy()
                found[client] = None
                taken[client].clear()
            continue
        if found[client] is None:
            found[client] = training.gradient(models[client].copy(), client, step)
        g = senders[client].send_part(group, found[client][cut], step) / n
        if training.schedule["name"] == "asgd":
            server[cut] = optimisers[group].step(server[cut], g)
        else:
            server[cut] = server[cut] - h["lr"] * (g + h["lambda"] * g * g * (server[cut] - models[client][cut]))


class Learner:
    """Local steps between exchanges."""

    def __init__(self, training, worker):
        self.training, self.worker, self.x, self.optimiser = training, worker, training.problem.initial, training.optimiser()
        self.done, self.added = 0, 0.0

    def go_on(self, steps):
        """Until so many are done; what the last one leaves is not known before an exchange."""
        while self.done < steps:
            if self.done:
                self.training.after[self.worker, self.done] = self.x
            g = self.training.gradient(self.x, self.worker, self.done)
            self.x, self.added = self.optimiser.step(self.x, g), self.added + g
            self.done += 1


def learners(training, point):
    """downpour and eamsgd."""
    interval, h = training.schedule["interval"], training.hyper
    every, centre, moved = [Learner(training, worker) for worker in range(training.workers)], training.problem.initial, {}
    senders = training.senders()
    kind = server_schedules.Downpour if training.schedule["name"] == "downpour" else server_schedules.Eamsgd
    for client, step, _, what in handled(kind, point, interval):
        learner = every[client]
        if what == "sent":
            learner.x = centre
            continue
        learner.go_on(step + 1)
        if what == "asked":
            moved[client] = senders[client].send(h["rho"] * (learner.x - centre), step)
            learner.x = learner.x - moved[client]
        elif training.schedule["name"] == "eamsgd":
            centre = centre + moved[client]
        else:
            centre = centre - h["lr"] * senders[client].send(learner.added, step)
            learner.added = 0.0
    for learner in every:
        if learner.done % interval == 0:
            training.after[learner.worker, learner.done] = learner.x
        learner.go_on(learner.done + interval)


# Between workers


class Rounds(local.Lasgd):
    """Notes who takes part in each all-reduce."""

    def start_collective(self, now):
        gathering, count = self.gathering, len(self.moving)
        super().start_collective(now)
        if len(self.moving) > count:
            self.rounds.append(sorted(gathering.ranks))


def lasgd(training, point):
    job = Rounds(point)
    job.rounds = []
    steps = job.run().steps
    optimisers, models = training.optimisers(), training.begin()
    of = [[number for number, ranks in enumerate(job.rounds) if rank in ranks] for rank in range(training.workers)]  # its all-reduces
    posts, posted, found = [0] * training.workers, {}, training.gradients(models, 0)
    for end, number, rank, step in sorted((step.end, number, rank, step) for rank, mine in enumerate(steps) for number, step in enumerate(mine)):
        models[rank] = optimisers[rank].step(models[rank], found[rank])
        if step.staleness:  # it has mixed
            mixed = of[rank][posts[rank] - 1]
            models[rank] = mean([posted[other, mixed] for other in job.rounds[mixed]]) + (models[rank] - posted[rank, mixed])
        if step.posted:
            if posts[rank] < len(of[rank]):  # else it is never gathered
                posted[rank, of[rank][posts[rank]]] = models[rank]
            posts[rank] += 1
        training.after[rank, number + 1] = models[rank]
        found[rank] = training.gradient(models[rank], rank, number + 1)


class Meetings(pairs.Averaging):
    """Notes when whose model arrives."""

    def answer(self):
        self.meetings += [(self.engine.now, 1, *asked) for asked in sorted(self.asked)]
        super().answer()


def averaging(training, point):
    """ad-psgd, of no more than one passive node: it has nobody else to draw."""
    job = Meetings(point)
    job.meetings = []
    steps = job.run().steps
    events = [*job.meetings, *((step.end, 0, rank, None, number) for rank, mine in enumerate(steps) for number, step in enumerate(mine))]
    models, optimisers, found = training.begin(), training.optimisers(), training.gradients(training.begin(), 0)
    for _, meets, rank, other, number in sorted(events, key=lambda event: event[:3]):
        if meets:
            models[rank] = models[other] = (training.taken[rank, number] + models[other]) / 2
        else:
            models[rank] = training.after[rank, number + 1] = optimisers[rank].step(models[rank], found[rank])
            found[rank] = training.gradient(models[rank], rank, number + 1)


RULES = {"asgd": asynchronous, "dc-asgd": asynchronous, "downpour": learners, "eamsgd": learners, "lasgd": lasgd, "ad-psgd": averaging}


def define(problem, point, workers, optimizer, hyper, cuts):
    """`point`: its trace and its cluster stand in it."""
    longer = copy.deepcopy(point)
    longer["iterations"] = {"warmup": 2, "measured": 10} | longer.get("iterations", {})
    longer["iterations"]["measured"] = 2 * longer["iterations"]["measured"] + 8  # as those that wait long end their steps late
    training = definitions.Training(problem, point["schedule"], workers, None, optimizer, hyper, cuts)
    RULES[point["schedule"]["name"]](training, longer)
    return training
