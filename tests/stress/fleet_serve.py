"""Disturbs a fleet of three `sotta serve` under clients that send again, and expects nothing to come
of it.

usage: fleet_serve.py PROGRAM WHAT COUNT SEED [STREAMS [PAUSE]]

Redis, HAProxy and the servers are real processes on loopback. WHAT happens COUNT times:
  kills      a server is killed (SIGKILL) and started again, or stopped (SIGSTOP) for 30 s, or for
             longer than its leases where COUNT is small
  redis      Redis is killed and started again
  replica    Redis is killed and its replica promoted; servers run with --min-replicas 1
  partition  one server is cut off from Redis
  rolling    every server is ended (SIGTERM) and started again, one after the other: no request may fail,
             those of 300 kB neither, of which HAProxy keeps no copy
  all        each of them

Every stream's answers and norm layers must be to the byte those of one server that nobody disturbed
and that got as many of its requests, every image learnt from once, nothing durable lost. A stream
goes on within 7 s of the last disturbance that it met: one of the process that held its lease, or of
any where none that runs did (a server that has started again is another process), unless it has gone
on since. With a COUNT below
8, as in the tests of a busy machine, that is only said.
"""
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from fleet import LARGE, Balancer, Broken, Client, Link, Redis, Server, expect, judged_wait, standing, undisturbed, wait_for

LONGEST_WAIT = 7
SHORT = 8  # disturbances, below which neither times nor late saves are judged


