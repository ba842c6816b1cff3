"""Triton's own Python client, as it is published, against `sotta serve`: sync, async and aio.
Run by serve_triton_test.sh in an empty folder."""
import asyncio

import numpy as np
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from serve_client import Server, draw_images

PIXELS = np.frombuffer(draw_images(4, 1), dtype=np.uint8).reshape(4, 1, 28, 28)


def expect(found, expected, what):
    assert found == expected, f"{what}: expected {expected}, got {found}"


def images(binary=True, pixels=PIXELS, datatype="UINT8"):
    tensor = triton.InferInput("images", list(pixels.shape), datatype)
    tensor.set_data_from_numpy(pixels, binary_data=binary)
    return [tensor]


def check_metadata(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("fashion") and client.is_model_ready("fashion", "1")
    assert "sequence(string_id)" in client.get_server_metadata()["extensions"]
    expect(client.get_model_metadata("fashion")["inputs"][0]["name"], "images", "metadata")
    expect(client.get_model_config("fashion")["name"], "fashion", "configuration")
    expect(client.get_model_repository_index()[0]["state"], "READY", "index")


def check_infer(client):
    labels = []
    for binary in True, False:
        outputs = [triton.InferRequestedOutput(name, binary_data=binary) for name in ("logits", "label", "verdict")]
        result = client.infer("fashion", images(binary), outputs=outputs, sequence_id="camera" if binary else 7,
                              sequence_start=True, request_id="r", timeout=60000000, parameters={"adapt": True})
        expect(result.as_numpy("logits").shape, (4, 10), "logits")
        expect(result.as_numpy("verdict").shape, (4,), "verdicts")
        expect(result.get_response()["parameters"]["next_seq"], 1, "next_seq")
        labels.append(list(result.as_numpy("label")))
    floats = (PIXELS / 255).astype(np.float32)
    labels.append(list(client.infer("fashion", images(True, floats, "FP32")).as_numpy("label")))
    best = client.infer("fashion", images(), outputs=[triton.InferRequestedOutput("logits", class_count=2)])
    labels.append([int(row[0].split(b":")[1]) for row in best.as_numpy("logits")])
    assert all(each == labels[0] for each in labels), labels
    pending = [client.async_infer("fashion", images(), sequence_id=100 + i) for i in range(8)]
    for request in pending:
        expect(list(request.get_result().as_numpy("label")), labels[0], "labels of async_infer")
    expect(client.get_inference_statistics("fashion")["model_stats"][0]["inference_count"], 4 * 12, "statistics")
    try:
        client.infer("none", images())
        raise AssertionError("expected an exception")
    except triton.InferenceServerException as error:
        expect(error.message(), "model: there is none of this name", "error")


async def check_aio(port):
    async with triton_aio.InferenceServerClient(f"127.0.0.1:{port}") as client:
        assert await client.is_server_live()
        result = await client.infer("fashion", images(), sequence_id=9, sequence_end=True)
        expect(result.as_numpy("label").shape, (4,), "aio")


with Server(state="triton") as server:
    with triton.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=4) as connected:
        check_metadata(connected)
        check_infer(connected)
    asyncio.run(check_aio(server.port))
