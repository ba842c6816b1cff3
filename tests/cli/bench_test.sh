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
tail -n 1 stderr.txt >progress.txt

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
[ "$(grep -c '"threads":1,' jobs/records.jsonl)" = 8 ] || give_up 'expected a thread for each job'
for lanes in 1 3; do
  run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out lanes$lanes --lanes $lanes
  expect_code 0
  expect_output '8 of 8 cells recorded'
done
run bench --method source --out lanes --lanes many
expect_code 2
expect_error '--lanes: expected a whole number, got "many"'
for i in 0 1; do
  run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out shards --shard $i/2
  expect_code 0
  expect_output '4 of 4 cells recorded'
done
expect_file shards/records-shard1of2.jsonl
results runs >whole.txt
results jobs | cmp - whole.txt || give_up 'expected the same results with --jobs 3'
for lanes in 1 3; do
  results lanes$lanes | cmp - whole.txt || give_up "expected the same results with --lanes $lanes"
done
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

# Interrupted: the cells that are done are kept, and it says how to go on.
"$SOTTA_BIN" "${tiny[@]}" --method source,sotta,cotta --scenario benign,noise --seeds 0,1 --out stopped >stdout.txt 2>stderr.txt &
until [ -s stopped/records.jsonl ]; do :; done
kill -INT $!
set +e
wait $!
last_code=$?
set -e
last_command='sotta bench, interrupted'
expect_code 1
expect_error 'sotta: interrupted, the records are kept; the same command continues'
expect_output "$(wc -l <stopped/records.jsonl) of 12 cells recorded, 0 of them before; stopped/records.jsonl"

# The averages are those of the records.
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out runs
expect_code 0
python3 - runs/records.jsonl >averages.txt <<'PYTHON'
import json, sys
rows = {}
for run in map(json.loads, open(sys.argv[1])):
    rows.setdefault(run["method"], []).append(100 * run["correct"] / run["samples"])
for name, values in sorted(rows.items()):
    print(f"{name:32} accuracy {sum(values) / len(values):6.2f} %  over {len(values)} cells")
PYTHON
grep ' accuracy ' stdout.txt | cmp - averages.txt || give_up 'expected the averages of the records'
expect_output '8 of 8 cells recorded, 8 of them before; runs/records.jsonl'
# So are those in the last line of progress: "sotta 10.4, source 12.5".
means=$(awk '{ printf "%s%s %.1f", (NR > 1 ? ", " : ""), $1, $3 }' averages.txt)
grep -qF "[########################] 8/8 cells, " progress.txt || give_up 'expected a full bar'
grep -qF "0:00 left, $means" progress.txt || give_up "expected $means in the last line of progress"
run bench --method source,sotta --scenario benign,noise --seeds 0,1 --out runs --json
[ "$(json_field averages.sotta.cells)" = 4 ] || give_up 'expected an average over 4 cells'

# record FOLDER FIELD [VARIANT]: of its one record, or of that row's.
record() {
  python3 -c '
import json, sys
for run in map(json.loads, open(sys.argv[1] + "/records.jsonl")):
    if len(sys.argv) < 4 or run["variant"] == sys.argv[3]:
        print(eval("run" + sys.argv[2]))' "$@"
}

# Options reach the cells: a guard that takes every update of TENT back leaves the
# window statistics of BN Stats.
run bench --method bn_stats --scenario benign --out guard --variant 'free: tent learning_rate=0.1' \
  --variant 'held: tent learning_rate=0.1 guard=reset guard_history=1 guard_max_class_share=0.01'
expect_code 0
figures='["correct"], run["calibration_error"], run["series"]["accuracy"]'
[ "$(record guard "$figures" held)" = "$(record guard "$figures" '')" ] ||
  give_up 'expected the guard to hold TENT back'
[ "$(record guard "$figures" free)" != "$(record guard "$figures" '')" ] ||
  give_up 'expected TENT to adapt without a guard'

# The corruption is that of its seed, as eval sees it.
accuracies=
for seed in 0 3; do
  run sotta eval --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --dataset fashion-mnist \
    --data tiny --corruption gaussian_noise --corruption-seed $seed --threads 1 --json
  expect_code 0
  accuracy=$(json_field accuracy)
  run sotta "${tiny_data[@]}" --method source --scenario benign --corruption gaussian_noise \
    --corruption-seed $seed --out corrupted$seed
  expect_code 0
  [ "$(record corrupted$seed '["accuracy"]')" = "$accuracy" ] || give_up "expected accuracy $accuracy"
done
[ "$(record corrupted0 '["calibration_error"]')" != "$(record corrupted3 '["calibration_error"]')" ] ||
  give_up 'expected other images of another seed'

# A limit is the number of target images.
run bench --method source --scenario noise --limit 20 --out limit
expect_code 0
[ "$(record limit '["samples"], run["foreign"]')" = '(20, 20)' ] || give_up 'expected 20 of each'

# Every flag of a cell is in its record.
run sotta bench --dataset fashion-mnist --data tiny --threads 2 --jobs 2 --engine libtorch \
  --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --preset paper --method eata \
  --sweep 'sotta min_confidence=0.4,0.6' --scenario noise --corruption gaussian_noise --severity 3 \
  --corruption-seed 5 --seeds 4 --limit 30 --foreign-count 20 --burst 3 --order dirichlet \
  --concentration 0.5 --window 8 --whole-windows true --set guard=skip --set gradient_samples=1 \
  --read-ahead 7 --out flags
