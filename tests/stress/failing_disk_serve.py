"""Has the disk under `sotta serve` refuse with EIO, and expects nothing to be lost by it.

usage: failing_disk_serve.py PROGRAM LIBRARY COUNT SEED

LIBRARY (failing_disk.cpp) comes before the C library: while the disk is broken, half of what is
written or synced in the state's folder fails, and a sync that fails loses what was written since
the one before. Streams are sent meanwhile, request by request; COUNT times the disk breaks for some
requests, after every other one the server is killed (SIGKILL) and started again. Clients mind
next_seq, and after a kill durable_seq. Every answer that counted, and in the end every stream's
norm layers, must be to the byte those of a server that nobody disturbed; what was called durable
must be there after a kill.
"""
import mmap
import os
import pathlib
import random
import struct
import sys
import tempfile

if len(sys.argv) != 5:
    sys.exit(__doc__)
os.environ["SOTTA_BIN"] = os.path.abspath(sys.argv[1])
os.environ["SOTTA_ROOT"] = str(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, os.environ["SOTTA_ROOT"] + "/tests/cli")
from serve_client import Server, draw_images  # noqa: E402

STREAMS = ["a", "b", "c"]
SIZES = [3, 8, 1, 20, 5]  # images of a request; windows are of 8
REQUESTS = 30
FLAGS = ["--window", "8", "--set", "min_confidence=0", "--max-resident", "2", "--workers", "2"]


def expect(condition, problem):
    if not condition:
        sys.exit(problem)


class Disk:
    """What both sides map: how many of 1,000 calls fail, and how many have failed."""

    def __init__(self, library, folder):
        control = folder / "control"
        control.write_bytes(bytes(8))
        with open(control, "r+b") as file:
            self.mapped = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": library, "FAILING_DISK": f"{control} {folder / 'state'}"}

    def fail(self, per_mille):
        self.mapped[:4] = struct.pack("I", per_mille)

    def is_broken(self):
        return self.mapped[:4] != bytes(4)

    def failed(self):
        return struct.unpack("I", self.mapped[4:])[0]


