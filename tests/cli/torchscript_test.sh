# TorchScript files that somebody damaged, or made to do harm: one sentence and
# exit code 2, whatever LibTorch makes of them.
. "$SOTTA_ROOT/tests/cli/expect.sh"

python3 - "$SOTTA_ROOT/tests/golden/torchscript/scripted.pt" <<'PYTHON'
import struct, sys, zipfile
good = zipfile.ZipFile(sys.argv[1])
members = {name: good.read(name) for name in good.namelist()}
def write(path, change):
    with zipfile.ZipFile(path, 'w') as archive:
        for name, data in members.items():
            data = change(name.split('/', 1)[1], data)
            if data is not None:
                archive.writestr(name, data)
def in_code(path, old, new):
    def change(name, data):
        if name != 'code/' + path:
            return data
        assert old in data
        return data.replace(old, new)
    return change
write('same.pt', lambda name, data: data)
write('cut.pt', lambda name, data: data[:-1] if name == 'data/2' else data)
write('no_storage.pt', lambda name, data: None if name == 'data/2' else data)
write('no_code.pt', lambda name, data: None if name == 'code/__torch__.py' else data)
write('pickle.pt', lambda name, data: b'\x80\x02\x85.' if name == 'data.pkl' else data)
write('word.pt', in_code('__torch__.py', b'x: Tensor', b'x: Tenzor'))
write('no_parameters.pt', in_code('__torch__/torch/nn/modules/linear.py',
                                  b'["weight", "bias", ]', b'[]'))
write('deep.pt', in_code('__torch__.py', b'return', b'return ' + b'(' * 100000))
head = str({'descr': '|u1', 'fortran_order': False, 'shape': (2, 16, 16, 3)})
head += ' ' * (-(len(head) + 11) % 64) + '\n'
open('images.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode()
                               + bytes(i % 251 for i in range(2 * 16 * 16 * 3)))
PYTHON

adapt() {
  sotta adapt --model "$1" --mean 0,0,0 --std 1,1,1 --input images.npy \
    --method tent --window 2
}

refused() {
  run adapt "$1"
  expect_code 2
  expect_no_output
  expect_error "sotta: $1$2"
  [ "$(wc -l <stderr.txt)" -eq 1 ] || give_up 'expected one line'
}

run adapt same.pt
expect_code 0
cp stdout.txt same.jsonl
refused cut.pt ', member "scripted/data.pkl": tensor'
refused no_storage.pt ', member "scripted/data.pkl": no storage'
refused no_code.pt ': expected a TorchScript file, LibTorch says: '
refused pickle.pt ', member "scripted/data.pkl": damaged pickle'
refused word.pt ': expected a TorchScript file, LibTorch says: '

# Weights of a head that are no parameters are weights all the same.
run adapt no_parameters.pt
expect_code 0
cmp same.jsonl stdout.txt || give_up 'expected the answers of same.pt'

# The compiler's stack is not endless; the process that tries it out ends first.
refused deep.pt ': LibTorch crashed (Segmentation fault) when it loaded and ran'

# `bench` and `eval` look before they load as well.
run sotta eval --model deep.pt --dataset cifar10 --data nowhere
expect_code 2
expect_error 'deep.pt: LibTorch crashed'
run sotta bench --model deep.pt --dataset cifar10 --data nowhere --method tent \
  --scenario benign --corruption fog --out runs
expect_code 2
expect_error 'deep.pt: LibTorch crashed'

# It is no command for people.
run sotta --help
! grep -q probe-network stdout.txt || give_up 'expected no probe-network'
run sotta probe
expect_code 2
! grep -q probe-network stderr.txt || give_up 'expected no probe-network'
