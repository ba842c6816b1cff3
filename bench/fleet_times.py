#!/usr/bin/env python3
"""Measures what a server and Redis spend on a stream, for bench/fleet_simulation.cpp.

    python3 bench/fleet_times.py build/release/bin/sotta times.txt [WINDOWS [CALLS [METHOD]]]

One server, one Redis on loopback, one stream after the other: single images in windows of 64, adapted by METHOD
(sotta), everything selected so that every update is a full one. Then the scripts of leases, CALLS (100,000) renewals among them,
by themselves. Writes lines "name number ...", seconds or bytes:
answer, update (with what saving takes of the server), reload (time on a core that a request of a stream costs
more which is not in memory), redis_claim, redis_load, redis_save, redis_renew (time of Redis on a core, INFO cpu,
with reading and writing its sockets and its file), snapshot_bytes, renew_bytes (both ways), resident_bytes (of the
server, per stream in memory). Prints besides what commandstats say of each, which leaves the sockets out.
"""
import http.client
import os
import pathlib
import re
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/stress"))
import fleet  # noqa: E402

WINDOW = 64
MEMORIES = 40  # streams whose memory is measured
fleet.SIZES = [1]


def resident_bytes(server):
    with open(f"/proc/{server.process.child.pid}/status") as file:
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


class Lines:
    """One connection to Redis, for many commands at a time."""

    def __init__(self, redis):
        self.connection = socket.create_connection(("127.0.0.1", redis.port), 60)
        self.file = self.connection.makefile("rb")

    def run(self, commands):
        """Sends all, then reads the replies."""
        parts = [[word if isinstance(word, bytes) else str(word).encode() for word in command] for command in commands]
        self.connection.sendall(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
                                         for words in parts))
        return [self.reply() for _ in commands]

    def reply(self):
        line = self.file.readline()
        fleet.expect(line[:1] not in (b"-", b""), f"Redis says {line}")
        if line[:1] == b"*":
            return [self.reply() for _ in range(int(line[1:]))]
        if line[:1] == b"$" and int(line[1:]) >= 0:
            return self.file.read(int(line[1:]) + 2)[:-2]
        return line[1:-2]


def script(name):
    text = (ROOT / "src/serve/fleet/lease_scripts.h").read_text()
    return re.search(rf'{name} = R"\((.*?)\)";', text, re.S)[1]


def redis_state(redis, command):
    """Seconds on a core, seconds in this command, bytes read and written, so far."""
    try:
        usec = int(re.search(r"usec=(\d+)", redis.info("commandstats", f"cmdstat_{command}"))[1])
    except TypeError:  # not called yet
        usec = 0
    return (float(redis.info("cpu", "used_cpu_sys")) + float(redis.info("cpu", "used_cpu_user")), usec / 1e6,
            int(redis.info("stats", "total_net_input_bytes")) + int(redis.info("stats", "total_net_output_bytes")))


def each_of(redis, name, batches, done, command="eval"):
    """What one command of these costs Redis, in five parts of them: seconds on a core, bytes. Each reply must be `done`."""
    lines, found = Lines(redis), []
    for part in range(5):
        before = redis_state(redis, command)
        replies = [reply for batch in batches[part::5] for reply in lines.run(batch)]
        count = len(replies)
        refused = [reply for reply in replies if not done(reply)]
        fleet.expect(not refused, f"{name}: {len(refused)} replies such as {refused[:1]}")
        found.append([(after - earlier) / count for after, earlier in zip(redis_state(redis, command), before)])
    cpu, commands, sent = zip(*found)
    print(f"{name}: {sum(map(len, batches))} calls, each {1e6 * sorted(cpu)[2]:.2f} us of Redis on a core ({1e6 * min(cpu):.2f} to "
          f"{1e6 * max(cpu):.2f}), {1e6 * sorted(commands)[2]:.2f} us by commandstats, {sent[0]:.0f} bytes")
    return cpu, sent


def save_command(script_text, keys, claim, owner, number, snapshot):
    """The first save of a number; with the third the first snapshot goes, and so on."""
    goes = [number - 2] if number > 2 else []
    return ("EVAL", script_text, len(keys), *keys, claim, 1, number, 600000, number, snapshot, 64, 0, owner, "content", *goes)


