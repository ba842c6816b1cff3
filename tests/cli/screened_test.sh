# Screened SoTTA beside SoTTA on Fashion-MNIST: short streams, half of one of them noise.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta bench --dataset fashion-mnist --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" \
  --corruption contrast --scenario benign,noise --method sotta,screened_sotta --limit 512 --seeds 0 --out runs
if grep -q 'not found' stderr.txt; then
  echo "skipped: no Fashion-MNIST here"
  exit 77
fi
expect_code 0
python3 - <<'PYTHON' || give_up 'expected a warm start, and no noise in the memory'
import json
runs = {(r['scenario'], r['method']): r for r in map(json.loads, open('runs/records.jsonl'))}
for scenario in 'benign', 'noise':
    plain, screened = (runs[scenario, method]['accuracy'] for method in ('sotta', 'screened_sotta'))
    assert screened > plain + 5, (scenario, plain, screened)
screened = runs['noise', 'screened_sotta']
assert screened['admitted_foreign'] < 0.02 * screened['foreign'], screened['admitted_foreign']
assert screened['admitted'] > 30, screened['admitted']
assert screened['screen_auroc'] > 95 and screened['screen_fpr95'] < 40, (screened['screen_auroc'], screened['screen_fpr95'])
assert screened['series']['screen_closed'][-1] == 1 and screened['series']['screen_gap'][-1] > 5.5, screened['series']
assert runs['noise', 'sotta']['screen_auroc'] is None and 'screen_gap' not in runs['noise', 'sotta']['series']
assert not any(runs['benign', 'screened_sotta']['series']['screen_closed'])
PYTHON
run sotta report runs --out report --format md,svg
expect_code 0
grep -q 'Screen AUROC (%).*Screen FPR95 (%)' report/report.md || give_up 'expected columns for the screen'
expect_file report/figures/fashion-mnist-clean-gate-screened_sotta.svg

# Its parts are switches: without them it is SoTTA, bit for bit.
run sotta bench --dataset fashion-mnist --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --limit 512 \
  --corruption contrast --scenario noise --seeds 0 --out off \
  --variant 'off: screened_sotta screen=false warm_start=false' --method sotta
expect_code 0
python3 - <<'PYTHON' || give_up 'expected the same run'
import json
a, b = map(json.loads, open('off/records.jsonl'))
assert a['accuracy'] == b['accuracy'] and a['series'] == b['series'], (a['accuracy'], b['accuracy'])
PYTHON

# What an attacker sends beside an image moves its prediction only where its statistics are in it.
run sotta bench --dataset fashion-mnist --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --limit 256 \
  --corruption contrast --scenario attack --seeds 0 --out attacked \
  --variant 'own: screened_sotta warm_own=-1' --method sotta,screened_sotta
expect_code 0
python3 - <<'PYTHON' || give_up 'expected an attack that reaches little'
import json
accuracy = {(r['method'], r['variant']): r['accuracy'] for r in map(json.loads, open('attacked/records.jsonl'))}
screened = accuracy['screened_sotta', '']
assert screened > accuracy['sotta', ''] + 5 and screened > accuracy['screened_sotta', 'own'] + 10, accuracy
PYTHON

for wrong in screen_gap=0 screen_familiarity=2 screen_drift=-1 warm_own=-2 warm_own=257 warm_prior=-1 warm_updates=-1; do
  run sotta bench --dataset fashion-mnist --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --limit 64 \
    --corruption contrast --scenario noise --seeds 0 --out wrong --method screened_sotta --set "$wrong"
  expect_code 2
  expect_error "${wrong%%=*}"
done
