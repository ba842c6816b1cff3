"""Flags of train."""
import json

import reference as ref
from flag_fixture import check, check_origin, close, expect, lines, refusal, run

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
