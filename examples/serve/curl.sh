#!/bin/bash
# A stream of `sotta serve` by curl: curl.sh [HOST:PORT [IMAGES.npy]].
#
# IMAGES.npy holds bytes [N, 28, 28, 1] as `sotta corrupt` writes them, of which as many are sent
# as there are whole windows of 64. Without it, a window of noise: SoTTA learns nothing from that.
set -euo pipefail
server=http://${1:-127.0.0.1:8000}/v2/models/fashion
window=$((64 * 28 * 28))
noise=$(mktemp)
trap 'rm -f "$noise"' EXIT
head -c $((128 + window)) /dev/urandom >"$noise" # a header has 128 bytes
images=${2:-$noise}

# To the stream camera-7, pixels as binary data behind the JSON. Of the answers, what they say of
# the stream: how many updates the network had seen that answered.
json='{"parameters":{"sequence_id":"camera-7"},
  "inputs":[{"name":"images","datatype":"UINT8","shape":[64,1,28,28],"parameters":{"binary_data_size":50176}}],
  "outputs":[{"name":"label"},{"name":"verdict"}]}'
for ((at = 128; at + window <= $(stat -c %s "$images"); at += window)); do
  (printf %s "$json"; head -c $((at + window)) "$images" | tail -c $window) |
    curl -sS --fail --data-binary @- -H "Inference-Header-Content-Length: ${#json}" "$server/infer" |
    grep -o '"stream":[^}]*'
done

# Where the stream stands; keep its state; what it has learnt, as a file.
curl -sS --fail "$server/streams/camera-7"
echo
curl -sS --fail -X POST "$server/streams/camera-7/snapshot" >/dev/null
curl -sS --fail "$server/streams/camera-7/norm" -o norm.safetensors
