"""What every flag of every command changes, compared with a second computation.

Each check names the flags it is for. A flag that `sotta VERB --help` lists and no check
names is a failure: whoever adds a flag adds what it changes. Run by flags_test.sh in an
empty folder; SOTTA_BIN and SOTTA_ROOT as for the other scripts.
"""
import functools
import glob
import json
import os
import re
import sys
import traceback

from flag_fixture import CHECKS, ROOT, Fixture, check, evaluate, expect, run
import flag_checks_networks, flag_checks_runs, flag_checks_training  # noqa: E401, F401: register theirs

# Checked by other scripts in this folder, which must name the flag.
ELSEWHERE = {
    ("data", "--data"): "data_test.sh",
    ("data", "--json"): "data_test.sh",
    ("bench", "--any-version"): "bench_test.sh",
    ("bench", "--lost-after"): "ranks_test.sh",
    ("train", "--resume"): "train_test.sh",
    ("train", "--checkpoint-every"): "train_test.sh",
    ("train", "--test-every"): "train_test.sh",
    ("adapt", None): "adapt*_test.*",  # all of them
    ("token", None): "serve_access_checks.py",
    ("serve", None): "serve*_checks.py",  # all of them
    ("streams", None): "serve_streams_checks.py",
}
# Not checked from outside: (verb, flag) -> why.
UNCHECKED = {
    ("train", "--cuda-graphs"): "needs a GPU; refused without one",
    ("bench", "--cuda-graphs"): "needs a GPU; refused without one",
    ("bench", "--tune"): "needs a GPU; refused without one",
}
# What a flag is when it is not given, as the help says it.
RUN = "--device cpu --threads 0 "
MODEL = RUN + "--engine auto --low-memory 0 --precision fp32 "
DEFAULTS = {
    "demo": RUN + "--precision fp32 --model models/fashion_resnet8.safetensors --dataset fashion-mnist --scenario noise "
            "--corruption contrast --severity 5 --limit 2000 --seed 0 --guard rollback --out demo "
            "--method source,bn_stats,tent,sotta,screened_sotta",
    "data": "",
    "eval": MODEL + "--split test --batch 64 --limit 0 --severity 5 --corruption-seed 0",
    "adapt": MODEL + "--method screened_sotta --preset clean --window 64 --seed 0 --guard off --guard-max-parameter-change 1 "
             "--guard-max-class-share 0.9 --guard-min-admitted-share 0 --guard-max-admitted-share 1 --guard-history 8 "
             "--guard-look-every 2 --guard-margin 0.04 --out - --format jsonl",
    "train": RUN + "--model resnet18 --seed 0 --epochs 200 --batch 128 --optimiser sgd --rate 0.1 --warm-up 0 --momentum 0.9 "
             "--weight-decay 0.0005 --label-smoothing 0 --padding 4 --flip 1 --erase 0 --mixup 0 --cutmix 0 --plain-epochs 0 --precision auto --cuda-graphs 1 --width 0 --checkpoint-every 10 --test-every 0 --memory-gb 16",
    "corrupt": RUN + "--kind common --severity all --limit 0 --seed 0 --jpeg85 1 --split test",
    "convert": "",
    "model check": "--limit 1000 --threads 0",
    "bench": MODEL + "--scenario all --corruption all --seeds 0 --preset clean --foreign-count -1 --foreign-share 0 --burst 0 "
             "--limit 0 --order shuffled --concentration 0.1 --severity 5 --corruption-seed 0 --window 64 --whole-windows 0 "
             "--read-ahead 256 --out runs --cuda-graphs 0 --tune 0 --jobs 1 --lanes auto --lost-after 30",
    "report": "--format md,tex,csv,html,svg",
    "serve": MODEL + "--model fashion=embedded --method screened_sotta --preset clean --window 64 --seed 0 "
             "--guard off --guard-max-parameter-change 1 --guard-max-class-share 0.9 --guard-min-admitted-share 0 "
             "--guard-max-admitted-share 1 --guard-history 8 --guard-look-every 2 --guard-margin 0.04 --listen 127.0.0.1:8000 --state sotta-state --durability window --answer strict "
             "--max-streams 10000 --max-resident 256 --max-waiting 1024 --max-waiting-of-one 256 --max-body-mb 64 "
             "--max-connections 4096 --log none --max-state-mb 0 --drain-seconds 0",
    "streams": "--server http://127.0.0.1:8000",
    "token": "--scope infer",
    "info": "",
}


