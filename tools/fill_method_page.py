#!/usr/bin/env python3
"""Fills the tables of docs/methods/screened_sotta.md from records.

usage: fill_method_page.py PAGE RESULTS [--check]

RESULTS holds the studies screened-sotta, screened-short and streams-* (some may be missing).
What stands between a line `<!-- table NAME -->` and `<!-- end -->` is replaced by the table of
that name; with --check nothing is written, and the exit code is 1 if anything would be.
Averages are over corruptions within each seed, then over seeds, and ± is the standard deviation
over seeds. An average over fewer corruptions than the widest of its table has a star. The same
records give the same bytes.
"""
import collections
import gzip
import json
import pathlib
import re
import statistics
import sys

METHODS = {"source": "Source", "bn_stats": "BN Stats", "sotta": "SoTTA", "screened_sotta": "screened"}
EIGHT = {"source": "Source", "bn_stats": "BN Stats", "tent": "TENT", "eata": "EATA", "sar": "SAR", "rotta": "RoTTA",
         "sotta": "SoTTA", "screened_sotta": "screened"}
DATASETS = {"cifar10": "CIFAR10-C", "cifar100": "CIFAR100-C", "fashion-mnist": "Fashion-MNIST"}
SCENARIOS = {"benign": "Benign", "near": "Near", "far": "Far", "noise": "Noise", "blank": "Blank",
             "inverted": "Inverted", "shuffled": "Shuffled", "attack": "Attack"}
PAPERS = ["benign", "near", "far", "attack", "noise"]
NONE = "—"


def read(*folders):
    """{(dataset, scenario, method, rest of the options): {seed: {corruption: record}}}"""
    groups = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file in sorted(file for folder in folders for file in folder.rglob("*.jsonl*")):
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
    if options.get("window", 64) != 64:
        words.append(f"windows of {options['window']}")
    if record["scenario"] == "attack" and options.get("attack", "paper") != "paper":
        words.append(str(options["attack"]))
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


def scenarios_in(groups):
    """The paper's, but for the attack where nobody has measured it."""
    return [s for s in PAPERS if s != "attack" or any(scenario == s for _, scenario, _, _ in groups)]


def averages(groups):
    """Per dataset and method the average of each scenario."""
    shown = scenarios_in(groups)
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


def gate(record):
    """The share of the windows in which the screen keeps foreign samples out, in percent."""
    closed = record.get("series", {}).get("screen_closed")
    return 100 * statistics.mean(closed) if closed else None


def admitted(groups):
    """What was let in, and how the screen tells foreign samples."""
    rows = []
    for dataset, name in DATASETS.items():
        for scenario in PAPERS[1:]:
            plain, screened = (groups.get((dataset, scenario, m, "")) for m in ("sotta", "screened_sotta"))
            if plain or screened:
                rows.append([f"{name}, {SCENARIOS[scenario]}"]
                            + [cell(g, share("admitted", "samples")) for g in (plain, screened)]
                            + [cell(g, share("admitted_foreign", "foreign")) for g in (plain, screened)]
                            + [cell(screened, value) for value in
                               (gate, lambda r: r.get("screen_auroc"), lambda r: r.get("screen_fpr95"))])
    return table(["%", "target admitted, SoTTA", "screened", "foreign admitted, SoTTA", "screened", "gate closed", "AUROC",
                  "FPR95"], rows)


def by_corruption(groups, dataset):
    """Means over seeds, SoTTA's and the variant's."""
    shown = [s for s in PAPERS if (dataset, s, "screened_sotta", "") in groups]
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
    rows = [[f"{DATASETS[d]}, {stream}"] + [cell(groups.get((d, "benign", m, stream))) for m in EIGHT]
            for _, _, stream, d in keys]
    return table(["Benign"] + list(EIGHT.values()), rows)


def streams_in(groups):
    order = {name: place for place, name in enumerate(SCENARIOS)}
    marks = ["in runs", "% foreign", "first", "sequence", "labels", "attack"]
    def place(key):
        dataset, stream, scenario = key
        # "first" stands in most of them, so it decides last.
        kind = "attack" if scenario == "attack" else next((m for m in sorted(marks, key="first".__eq__) if m in stream), "")
        return (list(DATASETS).index(dataset), marks.index(kind) + 1 if kind else 0, order.get(scenario, 99), stream)
    return sorted({(d, stream, s) for d, s, _, stream in groups}, key=place)


