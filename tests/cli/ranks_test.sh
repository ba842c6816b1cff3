# Several processes on one grid: they meet on a port of this machine, share the
# cells, and one that dies loses nothing but time.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"

run sotta info --json
[ "$(json_field parts.c10d)" = true ] || { echo 'LibTorch without c10d'; exit 77; }
make_tiny_data tiny 96

# Enough cells that a process can be met at work.
cells="--method bn_stats,tent,sotta --scenario benign,noise --seeds 0,1,2,3,4,5,6,7,8,9,10,11 --limit 96"
grid="$cells --lost-after 5"
free_port() { python3 "$SOTTA_ROOT/tests/support/free_port.py"; }

# start RANK WORLD FOLDER: one process in the background; its number in pids.
start() {
  RANK=$1 WORLD_SIZE=$2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$SOTTA_BIN" "${tiny[@]}" $grid --out "$3" >"$3.rank$1.txt" 2>&1 &
  pids[$1]=$!
}

run bench $grid --out whole
expect_code 0
expect_output '72 of 72 cells recorded'
grep ' accuracy ' stdout.txt >averages.txt
[ "$(wc -l <averages.txt)" = 3 ] || give_up 'expected three averages'
results whole >whole.txt

# Four processes, one killed half-way.
port=$(free_port)
declare -a pids
for rank in 0 1 2 3; do start $rank 4 ranks; done
while kill -0 "${pids[2]}" 2>/dev/null && [ ! -s ranks/records-rank2.jsonl ]; do :; done
kill -9 "${pids[2]}" 2>/dev/null || give_up 'expected rank 2 to be at work'
wait "${pids[2]}" 2>/dev/null || true
for rank in 0 1 3; do
  wait "${pids[$rank]}" || { cat ranks.rank*.txt >&2; exit 1; }
done
results ranks | cmp - whole.txt || give_up 'expected the results of a single process'
expect_file ranks/records-rank3.jsonl
# One of them prints the averages, those of the whole grid.
grep ' accuracy ' ranks.rank0.txt | cmp - averages.txt ||
  give_up 'expected the averages of the grid from rank 0'
! grep ' accuracy ' ranks.rank1.txt ranks.rank3.txt || give_up 'expected no averages from others'

# Without rank 0 the others finish what they run, and say so.
port=$(free_port)
for rank in 0 1; do start $rank 2 lost; done
while kill -0 "${pids[1]}" 2>/dev/null && [ ! -s lost/records-rank1.jsonl ]; do :; done
kill -9 "${pids[0]}" 2>/dev/null || true
wait "${pids[0]}" 2>/dev/null || true
code=0
wait "${pids[1]}" || code=$?
[ "$code" = 1 ] || give_up "expected rank 1 to end with code 1, got $code"
grep -q 'rank 0 cannot be reached' lost.rank1.txt || give_up 'expected rank 1 to miss rank 0'
# The same folder continues in one process.
run bench $grid --out lost
expect_code 0
results lost | cmp - whole.txt || give_up 'expected the results of a single process'

# Likewise where rank 0 still holds the connection and no longer answers.
port=$(free_port)
for rank in 0 1; do start $rank 2 frozen; done
while kill -0 "${pids[1]}" 2>/dev/null && [ ! -s frozen/records-rank1.jsonl ]; do :; done
kill -STOP "${pids[0]}"
code=0
wait "${pids[1]}" || code=$?
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null || true
[ "$code" = 1 ] || give_up "expected rank 1 to end with code 1, got $code"
grep -q 'rank 0 cannot be reached, waited for it for 5 seconds' frozen.rank1.txt ||
  { cat frozen.rank1.txt >&2; give_up 'expected rank 1 to miss rank 0'; }

# Without a rank 0 from the start: one sentence, after the time that it is given.
export RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
run timeout 60 "$SOTTA_BIN" "${tiny[@]}" $cells --lost-after 0.5 --out refused
expect_code 1
expect_error "sotta: 127.0.0.1:$MASTER_PORT: rank 0 cannot be reached, waited for it for 0.5 seconds"
[ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one sentence and nothing else'

# Rank 0 itself where its port is taken.
python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("", int(sys.argv[1]))); s.listen(); print("up", flush=True); time.sleep(60)
' "$MASTER_PORT" >up.txt &
holder=$!
until [ -s up.txt ]; do :; done
RANK=0 run timeout 60 "$SOTTA_BIN" "${tiny[@]}" $cells --lost-after 0.5 --out refused
kill $holder
expect_code 1
expect_error 'the port cannot be opened'
[ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one sentence and nothing else'
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT

# The names that Open MPI and Slurm use.
export OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2
run bench $grid --out refused
expect_code 2
expect_error 'rank: expected 0 to 1, got 3'
unset OMPI_COMM_WORLD_LOCAL_SIZE
run bench $grid --out refused
expect_code 2
expect_error 'MASTER_ADDR'
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
export SLURM_PROCID=5 SLURM_NTASKS=4 SLURM_JOB_NODELIST='node[03-05]'
run bench $grid --out refused
expect_code 2
expect_error 'rank: expected 0 to 3, got 5'
