# docs/results: what is committed is what its records give, to the byte.
. "$SOTTA_ROOT/tests/cli/expect.sh"

results="$SOTTA_ROOT/docs/results"
run sotta info
if grep -q 'zlib: not in this build' stdout.txt; then exit 77; fi

run sotta report "$results" --studies --out again --format md,html
expect_code 0
expect_output again/index.html
for study in "$results"/*/; do
  cp "$study"/records.jsonl.gz "$study"/study.toml "again/$(basename "$study")/"
done
cp "$results/README.md" again/
run diff -r "$results" again
[ "$last_code" -eq 0 ] || give_up 'expected the committed results; `make results` renders them'

# Small enough to be cloned by everybody.
bytes=$(cat "$results"/*/records.jsonl.gz | wc -c)
[ "$bytes" -le 6000000 ] || give_up "expected at most 6 MB of records, got $bytes bytes"
lines=$(wc -l <"$results/README.md")
[ "$lines" -le 120 ] || give_up "expected at most 120 lines in README.md, got $lines"

echo '{}' >broken.jsonl
run python3 "$SOTTA_ROOT/tools/thin_records.py" broken.jsonl small.jsonl.gz
expect_code 1
expect_error 'broken.jsonl line 1: expected a record'

# What has been made small stays as it is.
first=$(ls -d "$results"/*/ | head -n 1)
run python3 "$SOTTA_ROOT/tools/thin_records.py" "$first" small.jsonl.gz
expect_code 0
[ "$(zcat small.jsonl.gz | sha1sum)" = "$(zcat "$first/records.jsonl.gz" | sha1sum)" ] ||
  give_up 'expected the same small records again'
