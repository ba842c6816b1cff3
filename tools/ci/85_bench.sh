#!/bin/bash
# The benchmarks start and end; their numbers are for people
# (docs/performance.md). Of the methods and the corruptions two each stand for all:
# CoTTA alone would take minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build.sh release
filter='^(forward|harness/source|source|tent|contrast|fog)'
for program in build/release/bin/*_bench; do
  [ -x "$program" ] || continue
  # A filter that matches nothing is no error to Google Benchmark.
  if "$program" --benchmark_filter="$filter" --benchmark_list_tests=true 2>&1 |
    grep 'Failed to match any'; then
    echo "$program has no such benchmark" >&2
    exit 1
  fi
  "$program" --benchmark_filter="$filter"
done
load() { python3 bench/serve_load.py "$@"; }
load windows --windows 2 --rounds 1
load latency --requests 192
load batch --seconds 0.5 --rounds 1
load overload --seconds 2 --warm-up 0.5
load idle --requests 100
load streams --streams 60 --resident 8
if command -v redis-server >/dev/null; then
  python3 bench/fleet_times.py build/release/bin/sotta build/fleet_times.txt 1 1000
  build/release/bin/fleet_simulation build/fleet_times.txt servers=2 streams=100 seconds=20
fi
build/release/bin/engine_lanes network=resnet8 windows=1 rounds=1 2:1 2
if [ -x build/release/bin/engine_worker ]; then
  # PyTorch may not be there: it is left out then.
  python3 bench/engine_bench.py --threads 1 --rounds 1 --pieces its --images 4 --engines 'fused,fused low-memory' |
    tee build/engine_bench.txt
  [ "$(grep -c '^| .* window, fused' build/engine_bench.txt)" -eq 4 ]
fi
