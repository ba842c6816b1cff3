"""From an nn.Module or a file to a network that the library runs."""
from __future__ import annotations

import io
import os
import warnings
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union
from contextlib import contextmanager

import torch
from torch import nn

from . import _core
from ._error import Error, as_text

Numbers = Union[float, Sequence[float]]

_LARGEST_USUAL_MEAN = 2.0
_COMPARED = 2  # images of the example, when a traced network is


class Source(NamedTuple):
    """What a network can be made from again: for pickle, deepcopy and ``save``."""

    form: str  # "torchscript", "exported" or "safetensors"
    data: Optional[bytes]  # none: the network's own weights() are the file
    mean: List[float]
    std: List[float]
    device: str
    precision: str
    engine: Dict[str, Any]
    prefix: str = ""  # that our names of parameters have in front of the module's


def _arguments(mean: Optional[Sequence[float]], std: Optional[Sequence[float]], device: Any,
               precision: str, engine: Dict[str, Any]) -> _core.NetworkArguments:
    return _core.NetworkArguments(mean=mean, std=std, device=str(device),
                                  precision=as_text(precision, "precision"), engine=engine)


def _arguments_of(source: Source) -> _core.NetworkArguments:
    return _arguments(source.mean, source.std, source.device, source.precision, source.engine)


def make_network(source: Source, data: bytes) -> _core.Network:
    return MAKERS[source.form](data, "network", _arguments_of(source))


MAKERS = {"torchscript": _core.network_from_torchscript,
          "exported": _core.network_from_exported,
          "safetensors": _core.network_from_safetensors}


def _numbers(value: Numbers, name: str, channels: int) -> List[float]:
    """One per channel; a single number is that of all of them."""
    if isinstance(value, (int, float)):
        return [float(value)] * channels
    try:
        return [float(number) for number in value]
    except (TypeError, ValueError):
        raise Error(f"{name}: expected numbers, one per channel, got {value!r}") from None


def _from_weights(weights: Any) -> Tuple[Numbers, Numbers]:
    """Mean and std of torchvision's weights (or of their transforms)."""
    transforms = weights.transforms() if hasattr(weights, "transforms") else weights
    mean, std = getattr(transforms, "mean", None), getattr(transforms, "std", None)
    if mean is None or std is None:
        raise Error(f"weights: expected torchvision weights whose transforms have mean and std, "
                    f"got {weights!r}")
    return mean, std


def find_normalisation(net: object, mean: Optional[Numbers], std: Optional[Numbers],
                       weights: Any, channels: int) -> Optional[Tuple[List[float], List[float]]]:
    """What was given, else what the weights' or the module's own metadata say, else nothing."""
    if (mean is None) != (std is None):
        raise Error("mean and std: expected both or neither")
    if mean is not None and weights is not None:
        raise Error("weights: expected mean and std or these, got both")
    if mean is None and weights is not None:
        mean, std = _from_weights(weights)
    if mean is None:
        # timm's networks say how they were trained; older ones under another name.
        for name in ("pretrained_cfg", "default_cfg"):
            config = getattr(net, name, None)
            read = config.get if isinstance(config, dict) else lambda key: getattr(config, key, None)
            if config is not None and read("mean") is not None and read("std") is not None:
                mean, std = read("mean"), read("std")
                break
    if mean is None or std is None:
        return None
    numbers = _numbers(mean, "mean", channels), _numbers(std, "std", channels)
    if max(numbers[0], default=0) > _LARGEST_USUAL_MEAN:
        warnings.warn(f"mean is {numbers[0]}, for pixels in [0, 1]; divide mean and std by 255 if "
                      "they are for pixels in [0, 255]", stacklevel=4)
    return numbers


def _no_normalisation(subject: str) -> Error:
    return Error(f"{subject}: does not say how its inputs are normalised; expected mean= and std= "
                 "(0 and 1 for a network that takes pixels in [0, 1]), or weights= with "
                 "torchvision's weights")


class _Logits(nn.Module):
    """A module that answers with an object around its logits, without the object."""

    def __init__(self, net: nn.Module, pick: Callable[[Any], torch.Tensor]) -> None:
        super().__init__()
        self.net = net
        self.pick = pick

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.pick(self.net(images))


def _picker(output: Any) -> Optional[Callable[[Any], torch.Tensor]]:
    """How to get at the logits; None for a tensor."""
    if isinstance(output, torch.Tensor):
        return None
    if isinstance(getattr(output, "logits", None), torch.Tensor):
        return lambda answer: answer.logits
    if isinstance(output, dict) and isinstance(output.get("logits"), torch.Tensor):
        return lambda answer: answer["logits"]
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], torch.Tensor):
        return lambda answer: answer[0]
    raise Error(f"net: expected logits [N, classes], got {type(output).__name__}")


