"""What the checks of flags share: calls of the program, and images and networks to call it with."""
import json
import os
import subprocess

import reference as ref

# Some virtual machines announce matrix units (AMX) that they do not have.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
SOTTA, ROOT = os.environ["SOTTA_BIN"], os.environ["SOTTA_ROOT"]
CHECKS = []  # (verb, flags, function)


def check(verb, flags):
    def register(function):
        CHECKS.append((verb, flags.split(), function))
        return function
    return register


def run(*arguments, code=0):
    """Standard output of a call that must end with this code."""
    done = subprocess.run([SOTTA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"sotta {' '.join(map(str, arguments))}: exit code {done.returncode}, expected {code}: {done.stderr}"
    return done.stdout


def refusal(*arguments, code=2):
    """Standard error of a call that must be refused."""
    done = subprocess.run([SOTTA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"sotta {' '.join(map(str, arguments))}: exit code {done.returncode}, expected {code}"
    return done.stderr


def expect(found, expected, what):
    assert found == expected, f"{what}: expected {expected}, got {found}"


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class Fixture:
    """Sixteen test and twelve training images under the names of two datasets that differ
    in means. Labels are what `net` says, but for each fourth of Fashion-MNIST's."""

    def __init__(self):
        self.test, self.train = ref.random_images(16, 1), ref.random_images(12, 2)
        self.net = ref.balance(ref.random_network(1), self.test[:8], *ref.MEANS["fashion-mnist"])
        self.other = ref.balance(ref.random_network(4), self.test[:8], *ref.MEANS["fashion-mnist"])
        ref.write_safetensors("net0.safetensors", self.net)
        ref.write_safetensors("net1.safetensors", self.other)
        self.answers = {}
        self.labels = {}
        for dataset, means in ref.MEANS.items():
            for part, images in ("t10k", self.test), ("train", self.train):
                answers = ref.predict(self.net, images, *means)
                self.answers[dataset, part] = answers
                labels = list(answers)
                if dataset == "fashion-mnist":
                    labels = [(label + 1) % 10 if i % 4 == 0 else label for i, label in enumerate(labels)]
                self.labels[dataset, part] = labels
                ref.write_idx("root", dataset, part, images, labels)

    def correct(self, net, images, dataset="fashion-mnist", labels=None):
        answers = ref.predict(net, images, *ref.MEANS[dataset])
        return ref.agreement(answers, labels or self.labels[dataset, "t10k"])


def contrast(image, severity):
    """The corruption that draws nothing: towards the mean by a factor."""
    factor = [0.75, 0.5, 0.4, 0.3, 0.15][severity - 1]
    mean = sum(image) / (255 * len(image))
    return bytes(int(min(1, max(0, (x / 255 - mean) * factor + mean)) * 255) for x in image)


def corrupted(path):
    (count, height, width, channels), content = ref.read_npy(path)
    size = height * width * channels
    # Grey images are stored as they are or as three equal channels.
    return [content[i * size:(i + 1) * size:channels] for i in range(count)]


def check_origin(record, verb, model):
    """What a record says of the program, the machine and the time, which nothing else compares."""
    info = json.loads(run("info", "--json"))
    expect([record[name] for name in ("verb", "version", "libtorch", "device", "dataset", "model")],
           [verb, info["version"], info["libtorch"], "cpu", "fashion-mnist", model], "verb, versions, device, data and model")
    assert record["engine"] in info["engines"], record["engine"]
    assert 20e6 < record["peak_memory_bytes"] < 20e9, record["peak_memory_bytes"]
    assert 0 < record["seconds"] < 900, record["seconds"]


def close(left, right, share=0.01):
    return abs(left - right) <= share * abs(right)


EVAL = ["eval", "--data", "root", "--json", "--dataset", "fashion-mnist"]


def evaluate(*arguments):
    return json.loads(run(*EVAL, *arguments))


BENCH = ["bench", "--dataset", "fashion-mnist", "--data", "root", "--model", "net{seed}.safetensors", "--corruption", "none"]


def cells(fix, *arguments, code=0):
    """Runs bench with the usual settings, where the call does not say otherwise."""
    usual = [BENCH[0]] + [word for i in range(1, len(BENCH), 2) if BENCH[i] not in arguments for word in BENCH[i:i + 2]]
    return run(*usual, *arguments, code=code)
