#!/usr/bin/env python3
"""Kills `sotta bench --jobs 2` at random moments and starts it again.

usage: kill_bench.py PROGRAM [COUNT] [SEED]

Of every grid that ends, and after every kill, the records are compared with
those of an undisturbed run with one job: none lost, none double, none different.
"""
import shutil
import subprocess

import kill_loop
from bench_records import records_by_identity
from kill_loop import ROOT, Broken


def records(folder):
    """By identity, each of which there is once."""
    found = records_by_identity(folder)
    for identity, several in found.items():
        if len(several) > 1:
            raise Broken(f"recorded twice: {identity}")
    return {identity: several[0] for identity, several in found.items()}


def compare(folder, expected, complete):
    found = records(folder)
    for identity, record in found.items():
        if expected.get(identity) != record:
            raise Broken(f"differs from the undisturbed run: {record}")
    if complete and len(found) != len(expected):
        raise Broken(f"{len(found)} of {len(expected)} records after a run that ended")


def loop(program, count, seed, folder):
    data, whole, out = folder / "data", folder / "whole", folder / "out"
    subprocess.run(["python3", ROOT / "tests/support/make_tiny_data.py", data, "48"], check=True)
    command = [program, "bench", "--dataset", "fashion-mnist", "--data", data,
               "--model", ROOT / "models/fashion_resnet8.safetensors",
               "--method", "source,lame,tent,rotta,sotta", "--scenario", "benign,noise",
               "--seeds", "0,1,2", "--corruption", "gaussian_noise", "--window", "16",
               "--threads", "1"]
    kill_loop.Killer([*command, "--out", whole], whole, seed).run()
    expected = records(whole)

    killer = kill_loop.Killer([*command, "--jobs", "2", "--out", out], out, seed)
    killer.run()
    compare(out, expected, True)
    shutil.rmtree(out)
    grids = 0
    while killer.kills < count:
        if killer.run_and_kill():
            compare(out, expected, True)
            shutil.rmtree(out)
            grids += 1
        elif out.exists():
            compare(out, expected, False)
    killer.run()
    compare(out, expected, True)
    return (f"{killer.kills} kills of bench over {grids + 1} grids of {len(expected)} cells: "
            "no record lost, double or different")


kill_loop.main(loop, default_count=8)
