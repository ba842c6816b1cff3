# sotta eval: on clean and on corrupted images, and what it records of them.
. "$SOTTA_ROOT/tests/cli/expect.sh"
unset SOTTA_DATA
model=$SOTTA_ROOT/models/fashion_resnet8.safetensors

# Twenty grey images under the names of Fashion-MNIST, and the same many times.
mkdir -p {root,many}/fashion-mnist
python3 - <<'PYTHON'
import struct
pixels = bytes((i * 13 + y * 9 + x * (i % 5)) % 256 for i in range(20) for y in range(28) for x in range(28))
for root, times in ('root', 1), ('many', 50):
    count = 20 * times
    open(root + '/fashion-mnist/t10k-images-idx3-ubyte', 'wb').write(struct.pack('>IIII', 0x803, count, 28, 28) + pixels * times)
    open(root + '/fashion-mnist/t10k-labels-idx1-ubyte', 'wb').write(struct.pack('>II', 0x801, count) + bytes(i % 10 for i in range(count)))
PYTHON
evaluate() { run sotta eval --model "$model" --dataset fashion-mnist --data root "$@"; }

evaluate
expect_code 0
expect_output 'fashion_resnet8.safetensors on fashion-mnist: accuracy'
expect_output 'of 20)'
expect_error '[########################] 20/20 images, '

evaluate --corruption brightness --severity 3 --json
expect_code 0
[ "$(json_field corruption)" = brightness ] || give_up 'expected the corruption'
[ "$(json_field severity)" = 3 ] || give_up 'expected the severity'
[ "$(json_field corruption_source)" = made ] || give_up 'expected images made here'
[ "$(json_field samples)" = 20 ] || give_up 'expected all images'

evaluate --precision bf16 --json
expect_code 0
[ "$(json_field samples)" = 20 ] || give_up 'expected all images'
grep -q '"precision":"bf16"' stdout.txt || give_up 'expected the precision'

evaluate --precision tf32
expect_code 2
expect_error 'precision: tf32 is a format of GPUs, got device cpu'

evaluate --precision fp16
expect_code 2
expect_error 'precision: expected fp32, tf32 or bf16, got "fp16"'

# All fifteen: a line and a record for each, and the average.
evaluate --corruption all --limit 4 --record runs.jsonl
expect_code 0
[ "$(grep -c 'fashion-mnist [a-z_]* 5 (made): accuracy' stdout.txt)" = 15 ] ||
  give_up 'expected a line per corruption'
expect_output 'average of 15 corruptions: accuracy'
[ "$(wc -l <runs.jsonl)" = 15 ] || give_up 'expected a record per corruption'
grep -q '"corruption":"jpeg_compression"' runs.jsonl || give_up 'expected the last'

evaluate --corruption fog,snow --limit 4 --json
expect_code 0
[ "$(wc -l <stdout.txt)" = 2 ] || give_up 'expected a line of JSON each'

# Where the record goes is looked at first; folders on the way are made.
evaluate --limit 4 --record new/folder/runs.jsonl
expect_code 0
[ "$(wc -l <new/folder/runs.jsonl)" = 1 ] || give_up 'expected one record'
evaluate --record root
expect_code 1
expect_no_output
expect_error 'root: cannot be written'
printf 'my notes' >notes.txt
evaluate --record notes.txt
expect_code 2
expect_no_output
expect_error 'notes.txt: is no file of records and stays as it is'
[ "$(cat notes.txt)" = 'my notes' ] || give_up "expected other people's file as it was"

# Interrupted: what was finished is recorded, the rest is said not to be.
"$SOTTA_BIN" eval --model "$model" --dataset fashion-mnist --data many --corruption all --record stopped.jsonl \
  >stdout.txt 2>stderr.txt &
until [ -s stopped.jsonl ]; do :; done
kill -INT $!
set +e
wait $!
last_code=$?
set -e
last_command='sotta eval, interrupted'
expect_code 1
expect_error 'sotta: interrupted, nothing recorded of the '
[ "$(wc -l <stopped.jsonl)" = "$(wc -l <stdout.txt)" ] || give_up 'expected a record for every line'

# A zero in front changes no number.
evaluate --limit 010 --json
expect_code 0
[ "$(json_field samples)" = 10 ] || give_up 'expected ten images'

evaluate --corruption fogg
expect_code 2
expect_no_output
expect_error 'did you mean "fog"'
evaluate --corruption fog --severity 6
expect_code 2
expect_error 'severity'
evaluate --corruption fog --split train
expect_code 2
expect_error 'split: only the evaluation images can be corrupted'
evaluate --corruption fog --split tset --record split.jsonl
expect_code 2
expect_error 'did you mean "test"'
[ ! -s split.jsonl ] || give_up 'expected no record'
