"""What the methods share. A method is an object with `window(batch)`, which
predicts, then adapts, and returns what it did as a dictionary of tensors."""
from dataclasses import dataclass

import torch

from .. import images, network as net
from ..sharpness import gradient_norm


@dataclass
class Batch:
    """One window of the stream."""
    pixels: torch.Tensor  # [16, 3, 16, 16] in [0, 1]
    first: int            # the place of its first image in the stream


@dataclass
class Inputs:
    """What a method starts from."""
    network: torch.nn.Module   # the source model, its own copy
    stream: torch.Tensor       # all pixels: memories hold places in it
    fisher_clean: torch.Tensor
    fisher_noise: torch.Tensor
    options: dict
    rng: object                # the root of the method's random streams


class Method:
    def __init__(self, inputs):
        self.network = inputs.network
        self.options = inputs.options
        self.margins = []  # how close each decision came to its threshold

    def constants(self):
        """What is recorded once."""
        return {}

    def reaches(self, values, threshold):
        """values >= threshold, and notes how close it was."""
        self.margins.append((values - threshold).abs().min().item())
        return values >= threshold


def train_norms(network):
    """Gradients for the scales and shifts of all norm layers, only."""
    network.requires_grad_(False)
    for parameter in net.norm_parameters(network):
        parameter.requires_grad_(True)


def norm_state(network):
    state = {"affine": net.affine(network)}
    layers = net.batch_norms(network)
    if layers and layers[0].running_mean is not None:
        state["running_mean"] = net.running_mean(network)
        state["running_var"] = net.running_var(network)
    return state


def plain_step(loss, parameters, optimiser):
    """One ordinary step; returns what is recorded of it."""
    optimiser.zero_grad()
    loss.backward()
    norm = gradient_norm(parameters)
    optimiser.step()
    return {"loss": loss.detach(), "grad_norm": norm}


def no_step(*more):
    return {name: torch.tensor(float("nan"))
            for name in ("loss", "grad_norm") + more}


def all_samples(value):
    return torch.full((images.WINDOW,), value, dtype=torch.uint8)


def padded(values, capacity):
    """A list as int64, filled up with -1."""
    return torch.tensor(values + [-1] * (capacity - len(values)))
