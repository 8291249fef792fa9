# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# TAP for the *.t files (bash): source it, call ok/is/like/run/skip, end with done_testing.
#
# PV_BIN   folder with the programs under test (plain or sanitized build)
# $TMP     a folder that is removed at the end

set -u
: "${PV_BIN:?folder with the programs under test}"
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
_n=0
_failed=0

# ok STATUS NAME: STATUS is an exit status; 0 passes.
ok() {
	_n=$((_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $_n - $2"
	else
		_failed=$((_failed + 1))
		echo "not ok $_n - $2"
	fi
}

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# is GOT WANTED NAME
is() {
	[ "$1" = "$2" ]
	local st=$?
	ok $st "$3"
	[ $st -eq 0 ] || { diag "     got: $1"; diag "  wanted: $2"; }
}

# like TEXT REGEX NAME (extended regular expression, grep -E)
like() {
	grep -Eq -- "$2" <<<"$1"
	local st=$?
	ok $st "$3"
	[ $st -eq 0 ] || { diag "    text: $1"; diag "  wanted: $2"; }
}

# run COMMAND...: sets $status, $out, $err
run() {
	# shellcheck disable=SC2034
	out=$("$@" 2>"$TMP/.err" </dev/null)
	# shellcheck disable=SC2034
	status=$?
	# shellcheck disable=SC2034
	err=$(cat "$TMP/.err")
}

# skip NAME REASON
skip() {
	_n=$((_n + 1))
	echo "ok $_n - $1 # SKIP $2"
}

done_testing() {
	echo "1..$_n"
	[ "$_failed" -eq 0 ]
	exit
}
