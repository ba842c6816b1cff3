#!/usr/bin/python3
"""Writes tests/golden/torchscript/: the tiny network of the goldens
(tests/golden/methods/network.safetensors) as TorchScript, scripted and traced,
networks with other norm layers, one with PyTorch's fused attention and what it
gives, and networks that cannot be adapted. Tested with PyTorch 1.13."""
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

from golden import network, other_norms, safetensors

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden" / "torchscript"


class Scriptable(nn.Module):
    """The same network in what TorchScript can compile: constants as buffers,
    a shortcut that is a module or the identity."""

    def __init__(self, tiny):
        super().__init__()
        self.register_buffer("mean", torch.tensor(network.MEAN).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(network.STD).view(3, 1, 1))
        self.conv1, self.bn1, self.fc = tiny.conv1, tiny.bn1, tiny.fc
        for stage in ("layer1", "layer2", "layer3", "layer4"):
            setattr(self, stage, nn.Sequential(Block(getattr(tiny, stage)[0])))

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1((x - self.mean) / self.std)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.conv1, self.bn1 = block.conv1, block.bn1
        self.conv2, self.bn2 = block.conv2, block.bn2
        self.downsample = block.downsample or nn.Identity()

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + self.downsample(x), inplace=True)


def without_norm():
    return nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Flatten(),
                         nn.Linear(2 * 14 * 14, 5))


def without_linear():
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten())


def without_averages():
    return nn.Sequential(nn.Conv2d(3, 2, 3),
                         nn.BatchNorm2d(2, track_running_stats=False),
                         nn.Flatten(), nn.Linear(2 * 14 * 14, 5))


class Attention(nn.Module):
    """A vision transformer of one block for images of 16 x 16."""

    def __init__(self, width=12):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.places = nn.Parameter(torch.randn(4, width))
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.last = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.fc(self.last(x).mean(1))


def write_attention():
    """Traced without gradients, it holds an operator that has none; logits and the
    gradient of the mean entropy are from operators that do."""
    torch.manual_seed(1)
    net = Attention().eval()
    for norm in (net.norm, net.last):
        nn.init.uniform_(norm.weight, .5, 1.5)
        nn.init.normal_(norm.bias)
    nn.init.normal_(net.attention.in_proj_bias)
    images = torch.rand(6, 3, 16, 16)
    with torch.no_grad():
        traced = torch.jit.trace(net, images[:2], check_trace=False)
    assert "_native_multi_head_attention" in str(traced.inlined_graph)
    traced.save(str(FOLDER / "attention.pt"))
    logits = net(images)
    affine = [net.norm.weight, net.norm.bias, net.last.weight, net.last.bias]
    gradients = torch.autograd.grad(
        -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean(), affine)
    safetensors.write(FOLDER / "attention.safetensors",
                      {"images": images, "logits": logits,
                       "gradient": torch.cat(gradients)}, {})


def main():
    torch.manual_seed(0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    tiny = network.load(ROOT / "tests/golden/methods/network.safetensors")
    # In training mode: the reader must not depend on the mode it was saved in.
    torch.jit.script(Scriptable(tiny).train()).save(
        str(FOLDER / "scripted.pt"))
    torch.jit.trace(Scriptable(tiny).eval(), torch.rand(2, 3, 16, 16)).save(
        str(FOLDER / "traced.pt"))
    for name in other_norms.NETWORKS:
        torch.jit.trace(other_norms.train(name).eval(),
                        torch.rand(2, 3, 16, 16)).save(
            str(FOLDER / f"{name}.pt"))
    write_attention()
    for make in (without_norm, without_linear, without_averages):
        torch.jit.script(make()).save(str(FOLDER / f"{make.__name__}.pt"))


if __name__ == "__main__":
    main()
