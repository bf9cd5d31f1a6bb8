"""Telling when a gradient is ready, in every version of PyTorch."""

import torch


def on_gradient(parameter, function):
    """Calls function() whenever a gradient has been added to the parameter's grad. The result has remove()."""
    if hasattr(parameter, "register_post_accumulate_grad_hook"):      # since PyTorch 2.1
        return parameter.register_post_accumulate_grad_hook(lambda _: function())
    return _AccumulateHook(parameter, function)


class _AccumulateHook:
    """A hook on the node of the graph that adds gradients to a parameter's grad; the node lives as long as this."""

    def __init__(self, parameter, function):
        with torch.enable_grad():
            self._node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        self._handle = self._node.register_hook(lambda *_: function())

    def remove(self):
        self._handle.remove()
