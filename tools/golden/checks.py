"""Facts that must hold of the traces whatever the numbers are. They guard the
reference itself: a golden made by a wrong reference is worse than none."""
import copy

import torch

from . import network as net, runs
from .methods.fixed import assign


def _close(a, b, tolerance=1e-5):
    return torch.allclose(a.double(), b.double(), rtol=0, atol=tolerance)


def _layer4(source):
    """Where the frozen layers lie in the affine and the running vectors."""
    channels = [(name, len(layer.weight))
                for name, layer in net.norm_layers(source)]
    top = sum(count for name, count in channels if "layer4" in name)
    return slice(-2 * top, None), slice(-top, None)


def first_windows(traces):
    """Prediction comes before adaptation."""
    running, batch = traces["source_clean"], traces["bn_stats_clean"]
    for name, trace in traces.items():
        if name.startswith(("sotta", "rotta")):
            assert _close(trace["logits"][0], running["logits"][0]), name
        if name.startswith(("tent", "pseudo_label", "eata", "sar")):
            assert torch.equal(trace["logits"][0], batch["logits"][0]), name
        if name.startswith("lame"):
            assert torch.equal(trace["logits"], running["logits"]), name


def frozen_layers(traces, source):
    affine, running = _layer4(source)
    original = net.affine(source)
    for name, (method, options) in runs.all_runs().items():
        if method not in ("sotta", "sar"):
            continue
        last = traces[name]["affine"][-1].float()
        frozen = options["frozen"] == "layer4"
        assert torch.equal(last[affine], original[affine]) == frozen, name
        assert not torch.equal(last, original) or name == "sar_reset", name
        if method == "sotta":
            moved = traces[name]["running_mean"][-1][running]
            assert not _close(moved, net.running_mean(source)[running]), name


def sharpness(traces):
    for name, trace in traces.items():
        if "perturbation_norm" not in trace:
            continue
        length, slope = trace["perturbation_norm"], trace["grad_norm"]
        climbed = slope > 0  # not NaN, and not the zeros of an empty selection
        assert climbed.any() and _close(length[climbed], torch.tensor(.05), 1e-6)
        assert not length[slope == 0].any(), name


def memories(traces):
    for name, (method, options) in runs.all_runs().items():
        trace = traces[name]
        if "memory" not in trace:
            continue
        held = trace["memory"]
        labels = trace["logits"].argmax(2).flatten()
        confident = trace["logits"].float().softmax(2).amax(2) \
            >= options.get("min_confidence", 0)
        for places in held:
            places = places[places >= 0]
            assert len(places.unique()) == len(places), name
            if options.get("quota_first"):
                assert labels[places].bincount().max() <= 4, name  # ceil 3.2
        if method == "sotta" and options["memory"] not in ("fifo",
                                                           "uniform_class"):
            assert torch.equal(trace["admitted"].bool(), confident), name
        if name != "sotta_cleared" and name != "sotta_strict":
            assert (held[-1] >= 0).all(), name
            assert trace["admitted"].sum() > held.shape[1], name  # evictions


def two_updates(traces, source, stream):
    """Two blends with 0.2 are one with 0.36, where the input is the same:
    the first norm layer's."""
    places = traces["sotta_clean"]["memory"][0]
    pixels = net.to_pixels(stream["images"][places[places >= 0]])
    probe = copy.deepcopy(source).train()
    probe.bn1.momentum = 1.0
    with torch.no_grad():
        probe(pixels)
    for name, share in (("sotta_clean", .36), ("sotta_one_update", .2)):
        for vector, buffer in (("running_mean", "running_mean"),
                               ("running_var", "running_var")):
            before = getattr(source.bn1, buffer)
            batch = getattr(probe.bn1, buffer)
            after = traces[name][vector][0][:len(before)]
            assert _close(after, (1 - share) * before + share * batch), name


def resets(traces, source):
    trace = traces["sar_reset"]
    for affine, reset in zip(trace["affine"], trace["reset"]):
        back = torch.equal(affine.float(), net.affine(source))
        assert back == bool(reset)
    assert 0 < trace["reset"].sum() < len(trace["reset"])


def empty_selections(traces):
    eata = traces["eata_strict"]
    none = eata["admitted"].sum(1) == 0
    for window in none.nonzero().flatten().tolist():
        if window:
            assert torch.equal(eata["affine"][window],
                               eata["affine"][window - 1])
    # SAR has no such rule: its momentum carries on.
    sar = traces["sar_strict"]
    quiet = (sar["reliable"].sum(1) == 0).nonzero().flatten().tolist()
    started = (sar["reliable"].sum(1) > 0).nonzero().flatten()[0].item()
    assert not sar["affine"].isnan().any()
    later = [w for w in quiet if w > started]
    assert later and none.any() and not none.all()
    for window in later:
        assert not torch.equal(sar["affine"][window],
                               sar["affine"][window - 1])


def both_branches(traces):
    for name in ("sotta_clean", "sotta_paper", "eata_clean", "eata_paper",
                 "sar_clean", "odin_tent", "rotta_clean", "rotta_paper"):
        admitted = traces[name]["admitted"].float().mean()
        assert 0 < admitted < 1, name
    for name in ("cotta_clean", "cotta_paper"):
        assert 0 < traces[name]["augmented"].sum() < 10, name
        assert traces[name]["augmented"][0], name  # else no gradient at first
    redundant = traces["eata_clean"]["reliable"] \
        != traces["eata_clean"]["admitted"]
    assert redundant.any()


def lame_without_neighbours(traces):
    logits = traces["source_clean"]["logits"][0]
    options = runs.CLEAN["lame"]
    alone = assign(logits, torch.zeros(len(logits), len(logits)).double(),
                   options)
    assert torch.equal(alone.argmax(1), logits.argmax(1))


def window_order(traces, source, stream):
    """With running statistics a sample's result is its own affair."""
    order = torch.randperm(16, generator=torch.Generator().manual_seed(0))
    pixels = net.to_pixels(stream["images"][:16])
    with torch.no_grad():
        shuffled = source.eval()(pixels[order])
    assert _close(shuffled, traces["source_clean"]["logits"][0][order])


def check_all(traces, source, stream):
    first_windows(traces)
    frozen_layers(traces, source)
    sharpness(traces)
    memories(traces)
    two_updates(traces, source, stream)
    resets(traces, source)
    empty_selections(traces)
    both_branches(traces)
    lame_without_neighbours(traces)
    window_order(traces, source, stream)
