"""A fleet of `sotta serve` on loopback: Redis, servers, HAProxy with deploy/haproxy/haproxy.cfg, a
proxy that can be stopped, and clients that send again until every request was answered."""
import array
import hashlib
import http.client
import json
import pathlib
import random
import re
import signal
import socket
import string
import subprocess
import sys
import threading
import time
import typing
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from free_port import free_port  # noqa: E402

SIDE = 28
SIZES = [3, 8, 1, 20, 5]  # images of a request; windows are of 8
LEASE = 4  # seconds; when they have passed nothing has to wait for a server that is gone
LARGE = "large"  # begins the names of streams whose every second request is larger than HAProxy's buffer
MODEL = "/v2/models/fashion"


class Broken(Exception):
    """What must not be."""


def expect(condition, problem):
    if not condition:
        raise Broken(problem)


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, f"waited {seconds} s for {what}")
        time.sleep(0.02)


class Process:
    """A child that is killed at the latest when its fleet ends."""

    def __init__(self, words, log):
        self.log = open(log, "ab")
        self.child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        self.child.kill()
        self.child.wait()

    def runs(self):
        return self.child.poll() is None


class Redis:
    def __init__(self, folder, *options):
        self.port, self.folder, self.options = free_port(), folder, options
        folder.mkdir()
        self.start()

    def start(self):
        self.process = Process(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
                                "--appendonly", "yes", *self.options], self.folder / "log")
        wait_for(lambda: self.ask("PING") == b"+PONG", 20, "Redis")

    def ask(self, *words):
        """The first line of the answer; nothing if there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 2) as connection:
                parts = [str(word).encode() for word in words]
                connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
                return connection.makefile("rb").readline().strip()
        except OSError:
            return b""

    def held(self, streams, servers):
        """Those of the streams whose lease is of the process that these servers run now, by their ports."""
        addresses = {f"http://127.0.0.1:{server.port}": server.port for server in servers}
        with socket.create_connection(("127.0.0.1", self.port), 2).makefile("rwb") as file:
            def ask_all(commands):
                for words in commands:
                    parts = [word.encode() for word in words]
                    file.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
                file.flush()
                return [file.readline().strip() if int(file.readline()[1:]) >= 0 else None for _ in commands]

            registered = ask_all([("GET", f"sotta:server:{{{address}}}") for address in addresses])
            ports = dict(zip(registered, addresses.values()))
            owners = ask_all([("HGET", f"sotta:{{fashion/{escaped(stream)}}}:lease", "owner") for stream in streams])
        return {stream: ports[owner] for stream, owner in zip(streams, owners) if owner and owner in ports}

    def info(self, section, field):
        with socket.create_connection(("127.0.0.1", self.port), 2) as connection:
            connection.sendall(f"INFO {section}\r\n".encode())
            file = connection.makefile("rb")
            text = file.read(int(file.readline()[1:])).decode()
        return re.search(rf"^{field}:(.*?)\r?$", text, re.M)[1]


def escaped(stream):
    """A stream's name as keys and files have it."""
    return "".join(chr(byte) if chr(byte) in string.ascii_letters + string.digits + "-_" else f"%{byte:02X}" for byte in stream.encode())


class Link:
    """Relays connections to a port, which may change, unless it is cut."""

    def __init__(self, target):
        self.target, self.cut = target, False
        self.listener = socket.create_server(("127.0.0.1", free_port()))
        self.port = self.listener.getsockname()[1]
        self.sockets = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.target), 2)
            except OSError:
                if self.listener.fileno() < 0:
                    return
                near.close()
                continue
            for one, other in (near, far), (far, near):
                self.sockets.add(one)
                threading.Thread(target=self.relay, args=(one, other), daemon=True).start()

    def relay(self, one, other):
        try:
            while data := one.recv(1 << 16):
                while self.cut:
                    time.sleep(0.02)
                other.sendall(data)
        except OSError:
            pass
        for each in one, other:
            each.close()
            self.sockets.discard(each)

    def lead_to(self, port):
        """Connections that are open end."""
        self.target = port
        for each in list(self.sockets):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Server:
    def __init__(self, program, folder, redis_port, *flags, window=8):
        self.window = window
        self.program, self.folder, self.redis_port, self.flags = program, folder, redis_port, flags
        self.port, self.stopped, self.fenced, self.lost = free_port(), False, 0, 0
        self.counted = {}
        self.start()

    def start(self):
        address = f"127.0.0.1:{self.port}"
        self.process = Process(
            [self.program, "serve", "--model", f"fashion={ROOT}/models/fashion_resnet8.safetensors", "--listen", address,
             "--state", f"redis://127.0.0.1:{self.redis_port}/0", "--advertise", f"http://{address}", "--window", self.window,
             "--set", "min_confidence=0", "--threads", 1, "--drain-seconds", 2, *self.flags], self.folder / f"server{self.port}.log")
        self.stopped = False

    def is_ready(self):
        try:
            return ask(self.port, "GET", "/v2/health/ready", timeout=2)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill(self):
        self.note_counts()
        if self.stopped:
            self.process.signal(signal.SIGCONT)
        self.process.kill()

    def stop(self):
        self.process.signal(signal.SIGSTOP)
        self.stopped = True

    def go_on(self):
        self.process.signal(signal.SIGCONT)
        self.stopped = False

    def note_counts(self):
        """Adds what was counted since the last look, by this process."""
        if self.stopped or not self.process.runs():
            return
        try:
            text = ask(self.port, "GET", "/metrics", timeout=5)[2].decode()
        except (OSError, http.client.HTTPException):
            return
        for name in "fenced_saves", "lost_streams", "forwarded_requests", "claims":
            value = int(re.search(rf"^sotta_fleet_{name}_total (\d+)$", text, re.M)[1])
            self.counted[self.process.child.pid, name] = value

    def count(self, name):
        return sum(value for (_, each), value in self.counted.items() if each == name)


