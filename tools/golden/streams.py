#!/usr/bin/python3
"""The order of small streams (src/stream/), computed a second time.

Prints the numbers that tests/stream/stream_plan_test.cpp and arrange_test.cpp
hold: `/usr/bin/python3 tools/golden/streams.py`. Written from docs/streams.md and the
description of the draws there, not from the C++ sources.
"""
import math

from rng import Rng

NOISE = 1 << 40


def shuffled(values, rng):
    """Fisher and Yates from the front."""
    values = list(values)
    for i in range(len(values)):
        j = i + rng.below(len(values) - i)
        values[i], values[j] = values[j], values[i]
    return values


def sample(size, count, rng):
    """`count` of 0 .. size-1 without replacement, also of a very large range."""
    if size <= 10 ** 6:
        return _partial(size, count, rng)
    moved, chosen = {}, []
    for i in range(count):
        j = i + rng.below(size - i)
        chosen.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return chosen


def _partial(size, count, rng):
    values = list(range(size))
    for i in range(count):
        j = i + rng.below(size - i)
        values[i], values[j] = values[j], values[i]
    return values[:count]


def resample(size, count, rng):
    chosen = sample(size, count % size, rng.child("rest"))
    if count < size:
        return chosen
    return shuffled(chosen + list(range(size)) * (count // size), rng.child("shuffle"))


def log_gamma_draw(shape, rng):
    """Marsaglia and Tsang."""
    if shape < 1:
        larger = log_gamma_draw(shape + 1, rng)
        return larger + math.log(1 - rng.uniform()) / shape
    d = shape - 1 / 3
    while True:
        x = rng.normal()
        u = 1 - rng.uniform()
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(u) < x * x / 2 + d * (1 - v + math.log(v)):
            return math.log(d * v)


def dirichlet_order(labels, classes, concentration, rng):
    slots = [[] for _ in range(classes)]
    shares_rng = rng.child("shares")
    for c in range(classes):
        members = shuffled([i for i, label in enumerate(labels) if label == c],
                           rng.child("class").child(c))
        logs = [log_gamma_draw(concentration, shares_rng) for _ in range(classes)]
        weights = [math.exp(value - max(logs)) for value in logs]
        ends = [math.floor(sum(weights[:k + 1]) / sum(weights) * len(members) + 0.5)
                for k in range(classes)]
        ends[-1] = len(members)
        begin = 0
        for slot, end in zip(slots, ends):
            slot += members[begin:end]
            begin = max(begin, end)
    return [i for k, slot in enumerate(slots)
            for i in shuffled(slot, rng.child("slot").child(k))]


def interleave(others, foreign, burst, rng):
    """For every place of the stream, whether a foreign sample stands there."""
    length = max(1, burst)
    runs = [min(length, foreign - begin) for begin in range(0, foreign, length)]
    flags = []
    for unit in shuffled(range(others + len(runs)), rng):
        flags += [True] * runs[unit] if unit < len(runs) else [False]
    return flags


def plan(images, foreign_images, domains, scenario="benign", seed=0, limit=0,
         share=0.0, burst=0, order="shuffled", concentration=0.1, mixed=False, classes=10):
    """(origin, domain, index) of every sample of the stream that
    numbered_sources(images, foreign_images, domains, classes) gives."""
    stream = Rng(seed).child("stream").child("numbers")
    targets = sorted(sample(images, min(limit or images, images), stream.child("targets")))
    count = len(targets)
    foreign = math.floor(count * share / (1 - share) + 0.5) if share else count
    foreign = 0 if scenario == "benign" else foreign

    def domain_of(index, domain, rng):
        return rng.child("domain").child(index).below(domains) if domain is None else domain

    def segment(domain, rng):
        if order == "shuffled":
            places = shuffled(range(count), rng.child("order"))
        else:
            places = dirichlet_order([i % classes for i in targets], classes, concentration,
                                     rng.child("order"))
        own = [("T", domain_of(targets[p], domain, rng), targets[p]) for p in places]
        if scenario == "attack":
            chosen = resample(count, foreign, rng.child("foreign").child(scenario))
            others = [("A", domain_of(targets[i], domain, rng), targets[i]) for i in chosen]
        else:
            size = NOISE if scenario == "noise" else foreign_images
            others = [("F", -1, i) for i in
                      resample(size, foreign, rng.child("foreign").child(scenario))]
        flags = interleave(count, foreign, burst, rng.child("interleave").child(scenario))
        return [others.pop(0) if flag else own.pop(0) for flag in flags]

    if mixed and domains > 1:
        return segment(None, stream.child("mixed"))
    samples = []
    for d in range(domains):
        samples += segment(d, stream.child("domain").child(f"d{d}").child(0))
    return samples


def show(name, samples):
    print(name, " ".join(f"{origin}{domain}:{index}" for origin, domain, index in samples))


def main():
    show("benign", plan(12, 5, 1, seed=3, limit=6))
    show("near", plan(6, 4, 2, "near", seed=1, limit=3, burst=2))
    show("noise", plan(5, 1, 1, "noise", seed=2, limit=2))
    show("attack", plan(8, 1, 3, "attack", seed=4, limit=4, mixed=True))
    show("share", plan(10, 9, 1, "far", seed=5, share=0.4, limit=4))
    show("dirichlet", plan(20, 1, 1, seed=6, limit=9, order="dirichlet", concentration=0.5,
                           classes=3))
    labels = [0, 1, 2, 0, 0, 1, 2, 2, 0, 1, 0, 2, 1, 0]
    for concentration in (0.3, 2.5):
        print("order", concentration, dirichlet_order(labels, 3, concentration, Rng(21)))
    # Enough draws that some are refused.
    print("order 1", dirichlet_order([7 * i % 10 for i in range(40)], 10, 1.0, Rng(25)))
    print("resample", resample(5, 12, Rng(22)), resample(9, 4, Rng(23)))
    print("interleave", [int(flag) for flag in interleave(5, 7, 3, Rng(24))])


if __name__ == "__main__":
    main()