def stream_name(dataset, scenario, stream):
    return f"{DATASETS[dataset]}, {SCENARIOS.get(scenario, scenario)}{', ' + stream if stream else ''}"


def streams(groups):
    """All that were run on them."""
    rows = []
    for dataset, stream, scenario in streams_in(groups):
        of = [groups.get((dataset, scenario, method, stream)) for method in EIGHT]
        widest = max(map(corruptions_in, of))
        rows.append([stream_name(dataset, scenario, stream), str(widest)]
                    + [cell(seeds, widest=widest) for seeds in of])
    return table(["", "corruptions"] + list(EIGHT.values()), rows)


def less_than(groups, dataset, scenario, stream, other):
    """[(corruption, the variant's accuracy less the other's)] of every run that both have."""
    of = lambda method: {(corruption, seed): record["accuracy"]
                         for seed, records in groups.get((dataset, scenario, method, stream), {}).items()
                         for corruption, record in records.items()}
    theirs = of(other)
    return [(run[0], ours - theirs[run]) for run, ours in sorted(of("screened_sotta").items()) if run in theirs]


def worst_streams(groups):
    """Per stream the corruption in which the variant does worst beside Source, and beside SoTTA."""
    rows = []
    for dataset, stream, scenario in streams_in(groups):
        less = {m: min(((by, c) for c, by in less_than(groups, dataset, scenario, stream, m)), default=None)
                for m in ("source", "sotta")}
        if less["source"] and (less["source"][0] < -1 or less["sotta"] and less["sotta"][0] < -1.5):
            rows.append([stream_name(dataset, scenario, stream)] + [f"{by[0]:+.1f} ({by[1]})" if by else NONE
                                                                    for by in less.values()])
    return table(["", "less Source's", "less SoTTA's"], rows)


def pairs(groups, dataset, one, other, wanted=""):
    """(scenario, seed, corruption, difference) of runs that both have; `other` of any seed if it has one alone."""
    for (d, scenario, method, stream), seeds in sorted(groups.items()):
        beside = groups.get((d, scenario, other, stream), {})
        if (d, method, stream) != (dataset, one, wanted) or not beside:
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


def worst_of_each(by, limit):
    """Of each scenario below the limit its lowest corruption, or the lowest of all; {(scenario, corruption): differences}."""
    means = sorted((statistics.mean(differences), scenario, corruption) for (scenario, corruption), differences in by.items())
    if not means:
        return NONE, None
    lowest_of = {}
    for each in means:
        lowest_of.setdefault(each[1], each)
    shown = [each for each in lowest_of.values() if round(each[0], 1) < limit] or means[:1]
    return ", ".join(f"{mean:+.1f} ({corruption}, {SCENARIOS[scenario]})" for mean, scenario, corruption in shown), means[0][0]


def goals(groups, small, users):
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
                text, worst = worst_of_each(by, limit)
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
            text, worst = lowest(pairs(small, dataset, "screened_sotta", "source", f"first {count:,}"))
            rows.append([f"{name}, first {count:,}: every run less Source, at least -1", text,
                         NONE if worst is None else "yes" if round(worst, 1) >= -1 else "no"])
    found = [(stream, scenario, corruption, by) for dataset, stream, scenario in streams_in(users)
             for corruption, by in less_than(users, dataset, scenario, stream, "source")]
    if found:
        stream, scenario, corruption, by = min(found, key=lambda each: each[3])
        rows.append(["Streams of users: every run less Source, at least -1",
                     f"{by:+.1f} ({corruption}, {SCENARIOS[scenario]}, {stream}; {sum(round(each[3], 1) < -1 for each in found)} of"
                     f" {len(found)} runs below -1)", "yes" if round(by, 1) >= -1 else "no"])
    return table(["asked for", "found", "met"], rows)


def main(page, results, check):
    main_study, small = (read(results / name) for name in ("screened-sotta", "screened-short"))
    users = read(*sorted(results.glob("streams-*")))
    tables = {"averages": lambda: averages(main_study), "admitted": lambda: admitted(main_study),
              "cifar10": lambda: by_corruption(main_study, "cifar10"),
              "cifar100": lambda: by_corruption(main_study, "cifar100"),
              "short": lambda: short(small), "goals": lambda: goals(main_study, small, users),
              "streams": lambda: streams(users), "worst": lambda: worst_streams(users)}
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
