# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # globals shared between these files; a && b || die
# What each kind of base file is made of. Order: cache, pinned version, newest of the series.

# kind_get: sets result, result_version and (debian-packages) result_files, or dies.
kind_get() {
	local id fd
	id=$(base_key)
	result='' result_version='' result_files=() ref=()
	[ -z "$opt_refresh" ] && ref_get "$id" && return
	lock "ref-$id"
	fd=$lock_fd
	[ -z "$opt_refresh" ] && ref_get "$id" && return
	result='' result_version='' result_files=() ref=()
	case ${base[kind]} in
	debian-orig) get_release source "${base[source]}" apt_origs "${base[source]}_*.orig.tar.*" ;;
	debian-file) get_release "${base[arch]}" "${base[package]}" apt_binaries "${base[package]}_*.deb" ;;
	debian-packages) get_packages ;;
	debian-tree) get_tree ;;
	esac || die "$?" "${base_file}: $why"
	[ ${#ref[@]} -eq 0 ] || ref_put "$id" "${ref[@]}"
	unlock "$fd"
}

# newest SERIES VERSION: of the lines in the array lines (VERSION, path, SHA-256), the newest one of that series and
# that version (empty: any) in the array found; a file with a pinned hash goes first.
newest() {
	local line v w best=''
	found=()
	for line in ${lines+"${lines[@]}"}; do
		IFS=$'\t' read -r v w _ <<<"$line"
		in_series "$v" "$1" || continue
		[ -z "$2" ] || is_version "$v" "$2" || continue
		if [ -n "$2" ] && [ -n "${base_sha[${w##*/}]-}" ]; then
			best=$line
			break
		fi
		[ -n "$best" ] && dpkg --compare-versions "$v" le "${best%%$'\t'*}" && continue
		best=$line
	done
	[ -n "$best" ] && IFS=$'\t' read -r -a found <<<"$best"
}

# The file itself, or the one inside a package, into the cache: take URI NAME SHA256 VERSION
take() {
	local origin="${base[kind]} ${base[source]-${base[package]-}} ${base[file]-}" sha name
	origin=${origin% }
	if [ "${base[kind]}" = debian-orig ] || [[ $2 != *.deb ]]; then
		fetch_file "$1" "$2" "$3" "$4" "$origin" && sha=$3 name=$2 || return
	else
		need dpkg-deb dpkg
		download "$1" "$2" "$3" || return
		name=${base[file]##*/}
		mkdir -- "$downloaded/d" && chmod 755 -- "$downloaded/d" || die "$E_DISK" "cannot write to $work"
		logged unpack "$downloaded/$2" "${base[file]#/}" "$downloaded/d/$name" || {
			local code=$?
			why="${base[file]} in $2: $why"
			return "$code"
		}
		sha=$(sha256sum <"$downloaded/d/$name" | cut -d' ' -f1)
		file_keep "$downloaded/d" "$name" "$sha" "$4" "$origin" || return
		remove "$downloaded"
	fi
	result_version=$4
	ref+=("version"$'\t'"$4" "file"$'\t'"$name"$'\t'"$sha")
}

unpack() { (set -o pipefail && dpkg-deb --fsys-tarfile "$1" | tar -xO "./$2" >"$3"); }

# get_release ARCH NAME INDEX PATTERN: one release of something versioned; INDEX lists what the suite has.
get_release() {
	local code=0 n lines=() found=() reason pinned=${base[version]} dir
	if [ "${base[kind]}" = debian-orig ]; then
		for n in "${!base_sha[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $n = $4 ]] && file_cached "${base_sha[$n]}" "$n" && {
				ref=("version"$'\t'"$result_version" "file"$'\t'"$n"$'\t'"${base_sha[$n]}")
				return
			}
		done
	fi

	if apt_open "$1"; then
		mapfile -t lines < <("$3" "$2")
		if [ -n "$opt_refresh" ] || ! newest '' "$pinned"; then
			apt_refresh now || return
			mapfile -t lines < <("$3" "$2")
		fi
		apt_close
		reason="$mirror has no $2 ${pinned} in ${base[suite]}"
	else
		code=$?
		[ "$code" -eq "$E_ABSENT" ] || return "$code"
		reason=$why
	fi

	# the pinned version, as listed
	if newest '' "$pinned"; then
		n=${found[1]##*/}
		if [ "${base_sha[$n]-${found[2]}}" != "${found[2]}" ]; then
			fail "$E_VERIFY" "$n: the index has another SHA-256 (${found[2]}) than the base file"
			return
		fi
		take "$mirror/${found[1]}" "$n" "${found[2]}" "${found[0]}" && return
		code=$?
		[ "$code" -eq "$E_ABSENT" ] || return "$code"
		reason=$why
	fi
	# no longer listed, but maybe still beside the others
	if newest '' ''; then
		dir=${found[1]%/*}
		for n in "${!base_sha[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $n = $4 && $dir/$n != "${found[1]}" ]] || continue
			take "$mirror/$dir/$n" "$n" "${base_sha[$n]}" "$pinned" && return
			code=$?
			[ "$code" -eq "$E_ABSENT" ] || return "$code"
		done
	fi
	if [ -n "${base[upstream]-}" ]; then
		n=${base[upstream]##*/}
		take "${base[upstream]}" "$n" "${base_sha[$n]}" "$pinned" && return
		code=$?
		[ "$code" -eq "$E_ABSENT" ] || return "$code"
	fi
	# another release of the series: the mirror's newest, or one in the cache
	if newest "${base[series]}" ''; then
		local told="$base_file: $reason; using ${found[0]}, the newest of series ${base[series]}"
		if take "$mirror/${found[1]}" "${found[1]##*/}" "${found[2]}" "${found[0]}"; then
			note "$told"
			ref+=("note"$'\t'"$told")
			return
		else
			code=$?
			[ "$code" -eq "$E_ABSENT" ] || return "$code"
			reason=$why
		fi
	fi
	cached_release && return
	fail "$E_ABSENT" "$reason; nor is anything else of series ${base[series]} to be had"
}

# The newest of the series that the cache holds; not remembered.
cached_release() {
	local m lines=() found=() origin="${base[kind]} ${base[source]-${base[package]-}} ${base[file]-}"
	for m in "$cache"/files/*/meta; do
		[ -f "$m" ] && [ "$(meta "$m" origin)" = "${origin% }" ] || continue
		lines+=("$(meta "$m" version)"$'\t'"$(meta "$m" name)"$'\t'"$(basename "${m%/meta}")")
	done
	newest "${base[series]}" '' && file_cached "${found[2]}" "${found[1]}" || return
	note "$base_file: ${reason}; using ${found[0]} of the same series, from the cache"
	ref=()
}

# find_package SPEC: PKG, PKG=VERSION or a pattern; sets found, and name. Needs an open suite.
find_package() {
	local spec=${1%%=*} version='' n lines best='' best_name=''
	[[ $1 = *=* ]] && version=${1#*=}
	name=$spec
	if [[ $spec != *[*?[]* ]]; then
		mapfile -t lines < <(apt_binaries "$spec")
		newest "${base[series]-}" "$version"
		return
	fi
	while IFS= read -r n; do
		# shellcheck disable=SC2053 # a pattern
		[[ $n = $spec ]] || continue
		mapfile -t lines < <(apt_binaries "$n")
		newest "${base[series]-}" "$version" || continue
		if [ -n "$best" ]; then
			# the newest; of several, the shortest name: linux-image-6.12.1-amd64 and not -cloud-amd64
			dpkg --compare-versions "${found[0]}" lt "${best%%$'\t'*}" && continue
			if dpkg --compare-versions "${found[0]}" eq "${best%%$'\t'*}"; then
				[ ${#n} -lt ${#best_name} ] || [[ ${#n} -eq ${#best_name} && $n < $best_name ]] || continue
			fi
		fi
		best="${found[0]}"$'\t'"${found[1]}"$'\t'"${found[2]}"
		best_name=$n
	done < <(apt-cache -c "$apt_conf" pkgnames "${spec%%[*?[]*}" 2>/dev/null)
	name=$best_name
	[ -n "$best" ] && IFS=$'\t' read -r -a found <<<"$best"
}

# resolve: all of the base file's packages into the array wanted (lines NAME, VERSION, path, SHA-256).
resolve() {
	local spec specs name found
	wanted=()
	read -r -a specs <<<"${base[packages]}"
	for spec in "${specs[@]}"; do
		if ! find_package "$spec"; then
			fail "$E_ABSENT" "no package $spec for ${base[arch]} in ${base[suite]}"
			[ -n "$apt_fresh" ] && [ "$command" != debs ] && [[ $spec = *=* ]] || return "$E_ABSENT"
			find_package "${spec%%=*}" || return "$E_ABSENT"
			local told="$base_file: $why; using ${found[0]}, the newest"
			note "$told"
			ref+=("note"$'\t'"$told")
		fi
		wanted+=("$name"$'\t'"${found[0]}"$'\t'"${found[1]}"$'\t'"${found[2]}")
	done
}

get_packages() {
	local wanted=() line name version path sha d versions=() id
	apt_open "${base[arch]}" || return
	if [ -n "$opt_refresh" ]; then apt_refresh now || return; fi
	if ! resolve; then
		[ -z "$apt_fresh" ] || return "$E_ABSENT"
		apt_refresh now && resolve || return
	fi
	apt_close
	for line in "${wanted[@]}"; do
		IFS=$'\t' read -r name version path sha <<<"$line"
		if [ "${base_sha[${path##*/}]-$sha}" != "$sha" ]; then
			fail "$E_VERIFY" "${path##*/}: the index has another SHA-256 ($sha) than the base file"
			return
		fi
		fetch_file "$mirror/$path" "${path##*/}" "$sha" "$version" "${base[kind]} $name" || return
		versions+=("$name=$version")
		result_files+=("$result")
		ref+=("file"$'\t'"${path##*/}"$'\t'"$sha")
	done
	id=$(key "${wanted[@]}")
	d=$(mktemp -d -- "$work/set.XXXXXX") && chmod 755 -- "$d" && ln -- "${result_files[@]}" "$d/" ||
		die "$E_DISK" "cannot write to $work"
	[ -d "$cache/sets/$id" ] || mv -T -- "$d" "$cache/sets/$id" 2>/dev/null || [ -d "$cache/sets/$id" ] ||
		die "$E_DISK" "cannot write to $cache/sets"
	result=$cache/sets/$id
	result_version=${versions[*]}
	ref=("version"$'\t'"$result_version" "${ref[@]}" "folder"$'\t'"sets/$id")
}