@contextmanager
def _evaluating(net: nn.Module) -> Iterator[None]:
    """Eval mode for a while, module by module."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def _normalised(images: torch.Tensor, mean: List[float], std: List[float]) -> torch.Tensor:
    pixels = images.float() / 255 if images.dtype == torch.uint8 else images.float()
    offset, scale = (torch.tensor(values, dtype=torch.float32, device=pixels.device)
                     .view(1, -1, 1, 1) for values in (mean, std))
    return (pixels - offset) / scale


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def _check_module(net: object) -> None:
    if not isinstance(net, nn.Module):
        found = f"the class {net.__name__}" if isinstance(net, type) else type(net).__name__
        raise Error(f"net: expected a torch.nn.Module, got {found}")
    for name, parameter in net.named_parameters():
        if parameter.is_floating_point() and parameter.dtype != torch.float32:
            raise Error(f"net: expected parameters of float32, \"{name}\" is {parameter.dtype}; "
                        "net.float() makes them that", "unsupported")


def _check_example(example: torch.Tensor, mean: List[float], std: List[float]) -> None:
    if example.dtype != torch.uint8 and not example.is_floating_point():
        raise Error(f"example: expected uint8 or float, got {example.dtype}")
    if example.numel() == 0 or not bool(example.isfinite().all()):
        raise Error(f"example: expected images of finite numbers, got {list(example.shape)}")
    if not len(mean) == len(std) == example.shape[1]:
        raise Error(f"mean and std: expected one for each of the example's {example.shape[1]} "
                    f"channels, got {len(mean)} and {len(std)}")


def _answer(net: nn.Module, images: torch.Tensor) -> Any:
    """What the module says of normalised images."""
    try:
        return net(images)
    except Exception as problem:  # anything that the module's own code throws
        raise Error(f"net: cannot be run on images {list(images.shape)}, torch says: "
                    f"{_first_line(problem)}", "unsupported") from problem


def _check_logits(logits: torch.Tensor, images: torch.Tensor) -> None:
    if logits.dim() != 2 or len(logits) != len(images):
        raise Error(f"net: expected logits [{len(images)}, classes], got {list(logits.shape)}",
                    "unsupported")


def _trace(net: nn.Module, example: torch.Tensor) -> Tuple[bytes, nn.Module, str]:
    """TorchScript of the module, a module that answers with its logits alone, and what our names
    of its parameters begin with."""
    answer = _answer(net, example)
    pick = _picker(answer)
    _check_logits(answer if pick is None else pick(answer), example)
    traced, prefix = (net, "") if pick is None else (_Logits(net, pick), "net.")
    if isinstance(net, torch.jit.ScriptModule) and pick is None:
        script = net
    else:
        try:
            script = torch.jit.trace(traced, example, check_trace=False)
        except Exception as problem:
            raise Error(f"net: cannot be traced, torch says: {_first_line(problem)}",
                        "unsupported") from problem
    buffer = io.BytesIO()
    torch.jit.save(script, buffer)
    return buffer.getvalue(), traced, prefix


def _agree(network: _core.Network, net: nn.Module, images: torch.Tensor, mean: List[float],
           std: List[float]) -> bool:
    """Whether two networks say the same of the images and of noise beside them."""
    noise = torch.rand(images.shape, dtype=torch.float32,
                       generator=torch.Generator().manual_seed(0))
    pixels = images.float() / 255 if images.dtype == torch.uint8 else images.float()
    batch = torch.cat([pixels, noise.to(pixels.device)])
    wanted = _answer(net, _normalised(batch, mean, std))
    if not isinstance(wanted, torch.Tensor):
        return False
    found = network.logits(batch)
    if wanted.shape != found.shape:
        return False
    tolerance = 1e-4 * max(1.0, float(wanted.abs().max()))
    return float((wanted.float() - found).abs().max()) <= tolerance


def _as_own_network(net: nn.Module, example: torch.Tensor,
                         source: Source) -> Optional[_core.Network]:
    """The network as one of the library's own, if it is one by the names and shapes of its tensors
    and also answers as the module does."""
    tensors = {name: tensor for name, tensor in net.state_dict().items()
               if not name.endswith("num_batches_tracked")}
    if any(not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point()
           for tensor in tensors.values()):
        return None
    try:
        network = _core.network_from_tensors(tensors, "net", _arguments_of(source))
        return network if _agree(network, net, example, source.mean, source.std) else None
    except Error:
        if source.engine["engine"] == "auto":
            return None  # what is wrong with the arguments, tracing finds too
        raise


def network_of_module(net: nn.Module, example: torch.Tensor, mean: Optional[Numbers],
                      std: Optional[Numbers], weights: Any, precision: str,
                      engine: Dict[str, Any]) -> Tuple[_core.Network, Source]:
    """A module as a network: one of the library's own where it is one, else traced."""
    _check_module(net)
    normalisation = find_normalisation(net, mean, std, weights, example.shape[1])
    if normalisation is None:
        raise _no_normalisation("net")
    _check_example(example, *normalisation)
    parameter = next(net.parameters(), None)
    device = parameter.device if parameter is not None else torch.device("cpu")
    images = example.detach().to(device)
    source = Source("safetensors", None, *normalisation, str(device), precision, engine)
    with _evaluating(net):
        if engine["engine"] in ("auto", "fused", "cuda"):
            network = _as_own_network(net, images, source)
            if network is not None:
                return network, source
        data, traced, prefix = _trace(net, _normalised(images, *normalisation))
        source = source._replace(form="torchscript", data=data, prefix=prefix)
        network = make_network(source, data)
        if not _agree(network, traced, images[:_COMPARED], *normalisation):
            raise Error("net: answers otherwise when it is traced: expected a module that draws no "
                        "random numbers and does the same with all images", "unsupported")
    return network, source


def network_of_file(path: Union[str, "os.PathLike[str]"], mean: Optional[Numbers],
                    std: Optional[Numbers], weights: Any, device: Any, precision: str,
                    engine: Dict[str, Any]) -> Tuple[_core.Network, Source]:
    """A safetensors, TorchScript or torch.export file as a network."""
    file = os.fspath(path)
    normalisation = find_normalisation(None, mean, std, weights, 1)
    given_mean, given_std = normalisation or (None, None)
    form = _core.network_format(file)
    if form != "safetensors":
        if normalisation is None:
            raise _no_normalisation(file)
        with open(file, "rb") as stream:
            data = stream.read()
        source = Source(form, data, *normalisation, str(device), precision, engine)
        return MAKERS[form](data, file, _arguments_of(source)), source
    network = _core.open_network(file, _arguments(given_mean, given_std, device, precision, engine))
    return network, Source("safetensors", None, network.mean, network.std, str(device), precision,
                           engine)
