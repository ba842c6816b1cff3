#!/bin/bash
# The main job on what is embedded: a small model from models/ on the
# Fashion-MNIST test images of Debian's package dataset-fashion-mnist.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/bin/sotta
model=models/fashion_resnet8.safetensors

echo "demo: $program eval --model $model --dataset fashion-mnist $*"
exec "$program" eval --model "$model" --dataset fashion-mnist "$@"
