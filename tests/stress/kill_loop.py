"""What the kill loops share: a program that is started, killed with SIGKILL at a
random moment and started again, until it was killed often enough and has ended
by itself.

Every loop takes PROGRAM COUNT [SEED]: the sotta program, how many kills, and the
seed of their moments. It works in a temporary folder of its own, prints one line
and exits with 1 at the first thing that is lost, doubled or different; the
folder is then kept.
"""
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Broken(Exception):
    """What a kill has spoilt."""


def contents(folder):
    """Names and sizes of a folder's files: changes when one is written."""
    try:
        return {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
    except FileNotFoundError:
        return {}


class Killer:
    def __init__(self, command, watched, seed):
        """`watched` is the folder that the program writes to."""
        self.command = [str(word) for word in command]
        self.watched = pathlib.Path(watched)
        self.rng = random.Random(seed)
        self.kills = 0
        self.seconds = math.inf  # what the fastest undisturbed run took

    def run(self):
        """Runs it undisturbed; its exit code must be 0."""
        start = time.monotonic()
        done = subprocess.run(self.command, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        self.seconds = min(self.seconds, time.monotonic() - start)
        if done.returncode != 0:
            raise Broken(f"exit code {done.returncode}: {done.stderr[-2000:]}")

    def run_and_kill(self):
        """Starts it and kills it at some moment. True if it ended before."""
        process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + self.rng.uniform(0, 1.2 * self.seconds)
        if self.rng.random() < 0.5:
            self._wait_for_writes(process, end)
        else:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
        process.kill()  # does nothing to one that has ended
        errors = process.communicate()[1].decode(errors="replace")
        if process.returncode == -9:
            self.kills += 1
            return False
        if process.returncode != 0:
            raise Broken(f"exit code {process.returncode}: {errors[-2000:]}")
        return True

    def _wait_for_writes(self, process, end):
        """Returns just after some change of the watched folder."""
        writes = self.rng.randint(1, 6)
        last = contents(self.watched)
        while writes > 0 and process.poll() is None and time.monotonic() < end:
            now = contents(self.watched)
            writes -= now != last
            last = now
            time.sleep(0.0002)
        time.sleep(self.rng.uniform(0, 0.002))


def main(loop, default_count):
    """Runs `loop(program, count, seed, folder)`, which returns what to say."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [COUNT] [SEED]")
    program = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else default_count
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sotta_kills_"))
    try:
        print(loop(program, count, seed, folder))
        shutil.rmtree(folder)
    except Broken as problem:
        sys.exit(f"{sys.argv[0]}: seed {seed}: {problem}\nkept: {folder}")
