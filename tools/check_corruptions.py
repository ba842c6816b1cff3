"""Compares corrupted CIFAR-10 images with the published scripts' output.

usage: check_corruptions.py REFERENCE MADE TEST_BATCH

REFERENCE has det32/KIND_sS.npy (16 images) and random_stats.json (1,000 images);
MADE is what `sotta corrupt --dataset cifar10 --kind all --severity all --limit
1000` wrote; TEST_BATCH is CIFAR-10's test_batch.bin. The fixed corruptions must
be equal, the random ones agree in their statistics: the reference's README says
what they are and how far they may stray.
"""
import json
import pathlib
import sys

import numpy

IMAGES = 1000
FIXED = ["defocus_blur", "zoom_blur", "contrast", "brightness", "saturate", "pixelate",
         "jpeg_compression", "gaussian_blur"]
BANDS = [0.5, 2.5, 5.5, 10.5, 16.5, numpy.inf]  # cycles per image


def clean_images(test_batch):
    records = numpy.fromfile(test_batch, numpy.uint8, IMAGES * 3073).reshape(IMAGES, 3073)
    return records[:, 1:].reshape(IMAGES, 3, 32, 32).transpose(0, 2, 3, 1)


def band_shares(residual):
    power = (numpy.abs(numpy.fft.fft2(residual, axes=(1, 2))) ** 2).sum(axis=(0, 3))
    cycles = numpy.fft.fftfreq(32, 1 / 32)
    radius = numpy.hypot(cycles[:, None], cycles[None, :])
    return [power[(radius >= low) & (radius < high)].sum() / power.sum()
            for low, high in zip(BANDS, BANDS[1:])]


def statistics(images, clean):
    found = images.astype(float)
    change = found - clean
    residual = change - change.mean(axis=(1, 2), keepdims=True)
    power = (residual ** 2).mean()
    red, green = residual[..., 0], residual[..., 1]
    return {
        "mean_rgb": found.mean(axis=(0, 1, 2)),
        "std_rgb": found.std(axis=(0, 1, 2)),
        "diff_mean_rgb": change.mean(axis=(0, 1, 2)),
        "diff_std_rgb": change.std(axis=(0, 1, 2)),
        "diff_mean_abs": numpy.abs(change).mean(),
        "diff_image_mean_std_rgb": change.mean(axis=(1, 2)).std(axis=0),
        "diff_within_image_std": power ** 0.5,
        "diff_lag1_corr_x": (residual[:, :, 1:] * residual[:, :, :-1]).mean() / power,
        "diff_lag1_corr_y": (residual[:, 1:] * residual[:, :-1]).mean() / power,
        "diff_corr_rg": (red * green).mean() / ((red ** 2).mean() * (green ** 2).mean()) ** 0.5,
        "diff_band_power_frac": band_shares(residual),
        "frac_0": (images == 0).mean(),
        "frac_255": (images == 255).mean(),
    }


def tolerance(kind, name, mean, draw_std):
    if kind == "frost":  # the reference has photographs, we have textures like them
        for part, allowed in [("lag1", .05), ("frac", .04), ("corr", .05), ("std", 1.0)]:
            if part in name:
                return numpy.full_like(mean, allowed)
        return numpy.full_like(mean, 1.5)
    return 6 * draw_std * 1.25 ** 0.5 + 1e-4 * numpy.abs(mean)


def compare_statistics(kind, severity, images, clean, reference):
    """Statements on what is out of bounds, and the number of statistics."""
    found = statistics(images, clean)
    problems, count = [], 0
    for name, expected in reference.items():
        mean = numpy.atleast_1d(expected["mean"]).astype(float)
        draw_std = numpy.atleast_1d(expected["draw_std"]).astype(float)
        off = numpy.abs(numpy.atleast_1d(found[name]) - mean)
        allowed = tolerance(kind, name, mean, draw_std)
        count += mean.size
        problems += [f"{kind} {severity}: {name}[{i}] is off by {off[i]:.4g}, allowed {allowed[i]:.4g}"
                     for i in numpy.flatnonzero(off > allowed)]
    return problems, count


def rows(made, kind, severity):
    return numpy.load(made / f"{kind}.npy", mmap_mode="r")[(severity - 1) * IMAGES:severity * IMAGES]


def main(reference, made, test_batch):
    clean = clean_images(test_batch)
    problems, compared = [], 0
    for kind in FIXED:
        for severity in (1, 3, 5):
            expected = numpy.load(reference / f"det32/{kind}_s{severity}.npy")
            wrong = int((rows(made, kind, severity)[:len(expected)] != expected).sum())
            if wrong:
                problems.append(f"{kind} {severity}: {wrong} of {expected.size} values differ")
    for kind, severities in json.loads((reference / "random_stats.json").read_text()).items():
        if kind.startswith("_"):
            continue
        for severity, expected in severities.items():
            wrong, count = compare_statistics(kind, severity, rows(made, kind, int(severity)),
                                              clean, expected)
            problems += wrong
            compared += count
    print(f"{3 * len(FIXED)} files of fixed corruptions and {compared} statistics compared")
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
