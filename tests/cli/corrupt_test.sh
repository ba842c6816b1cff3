# sotta corrupt: files as CIFAR-10-C has them, what is kept, what is refused.
. "$SOTTA_ROOT/tests/cli/expect.sh"
unset SOTTA_DATA

# Twelve CIFAR-10 records whose pixels are pseudo-random.
mkdir -p root/cifar-10-batches-bin
python3 - <<'PYTHON'
import random
random.seed(1)
with open("root/cifar-10-batches-bin/test_batch.bin", "wb") as file:
    for i in range(12):
        file.write(bytes([i % 10]) + bytes(random.randrange(256) for _ in range(3072)))
PYTHON
corrupt() {
  run sotta corrupt --dataset cifar10 --data root "$@"
}
# Prints the header's dictionary of a .npy file.
header() {
  head -c 128 "$1" | tail -c +11 | tr -d '\0'
}

corrupt --kind fog,contrast --severity all --limit 4 --out all
expect_code 0
expect_error '[########################] 40/40 images, '
expect_output 'all/fog.npy'
expect_file all/labels.npy
header all/fog.npy | grep -q '(20, 32, 32, 3)' || give_up 'expected 20 images'
header all/labels.npy | grep -q '(20,)' || give_up 'expected 20 labels'
[ "$(tail -c 20 all/labels.npy | od -An -tu1 | tr -d ' \n')" = 01230123012301230123 ] ||
  give_up 'expected the labels once per severity'

# The fifth severity alone is the end of that file.
corrupt --kind fog --severity 5 --limit 4 --out five
expect_code 0
tail -c 12288 all/fog.npy | cmp - <(tail -c 12288 five/fog.npy) ||
  give_up 'expected the same bytes for one severity as for all'

# Again: kept, one more kind made; the thread count changes nothing.
before=$(stat -c %Y.%i all/fog.npy)
corrupt --kind fog,shot_noise --severity all --limit 4 --out all --threads 1
expect_code 0
expect_output 'all/fog.npy: kept, made before'
[ "$before" = "$(stat -c %Y.%i all/fog.npy)" ] || give_up 'expected the file untouched'
corrupt --kind shot_noise --limit 4 --out again --threads 2
cmp all/shot_noise.npy again/shot_noise.npy || give_up 'expected the same bytes'

# A kind that is named twice is made once.
corrupt --kind fog,all,fog --severity 5 --limit 1 --out once
expect_code 0
[ "$(grep -c 'once/fog.npy' stdout.txt)" = 1 ] || give_up 'expected fog once'
[ "$(wc -l <stdout.txt)" = 19 ] || give_up 'expected each kind once'

# Other settings do not mix in one folder.
corrupt --kind snow --severity all --limit 4 --seed 1 --out all
expect_code 2
expect_error 'the folder was filled with seed 0, now it is 1'
corrupt --kind snow --limit 5 --out all
expect_code 2
expect_error 'filled with images 4, now it is 5'
[ ! -e all/snow.npy ] || give_up 'expected no new file'
mkdir broken
for settings in '[' '"words"' '{}'; do
  echo "$settings" >broken/settings.json
  corrupt --kind fog --limit 1 --out broken
  expect_code 2
  case $settings in
    '{}') expect_error 'broken/settings.json: the folder was filled with dataset null, now it is "cifar10"' ;;
    *) expect_error 'broken/settings.json: expected a JSON object' ;;
  esac
done
mkdir other
touch other/fog.npy
corrupt --kind fog --limit 1 --out other
expect_code 2
expect_error 'without a settings.json'

# A cut file is not taken for a whole one.
head -c 1000 all/fog.npy >cut.npy && mv cut.npy all/fog.npy
corrupt --kind fog --limit 4 --out all
expect_code 2
expect_error 'all/fog.npy'

corrupt --kind brightness --severity 3 --limit 2 --sheet sheet.png
if [ "$last_code" -ne 0 ]; then
  expect_error 'PNG'  # a build without libpng says so
else
  expect_output 'rows from the top: clean, brightness'
  expect_file sheet.png
fi

corrupt --kind gausian_noise --out x
expect_code 2
expect_error 'gaussian_noise'
corrupt --severity 6 --out x
expect_code 2
expect_error 'severity must lie in 1 .. 5, got 6'
corrupt --limit -1 --out x
expect_code 2
expect_error 'limit: expected at least 0, got -1'
corrupt --severity high --out x
expect_code 2
corrupt --kind fog
expect_code 2
expect_error 'expected --out FOLDER'
run sotta corrupt --dataset cifar10 --data nowhere --out x
expect_code 2
expect_error 'nowhere/cifar-10-batches-bin/test_batch.bin'
[ ! -e x ] || give_up 'expected no folder after an error'

# Interrupted: whole files or none.
( for _ in $(seq 400); do cat root/cifar-10-batches-bin/test_batch.bin; done ) >big.bin
mkdir -p many/cifar-10-batches-bin && mv big.bin many/cifar-10-batches-bin/test_batch.bin
"$SOTTA_BIN" corrupt --dataset cifar10 --data many --kind all --out stopped >stdout.txt 2>stderr.txt &
until [ -n "$(ls -A stopped 2>/dev/null | grep -v settings.json)" ]; do :; done
kill -INT $!
set +e
wait $!
last_code=$?
last_command='interrupted sotta corrupt'
set -e
expect_code 1
expect_error 'sotta: interrupted; the finished files stay, and the same command goes on'
[ -z "$(find stopped -name '*.partial-*')" ] || give_up 'expected no half-made file'
