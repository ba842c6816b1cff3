"""What every flag of every command changes, compared with a second computation.

Each check names the flags it is for. A flag that `sotta VERB --help` lists and no check
names is a failure: whoever adds a flag adds what it changes. Run by flags_test.sh in an
empty folder; SOTTA_BIN and SOTTA_ROOT as for the other scripts.
"""
import functools
import glob
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import traceback

import reference as ref

# Some virtual machines announce matrix units (AMX) that they do not have.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
SOTTA, ROOT = os.environ["SOTTA_BIN"], os.environ["SOTTA_ROOT"]
CHECKS = []  # (verb, flags, function)

# Checked by other scripts in this folder, which must name the flag.
ELSEWHERE = {
    ("data", "--data"): "data_test.sh",
    ("data", "--json"): "data_test.sh",
    ("bench", "--any-version"): "bench_test.sh",
    ("bench", "--lost-after"): "ranks_test.sh",
    ("train", "--resume"): "train_test.sh",
    ("train", "--checkpoint-every"): "train_test.sh",
    ("train", "--test-every"): "train_test.sh",
    ("adapt", None): "adapt*_test.*",  # all of them
    ("token", None): "serve_access_checks.py",
    ("serve", None): "serve*_checks.py",  # all of them
    ("streams", None): "serve_fleet_checks.py",
}
# Not checked from outside: (verb, flag) -> why.
UNCHECKED = {
    ("train", "--cuda-graphs"): "needs a GPU; refused without one",
    ("bench", "--cuda-graphs"): "needs a GPU; refused without one",
    ("bench", "--tune"): "needs a GPU; refused without one",
}
# What a flag is when it is not given, as the help says it.
RUN = "--device cpu --threads 0 "
MODEL = RUN + "--engine auto --low-memory 0 --precision fp32 "
DEFAULTS = {
    "demo": RUN + "--precision fp32 --model models/fashion_resnet8.safetensors --dataset fashion-mnist --scenario noise "
            "--corruption contrast --severity 5 --limit 2000 --seed 0 --guard rollback --out demo "
            "--method source,bn_stats,tent,sotta,screened_sotta",
    "data": "",
    "eval": MODEL + "--split test --batch 64 --limit 0 --severity 5 --corruption-seed 0",
    "adapt": MODEL + "--method screened_sotta --preset clean --window 64 --seed 0 --guard off --guard-max-parameter-change 1 "
             "--guard-max-class-share 0.9 --guard-min-admitted-share 0 --guard-max-admitted-share 1 --guard-history 8 "
             "--guard-look-every 2 --guard-margin 0.04 --out - --format jsonl",
    "train": RUN + "--model resnet18 --seed 0 --epochs 200 --batch 128 --optimiser sgd --rate 0.1 --warm-up 0 --momentum 0.9 "
             "--weight-decay 0.0005 --label-smoothing 0 --padding 4 --flip 1 --erase 0 --mixup 0 --cutmix 0 --plain-epochs 0 --precision auto --cuda-graphs 1 --width 0 --checkpoint-every 10 --test-every 0 --memory-gb 16",
    "corrupt": RUN + "--kind common --severity all --limit 0 --seed 0 --jpeg85 1 --split test",
    "convert": "",
    "model check": "--limit 1000 --threads 0",
    "bench": MODEL + "--scenario all --corruption all --seeds 0 --preset clean --foreign-count -1 --foreign-share 0 --burst 0 "
             "--limit 0 --order shuffled --concentration 0.1 --severity 5 --corruption-seed 0 --window 64 --whole-windows 0 "
             "--read-ahead 256 --out runs --cuda-graphs 0 --tune 0 --jobs 1 --lanes auto --lost-after 30",
    "report": "--format md,tex,csv,html,svg",
    "serve": MODEL + "--model fashion=embedded --method screened_sotta --preset clean --window 64 --seed 0 "
             "--guard off --guard-max-parameter-change 1 --guard-max-class-share 0.9 --guard-min-admitted-share 0 "
             "--guard-max-admitted-share 1 --guard-history 8 --guard-look-every 2 --guard-margin 0.04 --listen 127.0.0.1:8000 --state sotta-state --durability window --answer strict "
             "--max-streams 10000 --max-resident 256 --max-waiting 1024 --max-waiting-of-one 256 --max-body-mb 64 "
             "--max-connections 4096 --log none --max-state-mb 0 --drain-seconds 0",
    "streams": "--server http://127.0.0.1:8000",
    "token": "--scope infer",
    "info": "",
}


def check(verb, flags):
    def register(function):
        CHECKS.append((verb, flags.split(), function))
        return function
    return register


