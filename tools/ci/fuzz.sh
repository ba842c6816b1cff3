#!/bin/bash
# fuzz.sh SECONDS [TARGET...]: fuzzes each parser (or only those named) for that
# long and fails on any finding, which it leaves under build/fuzz/findings. Draws
# other inputs every time, unless FUZZ_SEED is a number.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: tools/ci/fuzz.sh SECONDS [TARGET...]}
shift
compiler=$(command -v clang++-14 || command -v clang++) ||
  { echo "fuzz: needs clang++ with libFuzzer (Debian: clang-14, libclang-rt-14-dev)"; exit 1; }

mkdir -p build
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DSOTTA_DEVELOPER=OFF -DSOTTA_FUZZ=ON >build/fuzz-configure.log 2>&1 ||
  { cat build/fuzz-configure.log; exit 1; }
cmake --build build/fuzz --target sotta_fuzzers -j "${JOBS:-$(nproc)}"

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in fuzz/*_fuzz.cpp; do
    targets+=("$(basename "$source" _fuzz.cpp)")
  done
fi

# New inputs go to the first folder, the seeds in the second stay as they are.
# A quarantine of freed memory would count against the memory limit.
export ASAN_OPTIONS=quarantine_size_mb=8
failed=()
for target in "${targets[@]}"; do
  work=build/fuzz/work/$target
  mkdir -p "$work" build/fuzz/findings
  echo "fuzz $target for $seconds s"
  if build/fuzz/bin/fuzz_"$target" -max_total_time="$seconds" -timeout=10 \
    -seed="${FUZZ_SEED:-0}" \
    -rss_limit_mb=512 -max_len=8192 -artifact_prefix="build/fuzz/findings/$target-" \
    "$work" "fuzz/corpus/$target" >"$work.log" 2>&1; then
    tail -1 "$work.log"
  else
    tail -60 "$work.log"
    failed+=("$target")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: findings in ${failed[*]}; the inputs are under build/fuzz/findings"
  exit 1
fi
echo "fuzz: no findings in ${targets[*]}"
