#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pack the guest's initramfs: pv-guest as /init, busybox, the workloads, kernel modules.
# The same input gives the same bytes, wherever it lies and whenever it is packed.
set -euo pipefail

usage() {
	cat <<-END
	usage: ${0##*/} OUT.cpio[.gz|.zst] BUSYBOX BINDIR [MODULE.ko[.xz|.zst|.gz]...]
	  BUSYBOX  a static busybox
	  BINDIR   has pv-guest and the workloads pv-*, all static
	  MODULE   kernel modules in the order in which they are to be loaded
	SOURCE_DATE_EPOCH is the time of all files (default 0).
	END
}

die() {
	echo "${0##*/}: $2" >&2
	exit "$1"
}

if [ "${1-}" = --help ] || [ "${1-}" = -h ]; then
	usage
	exit 0
fi
[ $# -ge 3 ] || { usage >&2; exit 2; }
out=$1 busybox=$2 bindir=$3
shift 3

case $out in
*.cpio) pack=(cat) ;;
*.gz) pack=(gzip -9n) ;;
*.zst) pack=(zstd -q -19 -T1) ;;
*) die 2 "$out: not a name in .cpio, .gz or .zst" ;;
esac
[ -f "$busybox" ] || die 2 "$busybox: no such file"
[ -f "$bindir/pv-guest" ] || die 2 "$bindir: no pv-guest in it"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$out.tmp"' EXIT
root=$tmp/root
mkdir -p "$root"/{bin,lib/modules,dev,mnt,proc,run,sys,tmp}
install -m 0755 "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
for program in "$bindir"/pv-*; do
	[ "${program##*/}" = pv-guest ] || install -m 0755 "$program" "$root/bin/"
done
install -m 0755 "$bindir/pv-guest" "$root/init"

n=0
for module; do
	[ -f "$module" ] || die 2 "$module: no such file"
	name=${module##*/}
	name=${name%%.ko*}.ko
	printf -v path '/lib/modules/%02d-%s' "$n" "$name"
	case $module in
	*.ko) cat "$module" ;;
	*.ko.xz) xz -dc "$module" ;;
	*.ko.zst) zstd -qdc "$module" ;;
	*.ko.gz) gzip -dc "$module" ;;
	*) die 2 "$module: not a kernel module" ;;
	esac >"$root$path"
	echo "$path" >>"$root/lib/modules/order"
	n=$((n + 1))
done

(
	cd "$root"
	# Not left to the umask.
	find . -type d -exec chmod 0755 {} +
	find ./lib -type f -exec chmod 0644 {} +
	find . -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
	find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --quiet --null --reproducible -o -H newc -R 0:0
) >"$tmp/cpio"
"${pack[@]}" <"$tmp/cpio" >"$out.tmp"
mv "$out.tmp" "$out"
