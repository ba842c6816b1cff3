#!/usr/bin/env python3
"""Fills the tables of docs/methods/screened_sotta.md from records.

usage: fill_method_page.py PAGE RESULTS [--check]

RESULTS holds the studies screened-sotta, screened-short and screened-streams (some may be
missing). What stands between a line `<!-- table NAME -->` and `<!-- end -->` is replaced by
the table of that name; with --check nothing is written, and the exit code is 1 if anything
would be. Averages are over corruptions within each seed, then over seeds, and ± is the
standard deviation over seeds. An average over fewer corruptions than the widest of its table
has a star. The same records give the same bytes.
"""
import collections
import gzip
import json
import pathlib
import re
import statistics
import sys

METHODS = {"source": "Source", "bn_stats": "BN Stats", "sotta": "SoTTA", "screened_sotta": "screened"}
DATASETS = {"cifar10": "CIFAR10-C", "cifar100": "CIFAR100-C", "fashion-mnist": "Fashion-MNIST"}
SCENARIOS = {"benign": "Benign", "near": "Near", "far": "Far", "noise": "Noise", "blank": "Blank",
             "inverted": "Inverted", "shuffled": "Shuffled", "attack": "Attack"}
NONE = "—"


def read(folder):
    """{(dataset, scenario, method, rest of the options): {seed: {corruption: record}}}"""
    groups = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file in sorted(folder.rglob("*.jsonl*")) if folder.is_dir() else []:
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt") as lines:
            for line in lines:
                record = json.loads(line)
                key = (record["dataset"], record["scenario"], record["method"], stream_of(record))
                groups[key][record["seed"]][record["corruption"]] = record
    return groups


def stream_of(record):
    """What is unusual about the stream, in words; empty for the paper's."""
    options, words = record["options"], []
    if options.get("limit", 0) > 0:
        words.append(f"first {options['limit']:,}")
    if options.get("foreign_share", 0) > 0:
        words.append(f"{100 * options['foreign_share']:.0f} % foreign")
    if options.get("burst", 0) > 1:
        words.append(f"in runs of {options['burst']}")
    if options.get("order", "shuffled") == "dirichlet":
        words.append(f"labels correlated ({options['concentration']:g})")
    if record["scenario"] == "attack":
        words.append(str(options.get("attack", "paper")))
    if "," in record["corruption"] or record["corruption"] in ("all", "sequence"):
        words.append("all corruptions in sequence")
    return ", ".join(words)


def accuracy(record):
    return record["accuracy"]


def share(part, whole):
    return lambda record: 100 * record[part] / record[whole] if record[whole] else None


def seed_means(seeds, value):
    """The mean over the corruptions of each seed; those that lack the value do not count."""
    means = {}
    for seed, records in sorted((seeds or {}).items()):
        found = [number for number in map(value, records.values()) if number is not None]
        if found:
            means[seed] = statistics.mean(found)
    return means


def corruptions_in(seeds):
    return max((len(records) for records in (seeds or {}).values()), default=0)


def cell(seeds, value=accuracy, widest=0):
    means = list(seed_means(seeds, value).values())
    if not means:
        return NONE
    text = f"{statistics.mean(means):.1f}"
    if len(means) > 1:
        text += f" ± {statistics.stdev(means):.1f}"
    return text + ("*" if corruptions_in(seeds) < widest else "")


def mean(seeds, value=accuracy):
    means = list(seed_means(seeds, value).values())
    return statistics.mean(means) if means else None


def table(head, rows):
    if not rows:
        return ["Not measured yet."]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def averages(groups):
    """Per dataset and method the average of each scenario."""
    shown = ["benign", "near", "far", "noise"]
    rows = []
    for dataset, name in DATASETS.items():
        of = lambda scenario, method: groups.get((dataset, scenario, method, ""))
        widest = max((corruptions_in(of(s, m)) for s in shown for m in METHODS), default=0)
        for method, label in METHODS.items():
            if any(of(scenario, method) for scenario in shown):
                rows.append([f"{name}, {label}"] + [cell(of(s, method), widest=widest) for s in shown])
    lines = table([""] + [SCENARIOS[s] for s in shown], rows)
    if any("warm_updates" not in record["options"] for (_, _, method, _), seeds in groups.items()
           if method == "screened_sotta" for records in seeds.values() for record in records.values()):
        lines += ["", "Of records of before the last two parts: `warm_updates=0`, `screen_pace=false`."]
    return lines


