#!/usr/bin/python3
"""make_exported_golden.py FOLDER

Writes networks as .pt2 files of torch.export, and what PyTorch computes with them:
the tiny network of the goldens (tests/golden/methods/network.safetensors), those with
other norm layers, attention, shapes that depend on the batch, and what is refused. Also
models/fashion_resnet8.safetensors as .pt2 and as TorchScript. Written for PyTorch 2.11;
what another release cannot write is left out and listed in report.txt."""
import pathlib
import sys
import traceback
import zipfile

import torch
from torch import nn
from torch.nn import functional as F

from golden import images, network, other_norms, safetensors
import make_torchscript_golden as scripted

ROOT = scripted.ROOT
BATCH = torch.export.Dim("batch", min=1, max=8192)


class ResNet8(nn.Module):
    """Grey images; pixels come normalised."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(network.BasicBlock(16, 16, 1))
        self.layer2 = nn.Sequential(network.BasicBlock(16, 32, 2))
        self.layer3 = nn.Sequential(network.BasicBlock(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


class Attention(nn.Module):
    """Without torch.nn.MultiheadAttention: reshapes around the fused product."""

    def __init__(self, width=12):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.start = nn.Parameter(torch.randn(1, 1, width))
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.start.expand(x.shape[0], -1, -1), x], 1)
        n, tokens, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, tokens, 3, 2, width // 2) \
            .permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(n, tokens, width))
        return self.fc(self.last(x)[:, 0])


class Instance(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 6, 3, 2, 1), nn.InstanceNorm2d(6, affine=True)
        self.conv2, self.norm2 = nn.Conv2d(6, 8, 3, 2, 1), nn.InstanceNorm2d(8, affine=True)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return self.fc(F.relu(self.norm2(self.conv2(x))).amax((2, 3)))


class Shapes(nn.Module):
    """Arithmetic on the batch size, lists of tensors, several results of an operator,
    optional arguments, types, numbers from tensors, writing in place."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.register_buffer("order", torch.tensor([3, 1, 2, 0, 7, 6, 5, 4]))
        self.register_buffer("table", torch.rand(16, 16), persistent=False)
        self.scale = 0.5
        self.group = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(32, 5)
        self.pad = nn.Parameter(torch.rand(1, 8, 1, 1))

    def forward(self, x):
        n, _, h, w = x.shape
        x = F.relu_(self.norm(self.conv(x * self.scale)))
        x = x[:, self.order] + self.table
        x, _ = F.max_pool2d(x, 2, return_indices=True)
        h, w = h // 2, w // 2
        x = x.view(n, 8, h // 4, 4, w // 4, 4).permute(0, 2, 4, 1, 3, 5).reshape(-1, 8, 4, 4)
        x = self.group(x).to(torch.float64).to(torch.float32)
        x = x.view(x.shape[0] // 4, 2, 2, 8, 4, 4).permute(0, 3, 1, 4, 2, 5).reshape(n, 8, h, w)
        first, second = x.chunk(2, 1)
        x = torch.cat((second, first.clone().mul_(2.)), dim=1)
        x = torch.where(x > 0, x, torch.zeros_like(x)) + torch.zeros(n, 1, 1, 1) + self.pad
        x = F.interpolate(x, scale_factor=.5, mode="bilinear", align_corners=False)
        x = F.adaptive_avg_pool2d(F.pad(x, (1, 1, 1, 1)), (2, 2))
        y = torch.full((n, 32), 1., dtype=x.dtype) * torch.arange(32) / 64
        return self.fc(F.dropout(torch.flatten(x, 1), .5, self.training) + y)


class TooNew(nn.Module):
    """Operators that came after LibTorch 1.13."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 4, 4), nn.BatchNorm2d(8)
        self.scale = nn.Parameter(torch.ones(8))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.norm(self.conv(x)).mean((2, 3))
        x = F.rms_norm(x, (8,), self.scale)
        return self.fc(x + torch._safe_softmax(x, -1))


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.BatchNorm1d(12), nn.Linear(12, 5)

    def forward(self, x, y):
        return self.fc(self.norm(x.mean(3).flatten(1)[:, :12] + y))


class Writer:
    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.report = (folder / "report.txt").open("w")
        self.say(f"torch {torch.__version__}, Python {sys.version.split()[0]}")

    def say(self, text):
        print(text, file=self.report, flush=True)
        print(text, flush=True)

    def tried(self, name, write):
        try:
            write()
            self.say(f"{name}: written")
        except Exception:  # one that fails must not take the others along
            self.say(f"{name}: FAILED\n{traceback.format_exc()}")

    def save(self, name, exported):
        for node in exported.graph.nodes:  # paths of this machine
            node.meta.pop("stack_trace", None)
        torch.export.save(exported, str(self.folder / f"{name}.pt2"))
        (self.folder / f"{name}.graph").write_text(
            f"{exported.graph_signature}\n{exported.range_constraints}\n{exported.graph}\n")

    def export(self, name, net, example, dynamic=True, **options):
        def write():
            shapes = tuple({0: BATCH} for _ in example) if dynamic else None
            self.save(name, torch.export.export(net, example, dynamic_shapes=shapes, **options))
        self.tried(name, write)

    def forms(self, name, net, example):
        """Operators as they are called, and those of the core set; exported in training
        mode; strictly."""
        exported = torch.export.export(net.eval(), example, dynamic_shapes=({0: BATCH},))
        self.tried(name, lambda: self.save(name, exported))
        self.tried(f"{name}_core",
                   lambda: self.save(f"{name}_core", exported.run_decompositions()))
        self.export(f"{name}_strict", net.eval(), example, strict=True)
        self.export(f"{name}_train", net.train(), example)
        net.eval()
        return exported


def expected(writer, name, net, pixels):
    """Logits, and the gradient of their mean entropy."""
    net.eval()
    logits = net(pixels)
    affine = [parameter for layer in net.modules()
              if isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d))
              for parameter in (layer.weight, layer.bias)]
    gradient = torch.autograd.grad(
        -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean(), affine)
    safetensors.write(writer.folder / f"{name}.safetensors",
                      {"images": pixels, "logits": logits, "gradient": torch.cat(gradient)}, {})


def shake(net, seed):
    """Scales, shifts and averages that are not those of a new network."""
    torch.manual_seed(seed)
    for layer in net.modules():
        if getattr(layer, "bias", None) is not None and not isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.bias, 0, .3)
        if isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d)):
            nn.init.uniform_(layer.weight, .5, 1.5)
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean, 0, .2)
            nn.init.uniform_(layer.running_var, .5, 2)
    return net.eval()


def old_layout(writer, name, exported):
    """The layout that torch.export.save wrote up to 2.7."""
    from torch._export.serde.serialize import serialize
    artifact = serialize(exported)
    with zipfile.ZipFile(writer.folder / f"{name}.pt2", "w") as archive:
        archive.writestr("version", "8.8")
        archive.writestr("serialized_exported_program.json", artifact.exported_program)
        archive.writestr("serialized_state_dict.pt", artifact.state_dict)
        archive.writestr("serialized_constants.pt", artifact.constants)
        archive.writestr("serialized_example_inputs.pt", artifact.example_inputs)


def fashion(writer):
    net = ResNet8()
    tensors, _ = safetensors.read(ROOT / "models/fashion_resnet8.safetensors")
    missing, extra = net.load_state_dict({k: v.float() for k, v in tensors.items()}, strict=False)
    assert not extra and all(name.endswith("num_batches_tracked") for name in missing)
    net.eval()
    pixels = torch.rand(6, 1, 28, 28)
    expected(writer, "fashion", net, pixels)
    writer.tried("fashion", lambda: writer.forms("fashion", net, (pixels[:2],)))
    writer.tried("fashion.pt", lambda: torch.jit.trace(net, pixels[:2]).save(
        str(writer.folder / "fashion.pt")))


def main():
    writer = Writer(pathlib.Path(sys.argv[1]))
    torch.manual_seed(0)
    pixels = torch.rand(6, 3, images.SIDE, images.SIDE)
    example = (pixels[:2],)

    tiny = scripted.Scriptable(network.load(ROOT / "tests/golden/methods/network.safetensors"))
    expected(writer, "tiny", tiny, pixels)
    exported = None

    def export_tiny():
        nonlocal exported
        exported = writer.forms("tiny", tiny, example)
    writer.tried("tiny", export_tiny)
    writer.tried("tiny_old", lambda: old_layout(writer, "tiny_old", exported))
    writer.export("tiny_static", tiny.eval(), (pixels[:4],), dynamic=False)
    half = scripted.Scriptable(network.load(ROOT / "tests/golden/methods/network.safetensors"))
    writer.export("tiny_half", half.half().eval(), (pixels[:2].half(),))

    for name in other_norms.NETWORKS:
        net = other_norms.load(name, ROOT / f"tests/golden/torchscript/{name}.pt")
        expected(writer, name, net, pixels)
        writer.tried(name, lambda: writer.forms(name, net, example))

    for name, make in (("attention", Attention), ("multihead", scripted.Attention),
                       ("instance", Instance), ("shapes", Shapes)):
        torch.manual_seed(1)
        net = shake(make(), 2)
        expected(writer, name, net, pixels)
        writer.tried(name, lambda: writer.forms(name, net, example))
        if name == "multihead":
            with torch.no_grad():
                writer.export("multihead_no_grad", net.eval(), example)

    writer.export("too_new", shake(TooNew(), 3), example)
    writer.export("two_inputs", TwoInputs().eval(), (pixels[:2], torch.rand(2, 12)))
    for make in (scripted.without_norm, scripted.without_linear, scripted.without_averages):
        writer.export(make.__name__, make().eval(), example)
    fashion(writer)


if __name__ == "__main__":
    main()
