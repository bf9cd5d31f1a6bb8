"""ps-sgd, ssd-sgd, asgd, dc-asgd, downpour, eamsgd: what a client does in a step, and the server's answer to a message."""

import collections

import collectives
from compute import chunks, layers_of_gradients
from local_updates import Updates
from oracle import profile
from server import Job
from server_traffic import Message


class Synchronous(Job):
    """ps-sgd: the server answers when it has every client's push."""

    def __init__(self, point):
        super().__init__(point)
        self.aggregated = collections.defaultdict(list)

    def answers(self, message):
        return self.n if message.pulled and len(self.aggregated[message.step, message.group]) == self.n - 1 else 0

    def answer(self, message):
        pushes = self.aggregated[message.step, message.group]
        pushes.append(message)
        if message.pulled and len(pushes) == self.n:
            for push in pushes:
                self.allow(push)

    def step(self, client, number):
        yield from self.compute(client, number, True)
        yield from self.until_pulled(client, number)
        return *self.posted(True), [0]


class Backup(Synchronous):
    """ps-sgd with `backup`: a group needs the first pushes only, and a step ends when all its pulls are in."""

    def __init__(self, point):
        super().__init__(point)
        self.needed, self.arrivals, self.closed = self.n - self.schedule["backup"], collections.Counter(), set()
        self.alarms, self.begun, self.pushed = {}, [-1] * self.n, collections.defaultdict(list)  # by client; by client and step
        self.entered, self.computed = collections.Counter(), collections.defaultdict(list)  # by client and step

    def dates(self):
        return super().dates() + list(self.alarms.values())

    def decide(self):
        """What comes to the server too late does not enter its queue."""
        arrived, self.arrived = sorted(self.arrived, key=lambda message: message.client), []
        for message in arrived:
            self.arrivals[message.step, message.group] += 1
            if self.arrivals[message.step, message.group] <= self.needed:
                self.arrived.append(message)
        return super().decide()

    def answers(self, message):
        return self.n if len(self.aggregated[message.step, message.group]) == self.needed - 1 else 0

    def answer(self, message):
        group = message.step, message.group
        self.aggregated[group].append(message)
        self.entered[message.client, message.step] += message.size / sum(size for _, size in self.messages)
        if len(self.aggregated[group]) == self.needed:
            self.closed.add(group)
            for client in range(self.n):
                if self.begun[client] >= message.step:
                    self.pull(Message(client, *group, message.size, True))

    def reached(self, client, step, mark, pulled):
        if (step, mark) not in self.pulled[client]:
            self.pushed[client, step].append(self.messages[mark][1])
            super().reached(client, step, mark, pulled)

    def encode(self, client, mark, now):
        seconds = self.way.encode(self.messages[mark][1])
        if seconds:
            self.exposed[client].append((now, now + seconds))
            yield "encode", now + seconds
        return now + seconds

    def step(self, client, number):
        self.begun[client] = number
        for group, (_, size) in enumerate(self.messages):
            if (number, group) in self.closed:
                self.pull(Message(client, number, group, size, True))
        yield from self.until_given_up(client, number)
        yield from self.until_pulled(client, number)
        pushed = self.pushed[client, number]
        payload = sum(map(self.way.sent, pushed)) + sum(self.way.pulled(size) for _, size in self.messages)
        return len(pushed) + len(self.messages), payload, [0]

    def until_given_up(self, client, number):
        """Or all has been computed."""
        reply, computing = None, self.compute(client, number, True)
        while True:
            try:
                kind, what = computing.send(reply)
            except StopIteration:
                return
            begin, reply = self.now, None
            if kind == "date":
                self.alarms[client] = what
                yield "wait", lambda: self.due(what) or self.has_all(client, number)
                del self.alarms[client]
                self.computed[client, number].append((begin, self.now))
                if not self.due(what):
                    return
            else:
                reply = yield ("date" if kind == "encode" else kind), what

    def has_all(self, client, number):
        return all((number, group) in self.pulled[client] for group in range(len(self.messages)))

    def run(self, *cycles):
        result = super().run(*cycles)
        for client, steps in enumerate(result.steps):
            for number, step in enumerate(steps):
                step.entered, step.computed = self.entered[client, number], self.computed[client, number]
        return result


