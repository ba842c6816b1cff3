# Servers that share a Redis: serve_fleet_checks.py. Without hiredis `--state redis://` says what is
# missing.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
if grep -q 'beast: not in this build' stdout.txt; then
  exit 77
fi
if grep -q 'hiredis: not in this build' stdout.txt; then
  run sotta serve --state redis://127.0.0.1:1/0 --advertise http://127.0.0.1:1
  expect_code 2
  expect_error 'this build has no hiredis to reach Redis with; install libhiredis-dev'
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_fleet_checks.py"
