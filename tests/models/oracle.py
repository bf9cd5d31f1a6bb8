"""A second implementation of model/1, written from its specification alone, to compare model files and simctl with.

read(path) expands the blocks and repetitions and infers every shape. A file that breaks the rules need not be refused.
"""

import json
import math
from pathlib import Path


def read(path):
    """The layers in order of execution: name, op, inputs (full names), entry (its attributes), shape, tensors [(name, shape)] and macs."""
    model = json.loads(Path(path).read_text(encoding="utf-8"))
    known = {"$input": {"name": "$input", "shape": model["input"]}}  # full name of a layer or instance -> the layer that it ends in
    layers = []
    expand(model["layers"], "", "$input", model.get("blocks", {}), known, layers)
    return layers


def expand(entries, prefix, own_input, blocks, known, layers):
    """Appends a list's layers; the last is its output."""
    previous = own_input
    for entry in copies(entries):
        name = prefix + entry["name"]
        inputs = [own_input if other == "$input" else prefix + other for other in entry.get("inputs", [])] or [previous]
        if "block" in entry:
            block = blocks[entry["block"]]
            values = {parameter: entry.get(parameter, default) for parameter, default in block["parameters"].items()}
            body = [substituted(inner, values) for inner in block["layers"]]
            expand(body, name + ".", inputs[0], blocks, known, layers)
            known[name] = layers[-1]
        else:
            sources = [known[other] for other in inputs]
            layer = {"name": name, "op": entry["op"], "inputs": [source["name"] for source in sources], "entry": entry}
            layer["shape"], tensors, layer["macs"] = OPS[entry["op"]]([source["shape"] for source in sources], entry)
            layer["tensors"] = [(f"{name}.{tensor}", shape) for tensor, shape in tensors]
            layers.append(layer)
            known[name] = layer
        previous = name


def copies(entries):
    for entry in entries:
        first, last = entry.get("repeat", [0, 0])
        for number in range(first, last + 1):
            yield {**entry, "name": entry["name"].replace("#", str(number))} if "repeat" in entry else entry


def substituted(entry, values):
    """Every "$parameter" but those of the inputs replaced by its value."""
    return {key: values[value[1:]] if isinstance(value, str) and value.startswith("$") else value for key, value in entry.items()}


# Operations: (shapes of the inputs, entry) -> shape of the output, tensors, multiply-accumulates of one sample


def pair(value):
    return value if isinstance(value, list) else [value, value]


def weights(weight, entry):
    """The weight, and the bias (one number per output) unless switched off."""
    return [("weight", weight)] + [("bias", weight[:1])] * entry.get("bias", True)


