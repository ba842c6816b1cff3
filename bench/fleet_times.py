#!/usr/bin/env python3
"""Measures what a server and Redis spend on a stream, for bench/fleet_simulation.cpp.

    python3 bench/fleet_times.py build/release/bin/sotta times.txt [WINDOWS]

One server, one Redis on loopback, one stream after the other: single images in windows of 64, everything
selected so that every update is a full one. Writes lines "name number ...", seconds or bytes:
answer, update (with what saving takes of the server), redis_claim, redis_load, redis_save (time of Redis
itself, as its commandstats count it), snapshot_bytes, resident_bytes (of the server, per stream in memory).
"""
import http.client
import os
import pathlib
import re
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/stress"))
import fleet  # noqa: E402

WINDOW = 64
fleet.SIZES = [1]


def resident_bytes(server):
    with open(f"/proc/{server.process.child.pid}/status") as file:
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def microseconds(redis, command):
    """Calls of a command and the time they took, so far."""
    try:
        text = redis.info("commandstats", f"cmdstat_{command}")
    except TypeError:
        return 0, 0
    return int(re.search(r"calls=(\d+)", text)[1]), int(re.search(r"usec=(\d+)", text)[1])


def per_call(redis, command, work):
    calls, before = microseconds(redis, command)
    work()
    calls_after, after = microseconds(redis, command)
    return (after - before) / 1e6 / max(1, calls_after - calls)


def main(program, out, windows):
    times = {"answer": [], "update": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        redis = fleet.Redis(folder / "redis")
        server = fleet.Server(program, folder, redis.port, "--max-resident", 1000, window=WINDOW)
        fleet.wait_for(server.is_ready, 120, "the server")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

        def send(stream, seq):
            body, headers = fleet.infer_message(stream, seq)
            begin = time.perf_counter()
            connection.request("POST", fleet.MODEL + "/infer", body, headers)
            response = connection.getresponse()
            response.read()
            fleet.expect(response.status == 200, f"status {response.status}")
            return time.perf_counter() - begin

        for seq in range(WINDOW):  # the first of everything
            send("warm", seq)
        fleet.ask_until_answered(server.port, fleet.MODEL + "/streams/warm")
        memory = resident_bytes(server)

        def run_windows():
            for window in range(windows):
                stream = f"s{window % 4}"
                first = window // 4 * WINDOW
                times["answer"] += [send(stream, first + i) for i in range(WINDOW)]
                begin = time.perf_counter()  # the status waits for update and save
                fleet.ask_until_answered(server.port, f"{fleet.MODEL}/streams/{stream}/norm")
                times["update"].append(time.perf_counter() - begin)

        # The save is nearly all that scripts do here; renewals are cheap.
        times["redis_save"] = [per_call(redis, "hset", run_windows)]
        saves = microseconds(redis, "eval")
        times["redis_save"] = [saves[1] / 1e6 / max(1, windows + 1)]
        times["resident_bytes"] = [(resident_bytes(server) - memory) / 4]
        times["snapshot_bytes"] = [int(redis.ask("HSTRLEN", "sotta:{fashion/s0}:snapshots", newest(redis)).decode()[1:])]
        server.process.signal(15)
        server.process.child.wait()
        server.start()
        fleet.wait_for(server.is_ready, 120, "the server")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        calls = microseconds(redis, "eval")
        times["redis_load"] = [per_call(redis, "hget", lambda: [
            fleet.ask_until_answered(server.port, f"{fleet.MODEL}/streams/s{i}") for i in range(4)])]
        after = microseconds(redis, "eval")
        times["redis_claim"] = [(after[1] - calls[1]) / 1e6 / max(1, after[0] - calls[0])]
        server.kill()
        redis.process.kill()
    with open(out, "w") as file:
        for name, numbers in times.items():
            file.write(name + " " + " ".join(f"{number:.7g}" for number in numbers) + "\n")
            middle = sorted(numbers)[len(numbers) // 2]
            print(f"{name}: median {middle:.6g}, largest {max(numbers):.6g}, {len(numbers)} measured")


def newest(redis):
    """The number of the newest snapshot of s0."""
    import socket
    with socket.create_connection(("127.0.0.1", redis.port), 2) as connection:
        connection.sendall(b"HGET sotta:{fashion/s0}:stream number\r\n")
        file = connection.makefile("rb")
        file.readline()
        return file.readline().strip().decode()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 40)
