"""Packs the published scripts' outputs for known draws, for the tests.

usage: make_corruption_golden.py REFERENCE

REFERENCE is a folder of .npy files: inputs in input_first16.npy, outputs in
inj32/KIND_sS.npy or det32/KIND_sS.npy and in g224/KIND_sS.npy. Writes
tests/golden/corruptions/KIND with two 32x32 images and a 32x32 sample of the
224x224 image, at severities 1, 3 and 5. The draws, and the large image, are
formulas: see tests/corrupt/reference_draws.h. Only the counts of shot_noise,
which has no large image, are NumPy's and kept. jpeg_compression also has what
Pillow makes of small images whose sides are no multiples of 16.
"""
import io
import pathlib
import sys

import numpy
import PIL.Image
import torch

from golden import safetensors

DRAWN = ["gaussian_noise", "shot_noise", "impulse_noise", "glass_blur", "snow", "frost", "fog",
         "elastic_transform", "speckle_noise", "spatter"]
FIXED = ["defocus_blur", "motion_blur", "zoom_blur", "brightness", "contrast", "pixelate",
         "jpeg_compression", "gaussian_blur", "saturate"]
IMAGES = 2
OUT = pathlib.Path(__file__).parents[1] / "tests/golden/corruptions"


def channels_first(path):
    return torch.from_numpy(numpy.moveaxis(numpy.load(path), -1, -3).copy())


def odd_sizes(images):
    """The first image cut to a height and width, stored by Pillow at quality 40."""
    tensors = {}
    for height, width in [(28, 28), (21, 13)]:
        cut = images[0, :, :height, :width]
        file = io.BytesIO()
        PIL.Image.fromarray(cut.permute(1, 2, 0).numpy()).save(file, "jpeg", quality=40)
        read = numpy.moveaxis(numpy.asarray(PIL.Image.open(file)), -1, 0).copy()
        tensors[f"quality40_{height}x{width}"] = torch.from_numpy(read)
    return tensors


def main(reference):
    for kind in DRAWN + FIXED:
        folder = "inj32" if kind in DRAWN else "det32"
        tensors = {"input": channels_first(reference / "input_first16.npy")[:IMAGES]}
        for severity in (1, 3, 5):
            name = f"{kind}_s{severity}.npy"
            tensors[f"s{severity}"] = channels_first(reference / folder / name)[:IMAGES]
            if kind == "shot_noise":
                counts = reference / "draws32" / f"shot_noise_counts_s{severity}.npy"
                tensors[f"counts_s{severity}"] = channels_first(counts)[:IMAGES].half()
            else:
                tensors[f"g224_s{severity}"] = channels_first(reference / "g224" / name)
        if kind == "jpeg_compression":
            tensors["g224_quality85"] = channels_first(reference / "g224/save_jpeg85.npy")
            tensors.update(odd_sizes(tensors["input"]))
        safetensors.write(OUT / f"{kind}.safetensors", tensors,
                          {"script": "tools/make_corruption_golden.py"})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
