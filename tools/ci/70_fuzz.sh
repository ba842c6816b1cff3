#!/bin/bash
# Every parser on hostile input for a short while.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -x tools/ci/fuzz.sh ]; then
  tools/ci/fuzz.sh "${1:-10}"
else
  echo "skipped: there is no fuzz target yet"
fi
