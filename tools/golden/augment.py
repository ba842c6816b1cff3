"""The augmentation of CoTTA and RoTTA: one draw of parameters for a whole
batch, pixel noise for each element. docs/decisions/random-streams.md has the
order of the draws and the formulas."""
import math
from dataclasses import dataclass, field

import torch
from torch.nn import functional as F

BRIGHTNESS, CONTRAST, SATURATION, HUE, GAMMA = range(5)
RANGES = {BRIGHTNESS: (.6, 1.4), CONTRAST: (.7, 1.3), SATURATION: (.5, 1.5),
          HUE: (-.06, .06), GAMMA: (.7, 1.3)}
NOISE = .005


@dataclass
class View:
    """One draw of all parameters but the pixel noise."""
    order: list = field(default_factory=list)    # colour operations, by number
    factors: list = field(default_factory=list)  # in the order of application
    angle: float = 0                             # degrees
    translate_x: int = 0                         # pixels
    translate_y: int = 0
    scale: float = 1
    sigma: float = .5
    flip: bool = False


def draw_view(rng, side):
    view = View(order=list(range(5)))
    for i in range(4, 0, -1):
        j = rng.below(i + 1)
        view.order[i], view.order[j] = view.order[j], view.order[i]
    view.factors = [rng.uniform(*RANGES[op]) for op in view.order]
    reach = 2 * side / 16  # a sixteenth of the padded side
    view.angle = rng.uniform(-15, 15)
    view.translate_x = round(rng.uniform(-reach, reach))
    view.translate_y = round(rng.uniform(-reach, reach))
    view.scale = rng.uniform(.9, 1.1)
    view.sigma = rng.uniform(.001, .5)
    view.flip = rng.uniform() < .5
    return view


def _gray(x):
    red, green, blue = x.unbind(1)
    return (.2989 * red + .587 * green + .114 * blue).unsqueeze(1)


def _to_hsv(x):
    red, green, blue = x.unbind(1)
    top, bottom = x.amax(1), x.amin(1)
    spread = top - bottom
    gray = spread == 0
    divisor = torch.where(gray, torch.ones_like(spread), spread)
    hue = torch.where(
        top == red, (green - blue) / divisor,
        torch.where(top == green, 2 + (blue - red) / divisor,
                    4 + (red - green) / divisor))
    saturation = spread / torch.where(gray, torch.ones_like(top), top)
    return (hue / 6) % 1, saturation, top


def _from_hsv(hue, saturation, value):
    def channel(offset):
        k = (offset + 6 * hue) % 6
        ramp = torch.minimum(k, 4 - k).clamp(0, 1)
        return value - value * saturation * ramp
    return torch.stack([channel(5), channel(3), channel(1)], 1)


def _shift_hue(x, shift):
    hue, saturation, value = _to_hsv(x)
    return _from_hsv((hue + shift) % 1, saturation, value)


def colour(x, operation, factor):
    """One colour operation; all of them end in [0, 1]."""
    if operation == BRIGHTNESS:
        x = factor * x
    elif operation == CONTRAST:
        x = factor * x + (1 - factor) * _gray(x).mean((1, 2, 3), True)
    elif operation == SATURATION:
        x = factor * x + (1 - factor) * _gray(x)
    elif operation == HUE:
        x = _shift_hue(x, factor)
    elif operation == GAMMA:
        x = x.clamp(1e-8, 1) ** factor
    return x.clamp(0, 1)


def pad(x):
    margin = x.shape[-1] // 2
    return F.pad(x, [margin] * 4, mode="replicate")


def affine(x, view):
    """Output pixel -> input position, both measured in pixels from the
    image's centre: (1/scale) R(angle)^T (position - translation)."""
    side = x.shape[-1]
    cosine = math.cos(math.radians(view.angle)) / view.scale
    sine = math.sin(math.radians(view.angle)) / view.scale
    tx, ty = view.translate_x, view.translate_y
    # affine_grid counts in half sides from the centre; translations follow.
    theta = torch.tensor(
        [[cosine, sine, -(cosine * tx + sine * ty) * 2 / side],
         [-sine, cosine, -(cosine * ty - sine * tx) * 2 / side]],
        dtype=x.dtype)
    grid = F.affine_grid(theta.expand(len(x), 2, 3), list(x.shape),
                         align_corners=False)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros",
                         align_corners=False)


def blur(x, sigma):
    taps = torch.arange(-2, 3, dtype=x.dtype)
    kernel = torch.exp(-.5 * (taps / sigma) ** 2)
    kernel = kernel / kernel.sum()
    weight = torch.outer(kernel, kernel).expand(x.shape[1], 1, 5, 5)
    padded = F.pad(x, [2] * 4, mode="reflect")
    return F.conv2d(padded, weight, groups=x.shape[1])


def crop(x):
    side = x.shape[-1] // 2
    margin = side // 2
    return x[..., margin:margin + side, margin:margin + side]


def steps(x, view, noise):
    """All intermediate images, in order, by name. `noise` is standard normal,
    shaped as x."""
    stages = {}
    x = x.clamp(0, 1)
    for number, (operation, factor) in enumerate(zip(view.order,
                                                     view.factors)):
        stages[f"colour{number}"] = x = colour(x, operation, factor)
    stages["affine"] = x = affine(pad(x), view)
    stages["blurred"] = x = blur(x, view.sigma)
    x = crop(x)
    stages["flipped"] = x = x.flip(-1) if view.flip else x
    stages["result"] = (x + NOISE * noise).clamp(0, 1)
    return stages


def augment(x, rng):
    """A random view of a batch [N, 3, S, S]: parameters first, then noise."""
    view = draw_view(rng, x.shape[-1])
    noise = torch.from_numpy(rng.normals(x.numel())).to(x.dtype)
    return steps(x, view, noise.view(x.shape))["result"]
