"""Writes seeds to fuzz/corpus/: small valid files the fuzzers start from.

The .npy and idx seeds are the ones of tests/golden/data/, which
make_data_golden.py writes; images are those of make_image_golden.py.
"""
import json
import pathlib
import shutil

root = pathlib.Path(__file__).parent.parent
golden = root / "tests/golden/data"


def folder(target):
    path = root / "fuzz/corpus" / target
    path.mkdir(parents=True, exist_ok=True)
    return path


def safetensors(header, payload):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + payload


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


for path in golden.glob("*.npy"):
    shutil.copy(path, folder("npy") / path.name)
for path in golden.glob("*.idx.gz"):
    shutil.copy(path, folder("idx") / path.name)
for name in "photo.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg":
    shutil.copy(root / "tests/golden/images" / name, folder("jpeg") / name)
for name in "palette.png", "bilevel.png", "grey8.png", "alpha.png", "deep.png", "interlaced.png":
    shutil.copy(root / "tests/golden/images" / name, folder("png") / name)
(folder("idx") / "labels.idx").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
(folder("cifar") / "cifar10.bin").write_bytes(bytes([9]) + bytes(3072))
(folder("cifar") / "cifar100.bin").write_bytes(bytes([19, 99]) + bytes(3072))
(folder("safetensors") / "empty.safetensors").write_bytes(safetensors({}, b""))
(folder("safetensors") / "types.safetensors").write_bytes(safetensors({
    "__metadata__": {"format": "pt"},
    "a": entry("I64", [1], 0, 8),
    "b": entry("F32", [1, 2], 8, 16),
    "c": entry("F16", [], 16, 18),
    "d": entry("BF16", [0, 3], 18, 18),
    "e": entry("U8", [3], 18, 21),
}, bytes(range(21))))

# Configuration files: what is read, and what is refused.
for name, text in {
    "values.toml": 'a = [1, -2.5e-3, "x\\u00e9", true]\nb_c = 0x1F # comment\n\'d\' = \'e\'\n',
    "strings.toml": 'a = """x\n\\"y\\\n  z""""\nb = \'\'\'p\nq\'\'\'\n',
    "lists.toml": "a = [\n  0, # first\n  1,\n]\n",
    "tables.toml": "a.b.c = 1\n[x.y]\nz = {p = [1], q.r = 2}\n[[t]]\n[[t]]\n",
    "letter_after_a_number.toml": "a = 0ba.b.'''%'71-1\ufef7 [\n  0, -# fir",
    "dates.toml": "a = 2020-01-02T03:04:05.678+09:00\nb = 2020-01-02\nc = 03:04:05\n",
}.items():
    (folder("config") / name).write_text(text)
