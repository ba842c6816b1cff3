#!/bin/bash
# The accuracy of a real model on real data, where both lie beside the clone:
# 95.48 % of the 10,000 CIFAR-10 test images. Skipped otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
shared=../shared
model=$shared/models/cifar10_resnet18_s0.safetensors
if [ ! -x $shared/data/unpack ] || [ ! -e $model ]; then
  echo "skipped: there are no models and data in $shared"
  exit 0
fi

tools/build.sh release sotta
$shared/data/unpack build/data
build/release/bin/sotta eval --model $model --dataset cifar10 --data build/data \
  --json >build/cifar10.json
cat build/cifar10.json
python3 - build/cifar10.json <<'PYTHON'
import json, sys
accuracy = json.load(open(sys.argv[1]))["accuracy"]
if abs(accuracy - 95.48) > 0.03:
    sys.exit(f"accuracy is {accuracy} %, expected 95.48 % within 0.03")
PYTHON
