"""A training step of a network of torch_models in a number format, as capture trains it."""

import contextlib
import functools

import torch


def make_step(network, options, device):
    """Moves the network to the device, and returns a function that trains it for a step on random numbers. `options` are those of
    torch_profile.py with --model."""
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(options.dtype, torch.float32)
    stored, tf32 = torch.float32 if options.autocast else dtype, options.dtype == "tf32"
    layout = torch.channels_last if options.channels_last and len(network.input) == 3 else torch.contiguous_format
    network.to(device, stored).to(memory_format=layout)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):  # the one normalization that takes 16-bit images with fp32 parameters on a GPU
            module.float()
    inputs = network.random_input(options.batch, device).to(torch.long if network.takes_ids else stored, memory_format=layout)
    labels = network.random_labels(options.batch, device)
    torch.backends.cudnn.benchmark = not options.no_benchmark
    if hasattr(torch.backends.cudnn, "conv"):  # since PyTorch 2.9, which warns of the old way
        for part in (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn):
            part.fp32_precision = "tf32" if tf32 else "ieee"
    else:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    optimizers = {"adam": torch.optim.Adam, "sgd": functools.partial(torch.optim.SGD, momentum=0.9)}
    optimizer = optimizers[options.optimizer or "sgd"](network.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype) if options.autocast else contextlib.nullcontext():
            loss = network.loss(network(inputs), labels)
        loss.backward()
        optimizer.step()
    return step
