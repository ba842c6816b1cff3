"""The tiny network of the goldens: a ResNet with the CIFAR stem, one basic
block a stage, and torchvision's names."""
import torch
from torch import nn
from torch.nn import functional as F

from . import images, safetensors

WIDTHS = (4, 6, 8, 10)
MEAN = (.5, .4, .3)
STD = (.2, .25, .3)


class BasicBlock(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, width, 1, stride, bias=False),
                nn.BatchNorm2d(width))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + (self.downsample(x) if self.downsample else x))


class TinyResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        inputs = WIDTHS[0]
        for stage, width in enumerate(WIDTHS, 1):
            stride = 1 if stage == 1 else 2
            block = nn.Sequential(BasicBlock(inputs, width, stride))
            setattr(self, f"layer{stage}", block)
            inputs = width
        self.fc = nn.Linear(WIDTHS[-1], images.CLASSES)

    def features(self, x, stem_relu=True):
        """The input of `fc`. Without the stem's ReLU: what the published
        LAME port took for features."""
        mean = torch.tensor(MEAN, dtype=x.dtype).view(3, 1, 1)
        std = torch.tensor(STD, dtype=x.dtype).view(3, 1, 1)
        x = self.bn1(self.conv1((x - mean) / std))
        x = F.relu(x) if stem_relu else x
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))

    def forward(self, x):
        return self.fc(self.features(x))


def norm_layers(network):
    """Names and norm layers in the order of the forward pass, batch norm first.
    Any class with running averages counts as that: RoTTA puts its own in."""
    # A block registers bn1, bn2, downsample.1: that is the forward order too.
    layers = [(name, module) for name, module in network.named_modules()
              if has_averages(module)
              or isinstance(module, (nn.GroupNorm, nn.LayerNorm))]
    return sorted(layers, key=lambda layer: not has_averages(layer[1]))


def has_averages(layer):
    return hasattr(layer, "running_mean")


def batch_norms(network):
    return [layer for _, layer in norm_layers(network) if has_averages(layer)]


def norm_parameters(network, frozen=None):
    """Scales and shifts of the norm layers whose name lacks `frozen`."""
    return [parameter for name, layer in norm_layers(network)
            if not (frozen and frozen in name)
            for parameter in (layer.weight, layer.bias)]


def body_parameters(network):
    """Convolution and classifier weights in state_dict order."""
    norm = {id(parameter) for parameter in norm_parameters(network)}
    return [parameter for parameter in network.parameters()
            if id(parameter) not in norm]


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def flat_gradient(parameters):
    return flat(parameter.grad for parameter in parameters)


def affine(network):
    return flat(norm_parameters(network))


def body(network):
    return flat(body_parameters(network))


def running_mean(network):
    return flat(layer.running_mean for layer in batch_norms(network))


def running_var(network):
    return flat(layer.running_var for layer in batch_norms(network))


def use_batch_statistics(network):
    """Norm layers without running averages: each batch stands for itself."""
    for layer in batch_norms(network):
        layer.track_running_stats = False
        layer.running_mean = layer.running_var = None
    return network


def to_pixels(byte_images, dtype=torch.float32):
    return byte_images.to(dtype) / 255


def train(network=None, seed=3, steps=400, batch=64):
    """The source model: a fair classifier of clean stripes."""
    torch.manual_seed(seed)
    network = network or TinyResNet()
    pool, labels = images.clean_images(2048, seed)
    # Warm norm statistics and one cycle of the learning rate are enough here.
    optimiser = torch.optim.SGD(network.parameters(), lr=.1, momentum=.9,
                                nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        chosen = torch.randint(len(pool), (batch,))
        loss = F.cross_entropy(network(to_pixels(pool[chosen])),
                               labels[chosen], label_smoothing=.03)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return network.eval()


def save(network, path, metadata):
    tensors = {name: tensor for name, tensor in network.state_dict().items()
               if not name.endswith("num_batches_tracked")}
    constants = {"mean": ",".join(map(str, MEAN)),
                 "std": ",".join(map(str, STD))}
    safetensors.write(path, tensors, {**metadata, **constants})


def load(path, dtype=torch.float32):
    network = TinyResNet()
    tensors, _ = safetensors.read(path)
    missing, extra = network.load_state_dict(tensors, strict=False)
    assert not extra
    assert all(name.endswith("num_batches_tracked") for name in missing)
    return network.to(dtype).eval()
