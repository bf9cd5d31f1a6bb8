"""What is measured and predicted: networks, and on each of them jobs."""
import dataclasses

MBPS = 1e6 / 8


@dataclasses.dataclass
class Job:
    trace: str
    schedule: dict
    slow: dict = dataclasses.field(default_factory=dict)  # rank -> factor
    granularity: str = "tensor"
    channels: int = 1

    @property
    def name(self):
        parameters = ", ".join(f"{key} {value}" for key, value in self.schedule.items() if key != "name")
        slow = "; ".join(f"rank {rank} {factor} times slower" for rank, factor in self.slow.items())
        channels = f", {self.channels} channels" if self.channels > 1 else ""
        return self.schedule["name"] + (f" ({parameters})" if parameters else "") + channels + (f", {slow}" if slow else "")

    @property
    def has_servers(self):
        return self.schedule["name"] in ("ps-sgd", "asgd")


@dataclasses.dataclass
class Site:
    """Workers, each with a link, and as much delay from any to any other."""
    nodes: int
    mbps: float
    delay: float  # seconds, one way
    jobs: list
    largest: str = "32MiB"  # of the probe's all-reduces
    smallest: str = "1KiB"

    @property
    def name(self):
        rate = f"{self.mbps / 1000:g} Gb/s" if self.mbps >= 1000 else f"{self.mbps:g} Mb/s"
        return f"{self.nodes} x {rate}" + (f", {1e3 * self.delay:g} ms" if self.delay else "")

    @property
    def bandwidth(self):
        return self.mbps * MBPS

    def delays(self, machines):
        return [[0 if a == b else self.delay for b in range(machines)] for a in range(machines)]


# Not so equal that it is up to chance when they cease to move in lock-step.
UNEQUAL = {1: 1.03, 2: 1.06, 3: 1.09, 4: 1.02, 5: 1.05, 6: 1.08, 7: 1.01}


def asynchronous(trace, nodes, granularity):
    return Job(trace, {"name": "asgd", "in_flight": "pipelined"}, {rank: factor for rank, factor in UNEQUAL.items() if rank < nodes}, granularity)


def fast_jobs(trace, nodes, granularity="tensor"):
    """Where latencies are short: what hides transfers behind backward, and what sends less often."""
    return [*(Job(trace, schedule, granularity=granularity) for schedule in (
        {"name": "s-sgd"}, {"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "sync-easgd"}, {"name": "fusion", "bucket": "4MB", "first_bucket": "1MB"},
        {"name": "local-sgd", "interval": 3}, {"name": "lasgd", "tau_max": 1}, {"name": "dts", "delay": 1, "period": 2}, {"name": "ps-sgd", "in_flight": "pipelined"})),
        asynchronous(trace, nodes, granularity)]


def far_jobs(trace, nodes, granularity="layer"):
    """Where latencies are long."""
    return [*(Job(trace, schedule, granularity=granularity) for schedule in (
        {"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "sync-easgd"}, {"name": "local-sgd", "interval": 4}, {"name": "lasgd", "tau_max": 2},
        {"name": "dts", "delay": 2, "period": 1}, {"name": "dts", "delay": 4, "period": 2}, {"name": "ps-sgd", "grouping": "sync-easgd", "in_flight": "pipelined"},
        {"name": "ps-sgd", "in_flight": "pipelined"})), asynchronous(trace, nodes, granularity)]


def on_two_channels(trace, granularity="tensor"):
    """Two all-reduces in flight, as gloo's two threads in PyTorch have."""
    return [Job(trace, schedule, granularity=granularity, channels=2) for schedule in ({"name": "wfbp"}, {"name": "mg-wfbp"})]


def at_servers(trace, granularity="tensor"):
    """Equal asynchronous workers, and groups in parts."""
    return [Job(trace, schedule, granularity=granularity) for schedule in (
        {"name": "asgd", "in_flight": "pipelined"}, {"name": "ps-sgd", "in_flight": "pipelined", "partition": "1MiB"})]


SMALL, LARGE = "traces/cpu-resnet20-b128.json", "traces/cpu-googlenet-b8.json"

SITES = [
    Site(2, 1000, 0, fast_jobs(LARGE, 2)),
    Site(4, 1000, 0, [*fast_jobs(LARGE, 4), Job(LARGE, {"name": "wfbp"}, {0: 1.5}), Job(LARGE, {"name": "asgd", "in_flight": "pipelined"}, {0: 1.5, 1: 1.2}),
                     *on_two_channels(LARGE), *at_servers(LARGE)]),
    Site(8, 500, 0, [*fast_jobs(LARGE, 8), *at_servers(LARGE)]),
    Site(4, 100, 0, [*(job for job in fast_jobs(SMALL, 4) if job.schedule["name"] not in ("fusion", "dts")), *at_servers(SMALL)[:1]], "8MiB"),
    Site(4, 1000, 0.002, [*fast_jobs(LARGE, 4, "layer"), *on_two_channels(LARGE, "layer"), *at_servers(LARGE, "layer")]),
    Site(4, 100, 0.010, [*far_jobs(SMALL, 4), *on_two_channels(SMALL, "layer")], "4MiB", "8KiB"),
    Site(8, 100, 0.020, [*far_jobs(SMALL, 8)[1:], *at_servers(SMALL, "layer")[:1]], "4MiB", "8KiB"),  # wfbp would take minutes
    Site(4, 100, 0.075, far_jobs(SMALL, 4)[1:], "4MiB", "8KiB"),
]

SHORT = [Site(3, 500, 0, [Job(SMALL, {"name": name}) for name in ("wfbp", "sync-easgd", "asgd")], "4MiB", "64KiB"),
         Site(3, 100, 0.010, [Job(SMALL, {"name": "sync-easgd"}), Job(SMALL, {"name": "dts", "delay": 2}),
                              Job(SMALL, {"name": "local-sgd", "interval": 2})], "2MiB", "64KiB")]
