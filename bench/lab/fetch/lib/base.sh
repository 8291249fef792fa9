# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # globals shared between these files; a && b || die
# Base files: `key: value` lines, # comments. README.md has the keys.

declare -A base base_sha
base_file=

base_new() {
	base_file=$1
	base=()
	base_sha=()
}

base_bad() { die "$E_USAGE" "$base_file: $1"; }

base_read() {
	local line key value number=0
	base_new "$1"
	[ -f "$1" ] && [ -r "$1" ] || base_bad "no such base file"
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1))
		line=${line%$'\r'}
		[[ $line =~ ^[[:space:]]*(#.*)?$ ]] && continue
		[[ $line =~ ^([a-z][a-z0-9-]*):[[:space:]]+([^[:space:]].*)$ ]] || base_bad "line $number: not \"key: value\""
		key=${BASH_REMATCH[1]}
		value=${BASH_REMATCH[2]}
		[[ $value =~ ^(.*[^[:space:]])?[[:space:]]+#.*$ ]] && value=${BASH_REMATCH[1]}
		while [[ $value = *[[:space:]] ]]; do value=${value%?}; done
		[ -n "$value" ] || base_bad "line $number: $key has no value"
		case $key in
		sha256)
			[[ $value =~ ^([0-9a-f]{64})[[:space:]]+([^/[:space:]]+)$ ]] || base_bad "line $number: not \"sha256: HASH FILENAME\""
			[ -z "${base_sha[${BASH_REMATCH[2]}]-}" ] || base_bad "line $number: a second hash of ${BASH_REMATCH[2]}"
			base_sha[${BASH_REMATCH[2]}]=${BASH_REMATCH[1]}
			;;
		packages)
			base[packages]+="${base[packages]:+ }$value"
			;;
		kind | name | suite | components | arch | valid-until | series | version | upstream | source | package | file | variant | x-*)
			[ -z "${base[$key]-}" ] || base_bad "line $number: $key for the second time"
			base[$key]=$value
			;;
		*) base_bad "line $number: unknown key $key" ;;
		esac
	done <"$1"
	[ -n "${base[kind]-}" ] || base_bad "no kind"
}

# base_word KEY REGEX: if there, the value must be like that.
base_word() {
	[ -z "${base[$1]-}" ] || [[ ${base[$1]} =~ ^($2)$ ]] || base_bad "$1: ${base[$1]}: not valid"
}

base_check() {
	local k needed='' p
	case ${base[kind]-} in
	'') ;;
	debian-orig) needed='suite source series version' ;;
	debian-file) needed='suite package file series version' ;;
	debian-packages | debian-tree) needed='suite packages' ;;
	*) base_bad "unknown kind ${base[kind]}" ;;
	esac
	for k in $needed; do
		[ -n "${base[$k]-}" ] || base_bad "${base[kind]} needs the key $k"
	done
	base_word suite '[a-z0-9][a-z0-9._/-]*'
	base_word components '[a-z0-9][a-z0-9 /-]*'
	base_word arch '[a-z0-9][a-z0-9-]*'
	base_word valid-until 'ignore'
	base_word series '[0-9A-Za-z][0-9A-Za-z.+~-]*'
	base_word version '[0-9A-Za-z][0-9A-Za-z.+~:-]*'
	base_word source '[a-z0-9][a-z0-9.+-]+'
	base_word package '[a-z0-9][a-z0-9.+-]+'
	base_word file '[^/].*'
	base_word variant '[a-z]+'
	base_word name '[A-Za-z0-9][A-Za-z0-9._+-]*'
	base_word upstream '[a-z+]+:.*/[^/]+'
	# shellcheck disable=SC2086 # words
	for p in $(set -f; printf '%s ' ${base[packages]-}); do
		[[ $p =~ ^[a-z0-9][][a-z0-9.+*?-]+(=[0-9A-Za-z.+~:-]+)?$ ]] || base_bad "packages: $p: not valid"
	done
	[ -n "${base[arch]-}" ] || {
		need dpkg dpkg
		base[arch]=$(dpkg --print-architecture)
	}
	if [ -n "${base[upstream]-}" ] && [ -z "${base_sha[${base[upstream]##*/}]-}" ]; then
		base_bad "upstream needs a line sha256: HASH ${base[upstream]##*/}"
	fi
}

# What decides the result, for the cache's key.
base_key() {
	local k words=()
	for k in kind suite components arch valid-until series version upstream source package file variant name; do
		words+=("$k=${base[$k]-}")
	done
	# shellcheck disable=SC2086 # words
	mapfile -t -O ${#words[@]} words < <(
		set -f
		printf 'package=%s\n' ${base[packages]-} | if [ "${base[kind]}" = debian-tree ]; then sort -u; else cat; fi
		for k in "${!base_sha[@]}"; do printf 'sha256=%s %s\n' "${base_sha[$k]}" "$k"; done | sort
	)
	key 1 "${words[@]}"
}

# upstream_version DEBIAN-VERSION: without epoch, revision and repacking suffix, in $REPLY.
upstream_version() {
	REPLY=${1#*:}
	REPLY=${REPLY%-*}
	REPLY=${REPLY%%+*}
}

# is_version DEBIAN-VERSION WANTED: WANTED is a whole Debian version, or an upstream one.
is_version() {
	[ "$1" = "$2" ] && return
	upstream_version "$1"
	[ "$REPLY" = "$2" ]
}

# in_series DEBIAN-VERSION SERIES: no series is any.
in_series() {
	[ -n "$2" ] || return 0
	upstream_version "$1"
	[[ $REPLY = "$2" || $REPLY = "$2".* ]]
}
