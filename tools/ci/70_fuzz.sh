#!/bin/bash
# Every parser on hostile input for a short while; tools/ci/fuzz.sh 3600 for a
# long one.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/ci/fuzz.sh 10
