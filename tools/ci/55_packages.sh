#!/bin/bash
# The Debian packages hold what they should, and lintian finds no errors.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v lintian >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
  echo 'skipped: lintian and dpkg-dev are not installed'
  exit 77
fi
if [ -n "${CMAKE_PREFIX_PATH-}" ]; then
  echo 'skipped: packages are for the LibTorch of Debian'
  exit 77
fi
tools/build.sh release sotta_packaged
tools/check_packages.sh
