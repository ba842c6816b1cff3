#!/usr/bin/env python3
"""How much less a network learns of foreign images than of its own, corrupted ones.

usage: study_familiarity.py MODEL OWN FOREIGN...

MODEL is a CIFAR ResNet18 (.safetensors). OWN is a folder of `sotta corrupt --kind all --severity 5
--out OWN`; FOREIGN are uint8 images, .npy [N, H, W, 3] of the same size. Takes the first 512 of each.

For every set of foreign images and every corruption: the logarithm of the ratio of mutual information
(entropy of the mean prediction less mean entropy), foreign over own, each group of 32 images under its
own batch statistics; mean over 16 groups, and the standard deviation of one ratio. Lowest and highest
of all corruptions are printed: what is foreign should be well below 0 in both.
"""
import pathlib
import sys

import numpy
import torch
import torchvision

from golden.safetensors import read

KINDS = ("gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur "
         "snow frost fog brightness contrast elastic_transform pixelate jpeg_compression").split()
STATISTICS = {10: ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
              100: ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))}
GROUP, GROUPS = 32, 16


def open_network(file):
    weights = {name: tensor.float() for name, tensor in read(file)[0].items()}
    network = torchvision.models.resnet18(num_classes=len(weights["fc.bias"]))
    network.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    network.maxpool = torch.nn.Identity()
    network.load_state_dict(weights, strict=False)
    return network.train()  # a batch's own statistics; those that run are not looked at


def entropy(shares):
    return -(shares * shares.clamp_min(1e-12).log()).sum(-1)


def log_information(network, images):
    """Of each group of the images, [GROUPS]."""
    mean, deviation = (torch.tensor(values).view(1, 3, 1, 1) for values in STATISTICS[network.fc.out_features])
    images = torch.as_tensor(images[:GROUP * GROUPS]).permute(0, 3, 1, 2).float() / 255
    found = []
    for group in ((images - mean) / deviation).split(GROUP):
        shares = network(group).softmax(1)
        found.append((entropy(shares.mean(0)) - entropy(shares).mean()).log())
    return torch.stack(found)


@torch.no_grad()
def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    model, own, *foreign = map(pathlib.Path, sys.argv[1:])
    network = open_network(model)
    ours = {kind: log_information(network, numpy.load(own / f"{kind}.npy")) for kind in KINDS}
    for file in foreign:
        theirs = log_information(network, numpy.load(file))
        rows = sorted(((theirs.mean() - known.mean()).item(), (theirs.var() + known.var()).sqrt().item(), kind)
                      for kind, known in ours.items())
        for word, (ratio, spread, kind) in (("lowest", rows[0]), ("highest", rows[-1])):
            print(f"{file.stem}: {word} {ratio:+.2f} ± {spread:.2f} ({kind})")


main()
