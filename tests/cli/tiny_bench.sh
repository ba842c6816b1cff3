# For scripts that run `sotta bench`: a data root with a few images in the form of
# Fashion-MNIST, so that cells take a moment. Sourced after expect.sh.

# make_tiny_data FOLDER COUNT: images of random pixels, the same every time.
make_tiny_data() { python3 "$SOTTA_ROOT/tests/support/make_tiny_data.py" "$1" "$2"; }

# bench ARGUMENTS: small cells on that data. Scripts that kill it start the
# program itself: "$SOTTA_BIN" "${tiny[@]}" ARGUMENTS &
tiny_data=(bench --dataset fashion-mnist --data tiny --threads 1
  --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors")
tiny=("${tiny_data[@]}" --corruption none --window 16)
bench() { sotta "${tiny[@]}" "$@"; }

# results FOLDER: its records without what differs from run to run, sorted, each
# run once.
results() {
  python3 - "$1" <<'PYTHON'
import glob, json, sys
runs = {}
for file in sorted(glob.glob(sys.argv[1] + "/*.jsonl")):
    for line in open(file):
        if not line.endswith("\n"):
            continue
        run = json.loads(line)
        for key in ("seconds", "adapt_seconds", "images_per_second",
                    "peak_memory_bytes", "threads"):
            del run[key]
        key = json.dumps([run[k] for k in ("scenario", "method", "variant", "seed", "options")])
        text = json.dumps(run, sort_keys=True)
        assert runs.setdefault(key, text) == text, "two results of one cell: " + key
print("\n".join(runs[key] for key in sorted(runs)))
PYTHON
}
