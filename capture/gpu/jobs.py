"""What is captured and profiled, the most valuable first."""

from typing import NamedTuple

DTYPES = ["fp32", "bf16", "tf32", "fp16"]
# The networks of the five papers at their batch sizes.
PAPERS = [("resnet50", 32), ("googlenet_bvlc", 64), ("resnet50", 64), ("densenet201", 64), ("resnet152", 128), ("inception_v4", 128, "3x224x224"),
          ("densenet161", 64), ("vgg11", 64), ("alexnet_mxnet", 64), ("resnet20", 128), ("sasgd_cifar10", 64), ("sasgd_nlcf", 1)]
OTHERS = [("bert_base", 32), ("googlenet", 64), ("alexnet", 64)]
SMALL = {"resnet20": 100, "alexnet_mxnet": 100, "alexnet": 100, "sasgd_cifar10": 300, "sasgd_nlcf": 1000}  # iterations to capture
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256]  # of ResNet-50, to see how times grow with the batch
REHEARSAL = [("sasgd_cifar10", 4), ("resnet20", 4)]  # small enough for a processor


class Job(NamedTuple):
    """A network in training; the kind of the job is "capture" or "profile"."""
    kind: str
    model: str
    batch: int
    dtype: str
    input: str = ""  # shape of a sample, where it is not the model file's

    @property
    def optimizer(self):
        """The optimizer that is common for the network."""
        return "adam" if self.model.startswith("bert") else "sgd"

    @property
    def iterations(self):
        """More for small networks, where launches by the host limit the speed: their times vary more."""
        return SMALL.get(self.model, 30)

    @property
    def network(self):
        return f"{self.model}{self.input and '-'}{self.input}-b{self.batch}-{self.dtype}"

    @property
    def name(self):
        return f"{self.kind}:{self.network}"


def jobs(device):
    """In the order in which they should run."""
    if device == "cpu":
        return of_kind("capture", REHEARSAL, "fp32") + of_kind("profile", REHEARSAL, "fp32")
    proof = [job for dtype in DTYPES[:2] for kind in ("capture", "profile") for job in of_kind(kind, PAPERS[:1], dtype)]
    first = proof + of_kind("capture", PAPERS[1:], "fp32") + of_kind("capture", OTHERS[:1], "fp32")
    bf16 = of_kind("capture", PAPERS + OTHERS[:1], "bf16") + of_kind("profile", OTHERS[:1], "bf16")
    compared = of_kind("profile", PAPERS[1:2] + PAPERS[3:] + OTHERS, "fp32")
    rest = [job for dtype in DTYPES[2:] for job in of_kind("capture", PAPERS + OTHERS[:1], dtype)]
    rest += [job for dtype in DTYPES for job in of_kind("capture", OTHERS[1:], dtype)]
    growth = [job for dtype in DTYPES for job in of_kind("capture", [("resnet50", batch) for batch in BATCHES], dtype)]
    more = [job for dtype in DTYPES for job in of_kind("profile", PAPERS + OTHERS, dtype)]
    return list(dict.fromkeys(first + bf16 + compared + rest + growth + more))


def of_kind(kind, networks, dtype):
    return [Job(kind, model, batch, dtype, *shape) for model, batch, *shape in networks]
