"""Writes made-up records, to look at a report before there are real runs.

usage: make_records.py FOLDER [--shift POINTS] [--small]

The accuracies are the paper's with a little seeded noise; everything else is
invented. --shift adds points to SoTTA's, to try `sotta report --against`. --small makes
three corruptions instead of fifteen.
"""
import argparse
import json
import math
import pathlib
import random

PAPER = json.loads(
    (pathlib.Path(__file__).parents[2] / "src/report/paper_tables.json").read_text())
SCENARIOS = ["benign", "near", "far", "attack", "noise"]
WINDOWS = 60


def record(rng, scenario, corruption, method, seed, accuracy, **changes):
    """A record of format 2 with every field."""
    foreign = 0 if scenario == "benign" else 10000
    noise = scenario == "noise"
    admits = {"source": 0, "lame": 0}.get(method, 1)
    line = {
        "format": 2, "version": "0.1.0", "libtorch": "1.13.1", "verb": "bench",
        "dataset": "cifar10", "scenario": scenario, "corruption": corruption,
        "severity": 5, "corruption_source": "made",
        "model": f"cifar10_resnet18_s{seed}.safetensors", "method": method,
        "variant": "", "preset": "clean", "device": "cpu", "engine": "libtorch",
        "threads": 2, "seed": seed, "options": {"window": 64},
        "samples": 10000, "correct": round(100 * accuracy), "accuracy": accuracy,
        "macro_f1": accuracy - 0.4 - rng.random(),
        "calibration_error": 5 + 10 * rng.random(),
        "foreign": foreign, "admitted": admits * 6000,
        "admitted_foreign": admits * foreign // 5,
        "auroc": 80 + 15 * rng.random() if foreign else None,
        "fpr95": 20 + 30 * rng.random() if foreign else None,
        "seconds": 20 + 4 * rng.random(), "adapt_seconds": 8 * admits * rng.random(),
        "images_per_second": 500 - 300 * admits * rng.random(),
        "peak_memory_bytes": 900_000_000 + rng.randrange(10**8),
        "series": series(rng, accuracy, foreign, noise, method),
    }
    line.update(changes)
    return line


