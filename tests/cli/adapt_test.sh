# `sotta adapt`: predictions and verdicts of a user's own images.
. "$SOTTA_ROOT/tests/cli/expect.sh"

model="$SOTTA_ROOT/tests/golden/torchscript/scripted.pt"
plain=(--mean 0,0,0 --std 1,1,1)

# 40 images of 16 x 16 pixels as one array, some of them also as PNG files.
python3 - <<'PYTHON'
import struct, zlib, os
def pixel(i, y, x, c):
    return (i * 37 + y * 11 + x * 7 + c * 50 + (x * y * (i + 1)) // 3) % 256
def npy(path, count):
    head = str({'descr': '|u1', 'fortran_order': False, 'shape': (count, 16, 16, 3)})
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    body = bytes(pixel(i, y, x, c) for i in range(count) for y in range(16)
                 for x in range(16) for c in range(3))
    open(path, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + body)
def png(path, i, side=16):
    raw = b''.join(b'\0' + bytes(pixel(i, y, x, c) for x in range(side) for c in range(3)) for y in range(side))
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0))
                           + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))
npy('images.npy', 40)
os.makedirs('photos/more')
for i in range(3):
    png(f'photos/{i}.png', i)
png('photos/more/3.png', 3)
png('large.png', 1, 20)
PYTHON

# With SoTTA unless they name another: its answers do not depend on the rest of a call.
adapt() {
  case " $* " in
    *' --method '*) sotta adapt --model "$model" "${plain[@]}" --window 8 "$@" ;;
    *) sotta adapt --model "$model" "${plain[@]}" --window 8 --method sotta "$@" ;;
  esac
}

# An array: a line per image, an update per window.
run adapt --input images.npy --set min_confidence=0
expect_code 0
expect_error "40 images, $(grep -c '"verdict":"admitted"' stdout.txt) admitted, 5 updates"
expect_error '[########################] 40/40 images, '
! grep -q 'no finite numbers' stderr.txt || give_up 'expected finite answers'
[ "$(wc -l <stdout.txt)" -eq 40 ] || give_up "expected 40 lines"
expect_output '"index":39,"name":"39"'
expect_output '"verdict":"admitted"'
cp stdout.txt whole.jsonl

# Stopped after 20 images, in the middle of a window, and continued.
python3 -c "
data = open('images.npy', 'rb').read()
size = 16 * 16 * 3
head, body = data[:-40 * size], data[-40 * size:]
fix = lambda count: head.replace(b'(40,', b'(%d,' % count)
open('a.npy', 'wb').write(fix(20) + body[:20 * size])
open('b.npy', 'wb').write(fix(20) + body[20 * size:])"
run adapt --input a.npy --set min_confidence=0 --out a.jsonl --state-out half.safetensors
expect_code 0
run adapt --input b.npy --set min_confidence=0 --out b.jsonl --state-in half.safetensors
expect_code 0
cut -d, -f3-5 whole.jsonl >wanted.txt
cat a.jsonl b.jsonl | cut -d, -f3-5 >found.txt
cmp -s wanted.txt found.txt || give_up "a continued run predicts otherwise"

# What waits may be a whole window of another size: its update comes first.
run sotta adapt --model "$model" "${plain[@]}" --method sotta --input b.npy --set min_confidence=0 --window 4 \
  --state-in half.safetensors --out c.jsonl
expect_code 0
expect_error '20 images, 20 admitted, 8 updates'
[ "$(wc -l <c.jsonl)" -eq 20 ] || give_up 'expected a line for every image'

# What a guard takes back is said to be taken back, also where the method judges
# in its update.
for method in sotta tent; do
  screen=()
  [ $method = sotta ] && screen=(--set min_confidence=0)
  run adapt --input images.npy --method $method "${screen[@]}" --guard skip --guard-max-parameter-change 1e-9
  expect_code 0
  expect_error 'after 8 images: parameter change'
  expect_error '40 images, 0 admitted, 0 updates'
  [ "$(grep -c '"verdict":"guard"' stdout.txt)" -eq 40 ] || give_up "expected 40 guard verdicts of $method"
done

# TENT admits all, which is too much for one guard; SoTTA at a threshold of 1
# admits nothing, which is too little for the other.
guards=(--guard skip --guard-history 1 --guard-max-class-share 1)
run adapt --input images.npy --method tent "${guards[@]}" --guard-max-admitted-share 0.9
expect_code 0
expect_error 'sotta: after 8 images: 100 % of the samples are admitted'
expect_error '40 images, 0 admitted, 0 updates'
run adapt --input images.npy --set min_confidence=1 "${guards[@]}" --guard-min-admitted-share 0.1
expect_code 0
expect_error 'sotta: after 8 images: only 0 % of the samples are admitted'
run adapt --input images.npy --method tent "${guards[@]}"
expect_code 0
! grep -q 'sotta: after' stderr.txt || give_up 'expected no guard to trip'
expect_error '40 images, 40 admitted, 5 updates'
# Guards go on with the state: a chain of runs, each from the state of the one
# before, is one run. They trip after 16 images over a history of two windows, of
# which the chain's first run had one.
python3 -c "
data = open('images.npy', 'rb').read()
size = 16 * 16 * 3
head, body = data[:-40 * size], data[-40 * size:]
for name, begin, end in (('c1', 0, 8), ('c2', 8, 24), ('c3', 24, 40)):
    open(name + '.npy', 'wb').write(head.replace(b'(40,', (b'(%d,' % (end - begin)).ljust(4)) + body[begin * size:end * size])"
