#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Histogram and /proc/interrupts reader, compiled with the sanitizers.
. "$(dirname "$0")/../../common/tap.sh"

here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
cc=${CC:-cc}
if ! command -v "${cc%% *}" >/dev/null; then
	skip "unit tests" "no C compiler"
	done_testing
fi
# shellcheck disable=SC2086 # CC may have arguments
if ! $cc -std=gnu11 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -I"$common" \
	"$here/unit.c" "$here/../hist.c" "$common/pv.c" "$common/tlbipi.c" -lm -o "$TMP/unit"; then
	ok 1 "unit.c compiles"
	done_testing
fi
"$TMP/unit" "$TMP" >"$TMP/out" 2>&1
st=$?
cat "$TMP/out"
[ $st -eq 0 ] && ! grep -q '^not ok' "$TMP/out"
