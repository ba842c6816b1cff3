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

# So is the page whose tables are filled in from them.
run python3 "$SOTTA_ROOT/tools/fill_method_page.py" "$SOTTA_ROOT/docs/methods/screened_sotta.md" "$results" --check
[ "$last_code" -eq 0 ] || give_up 'expected the tables of the records; `make results` fills them in'

# Two seeds of one corruption: SoTTA 70 and 72, screened 75 and 78, Source 60, BN Stats none.
mkdir -p pages/screened-sotta
python3 - <<'PYTHON'
import json, pathlib
def line(method, seed, accuracy, admitted_foreign, **more):
    return json.dumps({"dataset": "cifar10", "scenario": "noise", "method": method, "seed": seed, "corruption": "fog",
                       "options": {}, "accuracy": accuracy, "samples": 200, "admitted": 100, "foreign": 50,
                       "admitted_foreign": admitted_foreign, "series": {"screen_closed": [0, 1, 1, 1]}, **more}) + "\n"
open("pages/screened-sotta/records.jsonl", "w").write(
    line("source", 0, 60, 0) + line("sotta", 0, 70, 10) + line("sotta", 1, 72, 20)
    + line("screened_sotta", 0, 75, 1, screen_auroc=99, screen_fpr95=2)
    + line("screened_sotta", 1, 78, 0, screen_auroc=98, screen_fpr95=4))
pathlib.Path("pages/streams-shares").mkdir()
def share(method, corruption, accuracy):
    more = {"corruption": corruption, "options": {"foreign_share": 0.9, "limit": 2000}}
    return line(method, 0, accuracy, 0, **more)
open("pages/streams-shares/records.jsonl", "w").write(
    share("source", "fog", 60) + share("source", "snow", 50) + share("sotta", "fog", 40) + share("sotta", "snow", 50)
    + share("eata", "fog", 11) + share("screened_sotta", "fog", 58) + share("screened_sotta", "snow", 54))
open("page.md", "w").write("".join(f"<!-- table {name} -->\nold\n<!-- end -->\n" for name in
                                   ("averages", "admitted", "cifar10", "goals", "short", "streams", "worst")))
PYTHON
run python3 "$SOTTA_ROOT/tools/fill_method_page.py" page.md pages --check
expect_code 1
expect_error 'page.md: not what the records give'
run python3 "$SOTTA_ROOT/tools/fill_method_page.py" page.md pages
expect_code 0
for row in '| CIFAR10-C, SoTTA | — | — | — | 71.0 ± 1.4 |' '| CIFAR10-C, screened | — | — | — | 76.5 ± 2.1 |' \
  '| CIFAR10-C, Source | — | — | — | 60.0 |' '| fog | 71.0, 76.5 |' \
  '| CIFAR10-C, Noise | 50.0 ± 0.0 | 50.0 ± 0.0 | 30.0 ± 14.1 | 1.0 ± 1.4 | 75.0 ± 0.0 | 98.5 ± 0.7 | 3.0 ± 1.4 |' \
  '| CIFAR10-C, Noise, first 2,000, 90 % foreign | 2 | 55.0 | — | — | 11.0* | — | — | 45.0 | 56.0 |' \
  "| CIFAR10-C, Noise, first 2,000, 90 % foreign | -2.0 (fog) | +4.0 (snow) |" \
  '| CIFAR10-C: every run less Source, at least -1 | +15.0 (fog, Noise, seed 0; 2 runs) | yes |' \
  "| CIFAR10-C: every corruption's mean over seeds less SoTTA's, at least -1.5 | +5.5 (fog, Noise) | yes |"; do
  grep -qF -- "$row" page.md || give_up "expected the row $row"
done
run python3 "$SOTTA_ROOT/tools/fill_method_page.py" page.md pages --check
expect_code 0
echo '<!-- table unheard --><!-- end -->' >other.md
run python3 "$SOTTA_ROOT/tools/fill_method_page.py" other.md pages
expect_code 1
expect_error 'no table "unheard"'

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
