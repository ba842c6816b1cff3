# Networks of torch.export (.pt2): they adapt as the same network does as
# TorchScript; what is damaged, or does not fit, is one sentence and exit code 2.
. "$SOTTA_ROOT/tests/cli/expect.sh"

golden="$SOTTA_ROOT/tests/golden"

python3 - "$golden/exported/mixed.pt2" <<'PYTHON'
import json, struct, sys, zipfile
good = zipfile.ZipFile(sys.argv[1])
members = {name: good.read(name) for name in good.namelist()}
def write(path, change):
    with zipfile.ZipFile(path, 'w') as archive:
        for name, data in members.items():
            data = change(name.split('/', 1)[1], data)
            if data is not None:
                archive.writestr(name, data)
def in_graph(change):
    def changed(name, data):
        if name != 'models/model.json':
            return data
        program = json.loads(data)
        change(program['graph_module']['graph']['nodes'], program)
        return json.dumps(program)
    return changed
def retarget(nodes, target):
    next(node for node in nodes if 'relu' in node['target'])['target'] = target
def static(nodes, program):
    program['graph_module']['graph']['tensor_values']['x']['sizes'][0] = {'as_int': 4}
write('same.pt2', lambda name, data: data)
write('cut.pt2', lambda name, data: data[:-4] if name == 'data/weights/weight_0' else data)
write('no_weight.pt2', lambda name, data: None if name == 'data/weights/weight_0' else data)
write('no_json.pt2', lambda name, data: data[:-1] if name == 'models/model.json' else data)
write('static.pt2', in_graph(static))
write('files.pt2', in_graph(lambda nodes, _: retarget(nodes, 'torch.ops.aten.from_file.default')))
write('python.pt2', in_graph(lambda nodes, _: retarget(nodes, 'os.system')))
write('argument.pt2', in_graph(lambda nodes, _: retarget(nodes, 'torch.ops.aten.softmax.int')))
head = str({'descr': '|u1', 'fortran_order': False, 'shape': (32, 16, 16, 3)})
head += ' ' * (-(len(head) + 11) % 64) + '\n'
open('images.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode()
                               + bytes(i * 7 % 251 for i in range(32 * 16 * 16 * 3)))
PYTHON

adapt() {
  sotta adapt --model "$1" --mean 0,0,0 --std 1,1,1 --input images.npy \
    --method "${2:-tent}" --window 8
}

for name in layer_norm group_norm mixed; do
  for method in tent sar sotta; do
    run adapt "$golden/torchscript/$name.pt" $method
    expect_code 0
    mv stdout.txt torchscript.jsonl
    run adapt "$golden/exported/$name.pt2" $method
    expect_code 0
    cmp -s stdout.txt torchscript.jsonl || give_up "expected the predictions of $name.pt"
  done
done
run adapt same.pt2
expect_code 0

run sotta model check "$golden/exported/mixed.pt2" --mean 0,0,0 --std 1,1,1 --json
expect_code 0
expect_output '"format": "exported"'
expect_output '"engine": "exported"'

refused() {
  run adapt "$1"
  expect_code 2
  expect_no_output
  expect_error "sotta: $1$2"
  [ "$(wc -l <stderr.txt)" -eq 1 ] || give_up 'expected one line'
}
refused cut.pt2 ': tensor "conv1.weight": does not lie within its'
refused no_weight.pt2 ': tensor "conv1.weight" lies in "mixed/data/weights/weight_0", which is not'
refused no_json.pt2 ', member "mixed/models/model.json": expected JSON in UTF-8'
refused static.pt2 ': was exported for batches of 4 images alone'
refused files.pt2 ': needs operators that this LibTorch ('
refused python.pt2 ': needs operators that this LibTorch ('
refused argument.pt2 ': operator aten::softmax.int lacks its argument dim'
