"""What bounds `sotta serve`, what it logs and where its flags may stand, seen from outside. Run by
serve_limits_test.sh in an empty folder; with names of checks behind it, those alone."""
import json
import os
import re
import resource
import socket
import subprocess
import sys

from serve_client import MODEL, SOTTA, Server, check, draw_images, expect, refusal, run_checks

STREAMS = "/v2/models/fashion/streams"


def errors_of(server):
    """What the server wrote to standard error, once it has ended."""
    server.process.terminate()
    errors = server.process.communicate(timeout=120)[1]
    expect(server.process.returncode, 0, "exit code")
    return errors


@check
def requests_are_logged_without_what_is_in_them():
    pixels = draw_images(2, 1)
    for form in "text", "json":
        server = Server("--log", form, state=f"log-{form}")
        client = server.client()
        expect(client.ask("GET", "/v2?token=sotta_secret", b"", {"Authorization": "Bearer sotta_secret"}).status, 200, "asked")
        expect(client.infer(pixels, {"sequence_id": "a"}, id="id-of-the-body").status, 200, "infer")
        expect(client.ask("POST", "/v2/models/fashion/infer", "body-of-mine").status, 400, "refused")
        lines = errors_of(server).splitlines()
        expect(len(lines), 3, f"lines of --log {form}")
        text = "\n".join(lines)
        for secret in "sotta_secret", "id-of-the-body", "body-of-mine", "Bearer", "sequence_id":
            assert secret not in text, f"{secret} is in the log"
        if form == "json":
            first, second, third = map(json.loads, lines)
            expect([first["path"], first["status"], first["event"]], ["/v2", 200, "request"], "the first line")
            expect([second["method"], second["path"]], ["POST", "/v2/models/fashion/infer"], "the second line")
            assert second["bytes_in"] > len(pixels) and second["bytes_out"] > 0 and second["ms"] > 0, second
            expect(third["status"], 400, "the third line")
        else:
            assert re.search(r'Z 127\.0\.0\.1:\d+ - "POST /v2/models/fashion/infer" 400 \d+ \d+ [\d.]+$', lines[2]), lines[2]
    with Server(state="log-none") as server:
        server.client().ask("GET", "/v2")
        expect(errors_of(server), "", "--log none")


@check
def a_log_that_nobody_reads_keeps_nobody_waiting():
    with Server("--log", "json", state="log-full") as server:
        client = server.client()
        for _ in range(2000):  # a pipe has room for 400 lines
            expect(client.ask("GET", "/v2/health/live").status, 200, "nobody reads")
        expect(len(errors_of(server).splitlines()), 2000, "lines once somebody does")


@check
def streams_hold_so_much_on_disk_and_no_more():
    pixels = draw_images(4, 2)
    with Server("--max-state-mb", "1", "--window", "4", state="quota") as server:
        client, count = server.client(), 0
        while (ready := client.ask("GET", "/v2/health/ready")).status == 200 and count < 1000:
            expect(client.stream(f"s{count}", 0, pixels).status, 200, "an answer")
            count += 1
        expect(ready.status, 503, "readiness")
        assert "--max-state-mb" in ready.json["error"] and "streams/" not in ready.json["error"], ready.json
        listed = client.ask("GET", f"{STREAMS}?limit=1000").json["streams"]
        frozen = next(stream["name"] for stream in listed if stream["frozen"])
        answer = client.infer(pixels, {"sequence_id": frozen})
        expect(answer.status, 200, "a frozen stream")
        assert "--max-state-mb" in answer.json["parameters"]["frozen"], answer.json
        held = sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk("quota/streams") for name in names)
        assert held < 2 << 20, f"{held} bytes are held"
        for other in range(count):
            if f"s{other}" != frozen:
                expect(client.ask("DELETE", f"{STREAMS}/s{other}").status, 200, "forget")
        expect(client.infer(pixels, {"sequence_id": frozen}).json["parameters"].get("frozen"), None, "with room again")
        expect(client.ask("GET", "/v2/health/ready").status, 200, "readiness with room again")


