#!/bin/bash
# The benchmarks start and end; their numbers are for people (bench/README.md).
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build.sh release
for program in build/release/bin/*_bench; do
  [ -x "$program" ] || continue
  "$program" --benchmark_min_time=0.01
done
