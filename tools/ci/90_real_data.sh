#!/bin/bash
# Where a real model and real data lie beside the clone: its accuracy, 95.48 % of
# the 10,000 CIFAR-10 test images, and what becomes of them when they are
# corrupted. Skipped otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
shared=../shared
model=$shared/models/cifar10_resnet18_s0.safetensors
if [ ! -x $shared/data/unpack ] || [ ! -e $model ]; then
  echo "skipped: there are no models and data in $shared"
  exit 77
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

# Corrupted images: what is fixed is equal, what is random agrees in distribution.
rm -rf build/corrupted_1000
build/release/bin/sotta corrupt --dataset cifar10 --data build/data --kind all \
  --severity all --limit 1000 --out build/corrupted_1000
# Debian's Python, whose NumPy setup.sh installs.
/usr/bin/python3 tools/check_corruptions.py $shared/golden/corruptions build/corrupted_1000 \
  build/data/cifar-10-batches-bin/test_batch.bin
