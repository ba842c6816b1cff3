# sotta model check: what it says of networks with batch, layer and group norm,
# and what it does with files that are none.
. "$SOTTA_ROOT/tests/cli/expect.sh"
golden=$SOTTA_ROOT/tests/golden

run sotta model check "$golden/networks/wide_resnet.safetensors"
expect_code 0
expect_output 'norm layers  13 batch'
expect_output 'frozen       5 layers (SAR, SoTTA): block3.layer.0.bn1'
expect_output 'any (tried 28, 32'
expect_output 'bn_stats     fits'
expect_output 'eata         fits, with source images'
expect_output '(from: file)'

run sotta model check "$golden/networks/group_norm_resnet.safetensors"
expect_code 0
expect_output 'norm layers  10 group'
expect_output 'bn_stats     does not fit: bn_stats: needs a network with batch norm'
expect_output 'sotta        fits'

run sotta model check "$golden/networks/vit_timm.safetensors"
expect_code 0
expect_output 'norm layers  7 layer'
expect_output 'image sizes  16 (of 16, 28, 32'
expect_output 'frozen       3 layers (SAR, SoTTA): blocks.2.norm1, blocks.2.norm2, norm'

# TorchScript does not say how its inputs are normalised.
run sotta model check "$golden/torchscript/mixed.pt" --size 16 --json
expect_code 0
[ "$(json_field normalisation.from)" = none ] || give_up 'expected no constants'
[ "$(json_field norm_kinds.group)" = 1 ] || give_up 'expected a group norm'
json_field warnings.0 | grep -q 'nothing says how inputs are normalised' ||
  give_up 'expected a warning'
run sotta model check "$golden/torchscript/mixed.pt" --size 16 \
  --mean 0,0,0 --std 1,1,1 --json
expect_code 0
[ "$(json_field warnings)" = '[]' ] || give_up 'expected no warning'

# Refused in one sentence, with nothing on standard output.
refused() {
  expect_code 2
  expect_no_output
  [ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one sentence'
  ! grep -q 'internal error' stderr.txt || give_up 'expected a reason'
}
run sotta model check nothing.safetensors
refused
expect_error 'nothing.safetensors'
head -c 200 /dev/urandom >noise.safetensors
run sotta model check noise.safetensors
refused
: >empty.safetensors
run sotta model check empty.safetensors
refused
head -c 20000 "$golden/networks/vit_timm.safetensors" >cut.safetensors
run sotta model check cut.safetensors
refused
mkdir folder
run sotta model check folder
refused
run sotta model check "$golden/torchscript/without_norm.pt"
refused
head -c 3000 "$golden/torchscript/mixed.pt" >cut.pt
run sotta model check cut.pt
refused
run sotta model check "$golden/networks/wide_resnet.safetensors" --input folder --size 16
refused
run sotta model check "$golden/networks/vit_timm.safetensors" --mean 0.5 --std 0.5
refused
expect_error 'channels'
run sotta model check "$golden/networks/vit_timm.safetensors" --mean a,b,c --std 1,1,1
refused
run sotta model
expect_code 2
run sotta model chekc x.safetensors
expect_code 2

# The size of a file's metadata is what images are resized to, unless --size
# says otherwise; 0 leaves them as they are.
python3 - "$SOTTA_ROOT/tests/cli" <<'EOF'
import random, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import reference
random.seed(3)
for i in range(4):
    reference.write_png(f"images/{i}.png", 20, bytes(random.randrange(256) for _ in range(20 * 20 * 3)))
header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (4, 20, 20, 3), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
with open("images.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    file.write(bytes(random.randrange(256) for _ in range(4 * 20 * 20 * 3)))
EOF
run sotta info --json
[ "$(json_field parts.png)" = true ] || exit 0
run sotta convert "$golden/networks/wide_resnet.safetensors" sized.safetensors --size 13
expect_code 0
answers() {
  run sotta adapt --method source --input images --out - "$@"
  expect_code 0
  cp stdout.txt "$answers_to"
}
answers_to=said.jsonl answers --model sized.safetensors
answers_to=given.jsonl answers --model "$golden/networks/wide_resnet.safetensors" --size 13
answers_to=whole.jsonl answers --model sized.safetensors --size 0
cmp said.jsonl given.jsonl || give_up 'expected the size of the metadata'
! cmp -s said.jsonl whole.jsonl || give_up 'expected --size 0 to win over it'
run sotta adapt --method source --input images --out said.jsonl --model sized.safetensors \
  --export exported.safetensors
expect_code 0
grep -qF '"size":"13"' exported.safetensors || give_up 'expected the size in the export'

# Arrays are taken as they are.
run sotta adapt --method source --input images.npy --out - --model sized.safetensors
expect_code 0

# A ViT takes images of one size only, which its tensors say.
answers_to=vit.jsonl answers --model "$golden/networks/vit_timm.safetensors"
run sotta adapt --method source --input images --size 20 --out - \
  --model "$golden/networks/vit_timm.safetensors"
expect_code 2
expect_error 'expected images of 16x16, got 20x20'

python3 - "$golden/networks/wide_resnet.safetensors" <<'EOF'
import json, struct, sys
content = open(sys.argv[1], "rb").read()
length, = struct.unpack("<Q", content[:8])
header = json.loads(content[8:8 + length])
header["__metadata__"]["size"] = "1e9"
text = json.dumps(header).encode()
open("wrong.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + content[8 + length:])
EOF
run sotta adapt --method source --input images --out - --model wrong.safetensors
refused
expect_error 'metadata size: expected a whole number'
run sotta model check wrong.safetensors
refused
