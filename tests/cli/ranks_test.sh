# Several processes on one grid: they meet on a port of this machine, share the
# cells, and one that dies loses nothing but time.
. "$SOTTA_ROOT/tests/cli/expect.sh"
. "$SOTTA_ROOT/tests/cli/tiny_bench.sh"

run sotta info --json
[ "$(json_field parts.c10d)" = true ] || { echo 'LibTorch without c10d'; exit 0; }
make_tiny_data tiny 96

# Enough cells that a process can be met at work.
grid="--method bn_stats,tent,sotta --scenario benign,noise --seeds 0,1,2,3,4,5,6,7,8,9,10,11 --limit 96 --lost-after 2"
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start RANK WORLD FOLDER: one process in the background; its number in pids.
start() {
  RANK=$1 WORLD_SIZE=$2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$SOTTA_BIN" "${tiny[@]}" $grid --out "$3" >"$3.rank$1.txt" 2>&1 &
  pids[$1]=$!
}

run bench $grid --out whole
expect_code 0
expect_output '72 of 72 cells recorded'
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
