"""Writes a data root with a few images in the form of Fashion-MNIST.

usage: make_tiny_data.py FOLDER COUNT

COUNT images of random pixels each to train and to test on, the same every time:
what runs on them takes a moment.
"""
import os
import random
import struct
import sys


def main():
    folder, count = sys.argv[1] + "/fashion-mnist", int(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    random.seed(1)
    for split in ("train", "t10k"):
        with open(f"{folder}/{split}-images-idx3-ubyte", "wb") as out:
            out.write(struct.pack(">IIII", 0x803, count, 28, 28))
            out.write(bytes(random.randrange(256) for _ in range(count * 784)))
        with open(f"{folder}/{split}-labels-idx1-ubyte", "wb") as out:
            out.write(struct.pack(">II", 0x801, count))
            out.write(bytes(i % 10 for i in range(count)))


main()
