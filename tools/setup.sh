#!/bin/bash
# Installs the Debian packages that are missing, and nothing when none is.
#
#   tools/setup.sh build   what `make build` and `make demo` need
#   tools/setup.sh test    the above, and what the tests need
#   tools/setup.sh ci      the above, and what the other checks need
#   tools/setup.sh deb     what `make build` needs, and what packages are made with
#   tools/setup.sh neon    what tools/ci/75_neon.sh needs, and nothing else
#
# A LibTorch of your own, found through CMAKE_PREFIX_PATH or Torch_DIR, is used
# instead of Debian's. SETUP=no skips all of this.
set -euo pipefail

level=${1:-build}
log=${TMPDIR:-/tmp}/sotta-setup-$(id -u).log

say() { echo "setup: $*"; }

# Tools count as present whoever installed them: command:package.
tools=(make:make g++:g++ cmake:cmake ninja:ninja-build ccache:ccache)
# OpenBLAS comes with LibTorch because the BLAS that Debian picks otherwise
# makes matrix products 20 times slower.
torch=(libtorch-dev libopenblas0-pthread)
packages=(libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libjpeg-dev libpng-dev zlib1g-dev
  libhwy-dev libboost1.81-dev libssl-dev libhiredis-dev dataset-fashion-mnist)
case $level in
  build) ;;
  deb) tools+=(dpkg-shlibdeps:dpkg-dev gzip:gzip) ;;
  test | ci)
    tools+=(python3:python3 openssl:openssl curl:curl)  # TLS of the server is tried with them
    packages+=(libgtest-dev libbenchmark-dev
      python3-torch python3-torchvision pybind11-dev python3-dev python3-venv python3-wheel mypy)  # the Python package
    ;;
  neon)
    tools=(aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
      qemu-aarch64-static:qemu-user-static cmake:cmake ninja:ninja-build)
    torch=()
    packages=(libhwy-dev libgtest-dev)
    ;;
  *)
    say "unknown level '$level', expected build, test, ci, deb or neon" >&2
    exit 2
    ;;
esac
if [ "$level" = ci ]; then
  tools+=(clang++-14:clang-14 clang-format-14:clang-format-14
    clang-tidy-14:clang-tidy-14 gcovr:gcovr git:git xz:xz-utils
    redis-server:redis-server haproxy:haproxy  # a fleet of servers; they start services, so not for "test"
    dpkg-shlibdeps:dpkg-dev lintian:lintian man:man-db)
  packages+=(libclang-rt-14-dev python3-numpy)
fi

own_torch() {
  [ -z "${Torch_DIR-}" ] || return 0
  local prefix prefixes=${CMAKE_PREFIX_PATH-}
  for prefix in ${prefixes//[:;]/ }; do
    [ ! -e "$prefix/share/cmake/Torch/TorchConfig.cmake" ] || return 0
  done
  return 1
}

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Sets `missing` to the packages to install.
find_missing() {
  local entry package
  missing=()
  for entry in "${tools[@]}"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
  done
  own_torch || packages+=("${torch[@]}")
  for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
  done
}

# Sets `as_root` to the words that make a command run as root.
find_root() {
  if [ "$(id -u)" -eq 0 ]; then
    as_root=()
  elif ! command -v sudo >/dev/null; then
    say "cannot install ${missing[*]}: this is not root and sudo is not there;" \
      "have them installed, or go on without them by SETUP=no." >&2
    exit 1
  elif [ -t 0 ]; then
    as_root=(sudo)
  else
    as_root=(sudo -n)
  fi
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}

install_missing() {
  say "installing ${missing[*]} (log: $log)"
  : >"$log"
  # A source that cannot be reached may not be the one that matters.
  apt update || say "apt-get update failed, going on with the lists there are"
  if ! apt install --no-install-recommends "${missing[@]}"; then
    tail -n 20 "$log" >&2
    say "apt-get could not install ${missing[*]}; the lines above and" \
      "$log say why. SETUP=no goes on without them." >&2
    exit 1
  fi
}

# Says so when matrix products will be slow all the same: somebody chose
# another BLAS by hand.
check_blas() {
  local name chosen
  own_torch && return
  for name in libblas liblapack; do
    chosen=$(readlink -f "/etc/alternatives/$name.so.3-$(g++ -print-multiarch)") || continue
    case $chosen in
      */"${name#lib}"/*) say "warning: $name is $chosen, which is slow;" \
        "update-alternatives --config $name.so.3-$(g++ -print-multiarch) changes it" ;;
    esac
  done
}

if [ "${SETUP:-yes}" = no ]; then
  say "skipped (SETUP=no)"
elif ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "this is not Debian, so nothing is installed; needed are make, g++ 12 or clang 14," \
    "CMake 3.25, Ninja, LibTorch 1.13 or 2.x, CLI11, nlohmann-json and toml++;" \
    "useful are libjpeg, libpng, zlib, Highway, Boost 1.81, hiredis, GoogleTest, Google Benchmark, ccache, Python 3"
else
  find_missing
  if [ ${#missing[@]} -gt 0 ]; then
    find_root
    install_missing
  fi
  check_blas
fi
