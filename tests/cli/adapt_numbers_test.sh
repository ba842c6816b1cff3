# `sotta adapt`: its numbers beside a second computation (second_adapt.py).
. "$SOTTA_ROOT/tests/cli/expect.sh"

network="$SOTTA_ROOT/tests/golden/methods/network.safetensors"
second() {
  python3 "$SOTTA_ROOT/tests/cli/second_adapt.py" "$@" || give_up "expected what second_adapt.py computes"
}
last_command=none last_code=0
: >stdout.txt
: >stderr.txt
second prepare

# adapt METHOD TRACE FLAGS...: with the trace's options, seed and window.
adapt() {
  local method=$1 trace=$2
  shift 2
  mapfile -t options < <(second options "$trace")
  run sotta adapt --model "$network" --threads 1 --method "$method" "${options[@]}" "$@"
  expect_code 0
}

# Lines and exported weights of whole runs. CoTTA and SoTTA draw: --seed counts.
for method in tent sotta cotta rotta; do
  adapt $method ${method}_clean --input stream.npy --out $method.csv --format csv --export $method.safetensors
  second trace ${method}_clean 0 $method.csv
  second export ${method}_clean $method.safetensors
done
adapt eata eata_clean --input stream.npy --out eata.jsonl --source-images clean.npy --export eata.safetensors
second trace eata_clean 0 eata.jsonl
second export eata_clean eata.safetensors

# SoTTA's automatic threshold is the fifth of 24 images' confidences: the same
# images have four below it.
run sotta adapt --model "$network" --threads 1 --method sotta --window 24 --input clean.npy --source-images clean.npy \
  --set min_confidence=-1 --out automatic.jsonl
expect_code 0
[ "$(grep -c '"verdict":"low confidence"' automatic.jsonl)" = 4 ] || give_up 'expected four of low confidence'

# A preset's options are its own.
run sotta adapt --model "$network" --threads 1 --method tent --preset paper --window 16 --input stream.npy --out paper.jsonl \
  --export paper.safetensors
expect_code 0
second trace tent_paper 0 paper.jsonl
second export tent_paper paper.safetensors

# A state from inside a window: the run goes on with the window's other samples,
# and the later windows are those of the whole run.
adapt tent tent_clean --input begin.npy --out begin.jsonl --state-out begin.safetensors
adapt tent tent_clean --input rest.npy --out rest.jsonl --state-in begin.safetensors --export rest.safetensors
second trace tent_clean 48 begin.jsonl rest.jsonl
second export tent_clean rest.safetensors
cat begin.jsonl rest.jsonl | head -n 48 | tail -n 16 >split.txt
grep -q '"verdict":"pending"' split.txt || give_up 'expected the first part of the window to wait'
adapt sotta sotta_clean --input begin.npy --out begin.jsonl --state-out begin.safetensors
adapt sotta sotta_clean --input rest.npy --out rest.jsonl --state-in begin.safetensors
second trace sotta_clean 0 begin.jsonl rest.jsonl

# How pixels are normalised: as the weights say, unless a flag says otherwise.
source_run() {
  run sotta adapt --model "$network" --threads 1 --method source --input two.npy --out source.jsonl "$@"
}
source_run
expect_code 0
second source source.jsonl 0.5,0.4,0.3 0.2,0.25,0.3
source_run --mean 0.1,0.2,0.3 --std 0.9,0.5,0.7 --export flagged.safetensors
expect_code 0
second source source.jsonl 0.1,0.2,0.3 0.9,0.5,0.7
grep -qa '"mean":"0.1,0.2,0.3"' flagged.safetensors || give_up 'expected the exported weights to say it too'
source_run --dataset cifar100
expect_code 0
second source source.jsonl 0.5071,0.4865,0.4409 0.2673,0.2564,0.2762

# And what a flag says is checked.
refused() {
  local text=$1
  shift
  source_run "$@"
  expect_code 2
  expect_error "$text"
}
refused '--mean and --std: expected standard deviations above 0, got 0' --mean 0,0,0 --std 0,0,0
refused '--mean and --std: expected standard deviations above 0, got 1e-40' --mean 0,0,0 --std 1,1,1e-40
refused '--mean and --std: expected as many means as standard deviations, got 3 and 2' --mean 0,0,0 --std 1,1
refused "normalisation: expected a mean and a standard deviation for each of the network's 3 channels, got 1 and 1" --mean 0 --std 1
refused "normalisation: expected a mean and a standard deviation for each of the network's 3 channels, got 1 and 1" --dataset mnist
refused '--mean and --std: expected both or neither' --mean 0,0,0
refused '--dataset: expected --mean and --std or this, got both' --mean 0,0,0 --std 1,1,1 --dataset cifar10
refused 'did you mean "cifar10"' --dataset cifar1
