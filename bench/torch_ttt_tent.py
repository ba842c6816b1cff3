"""TENT of the Python package torch-ttt and of sotta on the same weights and the same stream, in one
process and in turns, window by window; then the memory of each in a process of its own.

usage: torch_ttt_tent.py TORCH_TTT WEIGHTS DATA [windows=20] [corruption=fog] [threads=2]

TORCH_TTT: a checkout of github.com/nikitadurasov/torch-ttt; where it or torchvision is not there,
this says so and exits with 77. WEIGHTS: a ResNet18 for CIFAR-10 (safetensors). DATA: a folder with
cifar-10-batches-bin. PYTHONPATH must name the folder of the package sotta.

torch-ttt steps first and predicts then, with one more pass; sotta's TENT predicts and learns in one
pass. So that both do the same, sotta predicts once more after each step for the comparison of
numbers and for the second ratio. As torch-ttt documents its use, engine.eval() puts the norm layers
on the source's statistics; the paper's TENT takes the window's, which engine.model.train() gives:
that one is compared, and the accuracy of the other is shown."""
import json
import os
import struct
import subprocess
import sys
import time
import types

import numpy as np
import torch

import sotta

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]
WINDOW, RATE = 64, 1e-3


def read_options(words):
    options = {"windows": "20", "corruption": "fog", "threads": "2"}
    options.update(word.split("=", 1) for word in words)
    return options


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "F16": np.float16}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            array = np.frombuffer(data[begin:end], types[entry["dtype"]]).astype(np.float32)
            yield name, torch.from_numpy(array).reshape(entry["shape"])


def read_module(weights):
    """torchvision's ResNet18 with the stem for small images."""
    from torchvision.models import resnet18
    net = resnet18(num_classes=10)
    net.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    net.maxpool = torch.nn.Identity()
    net.load_state_dict(dict(read_safetensors(weights)), strict=False)
    return net


class Theirs:
    """torch-ttt's engine: one step per window on one and the same model."""

    def __init__(self, weights, window_statistics=True):
        from torch_ttt.engine.tent_engine import TentEngine
        self.engine = TentEngine(read_module(weights),
                                 {"lr": RATE, "num_steps": 1, "copy_model": False})
        self.engine.eval()
        if window_statistics:
            self.engine.model.train()
        self.mean = torch.tensor(MEAN).view(1, 3, 1, 1)
        self.std = torch.tensor(STD).view(1, 3, 1, 1)

    def __call__(self, images):
        logits, _ = self.engine((images / 255 - self.mean) / self.std)
        return logits


class Ours:
    def __init__(self, weights, after_the_step):
        self.model = sotta.wrap(read_module(weights), example=torch.zeros(2, 3, 32, 32), mean=MEAN,
                                std=STD, method="tent", window=WINDOW, learning_rate=RATE)
        self.after_the_step = after_the_step

    def __call__(self, images):
        logits = self.model(images)
        return self.model.predict(images) if self.after_the_step else logits


def compare(weights, data, options):
    stream = sotta.Stream("cifar10", data=data, corruptions=options["corruption"], window=WINDOW,
                          limit=WINDOW * int(options["windows"]))
    rivals = {"torch-ttt": Theirs(weights), "sotta": Ours(weights, False),
              "sotta, predicting again": Ours(weights, True),
              "torch-ttt, engine.eval() as documented": Theirs(weights, False)}
    seconds = {name: [] for name in rivals}
    correct, apart, same, total = dict.fromkeys(rivals, 0), 0.0, 0, 0
    for images, labels in stream:
        logits = {}
        for name, rival in rivals.items():
            begin = time.perf_counter()
            logits[name] = rival(images)
            seconds[name].append(time.perf_counter() - begin)
            correct[name] += int((logits[name].argmax(1) == labels).sum())
        first, second = logits["torch-ttt"], logits["sotta, predicting again"]
        apart = max(apart, float((first - second).abs().max()))
        same += int((first.argmax(1) == second.argmax(1)).sum())
        total += len(labels)
    print(f"{total} images, {options['corruption']} 5, windows of {WINDOW}, {options['threads']} "
          f"threads, torch {torch.__version__}, {rivals['sotta'].model.engine}")
    median = {name: sorted(times[1:])[len(times[1:]) // 2] for name, times in seconds.items()}
    for name in rivals:
        print(f"{name:40} accuracy {100 * correct[name] / total:6.2f} %  "
              f"{1000 * median[name]:7.1f} ms a window")
    ours, theirs = rivals["sotta, predicting again"].model, rivals["torch-ttt"].engine.model
    targets = theirs.state_dict()
    drift = max(float((tensor - targets[name]).abs().max())
                for name, tensor in ours._adapter.norm_tensors().items()
                if name.endswith((".weight", ".bias")))
    print(f"after the step: {same} of {total} predictions alike, logits at most {apart:.1e} apart, "
          f"scales and shifts {drift:.1e}")
    print(f"speed: {median['torch-ttt'] / median['sotta']:.2f} times torch-ttt's, "
          f"{median['torch-ttt'] / median['sotta, predicting again']:.2f} with the same passes")


def peak_mb():
    """Of this program: getrusage() would count the one that started it too."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def peak(who, weights, windows):
    """Runs some windows and prints the process's peak and what it was before, in MB."""
    torch.zeros(1)
    before = peak_mb()
    rival = Ours(weights, False) if who == "sotta" else Theirs(weights)
    images = torch.randint(0, 256, (WINDOW, 3, 32, 32), dtype=torch.uint8)
    for _ in range(windows):
        rival(images)
    print(peak_mb(), before)


def main():
    path, weights, data = sys.argv[1:4]
    sys.path.insert(0, path)
    try:  # another method of theirs imports it; TENT does without
        import einops  # noqa: F401
    except ImportError:
        sys.modules["einops"] = types.SimpleNamespace(rearrange=None)
    try:
        import torch_ttt.engine.tent_engine  # noqa: F401
        import torchvision  # noqa: F401
    except ImportError as problem:
        print(f"skipped: {problem}")
        sys.exit(77)
    if data.startswith("peak="):
        return peak(data[5:], weights, 6)
    options = read_options(sys.argv[4:])
    torch.set_num_threads(int(options["threads"]))
    compare(weights, data, options)
    for who in ("torch-ttt", "sotta"):
        command = [sys.executable, os.path.abspath(__file__), path, weights, f"peak={who}"]
        most, before = map(float, subprocess.run(command, check=True, capture_output=True,
                                                 text=True).stdout.split())
        print(f"{who:10} peak memory {most:6.0f} MB, of these {before:.0f} MB before it was made")


if __name__ == "__main__":
    main()
