"""Who may ask `sotta serve` for what, seen from outside. Run by serve_access_test.sh in an empty
folder; with names of checks behind it, those alone."""
import gzip
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import zlib

from serve_client import MODEL, SIDE, SOTTA, Server, check, draw_images, expect, refusal, run_checks

STREAMS = "/v2/models/fashion/streams"


def make_token(*words, file="tokens.jsonl", code=0):
    """The secret of a new token, whose line is appended to the file."""
    done = subprocess.run([SOTTA, "token", *words], capture_output=True, text=True)
    expect(done.returncode, code, f"token {words}: {done.stderr}")
    with open(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as lines:
        lines.write(done.stdout)
    return done.stderr.strip()


def status(client, method, path, body=b"", headers={}):
    return client.ask(method, path, body, headers).status


@check
def tokens_have_scopes_streams_and_models():
    root = make_token("root", "--scope", "admin")
    gate = make_token("gate", "--streams", "gate-", "door-")
    keeper = make_token("keeper", "--scope", "control", "--models", "fashion")
    other = make_token("other", "--models", "other")
    with open("tokens.jsonl") as file:
        text = file.read()
    assert not any(secret in text for secret in (root, gate, keeper, other)), "a secret is in the file"
    with Server("--tokens", "tokens.jsonl", state="scopes") as server:
        nobody, pixels = server.client(), draw_images(2, 1)
        expect([status(nobody, "GET", path) for path in ("/v2", "/v2/health/live", "/v2/health/ready")], [200] * 3, "open")
        refused = nobody.ask("GET", "/v2/models/fashion")
        expect((refused.status, refused.headers["WWW-Authenticate"]), (401, 'Bearer realm="sotta"'), "no token")
        expect(status(nobody, "GET", f"/v2/models/fashion?token={root}"), 401, "a token in the target")
        expect(status(server.client("sotta_guess"), "GET", "/metrics"), 401, "an unknown token")

        client = server.client(gate)
        expect([client.stream(name, 0, pixels).status for name in ("gate-1", "door-1", "a")], [200, 200, 403], "--streams")
        expect(server.client(root).stream("a", 0, pixels).status, 200, "all streams")
        expect([one["name"] for one in client.ask("GET", STREAMS).json["streams"]], ["door-1", "gate-1"], "list")
        expect([status(client, "GET", f"{STREAMS}/{name}") for name in ("gate-1", "a", "b")], [200, 403, 403], "status")
        expect(status(client, "POST", f"{STREAMS}/gate-1/freeze"), 403, "--scope infer")
        expect(status(client, "GET", "/metrics"), 403, "sums over all streams")
        client = server.client(keeper)
        expect(status(client, "POST", f"{STREAMS}/gate-1/freeze"), 200, "--scope control")
        expect(status(client, "GET", f"{STREAMS}/gate-1/state"), 403, "images")
        expect(status(server.client(root), "GET", f"{STREAMS}/gate-1/state"), 200, "--scope admin")
        expect([status(server.client(one), "GET", "/v2/models/fashion") for one in (keeper, other)], [200, 404], "--models")


@check
def a_file_that_changes_is_read_at_sighup():
    first = make_token("first", file="changing.jsonl")
    with Server("--tokens", "changing.jsonl", state="hangup") as server:
        second = make_token("second", file="changing.jsonl")

        def reload_until(token, wanted):
            server.process.send_signal(signal.SIGHUP)
            while status(server.client(token), "GET", "/v2/models/fashion") != wanted:
                pass

        expect(status(server.client(second), "GET", "/v2/models/fashion"), 401, "before SIGHUP")
        reload_until(second, 200)
        with open("changing.jsonl", "a") as file:
            file.write("nonsense\n")
        server.process.send_signal(signal.SIGHUP)
        sentence = server.process.stderr.readline()
        assert "changing.jsonl: line 3: expected a JSON object; the tokens stay as they were" in sentence, sentence
        expect(status(server.client(first), "GET", "/v2/models/fashion"), 200, "after a bad file")
        with open("changing.jsonl", "r+") as file:
            lines = file.readlines()
            file.seek(0)
            file.truncate()
            file.writelines(lines[1:2])
        # Who reads events has to ask again, by a token that is still there.
        expect(server.client(first).stream("a", 0, draw_images(2, 1)).status, 200, "before it is revoked")
        events = server.client(first).listen(f"{STREAMS}/a/events")
        reload_until(first, 401)
        expect(events.read(), b"", "events after SIGHUP")
        expect(status(server.client(second), "GET", "/v2/models/fashion"), 200, "the one that is left")


@check
def names_of_models_that_make_no_folder_are_refused():
    for name in "x" * 81, "a\nb":
        sentence = refusal("--state", "refused", "--model", f"{name}={MODEL}")
        assert "--model: expected a name of at most 80 bytes" in sentence, sentence


@check
def wrong_files_and_addresses_are_refused():
    serve = lambda *flags: refusal("--state", "refused", "--model", f"fashion={MODEL}", *flags)
    for text, part in ("", "at least one token"), ("{}", "line 1: expected a name"), ("[1", "line 1: expected a JSON object"):
        with open("wrong.jsonl", "w") as file:
            file.write(text)
        os.chmod("wrong.jsonl", 0o600)
        assert part in serve("--tokens", "wrong.jsonl"), part
    assert "--tokens" in serve("--listen", "0.0.0.0:0"), "an open address without tokens"
    assert "--tokens" in serve("--listen", "[::]:0"), "an open address without tokens"
    assert "nothing.jsonl" in serve("--tokens", "nothing.jsonl")
    for words, part in (["x", "--scope", "root"], "scope"), (["x", "--streams", ""], "streams"), ([""], "name"):
        assert part in make_token(*words, file="none.jsonl", code=2), words


@check
def with_tokens_other_addresses_are_listened_on():
    make_token("one", file="open.jsonl")
    os.chmod("open.jsonl", 0o644)
    with Server("--tokens", "open.jsonl", "--listen", "0.0.0.0:0", state="open") as server:
        expect(status(server.client(), "GET", "/v2/models/fashion"), 401, "asked from outside")
        sentence = server.process.stderr.readline()
        assert "others may read" in sentence, sentence


def make_certificate(name):
    """A key and a certificate for 127.0.0.1 that it has signed itself."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", f"{name}.key", "-out", f"{name}.pem"], check=True, capture_output=True)
    return f"{name}.pem", f"{name}.key"


def ask_by_tls(port, certificate, version=None):
    context = ssl.create_default_context(cafile=certificate)
    if version:
        context.maximum_version = version
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
    connection.request("GET", "/v2/models/fashion")
    first = connection.getresponse()
    expect((first.status, json.loads(first.read())["name"]), (200, "fashion"), "over TLS")
    connection.request("POST", "/v2/models/fashion/infer", b"{" * (1 << 20))  # the connection is kept
    second = connection.getresponse()
    expect((second.status, list(json.loads(second.read()))), (400, ["error"]), "a large body over TLS")


@check
def tls_speaks_to_python_and_curl():
    certificate, key = make_certificate("first")
    with Server("--tls-cert", certificate, "--tls-key", key, state="tls") as server:
        address = f"https://127.0.0.1:{server.port}"
        assert f"listening on {address}" in server.said, server.said
        ask_by_tls(server.port, certificate)
        ask_by_tls(server.port, certificate, ssl.TLSVersion.TLSv1_2)
        curl = subprocess.run(["curl", "-sS", "--cacert", certificate, f"{address}/v2/health/live"], capture_output=True, text=True)
        expect((curl.stdout, curl.stderr), ('{"live":true}', ""), "curl")
        old = subprocess.run(["curl", "-sS", "--tls-max", "1.1", "--cacert", certificate, address], capture_output=True)
        assert old.returncode, "TLS 1.1 is spoken"
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
            plain.sendall(b"GET /v2 HTTP/1.1\r\n\r\n")
            assert b"HTTP" not in plain.recv(100), "answered without TLS"
        ask_by_tls(server.port, certificate)

        new_certificate, new_key = make_certificate("second")  # a renewal
        os.replace(new_key, key)
        os.replace(new_certificate, certificate)
        server.process.send_signal(signal.SIGHUP)
        for _ in range(1000):
            try:
                return ask_by_tls(server.port, certificate)
            except ssl.SSLCertVerificationError:
                pass
        raise AssertionError("the certificate stays as it was")


@check
def wrong_certificates_are_refused():
    certificate, key = make_certificate("good")
    _, other = make_certificate("other")
    subprocess.run(["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", "locked.key"],
                   check=True, capture_output=True)
    with open("junk", "w") as file:
        file.write("junk")
    for flags, part in [(["--tls-cert", certificate], "--tls-key"), (["--tls-key", key], "--tls-cert"),
                        (["--tls-cert", certificate, "--tls-key", other], "other.key"),
                        (["--tls-cert", "junk", "--tls-key", key], "junk"),
                        (["--tls-cert", certificate, "--tls-key", "junk"], "junk"),
                        (["--tls-cert", "none", "--tls-key", key], "none"),
                        (["--tls-cert", certificate, "--tls-key", "locked.key"], "locked.key")]:
        sentence = refusal("--state", "refused", "--model", f"fashion={MODEL}", *flags)
        assert part in sentence, f"{flags}: {sentence}"


@check
def pages_of_other_sites_are_refused():
    with Server("--allow-host", "gate.example", state="hosts") as server:
        client, own = server.client(), f"127.0.0.1:{server.port}"
        asked = lambda **headers: status(client, "GET", "/v2", b"", headers)
        expect([asked(Host=host) for host in ("localhost", "gate.example:80", "evil.example")], [200, 200, 403], "--allow-host")
        expect([asked(Origin=origin) for origin in (f"http://{own}", "http://evil.example", "null")], [200, 403, 403], "Origin")
        answer = client.ask("OPTIONS", "/v2", b"", {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"})
        assert not any(name.lower().startswith("access-control") for name in answer.headers), "CORS headers"
        expect(answer.status, 403, "a preflight")


def most_resident_kb(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


@check
def compressed_bodies_are_unpacked_within_limits():
    path, pixels = "/v2/models/fashion/infer", draw_images(2, 3)
    text = json.dumps({"inputs": [{"name": "images", "datatype": "UINT8", "shape": [2, 1, SIDE, SIDE],
                                   "parameters": {"binary_data_size": len(pixels)}}]}).encode()
    length = {"Inference-Header-Content-Length": str(len(text))}
    with Server("--max-body-mb", "8", state="packed") as server:
        client = server.client()
        wanted = client.ask("POST", path, text + pixels, length).json
        for encoding, pack in ("gzip", gzip.compress), ("deflate", zlib.compress):
            answer = client.ask("POST", path, pack(text + pixels), {"Content-Encoding": encoding, **length})
            expect((answer.status, answer.json), (200, wanted), encoding)
        refused = lambda body, encoding, where=path: server.client().ask("POST", where, body, {"Content-Encoding": encoding}).status
        expect([refused(b"{}", name) for name in ("br", "gzip, gzip", "identity")], [415, 415, 400], "encodings")
        expect(refused(gzip.compress(b"{}"), "gzip", f"{STREAMS}/a/freeze"), 415, "a command")
        expect(refused(gzip.compress(b"{}")[:-1], "gzip"), 400, "cut short")
        before = most_resident_kb(server)
        bomb = gzip.compress(bytes(1 << 28))
        expect([refused(bomb, "gzip") for _ in range(8)], [413] * 8, "bombs")
        expect(refused(gzip.compress(bomb), "gzip"), 400, "a bomb within")
        assert most_resident_kb(server) < before + (64 << 10), "bombs take memory"
        expect(status(client, "GET", "/v2/health/ready"), 200, "afterwards")


@check
def who_may_not_ask_need_not_send_a_body():
    make_token("one", file="early.jsonl")
    with Server("--tokens", "early.jsonl", state="early") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(b"POST /v2/models/fashion/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 401 "), "the body is waited for"


if __name__ == "__main__":
    sys.exit(run_checks())
