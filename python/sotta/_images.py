"""Images of other libraries as torch tensors, without a copy where that is possible."""
from __future__ import annotations

from typing import Any, Protocol, Tuple, Union, runtime_checkable

import numpy as np
import torch

from ._error import Error


@runtime_checkable
class SupportsDLPack(Protocol):
    """An array of another library, such as CuPy's or JAX's."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Tuple[int, int]: ...


Images = Union[torch.Tensor, "np.ndarray[Any, Any]", SupportsDLPack]


def as_images(images: Images) -> torch.Tensor:
    """A tensor [N, C, H, W] that shares memory with ``images``.

    A NumPy array is uint8 [N, H, W, C], as image libraries give it; everything else is
    [N, C, H, W], uint8 or float in [0, 1].
    """
    if isinstance(images, torch.Tensor):
        return images.rename(None) if images.has_names() else images
    if isinstance(images, np.ndarray):
        if images.dtype != np.uint8 or images.ndim != 4:
            raise Error(
                f"images: expected a NumPy array uint8 [N, H, W, C], got {images.dtype} "
                f"{list(images.shape)}; other layouts go in as torch tensors")
        if not images.flags.writeable or any(stride < 0 for stride in images.strides):
            images = images.copy()  # torch has no name for such memory
        return torch.from_numpy(images).permute(0, 3, 1, 2)
    if isinstance(images, SupportsDLPack):
        return torch.from_dlpack(images)
    raise Error(f"images: expected a torch tensor, a NumPy array or an object with __dlpack__, "
                f"got {type(images).__name__}")


def as_batch(images: Images) -> torch.Tensor:
    """The same, of at least the right form: what a library call would not say as well."""
    tensor = as_images(images)
    if tensor.dim() != 4:
        raise Error(f"images: expected [N, C, H, W], got {list(tensor.shape)}")
    return tensor
