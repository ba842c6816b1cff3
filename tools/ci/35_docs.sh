#!/bin/bash
# What the documents point at is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 tools/check_docs.py .
