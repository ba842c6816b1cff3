#!/usr/bin/env python3
"""Loads `sotta serve` and prints one table per subcommand; each starts a server of its own.

    python3 bench/serve_load.py windows            # windows of 64 over HTTP beside the library
    python3 bench/serve_load.py latency            # single images while updates run, strict and prompt
    python3 bench/serve_load.py batch              # 64 streams x 1 image with and without --batch-streams
    python3 bench/serve_load.py batch --device cuda --model cifar10_resnet18.safetensors --side 32
    python3 bench/serve_load.py overload --seconds 600
    python3 bench/serve_load.py idle               # health beside 1,000 idle connections
    python3 bench/serve_load.py streams            # 10,000 streams, 200 in memory

Everything is selected (min_confidence 0), so that every update is a full one. A response that is
not to be expected ends the program with code 1; times never do.
"""
import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, "build/release/bin")
os.environ.setdefault("SOTTA_BIN", os.path.join(BIN, "sotta"))
os.environ.setdefault("SOTTA_ROOT", ROOT)
sys.path.insert(0, os.path.join(ROOT, "tests/cli"))
from serve_client import MODEL, SIDE, Server, draw_images  # noqa: E402

WINDOW = 64
EVERYTHING = ["--method", "sotta", "--set", "min_confidence=0"]  # as serve_windows.cpp


@contextlib.contextmanager
def serve(*flags, **model):
    """A server with its state in a folder that goes with it."""
    with tempfile.TemporaryDirectory() as state:
        with Server(*EVERYTHING, *flags, state=state, **model) as server:
            yield server


