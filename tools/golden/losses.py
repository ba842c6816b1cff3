"""The losses of the methods, one value per sample."""

EPSILON = 1e-6


def entropy(logits):
    """-sum_k p log(p + 1e-6): what SoTTA, TENT, SAR and RoTTA call entropy."""
    p = logits.softmax(1)
    return -(p * (p + EPSILON).log()).sum(1)


def exact_entropy(logits):
    """-sum_k p log p, by way of log_softmax: EATA's."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


def distillation(student_logits, teacher_logits):
    """Cross-entropy of the student against the teacher's probabilities."""
    return -(teacher_logits.softmax(1).detach()
             * student_logits.log_softmax(1)).sum(1)
