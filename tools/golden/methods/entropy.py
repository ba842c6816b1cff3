"""One ordinary step per window on the window's own statistics: PL, TENT, and
TENT behind an ODIN screen."""
import copy

import torch
from torch.nn import functional as F

from .. import losses, network as net
from .common import (Method, all_samples, no_step, norm_state, plain_step,
                     train_norms)


class PseudoLabel(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        net.use_batch_statistics(self.network)
        train_norms(self.network)
        self.parameters = net.norm_parameters(self.network)
        self.optimiser = torch.optim.Adam(
            self.parameters, self.options["learning_rate"],
            weight_decay=self.options["weight_decay"])

    def loss(self, logits):
        return F.cross_entropy(logits, logits.argmax(1))

    def window(self, batch):
        logits = self.network(batch.pixels)  # prediction and loss in one
        step = plain_step(self.loss(logits), self.parameters, self.optimiser)
        return {"logits": logits.detach(), "admitted": all_samples(1), **step,
                **norm_state(self.network)}


class Tent(PseudoLabel):
    def loss(self, logits):
        loss = losses.entropy(logits).mean()
        if self.options["entropy_per_class"]:
            loss = loss / logits.shape[1]
        return loss


class OdinTent(Tent):
    """Scores come from the source model with its running statistics, so that
    a sample's score is its own affair. Kept samples go through TENT as if the
    others had never come; flagged ones are predicted as a batch of their own
    by the model as it was before the step."""

    def __init__(self, inputs):
        source = copy.deepcopy(inputs.network).eval()
        super().__init__(inputs)
        self.source = source

    def score(self, pixels):
        temperature = self.options["odin_temperature"]
        leaf = pixels.clone().requires_grad_()
        tempered = (self.source(leaf) / temperature).log_softmax(1)
        tempered.amax(1).sum().backward()
        # Towards higher confidence: familiar samples gain more by it.
        moved = pixels + self.options["odin_step"] * leaf.grad.sign()
        with torch.no_grad():
            return (self.source(moved) / temperature).softmax(1).amax(1)

    def window(self, batch):
        scores = self.score(batch.pixels)
        kept = self.reaches(scores, self.options["odin_threshold"])
        with torch.no_grad():
            whole = self.network(batch.pixels)
            logits = torch.empty_like(whole)
            if (~kept).any():
                logits[~kept] = self.network(batch.pixels[~kept])
        step = no_step()
        if kept.any():
            output = self.network(batch.pixels[kept])
            logits[kept] = output.detach()
            step = plain_step(self.loss(output), self.parameters,
                              self.optimiser)
        return {"logits": logits, "window_logits": whole, "scores": scores,
                "admitted": kept.to(torch.uint8), **step,
                **norm_state(self.network)}
