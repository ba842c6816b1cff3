#!/usr/bin/python3
"""Do other people's networks load, answer as in PyTorch, and adapt?

    tools/check_networks.py torchvision              # all classifiers that Debian's torchvision has
    PYTHONPATH=pytorch-image-models tools/check_networks.py timm     # one of each family of timm
    tools/check_networks.py torchvision resnet18 vit_b_16
    tools/check_networks.py torchvision --jobs 16 --seconds 240 --runs 2     # many at once
    tools/check_networks.py --markdown >docs/networks.md   # from the results of both

Each network gets seeded random weights, is traced, and steps over two windows with TENT, SAR and
SoTTA (tests/cli/step_network.cpp); smaller ones are adapted by `sotta adapt` as well. Compared are the
logits, and the norm layers after TENT with those of a TENT written here in PyTorch. Results are
appended to build/networks/<set>.jsonl, where those already there are not made again: what is stopped
goes on. A network that takes longer than --seconds is left out.

Exits with 1 if a network with norm layers does not load, or anything crashes, ends in an
internal error, or is further from PyTorch than the limits below. Needs the PyTorch that sotta is
built with (1.13 and 2.11 were tried), `sotta` and `sotta_step_network` in build/release/bin or
SOTTA_BIN_DIR, and two to four hours of one core, which --jobs shares out."""
import argparse
import contextlib
import copy
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings

import numpy
import torch
from torch import nn

from golden import safetensors

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("SOTTA_BIN_DIR", ROOT / "build/release/bin"))
RESULTS = ROOT / "build/networks"
WINDOW = 4  # images; there are two windows
PROGRAM_LIMIT = 30_000_000  # parameters up to which `sotta adapt` runs as well

# The smallest images that a network takes are used.
SIDES = (64, 96, 128, 160, 192, 224, 240, 256, 299, 384, 512, 1024)

# Random weights are never sure of anything: without a limit on certainty all images are learnt
# from.
TENT = "tent:optimiser=adam,learning_rate=0.001"
SPECS = (TENT, "sar:entropy_margin=1000,reset_threshold=0",
         "sotta:min_confidence=0,memory_capacity=4")

LOGIT_LIMIT = 1e-5  # largest difference, in parts of the largest logit
STEP_LIMIT = 2e-2   # length of the difference of TENT's changes, in parts of the change's length

# Above that limit: what our distance from PyTorch in float64 may be, in the largest of PyTorch's
# own distances in float32.
NOISE = 2
RUNS = 16  # of PyTorch in float32 at the most, unless --runs says otherwise
LAST_BIT = 6e-8  # relative

# Those that take longest come first, so that they do not stand alone at the end.
SLOW = ("regnet_y_128gf", "vit_h_14", "regnet_y_32gf", "regnet_x_32gf", "efficientnet_b7",
        "efficientnet_v2_l", "efficientnet_b6", "densenet201", "densenet161", "densenet169",
        "resnext101", "wide_resnet101", "efficientnet_b5", "efficientnet_v2_m", "resnet152",
        "regnet_y_16gf", "regnet_x_16gf", "convnext_large", "vit_l", "swin_v2_b", "swin_b",
        "nasnetalarge", "pnasnet5large", "samvit", "sam2", "gemma4", "mobilenetv5", "naflexvit",
        "csatv2", "inception_resnet", "inception_v4", "hrnet", "nextvit", "mobileone")

