"""Small goldens of single parts: random numbers, norm layer, network, losses,
optimisers, augmentation. Each function returns tensors and metadata."""
import copy
import json
from dataclasses import asdict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import augment, images, losses, network as net
from .norm import BlendedNorm, blend_norms
from .rng import Rng
from .sharpness import SharpnessStep


def random_numbers():
    """The first numbers of a few streams. Words are the bits of a uint64."""
    def words(rng):
        values = np.array([rng.next() for _ in range(8)], dtype=np.uint64)
        return torch.from_numpy(values.view(np.int64))

    root = Rng(7)
    below, uniform, normal = root.child("a"), root.child("b"), root.child("c")
    tensors = {
        "seed7": words(Rng(7)),
        "seed7.child_memory": words(root.child("memory")),
        "seed7.child_3": words(root.child(3)),
        "child_a.below10": torch.tensor([below.below(10) for _ in range(20)]),
        "child_b.uniform_times_2_53": torch.tensor(
            [int(uniform.uniform() * 2 ** 53) for _ in range(20)]),
        "child_c.normal": torch.tensor([normal.normal() for _ in range(20)]),
    }
    assert np.allclose(root.child("c").normals(20), tensors["child_c.normal"])
    return tensors, {}


def batch_norm():
    torch.manual_seed(1)
    layer = nn.BatchNorm2d(3, momentum=.2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([.5, 1.5, -1]))
        layer.bias.copy_(torch.tensor([.1, -.2, .3]))
        layer.running_mean.copy_(torch.tensor([.3, -.1, 0]))
        layer.running_var.copy_(torch.tensor([.5, 2, 1.2]))
    scale = torch.tensor([1, 2, .5]).view(3, 1, 1)
    x = torch.randn(4, 3, 5, 5) * scale + torch.tensor([0, 1, -1.]).view(
        3, 1, 1)
    upstream = torch.randn(4, 3, 5, 5)
    var, mean = torch.var_mean(x, (0, 2, 3), unbiased=True)
    tensors = {"input": x, "output_gradient": upstream,
               "weight": layer.weight, "bias": layer.bias,
               "running_mean": layer.running_mean,
               "running_var": layer.running_var,
               "batch.mean": mean, "batch.var": var,
               "batch.var_biased": x.var((0, 2, 3), unbiased=False)}

    layers = {"running": copy.deepcopy(layer).eval(),
              "batch": copy.deepcopy(layer).train(),
              "blended": BlendedNorm(copy.deepcopy(layer), .05).train()}
    for mode, module in layers.items():
        leaf = x.clone().requires_grad_()
        output = module(leaf)
        output.backward(upstream)
        tensors.update({f"{mode}.output": output,
                        f"{mode}.input_gradient": leaf.grad,
                        f"{mode}.weight_gradient": module.weight.grad,
                        f"{mode}.bias_gradient": module.bias.grad})
    tensors["batch.running_mean_after"] = layers["batch"].running_mean
    tensors["batch.running_var_after"] = layers["batch"].running_var
    tensors["blended.mean"] = layers["blended"].running_mean
    tensors["blended.var"] = layers["blended"].running_var
    return tensors, {"eps": layer.eps, "momentum": .2, "batch_share": .05}


def _batch_network(source):
    """With momentum 1 the running averages become the batch's statistics."""
    network = copy.deepcopy(source).train()
    for _, layer in net.norm_layers(network):
        layer.momentum = 1.0
    return network


def tiny_network(source, stream):
    """Logits, features, statistics, and gradients of the mean entropy."""
    pixels = net.to_pixels(stream[:8])
    networks = {"running": copy.deepcopy(source).eval(),
                "batch": _batch_network(source),
                "blended": blend_norms(copy.deepcopy(source), .05).train()}
    tensors = {"images": stream[:8],
               "affine": net.affine(source), "body": net.body(source),
               "running_mean": net.running_mean(source),
               "running_var": net.running_var(source)}
    for mode, network in networks.items():
        leaf = pixels.clone().requires_grad_()
        features = network.features(leaf)
        logits = network.fc(features)
        losses.entropy(logits).mean().backward()
        norm, body = net.norm_parameters(network), net.body_parameters(network)
        tensors.update({f"{mode}.logits": logits,
                        f"{mode}.features": features,
                        f"{mode}.affine_gradient": net.flat_gradient(norm),
                        f"{mode}.body_gradient": net.flat_gradient(body)})
        if mode != "blended":
            tensors[f"{mode}.image_gradient"] = leaf.grad[:2]
        if mode != "running":
            tensors[f"{mode}.mean"] = net.running_mean(network)
            tensors[f"{mode}.var"] = net.running_var(network)
    names = [name for name, _ in net.norm_layers(source)]
    return tensors, {"norm_layers": ",".join(names), "batch_share": .05}


