# What answers of `sotta serve` depend on: serve_answers_checks.py. Skipped without Boost.Beast.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
! grep -q 'beast: not in this build' stdout.txt || exit 77
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_answers_checks.py"
