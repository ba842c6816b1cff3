#!/usr/bin/env python3
"""Fifteen cells of Fashion-MNIST as `sotta bench` runs them by itself, and with --jobs 2, taking turns.

    python3 bench/lanes_grid.py [--rounds 3] [--limit 1000] [--program build/release/bin/sotta]

Prints the seconds of each, and the median of their ratios: above 1, lanes are faster.
"""
import argparse
import statistics
import subprocess
import tempfile
import time


def seconds(arguments, *flags):
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.program, "bench", "--dataset", "fashion-mnist", "--model", "models/fashion_resnet8.safetensors",
                   "--method", "sotta", "--scenario", "noise", "--limit", str(arguments.limit), "--out", folder, *flags]
        begin = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--program", default="build/release/bin/sotta")
    arguments = parser.parse_args()
    ratios = []
    for _ in range(arguments.rounds):
        lanes, jobs = seconds(arguments), seconds(arguments, "--jobs", "2")
        ratios.append(jobs / lanes)
        print(f"lanes {lanes:.1f} s, --jobs 2 {jobs:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
