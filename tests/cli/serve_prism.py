"""`sotta serve` behind Prism, a proxy that compares requests and answers with an OpenAPI document:
serve_prism.py PRISM YAML, where YAML is openapi/dataplane.yaml of SeldonIO/MLServer, the Open
Inference Protocol as another server writes it. Run by serve_prism_test.sh in an empty folder."""
import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys

from serve_client import SIDE, Server, draw_images

PIXELS = list(draw_images(2, 1))


@contextlib.contextmanager
def prism(command, document, port):
    """The port of a proxy in front of this one."""
    proxy = subprocess.Popen([command, "proxy", document, f"http://127.0.0.1:{port}", "--host", "127.0.0.1", "--port", "0"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in proxy.stdout:
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
            if found:
                yield int(found[1])
                return
        raise AssertionError(f"{command} does not listen")
    finally:
        proxy.send_signal(signal.SIGTERM)
        proxy.communicate(timeout=60)


def request(shape=(2, 1, SIDE, SIDE), **more):
    return {"inputs": [{"name": "images", "datatype": "UINT8", "shape": shape, "data": PIXELS}], **more}


def requests():
    """Method, path, JSON and the status that is expected."""
    for path in "/v2", "/v2/health/live", "/v2/health/ready":
        yield "GET", path, None, 200
    for base in "/v2/models/fashion", "/v2/models/fashion/versions/1":
        yield "GET", base, None, 200
        yield "GET", base + "/ready", None, 200
        infer = base + "/infer"
        yield "POST", infer, request(), 200
        yield "POST", infer, request(id="x", parameters={"sequence_id": "a", "adapt": True}), 200
        yield "POST", infer, request(parameters={"sequence_id": 7, "sequence_start": True, "sequence_end": True}), 200
        for name in "logits", "label", "confidence", "verdict":
            yield "POST", infer, request(outputs=[{"name": name}]), 200
        yield "POST", infer, request(outputs=[{"name": "logits", "parameters": {"classification": 3}}]), 200
        yield "POST", infer, request(shape=[3, 1, SIDE, SIDE]), 400
        yield "POST", infer, request(outputs=[{"name": "none"}]), 400
    yield "GET", "/v2/models/none", None, 404
    yield "POST", "/v2/models/none/infer", request(), 404


def count_violations(server, document):
    """Of all requests; and Prism must see that one without inputs is none."""
    violations = 0
    with prism(sys.argv[1], document, server.port) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

        def ask(method, path, document):
            client.request(method, path, json.dumps(document) if document else None, {"Content-Type": "application/json"})
            response = client.getresponse()
            body = response.read()
            return response.status, body, json.loads(response.headers.get("sl-violations", "[]"))

        for method, path, sent, expected in requests():
            status, body, found = ask(method, path, sent)
            assert status == expected, f"{method} {path}: {status} {body[:400]}"
            violations += len(found)
            for violation in found:
                print(f"{method} {path}: {violation}")
        assert ask("POST", "/v2/models/fashion/infer", {"id": "x"})[2], "Prism compares nothing"
    return violations


# The document has a type that OpenAPI does not have, `bytes`, and Prism leaves bodies alone whose
# schema it cannot compile: without this line nothing would be compared.
with open(sys.argv[2]) as published, open("dataplane.yaml", "w") as mended:
    mended.write(published.read().replace("- type: bytes", "- type: string"))
with Server(state="prism") as server:
    total = count_violations(server, "dataplane.yaml")
print(f"{len(list(requests()))} requests, {total} violations")
sys.exit(1 if total else 0)
