# sotta train: weights, record and checkpoint of a tiny network on made images.
. "$SOTTA_ROOT/tests/cli/expect.sh"
unset SOTTA_DATA

# Fashion-MNIST's files with a few noisy images: even classes are bright above,
# odd ones below.
python3 - <<'EOF'
import pathlib, random, struct
random.seed(1)
folder = pathlib.Path("root/fashion-mnist")
folder.mkdir(parents=True)
def write(part, count):
    labels = [i % 10 for i in range(count)]
    pixels = bytearray()
    for label in labels:
        for y in range(28):
            bright = (y < 14) == (label % 2 == 0)
            pixels += bytes(random.randrange(80) + (150 if bright else 0)
                            for _ in range(28))
    (folder / f"{part}-images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(
        struct.pack(">II", 0x801, count) + bytes(labels))
write("train", 60)
write("t10k", 20)
EOF

# The usual settings, where the call does not say otherwise.
train() {
  local settings=(--data root) setting
  for setting in '--width 4' '--dataset fashion-mnist' '--model resnet8' '--epochs 3' \
    '--batch 16' '--rate 0.05' '--threads 1'; do
    [[ " $* " == *" ${setting% *} "* ]] || settings+=($setting)
  done
  run sotta train "${settings[@]}" "$@"
}

train --out whole.safetensors --test-every 2
expect_code 0
expect_output 'whole.safetensors: resnet8 on fashion-mnist, 3 epochs in'
expect_error 'epoch 2: test accuracy'
[ "$(grep -c 'test accuracy' stderr.txt)" = 1 ] || give_up 'expected one accuracy on the way'
expect_file whole.safetensors
[ ! -e whole.checkpoint.safetensors ] || give_up 'expected no checkpoint at the end'
[ "$(wc -l <whole.record.jsonl)" -eq 1 ] || give_up 'expected one record'

# The weights are as good as any: what train measured, eval measures.
run cat whole.record.jsonl
accuracy=$(json_field accuracy)
[ "$(json_field verb)" = train ] || give_up 'expected the verb train'
[ "$(json_field options.batch)" = 16 ] || give_up 'expected the batch size'
[ "$(json_field options.precision)" = fp32 ] || give_up 'expected fp32'
python3 -c 'import json
r = json.load(open("stdout.txt"))
assert len(r["series"]["loss"]) == 3, r
assert r["series"]["loss"][2] < r["series"]["loss"][0], r' || give_up 'expected a falling loss'
run sotta eval --model whole.safetensors --dataset fashion-mnist --data root --json
expect_code 0
[ "$(json_field accuracy)" = "$accuracy" ] || give_up "expected accuracy $accuracy"
grep -q '"recipe":"SGD, Nesterov 0.9, weight decay 5e-04, batch 16' whole.safetensors ||
  give_up 'expected the recipe in the metadata'

# The same seed gives the same bytes, at another number of threads too.
train --out again.safetensors --threads 2 --json
expect_code 0
[ "$(json_field threads)" = 2 ] || give_up 'expected 2 threads'
cmp whole.safetensors again.safetensors || give_up 'expected the same bytes'
train --out other.safetensors --seed 1
cmp -s whole.safetensors other.safetensors && give_up 'expected other bytes'

# Ctrl-C after the first checkpoint of a training of that many epochs.
interrupt() {
  last_command="sotta train --epochs $1, interrupted"
  set +e
  "$SOTTA_BIN" train --dataset fashion-mnist --data root --model resnet8 --width 4 \
    --epochs "$1" --batch 16 --rate 0.05 --threads 1 --checkpoint-every 1 \
    --out "$2" >stdout.txt 2>stderr.txt &
  local training=$! checkpoint=${2%.safetensors}.checkpoint.safetensors
  until [ -e "$checkpoint" ] || ! kill -0 $training 2>/dev/null; do :; done
  kill -INT $training 2>/dev/null
  wait $training
  last_code=$?
  set -e
}

interrupt 3000 long.safetensors
expect_code 1
grep -qE 'interrupted in epoch ([2-9]|[1-9][0-9]+) of 3000, kept in long.checkpoint' stderr.txt || give_up 'expected the epoch'
expect_error 'long.checkpoint.safetensors; the same command with --resume goes on'
[ ! -e long.safetensors ] || give_up 'expected no weights yet'

train --out long.safetensors
expect_code 2
expect_error 'an unfinished training lies there, --resume continues it'
train --out long.safetensors --resume
expect_code 2
expect_error 'is a checkpoint of another training: epochs is 3000 there and 3 here'
# All that makes the training what it is has to agree.
for change in 'model resnet20' 'width 8' 'batch 8' 'rate 0.06' 'seed 1'; do
  train --epochs 3000 --out long.safetensors --resume --$change
  expect_code 2
  expect_error "is a checkpoint of another training: ${change% *} is"
