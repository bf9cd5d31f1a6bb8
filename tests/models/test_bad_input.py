"""Is every bad model and device profile refused with file, place, rule and value, before anything is written?"""
import json
import unittest

from support import Case

CONV = {"name": "conv", "op": "conv2d", "out_channels": 4, "kernel": 3}
FLAT = {"name": "flat", "op": "flatten"}
FC = {"name": "fc", "op": "linear", "out_features": 2}
OPS = ("conv2d, conv1d, conv_transpose2d, linear, tied_linear, embedding, attention, batch_norm, layer_norm, rms_norm, lrn, group_norm, relu, tanh, "
       "gelu, silu, sigmoid, dropout, max_pool, avg_pool, adaptive_avg_pool, max_over_time, upsample, to_tokens, positional, rotary, first_token, "
       "flatten, add, multiply, concat, pad_shortcut")


def model(*layers, **changes):
    return {"format": "model/1", "name": "m", "input": [3, 8, 8], "layers": list(layers) or [CONV, FLAT, FC]} | changes


def without(content, *keys):
    return {key: value for key, value in content.items() if key not in keys}


def block(*layers, **changes):
    return {"b": {"layers": list(layers) or [CONV]} | changes}


def profile(**changes):
    cost = {"forward": {"macs_per_s": 1e12}, "backward": {"bandwidth": "100GBps"}}
    return {"format": "device/1", "name": "d", "kind": "gpu", "source": "made for a test", "dtype": "fp32", "costs": {"others": cost}, "error": "unknown"} | changes


