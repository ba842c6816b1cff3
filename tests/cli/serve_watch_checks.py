"""What operators see of `sotta serve`, from outside: events, live figures, metrics. Run by
serve_watch_test.sh in an empty folder."""
import json
import re
import shutil
import socket
import subprocess

from serve_client import ROOT, Server, draw_images

WINDOW = ["--window", "16", "--set", "min_confidence=0", "--set", "memory_capacity=16"]


def expect(found, expected, what):
    assert found == expected, f"{what}: expected {expected}, got {found}"


class Events:
    """Reads server-sent events one by one."""

    def __init__(self, server, path):
        self.response = server.client().listen(path)
        expect(self.response.status, 200, path)
        expect(self.response.headers["Content-Type"], "text/event-stream", path)

    def next(self):
        """Type and data; None at the end."""
        kind = None
        for line in self.response:
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                kind = text[7:]
            if text.startswith("data: "):
                return kind, json.loads(text[6:])
        return None


def windows_and_commands_are_events():
    with Server(*WINDOW, state="events") as server:
        client = server.client()
        client.ask("PUT", "/v2/models/fashion/streams/a")
        events = Events(server, "/v2/models/fashion/streams/a/events")
        everything = Events(server, "/v2/models/fashion/events")
        client.infer(draw_images(16, 1), {"sequence_id": "a"})
        kind, window = events.next()
        expect((kind, window["images"], window["learnt"]), ("window", 16, True), "first event")
        expect(window["screen"], {"closed": False, "foreign": 0, "gap": 0, "information": None, "drift": None}, "its screen")
        client.ask("POST", "/v2/models/fashion/streams/a/freeze")
        expect(events.next(), ("freeze", {"stream": "a", "detail": ""}), "second event")
        live = client.status("a")["live"]
        expect(live["recent"][0]["confidence"], window["confidence"], "status and event")
        expect([everything.next()[0] for _ in range(2)], ["window", "freeze"], "of the model")
        server.__exit__(None)  # ended by SIGTERM, with the listeners there
        expect((events.next(), everything.next()), (None, None), "after the end")


def listeners_that_do_not_read_hold_nobody_up():
    with Server(*WINDOW, state="slow") as server:
        client, pixels = server.client(), draw_images(16 * 16, 2)
        slow = []
        for _ in range(64):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /v2/models/fashion/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.append(connection)
        for connection in slow:
            assert connection.recv(12) == b"HTTP/1.1 200", "a listener"
        refused = client.ask("GET", "/v2/models/fashion/events")
        expect((refused.status, refused.headers["Retry-After"]), (429, "1"), "one listener more")
        for _ in range(4):
            expect(client.infer(pixels, {"sequence_id": "a"}).status, 200, "a request")
        for connection in slow:
            connection.close()
        while server.client().listen("/v2/models/fashion/events").status != 200:  # the server notices that they went
            pass


def promtool_finds_no_fault():
    with Server(*WINDOW, "--guard", "skip", "--guard-max-parameter-change", "1e-9", state="metrics") as server:
        client = server.client()
        for _ in range(2):
            client.infer(draw_images(16, 3), {"sequence_id": "a"})
        client.ask("GET", "/nowhere")
        client.ask("GET", "/v2/models/fashion/streams/a/norm")  # after the update
        text = client.ask("GET", "/metrics").body.decode()
        for line in ('sotta_guard_trips_total{model="fashion"} 2', 'sotta_refused_requests_total{status="404"} 1',
                     'sotta_request_duration_seconds_count{model="fashion"} 2'):
            assert f"\n{line}\n" in text, f"{line} is not in\n{text}"
    if shutil.which("promtool"):
        check = ["promtool", "check", "metrics"]
        done = subprocess.run(check, input=text, capture_output=True, text=True, timeout=120)
        expect((done.returncode, done.stdout + done.stderr), (0, ""), "promtool check metrics")
    return text


def alert_rules_and_the_grafana_dashboard_name_metrics_that_are_there(text):
    rules = f"{ROOT}/deploy/prometheus/alerts.yml"
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True, timeout=120)
        expect(done.returncode, 0, done.stdout + done.stderr)
    known = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    with open(f"{ROOT}/src/serve/http/metrics.cpp") as file:  # a server alone has none of a fleet
        known |= set(re.findall(r'"(sotta_fleet_\w+)"', file.read()))
    with open(f"{ROOT}/deploy/grafana/sotta.json") as file:
        panels = json.load(file)["panels"]
    expressions = " ".join(target["expr"] for panel in panels for target in panel.get("targets", []))
    with open(rules) as file:
        expressions += file.read().split("groups:")[1]
    named = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bsotta_\w+", expressions)}
    assert len(named) > 8 and named <= known, f"not in /metrics: {named - known}"


if __name__ == "__main__":
    windows_and_commands_are_events()
    listeners_that_do_not_read_hold_nobody_up()
    alert_rules_and_the_grafana_dashboard_name_metrics_that_are_there(promtool_finds_no_fault())
