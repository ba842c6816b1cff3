"""A server and a client for the checks of `sotta serve`, on Python's standard library, and how
checks are listed and run."""
import http.client
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import traceback

from serve_openapi import DOCUMENT

SOTTA, ROOT = os.environ["SOTTA_BIN"], os.environ["SOTTA_ROOT"]
MODEL = os.path.join(ROOT, "models/fashion_resnet8.safetensors")
SIDE = 28
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(found, expected, what):
    assert found == expected, f"{what}: expected {expected}, got {found}"


def run_checks():
    """All of them, or those that the command line names; 1 if one failed."""
    failed = 0
    for function in [each for each in CHECKS if len(sys.argv) == 1 or each.__name__ in sys.argv]:
        try:
            function()
        except Exception:
            failed += 1
            print(f"{function.__name__}\n{traceback.format_exc(limit=-3)}")
    return 1 if failed else 0


class Server:
    """`sotta serve` on a free port; ended by SIGTERM, which must end it with code 0.

    Without `wait` it is not waited for until it listens; `limits` are prlimit's, `environment` is added."""

    def __init__(self, *flags, state="state", model=f"fashion={MODEL}", port=0, wait=True, limits=(), environment={}):
        limited = ["prlimit", *limits] if limits else []
        model_flags = ["--model", model] if model else []
        listen = [] if "--listen" in flags else ["--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(
            [*limited, SOTTA, "serve", *listen, "--state", state, *model_flags, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.said = ""
        if wait and not self.wait():
            raise AssertionError(f"sotta serve {flags}: {self.process.stderr.read()}")

    def wait(self):
        """Whether it has come to listen; not so if it has ended before."""
        for line in self.process.stdout:
            self.said += line
            found = re.match(r"listening on https?://[0-9.]+:(\d+)$", line)
            if found:
                self.port = int(found[1])
                return True
        return False

    def end(self, code=0):
        """Waits for its end, which must have this code."""
        errors = self.process.communicate(timeout=120)[1]
        assert self.process.returncode == code, f"exit code {self.process.returncode}, expected {code}: {errors}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        if kind is None:
            self.end()
        else:
            self.process.communicate(timeout=120)

    def client(self, token=None):
        return Client(self.port, token)


def refusal(*flags, limits=()):
    """What `sotta serve` says that must not start."""
    listen = [] if "--listen" in flags else ["--listen", "127.0.0.1:0"]
    limited = ["prlimit", *limits] if limits else []
    done = subprocess.run([*limited, SOTTA, "serve", *listen, *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, f"{flags}: {done.returncode} {done.stderr}"
    return done.stderr


def streams(server, *words, code=0):
    """Standard output of `sotta streams`, or the sentence that it refuses with."""
    done = subprocess.run([SOTTA, "streams", *words, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == code, f"streams {words}: exit code {done.returncode}, {done.stderr}"
    if code:
        assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr if code else done.stdout


def draw_images(count, seed):
    return random.Random(seed).randbytes(count * SIDE * SIDE)


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body
        length = int(response.headers.get("Inference-Header-Content-Length", len(body)))
        is_json = response.headers.get("Content-Type") == "application/json" or length < len(body)
        self.json = json.loads(body[:length]) if is_json else None
        self.binary = body[length:]

    def output(self, name):
        return next(output["data"] for output in self.json["outputs"] if output["name"] == name)


class Client:
    """One keep-alive connection. What it is answered must be as openapi.json says."""

    def __init__(self, port, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method, path, body=b"", headers={}):
        self.connection.request(method, path, body, {**self.headers, **headers})
        response = self.connection.getresponse()
        answer = Answer(response, response.read())
        DOCUMENT.check(method, path, answer)
        return answer

    def listen(self, path):
        """A response of server-sent events, to be read line by line; takes the connection."""
        self.connection.request("GET", path, headers=self.headers)
        response = self.connection.getresponse()
        DOCUMENT.check("GET", path, Answer(response, b"" if response.status == 200 else response.read()))
        return response

    def infer(self, pixels, parameters={}, path="/v2/models/fashion/infer", outputs=None, **more):
        text = json.dumps({
            "parameters": parameters,
            "inputs": [{"name": "images", "datatype": "UINT8", "shape": [len(pixels) // SIDE**2, 1, SIDE, SIDE],
                        "parameters": {"binary_data_size": len(pixels)}}],
            **({"outputs": outputs} if outputs else {}), **more}).encode()
        return self.ask("POST", path, text + pixels, {"Inference-Header-Content-Length": str(len(text))})

    def stream(self, name, seq, pixels, **parameters):
        return self.infer(pixels, {"sequence_id": name, "seq": seq, **parameters})

    def status(self, name):
        return self.ask("GET", f"/v2/models/fashion/streams/{name}").json


def write_npy(path, pixels):
    header = str({"descr": "|u1", "fortran_order": False, "shape": (len(pixels) // SIDE**2, SIDE, SIDE)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + pixels)
