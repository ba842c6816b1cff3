"""A stream of `sotta serve` by plain requests: requests_client.py [HOST:PORT]. Needs
`pip install requests`."""
import json
import os
import sys

import requests

URL = f"http://{sys.argv[1] if len(sys.argv) > 1 else '127.0.0.1:8000'}/v2/models/fashion"
IMAGES, SIDE = 64, 28

with requests.Session() as session:  # keeps its connection; a token goes into session.headers
    for window in range(4):
        pixels = os.urandom(IMAGES * SIDE * SIDE)  # from a camera; here noise
        text = json.dumps({
            "parameters": {"sequence_id": "camera-11"},
            "inputs": [{"name": "images", "datatype": "UINT8", "shape": [IMAGES, 1, SIDE, SIDE],
                        "parameters": {"binary_data_size": len(pixels)}}],
            "outputs": [{"name": "label"}, {"name": "verdict"}]}).encode()
        answer = session.post(f"{URL}/infer", text + pixels, headers={"Inference-Header-Content-Length": str(len(text))}, timeout=60)
        if not answer.ok:
            sys.exit(f"{answer.status_code}: {answer.json()['error']}")
        labels, verdicts = (output["data"] for output in answer.json()["outputs"])
        print(f"window {window}: classes {sorted(set(labels))}, {verdicts.count('admitted')} admitted, "
              f"{answer.json()['parameters']['updates']} updates")
    print(session.get(f"{URL}/streams/camera-11", timeout=60).json()["next_seq"], "requests so far")