def run(*arguments, code=0):
    """Standard output of a call that must end with this code."""
    done = subprocess.run([SOTTA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"sotta {' '.join(map(str, arguments))}: exit code {done.returncode}, expected {code}: {done.stderr}"
    return done.stdout


def refusal(*arguments, code=2):
    """Standard error of a call that must be refused."""
    done = subprocess.run([SOTTA, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"sotta {' '.join(map(str, arguments))}: exit code {done.returncode}, expected {code}"
    return done.stderr


def expect(found, expected, what):
    assert found == expected, f"{what}: expected {expected}, got {found}"


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class Fixture:
    """Sixteen test and twelve training images under the names of two datasets that differ
    in means. Labels are what `net` says, but for each fourth of Fashion-MNIST's."""

    def __init__(self):
        self.test, self.train = ref.random_images(16, 1), ref.random_images(12, 2)
        self.net = ref.balance(ref.random_network(1), self.test[:8], *ref.MEANS["fashion-mnist"])
        self.other = ref.balance(ref.random_network(4), self.test[:8], *ref.MEANS["fashion-mnist"])
        ref.write_safetensors("net0.safetensors", self.net)
        ref.write_safetensors("net1.safetensors", self.other)
        self.answers = {}
        self.labels = {}
        for dataset, means in ref.MEANS.items():
            for part, images in ("t10k", self.test), ("train", self.train):
                answers = ref.predict(self.net, images, *means)
                self.answers[dataset, part] = answers
                labels = list(answers)
                if dataset == "fashion-mnist":
                    labels = [(label + 1) % 10 if i % 4 == 0 else label for i, label in enumerate(labels)]
                self.labels[dataset, part] = labels
                ref.write_idx("root", dataset, part, images, labels)

    def correct(self, net, images, dataset="fashion-mnist", labels=None):
        answers = ref.predict(net, images, *ref.MEANS[dataset])
        return ref.agreement(answers, labels or self.labels[dataset, "t10k"])


def contrast(image, severity):
    """The corruption that draws nothing: towards the mean by a factor."""
    factor = [0.75, 0.5, 0.4, 0.3, 0.15][severity - 1]
    mean = sum(image) / (255 * len(image))
    return bytes(int(min(1, max(0, (x / 255 - mean) * factor + mean)) * 255) for x in image)


def corrupted(path):
    (count, height, width, channels), content = ref.read_npy(path)
    size = height * width * channels
    # Grey images are stored as they are or as three equal channels.
    return [content[i * size:(i + 1) * size:channels] for i in range(count)]


def check_origin(record, verb, model):
    """What a record says of the program, the machine and the time, which nothing else compares."""
    info = json.loads(run("info", "--json"))
    expect([record[name] for name in ("verb", "version", "libtorch", "device", "dataset", "model")],
           [verb, info["version"], info["libtorch"], "cpu", "fashion-mnist", model], "verb, versions, device, data and model")
    assert record["engine"] in info["engines"], record["engine"]
    assert 20e6 < record["peak_memory_bytes"] < 20e9, record["peak_memory_bytes"]
    assert 0 < record["seconds"] < 900, record["seconds"]


def close(left, right, share=0.01):
    return abs(left - right) <= share * abs(right)


EVAL = ["eval", "--data", "root", "--json", "--dataset", "fashion-mnist"]


def evaluate(*arguments):
    return json.loads(run(*EVAL, *arguments))


@check("eval", "--model --data --json")
def models_and_data(fix):
    for name, net in ("net0", fix.net), ("net1", fix.other):
        record = evaluate("--model", name + ".safetensors")
        expect((record["samples"], record["correct"]), (16, fix.correct(net, fix.test)), name)
        check_origin(record, "eval", name + ".safetensors")
        expect(record["accuracy"], 100 * record["correct"] / 16, "accuracy")
    assert fix.correct(fix.net, fix.test) == 12 != fix.correct(fix.other, fix.test)


@check("eval", "--dataset")
def means_of_the_dataset(fix):
    wrong = ref.agreement(fix.answers["mnist", "t10k"], fix.answers["fashion-mnist", "t10k"])
    assert wrong < 10, "the means make no difference, choose another network"
    record = json.loads(run("eval", "--data", "root", "--json", "--dataset", "mnist", "--model", "net0.safetensors"))
    expect(record["correct"], 16, "correct with the means of mnist")


@check("eval", "--split --limit --batch --record --threads --engine")
def splits_limits_and_records(fix):
    record = evaluate("--model", "net0.safetensors", "--split", "train", "--limit", 7, "--batch", 3, "--threads", 1,
                      "--engine", "libtorch", "--record", "eval.jsonl")
    expect((record["samples"], record["correct"]), (7, ref.agreement(fix.answers["fashion-mnist", "train"][:7],
                                                                    fix.labels["fashion-mnist", "train"])), "the first seven")
    expect((record["threads"], record["engine"], record["options"]["batch"]), (1, "libtorch", 3), "threads, engine, batch")
    expect(lines("eval.jsonl"), [record], "the record")
    expect((record["options"]["split"], record["options"]["limit"], "corruption_seed" in record["options"], "precision" in record["options"]),
           ("train", 7, False, False), "options")


@check("eval", "--corruption --severity")
def corruptions(fix):
    expected = {severity: fix.correct(fix.net, [contrast(image, severity) for image in fix.test]) for severity in (2, 5)}
    record = evaluate("--model", "net0.safetensors", "--corruption", "contrast", "--severity", 2)
    expect((record["correct"], record["severity"]), (expected[2], 2), "contrast 2")
    expect((record["corruption"], record["corruption_source"], record["options"]["corruption_seed"]), ("contrast", "made", 0), "contrast 2")
    assert close(record["images_per_second"], 16 / record["seconds"]), record
    text = run("eval", "--data", "root", "--dataset", "fashion-mnist", "--model", "net0.safetensors", "--corruption", "contrast,frost",
               "--record", "two.jsonl")
    records = lines("two.jsonl")
    expect([record["corruption"] for record in records], ["contrast", "frost"], "kinds")
    expect(text.splitlines()[:2], ["{model} on {dataset} {corruption} 5 (made): accuracy {accuracy:.2f} % ({correct} of 16), "
                                   "{images_per_second:.0f} images/s, peak memory {0:.0f} MB".format(record["peak_memory_bytes"] / 1e6, **record)
                                   for record in records], "lines")
    expect(["frost_textures" in record["options"] for record in records], [False, True], "textures")
    single = [record["accuracy"] for record in records]
    average = float(re.search(r"average of 2 corruptions: accuracy ([0-9.]+) %", text)[1])
    expect(single[0], 100 * expected[5] / 16, "contrast 5, the default")
    assert abs(average - sum(single) / 2) < 0.006, (average, single)
    for flag in "--severity", "--corruption-seed":
        assert f"{flag}: has no effect without --corruption" in refusal(*EVAL, "--model", "net0.safetensors", flag, 1)


@check("eval", "--corruption-seed")
def seeds_of_corruptions(fix):
    kind = ["--severity", 1]
    images = {}
    for seed in 3, 4:
        run("corrupt", "--data", "root", "--dataset", "fashion-mnist", "--kind", "shot_noise", *kind, "--seed", seed, "--out", f"noise{seed}")
        images[seed] = corrupted(f"noise{seed}/shot_noise.npy")
    labels = ref.predict(fix.net, images[4], *ref.MEANS["fashion-mnist"])
    assert fix.correct(fix.net, images[3], labels=labels) < 16, "the seed makes no difference, choose another kind"
    ref.write_idx("seeded", "fashion-mnist", "t10k", fix.test, labels)
    record = json.loads(run("eval", "--data", "seeded", "--json", "--dataset", "fashion-mnist", "--model", "net0.safetensors",
                            "--corruption", "shot_noise", *kind, "--corruption-seed", 4))
    expect(record["correct"], 16, "images drawn with seed 4")
    cells(fix, "--data", "seeded", "--method", "source", "--scenario", "benign", "--corruption", "shot_noise", *kind,
          "--corruption-seed", 4, "--out", "seeded_bench")
    expect(lines("seeded_bench/records.jsonl")[0]["correct"], 16, "bench, images drawn with seed 4")


@check("eval", "--frost-dir --device --precision --low-memory")
def what_eval_needs(fix):
    model = ["--model", "net0.safetensors"]
    assert "nowhere" in refusal(*EVAL, *model, "--corruption", "frost", "--frost-dir", "nowhere")
    assert "--frost-dir: has no effect without the corruption frost" in refusal(
        *EVAL, *model, "--corruption", "fog", "--frost-dir", "nowhere")
    assert "cuda:99" in refusal(*EVAL, *model, "--device", "cuda:99")
    assert "tf32 is a format of GPUs" in refusal(*EVAL, *model, "--precision", "tf32")
    assert "low_memory: is an option of the fused engine" in refusal(
        *EVAL, *model, "--engine", "libtorch", "--low-memory", "true")
    expect(evaluate(*model, "--precision", "bf16")["options"]["precision"], "bf16", "precision")


CORRUPT = ["corrupt", "--dataset", "fashion-mnist", "--data", "root"]


@check("corrupt", "--dataset --data --kind --severity --limit --out --split --threads")
def corrupted_files(fix):
    run(*CORRUPT, "--kind", "contrast", "--severity", 2, "--limit", 5, "--out", "test2", "--threads", 1)
    expect(corrupted("test2/contrast.npy"), [contrast(image, 2) for image in fix.test[:5]], "contrast 2")
    expect(ref.read_npy("test2/labels.npy"), ((5,), bytes(fix.labels["fashion-mnist", "t10k"][:5])), "labels")
    expect(json.load(open("test2/settings.json")),
           {"dataset": "fashion-mnist", "split": "test", "images": 5, "severities": [2], "seed": 0, "frost_dir": "", "jpeg85": True}, "settings")
    expect(run(*CORRUPT, "--kind", "contrast,fog", "--severity", 2, "--limit", 5, "--out", "test2").splitlines(),
           ["test2/contrast.npy: kept, made before", "test2/fog.npy"], "what is said")
    run(*CORRUPT, "--kind", "contrast", "--split", "train", "--out", "train")
    expect(corrupted("train/contrast.npy"), [contrast(image, s) for s in range(1, 6) for image in fix.train], "all severities")
    expect(sorted(os.listdir("train")), ["contrast.npy", "labels.npy", "settings.json"], "files")


@check("corrupt", "--seed")
def noise(fix):
    clean = b"".join(fix.test)
    found = {}
    for seed in 0, 7:
        run(*CORRUPT, "--kind", "gaussian_noise", "--severity", 5, "--seed", seed, "--out", f"gauss{seed}")
        found[seed] = b"".join(corrupted(f"gauss{seed}/gaussian_noise.npy"))
        # Where nothing is cut off, a deviation of 0.10.
        differences = [(a - b) / 255 for a, b in zip(found[seed], clean) if 100 < b < 155]
        deviation = math.sqrt(sum(d * d for d in differences) / len(differences))
        assert 0.08 < deviation < 0.12, deviation
    same = sum(a == b for a, b in zip(found[0], found[7])) / len(clean)
    assert same < 0.7, f"{same} of the pixels are equal with another seed"


@check("corrupt", "--sheet --device --frost-dir")
def sheets(fix):
    assert "--device: has no effect without --out" in refusal(*CORRUPT, "--sheet", "s.png", "--device", "cuda:0") or \
        "cuda" in refusal(*CORRUPT, "--sheet", "s.png", "--device", "cuda:0")
    assert "nonsense" in refusal(*CORRUPT, "--sheet", "s.png", "--device", "nonsense")
    assert "--frost-dir: has no effect without the kind frost" in refusal(
        *CORRUPT, "--kind", "fog", "--out", "x", "--frost-dir", "nowhere")
    assert "nowhere" in refusal(*CORRUPT, "--kind", "frost", "--out", "y", "--frost-dir", "nowhere")
    if json.loads(run("info", "--json"))["parts"]["png"]:
        def size(kinds, *arguments):
            text = run(*CORRUPT, "--kind", kinds, "--sheet", "sheet.png", *arguments)
            expect(text, "sheet.png: rows from the top: clean, " + kinds.replace(",", ", ") + "\n", "what is said")
            return struct.unpack(">II", open("sheet.png", "rb").read()[16:24])
        (width, low), (same, high) = size("fog", "--severity", 3), size("fog,contrast", "--severity", 3)
        # Images are square. Ten columns: of ten images, or of five severities of two; fewer images have fewer.
        expect((same, size("fog")[0]), (width, width), "the width of two kinds and of five severities")
        expect(width - size("fog", "--severity", 3, "--limit", 2)[0], 8 * (high - low), "the width of eight images")


@check("corrupt", "--jpeg85")
def large_images(fix):
    """Images beyond CIFAR's size are stored as JPEG, unless the flag says otherwise."""
    if not json.loads(run("info", "--json"))["parts"]["png"]:
        return
    draw = random.Random(3)
    image = bytes(draw.randrange(256) for _ in range(256 * 256 * 3))
    for name in "a", "b":
        ref.write_png(f"large/imagenet/val/{name}/1.png", 256, image)
    planes = {}
    for flag in "true", "false":
        run("corrupt", "--dataset", "imagenet", "--data", "large", "--split", "val", "--kind", "contrast", "--severity", 2,
            "--limit", 1, "--jpeg85", flag, "--out", "large_" + flag)
        shape, planes[flag] = ref.read_npy(f"large_{flag}/contrast.npy")
        expect(shape, (1, 224, 224, 3), "shape")
        expect(json.load(open(f"large_{flag}/settings.json"))["jpeg85"], flag == "true", "settings")
    middle = b"".join(image[(y * 256 + 16) * 3:(y * 256 + 240) * 3] for y in range(16, 240))
    means = [sum(middle[c::3]) / (255 * 224 * 224) for c in range(3)]
    exact = bytes(int(min(1, max(0, (x / 255 - means[i % 3]) * 0.3 + means[i % 3])) * 255) for i, x in enumerate(middle))
    assert max(abs(a - b) for a, b in zip(planes["false"], exact)) <= 1, "other pixels without JPEG"
    distance = sum(abs(a - b) for a, b in zip(planes["true"], exact)) / len(exact)
    assert 2 < distance < 40, f"{distance} grey levels in the mean with JPEG"


@check("convert", "--size --groups --heads")
def numbers_of_networks(fix):
    run("convert", "net0.safetensors", "said.safetensors", "--size", 28, "--groups", 4, "--heads", 3)
    _, metadata = ref.read_safetensors("said.safetensors")
    expect({name: metadata.get(name) for name in ("size", "groups", "heads")}, {"size": "28", "groups": "4", "heads": "3"}, "metadata")
    for flag in "--size", "--groups", "--heads":
        assert f"{flag}: expected" in refusal("convert", "net0.safetensors", "x.safetensors", flag, 16385), flag


@check("model check", "--dataset --data --limit --mean --std --json --threads")
def checked_models(fix):
    words = ["model", "check", "net0.safetensors", "--dataset", "fashion-mnist", "--data", "root", "--threads", 1]
    found = json.loads(run(*words, "--json"))
    expect((found["correct"], found["images"]), (fix.correct(fix.net, fix.test), 16), "correct")
    expect((found["classes"], found["channels"], found["norm_kinds"], found["normalisation"]["from"]),
           (10, 1, {"batch": found["norm_layers"]}, "dataset"), "the network")
    expect(found["adapts"], sum(len(v) for name, (_, v) in fix.net.items() if ("bn" in name or "downsample.1" in name) and "running" not in name),
           "scales and shifts")
    expect([method["fits"] for method in found["methods"]], [True] * 11, "methods")
    some = json.loads(run(*words, "--json", "--limit", 4))
    labels = fix.labels["fashion-mnist", "t10k"]
    expect((some["correct"], some["images"]),
           (fix.correct(fix.net, fix.test[::4], labels=labels[::4]), 4), "of four images from all over")
    # Other means: other answers, and a complaint.
    far = json.loads(run(*words, "--json", "--mean", 9, "--std", 0.5))
    expect(far["correct"], ref.agreement(ref.predict(fix.net, fix.test, 9, 0.5), labels), "correct with other means")
    expect(far["normalisation"]["from"], "flags", "where the means are from")
    assert any("mean and std look wrong" in warning for warning in far["warnings"]), far["warnings"]
    text = run(*words, "--mean", 9, "--std", 0.5)
    for part in "norm layers", "bn_stats", "fits, with source images: source_images", "warning      mean and std look wrong", "(from: flags)":
        assert part in text, f"{part} is not in {text}"
    assert "--data: has no effect without --dataset" in refusal("model", "check", "net0.safetensors", "--data", "root")
    assert "--limit: has no effect without --input or --dataset" in refusal("model", "check", "net0.safetensors", "--limit", 5)
    assert "expected both or neither" in refusal("model", "check", "net0.safetensors", "--mean", 0.5)
    assert "--limit: expected at least 1" in refusal(*words, "--limit", 0)
    assert "not-there" in refusal(*words[:-2], "--data", "not-there")


@check("model check", "--input --size")
def labelled_folders(fix):
    if not json.loads(run("info", "--json"))["parts"]["png"]:
        return
    images = ref.random_images(20, 9)
    for i, image in enumerate(images):
        os.makedirs(f"labelled/{i % 10}", exist_ok=True)
        ref.write_png(f"labelled/{i % 10}/{i}.png", 28, bytes(value for value in image for _ in range(3)))
    words = ["model", "check", "net0.safetensors", "--input", "labelled", "--mean", 0.25, "--std", 0.75]
    assert "--size: expected the side of the images" in refusal(*words)
    found = json.loads(run(*words, "--size", 28, "--json"))
    # By class, as folders are read.
    order = [i + j for i in range(10) for j in (0, 10)]
    answers = ref.predict(fix.net, [images[i] for i in order], 0.25, 0.75)
    expect((found["correct"], found["images"]), (ref.agreement(answers, [i % 10 for i in order]), 20), "correct")
    assert 29 in json.loads(run(*words, "--size", 29, "--json"))["sizes_tried"]
    run("convert", "net0.safetensors", "sized.safetensors", "--size", 28)
    words[2] = "sized.safetensors"
    expect(json.loads(run(*words, "--json"))["correct"], found["correct"], "correct with the size of the file")
    assert "--size: expected" in refusal(*words, "--size", -1)
    assert "got both" in refusal(*words, "--dataset", "fashion-mnist")


@check("convert", "--mean --std --half --strip --drop-batch-counts --json --key")
def converted_weights(fix):
    tensors = {"module." + name: value for name, value in fix.net.items()}
    tensors["module.bn1.num_batches_tracked"] = ([1], [3.0])
    ref.write_safetensors("wrapped.safetensors", tensors)
    out = json.loads(run("convert", "wrapped.safetensors", "plain.safetensors", "--strip", "module.", "--drop-batch-counts",
                         "--mean", "0.25", "--std", "0.75", "--json"))
    found, metadata = ref.read_safetensors("plain.safetensors")
    expect({name: value[:2] for name, value in found.items()},
           {name: (shape, list(struct.unpack(f"{len(v)}f", struct.pack(f"{len(v)}f", *v)))) for name, (shape, v) in fix.net.items()}, "tensors")
    expect((metadata["mean"], metadata["std"]), ("0.25", "0.75"), "normalisation")
    expect(out["parameters"], sum(len(v) for name, (_, v) in fix.net.items() if "running" not in name), "parameters")
    expect((out["skipped"], out["tensors"], out["float16_tensors"], out["bytes"]),
           (["bn1.num_batches_tracked (batch count)"], len(fix.net), 0, os.path.getsize("plain.safetensors")), "outcome")
    expect((out["input"], out["output"], out["format"], out["key"]),
           ("wrapped.safetensors", "plain.safetensors", "safetensors", ""), "files")
    for counts in 8, 10:  # Eight names are listed, of others only how many there are.
        ref.write_safetensors("counted.safetensors", {**fix.net, **{f"b{i}\x1b.num_batches_tracked": ([1], [3.0]) for i in range(counts)}})
        names = ", ".join(f"b{i}?.num_batches_tracked (batch count)" for i in range(8)) + ("" if counts == 8 else " and 2 more")
        text = run("convert", "counted.safetensors", "plain.safetensors", "--drop-batch-counts")
        expect(text, f"plain.safetensors: {len(fix.net)} tensors, {out['parameters']} parameters, {os.path.getsize('plain.safetensors')} bytes\n"
               f"not written: {names}\n", "what is said")
    run("convert", "wrapped.safetensors", "plain.safetensors", "--strip", "module.", "--drop-batch-counts", "--mean", "0.25", "--std", "0.75")
    text = run("convert", "plain.safetensors", "half.safetensors", "--half")
    halved = sum(len(shape) > 1 for shape, _ in fix.net.values())
    expect(text, f"half.safetensors: {len(fix.net)} tensors, {out['parameters']} parameters, {os.path.getsize('half.safetensors')} bytes "
           f"({halved} tensors as float16)\n", "what is said")
    for name, (shape, values, dtype) in ref.read_safetensors("half.safetensors")[0].items():
        expect(dtype, "F32" if len(shape) == 1 else "F16", name)
        if len(shape) > 1:
            expect(values, list(struct.unpack(f"{len(values)}e", struct.pack(f"{len(values)}e", *found[name][1]))), name)
    two = ROOT + "/tests/golden/checkpoints/two_models.pth"
    keys = [json.loads(run("convert", two, f"{key}.safetensors", "--key", key, "--json"))["key"] for key in ("model", "net")]
    expect(keys, ["model", "net"], "keys")
    # The means that were written are those that are used, whatever the dataset's are.
    wrong = fix.correct(fix.net, fix.test)
    answers = ref.predict(fix.net, fix.test, 0.25, 0.75)
    right = ref.agreement(answers, fix.labels["fashion-mnist", "t10k"])
    assert right != wrong, "the means make no difference"
    expect(evaluate("--model", "plain.safetensors")["correct"], right, "correct with the means of the file")


BENCH = ["bench", "--dataset", "fashion-mnist", "--data", "root", "--model", "net{seed}.safetensors", "--corruption", "none"]


def cells(fix, *arguments, code=0):
    """Runs bench with the usual settings, where the call does not say otherwise."""
    usual = [BENCH[0]] + [word for i in range(1, len(BENCH), 2) if BENCH[i] not in arguments for word in BENCH[i:i + 2]]
    return run(*usual, *arguments, code=code)


@check("bench", "--model --seeds --data --out --threads --engine --json --read-ahead")
def models_of_seeds(fix):
    outcome = json.loads(cells(fix, "--method", "source", "--scenario", "benign", "--seeds", "0,1", "--out", "seeds", "--threads", 1,
                               "--engine", "libtorch", "--read-ahead", 1, "--json"))
    records = lines("seeds/records.jsonl")
    mean = sum(record["accuracy"] for record in records) / 2
    assert abs(outcome["averages"]["source"].pop("accuracy") - mean) < 1e-9, (outcome, mean)
    expect(outcome, {"cells": 2, "earlier": 0, "done": 2, "failures": [], "stopped": False, "averages": {"source": {"cells": 2}},
                     "file": "seeds/records.jsonl"}, "outcome")
    for record, net in zip(records, (fix.net, fix.other)):
        check_origin(record, "bench", f"net{record['seed']}.safetensors")
        expect(record["correct"], fix.correct(net, fix.test), record["model"])
        expect((record["model"], record["threads"], record["engine"]), (f"net{record['seed']}.safetensors", 1, "libtorch"), "of the record")


@check("bench", "--lanes")
def threads_of_lanes(fix):
    for lanes, threads in (1, 4), (2, 2), (4, 1):
        cells(fix, "--method", "source,bn_stats", "--scenario", "benign,noise", "--threads", 4, "--lanes", lanes, "--out", f"lanes{lanes}")
        expect([record["threads"] for record in lines(f"lanes{lanes}/records.jsonl")], [threads] * 4, f"threads of {lanes} lanes")


@check("bench", "--dataset --corruption --severity --corruption-seed --method --jobs")
def accuracy_of_cells(fix):
    text = cells(fix, "--method", "source,bn_stats", "--scenario", "benign,noise", "--corruption", "contrast,none", "--severity", 2,
                 "--out", "contrast", "--jobs", 2)
    expected = {"contrast": fix.correct(fix.net, [contrast(image, 2) for image in fix.test]), "": fix.correct(fix.net, fix.test)}
    records = lines("contrast/records.jsonl")
    expect(len(records), 8, "cells")
    for record in records:
        if record["method"] == "source":
            expect(record["correct"], expected[record["corruption"]], record["corruption"])
    for method in "source", "bn_stats":
        accuracies = [record["accuracy"] for record in records if record["method"] == method]
        printed = re.search(rf"^{method} +accuracy +([0-9.]+) %  over 4 cells$", text, re.M)
        assert printed and abs(float(printed[1]) - sum(accuracies) / 4) < 0.006, (text, accuracies)
    cells(fix, "--method", "source", "--scenario", "benign", "--dataset", "mnist", "--out", "mnist")
    expect(lines("mnist/records.jsonl")[0]["correct"], 16, "correct with the means of mnist")
    for flag in "--severity", "--corruption-seed":
        assert "has no effect without a corruption" in refusal(*BENCH, flag, 1, "--list")


@check("bench", "--limit --window --whole-windows --foreign-count --foreign-share --foreign --scenario --burst")
def streams(fix):
    def series(name, *arguments):
        cells(fix, "--method", "source", "--out", name, *arguments)
        record = lines(name + "/records.jsonl")[0]
        return record["samples"], record["foreign"], record["series"]["samples"], record["series"].get("foreign")
    expect(series("windows", "--scenario", "benign", "--limit", 10, "--window", 4)[0::2], (10, [4, 4, 2]), "windows of four")
    expect(series("whole", "--scenario", "benign", "--limit", 10, "--window", 4, "--whole-windows", "true")[0::2], (8, [4, 4]), "whole windows")
    expect(series("count", "--scenario", "noise", "--foreign-count", 5)[:2], (16, 5), "five foreign images")
    expect(series("share", "--scenario", "noise", "--foreign-share", 0.2)[:2], (16, 4), "a fifth of the stream")
    expect(series("near", "--scenario", "near", "--foreign", "mnist:train", "--foreign-count", 12)[:2], (16, 12), "the other training images")
    # In windows of four, one run fills all windows between its first and its last.
    spread = series("spread", "--scenario", "noise", "--window", 4)[3]
    burst = series("burst", "--scenario", "noise", "--window", 4, "--burst", 16)[3]
    expect((sum(spread), sum(burst)), (16, 16), "foreign images")
    touched = [i for i, count in enumerate(burst) if count > 0]
    assert all(burst[i] == 4 for i in range(touched[0] + 1, touched[-1])), burst
    assert len([count for count in spread if count > 0]) > len(touched), (spread, burst)
    assert "--foreign: has no effect" in refusal(*BENCH, "--scenario", "noise", "--foreign", "mnist", "--list")
    for flag in "--foreign-count", "--burst":
        assert f"{flag}: has no effect without a scenario with foreign images" in refusal(*BENCH, "--scenario", "benign", flag, 1, "--list")


@check("bench", "--order --concentration")
def orders(fix):
    def accuracies(name, *arguments):
        cells(fix, "--method", "source", "--scenario", "benign", "--window", 4, "--out", name, *arguments)
        record = lines(name + "/records.jsonl")[0]
        expect(record["correct"], 12, "whatever the order, correct")
        return record["options"]["order"], record["options"]["concentration"]
    expect(accuracies("shuffled"), ("shuffled", 0.1), "the default")
    expect(accuracies("dirichlet", "--order", "dirichlet", "--concentration", 0.5), ("dirichlet", 0.5), "of the record")
    assert "--concentration: has no effect without --order dirichlet" in refusal(*BENCH, "--concentration", 0.5, "--list")


@check("bench", "--variant --sweep --set --preset --list --shard --config --precision")
def grids(fix):
    def listed(*arguments):
        return [json.loads(line) for line in run(*BENCH, "--scenario", "benign", "--list", "--json", *arguments).splitlines()]
    grid = ["--seeds", "3,1", "--variant", "x: sotta min_confidence=0.5", "--sweep", "tent learning_rate=0.1,0.2"]
    found = listed(*grid)
    expect([(c["seed"], c["method"], c["variant"], c["model"]) for c in found],
           [(seed, method, variant, f"net{seed}.safetensors") for seed in (3, 1)
            for method, variant in (("sotta", "x"), ("tent", "learning_rate=0.1"), ("tent", "learning_rate=0.2"))], "cells")
    shares = [listed(*grid, "--shard", f"{i}/2") for i in range(2)]
    expect(sorted(map(str, shares[0] + shares[1])), sorted(map(str, found)), "both shares together")
    expect([len(share) for share in shares], [3, 3], "cells of the shares")
    expect([c["method"] for c in listed()], json.loads(run("info", "--json"))["methods"], "methods where none is named")
    many = ["--corruption", "none,fog", "--scenario", "benign,noise", "--method", "tent,source"]
    for usual, arguments in (BENCH, ["--scenario", "benign"]), (BENCH[:-2], many):
        cells_listed = [json.loads(line) for line in run(*usual, "--list", "--json", *grid, *arguments).splitlines()]
        expect(run(*usual, "--list", *grid, *arguments).splitlines(),
               ["\t".join([c["dataset"], c["scenario"], c["corruption"] or "none", c["method"], c["variant"] or "-", f"seed {c['seed']}"])
                for c in cells_listed], "lines")
    expect(len(cells_listed), 2 * 2 * 2 * 5, "cells")
    expect([c["method"] for c in cells_listed[:5]], ["tent", "source", "sotta", "tent", "tent"], "the order of the rows")
    with open("grid.toml", "w") as file:
        file.write('seeds = [\n  3,\n  1]\nvariant = "x: sotta min_confidence=0.5"\nsweep = ["tent learning_rate=0.1,0.2"]\n')
    expect(listed("--config", "grid.toml"), found, "the same by a file")
    cells(fix, "--scenario", "benign", "--variant", "y: sotta min_confidence=0.25", "--set", "memory_capacity=7", "--preset", "paper",
          "--precision", "bf16", "--out", "options")
    record = lines("options/records.jsonl")[0]
    expect([record["options"][name] for name in ("min_confidence", "memory_capacity", "precision")] + [record["preset"]],
           [0.25, 7, "bf16", "paper"], "options of the record")


@check("bench", "")
def effects_in_some_cells(fix):
    """A flag that changes some of the cells is not refused for the others."""
    text = run(*BENCH[:-2], "--scenario", "benign,near", "--corruption", "none,frost", "--order", "dirichlet", "--severity", 3,
               "--corruption-seed", 1, "--frost-dir", "x", "--foreign", "mnist", "--foreign-count", 1, "--burst", 1,
               "--concentration", 0.5, "--method", "source", "--list")
    expect(len(text.splitlines()), 4, "cells")
    assert "--foreign-share: has no effect" in refusal(*BENCH, "--scenario", "benign", "--foreign-share", 0.5, "--list")


@check("bench", "--device --low-memory --frost-dir")
def what_bench_needs(fix):
    few = [*BENCH, "--method", "source", "--scenario", "benign", "--out", "refused"]
    assert "cuda:99" in refusal(*few, "--device", "cuda:99")
    assert "low_memory" in refusal(*few, "--engine", "libtorch", "--low-memory", "true")
    assert "cuda engine: needs a GPU" in refusal(*few, "--engine", "cuda")
    assert "--frost-dir: has no effect" in refusal(*few, "--frost-dir", "x")
    for flag in "--cuda-graphs", "--tune":
        assert f"{flag}: has no effect without a GPU" in refusal(*few, flag, "true")
    # The old name of --cuda-graphs, which stays readable.
    assert "--cuda-graphs: has no effect without a GPU" in refusal(*few, "--replay", "true")
    assert "expected one of the two" in refusal(*few, "--replay", "true", "--cuda-graphs", "false")
    with open("old_key.toml", "w") as file:
        file.write("replay = true\n")
    expect(len(run(*few, "--config", "old_key.toml", "--list").splitlines()), 1, "cells")
    with open("both_keys.toml", "w") as file:
        file.write("cuda_graphs = false\nreplay = true\n")
    assert "replay is set in line 1 already, as cuda_graphs" in refusal(*few, "--config", "both_keys.toml", "--list")


@check("bench", "")
def failed_cells(fix):
    """A cell that fails does not stop the others, and is no success."""
    os.makedirs("broken/class")
    with open("broken/class/1.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 28, 28, 8, 0, 0, 0, 0))
    outcome = json.loads(cells(fix, "--method", "source", "--scenario", "near,benign", "--foreign", "folder:broken", "--out", "failing",
                               "--json", code=1))
    expect((outcome["cells"], outcome["done"], len(outcome["failures"])), (2, 1, 1), "outcome")
    assert "broken/class/1.png" in outcome["failures"][0], outcome
    expect([record["scenario"] for record in lines("failing/records.jsonl")], ["benign"], "recorded")


@check("demo", "--model --dataset --data --scenario --corruption --severity --limit --method --guard --out --threads --precision --seed --device")
def demos(fix):
    usual = ["demo", "--data", "root", "--model", "net0.safetensors", "--method", "source", "--threads", 1]
    text = run(*usual, "--corruption", "contrast", "--severity", 2, "--limit", 16, "--out", "demo", "--guard", "skip")
    record, = lines("demo/records.jsonl")
    said = text.splitlines()
    assert said[0].startswith("16 images of fashion-mnist under contrast (severity 2), in a stream "), said[0]
    assert "(noise)" in text and said[-2:] == ["records: demo/records.jsonl", "report:  demo/report/report.html"], text
    row = re.fullmatch(r"source +([0-9.]+)% +([0-9]+) / +([0-9]+) +([0-9]+) / +([0-9]+) +([0-9]+)", said[-4])
    expect([float(x) for x in row.groups()], [float(f"{record['accuracy']:.1f}"), record["admitted"], record["samples"],
           record["admitted_foreign"], record["foreign"], float(f"{record['images_per_second']:.0f}")], "the table")
    expect((record["correct"], record["samples"], record["foreign"], record["scenario"], record["options"]["guard"], record["threads"]),
           (fix.correct(fix.net, [contrast(image, 2) for image in fix.test]), 16, 16, "noise", "skip", 1), "contrast 2")
    run(*usual, "--dataset", "mnist", "--corruption", "contrast", "--scenario", "benign", "--limit", 16, "--out", "demo2", "--precision", "bf16")
    record, = lines("demo2/records.jsonl")
    expect((record["dataset"], record["foreign"], record["options"]["precision"], record["severity"]), ("mnist", 0, "bf16", 5), "mnist")
    # A part of the images: which, the seed says; the grid's cell of that seed has the same.
    usual[4] = "net1.safetensors"
    for seed in 0, 1:
        run(*usual, "--seed", seed, "--limit", 9, "--scenario", "benign", "--corruption", "contrast", "--out", f"demo_seed{seed}")
    record, = lines("demo_seed1/records.jsonl")
    cells(fix, "--method", "source", "--seeds", 1, "--limit", 9, "--scenario", "benign", "--corruption", "contrast", "--out", "bench_seed")
    other, = lines("bench_seed/records.jsonl")
    expect((record["seed"], record["correct"], record["series"]["predicted_samples"]),
           (1, other["correct"], other["series"]["predicted_samples"]), "the cell of seed 1")
    first, = lines("demo_seed0/records.jsonl")
    assert first["series"] != record["series"], "the seed makes no difference"
    assert "cuda:99" in refusal(*usual, "--device", "cuda:99")


TRAIN = ["train", "--dataset", "fashion-mnist", "--data", "root", "--model", "resnet8", "--width", 2, "--epochs", 1, "--batch", 12,
         "--padding", 0, "--flip", "false", "--threads", 1]


def train(name, *arguments):
    words = [TRAIN[0]] + [word for i in range(1, len(TRAIN), 2) if TRAIN[i] not in arguments for word in TRAIN[i:i + 2]]
    run(*words, "--out", name + ".safetensors", *arguments)
    return {key: value[1] for key, value in ref.read_safetensors(name + ".safetensors")[0].items()}


@check("train", "--rate --momentum --weight-decay --dataset --data --model --width --epochs --batch --padding --flip --out --threads")
def first_steps(fix):
    # One step from the same weights at two rates: a straight line through the first weights.
    a, b = train("a", "--rate", 0.1, "--weight-decay", 0), train("b", "--rate", 0.3, "--weight-decay", 0)
    name = "conv1.weight"
    start = [1.5 * x - 0.5 * y for x, y in zip(a[name], b[name])]
    step = [y - x for x, y in zip(start, a[name])]
    largest = max(map(abs, step))
    assert largest > 1e-4

    def close(found, expected, what):
        worst = max(abs(x - y) for x, y in zip(found, expected))
        assert worst < 0.002 * largest + 1e-6, f"{what}: differs by {worst} where steps are {largest}"
    # A first step of Nesterov's goes 1 + momentum times the gradient.
    slow = train("slow", "--rate", 0.1, "--weight-decay", 0, "--momentum", 0.2)
    close([y - x for x, y in zip(start, slow[name])], [s * 1.2 / 1.9 for s in step], "momentum 0.2")
    decayed = train("decayed", "--rate", 0.1, "--weight-decay", 0.05)
    close(decayed[name], [x - 0.1 * 1.9 * 0.05 * s for x, s in zip(a[name], start)], "weight decay 0.05")
    # The statistics of the first layer are those of all images through the first weights.
    planes = [ref.convolve(ref.pixels(image, *ref.MEANS["fashion-mnist"]), ([2, 1, 3, 3], start)) for image in fix.train]
    means = [0.1 * sum(sum(map(sum, image[c])) for image in planes) / (12 * 784) for c in range(2)]
    for found, expected in zip(a["bn1.running_mean"], means):
        assert abs(found - expected) < 1e-4, (found, expected)
    for flag, value in ("--padding", 4), ("--flip", "true"):
        moved = train("moved", "--rate", 0.1, "--weight-decay", 0, flag, value)
        assert moved["bn1.running_mean"] != a["bn1.running_mean"], f"{flag} makes no difference"
    expect(len(a["conv1.weight"]), 2 * 9, "weights of two channels")


@check("train", "--optimiser --warm-up --label-smoothing --erase --mixup --cutmix --plain-epochs")
def transformer_steps(fix):
    usual = ["--rate", 0.1, "--weight-decay", 0]
    a, b = train("a", *usual), train("b", "--rate", 0.3, "--weight-decay", 0)
    start = {name: [1.5 * x - 0.5 * y for x, y in zip(a[name], b[name])] for name in a}

    def close(found, expected, what):
        worst = max(abs(x - y) for x, y in zip(found, expected))
        assert worst < 1e-5, f"{what}: differs by {worst}"
    # A first step of AdamW goes the rate, against the gradient, as SGD's does.
    name, adamw = "conv1.weight", ["--optimiser", "adamw", "--rate", 0.01]
    walked = train("adamw", *adamw, "--weight-decay", 0)
    steep = [(x - s, 0.01 if y > s else -0.01) for x, y, s in zip(walked[name], a[name], start[name]) if abs(y - s) > 1e-4]
    assert len(steep) > 9, "hardly any gradient"
    close([x for x, _ in steep], [y for _, y in steep], "steps of AdamW")
    decayed = train("decayed", *adamw, "--weight-decay", 0.5)
    close(decayed[name], [x - 0.01 * 0.5 * s for x, s in zip(walked[name], start[name])], "decay of weights")
    for kept in "fc.bias", "bn1.weight":
        expect(decayed[kept], walked[kept], f"{kept}, which does not decay")
    assert "adamw" in refusal(*TRAIN, "--out", "u.safetensors", "--optimiser", "adamw"), "a rate of 0.1"
    assert 'unknown name "adam"' in refusal(*TRAIN, "--out", "u.safetensors", "--optimiser", "adam")
    # Two steps almost without momentum: the second at half the rate, or at all of it behind a step of warm-up.
    free = [*usual, "--momentum", 1e-9]
    first, both, warm = (train(*[f"w{i}", *free, *more]) for i, more in
                         enumerate([[], ["--epochs", 2], ["--epochs", 2, "--warm-up", 1]]))
    close([x - y for x, y in zip(warm[name], first[name])], [2 * (x - y) for x, y in zip(both[name], first[name])], "warm-up")
    # The gradient of a class's bias is the mean of its probabilities less its share of the targets.
    smooth = train("smooth", *usual, "--label-smoothing", 0.3)
    labels = fix.labels["fashion-mnist", "train"]
    moves = [0.1 * 1.9 * 0.3 * (0.1 - labels.count(label) / len(labels)) for label in range(10)]
    close([x - y for x, y in zip(smooth["fc.bias"], a["fc.bias"])], moves, "label smoothing")
    for flag in "--erase", "--mixup", "--cutmix":
        moved = train("moved", *usual, flag, 1)
        assert moved["bn1.running_mean"] != a["bn1.running_mean"], f"{flag} makes no difference"
        plain = train("plain", *usual, flag, 1, "--plain-epochs", 1)
        close(plain[name], a[name], f"{flag} in a plain epoch")
    assert "--plain-epochs: has no effect without --erase, --mixup or --cutmix" in refusal(
        *TRAIN, "--out", "u.safetensors", "--plain-epochs", 1)


@check("train", "--seed --half --record --json --precision --device")
def trained_weights(fix):
    record = json.loads(run(*TRAIN, "--out", "t.safetensors", "--seed", 5, "--half", "--record", "t.jsonl", "--json"))
    expect(lines("t.jsonl"), [record], "the record")
    tensors, metadata = ref.read_safetensors("t.safetensors")
    check_origin(record, "train", "t.safetensors")
    expect({name: record["options"][name] for name in ("half", "width", "model", "images", "epochs", "batch", "padding", "flip")},
           {"half": True, "width": 2, "model": "resnet8", "images": 12, "epochs": 1, "batch": 12, "padding": 0, "flip": False}, "options")
    expect((record["seed"], record["threads"], record["samples"]), (5, 1, 16), "seed, threads and samples")
    assert close(record["images_per_second"], 12 / record["seconds"]), record
    expect([len(record["series"][name]) for name in ("loss", "train_accuracy")], [1, 1], "series")
    expect({name: metadata[name] for name in ("dataset", "arch", "epochs", "test_accuracy", "made_by", "recipe")},
           {"dataset": "fashion-mnist", "arch": "resnet8", "epochs": "1", "test_accuracy": f"{record['accuracy']:.2f}",
            "made_by": "sotta train " + record["version"],
            "recipe": "SGD, Nesterov 0.9, weight decay 5e-04, batch 12, cosine from 0.1, crop with padding 0, fp32"}, "metadata")
    text = run(*TRAIN, "--out", "text.safetensors", "--record", "text.jsonl")
    record_of_text, = lines("text.jsonl")
    expect(text, "text.safetensors: resnet8 on fashion-mnist, 1 epochs in {seconds:.0f} s ({images_per_second:.0f} images/s), test accuracy "
           "{accuracy:.2f} % ({correct} of {samples})\n".format(**record_of_text), "what is said")
    expect((tensors["conv1.weight"][2], tensors["bn1.weight"][2], metadata["seed"]), ("F16", "F32", "5"), "types and seed")
    plain = {name: value[:2] for name, value in tensors.items()}
    expect(record["correct"], fix.correct(plain, fix.test), "correct with the stored weights")
    assert train("seed6", "--seed", 6)["conv1.weight"] != train("seed5", "--seed", 5)["conv1.weight"], "the seed makes no difference"
    assert "cuda:99" in refusal(*TRAIN, "--out", "u.safetensors", "--device", "cuda:99")
    assert "precision" in refusal(*TRAIN, "--out", "u.safetensors", "--precision", "fp8")
    assert "--cuda-graphs: has no effect without a GPU" in refusal(*TRAIN, "--out", "u.safetensors", "--cuda-graphs", "true")
    assert "--cuda-graphs: has no effect without a GPU" in refusal(*TRAIN, "--out", "u.safetensors", "--replay", "true")


@check("train", "--memory-gb")
def memory_of_images(fix):
    """Twenty images with 4096 pixels around them are 1.26 GiB."""
    images = ref.random_images(1, 3) * 20
    for part in "t10k", "train":
        ref.write_idx("wide", "fashion-mnist", part, images, [0] * 20)
    words = [word if word != "root" else "wide" for word in TRAIN]
    words[words.index("--padding") + 1] = 4096
    assert "20 of 28 x 28 pixels take 1.3 GiB in memory, at most 1 GiB are allowed" in refusal(
        *words, "--out", "w.safetensors", "--memory-gb", 1)


@check("report", "--out --format --against --compare --studies")
def reports(fix):
    for folder, shift in ("left", 0), ("right", -2):
        subprocess.run([sys.executable, ROOT + "/tests/report/make_records.py", folder, "--small", "--shift", str(shift)], check=True)
    run("report", "left", "--out", "said", "--format", "csv,md", "--against", "right")
    expect(sorted(os.listdir("said")), ["figures", "report.csv", "report.md"], "files")
    by_seed = {}
    for record in (r for file in glob.glob("left/*.jsonl") for r in lines(file)):
        if (record["dataset"], record["method"], record["scenario"], record["variant"], record["preset"]) == ("cifar10", "tent", "noise", "", "clean"):
            by_seed.setdefault(record["seed"], []).append(record["accuracy"])
    mean = sum(sum(v) / len(v) for v in by_seed.values()) / len(by_seed)
    row = re.search(r"^cifar10/clean/accuracy,TENT,Noise,([0-9.]+),", open("said/report.csv").read(), re.M)
    assert row and abs(float(row[1]) - mean) < 0.001, (row and row[1], mean)
    assert re.search("^against/averages,", open("said/report.csv").read(), re.M), "no comparison"
    expect(run("report", "left/runs.jsonl", "--format", "csv"), "left/report/report.csv\n", "the place of a single file's report")
    run("report", "--compare", "left", "right", "--out", "sides", "--format", "csv")
    pairs = []
    for folder in "left", "right":
        accuracies = {}
        for record in (r for file in glob.glob(folder + "/*.jsonl") for r in lines(file)):
            if (record["dataset"], record["method"], record["scenario"], record["variant"], record["preset"]) == ("cifar10", "sotta", "noise", "", "clean"):
                accuracies.setdefault(record["seed"], []).append(record["accuracy"])
        pairs.append(sum(sum(v) / len(v) for v in accuracies.values()) / len(accuracies))
    row = re.search(r'^against/averages,"cifar10, preset clean: SoTTA under Noise",Difference,([-0-9.]+),', open("sides/report.csv").read(), re.M)
    assert row and abs(float(row[1]) - (pairs[1] - pairs[0])) < 0.001, (row and row[1], pairs)
    os.makedirs("studies")
    for folder in "left", "right":
        os.rename(folder, "studies/" + folder)
    run("report", "studies", "--studies", "--out", "pages", "--format", "csv,md")
    expect(sorted(os.listdir("pages")), ["index.md", "left", "right"], "a report of each folder")
    expect(open("pages/left/report.csv").read().count("\ncifar10/clean/accuracy,TENT,Noise,"), 1, "a row of one study")


@check("info", "--json")
def information(fix):
    info = json.loads(run("info", "--json"))

    def shown(value):
        if isinstance(value, dict):
            return ", ".join(name + (": yes" if there else ": not in this build") for name, there in value.items())
        return ", ".join(value) if isinstance(value, list) else str(value)
    expect(run("info").splitlines(), [f"{name:12} {shown(value)}" for name, value in info.items()], "the text")
    expect(info["version"], run("--version").strip(), "version")
    expect((info["cores"], info["devices"][0]), (len(os.sched_getaffinity(0)), "cpu"), "cores and devices")
    for text in info["libtorch"], info["compiler"].split()[1]:
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", text), text
    for names in "methods", "presets", "scenarios", "models", "corruptions", "engines":
        assert info[names] and all(info[names]), names
    engine = evaluate("--model", "net0.safetensors")["engine"]
    assert engine in info["engines"], f"{engine} is not among {info['engines']}"
    expect(info["datasets"], [d["name"] for d in json.loads(run("data", "--json"))["datasets"]], "datasets")


@check("data", "--data --json")
def datasets(fix):
    """The text says what the JSON says; of long lists the first six, and how many more."""
    os.makedirs("some/CIFAR-10-C", exist_ok=True)
    os.makedirs("some/cifar-10-batches-bin", exist_ok=True)
    for name in "labels", "fog", "snow", "frost", "contrast", "pixelate", "brightness", "spatter":
        open(f"some/CIFAR-10-C/{name}.npy", "w").close()
    for name in "data_batch_2", "test_batch":
        open(f"some/cifar-10-batches-bin/{name}.bin", "w").close()
    listing = json.loads(run("data", "--data", "some", "--json"))
    expect(listing["data_root"], "some", "root")
    said = ["data root: some"]
    for entry in listing["datasets"]:
        files = [file for split in entry["splits"] for file in split["files"]]
        expect([os.path.exists(file["path"]) for file in files], [file["present"] for file in files], entry["name"])

        def state(files):
            present = sum(file["present"] for file in files)
            return "missing" if present == 0 else "present" if present == len(files) else "partial"
        expect(entry["state"], state(files), entry["name"])
        said += ["", f"{entry['name']:15}{entry['state']:9}{entry['classes']} classes, " + " x ".join(map(str, entry["shape"]))]
        for split in entry["splits"]:
            expect(split["state"], state(split["files"]), entry["name"] + " " + split["name"])
            said += [f"  {split['name']}: {split['state']}"]
            for present, word in (True, ""), (False, "expected "):
                paths = [file["path"] for file in split["files"] if file["present"] == present]
                said += [f"    {word}{path}" for path in paths[:6]]
                said += [f"    and {len(paths) - 6} more beside it"] if len(paths) > 6 else []
        if entry["state"] != "present":
            said += ["  from " + entry["origin"]]
            said += ["  or: sotta data get " + entry["name"]] if entry["gettable"] else []
    expect(run("data", "--data", "some").splitlines(), said, "the text")
    by_name = {entry["name"]: entry for entry in listing["datasets"]}
    expect([name for name, entry in by_name.items() if entry["gettable"]], ["cifar10", "mnist", "fashion-mnist"], "gettable")
    expect([by_name["mnist"][name] for name in ("classes", "shape", "mean", "std")], [10, [1, 28, 28], [0.1307], [0.3081]], "mnist")


def listed_verbs():
    verbs = re.findall(r"^  (\w+) ", run("--help").split("Subcommands:")[1], re.M)
    return ["model check" if verb == "model" else verb for verb in verbs]


@functools.lru_cache(None)
def help_of(verb):
    return run(*verb.split(), "--help")


def listed_flags(verb):
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", help_of(verb), re.M)) - {"--help"}


def other_defaults(verb):
    """What the help says of defaults and DEFAULTS does not, and the other way round."""
    listed = re.findall(r"^ +(--[a-z0-9-]+) [A-Z]+=(\S+(?: \w+(?=(?: \w+)* \.\.\.))*)", help_of(verb), re.M)
    words = DEFAULTS[verb].split()
    return {(flag, value.replace(" ", ",")) for flag, value in listed} ^ set(zip(words[::2], words[1::2]))


def named_elsewhere(verb, flag):
    pattern = ELSEWHERE.get((verb, flag)) or ELSEWHERE.get((verb, None))
    return pattern and any(re.search(rf"{flag}\b(?!-)", open(file).read()) for file in glob.glob(f"{ROOT}/tests/cli/{pattern}"))


def unchecked_flags():
    checked = {(verb, flag) for verb, flags, _ in CHECKS for flag in flags} | set(UNCHECKED)
    known = set()
    for verb in listed_verbs():
        for flag in listed_flags(verb):
            known.add((verb, flag))
            if (verb, flag) not in checked and not named_elsewhere(verb, flag):
                yield f"sotta {verb} {flag}: no check says what it changes"
        if other_defaults(verb):
            yield f"sotta {verb}: other defaults than in DEFAULTS: {sorted(other_defaults(verb))}"
    for verb, flag in sorted(checked - known):
        yield f"sotta {verb} {flag}: checked, but there is no such flag"


def main():
    problems = list(unchecked_flags())
    fix = Fixture()
    for verb, flags, function in CHECKS:
        try:
            function(fix)
        except Exception:
            problems.append(f"sotta {verb} {' '.join(flags)}: {function.__name__}\n{traceback.format_exc(limit=-2)}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
