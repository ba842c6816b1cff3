"""Records of `sotta bench`, to be compared between runs."""
import json

TIMES = ("seconds", "adapt_seconds", "images_per_second", "peak_memory_bytes", "threads")
IDENTITY = ("dataset", "scenario", "corruption", "severity", "method", "variant", "preset",
            "seed", "options")


def records_by_identity(folder):
    """Of a folder: {identity: [record, ...]}, without times. A last line may be cut off."""
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().split("\n")[:-1]:
            record = json.loads(line)
            for name in TIMES:
                del record[name]
            identity = json.dumps([record[name] for name in IDENTITY], sort_keys=True)
            found.setdefault(identity, []).append(json.dumps(record, sort_keys=True))
    return found
