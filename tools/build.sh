#!/bin/bash
# tools/build.sh PRESET [TARGET...]: configures build/PRESET when that is due,
# then builds the targets (all of them by default) with JOBS parallel jobs.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
jobs=${JOBS:-$(nproc)}
folder=build/$preset

# What one clone has compiled serves every other on this machine: paths count
# from the clone's root, and precompiled headers by their contents.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# CMake remembers the LibTorch and the compiler it found first; another
# CMAKE_PREFIX_PATH or CXX must start it afresh.
wanted=${CMAKE_PREFIX_PATH-}${CXX:+ $CXX}
used=$(cat "$folder/configured_with.txt" 2>/dev/null || true)
options=()
[ "$wanted" = "$used" ] || options+=(--fresh)
if [ ! -e "$folder/build.ninja" ] || [ "$wanted" != "$used" ] ||
  [ CMakePresets.json -nt "$folder/build.ninja" ]; then
  command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  echo "build: configuring $folder"
  cmake --preset "$preset" "${options[@]}"
  echo "$wanted" >"$folder/configured_with.txt"
fi

echo "build: building ${*:-everything} in $folder ($jobs jobs)"
cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