class BadModel(Case):
    def test_one_row_per_rule(self):
        window = "a window of {} does not fit into the input's {}{}; make the kernel smaller or pad more"
        use = {"name": "use", "block": "b"}
        table = [
            (without(model(), "format"), '/: the required key "format" is missing'),
            (without(model(), "name"), '/: the required key "name" is missing'),
            (without(model(), "input"), '/: the required key "input" is missing'),
            (without(model(), "layers"), '/: the required key "layers" is missing'),
            (model(layer=[]), '/layer: unknown key "layer"; did you mean "layers"?'),
            (model(name=3), "/name: expected a string that is not empty, got 3"),
            (model(input=[]), "/input: expected a list that is not empty, got []"),
            (model(input=[3, 0, 8]), "/input/1: expected an integer >= 1, got 0"),
            (model(input=[3, -8, 8]), "/input/1: expected an integer >= 1, got -8"),
            (model(input=[3, 1e300, 8]), "/input/1: expected an integer <= 1000000000, got 1e+300"),
            (model(input=[32, 3, 8, 8]), "/input: expected [channels, height, width], [tokens, width] or [tokens], without the batch, got [32,3,8,8]"),
            (model(input=[1000000000, 1000000000]), "/input: a tensor of 1000000000x1000000000 elements, more than 1e15"),
            (model(layers=[]), "/layers: expected a list that is not empty, got []"),
            (model(layers={}), "/layers: expected a list that is not empty, got {}"),
            (model("relu"), '/layers/0: expected an object such as {"name": "relu1", "op": "relu"}, got "relu"'),
            (model(without(CONV, "name")), '/layers/0: the required key "name" is missing'),
            (model(without(CONV, "op")), '/layers/0: the required key "op" is missing (layer "conv")'),
            (model(CONV | {"op": "conv"}), f'/layers/0/op: expected one of {OPS}, got "conv"; did you mean "conv2d"? (layer "conv")'),
            (model(CONV | {"op": "warp"}), f'/layers/0/op: expected one of {OPS}, got "warp" (layer "conv")'),
            (model(without(CONV, "kernel")), '/layers/0: the required key "kernel" is missing (layer "conv")'),
            (model(CONV | {"kernal": 1}), '/layers/0/kernal: unknown key "kernal"; did you mean "kernel"? (layer "conv")'),
            (model(CONV | {"out_channels": 0}), '/layers/0/out_channels: expected an integer >= 1, got 0 (layer "conv")'),
            (model(CONV | {"out_channels": -4}), '/layers/0/out_channels: expected an integer >= 1, got -4 (layer "conv")'),
            (model(CONV | {"out_channels": "4"}), '/layers/0/out_channels: expected an integer >= 1, got "4" (layer "conv")'),
            (model(CONV | {"kernel": [3]}), '/layers/0/kernel: expected a number or a list [height, width], got [3] (layer "conv")'),
            (model(CONV | {"kernel": []}), '/layers/0/kernel: expected a list that is not empty, got [] (layer "conv")'),
            (model(CONV | {"stride": 0}), '/layers/0/stride: expected an integer >= 1, got 0 (layer "conv")'),
            (model(CONV | {"pad": -1}), '/layers/0/pad: expected an integer >= 0, got -1 (layer "conv")'),
            (model(CONV | {"bias": 1}), '/layers/0/bias: expected true or false, got 1 (layer "conv")'),
            (model(CONV | {"groups": 2}),
             '/layers/0/groups: expected a divisor of the input\'s 3 channels and of the 4 out_channels, got 2 (layer "conv")'),
            (model(CONV | {"kernel": 9}), "/layers/0: " + window.format(9, 8, "") + ' (layer "conv")'),
            (model(CONV | {"kernel": 11, "pad": 1}), "/layers/0: " + window.format(11, 8, " padded by 1 on each side") + ' (layer "conv")'),
            (model({"name": "pool", "op": "max_pool", "kernel": 2, "pad": 2}), '/layers/0/pad: expected at most half of the kernel, got 2 (layer "pool")'),
            (model(FC), '/layers/0: the input\'s shape must be [n] or [tokens, width], got [3, 8, 8]; put a flatten before it (layer "fc")'),
            (model(FLAT, CONV), '/layers/1: the input\'s shape must be [channels, height, width], got [192] (layer "conv")'),
            (model({"name": "e", "op": "embedding", "entries": 5, "width": 4}), '/layers/0: the input\'s shape must be [tokens], got [3, 8, 8] (layer "e")'),
            (model(CONV | {"pad": 1}, {"name": "sum", "op": "add", "inputs": ["$input", "conv"]}),
             '/layers/1: the inputs\' shapes must be equal, got [3, 8, 8] and [4, 8, 8] (layer "sum")'),
            (model(CONV, {"name": "join", "op": "concat", "inputs": ["$input", "conv"]}),
             '/layers/1: the inputs\' shapes must be equal but for their channels, got [3, 8, 8] and [4, 6, 6] (layer "join")'),
            (model({"name": "sum", "op": "add"}), '/layers/0: this op takes two inputs or more, got 1 (layer "sum")'),
            (model(CONV, {"name": "r", "op": "relu", "inputs": ["conv", "$input"]}), '/layers/1: this op takes one input, got 2 (layer "r")'),
            (model(CONV, {"name": "r", "op": "relu", "inputs": []}), "/layers/1/inputs: expected a list that is not empty, got []"),
            (model({"name": "a", "op": "attention", "heads": 4}, input=[4, 6]),
             '/layers/0/heads: expected a divisor of the width 2, got 4 (layer "a")'),
            (model({"name": "a", "op": "attention", "heads": 2, "causal": 1}, input=[4, 6]),
             '/layers/0/causal: expected true or false, got 1 (layer "a")'),
            (model({"name": "a", "op": "attention", "heads": 2}, input=[4, 8]),
             '/layers/0: attention takes query, key and value of one shape [tokens, width], or the three side by side, got [4, 8] (layer "a")'),
            (model({"name": "a", "op": "attention", "heads": 2, "inputs": ["$input"] * 2}, input=[4, 6]),
             '/layers/0: attention takes query, key and value of one shape [tokens, width], or the three side by side, got [4, 6] and [4, 6] (layer "a")'),
            (model({"name": "r", "op": "rotary", "heads": 2}, input=[4, 6]),
             '/layers/0/heads: expected a divisor of the width 6 that gives each head an even width, got 2 (layer "r")'),
            (model({"name": "e", "op": "embedding", "entries": 5, "width": 4}, {"name": "t", "op": "tied_linear", "out_features": 6}, input=[3]),
             '/layers/1: no embedding before it has 6 entries of width 4 (layer "t")'),
            (model({"name": "t", "op": "tied_linear", "out_features": 6}),
             '/layers/0: the input\'s shape must be [tokens, width], got [3, 8, 8] (layer "t")'),
            (model({"name": "n", "op": "rms_norm"}),
             '/layers/0: the input\'s shape must be [n] or [tokens, width], got [3, 8, 8]; put a to_tokens before it (layer "n")'),
            (model({"name": "a", "op": "attention", "heads": 4, "inputs": ["$input"] * 3}, input=[4, 6]),
             '/layers/0/heads: expected a divisor of the width 6, got 4 (layer "a")'),
            (model({"name": "s", "op": "pad_shortcut", "out_channels": 2}), '/layers/0/out_channels: expected at least the input\'s 3 channels, got 2 (layer "s")'),
            (model(CONV | {"out_channels": 1000000000, "kernel": 1}, {"name": "c2", "op": "conv2d", "out_channels": 1000000000, "kernel": 1}),
             '/layers/1: a tensor of 1000000000x1000000000x1x1 elements, more than 1e15 (layer "c2")'),
            (model({"name": "n", "op": "layer_norm"}),
             '/layers/0: the input\'s shape must be [n] or [tokens, width], got [3, 8, 8]; put a to_tokens before it (layer "n")'),
            (model({"name": "n", "op": "group_norm", "groups": 2}), '/layers/0/groups: expected a divisor of the input\'s 3 channels, got 2 (layer "n")'),
            (model({"name": "n", "op": "lrn"}, input=[3]), '/layers/0: the input\'s shape must be [channels, height, width], got [3] (layer "n")'),
            (model(CONV, {"name": "m", "op": "multiply", "inputs": ["$input", "conv"]}),
             '/layers/1: the inputs\' shapes must be equal, or [channels, 1, 1] for a factor per channel, got [3, 8, 8] and [4, 6, 6] (layer "m")'),
            (model(CONV | {"op": "conv_transpose2d", "kernel": 1, "pad": 4}),
             "/layers/0: padding leaves nothing of the input's 8; pad less (layer \"conv\")"),
            (model({"name": "u", "op": "upsample", "scale": 0}), '/layers/0/scale: expected an integer >= 1, got 0 (layer "u")'),
            (model(CONV | {"out_channels": 1000000000, "kernel": 1, "pad": 1000000000}),
             '/layers/0: a tensor of 1000000000x2000000008x2000000008 elements, more than 1e15 (layer "conv")'),
            (model(CONV | {"name": "$input"}), '/layers/0/name: names that begin with "$" are inputs and parameters; rename "$input"'),
            (model(without(CONV, "out_channels") | {"out_chanels": 4}),
             '/layers/0: the required key "out_channels" is missing; is "out_chanels" a misspelling of it? (layer "conv")'),
            (model(FLAT), "/layers: no layer has parameters: there is nothing to train"),
            # The graph
            (model(CONV, CONV), '/layers/1: two layers are named "conv"'),
            (model(CONV, FLAT | {"inputs": ["cnov"]}, FC), '/layers/1: layer "flat" reads "cnov", which does not exist; did you mean "conv"?'),
            (model(CONV | {"inputs": ["conv"]}, FLAT, FC), "/layers/0: layers read each other in a cycle: conv -> conv"),
            (model(CONV | {"inputs": ["r2"]}, {"name": "r1", "op": "relu"}, {"name": "r2", "op": "relu"}, FLAT, FC),
             "/layers/0: layers read each other in a cycle: conv -> r1 -> r2 -> conv"),
            (model(CONV, FLAT | {"inputs": ["r"]}, {"name": "r", "op": "relu", "inputs": ["conv"]}, FC | {"inputs": ["flat"]}),
             '/layers/1: layers go in the order of forward, but "flat" reads "r", which comes after it; move it there'),
            (model(CONV, {"name": "lost", "op": "relu"}, FLAT | {"inputs": ["conv"]}, FC),
             '/layers/1: no layer reads "lost"; name it in another\'s "inputs" or in the model\'s "outputs"'),
            (model(outputs=["fx"]), '/outputs/0: no layer is named "fx"; did you mean "fc"?'),
            (model(outputs=[]), "/outputs: expected a list that is not empty, got []"),
            # Blocks
            (model(use, FLAT, FC), '/layers/0/block: the model has no "blocks"; define this block there'),
            (model(use | {"block": "c"}, FLAT, FC, blocks=block()), '/layers/0/block: expected one of b, got "c"'),
            (model(blocks=block()), '/blocks/b/layers: no layer uses the block "b"; remove it'),
            (model(use, FLAT, FC, blocks=block(parameters={"out": None})), '/layers/0: the block "b" needs the parameter "out"'),
            (model(use | {"width": 3}, FLAT, FC, blocks=block(parameters={"out": 3})), '/layers/0/width: unknown key "width"; known here: inputs, block, name, repeat, out'),
            (model(use, FLAT, FC, blocks=block(CONV | {"out_channels": "$width"}, parameters={"out": 3})),
             '/blocks/b/layers/0/out_channels: the block has no parameter "width"; it has $out'),
            (model(CONV | {"kernel": "$k"}), '/layers/0/kernel: "$k" is a parameter, but only layers in blocks have parameters'),
            (model(use, FLAT, FC, blocks=block(parameters={"op": 1})), '/blocks/b/parameters/op: "op" is a key of every layer; choose another name'),
            (model(use, FLAT, FC, blocks=block({"name": "again", "block": "b"})), "/blocks/b/layers/0/block: blocks contain each other: b -> b"),
            (model(use | {"block": "b0"}, FLAT, FC, blocks={f"b{i}": {"layers": [{"name": "n", "block": f"b{i + 1}"}]} for i in range(200)} | {"b200": {"layers": [CONV]}}),
             "/blocks/b99/layers/0/block: blocks are nested deeper than 100 levels"),
            (model(CONV, {"name": "r", "op": "relu"}, use | {"inputs": ["conv", "r"]}, FLAT, FC, blocks=block()),
             "/layers/2: a block takes one input, got 2; put an add or a concat before it"),
            (model(use, FLAT, FC, blocks=block(CONV | {"kernel": 9})), "/blocks/b/layers/0: " + window.format(9, 8, "") + ' (layer "use.conv")'),
            (model(CONV | {"repeat": [1, 3]}, FLAT, FC), '/layers/0/name: a repeated layer\'s name needs one "#" for the number, got "conv"'),
            (model(CONV | {"name": "c#"}, FLAT, FC), '/layers/0/name: "#" stands for the number of a repeated layer; add "repeat" or rename "c#"'),
            (model(CONV | {"name": "c#", "repeat": [3, 1]}, FLAT, FC), "/layers/0/repeat/1: expected an integer >= 3, got 1"),
            (model(CONV | {"name": "c#", "repeat": [1]}, FLAT, FC), "/layers/0/repeat: expected two numbers, [first, last], got [1]"),
            (model(CONV | {"name": "c#", "repeat": [1, 1000000000]}, FLAT, FC), "/layers/0/repeat/1: expected an integer <= 10000, got 1000000000"),
            (model(use | {"name": "u#", "repeat": [1, 9999]}, FLAT, FC, blocks=block({"name": "r#", "op": "relu", "repeat": [1, 99]})),
             '/blocks/b/layers/0: more than 100000 layers; lower "repeat"'),
        ]
        for content, message in table:
            with self.subTest(message):
                self.write("m.json", content)
                done = self.simctl("show", "m.json")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: m.json: {message}\n"))

    def test_text_that_is_no_json(self):
        whole = json.dumps(model())
        table = [
            ("", "not valid JSON at line 1, column 1: the file is empty"),
            (whole[:-20], "not valid JSON at line 1, column"),
            (whole.replace('"kernel": 3', '"kernel": NaN'), "NaN and Infinity are not JSON; give a finite number"),
            (whole.replace('"kernel": 3', '"kernel": 3, "kernel": 5'), '/layers/0: the key "kernel" appears twice; remove one of them'),
        ]
        for text, message in table:
            with self.subTest(message):
                self.write("m.json", text)
                done = self.simctl("show", "m.json")
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)


