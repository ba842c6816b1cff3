"""A short training of the tiny network, from its first weights on: the recipe
of `sotta train` written the ordinary PyTorch way."""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from . import network as net
from .images import CLASSES
from .rng import Rng

OPTIONS = {"seed": 5, "epochs": 3, "batch": 16, "rate": .1, "momentum": .9,
           "weight_decay": 5e-4, "padding": 2, "flip": True}
RUNS = {
    "short": OPTIONS,
    "mixed": {**OPTIONS, "optimiser": "adamw", "rate": .01, "warm_up": 1,
              "weight_decay": .05, "label_smoothing": .1, "erase": .5,
              "mixup": .5, "cutmix": .5, "plain_epochs": 1},
}
IMAGES = 56  # of the stream's own; three batches, and half of one left out


def start(options):
    """PyTorch's default weights, drawn from our stream."""
    network = net.TinyResNet()
    rng = Rng(options["seed"]).child("init")
    for module in network.modules():
        if not isinstance(module, (nn.Conv2d, nn.Linear)):
            continue
        bound = math.sqrt(len(module.weight) / module.weight.numel())
        for parameter in (module.weight, module.bias):
            if parameter is not None:
                values = rng.uniforms(parameter.numel()) * 2 * bound - bound
                parameter.data = torch.from_numpy(values).float().view(
                    parameter.shape)
    return network.train()


def shuffle(count, rng):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = rng.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def epoch_views(images, options, epoch):
    """Every image once, in order, cropped and flipped; and the order."""
    def stream(name):
        return Rng(options["seed"]).child(name).child(epoch)

    border, side = options["padding"], images.shape[-1]
    top, left, flip = map(stream, ("crop_top", "crop_left", "flip"))
    order = shuffle(len(images), stream("shuffle"))
    views = []
    for image in order:
        padded = F.pad(images[image], (border,) * 4)
        y, x = top.below(2 * border + 1), left.below(2 * border + 1)
        view = padded[:, y:y + side, x:x + side]
        views.append(view.flip(-1) if flip.below(2) else view)
    return torch.stack(views), torch.tensor(order)


def beta(alpha, rng):
    while True:
        x, y = rng.uniform() ** (1 / alpha), rng.uniform() ** (1 / alpha)
        if 0 < x + y <= 1:
            return x / (x + y)


def erased(views, probability, rng):
    side = views.shape[-1]
    views = views.clone()
    for view in views:
        if rng.uniform() >= probability:
            continue
        area = side * side * rng.uniform(.02, 1 / 3)
        limit = math.log(10 / 3)
        stretched = math.exp(rng.uniform(-limit, limit))
        height, width = (min(max(math.floor(length + .5), 1), side) for length
                         in (math.sqrt(area * stretched),
                             math.sqrt(area / stretched)))
        top = rng.below(side - height + 1)
        left = rng.below(side - width + 1)
        view[:, top:top + height, left:left + width] = 0
    return views


def mixing(count, side, options, rng):
    """Of each view the weight of its own pixels [side, side], and the share of
    its label."""
    weights, shares = [], []
    for _ in range(count):
        cut = rng.below(2) == 1  # both are on
        share = beta(options["cutmix" if cut else "mixup"], rng)
        weight = torch.full((side, side), 1. if cut else share)
        if cut:
            whole = int(math.sqrt(1 - share) * side)
            top = rng.below(side) - whole // 2
            left = rng.below(side) - whole // 2
            weight[max(top, 0):max(top + whole, 0),
                   max(left, 0):max(left + whole, 0)] = 0
            share = weight.mean().item()
        weights.append(weight)
        shares.append(share)
    return torch.stack(weights), torch.tensor(shares)


def epoch_batches(images, labels, options, epoch):
    """Pixels and targets of each batch, as they are trained on."""
    def stream(name):
        return Rng(options["seed"]).child(name).child(epoch)

    views, order = epoch_views(images, options, epoch)
    side, batch = views.shape[-1], options["batch"]
    changed = options.get("mixup", 0) > 0 \
        and epoch < options["epochs"] - options["plain_epochs"]
    if changed:
        views = erased(views, options["erase"], stream("erase"))
        weights, shares = mixing(len(views), side, options, stream("mix"))
    for chosen in torch.arange(len(views) // batch * batch).split(batch):
        pixels = net.to_pixels(views[chosen])
        targets = F.one_hot(labels[order[chosen]], CLASSES).float()
        if changed:
            weight = weights[chosen][:, None]
            pixels = pixels * weight + pixels.flip(0) * (1 - weight)
            share = shares[chosen][:, None]
            targets = targets * share + targets.flip(0) * (1 - share)
        yield pixels, targets


def optimiser_of(network, options):
    if options.get("optimiser") != "adamw":
        return torch.optim.SGD(
            network.parameters(), options["rate"], options["momentum"],
            nesterov=True, weight_decay=options["weight_decay"])
    # No decay of biases and norm layers.
    parameters = list(network.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1],
               "weight_decay": options["weight_decay"]},
              {"params": [p for p in parameters if p.dim() == 1],
               "weight_decay": 0.}]
    return torch.optim.AdamW(groups, options["rate"])


def rate_factor(step, steps, warm_up):
    if step < warm_up:
        return (step + 1) / warm_up
    return .5 + .5 * math.cos(math.pi * (step - warm_up) / (steps - warm_up))


def trace(name, stream):
    options = RUNS[name]
    own = stream["labels"] >= 0
    images = stream["images"][own][:IMAGES]
    labels = stream["labels"][own][:IMAGES]
    network = start(options)
    tensors = {"start.body": net.body(network)}
    optimiser = optimiser_of(network, options)
    steps = len(images) // options["batch"]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: rate_factor(
            step, options["epochs"] * steps,
            options.get("warm_up", 0) * steps))
    losses = []
    for epoch in range(options["epochs"]):
        for pixels, targets in epoch_batches(images, labels, options, epoch):
            loss = F.cross_entropy(
                network(pixels), targets,
                label_smoothing=options.get("label_smoothing", 0))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
    tensors.update({"losses": torch.tensor(losses).view(-1, steps),
                    "body": net.body(network), "affine": net.affine(network),
                    "running_mean": net.running_mean(network),
                    "running_var": net.running_var(network)})
    return tensors, {"options": json.dumps(options), "images": IMAGES}
