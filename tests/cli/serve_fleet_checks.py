"""What the flags of a fleet do. Checks that need a Redis are skipped where there is no redis-server."""
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from serve_client import ROOT, SOTTA, Server, check, draw_images, expect, refusal, run_checks, streams

sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from free_port import free_port  # noqa: E402

INFO = json.loads(subprocess.run([SOTTA, "info", "--json"], capture_output=True, text=True).stdout)
HAS_REDIS = shutil.which("redis-server") and "hiredis" in str(INFO) and subprocess.run(
    [SOTTA, "info"], capture_output=True, text=True).stdout.find("hiredis: not in this build") < 0


def wait_for_port(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)


class Redis:
    def __init__(self, *options):
        self.port, self.folder, self.options = free_port(), tempfile.TemporaryDirectory(), options
        self.start()

    def start(self):
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                                         "--dir", self.folder.name, *self.options], stdout=subprocess.DEVNULL)
        wait_for_port(self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, text):
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(text.encode() + b"\r\n")
            return connection.makefile().readline().strip()

    def server(self, *flags, user=""):
        port = free_port()
        return Server("--advertise", f"http://127.0.0.1:{port}", "--window", "8", "--set", "min_confidence=0", *flags, port=port,
                      state=f"redis://{user}127.0.0.1:{self.port}/0")


def needs_redis(function):
    if HAS_REDIS:
        return check(function)
    print(f"skipped, as redis-server or hiredis is not there: {function.__name__}")
    return function


@check
def flags_that_do_not_fit_are_refused():
    fleet = ["--state", "redis://127.0.0.1:1/0", "--advertise", "http://127.0.0.1:8001"]
    for part, *flags in [
            ("--advertise: expected it with Redis", "--state", "redis://127.0.0.1:1/0"),
            ("--advertise: expected http://HOST:PORT", *fleet[:2], "--advertise", "127.0.0.1:8001"),
            ("--advertise: expected it with --state redis://", "--advertise", "http://127.0.0.1:8001"),
            ("--lease-seconds: expected it with --state redis://", "--lease-seconds", "3"),
            ("--min-replicas: expected it with --state redis://", "--min-replicas", "1"),
            ("--state-password: expected it with --state redis://", "--state-password", "file"),
            ("--lease-seconds", *fleet, "--lease-seconds", "0"),
            ("--min-replicas", *fleet, "--min-replicas", "-1"),
            ("--durability: expected window with Redis", *fleet, "--durability", "request"),
            ("--answer: expected strict with Redis", *fleet, "--answer", "prompt"),
            ("--max-state-mb: expected it without Redis", *fleet, "--max-state-mb", "3"),
            ("--tls-cert: expected it without Redis", *fleet, "--tls-cert", "a.pem", "--tls-key", "b.pem"),
            ("--tls-key: expected it without Redis", *fleet, "--tls-key", "b.pem"),
            ("stunnel", "--state", "rediss://127.0.0.1:1/0", *fleet[2:])]:
        assert part in refusal(*flags), f"{flags}: {refusal(*flags)}"


