#!/bin/bash
# The C++ library is linked by a path that exists also where the compiler is a
# wrapper that does not know where it lies and answers with the bare name.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/c++" <<'WRAPPER'
#!/bin/bash
case $1 in
  -print-file-name=*) echo "${1#*=}" ;;
  *) exec g++ "$@" ;;
esac
WRAPPER
chmod +x "$folder/c++"
cmake -S . -B "$folder/build" -G Ninja -DCMAKE_CXX_COMPILER="$folder/c++" \
  -DSOTTA_DEVELOPER=OFF >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
library=$(grep -o '[^ ]*libstdc++\.so[^ ]*' "$folder/build/build.ninja" | sort -u)
echo "linked: $library"
[ -e "$library" ]
