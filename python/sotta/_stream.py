"""Streams for people who test methods of their own."""
from __future__ import annotations

import os
import threading
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

import torch

from . import _core
from ._error import Error, as_whole
from ._images import Images, as_batch


def data_root(data: Union[str, "os.PathLike[str]", None]) -> str:
    """Where datasets lie: what is said, else SOTTA_DATA, else data/, as in the command."""
    return os.fspath(data) if data is not None else os.environ.get("SOTTA_DATA") or "data"


def _labels(labels: Any) -> torch.Tensor:
    """Whole numbers of any width as int64."""
    try:
        tensor = torch.as_tensor(labels)
    except (TypeError, ValueError, RuntimeError):
        raise Error(f"labels: expected whole numbers, got {type(labels).__name__}") from None
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise Error(f"labels: expected whole numbers, got {tensor.dtype}")
    return tensor.long()


class Stream:
    """Target images and, depending on the scenario, foreign ones, in a seeded order.

        for images, labels in sotta.Stream("cifar10", corruptions="fog", scenario="noise"):
            ...

    Iterating gives windows: uint8 images [N, C, H, W] and int64 labels [N], which are -1 for
    images that do not belong to the dataset. A stream starts anew for every loop.

    dataset: a name of the catalogue (``sotta data``), or images of one's own with ``labels`` and
        ``classes``; ``foreign`` may then hold images for the scenarios that take some.
    data: the folder of the datasets.
    options: those of ``sotta.stream_options()``: scenario, corruptions, severity, seed, ...
    """

    def __init__(self, dataset: Union[str, Images], *,
                 labels: Union[torch.Tensor, Sequence[int], None] = None, classes: Optional[int] = None,
                 foreign: Union[str, Images, None] = None,
                 data: Union[str, "os.PathLike[str]", None] = None, **options: Any) -> None:
        if isinstance(options.get("corruptions"), (list, tuple)):
            options["corruptions"] = ",".join(map(str, options["corruptions"]))
        if isinstance(dataset, str):
            if foreign is not None:
                if not isinstance(foreign, str):
                    raise Error("foreign: expected a name beside a dataset of the catalogue, got "
                                f"{type(foreign).__name__}")
                options["foreign"] = foreign
            if labels is not None or classes is not None:
                raise Error("labels and classes: expected only with images of one's own, "
                            f"\"{dataset}\" has them")
            self._stream = _core.open_stream(dataset, data_root(data), options)
        else:
            if labels is None or classes is None:
                raise Error("labels and classes: expected both beside images of one's own")
            if isinstance(foreign, str):
                raise Error("foreign: expected images beside images of one's own, got a name")
            self._stream = _core.stream_of(
                as_batch(dataset).contiguous(), _labels(labels), as_whole(classes, "classes"),
                None if foreign is None else as_batch(foreign).contiguous(), options)
        defaults = {name: value for name, value, _ in _core.stream_options()}
        self.window: int = options.get("window", defaults["window"])
        self._turn = threading.Lock()  # to seek and to take a window

    def __iter__(self) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
        position = 0
        while position < self._stream.size:
            # Loops over one stream at once, in threads too, each go their own way.
            with self._turn:
                if self._stream.position != position:
                    self._stream.seek(position)
                images = self._stream.next(self.window)
            labels = self._stream.truth(position, position + len(images))[0]
            position += len(images)
            yield images, labels

    def __len__(self) -> int:
        """Windows, a last partial one included."""
        return -(-self._stream.size // self.window)

    @property
    def samples(self) -> int:
        """Images in all."""
        return self._stream.size

    @property
    def shape(self) -> Tuple[int, int, int]:
        """Channels, height and width of the images."""
        return self._stream.shape

    @property
    def domains(self) -> List[str]:
        """The conditions of the target images, one after another."""
        return self._stream.domains

    def truth(self, begin: int, end: int) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(labels, benign, attacker) of the samples begin .. end-1."""
        return self._stream.truth(begin, end)

    def __repr__(self) -> str:
        return f"sotta.Stream({self.samples} images, {len(self)} windows, {', '.join(self.domains)})"


def stream_options() -> "dict[str, Any]":
    """The options of streams with their defaults."""
    return {name: value for name, value, _ in _core.stream_options()}
