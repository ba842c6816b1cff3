"""Robust test-time adaptation of image classifiers.

    model = sotta.wrap(net, example=x, method="sotta", guard="rollback", mean=mean, std=std)
    for x, _ in loader:
        logits = model(x)  # predicts, then learns

docs/python.md has every call.
"""
import torch as _torch

from ._build import TORCH as _TORCH

if _torch.__version__.split("+")[0].split(".")[:2] != _TORCH.split(".")[:2]:
    raise ImportError(f"sotta was built for torch {_TORCH}, and this is torch {_torch.__version__}: "
                      "install it again beside this torch (pip install --no-build-isolation .)")

from ._core import (Context, Forward, ModelState, Snapshot, Step, Update, __version__, engines,  # noqa: E402
                    scenarios, verdicts)
from ._error import Error  # noqa: E402
from ._method import Method, register  # noqa: E402
from ._model import Model, load, method_options, methods, wrap  # noqa: E402
from ._bench import BenchResult, bench, records, report  # noqa: E402
from ._corrupt import corrupt, corruptions  # noqa: E402
from ._html import Sheet, sheet  # noqa: E402
from ._stream import Stream, stream_options  # noqa: E402

__all__ = ["BenchResult", "Context", "Error", "Forward", "Method", "Model", "ModelState", "Sheet",
           "Snapshot", "Step", "Stream", "Update", "__version__", "bench", "corrupt", "corruptions", "engines",
           "load", "method_options", "methods", "records", "register", "report", "scenarios", "sheet",
           "stream_options",
           "verdicts", "wrap"]
