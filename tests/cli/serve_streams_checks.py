"""What the operator's command, `sotta streams`, does at one server."""
import http.server
import json
import os
import subprocess
import sys
import threading

from serve_client import ROOT, SOTTA, Server, check, draw_images, expect, run_checks, streams

sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from free_port import free_port  # noqa: E402


@check
def the_operators_command_shows_and_changes_streams():
    with Server("--window", "8", "--set", "min_confidence=0", state="operated") as server:
        client = server.client()
        for name in "a", "b ü/":
            client.stream(name, 0, draw_images(8, name))
        listed = [json.loads(line) for line in streams(server, "list", "--json").splitlines()]
        expect([(each["name"], each["next_seq"]) for each in listed], [("a", 1), ("b ü/", 1)], "list --json")
        assert "b ü/" in streams(server, "list") and "durable" in streams(server, "list")
        expect(json.loads(streams(server, "show", "b ü/"))["next_seq"], 1, "show")
        expect(json.loads(streams(server, "freeze", "a", "--model", "fashion"))["frozen"], "by request", "freeze")
        expect(json.loads(streams(server, "thaw", "a"))["frozen"], "", "thaw")
        norm = client.ask("GET", "/v2/models/fashion/streams/a/norm").body
        kept = client.ask("POST", "/v2/models/fashion/streams/a/snapshot").json["snapshot"]
        streams(server, "reset", "a")
        assert client.ask("GET", "/v2/models/fashion/streams/a/norm").body != norm, "reset"
        streams(server, "rollback", "a", "--to", str(kept))
        expect(client.ask("GET", "/v2/models/fashion/streams/a/norm").body, norm, "rollback")
        streams(server, "export", "a", "--out", "exported")
        with open("exported", "rb") as file:
            expect(client.ask("PUT", "/v2/models/fashion/streams/copy/state", file.read()).status, 200, "export")
        expect(client.ask("GET", "/v2/models/fashion/streams/copy/norm").body, norm, "the copy")
        for part, *words in [("expected a stream's name", "show"), ("expected no name", "list", "a"), ("--to", "rollback", "a"),
                             ("--to", "reset", "a", "--to", "3"), ("--out", "export", "a"), ("--out", "show", "a", "--out", "x"),
                             ("--json", "show", "a", "--json"), ("unknown name", "destroy", "a"), ("none of this name", "show", "z"),
                             ("none of number", "rollback", "a", "--to", "99"), ("model", "list", "--model", "other")]:
            said = streams(server, *words, code=2)
            assert part in said, f"{words}: {said}"
    done = subprocess.run([SOTTA, "streams", "list", "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1, f"{done.returncode} {done.stderr}"


class StrangeServer(http.server.BaseHTTPRequestHandler):
    """Answers with 200 and a body for each path, another one for all the rest."""
    bodies = {}

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = self.bodies.get(self.path.partition("?")[0], self.bodies.get("")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@check
def the_operators_command_trusts_no_answer():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), StrangeServer)
    server.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    models, path = "/v2/repository/index", "/v2/models/m/streams"
    for bodies in [{"": "{}"}, {"": "[1]"}, {"": "[]"}, {"": "no JSON"}, {"": '[{"name":""}]'}, {"": '[{"name":3}]'},
                   *({models: '[{"name":"m"}]', path: body} for body in (
                       "{}", "[1]", '{"streams":3}', '{"streams":[3]}', '{"streams":[{"name":3}]}', '{"streams":[],"next":3}',
                       '{"streams":[],"next":"a"}', '{"streams":[{"name":"a","next_seq":"b"}]}', '{"streams":[{"next_seq":1.5}]}'))]:
        StrangeServer.bodies = bodies
        said = streams(server, "list", code=2)
        assert "is this a `sotta serve`?" in said, f"{bodies}: {said}"
    StrangeServer.bodies = {path: '{"streams":[{"name":"a","next_seq":5000000000}]}', path + "/a/state": "no state"}
    assert " 5000000000 " in streams(server, "list", "--model", "m")
    said = streams(server, "export", "a", "--model", "m", "--out", "strange", code=2)
    assert "the server's answer" in said and not os.path.exists("strange"), said
    server.shutdown()
    server.server_close()
    done = subprocess.run([SOTTA, "streams", "list", "--server", "https://127.0.0.1:1"], capture_output=True, text=True)
    assert done.returncode == 2 and "speaks no TLS" in done.stderr, done.stderr


@check
def the_operators_command_brings_a_token():
    token = subprocess.run([SOTTA, "token", "keeper", "--scope", "infer"], capture_output=True, text=True)
    if token.returncode:
        return print("skipped, as this build has no OpenSSL: tokens")
    with open("tokens.jsonl", "w") as file:
        file.write(token.stdout)
    os.chmod("tokens.jsonl", 0o600)
    with open("token", "w") as file:
        file.write(token.stderr)
    with Server("--tokens", "tokens.jsonl", state="guarded") as server:
        server.client(token.stderr.strip()).stream("a", 0, draw_images(8, 0))
        assert "a " in streams(server, "list", "--token-file", "token")
        assert "token" in streams(server, "list", code=2)
        streams(server, "freeze", "a", "--token-file", "token", code=2)  # needs control
        assert "absent: there is no such file" in streams(server, "list", "--token-file", "absent", code=2)
        with open("empty", "w"):
            pass
        assert "first line" in streams(server, "list", "--token-file", "empty", code=2)


sys.exit(run_checks())
