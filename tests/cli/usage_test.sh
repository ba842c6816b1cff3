# What every subcommand shares: the version, the help, and wrong usage.
. "$SOTTA_ROOT/tests/cli/expect.sh"

run sotta --version
expect_code 0
grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' stdout.txt || give_up 'expected a version'

run sotta --help
expect_code 0
expect_output 'info'

run sotta
expect_code 2
expect_no_output

run sotta evla
expect_code 2
expect_no_output
expect_error 'evla'
expect_error 'eval'

run sotta info --no-such-flag
expect_code 2
expect_error 'no-such-flag'
