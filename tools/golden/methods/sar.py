"""SAR."""
import copy

import torch

from .. import losses, network as net
from ..sharpness import SharpnessStep, gradient_norm
from .common import Method, norm_state, train_norms


class Sar(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        net.use_batch_statistics(self.network)
        train_norms(self.network)
        self.source = copy.deepcopy(self.network.state_dict())
        self.parameters = net.norm_parameters(self.network,
                                              self.options["frozen"])
        self.optimiser = torch.optim.SGD(
            self.parameters, self.options["learning_rate"],
            momentum=self.options["momentum"])
        self.sharpness = SharpnessStep(
            self.parameters, self.options["sharpness_radius"], self.optimiser)
        self.ema = None

    def window(self, batch):
        logits = self.network(batch.pixels)
        entropies = losses.entropy(logits)
        margin = self.options["entropy_margin"]
        reliable = ~self.reaches(entropies.detach(), margin)
        # No reliable sample: the mean is NaN, its gradients are zeros, and
        # the optimiser still follows its momentum.
        loss = entropies[reliable].mean()
        self.optimiser.zero_grad()
        loss.backward()
        norm = gradient_norm(self.parameters)
        length = self.sharpness.climb()

        entropies = losses.entropy(self.network(batch.pixels))
        again = reliable & ~self.reaches(entropies.detach(), margin)
        perturbed_loss = entropies[again].mean()
        perturbed_loss.backward()
        perturbed_norm = gradient_norm(self.parameters)
        self.sharpness.descend()
        reset = self._recover(perturbed_loss.detach())
        nothing = torch.tensor(float("nan"))
        return {"logits": logits.detach(), "loss": loss.detach(),
                "reliable": reliable.to(torch.uint8),
                "admitted": again.to(torch.uint8),
                "grad_norm": norm, "perturbation_norm": length,
                "perturbed_loss": perturbed_loss.detach(),
                "perturbed_grad_norm": perturbed_norm,
                "ema": nothing if self.ema is None else self.ema,
                "reset": torch.tensor(reset, dtype=torch.uint8),
                **norm_state(self.network)}

    def _recover(self, loss):
        """Back to the source when the moving loss is suspiciously low. The
        moving loss and the optimiser's momentum stay as they are."""
        if not loss.isnan():
            keep = self.options["ema_momentum"]
            self.ema = loss if self.ema is None \
                else keep * self.ema + (1 - keep) * loss
        if self.ema is None or self.reaches(self.ema,
                                            self.options["reset_threshold"]):
            return False
        self.network.load_state_dict(self.source)
        return True
