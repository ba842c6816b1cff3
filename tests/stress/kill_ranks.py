#!/usr/bin/env python3
"""Kills ranks of one `sotta bench` grid at random moments and starts them again, as torchrun does.

usage: kill_ranks.py PROGRAM [COUNT] [SEED]

Three processes share a grid (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Rank 1 or 2 is killed
(SIGKILL) and started again, at once or after the others have given it up; rank 0 holds the store
and lives. A rank that is started again redoes what it had begun, unless the others have ended
meanwhile: then it says that rank 0 cannot be reached. In the end every cell is recorded once, as by
one process alone; a cell that two ranks ran (one was taken for dead) is the same in both.
"""
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time

import kill_loop
from bench_records import records_by_identity
from kill_loop import ROOT, Broken

sys.path.insert(0, str(ROOT / "tests/support"))
from free_port import free_port  # noqa: E402

WORLD = 3
LOST_AFTER = 4  # seconds; a busy machine may take two of them to load a program


class Ranks:
    def __init__(self, command, folder, port):
        self.command, self.folder, self.port = command, folder, port
        self.processes = [self.start(0)]
        self.wait_for_store()
        self.processes += [self.start(rank) for rank in range(1, WORLD)]
        self.again = set()  # the ranks that were started again

    def wait_for_store(self):
        """Until rank 0 listens: a rank waits for it for LOST_AFTER alone."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.processes[0].poll() is None:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)

    def start(self, rank):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(WORLD), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(self.port)}
        with open(f"{self.folder}.rank{rank}.txt", "ab") as log:
            return subprocess.Popen([str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    env=environment)

    def wait(self):
        for rank, process in enumerate(self.processes):
            try:
                code = process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                raise Broken(f"rank {rank} does not end") from None
            said = pathlib.Path(f"{self.folder}.rank{rank}.txt").read_text()
            late = rank in self.again and "rank 0 cannot be reached" in said.rstrip().rpartition("\n")[2]
            if code != 0 and not late:
                raise Broken(f"rank {rank} ended with {code}: {said[-1000:]}")

    def kill_and_restart(self, rank, pause):
        self.processes[rank].kill()
        self.processes[rank].wait()
        time.sleep(pause)
        self.again.add(rank)
        self.processes[rank] = self.start(rank)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


def check(folder, expected):
    """How many cells two ranks have run."""
    found = records_by_identity(folder)
    if set(found) != set(expected):
        raise Broken(f"{len(found)} of {len(expected)} cells are recorded")
    for identity, several in found.items():
        if any(record != expected[identity][0] for record in several):
            raise Broken(f"differs from the undisturbed run: {identity}")
    return sum(len(several) - 1 for several in found.values())


def loop(program, count, seed, folder):
    info = subprocess.run([program, "info"], capture_output=True, text=True, check=True).stdout
    if "c10d: not in this build" in info:
        print("skipped: LibTorch without c10d")
        sys.exit(77)
    data, whole, out = folder / "data", folder / "whole", folder / "out"
    subprocess.run(["python3", ROOT / "tests/support/make_tiny_data.py", data, "96"], check=True)
    command = [program, "bench", "--dataset", "fashion-mnist", "--data", data,
               "--model", ROOT / "models/fashion_resnet8.safetensors",
               "--method", "source,tent,rotta,sotta", "--scenario", "benign,noise",
               "--seeds", "0,1,2,3,4,5", "--corruption", "gaussian_noise", "--window", "16",
               "--threads", "1"]
    kill_loop.Killer([*command, "--out", whole], whole, seed).run()
    expected = records_by_identity(whole)
    rng, kills, grids, twice = random.Random(seed), 0, 0, 0
    while kills < count:
        ranks = Ranks([*command, "--lost-after", LOST_AFTER, "--out", out], out, free_port())
        try:
            while kills < count:
                time.sleep(rng.uniform(0.3, 2))
                rank = rng.choice([1, 2])
                if ranks.processes[0].poll() is not None or ranks.processes[rank].poll() is not None:
                    break  # the grid is ending
                ranks.kill_and_restart(rank, pause=2 * LOST_AFTER if rng.random() < 0.3 else 0)
                kills += 1
            ranks.wait()
        except Broken:
            ranks.kill()
            raise
        twice += check(out, expected)
        grids += 1
        shutil.rmtree(out)
    return (f"{kills} kills of ranks over {grids} grids of {len(expected)} cells and {WORLD} ranks: no cell lost or different, "
            f"{twice} run by two ranks")


kill_loop.main(loop, default_count=8)
