# usage: misuse.sh EXAMPLE: runs an example without arguments and with
# weights that are none; it must say what it expects and never abort.
set -u
example=$1
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# expect CODE TEXT ARGUMENTS...
expect() {
  local code=$1 text=$2
  shift 2
  "$example" "$@" >/dev/null 2>"$errors"
  local found=$?
  if [ $found -ne "$code" ] || ! grep -qF -e "$text" "$errors"; then
    echo "$example $*: expected exit code $code and \"$text\", got $found and:" >&2
    cat "$errors" >&2
    exit 1
  fi
}

expect 2 'usage: '
expect 1 'nowhere.safetensors' nowhere.safetensors
expect 1 "$0" "$0"
