#!/bin/bash
# The main job on what is embedded: the small model of models/ meets corrupted
# Fashion-MNIST images (Debian's package dataset-fashion-mnist) in a stream half
# of which is noise. Four methods side by side, then their table and a report.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/bin/sotta
echo "demo: $program demo --out build/demo $*"
exec "$program" demo --out build/demo "$@"
