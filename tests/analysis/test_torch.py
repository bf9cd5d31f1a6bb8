"""Does syncopate.torch train as DistributedDataParallel does, refuse wrong plans before anything hangs, and record and check true times?

Each test of ranks starts three processes once, with gloo on this machine. No other test runs a schedule in a real job."""
import contextlib
import io
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

try:
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.checkpoint import checkpoint
except ImportError:
    torch = None

if torch:
    from syncopate.torch import MergedGradients, check, probe, record

from syncopate.common.errors import Failure, InputError

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build/simctl"))
RANKS, STEPS = 3, 20
needs_torch = unittest.skipIf(torch is None, "needs PyTorch: install python3-torch")


def small_model(seed):
    """Layers of several sizes, one whose weights are used twice, one that is frozen, and one of which `skip` decides whether it is used."""
    torch.manual_seed(seed)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.middle = torch.nn.Linear(10, 40), torch.nn.BatchNorm1d(40), torch.nn.Linear(40, 40)
            self.fixed, self.extra, self.last = torch.nn.Linear(40, 40), torch.nn.Linear(40, 40), torch.nn.Linear(40, 4)
            self.fixed.requires_grad_(False)

        def forward(self, data, skip=False):
            data = torch.relu(self.norm(self.first(data)))
            data = torch.tanh(self.middle(torch.tanh(self.fixed(self.middle(data)))))
            return self.last(data if skip else data + self.extra(data))
    return Net()


def plan_of(model, cuts=(2, 5)):
    """A plan/1 of the model in three groups, in the reverse order of declaration."""
    named = [(name, parameter) for name, parameter in reversed(list(model.named_parameters())) if parameter.requires_grad]
    groups = [named[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(named)])]
    return {"format": "plan/1", "schedule": {"name": "mg-wfbp"}, "predicted_iteration_s": 0.5,
            "groups": [{"bytes": sum(4 * parameter.numel() for _, parameter in group), "parameters": [name for name, _ in group]} for group in groups]}


def train(rank, way):
    """The parameters after some steps; `way` is "merged" or "ddp", each with the options that follow it."""
    kind, *options = way.split()
    model = small_model(rank if "seeds" in options else 0)
    unused = "unused" in options
    merged = MergedGradients(model, plan_of(model)) if kind == "merged" else None
    trained = model if merged else DistributedDataParallel(model, bucket_cap_mb=1, find_unused_parameters=unused, broadcast_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.01)
    generator = torch.Generator().manual_seed(100 + rank)
    for number in range(STEPS):
        optimizer.zero_grad(set_to_none="zeros" not in options)
        parts = 2 if "accumulate" in options else 1
        for part in range(parts):
            data, labels = torch.randn(8, 10, generator=generator), torch.randint(4, (8,), generator=generator)
            skip = unused and (number % 3 == 0 or rank == number % 3)      # on all ranks in every third step, on one in the others
            with contextlib.nullcontext() if part == parts - 1 else (merged or trained).no_sync():
                torch.nn.functional.cross_entropy(trained(data, skip), labels).backward()
        if merged:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                merged.wait()
            if seen and "extra" not in str(seen[0].message):
                raise AssertionError(seen[0].message)
        optimizer.step()
    return {name: parameter.detach().flatten().tolist() for name, parameter in model.named_parameters()}


def order_of_sending(_rank):
    """Bytes of each all-reduce of two steps, and whether backward sent the first ones before it ended."""
    model = small_model(0)
    merged = MergedGradients(model, plan_of(model))
    sent, original = [], distributed.all_reduce

    def all_reduce(tensor, **more):
        sent.append(tensor.numel())
        return original(tensor, **more)
    distributed.all_reduce = all_reduce
    try:
        in_backward = []
        for _ in range(2):
            model(torch.randn(8, 10)).sum().backward()
            in_backward.append(len(sent))
            merged.wait()
    finally:
        distributed.all_reduce = original
    return {"sent": sent, "in_backward": in_backward}


