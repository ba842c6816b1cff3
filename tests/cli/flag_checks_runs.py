"""Flags of bench, demo and report."""
import glob
import json
import os
import re
import struct
import subprocess
import sys

from flag_fixture import BENCH, ROOT, cells, check, check_origin, contrast, expect, lines, refusal, run


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
