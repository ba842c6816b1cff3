"""RoTTA."""
import copy

import torch

from .. import augment, images, losses, network as net
from ..memory import Cstu
from ..norm import blend_norms
from .common import Method, norm_state, padded, plain_step, train_norms
from .cotta import follow


class Rotta(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        self.student = blend_norms(self.network, self.options["batch_share"])
        self.teacher = copy.deepcopy(self.student)
        train_norms(self.student)
        self.parameters = net.norm_parameters(self.student)
        self.optimiser = torch.optim.Adam(self.parameters,
                                          self.options["learning_rate"])
        self.capacity = self.options["memory_capacity"]
        self.memory = Cstu(self.capacity, images.CLASSES,
                           self.options["quota_first"])
        self.margins = self.memory.margins
        self.stream = inputs.stream
        self.rng = inputs.rng.child("augment")

    def window(self, batch):
        self.teacher.eval()
        with torch.no_grad():
            logits = self.teacher(batch.pixels)
        uncertainties = losses.entropy(logits)
        admitted = [self.memory.offer(batch.first + i,
                                      logits[i].argmax().item(),
                                      uncertainties[i].item())
                    for i in range(len(logits))]
        step = self._adapt(self.stream[self.memory.places()])
        return {"logits": logits,
                "admitted": torch.tensor(admitted, dtype=torch.uint8),
                "memory": padded(self.memory.places(), self.capacity),
                "ages": padded(self.memory.ages(), self.capacity),
                **step, **norm_state(self.student),
                **{f"teacher_{name}": value for name, value
                   in norm_state(self.teacher).items()}}

    def _adapt(self, pixels):
        self.student.train()
        self.teacher.train()
        with torch.no_grad():
            target = self.teacher(pixels)
        output = self.student(augment.augment(pixels, self.rng))
        ages = torch.tensor(self.memory.ages(),
                            dtype=pixels.dtype) / self.capacity
        weights = (-ages).exp() / (1 + (-ages).exp())
        loss = (weights * losses.distillation(output, target)).mean()
        step = plain_step(loss, self.parameters, self.optimiser)
        follow(self.teacher, self.student, self.options["teacher_momentum"])
        return step
