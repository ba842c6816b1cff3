"""Runs a method over the stream and records what it does.

Each run is made twice, in float32 and in float64. The two must decide alike,
and the largest difference of each tensor goes into the metadata: it says how
exactly another float32 implementation can be expected to agree."""
import copy
import json

import torch

from . import images, network as net, runs
from .methods import METHODS
from .methods.common import Batch, Inputs
from .rng import Rng

# Too large to keep for every window; of the features, the first will do.
_SPARSE = {"body", "teacher_body"}
_SPARSE_WINDOWS = [0, 4, 9]


def _inputs(source, stream, options, dtype):
    pixels = {name: net.to_pixels(stream[name], dtype)
              for name in ("images", "fisher_clean", "fisher_noise")}
    return Inputs(copy.deepcopy(source).to(dtype), pixels["images"],
                  pixels["fisher_clean"], pixels["fisher_noise"],
                  options, Rng(runs.SEED))


def _stack(name, windows):
    if name == "features":
        return windows[0]
    if name in _SPARSE:
        windows = [windows[i] for i in _SPARSE_WINDOWS]
    wide = [w.double() if w.is_floating_point() else w for w in windows]
    return torch.stack(wide)


def record(source, stream, method, options, dtype=torch.float32):
    """Everything the method did, and the smallest distance of a decision
    from its threshold."""
    inputs = _inputs(source, stream, options, dtype)
    adapter = METHODS[method](inputs)
    seen = {}
    for number in range(images.WINDOWS):
        first = number * images.WINDOW
        batch = Batch(inputs.stream[first:first + images.WINDOW], first)
        for name, value in adapter.window(batch).items():
            seen.setdefault(name, []).append(value.detach().clone())
    tensors = {name: _stack(name, windows) for name, windows in seen.items()}
    return {**tensors, **adapter.constants()}, min(adapter.margins, default=1)


def _deviation(single, double):
    difference = (single.double() - double.double()).abs()
    return difference.nan_to_num(0).max().item()


def trace(name, source, stream):
    """One golden: tensors and metadata."""
    return trace_of(*runs.all_runs()[name], source, stream)


def trace_of(method, options, source, stream):
    tensors, margin = record(source, stream, method, options)
    exact, _ = record(source, stream, method, options, torch.float64)
    deviations = {}
    for key, value in tensors.items():
        assert torch.equal(value.isnan(), exact[key].isnan()), (method, key)
        if value.is_floating_point():
            deviations[key] = float(f"{_deviation(value, exact[key]):.2g}")
        else:
            assert torch.equal(value, exact[key]), (method, key)
    options = {"seed": runs.SEED, "update_interval": images.WINDOW, **options}
    return tensors, {"method": method, "options": json.dumps(options),
                     "smallest_margin": f"{margin:.2g}",
                     "float64_deviation": json.dumps(deviations)}
