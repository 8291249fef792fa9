#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pv-fetch against a small signed mirror of our own (file:), without any network.

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
: "${PV_BIN:=/nonexistent}" # the runner's; nothing is built here
# shellcheck source-path=SCRIPTDIR source=../../../common/tap.sh
. "$here/../../../common/tap.sh"
fetch=$here/../pv-fetch

for p in apt-ftparchive:apt-utils gpg:gpg gpg-agent:gpg-agent mmdebstrap:mmdebstrap dpkg-deb:dpkg flock:util-linux; do
	type -P "${p%:*}" >/dev/null && continue
	skip "pv-fetch" "needs ${p%:*} (Debian package ${p#*:})"
	done_testing
done

export GNUPGHOME=$TMP/gnupg
trap 'gpgconf --kill all 2>/dev/null; umount "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT

# --- the mirror ------------------------------------------------------------------------------------------------------

mkdir -m 700 "$GNUPGHOME"
for who in good bad; do
	gpg --batch --quiet --passphrase '' --quick-gen-key "$who <$who@example.invalid>" rsa2048 sign never 2>"$TMP/gpg.log"
done
gpg --batch --export good@example.invalid >"$TMP/good.gpg"
export PV_KEYRING=$TMP/good.gpg

repo=$TMP/mirror
native=$(dpkg --print-architecture)
foreign=loong64
mkdir -p "$repo"

# deb SUITE NAME VERSION ARCH [DEPENDS]: a package with a file and links, among the suite's.
deb() {
	local d=$TMP/deb
	rm -rf "$d"
	mkdir -p "$d/DEBIAN" "$d/usr/share/$2" "$d/usr/lib/$2" "$repo/pool/$1"
	printf '%s\n' "Package: $2" "Version: $3" "Architecture: $4" "Maintainer: T <t@example.invalid>" ${5:+"Depends: $5"} \
		"Description: dummy" >"$d/DEBIAN/control"
	printf '%s %s %s\n' "$2" "$3" "$4" >"$d/usr/share/$2/data"
	ln -s "/usr/share/$2/data" "$d/usr/lib/$2/absolute"
	ln -s /dev/null "$d/usr/lib/$2/null"
	dpkg-deb --root-owner-group -Znone -b "$d" "$repo/pool/$1/${2}_${3#*:}_$4.deb" >/dev/null
}

# orig SUITE SOURCE DEBIAN-VERSION FILE: a source package whose .dsc is not there.
orig() {
	local f=$repo/pool/$1/$4 z=0000000000000000000000000000000000000000000000000000000000000000
	mkdir -p "$repo/pool/$1"
	[ -e "$f" ] || printf 'source of %s %s\n' "$2" "$3" >"$f"
	printf '%s\n' "Package: $2" "Binary: $2" "Version: $3" "Architecture: any" "Format: 3.0 (quilt)" "Files:" \
		" d41d8cd98f00b204e9800998ecf8427e 1 ${2}_$3.dsc" " $(md5sum <"$f" | cut -c1-32) $(stat -c %s "$f") $4" \
		"Checksums-Sha256:" " $z 1 ${2}_$3.dsc" " $(sha "$f") $(stat -c %s "$f") $4" \
		" $z 1 ${2}_x.orig-part.tar.xz" " $z 1 ${2}_x.debian.tar.xz" "Directory: pool/$1" "" >>"$repo/pool/$1/Sources.part"
}

sha() { sha256sum <"$1" | cut -d' ' -f1; }

