# What bounds `sotta serve`, what it logs and where its flags may stand: serve_limits_checks.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: not in this build' stdout.txt && exit 77
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_limits_checks.py"
