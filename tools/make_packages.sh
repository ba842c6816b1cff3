#!/bin/bash
# tools/make_packages.sh: Debian packages of what is built in build/release, in
# build/release/packages (cmake/SottaPackages.cmake).
set -euo pipefail
cd "$(dirname "$0")/../build/release"
rm -rf packages
# An older configuration may have libraries where Debian does not want them.
if grep -q '^CMAKE_INSTALL_LIBDIR:PATH=lib$' CMakeCache.txt; then
  cmake -U CMAKE_INSTALL_LIBDIR . >/dev/null
fi
# Files and folders are readable by all, whatever the person's umask is.
umask 022
cpack -G DEB >packages.log || { tail -n 20 packages.log >&2; exit 1; }
rm -rf packages/_CPack_Packages
ls packages/*.deb
