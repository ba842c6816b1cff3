"""Fills the disk under `sotta serve`, and expects nothing to be lost by it.

usage: full_disk_serve.py PROGRAM COUNT SEED

The state lies on a file system of 2 MB of its own (tmpfs; needs the right to mount, is
skipped without). While streams are sent, a file takes all the room there is and gives it back,
COUNT times. Meanwhile requests are answered and not counted; clients mind next_seq, and send
again what was not. In the end norm layers must be to the byte those of a server with room.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

if len(sys.argv) != 4:
    sys.exit(__doc__)
os.environ["SOTTA_BIN"] = os.path.abspath(sys.argv[1])
os.environ["SOTTA_ROOT"] = str(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, os.environ["SOTTA_ROOT"] + "/tests/cli")
from serve_client import SIDE, Server, draw_images  # noqa: E402

FLAGS = ["--window", "8", "--set", "min_confidence=0"]
REQUESTS, SIZE = 40, 5
SKIPPED = 77


def part(stream, seq):
    return draw_images(SIZE, f"{stream} {seq}")


def fill(folder):
    """Takes all the room there is."""
    with open(folder / "ballast", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def send(client, stream, seq):
    answer = client.stream(stream, seq, part(stream, seq))
    assert answer.status == 200, f"stream {stream}, request {seq}: {answer.status} {answer.body[:300]}"
    return answer.json["parameters"]


def disturbed(folder, durability, count, draw):
    refused = 0
    with Server(*FLAGS, "--durability", durability, state=str(folder / "state")) as server:
        client, todo = server.client(), {"a": 0, "b": 0}
        moments = sorted(draw.sample(range(2, 2 * REQUESTS - 4), count))
        for turn in range(100 * REQUESTS):
            if min(todo.values()) >= REQUESTS:
                break
            if turn in moments:
                fill(folder)
            elif (folder / "ballast").exists() and draw.random() < 0.2:
                assert client.ask("GET", "/v2/health/live").status == 200
                (folder / "ballast").unlink()
            stream = draw.choice([name for name, seq in todo.items() if seq < REQUESTS])
            said = send(client, stream, todo[stream])
            refused += said["next_seq"] == todo[stream]
            todo[stream] = said["next_seq"]
        (folder / "ballast").unlink(missing_ok=True)
        for stream in todo:  # one more, not learnt from, finds the room
            client.infer(part(stream, 0), {"sequence_id": stream, "adapt": False})
        assert client.ask("GET", "/v2/health/ready").status == 200
        norms = [client.ask("GET", f"/v2/models/fashion/streams/{stream}/norm").body for stream in todo]
    return norms, refused


def undisturbed(folder):
    with Server(*FLAGS, state=str(folder)) as server:
        client = server.client()
        for stream in "ab":
            for seq in range(REQUESTS):
                send(client, stream, seq)
        return [client.ask("GET", f"/v2/models/fashion/streams/{stream}/norm").body for stream in "ab"]


def main(count, seed):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "small").mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder / "small")]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            print("skipped: no right to mount")
            return SKIPPED
        try:
            wanted = undisturbed(folder / "quiet")
            for durability in "window", "request":
                place = folder / "small" / durability
                place.mkdir()
                norms, refused = disturbed(place, durability, count, draw)
                assert norms == wanted, f"--durability {durability}: other norm layers"
                subprocess.run(["rm", "-rf", str(place)], check=True)
                print(f"--durability {durability}: {count} times full, {refused} requests answered and sent again, "
                      "norm layers equal to the byte")
        finally:
            subprocess.run(["umount", str(folder / "small")], check=True)
    return 0


sys.exit(main(int(sys.argv[2]), int(sys.argv[3])))