for kind in 'sotta skip' 'sotta reset' 'tent rollback'; do
  read -r method action <<<"$kind"
  screen=()
  [ $method = sotta ] && screen=(--set min_confidence=0)
  guard=(--method $method "${screen[@]}" --guard $action --guard-history 2 --guard-max-class-share 0.4)
  run adapt --input images.npy "${guard[@]}" --out whole.jsonl --state-out whole.safetensors
  expect_code 0
  expect_error 'after 16 images:'
  grep 'after .* images:' stderr.txt >wanted_words.txt
  before=()
  : >found_words.txt
  for piece in c1 c2 c3; do
    run adapt --input $piece.npy "${guard[@]}" --out $piece.jsonl --state-out $piece.safetensors "${before[@]}"
    expect_code 0
    grep 'after .* images:' stderr.txt >>found_words.txt || :  # none tripped
    before=(--state-in $piece.safetensors)
  done
  cmp -s wanted_words.txt found_words.txt || give_up "the guards of a chain say otherwise"
  cut -d, -f3- whole.jsonl >wanted.txt
  cat c1.jsonl c2.jsonl c3.jsonl | cut -d, -f3- | cmp -s wanted.txt - || give_up "a guarded chain predicts otherwise"
  cmp -s whole.safetensors c3.safetensors || give_up "a guarded chain ends in another state"
done

# A learning rate that ruins the network: the source model answers for it, also
# where a run goes on from a state.
ruin=(--method tent --set learning_rate=1e30 --guard floor --guard-look-every 1)
run adapt --input images.npy "${ruin[@]}" --out ruined.jsonl --state-out ruined.safetensors
expect_code 0
expect_error "; reset"
expect_error 'sotta: the source model answered for'
run adapt --input images.npy --method source --out source.jsonl
expect_code 0
run adapt --input images.npy "${ruin[@]}" --state-in ruined.safetensors --out after.jsonl
expect_code 0
expect_error 'sotta: the source model answered for 40 images'
cut -d, -f3-5 source.jsonl >wanted.txt
cut -d, -f3-5 after.jsonl | cmp -s wanted.txt - || give_up "expected the source model's answers"

# Without --method it is the variant that is to be deployed, which says how foreign an image looks.
run sotta adapt --model "$model" "${plain[@]}" --window 8 --input images.npy
expect_code 0
[ "$(grep -c '"foreign_score":' stdout.txt)" -eq 40 ] || give_up "expected a score in every line"
cp stdout.txt default.jsonl
run adapt --input images.npy --method screened_sotta
cmp -s stdout.txt default.jsonl || give_up "expected screened_sotta by default"
run adapt --input images.npy --method screened_sotta --set screen=false
expect_code 0
! grep -q foreign_score stdout.txt || give_up "expected no scores without a screen"

# A folder, as CSV; names on standard input give the same predictions.
run adapt --input photos --format csv --method tent --export adapted.safetensors
expect_code 0
expect_output 'index,name,label,confidence,entropy,verdict,error,foreign_score'
expect_output '3,photos/more/3.png,'
[ -s adapted.safetensors ] || give_up "expected exported weights"
cut -d, -f3 stdout.txt >folder.txt
printf '%s\n' photos/0.png photos/1.png photos/2.png photos/more/3.png >list.txt
set +e
sotta adapt --model "$model" "${plain[@]}" --window 8 --input - --format csv --method tent <list.txt >stdin.csv 2>stderr.txt
last_code=$?
set -e
expect_code 0
cut -d, -f3 stdin.csv | cmp -s - folder.txt || give_up "standard input predicts otherwise"

# A signal ends the wait for the next name: what came before is kept.
mkfifo names
"$SOTTA_BIN" adapt --model "$model" "${plain[@]}" --window 1 --input - --method source \
  --state-out stopped.safetensors <names >stdout.txt 2>stderr.txt &
pid=$!
exec 3>names
echo photos/0.png >&3
until [ -s stdout.txt ] && grep -q '^State:.S' /proc/$pid/status; do :; done
kill $pid
set +e
wait $pid
last_code=$?
set -e
exec 3>&-
expect_code 0
expect_error '1 images, 0 admitted, 0 updates (interrupted)'
expect_file stopped.safetensors

