#!/bin/bash
# The fused engine's kernels on 64-bit ARM: their tests compiled for it and run
# under qemu. Skipped where Debian's cross compiler or qemu cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh neon || true
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  if ! command -v $tool >/dev/null; then
    echo "skipped: $tool is not there"
    exit 77
  fi
done
for sources in /usr/include/hwy /usr/src/googletest; do
  if [ ! -e $sources ]; then
    echo "skipped: $sources is not there"
    exit 77
  fi
done

cmake -S tests/neon -B build/neon -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ >/dev/null
cmake --build build/neon -j "${JOBS:-$(nproc)}"
qemu-aarch64-static build/neon/neon_test --gtest_brief=1
