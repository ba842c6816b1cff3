# What the scripts in this folder are written with. Each script is one ctest
# entry, runs in an empty folder of its own (removed afterwards) and ends at the
# first broken expectation.
#
#   run sotta info --json      runs it; keeps its exit code, output and errors
#   expect_code 0              of the last run
#   expect_output 'sotta 0.1'  the last run's output holds this text
#   expect_error 'not found'   likewise, what it wrote to stderr
#
# SOTTA_BIN is the program, SOTTA_ROOT the repository.
set -u
set -o pipefail

# Numbers and messages must not depend on the machine's language.
export LC_ALL=C

# The program would set these itself, and begin anew for it.
export OMP_WAIT_POLICY=passive OPENBLAS_THREAD_TIMEOUT=4

sotta() { "$SOTTA_BIN" "$@"; }

run() {
  last_command="$*"
  set +e
  "$@" >stdout.txt 2>stderr.txt </dev/null
  last_code=$?
  set -e
}

give_up() {
  {
    echo "$(basename "$0"): $1"
    echo "  command: $last_command (exit code $last_code)"
    sed 's/^/  output: /' stdout.txt | tail -n 20
    sed 's/^/  errors: /' stderr.txt | tail -n 20
  } >&2
  exit 1
}

expect_code() {
  [ "$last_code" -eq "$1" ] || give_up "expected exit code $1"
}

expect_output() {
  grep -qF -e "$1" stdout.txt || give_up "expected this text in the output: $1"
}

expect_no_output() {
  [ ! -s stdout.txt ] || give_up "expected no output"
}

expect_error() {
  grep -qF -e "$1" stderr.txt || give_up "expected this text in the errors: $1"
}

expect_file() {
  [ -e "$1" ] || give_up "expected the file $1 to exist"
}

# Prints a field of the JSON object in the last run's output: json_field a.b
json_field() {
  python3 -c '
import json, sys
value = json.load(open("stdout.txt"))
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value if isinstance(value, str) else json.dumps(value))
' "$1" || give_up "expected JSON with the field $1"
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/sotta_cli_XXXXXX")
trap 'cd / && rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
set -e
