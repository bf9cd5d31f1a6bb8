"""Do the schemas for editors say what simctl says of a file? Both judge the project's files, and what becomes of files with every key when each value is
dropped, or becomes another."""
import concurrent.futures
import copy
import functools
import json
import os
import random
import re
import unittest

from support import ROOT, SIMCTL, Case, cluster, parameters, scenario, schedules, trace

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = {path.name: json.loads(path.read_text()) for path in (ROOT / "scenarios/schemas").glob("*.json")}
COMMANDS = {"scenario": "check", "cluster": "show", "trace": "show", "model": "show", "device": "show", "advice": "advise"}
SLOW = "SYNCOPATE_SLOW" in os.environ
MOST = 50 if SLOW else 12     # mutations of one file, besides other names and keys
# What simctl says of rules between several values, or of several files, which the schemas' descriptions leave to it; and of a text's value.
BEYOND_A_SCHEMA = [
    # other files, and what the sweep sets
    "no such file", "no (trace|cluster) has this name", r" \(in point \d+: ", "there is no such place",
    # how layers fit together, and what the parameters of blocks mean in theirs
    "no layer is named", "no layer reads", "reads \".*\", which", "^/layers.* shape must be ", "attention takes", "a divisor of", "at least the input's .* channels",
    r"\(layer \"\w+\.", "the block ", "blocks", "/block: expected one of", "known here: inputs, block", "a repeated layer's name", "add \"repeat\"", "repeat/1: expected an integer >= ",
    # what SimGrid knows
    "SimGrid refuses it", "has no settings of SMPI", "SimGrid's exact form", "its latencies are waits",
    # an order
    "the first quartile before the third", "at least the (last gradient's ready_s|time of the point before)", "more bytes than in the point before", "a time after the previous change",
    "ascending (ranks|nodes)",
    # sums and multiples
    "the regions have", "shares add up", r"\d nodes for \d regions", "others not", "not a multiple of", "at most as many groups as", "rank: expected an integer <= [13],", "at most half of the kernel",
    # what goes together
    "/wan/0: the required key \"bandwidth\" is missing",
    "is not one of the regions", "needs servers on nodes of their own", "seeds are those of", "a region with several nodes needs a \"link\"", "costs are asked for", "a fit of all-reduces is missing", "already has a fit of all-reduces",
    "no part of .* fits", "there are no servers", "nothing is pulled without servers", "dear reduce-scatters", "groups of ", "stage 3 gathers", "parameters stay whole",
    "needs all of its ranks", "must stay, because the measurement", "has (left|joined) at", "a time after the rank's previous event", "a push of at least one of", "a late client pulls", "fragments are more than", "fragments take turns", "the cluster has no \"regions\"", "a worker of several GPUs all-reduces",
    # what a run's keys mean together
    "also sets the length of the run", "the length of the run is missing", "the failure rate is missing", "no kind of the domain", "training cannot stall for longer", "would begin before the previous one",
    "the best interval depends on \"failures\"", "the length of an epoch is missing", "/run/policy/min_nodes: (expected an integer <= |up to )", "the cluster has (no )?regions", "has no switches", "has required parameters", "on regions it would matter",
    # what jobs may say together
    "every job has its own", "two jobs are named", "jobs share links", "a job has only some", "is for a single training",
    # what advice's schedules say besides their names, and what is said of them
    "^/schedules/", "is not among the \"schedules\"",
]


@functools.cache
def validator(kind):
    schema = SCHEMAS[f"{kind}.schema.json"]
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver(schema["$id"], schema, store=SCHEMAS))


def kind_of(content):
    return content["format"].partition("/")[0]


LINK = {"bandwidth": "10Gbps", "latency": 5e-5, "tcp_window": "1MiB", "connections": 4, "efficiency": 0.9, "latency_jitter": {"distribution": "lognormal", "cv": 0.1}, "x-mine": 1}
FULL_CLUSTER = cluster(**{"$schema": "cluster.schema.json"}, source="made for a test", gpus_per_node=2, intra_node=LINK, nics=2, link=LINK, reduce_s_per_B=1e-12, copy_s_per_B=1e-12, host={"per_message_s": 1e-6, "per_collective_s": 1e-6, "per_rank_s": 1e-6, "per_tensor_s": 1e-6},
                       topology="star", placement={"name": "random", "seed": 3}, protocol={"rendezvous": True, "segments": 2}, price_per_node_hour=2.5, latency_cv=0.1)
