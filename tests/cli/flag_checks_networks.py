"""Flags of eval, corrupt, convert and model check."""
import json
import math
import os
import random
import re
import struct

import reference as ref
from flag_fixture import (EVAL, ROOT, cells, check, check_origin, close, contrast, corrupted, evaluate, expect, lines,
                          refusal, run)


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
