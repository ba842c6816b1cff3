#!/usr/bin/env python3
"""How well statistics of the image alone tell target from foreign samples.

usage: study_screening.py DATA_ROOT CORRUPTED [--polluted SHARE]

CORRUPTED holds cifar10/, cifar100/ and fashion-mnist/ as made by
`sotta corrupt --dataset NAME --severity 5 --limit 2000 --out CORRUPTED/NAME`.

An image is described by 3x3 DCT filters at two scales, per colour-opponent
channel: the mean of the constant one and the logarithm of every one's variance.
Its distance z from reference samples is a Mahalanobis distance with a shrunk
correlation, divided by the root of the number of components. For every dataset
and corruption: quantiles of z of target images that are no reference, the AUROC
of z against noise, near and far samples, and the share of these that z <= 1.2
admits. The reference is 256 target images, or with --polluted a trimmed half of
256 samples of which SHARE are foreign.
"""
import argparse
import gzip
import pathlib
import warnings

import numpy
import torch

KINDS = ("gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur "
         "snow frost fog brightness contrast elastic_transform pixelate jpeg_compression").split()
OPPONENT = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.5, 0, -0.5], [-0.25, 0.5, -0.25]])
SHRINKAGE, LIMIT, REFERENCE = 0.1, 1.2, 256


def dct_filters():
    place = numpy.arange(3) + 0.5
    rows = [numpy.sqrt((1 if k == 0 else 2) / 3) * numpy.cos(numpy.pi * place * k / 3) for k in range(3)]
    return torch.tensor(numpy.array([[numpy.outer(a, b)] for a in rows for b in rows]), dtype=torch.float32)


def describe(images):
    """uint8 [N, C, H, W] to [N, 20 C]."""
    x = torch.as_tensor(images).float() / 255
    if x.shape[1] == 3:
        x = torch.einsum("oc,nchw->nohw", OPPONENT, x)
    parts = []
    for _ in range(2):
        n, channels, height, width = x.shape
        y = torch.nn.functional.conv2d(x.reshape(n * channels, 1, height, width), dct_filters())
        y = y.reshape(n, channels, 9, -1)
        parts += [y[:, :, 0].mean(-1), 0.5 * torch.log(y.var(-1, unbiased=False) + 1e-4).reshape(n, -1)]
        x = torch.nn.functional.avg_pool2d(x, 2)
    return torch.cat(parts, 1)


def fit(reference):
    mean, offset = reference.mean(0), reference - reference.mean(0)
    covariance = offset.T @ offset / len(reference)
    deviation = covariance.diag().sqrt() + 1e-3
    correlation = (1 - SHRINKAGE) * covariance / torch.outer(deviation, deviation)
    return mean, deviation, torch.linalg.inv(correlation + SHRINKAGE * torch.eye(len(deviation)))


def distance(samples, model):
    mean, deviation, inverse = model
    offset = (samples - mean) / deviation
    return ((offset @ inverse) * offset).mean(1).clamp(min=0).sqrt()


def trimmed_core(samples):
    """The half that lies together most closely, then all within the limit of it."""
    middle = samples.median(0).values
    spread = 1.4826 * (samples - middle).abs().median(0).values + 1e-3
    z = ((samples - middle) / spread).square().mean(1)
    for _ in range(4):
        z = distance(samples, fit(samples[z.argsort()[:len(samples) // 2]]))
    z = 0.6 * z / z.median()
    for _ in range(3):
        z = distance(samples, fit(samples[z <= LIMIT]))
    return samples[z <= LIMIT]


def auroc(target, foreign):
    ranks = torch.cat([target, foreign]).argsort().argsort() + 1
    n, m = len(foreign), len(target)
    return ((ranks[m:].sum() - n * (n + 1) / 2) / (n * m)).item()


def resized(images, size):
    images = torch.as_tensor(numpy.array(images)).float()
    return torch.nn.functional.interpolate(images, size=(size, size), mode="bilinear", antialias=True).round().to(torch.uint8)


def foreign_sets(root, dataset):
    noise = numpy.random.default_rng(0)
    cifar10 = numpy.fromfile(root / "cifar-10-batches-bin/test_batch.bin", numpy.uint8).reshape(-1, 3073)[:2000, 1:].reshape(-1, 3, 32, 32)
    cifar100 = numpy.fromfile(root / "cifar-100-binary/train.bin", numpy.uint8).reshape(-1, 3074)[:2000, 2:].reshape(-1, 3, 32, 32)
    with gzip.open(root / "mnist/t10k-images-idx3-ubyte.gz") as file:
        mnist = numpy.frombuffer(file.read()[16:], numpy.uint8).reshape(-1, 1, 28, 28)[:2000]
    if dataset == "fashion-mnist":
        grey = cifar10.mean(1, keepdims=True).astype(numpy.uint8)
        sets = noise.integers(0, 256, (2000, 1, 28, 28), dtype=numpy.uint8), mnist, resized(grey, 28)
    else:
        near = cifar100 if dataset == "cifar10" else cifar10
        sets = noise.integers(0, 256, (2000, 3, 32, 32), dtype=numpy.uint8), near, resized(mnist, 32).repeat(1, 3, 1, 1)
    return [describe(images) for images in sets]


def study(target, foreign, polluted):
    """[quantiles of z, then AUROC and admitted share of each foreign set]"""
    test, row = target[1000:], []
    for number, samples in enumerate(foreign):
        count = int(REFERENCE * polluted)
        reference = torch.cat([target[:REFERENCE - count], samples[:count]])
        model = fit(trimmed_core(reference) if polluted else reference)
        z, other = distance(test, model), distance(samples[1000:], model)
        if number == 0:
            row += [z.quantile(q).item() for q in (0.5, 0.95, 0.98)]
        row += [(z > LIMIT).float().mean().item(), auroc(z, other), (other <= LIMIT).float().mean().item()]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("corrupted", type=pathlib.Path)
    parser.add_argument("--polluted", type=float, default=0)
    flags = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| dataset | corruption | z 50 % | 95 % | 98 % |" + "".join(f" {kind}: refused target | AUROC | admitted |" for kind in ("noise", "near", "far")))
    print("|" + "---|" * 14)
    for dataset in "cifar10", "cifar100", "fashion-mnist":
        foreign, rows = foreign_sets(flags.data, dataset), []
        for kind in KINDS:
            images = numpy.load(flags.corrupted / dataset / f"{kind}.npy")
            images = images.reshape(*images.shape[:3], -1).transpose(0, 3, 1, 2)
            rows.append(study(describe(numpy.ascontiguousarray(images)), foreign, flags.polluted))
            print(f"| {dataset} | {kind} | " + " | ".join(f"{value:.3f}" for value in rows[-1]) + " |", flush=True)
        print(f"| {dataset} | mean | " + " | ".join(f"{value:.3f}" for value in numpy.mean(rows, 0)) + " |", flush=True)


main()
