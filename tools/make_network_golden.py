#!/usr/bin/python3
"""Writes tests/golden/networks/: small instances of our own networks with
torch's answers to some images. NAME.safetensors has the weights as a user would
have them, NAME_passes.safetensors the images, logits, features and gradients of
the mean entropy. Blocks are torchvision's where it has them. Tested with
PyTorch 1.13 and torchvision 0.14.

    tools/make_network_golden.py [NAME..]
"""
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models import resnet, vision_transformer as vision

from golden import safetensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/networks"
MEAN, STD = [0.5, 0.45, 0.4], [0.25, 0.2, 0.3]
CLASSES = 5


class PreActivationBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        if inputs != outputs:
            self.convShortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        activated = F.relu(self.bn1(x))
        if hasattr(self, "convShortcut"):
            x = self.convShortcut(activated)
        return x + self.conv2(F.relu(self.bn2(self.conv1(activated))))


class Stage(nn.Module):
    def __init__(self, inputs, outputs, blocks, stride):
        super().__init__()
        self.layer = nn.Sequential(
            *(PreActivationBlock(outputs if i else inputs, outputs, 1 if i else stride)
              for i in range(blocks)))

    def forward(self, x):
        return self.layer(x)


class WideResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, 1, 1, bias=False)
        self.block1 = Stage(4, 6, 2, 1)
        self.block2 = Stage(6, 8, 2, 2)
        self.block3 = Stage(8, 10, 2, 2)
        self.bn1 = nn.BatchNorm2d(10)
        self.fc = nn.Linear(10, CLASSES)

    def features(self, x):
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return F.relu(self.bn1(x)).mean((2, 3))


def randomise_norms(network):
    """So that every norm layer does something."""
    for module in network.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 1.5)


def passes(network, head, images, rename):
    """Logits, features and gradients to the norm layers, with running averages
    and, if there are any, with the batch's statistics."""
    pixels = images.float() / 255
    pixels = (pixels - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    modules = [(name, m) for name, m in network.named_modules()
               if isinstance(m, (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm))]
    modes = ["running"]
    if any(isinstance(m, nn.BatchNorm2d) for _, m in modules):
        modes.append("batch")
    answers = {"images": images}
    for mode in modes:
        network.train(mode == "batch")
        for _, module in modules:
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 0  # averages stay
        features = network.features(pixels)
        logits = head(features)
        answers[mode + ".features"], answers[mode + ".logits"] = features, logits
        entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        network.zero_grad()
        entropy.backward()
        for name, module in modules:
            answers[f"{mode}.{rename(name)}.weight"] = module.weight.grad.clone()
            answers[f"{mode}.{rename(name)}.bias"] = module.bias.grad.clone()
    return answers


def write(name, network, head, size, metadata=None, rename=lambda key: key):
    network.eval()
    images = torch.randint(0, 256, (6, 3, size, size), dtype=torch.uint8)
    weights = {rename(key): value for key, value in network.state_dict().items()}
    constants = {"mean": ",".join(map(str, MEAN)), "std": ",".join(map(str, STD))}
    safetensors.write(FOLDER / f"{name}.safetensors", weights,
                      {**constants, **(metadata or {})})
    safetensors.write(FOLDER / f"{name}_passes.safetensors",
                      passes(network, head, images, rename), {})


def wide_resnet():
    network = WideResNet()
    randomise_norms(network)
    write("wide_resnet", network, network.fc, 13)


class GroupNormResNet(nn.Module):
    """torchvision's blocks in a small ResNet."""

    def __init__(self, block, blocks, groups):
        super().__init__()
        norm = lambda channels: nn.GroupNorm(groups, channels)
        widths = [8, 12]
        self.conv1 = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)
        self.bn1 = norm(widths[0])
        inputs = widths[0]
        for i, width in enumerate(widths):
            layers = []
            for j in range(blocks):
                stride = 2 if i and not j else 1
                outputs = width * block.expansion
                downsample = None
                if stride != 1 or inputs != outputs:
                    downsample = nn.Sequential(
                        nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))
                layers.append(block(inputs, width, stride, downsample, norm_layer=norm))
                inputs = outputs
            setattr(self, f"layer{i + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, CLASSES)

    def features(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.layer2(self.layer1(x)).mean((2, 3))


def group_norm_resnet():
    network = GroupNormResNet(resnet.BasicBlock, 2, 4)
    randomise_norms(network)
    write("group_norm_resnet", network, network.fc, 13, {"groups": 4})


def group_norm_bottlenecks():
    network = GroupNormResNet(resnet.Bottleneck, 1, 2)
    randomise_norms(network)
    write("group_norm_bottlenecks", network, network.fc, 13, {"groups": 2})


def vision_transformer():
    network = vision.VisionTransformer(
        image_size=16, patch_size=4, num_layers=3, num_heads=2, hidden_dim=16,
        mlp_dim=24, num_classes=CLASSES)
    nn.init.normal_(network.class_token)
    nn.init.normal_(network.heads.head.weight)
    randomise_norms(network)

    def features(x):
        x = network._process_input(x)
        token = network.class_token.expand(x.shape[0], -1, -1)
        return network.encoder(torch.cat([token, x], 1))[:, 0]

    network.features = features
    return network


def timm_name(key):
    """torchvision's name of a tensor as timm has it."""
    for ours, theirs in (("class_token", "cls_token"), ("conv_proj", "patch_embed.proj"),
                         ("encoder.pos_embedding", "pos_embed"), ("encoder.ln", "norm"),
                         ("encoder.layers.encoder_layer_", "blocks."),
                         ("ln_", "norm"), ("self_attention.in_proj_", "attn.qkv."),
                         ("self_attention.out_proj", "attn.proj"),
                         ("mlp.0", "mlp.fc1"), ("mlp.3", "mlp.fc2"), ("heads.head", "head")):
        key = key.replace(ours, theirs)
    return key


def vit_torchvision():
    network = vision_transformer()
    write("vit_torchvision", network, network.heads, 16, {"heads": 2})


def vit_timm():
    network = vision_transformer()
    write("vit_timm", network, network.heads, 16, {"heads": 2}, timm_name)


MAKERS = {maker.__name__: maker for maker in (
    wide_resnet, group_norm_resnet, group_norm_bottlenecks, vit_torchvision, vit_timm)}


def main():
    for name in sys.argv[1:] or MAKERS:
        torch.manual_seed(20)
        MAKERS[name]()


main()
