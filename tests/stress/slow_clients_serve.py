"""slow_clients_serve.py PROGRAM CONNECTIONS SECONDS: what others notice of clients that send one
byte at a time.

A third of them sends headers, a third a body, a third chunks of one byte with long extensions; one
that the server closes comes again. Every request of the others must be answered, and the memory of
the server must stay flat; their times are printed, without and with slow clients."""
import os
import resource
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/cli"))
os.environ["SOTTA_BIN"], os.environ["SOTTA_ROOT"] = os.path.abspath(sys.argv[1]), ROOT
from serve_client import Server, draw_images  # noqa: E402
import socket  # noqa: E402

POST = b"POST /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\n"
KINDS = [  # what is sent at once, and what follows byte by byte
    (b"", POST + b"X: " + b"x" * 10000),
    (POST + b"Content-Length: 100000\r\n\r\n", b"[" * 100000),
    (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 1000 + b"\r\n[\r\n"),
]


class SlowClients:
    def __init__(self, port, count):
        self.port, self.reopened, self.ended = port, 0, False
        self.clients = [None] * count
        self.thread = threading.Thread(target=self.run)

    def open(self, number):
        first, rest = KINDS[number % len(KINDS)]
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(first)
        connection.setblocking(False)
        self.clients[number] = [connection, rest, 0]

    def send_one(self, number):
        connection, rest, at = self.clients[number]
        try:
            connection.send(rest[at % len(rest):at % len(rest) + 1])
            self.clients[number][2] += 1
        except BlockingIOError:
            pass
        except OSError:  # the server has closed it
            connection.close()
            self.reopened += 1
            self.open(number)

    def run(self):
        while not self.ended:
            for number in range(len(self.clients)):
                self.send_one(number)
            time.sleep(0.5)

    def __enter__(self):
        for number in range(len(self.clients)):
            self.open(number)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        for connection, *_ in self.clients:
            connection.close()


def measure(server, seconds):
    """Milliseconds that health and single images take, one after the other, each asked for at
    least 20 times."""
    client, pixels, times = server.client(), draw_images(1, 1), {"health": [], "infer": []}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times["infer"]) < 20:
        for kind, ask in ("health", lambda: client.ask("GET", "/v2/health/live")), ("infer", lambda: client.infer(pixels)):
            begin = time.perf_counter()
            status = ask().status
            times[kind].append(1000 * (time.perf_counter() - begin))
            assert status == 200, f"{kind}: {status}"
    return times


def show(what, times):
    for kind, values in times.items():
        values.sort()
        print(f"{what} {kind}: {len(values)} requests, p50 {values[len(values) // 2]:.2f} ms, "
              f"p99 {values[len(values) * 99 // 100]:.2f} ms, most {values[-1]:.2f} ms")


def resident_kb(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def main():
    count, seconds = int(sys.argv[2]), float(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as state, Server(state=state) as server:
        show("alone", measure(server, seconds / 4))
        before = resident_kb(server)
        with SlowClients(server.port, count) as slow:
            show(f"beside {count} slow connections", measure(server, seconds))
            taken = resident_kb(server) - before
            print(f"{taken} KB for them, {slow.reopened} were closed by the server and came again")
            assert taken < (32 << 10) + 32 * count, f"{taken} KB for {count} connections"
        show("afterwards", measure(server, seconds / 4))


if __name__ == "__main__":
    main()
