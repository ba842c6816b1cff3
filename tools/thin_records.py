#!/usr/bin/env python3
"""Makes records small enough to keep in the repository.

usage: thin_records.py IN.jsonl OUT.jsonl

Keeps every record and every figure of it. Of the curves over the windows those
of methods that screen samples stay, what was admitted and what the memory held;
histograms stay. Everything a report's tables and pictures need is there.
"""
import json
import sys

ALWAYS = {"confidence_samples", "confidence_foreign", "predicted_samples",
          "predicted_foreign"}
SCREENING = {"samples", "foreign", "admitted", "admitted_foreign",
             "memory_samples", "memory_foreign"}


def short(number):
    if number is None or number == int(number):
        return number if number is None else int(number)
    return round(number, 2)


def thin(record):
    wanted = ALWAYS | (SCREENING if record["method"] in ("sotta", "rotta") else set())
    record["series"] = {name: [short(value) for value in values]
                        for name, values in record["series"].items() if name in wanted}
    return record


def main():
    source, target = sys.argv[1:]
    with open(source) as lines, open(target, "w") as out:
        for line in lines:
            out.write(json.dumps(thin(json.loads(line)), separators=(",", ":")) + "\n")


main()
