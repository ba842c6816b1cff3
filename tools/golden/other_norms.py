"""Tiny networks whose norm layers are not, or not all, batch norm with PyTorch's
epsilon, and traces of methods that adapt them."""
import json

import torch
from torch import nn
from torch.nn import functional as F

from . import network as net, runs, traces


class LayerNormNetwork(nn.Module):
    """Patches, blocks in the manner of ConvNeXt, a last norm layer."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.mix = nn.Conv2d(width, width, 3, padding=1, groups=width)
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            y = self.norm(self.mix(x).permute(0, 2, 3, 1))
            return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)

    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 2, 2)
        self.blocks = nn.Sequential(*[self.Block(width) for _ in range(4)])
        self.last = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 5)

    def forward(self, x):
        x = self.blocks(self.stem((x - .45) / .25))
        return self.fc(self.last(x.mean((2, 3))))


class GroupNormNetwork(nn.Module):
    """Ends in a 1x1 convolution and a mean: no input of a last linear layer."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.conv2, self.norm2 = nn.Conv2d(8, 12, 3, 2, 1), nn.GroupNorm(3, 12)
        self.conv3, self.norm3 = nn.Conv2d(12, 16, 3, 2, 1), nn.GroupNorm(4, 16)
        self.head = nn.Conv2d(16, 5, 1)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1((x - .45) / .25)))
        x = F.relu(self.norm3(self.conv3(F.relu(self.norm2(self.conv2(x))))))
        return self.head(x).mean((2, 3))


class MixedNetwork(nn.Module):
    """Layer and group norm come before batch norm here, as they do not in a
    ModelState; the last layer has no bias."""

    def __init__(self):
        super().__init__()
        self.conv1, self.group = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.conv2, self.batch = nn.Conv2d(8, 12, 3, 2, 1), nn.BatchNorm2d(12, eps=1e-3)
        self.layer = nn.LayerNorm(12)
        self.fc = nn.Linear(12, 5, bias=False)

    def forward(self, x):
        x = F.relu(self.group(self.conv1((x - .45) / .25)))
        x = F.relu(self.batch(self.conv2(x)))
        return self.fc(self.layer(x.mean((2, 3))))


# name -> class, and the layers that SAR and SoTTA do not train
NETWORKS = {"layer_norm": (LayerNormNetwork, "last"),
            "group_norm": (GroupNormNetwork, "norm3"),
            "mixed": (MixedNetwork, "layer")}
METHODS = ("tent", "sar", "sotta")


def train(name):
    torch.manual_seed(5)
    return net.train(NETWORKS[name][0]())


def load(name, file):
    network = NETWORKS[name][0]()
    network.load_state_dict(torch.jit.load(str(file)).state_dict())
    return network.eval()


def trace(name, method, source, stream):
    """One golden: tensors and metadata."""
    options = dict(runs.CLEAN[method])
    if "frozen" in options:
        options["frozen"] = NETWORKS[name][1]
    if "min_confidence" in options:
        options["min_confidence"] = .6
    return traces.trace_of(method, options, source, stream)
