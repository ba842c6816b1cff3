# Hostile clients of `sotta serve`: serve_hostile.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_hostile.py" 3
