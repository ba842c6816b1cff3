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
# Kill loops and the check of every flag look at results, which the release build
# has shown; here they would take minutes.
tools/run_tests.py build/asan -E '^(cli_flags|stress_kill_.*)$'
