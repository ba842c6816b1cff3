# How many threads may be asked for, and how they wait.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"

make_tiny_data tiny 32
model=$SOTTA_ROOT/models/fashion_resnet8.safetensors
data=(--dataset fashion-mnist --data tiny)

# A mistyped number is refused by every command that takes one, before any work.
most=$(python3 -c 'import os; print(max(64, 4 * len(os.sched_getaffinity(0))))')
refuses() {
  run sotta "$@"
  expect_code 2
  expect_no_output
  expect_error "sotta: ${*: -2:1}: expected $expected to $most, got ${*: -1}"
}
expected=0
for count in $((most + 1)) 4294967297; do
  refuses eval "${data[@]}" --model "$model" --threads $count
done
refuses adapt --model "$model" --input tiny --out out.jsonl --threads 1000
refuses train "${data[@]}" --model resnet8 --out out.pt --threads 100000
refuses corrupt "${data[@]}" --out out --threads 100000
refuses demo --data tiny --out out --threads 100000
refuses bench "${data[@]}" --model "$model" --method source --out out --threads 100000
expected=1
refuses bench "${data[@]}" --model "$model" --method source --out out --jobs 100000
most_threads=$most most=256
refuses bench "${data[@]}" --model "$model" --method source --out out --lanes 100000
refuses bench "${data[@]}" --model "$model" --method source --out out --lanes 0
most=$most_threads
run sotta eval "${data[@]}" --model "$model" --limit 4 --threads "$most" --json
expect_code 0
[ "$(json_field threads)" = "$most" ] || give_up "expected $most threads"

# OpenMP's threads soon sleep while they wait, unless the environment says
# otherwise. libgomp tells how often they look before they do.
run env -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose "$SOTTA_BIN" info
expect_code 0
if grep -q 'GOMP_SPINCOUNT' stderr.txt; then
  expect_error "GOMP_SPINCOUNT = '2000'"
  run env OMP_WAIT_POLICY=active OMP_DISPLAY_ENV=verbose "$SOTTA_BIN" info
  expect_error "GOMP_SPINCOUNT = '30000000000'"
fi

# Arguments and the rest of the environment reach the program unchanged.
run env -i SOTTA_DATA='a b' "$SOTTA_BIN" data
expect_code 0
expect_output 'a b'
run env -i "$SOTTA_BIN" 'e v' '*'
expect_code 2
expect_error 'e v'
