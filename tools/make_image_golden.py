"""Writes tests/golden/images: encoded images of every kind we read, and what
Pillow makes of them.

    /usr/bin/python3 tools/make_image_golden.py

Made with Pillow 9.4 (libjpeg-turbo 2.1). Expected values are plain RGB PNG
files named after what they are expected of: <kind>.<ext> decodes to
<kind>_rgb.png; resized_<H>x<W>.png comes from photo_rgb.png, shorter_<S>.png
and crop_<S>.png from wide_rgb.png as torchvision's Resize and CenterCrop do it.
"""
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image

folder = pathlib.Path(__file__).parent.parent / "tests/golden/images"


def scene(height, width):
    """Edges, gradients and texture, by formula: hard for a wrong filter."""
    y, x = np.mgrid[0:height, 0:width]
    waves = 60 * np.sin(x * y / 37.0) + 40 * np.cos(x / 3.0 + y / 5.0)
    planes = [128 + waves, 255 * x / width - waves / 2, 255 * ((x // 7 + y // 5) % 2)]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(pixels, bits, colour, passes):
    """A PNG by hand, for what Pillow does not write: 16 bits and Adam7."""
    height, width = pixels.shape[:2]
    raw = b""
    for top, left, down, right in passes:
        part = pixels[top::down, left::right]
        if part.size:
            raw += b"".join(b"\0" + row.tobytes() for row in part)
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, len(passes) > 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def save(image, name, **options):
    image.save(folder / name, **options)


def expect(kind, extension):
    """What Pillow decodes the file to."""
    with Image.open(folder / f"{kind}.{extension}") as image:
        save(image.convert("RGB"), f"{kind}_rgb.png", optimize=True)


def make_decoding():
    photo = Image.fromarray(scene(53, 75))
    save(photo, "photo.jpg", quality=85)
    save(photo, "progressive.jpg", quality=85, progressive=True)
    save(photo.convert("L"), "grey.jpg")
    save(photo.convert("CMYK"), "cmyk.jpg")
    for kind in "photo", "progressive", "grey", "cmyk":
        expect(kind, "jpg")

    small = Image.fromarray(scene(19, 23))
    alpha = small.copy()
    alpha.putalpha(Image.fromarray(scene(19, 23)[:, :, 1]))
    save(small.quantize(11), "palette.png", bits=4)
    save(small.convert("1"), "bilevel.png")
    save(small.convert("L"), "grey8.png")
    save(alpha, "alpha.png")
    wide = scene(19, 23).astype(">u2") * 256 + 77
    (folder / "deep.png").write_bytes(png(wide.astype(">u2"), 16, 2, [(0, 0, 1, 1)]))
    (folder / "interlaced.png").write_bytes(png(scene(19, 23), 8, 2, ADAM7))
    for kind in "palette", "bilevel", "grey8", "alpha", "deep", "interlaced":
        expect(kind, "png")


def make_resizing():
    photo = Image.open(folder / "photo_rgb.png")
    for height, width in (20, 31), (53, 30), (101, 75), (80, 160), (7, 200), (1, 1):
        save(photo.resize((width, height), Image.BILINEAR), f"resized_{height}x{width}.png", optimize=True)
    wide = Image.fromarray(scene(37, 62))
    save(wide, "wide_rgb.png", optimize=True)
    # torchvision: the longer side is int(size * long / short), and the crop
    # starts at int(round(surplus / 2)).
    for size, crop in (24, 21), (40, 33):
        resized = wide.resize((int(size * 62 / 37), size), Image.BILINEAR)
        left, top = (int(round((extent - crop) / 2.0)) for extent in resized.size)
        save(resized, f"shorter_{size}.png", optimize=True)
        save(resized.crop((left, top, left + crop, top + crop)), f"crop_{crop}.png", optimize=True)


folder.mkdir(parents=True, exist_ok=True)
make_decoding()
make_resizing()
