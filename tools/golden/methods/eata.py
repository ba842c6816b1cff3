"""EATA."""
import torch
from torch.nn import functional as F

from .. import losses, network as net
from .common import Method, no_step, norm_state, plain_step, train_norms


class Eata(Method):
    def __init__(self, inputs):
        super().__init__(inputs)
        net.use_batch_statistics(self.network)
        train_norms(self.network)
        self.parameters = net.norm_parameters(self.network)
        self.source = [p.detach().clone() for p in self.parameters]
        self.optimiser = torch.optim.SGD(
            self.parameters, self.options["learning_rate"],
            momentum=self.options["momentum"],
            weight_decay=self.options["weight_decay"])
        self.probabilities = None
        candidates = inputs.fisher_clean
        if self.options["fisher_data"] == "clean_and_noise":
            candidates = torch.cat([candidates, inputs.fisher_noise])
        self.chosen = self._choose(len(candidates), inputs.rng.child("fisher"))
        self.fisher = self._fisher(candidates[self.chosen])

    def _choose(self, count, rng):
        places = list(range(count))
        for i in range(self.options["fisher_samples"]):
            j = i + rng.below(count - i)
            places[i], places[j] = places[j], places[i]
        return places[:self.options["fisher_samples"]]

    def _fisher(self, pixels):
        """The mean over batches of the squared gradient."""
        squares = [torch.zeros_like(p) for p in self.parameters]
        batches = pixels.split(self.options["fisher_batch"])
        for batch in batches:
            logits = self.network(batch)
            self.network.zero_grad()
            F.cross_entropy(logits, logits.argmax(1)).backward()
            for square, parameter in zip(squares, self.parameters):
                square += parameter.grad ** 2
        self.network.zero_grad()
        return [square / len(batches) for square in squares]

    def constants(self):
        return {"fisher": net.flat(self.fisher),
                "fisher_chosen": torch.tensor(self.chosen)}

    def window(self, batch):
        logits = self.network(batch.pixels)
        entropies = losses.exact_entropy(logits)
        margin = self.options["entropy_margin"]
        reliable = ~self.reaches(entropies.detach(), margin)
        selected = self._select(logits.detach().softmax(1), reliable)
        step = no_step()
        if selected.any():
            kept = entropies[selected]
            loss = (kept * (margin - kept.detach()).exp()).mean()
            loss = loss + self.options["fisher_weight"] * self._drift()
            step = plain_step(loss, self.parameters, self.optimiser)
        nothing = torch.full((logits.shape[1],), float("nan"))
        return {"logits": logits.detach(),
                "reliable": reliable.to(torch.uint8),
                "admitted": selected.to(torch.uint8),
                "mean_probabilities": nothing if self.probabilities is None
                else self.probabilities, **step, **norm_state(self.network)}

    def _select(self, probabilities, reliable):
        """Reliable and unlike what was learned from before; moves the mean
        prediction on."""
        selected = reliable
        if self.probabilities is not None:
            likeness = F.cosine_similarity(self.probabilities[None],
                                           probabilities).abs()
            selected = reliable & ~self.reaches(
                likeness, self.options["redundancy_margin"])
        if selected.any():
            mean = probabilities[selected].mean(0)
            keep = self.options["probability_momentum"]
            self.probabilities = mean if self.probabilities is None \
                else keep * self.probabilities + (1 - keep) * mean
        return selected

    def _drift(self):
        return sum((fisher * (parameter - source) ** 2).sum()
                   for fisher, parameter, source in
                   zip(self.fisher, self.parameters, self.source))