def conv2d(inputs, entry):
    (channels, *size), = inputs
    kernel, stride, pad = (pair(entry.get(key, default)) for key, default in [("kernel", None), ("stride", 1), ("pad", 0)])
    shape = [entry["out_channels"]] + [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(size, kernel, stride, pad)]
    weight = [entry["out_channels"], channels // entry.get("groups", 1), *kernel]
    return shape, weights(weight, entry), math.prod(shape) * math.prod(weight[1:])


def conv1d(inputs, entry):
    (tokens, channels), = inputs
    kernel, stride, pad = entry["kernel"], entry.get("stride", 1), entry.get("pad", 0)
    shape = [(tokens + 2 * pad - kernel) // stride + 1, entry["out_channels"]]
    return shape, weights([entry["out_channels"], channels, kernel], entry), math.prod(shape) * channels * kernel


def conv_transpose2d(inputs, entry):
    """The image from which a convolution with these attributes makes the input, without a rest."""
    (channels, *size), = inputs
    kernel, stride, pad = (pair(entry.get(key, default)) for key, default in [("kernel", None), ("stride", 1), ("pad", 0)])
    shape = [entry["out_channels"]] + [(n - 1) * s + k - 2 * p for n, k, s, p in zip(size, kernel, stride, pad)]
    weight = [channels, entry["out_channels"], *kernel]
    return shape, [("weight", weight)] + [("bias", weight[1:2])] * entry.get("bias", True), math.prod(size) * math.prod(weight)


def linear(inputs, entry):
    (*tokens, features), = inputs
    weight = [entry["out_features"], features]
    return [*tokens, entry["out_features"]], weights(weight, entry), math.prod(tokens) * math.prod(weight)


def pool(inputs, entry):
    (channels, *size), = inputs
    kernel, pad = pair(entry["kernel"]), pair(entry.get("pad", 0))
    stride = pair(entry.get("stride", kernel))
    return [channels, *(windows(*axis, entry.get("ceil", False)) for axis in zip(size, kernel, stride, pad))], [], 0


def windows(size, kernel, stride, pad, ceil):
    """With `ceil` the last window may hang over the end, but not start beyond the input."""
    steps = (size + 2 * pad - kernel) / stride
    count = 1 + (math.ceil(steps) if ceil else math.floor(steps))
    return count - 1 if ceil and (count - 1) * stride >= size + pad else count


def embedding(inputs, entry):
    return [*inputs[0], entry["width"]], [("weight", [entry["entries"], entry["width"]])], 0


def concat(inputs, entry):
    axis = 1 if len(inputs[0]) == 2 else 0
    other, = {(*shape[:axis], *shape[axis + 1:]) for shape in inputs}
    return [*other[:axis], sum(shape[axis] for shape in inputs), *other[axis:]], [], 0


def add(inputs, entry):
    shape, = {tuple(shape) for shape in inputs}
    return list(shape), [], 0


def multiply(inputs, entry):
    """An input of one pixel is a factor of all pixels."""
    shape = max(inputs, key=math.prod)
    assert all(other in (shape, [shape[0], 1, 1]) for other in inputs)
    return shape, [], 0


def attention(inputs, entry):
    """Of three inputs, or of one in which they lie side by side; with `causal` no token reads a later one."""
    (tokens, width), = {tuple(shape) for shape in inputs}
    width = width // 3 if len(inputs) == 1 else width
    pairs = sum(range(1, tokens + 1)) if entry.get("causal") else tokens**2
    return [tokens, width], [], 2 * pairs * width


def tied_linear(inputs, entry):
    (tokens, features), = inputs
    return [tokens, entry["out_features"]], [], tokens * features * entry["out_features"]


def norm(axis, *names):
    return lambda inputs, entry: (inputs[0], [(name, [inputs[0][axis]]) for name in names], 0)


def free(shape):
    return lambda inputs, entry: (shape(inputs[0], entry), [], 0)


same = free(lambda shape, entry: shape)

OPS = {
    "conv2d": conv2d, "conv1d": conv1d, "conv_transpose2d": conv_transpose2d, "linear": linear, "embedding": embedding, "attention": attention,
    "tied_linear": tied_linear, "batch_norm": norm(0, "weight", "bias"), "group_norm": norm(0, "weight", "bias"),
    "layer_norm": norm(-1, "weight", "bias"), "rms_norm": norm(-1, "weight"),
    "max_pool": pool, "avg_pool": pool, "concat": concat, "add": add, "multiply": multiply, "rotary": same,
    "lrn": same, "relu": same, "tanh": same, "gelu": same, "silu": same, "sigmoid": same, "dropout": same,
    "adaptive_avg_pool": free(lambda shape, entry: shape[:1] + pair(entry["output"])),
    "upsample": free(lambda shape, entry: [shape[0]] + [entry["scale"] * n for n in shape[1:]]),
    "flatten": free(lambda shape, entry: [math.prod(shape)]),
    "to_tokens": free(lambda shape, entry: [shape[1] * shape[2], shape[0]]),
    "positional": lambda inputs, entry: (inputs[0], [("weight", inputs[0])], 0),
    "max_over_time": free(lambda shape, entry: shape[1:]),
    "first_token": free(lambda shape, entry: shape[1:]),
    "pad_shortcut": free(lambda shape, entry: [entry["out_channels"]] + [math.ceil(n / s) for n, s in zip(shape[1:], pair(entry.get("stride", 1)))]),
}
