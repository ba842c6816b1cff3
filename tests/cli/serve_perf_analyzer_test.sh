# Triton's load generator against `sotta serve`, sequences as many streams. Skipped unless
# PERF_ANALYZER is the program of triton-inference-server/perf_analyzer.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
[ -x "${PERF_ANALYZER:-}" ] || { echo 'skipped: PERF_ANALYZER is not set'; exit 77; }
for load in '--sync --concurrency-range 1' '--sync --request-rate-range 300' '--async --concurrency-range 16'; do
  PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_with.py" \
    "$PERF_ANALYZER" -m fashion -u ADDRESS $load --request-count 2000 --num-of-sequences 64 \
    --sequence-length 100 --shape images:1,1,28,28
done
