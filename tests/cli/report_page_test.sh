# The pages of `sotta report` in Chromium: report_page.mjs. Needs Debian's chromium and nodejs, and
#   npm install --prefix build/node playwright-core axe-core
# With SOTTA_SCREENSHOTS, pictures of them come into that folder.
. "$SOTTA_ROOT/tests/cli/expect.sh"

modules="$SOTTA_ROOT/build/node/node_modules"
for needed in "$(command -v chromium)" "$(command -v node)" "$modules/playwright-core" "$modules/axe-core"; do
  if [ ! -e "$needed" ]; then
    echo "skipped: no chromium, node, playwright-core or axe-core"
    exit 77
  fi
done
mkdir studies
run python3 "$SOTTA_ROOT/tests/report/make_records.py" studies/made-up --small
expect_code 0
run sotta report studies --studies --out pages --format html
expect_code 0
run sotta report --compare studies/made-up/runs.jsonl "$SOTTA_ROOT/docs/results/cifar10-c" --out sides --format html
expect_code 0
run node "$SOTTA_ROOT/tests/cli/report_page.mjs" "$modules" "$PWD" "$SOTTA_ROOT/docs/results" ${SOTTA_SCREENSHOTS:-}
expect_code 0
