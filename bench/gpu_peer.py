#!/usr/bin/env python3
"""Times ordinary PyTorch's passes over 64 images in CUDA graphs: the peer of
`sotta bench --cuda-graphs true` on a GPU.

usage: gpu_peer.py [--kernels]

A forward pass with running averages, and a forward with the batch's statistics
and its backward to the norm layers, in three precisions. --kernels lists what
the time goes into.
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

BATCH = 64


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu_(self.norm1(self.conv1(x)))
        return functional.relu_(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)).cuda()


def norm_layers(model):
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def prepare(precision):
    """A model whose norm layers are trained, and images for it."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    model = resnet18().requires_grad_(False)
    images = torch.rand(BATCH, 3, 32, 32, device="cuda")
    if precision != "fp32":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    if precision == "bf16":
        for module in model.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                module.to(torch.bfloat16)
        images = images.bfloat16()
    for layer in norm_layers(model):
        layer.requires_grad_(True)
    return model, images


def record(work):
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(4):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def milliseconds(graph, launches=20, rounds=5):
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(launches):
            graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / launches)
    return 1000 * min(times)


def print_kernels(graph, launches=5):
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(launches):
            graph.replay()
        torch.cuda.synchronize()
    kernels = sorted(profiler.key_averages(), key=lambda kernel: -kernel.device_time_total)
    for kernel in kernels[:16]:
        print(f"  {kernel.device_time_total / launches:8.1f} us {kernel.count // launches:4d}  {kernel.key[:100]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    for precision in ("fp32", "tf32", "bf16"):
        model, images = prepare(precision)
        parameters = [p for layer in norm_layers(model) for p in layer.parameters()]

        def forward():
            model.eval()
            with torch.no_grad():
                return model(images)

        def forward_and_backward():
            model.train()
            logits = model(images).float()
            entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
            return torch.autograd.grad(entropy, parameters)

        for work in (forward, forward_and_backward):
            graph = record(work)
            print(f"{precision} {work.__name__}: {milliseconds(graph):.2f} ms", flush=True)
            if options.kernels:
                print_kernels(graph)


if __name__ == "__main__":
    main()