def refusals(rank):
    """The messages that a rank gets when the last rank has another plan or model."""
    found = {}
    last = rank == RANKS - 1
    model = small_model(0)
    odd = plan_of(model)
    odd["groups"][0]["parameters"][0] = "last.nobody"
    wider = small_model(0)
    wider.fixed = torch.nn.Linear(40, 40)      # trainable
    turned = small_model(0)
    turned.first.weight = torch.nn.Parameter(turned.first.weight.detach().t().clone())
    for what, its_model, plan in [("name", model, odd if last else plan_of(model)), ("groups", model, plan_of(model, (3, 5) if last else (2, 5))),
                                  ("missing", wider if last else model, plan_of(model)), ("shape", turned if last else model, plan_of(model))]:
        try:
            MergedGradients(its_model, plan)
            found[what] = "accepted"
        except InputError as error:
            found[what] = str(error)
    return found


def misuse(_rank):
    model = small_model(0)
    merged = MergedGradients(model, plan_of(model))
    model(torch.ones(8, 10)).sum().backward()
    try:
        model(torch.ones(8, 10)).sum().backward()
        found = "accepted"
    except Failure as error:
        found = str(error)
    merged.wait()
    merged.close()
    before = model.last.bias.grad.clone()
    model(torch.ones(8, 10)).sum().backward()       # after close() a rank is alone
    return {"message": found, "alone": bool((model.last.bias.grad - before == 8).all())}


