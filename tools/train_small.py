"""Trains the small embedded model: ResNet-8 on Fashion-MNIST.

    python3 tools/train_small.py DATA_DIR models/fashion_resnet8.safetensors

DATA_DIR holds the four idx.gz files of Fashion-MNIST. The recipe: SGD with
Nesterov momentum 0.9, weight decay 5e-4, batch 128, per-iteration cosine from
0.1 to 0, random crop with 2 black pixels of padding and flip, last checkpoint.
Convolutions and classifier are stored as fp16, norm layers as fp32.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN, STD = 0.2860, 0.3530


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))
        else:
            self.downsample = nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, 1))
        self.layer2 = nn.Sequential(Block(16, 32, 2))
        self.layer3 = nn.Sequential(Block(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1((x - MEAN) / STD)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


def read_idx(path, header):
    with gzip.open(path) as file:
        return np.frombuffer(file.read()[header:], dtype=np.uint8)


def load(folder, part, device):
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz", 16)
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    images = torch.from_numpy(images.copy()).view(-1, 1, 28, 28)
    return images.to(device), torch.from_numpy(labels.copy()).long().to(device)


def augment(images):
    """One random crop and flip per image, on the device."""
    count, size = len(images), images.shape[-1]
    padded = F.pad(images, (2, 2, 2, 2))
    top = torch.randint(5, (count, 1), device=images.device)
    left = torch.randint(5, (count, 1), device=images.device)
    steps = torch.arange(size, device=images.device)
    columns = left + steps
    flip = torch.rand(count, 1, device=images.device) < 0.5
    columns = torch.where(flip, columns.flip(1), columns)
    index = torch.arange(count, device=images.device)[:, None, None]
    return padded[:, 0][index, (top + steps)[:, :, None], columns[:, None, :]][:, None]


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        correct = sum((model(x.float() / 255).argmax(1) == y).sum().item()
                      for x, y in zip(images.split(500), labels.split(500)))
    return 100 * correct / len(images)


def train(model, images, labels, epochs, batch=128):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9,
                                nesterov=True, weight_decay=5e-4)
    steps = len(images) // batch
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(images), device=images.device)
        for step in range(steps):
            share = (epoch * steps + step) / (epochs * steps)
            optimiser.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * share))
            chosen = order[step * batch:(step + 1) * batch]
            loss = F.cross_entropy(model(augment(images[chosen].float() / 255)),
                                   labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)


def save(path, model, metadata):
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name, tensor in sorted(model.state_dict().items()):
        if name.endswith("num_batches_tracked"):
            continue
        norm = "bn" in name or "downsample.1" in name
        array = tensor.cpu().numpy().astype("<f4" if norm else "<f2")
        blobs.append(array.tobytes())
        header[name] = {"dtype": "F32" if norm else "F16",
                        "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(options.seed)
    model = ResNet8().to(device)
    train(model, *load(options.data, "train", device), options.epochs)
    result = accuracy(model, *load(options.data, "t10k", device))
    print(f"test accuracy {result:.2f} %")
    save(options.out, model, {
        "mean": str(MEAN), "std": str(STD), "dataset": "fashion-mnist",
        "arch": "resnet8", "epochs": str(options.epochs),
        "seed": str(options.seed), "script": "tools/train_small.py",
        "test_accuracy": f"{result:.2f}"})


if __name__ == "__main__":
    main()