def series(rng, accuracy, foreign, noise, method):
    benign = [32 if foreign else 64] * WINDOWS
    others = [32 if foreign else 0] * WINDOWS
    curve = [min(100, accuracy - 12 * math.exp(-t / 10) + rng.gauss(0, 4)) for t in range(WINDOWS)]
    values = {"accuracy": curve, "samples": benign, "foreign": others}
    if method in ("sotta", "rotta"):
        values["admitted"] = [rng.randint(18, 30) for _ in benign]
        values["admitted_foreign"] = [rng.randint(0, 3) if foreign else 0 for _ in benign]
        values["loss"] = [0.5 * math.exp(-t / 20) + 0.05 * rng.random() for t in range(WINDOWS)]
        values["gradient_norm"] = [0.8 * math.exp(-t / 15) + 0.1 * rng.random() for t in range(WINDOWS)]
        values["memory_samples"] = [min(64, 20 + 3 * t) - (min(12, t // 3) if foreign else 0) for t in range(WINDOWS)]
        values["memory_foreign"] = [min(12, t // 3) if foreign else 0 for t in range(WINDOWS)]
    if method in ("source", "sotta"):
        values["confidence_samples"] = [round(60 * 1.25**k * (1 + 0.2 * rng.random())) for k in range(20)]
        values["predicted_samples"] = [1000 + rng.randint(-150, 150) for _ in range(10)]
        if foreign:
            peak = 9 if noise else 13
            values["confidence_foreign"] = [round(1500 * math.exp(-((k - peak) / 3) ** 2)) for k in range(20)]
            values["predicted_foreign"] = [7000 if k == 2 and noise else 300 + 40 * k for k in range(10)]
    return values


def main_grid(rng, shift, corruptions):
    for scenario in SCENARIOS:
        for name, row in PAPER["cifar10c"][scenario].items():
            method = "pseudo_label" if name == "pl" else name
            for seed in range(3):
                for corruption in corruptions:
                    stated = row["per_corruption"][corruption]
                    if (method, scenario, corruption) == ("eata", "far", "fog"):
                        continue  # never ended: its average lacks one
                    if (method, scenario, seed) == ("sar", "near", 2):
                        continue  # two seeds only
                    if (method, scenario) == ("cotta", "attack"):
                        continue  # never begun
                    value = stated + rng.gauss(0, 0.4) + (shift if method == "sotta" else 0)
                    yield record(rng, scenario, corruption, method, seed, round(min(100, value), 2),
                                 options=options_of(method))


def options_of(method, **changes):
    options = {"window": 64, "foreign_count": -1}
    if method == "sotta":
        options.update(min_confidence=0.99, stats_momentum=0.2, sharpness=True, memory="hus")
    options.update(changes)
    return options


def memory_of(variant):
    if "HUS" in variant:
        return "hus"
    return {"HC": "confident_fifo", "UC": "uniform_class"}.get(variant.split(" ")[0], "fifo")


def ablation(rng, corruptions):
    table = PAPER["ablation_components_cifar10c"]
    for variant, row in table["rows"].items():
        if variant == "source" or "SoTTA" in variant:
            continue
        for scenario, stated in zip(SCENARIOS, row["mean"]):
            for seed in range(3):
                for corruption in corruptions:
                    line = record(rng, scenario, corruption, "sotta", seed,
                                  round(max(5, stated + rng.gauss(0, 1)), 2), variant=variant,
                                  options=options_of("sotta", sharpness="ESM" in variant, memory=memory_of(variant)))
                    if "ESM" not in variant:
                        grow = line["series"]["gradient_norm"]
                        line["series"]["gradient_norm"] = [0.5 + 0.05 * t * v for t, v in enumerate(grow)]
                    yield line


def sweeps(rng):
    for scenario in SCENARIOS:
        for seed in range(3):
            for name, values in (("min_confidence", [0.5, 0.7, 0.9, 0.95]), ("stats_momentum", [0.05, 0.1, 0.3, 0.5])):
                for value in values:
                    accuracy = 80 - 10 * abs(value - 0.9 if name == "min_confidence" else value - 0.2) + rng.gauss(0, 0.3)
                    yield record(rng, scenario, "fog", "sotta", seed, round(accuracy, 2),
                                 variant=f"{name}={value}", options=options_of("sotta", **{name: value}))
    for count in (5000, 15000, 20000):
        for method in ("source", "bn_stats", "pseudo_label", "tent", "lame", "cotta", "eata", "sar", "rotta", "sotta"):
            for seed in range(3):
                accuracy = (57 if method in ("source", "lame") else 78) - (0 if method in ("source", "sotta") else count / 600)
                line = record(rng, "noise", "fog", method, seed, round(accuracy + rng.gauss(0, 0.5), 2),
                              variant=f"foreign_count={count}",
                              options=options_of(method, foreign_count=count))
                line["foreign"] = count
                yield line


def odd_names(rng):
    for scenario in ("benign", "b&w <50%>"):
        for method in ("source", "my_method_100%_&_more|<script>"):
            yield record(rng, scenario, "fog", method, 0, round(40 + rng.random(), 2),
                         dataset="odd_set & co", preset="clean")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shift", type=float, default=0)
    parser.add_argument("--small", action="store_true")
    flags = parser.parse_args()
    corruptions = list(PAPER["cifar10c"]["benign"]["source"]["per_corruption"])
    if flags.small:
        corruptions = ["snow", "frost", "fog"]
    rng = random.Random(int(flags.shift * 100) + 7)
    flags.folder.mkdir(parents=True, exist_ok=True)
    with open(flags.folder / "runs.jsonl", "w") as out:
        for source in (main_grid(rng, flags.shift, corruptions), ablation(rng, corruptions), sweeps(rng), odd_names(rng)):
            for line in source:
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
