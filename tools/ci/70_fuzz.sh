#!/bin/bash
# Every parser on hostile input for a short while, the same inputs every time, so
# that a change is judged by what it changed; tools/ci/fuzz.sh 3600 looks for new
# ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
FUZZ_SEED=1 tools/ci/fuzz.sh 10
