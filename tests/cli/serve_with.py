"""serve_with.py COMMAND...: runs it beside `sotta serve`, whose address HOST:PORT stands for every
ADDRESS in it. No request of it may be refused, and the server must end well."""
import subprocess
import sys

from serve_client import Server

with Server(state="served") as server:
    address = f"127.0.0.1:{server.port}"
    done = subprocess.run([part.replace("ADDRESS", address) for part in sys.argv[1:]], timeout=600)
    if done.returncode == 0:
        for model in server.client().ask("GET", "/v2/models/stats").json["model_stats"]:
            requests = {kind: model["inference_stats"][kind]["count"] for kind in ("success", "fail")}
            print(f"{model['name']}: {requests['success']} requests answered, {requests['fail']} refused")
            if requests["fail"]:
                sys.exit("expected no request to be refused")
sys.exit(done.returncode)