def admitted(groups):
    """What was let in, and how the screen tells foreign samples."""
    rows = []
    for dataset, name in DATASETS.items():
        for scenario in ("near", "far", "noise"):
            plain, screened = (groups.get((dataset, scenario, m, "")) for m in ("sotta", "screened_sotta"))
            if plain or screened:
                rows.append([f"{name}, {SCENARIOS[scenario]}"]
                            + [cell(g, share("admitted", "samples")) for g in (plain, screened)]
                            + [cell(g, share("admitted_foreign", "foreign")) for g in (plain, screened)]
                            + [cell(screened, lambda r: r.get("screen_auroc")),
                               cell(screened, lambda r: r.get("screen_fpr95"))])
    return table(["%", "target admitted, SoTTA", "screened", "foreign admitted, SoTTA", "screened", "AUROC", "FPR95"], rows)


def by_corruption(groups, dataset):
    """Means over seeds, SoTTA's and the variant's."""
    shown = [s for s in ("benign", "near", "far", "noise") if (dataset, s, "screened_sotta", "") in groups]
    names = sorted({c for s in shown for records in groups[dataset, s, "screened_sotta", ""].values() for c in records})
    def number(scenario, method, corruption):
        found = [records[corruption]["accuracy"]
                 for records in groups.get((dataset, scenario, method, ""), {}).values() if corruption in records]
        return f"{statistics.mean(found):.1f}" if found else NONE
    rows = [[name] + [f"{number(s, 'sotta', name)}, {number(s, 'screened_sotta', name)}" for s in shown] for name in names]
    return table([DATASETS[dataset]] + [SCENARIOS[s] for s in shown], rows)


def short(groups):
    keys = sorted({(list(DATASETS).index(d), int(re.sub(r"\D", "", stream)), stream, d)
                   for d, s, _, stream in groups if s == "benign" and stream.startswith("first")})
    rows = [[f"{DATASETS[d]}, {stream}"] + [cell(groups.get((d, "benign", m, stream))) for m in METHODS]
            for _, _, stream, d in keys]
    return table(["Benign"] + list(METHODS.values()), rows)


def streams(groups):
    order = {name: place for place, name in enumerate(SCENARIOS)}
    keys = sorted({(d, stream, s) for d, s, _, stream in groups},
                  key=lambda key: (list(DATASETS).index(key[0]), key[1], order.get(key[2], 99)))
    rows = []
    for dataset, stream, scenario in keys:
        of = [groups.get((dataset, scenario, method, stream)) for method in METHODS]
        widest = max(map(corruptions_in, of))
        rows.append([f"{DATASETS[dataset]}, {SCENARIOS.get(scenario, scenario)}{', ' + stream if stream else ''}", str(widest)]
                    + [cell(seeds, widest=widest) for seeds in of])
    return table(["", "corruptions"] + list(METHODS.values()), rows)


def pairs(groups, dataset, one, other):
    """(scenario, seed, corruption, difference) of runs that both have; `other` of any seed if it has one alone."""
    for (d, scenario, method, stream), seeds in sorted(groups.items()):
        beside = groups.get((d, scenario, other, stream), {})
        if (d, method, stream) != (dataset, one, "") or not beside:
            continue
        for seed, records in sorted(seeds.items()):
            others = beside.get(seed) or (next(iter(beside.values())) if len(beside) == 1 else {})
            for corruption, record in sorted(records.items()):
                if corruption in others:
                    yield scenario, seed, corruption, record["accuracy"] - others[corruption]["accuracy"]


