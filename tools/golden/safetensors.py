"""Reads and writes safetensors files: 8 bytes of header length (little
endian), a JSON header, then the tensors' bytes one after another."""
import json
import struct

import torch

_NAMES = {torch.float16: "F16", torch.float32: "F32", torch.uint8: "U8", torch.int64: "I64"}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}


def write(path, tensors, metadata):
    """Float64 tensors are stored as float32: that is all the readers know."""
    header = {"__metadata__": {key: str(metadata[key]) for key in metadata}}
    chunks, offset = [], 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous()
        if tensor.dtype == torch.float64:
            tensor = tensor.float()
        chunk = tensor.numpy().tobytes()
        header[name] = {"dtype": _NAMES[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(chunk)]}
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)  # keeps the data aligned
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def read(path):
    """The tensors by name, and the metadata."""
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(content[begin:end]),
                                dtype=_TYPES[entry["dtype"]]) \
            if end > begin else torch.empty(0, dtype=_TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata
