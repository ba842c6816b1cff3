"""Methods written in Python, beside the library's own."""
from __future__ import annotations

import inspect
from typing import Any, ClassVar, Dict, List, Tuple, Type, Union

import torch

from . import _core
from ._error import Error

_classes: Dict[str, Type["Method"]] = {}


class Method:
    """A method of one's own: for ``wrap``, ``load``, ``bench`` and ``report``.

        class Mine(sotta.Method):
            options = {"rate": 0.1}

            def update(self, window):
                seen = self.forward(window, "batch")
                self.state.running_mean.lerp_(seen.batch_mean, self.options["rate"])
                self.state.running_var.lerp_(seen.batch_var, self.options["rate"])

    It sees images and a network, never a label. The model in front of it checks images and cuts
    the stream into windows: ``observe`` is called for each part of a window as it arrives,
    ``update`` when the window is full.

    What changes lies in ``state`` and in the tensors of ``state_dict``: both are part of every
    snapshot.
    """

    #: In tables; the class's name by default. The name in options and records is the class's in
    #: lower case, or ``name``.
    label: ClassVar[str] = ""
    name: ClassVar[str] = ""

    #: Options with their defaults: bool, int, float or str. An instance has them as they were set.
    options: Dict[str, Any] = {}

    #: Where ``predict`` takes the norm layers' statistics from, "running" or "batch": guards and
    #: attacks ask for it.
    prediction_stats: ClassVar[str] = "running"

    context: _core.Context  # the network, the seed, the window
    state: _core.ModelState  # a copy of the network's norm layers, to be changed

    def setup(self) -> None:
        """Called once, when context, options and state are there."""

    def predict(self, images: torch.Tensor) -> torch.Tensor:
        """Logits as it predicts now. Must change nothing."""
        with torch.no_grad():
            return self.forward(images, self.prediction_stats).logits

    def observe(self, images: torch.Tensor
                ) -> Union[torch.Tensor, Tuple[torch.Tensor, List[str]]]:
        """Logits of a part of a window, perhaps with a verdict per image (``sotta.verdicts()``);
        without, the images count as admitted when ``update`` has learnt from them."""
        return self.predict(images)

    def update(self, window: torch.Tensor) -> Union[None, str, torch.Tensor]:
        """Learns from the images of a full window. May return its loss, or why it did nothing."""
        return "learns nothing"

    def state_dict(self) -> Dict[str, torch.Tensor]:
        """Tensors beside ``state`` that change, by name. Snapshots are loaded into them in place,
        so their shapes stay as they are."""
        return {}

    def forward(self, images: torch.Tensor, stats: Union[str, float] = "running",
                affine: Union[torch.Tensor, None] = None) -> _core.Forward:
        """Runs the network with the present state.

        stats: "running", "batch", or a number: the batch's share in a mixture of both.
        affine: scales and shifts to use instead, such as a leaf that gradients are taken for.
        """
        if not isinstance(images, torch.Tensor):
            raise Error(f"images: expected a tensor, got {type(images).__name__}")
        state = self.state
        if not isinstance(state, _core.ModelState):
            raise Error(f"state: expected a sotta.ModelState, got {type(state).__name__}")
        if affine is not None:
            # clone_norm() would copy: this shares all but the scales and shifts.
            state = _core.ModelState(state.body, affine, state.running_mean, state.running_var)
        return self.context.forward(images, state, stats)

    def gradient(self, loss: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
        """d(loss)/d(leaf), as the library's methods take it."""
        return self.context.gradients(loss, [leaf])[0]


def name_of(method: Union[str, Type[Method]]) -> str:
    """A method's name; a class is registered under its own."""
    if isinstance(method, str):
        return method
    if not (inspect.isclass(method) and issubclass(method, Method)):
        raise Error(f"method: expected a name or a class derived from sotta.Method, got {method!r}")
    name = method.name or method.__name__.lower()
    if name not in _classes:
        _core.register_method(name, method.label or method.__name__)
    _classes[name] = method
    return name


def register(method: Type[Method]) -> Type[Method]:
    """Makes the class known by its name: for configuration by name, and before a saved or pickled
    model that adapts by it is loaded. ``wrap`` and ``bench`` do it themselves."""
    name_of(method)
    return method


def find_class(name: str) -> Type[Method]:
    """For the library: the class that a registered name stands for now."""
    return _classes[name]


def construct(method: Type[Method], context: _core.Context, options: Dict[str, Any]) -> Method:
    """For the library: an instance that is ready to be called."""
    made = method()
    made.context = context
    made.options = options
    made.state = context.source.clone_norm()
    made.setup()
    return made
