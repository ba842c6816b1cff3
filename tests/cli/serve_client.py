"""A server and a client for the checks of `sotta serve`, on Python's standard library."""
import http.client
import json
import os
import random
import re
import signal
import struct
import subprocess

SOTTA, ROOT = os.environ["SOTTA_BIN"], os.environ["SOTTA_ROOT"]
MODEL = os.path.join(ROOT, "models/fashion_resnet8.safetensors")
SIDE = 28


class Server:
    """`sotta serve` on a free port; ended by SIGTERM, which must end it with code 0."""

    def __init__(self, *flags, state="state", model=f"fashion={MODEL}"):
        model_flags = ["--model", model] if model else []
        self.process = subprocess.Popen(
            [SOTTA, "serve", "--listen", "127.0.0.1:0", "--state", state, *model_flags, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            found = re.match(r"listening on http://127\.0\.0\.1:(\d+)$", line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError(f"sotta serve {flags}: {self.process.stderr.read()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        errors = self.process.communicate(timeout=120)[1]
        if kind is None:
            assert self.process.returncode == 0, f"exit code {self.process.returncode}: {errors}"

    def client(self):
        return Client(self.port)


def refusal(*flags):
    """What `sotta serve` says that must not start."""
    listen = [] if "--listen" in flags else ["--listen", "127.0.0.1:0"]
    done = subprocess.run([SOTTA, "serve", *listen, *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, f"{flags}: {done.returncode} {done.stderr}"
    return done.stderr


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
    """One keep-alive connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, body=b"", headers={}):
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return Answer(response, response.read())

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
