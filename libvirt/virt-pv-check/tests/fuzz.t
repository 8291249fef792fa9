#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A few seconds of fuzzing for each parser; `make check-fuzz` goes on longer.
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
run "$(dirname "$0")/fuzz" "${FUZZ_SECONDS:-3}"
is "$status" 0 "no finding"
diag "$err"
for target in domain host capabilities policy qmp agent; do
	like "$out" "^$target: [0-9]+ inputs, no finding" "$target"
done
done_testing