done
expect_file long.checkpoint.safetensors

# Continued it gives the bytes of an uninterrupted training. On a busy machine
# the short one may have ended before the signal came; then there is nothing to
# continue, and the bytes must be the same all the more.
interrupt 40 stopped.safetensors
if [ "$last_code" -ne 0 ]; then
  train --epochs 40 --out stopped.safetensors --resume
  expect_code 0
fi
train --epochs 40 --out straight.safetensors
cmp stopped.safetensors straight.safetensors || give_up 'expected the same bytes'

train --out whole.safetensors --resume
expect_code 2
expect_error 'nothing to resume'
train --out fresh.safetensors --resume
expect_code 0
expect_error 'no checkpoint yet'
cmp whole.safetensors fresh.safetensors || give_up 'expected the same bytes'

# A record that cannot be written ends a training that is done: it goes on from
# the checkpoint without a step, and with that checkpoint once more records
# nothing twice, unless the last record is another training's.
if [ -e /dev/full ]; then
  train --out full.safetensors --record /dev/full
  expect_code 1
  expect_error '/dev/full'
  cp full.checkpoint.safetensors kept.safetensors
  for lines in 1 1 2; do
    [ $lines = 1 ] || sed -i 's/"model":"full/"model":"other/' full.record.jsonl
    cp kept.safetensors full.checkpoint.safetensors
    train --out full.safetensors --resume
    expect_code 0
    cmp whole.safetensors full.safetensors || give_up 'expected the same bytes'
    [ "$(wc -l <full.record.jsonl)" = $lines ] || give_up "expected records: $lines"
    [ ! -e full.checkpoint.safetensors ] || give_up 'expected no checkpoint at the end'
  done
fi

# What is wrong is said in one sentence before anything is trained.
mkdir folder
train --out folder
expect_code 2
expect_error 'sotta: folder: expected a name for the weights file, this is a folder'
train --out nowhere/m.safetensors
expect_code 2
expect_error 'the folder nowhere does not exist'
touch file
train --out m.safetensors --record file/record.jsonl
expect_code 1
expect_error 'file: the folder cannot be made'
[ ! -e m.checkpoint.safetensors ] || give_up 'expected nothing to be trained'
train --out m.safetensors --model resnet81
expect_code 2
expect_error 'resnet8'
train --out m.safetensors --dataset cifar-10
expect_code 2
train --out m.safetensors --batch 100
expect_code 2
expect_error 'batch: expected at most the number of training images, 60, got 100'
train --out m.safetensors --width 99999999
expect_code 2
expect_error '--width: expected 0 to 4096, got 99999999'
for limit in 'width -1 0 to 4096' 'width 4097 0 to 4096' 'checkpoint-every 0 at least 1' 'test-every -1 at least 0' \
  'memory-gb 0 1 to 1048576' 'memory-gb 1048577 1 to 1048576'; do
  set -- $limit
  train --out m.safetensors --$1 $2
  expect_code 2
  expect_error "--$1: expected ${*:3}, got $2"
done
train --out m.safetensors --device cuda:99
expect_code 2
expect_error 'cuda:99'
train --out m.safetensors --precision fp16
expect_code 2
expect_error 'precision'
train --out m.safetensors --rate 1e30
expect_code 2
expect_error 'the loss is no number after epoch 1'
[ ! -e m.safetensors ] || give_up 'expected no weights'

# Every kind of network learns, and is read again by its tensors.
while read -r model width rate; do
  train --out kind.safetensors --model "$model" --width "$width" --rate "$rate" --epochs 6
  expect_code 0
  run tail -n 1 kind.record.jsonl
  accuracy=$(json_field accuracy)
  python3 -c 'import json
r = json.load(open("stdout.txt"))
assert r["series"]["loss"][-1] < r["series"]["loss"][0], r' || give_up 'expected a falling loss'
  run sotta eval --model kind.safetensors --dataset fashion-mnist --data root --json
  expect_code 0
  [ "$(json_field accuracy)" = "$accuracy" ] || give_up "expected accuracy $accuracy"
  grep -q '"size":"28"' kind.safetensors || give_up 'expected the size of the images'
  rm kind.*
done <<EOF
wide_resnet10_1 4 0.05
resnet26_gn 8 0.05
vit_tiny 12 0.02
EOF
train --out x.safetensors --model vit_tiny --width 13
expect_code 2
expect_error 'width: expected a multiple of'
train --out x.safetensors --model wide_resnet40_3
expect_code 2
expect_error 'wide_resnet40_2'
