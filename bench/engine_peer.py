"""engine_worker.cpp's pieces of work in ordinary PyTorch, channels-last:
   i, t, s, m as there, and o: a SoTTA window as the published code runs it, with
   single images forward before the window's. "threads N" sets their number.

usage: engine_peer.py [compiled] [bf16] [tuned] [spinning] [network=resnet18] [classes=10]
                      [images=64] [side=32] [device=cpu] [precision=fp32]

compiled: torch.compile, which the first run of a piece waits for; its code takes
the number of threads when it runs, so that another number need not compile all
anew. Inference has its constants folded (freezing), as no window changes that
network. bf16: weights and activations of convolutions in bfloat16. tuned: cuDNN's fastest algorithms.
spinning is for engine_bench.py."""
import copy
import os
import resource
import sys
import time

import torch
from torch import nn

from resnet50 import ResNet50
from sotta_memory import ResNet18, entropy, norm_parameters, sotta_window


class NotThere(Exception):
    """What was asked for needs another PyTorch or another machine."""


def one_line(error):
    return " ".join(str(error).split())[:300] or type(error).__name__


def make_network(name, classes):
    if name == "resnet18":
        network = ResNet18()
        network.fc = nn.Linear(network.fc.in_features, classes)
        return network
    if name == "resnet50-imagenet":
        return ResNet50(classes)
    raise ValueError(f"expected network resnet18 or resnet50-imagenet, got {name}")


def in_bfloat16(model):
    """Its convolutions and products; norm layers keep their parameters in float32."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.to(torch.bfloat16)
    return model


class Peer:
    def __init__(self, words):
        torch.manual_seed(0)
        values = dict(word.split("=", 1) for word in words if "=" in word)
        count, side = int(values.get("images", 64)), int(values.get("side", 32))
        self.device = torch.device(values.get("device", "cpu"))
        precision = "bf16" if "bf16" in words else values.get("precision", "fp32")
        self.compiled = "compiled" in words
        if self.compiled and not hasattr(torch, "compile"):
            raise NotThere(f"PyTorch {torch.__version__} has no torch.compile")
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
        torch.backends.cudnn.benchmark = "tuned" in words

        network = make_network(values.get("network", "resnet18"), int(values.get("classes", 10)))
        self.plain = network.to(self.device, memory_format=torch.channels_last)
        self.type = torch.float32
        if precision == "bf16":
            self.type = torch.bfloat16
            in_bfloat16(self.plain)
        self.parameters = norm_parameters(self.plain)
        self.optimiser = torch.optim.Adam(self.parameters, lr=1e-3)
        self.bytes = torch.randint(256, (count, 3, side, side), dtype=torch.uint8).contiguous(
            memory_format=torch.channels_last)
        if self.device.type == "cuda":
            self.bytes = self.bytes.pin_memory()
        self.ready = self.converted()
        self.set_threads(1)

    def set_threads(self, count):
        torch.set_num_threads(count)
        self.model, self.inference = self.plain, None
        if self.compiled:
            from torch._inductor import config  # PyTorch 2
            config.cpp.dynamic_threads = True
            torch.compiler.reset()  # what is compiled counts on the number of threads
            self.model = torch.compile(self.plain)

    def make_inference(self):
        """The network as it is now, for predictions alone."""
        if not self.compiled:
            return lambda images: self.plain.eval()(images)
        from torch._inductor import config
        fixed = copy.deepcopy(self.plain).eval().requires_grad_(False)
        frozen = torch.compile(lambda images: fixed(images))
        try:
            with config.patch(freezing=True):
                frozen(self.images())
            return frozen
        except Exception as error:
            print("inference without freezing:", one_line(error), file=sys.stderr)
            return lambda images: self.model.eval()(images)

    def converted(self):
        return self.bytes.to(self.device, non_blocking=True).to(self.type) / 255

    def images(self):
        """From the host to a GPU each time; on the CPU they wait as floats."""
        return self.converted() if self.device.type == "cuda" else self.ready

    def predict(self):
        with torch.no_grad():
            self.inference = self.inference or self.make_inference()
            return self.inference(self.images())

    def tent(self):
        self.model.train()
        logits = self.model(self.images())
        entropy(logits).backward()
        self.optimiser.step()
        self.optimiser.zero_grad()
        return logits

    def sotta(self):
        return sotta_window(self.model, self.parameters, self.optimiser, self.images())

    def published_loop(self):
        self.model.eval()
        with torch.no_grad():
            for image in self.images().split(1):
                self.model(image)
        return self.sotta()

    def run(self, piece):
        work = {"i": self.predict, "t": self.tent, "s": self.sotta, "o": self.published_loop}[piece]
        wall, cpu = time.perf_counter(), time.process_time()
        logits = work()
        if self.device.type == "cuda":
            logits.detach().argmax(1).cpu()
            torch.cuda.synchronize()
        return f"{time.perf_counter() - wall:.6f} {time.process_time() - cpu:.6f}"

    def memory(self):
        gpu = self.device.type == "cuda"
        given = torch.cuda.max_memory_allocated() // 1024 if gpu else 0
        held = torch.cuda.max_memory_reserved() // 1024 if gpu else 0
        return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} {given} {held}"

    def answer(self, line):
        if line == "m":
            return self.memory()
        if line.startswith("threads "):
            self.set_threads(int(line.split()[1]))
            return f"{torch.get_num_threads()} 0"
        return self.run(line)


def libraries():
    """What convolves on the CPU, in PyTorch's own words."""
    lines = [line.strip(" -") for line in torch.__config__.show().splitlines()]
    wanted = ("MKL-DNN", "Math Kernel Library", "CPU capability")
    return "; ".join(line for line in lines if any(word in line for word in wanted))


def main():
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        peer = Peer(sys.argv[1:])
        print(f"ready PyTorch {torch.__version__}; {libraries()}", file=answers)
        for line in sys.stdin:
            print(peer.answer(line.strip()), file=answers)
    except NotThere as error:
        print("failed:", error, file=answers)
    except Exception as error:  # whatever a compiler or a missing kernel throws
        print("failed:", one_line(error), file=answers)
        raise


if __name__ == "__main__":
    main()
