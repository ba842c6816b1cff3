#!/usr/bin/env bash
# Peak memory of five SoTTA windows, ours beside PyTorch's, three runs each.
#   bench/compare_memory.sh [folder of the benchmark programs]
set -euo pipefail
cd "$(dirname "$0")/.."
programs=${1:-build/release/bin}
for run in 1 2 3; do
  ours=$("$programs/sotta_memory")
  torch=$(/usr/bin/python3 bench/sotta_memory.py)
  echo "run $run: ours $ours kB, PyTorch $torch kB, ratio $(python3 -c "print(round($ours / $torch, 3))")"
done
