"""A network that adapts: what ``wrap`` and ``load`` give."""
from __future__ import annotations

import collections
import json
import os
from contextlib import contextmanager
from typing import Any, Counter, Dict, Iterator, List, NamedTuple, Optional, Type, Union

import torch
from torch import nn

from . import _core, _html
from ._error import Error, as_text, as_whole
from ._images import Images, as_batch
from ._method import Method, name_of
from ._network import MAKERS, Numbers, Source, make_network, network_of_file, network_of_module

Path = Union[str, "os.PathLike[str]"]


class Setting(NamedTuple):
    """How an adapter is made."""

    method: str
    preset: str
    window: int
    seed: int
    options: Dict[str, Any]  # of the method and the guard
    source_images: Optional[torch.Tensor]


class Model:
    """A classifier that predicts, then learns from what it has seen.

    Made by ``sotta.wrap`` or ``sotta.load``. Calling it with images gives logits and adapts; all
    else either looks or puts it back. Not for two threads at once: the second gets a
    ``sotta.Error``. Calls that only look (``predict``, ``snapshot``) may run beside each other.
    """

    def __init__(self, network: _core.Network, source: Source, setting: Setting) -> None:
        self._network = network
        self._source = source
        self._setting = setting
        self._adapter = _core.Adapter(network, setting.method, setting.preset, setting.options,
                                      setting.window, setting.seed, setting.source_images)
        self._frozen = False
        self._last: Optional[_core.Step] = None
        self._verdicts: Counter[str] = collections.Counter()
        self._labels: Counter[int] = collections.Counter()

    def __call__(self, images: Images) -> torch.Tensor:
        """Predicts, then learns: logits [N, classes].

        images: a torch tensor [N, C, H, W], uint8 or float in [0, 1] (not normalised: that is
        the network's own first step), a NumPy array uint8 [N, H, W, C], or an object with
        ``__dlpack__``; on the model's device.
        """
        if self._frozen:
            return self.predict(images)
        step = self._adapter.step(as_batch(images))
        self._last = step
        self._verdicts.update(step.verdicts)
        self._labels.update(step.labels.tolist())
        return step.logits

    def predict(self, images: Images) -> torch.Tensor:
        """Logits as the network is now. Changes nothing."""
        return self._adapter.predict(as_batch(images))

    @contextmanager
    def frozen(self) -> Iterator["Model"]:
        """Within ``with model.frozen():`` calls predict and nothing is learnt."""
        before, self._frozen = self._frozen, True
        try:
            yield self
        finally:
            self._frozen = before

    @property
    def last(self) -> _core.Step:
        """What the last call gave beside logits: verdicts, labels, confidences, updates."""
        if self._last is None:
            raise Error("last: expected a call of the model first")
        return self._last

    def snapshot(self) -> _core.Snapshot:
        """Everything it has become; ``restore`` goes on from there bit for bit."""
        return self._adapter.snapshot()

    def restore(self, snapshot: _core.Snapshot) -> None:
        """Back to a snapshot of a model with the same network and options."""
        if not isinstance(snapshot, _core.Snapshot):
            raise Error(f"snapshot: expected a sotta.Snapshot, got {type(snapshot).__name__}; "
                        "sotta.Snapshot.load(path) reads a file")
        self._adapter.restore(snapshot)

    def reset(self) -> None:
        """Back to the source model."""
        self._adapter.reset()

    def save(self, path: Path) -> None:
        """Writes network, options and state to one file, which ``sotta.load`` continues from."""
        _core.write_archive(os.fspath(path), *self._archive())

    def export(self, path: Path) -> None:
        """Writes the adapted weights as safetensors, under the names they had."""
        self._adapter.export_weights(os.fspath(path))

    def copy_norm_to(self, net: nn.Module) -> None:
        """Puts the adapted norm layers into a module with the same names of parameters."""
        if not isinstance(net, nn.Module):
            raise Error(f"net: expected a torch.nn.Module, got {type(net).__name__}")
        targets = net.state_dict()
        prefix = self._source.prefix
        tensors = {name[len(prefix):] if name.startswith(prefix) else name: tensor
                   for name, tensor in self._adapter.norm_tensors().items()}
        for name, tensor in tensors.items():
            if name not in targets or targets[name].shape != tensor.shape:
                raise Error(f"net: expected the norm layers of this model, \"{name}\" is missing "
                            "or of another shape", "bad_format")
        with torch.no_grad():
            for name, tensor in tensors.items():
                targets[name].copy_(tensor)

    @property
    def method(self) -> str:
        """The method's name."""
        return self._setting.method

    @property
    def options(self) -> Dict[str, Any]:
        """All options of the method and the guard, with the values they have here."""
        fields = (_core.method_options(self.method, self._setting.preset, self.classes)
                  + _core.guard_options())
        return {**{name: value for name, value, _ in fields}, **self._setting.options}

    @property
    def window(self) -> int:
        """Images between two updates."""
        return self._setting.window

    @property
    def classes(self) -> int:
        """Logits per image."""
        return self._network.classes

    @property
    def engine(self) -> str:
        """What runs the network: "fused-avx3", "libtorch", "torchscript", "exported", ..."""
        return self._network.engine

    @property
    def device(self) -> torch.device:
        """Where images have to be."""
        return torch.device(self._network.device)

    @property
    def mean(self) -> List[float]:
        """What the network subtracts from pixels in [0, 1], per channel."""
        return self._network.mean

    @property
    def std(self) -> List[float]:
        """What it divides them by."""
        return self._network.std

    @property
    def norm_layers(self) -> List[Any]:
        """(name, kind, channels) of every norm layer: what adapts."""
        return self._network.norm_layers

    @property
    def samples(self) -> int:
        """Images seen so far."""
        return self._adapter.samples

    @property
    def updates(self) -> int:
        """Updates applied so far."""
        return self._adapter.updates

    @property
    def pending(self) -> int:
        """Images of the window that is filling."""
        return self._adapter.pending

    @property
    def memory(self) -> Optional[torch.Tensor]:
        """A copy of the images that the method's memory holds; None if there are none."""
        return self._adapter.memory_images()

    @property
    def memory_samples(self) -> List[int]:
        """Their places in the stream."""
        return self._adapter.memory_samples()

    def __repr__(self) -> str:
        return (f"sotta.Model({self.method}, {self.classes} classes, {self.engine}, "
                f"{self.samples} images, {self.updates} updates)")

    def _repr_html_(self) -> str:
        facts = {"images": self.samples, "updates": self.updates, "window": self.window,
                 "engine": self.engine, "guard": self.options["guard"]}
        return _html.page(f"{_core.method_label(self.method)}, {self.classes} classes", facts,
                          self._verdicts, self._labels, self.memory)

    # Copies: a network never changes, so that they share it.

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Model":
        copy = Model(self._network, self._source, self._setting)
        copy._take(self._adapter.snapshot(), self._verdicts, self._labels)
        return copy

    def __copy__(self) -> "Model":
        return self.__deepcopy__({})

    def _take(self, snapshot: _core.Snapshot, verdicts: Counter[str],
              labels: Counter[int]) -> None:
        self._adapter.restore(snapshot)
        self._verdicts = collections.Counter(verdicts)
        self._labels = collections.Counter(labels)

    def __reduce__(self) -> Any:
        return _from_archive, self._archive()

    def _archive(self) -> Any:
        """(tensors, text): everything, as ``save`` writes it."""
        source, setting = self._source, self._setting
        data = source.data if source.data is not None else self._network.weights()
        tensors = {"network": _as_bytes(data), "snapshot": _as_bytes(self.snapshot().to_bytes())}
        if setting.source_images is not None:
            tensors["source_images"] = setting.source_images.cpu()
        return tensors, json.dumps({
            "source": source._replace(data=None)._asdict(),
            "setting": setting._replace(source_images=None)._asdict(),
            "verdicts": self._verdicts, "labels": self._labels}, default=_plain)


