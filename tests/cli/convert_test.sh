# sotta convert: what it writes, what it says, what it refuses.
. "$SOTTA_ROOT/tests/cli/expect.sh"
checkpoints=$SOTTA_ROOT/tests/golden/checkpoints

run sotta convert "$checkpoints/nested.pth" out.safetensors \
  --mean 0.49,0.48,0.45 --std 0.25,0.24,0.26
expect_code 0
expect_output 'out.safetensors: 8 tensors, 68 parameters'
expect_output 'from "state_dict"'
expect_output 'not written: epoch (number), best (number), arch (text)'
grep -qF '"mean":"0.49,0.48,0.45"' out.safetensors ||
  give_up 'expected the normalisation in the file'

# A list of numbers must not swallow the file names that follow it.
run sotta convert --mean 0.5 --std 0.25 "$checkpoints/zip.pth" order.safetensors
expect_code 0
expect_file order.safetensors

run sotta convert "$checkpoints/legacy.pth" half.safetensors --half --json
expect_code 0
[ "$(json_field tensors)" = 8 ] || give_up 'expected 8 tensors'
[ "$(json_field float16_tensors)" = 2 ] || give_up 'expected 2 halved'
[ "$(json_field bytes)" = "$(wc -c <half.safetensors)" ] ||
  give_up 'expected the size of the file'

run sotta convert half.safetensors again.safetensors
expect_code 0
cmp half.safetensors again.safetensors || give_up 'expected the same bytes'

run sotta convert "$checkpoints/two_models.pth" x.safetensors
expect_code 2
expect_error 'name the key to take the tensors from: "model", "net"'
run sotta convert "$checkpoints/two_models.pth" x.safetensors --key net
expect_code 0
rm x.safetensors

run sotta convert "$checkpoints/whole_model.pth" x.safetensors
expect_code 2
expect_no_output
expect_error 'torch.nn.modules.linear.Linear'
# Nothing to write is not a success.
printf '\2\0\0\0\0\0\0\0{}' >empty.safetensors
run sotta convert empty.safetensors x.safetensors
expect_code 2
expect_error 'empty.safetensors: expected tensors to convert, got none'
run sotta convert missing.pth x.safetensors
expect_code 2
expect_error 'missing.pth'
run sotta convert "$checkpoints/zip.pth" x.safetensors --mean 0.5
expect_code 2
run sotta convert "$checkpoints/zip.pth" no_such_folder/x.safetensors
expect_code 1
expect_error 'no_such_folder'
[ ! -e x.safetensors ] || give_up 'expected nothing to be written'