class Fleet:
    def __init__(self, program, folder, seed, streams, pause, count):
        self.program, self.folder, self.draw, self.count = program, folder, random.Random(seed), count
        self.streams, self.pause = streams, pause
        self.redis = Redis(folder / "redis")
        self.link, self.flags = None, ["--max-resident", max(3, streams // 4)]
        self.large = 0  # streams that send large requests, too
        self.servers, self.events, self.processes = [], [], []

    def start(self):
        port = self.link.port if self.link else self.redis.port
        self.servers = [Server(self.program, self.folder, port, *self.flags) for _ in range(3)]
        self.balancer = Balancer(self.folder, [server.port for server in self.servers])
        for server in self.servers:
            wait_for(server.is_ready, 60, "a server")
        names = [f"camera {i}/ü" if i % 10 == 0 else f"camera-{i}" for i in range(self.streams)]
        names[1:1 + self.large] = [f"{LARGE}-{i}" for i in range(self.large)]
        self.clients = [Client(self.balancer.port, name, self.pause, f"{name} {self.draw.random()}") for name in names]
        time.sleep(1)  # until HAProxy has seen them
        for client in self.clients:
            client.start()

    def note(self, server=None, what=""):
        """A disturbance of this server, or of all, comes now."""
        names = [client.stream for client in self.clients]
        hit = set(names)
        if server:
            held = self.redis.held(names, [each for each in self.servers if each.process.runs() and not each.stopped])
            hit = {name for name in names if held.get(name, server.port) == server.port}
        self.events.append((time.monotonic(), hit, f"{what} {server.port if server else 'all'}"))

    def check_clients(self):
        for client in self.clients:
            expect(client.problem is None, client.problem)

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check_clients()
            time.sleep(0.05)

    def finish(self):
        """Compares all there is with a server that was alone."""
        for server in self.servers:
            if server.stopped:
                server.go_on()
            wait_for(server.is_ready, 60, "a server")
        for client in self.clients:
            client.ended.set()
        for client in self.clients:
            client.join(120)
            expect(not client.is_alive(), f"stream {client.stream} was not answered")
        self.check_clients()
        found = {client.stream: standing(self.balancer.port, client.stream) for client in self.clients}
        wanted = undisturbed(self.program, self.folder, {stream: each.next_seq for stream, each in found.items()})
        for client in self.clients:
            try:
                client.compare(found[client.stream], *wanted[client.stream])
            except Broken as problem:
                raise Broken(f"stream {client.stream}: {problem}") from None
        self.ahead = sum(found[client.stream].next_seq > client.seq for client in self.clients)
        for server in self.servers:
            server.note_counts()
        return self.summary(sum(each.next_seq for each in found.values()))

    def summary(self, requests):
        waits = [wait for client in self.clients for wait in client.waits]
        self.judged = [judged_wait(wait, self.events) for wait in waits]
        self.list_waits(waits)
        longest = max([wait.end - wait.begin for wait in waits], default=0)
        counts = {name: sum(server.count(name) for server in self.servers) for name in ("fenced_saves", "forwarded_requests", "claims")}
        self.fenced = counts["fenced_saves"]
        failures = sum(len(client.failures) for client in self.clients)
        repeated = sum(client.repeated for client in self.clients)
        return (f"{len(self.events)} disturbances, {len(self.clients)} streams, {requests} requests, {failures} attempts failed, "
                f"{repeated} requests sent again; {len(waits)} waits, the longest {max(self.judged, default=0):.1f} s after the last disturbance "
                f"of its stream (the longest request {longest:.1f} s); {self.fenced} late saves refused, {counts['forwarded_requests']} requests sent on, "
                f"{counts['claims']} claims; {self.ahead} streams ahead of their client; 0 lost, 0 twice, norm layers equal to the byte")

    def list_waits(self, waits):
        """For a person who looks for the cause of a long one: disturbances and waits in the order of time."""
        lines = [(when, f"disturbs {len(hit)} streams: {what}") for when, hit, what in self.events]
        lines += [(wait.begin, f"{wait.stream} waits for {wait.end - wait.begin:.2f} s, judged {judged:.2f} s")
                  for wait, judged in zip(waits, self.judged)]
        (self.folder / "waits.log").write_text("".join(f"{when:.2f} {line}\n" for when, line in sorted(lines)))

    def check_waits(self, said):
        if self.count < SHORT:
            return
        expect(self.judged, f"no stream waited: {said}")
        expect(max(self.judged) < LONGEST_WAIT, f"a stream waited {max(self.judged):.1f} s: {said}")

    def end(self):
        for server in self.servers:
            if server.process.runs():
                server.kill()
        if self.servers:
            self.balancer.process.kill()
        self.redis.process.kill()
        for process in self.processes:
            process.kill()


def kills(fleet):
    fleet.start()
    stop_seconds = 30 if fleet.count >= 50 else 6.5
    fleet.rest(2)
    busy = []  # (until when, server)
    for i in range(fleet.count):
        for until, server in [each for each in busy if each[0] <= time.monotonic()]:
            server.go_on()
            busy.remove((until, server))
        free = [server for server in fleet.servers if not server.stopped and server.is_ready()]
        if len(free) < 2:  # somebody has to go on with the streams
            fleet.rest(0.5)
            while len([server for server in fleet.servers if not server.stopped and server.is_ready()]) < 2:
                for until, server in [each for each in busy if each[0] <= time.monotonic()]:
                    server.go_on()
                    busy.remove((until, server))
                fleet.rest(0.2)
            free = [server for server in fleet.servers if not server.stopped and server.is_ready()]
        server = fleet.draw.choice(free)
        fleet.note(server, "kill" if i % 2 else "stop")
        if i % 2 == 0:  # a stop first, which is what a fence is for
            server.stop()
            busy.append((time.monotonic() + stop_seconds, server))
        else:
            server.kill()
            fleet.rest(fleet.draw.uniform(0, 2))
            server.start()
        fleet.rest(fleet.draw.uniform(1, 5))
        for each in fleet.servers:
            each.note_counts()
    for until, server in busy:
        fleet.rest(max(0, until - time.monotonic()))
        server.go_on()
    fleet.rest(4)
    said = fleet.finish()
    fleet.check_waits(said)
    expect(fleet.fenced > 0 or fleet.count < SHORT, f"no late save was refused: {said}")
    return said


def redis(fleet):
    fleet.start()
    for _ in range(fleet.count):
        fleet.rest(fleet.draw.uniform(1, 3))
        fleet.note()
        fleet.redis.process.kill()
        fleet.rest(fleet.draw.uniform(0.1, 2))
        fleet.redis.start()
    fleet.rest(2)
    return fleet.finish()


def replica(fleet):
    """Each time a new replica is there before its primary goes."""
    fleet.link = Link(fleet.redis.port)
    fleet.flags += ["--min-replicas", 1]
    follower = follow(fleet, 0)
    fleet.start()
    for i in range(fleet.count):
        fleet.rest(fleet.draw.uniform(2, 4))
        fleet.note()
        fleet.redis.process.kill()
        expect(follower.ask("REPLICAOF", "NO", "ONE") == b"+OK", "the replica is not promoted")
        fleet.redis = follower
        follower = follow(fleet, i + 1)
        fleet.link.lead_to(fleet.redis.port)
    fleet.rest(3)
    return fleet.finish()


def follow(fleet, number):
    follower = Redis(fleet.folder / f"replica{number}", "--replicaof", "127.0.0.1", fleet.redis.port, "--repl-diskless-sync-delay", 0)
    fleet.processes.append(follower.process)
    wait_for(lambda: follower.info("replication", "master_link_status") == "up", 30, "a replica")
    return follower


def partition(fleet):
    """The last server's way to Redis is cut, for longer than its leases."""
    fleet.start()
    link = Link(fleet.redis.port)
    last = fleet.servers[-1]
    last.kill()
    last.redis_port = link.port
    last.start()
    wait_for(last.is_ready, 30, "a server")
    for _ in range(fleet.count):
        fleet.rest(fleet.draw.uniform(2, 4))
        fleet.note(last)
        link.cut = True
        fleet.rest(fleet.draw.uniform(6, 8))
        link.cut = False
    fleet.rest(3)
    said = fleet.finish()
    fleet.check_waits(said)
    return said


def rolling(fleet):
    fleet.large = max(1, fleet.streams // 5)
    fleet.start()
    fleet.rest(2)
    for _ in range(fleet.count):
        for server in fleet.servers:
            fleet.note(server)
            server.note_counts()
            server.process.signal(signal.SIGTERM)
            wait_for(lambda: not server.process.runs(), 60, "a server to end")
            expect(server.process.child.returncode == 0, f"exit code {server.process.child.returncode}")
            server.start()
            wait_for(server.is_ready, 60, "a server")
            fleet.rest(2)
    said = fleet.finish()
    failures = [(client.stream, *failure) for client in fleet.clients for failure in client.failures]
    expect(not failures, f"{len(failures)} requests failed: {failures[:3]}")
    expect(not any(client.repeated for client in fleet.clients), f"requests had to be sent again: {said}")
    return said


def main(program, what, count, seed, streams, pause):
    kinds = {"kills": kills, "redis": redis, "replica": replica, "partition": partition, "rolling": rolling}
    for kind in kinds if what == "all" else [what]:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sotta_fleet_"))
        begin = time.monotonic()
        fleet = Fleet(program, folder, f"{kind} {seed}", streams, pause, count)
        try:
            print(f"{kind}: {kinds[kind](fleet)}; {time.monotonic() - begin:.0f} s", flush=True)
        except Broken as problem:
            sys.exit(f"{kind}, seed {seed}: {problem}\nkept: {folder}")
        finally:
            fleet.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6, 7):
        sys.exit(__doc__)
    for tool in "redis-server", "haproxy":
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    info = subprocess.run([sys.argv[1], "info"], capture_output=True, text=True, check=True).stdout
    if "hiredis: not in this build" in info:
        print("skipped: this build has no hiredis")
        sys.exit(77)
    threading.stack_size(1 << 20)
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]),
         int(sys.argv[5]) if len(sys.argv) > 5 else 100, float(sys.argv[6]) if len(sys.argv) > 6 else 2)
