# What operators see of `sotta serve`: serve_watch_checks.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
if grep -q 'beast: not in this build' stdout.txt; then exit 77; fi
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_watch_checks.py"
