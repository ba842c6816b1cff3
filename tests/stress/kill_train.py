#!/usr/bin/env python3
"""Kills `sotta train` at random moments and resumes it.

usage: kill_train.py PROGRAM [COUNT] [SEED]

Of every training that ends the weights file must be that of an undisturbed
training, byte for byte, with one record and nothing else left beside it.
"""
import json
import shutil
import subprocess

import kill_loop
from kill_loop import ROOT, Broken

TIMES = ("seconds", "images_per_second", "peak_memory_bytes")


def record(folder):
    lines = (folder / "m.record.jsonl").read_text().splitlines()
    if len(lines) != 1:
        raise Broken(f"{len(lines)} records of one training")
    found = json.loads(lines[0])
    for name in TIMES:
        del found[name]
    return found


def compare(out, whole):
    if (out / "m.safetensors").read_bytes() != (whole / "m.safetensors").read_bytes():
        raise Broken("the weights differ from those of the undisturbed training")
    if record(out) != record(whole):
        raise Broken("the record differs from that of the undisturbed training")
    others = {file.name for file in out.iterdir()} - {"m.safetensors", "m.record.jsonl"}
    if others:
        raise Broken(f"left behind: {sorted(others)}")


def loop(program, count, seed, folder):
    data, whole, out = folder / "data", folder / "whole", folder / "out"
    subprocess.run(["python3", ROOT / "tests/support/make_tiny_data.py", data, "96"], check=True)
    command = [program, "train", "--dataset", "fashion-mnist", "--data", data,
               "--model", "resnet8", "--width", "8", "--epochs", "12", "--batch", "16",
               "--rate", "0.05", "--threads", "1", "--checkpoint-every", "1", "--resume"]
    for place in (whole, out):
        place.mkdir()
    killer = kill_loop.Killer([*command, "--out", whole / "m.safetensors"], whole, seed)
    killer.run()
    seconds = killer.seconds
    killer = kill_loop.Killer([*command, "--out", out / "m.safetensors"], out, seed)
    killer.seconds = seconds
    trainings = 0
    while killer.kills < count:
        ended = killer.run_and_kill()
        # One that was killed just after its end has nothing left to resume.
        if ended or ((out / "m.safetensors").exists()
                     and not (out / "m.checkpoint.safetensors").exists()):
            compare(out, whole)
            shutil.rmtree(out)
            out.mkdir()
            trainings += 1
    killer.run()
    compare(out, whole)
    return (f"{killer.kills} kills of train over {trainings + 1} trainings: "
            "the weights of an undisturbed one, bit for bit")


kill_loop.main(loop, default_count=8)
