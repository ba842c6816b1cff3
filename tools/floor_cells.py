#!/usr/bin/env python3
"""tools/floor_cells.py RUNS...: how often guarded and unguarded runs end below the source model.

Reads records (records.jsonl of `sotta bench`, folders or files; .gz too). A cell is a scenario and a
corruption of a dataset on one seed, and needs a run of the method `source`. For every method and
guard: the cells, how many lie more than a point below Source, the worst, the average accuracy, and what
was still learnt: the average over Source in the cells where the unguarded run is above it, the share of
predictions that the source model made, trips a run, and updates kept in runs that tripped."""
import argparse
import collections
import gzip
import json
import pathlib


def records(places):
    for place in map(pathlib.Path, places):
        files = sorted(place.rglob("*.jsonl*")) if place.is_dir() else [place]
        for file in files:
            with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as lines:
                yield from map(json.loads, filter(str.strip, lines))


def shown(value, form):
    return format(value, form) if value == value else "-"


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--cells", action="store_true", help="list the cells below Source - 1 too")
    parser.add_argument("--by", default="dataset", help="rows for each: dataset, scenario or both with a comma")
    arguments = parser.parse_args()

    by_cell = collections.defaultdict(dict)
    for run in records(arguments.runs):
        cell = tuple(run[name] for name in ("dataset", "scenario", "corruption", "seed"))
        if run["method"] == "source":
            by_cell[cell]["source"] = run
        else:
            by_cell[cell][run["method"], run["variant"], run["options"].get("guard", "off")] = run

    fields = ("dataset", "scenario", "corruption", "seed")
    places = [fields.index(name) for name in arguments.by.split(",")]
    rows = collections.defaultdict(list)
    for cell, runs in by_cell.items():
        source = runs.pop("source", None)
        if source is None:
            continue
        for (method, variant, guard), run in runs.items():
            rows[tuple(cell[place] for place in places), method, variant, guard].append(
                (cell, run, source["accuracy"], runs.get((method, variant, "off"))))

    order = ["off", "skip", "rollback", "reset", "floor"]
    print("| | guard | cells | below Source - 1 | worst | accuracy | Source | learnt | learnt unguarded | by source | trips | updates |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for key in sorted(rows, key=lambda k: (k[0], k[1], k[2], order.index(k[3]))):
        group, method, variant, guard = key
        found = rows[key]
        below = [(run["accuracy"] - source, cell) for cell, run, source, _ in found if run["accuracy"] < source - 1]
        learnt = [(run["accuracy"] - source, plain["accuracy"] - source) for _, run, source, plain in found
                  if plain and plain["accuracy"] > source]
        total = [run["samples"] + run["foreign"] for _, run, _, _ in found]
        series = [run["series"] for _, run, _, _ in found]
        print(f"| {' '.join(map(str, group))} {variant or method} | {guard} | {len(found)} | {len(below)} "
              f"| {min(run['accuracy'] - source for _, run, source, _ in found):+.1f} "
              f"| {mean(run['accuracy'] for _, run, _, _ in found):.1f} | {mean(source for _, _, source, _ in found):.1f} "
              f"| {shown(mean(one for one, _ in learnt), '+.1f')} | {shown(mean(plain for _, plain in learnt), '+.1f')} "
              f"| {sum(sum(s.get('by_source', [])) for s in series) / sum(total):.3f} "
              f"| {mean(sum(s.get('guard_trips', [])) for s in series):.1f} "
              f"| {shown(mean(sum(s['updates']) for s in series if 'updates' in s), '.0f')} |")
        if arguments.cells:
            for difference, cell in sorted(below):
                print(f"    {difference:+.1f} {' '.join(map(str, cell))}")


if __name__ == "__main__":
    main()
