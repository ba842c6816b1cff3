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

# Left to the release build, for they take minutes here: loops of kills and scripts
# that compare results of code which the test programs run under the sanitizers
# anyhow; one that loads a library before theirs; and three checks of the server's
# memory, which a sanitizer keeps back when it is freed.
results='adapt_numbers|ci_steps|report|results|demo|engine_bench|extend|flags|manual|ranks|threads|train|serve_examples|serve_fleet'
memory='cli_serve_access|cli_serve_hostile|stress_slow_clients_serve'
tools/run_tests.py build/asan -E "^(cli_($results)|stress_kill_.*|stress_fleet_serve|stress_failing_disk_serve|$memory)\$"