def checked(rank):
    """What check() says of two predictions of a job whose forward takes at least 50 ms."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(400, 900), torch.nn.ReLU(), torch.nn.Linear(900, 900), torch.nn.Linear(900, 10))
    ddp = DistributedDataParallel(model, bucket_cap_mb=4)
    names = ["3.bias", "3.weight", "2.bias", "2.weight", "0.bias", "0.weight"]
    sizes = {name: 4 * parameter.numel() for name, parameter in model.named_parameters()}

    def step():
        time.sleep(0.05)
        ddp(torch.randn(4, 400)).sum().backward()

    def groups(*cuts):
        return [{"bytes": sum(sizes[name] for name in some), "parameters": some} for some in (names[a:b] for a, b in zip([0, *cuts], [*cuts, 6]))]
    good = {"format": "plan/1", "predicted_iteration_s": 1000.0, "groups": groups(4)}
    point = {"iteration_s": 0.02, "compute_s": 0.01, "exposed_communication_s": 0.01, "wait_s": 0.0, "groups": groups(2, 4)}
    return {"plan": check(ddp, good, step, steps=3), "point": check(ddp, point, step, steps=3), "rank": rank}


def probed(_rank):
    """What probe() says of all-reduces that take 4 ms and a microsecond per number, of which none passes beside another, and of sizes that are none."""
    original = distributed.all_reduce

    def all_reduce(tensor, **more):
        time.sleep(4e-3 + 1e-6 * tensor.numel())
        return original(tensor, **more)
    distributed.all_reduce = all_reduce
    try:
        found = probe(smallest=1 << 10, largest=1 << 12, budget_s=1e-3)
    finally:
        distributed.all_reduce = original
    try:
        probe(smallest=1 << 12, largest=1 << 12)
        refused = "accepted"
    except InputError as error:
        refused = str(error)
    return {"found": found, "refused": refused}


JOBS = [*(("train", f"{kind}{options}") for options in ("", " seeds zeros", " accumulate", " unused", " unused zeros") for kind in ("ddp", "merged")),
        ("order_of_sending",), ("refusals",), ("misuse",), ("checked",), ("probed",)]


def run_as_rank(rank, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    with contextlib.redirect_stdout(io.StringIO()):
        found = {" ".join(job): globals()[job[0]](rank, *job[1:]) for job in JOBS}
    pathlib.Path(folder, f"{rank}.json").write_text(json.dumps(found))
    distributed.barrier()


@needs_torch
class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([sys.executable, __file__, str(rank), folder], stderr=subprocess.PIPE, text=True) for rank in range(RANKS)]
            try:
                errors = [rank.communicate(timeout=300)[1] for rank in ranks]
            finally:
                for rank in ranks:
                    rank.kill()
            if any(rank.returncode for rank in ranks):
                raise AssertionError("\n".join(errors))
            cls.found = [json.loads(pathlib.Path(folder, f"{rank}.json").read_text()) for rank in range(RANKS)]

    def assert_trains_as_ddp(self, options):
        for mine in self.found:
            expected, trained = self.found[0][f"train ddp{options}"], mine[f"train merged{options}"]
            self.assertEqual(expected.keys(), trained.keys())
            difference = max(abs(a - b) for name in expected for a, b in zip(expected[name], trained[name]))
            self.assertLess(difference, 1e-6)
        moved = {name: parameter.detach().flatten().tolist() for name, parameter in small_model(0).named_parameters()}
        still = [name for name in moved if max(abs(a - b) for a, b in zip(moved[name], self.found[0][f"train merged{options}"][name])) < 1e-3]
        self.assertEqual(still, ["fixed.weight", "fixed.bias"])

    def test_trains_as_ddp(self):
        self.assert_trains_as_ddp("")

    def test_parameters_begin_as_those_of_rank_0_and_zeroed_gradients_stay(self):
        self.assert_trains_as_ddp(" seeds zeros")

    def test_accumulated_gradients_are_sent_once(self):
        self.assert_trains_as_ddp(" accumulate")

    def test_parameters_without_gradient_are_those_of_ddp(self):
        """With momentum and weight decay it matters whether a gradient is none or zero."""
        self.assert_trains_as_ddp(" unused")
        self.assert_trains_as_ddp(" unused zeros")

    def test_groups_are_sent_in_the_plan_s_order_during_backward(self):
        """A group has a number more for each parameter: whether the rank has its gradient."""
        expected = [4 + 160 + 2, 40 + 1600 + 40 + 3, 1600 + 40 + 40 + 400 + 40 + 5]
        for mine in self.found:
            self.assertEqual(mine["order_of_sending"], {"sent": 2 * expected, "in_backward": [3, 6]})

    def test_every_rank_hears_which_rank_has_another_plan(self):
        for rank, mine in enumerate(self.found):
            messages = mine["refusals"]
            there = rank == RANKS - 1
            self.assertIn('/groups/0/parameters/0: the model has no parameter "last.nobody"', messages["name"])
            self.assertIn('parameter "fixed.weight" is in no group', messages["missing"])
            self.assertEqual(there, not messages["name"].startswith("rank 2 refuses its plan"))
            self.assertIn("the plan of rank 2 differs from that of rank 0", messages["groups"])
            self.assertIn('parameter "first.weight" is torch.float32 [40, 10] on rank 0, but torch.float32 [10, 40] on rank 2', messages["shape"])

    def test_a_second_backward_before_wait_is_an_error(self):
        for mine in self.found:
            self.assertIn('parameter "last.bias" got a second gradient before wait()', mine["misuse"]["message"])
            self.assertTrue(mine["misuse"]["alone"])

    def test_check_says_which_part_is_off(self):
        for mine in self.found:
            of_plan, of_point = mine["checked"]["plan"], mine["checked"]["point"]
            self.assertTrue(of_plan["buckets"]["equal"], of_plan["text"])
            self.assertEqual(of_plan["off"], ["iteration_s"])
            self.assertEqual(of_point["buckets"]["first_difference"], 0)
            self.assertLessEqual({"buckets", "iteration_s", "compute_s"}, set(of_point["off"]))
            self.assertIn("number 1 is 3.28 MB of 4 parameters from 3.bias on, but 36.0 kB of 2 parameters from 3.bias on predicted", of_point["text"])
            self.assertGreater(of_point["compute_s"]["measured"], 0.05)
            self.assertGreaterEqual(of_point["communication_ends_s"], of_point["backward_s"])


    def test_probe_finds_the_times_of_all_reduces(self):
        """And `simctl cluster fit` reads them."""
        first = self.found[0]["probed"]["found"]
        for mine in self.found:
            self.assertIn("expected 4 <= smallest <= largest / 2", mine["probed"]["refused"])
            self.assertEqual(mine["probed"]["found"]["queued"], first["queued"])        # all ranks hear the mean
        for key, sizes, least in (("all_reduce", 3, 4e-3), ("queued", 3, 4e-3), ("two_at_once", 3, 8e-3), ("all_gather", 1, 0)):
            self.assertEqual([row["bytes"] for row in first[key]], [1024, 2048, 4096][:sizes], key)
            for row in first[key]:
                self.assertEqual(row["quartiles_s"], sorted(row["quartiles_s"]))
                expected = least * (1 + row["bytes"] / 4 * 1e-6 / 4e-3)
                self.assertTrue(expected <= row["quartiles_s"][1] <= 3 * expected + 20e-3, (key, row))
        self.assertEqual([(pair["from"], pair["to"]) for pair in first["pairs"]], [(a, b) for a in range(RANKS) for b in range(RANKS) if a != b])
        with tempfile.TemporaryDirectory() as folder:
            measured, cluster = pathlib.Path(folder, "network.json"), pathlib.Path(folder, "mine.json")
            measured.write_text(json.dumps(first | {"hosts": ["a", "b", "c"], "nodes": RANKS}))
            done = subprocess.run([SIMCTL, "cluster", "fit", measured, "-o", cluster], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            fits = json.loads(cluster.read_text())["fit"]
            fit = fits if isinstance(fits, dict) else fits[0]
            self.assertEqual(len(fit["points"]), 3)


@needs_torch
class Plans(unittest.TestCase):
    """One rank, in this process."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        distributed.init_process_group("gloo", init_method=f"file://{scratch.name}/meeting", rank=0, world_size=1)
        cls.addClassCleanup(distributed.destroy_process_group)

    def refused(self, change):
        model = small_model(0)
        plan = plan_of(model)
        change(plan, model)
        with self.assertRaises(InputError) as caught:
            MergedGradients(model, plan)
        return str(caught.exception)

    def test_what_is_wrong_with_a_plan_is_named(self):
        for change, message in [
            (lambda plan, _: plan["groups"][1]["parameters"].append("last.bias"),
             '/groups/1/parameters/3: parameter "last.bias" is there twice, first at /groups/0/parameters/0'),
            (lambda plan, _: plan["groups"][2]["parameters"].remove("norm.bias"), 'parameter "norm.bias" is in no group'),
            (lambda plan, _: plan["groups"][0]["parameters"].append("fixed.bias"), 'parameter "fixed.bias" is frozen'),
            (lambda plan, _: plan["groups"][0].update(bytes=10),
             "/groups/0/bytes: expected 656, of 2 parameters from \"last.bias\" (torch.float32) on, got 10"),
            (lambda _, model: model.half(), "/groups/0/bytes: expected 328"),
            (lambda plan, _: plan.update(format="trace/1"), '/format: expected "plan/1", got "trace/1"'),
            (lambda plan, _: plan.update(groups=[]), "/groups: expected a list of groups, got []"),
            (lambda plan, _: plan["groups"][0].update(parameters=[3]), "/groups/0/parameters/0: expected a string, got 3"),
            (lambda plan, _: plan["groups"][0].update(bytes="many"), "/groups/0/bytes: expected an integer >= 0"),
        ]:
            with self.subTest(message):
                self.assertIn(message, self.refused(change))

    def test_a_plan_is_a_file_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plan.json")
            with self.assertRaisesRegex(InputError, f"{path}: missing; write it anew with simctl apply"):
                MergedGradients(small_model(0), path)
            path.write_text(json.dumps(plan_of(small_model(0))))
            model = small_model(0)
            merged = MergedGradients(model, path)
            model(torch.ones(8, 10)).sum().backward()
            merged.wait()
            self.assertTrue(torch.equal(model.last.bias.grad, torch.full((4,), 8.0)))

    def test_the_page_s_code_runs(self):
        page = (ROOT / "analysis/syncopate/torch/README.md").read_text(encoding="utf-8")
        run_plan, record_step, probe_network, check_ddp = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        model = small_model(0)
        batch = torch.ones(8, 10), torch.zeros(8, dtype=torch.long)
        names = {"torch": torch, "model": model, "batches": [batch], "loss_function": torch.nn.functional.cross_entropy,
                 "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
            pathlib.Path("plan.json").write_text(json.dumps(plan_of(model)))
            exec(run_plan.replace('torch.distributed.init_process_group("gloo")\n', ""), names)
            names["merged"].close()
            exec(record_step, names | {"batches": itertools.repeat(batch)})
            self.assertEqual(json.loads(pathlib.Path("mine.json").read_text())["model"]["batch"], 32)
            with self.assertRaisesRegex(InputError, "one rank has nobody to communicate with"):
                exec(probe_network.replace('torch.distributed.init_process_group("gloo")', ""), {})
            ddp_model = DistributedDataParallel(model)
            exec(check_ddp, names | {"ddp_model": ddp_model, "step": lambda: ddp_model(batch[0]).sum().backward()})
        self.assertIn("off: buckets (give DDP", out.getvalue())

    def test_a_sparse_gradient_is_named(self):
        model = torch.nn.EmbeddingBag(5, 3, sparse=True)
        MergedGradients(model, {"format": "plan/1", "groups": [{"bytes": 60, "parameters": ["weight"]}]})
        with self.assertRaisesRegex(Failure, 'gradient of parameter "weight" is sparse'):
            model(torch.tensor([[1, 2]])).sum().backward()

    def test_two_number_formats_in_a_group(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1).double())
        names = [name for name, _ in model.named_parameters()]
        merged = MergedGradients(model, {"format": "plan/1", "groups": [{"bytes": 80, "parameters": names}]})
        model[1](model[0](torch.ones(1, 3)).double()).sum().backward()
        before = [parameter.grad.clone() for parameter in model.parameters()]
        merged.wait()
        for gradient, parameter in zip(before, model.parameters()):
            self.assertTrue(torch.equal(gradient, parameter.grad))


