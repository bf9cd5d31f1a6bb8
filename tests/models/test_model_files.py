"""Are the models in models/ those that they are named after: tensors, sizes and multiply-accumulates?"""
import csv
import functools
import json
import math
import pathlib
import unittest

import oracle

try:
    import torch
    import torchvision
except ImportError:
    torchvision = None

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODELS = sorted((ROOT / "models").glob("*.json"))
SHARED = ROOT.parent / "shared" / "data" / "traces"
K80 = SHARED / "k80-googlenet-b64.json"
PYTORCH = [SHARED / f"cpu-{name}-b8.json" for name in ("alexnet", "googlenet", "resnet50", "vgg11")]

# Tensors and parameters
TOTALS = {
    "alexnet_mxnet": (16, 50_844_008),
    "bert_base": (199, 109_482_240),
    "googlenet_aux": (187, 13_004_888),
    "googlenet_bvlc": (128, 13_378_280),
    "bert_large": (391, 335_141_888),
    "gpt2_small": (148, 124_439_808),
    "inception_v4": (449, 42_679_816),
    "llama_7b": (291, 6_738_415_616),
    "llama_7b_block": (9, 202_383_360),
    "vit_b16": (151, 86_567_656 - 2 * 768),
    "sasgd_cifar10": (10, 506_378),
    "sasgd_nlcf": (8, 1_733_511),
}
PUBLISHED_MACS = {"resnet50": 4.09e9, "googlenet": 1.5e9, "densenet161": 7.8e9}
PUBLISHED_SHAPES = [  # Szegedy et al. 2014, table 1; Szegedy et al. 2016, figure 9; He et al. 2016, section 4.2
    ("googlenet_bvlc", "inception_3a.output", [256, 28, 28]),
    ("googlenet_bvlc", "loss1.ave_pool", [512, 4, 4]),
    ("googlenet_bvlc", "loss2.ave_pool", [528, 4, 4]),
    ("googlenet_bvlc", "inception_5b.output", [1024, 7, 7]),
    ("inception_v4", "features.0.5.concat", [384, 35, 35]),
    ("inception_v4", "features.5.concat", [1024, 17, 17]),
    ("inception_v4", "features.16.concat", [1536, 8, 8]),
    ("resnet20", "blocks.2.relu2", [16, 32, 32]),
    ("resnet20", "blocks.8.relu2", [64, 8, 8]),
]
# Of the first layer: Hugging Face's GPT2Block, whose Conv1D weights are [in, out], and LlamaDecoderLayer, which declares its norms last
HUGGING_FACE = {
    "gpt2_small": ("transformer.h.0.", [
        ("ln_1.weight", [768]), ("ln_1.bias", [768]), ("attn.c_attn.weight", [2304, 768]), ("attn.c_attn.bias", [2304]),
        ("attn.c_proj.weight", [768, 768]), ("attn.c_proj.bias", [768]), ("ln_2.weight", [768]), ("ln_2.bias", [768]),
        ("mlp.c_fc.weight", [3072, 768]), ("mlp.c_fc.bias", [3072]), ("mlp.c_proj.weight", [768, 3072]), ("mlp.c_proj.bias", [768])]),
    "llama_7b": ("model.layers.0.", [
        ("input_layernorm.weight", [4096]), ("self_attn.q_proj.weight", [4096, 4096]), ("self_attn.k_proj.weight", [4096, 4096]),
        ("self_attn.v_proj.weight", [4096, 4096]), ("self_attn.o_proj.weight", [4096, 4096]), ("post_attention_layernorm.weight", [4096]),
        ("mlp.gate_proj.weight", [11008, 4096]), ("mlp.up_proj.weight", [11008, 4096]), ("mlp.down_proj.weight", [4096, 11008])]),
}
TORCHVISION = {name: {} for name in ("alexnet", "densenet161", "densenet201", "resnet50", "resnet101", "resnet152")}
TORCHVISION |= {"vgg11": {"init_weights": False}, "vgg16": {"init_weights": False}, "googlenet": {"aux_logits": False, "init_weights": False}}
TORCHVISION |= {"googlenet_aux": {"aux_logits": True, "init_weights": False}}
OPS = {"Conv2d": "conv2d", "Linear": "linear", "BatchNorm2d": "batch_norm", "ReLU": "relu", "Dropout": "dropout",
       "MaxPool2d": "max_pool", "AdaptiveAvgPool2d": "adaptive_avg_pool"}


@functools.lru_cache(None)
def layers(name):
    return oracle.read(ROOT / "models" / f"{name}.json")


def tensors(name):
    return [tensor for layer in layers(name) for tensor in layer["tensors"]]


def macs(name):
    return sum(layer["macs"] for layer in layers(name))


