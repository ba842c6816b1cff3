"""Computes what corruptions make of the golden images at severities 2 and 4, for the tests.

usage: make_severity_golden.py

The published scripts were run at severities 1, 3 and 5 (make_corruption_golden.py). This is a second
computation of most kinds, in NumPy alone and pixel by pixel as the kinds are described: it first makes the images
of severities 1, 3 and 5, which must equal those of the scripts, then writes the others to
tests/golden/corruptions/even_severities.safetensors. The draws are those of tests/corrupt/reference_draws.h.
"""
import json
import math
import pathlib
import struct
import sys

import numpy as np

GOLDEN = pathlib.Path(__file__).parents[1] / "tests/golden/corruptions"

# kind: (its number in the streams, constants of severities 1 to 5 for small images, for large ones)
KINDS = {
    "gaussian_noise": (1, [.04, .06, .08, .09, .10], [.08, .12, .18, .26, .38]),
    "speckle_noise": (3, [.06, .1, .12, .16, .2], [.15, .2, .35, .45, .6]),
    "impulse_noise": (2, [.01, .02, .03, .05, .07], [.03, .06, .09, .17, .27]),
    "gaussian_blur": (0, [.4, .6, .7, .8, 1], [1, 2, 3, 4, 6]),
    "glass_blur": (4, [(.05, 1, 1), (.25, 1, 1), (.4, 1, 1), (.25, 1, 2), (.4, 1, 2)],
                   [(.7, 1, 2), (.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)]),
    "motion_blur": (0, [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)],
                    [(10, 3), (15, 5), (15, 8), (15, 12), (20, 15)]),
    "zoom_blur": (0, [(.01, 7), (.01, 12), (.01, 16), (.01, 21), (.01, 26)],
                  [(.01, 12), (.01, 16), (.02, 11), (.02, 13), (.03, 11)]),
    "snow": (5, [(.1, .2, 1, .6, 8, 3, .95), (.1, .2, 1, .5, 10, 4, .9), (.15, .3, 1.75, .55, 10, 4, .9),
                 (.25, .3, 2.25, .6, 12, 6, .85), (.3, .3, 1.25, .65, 14, 12, .8)],
             [(.1, .3, 3, .5, 10, 4, .8), (.2, .3, 2, .5, 12, 4, .7), (.55, .3, 4, .9, 12, 8, .7),
              (.55, .3, 4.5, .85, 12, 8, .65), (.55, .3, 2.5, .85, 12, 12, .55)]),
    "frost": (6, [(1, .2), (1, .3), (.9, .4), (.85, .4), (.75, .45)],
              [(1, .4), (.8, .6), (.7, .7), (.65, .7), (.6, .75)]),
    "fog": (7, [(.2, 3), (.5, 3), (.75, 2.5), (1, 2), (1.5, 1.75)],
            [(1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)]),
    "brightness": (0, [.05, .1, .15, .2, .3], [.1, .2, .3, .4, .5]),
    "contrast": (0, [.75, .5, .4, .3, .15], [.4, .3, .2, .1, .05]),
    "saturate": (0, [(.3, 0), (.1, 0), (1.5, 0), (2, .1), (2.5, .2)],
                 [(.3, 0), (.1, 0), (2, 0), (5, .1), (20, .2)]),
    "elastic_transform": (8, [(0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2, .96, .96)],
                          [(488, 170.8, 24.4), (488, 19.52, 48.8), (12.2, 2.44, 4.88), (17.08, 2.44, 4.88),
                           (29.28, 2.44, 4.88)]),
    "jpeg_compression": (0, [80, 65, 58, 50, 40], [25, 18, 15, 10, 7]),
    "spatter": (9, [None, None, None, (.65, .1, .7, .69, .6), (.65, .1, .5, .68, .6)],  # mud; water is left out
                [None, None, None, (.65, .3, 1, .65, 1.5), (.67, .4, 1, .65, 1.5)]),
    "pixelate": (0, [.95, .9, .85, .75, .65], [.6, .5, .4, .3, .25]),
    "defocus_blur": (0, [(.3, .4), (.4, .5), (.5, .6), (1, .2), (1.5, .1)],
                     [(3, .1), (4, .5), (6, .5), (8, .5), (10, .5)]),
}
# Of severities 1 to 5: one image of 224 x 224, two of 32 x 32.
LARGE_ANGLES = [17.5, 8, -30.25, -12.5, 44]
SMALL_ANGLES = [-42.1875, -36.5625]


