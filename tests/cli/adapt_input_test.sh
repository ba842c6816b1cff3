# `sotta adapt`: pictures that cannot be read, runs that end early, odd arrays.
. "$SOTTA_ROOT/tests/cli/expect.sh"

model="$SOTTA_ROOT/tests/golden/methods/network.safetensors"
python3 - <<'PYTHON'
import os, struct, zlib
def pixel(i, y, x, c):
    return (i * 37 + y * 11 + x * 7 + c * 50 + (x * y * (i + 1)) // 3) % 256
def png(path, i, side=16):
    raw = b''.join(b'\0' + bytes(pixel(i, y, x, c) for x in range(side) for c in range(3)) for y in range(side))
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0))
                           + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))
def npy(path, shape, kind='|u1'):
    head = str({'descr': kind, 'fortran_order': False, 'shape': shape})
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    size = 1
    for extent in shape:
        size *= extent
    open(path, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + bytes(i % 251 for i in range(size)))
os.makedirs('good')
os.makedirs('some')
for i in range(12):
    png(f'good/{i:02}.png', i)
    png(f'some/{i:02}.png', i)
# Among them: no picture, another size, cut short, a link to nothing, one to itself.
open('some/00a.png', 'w').write('no picture')
png('some/03a.png', 3, 20)
open('some/05a.png', 'wb').write(open('some/05.png', 'rb').read()[:80])
os.symlink('nowhere.png', 'some/05b.png')
os.symlink('05c.png', 'some/05c.png')
os.symlink('loop', 'loop')
os.makedirs('odd names')
png('odd names/a, "b".png', 1)
png('odd names/c\nd.png', 2)
open('odd names/e, "f".png', 'w').write('no picture')
npy('colour.npy', (16, 16, 3))
npy('grey.npy', (16, 16))
npy('planes.npy', (3, 16, 16))
npy('four.npy', (4, 16, 16))
npy('first.npy', (2, 3, 16, 16))
npy('none.npy', (0, 16, 16, 3))
npy('many.npy', (2000, 16, 16, 3))
PYTHON

method=tent
adapt() { sotta adapt --model "$model" --threads 1 --window 4 --method $method "$@"; }

