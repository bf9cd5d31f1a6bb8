"""model/1 in PyTorch, written from its specification, to compare capture with. Numbers are float64: errors are the device's.

Images are [batch, channels, height, width], tokens [batch, tokens, width], ids [batch, tokens].
"""

import math

import torch
import torch.nn.functional as F

LEARNING_RATE = 1e-4
MOMENTUM = 0.9
EPSILON = 1e-5


class Computed:
    """What an iteration computed, or should have: tensors by name of the layer or parameter."""

    def __init__(self):
        self.outputs, self.output_gradients, self.gradients, self.loss = {}, {}, {}, 0

    def settle(self, layers):
        """Removes from a relu's gradient what it does not let through, since a device may do so in place. Returns itself."""
        for layer in layers:
            if layer["op"] == "relu" and layer["name"] in self.output_gradients:
                self.output_gradients[layer["name"]] = self.output_gradients[layer["name"]] * (self.outputs[layer["name"]] > 0)
        return self


def train(layers, parameters, input_values, heads, factors):
    """PyTorch's own training: an iteration for each of `factors`, which are what the device's dropouts drew, by layer. `heads` are
    pairs of a layer and its labels. Returns the iterations and the parameters after them."""
    parameters = {name: values.clone().requires_grad_() for name, values in parameters.items()}
    optimizer = torch.optim.SGD(parameters.values(), lr=LEARNING_RATE, momentum=MOMENTUM)
    iterations = []
    for drawn in factors:
        done = Computed()
        for layer in layers:
            inputs = [input_values if name == "$input" else done.outputs[name] for name in layer["inputs"]]
            done.outputs[layer["name"]] = output = run(layer, inputs, [parameters[name] for name in weights(layer, layers)], drawn)
            if output.requires_grad:
                output.retain_grad()
        optimizer.zero_grad()
        loss = sum(cross_entropy(done.outputs[name], labels) for name, labels in heads)
        loss.backward()
        done.loss = loss.item()
        done.output_gradients = {name: output.grad for name, output in done.outputs.items() if output.requires_grad}
        done.gradients = {name: parameter.grad.clone() for name, parameter in parameters.items()}
        iterations.append(done.settle(layers))
        optimizer.step()
    return iterations, {name: values.detach() for name, values in parameters.items()}


def follow(layers, parameters, input_values, heads, drawn, found):
    """What each layer should compute from what the device says that its neighbours did. Unlike training, which amplifies roundings
    where they decide a maximum or a relu, this is as exact in a deep network as in one layer."""
    expected = Computed()
    outputs = {**found.outputs, "$input": input_values}

    def send_back(names, gradients):
        for name, gradient in zip(names, gradients):
            if name in found.output_gradients and gradient is not None:
                expected.output_gradients[name] = expected.output_gradients.get(name, 0) + gradient

    for name, labels in heads:
        logits = outputs[name].clone().requires_grad_()
        loss = cross_entropy(logits, labels)
        expected.loss += loss.item()
        send_back([name], torch.autograd.grad(loss, [logits]))
    for layer in reversed(layers):
        inputs = [outputs[name].clone().requires_grad_() for name in layer["inputs"]]
        tensors = {name: parameters[name].clone().requires_grad_() for name in weights(layer, layers)}
        output = run(layer, inputs, list(tensors.values()), drawn)
        expected.outputs[layer["name"]] = output.detach()
        if layer["name"] in found.output_gradients:
            gradients = torch.autograd.grad(output, [*inputs, *tensors.values()], found.output_gradients[layer["name"]], allow_unused=True)
            send_back(layer["inputs"], gradients)
            for name, gradient in zip(tensors, gradients[len(inputs):]):
                expected.gradients[name] = expected.gradients.get(name, 0) + gradient
    return expected.settle(layers)


def update(parameters, gradients, optimizer):
    """The parameters after a step of "sgd" or "adam" for each of `gradients`."""
    parameters = {name: values.clone() for name, values in parameters.items()}
    if optimizer == "adam":
        optimizer = torch.optim.Adam(parameters.values(), lr=LEARNING_RATE)
    else:
        optimizer = torch.optim.SGD(parameters.values(), lr=LEARNING_RATE, momentum=MOMENTUM)
    for step in gradients:
        for name, values in parameters.items():
            values.grad = step[name]
        optimizer.step()
    return parameters


def weights(layer, layers):
    """Names of the tensors with which a layer computes: its own, or that of the first embedding which has the shape."""
    if layer["op"] != "tied_linear":
        return [name for name, _ in layer["tensors"]]
    width = next(other["shape"][-1] for other in layers if other["name"] == layer["inputs"][0])
    tables = [other["tensors"][0] for other in layers if other["op"] == "embedding"]
    return [next(name for name, shape in tables if list(shape) == [layer["shape"][-1], width])]


def run(layer, inputs, tensors, drawn):
    if layer["op"] == "dropout":
        output = inputs[0] * drawn[layer["name"]]
    else:
        output = OPS[layer["op"]](inputs, tensors, layer["entry"])
    assert list(output.shape[1:]) == layer["shape"], layer["name"]
    return output


def cross_entropy(logits, labels):
    """Over the rows of an output, which are its samples, tokens or pixels."""
    if logits.dim() == 4:
        logits = logits.permute(0, 2, 3, 1)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)


# Operations: (inputs, tensors, entry) -> output


def bias(tensors):
    return tensors[1] if len(tensors) > 1 else None


def conv2d(inputs, tensors, entry):
    return F.conv2d(inputs[0], tensors[0], bias(tensors), pair(entry.get("stride", 1)), pair(entry.get("pad", 0)), groups=entry.get("groups", 1))


