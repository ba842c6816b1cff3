# What openapi.json says of `sotta serve` is true: serve_openapi_checks.py. Skipped where Python has
# no jsonschema (Debian: python3-jsonschema).
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
for python in python3 /usr/bin/python3; do
  run "$python" -c 'import jsonschema; jsonschema.Draft202012Validator'
  [ "$last_code" -ne 0 ] || exec env PYTHONDONTWRITEBYTECODE=1 "$python" "$SOTTA_ROOT/tests/cli/serve_openapi_checks.py"
done
echo 'skipped: Python has no jsonschema'
exit 77
