"""Records of dataflow, written straight from the format's page (sim/dataflow/README.md), for the tests of their replay."""

import gzip
import json


class Writer:
    """A record that grows: each method adds a line and returns the value that it makes."""

    def __init__(self, schedule, workers, parts=1, optimizer="sgd", hyper=None, point=0, labels=None):
        self.next, self.lines, self.computed, self.parts = 0, [], 0, parts
        self.clock = [0.0] * workers
        self.header = {
            "format": "dataflow/1", "program": "0.0", "point": point, "labels": labels or {}, "schedule": schedule, "optimizer": optimizer,
            "workers": workers, "samples": 8, "parts": [{"name": f"part {part}", "bytes": 4 * (part + 1)} for part in range(parts)],
            "initial": [], "zeros": [], "zero_parts": [], "hyper": {"lr": None} | (hyper or {}), "operations": 0, "end_s": 0.0}
        self.header["initial"] = [self.new() for _ in range(parts)]
        self.initial = self.header["initial"] if parts > 1 else self.header["initial"][0]

    def new(self):
        self.next += 1
        return self.next - 1

    def zero(self, part=0):
        self.header["zeros"].append(self.new())
        self.header["zero_parts"].append(part)
        return self.next - 1

    def add(self, **line):
        self.lines.append(line)
        return line.get("v")

    def of_part(self, part):
        return {"part": part} if self.parts > 1 else {}

    def gradient(self, x, w, k, seconds=1.0):
        self.clock[w] += seconds
        self.computed += 1
        v = [self.new() for _ in range(self.parts)] if self.parts > 1 else self.new()
        return self.add(o="G", v=v, x=x, w=w, k=k, t=self.clock[w])

    def linear(self, *of, part=0):
        return self.add(o="L", v=self.new(), of=[list(term) for term in of], **self.of_part(part))

    def step(self, function, of, makes, part=0):
        return self.add(o="S", v=[self.new() for _ in range(makes)], f=function, of=of, **self.of_part(part))

    def compress(self, function, of, part=0, **keys):
        return self.add(o="C", v=[self.new(), self.new()], f=function, of=of, **keys, **self.of_part(part))

    def evaluate(self, x, w):
        self.add(o="E", x=x, w=w, t=self.clock[w], n=self.computed)

    def wait(self):
        """All workers wait for the slowest."""
        self.clock = [max(self.clock)] * len(self.clock)

    def text(self):
        self.header.update(operations=len(self.lines), end_s=max(self.clock))
        return "".join(json.dumps(line) + "\n" for line in (self.header, *self.lines))

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = self.text().encode()
        path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
        return path


def mean(values):
    return [(1 / len(values), value) for value in values]


def sgd(x, gradient):
    return (1, x), (-1, gradient, "lr")


def s_sgd(workers=4, steps=10, name="s-sgd", seconds=1.0, **more):
    out = Writer(name, workers, **more)
    x = out.initial
    for k in range(steps):
        gradients = [out.gradient(x, w, k, seconds) for w in range(workers)]
        x = out.linear(*sgd(x, out.linear(*mean(gradients))))
        out.wait()
        for w in range(workers):
            out.evaluate(x, w)
    return out


def ps_sgd(workers=4, steps=10, **more):
    """The same arithmetic, with the mean taken by the server."""
    out = Writer("ps-sgd", workers, **more)
    x = out.initial
    for k in range(steps):
        gradients = [out.gradient(x, w, k) for w in range(workers)]
        x = out.linear((1, x), *((-1 / workers, gradient, "lr") for gradient in gradients))
        out.wait()
        for w in range(workers):
            out.evaluate(x, w)
    return out


def asgd(workers=4, steps=10, parts=1, **more):
    """One worker after the other, the last one at a third of the speed."""
    out = Writer("asgd", workers, parts=parts, **more)
    x = out.header["initial"]
    seen, done = [x] * workers, [0] * workers
    whole = (lambda values: values) if parts > 1 else (lambda values: values[0])
    while sum(done) < workers * steps:
        w = min(range(workers), key=lambda one: out.clock[one])
        gradient = out.gradient(whole(seen[w]), w, done[w], 3.0 if w == workers - 1 else 1.0)
        x = [out.linear((1, value), (-1 / workers, gradient[part] if parts > 1 else gradient, "lr"), part=part) for part, value in enumerate(x)]
        seen[w] = x
        done[w] += 1
        out.evaluate(whole(x), w)
    return out


def dts(workers=4, steps=12, delay=2, optimizer="sgd", **more):
    """Period 1: what is launched in a step arrives `delay` steps later; with momentum where that is the optimiser."""
    hyper = {"mu": [0.9]} if optimizer == "momentum" else {}
    out = Writer("dts", workers, optimizer=optimizer, hyper=hyper, **more)
    models, launched = [out.initial] * workers, []
    states = [out.zero() if optimizer == "momentum" else None for _ in range(workers)]
    for k in range(steps):
        gradients = [out.gradient(models[w], w, k) for w in range(workers)]
        launched.append(gradients)
        bar = out.linear(*mean(launched[k - delay])) if k >= delay else None
        for w in range(workers):
            gradient = gradients[w] if bar is None else out.linear((1, gradients[w]), (1, bar), (-1, launched[k - delay][w]))
            if optimizer == "momentum":
                models[w], states[w] = out.step("momentum", [models[w], states[w], gradient], 2)
            else:
                models[w] = out.linear(*sgd(models[w], gradient))
            out.evaluate(models[w], w)
    return out


def sasgd(workers=4, steps=12, interval=3, **more):
    out = Writer("sasgd", workers, hyper={"gamma_p": [1 / workers, "lr"]}, **more)
    models, base, local = [out.initial] * workers, out.initial, []
    for k in range(steps):
        gradients = [out.gradient(models[w], w, k) for w in range(workers)]
        local += gradients
        if (k + 1) % interval:
            models = [out.linear(*sgd(model, gradient)) for model, gradient in zip(models, gradients)]
        else:
            base = out.linear((1, base), *((-1, gradient, "gamma_p") for gradient in local))
            models, local = [base] * workers, []
        for w in range(workers):
            out.evaluate(models[w], w)
    return out


def local_sgd(workers=4, steps=12, interval=3, **more):
    out = Writer("local-sgd", workers, **more)
    models = [out.initial] * workers
    for k in range(steps):
        for w in range(workers):
            models[w] = out.linear(*sgd(models[w], out.gradient(models[w], w, k)))
        if (k + 1) % interval == 0:
            models = [out.linear(*mean(models))] * workers
        for w in range(workers):
            out.evaluate(models[w], w)
    return out


def compressed(function, workers=4, steps=10, parts=1, **keys):
    """s-sgd of compressed gradients, part by part; `keys` may be functions of the step."""
    out = Writer("s-sgd", workers, parts=parts)
    x = out.header["initial"]
    residuals = [[out.zero(part) for part in range(parts)] for _ in range(workers)]
    for k in range(steps):
        whole = x if parts > 1 else x[0]
        gradients = [out.gradient(whole, w, k) for w in range(workers)]
        sent = [[] for _ in range(parts)]
        for w in range(workers):
            for part in range(parts):
                message, residuals[w][part] = out.compress(function, [gradients[w][part] if parts > 1 else gradients[w], residuals[w][part]], part=part,
                                                           **{key: value(k) if callable(value) else value for key, value in keys.items()})
                sent[part].append(message)
        x = [out.linear(*sgd(value, out.linear(*mean(sent[part]), part=part)), part=part) for part, value in enumerate(x)]
        out.wait()
        out.evaluate(x if parts > 1 else x[0], 0)
    return out
