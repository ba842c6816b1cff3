# What .ci/run is written with; sourced by it.
#
# A step that cannot be made on this machine prints why and exits with 77: it
# counts neither as passed nor as failed, and the summary says that it was
# skipped.
skipped_code=77
summary=()
skipped=0

# step NAME COMMAND...: runs it and notes how long it took.
step() {
  local name=$1 start=$SECONDS code=0
  shift
  echo "=== $name"
  "$@" </dev/null || code=$?
  if [ $code = $skipped_code ]; then
    skipped=$((skipped + 1))
    summary+=("$(printf '%8s  %s' skipped "$name")")
  elif [ $code != 0 ]; then
    echo "=== $name failed after $((SECONDS - start)) s"
    exit 1
  else
    summary+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
  fi
}

# The last words: every step, and what was not checked.
print_summary() {
  printf '%s\n' "${summary[@]}"
  if [ $skipped = 0 ]; then
    echo "all checks passed in $SECONDS s"
  else
    echo "checks passed in $SECONDS s, $skipped skipped"
  fi
}
