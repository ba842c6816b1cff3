#!/bin/bash
# No module includes a module above it; the checker itself is tried on a copy
# with a planted violation.
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 tools/check_layers.py .

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/include/sotta"
cp -r src "$planted/"
echo '#include "sotta/data/array.h"' >>"$planted/src/core/error.cpp"
if python3 tools/check_layers.py "$planted" >/dev/null; then
  echo "check_layers.py missed a planted violation" >&2
  exit 1
fi
