# The dashboard of `sotta serve` in Chromium: serve_dashboard.mjs. Needs Debian's chromium and nodejs, and
#   npm install --prefix build/node playwright-core axe-core
# With SOTTA_SCREENSHOTS, pictures of it come into that folder.
. "$SOTTA_ROOT/tests/cli/expect.sh"

modules="$SOTTA_ROOT/build/node/node_modules"
run sotta info
if grep -qE '(beast|openssl): not in this build' stdout.txt; then exit 77; fi
for needed in "$(command -v chromium)" "$(command -v node)" "$modules/playwright-core" "$modules/axe-core"; do
  if [ ! -e "$needed" ]; then
    echo "skipped: no chromium, node, playwright-core or axe-core"
    exit 77
  fi
done
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_dashboard_checks.py" "$modules" ${SOTTA_SCREENSHOTS:-}
