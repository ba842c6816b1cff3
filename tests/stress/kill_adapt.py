"""Kills `sotta adapt` again and again, and expects nothing to come of it.

usage: kill_adapt.py PROGRAM COUNT SEED

A stream in pieces goes through a chain of runs, each of which starts from the
state that the one before it wrote. Runs are killed (SIGKILL) at random moments
and repeated, COUNT kills in all. State files must be whole whenever they are
there, and the chain's states and predictions those of a chain that nobody
disturbed, byte for byte.
"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

if len(sys.argv) != 4:
    sys.exit(__doc__)
PROGRAM = sys.argv[1]
MODEL = pathlib.Path(__file__).parents[2] / "models/fashion_resnet8.safetensors"
METHODS = [["--method", "sotta", "--set", "min_confidence=0"], ["--method", "tent"],
           ["--method", "rotta"]]
PIECES = [20, 8, 13]  # images each; windows are of 8, so cuts lie inside them too
SIDE = 28
MOST_KILLS_OF_A_RUN = 2  # then it is left alone, so that the chain gets on


def write_npy(path, images):
    header = str({"descr": "|u1", "fortran_order": False, "shape": (len(images), SIDE, SIDE)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"".join(images))


class Chain:
    """The runs of one stream in a folder of its own."""

    def __init__(self, folder, inputs, method):
        self.folder, self.inputs, self.method = folder, inputs, method
        folder.mkdir()

    def state(self, piece):
        return self.folder / f"state{piece}.safetensors"

    def predictions(self, piece):
        return self.folder / f"predictions{piece}.jsonl"

    def start(self, piece):
        command = [PROGRAM, "adapt", "--model", str(MODEL), "--input", str(self.inputs[piece]), "--window", "8",
                   "--threads", "1", "--out", str(self.predictions(piece)), "--state-out", str(self.state(piece))]
        if piece > 0:
            command += ["--state-in", str(self.state(piece - 1))]
        return subprocess.Popen(command + self.method, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self, piece):
        process = self.start(piece)
        errors = process.communicate()[1].decode()
        if process.returncode != 0:
            sys.exit(f"piece {piece}: exit code {process.returncode}: {errors}")

    def kill(self, piece, moment, after_output):
        """Kills a run `moment` seconds after its start, or after its first line.

        Whether the kill came before the run's own end."""
        process = self.start(piece)
        before = size_of(self.predictions(piece))
        while after_output and process.poll() is None and size_of(self.predictions(piece)) in (0, before):
            time.sleep(0.002)
            before = min(before, size_of(self.predictions(piece)))
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        if process.returncode not in (0, -9):
            sys.exit(f"piece {piece}: exit code {process.returncode} of a run that was killed")
        return process.returncode == -9


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def expect(condition, problem):
    if not condition:
        sys.exit(problem)


def compare(disturbed, quiet, piece, whole):
    """A run that was killed may have written less, and never anything else."""
    found, wanted = disturbed.predictions(piece), quiet.predictions(piece).read_bytes()
    text = found.read_bytes() if found.exists() else b""
    expect(text == wanted if whole else wanted.startswith(text), f"{found}: other predictions")
    state, expected = disturbed.state(piece), quiet.state(piece).read_bytes()
    if whole or state.exists():
        expect(state.read_bytes() == expected, f"{state}: another state")


def run_chain(folder, inputs, method, draw, kills):
    """Runs a chain undisturbed and one with up to `kills` kills; how many there were."""
    quiet, disturbed = Chain(folder / "quiet", inputs, method), Chain(folder / "disturbed", inputs, method)
    done = 0
    for piece in range(len(inputs)):
        start = time.monotonic()
        quiet.finish(piece)
        duration = time.monotonic() - start
        for _ in range(MOST_KILLS_OF_A_RUN):
            if done >= kills:
                break
            late = draw.random() < 0.5
            moment = draw.uniform(0, duration * (0.3 if late else 1))
            done += disturbed.kill(piece, moment, late)
            for earlier in range(piece):
                compare(disturbed, quiet, earlier, whole=True)
            compare(disturbed, quiet, piece, whole=False)
        disturbed.finish(piece)
        compare(disturbed, quiet, piece, whole=True)
    return done


def main():
    count, seed = int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    kills = chains = 0
    while kills < count:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            inputs = []
            for piece, size in enumerate(PIECES):
                inputs.append(folder / f"piece{piece}.npy")
                write_npy(inputs[-1], [draw.randbytes(SIDE * SIDE) for _ in range(size)])
            kills += run_chain(folder, inputs, METHODS[chains % len(METHODS)], draw, count - kills)
        chains += 1
    print(f"{kills} kills in {chains} chains, all of them as undisturbed (seed {seed})")


if __name__ == "__main__":
    main()
