# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # globals shared between these files; a && b || die
# Errors, and running other programs.
#
# A function that can fail returns one of the E_ codes with the reason in $why; the caller dies or tries something else.

E_OTHER=1 E_USAGE=2 E_ABSENT=3 E_VERIFY=4 E_DISK=5
why=
child=

note() { printf 'pv-fetch: %s\n' "$*" >&2; }

# die CODE MESSAGE
die() {
	note "$2"
	exit "$1"
}

# fail CODE MESSAGE: `fail ... ; return` or as the last command of a function.
fail() {
	why=$2
	return "$1"
}

# need PROGRAM PACKAGE
need() {
	[ -n "$(type -P "$1")" ] || die "$E_OTHER" "needs $1 (Debian package $2)"
}

# logged COMMAND...: runs it with its output in $work/log; a failure becomes a code and a one-line reason.
logged() {
	local status
	set -m # a process group of its own, to stop all of it
	(
		set +m
		unlock_all # a killed pv-fetch must not leave its locks to a program that goes on
		"$@"
	) >"$work/log" 2>&1 </dev/null &
	child=$!
	set +m
	wait "$child"
	status=$?
	child=
	[ "$status" -eq 0 ] && return
	log_reason "$status"
}

# "Undetermined Error" is what apt 3 says of a local copy with a wrong hash.
# One kind of failure a line: the code, and what programs (apt, its methods, mmdebstrap, tar, dpkg-deb) say then.
log_reason() {
	local line
	if line=$(log_line 'No space left on device|File too large|Disk quota exceeded|enough free space|Read-only file system|received signal 25' 'Write error'); then
		fail "$E_DISK" "cannot write to $cache: $line"
	elif [ "$1" -eq 153 ]; then
		fail "$E_DISK" "cannot write to $cache: file size limit"
	elif line=$(log_line 'Hash Sum mismatch|Hashes of (expected|received) file|unexpected size|[Ii]nvalid signature|BADSIG|NO_PUBKEY|EXPKEYSIG|REVKEYSIG|not signed|isn.t signed|verification failed|Clearsigned file|is expired|not valid yet|weak security|Undetermined Error'); then
		fail "$E_VERIFY" "$line"
	elif line=$(log_line 'Failed to fetch' '^E: ' '^W: ' '.'); then
		fail "$E_ABSENT" "$line"
	else
		fail "$E_ABSENT" "failed with status $1"
	fi
}

# log_line REGEX...: the first line of the log that matches the first regex that any line matches.
log_line() {
	local regex
	for regex; do
		grep -aEm1 -- "$regex" "$work/log" | sed 's/^[EW]: //; s/^[[:space:]]*//; s/[[:space:]]\+/ /g; s/Undetermined Error/wrong hash/' | grep . && return
	done
	return 1
}

interrupted() {
	trap - INT TERM HUP
	[ -z "$child" ] || {
		kill -TERM -- "-$child" 2>/dev/null
		wait "$child"
	}
	exit "$E_OTHER"
}
trap interrupted INT TERM HUP
