# Every flag changes what it should, by a second computation: flag_checks.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"
unset SOTTA_DATA

PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/flag_checks.py"
