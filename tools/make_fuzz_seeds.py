"""Writes seeds to fuzz/corpus/: small valid files the fuzzers start from.

The .npy and idx seeds are the ones of tests/golden/data/, which
make_data_golden.py writes; images are those of make_image_golden.py.
"""
import json
import pathlib
import shutil
import zipfile

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


# A network of torch.export: parts of an archive, and whole ones.
def value(kind, content):
    return {"as_" + kind: content}


def tensor(name):
    return value("tensor", {"name": name})


def node(target, outputs, **arguments):
    return {"target": target, "outputs": outputs, "metadata": {},
            "inputs": [{"name": name, "arg": arg, "kind": 1} for name, arg in arguments.items()]}


def meta(sizes, strides=(), dtype=7):
    return {"dtype": dtype, "sizes": sizes, "strides": [value("int", n) for n in strides],
            "storage_offset": value("int", 0), "layout": 7, "requires_grad": True,
            "device": {"type": "cpu", "index": None}}


BATCH = value("expr", {"expr_str": "s77", "hint": value("int", 2)})
NODES = [
    node("torch.ops.aten.sym_size.int", [value("sym_int", value("name", "n"))],
         self=tensor("x"), dim=value("int", 0)),
    node("_operator.mul", [value("sym_int", value("name", "m"))],
         a=value("sym_int", value("name", "n")), b=value("int", 2)),
    node("torch.ops.aten.batch_norm.default", [tensor("y")], input=tensor("x"),
         weight=tensor("w"), running_mean=value("none", True), training=value("bool", False),
         eps=value("float", 1e-5), momentum=value("float", "Infinity")),
    node("torch.ops.aten.full.default", [tensor("f")],
         size=value("sym_ints", [value("name", "m"), value("int", 3)]),
         dtype=value("scalar_type", 7), layout=value("layout", 7),
         device=value("device", {"type": "cpu", "index": None}),
         memory_format=value("memory_format", 1), mode=value("string", "x")),
    node("torch.ops.aten.index.Tensor", [value("tensors", [{"name": "i"}, {"name": "j"}])],
         indices=value("optional_tensors", [value("none", True), tensor("f")]),
         tensors=value("tensors", [{"name": "y"}]), ints=value("ints", [1, -2]),
         floats=value("floats", [.5]), graph=value("graph", {"name": "g"})),
]
PROGRAM = {
    "schema_version": {"major": 8, "minor": 17}, "torch_version": "2.11.0",
    "graph_module": {
        "graph": {"nodes": NODES, "inputs": [], "outputs": [], "tensor_values": {
            "x": meta([BATCH] + [value("int", n) for n in (3, 4, 4)]),
            "j": meta([BATCH, value("int", 5)])}},
        "signature": {
            "input_specs": [
                {"parameter": {"arg": {"name": "w"}, "parameter_name": "bn.weight"}},
                {"buffer": {"arg": {"name": "b"}, "buffer_name": "b", "persistent": True}},
                {"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "c"}},
                {"user_input": {"arg": tensor("x")}}],
            "output_specs": [
                {"buffer_mutation": {"arg": {"name": "f"}, "buffer_name": "b"}},
                {"user_output": {"arg": tensor("j")}}]}}}
WEIGHTS = {"config": {
    name: {"path_name": "weight_0", "is_param": True, "use_pickle": False,
           "tensor_meta": meta([value("int", 2), value("int", 3)], (3, 1), dtype)}
    for name, dtype in (("bn.weight", 7), ("b", 12), ("c", 6))}}
TEXTS = [json.dumps(part, separators=(",", ":")).encode() for part in (PROGRAM, WEIGHTS)]
(folder("exported_program") / "parts").write_bytes(b"\0".join(TEXTS) + b"\0" + bytes(range(24)))
(folder("exported_program") / "graph").write_bytes(TEXTS[0])
with zipfile.ZipFile(folder("exported_program") / "small.pt2", "w") as archive:
    for name, content in {
        "m/archive_format": b"pt2", "m/byteorder": b"little", "m/models/model.json": TEXTS[0],
        "m/data/weights/model_weights_config.json": TEXTS[1],
        "m/data/weights/weight_0": bytes(range(24)),
        "m/data/constants/model_constants_config.json": b'{"config":{}}',
    }.items():
        archive.writestr(zipfile.ZipInfo(name), content)
LEAST = {"schema_version": {"major": 8}, "graph_module": {
    "graph": {"nodes": [node("_operator.neg", [tensor("y")], a=tensor("x"))],
              "tensor_values": {"x": {"sizes": []}, "y": {"sizes": [value("int", 2)]}}},
    "signature": {"input_specs": [
        {"buffer": {"arg": {"name": "w"}, "buffer_name": "b"}},
        {"user_input": {"arg": tensor("x")}}],
        "output_specs": [{"user_output": {"arg": tensor("y")}}]}}}
BUFFER = {"config": {"b": {"path_name": "weight_0", "use_pickle": False, "tensor_meta": {
    "dtype": 1, "sizes": [value("int", 2)], "strides": [value("int", 1)],
    "storage_offset": value("int", 0)}}}}
(folder("exported_program") / "least").write_bytes(b"\0".join(
    [json.dumps(part, separators=(",", ":")).encode() for part in (LEAST, BUFFER)] + [b"xy"]))
pickled = (root / "fuzz/corpus/torch_checkpoint").glob("*")
with zipfile.ZipFile(folder("exported_program") / "old.pt2", "w") as archive:
    for name, content in {
        "version": b"8.8", "serialized_exported_program.json": TEXTS[0],
        "serialized_state_dict.pt": min(pickled, key=lambda p: p.stat().st_size).read_bytes(),
        "serialized_constants.pt": b"",
    }.items():
        archive.writestr(zipfile.ZipInfo(name), content)
