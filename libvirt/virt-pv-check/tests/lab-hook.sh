#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-hook.sh [BIN]: twohosts.t on the lab host, which it starts: its kernel, its KVM, its libvirt, its QEMU; two daemons. Takes
# the programs from BIN (build/native/bin), and the libraries of this machine that the lab host does not have.
# Prints TAP. Other hosts: PV_LAB_SSH="ssh root@HOST" (root, libvirtd, virsh, QEMU and KVM there).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
bin=${1:-build/native/bin}
[ -n "${PV_LAB_SSH:-}" ] || bench/lab/pv-lab start 2>/dev/null
read -ra lab <<<"${PV_LAB_SSH:-bench/lab/pv-lab ssh}"
remote=/root/virt-pv-check-test
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/lib"
cp "$bin"/virt-pv-check{,-unit,-kernel.so} "$work/bin"
ldd "$bin/virt-pv-check" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' >"$work/libraries"
while read -r library; do # libc and libvirt are the host's own; of the rest, what it lacks
	"${lab[@]}" "ldconfig -p | grep -qF '$(basename "$library") '" </dev/null || cp -L "$library" "$work/lib"
done <"$work/libraries"
rm -f "$work"/lib/lib{c,m,virt,virt-qemu}.so.*
tar -c -C "$work" bin lib -C "$PWD" bench/common/tap.sh libvirt/virt-pv-check/tests |
	"${lab[@]}" "rm -rf $remote && mkdir -p $remote && tar -x -C $remote"
"${lab[@]}" "cd $remote && PV_BIN=$remote/bin LD_LIBRARY_PATH=$remote/lib libvirt/virt-pv-check/tests/twohosts.t"
