"""What `sotta adapt` should print and export, computed without it.

From the traces under tests/golden/methods, which PyTorch made, and by a forward
pass of the tiny network there in plain Python. Used by adapt_numbers_test.sh.

usage: second_adapt.py prepare                     writes the inputs
       second_adapt.py options TRACE               prints a trace's options as flags
       second_adapt.py trace TRACE FIRST FILES...  compares the lines of runs in a
                                                   row with the trace, from line FIRST on
       second_adapt.py export TRACE FILE           compares exported weights
       second_adapt.py source FILE MEAN STD        compares lines of `--method source`
"""
import csv
import json
import math
import os
import pathlib
import struct
import sys

GOLDEN = pathlib.Path(os.environ["SOTTA_ROOT"], "tests/golden/methods")
FORMATS = {"F32": "f", "U8": "B", "I64": "q"}
NOT_OF_THE_METHOD = ("seed", "update_interval", "fisher_data", "skip_stem_relu")


class File:
    """A safetensors file; tensors as flat lists."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        self.header = json.loads(data[8:8 + size])
        self.metadata = self.header.pop("__metadata__", {})
        self.data = data[8 + size:]

    def __getitem__(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        return list(struct.unpack(f"<{math.prod(entry['shape'])}{FORMATS[entry['dtype']]}", self.data[begin:end]))

    def shape(self, name):
        return self.header[name]["shape"]


def golden(name):
    return File(GOLDEN / f"{name}.safetensors")


def rows(flat, width):
    return [flat[i:i + width] for i in range(0, len(flat), width)]


def give_up(problem):
    sys.exit(f"second_adapt.py: {problem}")


def expect_close(what, found, wanted, absolute=2e-5, relative=1e-4):
    if len(found) != len(wanted):
        give_up(f"{what}: expected {len(wanted)} numbers, got {len(found)}")
    for i, (one, other) in enumerate(zip(found, wanted)):
        if not abs(one - other) <= absolute + relative * abs(other):
            give_up(f"{what}[{i}]: expected {other}, got {one}")


def write_npy(path, count, pixels):
    header = str({"descr": "|u1", "fortran_order": False, "shape": (count, 16, 16, 3)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + pixels)


def channels_last(planes):
    """Images [3, 16, 16] as bytes of [16, 16, 3]."""
    return b"".join(bytes(image[c * 256 + i] for i in range(256) for c in range(3)) for image in planes)


def prepare():
    stream = golden("stream")
    images = rows(stream["images"], 768)
    write_npy("stream.npy", 160, channels_last(images))
    write_npy("begin.npy", 38, channels_last(images[:38]))
    write_npy("rest.npy", 122, channels_last(images[38:]))
    write_npy("two.npy", 2, channels_last(images[:2]))
    write_npy("clean.npy", 24, channels_last(rows(stream["fisher_clean"], 768)))


def options(trace):
    values = json.loads(golden(trace).metadata["options"])
    flags = ["--seed", str(values["seed"]), "--window", str(values["update_interval"])]
    for name, value in values.items():
        if name not in NOT_OF_THE_METHOD:
            flags += ["--set", f"{name}={json.dumps(value) if not isinstance(value, str) else value}"]
    print("\n".join(flags))


def softmax(logits):
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


def expect_line(place, line, probabilities):
    label = max(range(len(probabilities)), key=probabilities.__getitem__)
    if int(line["label"]) != label:
        give_up(f"line {place}: expected label {label}, got {line['label']}")
    entropy = -sum(p * math.log(p + 1e-6) for p in probabilities)
    expect_close(f"line {place}", [float(line["confidence"]), float(line["entropy"])],
                 [probabilities[label], entropy])


def read_lines(path):
    with open(path, newline="") as file:
        if path.endswith(".csv"):
            return list(csv.DictReader(file))
        return [json.loads(line) for line in file]


def compare_trace(trace, first, paths):
    file = golden(trace)
    lines = [line for path in paths for line in read_lines(path)]
    if len(lines) != 160:
        give_up(f"expected 160 lines, got {len(lines)}")
    for place, (line, logits, admitted) in enumerate(zip(lines, rows(file["logits"], 5), file["admitted"])):
        if place < first:
            continue
        expect_line(place, line, softmax(logits))
        if (line["verdict"] == "admitted") != bool(admitted):
            give_up(f"line {place}: expected admitted {admitted}, got {line['verdict']}")


def norm_names(file):
    """Of the norm layers, in the network's order."""
    order = lambda name: (not name.startswith("bn1"), name)
    return sorted((name[:-13] for name in file.header if name.endswith(".running_mean")), key=order)


