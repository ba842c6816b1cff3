#!/bin/bash
# The benchmarks start and end; their numbers are for people
# (docs/performance.md). Of the methods and the corruptions two each stand for all:
# CoTTA alone would take minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build.sh release
for program in build/release/bin/*_bench; do
  [ -x "$program" ] || continue
  "$program" --benchmark_filter='^(forward|source|tent|contrast|fog)'
done
