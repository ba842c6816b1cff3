"""Kills `sotta serve` again and again under clients that send again, and expects
nothing to come of it.

usage: kill_serve.py PROGRAM COUNT SEED

Three streams are sent through a server, request by request. It is killed (SIGKILL) at
random moments, COUNT times in all, and started again on the same folder; clients go on
from each stream's durable_seq. Every answer, and in the end every stream's norm layers,
must be to the byte those of a server that nobody disturbed. Both kinds of --durability
take turns; with `request` no answered request may be lost.
"""
import http.client
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading

if len(sys.argv) != 4:
    sys.exit(__doc__)
PROGRAM = sys.argv[1]
MODEL = pathlib.Path(__file__).parents[2] / "models/fashion_resnet8.safetensors"
STREAMS = ["a", "b/c", "ü"]
SIZES = [3, 8, 1, 20, 5]  # images of a request; windows are of 8
REQUESTS = 30
PIXELS = 28 * 28


def expect(condition, problem):
    if not condition:
        sys.exit(problem)


def images_of(stream, seq):
    draw = random.Random(f"{stream} {seq}")
    count = SIZES[seq % len(SIZES)]
    return count, bytes(draw.choices(range(256), k=count * PIXELS))


class Server:
    """A server on a folder; `port` once it listens, None if it was killed before."""

    def __init__(self, state, durability):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", f"m={MODEL}", "--listen", "127.0.0.1:0", "--state", str(state), "--window",
             "8", "--set", "min_confidence=0", "--durability", durability, "--max-resident", "2", "--workers", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self):
        self.port = None
        for line in self.process.stdout:
            found = re.match(r"listening on http://127.0.0.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                return self
        return self

    def end(self, code):
        errors = self.process.communicate()[1]
        expect(self.process.returncode == code, f"exit code {self.process.returncode}, expected {code}: {errors}")


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=b"", headers={}):
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return response, response.read()

    def path(self, stream):
        return "/v2/models/m/streams/" + "".join(f"%{byte:02x}" for byte in stream.encode())

    def status(self, stream):
        response, body = self.ask("GET", self.path(stream))
        return {"next_seq": 0, "durable_seq": 0} if response.status == 404 else json.loads(body)

    def infer(self, stream, seq):
        """The parameters and the logits of an answer."""
        count, pixels = images_of(stream, seq)
        text = json.dumps({
            "parameters": {"sequence_id": stream, "seq": seq},
            "inputs": [{"name": "images", "datatype": "UINT8", "shape": [count, 1, 28, 28],
                        "parameters": {"binary_data_size": len(pixels)}}],
            "outputs": [{"name": "logits", "parameters": {"binary_data": True}}]}).encode()
        response, body = self.ask("POST", "/v2/models/m/infer", text + pixels,
                                  {"Inference-Header-Content-Length": str(len(text))})
        expect(response.status == 200, f"stream {stream}, request {seq}: {response.status} {body[:300]}")
        length = int(response.headers["Inference-Header-Content-Length"])
        return json.loads(body[:length])["parameters"], body[length:]

    def norm(self, stream):
        response, body = self.ask("GET", self.path(stream) + "/norm")
        expect(response.status == 200, f"norm of {stream}: {response.status} {body[:300]}")
        return body


def undisturbed(folder):
    """The answers to every request, and the norm layers after the last."""
    server = Server(folder, "window").wait()
    client = Client(server.port)
    answers = {(stream, seq): client.infer(stream, seq)[1] for seq in range(REQUESTS) for stream in STREAMS}
    norms = {stream: client.norm(stream) for stream in STREAMS}
    server.process.terminate()
    server.end(0)
    return answers, norms


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
        """Raises where the server is gone; whether all is done."""
        todo = {}
        for stream in STREAMS:
            status = client.status(stream)
            todo[stream] = status["durable_seq"]
            lost = self.answered[stream] - status["durable_seq"]
            expect(self.durability == "window" or lost <= 0, f"stream {stream}: {lost} answered requests are lost")
            self.repeated += max(lost, 0)
            if status["durable_seq"] > 0:  # one that is there already is answered again
                seq = status["durable_seq"] - 1
                self.compare(stream, seq, *client.infer(stream, seq))
        while any(seq < REQUESTS for seq in todo.values()):
            stream = self.draw.choice([stream for stream in STREAMS if todo[stream] < REQUESTS])
            self.compare(stream, todo[stream], *client.infer(stream, todo[stream]))
            todo[stream] += 1
        for stream in STREAMS:
            expect(client.norm(stream) == self.norms[stream], f"stream {stream}: other norm layers")

    def kill_one(self):
        """Starts a server and kills it; whether all was sent before."""
        server, killed = Server(self.folder, self.durability), threading.Event()

        def kill():
            killed.set()
            server.process.kill()

        early = self.draw.random() < 0.1
        timer = threading.Timer(self.draw.uniform(0, 0.7), kill)
        if early:
            timer.start()
        server.wait()
        if not early:
            timer.start()
        done = False
        try:
            if server.port is not None:
                self.send_all(Client(server.port))
                done = True
        except (ConnectionError, http.client.HTTPException):
            timer.join()
        timer.cancel()
        timer.join()
        if not killed.is_set():
            server.process.terminate()
        server.end(-9 if killed.is_set() else 0)
        return done


def main(count, seed):
    draw = random.Random(seed)
    kills = runs = repeated = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wanted = undisturbed(folder / "quiet")
        while kills < count:
            run = Run(folder / f"run{runs}", ["window", "request"][runs % 2], draw, wanted)
            while kills < count and not run.kill_one():
                kills += 1
            if kills >= count:  # the last run to its end
                server = Server(run.folder, run.durability).wait()
                run.send_all(Client(server.port))
                server.process.terminate()
                server.end(0)
            runs += 1
            repeated += run.repeated
    print(f"{kills} kills in {runs} runs of {len(STREAMS)} streams; {repeated} requests sent again; "
          "answers and norm layers equal to the byte")


main(int(sys.argv[2]), int(sys.argv[3]))
