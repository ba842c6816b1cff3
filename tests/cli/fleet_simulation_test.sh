# bench/fleet_simulation.cpp over times that make its row easy to compute.
. "$SOTTA_ROOT/tests/cli/expect.sh"
simulation=$(dirname "$SOTTA_BIN")/fleet_simulation
[ -x "$simulation" ] || { echo 'skipped: no fleet_simulation in this build'; exit 77; }
cat >times.txt <<'TIMES'
answer 0.001
update 0.01
reload 0.001
redis_claim 0.0001
redis_load 0.0001
redis_save 0.0002
redis_renew 0.00001
snapshot_bytes 1000
renew_bytes 100
TIMES

# What cannot be simulated is refused in a sentence.
refuse() {
  run "$simulation" times.txt "$1"
  expect_code 2
  expect_no_output
  expect_error "$2"
}
refuse servers=0 'servers: expected a whole number from 1 to 100000, got 0'
refuse streams=abc 'streams: expected a whole number from 1 to 1e+08, got abc'
refuse window=5000 'window: expected a whole number from 1 to 4096, got 5000'
refuse window=1.5 'window: expected a whole number'
refuse lease=nan 'lease: expected a number from 1 to 3600, got nan'
refuse seconds= 'seconds: expected a number'
refuse rows=3 'rows=3: expected NAME=VALUE with one of the names failures,'
run "$simulation" absent.txt
expect_code 2
expect_error 'absent.txt: expected a file of measured times'

# 10 servers with 100 streams in memory each renew 1,000 leases every 4/3 s.
run "$simulation" times.txt servers=10 streams=1000 resident=100 seconds=400
expect_code 0
grep -qE 'loads/s 0 renewals/s 7[45][0-9] late 0 ' stdout.txt || give_up 'expected some 750 renewals/s'

# Half of the streams in memory: half of 100 requests a second load one, and save another.
run "$simulation" times.txt servers=10 streams=1000 resident=50 seconds=400
expect_code 0
grep -qE 'loads/s (4[89]|5[0-2]) renewals/s 3[67][0-9] late 0 ' stdout.txt || give_up 'expected some 50 loads/s'

# 6,000 leases need 4.5 s of a slow Redis in each second: some lapse before they are renewed.
sed 's/^redis_renew .*/redis_renew 0.001/' times.txt >slow.txt
run "$simulation" slow.txt servers=6 streams=6000 resident=1000 images_per_second=0.01 seconds=30
expect_code 0
grep -qE 'late [1-9]' stdout.txt || give_up 'expected leases that lapse'

# A window of more than 255 images ends, too: 1,000 images a second fill three.
run "$simulation" times.txt servers=1 streams=10 window=300 images_per_second=100 seconds=30
expect_code 0
expect_output 'saves/s 3 '
