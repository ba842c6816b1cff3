"""The engines beside PyTorch, in turn, so that a machine's noise falls on all.

usage: engine_bench.py [--programs build/release/bin] [--python /usr/bin/python3]
                       [--threads 1,2,4] [--rounds 11] [--seconds 0] [--pieces itso]
                       [--engines "fused,fused AVX2,libtorch"] [--peers "eager,compiled,bf16"]
                       [--network resnet18] [--images 64] [--side 32] [--classes 10]
                       [--device cpu] [--precision fp32] [--json FILE]

For every number of threads: medians and, of each round's ratio of a peer's time
to ours, median, lowest and highest; then all of them as a table. Peers are
words for engine_peer.py, engines for engine_worker. A peer with the word bf16
computes less exactly, so "best" in the table leaves it out, unless all do.

n threads run on the same n cores on both sides, on physical ones as long as
there are any. Whoever has answered must be asleep before another is asked. PyTorch
comes from --python. OMP_WAIT_POLICY is passive for all but peers with the word
spinning: the published loop's many small steps lose most of their time to
spinning threads otherwise. Fresh processes of ours for every number of threads; a
peer changes its number of threads, and takes its time to compile before it is
pinned and timed. What fails or exceeds --limit is left out with a word; it
is an error if that is an engine.
"""
import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time

import machine

NAMES = {"i": "inference", "t": "TENT window", "s": "SoTTA window", "o": "published loop"}


class Failed(Exception):
    pass