class Files(unittest.TestCase):
    def test_form(self):
        for path in MODELS:
            model, names = json.loads(path.read_text()), [layer["name"] for layer in layers(path.stem)]
            self.assertEqual((model["format"], model["name"]), ("model/1", path.stem))
            self.assertTrue(model["source"], path.name)
            self.assertEqual(len(set(names)), len(names), path.name)
            self.assertLessEqual(max(map(len, path.read_text().splitlines())), 160, path.name)

    def test_only_outputs_are_unread(self):
        for path in MODELS:
            read = {name for layer in layers(path.stem) for name in layer["inputs"]}
            unread = [layer["name"] for layer in layers(path.stem) if layer["name"] not in read]
            self.assertEqual(unread, json.loads(path.read_text()).get("outputs", [layers(path.stem)[-1]["name"]]), path.name)


class Tensors(unittest.TestCase):
    maxDiff = 2000

    def test_lists(self):
        lists = sorted((HERE / "params").glob("*.csv"))
        self.assertEqual(len(lists), 9)
        for path in lists:
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            expected = [(row["name"], row["shape"], int(row["numel"])) for row in rows]
            found = [(name, "x".join(map(str, shape)), math.prod(shape)) for name, shape in tensors(path.stem.removesuffix("_cifar"))]
            self.assertEqual(found, expected, path.name)

    def test_totals(self):
        for name, expected in TOTALS.items():
            found = tensors(name)
            self.assertEqual((len(found), sum(math.prod(shape) for _, shape in found)), expected, name)

    def test_layers_of_transformers(self):
        for name, (prefix, expected) in HUGGING_FACE.items():
            found = [(path.removeprefix(prefix), shape) for path, shape in tensors(name) if path.startswith(prefix)]
            self.assertEqual(found, expected, name)

    @unittest.skipUnless(K80.exists(), "needs the K80's trace")
    def test_googlenet_bvlc_has_the_gradients_of_the_k80(self):
        measured = [gradient["bytes"] for gradient in json.loads(K80.read_text())["gradients"]]
        padded = [sum(math.ceil(4 * math.prod(shape) / 256) * 256 for _, shape in layer["tensors"])
                  for layer in reversed(layers("googlenet_bvlc")) if layer["tensors"]]
        self.assertEqual(padded, measured)


class Sizes(unittest.TestCase):
    def test_multiply_accumulates(self):
        for name, expected in PUBLISHED_MACS.items():
            self.assertAlmostEqual(macs(name) / expected, 1, delta=0.02, msg=f"{name}: {macs(name)}")

    def test_transformers_multiply_each_weight_of_a_product_once_per_token(self):
        for name, shared in (("gpt2_small", 50257 * 768), ("llama_7b", 0)):
            products = sum(layer["macs"] for layer in layers(name) if layer["op"].endswith("linear"))
            weights = sum(math.prod(shape) for layer in layers(name) if layer["op"] == "linear" for _, shape in layer["tensors"] if len(shape) == 2)
            self.assertEqual(products, layers(name)[-1]["shape"][0] * (weights + shared), name)

    def test_shapes(self):
        for model, name, expected in PUBLISHED_SHAPES:
            shape, = (layer["shape"] for layer in layers(model) if layer["name"] == name)
            self.assertEqual(shape, expected, f"{model} {name}")


@unittest.skipUnless(all(path.exists() for path in PYTORCH), "needs traces of PyTorch's modules")
class Traces(unittest.TestCase):
    def test_layers_are_those_measured(self):
        """In order of execution, but for the ReLU modules that a ResNet block uses three times: relu1 is their first use."""
        for path in PYTORCH:
            trace = json.loads(path.read_text())
            own = [(layer["name"], layer["op"]) for layer in layers(trace["model"]["name"])]
            measured = [(layer["name"], OPS[layer["type"]]) for layer in trace["layers"]]
            measured = [(name if (name, op) in own else name + "1", op) for name, op in measured]
            self.assertEqual([layer for layer in own if layer in set(measured)], measured, path.name)


@unittest.skipIf(torchvision is None, "needs torchvision")
class Torchvision(unittest.TestCase):
    maxDiff = 2000

    def reference(self, name):
        """Tensors in order, and the multiply-accumulates of each module that has any, counted as it runs."""
        module = getattr(torchvision.models, name.removesuffix("_aux"))(weights=None, **TORCHVISION[name])
        counted = {}

        def count(path, part, output):
            counted[path] = counted.get(path, 0) + output.numel() * part.weight[0].numel()

        for path, part in module.named_modules():
            if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear)):
                part.register_forward_hook(lambda part, _, output, path=path: count(path, part, output))
        with torch.no_grad():
            module.train()(torch.zeros(1, 3, 224, 224))
        return [(path, list(tensor.shape)) for path, tensor in module.named_parameters()], counted

    def test_same(self):
        for name in TORCHVISION:
            expected, counted = self.reference(name)
            order = sorted if name == "googlenet_aux" else list  # torchvision lists the heads last
            self.assertEqual(order(tensors(name)), order(expected), name)
            self.assertEqual({layer["name"]: layer["macs"] for layer in layers(name) if layer["macs"]}, counted, name)


if __name__ == "__main__":
    unittest.main()
