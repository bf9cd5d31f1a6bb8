"""ps-sgd, ssd-sgd, asgd, downpour, eamsgd: what a client does in a step, and the server's answer to a message."""

import collections

import collectives
from server import Job, Message


class Synchronous(Job):
    """ps-sgd: the server answers when it has every client's push."""

    def __init__(self, point):
        super().__init__(point)
        self.aggregated = collections.defaultdict(list)

    def answer(self, message):
        pushes = self.aggregated[message.step, message.group]
        pushes.append(message)
        if message.pulled and len(pushes) == self.n:
            for push in pushes:
                self.pull(push)

    def step(self, client, number):
        yield from self.compute(client, number, True)
        yield from self.until_pulled(client, number)
        return *self.posted(True), [0] if self.messages else []


class SsdSgd(Synchronous):
    def __init__(self, point):
        super().__init__(point)
        self.before, self.delay = self.schedule.get("warmup_iterations", 0), self.schedule["delay"]
        self.local_update = self.schedule.get("local_update_s", self.update)

    def seconds(self):
        return self.forward + self.backward + self.local_update

    def pulls(self, number):
        return number >= self.before and (number - self.before) % self.delay == self.delay - 1

    def step(self, client, number):
        if number < self.before:
            return (yield from super().step(client, number))
        yield from self.compute(client, number, self.pulls(number))
        late = self.pulls(number - 1) and bool(self.messages)
        if late:
            yield from self.until_pulled(client, number - 1)
        yield from self.local(client, self.local_update)
        return *self.posted(self.pulls(number)), [1] * late


class Asynchronous(Job):
    """The server answers each push at once. An update is as stale as the others' updates since the client's own previous one."""

    def __init__(self, point):
        super().__init__(point)
        self.since = collections.Counter()  # (client, group): updates that the client's model has
        self.stale = collections.defaultdict(list)  # (client, step)

    def age(self, message):
        key = message.client, message.group
        others = self.handled[message.group] - 1 - self.since[key]
        self.since[key] = self.handled[message.group]
        self.stale[message.client, message.step].append(others / self.n)

    def staleness(self, client, number):
        return self.stale[client, number]

    def answer(self, message):
        self.age(message)
        self.pull(message)

    def step(self, client, number):  # asgd
        yield from self.compute(client, number, True)
        yield from self.until_pulled(client, number)
        return *self.posted(True), self.staleness(client, number)


class Downpour(Asynchronous):
    by_gradient = False

    def __init__(self, point):
        super().__init__(point)
        self.size, self.interval = collectives.model_bytes(point), self.schedule["interval"]

    def seconds(self):
        return self.forward + self.backward + self.update

    def step(self, client, number):
        yield from self.compute(client, number, True)
        yield from self.local(client, self.update)
        if self.alone or number % self.interval != self.interval - 1:
            return 0, 0, []
        yield from self.exchange(client, number)
        return 2, 2 * self.size, self.staleness(client, number)

    def exchange(self, client, number):
        self.push(client, number, 0, self.size, True)
        yield from self.until(client, lambda: (number, 0) in self.pulled[client])


class Eamsgd(Downpour):
    """Pulls first: a turn in the server's queue that costs it nothing, then the transfer; then pushes."""

    def answer(self, message):
        if message.size:
            self.age(message)
        else:
            self.since[message.client, 0] = self.handled[0]
            self.pull(Message(message.client, message.step, 0, self.size, False))

    def exchange(self, client, number):
        self.arrived.append((client, Message(client, number, 0, 0, False)))
        yield from self.until(client, lambda: (number, 0) in self.pulled[client])
        self.push(client, number, 0, self.size, False)
        yield from self.until(client, lambda: bool(self.stale[client, number]))


def run(point):
    schedule = point["schedule"]
    if schedule["name"] == "ssd-sgd":
        return SsdSgd(point).run(schedule["delay"], schedule.get("warmup_iterations", 0))
    kind = {"ps-sgd": Synchronous, "asgd": Asynchronous, "downpour": Downpour, "eamsgd": Eamsgd}[schedule["name"]]
    return kind(point).run(schedule.get("interval", 1))