# A network of each family (module) of timm, among the smallest.
FAMILIES = {
    "beit": "beit_base_patch16_224", "byoanet": "botnet26t_256", "byobnet": "mobileone_s0",
    "cait": "cait_xxs24_224", "coat": "coat_lite_tiny", "convit": "convit_tiny",
    "convmixer": "convmixer_1024_20_ks9_p14", "convnext": "convnext_atto",
    "cpubone": "cpubone_nano", "crossvit": "crossvit_tiny_240", "csatv2": "csatv2",
    "cspnet": "darknet17", "davit": "davit_tiny", "deit": "deit_tiny_distilled_patch16_224",
    "densenet": "densenet121", "dla": "dla46_c", "dpn": "dpn48b",
    "edgenext": "edgenext_xx_small", "efficientformer": "efficientformer_l1",
    "efficientformer_v2": "efficientformerv2_s0", "efficientnet": "efficientnet_b0_gn",
    "efficientvit_mit": "efficientvit_b0", "efficientvit_msra": "efficientvit_m0",
    "eva": "eva02_tiny_patch14_224", "fasternet": "fasternet_t0", "fastvit": "fastvit_t8",
    "focalnet": "focalnet_tiny_srf", "gcvit": "gcvit_xxtiny", "gemma4_vit": "gemma4_vit_167m",
    "ghostnet": "ghostnet_050", "hardcorenas": "hardcorenas_a", "hgnet": "hgnetv2_b0",
    "hiera": "hiera_tiny_224", "hieradet_sam2": "sam2_hiera_tiny", "hrnet": "hrnet_w18_small",
    "inception_next": "inception_next_atto", "inception_resnet_v2": "inception_resnet_v2",
    "inception_v3": "inception_v3", "inception_v4": "inception_v4", "levit": "levit_128s",
    "mambaout": "mambaout_femto", "maxxvit": "coatnet_pico_rw_224",
    "metaformer": "poolformer_s12", "mlp_mixer": "mixer_s32_224",
    "mobilenetv3": "mobilenetv3_small_050", "mobilenetv5": "mobilenetv5_base",
    "mobilevit": "mobilevit_xxs", "mvitv2": "mvitv2_tiny",
    "naflexvit": "naflexvit_base_patch16_gap", "nasnet": "nasnetalarge", "nest": "nest_tiny",
    "nextvit": "nextvit_small", "nfnet": "nfnet_l0", "pit": "pit_ti_distilled_224",
    "pnasnet": "pnasnet5large", "pvt_v2": "pvt_v2_b0", "rdnet": "rdnet_tiny",
    "regnet": "regnetx_002", "repghost": "repghostnet_050", "repvit": "repvit_m0_9",
    "res2net": "res2net50_14w_8s", "resnest": "resnest14d", "resnet": "resnet10t",
    "resnetv2": "resnetv2_50x1_bit", "rexnet": "rexnetr_100", "selecsls": "selecsls42",
    "senet": "legacy_seresnet18", "sequencer": "sequencer2d_s", "shvit": "shvit_s1",
    "sknet": "skresnet18", "starnet": "starnet_s050", "swiftformer": "swiftformer_xs",
    "swin_transformer": "swin_tiny_patch4_window7_224",
    "swin_transformer_v2": "swinv2_tiny_window8_256",
    "swin_transformer_v2_cr": "swinv2_cr_tiny_ns_224", "tiny_vit": "tiny_vit_5m_224",
    "tnt": "tnt_s_patch16_224", "tresnet": "tresnet_m", "twins": "twins_pcpvt_small",
    "vgg": "vgg11_bn", "visformer": "visformer_tiny",
    "vision_transformer": "vit_tiny_patch16_224",
    "vision_transformer_hybrid": "vit_tiny_r_s16_p8_224",
    "vision_transformer_relpos": "vit_relpos_small_patch16_224",
    "vision_transformer_sam": "samvit_base_patch16_224", "vitamin": "vitamin_small_224",
    "volo": "volo_d1_224", "vovnet": "ese_vovnet19b_slim_dw", "xception": "legacy_xception",
    "xception_aligned": "xception41p", "xcit": "xcit_nano_12_p16_224"}

NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm,
         nn.modules.instancenorm._InstanceNorm)


def names_of(family):
    if family == "torchvision":
        import torchvision
        return torchvision.models.list_models(module=torchvision.models)
    import timm
    missing = set(timm.list_modules()) - set(FAMILIES)
    if missing:
        print(f"no network is chosen for timm's {', '.join(sorted(missing))}", file=sys.stderr)
    return [name for module, name in FAMILIES.items() if module in timm.list_modules()]


