# The clients in examples/serve against `sotta serve`: serve_examples.py.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
python=python3
/usr/bin/python3 -c 'import tritonclient.http' 2>/dev/null && python=/usr/bin/python3
PYTHONDONTWRITEBYTECODE=1 "$python" "$SOTTA_ROOT/tests/cli/serve_examples.py" "$(dirname "$SOTTA_BIN")/serve_client"
