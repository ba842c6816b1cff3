#!/bin/bash
# The tests of data and nn reach more than 90 % of these modules' lines.
set -euo pipefail
cd "$(dirname "$0")/../.."
modules=(data nn)
filters=()
for module in "${modules[@]}"; do
  filters+=(--filter "src/$module/" --filter "include/sotta/$module/")
done

tests=("${modules[@]/#/sotta_}")
tools/build.sh coverage "${tests[@]/%/_test}"
find build/coverage -name '*.gcda' -delete
for test in "${tests[@]}"; do
  "build/coverage/bin/${test}_test" --gtest_brief=1
done
gcovr --root . --object-directory build/coverage "${filters[@]}" \
  --fail-under-line 90
