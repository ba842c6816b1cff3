# docs/results: what is committed is what its records give, to the byte.
. "$SOTTA_ROOT/tests/cli/expect.sh"

results="$SOTTA_ROOT/docs/results"
run sotta info
if grep -q 'zlib: not in this build' stdout.txt; then exit 77; fi

run sotta report "$results" --studies --out again --format md,html
expect_code 0
expect_output again/index.html
for study in "$results"/*/; do
  [ -e "$study/study.toml" ] || give_up "expected a study.toml in $study"
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

# New records become a study by one command.
mkdir -p repository/docs runs
cp -r "$SOTTA_ROOT/tools" repository/
cp -r "$results" repository/docs/
python3 "$SOTTA_ROOT/tests/report/make_records.py" runs --small
run env SOTTA_BIN="$SOTTA_BIN" repository/tools/make_results.sh made-up "$PWD/runs"
expect_code 0
expect_output docs/results/index.html
expect_file repository/docs/results/made-up/figures/cifar10-clean-scenarios.svg
grep -qF 'href="made-up/report.html"' repository/docs/results/index.html || give_up 'expected it in the index'
cmp -s repository/docs/results/cifar10-c/report.html "$results/cifar10-c/report.html" ||
  give_up 'expected the other studies as they were'
run repository/tools/make_results.sh made-up
expect_code 2
expect_error 'expected STUDY and RUNS, or neither'