# Another precision, where network and device have it.
own="$SOTTA_ROOT/models/fashion_resnet8.safetensors"
run sotta adapt --model "$own" --input large.png --size 28 --precision bf16
expect_code 0
run adapt --input images.npy --precision bf16
expect_code 2
expect_error 'bf16 is for our own networks'
# What runs the network changes no label; what it cannot run is said.
for engine in auto libtorch fused; do
  run sotta adapt --model "$own" --input photos --size 28 --engine $engine --format csv
  expect_code 0
  cut -d, -f1-3 stdout.txt >$engine.csv
  cmp $engine.csv auto.csv || give_up "expected the same labels of $engine"
done
run sotta adapt --model "$own" --input photos --size 28 --low-memory true --format csv
expect_code 0
cut -d, -f1-3 stdout.txt | cmp - auto.csv || give_up 'expected the same labels in less memory'
run adapt --input images.npy --engine fused
expect_code 2
expect_error 'engine'
run sotta adapt --model "$own" --input photos --size 28 --engine libtorch --low-memory true
expect_code 2
expect_error 'low_memory: is an option of the fused engine'
run sotta adapt --model "$own" --input photos --device cuda:99
expect_code 2
expect_error 'cuda:99'
run adapt --input images.npy --precision tf32
expect_code 2
expect_error 'precision: tf32 is a format of GPUs, got device cpu'

# Mistakes.
run adapt --input nowhere
expect_code 2
expect_error 'nowhere: there is no such file or folder'
run adapt --input images.npy --set min_confidense=0.5
expect_code 2
expect_error 'min_confidence'
run adapt --input images.npy --format xml
expect_code 2
expect_error 'jsonl'
run adapt --input images.npy --out no/such/folder.jsonl
expect_code 1
expect_error 'no/such/folder.jsonl: cannot be written: No such file or directory'
for flag in --state-out --export; do  # before the images, not after
  run adapt --input images.npy $flag no/such/folder.safetensors
  expect_code 1
  expect_error 'no/such/folder.safetensors: cannot be written'
  expect_no_output
done
run adapt --input large.png --size 16
expect_code 0
run adapt --input large.png --size 16 --shorter-side 18
expect_code 0
run adapt --input large.png --shorter-side 16
expect_code 2
expect_error '--shorter-side: expected --size too'
run sotta adapt --model "$model" --input images.npy
expect_code 2
expect_error 'no normalisation was given'
run sotta adapt --model "$model" --input images.npy --window 0
expect_code 2
expect_error '--window: expected at least 1, got 0'
refused() {  # TEXT FLAGS...
  local text=$1
  shift
  run adapt --input photos "$@"
  expect_code 2
  expect_error "$text"
}
refused '--size: expected 0 to 16384, got -3' --size -3
refused '--size: expected 0 to 16384, got 16385' --size 16385
refused '--shorter-side: expected 0 to 16384, got 16385' --size 8 --shorter-side 16385
refused '--shorter-side: expected 0 to 16384, got -1' --size 8 --shorter-side -1
refused '--shorter-side: expected at least --size, 16, got 8' --size 16 --shorter-side 8
refused 'guard_history: expected at least 1, got 0' --guard-history 0
refused 'guard_max_class_share: expected 0 to 1, got 2' --guard-max-class-share 2
refused 'guard_margin: has no effect with guard = skip' --guard skip --guard-margin 0.1
refused 'guard_max_class_share: has no effect with guard = floor' --guard floor --guard-max-class-share 0.5
refused '--guard-history: has no effect while --guard is off' --guard-history 4
refused '--guard-max-class-share: has no effect while --guard is floor' --guard floor --guard-max-class-share 0.9

# No flag writes over what another reads or writes.
refused '--state-out: p is the file of --out' --out p --state-out p
refused '--export: photos is the file of --input' --export photos
ln -s photos/.. here
refused '--state-out: ./p is the file of --out' --out here/p --state-out ./p
ln -s p to-p
refused '--state-out: p is the file of --out' --out to-p --state-out p
refused '--export: - is the file of --state-out' --state-out - --export -
refused "--export: $model is the file of --model" --export "$model"

# Weights that are no numbers: neither are the confidences.
python3 - "$SOTTA_ROOT/tests/golden/methods/network.safetensors" <<'PYTHON'
import json, struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
size = struct.unpack('<Q', data[:8])[0]
start = 8 + size + json.loads(data[8:8 + size])['fc.bias']['data_offsets'][0]
data[start:start + 4] = struct.pack('<f', float('nan'))
open('broken.safetensors', 'wb').write(data)
PYTHON
run sotta adapt --model broken.safetensors --input photos/0.png --method source
expect_code 0
expect_error "the network's answers to 1 of the images are no finite numbers"
run sotta adapt --model broken.safetensors --input images.npy --method source
expect_code 0
expect_output '"confidence":null,"entropy":null'
run sotta adapt --model broken.safetensors --input images.npy --method source --format csv
expect_code 0
expect_output ',,,not finite,'

# And nothing is learnt from them.
for method in tent rotta sotta; do
  run sotta adapt --model broken.safetensors --input images.npy --method $method --window 8 --export adapted.safetensors
  expect_code 0
  expect_error "the network's answers to 40 of the images are no finite numbers, nothing was learnt from them"
  expect_error '40 images, 0 admitted, 0 updates'
done
