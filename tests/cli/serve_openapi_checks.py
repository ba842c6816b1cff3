"""Every operation of openapi.json is asked for at least once, and answered as it says; the client
compares. Run by serve_openapi_test.sh in an empty folder."""
import json

from serve_client import SIDE, Server, draw_images
from serve_openapi import DOCUMENT, jsonschema

PIXELS = draw_images(3, 1)


def ask_about_models(client):
    for path in ("/v2", "/v2/health/live", "/v2/health/ready", "/metrics", "/openapi.json", "/dashboard",
                 "/v2/models/stats"):
        client.ask("GET", path)
    for base in "/v2/models/fashion", "/v2/models/fashion/versions/1":
        for part in "", "/ready", "/config", "/stats":
            client.ask("GET", base + part)
    client.ask("POST", "/v2/repository/index", "{}")


def infer(client, base="/v2/models/fashion"):
    named = {"sequence_id": "a"}
    client.infer(PIXELS, named, base + "/infer", id="x")
    client.infer(PIXELS, {**named, "binary_data_output": True}, base + "/infer")
    client.infer(PIXELS, {}, base + "/infer", [{"name": "logits", "parameters": {"classification": 3}}, {"name": "verdict"}])


def control_a_stream(client, stream="/v2/models/fashion/streams/a"):
    client.ask("PUT", stream, '{"frozen":true}')
    client.infer(PIXELS, {}, stream + "/infer")
    for command in "thaw", "freeze", "snapshot", "reset":
        client.ask("POST", f"{stream}/{command}")
    number = client.ask("GET", stream + "/snapshots").json["snapshots"][-1]["number"]
    client.ask("POST", stream + "/rollback", json.dumps({"to": number}))
    client.ask("GET", stream + "/norm")
    state = client.ask("GET", stream + "/state").body
    client.ask("PUT", stream + "/state", state)
    client.ask("GET", stream)
    client.ask("GET", "/v2/models/fashion/streams?limit=1")
    client.ask("GET", "/v2/models/fashion/streams?order=trouble")
    client.ask("DELETE", stream)


def ask_for_refusals(client):
    client.infer(PIXELS, {"sequence_id": "a", "seq": 9})
    client.infer(PIXELS[:SIDE], {})
    client.ask("POST", "/v2/models/fashion/infer", "{")
    for method, path in [("GET", "/"), ("GET", "/v2/models/none"), ("DELETE", "/v2"), ("GET", "/v2/models/fashion/streams/none"),
                         ("POST", "/v2/repository/models/none/load"), ("GET", "/v2/models/fashion/versions/2"), ("PUT", "/metrics")]:
        assert client.ask(method, path).status in (404, 405), path


def change_models(client):
    client.ask("POST", "/v2/repository/models/fashion/unload")
    ask_about_models(client)
    client.infer(PIXELS)
    client.ask("POST", "/v2/repository/models/fashion/load")


jsonschema.Draft202012Validator.check_schema({"$defs": DOCUMENT.json["components"]["schemas"]})
with Server(state="openapi") as server:
    connected = server.client()
    ask_about_models(connected)
    infer(connected)
    infer(connected, "/v2/models/fashion/versions/1")
    connected.ask("PUT", "/v2/models/fashion/streams/a")
    for path in "/v2/models/fashion/events", "/v2/models/fashion/streams/a/events":
        server.client().listen(path)
    control_a_stream(connected)
    ask_for_refusals(connected)
    change_models(connected)
missing = DOCUMENT.operations() - {(method, path) for method, path, status in DOCUMENT.seen if status == 200}
assert not missing, f"never asked for, or never answered with 200: {sorted(missing)}"