class Worker:
    """A process that answers what it is asked, a line each."""

    def __init__(self, name, command, limit, cores=None):
        environment = dict(os.environ)
        if "spinning" not in name.split():
            environment["OMP_WAIT_POLICY"] = "passive"
        self.name, self.limit, self.words = name, limit, b""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
            preexec_fn=lambda: cores and os.sched_setaffinity(0, cores))
        answer = self.line()
        if not answer.startswith("ready"):
            raise Failed(answer.replace("failed: ", ""))
        self.says = answer.partition(" ")[2]

    def line(self):
        """The next line it prints. Fails if that takes longer than the limit."""
        end = time.monotonic() + self.limit
        while b"\n" not in self.words:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.process.kill()
                raise Failed(f"no answer in {self.limit:.0f} s")
            part = os.read(self.process.stdout.fileno(), 4096)
            if not part:
                raise Failed(f"ended with {self.process.wait()}")
            self.words += part
        line, _, self.words = self.words.partition(b"\n")
        return line.decode(errors="replace")

    def ask(self, question):
        try:
            self.process.stdin.write(question.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed(f"ended with {self.process.wait()}") from None
        answer = self.line()
        self.wait_until_asleep()
        try:
            return [float(word) for word in answer.split()]
        except ValueError:
            raise Failed(answer.replace("failed: ", "")) from None

    def threads(self):
        return os.listdir(f"/proc/{self.process.pid}/task")

    def wait_until_asleep(self):
        """Threads spin for a while after their work; the next worker's turn comes later."""
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            states = [machine.read(f"/proc/{self.process.pid}/task/{thread}/stat").rpartition(")")[2].split()
                      for thread in self.threads()]
            if not any(state and state[0] == "R" for state in states):
                return
            time.sleep(0.002)

    def pin(self, cores):
        for thread in self.threads():
            try:
                os.sched_setaffinity(int(thread), cores)
            except ProcessLookupError:
                pass  # it has ended

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Bench:
    def __init__(self, options):
        self.options = options
        self.cores, self.physical = machine.spread(os.sched_getaffinity(0))
        self.peers = {}
        self.left_out = {}
        self.gpu_memory = {}  # MB that a worker's process has taken, by name
        self.results = []

    def task(self):
        o = self.options
        return [f"network={o.network}", f"classes={o.classes}", f"images={o.images}",
                f"side={o.side}", f"device={o.device}", f"precision={o.precision}"]

    def leave_out(self, name, error):
        self.left_out[name] = str(error)
        print(f"left out: {name}: {error}", flush=True)

    def start(self, name, begin, warm_up):
        """begin() gives a worker and warm_up() has it set itself up, nobody else being at work."""
        before = machine.gpu_memory_used() if self.options.device != "cpu" else None
        try:
            worker = begin()
            warm_up(worker)
        except (Failed, OSError) as error:
            self.leave_out(name, error)
            return None
        if before is not None:
            self.gpu_memory.setdefault(name, (machine.gpu_memory_used() or before) - before)
        return worker

    def run_pieces(self, worker):
        for _ in range(self.options.warm_up):
            for piece in self.options.pieces:
                if piece != "o":  # the same passes
                    worker.ask(piece)

    def start_peer(self, name, cores):
        peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "engine_peer.py")
        words = [word for word in name.split() if word != "eager"]

        def begin():
            if name in self.peers:
                self.peers[name].pin(self.cores)
                return self.peers[name]
            return Worker(name, [self.options.python, peer, *words, *self.task()], self.options.limit)

        def warm_up(worker):
            worker.ask(f"threads {len(cores)}")
            self.run_pieces(worker)
            worker.pin(cores)

        worker = self.start(name, begin, warm_up)
        if worker:
            if name not in self.peers:
                print(f"{name}: {worker.says}", flush=True)
            self.peers[name] = worker
        else:
            self.peers.pop(name, None)

    def start_engine(self, name, cores):
        engine, *words = name.split()  # which win over the task's, as precision=bf16
        command = [f"{self.options.programs}/engine_worker", engine, *self.task(), *words]
        worker = self.start(
            name, lambda: Worker(name, command, self.options.limit, cores),
            self.run_pieces)
        if worker:
            print(f"{name}: {worker.says}", flush=True)
        return worker

    def rounds(self, workers, costs):
        """Adds costs by worker and piece, round by round: first to last, then last to first."""
        end = time.monotonic() + self.options.seconds if self.options.seconds else None
        for number in range(self.options.rounds):
            if end and number >= 3 and time.monotonic() > end:
                break
            for piece in self.options.pieces:
                for name in list(workers)[::-1 if number % 2 else 1]:
                    if piece == "o" and name not in self.peers:
                        continue
                    answer = self.ask(workers, name, piece)
                    if answer:
                        costs.setdefault((name, piece), []).append(answer)

    def ask(self, workers, name, question):
        """Its answer; of a worker that fails none, then and later."""
        try:
            return workers[name].ask(question)
        except Failed as error:
            self.leave_out(name, error)
            del workers[name]
            self.peers.pop(name, None)
            return None

    def measure(self, count):
        cores = self.cores[:count]
        note = f", {self.physical} physical ones" if count > self.physical else ""
        print(f"\n{count} threads on cores {','.join(map(str, cores))}{note}", flush=True)
        for name in self.options.peers:
            if name not in self.left_out:
                self.start_peer(name, cores)
        workers = dict(self.peers)
        for name in self.options.engines:
            worker = self.start_engine(name, cores)
            if worker:
                workers[name] = worker
        costs, memory = {}, {}
        try:
            self.rounds(workers, costs)
            memory.update((name, self.ask(workers, name, "m")) for name in list(workers))
        finally:
            self.results.append({
                "threads": count, "cores": cores, "memory_kb": memory,
                "seconds": [{"worker": name, "piece": piece, "wall": [cost[0] for cost in found],
                             "cpu": [cost[1] for cost in found]}
                            for (name, piece), found in costs.items()]})
        for name, worker in workers.items():
            if name not in self.peers:
                worker.end()

    def save(self):
        if not self.options.json:
            return
        with open(self.options.json, "w") as out:
            json.dump({"machine": dict(machine.describe(), gpu=machine.gpu(), physical_cores=self.physical),
                       "peers": {name: peer.says for name, peer in self.peers.items()},
                       "options": vars(self.options), "left_out": self.left_out,
                       "gpu_memory_mb": self.gpu_memory, "results": self.results}, out, indent=1)


class Ratio:
    """A peer's time over ours, round by round."""

    def __init__(self, peer, ours):
        ratios = [a / b for a, b in zip(peer, ours)]
        self.median, self.low, self.high = statistics.median(ratios), min(ratios), max(ratios)

    def __str__(self):
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def times_of(result, part="wall"):
    return {(row["worker"], row["piece"]): row[part] for row in result["seconds"]}


def best_peer(times, piece, peers):
    """The fastest in our own arithmetic; among all if all have the word bf16."""
    there = [peer for peer in peers if (peer, piece) in times]
    exact = [peer for peer in there if "bf16" not in peer.split()]
    return min(exact or there, key=lambda peer: statistics.median(times[peer, piece]), default=None)


