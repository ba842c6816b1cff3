"""The engines beside PyTorch, in turn, so that a machine's noise falls on all.

usage: engine_bench.py [--programs build/release/bin] [--python /usr/bin/python3]
                       [--rounds 11] [--engines "fused,fused AVX2,libtorch"]
                       [--pieces itso]

Prints medians and, of each round's ratio to PyTorch, the median and the range.
PyTorch comes from --python. OMP_WAIT_POLICY is passive for all: the published
loop's many small steps lose most of their time to spinning threads otherwise.
"""
import argparse
import os
import statistics
import subprocess

NAMES = {"i": "inference", "t": "TENT window", "s": "SoTTA window", "o": "published loop"}


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, OMP_WAIT_POLICY="passive"))
        assert self.process.stdout.readline().strip() == "ready"

    def ask(self, piece):
        self.process.stdin.write(piece + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(workers, pieces, rounds):
    """Seconds by worker and piece; the published loop is PyTorch's alone."""
    times = {}
    for number in range(rounds + 1):
        for piece in pieces:
            for name, worker in workers.items():
                if piece == "o" and name != "PyTorch":
                    continue
                cost = worker.ask(piece)
                if number > 0:  # the first warms up
                    times.setdefault((name, piece), []).append(cost)
    return times


def show(times, workers, pieces):
    for piece in pieces:
        peer = times["PyTorch", piece]
        print(f"{NAMES[piece]}: PyTorch {1e3 * statistics.median(t[0] for t in peer):.0f} ms")
        own = "s" if piece == "o" else piece
        for name in workers:
            if name == "PyTorch":
                continue
            ours = times[name, own]
            wall = [a[0] / b[0] for a, b in zip(peer, ours)]
            cpu = statistics.median(a[1] / b[1] for a, b in zip(peer, ours))
            print(f"  {name}: {1e3 * statistics.median(t[0] for t in ours):.0f} ms, "
                  f"{statistics.median(wall):.2f} times as fast "
                  f"({min(wall):.2f} to {max(wall):.2f}; by CPU time {cpu:.2f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--engines", default="fused,fused AVX2,libtorch")
    parser.add_argument("--pieces", default="itso")
    options = parser.parse_args()
    if "o" in options.pieces and "s" not in options.pieces:
        parser.error("o is compared with s: ask for both")
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "engine_peer.py")
    workers = {"PyTorch": Worker([options.python, peer])}
    for engine in options.engines.split(","):
        workers[engine] = Worker([f"{options.programs}/engine_worker", *engine.split()])
    show(measure(workers, options.pieces, options.rounds), workers, options.pieces)
    for name, worker in workers.items():
        print(f"peak memory {name}: {worker.ask('m')[0] / 1024:.0f} MB")
        worker.end()


main()
