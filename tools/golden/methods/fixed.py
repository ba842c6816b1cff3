"""Methods that learn nothing: Source, BN Stats, LAME."""
import torch
from torch.nn import functional as F

from .. import network as net
from .common import Method, all_samples


class Source(Method):
    @torch.no_grad()
    def window(self, batch):
        return {"logits": self.network(batch.pixels),
                "features": self.network.features(batch.pixels),
                "admitted": all_samples(0)}


class BnStats(Source):
    def __init__(self, inputs):
        super().__init__(inputs)
        net.use_batch_statistics(self.network)


def assign(logits, neighbours, options):
    """LAME's assignment: `neighbours` is the 0/1 affinity, row i the nearest
    of sample i."""
    unary = -(logits.softmax(1) + 1e-10).log()
    scores = (-unary).softmax(1)
    old_energy = None
    for iteration in range(options["max_iterations"]):
        pairwise = options["affinity_weight"] * neighbours @ scores
        scores = (pairwise - unary).softmax(1)
        energy = (unary * scores - pairwise * scores
                  + scores * scores.clamp(min=1e-20).log()).sum()
        if iteration > 1 and ((energy - old_energy).abs()
                              <= options["tolerance"] * old_energy.abs()):
            break
        old_energy = energy
    return scores


def nearest(features, count):
    """The affinity, and how clearly the last neighbour beat the next."""
    distances = torch.cdist(features, features,
                            compute_mode="donot_use_mm_for_euclid_dist")
    # The first column is the sample itself.
    near, order = distances.topk(count + 2, largest=False)
    gap = (near[:, -1] - near[:, -2]).min().item()
    affinity = torch.zeros_like(distances)
    return affinity.scatter_(1, order[:, 1:-1], 1), gap


class Lame(Method):
    @torch.no_grad()
    def window(self, batch):
        logits = self.network(batch.pixels)
        features = self.network.features(
            batch.pixels, stem_relu=not self.options["skip_stem_relu"])
        if self.options["normalise_features"]:
            features = F.normalize(features)
        neighbours, gap = nearest(features, self.options["neighbours"])
        self.margins.append(gap)
        return {"logits": logits, "features": features,
                "scores": assign(logits, neighbours, self.options),
                "neighbours": neighbours.to(torch.uint8),
                "admitted": all_samples(0)}
