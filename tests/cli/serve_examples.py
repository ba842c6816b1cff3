"""The clients in examples/serve do what they say: serve_examples.py CLIENT, the one in C++. Run by
serve_examples_test.sh in an empty folder."""
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading

from serve_client import ROOT, Client, Server, draw_images, write_npy

sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from free_port import free_port  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples/serve")
REQUESTS = 60


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}: {done.returncode} {done.stderr}"
    return done.stdout


def check_short_ones(client_in_cpp):
    write_npy("images.npy", draw_images(150, 1))
    with Server("--method", "sotta", "--window", "16", "--set", "min_confidence=0", state="short") as server:
        address = f"127.0.0.1:{server.port}"
        if shutil.which("curl"):
            assert '"next_seq":1' in run("bash", f"{EXAMPLES}/curl.sh", address)
            assert os.path.getsize("norm.safetensors") > 1000
            said = run("bash", f"{EXAMPLES}/curl.sh", address, "images.npy")
            assert '"seq":2,"next_seq":3' in said and '"updates":12' in said, said
        if importlib.util.find_spec("tritonclient"):
            assert run(sys.executable, f"{EXAMPLES}/triton_client.py", address).count("updates") == 4
        if importlib.util.find_spec("requests"):
            out = run(sys.executable, f"{EXAMPLES}/requests_client.py", address)
            assert out.count("updates") == 4 and "4 requests so far" in out, out
        for _ in range(2):  # the second finds that all of its requests are known
            out = run(client_in_cpp, "127.0.0.1", str(server.port))
        assert "request 0: [" in out and server.client().status("camera-10")["next_seq"] == 8, out


def norm_of(port, stream):
    return Client(port).ask("GET", f"/v2/models/fashion/streams/{stream}/norm").body


class FrozenServer(http.server.BaseHTTPRequestHandler):
    """Has one stream, which is frozen for the first three requests."""
    requests, next_seq = 0, 0

    def do_GET(self):
        self.answer({"next_seq": FrozenServer.next_seq})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/snapshot"):
            return self.answer({"durable_seq": FrozenServer.next_seq})
        FrozenServer.requests += 1
        FrozenServer.next_seq += FrozenServer.requests > 3
        self.answer({"parameters": {"next_seq": FrozenServer.next_seq, "durable_seq": 0}})

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def check_pauses():
    """A client whose request is not counted waits before it sends that again."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), FrozenServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watch_sleep = "import runpy, sys, time; time.sleep = lambda seconds: print('paused'); runpy.run_path(sys.argv.pop(1))"
    out = run(sys.executable, "-c", watch_sleep, f"{EXAMPLES}/exactly_once.py", f"127.0.0.1:{server.server_port}", "a", "5")
    assert out.count("paused") == 3 and "8 sent" in out, out
    server.shutdown()
    server.server_close()


def check_exactly_once():
    """Two clients, one of whose servers is killed again and again: the same norm layers."""
    flags = ("--window", "16", "--set", "min_confidence=0")
    with Server(*flags, state="quiet") as server:
        run(sys.executable, f"{EXAMPLES}/exactly_once.py", f"127.0.0.1:{server.port}", "a", str(REQUESTS))
        wanted = norm_of(server.port, "a")
    port = free_port()
    client = subprocess.Popen([sys.executable, f"{EXAMPLES}/exactly_once.py", f"127.0.0.1:{port}", "a", str(REQUESTS)],
                              stdout=subprocess.PIPE, text=True)
    for killed_at in 7, 20, 33, REQUESTS:
        server = Server(*flags, state="killed", port=port)
        while Client(port).ask("GET", "/metrics").body.count(b"sotta_streams{model=\"fashion\"} 0"):
            pass  # the client has not come yet
        while Client(port).status("a")["next_seq"] < killed_at and client.poll() is None:
            pass
        if killed_at < REQUESTS:
            server.process.kill()
            server.process.communicate()
    with server:
        out = client.communicate(timeout=120)[0]
        assert client.returncode == 0 and int(out.split()[-2]) > REQUESTS, out
        assert norm_of(port, "a") == wanted, "other norm layers"


check_short_ones(sys.argv[1])
check_pauses()
check_exactly_once()
