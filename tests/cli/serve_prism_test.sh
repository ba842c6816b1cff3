# `sotta serve` behind a validating proxy: serve_prism.py. Skipped unless PRISM is the program of
# npm's @stoplight/prism-cli and DATAPLANE the file openapi/dataplane.yaml of SeldonIO/MLServer.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
[ -x "${PRISM:-}" ] && [ -f "${DATAPLANE:-}" ] || { echo 'skipped: PRISM and DATAPLANE are not set'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_prism.py" "$PRISM" "$DATAPLANE"
