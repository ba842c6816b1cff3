"""The two halves of a sharpness-aware step around an ordinary optimiser."""
import torch


def gradient_norm(parameters):
    return torch.stack([p.grad.norm() for p in parameters]).norm()


class SharpnessStep:
    """climb() goes `radius` along the gradient; descend() comes back and lets
    the optimiser use the gradient found up there."""

    def __init__(self, parameters, radius, optimiser):
        self.parameters, self.radius = parameters, radius
        self.optimiser = optimiser
        self.origin = None

    @torch.no_grad()
    def climb(self):
        """Returns the length of the way gone."""
        self.origin = [p.clone() for p in self.parameters]
        scale = self.radius / (gradient_norm(self.parameters) + 1e-12)
        length = 0
        for parameter in self.parameters:
            way = parameter.grad * scale
            parameter.add_(way)
            length += way.square().sum()
        self.optimiser.zero_grad()
        return length.sqrt()

    @torch.no_grad()
    def descend(self):
        for parameter, origin in zip(self.parameters, self.origin):
            parameter.copy_(origin)
        self.optimiser.step()
        self.optimiser.zero_grad()
