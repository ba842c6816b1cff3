"""A second computation of what the commands compute: Python's standard library alone.

Reads and writes the files they share, and runs a ResNet-8 with torchvision's names on
images of one channel.
"""
import ast
import json
import math
import os
import random
import struct
import zlib

MEANS = {"fashion-mnist": (0.2860, 0.3530), "mnist": (0.1307, 0.3081)}


def write_safetensors(path, tensors, metadata=None):
    """tensors: name -> (shape, flat list of numbers), stored as float32."""
    header, payload = {"__metadata__": metadata} if metadata else {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(payload)
        payload += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(payload)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + payload)


def read_safetensors(path):
    """(name -> (shape, flat list, dtype), metadata)"""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        payload = file.read()
    codes = {"F32": "f", "F16": "e", "I64": "q"}
    tensors = {}
    metadata = header.pop("__metadata__", {})
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        code = codes[entry["dtype"]]
        values = struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", payload[begin:end])
        tensors[name] = (entry["shape"], list(values), entry["dtype"])
    return tensors, metadata


def write_idx(root, dataset, part, images, labels):
    """images: a list of 28 x 28 bytes; part: "train" or "t10k"."""
    os.makedirs(f"{root}/{dataset}", exist_ok=True)
    with open(f"{root}/{dataset}/{part}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, len(images), 28, 28) + b"".join(images))
    with open(f"{root}/{dataset}/{part}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, len(labels)) + bytes(labels))


def write_png(path, side, pixels):
    """pixels: bytes of [side, side, 3]"""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    raw = b"".join(b"\0" + pixels[y * side * 3:(y + 1) * side * 3] for y in range(side))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def read_npy(path):
    """(shape, bytes) of a uint8 array."""
    with open(path, "rb") as file:
        assert file.read(8) == b"\x93NUMPY\x01\x00"
        header = ast.literal_eval(file.read(struct.unpack("<H", file.read(2))[0]).decode())
        assert header["descr"] == "|u1" and not header["fortran_order"], header
        return header["shape"], file.read()


def random_images(count, seed):
    """Blobs of several sizes on noise, so that networks tell them apart."""
    draw = random.Random(seed)
    images = []
    for _ in range(count):
        x0, y0, size, height = (draw.uniform(4, 24), draw.uniform(4, 24), draw.uniform(2, 9), draw.uniform(60, 230))
        images.append(bytes(
            min(255, int(draw.randrange(25) + height * math.exp(-((x - x0) ** 2 + (y - y0) ** 2) / size ** 2)))
            for y in range(28) for x in range(28)))
    return images


def random_network(seed, widths=(2, 4, 8), classes=10):
    draw = random.Random(seed)
    tensors = {}

    def weight(name, shape, spread=1.5):
        fan = shape[1] * (shape[2] * shape[3] if len(shape) == 4 else 1)
        tensors[name] = (shape, [draw.gauss(0, spread / math.sqrt(fan)) for _ in range(math.prod(shape))])

    def norm(name, width):
        tensors[name + ".weight"] = ([width], [draw.uniform(0.7, 1.3) for _ in range(width)])
        tensors[name + ".bias"] = ([width], [draw.uniform(-0.2, 0.2) for _ in range(width)])
        tensors[name + ".running_mean"] = ([width], [draw.uniform(-0.2, 0.2) for _ in range(width)])
        tensors[name + ".running_var"] = ([width], [draw.uniform(0.5, 1.5) for _ in range(width)])

    weight("conv1.weight", [widths[0], 1, 3, 3])
    norm("bn1", widths[0])
    before = widths[0]
    for stage, width in enumerate(widths, 1):
        block = f"layer{stage}.0."
        weight(block + "conv1.weight", [width, before, 3, 3])
        norm(block + "bn1", width)
        weight(block + "conv2.weight", [width, width, 3, 3])
        norm(block + "bn2", width)
        if stage > 1:
            weight(block + "downsample.0.weight", [width, before, 1, 1])
            norm(block + "downsample.1", width)
        before = width
    weight("fc.weight", [classes, before], 4)
    tensors["fc.bias"] = ([classes], [0.0] * classes)
    return tensors


def convolve(planes, tensor, stride=1):
    """planes: [C][H][W]"""
    (outputs, inputs, kernel, _), weights = tensor[0], tensor[1]
    pad, size = kernel // 2, len(planes[0])
    padded = [[[0.0] * (size + 2 * pad)] * pad + [[0.0] * pad + row + [0.0] * pad for row in plane]
              + [[0.0] * (size + 2 * pad)] * pad for plane in planes]
    extent = (size + 2 * pad - kernel) // stride + 1
    result = []
    for o in range(outputs):
        plane = []
        for y in range(extent):
            row = [0.0] * extent
            for c in range(inputs):
                for ky in range(kernel):
                    source = padded[c][y * stride + ky]
                    for kx in range(kernel):
                        w = weights[((o * inputs + c) * kernel + ky) * kernel + kx]
                        row = [a + w * x for a, x in zip(row, source[kx:kx + (extent - 1) * stride + 1:stride])]
            plane.append(row)
        result.append(plane)
    return result


def normalise(planes, tensors, name):
    result = []
    for c, plane in enumerate(planes):
        weight, bias, mean, var = (tensors[f"{name}.{part}"][1][c] for part in ("weight", "bias", "running_mean", "running_var"))
        scale = weight / math.sqrt(var + 1e-5)
        result.append([[(x - mean) * scale + bias for x in row] for row in plane])
    return result


def rectify(planes):
    return [[[max(0.0, x) for x in row] for row in plane] for plane in planes]


def pixels(image, mean, std):
    return [[[(image[y * 28 + x] / 255 - mean) / std for x in range(28)] for y in range(28)]]


def features(tensors, image, mean, std):
    planes = rectify(normalise(convolve(pixels(image, mean, std), tensors["conv1.weight"]), tensors, "bn1"))
    for stage in (1, 2, 3):
        block, stride = f"layer{stage}.0.", 1 if stage == 1 else 2
        left = rectify(normalise(convolve(planes, tensors[block + "conv1.weight"], stride), tensors, block + "bn1"))
        left = normalise(convolve(left, tensors[block + "conv2.weight"]), tensors, block + "bn2")
        if stage > 1:
            planes = normalise(convolve(planes, tensors[block + "downsample.0.weight"], stride), tensors, block + "downsample.1")
        planes = rectify([[[a + b for a, b in zip(*rows)] for rows in zip(*pair)] for pair in zip(left, planes)])
    return [sum(map(sum, plane)) / len(plane) ** 2 for plane in planes]


def logits(tensors, image, mean, std):
    values = features(tensors, image, mean, std)
    (classes, width), weights = tensors["fc.weight"][0], tensors["fc.weight"][1]
    return [sum(weights[k * width + i] * values[i] for i in range(width)) + tensors["fc.bias"][1][k] for k in range(classes)]


def balance(tensors, images, mean, std):
    """Shifts the last layer so that these images go to several classes."""
    answers = [logits(tensors, image, mean, std) for image in images]
    average = [sum(values) / len(images) for values in zip(*answers)]
    bias = [b - a for b, a in zip(tensors["fc.bias"][1], average)]
    tensors["fc.bias"] = ([len(bias)], list(struct.unpack(f"{len(bias)}f", struct.pack(f"{len(bias)}f", *bias))))
    return tensors


def predict(tensors, images, mean, std):
    """The class of every image."""
    answers = []
    for image in images:
        values = logits(tensors, image, mean, std)
        answers.append(values.index(max(values)))
    return answers


def agreement(left, right):
    return sum(a == b for a, b in zip(left, right))
