"""Builds the PyTorch module that a model/1 file describes (models/README.md), from the layers that a user of PyTorch would write.

Images are [batch, channels, height, width], tokens [batch, tokens, width], ids [batch, tokens]. What model/1 leaves open is as
capture has it (capture/README.md), so that both train the same network. No shape is computed here: layers are run to see theirs.
"""

import functools
import json
import math
import typing
from collections import Counter
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

EPSILON = 1e-5
NO_ATTRIBUTES = {"name", "op", "inputs", "repeat"}  # of an op
NEVER_LOOK_BACK = {"conv2d", "linear", "batch_norm", "add"}  # their backward does not read their output


class ModelError(Exception):
    """What is wrong with a model file, in one line."""


def load(path, shape=None):
    """The Network of a model/1 file, on the CPU, in fp32 and in training mode; `shape` of a sample takes the place of the file's. Throws ModelError, but only for what cannot be built:
    simctl checks more."""
    try:
        model = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(model, dict) or model.get("format") != "model/1":
            raise ModelError('no model/1 file, whose "format" would say so')
        layers = []
        expand(model["layers"], "", "$input", model.get("blocks", {}), {}, layers)
        if shape and len(shape) != len(model["input"]):
            raise ModelError(f"its input {model['input']} has a different number of dimensions than {shape}")
        return Network(model["name"], shape or model["input"], layers)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from None
    except KeyError as error:
        raise ModelError(f"{path}: {error} is missing") from None
    except json.JSONDecodeError as error:
        raise ModelError(f"{path}: no JSON: {error}") from None
    except (ModelError, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from None


class Layer(typing.NamedTuple):
    name: str  # in full, as "layer1.0.conv1"; `inputs` are such names, or "$input"
    op: str
    inputs: list
    attributes: dict


def expand(entries, prefix, own_input, blocks, ends, layers):
    """Appends the layers of a list in the order of forward. `ends` maps what inputs may name, layers and instances of blocks, to layers.
    Returns the layer that the list ends in."""
    previous = own_input
    for entry in (copy for entry in entries for copy in copies(entry)):
        name = prefix + entry["name"]
        inputs = [own_input if other == "$input" else find(ends, prefix + other, f"layer {name}: no layer before it is")
                  for other in entry.get("inputs", [])] or [previous]
        if "block" in entry:
            block = find(blocks, entry["block"], f"layer {name}: no block is")
            arguments = {key: entry.get(key, default) for key, default in block.get("parameters", {}).items()}
            body = [fill_in(inner, arguments) for inner in block["layers"]]
            previous = expand(body, name + ".", inputs[0], blocks, ends, layers)
        else:
            attributes = {key: value for key, value in entry.items() if key not in NO_ATTRIBUTES and not key.startswith("x-")}
            layers.append(Layer(name, entry["op"], inputs, attributes))
            previous = name
        ends[name] = previous
    return previous


def copies(entry):
    """The entry, or its copies where it has `repeat`."""
    if "repeat" not in entry:
        return [entry]
    first, last = entry["repeat"]
    return [{**entry, "name": entry["name"].replace("#", str(number))} for number in range(first, last + 1)]


def fill_in(entry, arguments):
    """A block's entry with the values of the parameters that it names."""
    def value_of(value):
        if isinstance(value, list):
            return [value_of(each) for each in value]
        return find(arguments, value[1:], "no parameter is") if isinstance(value, str) and value.startswith("$") else value
    return {key: value if key in ("name", "inputs") else value_of(value) for key, value in entry.items()}


def find(table, key, complaint):
    if key not in table:
        raise ModelError(f'{complaint} named "{key}"')
    return table[key]


class Network(nn.Module):
    """A model/1 network. `input` is the shape of one sample; the input is ids below `takes_ids` or, if that is 0, real numbers. Parameters
    have the names of the model's tensors and go in the order of the layers, but those of a container such as "layer1" stay together."""

    def __init__(self, name, shape, layers):
        super().__init__()
        self.name, self.input = name, tuple(shape)
        tables = [layer for layer in layers if layer.op == "embedding" and layer.inputs == ["$input"]]
        self.takes_ids = max((table.attributes["entries"] for table in tables), default=0)
        readers = Counter(other for layer in layers for other in layer.inputs)
        last_reader = {other: layer.name for layer in layers for other in layer.inputs}
        ops = {layer.name: layer.op for layer in layers}
        outputs = {"$input": self.random_input(1)}
        self.heads = [layer.name for layer in layers if readers[layer.name] == 0]
        self.rows = []  # (rows of one sample, classes) of each head
        self.steps = []  # (name, module or function, names of inputs, names of outputs that nobody reads any more)
        for layer in layers:
            make = find(OPS, layer.op, f"layer {layer.name}: no op is")
            inputs = [outputs[other] for other in layer.inputs]
            try:
                run = make([each.shape[1:] for each in inputs], **layer.attributes)
                if layer.op == "embedding":
                    run.wraps = run.num_embeddings < self.takes_ids
                if layer.op == "tied_linear":
                    run.find_table(self)
                if layer.op == "relu":  # in place where nothing else reads its input, as in capture and most networks
                    run.inplace = readers[layer.inputs[0]] == 1 and ops.get(layer.inputs[0]) in NEVER_LOOK_BACK
                if isinstance(run, nn.Module):
                    attach(self, layer.name, run.eval())  # eval: batch_norm would refuse a batch of one
                with torch.no_grad():
                    outputs[layer.name] = run(*inputs)
            except (TypeError, ValueError, RuntimeError, IndexError) as error:
                message = str(error).splitlines()[0].rpartition("() ")[2]
                raise ModelError(f"layer {layer.name}: {layer.op}: {message}") from None
            self.steps.append((layer.name, run, layer.inputs, [other for other in set(layer.inputs) if last_reader[other] == layer.name]))
        self.rows.extend(tuple(rows(outputs[head]).shape) for head in self.heads)
        self.train()

    def forward(self, values):
        """The outputs of the heads, which are the layers that nobody reads."""
        outputs = {"$input": values}
        for name, run, inputs, done in self.steps:
            outputs[name] = run(*map(outputs.get, inputs))
            for other in done:
                del outputs[other]
        return [outputs[head] for head in self.heads]

    def loss(self, outputs, labels):
        """The mean cross entropy of softmax over the rows of each head, which are its samples, tokens or pixels; their sum."""
        return sum(F.cross_entropy(rows(output), expected) for output, expected in zip(outputs, labels))

    def random_input(self, batch, device="cpu"):
        random = functools.partial(torch.randint, self.takes_ids) if self.takes_ids else torch.randn
        return random((batch, *self.input), device=device)

    def random_labels(self, batch, device="cpu"):
        """A random class for each row of each head."""
        return [torch.randint(classes, (batch * count,), device=device) for count, classes in self.rows]


def rows(output):
    """[rows, classes] of a head's output."""
    if output.dim() == 4:
        output = output.permute(0, 2, 3, 1)
    return output.reshape(-1, output.shape[-1])


def attach(root, name, module):
    """Registers a module under a name whose dots are levels; without add_module, which refuses names of nn.Module's methods ("float")."""
    *path, last = name.split(".")
    for part in path:
        root = root._modules.setdefault(part, nn.Module())
    if last in root._modules:  # a layer "a" after one named "a.b"
        module._modules.update(root._modules[last]._modules)
    root._modules[last] = module


class WrappingEmbedding(nn.Embedding):
    wraps = False  # a smaller table than the largest takes ids modulo its own size

    def forward(self, ids):
        return super().forward(ids % self.num_embeddings if self.wraps else ids)


class TokenConv1d(nn.Conv1d):
    def forward(self, tokens):
        return super().forward(tokens.transpose(1, 2)).transpose(1, 2)


class Positional(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(shape))

    def forward(self, tokens):
        return tokens + self.weight


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, values):
        return values * torch.rsqrt(values.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


class TiedLinear(nn.Module):
    """Multiplies with the table of an embedding, which keeps it as its parameter."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.tables = []  # in a list, so that its parameters do not count as this module's

    def find_table(self, network):
        self.tables = [each for each in network.modules() if isinstance(each, nn.Embedding) and each.weight.shape == self.shape][:1]
        if not self.tables:
            raise ValueError(f"no embedding before it has {self.shape[0]} entries of width {self.shape[1]}")

    def forward(self, tokens):
        return F.linear(tokens, self.tables[0].weight)


def attention(heads, causal, *inputs):
    """A token's numbers are those of its heads, one after the other; one input has query, key and value side by side."""
    inputs = inputs[0].chunk(3, -1) if len(inputs) == 1 else inputs
    query, key, value = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in inputs)
    if hasattr(F, "scaled_dot_product_attention"):  # since PyTorch 2.0
        output = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    else:
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1), -math.inf)
        output = torch.softmax(scores, dim=-1) @ value
    return output.transpose(1, 2).flatten(2)


