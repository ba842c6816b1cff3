"""How answers of `sotta serve` depend on updates and on other streams: --answer, --prompt-windows,
--batch-streams, --deterministic. Run by serve_answers_test.sh in an empty folder."""
import concurrent.futures
import re
import struct

from serve_checks import expect
from serve_client import SIDE, Server, draw_images, refusal

LEARNING = ["--window", "16", "--set", "min_confidence=0", "--set", "memory_capacity=16"]


def logits_of(client, stream, pixels, images=16):
    """All that a stream answers, to the bit."""
    found, size = [], images * SIDE**2
    for seq, begin in enumerate(range(0, len(pixels), size)):
        answer = client.infer(pixels[begin:begin + size], {"sequence_id": stream, "seq": seq},
                              outputs=[{"name": "logits", "parameters": {"binary_data": True}}])
        expect(answer.status, 200, f"{stream}, request {seq}")
        found.append(answer.binary)
    return found


def at_once(server, streams, work):
    with concurrent.futures.ThreadPoolExecutor(len(streams)) as pool:
        return list(pool.map(lambda stream: work(server.client(), stream), streams))


def prompt_answers_are_behind_and_count_what_they_skip():
    pixels = draw_images(64, 1)
    with Server("--answer", "prompt", "--prompt-windows", "1", state="prompt") as server:
        client, sent, skipped = server.client(), 0, 0
        while skipped == 0 and sent < 1000:
            answer = client.stream("a", sent, pixels)
            expect((answer.status, answer.json["parameters"]["next_seq"]), (200, sent + 1), "a prompt answer")
            skipped = answer.json["parameters"].get("skipped", 0)
            sent += 1
        status = client.status("a")
        assert skipped > 0, "--prompt-windows 1 skips nothing"
        expect((status["next_seq"], status["images"] + status["skipped"]), (sent, 64 * sent), "learnt and skipped")
        metric = re.search(rb'^sotta_skipped_images_total\{model="fashion"\} (\d+)$',
                           client.ask("GET", "/metrics").body, re.M)
        expect(int(metric[1]), status["skipped"], "the metric")
    with Server("--answer", "prompt", state="prompt") as server:
        expect(server.client().status("a")["skipped"], status["skipped"], "skipped, by the next server")


def with_room_prompt_streams_learn_what_strict_ones_do():
    pixels, norms = draw_images(320, 2), []
    for number, flags in enumerate([["--answer", "prompt", "--prompt-windows", "1000"], ["--answer", "strict"]]):
        with Server(*LEARNING, *flags, state=f"room{number}") as server:
            client = server.client()
            logits_of(client, "a", pixels, 10)
            norms.append(client.ask("GET", "/v2/models/fashion/streams/a/norm").body)
            expect(client.status("a")["updates"], 20, flags)
    assert norms[0] == norms[1], "prompt streams learn something else"


def batched_streams_answer_as_they_do_alone():
    pixels, names = draw_images(40, 3), [f"s{i}" for i in range(12)]
    running = [*LEARNING, "--method", "sotta"]  # the default method's streams are computed alone at first
    with Server(*running, state="alone") as server:
        alone = logits_of(server.client(), "a", pixels, 1)
    with Server(*running, "--batch-streams", state="batched") as server:
        together = at_once(server, names, lambda client, name: logits_of(client, name, pixels, 1))
    numbers = lambda answers: struct.unpack(f"<{10 * len(answers)}f", b"".join(answers))
    furthest = max(abs(a - b) for found in together for a, b in zip(numbers(found), numbers(alone)))
    assert furthest < 1e-2, f"--batch-streams: logits differ by {furthest}"  # rounding, through updates


def batches_that_gain_nothing_are_warned_of():
    for method, sentence in [("sotta", ""), ("bn_stats", "gains nothing, as bn_stats"),
                             ("screened_sotta", "gains nothing at a stream's start, as screened_sotta")]:
        server = Server("--batch-streams", "--method", method, state="warned")
        server.process.terminate()
        errors = server.process.communicate(timeout=120)[1]
        assert sentence in errors and ("--batch-streams" in errors) == bool(sentence), f"{method}: {errors}"


def noise_of_others_changes_no_bit():
    pixels, noise = draw_images(96, 4), draw_images(32, 5)
    with Server(*LEARNING, "--deterministic", state="quiet") as server:
        alone = logits_of(server.client(), "camera", pixels)
    names = ["camera", *[f"noise{i}" for i in range(99)]]
    with Server(*LEARNING, "--deterministic", "--max-resident", "20", state="noisy") as server:
        beside = at_once(server, names, lambda client, name: logits_of(
            client, name, pixels if name == "camera" else noise))
    assert beside[0] == alone, "--deterministic: other logits beside noise"
    assert all(found == beside[1] for found in beside[2:]), "--deterministic: streams with the same images differ"


def combinations_that_contradict_are_refused():
    for flags, part in [(["--answer", "soon"], "--answer"), (["--answer", "prompt", "--prompt-windows", "0"], "--prompt-windows"),
                        (["--answer", "prompt", "--method", "tent"], "running statistics"),
                        (["--answer", "prompt", "--durability", "request"], "do not wait for the disk"),
                        (["--answer", "prompt", "--deterministic"], "--answer: expected strict"),
                        (["--prompt-windows", "3"], "--answer prompt"),
                        (["--batch-streams", "--deterministic"], "--batch-streams"),
                        (["--batch-streams", "--max-resident", "8"], "--max-resident"),
                        (["--batch-streams", "--method", "lame", "--workers", "1"], "--workers")]:
        sentence = refusal("--state", "refused", *flags)
        assert part in sentence, f"{flags}: {sentence}"


for check in (prompt_answers_are_behind_and_count_what_they_skip, with_room_prompt_streams_learn_what_strict_ones_do,
              batched_streams_answer_as_they_do_alone, batches_that_gain_nothing_are_warned_of, noise_of_others_changes_no_bit,
              combinations_that_contradict_are_refused):
    check()