class Balancer:
    """HAProxy with the configuration of deploy/, on these ports."""

    def __init__(self, folder, ports):
        self.port = free_port()
        text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        for old, new in zip([8000, 8001, 8002, 8003], [self.port, *ports]):
            text = text.replace(f"127.0.0.1:{old}\n", f"127.0.0.1:{new} \n")
        (folder / "haproxy.cfg").write_text(text)
        self.process = Process(["haproxy", "-db", "-f", folder / "haproxy.cfg"], folder / "haproxy.log")


def ask(port, method, path, body=b"", headers={}, timeout=10):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def draw_images(stream, seq):
    """Pixels, their type and the number of images."""
    large = stream.startswith(LARGE) and seq % 2 == 0
    count = 100 if large else SIZES[seq % len(SIZES)]
    pixels = random.Random(f"{stream} {seq}").randbytes(count * SIDE * SIDE)
    return (array.array("f", [pixel / 255 for pixel in pixels]).tobytes(), "FP32", count) if large else (pixels, "UINT8", count)


def infer_message(stream, seq):
    pixels, datatype, count = draw_images(stream, seq)
    text = json.dumps({
        "parameters": {"sequence_id": stream, "seq": seq},
        "inputs": [{"name": "images", "datatype": datatype, "shape": [count, 1, SIDE, SIDE],
                    "parameters": {"binary_data_size": len(pixels)}}],
        "outputs": [{"name": "logits", "parameters": {"binary_data": True}}]}).encode()
    return text + pixels, {"Inference-Header-Content-Length": str(len(text)), "Sotta-Stream": stream.encode().decode("latin-1"),
                           "Sotta-Seq": str(seq)}


def read_answer(headers, body):
    """The parameters of an answer, and what its logits are, in few bytes."""
    length = int(headers["Inference-Header-Content-Length"])
    return json.loads(body[:length])["parameters"], hashlib.sha256(body[length:]).digest()


class Wait(typing.NamedTuple):
    """A request that was not answered at once; `before` is when the stream's last one was answered."""
    stream: str
    before: float
    begin: float
    end: float


def judged_wait(wait, events):
    """How long it took from the last disturbance that the stream met: (when, streams, what) are all there were. Of those before
    the last answer the stream has gone on from that came a second later; without any the request's own time counts."""
    met = [when for when, hit, _ in events if max(wait.before - 1, wait.begin - LEASE) < when < wait.end and wait.stream in hit]
    return wait.end - max(met, default=wait.begin)


