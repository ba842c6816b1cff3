"""RoTTA's norm layer: statistics mixed from the running averages and the
batch, and kept."""
import torch
from torch import nn


class BlendedNorm(nn.Module):
    def __init__(self, source, batch_share=.05):
        super().__init__()
        self.weight, self.bias = source.weight, source.bias
        self.register_buffer("running_mean", source.running_mean.clone())
        self.register_buffer("running_var", source.running_var.clone())
        self.eps, self.batch_share = source.eps, batch_share

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            batch_var, batch_mean = torch.var_mean(x, (0, 2, 3),
                                                   unbiased=False)
            mean = torch.lerp(mean, batch_mean, self.batch_share)
            var = torch.lerp(var, batch_var, self.batch_share)
            self.running_mean = mean.detach().clone()
            self.running_var = var.detach().clone()
        shape = (1, -1, 1, 1)
        x = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()
        return x * self.weight.view(shape) + self.bias.view(shape)


def blend_norms(network, batch_share):
    """Puts blended norm layers in the place of all others."""
    for name, child in network.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(network, name, BlendedNorm(child, batch_share))
        else:
            blend_norms(child, batch_share)
    return network