def compare_export(trace, path):
    wanted, found = golden(trace), File(path)
    prefix = "teacher_" if wanted.header.get("teacher_affine") else ""
    names = norm_names(found)
    affine = [x for name in names for part in (".weight", ".bias") for x in found[name + part]]
    expect_close("affine", affine, rows(wanted[prefix + "affine"], len(affine))[9])
    for part in ("running_mean", "running_var"):
        if prefix + part not in wanted.header:
            continue
        vector = [x for name in names for x in found[f"{name}.{part}"]]
        expect_close(part, vector, rows(wanted[prefix + part], len(vector))[9])
    if prefix + "body" in wanted.header:
        convolutions = [name for name in found.header if len(found.shape(name)) == 4]
        convolutions.sort(key=lambda name: (name != "conv1.weight", name))
        body = [x for name in convolutions + ["fc.weight", "fc.bias"] for x in found[name]]
        expect_close("body", body, rows(wanted[prefix + "body"], len(body))[2])
    source = golden("network")
    if affine == [x for name in names for part in (".weight", ".bias") for x in source[name + part]]:
        give_up("expected adapted weights, got the source's")


class Network:
    """The tiny network as it was trained, for one image at a time."""

    def __init__(self):
        self.file = golden("network")

    def convolve(self, planes, name, stride=1):
        weights = self.file[name + ".weight"]
        outputs, inputs, kernel, _ = self.file.shape(name + ".weight")
        side, reach = len(planes[0]), kernel // 2
        result = []
        for o in range(outputs):
            plane = []
            for y in range(0, side, stride):
                row = []
                for x in range(0, side, stride):
                    total = 0.0
                    for dy in range(max(0, reach - y), min(kernel, side + reach - y)):
                        for dx in range(max(0, reach - x), min(kernel, side + reach - x)):
                            for c in range(inputs):
                                total += (weights[((o * inputs + c) * kernel + dy) * kernel + dx] *
                                          planes[c][y + dy - reach][x + dx - reach])
                    row.append(total)
                plane.append(row)
            result.append(plane)
        return result

    def normalise(self, planes, name):
        parts = [self.file[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")]
        return [[[(x - mean) / math.sqrt(var + 1e-5) * weight + bias for x in row] for row in plane]
                for plane, weight, bias, mean, var in zip(planes, *parts)]

    @staticmethod
    def combine(planes, others):
        return [[[max(0.0, x + y) for x, y in zip(*both)] for both in zip(*two)] for two in zip(planes, others)]

    def block(self, planes, name, stride):
        zeros = lambda like: [[[0.0] * len(row) for row in plane] for plane in like]
        shortcut = planes
        if stride > 1:
            shortcut = self.normalise(self.convolve(planes, name + ".downsample.0", stride), name + ".downsample.1")
        inner = self.normalise(self.convolve(planes, name + ".conv1", stride), name + ".bn1")
        inner = self.combine(inner, zeros(inner))
        return self.combine(self.normalise(self.convolve(inner, name + ".conv2"), name + ".bn2"), shortcut)

    def logits(self, planes):
        planes = self.normalise(self.convolve(planes, "conv1"), "bn1")
        planes = [[[max(0.0, x) for x in row] for row in plane] for plane in planes]
        for stage in range(1, 5):
            planes = self.block(planes, f"layer{stage}.0", 1 if stage == 1 else 2)
        features = [sum(map(sum, plane)) / (len(plane) * len(plane)) for plane in planes]
        return [sum(map(lambda w, f: w * f, row, features)) + bias
                for row, bias in zip(rows(self.file["fc.weight"], len(features)), self.file["fc.bias"])]


def compare_source(path, mean, std):
    network = Network()
    images = rows(golden("stream")["images"], 768)[:2]
    lines = read_lines(path)
    if len(lines) != 2:
        give_up(f"expected 2 lines, got {len(lines)}")
    for place, (line, image) in enumerate(zip(lines, images)):
        planes = [[[(x / 255 - m) / s for x in row] for row in rows(plane, 16)]
                  for plane, m, s in zip(rows(image, 256), mean, std)]
        expect_line(place, line, softmax(network.logits(planes)))


def main():
    verb, *rest = sys.argv[1:]
    numbers = lambda text: [float(number) for number in text.split(",")]
    if verb == "prepare":
        prepare()
    elif verb == "options":
        options(rest[0])
    elif verb == "trace":
        compare_trace(rest[0], int(rest[1]), rest[2:])
    elif verb == "export":
        compare_export(rest[0], rest[1])
    elif verb == "source":
        compare_source(rest[0], numbers(rest[1]), numbers(rest[2]))
    else:
        give_up(f"unknown verb {verb}")


main()