def failure(state):
    """What a server says that does not come to its Redis: one sentence."""
    done = subprocess.run([SOTTA, "serve", "--listen", "127.0.0.1:0", "--state", state, "--advertise", "http://127.0.0.1:8001"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, f"{done.returncode} {done.stderr}"
    return done.stderr


@needs_redis
def a_redis_that_is_not_there_is_named_without_its_secrets_and_waited_for():
    with Redis() as redis:
        redis.process.kill()
        redis.process.wait()
        with redis.server(user="default:secret@") as server:
            client = server.client()
            ready = client.ask("GET", "/v2/health/ready")
            expect(ready.status, 503, "ready")
            assert "cannot be reached" in ready.json["error"] and "secret" not in ready.json["error"], ready.json
            expect(client.infer(draw_images(8, 2)).status, 200, "the source model")
            expect(client.stream("s", 0, draw_images(8, 0)).status, 503, "a stream")
            redis.start()
            redis.ask("ACL SETUSER default >secret")
            for _ in range(100):
                answer = client.stream("s", 0, draw_images(8, 0))
                if answer.status == 200:
                    break
                time.sleep(0.1)
            expect(answer.status, 200, "a stream when Redis is there")
            expect(client.ask("GET", "/v2/health/ready").status, 200, "ready")


@needs_redis
def a_full_redis_is_named_and_streams_can_be_deleted():
    with Redis() as redis, redis.server() as server:
        client = server.client()
        client.stream("s", 0, draw_images(8, 0))
        client.ask("GET", "/v2/models/fashion/streams/s/norm")  # until it is saved
        redis.ask("CONFIG SET maxmemory 1")
        answer = client.stream("new", 0, draw_images(8, 0))
        expect(answer.status, 503, "a new stream")
        assert "memory is full" in answer.json["error"], answer.json
        expect(client.ask("DELETE", "/v2/models/fashion/streams/s").status, 200, "DELETE")
        redis.ask("CONFIG SET maxmemory 0")


@needs_redis
def any_server_takes_a_request_and_the_next_goes_on_after_sigterm():
    with Redis() as redis, redis.server() as one:
        with redis.server() as other:
            clients = [one.client(), other.client()]
            for seq in range(6):  # every second one is sent on
                expect(clients[seq % 2].stream("s", seq, draw_images(8, seq)).status, 200, f"request {seq}")
            clients[1].connection.close()
        answer = one.client().stream("s", 6, draw_images(8, 6))
        expect(answer.json["parameters"]["next_seq"], 7, "next_seq")
        before = time.monotonic()
        other_lease = one.client().status("s")
        expect(other_lease["next_seq"], 7, "status")
        assert time.monotonic() - before < 2


@needs_redis
def a_forwarded_request_is_not_sent_on_again():
    with Redis() as redis, redis.server() as one, redis.server() as other:
        one.client().stream("s", 0, draw_images(8, 0))
        answer = other.client().ask("GET", "/v2/models/fashion/streams/s", headers={"Sotta-Forwarded": "1"})
        expect((answer.status, answer.headers["Sotta-Elsewhere"]), (503, "1"), "a second hop")


@needs_redis
def an_address_is_one_servers_and_its_successors():
    with Redis() as redis:
        one = redis.server("--lease-seconds", "2")
        flags = ["--state", f"redis://127.0.0.1:{redis.port}/0", "--advertise", f"http://127.0.0.1:{one.port}", "--lease-seconds", "2"]
        said = refusal(*flags)
        assert f"--advertise: another server that runs has http://127.0.0.1:{one.port}, too" in said, said
        expect(one.client().stream("s", 0, draw_images(8, 0)).status, 200, "the first goes on")
        one.process.kill()
        one.end(-9)
        for _ in range(2):  # after a kill, and after SIGTERM
            with Server(*flags[2:], port=one.port, state=flags[1]) as server:
                expect(server.client().ask("GET", "/v2/health/ready").status, 200, "a successor")


@needs_redis
def a_lease_lapses_after_lease_seconds():
    for seconds, least, most in ("1", 0, 2.5), ("3", 1.5, 6):
        with Redis() as redis, redis.server("--lease-seconds", seconds) as one:
            other = redis.server("--lease-seconds", seconds)
            expect(other.client().stream("s", 0, draw_images(8, 0)).status, 200, "first")
            other.client().ask("GET", "/v2/models/fashion/streams/s/norm")  # until it is saved
            other.process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            expect(one.client().stream("s", 1, draw_images(8, 1)).status, 200, "second")
            waited = time.monotonic() - begin
            other.process.kill()
            other.end(-9)
            assert least <= waited <= most, f"--lease-seconds {seconds}: waited {waited}"


@needs_redis
def a_killed_server_is_waited_for_until_it_has_missed_a_renewal():
    with Redis() as redis, redis.server("--lease-seconds", "60") as one:
        other = redis.server("--lease-seconds", "60")
        expect(other.client().stream("s", 0, draw_images(8, 0)).status, 200, "first")
        other.client().ask("GET", "/v2/models/fashion/streams/s/norm")  # until it is saved
        other.process.kill()
        other.end(-9)
        redis.ask("PEXPIRE sotta:{fashion/s}:lease 29500")
        begin = time.monotonic()
        expect(one.client().stream("s", 1, draw_images(8, 1)).status, 200, "second")
        waited = time.monotonic() - begin
        assert waited < 20, f"waited {waited}"


@needs_redis
def a_stopped_server_is_waited_for_until_its_leases_lapse():
    with Redis() as redis, redis.server("--lease-seconds", "1") as one:
        other = redis.server("--lease-seconds", "1")
        for name in "with", "without":
            expect(other.client().stream(name, 0, draw_images(8, 0)).status, 200, "first")
        other.process.send_signal(signal.SIGSTOP)
        answer = one.client().infer(draw_images(8, 1), {"sequence_id": "without"})
        expect(answer.status, 503, "a request that may not be sent again")
        assert "may have counted" in answer.json["error"], answer.json
        expect(one.client().stream("with", 0, draw_images(8, 0)).status, 200, "a request with seq")
        other.process.kill()
        other.end(-9)


@needs_redis
def what_a_stopped_server_held_counts_once_and_in_its_turn():
    """The client has gone back meanwhile, behind the request that is still on its way."""
    parts = [draw_images(8, 0), draw_images(3, 1), draw_images(8, 2)]
    with Redis() as redis, redis.server("--lease-seconds", "1") as one, redis.server("--lease-seconds", "1") as other:
        holder, client = other.client(), one.client()
        expect(holder.stream("s", 0, parts[0]).status, 200, "request 0")
        path = "/v2/models/fashion/streams/s/norm"
        holder.ask("GET", path)  # until it is saved
        expect(holder.stream("s", 1, parts[1]).status, 200, "request 1, which is not saved")
        other.process.send_signal(signal.SIGSTOP)
        held = []
        late = threading.Thread(target=lambda: held.append(holder.stream("s", 2, parts[2])))
        late.start()
        answer = client.stream("s", 2, parts[2])
        expect((answer.status, answer.json.get("next_seq")), (409, 1), "request 2 at the next server")
        expect(client.stream("s", 1, parts[1]).json["parameters"]["next_seq"], 2, "request 1 again")
        other.process.send_signal(signal.SIGCONT)
        late.join()
        expect((held[0].status, held[0].json["parameters"]["next_seq"]), (200, 3), "request 2, late")
        expect(client.stream("s", 2, parts[2]).json["outputs"], held[0].json["outputs"], "request 2 again")
        norm, images = client.ask("GET", path).body, client.status("s")["images"]
    with Server("--window", "8", "--set", "min_confidence=0", state="undisturbed") as server:
        for seq, part in enumerate(parts):
            server.client().stream("s", seq, part)
        expect(server.client().ask("GET", path).body == norm, True, "norm layers equal")
        expect(images, 19, "images learnt from")


@needs_redis
def min_replicas_keeps_windows_from_being_durable():
    with Redis() as redis:
        for replicas, durable in ("0", 1), ("1", 0):
            name = f"s{replicas}"
            with redis.server("--min-replicas", replicas) as server:
                server.client().stream(name, 0, draw_images(8, 0))
                status = server.client().status(name)
                for _ in range(50):
                    if status["durable_seq"] or status["frozen"]:
                        break
                    time.sleep(0.1)
                    status = server.client().status(name)
                expect(status["durable_seq"], durable, f"durable_seq with --min-replicas {replicas}")
                if replicas == "1":
                    assert "--min-replicas expects 1" in status["frozen"], status
                    redis.ask("CONFIG SET min-replicas-to-write 0")
                    server.client().ask("DELETE", f"/v2/models/fashion/streams/{name}")


@needs_redis
def the_password_may_be_in_a_file():
    with Redis("--requirepass", "p@ss") as redis:
        with open("password", "w") as file:
            file.write("p@ss\n")
        with redis.server("--state-password", "password") as server:
            expect(server.client().stream("s", 0, draw_images(8, 0)).status, 200, "with the password")
            assert "p@ss" not in server.said, server.said
        with redis.server(user=":p%40ss@") as server:
            assert f"redis://127.0.0.1:{redis.port}/0" in server.said and "ss@" not in server.said, server.said
            expect(server.client().status("s")["next_seq"], 1, "next_seq")
        said = failure(f"redis://127.0.0.1:{redis.port}/0")
        assert "refuses this user" in said, said


@needs_redis
def without_redis_the_source_model_answers():
    with Redis() as redis, redis.server() as server:
        client = server.client()
        client.stream("s", 0, draw_images(8, 0))
        redis.process.kill()
        redis.process.wait()
        for _ in range(50):
            answer = client.stream("s", 1, draw_images(8, 1))
            if answer.status == 503:
                break
            time.sleep(0.1)
        expect(answer.status, 503, "a stream")
        assert "cannot be reached" in answer.json["error"], answer.json
        expect(client.infer(draw_images(8, 2)).status, 200, "the source model")
        expect(client.ask("GET", "/v2/health/ready").status, 503, "ready")
        redis.start()  # without what it had: the stream begins again
        for _ in range(50):
            answer = client.stream("s", 0, draw_images(8, 0))
            if answer.status == 200:
                break
            time.sleep(0.1)
        expect(answer.status, 200, "a stream when Redis is back")
        expect(client.ask("GET", "/v2/health/ready").status, 200, "ready")


class SilentServer(http.server.BaseHTTPRequestHandler):
    """Is well, and closes the connection instead of an answer to anything else, which it counts."""
    requests = []

    def do_GET(self):
        if "/health/" not in self.path:
            return self.do_POST()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.requests.append(self.command)
        self.close_connection = True

    do_DELETE = do_POST

    def log_message(self, *_):
        pass


def requests_through_haproxy(port, method, **headers):
    """How often the servers get one request."""
    SilentServer.requests.clear()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = b"" if method == "GET" else b"{}"
    connection.putrequest(method, "/v2/models/fashion/streams/a/infer")
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    time.sleep(0.1)  # a body that comes later than its headers
    connection.send(body)
    expect(connection.getresponse().status, 502, f"{method} {headers}")
    return len(SilentServer.requests)


@check
def the_balancer_repeats_only_what_counts_once():
    if not shutil.which("haproxy"):
        return print("skipped, as haproxy is not there: the balancer")
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), SilentServer) for _ in range(3)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    with open(f"{ROOT}/deploy/haproxy/haproxy.cfg") as file:
        text = file.read()
    for old, new in zip((8000, 8001, 8002, 8003), [port] + [server.server_port for server in servers]):
        text = text.replace(f"127.0.0.1:{old}\n", f"127.0.0.1:{new} \n")
    with open("haproxy.cfg", "w") as file:
        file.write(text)
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", "haproxy.cfg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port)
        expect(requests_through_haproxy(port, "POST"), 1, "without a seq")
        assert requests_through_haproxy(port, "POST", **{"Sotta-Seq": "3"}) > 1, "with a seq"
        assert requests_through_haproxy(port, "GET") > 1, "GET"
        expect(requests_through_haproxy(port, "DELETE"), 1, "DELETE")
    finally:
        haproxy.kill()
        haproxy.wait()
        for server in servers:
            server.shutdown()
            server.server_close()


