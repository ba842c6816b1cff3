"""Writes tests/golden/data/: small files made by NumPy and Python's gzip.

Run with a Python that has NumPy; needs nothing else. The values are chosen so
that tests/data/npy_test.cpp and idx_test.cpp can state them.
"""
import gzip
import pathlib
import struct

import numpy as np

folder = pathlib.Path(__file__).parent.parent / "tests/golden/data"
folder.mkdir(parents=True, exist_ok=True)

arrays = {
    "uint8": np.arange(6, dtype="|u1").reshape(2, 3),
    "int64": np.array([-1, 2**62], dtype="<i8"),
    "float32": np.array([[[1.5], [-0.25]]], dtype="<f4"),
    "scalar": np.array(7, dtype="<i8"),
    "empty": np.zeros((0, 3), dtype="<f4"),
}
for name, array in arrays.items():
    np.save(folder / f"{name}.npy", array)
for major in (2, 3):
    with open(folder / f"uint8_v{major}.npy", "wb") as file:
        np.lib.format.write_array(file, arrays["uint8"], version=(major, 0))
np.save(folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), "<f4")))
np.save(folder / "big_endian.npy", np.ones(2, ">f4"))
np.save(folder / "structured.npy", np.zeros(1, [("a", "<f4")]))


def write_idx_gz(name, shape, elements):
    header = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
    packed = gzip.compress(header + elements, 9, mtime=0)
    (folder / f"{name}.idx.gz").write_bytes(packed)


write_idx_gz("images", (2, 1, 3), b"abcdef")
write_idx_gz("bomb", (6,), bytes(1_000_000))  # claims 6 bytes, unpacks to 10^6
write_idx_gz("claim", (10**9, 10**9), b"ab")  # claims 10^18 bytes

print(f"NumPy {np.__version__} wrote {len(list(folder.glob('*.npy')))} arrays")
