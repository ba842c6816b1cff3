"""What `sotta serve` does, seen from outside: its answers beside those of `sotta adapt`, what
each flag changes, bad input, and its end. Run by serve_test.sh in an empty folder; with names of
checks behind it, those alone."""
import concurrent.futures
import json
import os
import socket
import subprocess
import sys

from serve_client import MODEL, SIDE, SOTTA, Server, check, draw_images, expect, refusal, run_checks, write_npy

def adapt(pixels, *flags):
    """Labels, confidences and verdicts that `sotta adapt` gives."""
    write_npy("images.npy", pixels)
    done = subprocess.run([SOTTA, "adapt", "--model", MODEL, "--input", "images.npy", *flags],
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@check
def answers_are_those_of_adapt():
    pixels = draw_images(96, 1)
    same = [["--window", "16", "--set", "min_confidence=0.2"],
            ["--method", "tent", "--window", "32", "--preset", "paper"],
            ["--method", "rotta", "--window", "16", "--seed", "5", "--engine", "libtorch", "--threads", "1"],
            ["--window", "24", "--low-memory", "1", "--precision", "fp32", "--device", "cpu"]]
    for number, flags in enumerate(same):
        size = SIDE**2 * int(flags[flags.index("--window") + 1])
        expected = adapt(pixels, *flags)
        with Server(*flags, state=f"same{number}") as server:
            client, found = server.client(), []
            if "libtorch" in flags:
                expect(client.ask("GET", "/v2/models/fashion").json["platform"], "sotta_libtorch", "--engine")
            for seq, begin in enumerate(range(0, len(pixels), size)):
                answer = client.stream("a", seq, pixels[begin:begin + size])
                expect(answer.status, 200, flags)
                found += zip(answer.output("label"), answer.output("confidence"))
            expect([label for label, _ in found], [line["label"] for line in expected], f"labels of {flags}")
            for (_, confidence), line in zip(found, expected):
                assert abs(confidence - line["confidence"]) < 1e-6, f"{flags}: {confidence} {line}"


@check
def seeds_differ_where_a_memory_draws():
    pixels = draw_images(128, 2)
    logits = []
    for seed in "0", "1":
        with Server("--window", "16", "--set", "min_confidence=0", "--seed", seed, state=f"seed{seed}") as server:
            client = server.client()
            for seq in range(8):
                answer = client.stream("a", seq, pixels[seq * 16 * SIDE**2:(seq + 1) * 16 * SIDE**2])
            logits.append(answer.output("logits"))
    assert logits[0] != logits[1], "--seed changes nothing"


@check
def guards_trip_by_their_limits():
    pixels = draw_images(32, 3)
    limits = [["--guard-max-parameter-change", "1e-9"], ["--guard-max-class-share", "0.01", "--guard-history", "1"],
              ["--guard-min-admitted-share", "1"], ["--guard-max-admitted-share", "0"]]
    for number, flags in enumerate(limits):
        admit = "0" if "--guard-min-admitted-share" not in flags else "0.99"
        with Server("--guard", "skip", "--window", "16", "--set", f"min_confidence={admit}", *flags,
                    state=f"guard{number}") as server:
            client = server.client()
            for seq in range(12):
                client.stream("a", seq, pixels[:16 * SIDE**2])
                if client.status("a")["guard_trips"] > 0:
                    break
            else:
                raise AssertionError(f"{flags} does not trip")


@check
def a_floor_answers_for_a_ruined_network():
    pixels = draw_images(16, 3)
    with Server("--guard", "floor", "--guard-look-every", "1", "--window", "16", "--method", "tent",
                "--set", "learning_rate=1e30", state="floor") as server:
        client = server.client()
        for seq in range(3):
            answer = client.stream("a", seq, pixels)
        expect(client.status("a")["guard_trips"] > 0, True, "trips")
        found, wanted = (one.output("logits") for one in (answer, client.infer(pixels)))
        assert max(abs(a - b) for a, b in zip(found, wanted)) < 1e-4, "another model than the source model answers"


@check
def several_models_have_streams_of_their_own():
    with Server("--model", f"other={MODEL}", state="models") as server:
        client, pixels = server.client(), draw_images(3, 4)
        expect(client.stream("a", 0, pixels).status, 200, "--model")
        answer = client.infer(pixels, {"sequence_id": "a", "seq": 0}, "/v2/models/other/infer")
        expect(answer.json["model_name"], "other", "--model")
        index = client.ask("POST", "/v2/repository/index").json
        expect([model["name"] for model in index], ["fashion", "other"], "index")


@check
def a_model_is_unloaded_and_loaded_again():
    with Server("--model", f"other={MODEL}", state="repository") as server:
        client, pixels = server.client(), draw_images(3, 4)
        path = "/v2/repository/models/other"
        infer = lambda seq: client.infer(pixels, {"sequence_id": "a", "seq": seq}, "/v2/models/other/infer")
        expect(infer(0).status, 200, "before")
        expect(client.ask("POST", path + "/unload", "{}").status, 200, "unload")
        expect((infer(1).status, client.stream("a", 0, pixels).status), (503, 200), "the other model serves on")
        expect([model["state"] for model in client.ask("POST", "/v2/repository/index").json], ["READY", "UNAVAILABLE"], "index")
        expect(client.ask("POST", path + "/load").status, 200, "load")
        expect(infer(1).json["parameters"]["next_seq"], 2, "its stream")
        expect(client.ask("POST", "/v2/repository/models/none/load").status, 404, "an unknown model")


@check
def durability_is_of_updates_or_of_answers():
    pixels = draw_images(4, 5)
    for durability, durable in ("window", [0, 0]), ("request", [1, 2]):
        with Server("--durability", durability, state=durability) as server:
            client = server.client()
            found = [client.stream("a", seq, pixels).json["parameters"]["durable_seq"] for seq in range(2)]
            expect(found, durable, f"--durability {durability}")
        assert os.listdir(f"{durability}/streams/fashion/a"), "--state"


@check
def streams_are_bounded_in_number_and_in_memory():
    with Server("--max-streams", "4", "--max-resident", "2", "--workers", "2", state="many") as server:
        client, pixels = server.client(), draw_images(2, 6)
        answers = [client.stream(name, 0, pixels).output("logits") for name in "abcd"]
        assert all(answer == answers[0] for answer in answers)
        refused = client.stream("e", 0, pixels)
        expect((refused.status, refused.headers["Retry-After"]), (429, "1"), "--max-streams")
        listed = client.ask("GET", "/v2/models/fashion/streams").json["streams"]
        expect([stream["name"] for stream in listed], list("abcd"), "list")
        expect(sum(stream["resident"] for stream in listed), 2, "--max-resident")


@check
def queues_are_bounded():
    pixels = draw_images(256, 7)
    for flag in "--max-waiting", "--max-waiting-of-one":
        with Server(flag, "1", "--workers", "1", "--threads", "1", state="queue" + flag) as server:
            with concurrent.futures.ThreadPoolExecutor(24) as pool:
                send = lambda _: server.client().infer(pixels, {"sequence_id": "a"}).status
                statuses = set(pool.map(send, range(24)))
            assert 429 in statuses and statuses <= {200, 429}, f"{flag}: {statuses}"
            expect(server.client().ask("GET", "/v2/health/ready").status, 200, "afterwards")


@check
def bodies_and_connections_are_bounded():
    with Server("--max-body-mb", "1", "--max-connections", "2", state="bounds") as server:
        first, second = server.client(), server.client()
        expect(first.infer(draw_images(1000, 8)).status, 200, "a small body")
        answer = first.infer(draw_images(1400, 8))
        expect((answer.status, answer.json["error"]), (413, "request: expected a body of at most 1048576 bytes"), "--max-body-mb")
        first.connection.close()
        others = [server.client() for _ in range(4)]
        expect(second.ask("GET", "/v2/health/live").status, 200, "the second connection")
        closed = 0
        for client in others:
            try:
                client.ask("GET", "/v2/health/live")
            except (ConnectionError, OSError):
                closed += 1
        assert closed >= 1, "--max-connections closes none"


@check
def a_configuration_file_has_the_same_flags():
    with open("serve.toml", "w") as file:
        file.write('window = 4\nmethod = "tent"\n')
    with Server("--config", "serve.toml", state="config") as server:
        parameters = server.client().ask("GET", "/v2/models/fashion/config").json["parameters"]
        expect((parameters["window"]["string_value"], parameters["method"]["string_value"]), ("4", "tent"), "--config")


@check
def wrong_flags_are_refused():
    for flags, part in [(["--listen", "0.0.0.0:0"], "loopback"), (["--listen", "here"], "ADDRESS:PORT"),
                        (["--listen", "127.0.0.1:99999"], "65535"), (["--durability", "none"], "--durability"),
                        (["--max-resident", "1"], "--max-resident"), (["--method", "sota"], "sotta"),
                        (["--max-streams", "0"], "--max-streams"), (["--set", "min_confidence=2"], "min_confidence"),
                        (["--model", "m="], "NAME=FILE"), (["--workers", "0"], "--workers"), (["--threads", "99999"], "--threads"),
                        (["--window", "0"], "--window"), (["--guard", "maybe"], "guard"), (["--preset", "mine"], "preset"),
                        (["--guard", "skip", "--guard-margin", "0.1"], "guard_margin: has no effect"),
                        (["--guard-margin", "0.1"], "--guard-margin: has no effect while --guard is off"),
                        (["--guard", "skip", "--guard-look-every", "3"], "guard_look_every: has no effect")]:
        model = [] if "--model" in flags else ["--model", f"fashion={MODEL}"]
        sentence = refusal("--state", "refused", *model, *flags)
        assert part in sentence, f"{flags}: {sentence}"
    with open("off.toml", "w") as file:
        file.write("guard_margin = 0.1\n")
    sentence = refusal("--state", "refused", "--model", MODEL, "--config", "off.toml")
    assert "--guard-margin: has no effect while --guard is off" in sentence, sentence
    with Server(state="taken"):
        assert "in use by another process" in refusal("--state", "taken", "--model", MODEL)


@check
def without_flags_it_serves_the_embedded_model():
    pixels = draw_images(3, 9)
    with Server(state="embedded", model=None) as server, Server(state="file") as beside:
        found, wanted = (one.client().infer(pixels).json for one in (server, beside))
        expect(found, wanted, "without --model")


@check
def json_and_binary_say_the_same():
    with Server(state="forms") as server:
        client, pixels = server.client(), draw_images(2, 10)
        binary = client.infer(pixels, outputs=[{"name": "label", "parameters": {"binary_data": True}}, {"name": "logits"}])
        text = json.dumps({"id": "x", "inputs": [{"name": "images", "datatype": "UINT8", "shape": [2, 1, SIDE, SIDE],
                                                  "data": list(pixels)}]})
        plain = client.ask("POST", "/v2/models/fashion/versions/1/infer", text)
        expect(plain.json["id"], "x", "id")
        expect(plain.output("logits"), binary.output("logits"), "logits")
        expect([int.from_bytes(binary.binary[i:i + 8], "little") for i in (0, 8)], plain.output("label"), "labels")
        best = client.infer(pixels, outputs=[{"name": "logits", "parameters": {"classification": 1}}])
        expect([int(word.split(":")[1]) for word in best.output("logits")], plain.output("label"), "classification")


def raw(port, data, end=True):
    """What the server says to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return answer
            if not part:
                return answer
            answer += part


@check
def bad_bytes_get_a_4xx_and_change_nothing():
    post = b"POST /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\n"
    wrong = [(b"\x00\xff\r\n\r\n", b" 400 "), (b"GET / HTTP/9.9\r\n\r\n", b" 400 "),
             (post + b"Content-Length: -1\r\n\r\n", b" 400 "),
             (post + b"Content-Length: 99999999999999999999999\r\n\r\n", b" 400 "),
             (post + b"Content-Length: 99999999999\r\n\r\n", b" 413 "),
             (post + b"Content-Length: 2\r\nInference-Header-Content-Length: 99999999999\r\nConnection: close\r\n\r\n{}", b" 400 "),
             (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b" 400 "),
             (post + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + b"1\r\n[\r\n" * 5000 + b"0\r\n\r\n", b" 400 "),
             (post + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nabcde", b" 415 "),
             (post + b"X: " + b"y" * 40000 + b"\r\n\r\n", b" 413 "),
             (b"GET /v2/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 400 "),
             (b"HEAD /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 405 ")]
    with Server(state="bad") as server:
        for data, status in wrong:
            answer = raw(server.port, data)
            assert status in answer.split(b"\r\n")[0], f"{data[:80]}: {answer[:200]}"
        assert raw(server.port, post + b"Content-Length: 50\r\n\r\nshort") == b""
        two = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
        expect(raw(server.port, two).count(b"200 OK"), 2, "two requests at once")
        head = raw(server.port, post + b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert head.startswith(b"HTTP/1.1 100 "), head[:80]
        expect(server.client().ask("GET", "/v2/health/ready").status, 200, "afterwards")


@check
def a_stream_goes_on_after_the_servers_end():
    pixels = draw_images(160, 11)
    part = lambda seq: pixels[seq * 10 * SIDE**2:(seq + 1) * 10 * SIDE**2]
    with Server("--window", "16", "--set", "min_confidence=0", state="quiet") as server:
        client = server.client()
        expected = [client.stream("a/b", seq, part(seq)).output("logits") for seq in range(16)]
    found = []
    for begin in range(0, 16, 8):
        with Server("--window", "16", "--set", "min_confidence=0", state="on") as server:
            client = server.client()
            found += [client.stream("a/b", seq, part(seq)).output("logits") for seq in range(begin, begin + 8)]
            again = client.stream("a/b", begin, part(begin))
            expect((again.output("logits"), again.json["parameters"]["next_seq"]), (found[begin], begin + 8), "sent again")
            gap = client.stream("a/b", begin + 9, part(0))
            expect((gap.status, gap.json["next_seq"]), (409, begin + 8), "a gap")
    expect(found, expected, "logits")


@check
def connections_leave_descriptors_to_streams():
    flags = ["--durability", "request", "--max-resident", "2"]
    with Server(*flags, state="few", limits=["--nofile=120"]) as server:
        client = server.client()
        expect(client.stream("a", 0, draw_images(1, 0)).status, 200, "the first request")
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(150)]
        for seq in range(1, 4):
            said = client.stream("b", seq - 1, draw_images(1, seq)).json["parameters"]
            expect((said["durable_seq"], said.get("frozen")), (seq, None), "a stream beside a crowd")
        for connection in crowd:
            connection.close()
    assert "expected a limit (ulimit -n) of more than" in refusal("--state", "less", *flags, limits=["--nofile=60"])


@check
def a_request_in_flight_is_answered_before_the_end():
    pixels = draw_images(1024, 12)
    server = Server("--threads", "1", "--workers", "1", state="flight")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: server.client().infer(pixels, {"sequence_id": "a"}))
        watcher = server.client()
        while watcher.ask("GET", "/metrics").body.count(b"sotta_streams{model=\"fashion\"} 0"):
            pass
        server.__exit__(None)
        expect(answer.result().status, 200, "the request in flight")
    with Server(state="flight") as again:
        expect(again.client().status("a")["next_seq"], 1, "its stream")


if __name__ == "__main__":
    sys.exit(run_checks())