@needs_redis
def a_fleets_streams_are_listed_with_their_servers():
    with Redis() as redis, redis.server() as one, redis.server() as other:
        for name, server in ("a", one), ("b", other), ("c", one):
            server.client().stream(name, 0, draw_images(8, name))
            server.client().status(name)
        where = {"a": one, "b": other, "c": one}
        for server in one, other:
            for _ in range(50):
                listed = [json.loads(line) for line in streams(server, "list", "--json").splitlines()]
                if len(listed) == 3 and all(each["durable_seq"] for each in listed):
                    break
                time.sleep(0.1)
            expect({each["name"]: each.get("server") for each in listed},
                   {name: f"http://127.0.0.1:{at.port}" for name, at in where.items()}, "the fleet's")
        expect(json.loads(streams(other, "freeze", "a"))["frozen"], "by request", "a stream of the other server")
        expect(one.client().status("a")["frozen"], "by request", "at its server")


@needs_redis
def a_stream_that_was_taken_over_is_listed_at_its_new_server():
    with Redis() as redis, redis.server("--lease-seconds", "1") as one, redis.server("--lease-seconds", "1") as other:
        one.client().stream("s", 0, draw_images(8, 0))
        one.client().ask("GET", "/v2/models/fashion/streams/s/norm")  # until it is saved
        one.process.send_signal(signal.SIGSTOP)
        expect(other.client().stream("s", 1, draw_images(8, 1)).status, 200, "taken over")
        one.process.send_signal(signal.SIGCONT)
        listed = [json.loads(line) for line in streams(one, "list", "--json").splitlines()]
        expect([(each["name"], each["server"]) for each in listed], [("s", f"http://127.0.0.1:{other.port}")], "list")


@needs_redis
def an_unsaved_stream_is_listed_behind_those_that_are_gone():
    with Redis() as redis, redis.server() as one, redis.server() as other:
        client = one.client()
        for name in ["a", "b"] + [f"m{i:03}" for i in range(256)]:  # one more than memory has room for puts one into Redis
            expect(client.stream(name, 0, draw_images(1, name)).status, 200, name)
        for name in "a", "b":
            expect(other.client().ask("DELETE", f"/v2/models/fashion/streams/{name}").status, 200, f"DELETE {name}")
        listed = client.ask("GET", "/v2/models/fashion/streams?limit=1").json
        expect([each["name"] for each in listed["streams"]], ["m000"], "list")


sys.exit(run_checks())