class SleepInBackward(torch.autograd.Function if torch else object):
    @staticmethod
    def forward(context, data, seconds):
        context.seconds = seconds
        return data.view_as(data)

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.seconds)
        return gradient, None


class Sleeping(torch.nn.Module if torch else object):
    """A linear layer whose forward and backward last some time more; backward after the gradients of its parameters."""

    def __init__(self, forward_s, backward_s):
        super().__init__()
        self.linear, self.forward_s, self.backward_s = torch.nn.Linear(4, 4), forward_s, backward_s

    def forward(self, data):
        time.sleep(self.forward_s)
        return self.linear(SleepInBackward.apply(data, self.backward_s))


@needs_torch
class Records(unittest.TestCase):
    def step_of(self, model, optimizer, spans=None):
        """With `spans`, the wall clock of each step's forward, backward and update goes there."""
        def step():
            optimizer.zero_grad(set_to_none=True)
            marks = [time.perf_counter()]
            loss = model(torch.ones(2, 4, requires_grad=True)).square().sum()
            marks.append(time.perf_counter())
            loss.backward()
            marks.append(time.perf_counter())
            optimizer.step()
            marks.append(time.perf_counter())
            if spans is not None:
                spans.append([end - begin for begin, end in zip(marks, marks[1:])])
        return step

    def test_times_are_those_of_the_wall_clock_and_of_the_right_layers(self):
        model = torch.nn.Sequential(Sleeping(0.004, 0.012), torch.nn.ReLU(), Sleeping(0.008, 0.006))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
        spans = []
        step = self.step_of(model, optimizer, spans)
        before = optimizer.step, torch.autograd.backward
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            path = pathlib.Path(folder, "mine.json")
            trace = record(model, step, optimizer, batch=2, output=path, steps=9, warmup=2)
            scheduler.step()
            for command in (["show", path], ["check", "quickstart", "--trace", path]):
                done = subprocess.run([SIMCTL, *map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(path.read_text()), trace)
        self.assertEqual(before, (optimizer.step, torch.autograd.backward))
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))
        layers = {layer["name"]: layer for layer in trace["layers"]}
        self.assertEqual(list(layers), ["0.linear", "2.linear"])
        # The steps with and without hooks, as this test's own clock has them.
        measured = [statistics.median(span[part] for span in spans[2:]) for part in range(3)]
        recorded = [trace["iteration"]["forward_s"], trace["iteration"]["backward_s"], trace["update_s"]]
        for mine, wall in zip(recorded, measured):
            self.assertLess(abs(mine - wall), 0.3 * wall + 2e-4)
        for part in ("forward_s", "backward_s"):
            self.assertLess(abs(sum(layer[part] for layer in layers.values()) / trace["iteration"][part] - 1), 0.2)
        for name, part, least in (("0.linear", "forward_s", 0.004), ("2.linear", "forward_s", 0.008),
                                  ("0.linear", "backward_s", 0.012), ("2.linear", "backward_s", 0.006)):
            self.assertGreater(layers[name][part], 0.9 * least)
            self.assertLess(layers[name][part], 1.5 * least + 0.002)
        ready = {gradient["name"]: gradient["ready_s"] for gradient in trace["gradients"]}
        self.assertEqual({name.rsplit(".", 1)[0] for name in list(ready)[:2]}, {"2.linear"})
        for name, least in (("2.linear.bias", 0.0), ("2.linear.weight", 0.0), ("0.linear.bias", 0.006), ("0.linear.weight", 0.006)):
            self.assertGreater(ready[name], 0.9 * least)
            self.assertLess(ready[name], 1.5 * least + 0.003)
        self.assertEqual(set(ready), {name for name, _ in model.named_parameters()})
        self.assertRegex(trace["provenance"]["note"], r"hooks change a step by [+-]\d+\.\d%, from .* ms to .* ms \(medians of 9 steps each")

    def test_odd_layers(self):
        """Weights that are used twice, a layer that is never called, outputs in a dict, and a checkpoint."""
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.nn.Parameter(torch.ones(4))
                self.one, self.two, self.head, self.used_inside = (torch.nn.Linear(4, 4) for _ in range(4))
                self.head.weight = self.one.weight

            def forward(self, data):
                data = checkpoint(self.two, torch.relu_(self.one(self.one(data))))
                return {"out": [torch.nn.functional.linear(self.head(data) * self.scale, self.used_inside.weight, self.used_inside.bias)]}
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step():
            model(torch.ones(2, 4))["out"][0].sum().backward()
            optimizer.step()
        trace = record(model, step, optimizer, batch=2, steps=3, warmup=1)
        self.assertEqual([layer["name"] for layer in trace["layers"]], ["one", "two", "head", "used_inside", "(Net)"])
        self.assertEqual({(gradient["name"], gradient["layer"]) for gradient in trace["gradients"]},
                         {("scale", "(Net)"), ("one.weight", "one"), ("one.bias", "one"), ("two.weight", "two"), ("two.bias", "two"), ("head.bias", "head"),
                          ("used_inside.weight", "used_inside"), ("used_inside.bias", "used_inside")})
        self.assertTrue(all(layer["backward_s"] > 0 for layer in trace["layers"] if layer["name"] != "used_inside"))

    def test_steps_that_cannot_be_recorded(self):
        model = Sleeping(0, 0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        usual = self.step_of(model, optimizer)

        def only_forward():
            model(torch.ones(2, 4))

        def twice():
            usual()
            usual()

        def not_the_bias():
            model.linear.bias.requires_grad_(False)
            model(torch.ones(2, 4)).sum().backward()
            model.linear.bias.requires_grad_(True)
            optimizer.step()
        for step, message in [(only_forward, "a step ran loss.backward() 0 times, expected once"), (twice, "a step ran forward of the model 2 times"),
                              (not_the_bias, 'parameter "linear.bias" got no gradient in any recorded step')]:
            with self.subTest(message), self.assertRaises(InputError) as caught:
                record(model, step, optimizer, batch=2, steps=3, warmup=1)
            self.assertIn(message, str(caught.exception))


class WithoutTorch(unittest.TestCase):
    def test_only_this_package_needs_torch(self):
        code = "import sys; sys.modules['torch'] = None\nimport syncopate, syncopate.report.main, syncopate.training.main\nimport syncopate.torch"
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "analysis")}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        self.assertIn("line 3, in <module>\n", done.stderr)
        self.assertIn("ImportError: syncopate.torch needs PyTorch", done.stderr)


if __name__ == "__main__":
    run_as_rank(int(sys.argv[1]), sys.argv[2])
