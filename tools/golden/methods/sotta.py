"""SoTTA and its ablations."""
import torch

from .. import images, losses, network as net
from ..memory import Fifo, Hus
from ..sharpness import SharpnessStep, gradient_norm
from .common import Method, no_step, norm_state, padded, plain_step, train_norms


def make_memory(options, rng):
    capacity, confidence = options["memory_capacity"], options["min_confidence"]
    kind = options["memory"]
    if kind == "fifo":
        return Fifo(capacity)
    if kind == "confident_fifo":
        return Fifo(capacity, confidence)
    if kind == "uniform_class":
        confidence = 0
    return Hus(capacity, images.CLASSES, confidence, rng.child("memory"))


class Sotta(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        train_norms(self.network)
        self._set_momentum(self.options["stats_momentum"])
        self.parameters = net.norm_parameters(self.network,
                                              self.options["frozen"])
        self.optimiser = torch.optim.Adam(
            self.parameters, self.options["learning_rate"],
            weight_decay=self.options["weight_decay"])
        self.sharpness = SharpnessStep(
            self.parameters, self.options["sharpness_radius"], self.optimiser)
        self.memory = make_memory(self.options, inputs.rng)
        self.stream = inputs.stream

    def _set_momentum(self, momentum):
        for _, layer in net.norm_layers(self.network):
            layer.momentum = momentum

    def window(self, batch):
        self.network.eval()
        with torch.no_grad():
            logits = self.network(batch.pixels)
        admitted = self._screen(logits, batch.first)
        held = self.memory.places()
        step = self._adapt(self.stream[held]) if held else self._skip()
        if self.options["memory"] == "hus_cleared":
            self.memory.clear()
        return {"logits": logits, "admitted": admitted,
                "memory": padded(held, self.options["memory_capacity"]),
                **step, **norm_state(self.network)}

    def _screen(self, logits, first):
        confidences, labels = logits.softmax(1).max(1)
        if self.options["memory"] not in ("fifo", "uniform_class"):
            self.reaches(confidences, self.options["min_confidence"])
        return torch.tensor(
            [self.memory.offer(first + i, labels[i].item(),
                               confidences[i].item())
             for i in range(len(logits))], dtype=torch.uint8)

    def _skip(self):
        if not self.options["sharpness"]:
            return no_step()
        return no_step("perturbed_loss", "perturbed_grad_norm",
                       "perturbation_norm")

    def _loss(self, pixels):
        logits = self.network(pixels)
        loss = losses.entropy(logits).mean()
        if self.options["entropy_per_class"]:
            loss = loss / logits.shape[1]
        return loss

    def _adapt(self, pixels):
        self.network.train()
        if self.options["sharpness"]:
            return self._sharp_step(pixels)
        loss = self._loss(pixels)
        if self.options["stats_updates"] == 2:
            with torch.no_grad():
                self._loss(pixels)  # the same statistics once more
        return plain_step(loss, self.parameters, self.optimiser)

    def _sharp_step(self, pixels):
        loss = self._loss(pixels)
        self.optimiser.zero_grad()
        loss.backward()
        norm = gradient_norm(self.parameters)
        length = self.sharpness.climb()
        if self.options["stats_updates"] == 1:
            self._set_momentum(0.0)
        perturbed_loss = self._loss(pixels)
        self._set_momentum(self.options["stats_momentum"])
        perturbed_loss.backward()
        perturbed_norm = gradient_norm(self.parameters)
        self.sharpness.descend()
        return {"loss": loss.detach(), "grad_norm": norm,
                "perturbed_loss": perturbed_loss.detach(),
                "perturbed_grad_norm": perturbed_norm,
                "perturbation_norm": length}
