# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # globals shared between these files; a && b || die
# Reading Debian's indexes through apt, with lists, cache and sources of our own. The machine's apt configuration is
# still read first: its proxy, credentials and certificates are what reaches the mirror.

apt_helper=/usr/lib/apt/apt-helper
apt_conf=
apt_lock=

# The Debian mirrors of the machine's own apt configuration, in its order, into the array mirrors.
apt_mirrors() {
	mirrors=()
	if [ -n "${PV_MIRROR-}" ]; then
		mirrors=("${PV_MIRROR%/}")
		return
	fi
	need apt-get apt
	local ask=(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages") os=${PV_OS_RELEASE:-/etc/os-release} release
	# The label is known once the machine's lists were fetched; before that, go by the release's name.
	mapfile -t mirrors < <("${ask[@]}" "Label: Debian" 2>/dev/null | apt_unique)
	if [ ${#mirrors[@]} -eq 0 ] && grep -qx 'ID=debian' "$os" 2>/dev/null; then
		mapfile -t mirrors < <(
			for release in $(sed -n 's/^VERSION_CODENAME=//p' "$os") stable oldstable testing unstable sid; do
				"${ask[@]}" --no-release-info "Release: $release" "Component: main" 2>/dev/null
			done | apt_unique
		)
	fi
	[ ${#mirrors[@]} -gt 0 ] ||
		fail "$E_ABSENT" "no Debian mirror in this machine's apt configuration: set PV_MIRROR to one's URL (the folder that holds dists/)"
}

# Security archives hold updates only; a CD-ROM cannot be asked for.
apt_unique() { grep -Ev '^cdrom:|[/-]security/?$' | sed 's,/*$,,' | awk '!seen[$0]++'; }

apt_keyring() {
	local k
	for k in ${PV_KEYRING:+"$PV_KEYRING"} /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[ -r "$k" ] || continue
		keyring=$(readlink -f -- "$k")
		[[ $keyring != *[[:space:]\]]* ]] || die "$E_USAGE" "$keyring: no spaces in a keyring's path, please"
		return
	done
	die "$E_OTHER" "no Debian keyring (package debian-archive-keyring, or PV_KEYRING)"
}

# apt_open ARCH: opens the base file's suite for ARCH ("source" for source packages). Sets apt_conf, apt_line, mirror,
# and holds a lock until apt_close.
apt_open() {
	local m code reason='' worst=$E_ABSENT
	cache_work
	need apt-get apt
	apt_keyring
	apt_mirrors || return
	for m in "${mirrors[@]}"; do
		apt_setup "$m" "$1"
		apt_refresh daily && return
		code=$?
		apt_close
		reason+="${reason:+; }suite ${base[suite]} from $m: $why"
		[ "$code" -le "$worst" ] || worst=$code
		[ "$code" -ne "$E_DISK" ] || break
	done
	fail "$worst" "$reason"
}

apt_close() {
	[ -z "$apt_lock" ] || unlock "$apt_lock"
	apt_lock=
}

# apt_setup MIRROR ARCH: lays out a private apt folder.
apt_setup() {
	local type=deb target=Packages arch=$2 valid=
	mirror=$1
	if [ "$arch" = source ]; then
		type=deb-src
		target=Sources
		arch=$(dpkg --print-architecture)
	fi
	[ "${base[valid-until]-}" != ignore ] || valid=' check-valid-until=no'
	apt_line="$type [arch=$arch target=$target signed-by=$keyring$valid] $mirror ${base[suite]} ${base[components]:-main}"
	[ "$type" = deb ] || apt_line=${apt_line/arch=$arch /}
	apt_dir=$cache/apt/${base[suite]}-$2-$(key "$apt_line")
	apt_conf=$apt_dir/apt.conf
	lock "apt-${apt_dir##*/}"
	apt_lock=$lock_fd
	apt_fresh=
	mkdir -p -- "$apt_dir"/{lists,cache,state} "$apt_dir"/{lists,cache/archives}/partial &&
		printf '%s\n' "$apt_line" >"$apt_dir/sources.list" &&
		cat >"$apt_conf.new" <<END && mv -- "$apt_conf.new" "$apt_conf" || die "$E_DISK" "cannot write to $apt_dir"
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::Languages;
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::PDiffs "false";
Dir::State "$apt_dir/state";
Dir::State::lists "$apt_dir/lists";
Dir::State::status "/dev/null";
Dir::State::extended_states "extended_states";
Dir::Cache "$apt_dir/cache";
Dir::Cache::archives "archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Etc::sourcelist "$apt_dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
END
}

# apt_refresh WHEN: updates the lists when they are a day old (daily), or now; once in a run.
apt_refresh() {
	local stamp=$apt_dir/stamp
	[ "$1" = now ] || [ -z "$(find "$stamp" -mmin -1440 2>/dev/null)" ] || return 0
	[ -z "$apt_fresh" ] || return 0
	logged apt-get -c "$apt_conf" update --error-on=any
	local code=$?
	if [ "$code" -eq 0 ]; then
		apt_fresh=yes
		touch -- "$stamp" || die "$E_DISK" "cannot write to $apt_dir"
		return
	fi
	if [ "$code" -eq "$E_ABSENT" ] && [ -e "$stamp" ]; then
		note "cannot refresh the lists of ${base[suite]}, going by those of $(date -r "$stamp" +%F): $why"
		apt_fresh=yes
		return 0
	fi
	return "$code"
}

# apt_binaries PKG: a line for each version: VERSION, pool path, SHA-256, tab-separated.
apt_binaries() {
	apt-cache -c "$apt_conf" show -- "$1" 2>/dev/null | awk -v want="$1" '
		BEGIN { RS = ""; FS = "\n" }
		{
			delete f
			for (i = 1; i <= NF; i++)
				if (match($i, /^[A-Za-z0-9-]+: /))
					f[substr($i, 1, RLENGTH - 2)] = substr($i, RLENGTH + 1)
			if (f["Package"] == want && f["SHA256"] != "")
				print f["Version"] "\t" f["Filename"] "\t" f["SHA256"]
		}'
}

# apt_origs SOURCE: the same for a source package's orig tarball.
apt_origs() {
	apt-cache -c "$apt_conf" showsrc --only-source -- "$1" 2>/dev/null | awk -v want="$1" '
		BEGIN { RS = ""; FS = "\n" }
		{
			package = version = folder = file = sha = ""
			for (i = 1; i <= NF; i++) {
				if ($i ~ /^[^ ]/)
					sums = ($i ~ /^Checksums-Sha256:/)
				if ($i ~ /^Package: /) package = substr($i, 10)
				else if ($i ~ /^Version: /) version = substr($i, 10)
				else if ($i ~ /^Directory: /) folder = substr($i, 12)
				else if (sums && $i ~ /^ /) {
					n = split($i, w, " ")
					if (n == 3 && index(w[3], want "_") == 1 && w[3] ~ /\.orig\.tar\.[a-z0-9]+$/) {
						sha = w[1]
						file = w[3]
					}
				}
			}
			if (package == want && file != "")
				print version "\t" folder "/" file "\t" sha
		}'
}

# download URI NAME SHA256: into the new folder $downloaded.
download() {
	downloaded=$(mktemp -d -- "$work/file.XXXXXX") && chmod 755 -- "$downloaded" || die "$E_DISK" "cannot write to $work"
	# apt-helper makes a link out of file:, a copy out of copy:
	logged "$apt_helper" ${apt_conf:+-c "$apt_conf"} download-file "${1/#file:/copy:}" "$downloaded/$2" "SHA256:$3" && return
	local code=$?
	remove "$downloaded"
	why="$2: $why"
	return "$code"
}

# fetch_file URI NAME SHA256 VERSION ORIGIN: into the cache; sets $result and $result_version.
fetch_file() {
	local fd code
	file_cached "$3" "$2" && return
	lock "file-$3"
	fd=$lock_fd
	file_cached "$3" "$2" ||
		{ download "$1" "$2" "$3" && file_keep "$downloaded" "$2" "$3" "$4" "$5"; }
	code=$?
	unlock "$fd"
	return "$code"
}
