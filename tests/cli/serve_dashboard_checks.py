"""Servers for serve_dashboard.mjs: one with a stream, one with 10,000, one with tokens. Run by
serve_dashboard_test.sh in an empty folder; arguments: the folder of npm's modules, and one for
screenshots if they are wanted."""
import os
import subprocess
import sys

from serve_client import ROOT, SOTTA, Server


def make_many(state):
    """10,000 streams with one snapshot each, the same file: quicker than by 10,000 requests."""
    with Server(state=state) as server:
        server.client().ask("PUT", "/v2/models/fashion/streams/camera-00000")
    folder = f"{state}/streams/fashion"
    first = f"{folder}/camera-00000"
    for number in range(1, 10000):
        other = f"{folder}/camera-{number:05d}"
        os.mkdir(other)
        for name in os.listdir(first):
            os.link(f"{first}/{name}", f"{other}/{name}")


def make_token(file):
    made = subprocess.run([SOTTA, "token", "watcher", "--scope", "admin"], capture_output=True, text=True, check=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as lines:
        lines.write(made.stdout)
    return made.stderr.strip()


make_many("many")
token = make_token("tokens.jsonl")
with Server("--method", "sotta", "--window", "16", "--set", "min_confidence=0", state="one") as one, \
        Server(state="many") as many, Server("--tokens", "tokens.jsonl", state="guarded") as guarded:
    many.client().ask("POST", "/v2/models/fashion/streams/camera-05000/freeze")
    urls = [f"http://127.0.0.1:{server.port}" for server in (one, many, guarded)]
    script = f"{ROOT}/tests/cli/serve_dashboard.mjs"
    done = subprocess.run(["node", script, sys.argv[1], *urls, token, *sys.argv[2:]], timeout=600)
sys.exit(done.returncode)
