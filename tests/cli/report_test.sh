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
! grep -qF 'more|<script' out/report.html || give_up 'expected escaped names in the page'
[ "$(grep -c '<script' out/report.html)" -eq 1 ] || give_up 'expected no script but its own'

# Figures are files, and inside the page; all are well-formed.
expect_file out/figures/cifar10-clean-scenarios.svg
for figure in out/figures/*.svg; do
  grep -qF "<figure id=\"$(basename "$figure" .svg | tr _ -)\"" out/report.html || give_up "expected $figure in the page"
done
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
    CDATA_CONTENT_ELEMENTS = ("script", "style")
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

# The comparison alone, on the screen or as files; what has nothing in common is refused.
mkdir few few-other near far
sed -n '/"scenario": "noise"/p' runs/runs.jsonl >few/a.jsonl
sed -n '/"scenario": "noise"/p' other/runs.jsonl >few-other/a.jsonl
sed -n '/"scenario": "near"/p' runs/runs.jsonl >near/a.jsonl
cp few/a.jsonl far/
run sotta report --compare few few-other
expect_code 0
expect_output '### The two sides'
expect_output '| cifar10, preset clean: SoTTA under Noise |'
expect_output '| lower |'
[ ! -e few/report ] || give_up 'expected nothing but the screen'
run sotta report --compare few few-other --out sides --format csv,html
expect_code 0
expect_output sides/report.html
grep -q '^against/sides,runs,few,' sides/report.csv || give_up 'expected both sides'

run sotta report --compare few far
expect_code 0
expect_output ' 0 changed beyond noise'
run sotta report --compare few ./few
expect_code 2
expect_error '--compare: expected two folders, got few twice'
run sotta report --compare near far --out sides
expect_code 2
expect_error 'near and far: expected a cell that both have (dataset, preset, method, scenario and corruption), found none'
run sotta report --compare near
expect_code 2
run sotta report --compare near nowhere
expect_code 2
expect_error 'nowhere: expected a folder of records'
run sotta report runs --compare near far
expect_code 2
expect_error 'expected a folder of records, or --compare with two'
run sotta report
expect_code 2
expect_error 'expected a folder of records, or --compare with two'
run sotta report --compare near far --format csv
expect_code 2
expect_error '--format: has no effect without --out'
run sotta report --compare near far --studies
expect_code 2
expect_error '--compare: expected neither --against nor --studies beside it'
run sotta report runs --studies --against other
expect_code 2
expect_error '--against: expected no --studies beside it'

# A page per study, and an index of them.
mkdir -p studies/b studies/a studies/figures
gzip -c near/a.jsonl >studies/b/runs.jsonl.gz
cp far/a.jsonl studies/a/
printf 'order = -1\ntitle = "First & <best>"\ncommand = "sotta bench"\n' >studies/b/study.toml
run sotta report studies --studies --format html,csv,md
expect_code 0
expect_output studies/report/b/report.html
expect_output studies/report/index.html
expect_output studies/report/index.md
[ ! -e studies/report/index.csv ] || give_up 'expected no table of numbers for the index'
grep -qF '<a href="b/report.html">First &amp; &lt;best&gt;</a>' studies/report/index.html ||
  give_up 'expected a link to the study'
[ "$(grep -o 'href="[ab]/report.html"' studies/report/index.html | head -n 1)" = 'href="b/report.html"' ] ||
  give_up 'expected the studies in their order'
grep -qF '<a href="../index.html">All studies</a>' studies/report/a/report.html ||
  give_up 'expected a way back'
run sotta report studies --studies --out twice --format html,csv,md
expect_code 0
diff -r studies/report twice >/dev/null || give_up 'expected the same studies again'
echo 'colour = "red"' >>studies/b/study.toml
run sotta report studies --studies --out wrong
expect_code 2
expect_error 'studies/b/study.toml line 4: expected title, about, command, machine or order, got colour'
[ ! -e wrong ] || give_up 'expected nothing of a study that cannot be read'
run sotta report empty-studies --studies
expect_code 2
expect_error 'empty-studies: expected a folder of studies'

# Compressed records that are damaged, no gzip data, or a bomb.
mkdir damaged
head -c 1000 studies/b/runs.jsonl.gz >damaged/runs.jsonl.gz
run sotta report damaged
expect_code 2
expect_error 'damaged/runs.jsonl.gz: the compressed data ends too early (1000 of 1000 bytes are good)'
cp near/a.jsonl damaged/runs.jsonl.gz
run sotta report damaged
expect_code 2
expect_error 'damaged/runs.jsonl.gz: the compressed data is damaged'
head -c 300000000 /dev/zero | gzip -1 >damaged/runs.jsonl.gz
run sotta report damaged
expect_code 2
expect_error 'damaged/runs.jsonl.gz: expected at most 268435456 bytes of records after unpacking, got more'
[ ! -e damaged/report ] || give_up 'expected no report of damaged records'

run sotta report nowhere
expect_code 2
expect_error 'nowhere: expected a folder of records, found none'

mkdir empty
run sotta report empty
expect_code 2
expect_error 'empty: expected records in *.jsonl or *.jsonl.gz files, found none'

head -n 2 runs/runs.jsonl >empty/a.jsonl
echo '{"format":1}' >>empty/a.jsonl
run sotta report empty
expect_code 2
expect_error 'empty/a.jsonl line 3: expected a record of format 2, got 1'
[ ! -e empty/report ] || give_up 'expected no report of broken records'
