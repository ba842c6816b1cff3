"""Sample memories. They hold places in the stream, not images; `offer` says
whether the sample came in, `places` lists what is held, in batch order."""
import math


class Fifo:
    """The last samples whose confidence reaches a threshold."""

    def __init__(self, capacity, min_confidence=0):
        self.capacity, self.min_confidence = capacity, min_confidence
        self.held = []

    def offer(self, place, label, confidence):
        if confidence < self.min_confidence:
            return False
        self.held = (self.held + [place])[-self.capacity:]
        return True

    def places(self):
        return list(self.held)

    def clear(self):
        self.held = []


class Hus:
    """High-confidence uniform-class sampling (SoTTA)."""

    def __init__(self, capacity, classes, min_confidence, rng):
        self.capacity, self.min_confidence = capacity, min_confidence
        self.classes = [[] for _ in range(classes)]
        self.rng = rng

    def offer(self, place, label, confidence):
        if confidence < self.min_confidence:
            return False
        if len(self.places()) == self.capacity:
            self._evict(label)
        self.classes[label].append(place)
        return True

    def _evict(self, incoming):
        most = max(map(len, self.classes))
        largest = [k for k, held in enumerate(self.classes)
                   if len(held) == most]
        if incoming in largest:
            crowded = incoming
        else:
            crowded = largest[self.rng.below(len(largest))]
        del self.classes[crowded][self.rng.below(len(self.classes[crowded]))]

    def places(self):
        return sum(self.classes, [])

    def clear(self):
        self.classes = [[] for _ in self.classes]


class Cstu:
    """Category-balanced sampling with timeliness and uncertainty (RoTTA).
    Items are [place, uncertainty, age]."""

    def __init__(self, capacity, classes, quota_first):
        self.capacity, self.quota_first = capacity, quota_first
        self.quota = capacity / classes
        self.classes = [[] for _ in range(classes)]
        self.margins = []  # how clearly each comparison of scores went

    def offer(self, place, label, uncertainty):
        accepted = self._make_room(label, self._score(0, uncertainty))
        if accepted:
            self.classes[label].append([place, uncertainty, 0])
        for item in self.items():
            item[2] += 1
        return accepted

    def _score(self, age, uncertainty):
        return (1 / (1 + math.exp(-age / self.capacity))
                + uncertainty / math.log(len(self.classes)))

    def _make_room(self, label, score):
        full = len(self.items()) >= self.capacity
        within_quota = len(self.classes[label]) < self.quota
        if not full and (within_quota or not self.quota_first):
            return True
        if within_quota:
            most = max(map(len, self.classes))
            candidates = [held for held in self.classes if len(held) == most]
        else:
            candidates = [self.classes[label]]
        return self._drop_worst(candidates, score)

    def _drop_worst(self, candidates, score):
        worst, worst_score = None, -math.inf
        for held in candidates:
            for item in held:
                item_score = self._score(item[2], item[1])
                if item_score >= worst_score:  # of equals, the last
                    worst, worst_score = (held, item), item_score
        self.margins.append(abs(worst_score - score))
        if worst_score <= score:
            return False
        worst[0].remove(worst[1])
        return True

    def items(self):
        return sum(self.classes, [])

    def places(self):
        return [item[0] for item in self.items()]

    def ages(self):
        return [item[2] for item in self.items()]
