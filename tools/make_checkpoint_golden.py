"""Writes tests/golden/checkpoints: small files by the libraries we read from.

Run with a Python that has torch and numpy (Debian: /usr/bin/python3):

    python3 tools/make_checkpoint_golden.py tests/golden/checkpoints

Every value is a formula of its index, which the tests repeat, so no second
file with expected values is needed.
"""
import collections
import pathlib
import sys

import numpy as np
import torch

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def ramp(*shape, start=0):
    """start, start + 0.5, start + 1, ... in this shape."""
    count = int(np.prod(shape))
    return (start + 0.5 * torch.arange(count, dtype=torch.float32)).reshape(shape)


def net_state():
    """The state_dict of a convolution, a norm layer and a classifier."""
    net = torch.nn.Sequential(
        collections.OrderedDict(
            conv=torch.nn.Conv2d(2, 3, 3, bias=False),
            bn=torch.nn.BatchNorm2d(3),
            fc=torch.nn.Linear(3, 2),
        )
    )
    state = net.state_dict()
    for index, (name, tensor) in enumerate(state.items()):
        if name == "bn.num_batches_tracked":
            tensor.fill_(7)
        else:
            tensor.copy_(ramp(*tensor.shape, start=index))
    return state


def save(name, value, **options):
    torch.save(value, folder / name, **options)


state = net_state()
save("zip.pth", state)
save("legacy.pth", state, _use_new_zipfile_serialization=False)
save("protocol4.pth", state, pickle_protocol=4)
save("nested.pth", {"state_dict": state, "epoch": 3, "best": 0.5, "arch": "net"})
save("two_models.pth", {"model": state, "net": state, "epoch": 3})
save("parallel.pth", {f"module.{name}": value for name, value in state.items()})
save("parameters.pth", {"weight": torch.nn.Parameter(ramp(2, 2))})
save("tensor.pth", ramp(3))

base = ramp(4, 6)
views = {
    "transposed": base.t(),
    "sliced": base[1:3, 2:5],
    "stepped": base[:, ::2],
    "row": base[2],
    "whole": base,
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
}
save("views.pth", views)
save("views_legacy.pth", views, _use_new_zipfile_serialization=False)
save("expanded.pth", {"weight": ramp(3, 1).expand(3, 100)})

types = {
    "float16": ramp(5).half(),
    "bfloat16": ramp(5).bfloat16(),
    "uint8": torch.arange(5, dtype=torch.uint8),
    "int64": torch.arange(5) - 2,
    "float64": ramp(5).double(),
    "int32": torch.arange(5, dtype=torch.int32) - 2,
}
save("types.pth", types)
save("types_legacy.pth", types, _use_new_zipfile_serialization=False)
save("bool.pth", {"mask": torch.tensor([True, False])})
save("whole_model.pth", torch.nn.Linear(2, 1))
torch.jit.script(torch.nn.ReLU()).save(str(folder / "torchscript.pt"))

arrays = {
    "floats": 0.25 * np.arange(6, dtype=np.float32).reshape(2, 3),
    "nested/bytes": (np.arange(1000) % 7).astype(np.uint8),
    "empty": np.zeros((0, 4), dtype=np.int64),
}
np.savez(folder / "plain.npz", **arrays)
np.savez_compressed(folder / "compressed.npz", **arrays)
