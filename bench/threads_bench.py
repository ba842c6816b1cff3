#!/usr/bin/env python3
"""What waiting threads cost: all cores beside one thread, idle and busy.

Runs short commands of the program with --threads 0 (all cores) and --threads 1
in turn, and prints the medians of the paired ratios of time by the clock and of
processor time. Then again with two loops beside them that keep two cores busy
(--busy). --spin lets waiting threads spin as LibTorch and OpenBLAS do without
sotta's setting. A command that takes longer than --limit seconds is ended and
counts with what it had taken by then ("at least").

    python3 bench/threads_bench.py --rounds 5 --busy 2
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# As libgomp and OpenBLAS have it where nothing is set.
SPINNING = {"GOMP_SPINCOUNT": "300000", "OPENBLAS_THREAD_TIMEOUT": "26"}
PASSIVE = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT")


def make_data(folder, count):
    """Random images in the form of Fashion-MNIST."""
    os.makedirs(folder)
    draw = random.Random(1)
    for split in ("train", "t10k"):
        with open(f"{folder}/{split}-images-idx3-ubyte", "wb") as out:
            out.write(struct.pack(">IIII", 0x803, count, 28, 28))
            out.write(draw.randbytes(count * 784))
        with open(f"{folder}/{split}-labels-idx1-ubyte", "wb") as out:
            out.write(struct.pack(">II", 0x801, count))
            out.write(bytes(i % 10 for i in range(count)))


def commands(sotta, place):
    data = ["--dataset", "fashion-mnist", "--data", place]
    bench = [sotta, "bench", *data, "--model", f"{ROOT}/models/fashion_resnet8.safetensors",
             "--corruption", "none", "--scenario", "noise", "--out", f"{place}/out"]
    return {
        "TENT, fused engine": [*bench, "--method", "tent"],
        "RoTTA, fused engine": [*bench, "--method", "rotta"],
        "TENT, LibTorch": [*bench, "--method", "tent", "--engine", "libtorch"],
        "training": [sotta, "train", *data, "--model", "resnet8", "--epochs", "1", "--out",
                     f"{place}/out/weights.safetensors"],
    }


def take_time(command, environment, place, limit):
    """Seconds by the clock, of processor time, and whether it came to its end."""
    shutil.rmtree(f"{place}/out", ignore_errors=True)
    os.makedirs(f"{place}/out")
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    ended = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - begin > limit and not ended:
            process.send_signal(signal.SIGKILL)
            ended = True
        time.sleep(0.005)
    if status != 0 and not ended:
        sys.exit(f"failed: {' '.join(command)}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, not ended


def busy_loops(count, seconds):
    code = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    return [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sotta", default=f"{ROOT}/build/release/bin/sotta")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--busy", type=int, default=0, help="loops beside the commands")
    parser.add_argument("--limit", type=float, default=20, help="seconds for a command")
    parser.add_argument("--spin", action="store_true", help="waiting as without the setting")
    flags = parser.parse_args()

    environment = {name: value for name, value in os.environ.items() if name not in PASSIVE}
    if flags.spin:
        environment.update(SPINNING)
    place = tempfile.mkdtemp(prefix="threads_bench_")
    try:
        make_data(f"{place}/fashion-mnist", flags.images)
        print(f"all cores over one thread, {flags.rounds} rounds, {flags.busy} busy loops, "
              f"{'spinning' if flags.spin else 'as it is'}")
        for name, command in commands(flags.sotta, place).items():
            clock, processor, whole = [], [], True
            for _ in range(flags.rounds):
                loops = busy_loops(flags.busy, 2 * flags.limit + 5)
                try:
                    one = take_time([*command, "--threads", "1"], environment, place, flags.limit)
                    all_cores = take_time([*command, "--threads", "0"], environment, place,
                                          flags.limit)
                finally:
                    for loop in loops:
                        loop.kill()
                        loop.wait()
                clock.append(all_cores[0] / one[0])
                processor.append(all_cores[1] / one[1])
                whole = whole and all_cores[2] and one[2]
            print(f"{name:20}  clock {statistics.median(clock):5.2f} "
                  f"({min(clock):.2f} to {max(clock):.2f})  "
                  f"processor {statistics.median(processor):5.2f}{'' if whole else '  at least'}",
                  flush=True)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
