#!/bin/bash
# The tests under the address, leak and undefined-behaviour sanitizers. Built
# with clang where it is there, so that one build also shows that the code
# compiles with it, warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v clang++-14 >/dev/null; then
  export CXX=clang++-14
fi
tools/build.sh asan
tools/run_tests.py build/asan
