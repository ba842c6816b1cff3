# What .ci/run says of steps that pass, are skipped and fail.
. "$SOTTA_ROOT/tests/cli/expect.sh"

# ci COMMANDS: a run of CI made of these.
ci() { run bash -euo pipefail -c ". '$SOTTA_ROOT/.ci/steps.sh'; $1; print_summary"; }

ci 'step one true; step two true'
expect_code 0
expect_output ' s  one'
expect_output 'all checks passed in'

# Skipped is said in the summary, and is not passed.
ci 'step one true; step data bash -c "echo skipped: no data; exit 77"; step three true'
expect_code 0
expect_output 'skipped: no data'
expect_output ' skipped  data'
expect_output ' s  three'
expect_output 's, 1 skipped'
! grep -q 'all checks passed' stdout.txt || give_up 'expected no word of all'

ci 'step one false; step two touch reached'
expect_code 1
expect_output 'one failed after'
[ ! -e reached ] || give_up 'expected an end at the first failure'

# The checks that need what not every machine has.
mkdir -p clone/tools/ci && cp "$SOTTA_ROOT/tools/ci/90_real_data.sh" clone/tools/ci/
run clone/tools/ci/90_real_data.sh
expect_code 77
expect_output 'skipped: there are no models and data'
cp "$SOTTA_ROOT/tools/ci/75_neon.sh" clone/tools/ci/
printf '#!/bin/sh\nexit 1\n' >clone/tools/setup.sh && chmod +x clone/tools/setup.sh
mkdir bin && ln -s "$(command -v bash)" "$(command -v dirname)" bin/
PATH=$scratch/bin run clone/tools/ci/75_neon.sh
expect_code 77
expect_output 'skipped: aarch64-linux-gnu-g++ is not there'
