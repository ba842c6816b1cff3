# `sotta serve` from outside: serve_checks.py. Without Boost.Beast it says what is missing.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
if grep -q 'beast: not in this build' stdout.txt; then
  run sotta serve --state state --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors"
  expect_code 2
  expect_error 'this build has no Boost.Beast; install libboost1.81-dev'
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_checks.py"
