#!/bin/bash
# Files and functions stay short, and every source has a test of its name.
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 tools/check_sizes.py .
