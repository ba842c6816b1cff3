"""The runs that are recorded: name -> method and options. Learning rates and
constants are those of the CIFAR10 experiments; thresholds fit the toy
problem, so that both sides of each decision occur."""
import math

from . import images

SEED = 7
ENTROPY_MARGIN = .4 * math.log(images.CLASSES)

_ADAM = {"learning_rate": 1e-3, "weight_decay": 0.0}
_ENTROPY = {**_ADAM, "entropy_per_class": False}
# The published code decayed the weights and averaged entropy over classes.
_PAPER_DECAY = {"weight_decay": 5e-4}
_PAPER_ENTROPY = {**_PAPER_DECAY, "entropy_per_class": True}

CLEAN = {
    "source": {},
    "bn_stats": {},
    "pseudo_label": _ADAM,
    "tent": _ENTROPY,
    "lame": {"neighbours": 5, "affinity_weight": 1.0, "max_iterations": 100,
             "tolerance": 1e-8, "normalise_features": True,
             "skip_stem_relu": False},
    "cotta": {**_ADAM, "teacher_momentum": .999, "restore_probability": .01,
              "anchor_confidence": .761, "augmentations": 4},
    "eata": {"learning_rate": 5e-3, "momentum": .9, "weight_decay": 0.0,
             "entropy_margin": ENTROPY_MARGIN, "redundancy_margin": .5,
             "probability_momentum": .9, "fisher_weight": 1.0, "fisher_samples": 20,
             "fisher_batch": 16, "fisher_data": "clean"},
    "sar": {"learning_rate": 2.5e-4, "momentum": .9, "sharpness_radius": .05,
            "entropy_margin": ENTROPY_MARGIN, "reset_threshold": .2,
            "ema_momentum": .9, "frozen": "layer4"},
    "rotta": {"learning_rate": 1e-3, "teacher_momentum": .999,
              "batch_share": .05, "memory_capacity": images.WINDOW,
              "quota_first": True},
    "sotta": {**_ENTROPY, "memory": "hus", "memory_capacity": images.WINDOW,
              "min_confidence": .8, "sharpness": True,
              "sharpness_radius": .05, "frozen": "layer4",
              "stats_momentum": .2, "stats_updates": 2},
}

PAPER = {
    "source": {},
    "bn_stats": {},
    "pseudo_label": _PAPER_DECAY,
    "tent": _PAPER_ENTROPY,
    "lame": {"normalise_features": False, "skip_stem_relu": True},
    "cotta": _PAPER_DECAY,
    "eata": {**_PAPER_DECAY, "fisher_data": "clean_and_noise"},
    "sar": {},
    "rotta": {"quota_first": False},
    "sotta": _PAPER_ENTROPY,
}

# Rows of the paper's ablation tables switch three things off at once.
_NO_SHARPNESS = {"sharpness": False, "frozen": "", "stats_updates": 1}

SOTTA_VARIANTS = {
    "hc": {"memory": "confident_fifo", **_NO_SHARPNESS},
    "uc": {"memory": "uniform_class", **_NO_SHARPNESS},
    "hc_uc": _NO_SHARPNESS,
    "esm": {"memory": "fifo"},
    "hc_esm": {"memory": "confident_fifo"},
    "uc_esm": {"memory": "uniform_class"},
    "cleared": {"memory": "hus_cleared"},
    "no_sharpness": {"sharpness": False, "stats_updates": 1},
    "no_sharpness_two_updates": {"sharpness": False},
    "unfrozen": {"frozen": ""},
    "one_update": {"stats_updates": 1},
    # So strict that the memory stays empty for three windows.
    "strict": {"min_confidence": .98},
}

OTHER_VARIANTS = {
    "lame_unnormalised": ("lame", {"normalise_features": False}),
    "sar_reset": ("sar", {"reset_threshold": .35}),
    # So strict that some windows have no reliable sample.
    "sar_strict": ("sar", {"entropy_margin": .03, "reset_threshold": 0.0}),
    "eata_strict": ("eata", {"entropy_margin": .06}),
    "odin_tent": ("odin_tent", {
        **CLEAN["tent"], "odin_temperature": 1000.0, "odin_step": .0014,
        "odin_threshold": .200683}),
}


def all_runs():
    runs = {}
    for method, options in CLEAN.items():
        runs[f"{method}_clean"] = (method, dict(options))
        runs[f"{method}_paper"] = (method, {**options, **PAPER[method]})
    for name, changes in SOTTA_VARIANTS.items():
        runs[f"sotta_{name}"] = ("sotta", {**CLEAN["sotta"], **changes})
    for name, (method, changes) in OTHER_VARIANTS.items():
        runs[name] = (method, {**CLEAN.get(method, {}), **changes})
    return runs
