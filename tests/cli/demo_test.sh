# sotta demo: methods side by side, a table, records and a report.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"
make_tiny_data tiny 200

demo() {
  sotta demo --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --data tiny \
    --limit 128 "$@"
}

run demo --out out
expect_code 0
expect_output 'sotta '
expect_output 'out/report/report.html'
expect_error 'tent'
[ "$(wc -l <out/records.jsonl)" -eq 4 ] || give_up "expected four records"
[ -s out/report/report.html ] || give_up "expected a report"
grep -q '"guard":"rollback"' out/records.jsonl || give_up "expected guards to be on"

# Again: the records are those of this run alone.
run demo --out out --method source,sotta
expect_code 0
[ "$(wc -l <out/records.jsonl)" -eq 2 ] || give_up "expected two records"

# Nothing is run for a place that cannot be written.
touch file
run demo --out file/demo
expect_code 1
expect_error 'file/demo: the folder cannot be made: Not a directory'
expect_no_output

run demo --method sota
expect_code 2
expect_error 'sotta'
run demo --guard sometimes
expect_code 2
expect_error 'guard'
