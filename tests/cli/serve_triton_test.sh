# Triton's own client against `sotta serve`: serve_triton.py. Skipped where Python has no
# tritonclient with HTTP (pip's tritonclient[http], or src/python/library of
# triton-inference-server/client on PYTHONPATH).
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
for python in python3 /usr/bin/python3; do
  run "$python" -c 'import numpy, tritonclient.http, tritonclient.http.aio'
  [ "$last_code" -ne 0 ] || exec env PYTHONDONTWRITEBYTECODE=1 "$python" "$SOTTA_ROOT/tests/cli/serve_triton.py"
done
echo 'skipped: Python has no tritonclient with HTTP'
exit 77
