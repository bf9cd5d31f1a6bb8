"""What is captured and profiled, the most valuable first."""

from typing import NamedTuple

DTYPES = ["bf16", "tf32", "fp32", "fp16"]
PROOF = [("resnet50", 32), ("bert_base", 32)]
# As people train today; their launches are a CUDA graph. BERT large has 384 tokens.
COMMON = [("resnet50", 256), ("bert_large", 32)]
TRANSFORMERS = [("gpt2_small", 16), ("llama_7b_block", 1), ("vit_b16", 128)]
MORE_BATCHES = [("llama_7b_block", 8), ("llama_7b_block", 4), ("llama_7b_block", 2), ("resnet50", 128)]
# The networks of the five papers at their batch sizes.
PAPERS = [("resnet50", 32), ("googlenet_bvlc", 64), ("resnet50", 64), ("densenet201", 64), ("resnet152", 128), ("inception_v4", 128, "3x224x224"),
          ("densenet161", 64), ("vgg11", 64), ("alexnet_mxnet", 64), ("resnet20", 128), ("sasgd_cifar10", 64), ("sasgd_nlcf", 1)]
OTHERS = [("bert_base", 32), ("googlenet", 64), ("alexnet", 64)]
SMALL = {"resnet20": 100, "alexnet_mxnet": 100, "alexnet": 100, "sasgd_cifar10": 300, "sasgd_nlcf": 1000}  # iterations to capture
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256]  # of ResNet-50, to see how times grow with the batch
REHEARSAL = [("sasgd_cifar10", 4), ("resnet20", 4)]  # small enough for a processor
ATTENDING = ("bert", "gpt", "llama", "vit")


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
        return "adam" if self.attends else "sgd"

    @property
    def attends(self):
        """Whether the network has attention."""
        return self.model.startswith(ATTENDING)

    @property
    def iterations(self):
        """More for small networks, where launches by the host limit the speed: their times vary more."""
        return SMALL.get(self.model, 30)

    @property
    def graphs(self):
        """Whether spans are those of a CUDA graph: for fp32, the papers' format, they are those of launches one by one."""
        return self.dtype != "fp32"

    @property
    def network(self):
        return f"{self.model}{self.input and '-'}{self.input}-b{self.batch}-{self.dtype}"

    @property
    def name(self):
        return f"{self.kind}:{self.network}"


def proof():
    """Captures beside PyTorch."""
    return [job for dtype in DTYPES[:2] for network in PROOF for kind in ("capture", "profile") for job in of_kind(kind, [network], dtype)]


def common():
    """What people train, in the formats in which they do. Of a network that capture cannot do, the profile remains."""
    transformers = [job for network in TRANSFORMERS for kind in ("capture", "profile") for job in of_kind(kind, [network], "bf16")]
    found = of_kind("capture", COMMON, "bf16") + of_kind("profile", COMMON[:1], "bf16") + transformers + of_kind("capture", COMMON, "tf32")
    found += of_kind("capture", COMMON, "fp16") + of_kind("capture", MORE_BATCHES, "bf16") + of_kind("capture", MORE_BATCHES[-1:], "tf32")
    return found + of_kind("profile", COMMON[1:], "bf16") + of_kind("profile", COMMON[:1], "tf32") + of_kind("profile", COMMON[:1], "fp16")


def papers():
    """The networks of the papers in their format, then in today's."""
    found = of_kind("capture", PAPERS, "fp32") + of_kind("capture", OTHERS[:1], "fp32") + of_kind("profile", PAPERS[:1], "fp32")
    return found + of_kind("capture", PAPERS[1:], "bf16") + of_kind("capture", PAPERS[1:], "tf32")


def jobs(device):
    """In the order in which they should run."""
    if device == "cpu":
        return of_kind("capture", REHEARSAL, "fp32") + of_kind("profile", REHEARSAL, "fp32")
    kinds = ("capture", "profile")
    large = [job for kind in kinds for dtype in ("bf16", "tf32", "fp16") for job in of_kind(kind, TRANSFORMERS + MORE_BATCHES, dtype)]
    rest = [job for kind in kinds for dtype in DTYPES for job in of_kind(kind, PAPERS + OTHERS + COMMON, dtype)]
    growth = [job for dtype in DTYPES for job in of_kind("capture", [("resnet50", batch) for batch in BATCHES], dtype)]
    return list(dict.fromkeys(proof() + common() + papers() + large + rest + growth))


def of_kind(kind, networks, dtype):
    return [Job(kind, model, batch, dtype, *shape) for model, batch, *shape in networks]
