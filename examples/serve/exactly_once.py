"""Sends a stream of images to `sotta serve` so that each request is learnt from exactly once,
whatever happens to the server or the connection: exactly_once.py [HOST:PORT [STREAM [REQUESTS]]].
Python's standard library is enough.

The rule is short: requests are numbered, and the server says which it expects next. What it has
saved (durable_seq) need not be kept; all after that may be asked for again.
"""
import json
import random
import sys
import time
import urllib.error
import urllib.request

ADDRESS, STREAM, REQUESTS = (sys.argv[1:] + ["127.0.0.1:8000", "camera-9", "40"][len(sys.argv) - 1:])[:3]
URL = f"http://{ADDRESS}/v2/models/fashion/streams/{STREAM}"
IMAGES, SIDE = 10, 28


def take_images(seq):
    """From a camera; here always the same noise."""
    return random.Random(seq).randbytes(IMAGES * SIDE * SIDE)


def ask(path, body=None, headers={}):
    """Status and JSON of the answer; None where there was none and it is to be asked again."""
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers), timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code in (429, 503):
            time.sleep(float(error.headers.get("Retry-After", 1)))
            return None
        return error.code, json.load(error)
    except (OSError, ValueError):  # no connection, or an answer that broke off
        time.sleep(0.2)
        return None


def send(seq, images):
    text = json.dumps({
        "parameters": {"seq": seq},
        "inputs": [{"name": "images", "datatype": "UINT8", "shape": [IMAGES, 1, SIDE, SIDE],
                    "parameters": {"binary_data_size": len(images)}}],
        "outputs": [{"name": "label"}]}).encode()
    return ask("/infer", text + images, {"Inference-Header-Content-Length": str(len(text)),
                                         "Sotta-Seq": str(seq)})  # HAProxy may send it again


def expected_next():
    """Where the server stands, after it was away."""
    while True:
        answer = ask("")
        if answer:
            return answer[1]["next_seq"] if answer[0] == 200 else 0


kept = {}  # images that a crash of the server could lose
seq, sent = expected_next(), 0
while True:
    while seq < int(REQUESTS):
        if seq not in kept:
            kept[seq] = take_images(seq)
        answer = send(seq, kept[seq])
        sent += 1
        if answer is None:
            seq = expected_next()
        elif answer[0] == 409 and "next_seq" in answer[1]:
            seq = answer[1]["next_seq"]
        elif answer[0] == 200:
            parameters = answer[1]["parameters"]
            if parameters["next_seq"] <= seq:  # answered and not counted: its disk is full, or it learns nothing
                time.sleep(1)
            seq, durable = parameters["next_seq"], parameters["durable_seq"]
            kept = {number: images for number, images in kept.items() if number >= durable}
        else:
            sys.exit(f"request {seq}: {answer[1]['error']}")
    # All are answered; done once they are saved, too.
    saved = ask("/snapshot", b"{}")
    if saved and saved[0] != 200:
        sys.exit(f"snapshot: {saved[1]['error']}")
    if saved and saved[1]["durable_seq"] >= int(REQUESTS):
        break
    seq = expected_next()
print(f"{REQUESTS} requests learnt from once each, {sent} sent")