WAN = {"between": ["a", "b"], "rtt": "96ms", "bandwidth": {"up": "523Mbps", "down": 1e8}, "tcp_window": 1000000, "connections": 2, "efficiency": 0.5,
       "latency_jitter": {"distribution": "empirical", "factors": [1, 2]}, "bandwidth_profile": [{"at_s": 1, "bandwidth": "1Gbps"}, {"at_s": 2, "bandwidth": {"up": 1e9, "down": 1e8}}],
       "rtt_profile": [{"at_s": 1, "rtt": "1ms"}]}
UPLINK = {"bandwidth": {"up": "1Gbps", "down": 1e9}, "efficiency": 0.9, "x-mine": 1}
FAR = cluster(regions=[{"name": "a", "nodes": 2, "uplink": UPLINK, "node_uplink": {"bandwidth": "1Gbps"}}, {"name": "b", "nodes": 2, "uplink": UPLINK}],
              wan=[{"between": ["a", "b"], "rtt": "96ms", "tcp_window": "1MB"}])
STORED = {"between": ["a", "b"], "rtt": "96ms", "bandwidth": "1Gbps", "efficiency": 0.5}
FIT = {"operation": "all-reduce", "a_s": 0.001, "b_s_per_B": 1e-9, "nodes": 4, "algorithm": "ring"}
POINTS = {"operation": "all-gather", "points": [[1000, 0.0009], ["1MB", 0.021]], "nodes": 4, "algorithm": "ring"}
TOPOLOGIES = [{"name": "fat-tree", "k": 4, "oversubscription": 2}, {"name": "tree", "arity": 2, "levels": 3}, {"name": "torus", "dimensions": [2, 2]},
              {"name": "dragonfly", "groups": 2, "chassis": 2, "routers": 2, "nodes": 2}, "tree", {"name": "star"}]
SHARES = [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]
CLUSTERS = [FULL_CLUSTER, cluster(regions=SHARES, wan=[WAN]), cluster(regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}], wan=[WAN], placement="by-region"), FAR,
            *(cluster(regions=FAR["regions"], wan=[STORED | {"via": via}]) for via in ("object-storage", {"name": "object-storage", "download": {"up": 1e9, "down": "1Gbps"}})), cluster(fit=[FIT, POINTS]), cluster(fit=FIT),
            *(cluster(topology=topology) for topology in TOPOLOGIES)]

TRACE = trace(provenance={"kind": "synthetic", "source": "a test", "utc": "now", "command": "none", "note": "none", "import": {"profiles": "a", "workers": "b", "trace": "c"}},
              device={"kind": "gpu", "name": "none"}, software={"any": 1},
              timing={"any": []}, update_s=0.001, model={"name": "three", "batch": 4, "dtype": "fp32", "input": [3, 32, 32]}, iteration={"forward_s": 0.003, "backward_s": 0.007},
              layers=[{"name": "l0", "type": "conv", "forward_s": 0.001, "forward_quartiles_s": [0.0009, 0.0011], "backward_s": 0.002, "backward_quartiles_s": [0, 1]}],
              gradients=[{"name": "l0.weight", "layer": "l0", "bytes": "1MB", "shape": [250, 1000], "ready_s": 0.001}])

LAYERS = [{"name": "c", "op": "conv2d", "out_channels": 4, "kernel": 3, "stride": [1, 1], "pad": 1, "groups": 2, "bias": False}, {"name": "n", "op": "batch_norm"},
          {"name": "g", "op": "group_norm", "groups": 2}, {"name": "p", "op": "max_pool", "kernel": [2, 2], "stride": 2, "pad": 0, "ceil": True},
          {"name": "t", "op": "conv_transpose2d", "out_channels": 4, "kernel": 2, "stride": 2, "pad": 0, "bias": True}, {"name": "a", "op": "adaptive_avg_pool", "output": 4},
          {"name": "u", "op": "upsample", "scale": 2}, {"name": "s", "op": "pad_shortcut", "out_channels": 6, "stride": 2}, {"name": "k", "op": "to_tokens"},
          {"name": "q", "op": "linear", "out_features": 8, "bias": True}, {"name": "h", "op": "attention", "heads": 2, "inputs": ["q", "q", "q"]},
          {"name": "o", "op": "conv1d", "out_channels": 8, "kernel": 1, "stride": 1, "pad": 0, "bias": True},
          {"name": "b#", "block": "pair", "repeat": [0, 1], "inputs": ["o"], "width": 8}, {"name": "f", "op": "flatten"}, {"name": "last", "op": "linear", "out_features": 10}]