def rotary(heads, tokens):
    """Rotary embedding: rotates pairs of a head's numbers, one from each half, by the token's position times a rate of the pair."""
    first, second = tokens.unflatten(-1, (heads, -1)).chunk(2, -1)
    pairs = torch.arange(first.shape[-1], dtype=torch.float64, device=tokens.device)
    angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None, None] * 10000 ** (-pairs / first.shape[-1])
    cosine, sine = angles.cos().to(tokens.dtype), angles.sin().to(tokens.dtype)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1).flatten(2)


def pad_shortcut(image, channels, stride):
    """ResNet's option A: every stride-th pixel, and zero channels, half of them before the old ones."""
    missing = channels - image.shape[1]
    return F.pad(image[:, :, ::stride[0], ::stride[1]], (0, 0, 0, 0, missing // 2, missing - missing // 2))


def pair(value):
    return tuple(value) if isinstance(value, list) else (value, value)


# Ops: (shapes of the inputs of one sample, attributes) -> a module or function of the inputs


def pool(layer, _, kernel, stride=None, pad=0, ceil=False, **fixed):
    return layer(pair(kernel), pair(kernel if stride is None else stride), pair(pad), ceil_mode=ceil, **fixed)


OPS = {
    "conv2d": lambda shapes, out_channels, kernel, stride=1, pad=0, groups=1, bias=True:
        nn.Conv2d(shapes[0][0], out_channels, pair(kernel), pair(stride), pair(pad), groups=groups, bias=bias),
    "conv_transpose2d": lambda shapes, out_channels, kernel, stride=1, pad=0, bias=True:
        nn.ConvTranspose2d(shapes[0][0], out_channels, pair(kernel), pair(stride), pair(pad), bias=bias),
    "conv1d": lambda shapes, out_channels, kernel, stride=1, pad=0, bias=True:
        TokenConv1d(shapes[0][-1], out_channels, kernel, stride, pad, bias=bias),
    "linear": lambda shapes, out_features, bias=True: nn.Linear(shapes[0][-1], out_features, bias),
    "embedding": lambda _, entries, width: WrappingEmbedding(entries, width),
    "tied_linear": lambda shapes, out_features: TiedLinear((out_features, shapes[0][-1])),
    "attention": lambda _, heads, causal=False: functools.partial(attention, heads, causal),
    "rotary": lambda _, heads: functools.partial(rotary, heads),
    "batch_norm": lambda shapes: nn.BatchNorm2d(shapes[0][0], EPSILON),
    "layer_norm": lambda shapes: nn.LayerNorm(shapes[0][-1], EPSILON),
    "rms_norm": lambda shapes: RMSNorm(shapes[0][-1]),
    "group_norm": lambda shapes, groups: nn.GroupNorm(groups, shapes[0][0], EPSILON),
    "lrn": lambda _: nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1),
    "relu": lambda _: nn.ReLU(), "tanh": lambda _: nn.Tanh(), "gelu": lambda _: nn.GELU(), "silu": lambda _: nn.SiLU(),
    "sigmoid": lambda _: nn.Sigmoid(), "dropout": lambda _: nn.Dropout(0.5),
    "max_pool": functools.partial(pool, nn.MaxPool2d), "avg_pool": functools.partial(pool, nn.AvgPool2d, count_include_pad=False),
    "adaptive_avg_pool": lambda _, output: nn.AdaptiveAvgPool2d(pair(output)),
    "upsample": lambda _, scale: nn.Upsample(scale_factor=scale),
    "positional": lambda shapes: Positional(shapes[0]),
    "to_tokens": lambda _: lambda image: image.flatten(2).transpose(1, 2),
    "max_over_time": lambda _: lambda tokens: tokens.max(dim=1).values,
    "first_token": lambda _: lambda tokens: tokens[:, 0],
    "flatten": lambda _: lambda values: values.flatten(1),
    "add": lambda _: lambda *inputs: functools.reduce(torch.add, inputs),
    "multiply": lambda _: lambda *inputs: functools.reduce(torch.mul, inputs),
    "concat": lambda _: lambda *inputs: torch.cat(inputs, 1 if inputs[0].dim() == 4 else -1),
    "pad_shortcut": lambda _, out_channels, stride=1: functools.partial(pad_shortcut, channels=out_channels, stride=pair(stride)),
}