class BadProfile(Case):
    def test_one_row_per_rule(self):
        bandwidth = 'expected bytes/second from 1 to 1e18 or a string such as "10Gbps" (bits) or "12GBps" (bytes)'
        forward = {"forward": {}, "backward": {}}
        table = [
            (without(profile(), "format"), '/: the required key "format" is missing'),
            (without(profile(), "source"), '/: the required key "source" is missing'),
            (without(profile(), "error"), '/: the required key "error" is missing'),
            (profile(kind="tpu"), '/kind: expected one of gpu, cpu, got "tpu"; did you mean "gpu"?'),
            (profile(dtype="fp8"), '/dtype: expected one of fp32, tf32, fp16, bf16, fp64, got "fp8"; did you mean "fp32"?'),
            (profile(gpus=0), "/gpus: expected an integer >= 1, got 0"),
            (profile(gpus=3), "/gpus: 3 GPUs share a worker's batch evenly, but the batch is 8; choose a multiple"),
            (profile(cost={}), '/cost: unknown key "cost"; did you mean "costs"?'),
            (profile(costs={}), '/costs: no cost for convolution_3x3 layers, such as "conv" of m; add "convolution_3x3" or "others"'),
            (profile(costs={"convolutions": forward}), '/costs/convolutions: unknown key "convolutions"; did you mean "convolution"?'),
            (profile(costs={"others": {"forward": {}}}), '/costs/others: the required key "backward" is missing'),
            (profile(costs={"others": forward | {"forward": {"launch_s": -1}}}), "/costs/others/forward/launch_s: expected a number >= 0, got -1"),
            (profile(costs={"others": forward | {"forward": {"macs_per_s": 0}}}), "/costs/others/forward/macs_per_s: expected a number > 0, got 0"),
            (profile(costs={"others": forward | {"forward": {"bandwidth": 0}}}), f"/costs/others/forward/bandwidth: {bandwidth}, got 0"),
            (profile(costs={"others": forward | {"forward": {"bandwith": 1}}}),
             '/costs/others/forward/bandwith: unknown key "bandwith"; did you mean "bandwidth"?'),
            (profile(error=0.1), '/error: expected "unknown" or a list such as [{"against": "...", "backward": 0.03}], got 0.1'),
            (profile(error=[]), "/error: expected a list that is not empty, got []"),
            (profile(error=[{"backward": 0.1}]), '/error/0: the required key "against" is missing'),
            (profile(error=[{"against": "x", "backward": -2}]), "/error/0/backward: expected a number >= -1, got -2"),
        ]
        self.write("m.json", model())
        for content, message in table:
            with self.subTest(message):
                self.write("d.json", content)
                done = self.simctl("trace", "synth", "m.json", "--device", "d.json", "--batch", "8", "-o", "out/t.json")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: d.json: {message}\n"))
                self.assertFalse((self.folder / "out").exists())

    def test_files_that_are_not_there_or_not_writable(self):
        self.write("m.json", model())
        self.write("d.json", profile())
        synth = ["trace", "synth", "m.json", "--device", "d.json", "--batch", "8", "-o"]
        done = self.simctl(*synth[:4], "gone.json", *synth[5:], "t.json")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: gone.json: no such file\n"))
        done = self.simctl(*synth, "d.json/t.json")
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: d.json: cannot be used as an output folder: Not a directory; choose another with -o\n"))


if __name__ == "__main__":
    unittest.main()