MODEL = {"format": "model/1", "name": "all", "source": "a test", "input": [4, 16, 16], "layers": LAYERS, "outputs": ["last", "b0"],
         "blocks": {"pair": {"parameters": {"width": None, "with_bias": True}, "layers": [{"name": "l", "op": "linear", "out_features": "$width", "bias": "$with_bias"},
                                                                                        {"name": "r", "op": "relu", "inputs": ["l"]}]}}}
EMBEDDING = {"format": "model/1", "name": "words", "input": [16], "layers": [{"name": "e", "op": "embedding", "entries": 10, "width": 4}]}

COST = {"launch_s": 1e-6, "macs_per_s": 1e12, "bandwidth": "1TB/s", "weight_bandwidth": 1e12}
DEVICE = {"format": "device/1", "name": "any", "kind": "gpu", "source": "a test", "dtype": "fp32", "gpus": 2, "costs": {"linear": {"forward": COST, "backward": COST}, "others": {"forward": COST, "backward": COST}},
          "update": COST, "error": [{"against": "nothing", "model": "none", "forward": 0.1, "backward": -0.1, "median_layer": 0, "samples_per_s": 0.5}]}


def values_of(parameter):
    """Some that it may have, by what simctl says of it."""
    values = parameter["values"]
    if found := re.fullmatch(r"(?:integer|number) (?:from|>) (\S+) (?:to|and <=) (\S+)", values):
        return [int(found[2]) if values.startswith("integer") else float(found[2])]
    if " or " in values and values != "true or false":
        return values.split(" or ")
    return {"true or false": [parameter["default"] == "true"], "seconds": [0.5], "seconds per byte": [1e-12], "bytes": ["1MB", 1000],
            "list of groups": [[1, 1], [1], [{"bytes": 3000000}], [["l2.weight"], {"parameters": ["l1.weight"], "bytes": 2000000}]],
            "a way to group gradients": ["fusion", {"name": "fusion", "first_bucket": 1, "bucket": "1MB"}, {"name": "horovod", "threshold": 5, "cycle_s": 1}],
            "a way to compress gradients": ["fp16", {"name": "qsgd", "bits": 2, "bucket": 64, "encode_s_per_B": 1e-12, "decode_s_per_B": 0},
                                            {"name": "top-k", "ratio": 0.1, "index_bytes": 2}, {"name": "random-k", "ratio": 0.1}]}[values]


def scenarios_of_schedules():
    """For each schedule one that has all of its parameters, and one for each value besides."""
    declared = parameters()
    for name in schedules():
        own = {row["parameter"]: values_of(row) for row in declared if name in row["schedule"].split(", ")}
        every = {"name": name} | {parameter: values[0] for parameter, values in own.items()}
        every |= {key: 2 for key in ("delay", "period", "interval", "tau_max", "accumulate", "servers") if key in every}
        yield scenario(schedule=together(every))
        for parameter, values in own.items():
            for value in values[1:]:
                yield scenario(schedule=together(every | {parameter: value}))


