# What bench/engine_bench.py makes of its workers' answers; stand-ins answer here.
. "$SOTTA_ROOT/tests/cli/expect.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SOTTA_ROOT/bench JOURNAL=$scratch/journal.txt

# Both the PyTorch and the engine_worker that it is given. Its k-th SoTTA window
# takes k seconds of its own kind; what it is asked stands in a journal.
mkdir programs
cat >programs/engine_worker <<'PYTHON'
#!/usr/bin/env python3
import os
import sys

words = [word for word in sys.argv[1:] if not word.endswith(".py") and "=" not in word]
name = " ".join(words) or "eager"
second = {"eager": 2.0, "compiled": 1.0, "bf16": 0.25, "fused": 0.5, "fragile": 1.0}
if name == "broken":
    print("failed: no compiler", flush=True)
    sys.exit(1)
print(f"ready {name} on {len(os.sched_getaffinity(0))}", flush=True)
windows = 0
for line in sys.stdin:
    with open(os.environ["JOURNAL"], "a") as journal:
        print(name, line.strip(), file=journal)
    if line == "m\n":
        print("2048 0 0", flush=True)
        continue
    windows += line == "s\n"
    if name == "fragile" and windows == 3:
        sys.exit(3)
    cost = second[name] * (1 if name == "fused" else windows)
    print(cost, 2 * cost, flush=True)
PYTHON
chmod +x programs/engine_worker
bench() {
  rm -f journal.txt
  run python3 "$SOTTA_ROOT/bench/engine_bench.py" --programs programs --python programs/engine_worker \
    --threads 1 --rounds 3 --pieces s --engines fused "$@"
}

# Ratios of rounds 2, 3 and 4, the first being a warm-up; bf16 is not the best.
bench --peers eager,compiled,bf16 --json times.json
expect_code 0
expect_output '| | threads | rounds | ours | eager | compiled | bf16 | best |'
expect_output '| SoTTA window, fused | 1 | 3 | 500.0 ms | 12.00 (8.00 to 16.00) | 6.00 (4.00 to 8.00) | 1.50 (1.00 to 2.00) | 6.00, compiled |'
expect_output 'fused: fused on 1'
expect_output 'peak memory fused: 2 MB'
[ "$(python3 -c 'import json; print(json.load(open("times.json"))["results"][0]["seconds"][0]["wall"])')" = '[4.0, 6.0, 8.0]' ] ||
  give_up 'expected the times of the first peer in the file'

# Warmed up one by one, then in turn, every other round backwards.
bench --peers eager,compiled
asked=$(grep -v -e threads -e ' m' journal.txt | cut -d' ' -f1 | tr '\n' ' ')
[ "$asked" = "eager compiled fused eager compiled fused fused compiled eager eager compiled fused " ] ||
  give_up "expected turns, got $asked"

# A peer that does not start, or ends on the way, is left out with a word.
bench --peers eager,broken,fragile
expect_code 0
expect_output 'left out: broken: no compiler'
expect_output 'left out: fragile: ended with 3'
expect_output '12.00 (8.00 to 16.00)'

# So is an engine, and that is an error.
bench --peers eager --engines broken
expect_code 1
expect_output 'left out: broken: no compiler'

run python3 "$SOTTA_ROOT/bench/engine_bench.py" --threads 0
expect_code 2
expect_error '--threads: expected numbers from 1 to'

# Hyperthreads come after all physical cores, whichever way they are numbered.
cat >machine_checks.py <<'PYTHON'
import machine

assert machine.spread([0, 1, 2, 3], lambda core: [core // 2 * 2, core // 2 * 2 + 1]) == ([0, 2, 1, 3], 2)
assert machine.spread([0, 1, 2, 3], lambda core: [core % 2, core % 2 + 2]) == ([0, 1, 2, 3], 2)
assert machine.spread([5, 3], lambda core: [core]) == ([3, 5], 2)
assert machine.numbers("0-2,8\n") == [0, 1, 2, 8]
about = machine.describe("model name\t: Some CPU\nmodel\t\t: 17\nflags\t\t: fpu avx2 amx_bf16 avx512_bf16\n\nmodel name\t: Other\n")
assert about["processor"] == "Some CPU" and about["model"] == "17", about
assert about["instructions"] == ["avx2", "avx512_bf16", "amx_bf16"], about
PYTHON
run python3 machine_checks.py
expect_code 0
