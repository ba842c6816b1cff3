#!/bin/bash
# The package installs, and a project outside finds, builds against and runs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
prefix=$PWD/build/install
consumer=$PWD/build/consumer
rm -rf "$prefix" "$consumer"

tools/build.sh release
cmake --install build/release --prefix "$prefix" >/dev/null
"$prefix/bin/sotta" --version
cmake -S tests/consumer -B "$consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix;${CMAKE_PREFIX_PATH-}" >/dev/null
cmake --build "$consumer" -j "${JOBS:-$(nproc)}"
"$consumer/consumer"
"$consumer/classify" models/fashion_resnet8.safetensors

# And the Python package, by pip, with what is built already.
venv=$PWD/build/install_venv
/usr/bin/python3 -m venv --clear --system-site-packages "$venv"
SOTTA_BUILD=$PWD/build/release "$venv/bin/python" -m pip install -q --no-build-isolation --no-index --no-deps .
(cd "$venv" && bin/python -c 'import sotta; print(sotta.__file__, sotta.methods())')