def together(schedule):
    """Without what does not go with the rest."""
    without = []
    if "backup" in schedule:
        schedule = schedule | {"backup": min(schedule["backup"], 1), "duplex": True, "pulls": "sent"}
    if schedule["name"] == "bytescheduler" and schedule["over"] == "all-reduce":
        without = ["servers", "colocated", "server_s_per_B"]
    if schedule["name"] == "zero":
        keeps = schedule["gather"] == "next-forward"
        schedule = schedule | {"stage": 2 if keeps else 3}
        without = ["reshard_after_forward", "prefetch", "reshard_last", "limit_all_gathers"] if keeps else ["gather"]
    if schedule["name"] == "dear" and schedule["compression"] not in ("fp16", {"name": "random-k", "ratio": 0.1}):
        without = ["compression"]
    if schedule["name"] == "diloco":
        if schedule["worker"] != "gpu":
            schedule = schedule | {"posts": "fragment"}
        if schedule["worker"] == "region":
            without = ["worker"]
        if schedule["quorum"] < 1:
            schedule = schedule | {"fragments": 1, "posts": "fragment"}
            without += ["matchmaking_s"]
        else:
            without += ["deadline_s"]
        fragments = min(schedule["fragments"], schedule["interval"], 3)  # layers
        schedule = schedule | {"fragments": fragments, "overlap": min(schedule["overlap"], schedule["interval"] // fragments)}
    return {key: value for key, value in schedule.items() if key not in without}


JITTER = {"jitter": {"distribution": "uniform", "cv": 0.2}, "slow": [{"ranks": "0-1", "factor": 2}], "events": [{"kind": "pause", "rank": 1, "at_s": 1, "for_s": 5}], "overlap_slowdown": 0.05}
FULL_SCENARIO = scenario(trace_factor=1.5, granularity="layer", fidelity="per-message", all_reduce="ring", channels=1, workers=JITTER, iterations={"warmup": 1, "measured": 3, "until": 0.1}, samples=1000, epochs=2.5,
                         seed=7, replicates=2, sweep={"/cluster/nodes": [2, 4]})
SIMGRID = scenario(fidelity="simgrid", simgrid={"network_model": "SMPI", "fair": False, "config": {"network/TCP-gamma": 1e6, "network/crosstraffic": True, "smpi/bw-factor": "0:1"}})
RUN = {"steps": 1000, "failures": {"mtbf_per_gpu_h": 50, "kinds": [{"domain": "gpu", "weibull_shape": 2}, {"domain": "switch", "rate": 1}]}, "checkpoint": {"every": 600, "write_s": 60, "stall_s": 5},
       "restart": {"detect_s": 60, "restart_s": 300, "load_s": 1}, "policy": {"name": "hot-spare", "spares": 2, "repair_h": 24}, "seeds": 10}
RUNS = [scenario(run=RUN), scenario(run={"samples": 1000, "failures": {"per_1000_node_days": 50}, "checkpoint": {"every": "young", "write_s": 60}, "policy": {"name": "shrink", "min_nodes": 2, "repair_h": 1}}),
        scenario(run={"steps": 1}, sweep={"/run/policy": ["restart", {"name": "per-step", "min_nodes": 4}]})]
JOBS = [scenario(jobs=[{"name": "ours", "nodes": "0-1", "start_s": 0.5}, {"nodes": "2-3", "trace": "trace.json", "granularity": "layer", "schedule": {"name": "s-sgd"}, "all_reduce": "ring", "channels": 2,
                                                                             "workers": {"overlap_slowdown": 0.1}}], seed=3),
        {key: value for key, value in scenario(jobs=[{"nodes": "0-1", "trace": "trace.json", "schedule": {"name": "wfbp"}}], sweep={"/jobs/0/nodes": ["0-1", "2"]}).items() if key not in ("trace", "schedule")}]
SCENARIOS = [*RUNS, *JOBS, FULL_SCENARIO, SIMGRID, scenario(cluster={key: value for key, value in cluster().items() if key != "format"}, trace={key: value for key, value in trace().items() if key != "format"}),
             scenario(workers={"overlap_slowdown": {"factor": 1, "by": "traffic"}}),
             scenario(schedule={"name": "asgd"}, workers={"events": [{"kind": "leave", "rank": 1, "at_s": 1}, {"kind": "join", "rank": 1, "at_s": 5}]}), scenario(sweep={"/schedule": [{"name": "wfbp"}, {"name": "lasgd", "tau_max": 2}]}),
             scenario(schedule={"name": "lasgd"}, sweep={"/schedule/tau_max": [1, 2]}), scenario(sweep={"/network": {"a": {"/cluster/nodes": 2, "/all_reduce": "ring"}, "b": {}}}),
             *(scenario(schedule={"name": "asgd", "servers": servers}) for servers in ("nodes", {"share": 0.5})), scenario(schedule={"name": "diloco", "outer": {"optimizer": "momentum", "lr": 0.5, "momentum": 0.8}}), scenario(cluster={}, sweep={"/cluster": ["cluster.json"]}),
             *(scenario(all_reduce=value) for value in ({"name": "two-level", "between": "binary-tree", "chunk": "1MB"}, {"name": "ring", "across": "gpus"}, {"name": "double-binary-tree", "chunk": 1000000},
                                                        {"name": "halving-doubling", "across": "nodes"}, "in-network", {"name": "in-network", "across": "nodes"}, {"name": "in-network", "inside": "in-network"},
                                                        {"name": "two-level", "between": "ring", "inside": "in-network"}))]
ADVICE = {"format": "advice/1", "trace": "trace.json", "clusters": [{"cluster": "cluster.json", "nodes": [2], "price_per_node_hour": 2}], "schedules": ["wfbp", {"name": "asgd", "samples_factor": 1.5}], "target": {"samples": 1000},
          "objective": "cost", "samples_factor": {"wfbp": 1}, "limits": {"staleness": 9, "budget": 1e6, "deadline_h": 100}, "risk": {"workers": {"jitter": {"distribution": "lognormal", "cv": 0.1}}, "seeds": 1, "bandwidth": 0.1},
          "granularity": "tensor", "iterations": {"warmup": 0, "measured": 1}, "seed": 1}


def places(value, way=()):
    """The ways to all values inside, as keys and indices."""
    for key, inner in (value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield (*way, key)
        yield from places(inner, (*way, key))


def without_likes(value):
    """Of a list's objects that have the same keys, with values of the same types, and the same op or type, one is left: traces have thousands."""
    if isinstance(value, dict):
        return {key: without_likes(inner) for key, inner in value.items()}
    if not isinstance(value, list) or len(value) < 50:
        return value
    kinds = {(*((key, type(inner), isinstance(inner, int) and inner < 1) for key, inner in each.items()), each.get("op"), each.get("type"))
             if isinstance(each, dict) else index: each for index, each in enumerate(value)}
    return [without_likes(each) for each in kinds.values()]


def at(content, way):
    for key in way:
        content = content[key]
    return content


OTHERS = ["?", "", "a\nb", -1, 0, 0.5, 3, 1e300, None, True, [], {}, ["?"], {"name": "?"}]


def mutations(content):
    """Copies of the content with one change each: what it is, beside which keys (but at the root, where every file has its own), and what makes
    the copy."""
    yield "unknown key", (), lambda: content | {"@@@@": 1}
    for way in places(content):
        around = at(content, way[:-1])
        beside = tuple(sorted(around)) if isinstance(around, dict) and len(way) > 1 else ()
        def changed(change, its_way=way):
            def make():
                copied = copy.deepcopy(content)
                change(at(copied, its_way[:-1]), its_way[-1])
                return copied
            return make
        yield f"without {way}", beside, changed(lambda around, key: around.pop(key))
        if isinstance(at(content, way), dict):
            yield f"unknown key in {way}", tuple(sorted(at(content, way))), changed(lambda around, key: around[key].update({"@@@@": 1}))
            yield f"x- key in {way}", (), changed(lambda around, key: around[key].update({"x-key": 1}))
        for other in OTHERS:
            if other != at(content, way) or isinstance(other, bool):
                yield f"{way} = {other!r}", beside, changed(lambda around, key, other=other: around.__setitem__(key, other))


@unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
class Schemas(Case):
    def judge(self, kind, number, content):
        """What simctl says against it, or nothing."""
        path = self.write(f"{number}.json", content)
        done = self.simctl(COMMANDS[kind], path)
        self.assertIn(done.returncode, (0, 3, 4), done.stderr)
        return done.stderr.replace(f"simctl: {path}: ", "").replace(str(self.folder), "").strip() if done.returncode else ""

    def compare(self, kind, cases):
        """Both judge all (what it is, content); what is wrong, as lines."""
        check, wrong = validator(kind), []
        with concurrent.futures.ThreadPoolExecutor() as threads:
            verdicts = list(threads.map(lambda row: self.judge(kind, row[0], row[1][1]), enumerate(cases)))
        for (what, content), said in zip(cases, verdicts):
            errors = list(check.iter_errors(content))
            beyond = any(re.search(rule, said) for rule in BEYOND_A_SCHEMA) or said.startswith(tuple(swept(content)))
            if errors and not said:
                wrong.append(f"simctl accepts, the schema does not: {what}: {errors[0].json_path}: {errors[0].message[:200]}")
            elif said and not errors and not beyond:
                wrong.append(f"the schema accepts, simctl does not: {what}: {said}")
            elif errors and (listed := re.search(r"expected one of (.*?), got ", said)):
                names = set(listed[1].split(", ")) - {"dragonfly" if what == "('topology',) = '?'" else ""}      # which is none without its sizes
                if (known := enumerated(errors)) and known != names:
                    wrong.append(f"other names: {what}: {sorted(names)}; in the schema {sorted(known)}")
            elif errors and (listed := re.search(r'unknown key "@@@@"; known here: ([\w$, ]+)', said)):
                names, known = set(listed[1].rstrip().split(", ")), known_keys(errors)
                if known and names not in known:
                    wrong.append(f"other keys: {what}: {sorted(names)}; in the schema {[sorted(keys) for keys in known]}")
        if wrong:
            self.fail("\n".join(wrong))
        return verdicts

    def judge_mutations(self, kind, bases):
        draw = random.Random(1)
        cases, seen = [], set()
        for base in bases:
            new = [case for case in mutations({"format": f"{kind}/1"} | base) if case[:2] not in seen]
            named = [case for case in new if case[0].endswith(" = '?'") or case[0].startswith("unknown key")]
            others = [case for case in new if all(case is not one for one in named)]
            chosen = named + draw.sample(others, min(MOST, len(others)))
            seen.update(case[:2] for case in chosen)
            cases += [(what, make()) for what, _, make in chosen]
        verdicts = self.compare(kind, cases)
        self.assertTrue(any(verdicts) and not all(verdicts))

    def test_the_schemas_are_schemas(self):
        self.assertEqual(sorted(SCHEMAS), sorted(f"{name}.schema.json" for name in (*COMMANDS, "schedule", "values")))
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["$id"], name)

    def test_every_format_that_people_write_has_one(self):
        sources = "\n".join(path.read_text() for path in (ROOT / "sim").glob("*/*.cpp"))
        self.assertEqual(set(re.findall(r'format\("([\w-]+)/1"', sources)), {*COMMANDS, "network-probe", "node"})  # those two are what netprobe and nodeprobe write

    def test_the_projects_files_are_valid(self):
        files = [path for folder in ("scenarios", "models", "traces") for path in (ROOT / folder).rglob("*.json") if not {"schemas", "profiles"} & set(path.parts)]
        self.assertGreater(len(files), 50)
        for path in files:
            content = without_likes(json.loads(path.read_text()))
            self.assertEqual([f"{path}: {error.json_path}: {error.message}" for error in validator(kind_of(content)).iter_errors(content)], [])

    def test_what_simctl_writes_is_valid(self):
        for words in (["--schedules", "all"], ["--cluster", "dgx-a100"], ["--cluster", "aws-4-regions"]):
            content = json.loads(self.simctl("new", "-", *words, cwd=ROOT).stdout)
            self.assertEqual([error.message for error in validator("scenario").iter_errors(content)], [])

    def test_schedules_and_all_their_parameters(self):
        cases = [(str(content["schedule"]), content) for content in scenarios_of_schedules()]
        verdicts = self.compare("scenario", cases)
        self.assertLess(sum(map(bool, verdicts)), len(verdicts) / 4)
        documented = {(name, row["parameter"]): row["meaning"] for row in parameters() for name in row["schedule"].split(", ")}
        for branch in SCHEMAS["schedule.schema.json"]["allOf"]:
            for name in branch["if"]["properties"]["name"]["enum"]:
                for parameter, schema in branch["then"]["properties"].items():
                    if parameter != "name":
                        described = SCHEMAS["schedule.schema.json"]["$defs"]["servers"] if parameter == "servers" else schema
                        self.assertEqual(described["description"], documented[name, parameter])

    def test_scenarios(self):
        self.judge_mutations("scenario", [*SCENARIOS, *scenarios_of_schedules()][:None if SLOW else 20])

    def test_clusters(self):
        self.judge_mutations("cluster", CLUSTERS)

    def test_traces(self):
        self.judge_mutations("trace", [TRACE, trace()])

    def test_models(self):
        self.judge_mutations("model", [MODEL, EMBEDDING])

    def test_devices(self):
        self.judge_mutations("device", [DEVICE, DEVICE | {"error": "unknown"}])

    def test_advice(self):
        self.judge_mutations("advice", [ADVICE])


def swept(content):
    """The keys of a scenario whose values the sweep changes, as simctl's messages begin."""
    sweep = content.get("sweep")
    return ["/" + pointer.split("/")[1] for pointer in sweep if pointer.count("/")] if isinstance(sweep, dict) else []


def enumerated(errors):
    """The names that a schema wants where it has got another text."""
    names = set()
    for error in errors:
        if error.validator == "enum" and isinstance(error.instance, str):
            names |= set(error.validator_value)
        names |= enumerated(error.context)
    return names


def known_keys(errors):
    """The keys that the schema knows where there is another, by each of its alternatives."""
    found = []
    for error in errors:
        if error.validator == "additionalProperties" and "@@@@" in error.instance:
            found.append(set(error.schema["properties"]))
        found += known_keys(error.context)
    return found


if __name__ == "__main__":
    unittest.main()
