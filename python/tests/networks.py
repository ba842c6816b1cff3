"""Networks, models and images that the tests share."""
import json
import os
import pathlib
import struct

import numpy as np
import torch
from torch import nn

import sotta

ROOT = pathlib.Path(os.environ["SOTTA_ROOT"])
WEIGHTS = ROOT / "models/fashion_resnet8.safetensors"
MEAN, STD = [0.286], [0.353]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet8(nn.Module):
    """The network of models/fashion_resnet8.safetensors, in PyTorch's own modules."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, 1))
        self.layer2 = nn.Sequential(Block(16, 32, 2))
        self.layer3 = nn.Sequential(Block(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "U8": np.uint8}
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            array = np.frombuffer(data[begin:end], types[entry["dtype"]])
            tensors[name] = torch.from_numpy(array.copy()).reshape(entry["shape"])
    return tensors


def trained():
    net = ResNet8()
    tensors = {name: tensor.float() for name, tensor in read_safetensors(WEIGHTS).items()}
    net.load_state_dict(tensors, strict=False)
    return net


class Small(nn.Module):
    """A network that only LibTorch runs."""

    def __init__(self, norm=nn.BatchNorm2d):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), norm(8), nn.SiLU(),
                                      nn.Conv2d(8, 16, 3, 2, 1), norm(16), nn.SiLU())
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def images(count, channels=1, side=28, seed=0):
    """uint8 [N, C, H, W], smooth enough to look like something."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, channels, 7, 7, generator=generator)
    fine = nn.functional.interpolate(coarse, (side, side), mode="bilinear", align_corners=False)
    return fine.mul(255).round().to(torch.uint8)


def small(**arguments):
    arguments = {"example": images(2, 3, 32), "method": "tent", "mean": 0, "std": 1, **arguments}
    for name in ("mean", "std"):
        if isinstance(arguments[name], int):
            arguments[name] = [arguments[name]] * 3
    return sotta.wrap(arguments.pop("net", None) or Small(), **arguments)


def fashion(**arguments):
    return sotta.wrap(trained(), **{"example": images(2), "mean": MEAN, "std": STD, **arguments})
