# What every subcommand shares: the version, the help, wrong usage, and output
# that cannot be written.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta --version
expect_code 0
grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' stdout.txt || give_up 'expected a version'

run sotta --help
expect_code 0
expect_output 'info'

run sotta eval --help
mv stdout.txt help.txt
run sotta help eval
expect_code 0
cmp stdout.txt help.txt || give_up 'expected the help of eval'
run sotta data get --help
mv stdout.txt help.txt
run sotta help data get
cmp stdout.txt help.txt || give_up 'expected the help of data get'
run sotta help
expect_code 0
expect_output 'Usage: sotta'

# Wrong usage is one sentence on standard error, and no help with it.
expect_sentence() {
  expect_code 2
  expect_no_output
  expect_error "$1"
  [ "$(wc -l <stderr.txt)" = 1 ] || give_up 'expected one line'
}

run sotta
expect_sentence 'sotta: expected a verb: demo, data, eval'
run sotta evla
expect_sentence 'sotta: verb: unknown name "evla", did you mean "eval"?'
run sotta help evla
expect_sentence 'sotta: verb: unknown name "evla", did you mean "eval"?'
run sotta info --jsno --no-such-flag 3
expect_sentence 'sotta: info: unknown flag "--jsno", did you mean "--json"?; unknown flag "--no-such-flag"'
run sotta eval --modle m --dataset mnist
expect_sentence 'sotta: eval: unknown flag "--modle", did you mean "--model"?'
run sotta eval --model m
expect_sentence 'sotta: eval: expected --dataset, see `sotta eval --help`'
run sotta bench --limit many
expect_sentence 'sotta: bench: --limit: expected a whole number, got "many"'
run sotta bench --limit
expect_sentence 'sotta: bench: --limit: expected a whole number after it'
run sotta eval --model= --dataset mnist
expect_sentence 'sotta: --model: expected a value after the ='
run sotta eval --model m --dataset --json
expect_sentence 'sotta: --dataset: expected a value after it, got the flag --json'
run sotta data chekc
expect_sentence 'sotta: data: unexpected argument "chekc", did you mean "check"?'
run sotta convert a.pth b.safetensors --mean 0.5
expect_sentence 'sotta: convert: --mean: requires --std'

# Output that cannot be written is an error of every command, not least of those
# that print and do nothing else. Standard output is first a full disk, then
# closed, then a pipe that nobody reads.
into_closed_pipe() {
  python3 - "$@" <<'PYTHON'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)
PYTHON
}
expect_unwritten() {
  local way
  for way in full closed pipe; do
    last_command="sotta $* (standard output: $way)"
    : >stdout.txt
    set +e
    case $way in
      full) sotta "$@" >/dev/full 2>stderr.txt ;;
      closed) sotta "$@" >&- 2>stderr.txt ;;
      pipe) into_closed_pipe "$SOTTA_BIN" "$@" 2>stderr.txt ;;
    esac
    last_code=$?
    set -e
    expect_code 1
    expect_error 'sotta: standard output: could not be written whole'
  done
}
expect_unwritten --version
expect_unwritten eval --help
expect_unwritten info
expect_unwritten data --data nowhere
expect_unwritten bench --config "$SOTTA_ROOT/configs/table1.toml" --list

# Symbolic links in a circle are wrong input, one sentence long, everywhere.
ln -s loop loop
in_circle() {
  run sotta "$@"
  expect_code 2
  expect_error 'sotta: loop: '
  [ "$(wc -l <stderr.txt)" -eq 1 ] || give_up 'expected one line'
}
in_circle report loop
in_circle convert loop out.safetensors
in_circle eval --model loop --dataset cifar10
in_circle train --dataset cifar10 --out loop
in_circle adapt --model "$SOTTA_ROOT/tests/golden/torchscript/scripted.pt" \
  --mean 0,0,0 --std 1,1,1 --input loop
in_circle bench --config loop

run sotta train --dataset cifar10 --out "$(printf 'x%.0s' $(seq 300))/m.safetensors"
expect_code 2
expect_error 'File name too long'

# Numbers: every verb refuses what is none, or does not fit.
for flag in 'demo --limit' 'eval --batch' 'adapt --window' 'train --epochs' 'corrupt --limit' 'bench --seeds'; do
  run sotta $flag 99999999999999999999
  expect_code 2
  expect_error "${flag#* }: expected a number that fits 64 bits, got \"99999999999999999999\""
done
run sotta bench --seeds 1,2x
expect_code 2
expect_error '--seeds: expected a whole number, got "2x"'
run sotta eval --limit 1.5
expect_code 2
expect_error '--limit: expected a whole number, got "1.5"'
run sotta train --rate nan
expect_code 2
expect_error '--rate: expected a finite number, got nan'
run sotta train --rate 1e999
expect_code 2
expect_error '--rate: expected a number that fits 64 bits, got "1e999"'

# An empty value is most often a variable that is not set.
run sotta adapt --model m --input x.npy --out o.jsonl --state-out ''
expect_sentence '--state-out: expected'

# Names need not be UTF-8.
name=$(printf 'u\xffv.safetensors')
cp "$SOTTA_ROOT/models/fashion_resnet8.safetensors" "$name"
run sotta bench --list --json --dataset fashion-mnist --model "$name" --method source --scenario benign --corruption none --out out
expect_code 0
expect_output '"model"'
run sotta data --json --data "$(printf 'u\xffv')"
expect_code 0

# A limit on files is an error of writing, and leaves nothing half-written.
(
  ulimit -f 2
  run sotta convert "$SOTTA_ROOT/models/fashion_resnet8.safetensors" big.safetensors
  expect_code 1
  expect_error 'big.safetensors: cannot be written: File too large'
) || exit 1
[ -z "$(ls | grep '^big')" ] || give_up 'expected nothing of big.safetensors'

# A standard input that cannot be read is no empty one.
run bash -c '"$1" adapt --model "$2" --input - --out o.jsonl <.' bash "$SOTTA_BIN" "$SOTTA_ROOT/models/fashion_resnet8.safetensors"
expect_code 1
expect_error 'standard input: cannot be read'

run sotta corrupt --dataset fashion-mnist --kind fog --sheet labels.npy
expect_sentence '--sheet: expected a name that ends in .png'
