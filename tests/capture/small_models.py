"""Models with awkward extents, in which every op that the CPU computes occurs."""


def layer(name, op, *inputs, **attributes):
    return {"name": name, "op": op, **attributes, **({"inputs": list(inputs)} if inputs else {})}


def three_of(op):
    """Layers q, k and v that read the input."""
    return [{**op, "name": name, "inputs": ["$input"]} for name in "qkv"]


LINEAR = layer("", "linear", out_features=6)

# Batch, input and layers of models whose extents are awkward.
SMALL = {
    "convolutions": (3, [5, 9, 11], [
        layer("uneven", "conv2d", out_channels=7, kernel=[3, 2], stride=[2, 1], pad=[1, 0]),
        layer("pointwise", "conv2d", out_channels=16, kernel=1, bias=False),
        layer("depthwise", "conv2d", out_channels=16, kernel=3, pad=1, groups=16),
        layer("grouped", "conv2d", out_channels=24, kernel=3, stride=2, pad=1, groups=4, bias=False),
        layer("wide", "conv2d", out_channels=33, kernel=5, pad=2),
        layer("odd groups", "conv2d", out_channels=9, kernel=[2, 1], groups=3),
        layer("strided pointwise", "conv2d", out_channels=4, kernel=1, stride=2),
        layer("flatten", "flatten"), layer("linear", "linear", out_features=5)]),
    "convolutions of 3x3": (2, [32, 14, 14], [
        layer("first", "conv2d", out_channels=32, kernel=3, pad=1),
        layer("multiplied", "conv2d", out_channels=64, kernel=3, pad=1, groups=32),
        layer("second", "conv2d", out_channels=48, kernel=3, pad=1, bias=False),
        layer("pool", "adaptive_avg_pool", output=1), layer("flatten", "flatten")]),
    "convolutions over tokens": (2, [13, 6], [
        layer("strided", "conv1d", out_channels=10, kernel=3, stride=2, pad=1),
        layer("no bias", "conv1d", out_channels=17, kernel=2, bias=False),
        layer("pointwise", "conv1d", out_channels=5, kernel=1), layer("max", "max_over_time")]),
    "maxima": (3, [4, 13, 10], [
        layer("conv", "conv2d", out_channels=5, kernel=1), layer("ceil", "max_pool", kernel=3, stride=2, ceil=True),
        layer("overlap", "max_pool", kernel=3, stride=1, pad=1), layer("uneven", "max_pool", kernel=[2, 3], stride=[1, 2], pad=[1, 0]),
        layer("sparse", "max_pool", kernel=1, stride=3)]),
    "maxima of images that leave a rest": (2, [16, 8, 7], [
        layer("conv", "conv2d", out_channels=16, kernel=1), layer("rest", "max_pool", kernel=3),
        layer("over the end", "max_pool", kernel=2, ceil=True)]),
    "means": (3, [4, 13, 10], [
        layer("conv", "conv2d", out_channels=5, kernel=1), layer("ceil", "avg_pool", kernel=3, stride=2, ceil=True),
        layer("padded", "avg_pool", kernel=3, stride=1, pad=1), layer("both", "avg_pool", kernel=[3, 2], stride=2, pad=1, ceil=True),
        layer("uneven", "adaptive_avg_pool", output=[2, 1])]),
    "means of images that leave a rest": (2, [16, 11, 7], [
        layer("conv", "conv2d", out_channels=16, kernel=1), layer("rest", "avg_pool", kernel=4, stride=3),
        layer("sparse", "avg_pool", kernel=1, stride=2), layer("global", "adaptive_avg_pool", output=1)]),
    "means of windows that differ": (2, [3, 7, 10], [
        layer("conv", "conv2d", out_channels=5, kernel=1), layer("fewer", "adaptive_avg_pool", output=[4, 3]),
        layer("tanh", "tanh"), layer("more", "adaptive_avg_pool", output=5), layer("mixed", "adaptive_avg_pool", output=[2, 8])]),
    "batch_norm": (3, [5, 3, 5], [
        layer("input", "batch_norm"), layer("conv", "conv2d", out_channels=16, kernel=2), layer("even", "batch_norm"),
        layer("narrow", "conv2d", out_channels=3, kernel=2), layer("odd", "batch_norm"), layer("pool", "adaptive_avg_pool", output=1)]),
    "lrn": (2, [3, 5, 6], [
        layer("input", "lrn"), layer("conv", "conv2d", out_channels=16, kernel=2), layer("even", "lrn"),
        layer("wider", "conv2d", out_channels=21, kernel=2), layer("odd", "lrn"),
        layer("narrow", "conv2d", out_channels=2, kernel=1), layer("few", "lrn"), layer("flatten", "flatten")]),
    "transposed convolutions": (3, [5, 4, 3], [
        layer("uneven", "conv_transpose2d", out_channels=7, kernel=[3, 2], stride=[2, 1], pad=[1, 0]),
        layer("doubled", "conv_transpose2d", out_channels=16, kernel=2, stride=2, bias=False),
        layer("gaps", "conv_transpose2d", out_channels=6, kernel=1, stride=2), layer("conv", "conv2d", out_channels=16, kernel=3),
        layer("overlap", "conv_transpose2d", out_channels=3, kernel=4, stride=2, pad=1), layer("pool", "adaptive_avg_pool", output=1)]),
    "group_norm": (3, [6, 3, 5], [
        layer("input", "group_norm", groups=3), layer("conv", "conv2d", out_channels=16, kernel=2), layer("even", "group_norm", groups=4),
        layer("narrow", "conv2d", out_channels=5, kernel=1), layer("each channel", "group_norm", groups=5),
        layer("wide", "conv2d", out_channels=21, kernel=2), layer("all", "group_norm", groups=1), layer("pool", "adaptive_avg_pool", output=1)]),
    "rms_norm": (3, [5, 7], [
        layer("input", "rms_norm"), layer("wider", "linear", out_features=19), layer("tokens", "rms_norm"),
        layer("first", "first_token"), layer("one", "rms_norm"), layer("last", "linear", out_features=4)]),
    "upsample": (2, [3, 2, 3], [
        layer("input", "upsample", scale=2), layer("conv", "conv2d", out_channels=5, kernel=1), layer("odd", "upsample", scale=3),
        layer("last", "conv2d", out_channels=3, kernel=1), layer("pool", "adaptive_avg_pool", output=1),
        layer("narrow", "conv2d", "conv", out_channels=4, kernel=1), layer("large", "upsample", scale=4), layer("same", "upsample", scale=1),
        layer("other last", "conv2d", out_channels=3, kernel=1), layer("other pool", "adaptive_avg_pool", output=1)]),
    "positions": (3, [4, 3, 5], [
        layer("input", "to_tokens"), layer("of input", "positional"), layer("conv", "conv2d", "$input", out_channels=12, kernel=2),
        layer("tokens", "to_tokens"), layer("position", "positional"), layer("wider", "linear", out_features=20),
        layer("turned", "rotary", heads=2), layer("again", "rotary", heads=5), layer("one pixel", "adaptive_avg_pool", "conv", output=1),
        layer("one token", "to_tokens"), layer("unturned", "rotary", heads=6), layer("flat", "flatten"),
        layer("first", "first_token", "again"), layer("both", "concat", "first", "flat"), layer("linear", "linear", out_features=4)]),
    "products": (3, [5, 3, 4], [
        layer("wide a", "conv2d", out_channels=6, kernel=1), layer("a", "tanh"), layer("b", "conv2d", "$input", out_channels=6, kernel=1),
        layer("product", "multiply", "a", "b"), layer("square", "multiply", "product", "product"), layer("pool", "adaptive_avg_pool", "b", output=1),
        layer("squeeze", "conv2d", out_channels=6, kernel=1), layer("gate", "sigmoid"), layer("excited", "multiply", "square", "gate"),
        layer("gate first", "multiply", "gate", "excited", "a", "squeeze"), layer("with input", "multiply", "$input", "$input"),
        layer("gates", "multiply", "gate", "gate"), layer("many", "multiply", "gates", "gate first", *["gate", "a", "gate"] * 2, "gates"),
        layer("tokens", "to_tokens"), layer("wide", "linear", out_features=7), layer("narrow", "linear", "tokens", out_features=7),
        layer("of tokens", "multiply", "wide", "narrow"), layer("untrained", "conv2d", "with input", out_channels=3, kernel=1),
        layer("untrained pool", "adaptive_avg_pool", "$input", output=1), layer("untrained factor", "multiply", "$input", "untrained pool"),
        layer("untrained conv", "conv2d", out_channels=3, kernel=1)]),
    "shared weights": (3, [7], [
        layer("words", "embedding", "$input", entries=23, width=6), layer("other", "embedding", "$input", entries=10, width=6),
        layer("same shape", "embedding", "$input", entries=23, width=6), layer("add", "add", "words", "other", "same shape"),
        layer("norm", "layer_norm"), layer("scores", "tied_linear", out_features=23), layer("narrow", "linear", out_features=6),
        layer("head", "tied_linear", out_features=23), layer("second head", "tied_linear", "norm", out_features=10)]),
    "layer_norm": (3, [5, 7], [
        layer("input", "layer_norm"), layer("wider", "linear", out_features=19), layer("tokens", "layer_norm"),
        layer("first", "first_token"), layer("one", "layer_norm"), layer("last", "linear", out_features=4)]),
    "activations of images": (3, [3, 5, 7], [
        layer("a", "conv2d", out_channels=5, kernel=2), layer("relu", "relu"), layer("b", "conv2d", out_channels=5, kernel=1),
        layer("tanh", "tanh"), layer("c", "conv2d", out_channels=5, kernel=1), layer("gelu", "gelu"),
        layer("d", "conv2d", out_channels=5, kernel=1), layer("silu", "silu"), layer("e", "conv2d", out_channels=5, kernel=1),
        layer("sigmoid", "sigmoid"), layer("f", "conv2d", out_channels=5, kernel=1), layer("dropout", "dropout"), layer("flatten", "flatten")]),
    "activations of a vector": (3, [7], [
        layer("a", "linear", out_features=11), layer("gelu", "gelu"), layer("sigmoid", "sigmoid"), layer("dropout", "dropout"),
        layer("b", "linear", out_features=9), layer("silu", "silu"), layer("tanh", "tanh"), layer("relu", "relu")]),
    "embeddings": (3, [7], [
        layer("words", "embedding", "$input", entries=23, width=5), layer("positions", "embedding", "$input", entries=10, width=5),
        layer("types", "embedding", "$input", entries=2, width=5), layer("add", "add", "words", "positions", "types"),
        layer("dropout", "dropout"), layer("first", "first_token"), layer("linear", "linear", out_features=3)]),
    "attention": (2, [5, 6], [
        *three_of(LINEAR), layer("two heads", "attention", "q", "k", "v", heads=2), layer("itself", "attention", *["two heads"] * 3, heads=1),
        layer("narrow", "attention", "itself", "q", "itself", heads=6), layer("untrained query", "attention", "$input", "narrow", "narrow", heads=3),
        layer("untrained key", "attention", "untrained query", "$input", "v", heads=3),
        layer("untrained value", "attention", "untrained key", "k", "$input", heads=3),
        layer("only value", "attention", "$input", "$input", "untrained value", heads=2), layer("linear", "linear", out_features=4)]),
    "attention of one token": (2, [1, 6], [
        *three_of(LINEAR), layer("one", "attention", "q", "k", "v", heads=2), layer("first", "first_token"), layer("max", "max_over_time", "one"),
        layer("add", "add", "first", "max")]),
    "attention to earlier tokens": (2, [5, 6], [
        *three_of(LINEAR), layer("causal", "attention", "q", "k", "v", heads=3, causal=True), layer("wide", "linear", out_features=24),
        layer("side by side", "attention", heads=4), layer("again", "linear", out_features=18),
        layer("both", "attention", heads=2, causal=True), layer("linear", "linear", out_features=4)]),
    "concat": (2, [3, 5, 7], [
        layer("pool", "max_pool", kernel=3, stride=1, pad=1), layer("a", "conv2d", "$input", out_channels=2, kernel=1),
        layer("b", "conv2d", "$input", out_channels=17, kernel=3, pad=1), layer("three", "concat", "a", "pool", "b"),
        layer("twice", "concat", "three", "a", "three", "$input"), layer("flatten", "flatten"), layer("flat", "flatten", "a"),
        layer("vectors", "concat", "flat", "flatten"), layer("linear", "linear", out_features=3)]),
    "concat of tokens": (2, [4, 3], [
        layer("a", "linear", out_features=5), layer("b", "linear", "$input", out_features=2), layer("three", "concat", "b", "a", "$input"),
        layer("max", "max_over_time")]),
    "readers": (3, [4, 5, 5], [
        layer("a", "conv2d", out_channels=4, kernel=3, pad=1), layer("b", "conv2d", "a", out_channels=4, kernel=1), layer("c", "relu", "a"),
        layer("d", "add", "b", "c", "a"), layer("twice", "add", "d", "d"), layer("nested", "add", "twice", "d", "a", "$input"),
        layer("e", "tanh"), layer("f", "add", "e", "nested"), layer("flatten", "flatten"), layer("pool", "adaptive_avg_pool", "f", output=1),
        layer("view", "flatten"), layer("again", "flatten", "f"), layer("g", "add", "flatten", "again"),
        layer("norm", "layer_norm"), layer("h", "linear", out_features=4), layer("sum", "add", "h", "view")]),
    "views": (3, [6], [
        layer("a", "linear", out_features=5), layer("same", "flatten"), layer("b", "linear", out_features=5), layer("c", "add", "b", "same", "a"),
        layer("last", "flatten")]),
    "pad_shortcut": (2, [3, 7, 6], [
        layer("input", "pad_shortcut", out_channels=4), layer("conv", "conv2d", out_channels=5, kernel=1),
        layer("odd", "pad_shortcut", out_channels=8, stride=2), layer("uneven", "pad_shortcut", out_channels=8, stride=[1, 2]),
        layer("same", "pad_shortcut", out_channels=10, stride=1), layer("flatten", "flatten")]),
    "two heads": (3, [3, 6, 5], [
        layer("a", "conv2d", out_channels=6, kernel=3), layer("relu", "relu"), layer("pixels", "conv2d", out_channels=4, kernel=1),
        layer("flatten", "flatten", "relu"), layer("classes", "linear", out_features=7)]),
    "heads of tokens and of the input": (2, [4, 5], [
        layer("untrained", "relu"), layer("a", "linear", "$input", out_features=3), layer("copy", "add", "a", "a"),
        layer("b", "dropout", "a"), layer("flatten", "flatten", "$input")]),
    "one pixel": (1, [3, 1, 1], [
        layer("conv", "conv2d", out_channels=5, kernel=3, pad=1), layer("pool", "max_pool", kernel=2, stride=2, pad=1), layer("lrn", "lrn"),
        layer("mean", "avg_pool", kernel=1), layer("flatten", "flatten"), layer("linear", "linear", out_features=2)]),
}


def small(name):
    """The model and its batch."""
    batch, shape, layers = SMALL[name]
    read = {other for each in layers for other in each.get("inputs", [])}
    # A layer without inputs reads the one before it.
    read |= {before["name"] for before, each in zip(layers, layers[1:]) if "inputs" not in each}
    outputs = [each["name"] for each in layers if each["name"] not in read]
    return {"format": "model/1", "name": name, "input": shape, "layers": layers, "outputs": outputs}, batch
