"""Packs the published scripts' outputs for known draws, for the tests.

usage: make_corruption_golden.py REFERENCE

REFERENCE is a folder of .npy files: inputs in input_first16.npy, outputs in
inj32/KIND_sS.npy and g224/KIND_sS.npy. Writes tests/golden/corruptions/KIND
with two 32x32 images and a 32x32 sample of the 224x224 image, at severities 1,
3 and 5. The draws, and the large image, are formulas: see
tests/corrupt/reference_draws.h.
"""
import pathlib
import sys

import numpy
import torch

from golden import safetensors

KINDS = ["glass_blur", "snow", "frost", "fog", "elastic_transform", "spatter"]
IMAGES = 2
OUT = pathlib.Path(__file__).parents[1] / "tests/golden/corruptions"


def channels_first(path):
    return torch.from_numpy(numpy.moveaxis(numpy.load(path), -1, -3).copy())


def main(reference):
    for kind in KINDS:
        tensors = {"input": channels_first(reference / "input_first16.npy")[:IMAGES]}
        for severity in (1, 3, 5):
            name = f"{kind}_s{severity}.npy"
            tensors[f"s{severity}"] = channels_first(reference / "inj32" / name)[:IMAGES]
            tensors[f"g224_s{severity}"] = channels_first(reference / "g224" / name)
        safetensors.write(OUT / f"{kind}.safetensors", tensors,
                          {"script": "tools/make_corruption_golden.py"})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