@check("info", "--json")
def information(fix):
    info = json.loads(run("info", "--json"))

    def shown(value):
        if isinstance(value, dict):
            return ", ".join(name + (": yes" if there else ": not in this build") for name, there in value.items())
        return ", ".join(value) if isinstance(value, list) else str(value)
    expect(run("info").splitlines(), [f"{name:12} {shown(value)}" for name, value in info.items()], "the text")
    expect(info["version"], run("--version").strip(), "version")
    expect((info["cores"], info["devices"][0]), (len(os.sched_getaffinity(0)), "cpu"), "cores and devices")
    for text in info["libtorch"], info["compiler"].split()[1]:
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", text), text
    for names in "methods", "presets", "scenarios", "models", "corruptions", "engines":
        assert info[names] and all(info[names]), names
    engine = evaluate("--model", "net0.safetensors")["engine"]
    assert engine in info["engines"], f"{engine} is not among {info['engines']}"
    expect(info["datasets"], [d["name"] for d in json.loads(run("data", "--json"))["datasets"]], "datasets")


@check("data", "--data --json")
def datasets(fix):
    """The text says what the JSON says; of long lists the first six, and how many more."""
    os.makedirs("some/CIFAR-10-C", exist_ok=True)
    os.makedirs("some/cifar-10-batches-bin", exist_ok=True)
    for name in "labels", "fog", "snow", "frost", "contrast", "pixelate", "brightness", "spatter":
        open(f"some/CIFAR-10-C/{name}.npy", "w").close()
    for name in "data_batch_2", "test_batch":
        open(f"some/cifar-10-batches-bin/{name}.bin", "w").close()
    listing = json.loads(run("data", "--data", "some", "--json"))
    expect(listing["data_root"], "some", "root")
    said = ["data root: some"]
    for entry in listing["datasets"]:
        files = [file for split in entry["splits"] for file in split["files"]]
        expect([os.path.exists(file["path"]) for file in files], [file["present"] for file in files], entry["name"])

        def state(files):
            present = sum(file["present"] for file in files)
            return "missing" if present == 0 else "present" if present == len(files) else "partial"
        expect(entry["state"], state(files), entry["name"])
        said += ["", f"{entry['name']:15}{entry['state']:9}{entry['classes']} classes, " + " x ".join(map(str, entry["shape"]))]
        for split in entry["splits"]:
            expect(split["state"], state(split["files"]), entry["name"] + " " + split["name"])
            said += [f"  {split['name']}: {split['state']}"]
            for present, word in (True, ""), (False, "expected "):
                paths = [file["path"] for file in split["files"] if file["present"] == present]
                said += [f"    {word}{path}" for path in paths[:6]]
                said += [f"    and {len(paths) - 6} more beside it"] if len(paths) > 6 else []
        if entry["state"] != "present":
            said += ["  from " + entry["origin"]]
            said += ["  or: sotta data get " + entry["name"]] if entry["gettable"] else []
    expect(run("data", "--data", "some").splitlines(), said, "the text")
    by_name = {entry["name"]: entry for entry in listing["datasets"]}
    expect([name for name, entry in by_name.items() if entry["gettable"]], ["cifar10", "mnist", "fashion-mnist"], "gettable")
    expect([by_name["mnist"][name] for name in ("classes", "shape", "mean", "std")], [10, [1, 28, 28], [0.1307], [0.3081]], "mnist")


def listed_verbs():
    verbs = re.findall(r"^  (\w+) ", run("--help").split("Subcommands:")[1], re.M)
    return ["model check" if verb == "model" else verb for verb in verbs]


@functools.lru_cache(None)
def help_of(verb):
    return run(*verb.split(), "--help")


def listed_flags(verb):
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", help_of(verb), re.M)) - {"--help"}


def other_defaults(verb):
    """What the help says of defaults and DEFAULTS does not, and the other way round."""
    listed = re.findall(r"^ +(--[a-z0-9-]+) [A-Z]+=(\S+(?: \w+(?=(?: \w+)* \.\.\.))*)", help_of(verb), re.M)
    words = DEFAULTS[verb].split()
    return {(flag, value.replace(" ", ",")) for flag, value in listed} ^ set(zip(words[::2], words[1::2]))


def named_elsewhere(verb, flag):
    pattern = ELSEWHERE.get((verb, flag)) or ELSEWHERE.get((verb, None))
    return pattern and any(re.search(rf"{flag}\b(?!-)", open(file).read()) for file in glob.glob(f"{ROOT}/tests/cli/{pattern}"))


def unchecked_flags():
    checked = {(verb, flag) for verb, flags, _ in CHECKS for flag in flags} | set(UNCHECKED)
    known = set()
    for verb in listed_verbs():
        for flag in listed_flags(verb):
            known.add((verb, flag))
            if (verb, flag) not in checked and not named_elsewhere(verb, flag):
                yield f"sotta {verb} {flag}: no check says what it changes"
        if other_defaults(verb):
            yield f"sotta {verb}: other defaults than in DEFAULTS: {sorted(other_defaults(verb))}"
    for verb, flag in sorted(checked - known):
        yield f"sotta {verb} {flag}: checked, but there is no such flag"


def main():
    problems = list(unchecked_flags())
    fix = Fixture()
    for verb, flags, function in CHECKS:
        try:
            function(fix)
        except Exception:
            problems.append(f"sotta {verb} {' '.join(flags)}: {function.__name__}\n{traceback.format_exc(limit=-2)}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
