"""The attack of SoTTA's experiments on the tiny network: every other sample of a
window belongs to the attacker. In float64, as it goes by signs of gradients."""
import copy
import json

import torch
from torch.nn import functional as F

from . import images, network as net, runs
from .methods import METHODS
from .methods.common import Batch, Inputs

WINDOWS = 3
OPTIONS = {"attack_eps": .03, "attack_steps": 10, "attack_step_size": 1 / 255}
# name -> method, and whether optimisers keep what trial updates did to them
RUNS = {"bn_stats": ("bn_stats", False), "tent": ("tent", False),
        "tent_traces": ("tent", True)}


class Driver:
    def __init__(self, source, method, keep_traces):
        inputs = Inputs(copy.deepcopy(source).double(), None, None, None,
                        runs.CLEAN[method], None)
        self.method = METHODS[method](inputs)
        self.keep_traces = keep_traces

    def trial(self, pixels):
        """An update on the pixels; what is returned takes it back."""
        network = copy.deepcopy(self.method.network.state_dict())
        optimiser = getattr(self.method, "optimiser", None)
        moments = optimiser and copy.deepcopy(optimiser.state_dict())
        self.method.window(Batch(pixels.detach(), 0))

        def take_back():
            self.method.network.load_state_dict(network)
            if optimiser and not self.keep_traces:
                optimiser.load_state_dict(moments)
        return take_back

    def craft(self, pixels, malicious, labels):
        """The perturbation of the malicious images, and the loss before each
        step."""
        if self.keep_traces:
            self.trial(pixels)()
        targets = ~malicious & (labels >= 0)
        change = torch.zeros_like(pixels[malicious])
        losses = []
        for _ in range(OPTIONS["attack_steps"]):
            leaf = change.clone().requires_grad_()
            seen = pixels.clone()
            seen[malicious] = (pixels[malicious] + leaf).clamp(0, 1)
            take_back = self.trial(seen)
            loss = F.cross_entropy(self.method.network(seen)[targets],
                                   labels[targets])
            uphill = torch.autograd.grad(loss, leaf)[0].sign()
            take_back()
            eps = OPTIONS["attack_eps"]
            change = (change + OPTIONS["attack_step_size"] * uphill
                      ).clamp(-eps, eps)
            losses.append(loss.detach())
        return change, torch.stack(losses)


def attack(name, source, stream):
    """One golden: tensors and metadata."""
    method, keep_traces = RUNS[name]
    driver = Driver(source, method, keep_traces)
    malicious = torch.arange(images.WINDOW) % 2 == 0
    seen = {"perturbation": [], "losses": [], "logits": []}
    for number in range(WINDOWS):
        rows = slice(number * images.WINDOW, (number + 1) * images.WINDOW)
        pixels = net.to_pixels(stream["images"][rows], torch.float64)
        change, losses = driver.craft(pixels, malicious,
                                      stream["labels"][rows])
        pixels[malicious] = (pixels[malicious] + change).clamp(0, 1)
        seen["perturbation"].append(change.float())
        seen["losses"].append(losses)
        step = driver.method.window(Batch(pixels, 0))
        seen["logits"].append(step["logits"])
    tensors = {key: torch.stack(values) for key, values in seen.items()}
    options = {"seed": runs.SEED, "update_interval": images.WINDOW,
               **runs.CLEAN[method]}
    return tensors, {"method": method, "options": json.dumps(options),
                     "attack": json.dumps({**OPTIONS,
                                           "attack_traces": keep_traces})}
