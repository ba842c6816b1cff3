# sotta report: records in, documents out, and one sentence for what is wrong.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run python3 "$SOTTA_ROOT/tests/report/make_records.py" runs
expect_code 0

run sotta report runs --out out
expect_code 0
for format in md tex csv html; do
  expect_output "out/report.$format"
  expect_file "out/report.$format"
done
grep -qF '| SoTTA |' out/report.md || give_up 'expected a row of SoTTA'
grep -qF 'my\_method\_100%\_&amp;\_more\|&lt;script&gt;' out/report.md ||
  give_up 'expected escaped names in Markdown'
grep -qF 'my\_method\_100\%\_\&\_more|\textless{}script\textgreater{}' out/report.tex ||
  give_up 'expected escaped names in LaTeX'
! grep -qF '<script' out/report.html || give_up 'expected no script in the page'

# The same records give the same bytes.
run sotta report runs --out again
expect_code 0
diff -r out again >/dev/null || give_up 'expected the same report again'

# Without --out it lies beside the records.
run sotta report runs --format csv
expect_code 0
expect_file runs/report/report.csv
[ ! -e runs/report/report.md ] || give_up 'expected only what was asked for'

run sotta report runs --format csv,pdf
expect_code 2
expect_error 'pdf'

run sotta report nowhere
expect_code 2
expect_error 'nowhere: expected a folder of records, found none'

mkdir empty
run sotta report empty
expect_code 2
expect_error 'empty: expected records in *.jsonl files, found no such file'

head -n 2 runs/runs.jsonl >empty/a.jsonl
echo '{"format":1}' >>empty/a.jsonl
run sotta report empty
expect_code 2
expect_error 'empty/a.jsonl line 3: expected a record of format 2, got 1'
[ ! -e empty/report ] || give_up 'expected no report of broken records'
