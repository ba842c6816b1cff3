#!/bin/bash
# Every C++ file is as clang-format 14 leaves it (`make format` mends it).
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-14 --dry-run -Werror
