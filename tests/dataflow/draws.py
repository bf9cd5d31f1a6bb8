"""Scenarios drawn at random, of every schedule that a record may have, with all that disturbs workers and networks."""

import itertools

ALL_REDUCES = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion", "horovod"]
OVER_SERVERS = ["ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "downpour", "eamsgd"]
SHARDED = ["fsdp", "zero"]
NAMES = [*ALL_REDUCES, *OVER_SERVERS, "dts", "sasgd", "local-sgd", "lasgd", "sgp", "d-psgd", "ad-psgd", "bytescheduler", "p3", "dear", *SHARDED, "diloco"]
OPTIMIZERS = ["sgd", "momentum", "nesterov", "adam", "adamw"]
GROUPINGS = ["wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", {"name": "fusion", "first_bucket": "300kB", "bucket": "1MB"}]


def trace(rng):
    """A few layers of some milliseconds; none of their gradients is so small that a toy has no element of it."""
    names = [f"layer{index}" for index in range(rng.randint(1, 4))]
    layers = [{"name": name, "type": "x", "forward_s": rng.uniform(2e-4, 3e-3), "backward_s": rng.uniform(4e-4, 6e-3)} for name in names]
    gradients = [{"name": f"{name}.{index}", "layer": name, "bytes": 4 * rng.randint(50_000, 400_000)}
                 for name in reversed(names) for index in range(rng.randint(1, 2))]
    return {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "random"},
            "model": {"name": "random", "batch": rng.randint(1, 64), "dtype": "fp32"}, "layers": layers, "gradients": gradients,
            "update_s": rng.uniform(1e-4, 1e-3)}


def cluster(rng, nodes, gpus, regions):
    result = {"format": "cluster/1", "name": "random", "nodes": nodes, "gpus_per_node": gpus,
              "link": {"bandwidth": f"{rng.uniform(0.5, 20):.3f}Gbps", "latency": rng.uniform(1e-6, 3e-3)}}
    if gpus > 1:
        result["intra_node"] = {"bandwidth": f"{rng.uniform(1, 10):.3f}GBps", "latency": rng.uniform(1e-7, 1e-4)}
    if rng.random() < 0.3:
        result["latency_cv"] = rng.uniform(0.05, 0.5)
    if regions > 1:
        names = [f"region{index}" for index in range(regions)]
        sizes = [len(range(index, nodes, regions)) for index in range(regions)]
        result["regions"] = [{"name": name, "nodes": size} for name, size in zip(names, sizes)]
        result["wan"] = [{"between": list(pair), "rtt": f"{rng.uniform(1, 12):.4f}ms", "bandwidth": f"{rng.uniform(0.5, 5):.4f}Gbps"}
                         for pair in itertools.combinations(names, 2)]
    elif rng.random() < 0.2:
        result["link"]["latency_jitter"] = {"distribution": "lognormal", "cv": rng.uniform(0.1, 0.5)}
    return result


def workers(rng, count):
    result = {}
    if rng.random() < 0.6:
        result["jitter"] = {"distribution": rng.choice(["lognormal", "uniform"]), "cv": rng.uniform(0.05, 0.5)}
    if rng.random() < 0.4:
        result["slow"] = [{"ranks": str(rank), "factor": rng.uniform(1, 3)} for rank in rng.sample(range(count), rng.randint(1, 2))]
    if rng.random() < 0.3:
        result["events"] = [{"kind": "pause", "rank": rng.randrange(count), "at_s": rng.uniform(0, 0.1), "for_s": rng.uniform(1e-3, 0.05)}]
    if rng.random() < 0.2:
        result["overlap_slowdown"] = rng.uniform(0.05, 0.5)
    return result


def compression(rng):
    name = rng.choice(["fp16", "sign", "terngrad", "qsgd", "top-k", "random-k"])
    result = {"name": name}
    if name in ("top-k", "random-k"):
        result["ratio"] = rng.uniform(0.01, 0.5)
    if name == "qsgd":
        result |= {"bits": rng.randint(2, 8), "bucket": rng.choice([64, 512])}
    if rng.random() < 0.5:
        result |= {"encode_s_per_B": 1e-10, "decode_s_per_B": 1e-10}
    return result


def servers(rng, nodes, plain):
    """`plain`: a star whose links have neither a window nor jitter."""
    result = {"servers": rng.randint(1, nodes), "duplex": rng.random() < 0.7, "within_node": rng.choice(["pipelined", "serial"])}
    if rng.random() < 0.5:
        result["server_s_per_B"] = 10 ** rng.uniform(-11, -9.3)
    if rng.random() < 0.4:
        result["colocated"] = True
    elif plain and rng.random() < 0.5:
        result["service"] = rng.choice(["queued", "fifo"])
    if result["duplex"] and result["within_node"] == "pipelined" and rng.random() < 0.4:
        result["in_flight"] = "pipelined"
    if rng.random() < 0.3:
        result["pulls"] = "requested"
    return result