class SsdSgd(Synchronous):
    """Each client also updates its model layer by layer; a layer is a position in the trace."""

    def __init__(self, point):
        super().__init__(point)
        self.before, self.delay = self.schedule.get("warmup_iterations", 0), self.schedule["delay"]
        named, gradients = layers_of_gradients(point), profile(point["trace"], point.get("granularity", "tensor"))[3]
        self.last, sizes = named[-1], collections.Counter()
        for layer, (_, size) in zip(named, gradients):
            sizes[layer] += size
        seconds = {layer: self.update * size / sum(sizes.values()) for layer, size in sizes.items()}
        if "local_update_s" in self.schedule:
            seconds = dict.fromkeys(sizes, 0.0) | {self.last: self.schedule["local_update_s"]}
        self.local_update = seconds[self.last]
        spreading = {layer: self.within(size, reduces=False) for layer, size in sizes.items()} if self.gpus > 1 else None
        self.updates = [Updates(worker, seconds, spreading) for worker in self.clients]
        self.groups = {layer: {message for message, carried in enumerate(self.carried) if any(named[one] == layer for one in carried)} for layer in sizes}
        ready = {layer: date for layer, (date, _) in zip(named, gradients)} | {self.last: max(self.backward, gradients[-1][0])}
        self.ready = list(ready.items())
        self.last_mark = len(self.messages) + list(ready).index(self.last)
        marks = [position for position, _ in self.messages] + list(ready.values())
        self.layers = [(span, sorted(reached, key=self.order)) for span, reached in chunks(point, marks)]
        self.decoded = [set() for _ in self.clients]  # steps whose pulls are

    def order(self, mark):
        """A gradient is ready before it is encoded; backward ends with what it encodes."""
        offset, index = mark
        return offset, index < len(self.messages) or index == self.last_mark, index

    def seconds(self):
        return self.forward + self.backward + self.local_update

    def pulls(self, number):
        return number >= self.before and (number - self.before) % self.delay == self.delay - 1

    # Local updates

    def progress(self):
        changed = super().progress()
        for client, updates in enumerate(self.updates):
            ended, since = updates.progress(self.now, self.due)
            changed = changed or ended
            if since is not None:
                self.moved(client, since)
        return changed

    def decide(self):
        return any([super().decide(), *(updates.decide(self.now) for updates in self.updates)])

    def dates(self):
        lanes = [lane for updates in self.updates for lane in (updates.updating, updates.sharing)]
        return super().dates() + [lane.until for lane in lanes if lane.layer is not None]

    def cut(self):
        super().cut()
        for client, updates in enumerate(self.updates):
            if updates.sharing.layer is not None:
                self.moved(client, updates.sharing.start)

    def reached(self, client, step, mark, pulled):
        if mark < len(self.messages):
            self.push(client, step, mark, self.messages[mark][1], pulled, spread=step < self.before)
        elif step >= self.before:
            layer, _ = self.ready[mark - len(self.messages)]
            waits = {(step - 1, group) for group in self.groups[layer]} if self.pulls(step - 1) else set()
            first = {step - 1} if waits and self.way.decode_pulled(1) else set()
            self.updates[client].post(layer, lambda: waits <= self.pulled[client] and first <= self.decoded[client])

    def encode(self, client, mark, now):
        return (yield from super().encode(client, mark, now)) if mark < len(self.messages) else now

    def held_up(self, client, layer, now):
        if layer in self.updates[client].undone:  # forward: all is done before backward
            yield "date", now
            yield from self.until_done(client, layer)
        return max(now, self.now)

    def until_done(self, client, layer):
        """Neither blocked nor exposed while it is being updated; exposed while it is being spread."""
        begin, updates = self.now, self.updates[client]
        yield "wait", lambda: layer not in updates.undone
        self.exposed[client].append((max(begin, updates.ends[layer]), self.now))

    def step(self, client, number):
        if number < self.before:
            return (yield from super().step(client, number))
        yield from self.compute(client, number, self.pulls(number))
        late = self.pulls(number - 1)
        if late:
            yield from self.until_pulled(client, number - 1)
            self.decoded[client].add(number - 1)
        yield from self.until_done(client, self.last)
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
        self.stale[message.client, message.step].append(others / self.n)

    def staleness(self, client, number):
        return self.stale[client, number]

    def answers(self, message):
        return 1

    def answer(self, message):
        if message.asks:
            self.give_whole(message)
        else:
            self.age(message)
            self.allow(message)

    def give(self, message):
        self.since[message.client, message.group] = self.handled[message.group]
        super().give(message)

    def give_whole(self, message):
        """The whole model, as it is."""
        for group, handled in self.handled.items():
            self.since[message.client, group] = handled
        self.pull(Message(message.client, message.step, message.group, message.size, False))

    def join(self, client, number):
        size = collectives.model_bytes(self.point)
        self.ask(Message(client, number, "all", size, False, asks=True))
        yield from self.until(client, lambda: (number, "all") in self.pulled[client])
        yield from self.stand_still(client, self.way.decode_pulled(size), self.now)
        return self.way.pulled(size)

    def step(self, client, number):  # asgd, dc-asgd
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
        if number % self.interval != self.interval - 1:
            return 0, 0, []
        yield from self.exchange(client, number)
        return 2, self.way.sent(self.size) + self.way.pulled(self.size), self.staleness(client, number)

    def exchange(self, client, number):
        yield from self.send_model(client, number, True)
        yield from self.receive_model(client, number)

    def send_model(self, client, number, pulled):
        yield from self.stand_still(client, self.way.encode(self.size), self.now)
        self.push(client, number, 0, self.size, pulled)

    def receive_model(self, client, number):
        yield from self.until(client, lambda: (number, 0) in self.pulled[client])
        yield from self.stand_still(client, self.way.decode_pulled(self.size), self.now)


class Eamsgd(Downpour):
    """Pulls first: a turn in the server's queue that costs it nothing, then the transfer; then pushes."""

    def __init__(self, point):
        super().__init__(point)
        self.acknowledged = collections.defaultdict(set)

    def answers(self, message):
        return int(message.asks)

    def answer(self, message):
        if message.asks:
            self.give_whole(message)
        else:
            self.age(message)
            self.after(message, True, self.told)

    def told(self, message):
        self.acknowledged[message.client].add(message.step)

    def exchange(self, client, number):
        self.ask(Message(client, number, 0, self.size, False, asks=True))
        yield from self.receive_model(client, number)
        yield from self.send_model(client, number, False)
        yield from self.until(client, lambda: number in self.acknowledged[client])


def run(point):
    schedule = point["schedule"]
    if schedule["name"] == "ssd-sgd":
        return SsdSgd(point).run(schedule["delay"], schedule.get("warmup_iterations", 0))
    if schedule.get("backup"):
        return Backup(point).run()
    kind = {"ps-sgd": Synchronous, "asgd": Asynchronous, "dc-asgd": Asynchronous, "downpour": Downpour, "eamsgd": Eamsgd}[schedule["name"]]
    return kind(point).run(schedule.get("interval", 1))