class Client(threading.Thread):
    """Sends one stream request by request, each again until it was answered; minds next_seq. What
    was durable must stay so. When it is to end it sends one more, which a loss would show by."""

    def __init__(self, port, stream, pause, seed):
        super().__init__(daemon=True)
        self.port, self.stream, self.pause, self.draw = port, stream, pause, random.Random(seed)
        self.seq = self.sent = self.durable = self.repeated = 0  # `sent` is behind the last that ever was
        self.answers, self.failures, self.waits = {}, [], []
        self.answered = 0  # when it was answered last
        self.problem, self.ended = None, threading.Event()
        self.connection = None

    def run(self):
        try:
            time.sleep(self.draw.uniform(0, self.pause))
            while not self.ended.is_set():
                self.send_next()
                self.ended.wait(self.draw.uniform(0, 2 * self.pause))
            time.sleep(self.draw.uniform(0, self.pause / 2))  # not all at once
            self.send_next()
        except Broken as problem:
            self.problem = f"stream {self.stream}: {problem}"
        except Exception as problem:  # not to be mistaken for a client that has ended well
            self.problem = f"stream {self.stream}: {problem!r}"

    def send_next(self):
        begin, tries, before = time.monotonic(), 0, self.answered
        body, headers = infer_message(self.stream, self.seq)
        while not self.try_once(body, headers):
            tries += 1
            expect(time.monotonic() - begin < 90, f"request {self.seq} was not answered in 90 s: {self.failures[-3:]}")
            time.sleep(0.1)
            body, headers = infer_message(self.stream, self.seq)  # it may have gone back
        self.answered = time.monotonic()
        if tries or self.answered - begin > 1:
            self.waits.append(Wait(self.stream, before, begin, self.answered))

    def try_once(self, body, headers):
        """Whether the request was answered and counted."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            self.sent = max(self.sent, self.seq + 1)
            self.connection.request("POST", MODEL + "/infer", body, headers)
            response = self.connection.getresponse()
            status, answer_headers, content = response.status, response.headers, response.read()
        except (OSError, http.client.HTTPException) as problem:
            self.connection.close()
            self.connection = None
            self.failures.append((time.monotonic(), repr(problem)))
            return False
        if status == 409:
            self.go_back(json.loads(content)["next_seq"])
            return False
        if status != 200:
            expect(status in (502, 503, 504), f"status {status}: {content[:200]}")
            self.failures.append((time.monotonic(), f"{status} {content[:200]!r}"))
            return False
        parameters, logits = read_answer(answer_headers, content)
        if parameters.get("frozen"):
            self.failures.append((time.monotonic(), parameters["frozen"]))
            self.go_back(parameters["next_seq"])
            return False
        expect(self.answers.setdefault(self.seq, logits) == logits, f"request {self.seq}: two answers that differ")
        expect(parameters["durable_seq"] >= self.durable, f"durable_seq {self.durable} became {parameters['durable_seq']}")
        self.durable = parameters["durable_seq"]
        self.seq += 1
        return True

    def go_back(self, next_seq):
        expect(next_seq >= self.durable, f"next_seq is {next_seq}, {self.durable} were durable")
        self.repeated += max(0, self.seq - next_seq)
        self.seq = min(self.seq, next_seq)

    def compare(self, found, answers, wanted):
        """Where the stream stands, with the answers and the standing of a server that nobody disturbed, after as many
        requests. The stream may be ahead of this client, which went back, by requests that a stopped server held: they
        count in their turn, and once."""
        expect(self.seq <= found.next_seq, f"{self.seq} requests were answered, {self.seq - found.next_seq} of them are lost")
        expect(found.next_seq <= self.sent, f"next_seq is {found.next_seq}, but {self.sent} requests were sent")
        expect(all(seq in self.answers for seq in range(self.seq)), "a request was never answered")
        expect(all(self.answers.get(seq, answer) == answer for seq, answer in enumerate(answers)), "other answers")
        expect(found.next_seq == wanted.next_seq, f"next_seq is {found.next_seq}, not {wanted.next_seq}")
        expect(found.images == wanted.images, f"{found.images} images learnt from, not {wanted.images}")
        expect(found.norm == wanted.norm, "other norm layers")


class Standing(typing.NamedTuple):
    """Where a stream stands."""
    next_seq: int
    images: int  # learnt from
    norm: bytes


def standing(port, stream):
    """All of one moment: a request that comes between is waited for."""
    path = MODEL + "/streams/" + urllib.parse.quote(stream, safe="")
    for _ in range(20):
        layers, status = ask_until_answered(port, path + "/norm"), json.loads(ask_until_answered(port, path))
        found = Standing(status["next_seq"], status["images"], layers)
        if ask_until_answered(port, path + "/norm") == layers:
            return found
    raise Broken(f"stream {stream}: its norm layers change without requests")


def ask_until_answered(port, path):
    for _ in range(100):
        try:
            status, _, body = ask(port, "GET", path, timeout=60)
        except (OSError, http.client.HTTPException) as problem:
            status, body = 0, repr(problem)
        if status == 200:
            return body
        time.sleep(0.2)
    raise Broken(f"{path}: {status} {body[:200]}")


def undisturbed(program, folder, requests):
    """Answers and standings of one server alone: {stream: count} requests."""
    port = free_port()
    server = Process([program, "serve", "--model", f"fashion={ROOT}/models/fashion_resnet8.safetensors", "--listen",
                      f"127.0.0.1:{port}", "--state", folder / "quiet", "--window", 8, "--set", "min_confidence=0",
                      "--threads", 1, "--max-resident", 4], folder / "quiet.log")
    try:
        wait_for(lambda: connects(port), 60, "the server alone")
        wanted = {}
        for stream, count in requests.items():
            answers = []
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for seq in range(count):
                connection.request("POST", MODEL + "/infer", *infer_message(stream, seq))
                response = connection.getresponse()
                answers.append(read_answer(response.headers, response.read())[1])
            connection.close()
            wanted[stream] = answers, standing(port, stream)
        return wanted
    finally:
        server.kill()


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False
