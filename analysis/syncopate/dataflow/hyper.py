"""The hyper-parameters that a record names: their defaults, and their values in a replay."""

from syncopate.common.errors import InputError
from syncopate.dataflow.optimisers import OPTIMISERS

# Defaults of what optimisers ask for, where the record's header has none: sim/dataflow/README.md.
DEFAULTS = {"lr": None, "mu": (0.9,), "beta1": (0.9,), "beta2": (0.999,), "epsilon": (1e-8,), "weight_decay": (0.01,), "lambda": (0.04,)}


def divided(factor):
    """("lr", True) of "1/lr", ("lr", False) of "lr"."""
    return factor.removeprefix("1/"), factor.startswith("1/")


def known(record):
    """{name: (number, factors...), or None where it must be given} of all hyper-parameters that a record's lines ask for."""
    asked = {name for function in record.functions if function in OPTIMISERS for name in OPTIMISERS[function].hyper}
    return {name: DEFAULTS[name] for name in sorted(asked)} | record.header["hyper"]


class Hyper:
    """The values of a record's hyper-parameters, by name: hyper["lr"]. `told`: {name: (number, factors...)} of those that are set."""

    def __init__(self, record, told):
        self.record, self.known, self.products = record, known(record), {(): 1.0}
        self.known |= {name: value for name, value in told.items() if name in self.known}

    def __getitem__(self, name):
        found = self.known[name]
        if found is None:
            raise InputError(f'{self.record.path}: line 1: the hyper-parameter "{name}" has no default; give it, as in --set {name}=0.1')
        return found[0] * self.product(tuple(found[1:]))

    def product(self, factors):
        """The product of factors: lr / mu of ("lr", "1/mu")."""
        if factors not in self.products:
            value = 1.0
            for factor in factors:
                name, is_divisor = divided(factor)
                if is_divisor and self[name] == 0:
                    raise InputError(f'{self.record.path}: the record divides by "{name}", which is 0; give another value, as in --set {name}=0.1')
                value = value / self[name] if is_divisor else value * self[name]
            self.products[factors] = value
        return self.products[factors]

    def values(self):
        """{name: value} of all hyper-parameters."""
        return {name: self[name] for name in self.known}