def show(result, pieces, engines, peers):
    wall, cpu = times_of(result), times_of(result, "cpu")
    for piece in pieces:
        own = "s" if piece == "o" else piece
        for peer in peers:
            if (peer, piece) not in wall:
                continue
            print(f"{NAMES[piece]}: PyTorch {peer} {1e3 * statistics.median(wall[peer, piece]):.1f} ms")
            for name in engines:
                if (name, own) in wall:
                    by_cpu = Ratio(cpu[peer, piece], cpu[name, own]).median
                    print(f"  {name}: {1e3 * statistics.median(wall[name, own]):.1f} ms, times as fast: "
                          f"{Ratio(wall[peer, piece], wall[name, own])}; by CPU time {by_cpu:.2f}")


def show_memory(result, gpu_memory):
    for name, peaks in result["memory_kb"].items():
        if peaks is None:
            continue
        process, given, held = peaks
        gpu = f"; GPU, allocated {given / 1024:.0f} MB, held {held / 1024:.0f} MB" if held else ""
        taken = f"; GPU's memory in use grew by {gpu_memory[name]} MB" if name in gpu_memory else ""
        print(f"peak memory {name}: {process / 1024:.0f} MB{gpu}{taken}")


def table(results, pieces, engines, peers):
    """Markdown: a row for a piece, an engine and a number of threads."""
    lines = ["| | threads | rounds | ours | " + "".join(f"{peer} | " for peer in peers) + "best |",
             "|" + "---|" * (len(peers) + 5)]
    for piece in pieces:
        own = "s" if piece == "o" else piece
        for engine in engines:
            for result in sorted(results, key=lambda result: result["threads"]):
                wall = times_of(result)
                if (engine, own) not in wall:
                    continue
                ours = wall[engine, own]
                cells = [str(Ratio(wall[peer, piece], ours)) if (peer, piece) in wall else ""
                         for peer in peers]
                best = best_peer(wall, piece, peers)
                against = f"{Ratio(wall[best, piece], ours).median:.2f}, {best}" if best else ""
                row = [f"{NAMES[piece]}, {engine}", str(result["threads"]), str(len(ours)),
                       f"{1e3 * statistics.median(ours):.1f} ms", *cells, against]
                lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--threads", help="numbers of threads, default all cores")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0,
                        help="begin no round later than this for a number of threads; at least three are run")
    parser.add_argument("--warm-up", type=int, default=1, help="runs of every piece before it is timed")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one answer")
    parser.add_argument("--engines", default="fused,fused AVX2,libtorch")
    parser.add_argument("--peers", default="eager")
    parser.add_argument("--pieces", default="itso")
    parser.add_argument("--network", default="resnet18", help="or resnet50-imagenet")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--json", help="file for all times, written after every number of threads")
    options = parser.parse_args(arguments)
    if "o" in options.pieces and "s" not in options.pieces:
        parser.error("o is compared with s: ask for both")
    cores = len(os.sched_getaffinity(0))
    options.threads = [int(count) for count in (options.threads or str(cores)).split(",")]
    if not all(0 < count <= cores for count in options.threads):
        parser.error(f"--threads: expected numbers from 1 to {cores}")
    options.engines = [name for name in options.engines.split(",") if name]
    options.peers = [name for name in options.peers.split(",") if name]
    return options


def main():
    options = parse(sys.argv[1:])
    about = machine.describe()
    print(f"{about['processor']} (family {about['family']}, model {about['model']}), {about['cores']} cores, "
          f"{' '.join(about['instructions'])}")
    if options.device != "cpu":
        print(machine.gpu())
    print(f"{options.network}, {options.images} images of {options.side}x{options.side}, "
          f"{options.device}, {options.precision}", flush=True)
    bench = Bench(options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))
    try:
        for count in options.threads:
            bench.measure(count)
            bench.save()  # what is there, whatever comes
            show(bench.results[-1], options.pieces, options.engines, options.peers)
            show_memory(bench.results[-1], bench.gpu_memory)
    finally:
        bench.save()
        print("\n" + table(bench.results, options.pieces, options.engines, options.peers), flush=True)
    for peer in bench.peers.values():
        peer.end()
    return 1 if any(name in bench.left_out for name in options.engines) else 0


if __name__ == "__main__":
    sys.exit(main())
