"""A stream of `sotta serve` by Triton's Python client: triton_client.py [HOST:PORT]. Needs
`pip install tritonclient[http]`."""
import sys

import numpy
import tritonclient.http

client = tritonclient.http.InferenceServerClient(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8000")
draw = numpy.random.default_rng(1)
for window in range(4):
    images = draw.integers(0, 256, (64, 1, 28, 28), dtype=numpy.uint8)
    tensor = tritonclient.http.InferInput("images", images.shape, "UINT8")
    tensor.set_data_from_numpy(images)
    result = client.infer("fashion", [tensor], sequence_id="camera-8", sequence_end=window == 3)
    labels, verdicts = result.as_numpy("label"), result.as_numpy("verdict")
    parameters = result.get_response()["parameters"]
    print(f"window {window}: classes {sorted(set(labels))}, {sum(verdicts == b'admitted')} admitted, {parameters['updates']} updates")
