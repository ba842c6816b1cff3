# `sotta bench` from outside: a grid, its continuation, and what it refuses.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"
make_tiny_data tiny 48

# A small grid, recorded cell by cell.
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out runs --json
expect_code 0
[ "$(json_field cells)" = 8 ] || give_up 'expected 8 cells'
[ "$(json_field done)" = 8 ] || give_up 'expected 8 cells done'
[ "$(wc -l <runs/records.jsonl)" = 8 ] || give_up 'expected 8 lines'

# Nothing is run twice, and a half-written line is redone.
head -c -100 runs/records.jsonl >cut && mv cut runs/records.jsonl
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out runs --json
expect_code 0
[ "$(json_field earlier)" = 7 ] || give_up 'expected 7 earlier cells'
[ "$(json_field done)" = 1 ] || give_up 'expected 1 cell done'
[ "$(wc -l <runs/records.jsonl)" = 8 ] || give_up 'expected 8 lines'

# Cells side by side, and shares of the grid, give the same.
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out jobs --jobs 3
expect_code 0
expect_output '8 of 8 cells recorded'
for i in 0 1; do
  run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out shards --shard $i/2
  expect_code 0
  expect_output '4 of 4 cells recorded'
done
expect_file shards/records-shard1of2.jsonl
results runs >whole.txt
results jobs | cmp - whole.txt || give_up 'expected the same results with --jobs 3'
results shards | cmp - whole.txt || give_up 'expected the same results of both shards'

# Killed on the way, however often: the same in the end.
for lines in 2 4; do
  "$SOTTA_BIN" "${tiny[@]}" --method source,sotta --scenario benign,noise --seeds 0,1 \
    --out killed >/dev/null 2>&1 &
  pid=$!
  until [ "$(cat killed/*.jsonl 2>/dev/null | wc -l || true)" -ge $lines ]; do :; done
  kill -9 $pid 2>/dev/null || true
  wait $pid 2>/dev/null || true
done
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out killed
expect_code 0
results killed | cmp - whole.txt || give_up 'expected the same results after being killed'

# Every configuration is read, and knows its cells.
for config in "$SOTTA_ROOT"/configs/*.toml; do
  run sotta bench --config "$config" --list
  expect_code 0
  [ -s stdout.txt ] || give_up "expected cells of $config"
done
run sotta bench --config "$SOTTA_ROOT/configs/table1.toml" --list
[ "$(wc -l <stdout.txt)" = 2250 ] || give_up 'expected 2250 cells of table 1'

# A flag wins over the file.
run sotta bench --config "$SOTTA_ROOT/configs/table1.toml" --list --seeds 7 --method sotta
[ "$(wc -l <stdout.txt)" = 75 ] || give_up 'expected 75 cells'
expect_output 'seed 7'

# The smoke configuration touches every method and scenario.
run sotta bench --config "$SOTTA_ROOT/configs/smoke.toml" --data tiny --corruption none \
  --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --limit 16 --window 16 --out smoke
expect_code 0
expect_output '50 of 50 cells recorded'

# What was recorded can be reported.
run sotta report smoke
expect_code 0

# What is refused before the first cell.
echo 'sceanrio = "noise"' >wrong.toml
run bench --config wrong.toml --out refused
expect_code 2
expect_error 'did you mean "scenario"'

printf 'dataset = "fashion-mnist"\njobs = "many"\n' >wrong.toml
run sotta bench --config wrong.toml
expect_code 2
expect_error 'wrong.toml: jobs'

run bench --config none.toml
expect_code 2
expect_error 'none.toml: expected a configuration file'

run bench --method sota --out refused
expect_code 2
expect_error 'did you mean "sotta"'

run bench --variant 'x: sotta min_confidense=1' --out refused
expect_code 2
expect_error 'did you mean "min_confidence"'

run bench --method sotta --set min_confidence=7 --out refused
expect_code 2
expect_error 'min_confidence'

run bench --scenario near --out refused
expect_code 2
expect_error 'mnist'

run sotta bench --dataset cifar10 --data nowhere --out refused --corruption none \
  --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors"
expect_code 2
expect_error 'nowhere/cifar-10-batches-bin/test_batch.bin: not found'

run sotta bench --dataset cifar10
expect_code 2
expect_error '--model: expected a weights file'

run bench --method source --shard 2/2 --out refused
expect_code 2
expect_error 'shard'

touch file
run bench --method source --scenario benign --out file/runs
expect_code 1
expect_error 'file/runs: the folder cannot be made: Not a directory'

run bench --method source --scenario benign --set fisher_samples=3 --out refused
expect_code 2
expect_error 'fisher_samples belongs to eata, which is not among the rows'

mkdir other && echo '{"format":1}' >other/records.jsonl
run bench --method source --scenario benign --out other
expect_code 2
expect_error 'expected a record of format'

mkdir old && sed 's/"version":"[^"]*"/"version":"0.0.0"/' runs/records.jsonl >old/records.jsonl
run bench --method source --scenario benign --seeds 2 --out old
expect_code 2
expect_error 'holds records of sotta 0.0.0'
expect_error 'give --any-version'
run bench --method source --scenario benign --seeds 2 --out old --any-version
expect_code 0

# A full disk: said once, and what was recorded stays.
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=16k none full 2>/dev/null; then
  trap 'umount "$scratch/full"; cd / && rm -rf "$scratch"' EXIT
  run bench --method source --seeds 0,1,2,3,4,5,6,7,8,9 --scenario benign,noise --out full
  expect_code 1
  expect_error 'No space left on device'
  results full >/dev/null
fi
