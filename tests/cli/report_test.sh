# sotta report: records in, documents out, and one sentence for what is wrong.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run python3 "$SOTTA_ROOT/tests/report/make_records.py" runs --small
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

# Figures are files, and inside the page; all are well-formed.
expect_file out/figures/cifar10-clean-scenarios.svg
[ "$(grep -c '<figure ' out/report.html)" -eq "$(ls out/figures | wc -l)" ] ||
  give_up 'expected every figure in the page'
run python3 -c '
import glob, html.parser, re, sys, xml.dom.minidom
for file in glob.glob("out/figures/*.svg"):
    xml.dom.minidom.parse(file)
page = open("out/report.html", encoding="utf-8").read()
for svg in re.findall("<svg.*?</svg>", page, re.S):
    xml.dom.minidom.parseString(svg)
class Balance(html.parser.HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attrs):
        if tag != "meta": self.open_tags.append(tag)
    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag, (tag, self.getpos())
    def handle_startendtag(self, tag, attrs): pass
Balance().feed(page)
assert not Balance.open_tags
'
expect_code 0

# The same records give the same bytes.
run sotta report runs --out again
expect_code 0
diff -r out again >/dev/null || give_up 'expected the same report again'

# Without --out it lies beside the records.
run sotta report runs --format csv
expect_code 0
expect_file runs/report/report.csv
[ "$(ls runs/report)" = report.csv ] || give_up 'expected only what was asked for'

# Two folders: what changed, and what only one has.
run python3 "$SOTTA_ROOT/tests/report/make_records.py" other --small --shift -2
expect_code 0
sed -i '/"scenario": "far"/d' other/runs.jsonl
run sotta report runs --out changed --format md,csv --against other
expect_code 0
grep -qF 'SoTTA under Noise' changed/report.md || give_up 'expected a comparison'
grep -q '^against/averages,.*SoTTA under Noise",Verdict,.*higher' changed/report.csv ||
  give_up 'expected that SoTTA got better'
grep -qF 'Runs that only one side has' changed/report.md ||
  give_up 'expected the runs that only one side has'

run sotta report runs --out changed --against nowhere
expect_code 2
expect_error 'nowhere: expected a folder of records'

run sotta report runs --format csv,pdf
expect_code 2
expect_error 'pdf'

run sotta report nowhere
expect_code 2
expect_error 'nowhere: expected a folder of records, found none'

mkdir empty
run sotta report empty
expect_code 2
expect_error 'empty: expected records in *.jsonl files, found none'

head -n 2 runs/runs.jsonl >empty/a.jsonl
echo '{"format":1}' >>empty/a.jsonl
run sotta report empty
expect_code 2
expect_error 'empty/a.jsonl line 3: expected a record of format 2, got 1'
[ ! -e empty/report ] || give_up 'expected no report of broken records'