def conv1d(inputs, tensors, entry):
    output = F.conv1d(inputs[0].transpose(1, 2), tensors[0], bias(tensors), entry.get("stride", 1), entry.get("pad", 0))
    return output.transpose(1, 2)


def window(entry):
    """Keywords of PyTorch's poolings."""
    kernel = pair(entry["kernel"])
    return {"kernel_size": kernel, "stride": pair(entry.get("stride", kernel)), "padding": pair(entry.get("pad", 0)),
            "ceil_mode": entry.get("ceil", False)}


def attention(inputs, tensors, entry):
    """A token's numbers are those of its heads, one after the other; one input has query, key and value side by side."""
    inputs = inputs[0].split(inputs[0].shape[-1] // 3, dim=-1) if len(inputs) == 1 else inputs
    batch, tokens, width = inputs[0].shape
    depth = width // entry["heads"]
    query, key, value = (each.reshape(batch, tokens, entry["heads"], depth).transpose(1, 2) for each in inputs)
    scores = query @ key.transpose(2, 3) / math.sqrt(depth)
    if entry.get("causal", False):
        scores = scores + torch.full((tokens, tokens), -math.inf, dtype=scores.dtype).triu(1)
    weights = torch.softmax(scores, dim=-1)
    return (weights @ value).transpose(1, 2).reshape(batch, tokens, width)


def pad_shortcut(inputs, tensors, entry):
    down, right = pair(entry.get("stride", 1))
    missing = entry["out_channels"] - inputs[0].shape[1]
    return F.pad(inputs[0][:, :, ::down, ::right], (0, 0, 0, 0, missing // 2, missing - missing // 2))


def conv_transpose2d(inputs, tensors, entry):
    return F.conv_transpose2d(inputs[0], tensors[0], bias(tensors), pair(entry.get("stride", 1)), pair(entry.get("pad", 0)))


def rms_norm(inputs, tensors, entry):
    return inputs[0] / torch.sqrt((inputs[0]**2).mean(dim=-1, keepdim=True) + EPSILON) * tensors[0]


def rotary(inputs, tensors, entry):
    """A head's numbers as complex ones, whose imaginary parts are its second half, times the unit number of the token's angle."""
    batch, tokens, width = inputs[0].shape
    halves = inputs[0].reshape(batch, tokens, entry["heads"], 2, -1)
    pairs = halves.shape[-1]
    angles = torch.outer(torch.arange(tokens), 10000.0**(-torch.arange(pairs, dtype=torch.float64) / pairs))
    turned = torch.complex(halves[..., 0, :], halves[..., 1, :]) * torch.polar(torch.ones_like(angles), angles)[:, None, :]
    return torch.stack([turned.real, turned.imag], dim=-2).reshape(batch, tokens, width)


def pair(value):
    return value if isinstance(value, list) else [value, value]


def of_one(function):
    return lambda inputs, tensors, entry: function(inputs[0])


OPS = {
    "conv_transpose2d": conv_transpose2d, "rms_norm": rms_norm, "rotary": rotary,
    "group_norm": lambda inputs, tensors, entry: F.group_norm(inputs[0], entry["groups"], *tensors, eps=EPSILON),
    "upsample": lambda inputs, tensors, entry: inputs[0].repeat_interleave(entry["scale"], 2).repeat_interleave(entry["scale"], 3),
    "to_tokens": of_one(lambda x: x.reshape(*x.shape[:2], -1).transpose(1, 2).clone()),
    "positional": lambda inputs, tensors, entry: inputs[0] + tensors[0],
    "multiply": lambda inputs, tensors, entry: math.prod(inputs[1:], start=inputs[0]),
    "tied_linear": lambda inputs, tensors, entry: inputs[0] @ tensors[0].T,
    "conv2d": conv2d, "conv1d": conv1d, "attention": attention, "pad_shortcut": pad_shortcut,
    "linear": lambda inputs, tensors, entry: F.linear(inputs[0], tensors[0], bias(tensors)),
    "embedding": lambda inputs, tensors, entry: F.embedding(inputs[0].long() % entry["entries"], tensors[0]),
    "batch_norm": lambda inputs, tensors, entry: F.batch_norm(inputs[0], None, None, *tensors, training=True, eps=EPSILON),
    "layer_norm": lambda inputs, tensors, entry: F.layer_norm(inputs[0], inputs[0].shape[-1:], *tensors, eps=EPSILON),
    "lrn": of_one(lambda x: F.local_response_norm(x, size=5, alpha=1e-4, beta=0.75, k=1)),
    "relu": of_one(torch.relu), "tanh": of_one(torch.tanh), "gelu": of_one(F.gelu), "silu": of_one(F.silu), "sigmoid": of_one(torch.sigmoid),
    "max_pool": lambda inputs, tensors, entry: F.max_pool2d(inputs[0], **window(entry)),
    "avg_pool": lambda inputs, tensors, entry: F.avg_pool2d(inputs[0], **window(entry), count_include_pad=False),
    "adaptive_avg_pool": lambda inputs, tensors, entry: F.adaptive_avg_pool2d(inputs[0], entry["output"]),
    "max_over_time": of_one(lambda x: x.max(dim=1).values), "first_token": of_one(lambda x: x[:, 0]),
    "flatten": of_one(lambda x: x.reshape(len(x), -1)),  # another tensor than x in any case, with a gradient of its own
    "add": lambda inputs, tensors, entry: sum(inputs[1:], inputs[0]),
    "concat": lambda inputs, tensors, entry: torch.cat(inputs, dim=1 if inputs[0].dim() == 4 else -1),
}