def resident_mb(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def processor_seconds(process):
    """Of all its threads so far."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def infer_request(pixels, shape=(1, SIDE), **parameters):
    """The bytes of a request, answered with labels alone; `shape`: an image's channels and side."""
    channels, side = shape
    text = json.dumps({
        "parameters": parameters,
        "inputs": [{"name": "images", "datatype": "UINT8",
                    "shape": [len(pixels) // (channels * side**2), channels, side, side],
                    "parameters": {"binary_data_size": len(pixels)}}],
        "outputs": [{"name": "label", "parameters": {"binary_data": True}}]}).encode()
    head = (f"POST /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text) + len(pixels)}\r\n"
            f"Inference-Header-Content-Length: {len(text)}\r\n\r\n").encode()
    return head + text + pixels


def get_request(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def parse_head(head):
    """Status, length of the body, length of its JSON."""
    lines = head.split(b"\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines[1:])}
    length = int(fields[b"content-length"])
    return int(lines[0].split()[1]), length, int(fields.get(b"inference-header-content-length", length))


class Connection:
    """Blocking, kept alive."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.read = b""

    def send(self, request):
        self.socket.sendall(request)

    def receive(self):
        """Status and JSON, as bytes."""
        while b"\r\n\r\n" not in self.read:
            self.fill()
        head, _, self.read = self.read.partition(b"\r\n\r\n")
        status, length, json_length = parse_head(head)
        while len(self.read) < length:
            self.fill()
        body, self.read = self.read[:length], self.read[length:]
        return status, body[:json_length]

    def fill(self):
        part = self.socket.recv(1 << 16)
        if not part:
            sys.exit("the server has closed a connection")
        self.read += part

    def ask(self, request):
        self.send(request)
        return self.receive()

    def infer(self, pixels, **parameters):
        """The parameters of an answer that must be there."""
        status, text = self.ask(infer_request(pixels, **parameters))
        if status != 200:
            sys.exit(f"{status} {text.decode()}")
        return json.loads(text)["parameters"]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def milliseconds(values, share):
    return f"{1e3 * percentile(values, share):.2f}"


def table(columns, rows):
    cells = [columns, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    cells.insert(1, ["-" * width for width in widths])
    for row in cells:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    sys.stdout.flush()


def windows(flags):
    """Windows of 64 images over HTTP and in-process, taking turns; the median of the ratios.

    Processor time, of all windows together, is what a busy machine leaves to compare. The stream begins
    with `stored` answers, which are saved with its updates."""
    threads = str(flags.threads)
    bodies = [draw_images(WINDOW, seed) for seed in range(16)]
    library = subprocess.Popen([os.path.join(BIN, "serve_windows"), MODEL, threads], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": threads})

    def in_process(count):
        library.stdin.write(f"{count}\n")
        library.stdin.flush()
        return float(library.stdout.readline())

    def over_http(count):
        begin = time.monotonic()
        for i in range(count):
            connection.infer(bodies[i % len(bodies)], sequence_id="a")
        connection.ask(get_request("/v2/models/fashion/streams/a"))  # behind the last update
        return time.monotonic() - begin

    with serve("--threads", threads, "--workers", "1") as server:
        connection = Connection(server.port)
        for i in range(flags.stored):
            connection.infer(bodies[i % len(bodies)], sequence_id="a", adapt=False)
        over_http(flags.windows), in_process(flags.windows)
        before = processor_seconds(library), processor_seconds(server.process)
        seconds = [(in_process(flags.windows), over_http(flags.windows)) for _ in range(flags.rounds)]
        busy = processor_seconds(library) - before[0], processor_seconds(server.process) - before[1]
    library.stdin.close()
    library.wait()
    images = WINDOW * flags.windows
    rates = [statistics.median(images / pair[side] for pair in seconds) for side in (0, 1)]
    ratios = [inside / http for inside, http in seconds]
    table(["threads", "in-process, images/s", "HTTP, images/s", "HTTP over in-process", "lowest to highest",
           "by processor time"],
          [[threads, f"{rates[0]:.0f}", f"{rates[1]:.0f}", f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}", f"{busy[0] / busy[1]:.2f}"]])


def latency(flags):
    """Single images of one stream, one after another, with an update after every 64."""
    rows, pixels = [], [draw_images(1, seed) for seed in range(WINDOW)]
    for answer in flags.answer:
        with serve(*([] if answer == "strict" else ["--answer", answer]), "--threads", str(flags.threads)) as server:
            connection, taken = Connection(server.port), []
            for seq in range(flags.requests):
                request = infer_request(pixels[seq % WINDOW], sequence_id="a", seq=seq)
                begin = time.monotonic()
                status, text = connection.ask(request)
                taken.append(time.monotonic() - begin)
                if status != 200:
                    sys.exit(f"{status} {text.decode()}")
                time.sleep(flags.pause)
            status = server.client().status("a")
        taken = taken[2 * WINDOW:] or taken
        p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
        rows.append([answer, flags.requests, status["updates"], status.get("skipped", 0), milliseconds(taken, 0.5),
                     milliseconds(taken, 0.99), milliseconds(taken, 1), f"{p99 / p50:.1f}"])
    table(["answer", "requests", "updates", "skipped", "p50, ms", "p99, ms", "most, ms", "p99 over p50"], rows)


def network_of(flags):
    """The network that `batch` serves: what the server is told, and an image's channels and side."""
    if not flags.model:
        return {}, (1, SIDE)
    with tempfile.TemporaryDirectory() as state, Server(state=state, model=f"fashion={flags.model}") as server:
        channels = server.client().ask("GET", "/v2/models/fashion").json["inputs"][0]["shape"][1]
    return {"model": f"fashion={flags.model}"}, (channels, flags.side)


def images_per_second(server, adapt, shape, flags):
    """Has each stream keep a request of one image in the air; images/s, and p50 and p99 of an answer's time in ms."""
    requests = b""
    for number in range(flags.streams):
        pixels = random.Random(number).randbytes(shape[0] * shape[1]**2)
        request = infer_request(pixels, shape, sequence_id=f"s{number}", adapt=adapt)
        requests += f"{len(request)}\n".encode() + request
    clients = subprocess.run([os.path.join(BIN, "serve_clients"), str(server.port), str(flags.clients), str(flags.warm_up),
                              str(flags.seconds)], input=requests, capture_output=True)
    if clients.returncode != 0:
        sys.exit(clients.stderr.decode())
    answers, median, slow = clients.stdout.split()
    return int(answers) / flags.seconds, float(median), float(slow)


def batch(flags):
    """Streams that each keep one request of one image in the air, learning and not."""
    model, shape = network_of(flags)
    common = ["--device", flags.device, "--threads", str(flags.threads), "--precision", flags.precision]
    found = collections.defaultdict(list)
    adapting = [name == "learning" for name in flags.they]
    for _ in range(flags.rounds):
        for adapt in adapting:
            for batched in False, True:
                with serve(*common, *(["--batch-streams"] if batched else []), **model) as server:
                    found[adapt, batched].append(images_per_second(server, adapt, shape, flags))
    rows = []
    for adapt in adapting:
        (plain, *plain_ms), (batched, *batched_ms) = (map(statistics.median, zip(*found[adapt, batched]))
                                                      for batched in (False, True))
        rows.append([flags.device, flags.streams, "learning" if adapt else "predicting", f"{plain:.0f}",
                     f"{batched:.0f}", f"{batched / plain:.2f}", *(f"{p50:.2f}, {p99:.2f}" for p50, p99 in (plain_ms, batched_ms))])
    table(["device", "streams", "they are", "plain, images/s", "--batch-streams, images/s", "ratio", "plain: p50, p99, ms",
           "batched"], rows)


class Pool:
    """Connections of an event loop: as many as requests are in the air at once."""

    def __init__(self, port):
        self.port, self.idle, self.statuses = port, [], collections.Counter()
        self.times = []

    async def ask(self, request):
        begin = time.monotonic()
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        status, length, _ = parse_head((await reader.readuntil(b"\r\n\r\n"))[:-4])
        await reader.readexactly(length)
        self.idle.append((reader, writer))
        self.statuses[status] += 1
        if status == 200:
            self.times.append(time.monotonic() - begin)
        return status

    async def at_rate(self, requests, rate, seconds):
        """So many per second, whether the ones before are answered or not."""
        begin, tasks = time.monotonic(), set()
        sent = 0
        while time.monotonic() - begin < seconds:
            while sent < rate * (time.monotonic() - begin) and len(tasks) < 4000:
                task = asyncio.create_task(self.ask(requests[sent % len(requests)]))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                sent += 1
            await asyncio.sleep(0.002)
        await asyncio.gather(*tasks)
        return sent

    async def closed_loop(self, requests, seconds):
        """Eight at a time; requests per second."""
        begin = time.monotonic()

        async def loop(number):
            count = 0
            while time.monotonic() - begin < seconds:
                await self.ask(requests[(number + 8 * count) % len(requests)])
                count += 1
            return count

        done = sum(await asyncio.gather(*[loop(number) for number in range(8)]))
        return done / (time.monotonic() - begin)


def overload(flags):
    """Four times what the server can do, requests of 16 images to 16 streams, some with a timeout.

    Streams begin with `stored` answers, of which they keep 1,024: else these are what memory grows by."""
    requests = [infer_request(draw_images(16, i), sequence_id=f"s{i % 16}", **({"timeout": 100000} if i % 4 == 0 else {}))
                for i in range(64)]

    async def run(server):
        filled = [infer_request(draw_images(16, i), sequence_id=f"s{i}", adapt=False) for i in range(16)]
        pool = Pool(server.port)
        for _ in range(flags.stored):
            await asyncio.gather(*[pool.ask(request) for request in filled])
        capacity = await pool.closed_loop(requests, flags.warm_up)
        normal = Pool(server.port)
        await normal.at_rate(requests, capacity / 4, flags.warm_up)
        memory = [resident_mb(server)]
        pool = Pool(server.port)
        sent = 0
        for _ in range(4):
            sent += await pool.at_rate(requests, 4 * capacity, flags.seconds / 4)
            memory.append(resident_mb(server))
        ended = time.monotonic()
        after, recovered = Pool(server.port), None
        while recovered is None and time.monotonic() - ended < 60:
            after.times = []
            await after.at_rate(requests, capacity / 4, flags.warm_up / 4)
            if after.times and percentile(after.times, 0.5) < 2 * percentile(normal.times, 0.5):
                recovered = time.monotonic() - ended
        return capacity, sent, pool.statuses, memory, normal.times, recovered

    with serve("--max-waiting", "256") as server:
        capacity, sent, statuses, memory, normal, recovered = asyncio.run(run(server))
    table(["capacity, requests/s", "sent/s", *map(str, sorted(statuses)), "MB at each quarter", "normal p50, ms",
           "normal again after, s"],
          [[f"{capacity:.0f}", f"{sent / flags.seconds:.0f}", *[statuses[status] for status in sorted(statuses)],
            " ".join(f"{mb:.0f}" for mb in memory), milliseconds(normal, 0.5),
            "never" if recovered is None else f"{recovered:.1f}"]])
    if not set(statuses) <= {200, 429, 503, 504}:
        sys.exit("other statuses than 200, 429, 503 and 504")


def idle(flags):
    """Questions for health beside connections that have asked once and say no more."""
    health, rows = get_request("/v2/health/live"), []
    with serve("--max-connections", str(flags.connections + 16)) as server:
        asking, others = Connection(server.port), []
        for count in 0, flags.connections:
            others = [Connection(server.port) for _ in range(count)]
            for other in others:
                other.ask(health)
            taken = []
            for _ in range(flags.requests):
                begin = time.monotonic()
                status, _ = asking.ask(health)
                taken.append(time.monotonic() - begin)
                if status != 200:
                    sys.exit(f"health is {status}")
            rows.append([count, flags.requests, milliseconds(taken, 0.5), milliseconds(taken, 0.99),
                         milliseconds(taken, 1), f"{resident_mb(server):.0f}"])
    table(["idle connections", "requests", "p50, ms", "p99, ms", "most, ms", "MB"], rows)


def streams(flags):
    """Each of many streams is asked, again and again; most are on disk in between."""
    pixels, rows = draw_images(flags.images, 1), []
    with serve("--max-streams", str(flags.streams), "--max-resident", str(flags.resident)) as server:
        connection = Connection(server.port)
        for turn in range(flags.turns):
            begin = time.monotonic()
            for number in range(flags.streams):
                found = connection.infer(pixels, sequence_id=f"s{number}", seq=turn)["next_seq"]
                if found != turn + 1:
                    sys.exit(f"stream {number}: next_seq {found}, expected {turn + 1}")
                if number in (flags.resident, flags.streams - 1):
                    rows.append([turn, number + 1, f"{(number + 1) / (time.monotonic() - begin):.0f}",
                                 f"{resident_mb(server):.0f}"])
    table(["turn", "streams asked", "streams/s", "MB"], rows)


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(run, **numbers):
        sub = commands.add_parser(run.__name__, help=run.__doc__)
        sub.set_defaults(run=run)
        for name, value in numbers.items():
            sub.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
        return sub

    command(windows, windows=20, rounds=7, threads=1, stored=0)
    command(latency, requests=6400, threads=2, pause=0.0).add_argument(
        "--answer", nargs="+", default=["strict", "prompt"])
    command(batch, streams=64, seconds=5.0, warm_up=1.0, rounds=3, clients=1, threads=0, device="cpu", precision="fp32",
            model="", side=32).add_argument("--they", nargs="+", choices=["predicting", "learning"],
                                            default=["predicting", "learning"])
    command(overload, seconds=20.0, warm_up=2.0, stored=1024)
    command(idle, connections=1000, requests=2000)
    command(streams, streams=10000, resident=200, images=1, turns=2)
    return parser.parse_args()


if __name__ == "__main__":
    given = parse_flags()
    given.run(given)
