"""CoTTA."""
import copy

import torch

from .. import augment, losses, network as net
from .common import Method, all_samples, norm_state, plain_step


def every_parameter(network):
    """In the order of the flat vectors: the body, then the norm layers."""
    return net.body_parameters(network) + net.norm_parameters(network)


@torch.no_grad()
def follow(teacher, student, momentum):
    """The teacher's parameters as a moving average of the student's."""
    for mine, other in zip(every_parameter(teacher), every_parameter(student)):
        mine.copy_(momentum * mine + (1 - momentum) * other)


class Cotta(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        self.anchor = net.use_batch_statistics(self.network)
        self.student = copy.deepcopy(self.anchor)
        self.teacher = copy.deepcopy(self.anchor)
        self.parameters = every_parameter(self.student)
        self.optimiser = torch.optim.Adam(
            self.parameters, self.options["learning_rate"],
            weight_decay=self.options["weight_decay"])
        self.augment_rng = inputs.rng.child("augment")
        self.restore_rng = inputs.rng.child("restore")

    def window(self, batch):
        pixels = batch.pixels
        with torch.no_grad():
            confidence = self.anchor(pixels).softmax(1).amax(1).mean()
            sure = self.reaches(confidence, self.options["anchor_confidence"])
            target = self.teacher(pixels) if sure else self._views(pixels)
        loss = losses.distillation(self.student(pixels), target).mean()
        step = plain_step(loss, self.parameters, self.optimiser)
        follow(self.teacher, self.student, self.options["teacher_momentum"])
        self._restore()
        return {"logits": target, "admitted": all_samples(1), **step,
                "anchor_confidence": confidence,
                "augmented": (~sure).to(torch.uint8),
                **norm_state(self.student),
                "teacher_affine": net.affine(self.teacher),
                "body": net.body(self.student),
                "teacher_body": net.body(self.teacher)}

    def _views(self, pixels):
        views = [self.teacher(augment.augment(pixels, self.augment_rng))
                 for _ in range(self.options["augmentations"])]
        return torch.stack(views).mean(0)

    @torch.no_grad()
    def _restore(self):
        for mine, source in zip(self.parameters, every_parameter(self.anchor)):
            draws = self.restore_rng.uniforms(mine.numel())
            chosen = torch.from_numpy(
                draws < self.options["restore_probability"])
            mine.copy_(torch.where(chosen.view(mine.shape), source, mine))