def make(family, name):
    torch.manual_seed(0)
    if family == "timm":
        import timm
        try:  # those that are made for one size
            net = timm.create_model(name, img_size=SIDES[0]).eval()
            net.image_size = SIDES[0]
            smallest_side(net)
            return net
        except Exception:
            torch.manual_seed(0)
            return timm.create_model(name).eval()
    import torchvision
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if name.startswith("vit_"):
        more["image_size"] = 64 if name != "vit_h_14" else 56
    return torchvision.models.get_model(name, weights=None, **more).eval()


def norm_modules(net):
    return [m for m in net.modules() if isinstance(m, NORMS) and
            getattr(m, "weight", None) is not None and getattr(m, "bias", None) is not None]


def answer(net, images):
    out = net(images)
    return out if torch.is_tensor(out) else out[0]


def smallest_side(net):
    problem = None
    for side in SIDES if not hasattr(net, "image_size") else (net.image_size,):
        try:
            with torch.no_grad():
                out = net(torch.rand(2, 3, side, side))
            return side, out
        except Exception as error:
            problem = error
    raise problem


def use_batch_statistics(net, use, momentum=None):
    for module in net.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.train(use)
            if momentum is not None:
                module.momentum = momentum


def spread(net, images):
    """Norm layers that differ from the identity, averages of some data, and a head that is not
    zero: fresh ones would hide what goes wrong with them."""
    for module in norm_modules(net):
        nn.init.uniform_(module.weight, .8, 1.2)
        nn.init.normal_(module.bias, 0, .1)
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)) and not module.weight.any():
            nn.init.normal_(module.weight, 0, .02)
    use_batch_statistics(net, True, 1.)
    with torch.no_grad():
        net(images)
    use_batch_statistics(net, False, .1)


def tent(net, images, names):
    """TENT as its paper has it: the entropy of the predictions, a step of Adam on all norm
    layers' scales and shifts, statistics of the batch. Gives by how much they changed, and what
    they were, by name."""
    parameters = dict(net.named_parameters())
    net.requires_grad_(False)
    trained = {name: parameters[name] for name in names}
    for parameter in trained.values():
        parameter.requires_grad_(True)
    before = {name: p.detach().clone() for name, p in trained.items()}
    optimiser = torch.optim.Adam(trained.values(), 1e-3)
    use_batch_statistics(net, True)
    for window in images.split(WINDOW):
        logits = answer(net, window)
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    use_batch_statistics(net, False)
    change = {name: p.detach() - before[name] for name, p in trained.items()}
    with torch.no_grad():
        for name, p in trained.items():
            p.copy_(before[name])
    return change, before


def flat(tensors, names):
    return torch.cat([tensors[name].flatten().double() for name in names])


def distance(change, exact):
    return float((change - exact).norm() / exact.norm())


@contextlib.contextmanager
def last_bits_differ(net, generator):
    """Of all weights, inside: what another order of sums does somewhere in the network."""
    kept = [p.detach().clone() for p in net.parameters()]
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(1 + LAST_BIT * torch.randn(p.shape, generator=generator))
    yield
    with torch.no_grad():
        for p, values in zip(net.parameters(), kept):
            p.copy_(values)


def exact_change(net, images, names):
    return flat(tent(copy.deepcopy(net).double(), images.double(), names)[0], names)


def rounded_changes(net, images, names):
    """PyTorch in float32, without end: as it is, then with images and weights whose last bits
    differ."""
    generator = torch.Generator().manual_seed(0)
    yield flat(tent(net, images, names)[0], names)
    while True:
        noise = torch.randn(images.shape, generator=generator)
        with last_bits_differ(net, generator):
            yield flat(tent(net, images * (1 + LAST_BIT * noise), names)[0], names)