def loss_values():
    torch.manual_seed(2)
    logits = torch.randn(6, 5) * 2
    logits[5] = torch.tensor([30., 0, 0, 0, -30])  # probabilities 0 and 1
    teacher = torch.randn(6, 5)
    functions = {
        "entropy": losses.entropy,
        "entropy_per_class": lambda z: losses.entropy(z) / z.shape[1],
        "exact_entropy": losses.exact_entropy,
        "pseudo_label": lambda z: F.cross_entropy(z, z.argmax(1),
                                                  reduction="none"),
        "distillation": lambda z: losses.distillation(z, teacher),
    }
    tensors = {"logits": logits, "teacher_logits": teacher}
    for name, function in functions.items():
        leaf = logits.clone().requires_grad_()
        values = function(leaf)
        values.mean().backward()
        tensors[name] = values
        tensors[f"{name}.mean_gradient"] = leaf.grad
    return tensors, {"epsilon": losses.EPSILON}


def _three_steps(make_optimiser, start, gradients):
    parameter = nn.Parameter(start.clone())
    optimiser = make_optimiser([parameter])
    after = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimiser.step()
        after.append(parameter.detach().clone())
    return torch.stack(after)


def _sharpness(make_optimiser, start, curvature):
    """Two sharpness-aware steps on w'Aw/2 + sum cos w."""
    parameter = nn.Parameter(start.clone())
    step = SharpnessStep([parameter], .05, make_optimiser([parameter]))
    seen = {"gradient": [], "perturbed": [], "perturbed_gradient": [],
            "after": []}

    def backward():
        value = parameter @ curvature @ parameter / 2 + parameter.cos().sum()
        value.backward()

    for _ in range(2):
        backward()
        seen["gradient"].append(parameter.grad.clone())
        length = step.climb()
        assert abs(length - .05) < 1e-6
        seen["perturbed"].append(parameter.detach().clone())
        backward()
        seen["perturbed_gradient"].append(parameter.grad.clone())
        step.descend()
        seen["after"].append(parameter.detach().clone())
    return {name: torch.stack(values) for name, values in seen.items()}


def optimisers():
    torch.manual_seed(4)
    start, gradients = torch.randn(12), torch.randn(3, 12)
    gradients[:, 0] = 0
    gradients[:, 1] *= 1e-8  # about the size of Adam's epsilon
    root = torch.randn(12, 12)
    curvature = root @ root.T / 12
    makers = {
        "adam": lambda p: torch.optim.Adam(p, 1e-3),
        "adam_decay": lambda p: torch.optim.Adam(p, 1e-3, weight_decay=5e-4),
        "adamw": lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=.05),
        "sgd": lambda p: torch.optim.SGD(p, 5e-3),
        "sgd_momentum": lambda p: torch.optim.SGD(p, 5e-3, momentum=.9),
        "sgd_momentum_decay": lambda p: torch.optim.SGD(
            p, 5e-3, momentum=.9, weight_decay=5e-4),
        "sgd_nesterov_decay": lambda p: torch.optim.SGD(
            p, 5e-3, momentum=.9, weight_decay=5e-4, nesterov=True),
    }
    tensors = {"start": start, "gradients": gradients, "curvature": curvature}
    for name, maker in makers.items():
        tensors[f"{name}.after"] = _three_steps(maker, start, gradients)
    for name in ("adam_decay", "sgd_momentum"):
        steps = _sharpness(makers[name], start, curvature)
        tensors.update({f"sharpness_{name}.{key}": value
                        for key, value in steps.items()})
    rates = {"adam": 1e-3, "sgd": 5e-3, "momentum": .9, "weight_decay": 5e-4,
             "sharpness_radius": .05}
    return tensors, {"options": json.dumps(rates)}


def augmentations():
    """Five views of two 8x8 images, drawn one after another."""
    pixels = net.to_pixels(images.clean_images(2, 5)[0][..., :8, :8])
    pixels[1, :, 0] = .5  # a grey row: no hue
    rng = Rng(7).child("augment")
    tensors, views = {"images": pixels}, []
    for number in range(5):
        view = augment.draw_view(rng, pixels.shape[-1])
        noise = torch.from_numpy(rng.normals(pixels.numel())).float()
        stages = augment.steps(pixels, view, noise.view(pixels.shape))
        tensors.update({f"view{number}.{name}": stage
                        for name, stage in stages.items()})
        views.append(asdict(view))
    return tensors, {"seed": 7, "stream": "augment",
                     "views": json.dumps(views)}
