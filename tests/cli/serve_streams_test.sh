# The operator's command at one server: serve_streams_checks.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
if grep -q 'beast: not in this build' stdout.txt; then
  run sotta streams list
  expect_code 2
  expect_error 'this build has no Boost.Beast; install libboost1.81-dev'
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_streams_checks.py"