# publish SUITE [KEY [VALID-UNTIL]]: indexes and Release of a suite.
publish() {
	local s=$repo/dists/$1 a
	rm -rf "$s"
	mkdir -p "$s/main/source"
	for a in "$native" "$foreign"; do
		mkdir -p "$s/main/binary-$a"
		(cd "$repo" && apt-ftparchive -a "$a" packages "pool/$1") >"$s/main/binary-$a/Packages"
	done
	touch "$repo/pool/$1/Sources.part"
	cp "$repo/pool/$1/Sources.part" "$s/main/source/Sources"
	apt-ftparchive -o "APT::FTPArchive::Release::Suite=$1" -o "APT::FTPArchive::Release::Codename=$1" \
		-o "APT::FTPArchive::Release::Label=Debian" -o "APT::FTPArchive::Release::Components=main" \
		-o "APT::FTPArchive::Release::Architectures=$native $foreign" \
		${3:+-o "APT::FTPArchive::Release::ValidTime=$3"} release "$s" >"$TMP/Release"
	if [ -n "${3-}" ]; then
		sed -i '/^Valid-Until/d; /^Date/d' "$TMP/Release"
		sed -i "1i Date: Tue, 01 Dec 2015 00:00:00 UTC\nValid-Until: Tue, 08 Dec 2015 00:00:00 UTC" "$TMP/Release"
	fi
	case ${2-good} in
	none) cp "$TMP/Release" "$s/Release" ;;
	*) gpg --batch --quiet --yes -u "${2-good}@example.invalid" --clearsign -o "$s/InRelease" "$TMP/Release" ;;
	esac
}

# apt as it comes: neither this machine's settings nor its proxy
cat >"$TMP/apt.conf" <<END
Dir::Etc::Parts "/dev/null";
Dir::Etc::main "/dev/null";
Acquire::Retries "0";
END
export APT_CONFIG=$TMP/apt.conf
export PV_MIRROR=file://$repo

caches=0
# A new, empty cache.
fresh() {
	caches=$((caches + 1))
	export PV_CACHE="$TMP/cache$caches"
}

# base NAME LINE...: a base file; its path is $b.
base() {
	b=$TMP/$1.base
	shift
	printf '%s\n' "# a comment" "" "$@" >"$b"
}

