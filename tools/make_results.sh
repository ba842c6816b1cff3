#!/bin/sh
# Renders every study of docs/results from its records, and the index of them.
#
# usage: make_results.sh [STUDY RUNS]
#
# With STUDY and RUNS, the records under RUNS are made small and become those of
# docs/results/STUDY first. What they are is said by study.toml there (docs/reports.md).
set -eu
cd "$(dirname "$0")/.."
case $# in
  0) ;;
  2) python3 tools/thin_records.py "$2" "docs/results/$1/records.jsonl.gz" ;;
  *)
    echo "make_results.sh: expected STUDY and RUNS, or neither" >&2
    exit 2
    ;;
esac
# Nothing is replaced before all is rendered.
rendered=$(mktemp -d)
trap 'rm -rf "$rendered"' EXIT
${SOTTA_BIN:-build/release/bin/sotta} report docs/results --studies --out "$rendered" --format md,html >/dev/null
rm -rf docs/results/*/figures
cp -r "$rendered"/. docs/results/
if [ -e docs/methods/screened_sotta.md ]; then
  python3 tools/fill_method_page.py docs/methods/screened_sotta.md docs/results
fi
echo docs/results/index.html
