#!/usr/bin/env python3
"""Makes records small enough to keep in the repository.

usage: thin_records.py IN... OUT.jsonl.gz

IN are files of records (.jsonl, .jsonl.gz) or folders with such files. Keeps every
record, the last of those that were run twice, and every figure of it, the times with
four digits. Of the curves over the windows those stay that pictures are made of: what
methods that screen samples admitted and held, and the accuracy and gradient norms of
runs that measured these. Histograms stay. Pictures show no variants, so these keep
norms alone. The same records give the same bytes.
"""
import gzip
import json
import pathlib
import sys

ALWAYS = {"confidence_samples", "confidence_foreign", "predicted_samples",
          "predicted_foreign", "by_source", "guard_trips", "updates"}
SCREENING = {"samples", "foreign", "admitted", "admitted_foreign",
             "memory_samples", "memory_foreign", "screen_closed"}
NORMS = {"gradient_norm_samples", "gradient_norm_foreign"}
TIMES = ("seconds", "adapt_seconds", "images_per_second")
# What a run is, as src/record/run_identity.cpp has it.
IDENTITY = ("verb", "dataset", "scenario", "corruption", "severity", "corruption_source",
            "method", "variant", "preset", "seed", "options")


def short(number):
    """Four digits are finer than any picture."""
    if number is None:
        return None
    rounded = number if number == int(number) else float(f"{number:.4g}")
    return int(rounded) if rounded == int(rounded) else rounded


def thin(record):
    series = record["series"]
    wanted = set() if record["variant"] else set(ALWAYS)
    if record["method"] in ("sotta", "screened_sotta", "rotta") and not record["variant"]:
        wanted |= SCREENING
    if NORMS & series.keys():
        wanted |= NORMS | {"accuracy", "samples"}
    record["series"] = {name: [short(value) for value in values]
                        for name, values in series.items() if name in wanted}
    for name in TIMES:
        record[name] = short(record[name])
    return record


def identity(record):
    return json.dumps([record.get(name) for name in IDENTITY], sort_keys=True)


def files_of(source):
    path = pathlib.Path(source)
    if not path.is_dir():
        return [path]
    return sorted(file for pattern in ("*.jsonl", "*.jsonl.gz") for file in path.rglob(pattern))


def read(file):
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                return  # cut off by a crash
            try:
                record = json.loads(line)
                record["series"], record["method"], record["variant"]
            except (ValueError, KeyError, TypeError):
                sys.exit(f"thin_records.py: {file} line {number}: expected a record")
            yield record


def main():
    if len(sys.argv) < 3 or not sys.argv[-1].endswith(".jsonl.gz"):
        sys.exit("usage: thin_records.py IN... OUT.jsonl.gz")
    *sources, target = sys.argv[1:]
    records = {}
    for source in sources:
        files = files_of(source)
        if not files:
            sys.exit(f"thin_records.py: {source}: expected records, found none")
        for file in files:
            for record in read(file):
                records.pop(identity(record), None)
                records[identity(record)] = thin(record)
    text = "".join(json.dumps(records[key], separators=(",", ":")) + "\n" for key in sorted(records))
    pathlib.Path(target).parent.mkdir(parents=True, exist_ok=True)
    # Neither the name nor the time of this moment.
    pathlib.Path(target).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{target}: {len(records)} records, {pathlib.Path(target).stat().st_size} bytes")


main()
