"""engine_worker.cpp's pieces of work in ordinary PyTorch, channels-last:
   i, t, s, m as there, and o: a SoTTA window as the published code runs it, with
   64 single images forward before the window's."""
import os
import resource
import sys
import time

import torch

from sotta_memory import ResNet18, entropy, norm_parameters, sotta_window

torch.manual_seed(0)
torch.set_num_threads(len(os.sched_getaffinity(0)))
model = ResNet18().to(memory_format=torch.channels_last)
images = (torch.randint(256, (64, 3, 32, 32), dtype=torch.uint8) / 255).contiguous(
    memory_format=torch.channels_last)
parameters = norm_parameters(model)
optimiser = torch.optim.Adam(parameters, lr=1e-3)


def predict(batch=images):
    model.eval()
    with torch.no_grad():
        model(batch)


def tent():
    model.train()
    entropy(model(images)).backward()
    optimiser.step()
    optimiser.zero_grad()


def sotta():
    sotta_window(model, parameters, optimiser, images)


def official():
    for i in range(len(images)):
        predict(images[i:i + 1])
    sotta()


pieces = {"i": predict, "t": tent, "s": sotta, "o": official}
print("ready", flush=True)
for line in sys.stdin:
    piece = line.strip()
    if piece == "m":
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, flush=True)
        continue
    wall, cpu = time.perf_counter(), time.process_time()
    pieces[piece]()
    print(f"{time.perf_counter() - wall:.6f} {time.process_time() - cpu:.6f}", flush=True)