def compare_tent(net, images, found, most):
    """The distance between TENT's changes and, where it is more than a little, that of each from
    float64: of PyTorch's the largest of the first runs, until ours is not more than NOISE times
    that, or `most` were made. Lengths, not single numbers: Adam makes signs of gradients that are
    all rounding."""
    names = [n for n in found if n.endswith((".weight", ".bias"))]
    change, before = tent(net, images, names)
    ours, theirs = flat(found, names) - flat(before, names), flat(change, names)
    error = distance(ours, theirs)
    if error <= STEP_LIMIT:
        return {"error": error}
    exact = exact_change(net, images, names)
    step = {"error": error, "from_exact": distance(ours, exact), "pytorch_from_exact": 0}
    for run, rounded in zip(range(most), rounded_changes(net, images, names)):
        step["runs"] = run + 1
        step["pytorch_from_exact"] = max(step["pytorch_from_exact"], distance(rounded, exact))
        if step["from_exact"] <= NOISE * step["pytorch_from_exact"]:
            break
    return step


def last_line(text):
    lines = [line for line in text.strip().split("\n") if line.strip()]
    return lines[-1] if lines else ""


def drive(result, network, images, work):
    """Lets the C++ program step; its lines go into `result`. Gives the tensors it wrote."""
    out = work / "out.safetensors"
    numpy.save(work / "images.npy", images.numpy())
    run = subprocess.run([BIN / "sotta_step_network", network, work / "images.npy", str(WINDOW),
                          out, *SPECS], capture_output=True, text=True)
    for line in run.stdout.splitlines():
        line = json.loads(line)
        if "load" in line:
            result.update(line["load"])
        else:
            result["steps"][line.pop("step")] = line
    if run.returncode != 0:
        result["crash"] = f"exit code {run.returncode}: {last_line(run.stderr)}"
        return {}
    return safetensors.read(out)[0]


def adapt(network, images, work):
    """The program on the same network, in the way that people run it."""
    numpy.save(work / "pixels.npy", (images * 255).byte().permute(0, 2, 3, 1).contiguous().numpy())
    run = subprocess.run([BIN / "sotta", "adapt", "--model", network, "--mean", "0,0,0", "--std",
                          "1,1,1", "--input", work / "pixels.npy", "--method", "tent", "--window",
                          str(WINDOW), "--out", work / "out.jsonl"],
                         capture_output=True, text=True)
    return {"code": run.returncode, "said": last_line(run.stderr).replace(str(work) + "/", "")}


def check(family, name, work, runs):
    result = {"name": name, "steps": {}, "torch": torch.__version__}
    started = time.time()
    net = make(family, name)
    result["parameters"] = sum(p.numel() for p in net.parameters())
    result["norm_modules"] = len(norm_modules(net))
    try:
        side, out = smallest_side(net)
    except Exception as error:
        result["untraceable"] = f"PyTorch cannot run it: {last_line(str(error))}"
        return result
    result["side"] = side
    if not torch.is_tensor(out) and not isinstance(out, tuple):
        result["untraceable"] = f"it gives a {type(out).__name__}, not logits"
        return result
    images = torch.rand(2 * WINDOW, 3, side, side)
    spread(net, images[:WINDOW])
    network = work / f"{name}.pt"
    try:
        with torch.no_grad():  # as people do it; PyTorch then takes other ways through attention
            torch.jit.trace(net, images[:WINDOW], check_trace=False).save(str(network))
    except Exception as error:
        result["untraceable"] = f"torch.jit.trace cannot: {last_line(str(error))}"
        return result
    with torch.no_grad():
        wanted = answer(net, images[:WINDOW])
    found = drive(result, network, images, work)
    if "refused" in result:
        result["refused"] = result["refused"].replace(f"{network}: ", "")
    if "logits" in found:
        result["logit_scale"] = float(wanted.abs().max())
        result["logit_error"] = float((found["logits"] - wanted).abs().max() /
                                      wanted.abs().max())
    norms = {key[2:]: value for key, value in found.items() if key.startswith("0:")}
    if norms:
        result["steps"][TENT].update(compare_tent(net, images, norms, runs))
    if result["parameters"] <= PROGRAM_LIMIT:
        result["program"] = adapt(network, images, work)
    result["seconds"] = round(time.time() - started, 1)
    result["peak_gb"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 1)
    return result


