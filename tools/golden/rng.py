"""The project's random streams (sotta/core/rng.h), number for number."""
import math

import numpy as np

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


def mix64(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def _hash(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


class Rng:
    def __init__(self, seed=None, key=None):
        self.key = mix64((seed + _GAMMA) & _MASK) if key is None else key
        self.counter = 0

    def child(self, name):
        """An independent stream, by name or by index."""
        if isinstance(name, str):
            return Rng(key=mix64(self.key ^ mix64(_hash(name))))
        index = mix64((name + _GAMMA) & _MASK)
        return Rng(key=mix64((self.key + index) & _MASK))

    def next(self):
        self.counter += 1
        return mix64((self.key + self.counter * _GAMMA) & _MASK)

    def uniform(self, low=0.0, high=1.0):
        return low + (high - low) * ((self.next() >> 11) * 2.0 ** -53)

    def below(self, count):
        limit = _MASK - (_MASK % count + 1) % count
        word = self.next()
        while word > limit:
            word = self.next()
        return word % count

    def normal(self):
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        return radius * math.cos(6.283185307179586 * self.uniform())

    def uniforms(self, count):
        """What `count` calls of uniform() give, as one float64 array."""
        steps = np.arange(self.counter + 1, self.counter + count + 1,
                          dtype=np.uint64)
        self.counter += count
        with np.errstate(over="ignore"):
            word = np.uint64(self.key) + steps * np.uint64(_GAMMA)
            word = ((word ^ (word >> np.uint64(30)))
                    * np.uint64(0xBF58476D1CE4E5B9))
            word = ((word ^ (word >> np.uint64(27)))
                    * np.uint64(0x94D049BB133111EB))
            word ^= word >> np.uint64(31)
        return (word >> np.uint64(11)).astype(np.float64) * 2.0 ** -53

    def normals(self, count):
        """What `count` calls of normal() give: two uniforms for each."""
        pairs = self.uniforms(2 * count).reshape(count, 2)
        return (np.sqrt(-2.0 * np.log1p(-pairs[:, 0]))
                * np.cos(6.283185307179586 * pairs[:, 1]))