# mmdebstrap without root, chroot, binfmt or user namespaces: unpacking needs none of them. A configured tree does.
get_tree() {
	local d m code=1 variant=${base[variant]:-extract} how packages final
	need mmdebstrap mmdebstrap
	if [ "$variant" = extract ] || [ "$variant" = custom ]; then
		how=(--mode=chrootless --skip=check/chrootless)
	else
		[ "$(id -u)" -eq 0 ] || die "$E_USAGE" "$base_file: variant $variant needs root (extract does not)"
		how=(--mode=root)
	fi
	read -r -a packages <<<"${base[packages]}"
	cache_work
	apt_keyring
	apt_mirrors || return
	d=$(mktemp -d -- "$work/tree.XXXXXX") && chmod 755 -- "$d" || die "$E_DISK" "cannot write to $work"
	for m in "${mirrors[@]}"; do
		apt_setup "$m" "${base[arch]}"
		apt-config -c "$apt_conf" dump Acquire >"$d/apt.conf"
		apt-config -c "$apt_conf" dump APT::Sandbox::User >>"$d/apt.conf"
		(eval "$(apt-config -c "$apt_conf" shell f Dir::Etc::netrc/f p Dir::Etc::netrcparts/d)" &&
			printf '%s\n' "Dir::Etc::netrc \"$f\";" "Dir::Etc::netrcparts \"$p\";") >>"$d/apt.conf"
		apt_close
		# shellcheck disable=SC2016 # for mmdebstrap's shell
		logged env TMPDIR="$work" PV_PACKAGES="$d/packages" \
			mmdebstrap "${how[@]}" --variant="$variant" --format=directory --skip=check/qemu,check/empty \
			--architectures="${base[arch]}" --include="$(IFS=,; printf %s "${packages[*]}")" \
			--aptopt="$d/apt.conf" \
			--extract-hook='(cd -- "$1/var/cache/apt/archives" && printf "%s\n" *.deb) >"$PV_PACKAGES"' \
			"${base[suite]}" "$d/root" "${apt_line/ file:/ copy:}"
		code=$?
		[ "$code" -eq "$E_ABSENT" ] || break
		remove "$d/root"
	done
	if [ "$code" -ne 0 ]; then
		why="tree of ${base[packages]} (${base[suite]}, ${base[arch]}): $why"
		return "$code"
	fi
	rm -f -- "$d/apt.conf"
	logged tidy_tree "$d/root" "$variant" || return
	result_version=$(key "$(cat -- "$d/packages")")
	final=trees/${base[name]:-tree}-$(key "$(base_key)" "$result_version")
	printf '%s\n' "name: root" "version: $result_version" \
		"origin: debian-tree ${base[suite]} ${base[arch]} ${base[packages]}" "fetched: $(date -u +%FT%TZ)" >"$d/meta" ||
		die "$E_DISK" "cannot write to $work"
	[ -d "$cache/$final" ] || mv -T -- "$d" "$cache/$final" 2>/dev/null || [ -d "$cache/$final" ] ||
		die "$E_DISK" "cannot write to $cache/trees"
	result=$cache/$final/root
	ref=("version"$'\t'"$result_version" "folder"$'\t'"$final/root")
}

# tidy_tree ROOT VARIANT: nothing of this machine in it, no link that leaves it, and a list of what it holds.
tidy_tree() (
	set -e
	cd -- "$1"
	rm -f etc/apt/apt.conf.d/99mmdebstrap etc/apt/sources.list
	[ "$2" != extract ] || rm -rf etc/hostname etc/resolv.conf dev/*
	# without base-files in it, a tree lacks the links of a merged /usr
	for n in bin sbin lib lib32 lib64 libx32; do
		if [ -d "usr/$n" ] && [ ! -e "$n" ] && [ ! -L "$n" ]; then ln -s "usr/$n" "$n"; fi
	done
	find . -type l -lname '/*' -printf '%d %p\0%l\0' | while IFS= read -r -d '' link && IFS= read -r -d '' target; do
		case $target in /dev/* | /proc/* | /sys/* | /run/*) continue ;; esac
		up=
		for ((i = ${link%% *}; i > 1; i--)); do up+=../; done
		ln -sfn -- "$up${target#/}" "${link#* }"
	done
	[ "$(id -u)" -eq 0 ] || chmod -R u+rX .
	find . -type f -print0 | sort -z | xargs -0r sha256sum -- >../manifest
	tree_links . >../links
)