def check_to_file(arguments, name):
    """In a process of its own, so that memory is given back; appends a line to the results."""
    os.setpgid(0, 0)
    torch.set_num_threads(arguments.threads)
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        result = check(arguments.family, name, pathlib.Path(folder), arguments.runs)
    result["set"] = arguments.family
    with open(RESULTS / f"{arguments.family}.jsonl", "a") as out:
        out.write(json.dumps(result) + "\n")


def stop(process):
    """And the programs that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def check_all(arguments, names):
    """As many at once as there are jobs. Gives the names of those that failed by themselves."""
    waiting, running, failed = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            name = waiting.pop(0)
            process = multiprocessing.get_context("fork").Process(
                target=check_to_file, args=(arguments, name))
            process.start()
            running[name] = process, time.time()
        for name, (process, started) in list(running.items()):
            process.join(.1 / len(running))
            spent = time.time() - started
            if process.is_alive() and spent <= arguments.seconds:
                continue
            if process.is_alive():
                stop(process)
                print(f"{name}: left out, not done after {spent:.0f} s", flush=True)
            elif process.exitcode != 0:
                failed.append(name)
                print(f"{name}: the check itself failed, exit code {process.exitcode}", flush=True)
            else:
                print(f"{name}: {spent:.0f} s", flush=True)
            del running[name]
    return failed


def problems(result):
    """What is not as it must be."""
    found = []
    if "crash" in result:
        found.append(f"crashed, {result['crash']}")
    if "internal" in result:
        found.append(f"internal error when loaded: {result['internal']}")
    for spec, step in result.get("steps", {}).items():
        method = spec.split(":")[0]
        if "internal" in step:
            found.append(f"internal error of {method}: {step['internal']}")
        if step.get("updates", 2) != 2 or not step.get("finite", True):
            found.append(f"{method} made {step['updates']} updates, finite: {step['finite']}")
        if not step.get("error", 0) <= STEP_LIMIT and \
                not step["from_exact"] <= NOISE * step["pytorch_from_exact"]:
            found.append(f"{method} is {step['from_exact']:.1e} from float64, PyTorch "
                         f"{step['pytorch_from_exact']:.1e}")
    if not result.get("logit_error", 0) <= LOGIT_LIMIT:
        found.append(f"logits are {result['logit_error']:.1e} from PyTorch's")
    program = result.get("program")
    if program and program["code"] != (2 if "refused" in result else 0):
        found.append(f"sotta adapt: exit code {program['code']}, {program['said']}")
    if "refused" in result and "\n" in result["refused"]:
        found.append("refused in more than one sentence")
    return found


def is_adapted(result):
    return "classes" in result and not problems(result) and \
        all("updates" in step for step in result["steps"].values())


def reason(result):
    return "; ".join(problems(result)) or result.get("refused") or result.get("untraceable") or \
        "; ".join(step["refused"] for step in result["steps"].values() if "refused" in step)


def read_results(family):
    file = RESULTS / f"{family}.jsonl"
    if not file.exists():
        return {}
    results = (json.loads(line) for line in file.read_text().splitlines())
    return {result["name"]: result for result in results}


def report(family, names):
    results = read_results(family)
    results = [results[name] for name in names if name in results]
    bad = 0
    for result in results:
        if not is_adapted(result):
            print(f"{result['name']}: {reason(result)}")
        # A network that this PyTorch cannot trace is not ours to load.
        must_load = family == "torchvision" and result["norm_modules"] > 0
        bad += bool(problems(result)) or (must_load and not is_adapted(result))
    print(f"{family}: {sum(map(is_adapted, results))} of {len(results)} load, answer and adapt; "
          f"{bad} are not as they must be")
    return bad


def version_of(result):
    """Of PyTorch, without what it was built for: 2.11."""
    return ".".join(result.get("torch", "1.13").split("+")[0].split(".")[:2])


def row(result):
    norms = ", ".join(f"{count} {kind}" for kind, count in
                      sorted(result.get("norms", {}).items())) or "none"
    if not is_adapted(result):
        loads = "yes, but " if "classes" in result else "no: "
        return (f"| {result['name']} | {norms} | {loads}{reason(result)} | | | | "
                f"{version_of(result)} |")
    step = result["steps"][TENT]
    tent = f"{step['error']:.0e}"
    if "from_exact" in step:
        tent = f"{step['from_exact']:.0e}, {step['pytorch_from_exact']:.0e}"
        tent += f" ({step['runs']})"
    return (f"| {result['name']} | {norms} | yes | TENT, SAR, SoTTA | "
            f"{result['logit_error']:.0e} | {tent} | {version_of(result)} |")


def count_line(family, results):
    """What the table comes to."""
    there = {"torchvision": 80, "timm": len(FAMILIES)}[family]
    adapted = [result for result in results if is_adapted(result)]
    without = sum("refused" in result and not result["norm_modules"] for result in results)
    steps = [result["steps"][TENT] for result in adapted]
    noisy = [step for step in steps if "from_exact" in step]
    nearer = sum(step["from_exact"] <= step["pytorch_from_exact"] for step in noisy)
    line = (f"{len(results)} of {there} were tried: {len(adapted)} load, answer as in PyTorch and "
            f"adapt, {without} have no norm layers and are refused, "
            f"{len(results) - len(adapted) - without} others do not. ")
    if noisy:
        furthest = max(step["from_exact"] / step["pytorch_from_exact"] for step in noisy)
        line += (f"Of {len(noisy)} with a TENT above the limit ours was nearer to float64 in "
                 f"{nearer}, and {furthest:.1f} times as far at the most.")
    return textwrap.fill(line, 99)


def markdown():
    text = (ROOT / "tools/networks.md.in").read_text()
    for family in ("torchvision", "timm"):
        results = sorted(read_results(family).values(), key=lambda result: result["name"])
        table = ["| network | norm layers | loads | methods | logits | TENT | PyTorch |",
                 "|---|---|---|---|---|---|---|", *map(row, results)]
        text = text.replace(f"@{family}_count@", count_line(family, results)) \
            .replace(f"@{family}@", "\n".join(table))
    sys.stdout.write(text)


def begin_with_threads(threads):
    """Begins again with as many in all libraries from the start, here and in the programs: other
    numbers sum in another order."""
    wanted = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads),
              "MKL_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("family", nargs="?", choices=("torchvision", "timm"))
    parser.add_argument("names", nargs="*", help="of networks [all]")
    parser.add_argument("--markdown", action="store_true", help="print docs/networks.md")
    parser.add_argument("--jobs", type=int, default=1, help="networks at once")
    parser.add_argument("--threads", type=int, default=2, help="of each")
    parser.add_argument("--seconds", type=int, default=1800, help="for a network, else left out")
    parser.add_argument("--runs", type=int, default=RUNS, help="of PyTorch at the most, where rounding matters")
    arguments = parser.parse_args()
    if arguments.markdown:
        return markdown()
    if not arguments.family:
        parser.error("expected torchvision or timm")
    begin_with_threads(arguments.threads)
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = arguments.names or names_of(arguments.family)
    there = read_results(arguments.family)
    failed = check_all(arguments, sorted((name for name in names if name not in there),
                                         key=lambda name: not name.startswith(SLOW)))
    return 1 if report(arguments.family, names) or failed else 0


if __name__ == "__main__":
    sys.exit(main())