expect_code 0
python3 - flags/records.jsonl <<'PYTHON' || give_up 'expected the flags in the records'
import json, sys
runs = {run["variant"]: run for run in map(json.loads, open(sys.argv[1]))}
assert set(runs) == {"", "min_confidence=0.4", "min_confidence=0.6"}, set(runs)
for variant, run in runs.items():
    expected = {"dataset": "fashion-mnist", "scenario": "noise", "corruption": "gaussian_noise",
                "severity": 3, "corruption_source": "made", "preset": "paper", "seed": 4,
                "model": "fashion_resnet8.safetensors", "device": "cpu", "engine": "libtorch",
                "threads": 1, "verb": "bench", "method": "sotta" if variant else "eata"}
    options = {"corruption_seed": 5, "limit": 30, "foreign_count": 20, "burst": 3,
               "order": "dirichlet", "concentration": 0.5, "window": 8, "whole_windows": True,
               "guard": "skip", "gradient_samples": 1}
    if variant:
        options["min_confidence"] = float(variant.split("=")[1])
    for name, value in expected.items():
        assert run[name] == value, (name, run[name])
    for name, value in options.items():
        assert run["options"][name] == value, (name, run["options"][name])
    assert run["samples"] + run["foreign"] == 48, run
    assert len(run["series"]["accuracy"]) == 6, run
PYTHON

# A cell that fails is named; the others are recorded, and the exit code says so.
run bench --method source --scenario benign,noise --limit 10 --whole-windows true --out failed
expect_code 1
expect_output '1 of 2 cells recorded'
expect_error 'source, benign, clean, seed 0: StreamPlan: expected at least one whole window'
expect_error 'sotta: 1 cell failed; the same command continues'
run bench --method source,tent --scenario benign --limit 10 --whole-windows true --out failed
expect_code 1
expect_error 'sotta: 2 cells failed; the same command continues'

# A terminal sees how far the one cell is that runs.
python3 - "$SOTTA_BIN" "${tiny_data[@]}" --corruption none --method cotta --scenario noise --window 4 --out shown <<'PYTHON' >shown.txt
import os, pty, sys
pty.spawn(sys.argv[1:])
PYTHON
grep -q '0/1 cells, .* 1 running at window [1-9][0-9]* of 24' shown.txt || give_up 'expected progress within the cell'

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
expect_output '55 of 55 cells recorded'

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
expect_error 'wrong.toml line 2: jobs: expected a whole number, got "many"'

# Whatever TOML allows is read, and whatever it does not is said with its line.
printf 'method = [\n  "source",\n  "tent",  # two\n]\nseeds = [\n0, 1]\nscenario = "benign"\n' >lists.toml
run bench --config lists.toml --list
expect_code 0
[ "$(wc -l <stdout.txt)" = 4 ] || give_up 'expected 4 cells'
printf 'method = ["source"\nseeds = [0]\n' >wrong.toml
run bench --config wrong.toml --list
expect_code 2
expect_error 'wrong.toml line 2: expected TOML'
python3 -c 'print("seeds = " + "[" * 100000 + "]" * 100000)' >wrong.toml
run bench --config wrong.toml --list
expect_code 2
expect_error 'wrong.toml line 1: expected lists of values, got more than 64 open brackets'
run bench --config /dev/zero --list
expect_code 2
expect_error '/dev/zero: expected a configuration file of at most 1048576 bytes'

# Flags that would change nothing are refused; in a file they may be for others.
run bench --scenario benign --severity 3 --list
expect_code 2
expect_error '--severity: has no effect without a corruption'
echo 'severity = 3' >severity.toml
run bench --config severity.toml --scenario benign --list
expect_code 0

run bench --method source --scenario benign --seeds 0,1,0 --list
expect_code 2
expect_error 'seeds: expected each once, 0 is given twice'

for seconds in -1 0; do
  run bench --method source --scenario benign --lost-after $seconds --out refused
  expect_code 2
  expect_error "sotta: --lost-after: expected a number above 0, got $seconds"
  [ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one sentence'
done

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
run sotta bench --model x
expect_code 2
expect_error '--dataset: expected a name, see `sotta data`'

for twice in '--seeds 0,0' '--scenario noise,noise' '--corruption all,fog' '--method tent,tent' \
  '--set burst=1 --set burst=2'; do
  run bench --method source $twice --out refused
  expect_code 2
  expect_error 'given twice'
done

mkdir -p senseless
sed '2s/"correct":[0-9]*/"correct":99999/' runs/records.jsonl >senseless/records.jsonl
for command in 'bench --method source --out senseless' 'sotta report senseless'; do
  run $command
  expect_code 2
  expect_error 'senseless/records.jsonl line 2: makes no sense: "correct" is 99999, expected 0 to 48'
done

run bench --method source --shard 2/2 --out refused
expect_code 2
expect_error 'shard'
run bench --method source --shard 12 --out refused
expect_code 2
expect_error '--shard: expected i/n, got "12"'
run bench --method source --shard 0/x --out refused
expect_code 2
expect_error '--shard: expected a whole number, got "x"'

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