def _plain(number: Any) -> Any:
    """Of an option: a number of NumPy or PyTorch as Python's."""
    return number.item()


def _as_bytes(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


class _Saved(NamedTuple):
    """What an archive says, checked as far as it can be without making the model."""

    network: bytes
    snapshot: _core.Snapshot
    source: Source
    setting: Setting
    verdicts: Counter[str]
    labels: Counter[int]


def _read_archive(tensors: Dict[str, torch.Tensor], text: str) -> _Saved:
    content = json.loads(text)
    data = {name: tensors[name].numpy().tobytes() for name in ("network", "snapshot")}
    source, setting = Source(**content["source"]), Setting(**content["setting"])
    if source.form not in MAKERS or not isinstance(source.engine, dict):
        raise ValueError("network")
    source = source._replace(
        mean=[float(number) for number in source.mean], std=[float(number) for number in source.std],
        device=as_text(source.device, "device"), prefix=as_text(source.prefix, "prefix"),
        data=None if source.form == "safetensors" else data["network"])
    setting = setting._replace(
        method=as_text(setting.method, "method"), preset=as_text(setting.preset, "preset"),
        window=as_whole(setting.window, "window"), seed=as_whole(setting.seed, "seed"),
        options=dict(setting.options),
        source_images=tensors.get("source_images"))
    return _Saved(data["network"], _core.Snapshot.from_bytes(data["snapshot"]), source, setting,
                  collections.Counter(dict(content["verdicts"])),
                  collections.Counter({int(label): count
                                       for label, count in dict(content["labels"]).items()}))


def _from_archive(tensors: Dict[str, torch.Tensor], text: str,
                  subject: str = "saved model") -> Model:
    try:
        saved = _read_archive(tensors, text)
    except Error:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise Error(f"{subject}: expected what Model.save writes, it is damaged or of another "
                    f"version ({type(problem).__name__}: {problem})", "bad_format") from problem
    network, images = make_network(saved.source, saved.network), saved.setting.source_images
    model = Model(network, saved.source, saved.setting._replace(
        source_images=None if images is None else images.to(saved.source.device)))
    model._take(saved.snapshot, saved.verdicts, saved.labels)
    return model


def _setting(method: Union[str, Type[Method]], guard: str, preset: str, window: int, seed: int,
             source_images: Optional[Images], options: Dict[str, Any]) -> Setting:
    images = None if source_images is None else as_batch(source_images)
    return Setting(name_of(method), as_text(preset, "preset"), as_whole(window, "window"),
                   as_whole(seed, "seed"), {**options, "guard": guard}, images)


def wrap(net: nn.Module, *, example: Images, method: Union[str, Type[Method]] = "sotta",
         guard: str = "off", preset: str = "clean", window: int = 64, seed: int = 0,
         mean: Optional[Numbers] = None, std: Optional[Numbers] = None, weights: Any = None,
         source_images: Optional[Images] = None, precision: str = "fp32", engine: str = "auto",
         low_memory: bool = False, **options: Any) -> Model:
    """A model that adapts, from a trained module; the module itself is not changed.

    net: a classifier with norm layers. A ResNet that our kernels cover is run by them, any other
        module is traced with ``example`` and run by LibTorch.
    example: some images as the model will be given them: uint8, or float in [0, 1].
    method: one of ``sotta.methods()``, or a class derived from ``sotta.Method``.
    guard: "off", "skip", "rollback", "reset" or "floor": what to do when adaptation goes astray.
    preset: "clean", or "paper" for the quirks of the published code.
    window: images between two updates.
    mean, std: what the module's inputs are normalised by, per channel, or one number for all. By
        default those of timm's ``pretrained_cfg``, or of torchvision's ``weights``; they are never
        guessed.
    source_images: images like those the module was trained on (EATA needs some).
    engine: "auto", "libtorch", "fused" or "cuda".
    options: any of ``sotta.method_options(method)`` and of the guard's.
    """
    network, source = network_of_module(net, as_batch(example), mean, std, weights, precision,
                                        {"engine": engine, "low_memory": low_memory})
    return Model(network, source,
                 _setting(method, guard, preset, window, seed, source_images, options))


def load(path: Path, *, method: Union[str, Type[Method], None] = None, guard: str = "off",
         preset: str = "clean", window: int = 64, seed: int = 0, mean: Optional[Numbers] = None,
         std: Optional[Numbers] = None, weights: Any = None,
         source_images: Optional[Images] = None, device: Union[str, torch.device] = "cpu",
         precision: str = "fp32", engine: str = "auto", low_memory: bool = False, **options: Any) -> Model:
    """A model from a file: what ``Model.save`` wrote, a TorchScript, a ``.pt2``
    (``torch.export``) or a safetensors file.

    A file of ``Model.save`` says all there is to say and takes no other argument. For the others
    the arguments are those of ``wrap``. TorchScript is a program: load only what you would run.
    """
    archive = _core.read_archive(os.fspath(path))
    if archive is not None:
        given = (method, guard, preset, window, seed, mean, std, weights, source_images, device,
                 precision, engine, low_memory)
        if options or not all(map(_is_default, given, load_defaults)):
            raise Error(f"{os.fspath(path)}: a saved model has its options, expected no others")
        return _from_archive(*archive, os.fspath(path))
    network, source = network_of_file(path, mean, std, weights, device, precision,
                                      {"engine": engine, "low_memory": low_memory})
    return Model(network, source, _setting("sotta" if method is None else method, guard, preset,
                                           window, seed, source_images, options))


def _is_default(given: Any, default: Any) -> bool:
    return given is default or (isinstance(given, (str, int)) and bool(given == default))


load_defaults = (None, "off", "clean", 64, 0, None, None, None, None, "cpu", "fp32", "auto", False)


def methods() -> List[str]:
    """The names of the methods: the library's, then those registered from Python."""
    return _core.methods()


def method_options(method: Union[str, Type[Method]], *, preset: str = "clean",
                   classes: int = 10) -> Dict[str, Any]:
    """A method's options with their defaults, which may depend on the number of classes."""
    return {name: value for name, value, _ in
            _core.method_options(name_of(method), preset, classes)}
