#!/bin/bash
# tidy.sh [FILE...]: clang-tidy over the named sources, by default over those
# that differ from main. Not part of .ci/run: a source that sees LibTorch takes
# 10 to 20 s. `tools/ci/tidy.sh $(git ls-files 'src/*.cpp' 'apps/*.cpp')` before
# a release.
set -euo pipefail
cd "$(dirname "$0")/../.."

files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d main -- '*.cpp')
fi
[ ${#files[@]} -gt 0 ] || { echo "tidy: no source differs from main"; exit 0; }

# Ninja knows how each file is compiled once the folder is configured.
[ -e build/asan/compile_commands.json ] || CXX=clang++-14 tools/build.sh asan help >/dev/null
printf '%s\n' "${files[@]}" |
  xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy-14 --quiet --warnings-as-errors='*' -p build/asan
