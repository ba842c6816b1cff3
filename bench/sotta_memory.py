"""The same windows as sotta_memory.cpp in ordinary PyTorch: prints peak kB."""
import os
import resource

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs, momentum=0.2)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, momentum=0.2)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs, momentum=0.2))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64, momentum=0.2)
        blocks, inputs = [], 64
        for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Block(inputs, width, stride), Block(width, width, 1)]
            inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1((x - 0.47) / 0.25)), inplace=True)
        return self.fc(self.blocks(x).mean((2, 3))).float()


def entropy(logits):
    p = logits.softmax(1)
    return -(p * (p + 1e-6).log()).sum(1).mean()


def norm_parameters(model):
    """Scales and shifts of all norm layers; nothing else is trained."""
    model.requires_grad_(False)
    found = []
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            found += [module.weight.requires_grad_(), module.bias.requires_grad_()]
    return found


def sotta_window(model, parameters, optimiser, images):
    """Predicts the images and adapts on them; the prediction's logits."""
    model.eval()
    with torch.no_grad():
        logits = model(images)
    model.train()
    entropy(model(images)).backward()
    with torch.no_grad():
        norm = torch.norm(torch.stack([p.grad.norm() for p in parameters]))
        steps = [0.05 * p.grad / (norm + 1e-12) for p in parameters]
        for p, step in zip(parameters, steps):
            p += step
    optimiser.zero_grad()
    entropy(model(images)).backward()
    with torch.no_grad():
        for p, step in zip(parameters, steps):
            p -= step
    optimiser.step()
    optimiser.zero_grad()
    return logits


def main():
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = ResNet18()
    parameters = norm_parameters(model)
    optimiser = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(5):
        images = torch.randint(256, (64, 3, 32, 32), dtype=torch.uint8) / 255
        sotta_window(model, parameters, optimiser, images)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    main()
