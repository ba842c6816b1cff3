#!/bin/bash
# Every public header compiles alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build.sh release all_verify_interface_header_sets
