# Triton's own C++ client against `sotta serve`: serve_triton_client.cpp. Skipped unless
# TRITON_CLIENT is the folder src/c++/library of triton-inference-server/client, TRITON_COMMON the
# folder include of triton-inference-server/common, and curl and RapidJSON have headers (Debian:
# libcurl4-openssl-dev, rapidjson-dev).
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta info
grep -q 'beast: yes' stdout.txt || { echo 'skipped: no Boost.Beast in this build'; exit 77; }
[ -f "${TRITON_CLIENT:-}/http_client.cc" ] && [ -d "${TRITON_COMMON:-}/triton/common" ] ||
  { echo 'skipped: TRITON_CLIENT and TRITON_COMMON are not set'; exit 77; }
c++ -std=c++17 -O1 -DTRITON_ENABLE_ZLIB=1 -I"$TRITON_CLIENT" -I"$TRITON_COMMON" \
  "$SOTTA_ROOT/tests/cli/serve_triton_client.cpp" "$TRITON_CLIENT"/{http_client,common,cencode}.cc \
  -o serve_triton_client -lcurl -lz -lpthread
PYTHONDONTWRITEBYTECODE=1 python3 "$SOTTA_ROOT/tests/cli/serve_with.py" ./serve_triton_client ADDRESS