# The same pictures without and with others among them: the same predictions,
# windows and state, whether a folder or names on standard input.
run adapt --input good --out good.csv --format csv --state-out good.safetensors
expect_code 0
run adapt --input some --out some.csv --format csv --state-out some.safetensors --export some_weights.safetensors
expect_code 1
expect_error 'sotta: 5 of 17 images could not be read, their lines say why'
expect_error '12 images, 12 admitted, 3 updates'
cmp -s good.safetensors some.safetensors || give_up 'expected the state of the readable pictures'
expect_file some_weights.safetensors
printf '%s\n' some/*.png >names.txt
last_command='sotta adapt --input -'
set +e
adapt --input - --out some.jsonl --state-out names.safetensors <names.txt >stdout.txt 2>stderr.txt
last_code=$?
set -e
expect_code 1
cmp -s good.safetensors names.safetensors || give_up 'expected the state of the readable pictures'
python3 - <<'PYTHON' || give_up 'expected a line for every picture'
import csv, json
good = list(csv.DictReader(open('good.csv')))
table = list(csv.DictReader(open('some.csv')))
lines = [json.loads(line) for line in open('some.jsonl')]
names = open('names.txt').read().split()
bad = {'some/00a.png', 'some/03a.png', 'some/05a.png', 'some/05b.png', 'some/05c.png'}
assert [row['name'] for row in table] == names == [line['name'] for line in lines]
assert [int(row['index']) for row in table] == list(range(17)) == [line['index'] for line in lines]
assert {row['name'] for row in table if row['error']} == bad == {line['name'] for line in lines if 'error' in line}
for row, line in zip(table, lines):
    if row['error']:
        assert set(line) == {'index', 'name', 'error'} and line['error'] == row['error']
        assert row['error'].startswith(row['name'] + ': ')
        assert not (row['label'] or row['confidence'] or row['entropy'] or row['verdict'])
read = [row for row in table if not row['error']]
for key in ('label', 'confidence', 'entropy', 'verdict'):
    assert [row[key] for row in read] == [row[key] for row in good], key
assert '20 x 20 pixels and those before it 16 x 16; give --size' in lines[names.index('some/03a.png')]['error']
PYTHON

# --strict: up to the first of them, which is the last line.
run adapt --input some --strict --state-out strict.safetensors --export strict_weights.safetensors
expect_code 2
expect_error 'sotta: some/00a.png: '
expect_file strict.safetensors
expect_file strict_weights.safetensors
[ "$(wc -l <stdout.txt)" = 2 ] || give_up 'expected two lines'
expect_output '"name":"some/00.png","label"'
expect_output '"name":"some/00a.png","error"'
run adapt --input some --strict --size 16
expect_code 2
run adapt --input good --strict
expect_code 0

# A state knows its images' size.
run adapt --input some/03a.png --state-in strict.safetensors
expect_code 1
expect_error '1 of 1 images could not be read'
expect_output '20 x 20 pixels and those before it 16 x 16'

# Nothing that can be read: the state is written all the same.
run adapt --input some/00a.png --state-out nothing.safetensors
expect_code 1
expect_error '0 images, 0 admitted, 0 updates'
expect_file nothing.safetensors

# Pictures that the method needs must all be there.
method=eata
run adapt --input good --source-images some
expect_code 2
expect_error 'some/00a.png: '
run adapt --input good --source-images -
expect_code 2
expect_error '--source-images: cannot be standard input'
method=tent

# Names of any form are quoted; those on standard input end at the line's end.
run adapt --input 'odd names' --format csv
expect_code 1
python3 - <<'PYTHON' || give_up 'expected quoted names'
import csv
rows = list(csv.reader(open('stdout.txt', newline='')))
assert [row[1] for row in rows[1:]] == ['odd names/a, "b".png', 'odd names/c\nd.png', 'odd names/e, "f".png'], rows
assert all(len(row) == 8 for row in rows)
assert rows[3][6].startswith('odd names/e, "f".png: '), rows[3]
PYTHON

# A run that an error ends keeps what it learnt: a full disk, a reader that left.
if [ -e /dev/full ]; then
  run adapt --input good --out /dev/full --state-out full.safetensors --export full_weights.safetensors
  expect_code 1
  expect_error 'sotta: /dev/full: cannot be written: No space left on device'
  expect_file full.safetensors
  expect_file full_weights.safetensors
fi
last_command='sotta adapt | head -n 0'
set +e
adapt --input many.npy --state-out pipe.safetensors 2>stderr.txt | head -n 0
last_code=${PIPESTATUS[0]}
set -e
expect_code 1
expect_error 'cannot be written: Broken pipe'
expect_file pipe.safetensors

# An interrupt before the end: what was learnt is kept, and said not to be all.
"$SOTTA_BIN" adapt --model "$model" --threads 1 --window 4 --method cotta --input many.npy --out stopped.jsonl \
  --state-out stopped.safetensors >stdout.txt 2>stderr.txt &
pid=$!
until [ -s stopped.jsonl ]; do sleep 0.01; done
kill -INT $pid
set +e
wait $pid
last_code=$?
set -e
last_command='sotta adapt, interrupted'
expect_code 1
expect_error "sotta: interrupted after $(wc -l <stopped.jsonl) of 2000 images"
expect_error ' updates (interrupted)'
expect_file stopped.safetensors
before=$(wc -l <stopped.jsonl)
method=cotta
run adapt --input colour.npy --state-in stopped.safetensors
expect_code 0
method=tent
[ $((before % 4)) = 0 ] || give_up 'expected whole windows'

# Arrays: one image or several, and what might be either is asked back.
lines_of() { run adapt --input "$1"; expect_code 0; wc -l <stdout.txt; }
[ "$(lines_of colour.npy)" = 1 ] || give_up 'expected one colour image'
[ "$(lines_of grey.npy)" = 1 ] || give_up 'expected one grey image'
[ "$(lines_of four.npy)" = 4 ] || give_up 'expected four grey images'
run adapt --input planes.npy
expect_code 2
expect_error 'planes.npy: might be three grey images or one with its channels first'
run adapt --input first.npy
expect_code 2
expect_error 'first.npy: expected uint8 [N, H, W, 1 or 3], [N, H, W] or one image without the N, got Byte [2, 3, 16, 16]'
run adapt --input none.npy
expect_code 2
expect_error 'none.npy: expected uint8'
run sotta adapt --model "$SOTTA_ROOT/models/fashion_resnet8.safetensors" --threads 1 --input planes.npy
expect_code 0
[ "$(wc -l <stdout.txt)" = 3 ] || give_up 'expected three grey images for a network of one channel'

# Pictures of another size or colour, beside what they should become: the middle
# of one, and its brightness as Pillow takes it.
python3 - <<'PYTHON'
import struct, zlib
def pixel(y, x, c):
    return (y * 11 + x * 7 + c * 50 + x * y) % 256
def png(path, side, pixels, colour):
    raw = b''.join(b'\0' + bytes(v for x in range(side) for v in pixels(y, x)) for y in range(side))
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    head = struct.pack('>IIBBBBB', side, side, 8, 2 if colour else 0, 0, 0, 0)
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))
rgb = lambda y, x: [pixel(y, x, c) for c in range(3)]
grey = lambda y, x: (19595 * rgb(y, x)[0] + 38470 * rgb(y, x)[1] + 7471 * rgb(y, x)[2] + 32768) >> 16
png('large.png', 20, rgb, True)
png('middle.png', 16, lambda y, x: rgb(y + 2, x + 2), True)
png('colour.png', 28, rgb, True)
png('grey.png', 28, lambda y, x: [grey(y, x)], False)
png('as_grey.png', 20, lambda y, x: [pixel(y, x, 0)], False)
png('as_colour.png', 20, lambda y, x: [pixel(y, x, 0)] * 3, True)
PYTHON
prediction() { adapt --input "$@" 2>stderr.txt | cut -d, -f3-; }
[ "$(prediction large.png --size 16 --shorter-side 20)" = "$(prediction middle.png)" ] || give_up 'expected the middle'
[ "$(prediction large.png --size 20)" = "$(prediction large.png)" ] || give_up 'expected the picture as it is'
[ "$(prediction large.png --size 16)" != "$(prediction middle.png)" ] || give_up 'expected the whole picture'
[ "$(prediction as_grey.png)" = "$(prediction as_colour.png)" ] || give_up 'expected grey in three channels'
model="$SOTTA_ROOT/models/fashion_resnet8.safetensors"
[ "$(prediction colour.png)" = "$(prediction grey.png)" ] || give_up 'expected the brightness'
model="$SOTTA_ROOT/tests/golden/methods/network.safetensors"

# Links that lead nowhere.
run adapt --input loop
expect_code 2
expect_error 'loop: cannot be opened: Too many levels of symbolic links'
