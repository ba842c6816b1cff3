"""What notebooks show of a model: bars of verdicts and classes, the memory as a picture sheet."""
from __future__ import annotations

import base64
import html
import os
import struct
import zlib
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple, Union

import torch

from ._error import Error, as_whole
from ._images import Images, as_batch

_COLOURS = {"admitted": "#2a7f4f", "pending": "#8a8a8a", "guard": "#b03030",
            "not finite": "#b03030", "foreign": "#8a5a2a"}
_MOST_CLASSES = 20
_MOST_IMAGES = 64


class Sheet:
    """Images side by side, as a picture in notebooks."""

    def __init__(self, pixels: torch.Tensor) -> None:
        self.pixels = pixels

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a PNG file."""
        with open(path, "wb") as file:
            file.write(png(self.pixels))

    def __repr__(self) -> str:
        return f"sotta.Sheet({self.pixels.shape[1]} x {self.pixels.shape[0]} pixels)"

    def _repr_html_(self) -> str:
        return image(self.pixels, "a sheet of images")


def sheet(images: Images, columns: int = 16) -> Sheet:
    """The first 64 images, uint8 or float in [0, 1], side by side."""
    batch, columns = as_batch(images), as_whole(columns, "columns")
    if batch.numel() == 0:
        raise Error(f"images: expected at least one, got {list(batch.shape)}")
    if columns < 1:
        raise Error(f"columns: expected at least 1, got {columns}")
    return Sheet(arrange(batch, columns))


def image(pixels: torch.Tensor, text: str) -> str:
    """The picture as HTML; small ones are shown at twice their size."""
    data = base64.b64encode(png(pixels)).decode()
    scale = 2 if pixels.shape[1] <= 600 else 1
    return (f"<img width='{pixels.shape[1] * scale}' style='image-rendering:pixelated;max-width:100%' "
            f"alt='{html.escape(text)}' src='data:image/png;base64,{data}'>")


def png(pixels: torch.Tensor) -> bytes:
    """uint8 [H, W, 3] as a PNG file."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + bytes(row.contiguous().numpy().tobytes()) for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def arrange(images: torch.Tensor, columns: int = 16) -> torch.Tensor:
    """Images [N, C, H, W] side by side on white, uint8 [H', W', 3]."""
    images = images[:_MOST_IMAGES].cpu()
    if images.dtype != torch.uint8:
        images = images.float().clamp(0, 1).mul(255).round().to(torch.uint8)
    images = images[:, :3] if images.shape[1] >= 3 else images[:, :1].expand(-1, 3, -1, -1)
    count, _, height, width = images.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    page = torch.full((rows * (height + 1) + 1, columns * (width + 1) + 1, 3), 255,
                      dtype=torch.uint8)
    for i, image in enumerate(images):
        top, left = i // columns * (height + 1) + 1, i % columns * (width + 1) + 1
        page[top:top + height, left:left + width] = image.permute(1, 2, 0)
    return page


def _bars(title: str, counts: Iterable[Tuple[str, int]]) -> str:
    rows = list(counts)
    total = sum(count for _, count in rows) or 1
    most = max((count for _, count in rows), default=1) or 1
    lines = "".join(
        f"<tr><td style='text-align:left'>{html.escape(name)}</td>"
        f"<td style='width:220px'><div style='height:10px;width:{220 * count / most:.0f}px;"
        f"background:{_COLOURS.get(name, '#3b6ea5')}'></div></td>"
        f"<td style='text-align:right'>{count}</td>"
        f"<td style='text-align:right'>{100 * count / total:.1f} %</td></tr>"
        for name, count in rows)
    return f"<div><b>{html.escape(title)}</b><table>{lines}</table></div>"


def page(title: str, facts: Mapping[str, Any], verdicts: Mapping[str, int],
         labels: Mapping[int, int], memory: Optional[torch.Tensor]) -> str:
    """A fragment of HTML that needs nothing else."""
    line = ", ".join(f"{html.escape(name)} {html.escape(str(value))}"
                     for name, value in facts.items())
    parts = [f"<div><b>sotta: {html.escape(title)}</b><br>{line}</div>"]
    if verdicts:
        parts.append(_bars("verdicts", sorted(verdicts.items(), key=lambda item: -item[1])))
    if labels:
        ranked: Dict[int, int] = dict(sorted(labels.items(), key=lambda item: -item[1])[:_MOST_CLASSES])
        rest = sum(labels.values()) - sum(ranked.values())
        rows = [(f"class {label}", ranked[label]) for label in sorted(ranked)]
        parts.append(_bars("predicted classes", rows + ([("others", rest)] if rest else [])))
    if memory is not None:
        picture = image(arrange(memory), "the images in the memory")
        parts.append(f"<div><b>memory, {len(memory)} images</b><br>{picture}</div>")
    return "".join(parts)