def parameters(rng, name, nodes, plain):
    result = {"name": name}
    if name in OVER_SERVERS:
        result |= servers(rng, nodes, plain)
    if name in ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd"):
        result["grouping"] = rng.choice(GROUPINGS)
        if rng.random() < 0.3:
            result["partition"] = rng.choice(["200kB", "1MB"])
    if name in (*ALL_REDUCES, *SHARDED) and rng.random() < 0.4:
        result["accumulate"] = rng.randint(1, 4)
    if name in ("downpour", "eamsgd", "sasgd", "local-sgd"):
        result["interval"] = rng.randint(1, 4)
    if name not in ("lasgd", "sgp", "d-psgd", "ad-psgd", "diloco", *SHARDED) and rng.random() < 0.4:
        result["compression"] = rng.choice(["fp16", {"name": "random-k", "ratio": 0.3}]) if name == "dear" else compression(rng)
    if name == "bytescheduler":
        result |= {"partition": rng.choice(["200kB", "1MB"]), "credit": rng.choice(["1MB", "3MB"]), "rule": rng.choice(["positive", "fits"]),
                   "priority": rng.choice(["layer", "fifo"]), "forward": rng.choice(["layer", "barrier"])}
        if rng.random() < 0.4:
            result |= {"over": "servers", "servers": rng.randint(1, nodes)}
    if name == "p3":
        result |= {"partition": rng.choice(["160kB", "1MB"]), "servers": rng.randint(1, nodes)}
    if name == "dear":
        result["bucket"] = rng.choice(["500kB", "2MB", "25MB"])
    if name in SHARDED:
        result |= {"units": rng.choice(["layer", 2, "1MB", "100MB"]), "streams": rng.randint(1, 2), "shard_group": rng.choice(["all", "node", 1])}
        result["stage"] = rng.randint(2 if name == "fsdp" else 1, 3)
        if name == "fsdp" or result["stage"] == 3:
            result |= {"prefetch": rng.choice(["pre", "post", "none"]), "reshard_last": rng.random() < 0.5, "limit_all_gathers": rng.randint(1, 3)}
        else:
            result["gather"] = rng.choice(["after-update", "next-forward"])
    if name in ("lasgd", "sgp", "d-psgd", "ad-psgd"):
        result["within_node"] = rng.choice(["overlapped", "blocking"])
    if name == "fusion":
        result |= {"first_bucket": "300kB", "bucket": "1MB"}
    if name == "horovod":
        result |= {"threshold": "2MB", "cycle_s": rng.uniform(5e-4, 5e-3)}
    if name == "ssd-sgd":
        result |= {"delay": rng.randint(1, 4), "warmup_iterations": rng.randint(0, 3), "local_update": rng.choice(["glu", "sgd", "dc-asgd"])}
    if name == "dts":
        result |= {"delay": rng.randint(0, 4), "period": rng.randint(1, 4), "launch": rng.choice(["step", "gradient"]),
                   "in_flight": rng.choice(["pipelined", "serial"])}
        if "compression" not in result and rng.random() < 0.3:
            result["compression"] = rng.uniform(0.05, 0.5)
    if name == "lasgd":
        result |= {"tau_max": rng.randint(1, 4), "worker": rng.choice(["node", "gpu"]), "participants": rng.choice([1, 1, rng.uniform(0.3, 1)])}
    if name == "diloco":
        result |= {"interval": rng.randint(1, 5), "fragments": rng.randint(1, 3), "pattern": rng.choice(["strided", "sequential"]), "bits": rng.choice([16, 32]),
                   "mix": rng.choice([0, 0.5, 1]), "outer": rng.choice(["nesterov", "momentum", "sgd", {"lr": 0.5, "momentum": 0.5}]), "worker": rng.choice(["gpu", "gpu", "node", "region"]),
                   "inner": rng.choice(GROUPINGS), "posts": rng.choice(["fragment", "layer"])}
    if name == "ad-psgd":
        result["peers"] = rng.choice(["ring", "all"])
    return result


def rounds(rng, schedule, layers, in_regions):
    """diloco's, of such a model on such a cluster."""
    schedule["fragments"] = min(schedule["fragments"], schedule["interval"], layers)
    schedule["overlap"] = rng.randint(0, schedule["interval"] // schedule["fragments"])
    if schedule["worker"] == "region" and not in_regions:
        schedule["worker"] = "node"
    if schedule["worker"] != "gpu":
        schedule["posts"] = "fragment"


def scenario(rng, name, most_nodes=9):
    """Trace and cluster stand in it."""
    nodes, gpus = rng.randint(2, most_nodes), rng.choice([1, 1, 1, 2, 3])
    regions = rng.choice([1, 1, 1, 2, 3])
    drawn = cluster(rng, nodes, gpus, min(regions, nodes))
    plain = regions == 1 and "latency_jitter" not in drawn["link"]
    schedule = parameters(rng, name, nodes, plain)
    drawn_trace = trace(rng)
    if name == "diloco":
        rounds(rng, schedule, len(drawn_trace["layers"]), "regions" in drawn)
    fidelities = ["auto", "alpha-beta", "per-message"]
    if schedule.get("service", "shared") == "shared" and schedule.get("participants", 1) == 1:
        fidelities.append("flow")
    return {"format": "scenario/1", "name": "random", "trace": drawn_trace, "cluster": drawn, "fidelity": rng.choice(fidelities),
            "granularity": rng.choice(["tensor", "layer"]), "schedule": schedule, "workers": workers(rng, nodes * gpus), "seed": rng.randrange(2**40),
            "iterations": {"warmup": rng.randint(0, 3), "measured": rng.randint(1, 6)}}
