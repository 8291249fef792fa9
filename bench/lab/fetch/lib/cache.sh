# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # globals shared between these files; a && b || die
# The cache: every entry is made under tmp/ and renamed into its place, so it is whole or absent.
#
#   files/SHA256/{NAME,meta}                one file, in a folder named by its own hash
#   sets/KEY/                               a folder of such files (hard links)
#   trees/NAME-KEY/{root,manifest,links,meta}  an unpacked tree; manifest and links are for verify
#   refs/KEY                                what a base file came to
#   apt/KEY/                                private apt state of one mirror, suite and architecture
#   locks/ tmp/

locks_held=()

# Nothing is written here until something is to be fetched: a warm cache may be read-only.
cache_open() {
	local home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
	cache=${PV_CACHE:-$home/.cache/pv-tlb-flush}
	[[ $cache = /* ]] || cache=$PWD/$cache
	[[ $cache != *[\"\\$'\n']* ]] || die "$E_USAGE" "PV_CACHE: no quotes, backslashes or newlines, please"
	if [ -d "$cache" ]; then cache=$(cd -- "$cache" && pwd -P) || die "$E_DISK" "cannot read $cache"; fi
	work=
}

# A folder for temporary files. Its lock tells a running pv-fetch from a dead one.
cache_work() {
	[ -z "$work" ] || return 0
	local message
	message=$(mkdir -p -- "$cache"/{apt,files,locks,refs,sets,tmp,trees} 2>&1) ||
		die "$E_DISK" "cannot write to $cache: ${message%%$'\n'*} (PV_CACHE names another place)"
	cache=$(cd -- "$cache" && pwd -P)
	local old lock
	while IFS= read -r -d '' old; do
		if { exec {lock}>"$old/.lock"; } 2>/dev/null; then
			if flock -n "$lock"; then remove "$old"; fi
			exec {lock}>&-
		fi
	done < <(find "$cache/tmp" -mindepth 1 -maxdepth 1 -name 'run.*' -mmin +1 -print0 2>/dev/null)
	trap cache_exit EXIT
	work=$(mktemp -d -- "$cache/tmp/run.XXXXXX" 2>/dev/null) ||
		die "$E_DISK" "cannot write to $cache/tmp (PV_CACHE names another place)"
	exec {work_lock}>"$work/.lock" && flock "$work_lock" || die "$E_DISK" "cannot lock $work"
	locks_held[work_lock]=1
}

cache_exit() {
	[ -z "$work" ] || remove "$work"
}

# Trees can hold folders without write permission.
remove() {
	rm -rf -- "$1" 2>/dev/null && return
	chmod -R u+rwX -- "$1" 2>/dev/null
	rm -rf -- "$1"
}

# lock NAME: waits for whoever has it; sets $lock_fd. unlock FD.
lock() {
	cache_work
	{ exec {lock_fd}>>"$cache/locks/$1"; } 2>/dev/null || die "$E_DISK" "cannot write to $cache/locks"
	locks_held[lock_fd]=1
	flock -n "$lock_fd" && return
	note "another pv-fetch is at it, waiting"
	flock "$lock_fd"
}

unlock() {
	local fd=$1
	exec {fd}>&-
	unset "locks_held[$fd]"
}

unlock_all() {
	local fd
	for fd in "${!locks_held[@]}"; do exec {fd}>&-; done
}

# key WORD...: a short content key.
key() {
	local sum
	sum=$(printf '%s\0' "$@" | sha256sum)
	printf '%s' "${sum:0:16}"
}

# meta FILE KEY
meta() { sed -n "s/^$2: //p" -- "$1" 2>/dev/null; }

# file_cached SHA256 NAME: sets $result and $result_version.
file_cached() {
	local d=$cache/files/$1
	[ -f "$d/$2" ] && [ -f "$d/meta" ] || return
	[ "$(stat -c %s -- "$d/$2")" = "$(meta "$d/meta" size)" ] || return
	result=$d/$2
	result_version=$(meta "$d/meta" version)
}

# file_keep FOLDER NAME SHA256 VERSION ORIGIN: makes FOLDER (with the file NAME) a cache entry.
file_keep() {
	local d=$1 got
	got=$(sha256sum <"$d/$2") || {
		fail "$E_DISK" "cannot read $d/$2"
		return
	}
	[ "${got%% *}" = "$3" ] || {
		fail "$E_VERIFY" "$2: SHA-256 is ${got%% *}, not $3"
		return
	}
	chmod 644 -- "$d/$2" &&
		printf '%s\n' "name: $2" "version: $4" "size: $(stat -c %s -- "$d/$2")" "origin: $5" "fetched: $(date -u +%FT%TZ)" >"$d/meta" &&
		sync -- "$d/$2" "$d/meta" || {
		fail "$E_DISK" "cannot write to $cache"
		return
	}
	[ ! -e "$cache/files/$3" ] || remove "$cache/files/$3"
	mv -T -- "$d" "$cache/files/$3" || {
		fail "$E_DISK" "cannot write to $cache/files"
		return
	}
	file_cached "$3" "$2"
}

# ref_get KEY: sets result, result_version, result_files out of what an earlier run found; all must still be there.
ref_get() {
	[ -f "$cache/refs/$1" ] || return
	local kind path sha
	result='' result_version='' result_files=()
	while IFS=$'\t' read -r kind path sha; do
		case $kind in
		version) result_version=$path ;;
		note) [ -z "$path" ] || note "$path" ;;
		file)
			local v=$result_version
			file_cached "$sha" "$path" || return
			result_version=$v
			result_files+=("$result")
			;;
		folder)
			[ -d "$cache/$path" ] || return
			result=$cache/$path
			;;
		esac
	done <"$cache/refs/$1"
	[ -n "$result" ]
}

# ref_put KEY LINE...
ref_put() {
	local key=$1
	shift
	printf '%s\n' "$@" >"$work/ref" && mv -T -- "$work/ref" "$cache/refs/$key" ||
		die "$E_DISK" "cannot write to $cache/refs"
}

cache_list() {
	local d f
	for d in "$cache"/files/*/ "$cache"/trees/*/; do
		d=${d%/}
		[ -f "$d/meta" ] || continue
		f=$d/$(meta "$d/meta" name)
		[ -d "$d/root" ] && f=$d/root
		printf '%s\t%s\t%s\n' "$f" "$(meta "$d/meta" version)" "$(meta "$d/meta" origin)"
	done
}

# tree_links ROOT: every symbolic link and its target, NUL-separated.
tree_links() { (cd -- "$1" && find . -type l -printf '%p -> %l\0' | sort -z); }

cache_verify() {
	local d name bad=0 count=0 damaged
	for d in "$cache"/files/*/ "$cache"/trees/*/; do
		[ -d "$d" ] || continue
		d=${d%/}
		damaged=
		count=$((count + 1))
		if [[ $d = "$cache"/files/* ]]; then
			name=$(meta "$d/meta" name)
			[ -n "$name" ] && [ -f "$d/$name" ] && [ "$(sha256sum <"$d/$name" | cut -d' ' -f1)" = "${d##*/}" ] ||
				damaged="$d/$name: not the file of that SHA-256"
		else
			name=$(cd -- "$d/root" 2>/dev/null && sha256sum --quiet -c ../manifest 2>&1) || damaged="$d: ${name%%$'\n'*}"
			[ -n "$damaged" ] || tree_links "$d/root" | cmp -s - "$d/links" || damaged="$d: a symbolic link is not as it was"
		fi
		[ -n "$damaged" ] || continue
		bad=$((bad + 1))
		note "damaged: $damaged"
		[ -z "$opt_remove" ] || remove "$d"
	done
	printf '%d entries, %d damaged\n' "$count" "$bad"
	[ "$bad" -eq 0 ] || exit "$E_VERIFY"
}