@check
def states_are_for_their_owner_alone():
    with Server("--durability", "request", state="private") as server:
        expect(server.client().stream("s", 0, draw_images(2, 1)).status, 200, "an answer")
        subprocess.run([SOTTA, "streams", "export", "s", "--out", "exported", "--server", f"http://127.0.0.1:{server.port}"], check=True)
    found = {os.path.join(path, name): os.stat(os.path.join(path, name)).st_mode & 0o777
             for path, folders, names in os.walk("private") for name in folders + names}
    assert any(path.endswith(".journal") for path in found) and any(path.endswith(".safetensors") for path in found), found
    for path, mode in {**found, "private": os.stat("private").st_mode & 0o777, "exported": os.stat("exported").st_mode & 0o777}.items():
        expect(oct(mode), "0o700" if os.path.isdir(path) else "0o600", path)


@check
def every_flag_is_a_key_of_the_configuration_file():
    help_text = subprocess.run([SOTTA, "serve", "--help"], capture_output=True, text=True).stdout
    defaults = dict(re.findall(r"^ +--([\w-]+) [A-Z]+=(\S+)", help_text, re.M))
    assert len(defaults) > 20 and defaults["max-body-mb"] == "64", defaults
    defaults.pop("listen")
    defaults.pop("model")
    with open("all.toml", "w") as file:
        for flag, value in defaults.items():
            number = re.fullmatch(r"[\d.]+", value)
            file.write(f"{flag.replace('-', '_')} = {value if number else json.dumps(value)}\n")
        file.write(f'model = ["one={MODEL}", "two=embedded"]\nallow-host = ["gate.example"]\n')
    with Server("--config", "all.toml", state="all", model=None) as server:
        index = server.client().ask("POST", "/v2/repository/index", b"", {"Host": "gate.example"}).json
        expect([model["name"] for model in index], ["one", "two"], "models")
    with open("wrong.toml", "w") as file:
        file.write("max_boddy_mb = 3\n")
    sentence = refusal("--config", "wrong.toml", "--state", "wrong")
    assert 'did you mean "max-body-mb"' in sentence, sentence


@check
def without_descriptors_it_waits_and_goes_on():
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
    process = subprocess.Popen([SOTTA, "serve", "--listen", "127.0.0.1:0", "--state", "few"], preexec_fn=few,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sentence = process.stderr.readline()
    assert "the limit of open files, 300, leaves room for" in sentence, sentence
    process.stdout.readline()
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    for _ in range(3):
        connections = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(400)]
        connections[0].sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connections[0].recv(100).startswith(b"HTTP/1.1 200 "), "the first connection"
        for connection in connections:
            connection.close()
    process.terminate()
    process.communicate(timeout=120)
    expect(process.returncode, 0, "exit code")


@check
def while_it_drains_it_is_not_ready_and_answers():
    server = Server("--drain-seconds", "600", state="drain")
    server.process.terminate()
    while (ready := server.client().ask("GET", "/v2/health/ready")).status == 200:
        pass
    expect((ready.status, "is shutting down" in ready.json["error"]), (503, True), "readiness")
    expect(server.client().stream("a", 0, draw_images(2, 1)).status, 200, "a new connection")
    idle = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    late = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    late.sendall(b"POST /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70002\r\n"
                 b"Expect: 100-continue\r\n\r\n")
    assert late.recv(100).startswith(b"HTTP/1.1 100 "), "a body is read"
    server.process.terminate()  # the second signal ends the grace period
    late.sendall(b" " * 70000)
    expect(idle.recv(100), b"", "a connection that waits is closed")
    expect(server.client().ask("GET", "/v2/health/ready").status, 503, "readiness to the end")
    late.sendall(b"{}")
    assert late.recv(100).startswith(b"HTTP/1.1 400 "), "a request whose body arrived meanwhile"
    server.end()


@check
def wrong_limits_are_refused():
    for flags in ["--log", "xml"], ["--max-state-mb", "-1"], ["--max-connections", "0"], ["--max-body-mb", "0"], ["--drain-seconds", "-1"]:
        sentence = refusal("--state", "refused", "--model", f"fashion={MODEL}", *flags)
        assert flags[0] in sentence, f"{flags}: {sentence}"


if __name__ == "__main__":
    sys.exit(run_checks())
