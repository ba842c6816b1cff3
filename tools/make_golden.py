#!/usr/bin/python3
"""Writes tests/golden/ from an independent PyTorch implementation.

    tools/make_golden.py            write everything anew
    tools/make_golden.py --check    compare with what is there, write nothing
    tools/make_golden.py --retrain  also train the tiny network anew

The reference (tools/golden/) is written the ordinary PyTorch way: modules with
modes and buffers, torch.optim, backward(). The C++ library is a pure function
over flat vectors; where the two agree, both are likely right.

Random draws come from the project's own streams, see
docs/decisions/random-streams.md. Runs on one CPU thread in float32; tested
with PyTorch 1.13.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

from golden import (attack, checks, images, network, nn_cases, other_norms, runs,
                    safetensors, traces, training)

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
STREAM_SEED = 91
# Metadata that depend on the machine's rounding or its PyTorch.
MACHINE_KEYS = {"torch", "float64_deviation", "smallest_margin"}


def origin():
    return {"script": "tools/make_golden.py", "torch": torch.__version__}


def write(path, tensors, metadata):
    safetensors.write(path, tensors, {**origin(), **metadata})


def write_inputs(folder):
    stream, labels = images.make_stream(STREAM_SEED)
    write(folder / "methods" / "stream.safetensors",
          {"images": stream, "labels": labels,
           "fisher_clean": images.clean_images(24, 21)[0],
           "fisher_noise": images.noise_images(24, 22)},
          {"window": images.WINDOW})


def write_nn_cases(folder, source, stream):
    cases = {"rng": nn_cases.random_numbers(),
             "batch_norm": nn_cases.batch_norm(),
             "forward": nn_cases.tiny_network(source, stream),
             "losses": nn_cases.loss_values(),
             "optimisers": nn_cases.optimisers(),
             "augment": nn_cases.augmentations()}
    for name, (tensors, metadata) in cases.items():
        write(folder / "nn" / f"{name}.safetensors", tensors, metadata)


def write_traces(folder, source, stream):
    made = {name: traces.trace(name, source, stream)
            for name in runs.all_runs()}
    checks.check_all({name: tensors for name, (tensors, _) in made.items()},
                     source, stream)
    for name, (tensors, metadata) in made.items():
        write(folder / "methods" / f"{name}.safetensors", tensors, metadata)


def write_other_norms(folder, stream):
    for name in other_norms.NETWORKS:
        source = other_norms.load(name, GOLDEN / "torchscript" / f"{name}.pt")
        for method in other_norms.METHODS:
            write(folder / "methods" / f"{name}_{method}.safetensors",
                  *other_norms.trace(name, method, source, stream))


def write_attacks(folder, source, stream):
    for name in attack.RUNS:
        write(folder / "attack" / f"{name}.safetensors",
              *attack.attack(name, source, stream))


def write_all(folder, weights):
    write_inputs(folder)
    stream = safetensors.read(folder / "methods/stream.safetensors")[0]
    source = network.load(weights)
    write_nn_cases(folder, source, stream["images"])
    write_traces(folder, source, stream)
    write_other_norms(folder, stream)
    write_attacks(folder, source, stream)
    for name in training.RUNS:
        write(folder / "train" / f"{name}.safetensors",
              *training.trace(name, stream))


def compare(made, kept):
    """Sentences about what differs between two golden files."""
    tensors, metadata = safetensors.read(made)
    expected, old_metadata = safetensors.read(kept)
    for key in sorted(metadata.keys() | old_metadata.keys()):
        if key not in MACHINE_KEYS and metadata.get(key) != old_metadata.get(key):
            yield f"metadata {key} differs"
    for name in sorted(tensors.keys() | expected.keys()):
        if name not in tensors or name not in expected:
            yield f"{name} is only in one of the files"
        elif tensors[name].shape != expected[name].shape:
            yield f"{name} has another shape"
        elif not torch.allclose(tensors[name].double(),
                                expected[name].double(),
                                rtol=1e-4, atol=1e-5, equal_nan=True):
            worst = (tensors[name].double() - expected[name].double()).abs()
            yield f"{name} differs by up to {worst.max():.3g}"


def check():
    """The number of differences between a fresh run and what is kept."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder)
        write_all(fresh, GOLDEN / "methods/network.safetensors")
        for made in sorted(fresh.rglob("*.safetensors")):
            kept = GOLDEN / made.relative_to(fresh)
            problems = list(compare(made, kept)) if kept.exists() \
                else ["is missing"]
            for problem in problems:
                print(f"{kept.relative_to(ROOT)}: {problem}")
            failures += len(problems)
    print("goldens agree" if not failures else f"{failures} differences")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--retrain", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if arguments.check:
        return 1 if check() else 0
    weights = GOLDEN / "methods/network.safetensors"
    if arguments.retrain or not weights.exists():
        network.save(network.train(), weights, origin())
    write_all(GOLDEN, weights)
    return 0


if __name__ == "__main__":
    sys.exit(main())