def lowest(found):
    found = list(found)
    if not found:
        return NONE, None
    scenario, seed, corruption, by = min(found, key=lambda each: each[3])
    return f"{by:+.1f} ({corruption}, {SCENARIOS[scenario]}, seed {seed}; {len(found)} runs)", by


def goals(groups, small):
    """What was asked for beside what came out."""
    rows = []
    def add(what, found, limit):
        rows.append([what, NONE, NONE] if found is None
                    else [what, f"{found:+.1f}", "yes" if round(found, 1) >= limit else "no"])
    for dataset, near_benign in (("cifar10", 0.5), ("cifar100", 0.7)):
        name = DATASETS[dataset]
        of = lambda scenario, method="screened_sotta": mean(groups.get((dataset, scenario, method, "")))
        less = lambda a, b: None if a is None or b is None else a - b
        add(f"{name}: Benign less SoTTA's, at least -0.2", less(of("benign"), of("benign", "sotta")), -0.2)
        add(f"{name}: Noise less Benign, at least -{near_benign}", less(of("noise"), of("benign")), -near_benign)
        add(f"{name}: Near less SoTTA's, at least 0", less(of("near"), of("near", "sotta")), 0)
        add(f"{name}: Far less SoTTA's, at least 0", less(of("far"), of("far", "sotta")), 0)
        add(f"{name}: Far less Benign, at least -0.7", less(of("far"), of("benign")), -0.7)
        for what, other, limit in ((f"{name}: every corruption's mean over seeds less SoTTA's, at least -1.5", "sotta", -1.5),
                                   (f"{name}: every run less Source, at least -1", "source", -1)):
            found = list(pairs(groups, dataset, "screened_sotta", other))
            if other == "sotta":
                by = collections.defaultdict(list)
                for scenario, _, corruption, difference in found:
                    by[scenario, corruption].append(difference)
                text, worst = NONE, None
                if by:
                    (scenario, corruption), differences = min(by.items(), key=lambda item: statistics.mean(item[1]))
                    worst = statistics.mean(differences)
                    text = f"{worst:+.1f} ({corruption}, {SCENARIOS[scenario]})"
            else:
                text, worst = lowest(found)
            rows.append([what, text, NONE if worst is None else "yes" if round(worst, 1) >= limit else "no"])
    for dataset, name in DATASETS.items():
        for count in (256, 1024):
            of = {m: mean(small.get((dataset, "benign", m, f"first {count:,}"))) for m in METHODS}
            if of["screened_sotta"] is None:
                continue
            for other, limit in (("bn_stats", -0.5), ("sotta", 0)):
                if of[other] is not None:
                    add(f"{name}, first {count:,}: less {METHODS[other]}'s, at least {limit}",
                        of["screened_sotta"] - of[other], limit)
    return table(["asked for", "found", "met"], rows)


def main(page, results, check):
    main_study, small, users = (read(results / name) for name in ("screened-sotta", "screened-short", "screened-streams"))
    tables = {"averages": lambda: averages(main_study), "admitted": lambda: admitted(main_study),
              "cifar10": lambda: by_corruption(main_study, "cifar10"),
              "cifar100": lambda: by_corruption(main_study, "cifar100"),
              "short": lambda: short(small), "streams": lambda: streams(users), "goals": lambda: goals(main_study, small)}
    before = page.read_text()
    def filled(match):
        name = match[1]
        if name not in tables:
            sys.exit(f"{page}: no table \"{name}\", expected one of {', '.join(tables)}")
        return "\n".join([f"<!-- table {name} -->", "", *tables[name](), "", "<!-- end -->"])
    after = re.sub(r"<!-- table (\S+) -->.*?<!-- end -->", filled, before, flags=re.S)
    if check and after != before:
        sys.exit(f"{page}: not what the records give; `make results` fills it")
    if not check:
        page.write_text(after)


if __name__ == "__main__":
    arguments = [each for each in sys.argv[1:] if each != "--check"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(arguments[0]), pathlib.Path(arguments[1]), "--check" in sys.argv)