class Run:
    def __init__(self, disk, folder, durability, draw, wanted):
        self.disk, self.folder, self.durability, self.draw = disk, folder, durability, draw
        self.answers, self.norms = wanted
        self.todo, self.durable = dict.fromkeys(STREAMS, 0), dict.fromkeys(STREAMS, 0)
        self.refused = self.kills = self.repeated = 0
        self.streak = 0  # of requests that did not count, though the disk was whole
        self.start()

    def start(self):
        self.server = Server(*FLAGS, "--durability", self.durability, state=str(self.folder),
                             environment=self.disk.environment)
        self.client = self.server.client()

    def send(self, stream):
        """One request; it may have been answered before."""
        seq = self.todo[stream]
        said, logits = infer(self.client, stream, seq)
        counts = said["status"] == 200 and said["next_seq"] > seq
        self.streak = 0 if counts or self.disk.is_broken() else self.streak + 1
        expect(self.streak < 20, f"stream {stream}, request {seq}: refused 20 times by a whole disk: {said}")
        if said["status"] != 200:  # a stream that cannot be loaded, or another that cannot go for it
            expect(said["status"] == 503, f"stream {stream}, request {seq}: {said}")
            self.refused += 1
            return
        if said["next_seq"] <= seq:
            expect(said["frozen"] and said["next_seq"] == seq, f"stream {stream}, request {seq}: {said}")
            self.refused += 1
            return
        expect(logits == self.answers[stream, seq], f"stream {stream}, request {seq}: another answer")
        durable = said["durable_seq"]
        expect(durable >= self.durable[stream], f"stream {stream}: durable_seq {self.durable[stream]} became {durable}")
        if self.durability == "request" and not said.get("frozen"):
            expect(durable == said["next_seq"], f"stream {stream}, request {seq}: not durable")
        self.durable[stream], self.todo[stream] = durable, seq + 1

    def kill(self):
        """Whoever starts it again has mended the disk."""
        self.server.process.kill()
        self.server.end(-9)
        self.disk.fail(0)
        self.start()
        self.kills += 1
        for stream in STREAMS:
            there = durable_seq(self.client, stream)
            expect(there >= self.durable[stream], f"stream {stream}: {self.durable[stream]} were durable, {there} are there")
            self.repeated += max(0, self.todo[stream] - there)
            self.todo[stream] = self.durable[stream] = there

    def run(self, count):
        """Where the disk breaks; it is whole again by chance."""
        moments = sorted(self.draw.sample(range(2, len(STREAMS) * REQUESTS - 8), count))
        for turn in range(100 * REQUESTS):
            left = [stream for stream in STREAMS if self.todo[stream] < REQUESTS]
            if not left:
                break
            while moments and turn >= moments[0] and not self.disk.is_broken():
                del moments[0]
                self.disk.fail(500)
            if self.disk.is_broken() and self.draw.random() < 0.2:
                expect(self.client.ask("GET", "/v2/health/live").status == 200, "not alive")
                if self.draw.random() < 0.5:
                    self.kill()
                self.disk.fail(0)
            self.send(self.draw.choice(left))
        self.disk.fail(0)
        expect(not left, f"streams {left} were not sent to their end")

    def end(self):
        """Whether all is there, also for another process."""
        for stream in STREAMS:  # one more, not learnt from, finds the disk whole
            self.client.infer(images(stream, 0), {"sequence_id": stream, "adapt": False})
        expect(self.client.ask("GET", "/v2/health/ready").status == 200, "not ready")
        for _ in range(2):
            for stream in STREAMS:
                expect(norm(self.client, stream) == self.norms[stream], f"stream {stream}: other norm layers")
            self.server.__exit__(None)
            self.start()
        for stream in STREAMS:  # stored answers too
            for seq in range(REQUESTS):
                said, logits = infer(self.client, stream, seq)
                if said["status"] != 409:  # they were lost, and said to be
                    expect(logits == self.answers[stream, seq], f"stream {stream}, stored answer {seq}: another")
        self.server.__exit__(None)


def images(stream, seq):
    return draw_images(SIZES[seq % len(SIZES)], f"{stream} {seq}")


def infer(client, stream, seq):
    """What a request was told, with its status, and the logits."""
    answer = client.infer(images(stream, seq), {"sequence_id": stream, "seq": seq},
                          outputs=[{"name": "logits", "parameters": {"binary_data": True}}])
    return {"status": answer.status, **answer.json.get("parameters", answer.json)}, answer.binary


def durable_seq(client, stream):
    answer = client.ask("GET", f"/v2/models/fashion/streams/{stream}")
    if answer.status == 404:
        return 0
    expect(answer.status == 200, f"status of {stream}: {answer.status} {answer.body[:300]}")
    return answer.json["durable_seq"]


def norm(client, stream):
    answer = client.ask("GET", f"/v2/models/fashion/streams/{stream}/norm")
    expect(answer.status == 200, f"norm of {stream}: {answer.status} {answer.body[:300]}")
    return answer.body


def undisturbed(folder):
    """The answers to every request, and the norm layers after the last."""
    with Server(*FLAGS, state=str(folder)) as server:
        client = server.client()
        answers = {(stream, seq): infer(client, stream, seq)[1] for seq in range(REQUESTS) for stream in STREAMS}
        return answers, {stream: norm(client, stream) for stream in STREAMS}


def main(library, count, seed):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        wanted = undisturbed(folder / "quiet")
        for durability in "window", "request":
            disk = Disk(library, folder)
            run = Run(disk, folder / "state" / durability, durability, draw, wanted)
            run.run(count)
            run.end()
            expect(disk.failed() > 0, "nothing has failed")
            print(f"--durability {durability}: {count} times broken, {disk.failed()} calls failed with EIO, {run.kills} kills, "
                  f"{run.refused} requests answered and not counted, {run.repeated} sent again after a kill; 0 lost, 0 twice, "
                  "answers and norm layers equal to the byte", flush=True)


main(os.path.abspath(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
