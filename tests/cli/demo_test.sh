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
[ "$(wc -l <out/records.jsonl)" -eq 5 ] || give_up "expected five records"
[ -s out/report/report.html ] || give_up "expected a report"
grep -q '"guard":"rollback"' out/records.jsonl || give_up "expected guards to be on"
python3 - <<'PYTHON' || give_up 'expected the table and the progress of the records'
import json, re
table = [line.split() for line in open('stdout.txt') if ' / ' in line]
records = [json.loads(line) for line in open('out/records.jsonl')]
assert [record['method'] for record in records] == ['source', 'bn_stats', 'tent', 'sotta', 'screened_sotta']
for row, record in zip(table, records):
    numbers = [record[name] for name in ('admitted', 'samples', 'admitted_foreign', 'foreign')]
    assert [int(row[i]) for i in (2, 4, 5, 7)] == numbers, (row, numbers)
    assert (row[0], row[1], row[8]) == (record['method'], f"{record['accuracy']:.1f}%", f"{record['images_per_second']:.0f}"), row
assert any(record['admitted'] > 0 for record in records)
assert 'method          accuracy  admitted (target)' in open('stdout.txt').read()
for record in records:
    last = re.findall(rf"^  {record['method']} +([0-9]+) %  (.*)$", open('stderr.txt').read(), re.M)[-1]
    note = '' if record['method'] == 'source' else f"accuracy {record['accuracy']:.2f} %"
    assert last == ('100', note), (last, note)
PYTHON

# Again: behind the records that are there, which may be anybody's; the report is of this run alone.
run demo --out out --method source,sotta --threads 4
expect_code 0
[ "$(tail -n 2 out/records.jsonl | grep -c '"threads":2,')" -eq 2 ] || give_up "expected two threads each"
[ "$(wc -l <out/records.jsonl)" -eq 7 ] || give_up "expected two records more"
! grep -q 'TENT' out/report/report.html || give_up "expected no TENT in the report"

# Nothing is run for a place that cannot be written.
touch file
run demo --out file/demo
expect_code 1
expect_error 'file/demo: the folder cannot be made: Not a directory'
expect_no_output

# Interrupted: nothing is recorded, and what was there stays.
make_tiny_data many 300
"$SOTTA_BIN" demo --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --data many --limit 300 \
  --method source,cotta --out out >stdout.txt 2>stderr.txt &
until grep -q ' 25 % ' stderr.txt; do :; done
kill -INT $!
set +e
wait $!
last_code=$?
set -e
last_command='sotta demo, interrupted'
expect_code 1
expect_error 'sotta: interrupted, nothing recorded'
[ "$(wc -l <out/records.jsonl)" -eq 7 ] || give_up "expected the records of before"

run demo --method sota
expect_code 2
expect_error 'sotta'
run demo --guard sometimes
expect_code 2
expect_error 'guard'
