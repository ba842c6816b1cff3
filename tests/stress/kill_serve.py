"""Kills `sotta serve` again and again under clients that send again, and expects
nothing to come of it.

usage: kill_serve.py PROGRAM COUNT SEED

Three streams are sent through a server, request by request. It is killed (SIGKILL) at
random moments, COUNT times in all, and started again on the same folder; clients go on
from each stream's durable_seq. Every answer, and in the end every stream's norm layers,
must be to the byte those of a server that nobody disturbed. One of the streams stops
learning and is saved by the number of its images from then on. Both kinds of --durability
take turns, `window` first where SEED is even; with `request` no answered request may be
lost.
"""
import collections
import http.client
import os
import pathlib
import random
import sys
import tempfile
import threading
import urllib.parse

if len(sys.argv) != 4:
    sys.exit(__doc__)
os.environ["SOTTA_BIN"] = os.path.abspath(sys.argv[1])
os.environ["SOTTA_ROOT"] = str(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, os.environ["SOTTA_ROOT"] + "/tests/cli")
from serve_client import Server, draw_images  # noqa: E402

STREAMS = ["a", "b/c", "ü"]
SIZES = [3, 8, 1, 20, 5]  # images of a request; windows are of 8
REQUESTS = 30
FIRST_PREDICTED = {"ü": 10}  # requests from here on are predicted alone
FLAGS = ["--window", "8", "--set", "min_confidence=0", "--max-resident", "2", "--workers", "2"]


def expect(condition, problem):
    if not condition:
        sys.exit(problem)


def start(folder, durability, wait=True):
    return Server(*FLAGS, "--durability", durability, state=str(folder), wait=wait)


def path_of(stream):
    return "/v2/models/fashion/streams/" + urllib.parse.quote(stream, safe="")


def infer(client, stream, seq):
    """The parameters and the logits of an answer."""
    pixels = draw_images(SIZES[seq % len(SIZES)], f"{stream} {seq}")
    adapt = seq < FIRST_PREDICTED.get(stream, REQUESTS)
    answer = client.infer(pixels, {"sequence_id": stream, "seq": seq, "adapt": adapt},
                          outputs=[{"name": "logits", "parameters": {"binary_data": True}}])
    expect(answer.status == 200, f"stream {stream}, request {seq}: {answer.status} {answer.body[:300]}")
    return answer.json["parameters"], answer.binary


def norm(client, stream):
    answer = client.ask("GET", path_of(stream) + "/norm")
    expect(answer.status == 200, f"norm of {stream}: {answer.status} {answer.body[:300]}")
    return answer.body


def durable_seq(client, stream):
    answer = client.ask("GET", path_of(stream))
    return 0 if answer.status == 404 else answer.json["durable_seq"]


def undisturbed(folder):
    """The answers to every request, and the norm layers after the last."""
    with start(folder, "window") as server:
        client = server.client()
        answers = {(stream, seq): infer(client, stream, seq)[1] for seq in range(REQUESTS) for stream in STREAMS}
        return answers, {stream: norm(client, stream) for stream in STREAMS}


class Run:
    """One passage of all streams through servers that are killed."""

    def __init__(self, folder, durability, draw, wanted):
        self.folder, self.durability, self.draw = folder, durability, draw
        self.answers, self.norms = wanted
        self.answered = dict.fromkeys(STREAMS, 0)  # the most that was ever answered
        self.repeated = 0

    def compare(self, stream, seq, parameters, logits):
        expect(logits == self.answers[stream, seq], f"stream {stream}, request {seq}: another answer")
        if self.durability == "request":
            expect(parameters["durable_seq"] == parameters["next_seq"], f"stream {stream}, request {seq}: not durable")
        self.answered[stream] = max(self.answered[stream], seq + 1)

    def send_all(self, client):
        """Raises where the server is gone."""
        todo = {}
        for stream in STREAMS:
            todo[stream] = durable_seq(client, stream)
            lost = self.answered[stream] - todo[stream]
            expect(self.durability == "window" or lost <= 0, f"stream {stream}: {lost} answered requests are lost")
            self.repeated += max(lost, 0)
            if todo[stream] > 0:  # those that are there already are answered again
                for seq in todo[stream] - 1, self.draw.randrange(todo[stream]):
                    self.compare(stream, seq, *infer(client, stream, seq))
        while any(seq < REQUESTS for seq in todo.values()):
            stream = self.draw.choice([stream for stream in STREAMS if todo[stream] < REQUESTS])
            self.compare(stream, todo[stream], *infer(client, stream, todo[stream]))
            todo[stream] += 1
        for stream in STREAMS:
            expect(norm(client, stream) == self.norms[stream], f"stream {stream}: other norm layers")

    def kill_one(self):
        """Starts a server and kills it; whether all was sent before."""
        server, killed = start(self.folder, self.durability, wait=False), threading.Event()

        def kill():
            killed.set()
            server.process.kill()

        early = self.draw.random() < 0.1
        timer = threading.Timer(self.draw.uniform(0, 0.7), kill)
        if early:
            timer.start()
        listens = server.wait()
        if not early:
            timer.start()
        done = False
        try:
            if listens:
                self.send_all(server.client())
                done = True
        except (ConnectionError, http.client.HTTPException):
            timer.join()
        timer.cancel()
        timer.join()
        if not killed.is_set():
            server.process.terminate()
        server.end(-9 if killed.is_set() else 0)
        return done

    def end(self):
        """Undisturbed from here."""
        with start(self.folder, self.durability) as server:
            self.send_all(server.client())


def main(count, seed):
    draw = random.Random(seed)
    kills, runs, repeated = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wanted = undisturbed(folder / "quiet")
        while kills.total() < count:
            run = Run(folder / f"run{runs}", ["window", "request"][(seed + runs) % 2], draw, wanted)
            while kills.total() < count and not run.kill_one():
                kills[run.durability] += 1
            run.end()
            runs += 1
            repeated += run.repeated
    print(f"{kills.total()} kills ({kills['window']} with --durability window, {kills['request']} with request) in {runs} "
          f"runs of {len(STREAMS)} streams; {repeated} requests sent again, 0 answered ones lost with request; all "
          f"answers, and norm layers of {len(STREAMS) * runs} streams, equal to the byte")


main(int(sys.argv[2]), int(sys.argv[3]))
