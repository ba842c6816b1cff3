# Who may ask `sotta serve` for what: serve_access_checks.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
if grep -q 'openssl: not in this build' stdout.txt; then
  run sotta token gate
  expect_code 2
  expect_error 'this build has no OpenSSL; install libssl-dev'
  exit 77
fi
grep -q 'beast: not in this build' stdout.txt && exit 77
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_access_checks.py"