class Source:
    """ReferenceDraws of tests/corrupt/reference_draws.h."""

    def __init__(self, stream):
        self.counter = stream << 32

    def uniform(self, count):
        keys = np.arange(self.counter + 1, self.counter + 1 + count, dtype=np.uint64)
        self.counter += count
        return (mix(keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(44)).astype(float) / 2 ** 20

    def normal(self, count):
        parts = self.uniform(12 * count).reshape(count, 12)
        total = np.full(count, -6.0)
        for i in range(12):
            total += parts[:, i]
        return total

    def integer(self, low, high, count=1):
        return low + np.floor(self.uniform(count) * (high - low)).astype(int)


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def large_picture():
    y, x = np.mgrid[0:224, 0:224]
    shapes = [200 * x // 223, 40 + 160 * ((x // 16 + y // 16) % 2), ((x - 112) ** 2 + (y - 112) ** 2) // 98]
    keys = ((y * 224 + x) * 1000003).astype(np.uint64)
    noise = [(mix((keys + np.uint64(c + 1)) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(59)).astype(int) for c in range(3)]
    return np.stack([np.minimum(s + n, 255) for s, n in zip(shapes, noise)], -1).astype(np.uint8)


def out01(z):
    return (np.clip(z, 0, 1) * 255).astype(np.uint8)


def symmetric(place, size):
    place = place % (2 * size)
    return np.where(place < size, place, 2 * size - 1 - place)


def reflect101(place, size):
    place = place % (2 * size - 2)
    return np.where(place < size, place, 2 * size - 2 - place)


def nearest(place, size):
    return np.clip(place, 0, size - 1)


def gaussian(x, sigma, truncate=4, border=nearest):
    """Along the rows' index, then along the columns'; SciPy's order of summation."""
    if sigma == 0:
        return x
    radius = int(truncate * sigma + .5)
    half = np.array([math.exp(-.5 / (sigma * sigma) * i * i) for i in range(radius + 1)])
    # Added up from the middle. NumPy's own order gives another last bit for deviations such as .25, and with it
    # moves 1 % of glass_blur's values by one level; its vectorised exp differs from machine to machine as well.
    total = 1.0
    for weight in half[1:]:
        total += 2 * weight
    weights = np.concatenate([half[:0:-1], half]) / total
    for axis in (0, 1):
        size = x.shape[axis]
        wide = x.astype(float)
        at = lambda by: np.take(wide, border(np.arange(size) + by, size), axis)
        total = wide * weights[radius]
        for by in range(radius, 0, -1):
            total = total + (at(-by) + at(by)) * weights[radius + by]
        x = total.astype(x.dtype)
    return x


def zoomed(x, factor):
    side = x.shape[0]
    kept = int(np.ceil(side / factor))
    top = (side - kept) // 2
    size = int(np.round(kept * factor))
    trim = (size - side) // 2
    place = (np.arange(size) * ((kept - 1) / (size - 1)))[trim:trim + side]
    low = np.floor(place).astype(int)
    share = place - low
    high = np.minimum(low + 1, kept - 1)
    x = x[top:top + kept, top:top + kept]
    column = share.reshape((-1,) + (1,) * (x.ndim - 1))
    x = (1 - column) * x[low] + column * x[high]
    column = share.reshape((1, -1) + (1,) * (x.ndim - 2))
    return (1 - column) * x[:, low] + column * x[:, high]


def smeared(v, radius, sigma, angle):
    taps = np.arange(2 * int(np.ceil(radius)) + 1)
    weights = np.exp(-taps ** 2 / (2 * sigma * sigma))
    weights /= weights.sum()
    total = np.zeros(v.shape)
    side = v.shape[0]
    angle = np.deg2rad(angle)
    for i, weight in zip(taps, weights):
        rows = np.clip(np.arange(side) + int(np.ceil(i * np.sin(angle) - .5)), 0, side - 1)
        columns = np.clip(np.arange(side) + int(np.ceil(i * np.cos(angle) - .5)), 0, side - 1)
        total += weight * v[rows][:, columns]
    return (np.floor(257 * total + .5) // 257).astype(np.uint8)


def hsv(x):
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    value, spread = x.max(-1), x.max(-1) - x.min(-1)
    safe = np.where(spread == 0, 1, spread)
    hue = np.where(r == value, (g - b) / safe, 0)
    hue = np.where(g == value, 2 + (b - r) / safe, hue)
    hue = np.where(b == value, 4 + (r - g) / safe, hue)
    hue = np.where(spread == 0, 0, (hue / 6) % 1)
    return hue, np.where(spread == 0, 0, spread / np.where(value == 0, 1, value)), value


def rgb(hue, saturation, value):
    sector = np.floor(6 * hue)
    f = 6 * hue - sector
    p, q, t = value * (1 - saturation), value * (1 - f * saturation), value * (1 - (1 - f) * saturation)
    orders = [(value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q)]
    result = np.zeros(value.shape + (3,))
    for k, colours in enumerate(orders):
        mask = sector.astype(int) % 6 == k
        for c in range(3):
            result[..., c][mask] = colours[c][mask]
    return result


def box_resized(v, size):
    for axis in (1, 0):
        side = v.shape[axis]
        scale = side / size
        reach = max(scale, 1)
        rows = []
        for o in range(size):
            centre = (o + .5) * scale
            range_ = range(max(0, int(centre - reach / 2 + .5)), min(side, int(centre + reach / 2 + .5)))
            members = [i for i in range_ if -.5 < (i - centre + .5) / reach <= .5]
            weight = int(.5 + 2 ** 22 / len(members))
            rows.append((2 ** 21 + weight * np.take(v, members, axis).astype(int).sum(axis)) >> 22)
        v = np.stack(rows, axis)
    return v.astype(np.uint8)


def plasma(source, side, decay):
    grid = np.zeros((side, side))
    step, width = side, 100.0
    while step >= 2:
        n, half = side // step, step // 2
        draws = [source.uniform(n * n).reshape(n, n) * 2 - 1 for _ in range(3)]
        corners = grid[::step, ::step]
        down = np.roll(corners, -1, 0)
        centres = (corners + down + np.roll(corners + down, -1, 1)) / 4 + draws[0] * width * width
        top = (centres + np.roll(centres, 1, 0) + (corners + np.roll(corners, -1, 1))) / 4 + draws[1] * width * width
        left = (centres + np.roll(centres, 1, 1) + (corners + down)) / 4 + draws[2] * width * width
        grid[half::step, half::step], grid[::step, half::step], grid[half::step, ::step] = centres, top, left
        step, width = half, width / decay
    return (grid - grid.min()) / (grid.max() - grid.min())


def stand_in():
    y, x = np.mgrid[0:350, 0:527]
    return np.stack([(7 * y + 13 * x + 50 * c + y * x // 11) % 256 for c in range(3)], -1)


def glass(v, source, sigma, reach, passes):
    pixels = out01(gaussian(v / 255, sigma))
    side = len(v)
    for _ in range(passes):
        moves = source.integer(-reach, reach, 2 * (side - 2 * reach) ** 2).reshape(-1, 2).tolist()
        visits = iter(moves)
        for row in range(side - reach, reach, -1):
            for column in range(side - reach, reach, -1):
                dx, dy = next(visits)
                pixels[row, column] = pixels[row + dy, column + dx]
    return out01(gaussian(pixels / 255, sigma))


def snow(v, source, location, scale, zoom, threshold, radius, sigma, mixing):
    side = len(v)
    field = zoomed(location + scale * source.normal(side * side).reshape(side, side), zoom)
    field[field < threshold] = 0
    flakes = smeared(out01(field)[..., None], radius, sigma, -135 + 90 * source.uniform(1)[0]) / 255
    x = v.astype(np.float32) / np.float32(255)
    grey = x[..., 0] * np.float32(.299) + x[..., 1] * np.float32(.587) + x[..., 2] * np.float32(.114)
    pale = np.maximum(x, (grey * np.float32(1.5) + np.float32(.5))[..., None])
    whitened = x * np.float32(mixing) + pale * np.float32(1 - mixing)
    return out01(whitened + flakes + flakes[::-1, ::-1])


def defocus(v, radius, sigma):
    reach, taps = (8, 3) if radius <= 8 else (int(radius), 5)
    y, x = np.mgrid[-reach:reach + 1, -reach:reach + 1]
    kernel = (x * x + y * y <= radius * radius).astype(np.float32)
    kernel /= kernel.sum()
    i = np.arange(taps) - taps // 2
    weights = np.exp(-i ** 2 / (2 * sigma * sigma))
    weights = (weights / weights.sum()).astype(np.float32)
    for axis in (1, 0):
        pad = [(0, 0), (0, 0)]
        pad[axis] = (taps // 2, taps // 2)
        wide = np.pad(kernel, pad, "reflect")
        kernel = sum(w * np.take(wide, np.arange(len(kernel)) + k, axis) for k, w in enumerate(weights))
    wide = np.pad(v / 255, [(reach, reach)] * 2 + [(0, 0)], "reflect")
    side = len(v)
    total = np.zeros(v.shape)
    for dy, dx in np.argwhere(kernel):
        total += float(kernel[dy, dx]) * wide[dy:dy + side, dx:dx + side]
    return out01(total)


def sampled(x, row, column, border, weight_type):
    """Bilinear, at the places row, column; the four products in this order."""
    side = len(x)
    above, left = np.floor(row), np.floor(column)
    down, right = ((row - above).astype(weight_type)[..., None], (column - left).astype(weight_type)[..., None])
    total = 0
    for dy, wy in ((0, 1 - down), (1, down)):
        for dx, wx in ((0, 1 - right), (1, right)):
            total = total + x[border(above.astype(int) + dy, side), border(left.astype(int) + dx, side)] * (wy * wx)
    return total


def elastic(v, source, strength, sigma, shift):
    side = len(v)
    x = v.astype(np.float32) / np.float32(255)
    centre, reach = side // 2, side // 3
    corners = np.float32([[centre + reach] * 2, [centre + reach, centre - reach], [centre - reach] * 2])
    moved = corners + ((source.uniform(6).reshape(3, 2) * 2 - 1) * shift).astype(np.float32)
    # The map from corners to moved, then its inverse by determinant.
    of_x = (moved[1].astype(float) - moved[2]) / (2 * reach)
    of_y = (moved[0].astype(float) - moved[1]) / (2 * reach)
    constant = moved[1] - of_x * (centre + reach) - of_y * (centre - reach)
    scale = 1 / (of_x[0] * of_y[1] - of_y[0] * of_x[1])
    a, b, c, d = of_y[1] * scale, -of_y[0] * scale, -of_x[1] * scale, of_x[0] * scale
    e, f = -a * constant[0] - b * constant[1], -c * constant[0] - d * constant[1]
    y, column = np.mgrid[0:side, 0:side]
    place = lambda of_row, of_column, rest: np.floor(
        (np.round((of_row * y + rest) * 1024) + np.round(of_column * column * 1024) + 16) / 32) / 32
    warped = sampled(x, place(d, c, f), place(b, a, e), reflect101, np.float32)
    if strength == 0:
        return out01(warped)
    fields = [(source.uniform(side * side).reshape(side, side) * 2 - 1) for _ in range(2)]
    dx, dy = ((gaussian(field, sigma, 3, symmetric) * strength).astype(np.float32) for field in fields)
    return out01(sampled(warped.astype(float), y + dy.astype(float), column + dx.astype(float), symmetric,
                         float).astype(np.float32))


def mud(v, source, location, scale, sigma, threshold, thickness):
    x = v.astype(np.float32) / np.float32(255)
    liquid = gaussian(location + scale * source.normal(v[..., 0].size).reshape(v.shape[:2]), sigma)
    cover = gaussian((liquid > threshold).astype(np.float32), thickness)
    cover[cover < .8] = 0
    colour = (np.array([63, 42, 20]) / 255).astype(np.float32)
    return out01(x * (1 - cover[..., None]) + colour * cover[..., None])


DCT = np.array([[8192] * 8, [11363, 9633, 6437, 2260, -2260, -6437, -9633, -11363],
                [10703, 4433, -4433, -10703, -10703, -4433, 4433, 10703],
                [9633, -2259, -11362, -6436, 6436, 11362, 2259, -9633],
                [8192, -8192, -8192, 8192, 8192, -8192, -8192, 8192],
                [6437, -11362, 2261, 9633, -9633, -2261, 11362, -6437],
                [4433, -10704, 10704, -4433, -4433, 10704, -10704, 4433],
                [2260, -6436, 9633, -11363, 11363, -9633, 6436, -2260]])
LUMINANCE = np.array([16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
                      14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
                      49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99]).reshape(8, 8)
CHROMINANCE = np.full((8, 8), 99)
CHROMINANCE[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]


def coded(plane, table):
    side = len(plane)
    blocks = (plane - 128).reshape(side // 8, 8, side // 8, 8).swapaxes(1, 2)
    found = (blocks @ DCT.T + 1024) >> 11
    found = (DCT @ found + 16384) >> 15
    levels = np.sign(found) * ((np.abs(found) + 4 * table) // (8 * table)) * table
    back = (DCT.T @ levels + 1024) >> 11
    back = (back @ DCT + 131072) >> 18
    return np.clip(back + 128, 0, 255).swapaxes(1, 2).reshape(side, side)


def jpeg(v, quality):
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    tables = [np.clip((base * scale + 50) // 100, 1, 255) for base in (LUMINANCE, CHROMINANCE)]
    r, g, b = (v[..., c].astype(int) for c in range(3))
    luma = coded((19595 * r + 38470 * g + 7471 * b + 32768) >> 16, tables[0])
    planes = [(-11059 * r - 21709 * g + 32768 * b + 8388608 + 32767) >> 16,
              (32768 * r - 27439 * g - 5329 * b + 8388608 + 32767) >> 16]
    wide = []
    for plane in planes:
        bias = 1 + np.arange(len(v) // 2) % 2
        small = coded((plane[::2, ::2] + plane[1::2, ::2] + plane[::2, 1::2] + plane[1::2, 1::2] + bias) >> 2, tables[1])
        edge = np.pad(small, 1, "edge")
        tall = np.stack([3 * small + edge[:-2, 1:-1], 3 * small + edge[2:, 1:-1]], 1).reshape(len(v), -1)
        edge = np.pad(tall, ((0, 0), (1, 1)), "edge")
        full = np.stack([(3 * tall + edge[:, :-2] + 8) >> 4, (3 * tall + edge[:, 2:] + 7) >> 4], 2)
        wide.append(full.reshape(len(v), len(v)) - 128)
    blue, red = wide
    return np.clip(np.stack([luma + ((91881 * red + 32768) >> 16), luma + ((-22554 * blue - 46802 * red + 32768) >> 16),
                             luma + ((116130 * blue + 32768) >> 16)], -1), 0, 255).astype(np.uint8)


def corrupt(kind, v, constants, stream, angle):
    side, x, source = len(v), v / 255, Source(stream)
    c = constants if isinstance(constants, tuple) else (constants,)
    if kind == "gaussian_noise":
        return out01(x + c[0] * source.normal(v.size).reshape(v.shape))
    if kind == "speckle_noise":
        return out01(x + x * (c[0] * source.normal(v.size).reshape(v.shape)))
    if kind == "impulse_noise":
        flip, salt = source.uniform(v.size).reshape(v.shape), source.uniform(v.size).reshape(v.shape)
        return out01(np.where(flip <= c[0], salt <= .5, x))
    if kind == "gaussian_blur":
        return out01(gaussian(x, c[0]))
    if kind == "elastic_transform":
        return elastic(v, source, *c)
    if kind == "jpeg_compression":
        return jpeg(v, *c)
    if kind == "spatter":
        return mud(v, source, *c)
    if kind == "glass_blur":
        return glass(v, source, *c)
    if kind == "motion_blur":
        return smeared(v, *c, angle)
    if kind == "zoom_blur":
        x = v.astype(np.float32) / np.float32(255)
        total = np.zeros_like(x)
        for k in range(c[1]):
            total += zoomed(x.astype(float), 1 + k * ((1 + c[0]) - 1)).astype(np.float32)
        return out01((x + total) / np.float32(c[1] + 1))
    if kind == "snow":
        return snow(v, source, *c)
    if kind == "frost":
        picture = stand_in() if side == 224 else stand_in()[2::5, 2::5]
        source.uniform(1)
        top, left = (source.integer(0, picture.shape[axis] - side)[0] for axis in (0, 1))
        return np.clip(v * c[0] + picture[top:top + side, left:left + side] * c[1], 0, 255).astype(np.uint8)
    if kind == "fog":
        clouds = plasma(source, 32 if side == 32 else 256, c[1])[:side, :side, None]
        return out01((x + c[0] * clouds) * x.max() / (x.max() + c[0]))
    if kind == "contrast":
        mean = x.mean((0, 1))
        return out01((x - mean) * c[0] + mean)
    if kind == "pixelate":
        return box_resized(box_resized(v, int(side * c[0])), side)
    if kind == "defocus_blur":
        return defocus(v, *c)
    hue, saturation, value = hsv(x)
    if kind == "brightness":
        return out01(rgb(hue, saturation, np.clip(value + c[0], 0, 1)))
    return out01(rgb(hue, np.clip(saturation * c[0] + c[1], 0, 1), value))  # saturate


def read(path):
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    return {name: np.frombuffer(content[8 + length:][slice(*entry["data_offsets"])], np.uint8).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "U8"}


def write(path, arrays):
    header, offset = {"__metadata__": {"script": "tools/make_severity_golden.py"}}, 0
    for name in sorted(arrays):
        size = arrays[name].size
        header[name] = {"dtype": "U8", "shape": list(arrays[name].shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(arrays[name].tobytes() for name in sorted(arrays)))


def main():
    results, large = {}, large_picture()
    for kind, (number, small_constants, large_constants) in KINDS.items():
        golden = read(GOLDEN / f"{kind}.safetensors")
        for severity in range(1, 6):
            if not small_constants[severity - 1]:
                continue
            images = np.moveaxis(golden["input"], 1, -1)
            small = np.stack([corrupt(kind, image, small_constants[severity - 1], 100 * number + i, SMALL_ANGLES[i])
                              for i, image in enumerate(images)])
            wide = corrupt(kind, large, large_constants[severity - 1], 10000 + 100 * number, LARGE_ANGLES[severity - 1])
            made = {f"s{severity}": np.moveaxis(small, -1, 1), f"g224_s{severity}": np.moveaxis(wide[3::7, 3::7], -1, 0)}
            for key, found in made.items():
                if key not in golden:
                    results[f"{kind}_{key}"] = np.ascontiguousarray(found)
                elif not np.array_equal(found, golden[key]):
                    sys.exit(f"{kind} {key}: {(found != golden[key]).sum()} of {found.size} differ from the script's")
    write(GOLDEN / "even_severities.safetensors", results)


if __name__ == "__main__":
    main()
