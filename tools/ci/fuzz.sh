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
  for program in build/fuzz/bin/fuzz_*; do
    targets+=("${program##*/fuzz_}")
  done
fi

# fuzz_one TARGET: what it says goes to work/TARGET.log. New inputs go to the first
# folder, the seeds in the second stay as they are. A quarantine of freed memory would
# count against the memory limit.
fuzz_one() {
  local work=build/fuzz/work/$1
  echo "fuzz $1 for $seconds s"
  ASAN_OPTIONS=quarantine_size_mb=8 build/fuzz/bin/fuzz_"$1" -max_total_time="$seconds" \
    -timeout=10 -seed="${FUZZ_SEED:-0}" -rss_limit_mb=512 -max_len=8192 \
    -artifact_prefix="build/fuzz/findings/$1-" "$work" "fuzz/corpus/$1" >"$work.log" 2>&1 ||
    touch "$work.failed"
}
export -f fuzz_one
export seconds

# One on each core.
rm -f build/fuzz/work/*.failed
mkdir -p build/fuzz/findings "${targets[@]/#/build/fuzz/work/}"
printf '%s\n' "${targets[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'fuzz_one {}'
failed=()
for target in "${targets[@]}"; do
  if [ -e "build/fuzz/work/$target.failed" ]; then
    tail -60 "build/fuzz/work/$target.log"
    failed+=("$target")
  else
    tail -1 "build/fuzz/work/$target.log"
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: findings in ${failed[*]}; the inputs are under build/fuzz/findings"
  exit 1
fi
echo "fuzz: no findings in ${targets[*]}"
