"""Triton's own Python client, as it is published, against `sotta serve`: sync, async and aio.
Run by serve_triton_test.sh in an empty folder."""
import asyncio
import struct
import zlib

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


def png(pixels):
    """A grey image as a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def expect_refusal(part, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except triton.InferenceServerException as error:
        assert part in error.message(), error.message()
        return
    raise AssertionError(f"expected an exception with {part}")


def check_metadata(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("fashion") and client.is_model_ready("fashion", "1")
    assert "sequence(string_id)" in client.get_server_metadata()["extensions"]
    expect(client.get_model_metadata("fashion")["inputs"][0]["name"], "images", "metadata")
    expect(client.get_model_config("fashion")["name"], "fashion", "configuration")
    assert client.get_model_config("fashion", "1")["sequence_batching"] == {}


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
    expect_refusal("model: there is none of this name", client.infer, "none", images())
    expect_refusal("stream: expected a name", client.infer, "fashion", images(), sequence_id="camera" * 20)


def check_files(client):
    """Images as PNG files in a tensor of BYTES say what their pixels say."""
    files = np.array([png(image[0]) for image in PIXELS], dtype=np.object_)
    result = client.infer("fashion", images(True, files, "BYTES"))
    expect(list(result.as_numpy("label")), list(client.infer("fashion", images()).as_numpy("label")), "labels of files")
    files[2] = b"no image"
    expect_refusal("images", client.infer, "fashion", images(True, files, "BYTES"))


def check_compression(client):
    labels = list(client.infer("fashion", images()).as_numpy("label"))
    for request in None, "gzip", "deflate":
        for response in None, "gzip", "deflate":
            for binary in True, False:
                result = client.infer("fashion", images(binary), request_compression_algorithm=request,
                                      response_compression_algorithm=response)
                expect(list(result.as_numpy("label")), labels, f"labels with {request} and {response}")


def check_sequences(client):
    """64 sequences beside each other, by string and by number, with an end and a new start."""
    for turn in range(4):
        pending = [client.async_infer("fashion", images(), sequence_id=f"seq-{i}" if i % 2 else 1000 + i,
                                      sequence_start=turn == 0, sequence_end=turn == 3) for i in range(64)]
        parameters = [request.get_result().get_response()["parameters"] for request in pending]
        expect({each["next_seq"] for each in parameters}, {turn + 1}, "next_seq")
    expect({each["durable_seq"] for each in parameters}, {4}, "what sequence_end has saved")


def check_repository(client):
    expect([model["state"] for model in client.get_model_repository_index()], ["READY"], "index")
    before = client.infer("fashion", images(), sequence_id="kept").get_response()["parameters"]["next_seq"]
    client.unload_model("fashion", unload_dependents=True)
    assert not client.is_model_ready("fashion") and client.is_server_ready()
    expect(client.get_model_repository_index()[0]["state"], "UNAVAILABLE", "index")
    expect_refusal("is not ready: it was unloaded", client.infer, "fashion", images())
    client.load_model("fashion")
    assert client.is_model_ready("fashion")
    after = client.infer("fashion", images(), sequence_id="kept").get_response()["parameters"]["next_seq"]
    expect((before, after), (1, 2), "a stream of a model that was unloaded")
    expect_refusal("none of this name", client.load_model, "other")
    expect_refusal("parameters", client.load_model, "fashion", config="{}")
    stats = client.get_inference_statistics()["model_stats"][0]["inference_stats"]
    expect((stats["cache_hit"]["count"], stats["cache_miss"]["count"], stats["success"]["count"]), (0, 0, 1), "statistics")


async def check_aio(port):
    async with triton_aio.InferenceServerClient(f"127.0.0.1:{port}") as client:
        assert await client.is_server_live()
        result = await client.infer("fashion", images(), sequence_id=9, sequence_end=True)
        expect(result.as_numpy("label").shape, (4,), "aio")
        packed = await client.infer("fashion", images(), request_compression_algorithm="gzip",
                                    response_compression_algorithm="deflate")
        expect(packed.as_numpy("label").shape, (4,), "aio, compressed")
        many = await asyncio.gather(*(client.infer("fashion", images(), sequence_id=f"aio-{i}") for i in range(32)))
        expect({one.get_response()["parameters"]["next_seq"] for one in many}, {1}, "aio")
        expect((await client.get_model_config("fashion"))["name"], "fashion", "aio")
        await client.unload_model("fashion")
        assert not await client.is_model_ready("fashion")
        await client.load_model("fashion")
        expect((await client.get_model_repository_index())[0]["state"], "READY", "aio")


with Server("--method", "sotta", state="triton") as server:
    with triton.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=4) as connected:
        check_metadata(connected)
        check_infer(connected)
        check_files(connected)
        check_compression(connected)
        check_sequences(connected)
        check_repository(connected)
    asyncio.run(check_aio(server.port))
