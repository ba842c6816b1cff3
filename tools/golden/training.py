"""A short training of the tiny network, from its first weights on: the recipe
of `sotta train` written the ordinary PyTorch way."""
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from . import network as net
from .rng import Rng

OPTIONS = {"seed": 5, "epochs": 3, "batch": 16, "rate": .1, "momentum": .9,
           "weight_decay": 5e-4, "padding": 2, "flip": True}
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


def trace(stream):
    options = OPTIONS
    own = stream["labels"] >= 0
    images = stream["images"][own][:IMAGES]
    labels = stream["labels"][own][:IMAGES]
    network = start(options)
    tensors = {"start.body": net.body(network)}
    optimiser = torch.optim.SGD(
        network.parameters(), options["rate"], options["momentum"],
        nesterov=True, weight_decay=options["weight_decay"])
    batch = options["batch"]
    steps = len(images) // batch
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimiser, options["epochs"] * steps)
    losses = []
    for epoch in range(options["epochs"]):
        views, order = epoch_views(images, options, epoch)
        for chosen in torch.arange(steps * batch).split(batch):
            loss = F.cross_entropy(network(net.to_pixels(views[chosen])),
                                   labels[order[chosen]])
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