# leftovers: what is in the cache that should not be.
leftovers() { find "$PV_CACHE/tmp" -mindepth 1 2>/dev/null; }
entries() { find "$PV_CACHE/files" "$PV_CACHE/trees" "$PV_CACHE/sets" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

deb one tool 1.0-1 "$native"
deb one tool 1.0-1 "$foreign"
deb one lib 2.0-1 "$native"
deb one lib 2.0-1 "$foreign"
deb one app 1:3.0-1 "$native" "lib (>= 2)"
deb one app 1:3.0-1 "$foreign" "lib (>= 2)"
deb one "kernel-7.3.1+x-$native" 7.3.1-1 "$native"
deb one "kernel-7.3.2+x-$native" 7.3.2-1 "$native"
deb one "kernel-7.3.2+x-cloud-$native" 7.3.2-1 "$native"
deb one source-7.3 7.3.4-1~bpo13+1 all
orig one emu 1:10.0.12+ds-1 emu_10.0.12+ds.orig.tar.xz
orig one emu 1:10.0.13+ds-0+deb13u1 emu_10.0.13+ds.orig.tar.xz
orig one emu 1:10.1.0+ds-1 emu_10.1.0+ds.orig.tar.xz
publish one
pin=$(sha "$repo/pool/one/emu_10.0.12+ds.orig.tar.xz")

emu=("kind: debian-orig" "suite: one" "source: emu" "series: 10.0")

# --- a pinned orig tarball -------------------------------------------------------------------------------------------

fresh
base emu "${emu[@]}" "version: 10.0.12  # pinned" "sha256: $pin emu_10.0.12+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:$err" 0: "a pinned orig tarball is fetched, its .dsc being absent"
is "$out" "$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz" "its path is printed"
is "$(cat "$out")" "source of emu 1:10.0.12+ds-1" "it is the pinned one"
run "$fetch" version "$b"
is "$out" "1:10.0.12+ds-1" "version tells its version"
run "$fetch" value "$b" series
is "$out" 10.0 "value tells a key"
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status:$out" "0:$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz" "offline, the cache answers"
base emu2 "${emu[@]}" "version: 10.0.12" "sha256: $pin emu_10.0.12+ds.orig.tar.xz" "x-note: another base file, same pin"
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status:$out" "0:$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz" "also another base file with the same pin"
is "$(leftovers)" "" "no temporary file is left"
run "$fetch" verify
is "$status:$out" "0:1 entries, 0 damaged" "verify is content"
run "$fetch" list
like "$out" "emu_10.0.12.*debian-orig emu" "list lists it"
chmod u+w "$PV_CACHE/files/$pin/"*
echo "Source of emu 1:10.0.12+ds-1" >"$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz"
run "$fetch" verify
is "$status" 4 "verify notices a changed byte"
like "$err" "damaged: .*emu_10.0.12" "and says where"
run "$fetch" verify --remove
run "$fetch" get "$b"
is "$status:$(cat "$out")" "0:source of emu 1:10.0.12+ds-1" "once removed it is fetched again"
echo >"$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:$(cat "$out")" "0:source of emu 1:10.0.12+ds-1" "a cached file of another size is fetched again"

fresh
base nohash "${emu[@]}" "version: 10.0.12"
run "$fetch" get "$b"
is "$status:${out##*/}" "0:emu_10.0.12+ds.orig.tar.xz" "without a pinned hash the index's counts"

# --- fallbacks -------------------------------------------------------------------------------------------------------

fresh
base gone "${emu[@]}" "version: 10.0.5" "sha256: $(sha "$0") emu_10.0.5+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:${out##*/}" "0:emu_10.0.13+ds.orig.tar.xz" "a pin that left the mirror gives the newest of its series"
like "$err" "no emu 10.0.5.*using 1:10.0.13\+ds-0\+deb13u1, the newest of series 10.0" "and says so"
is "$(wc -l <<<"$err")" 1 "in one line"
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status:${out##*/}" "0:emu_10.0.13+ds.orig.tar.xz" "the fallback too is found offline"
like "$err" "using 1:10.0.13" "and told again"
base bumped "${emu[@]}" "version: 10.0.12" "sha256: $pin emu_10.0.12+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:${out##*/}:$err" "0:emu_10.0.12+ds.orig.tar.xz:" "a new pin does not get the old fallback"

fresh
echo 'unlisted' >"$repo/pool/one/emu_10.0.11+ds.orig.tar.xz"
unlisted=$(sha "$repo/pool/one/emu_10.0.11+ds.orig.tar.xz")
base unlisted "${emu[@]}" "version: 10.0.11" "sha256: $unlisted emu_10.0.11+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:${out##*/}:$err" "0:emu_10.0.11+ds.orig.tar.xz:" "a pinned file that is no longer listed but still there"

fresh
mkdir "$TMP/up"
echo upstream >"$TMP/up/emu-10.0.5.tar.xz"
base upstream "${emu[@]}" "version: 10.0.5" "upstream: file://$TMP/up/emu-10.0.5.tar.xz" \
	"sha256: $(sha "$TMP/up/emu-10.0.5.tar.xz") emu-10.0.5.tar.xz"
run "$fetch" get "$b"
is "$status:$(cat "$out")" "0:upstream" "the pinned version from upstream before another one from Debian"
fresh
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status:$(cat "$out")" "0:upstream" "also where no mirror answers"
fresh
echo tampered >"$TMP/up/emu-10.0.5.tar.xz"
run "$fetch" get "$b"
is "$status:$out" "4:" "a changed upstream tarball is refused"
is "$(entries)$(leftovers)" 0 "and not kept"

fresh
base other "${emu[@]/10.0/9.2}" "version: 9.2.1"
run "$fetch" get "$b"
is "$status:$out" "3:" "a series that the mirror does not have"
like "$err" "no emu 9.2.1 in one" "says what is missing"
is "$(wc -l <<<"$err")" 1 "in one line"

fresh
base emu3 "${emu[@]}" "version: 10.0.12"
run "$fetch" get "$b"
base emu4 "${emu[@]}" "version: 10.0.14"
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status:${out##*/}" "0:emu_10.0.12+ds.orig.tar.xz" "without a mirror, another release of the series out of the cache"
like "$err" "using 1:10.0.12.* from the cache" "and says so"
run "$fetch" get "$b"
is "$status:${out##*/}" "0:emu_10.0.13+ds.orig.tar.xz" "which is not remembered"

# --- verification ----------------------------------------------------------------------------------------------------

fresh
base wrong "${emu[@]}" "version: 10.0.12" "sha256: ${pin/[0-8]/9} emu_10.0.12+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:$out" "4:" "a pinned hash that the index contradicts is refused"
base emu "${emu[@]}" "version: 10.0.12" "sha256: $pin emu_10.0.12+ds.orig.tar.xz"
cp "$repo/pool/one/emu_10.0.12+ds.orig.tar.xz" "$TMP/saved"
sed -i 's/source/Source/' "$repo/pool/one/emu_10.0.12+ds.orig.tar.xz"
run "$fetch" get "$b"
is "$status:$out" "4:" "a file tampered with on the mirror is refused"
like "$err" "emu_10.0.12.*(Hash Sum mismatch|wrong hash)" "with the reason"
is "$(entries)$(leftovers)" 0 "and not kept"
base nohash "${emu[@]}" "version: 10.0.12"
run "$fetch" get "$b"
is "$status:$out" "4:" "also without a pinned hash"
cp "$TMP/saved" "$repo/pool/one/emu_10.0.12+ds.orig.tar.xz"

for s in badly unsigned tampered expired; do
	orig $s emu 1:10.0.12+ds-1 emu_10.0.12+ds.orig.tar.xz
	deb $s tool 1.0-1 "$native"
done
publish badly bad
publish unsigned none
publish tampered
sed -i 's/10.0.12/10.0.66/' "$repo/dists/tampered/main/source/Sources"
sed -i 's/1.0-1/6.6-6/' "$repo/dists/tampered/main/binary-$native/Packages"
publish expired good 604800
for s in badly unsigned tampered expired; do
	fresh
	base $s "kind: debian-orig" "suite: $s" "source: emu" "series: 10.0" "version: 10.0.12"
	run "$fetch" get "$b"
	is "$status:$out:$(entries)" "4::0" "a suite whose Release or index is $s is refused (orig)"
	diag "$err"
	run "$fetch" debs --suite $s tool
	is "$status:$out:$(entries)" "4::0" "... (debs)"
	run "$fetch" tree --suite $s x tool
	is "$status:$out:$(entries)" "4::0" "... (tree)"
done
fresh
echo "valid-until: ignore" >>"$b"
run "$fetch" get "$b"
is "$status" 0 "past Valid-Until, if the base file says so"
run "$fetch" debs --suite expired --ignore-valid-until tool
is "$status" 0 "... (debs)"
run "$fetch" tree --suite expired --ignore-valid-until x tool
is "$status" 0 "... (tree)"
run "$fetch" debs --suite expired tool
is "$status" 4 "and only there"

# --- packages --------------------------------------------------------------------------------------------------------

fresh
run "$fetch" debs --suite one tool app
# shellcheck disable=SC2086 # lines
is "$status:$(basename -a $out | paste -sd' ')" "0:tool_1.0-1_$native.deb app_3.0-1_$native.deb" "debs, without dependencies"
run env PV_MIRROR=file:///nonexistent "$fetch" debs --suite one app tool
is "$status" 3 "other packages are another entry"
run env PV_MIRROR=file:///nonexistent "$fetch" debs --suite one tool app
is "$status:$err" "0:" "debs, offline"
run "$fetch" debs --suite one --arch $foreign tool
is "$(dpkg-deb -f "$out" Architecture)" "$foreign" "debs of a foreign architecture"
run "$fetch" debs --suite one "kernel-7.3*-$native"
is "$status:${out##*/}" "0:kernel-7.3.2+x-${native}_7.3.2-1_$native.deb" "a pattern: the newest, and the plainest name"
run "$fetch" debs --suite one nosuch
is "$status:$err" "3:pv-fetch: debs: no package nosuch for $native in one" "no such package"
run "$fetch" debs --suite one tool=9
is "$status:$out" "3:" "no such version"
run "$fetch" debs --suite two tool
is "$status:$out" "3:" "no such suite"
base set "kind: debian-packages" "suite: one" "arch: $foreign" "packages: tool=1.0-1" "packages: app lib=1.9-1"
run "$fetch" get "$b"
is "$status:$(cd "$out" && echo *)" "0:app_3.0-1_$foreign.deb lib_2.0-1_$foreign.deb tool_1.0-1_$foreign.deb" "a folder of packages"
like "$err" "no package lib=1.9-1.*using 2.0-1, the newest" "a package's pin that is gone"
run env PV_MIRROR=file:///nonexistent "$fetch" get "$b"
is "$status" 0 "a folder of packages, offline"

fresh
source=("kind: debian-file" "suite: one" "package: source-7.3" "file: usr/share/source-7.3/data" "series: 7.3")
base source "${source[@]}" "version: 7.3.4"
run "$fetch" get "$b"
is "$status:$(cat "$out")" "0:source-7.3 7.3.4-1~bpo13+1 all" "a file out of a package"
run "$fetch" version "$b"
is "$out" "7.3.4-1~bpo13+1" "has the package's version"
base source2 "${source[@]}" "version: 7.3.3-1" "sha256: $pin source-7.3_7.3.3-1_all.deb"
run "$fetch" get "$b"
is "$status:$(cat "$out")" "0:source-7.3 7.3.4-1~bpo13+1 all" "a file out of a package whose pin is gone"
like "$err" "using 7.3.4-1~bpo13\+1" "and says so"
base source3 "${source[@]}" "version: 7.3.4" "sha256: $pin source-7.3_7.3.4-1~bpo13+1_all.deb"
run "$fetch" get "$b"
is "$status:$out" "4:" "a package that contradicts its pin is refused"
base source4 "${source[@]/data/nosuch}" "version: 7.3.4"
run "$fetch" get "$b"
is "$status:$out:$(leftovers)" "3::" "no such file in the package"

# --- trees -----------------------------------------------------------------------------------------------------------

fresh
run "$fetch" tree --arch "$native" --suite one my-tree app
is "$status:$err" "0:" "a tree"
tree=${out:-$TMP/none}
is "$(cat "$tree/usr/share/app/data" "$tree/usr/share/lib/data")" "app 1:3.0-1 $native"$'\n'"lib 2.0-1 $native" "with dependencies"
is "$(readlink "$tree/usr/lib/app/absolute")" ../../../usr/share/app/data "its absolute links are relative"
is "$(readlink "$tree/usr/lib/app/null")" /dev/null "but for /dev"
is "$(readlink "$tree/lib")" usr/lib "with the links of a merged /usr"
is "$(grep -rlF "$repo" "$tree" 2>/dev/null)" "" "the mirror's address is not in it"
is "$(find "$tree" -lname '/*' ! -name null -o ! -type f ! -type d ! -type l)" "" "no other link leaves it, no device is in it"
run env PV_MIRROR=file:///nonexistent "$fetch" tree --arch "$native" --suite one my-tree app
is "$status:$out" "0:$tree" "a tree, offline"
run "$fetch" tree --arch "$native" --suite one --refresh my-tree app
is "$status:$out" "0:$tree" "refreshed, the same packages give the same tree"
run "$fetch" verify
is "$status:$out" "0:1 entries, 0 damaged" "verify is content with it"
ln -sfn elsewhere "$tree/usr/lib/app/absolute"
run "$fetch" verify
is "$status" 4 "verify notices a changed link"
ln -sfn ../../../usr/share/app/data "$tree/usr/lib/app/absolute"
rm "$tree/usr/share/lib/data"
run "$fetch" verify --remove
is "$status" 4 "verify notices a lost file"
base tree "kind: debian-tree" "name: far" "suite: one" "arch: $foreign" "packages: app tool"
run "$fetch" get "$b"
is "$status:$(cat "$out/usr/share/app/data")" "0:app 1:3.0-1 $foreign" "a tree of a foreign architecture"
run "$fetch" tree --suite one --arch "$native" my-tree nosuch
is "$status:$out:$(leftovers)" "3::" "a tree of a package that there is not"
like "$err" "nosuch" "which is named"
if [ "$(id -u)" -eq 0 ] && type -P runuser >/dev/null; then
	chmod 755 "$TMP"
	mkdir -p "$TMP/user" "$TMP/bin"
	cp -r "$fetch" "$here/../lib" "$TMP/bin/" # the checkout may be where nobody can go
	chmod -R a+rX "$TMP/bin"
	chown nobody "$TMP/user"
	run runuser -u nobody -- env HOME="$TMP/user" PV_CACHE= "$TMP/bin/pv-fetch" tree --suite one --arch $foreign my-tree app
	is "$status:$(stat -c %U "$out" "$out/usr/share/app/data" | sort -u)" "0:nobody" "a tree, by an ordinary user"
	run runuser -u nobody -- env HOME="$TMP/user" PV_CACHE= "$TMP/bin/pv-fetch" get "$TMP/emu.base"
	is "$status:${out#"$TMP/user/"}" "0:.cache/pv-tlb-flush/files/$pin/emu_10.0.12+ds.orig.tar.xz" "an orig tarball, by an ordinary user"
	run runuser -u nobody -- env PV_CACHE="$PV_CACHE" "$TMP/bin/pv-fetch" get "$TMP/tree.base"
	is "$status:${out##*/}" "0:root" "a warm cache need not be writable"
	run runuser -u nobody -- env PV_CACHE="$PV_CACHE" "$TMP/bin/pv-fetch" get "$TMP/emu.base"
	is "$status" 5 "a cold one must be"
else
	skip "an ordinary user" "needs root to become one"
fi

# --- the machine's apt configuration ---------------------------------------------------------------------------------

fresh
cat >"$TMP/proxy.conf" <<END
Dir::Etc::Parts "/dev/null";
Acquire::Retries "0";
Acquire::http::Proxy "http://127.0.0.1:9";
END
for c in "get $TMP/emu.base" "tree --suite one x app"; do
	# shellcheck disable=SC2086 # words
	run env APT_CONFIG="$TMP/proxy.conf" PV_MIRROR=http://example.invalid/x "$fetch" $c
	is "$status" 3 "no network: ${c%% *}"
	like "$err" "127.0.0.1" "by way of the proxy that apt is configured with"
done

mkdir -p "$TMP/m/lists/partial"
cat >"$TMP/m/apt.conf" <<END
Dir::Etc::Parts "/dev/null";
Dir::Etc::sourcelist "$TMP/m/sources.list";
Dir::Etc::sourceparts "$TMP/m/sources.list.d";
Dir::State::lists "$TMP/m/lists";
Dir::State::status "/dev/null";
Dir::Cache "$TMP/m";
APT::Sandbox::User "root";
END
mkdir -p "$TMP/m/sources.list.d" "$TMP/m/archives/partial"
printf 'ID=debian\nVERSION_CODENAME=one\n' >"$TMP/m/os-release"
mirror() { run env -u PV_MIRROR APT_CONFIG="$TMP/m/apt.conf" PV_OS_RELEASE="$TMP/m/os-release" "$fetch" mirror; }
mirror
is "$status:$out" "3:" "no mirror configured"
like "$err" "set PV_MIRROR" "which tells what to do"
cat >"$TMP/m/sources.list" <<END
deb cdrom:[disc]/ one main
deb http://example.invalid/debian-security one main
deb http://other.example.invalid/extra one extra
deb http://example.invalid/archive/ one main contrib
deb http://second.example.invalid/debian one main
END
mirror
is "$status:$out" "0:http://example.invalid/archive" "one-line sources, before any apt-get update"
rm "$TMP/m/sources.list"
cat >"$TMP/m/sources.list.d/debian.sources" <<END
Types: deb
URIs: file://$repo
Suites: one
Components: main
Signed-By: $PV_KEYRING
END
mirror
is "$status:$out" "0:file:$repo" "deb822 sources"
env -u PV_MIRROR APT_CONFIG="$TMP/m/apt.conf" apt-get update >"$TMP/m/log" 2>&1
echo "ID=derivative" >"$TMP/m/os-release"
mirror
is "$status:$out" "0:file:$repo" "by the label of what was fetched"
run env -u PV_MIRROR APT_CONFIG="$TMP/m/apt.conf" "$fetch" get "$TMP/emu.base"
is "$status" 0 "and it is used"

# --- concurrent, interrupted, full -----------------------------------------------------------------------------------

mkdir "$TMP/methods"
for m in /usr/lib/apt/methods/*; do ln -s "$m" "$TMP/methods/"; done
rm "$TMP/methods/copy"
cat >"$TMP/methods/copy" <<END
#!/bin/sh
echo download >>"$TMP/downloads"
sleep 1
exec /usr/lib/apt/methods/copy
END
chmod +x "$TMP/methods/copy"
{
	cat "$TMP/apt.conf"
	echo "Dir::Bin::methods \"$TMP/methods\";"
} >"$TMP/slow.conf"
base new "${emu[@]}" "version: 10.0.13"
# A new cache that has the lists already, as apt reads those by the same method.
listed() {
	fresh
	"$fetch" get "$TMP/new.base" >/dev/null
}
listed
APT_CONFIG=$TMP/slow.conf "$fetch" get "$TMP/emu.base" >/dev/null
one=$(grep -c . "$TMP/downloads")
listed
rm -f "$TMP/downloads"
pids=()
for i in 1 2 3; do
	APT_CONFIG=$TMP/slow.conf "$fetch" get "$TMP/emu.base" >"$TMP/out.$i" 2>"$TMP/err.$i" &
	pids+=($!)
done
st=
for i in "${pids[@]}"; do
	wait "$i"
	st+=$?
done
is "$st:$(cat "$TMP"/out.[123] | sort -u)" "000:$PV_CACHE/files/$pin/emu_10.0.12+ds.orig.tar.xz" "three at once all get it"
is "$(grep -c . "$TMP/downloads")" "$one" "with one download"

# A download that does not end, having written half a file.
cat >"$TMP/methods/copy" <<END
#!/bin/bash
printf '100 Capabilities\nVersion: 1.0\nSingle-Instance: true\nSend-URI-Encoded: true\n\n'
while read -r line; do
	case \$line in Filename:*) echo half >"\${line#Filename: }"; echo \$\$ >"$TMP/method.pid"; exec sleep 30 ;; esac
done
END
for sig in TERM KILL; do
	listed
	rm -f "$TMP/method.pid"
	APT_CONFIG=$TMP/slow.conf "$fetch" get "$TMP/emu.base" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[ -s "$TMP/method.pid" ] && break
		sleep 0.1
	done
	half=$(find "$PV_CACHE/tmp" -name '*emu_10.0.12*' | wc -l)
	kill -$sig $pid
	wait $pid 2>/dev/null
	st=$?
	is "$((st != 0)):$half:$(entries)" "1:1:1" "SIG$sig in the middle of a download: no entry"
	if [ $sig = TERM ]; then
		is "$(leftovers)" "" "nor a temporary file"
		sleep 0.2
		# a zombie that waits for init is none
		state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$(cat "$TMP/method.pid")/status" 2>/dev/null)
		like "${state:-gone}" '^(gone|Z)' "nor a process"
	fi
	run timeout 20 "$fetch" get "$TMP/emu.base"
	is "$status" 0 "the next one gets it"
done
touch -d '5 minutes ago' "$PV_CACHE"/tmp/run.*
run "$fetch" get "$TMP/source.base"
is "$status:$(leftovers)" "0:" "and removes what the killed one left"
kill "$(cat "$TMP/method.pid")" 2>/dev/null

mkdir "$TMP/small"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=400k tmpfs "$TMP/small" 2>/dev/null; then
	dd if=/dev/urandom of="$TMP/small/fill" bs=1k count=250 status=none
	head -c 300000 /dev/urandom >"$repo/pool/one/big_1.0.orig.tar.xz"
	orig one big 1.0-1 big_1.0.orig.tar.xz
	publish one
	base big "kind: debian-orig" "suite: one" "source: big" "series: 1.0" "version: 1.0"
	export PV_CACHE=$TMP/small/cache
	run "$fetch" get "$b"
	is "$status:$out" "5:" "a full disk"
	like "$err" "cannot write to $PV_CACHE.*No space left" "is told"
	is "$(wc -l <<<"$err"):$(entries):$(leftovers)" "1:0:" "in one line, and nothing is left"
	run "$fetch" tree --suite one x app
	is "$status:$out:$(entries):$(leftovers)" "5::0:" "a full disk (tree)"
	dd if=/dev/urandom of="$TMP/small/fill" bs=1k count=500 status=none 2>/dev/null
	run "$fetch" debs --suite one --arch $foreign lib
	is "$status:$out:$(entries):$(leftovers)" "5::0:" "a full disk from the start"
	umount "$TMP/small"
else
	skip "a full disk" "needs root and mount"
fi

# --- wrong use -------------------------------------------------------------------------------------------------------

fresh
while IFS='|' read -r lines what; do
	printf '%b' "$lines" >"$TMP/bad.base"
	run "$fetch" get "$TMP/bad.base"
	is "$status:$out:$(wc -l <<<"$err")" "2::1" "base file: $what"
done <<'END'
suite: one\n|no kind
kind: other\n|unknown kind
kind: debian-orig\nsuite: one\n|missing keys
kind: debian-tree\nsuite: one\npackages: a b;c\n|not a package name
kind: debian-tree\nsuite: ../one\npackages: ab\n|not a suite
kind: debian-tree\nsuite: one\nsuite: one\npackages: ab\n|a key twice
kind: debian-tree\nsuite: one\npakages: ab\n|unknown key
kind: debian-tree\nsuite one\n|not a key
kind: debian-tree\nsuite: one\npackages: ab\nsha256: 12 x\n|not a hash
kind: debian-orig\nsuite: one\nsource: emu\nseries: 1\nversion: 1\nupstream: https://example.invalid/emu-1.tar.xz\n|upstream without a hash
kind: debian-tree\nsuite: one\npackages: ab\nname: ../x\n|not a name
END
for c in "" "nosuch" "get" "get a b" "get $TMP/nosuch.base" "get --wrong x" "tree x" "debs --suite" "value $TMP/emu.base nosuch"; do
	# shellcheck disable=SC2086 # words
	run "$fetch" $c
	is "$status:$out" "2:" "wrong use: pv-fetch ${c//$TMP\//}"
done
run "$fetch" help
is "$status" 0 "help"
is "$(ls -A "$PV_CACHE" 2>/dev/null)" "" "none of which wrote to the cache"

done_testing
