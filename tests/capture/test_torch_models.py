"""Is what capture/torch_models.py builds from a model file the network that the file describes, and does it say what is wrong with one?"""
import json
import re
import unittest
from unittest import mock

from torch_support import ROOT, TINY, Case, needs_torch, torch

import oracle
import torch_profile
from small_models import SMALL, layer, small

if torch:
    import torch.nn.functional as F
    import torch_models
    import torch_reference

MODELS = sorted((ROOT / "models").glob("*.json"))


@needs_torch
class Models(Case):
    def load(self, model):
        return torch_models.load(self.write("model.json", model))

    def test_every_model_has_the_tensors_of_its_file(self):
        """But Llama has one layer of its 32, to fit into memory, and language models read a few words, to take seconds."""
        for path in MODELS:
            with self.subTest(path.name):
                model = json.loads(path.read_text(encoding="utf-8"))
                if path.stem == "llama_7b":
                    model["layers"][1]["repeat"] = [0, 0]
                if path.stem in ("llama_7b", "gpt2_small"):
                    model["input"] = [16]
                path = self.write("model.json", model)
                tensors = [(name, tuple(shape)) for each in oracle.read(path) for name, shape in each["tensors"]]
                network = torch_models.load(path)
                self.assertEqual([(name, tuple(values.shape)) for name, values in network.named_parameters()], tensors)
                self.assertTrue(network.training)

    def check_training(self, model, batch):
        """A step of SGD, in fp64, against the reference's."""
        network = self.load(model).double()
        layers = oracle.read(self.folder / "model.json")
        unread = [each["name"] for each in layers if not any(each["name"] in other["inputs"] for other in layers)]
        self.assertEqual(network.heads, unread)
        for module in network.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0
        parameters = {name: values.detach().clone() for name, values in network.named_parameters()}
        inputs, labels = network.random_input(batch), network.random_labels(batch)
        inputs = inputs if network.takes_ids else inputs.double()
        optimizer = torch.optim.SGD(network.parameters(), lr=torch_reference.LEARNING_RATE, momentum=torch_reference.MOMENTUM)
        outputs = network(inputs)
        loss = network.loss(outputs, labels)
        loss.backward()
        optimizer.step()

        kept = {each["name"]: 1 for each in layers if each["op"] == "dropout"}
        (expected,), trained = torch_reference.train(layers, parameters, inputs, list(zip(network.heads, labels)), [kept])
        self.assertAlmostEqual(loss.item(), expected.loss, delta=1e-10 * expected.loss)
        for name, output in zip(network.heads, outputs):
            self.check_equal(name, output, expected.outputs[name])
        for name, values in network.named_parameters():
            self.check_equal(f"gradient of {name}", values.grad, expected.gradients[name])
            self.check_equal(name, values, trained[name])
            if float(expected.gradients[name].abs().max()) > 1e-9:
                self.assertFalse(torch.equal(values, parameters[name]), f"{name} did not move")

    def check_equal(self, name, found, expected):
        self.assertEqual(found.shape, expected.shape, name)
        error = float((found - expected).detach().abs().max()) / max(1, float(expected.detach().abs().max()))
        self.assertLess(error, 1e-10, name)

    def test_small_models_train_as_the_reference_does(self):
        for name in SMALL:
            with self.subTest(name):
                self.check_training(*small(name))

    def test_networks_train_as_the_reference_does(self):
        self.check_training(json.loads((ROOT / "models/resnet20.json").read_text(encoding="utf-8")), 4)
        auxiliary = json.loads((ROOT / "models/googlenet_aux.json").read_text(encoding="utf-8"))
        self.check_training(auxiliary | {"input": [3, 96, 96]}, 2)

    def test_ops_that_capture_has_not(self):
        network = self.load({"format": "model/1", "name": "others", "input": [4, 3, 5], "layers": [
            layer("up", "conv_transpose2d", out_channels=6, kernel=[2, 3], stride=2, pad=[0, 1]), layer("norm", "group_norm", groups=3),
            layer("pool", "adaptive_avg_pool", output=1), layer("scaled", "multiply", "norm", "pool", "norm"),
            layer("large", "upsample", scale=2), layer("tokens", "to_tokens"), layer("position", "positional")]}).double()
        image = network.random_input(2).double()
        up, norm, position = (network.get_submodule(name) for name in ("up", "norm", "position"))
        middle = F.group_norm(F.conv_transpose2d(image, up.weight, up.bias, 2, (0, 1)), 3, norm.weight, norm.bias, 1e-5)
        scaled = middle * middle.mean(dim=(2, 3), keepdim=True) * middle
        tokens = scaled.repeat_interleave(2, 2).repeat_interleave(2, 3).reshape(2, 6, -1).permute(0, 2, 1)
        self.check_equal("tokens", network(image)[0], tokens + position.weight)
        self.assertEqual(position.weight.shape, tokens.shape[1:])

    def test_ops_of_language_models_that_capture_has_not(self):
        network = self.load({"format": "model/1", "name": "words", "input": [5], "layers": [
            layer("words", "embedding", entries=7, width=12), layer("norm", "rms_norm"), layer("rotary", "rotary", heads=3),
            layer("attention", "attention", *["rotary"] * 2, "norm", heads=3, causal=True), layer("all", "linear", out_features=36),
            layer("one", "attention", heads=2, causal=True), layer("head", "tied_linear", out_features=7)]}).double()
        self.assertEqual([name for name, _ in network.named_parameters()], ["words.weight", "norm.weight", "all.weight", "all.bias"])
        ids = network.random_input(2)
        tensors = dict(network.named_parameters())
        with torch.no_grad():
            tensors["norm.weight"].copy_(torch.randn(12))
        words = tensors["words.weight"][ids]
        norm = words / torch.sqrt((words**2).mean(-1, keepdim=True) + 1e-5) * tensors["norm.weight"]
        heads = norm.reshape(2, 5, 3, 2, 2)  # of each head the first half, then the second
        angles = torch.outer(torch.arange(5.0).double(), torch.tensor([1, 0.01]).double())[:, None]
        turned = torch.complex(heads[..., 0, :], heads[..., 1, :]) * torch.polar(torch.ones_like(angles), angles)
        turned = torch.cat((turned.real, turned.imag), -1).reshape(2, 5, 12)
        middle = self.attend(turned, turned, norm, 3) @ tensors["all.weight"].T + tensors["all.bias"]
        last = self.attend(middle[..., :12], middle[..., 12:24], middle[..., 24:], 2)
        self.check_equal("head", network(ids)[0], last @ tensors["words.weight"].T)
        network(ids)[0].sum().backward()
        self.assertGreater(float(network.get_submodule("words").weight.grad.abs().sum()), 0)

    def attend(self, query, key, value, heads):
        """Token by token: each is the mean of the values up to its own, weighted by how its query fits their keys."""
        query, key, value = (each.reshape(*each.shape[:2], heads, -1) for each in (query, key, value))
        rows = []
        for token in range(query.shape[1]):
            scores = (query[:, token, None] * key[:, :token + 1]).sum(-1) / query.shape[-1]**0.5
            rows.append((torch.softmax(scores, 1)[..., None] * value[:, :token + 1]).sum(1).flatten(1))
        return torch.stack(rows, 1)

    def test_every_op_of_model_1(self):
        table = (ROOT / "sim/model/ops.cpp").read_text(encoding="utf-8")
        self.assertEqual(set(torch_models.OPS), set(re.findall(r'Op\{"(\w+)"', table)))

    def test_names_of_layers_may_be_names_of_methods_and_containers(self):
        names = ["a.float", "type", "a.parameters", "a", "heads.forward", "heads", "rows", "steps", "name", "input"]
        network = self.load({"format": "model/1", "name": "names", "input": [3],
                             "layers": [layer(name, "linear", out_features=3, bias=False) for name in names]}).double()
        self.assertEqual({name for name, _ in network.named_parameters()}, {f"{name}.weight" for name in names})
        values = network.random_input(2).double()
        product = values
        for name in names:
            product = product @ dict(network.named_parameters())[f"{name}.weight"].T
        self.check_equal("product", network(values)[0], product)

    def test_relu_overwrites_only_what_nobody_else_wants(self):
        network = self.load({"format": "model/1", "name": "relus", "input": [3], "layers": [
            layer("first", "relu"), layer("a", "linear", out_features=3), layer("second", "relu"), layer("third", "relu"),
            layer("b", "linear", out_features=3), layer("fourth", "relu"), layer("sum", "add", "b", "fourth")]})
        in_place = [name for name, run, _, _ in network.steps if getattr(run, "inplace", False)]
        self.assertEqual(in_place, ["second"])

    def test_samples_of_another_size(self):
        network = torch_models.load(ROOT / "models/resnet20.json", [3, 48, 40])
        self.assertEqual(network.random_input(2).shape, (2, 3, 48, 40))
        self.assertEqual([output.shape for output in network(network.random_input(2))], [(2, 10)])
        with self.assertRaisesRegex(torch_models.ModelError, "a different number of dimensions"):
            torch_models.load(ROOT / "models/resnet20.json", [48, 40])

    def test_only_the_largest_table_takes_ids_as_they_are(self):
        network = self.load(small("embeddings")[0])
        self.assertEqual(network.takes_ids, 23)
        self.assertEqual([each.wraps for each in network.children() if isinstance(each, torch.nn.Embedding)], [False, True, True])

    def test_what_is_wrong_with_a_file(self):
        convolution = layer("conv", "conv2d", out_channels=4, kernel=3)
        block = {"blocks": {"b": {"layers": [layer("inner", "linear", out_features="$width")]}}}
        table = [
            ([{"name": "flat", "op": "flatten"}, layer("t", "tied_linear", out_features=5)], "layer t: tied_linear: no embedding before it has 5 entries"),
            ([layer("conv", "conv3d")], 'layer conv: no op is named "conv3d"'),
            ([convolution | {"strid": 2}], "layer conv: conv2d: got an unexpected keyword argument 'strid'"),
            ([layer("conv", "conv2d", kernel=3)], "layer conv: conv2d: missing 1 required positional argument: 'out_channels'"),
            ([convolution | {"kernel": 9}], "layer conv: conv2d: "),
            ([convolution, layer("fc", "linear", "con", out_features=1)], 'layer fc: no layer before it is named "con"'),
            ([{"name": "x", "block": "a"}], 'layer x: no block is named "a"'),
            ([{"name": "x", "block": "b"}], 'no parameter is named "width"'),
            ([{"name": "x"}], "'op' is missing"),
            ([3], ""),
        ]
        for layers, message in table:
            with self.subTest(message):
                self.check_error(self.write("model.json", TINY | block | {"layers": layers}), message)
        self.check_error(self.write("model.json", "{"), "no JSON: ")
        self.check_error(self.write("model.json", [1]), "no model/1 file")
        self.check_error(self.write("model.json", {"format": "trace/1"}), "no model/1 file")
        self.check_error(self.write("model.json", {"format": "model/1"}), "'layers' is missing")
        self.check_error(self.folder / "none.json", "No such file or directory")

    def check_error(self, path, message):
        with self.assertRaises(torch_models.ModelError) as caught:
            torch_models.load(path)
        self.assertIn(f"{path}: {message}", str(caught.exception))

    def test_a_step_stores_what_was_asked_for_and_moves_the_parameters(self):
        path = self.write("tiny.json", TINY)
        table = [
            ([], torch.float32, False), (["--optimizer", "adam"], torch.float32, False), (["--channels-last"], torch.float32, True),
            (["--dtype", "bf16"], torch.bfloat16, True), (["--dtype", "bf16", "--no-channels-last"], torch.bfloat16, False),
            (["--dtype", "bf16", "--autocast"], torch.float32, True),
        ]
        for arguments, dtype, channels_last in table:
            with self.subTest(" ".join(arguments)), mock.patch.object(torch_models, "load", wraps=torch_models.load) as load:
                network = torch_models.load(path)
                load.side_effect = lambda *_, network=network: network
                options = torch_profile.parse(["--model", str(path), "--batch", "2", "--device", "cpu", "-o", "none", *arguments])
                step = torch_profile.model_step(options, torch_profile.choose_device(options))
                before = {name: values.detach().clone() for name, values in network.named_parameters()}
                for _ in range(3):
                    step()
                weight = network.get_submodule("stem.conv").weight
                self.assertEqual({name: values.dtype for name, values in network.named_parameters()},
                                 {name: torch.float32 if "bn" in name else dtype for name in before})
                self.assertEqual(weight.is_contiguous(memory_format=torch.channels_last), channels_last)
                self.assertTrue(all(bool(values.isfinite().all()) for values in network.parameters()))
                self.assertFalse(torch.equal(weight, before["stem.conv.weight"]) and dtype == torch.float32)
                self.assertTrue(weight.grad.any())


if __name__ == "__main__":
    unittest.main()
