#!/bin/bash
# tools/check_packages.sh [--root | --root-only]: are the Debian packages what they should be?
#
#   MIRROR=URL   of Debian, in place of this machine's own
#   DEBIAN=DIR   an empty Debian that mmdebstrap made before; it is changed, and kept
#
# Makes them from what is built in build/release, has lintian look at them, and looks
# at what is in them: half a minute, which CI spends. With --root, as root, it goes on in an
# empty Debian 12 that mmdebstrap makes (some minutes, 4 GB in TMPDIR): installs them with
# apt, reads the manual, completes a command, builds against the library by pkg-config and by
# CMake, purges all of it and looks at what is left. With --root-only it does that alone, to packages that
# are there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
packages=build/release/packages

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sotta_packages_XXXXXX")
trap 'rm -rf "$scratch"' EXIT

say() { echo "packages: $*"; }
give_up() { say "$*" >&2; exit 1; }

# What is in the packages, by name.
look_inside() {
  local version program library libdir file
  version=$(build/release/bin/sotta --version)
  program=$(echo $packages/sotta_"$version"_*.deb)
  library=$(echo $packages/libsotta-dev_"$version"_*.deb)
  libdir=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  dpkg-deb --contents "$program" | awk '{print $6}' >"$scratch/program"
  dpkg-deb --contents "$library" | awk '{print $6}' >"$scratch/library"
  for file in usr/bin/sotta usr/lib/systemd/system/sotta.service usr/share/man/man1/sotta.1.gz \
    usr/share/man/man1/sotta-serve.1.gz usr/share/bash-completion/completions/sotta \
    usr/share/zsh/vendor-completions/_sotta usr/share/doc/sotta/copyright; do
    grep -qFx "./$file" "$scratch/program" || give_up "sotta lacks $file"
  done
  for file in usr/include/sotta/adapt/adapter.h "$libdir/libsotta_adapt.a" \
    "$libdir/pkgconfig/sotta.pc" "$libdir/cmake/sotta/sottaConfig.cmake"; do
    grep -qFx "./$file" "$scratch/library" || give_up "libsotta-dev lacks $file"
  done
  ! grep -q '^\./\(etc\|var\|usr/local\)/' "$scratch/program" || give_up 'sotta writes outside /usr'
  dpkg-deb --field "$program" Depends >"$scratch/depends"
  grep -q libtorch "$scratch/depends" || give_up 'sotta does not depend on LibTorch'
  for file in $packages/python3-sotta_"$version"_*.deb; do
    [ ! -e "$file" ] || dpkg-deb --info "$file" prerm | grep -q py3clean ||
      give_up 'python3-sotta leaves behind what Python compiles'
  done
  say "made, looked at: $(basename "$program"), $(basename "$library")"
}

if [ "${1-}" != --root-only ]; then
  tools/make_packages.sh
  # --allow-root: CI has no other user.
  lintian --allow-root --fail-on error $packages/*.deb || give_up 'lintian found errors'
  look_inside
fi
[ $# -gt 0 ] || exit 0

[ "$(id -u)" = 0 ] || give_up 'an empty Debian needs root'
debian=${DEBIAN:-$scratch/debian}
trap 'umount "$debian/proc" 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT
# Packages come from where this machine gets them.
mirror=${MIRROR:-/etc/apt/sources.list.d/debian.sources}
[ -n "${MIRROR-}" ] || [ -e "$mirror" ] || mirror=http://deb.debian.org/debian
[ -n "${DEBIAN-}" ] || mmdebstrap --quiet --variant=apt --mode=root \
  --setup-hook='mkdir -p "$1"/etc/apt
    [ ! -e /etc/apt/apt.conf.d ] || cp -rL /etc/apt/apt.conf.d "$1"/etc/apt/' \
  bookworm "$debian" "$mirror"
rm -rf "$debian/packages" "$debian/consumer"
mkdir "$debian/packages"
cp $packages/*.deb "$debian/packages"
cp -r tests/consumer "$debian/consumer"
cp models/fashion_resnet8.safetensors "$debian/consumer"
mount -t proc proc "$debian/proc"
[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$debian/etc/resolv.conf"

inside() {
  chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy=$http_proxy} bash -euc "$1"
}
listing() {
  (cd "$debian" && find . -xdev \( -path ./proc -o -path ./packages -o -path ./consumer -o -path ./tmp \) \
    -prune -o -print | grep -v '^./\(var/\(cache\|log\|lib/\(apt\|dpkg\)\)\|etc/ld.so.cache\|root\)' | sort)
}

# What a person may have already; the program alone comes first, as most want it.
inside 'apt-get -q update && apt-get -q -y install --no-install-recommends man-db bash-completion zsh systemd' >"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log" >&2; give_up 'the empty Debian cannot install'; }
listing >"$scratch/files"
inside 'apt-get -q -y install --no-install-recommends ./packages/sotta_*.deb' >>"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log" >&2; give_up 'apt cannot install sotta'; }
inside 'sotta --version; sotta info | head -n 3'
inside 'man sotta | grep -q "adapt.*" && man sotta-adapt | grep -q -- --state-out' || give_up 'man fails'
# bash_completion was not written for -eu.
inside 'set +eu; . /usr/share/bash-completion/bash_completion; _completion_loader sotta
  COMP_WORDS=(sotta ada); COMP_CWORD=1; _sotta; [ "${COMPREPLY[*]}" = adapt ]' || give_up 'bash completes nothing'
inside 'zsh -fc "autoload -Uz compinit && compinit -u && (( \$+_comps[sotta] )) && whence -w _sotta"' ||
  give_up 'zsh knows no completion'
inside 'systemd-analyze verify sotta.service' || give_up 'the unit is wrong'
say 'installed: manual, completion, unit'

inside 'apt-get -q -y install --no-install-recommends ./packages/*.deb g++ cmake ninja-build pkg-config' >>"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log" >&2; give_up 'apt cannot install all packages'; }
inside 'pkg-config --cflags --libs sotta
  for name in main classify; do
    g++ /consumer/$name.cpp -o /consumer/by_pkg_config_$name $(pkg-config --cflags --libs sotta)
  done
  /consumer/by_pkg_config_main && /consumer/by_pkg_config_classify /consumer/fashion_resnet8.safetensors' ||
  give_up 'pkg-config: cannot be built with'
inside 'cmake -S /consumer -B /consumer/build -G Ninja >/dev/null && cmake --build /consumer/build
  /consumer/build/consumer && /consumer/build/classify /consumer/fashion_resnet8.safetensors' ||
  give_up 'CMake: cannot be built with'
say 'built against: pkg-config, CMake'
if ls $packages/python3-sotta_*.deb >/dev/null 2>&1; then
  inside 'python3 -c "import sotta; print(sotta.methods())"' || give_up 'Python cannot import it'
fi

# State, which stays; then everything goes.
inside 'mkdir -p /var/lib/sotta && touch /var/lib/sotta/a_stream'
inside 'apt-get -q -y purge sotta libsotta-dev "python3-sotta*" g++ cmake ninja-build pkg-config &&
  apt-get -q -y autoremove --purge' >>"$scratch/log" 2>&1 || give_up 'cannot be purged'
left=$(listing | comm -13 "$scratch/files" - | grep -i sotta || true)
[ "$left" = ./var/lib/sotta$'\n'./var/lib/sotta/a_stream ] || give_up "purging leaves: $left"
say 'purged: the state is all that is left'
