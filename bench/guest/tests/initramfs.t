#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# mkinitramfs.sh: contents, and the same bytes from other folders at other times.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
mk=$(cd "$(dirname "$0")/.." && pwd)/mkinitramfs.sh

tree() {
	mkdir -p "$1/bin"
	echo busybox >"$1/busybox"
	echo guest >"$1/bin/pv-guest"
	echo tlb >"$1/bin/pv-tlb"
	echo other >"$1/bin/other"
	echo one >"$1/zz.ko"
	echo two | xz >"$1/aa.ko.xz"
}
tree "$TMP/a"
(umask 077 && tree "$TMP/a folder/with another name")
touch -d 2001-01-01 "$TMP/a folder/with another name/"*
chmod 0700 "$TMP/a/busybox"

pack() { # NAME FOLDER
	(cd "$2" && "$mk" "$1" busybox bin zz.ko aa.ko.xz)
}
for kind in cpio cpio.gz cpio.zst; do
	pack "$TMP/1.$kind" "$TMP/a" && (umask 027 && pack "$TMP/2.$kind" "$TMP/a folder/with another name")
	ok $? "$kind: packed"
	cmp "$TMP/1.$kind" "$TMP/2.$kind"
	ok $? "$kind: the same bytes"
done
zcat "$TMP/1.cpio.gz" | cmp - "$TMP/1.cpio" && zstdcat "$TMP/1.cpio.zst" | cmp - "$TMP/1.cpio"
ok $? "the same archive in all"

is "$(cpio -t --quiet <"$TMP/1.cpio" | paste -sd' ')" \
	"bin bin/busybox bin/pv-tlb bin/sh dev init lib lib/modules lib/modules/00-zz.ko lib/modules/01-aa.ko lib/modules/order mnt proc run sys tmp" \
	"contents"
mkdir "$TMP/x" && (cd "$TMP/x" && cpio -i --quiet <"$TMP/1.cpio")
is "$(cat "$TMP/x/lib/modules/order" "$TMP/x/lib/modules/01-aa.ko" "$TMP/x/init")" \
	$'/lib/modules/00-zz.ko\n/lib/modules/01-aa.ko\ntwo\nguest' "modules in order, unpacked"
is "$(stat -c '%a %u %g' "$TMP/x/init" "$TMP/x/lib/modules/order" | paste -sd' ')" \
	"755 0 0 644 0 0" "modes and owners"
is "$(cpio -tv --quiet <"$TMP/1.cpio" | grep -vc 'Jan  1  1970')" 0 "times"

run "$mk"
is "$status" 2 "no arguments"
run "$mk" "$TMP/y.tar" "$TMP/a/busybox" "$TMP/a/bin"
is "$status" 2 "unknown kind of archive"
run "$mk" "$TMP/y.cpio" "$TMP/a/busybox" "$TMP/x"
is "$status" 2 "no pv-guest"
run "$mk" "$TMP/y.cpio" "$TMP/a/busybox" "$TMP/a/bin" "$TMP/a/none.ko"
is "$status" 2 "no such module"
run "$mk" "$TMP/y.cpio" "$TMP/a/busybox" "$TMP/a/bin" "$TMP/a/busybox"
is "$status" 2 "not a module"
run ls "$TMP"
is "$(grep -c '^y' <<<"$out")" 0 "nothing is left of failures"

done_testing