def measure_redis(redis, snapshot_bytes, calls):
    """As a server asks: renewals 256 at a time, the others one by one."""
    owner, bytes_of_one, times = "0123456789abcdef" * 2, os.urandom(int(snapshot_bytes)), {}

    def keys(stream, *names):
        return [f"sotta:{{fashion/camera-{stream}}}:{name}" for name in names]

    claim, save, renew = script("kClaimScript"), script("kSaveScript"), script("kRenewScript")
    few = 1000
    claims = [[("EVAL", claim, 2, *keys(i, "lease", "stream"), owner, "http://127.0.0.1:8001", 600000, 1, f"claim {i}", "")]
              for i in range(few)]
    saves = [[save_command(save, keys(i % 100, "lease", "stream", "snapshots"), f"claim {i % 100}", owner, i // 100 + 1, bytes_of_one)]
             for i in range(few)]
    loads = [[("HGET", *keys(i % 100, "snapshots"), few // 100)] for i in range(few)]
    times["redis_claim"] = each_of(redis, "claim", claims, lambda reply: reply[:2] == [b"1", b"1"])[0]
    times["redis_save"] = each_of(redis, "save", saves, lambda reply: reply == b"0")[0]
    times["redis_load"] = each_of(redis, "load", loads, lambda reply: reply == bytes_of_one, "hget")[0]
    round_of_all = [("EVAL", renew, 2, *keys(i, "lease", "stream"), owner, 1, 600000) for i in range(few)]
    batches = [round_of_all[at:at + 256] for at in range(0, few, 256)]
    times["redis_renew"], times["renew_bytes"] = each_of(redis, "renewal", batches * max(2, calls // few), lambda reply: reply == b"1")
    return times


def cpu_seconds(server):
    with open(f"/proc/{server.process.child.pid}/stat") as file:
        return sum(int(word) for word in file.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")


class Sender:
    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def send(self, stream, seq):
        body, headers = fleet.infer_message(stream, seq)
        begin = time.perf_counter()
        self.connection.request("POST", fleet.MODEL + "/infer", body, headers)
        response = self.connection.getresponse()
        response.read()
        fleet.expect(response.status == 200, f"status {response.status}")
        return time.perf_counter() - begin

    def run_windows(self, windows):
        times = {"answer": [], "update": []}
        for window in range(windows):
            stream = f"s{window % 4}"
            first = window // 4 * WINDOW
            times["answer"] += [self.send(stream, first + i) for i in range(WINDOW)]
            begin = time.perf_counter()  # the status waits for update and save
            fleet.ask_until_answered(self.server.port, f"{fleet.MODEL}/streams/{stream}/norm")
            times["update"].append(time.perf_counter() - begin)
        return times

    def reload_seconds(self, rounds=31):
        """Two streams by turns in a server that has room for one, beside one stream alone. No window is full."""
        before = cpu_seconds(self.server)
        for seq in range(2 * rounds):
            self.send("alone", seq)
        alone = cpu_seconds(self.server) - before
        for seq in range(rounds):
            self.send("one", seq)
            self.send("other", seq)
        return max(0, cpu_seconds(self.server) - before - 2 * alone) / (2 * rounds)


def measure_servers(program, folder, redis, windows, method):
    server = fleet.Server(program, folder, redis.port, "--method", method, "--max-resident", 1000, window=WINDOW)
    fleet.wait_for(server.is_ready, 120, "the server")
    sender = Sender(server)
    for seq in range(WINDOW):  # the first of everything
        sender.send("warm", seq)
    fleet.ask_until_answered(server.port, fleet.MODEL + "/streams/warm")
    times = sender.run_windows(windows)
    memory = resident_bytes(server)
    fleet.SIZES = [WINDOW]
    for stream in range(MEMORIES):  # a window in one request fills a stream's memory
        sender.send(f"m{stream}", 0)
    fleet.ask_until_answered(server.port, f"{fleet.MODEL}/streams/m{MEMORIES - 1}/norm")
    times["resident_bytes"] = [(resident_bytes(server) - memory) / MEMORIES]
    fleet.SIZES = [1]
    lines = Lines(redis)
    newest = lines.run([("HGET", "sotta:{fashion/s0}:stream", "number")])[0]
    times["snapshot_bytes"] = [int(lines.run([("HSTRLEN", "sotta:{fashion/s0}:snapshots", newest)])[0])]
    server.kill()
    server = fleet.Server(program, folder, redis.port, "--method", method, "--max-resident", 1, "--workers", 1, window=WINDOW)
    fleet.wait_for(server.is_ready, 120, "the server")
    times["reload"] = [Sender(server).reload_seconds()]
    server.kill()
    return times


def main(program, out, windows, calls, method):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        redis = fleet.Redis(folder / "redis")
        try:
            times = measure_servers(program, folder, redis, windows, method)
            times.update(measure_redis(redis, times["snapshot_bytes"][0], calls))
        finally:
            redis.process.kill()
    with open(out, "w") as file:
        for name, numbers in times.items():
            file.write(name + " " + " ".join(f"{number:.7g}" for number in numbers) + "\n")
            middle = sorted(numbers)[len(numbers) // 2]
            print(f"{name}: median {middle:.6g}, largest {max(numbers):.6g}, {len(numbers)} measured")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5, 6):
        sys.exit(__doc__)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 40,
         int(sys.argv[4]) if len(sys.argv) > 4 else 100000, sys.argv[5] if len(sys.argv) > 5 else "sotta")
