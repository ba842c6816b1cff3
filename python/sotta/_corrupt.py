"""The corruptions of Hendrycks and Dietterich (2019)."""
from __future__ import annotations

from typing import Any, Optional, Sequence, TypeVar

import numpy as np
import torch

from . import _core
from ._error import Error
from ._images import as_batch

T = TypeVar("T", torch.Tensor, "np.ndarray[Any, Any]")


def corrupt(images: T, kind: str, severity: int = 5, *, seed: int = 0,
            indices: Optional[Sequence[int]] = None, **options: Any) -> T:
    """The images with a corruption: uint8, square, in the form they came in.

    images: a torch tensor uint8 [N, C, H, W] or a NumPy array uint8 [N, H, W, C].
    kind: one of ``sotta.corruptions()``.
    severity: 1 (slight) to 5 (severe).
    seed, indices: image ``n`` is drawn by the seed and ``indices[n]``, its place in its dataset
        (0, 1, ... by default), whatever the batch.
    options: ``frost_dir``, ``jpeg85``.
    """
    batch = as_batch(images)
    if batch.dtype != torch.uint8:
        raise Error(f"images: expected uint8, got {batch.dtype}")
    places = list(range(len(batch))) if indices is None else [int(i) for i in indices]
    result = _core.corrupt(batch, dict(options, kind=kind, severity=severity, seed=seed), places)
    if isinstance(images, np.ndarray):
        return result.permute(0, 2, 3, 1).contiguous().numpy()
    return result


def corruptions() -> "list[str]":
    """The names of the corruptions: the paper's fifteen, then the others."""
    return _core.corruptions()
