# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by what runs matrix.py on the lab host; sets lab, dir and guest (its options for the guest image).

lab=bench/lab/pv-lab
dir=/var/tmp/pv-libvirt-test
# shellcheck disable=SC2034
guest="--shim $dir/shim.so --kernel $dir/vmlinuz --initrd $dir/initramfs.cpio.gz --memory 256 \
	--append 'console=ttyS0 quiet panic=-1 pvb.watch=1' --json $dir/out.json"

# ship FOLDER: boots the lab host and brings it the test; FOLDER is for the shim, which is built there.
ship() {
	clang-19 --target=x86_64-linux-gnu --sysroot="$PWD/build/x86_64/sysroot.tree/" -fuse-ld=lld -O2 -Wall -Wextra -Werror -fPIC \
		-shared -o "$1/shim.so" libvirt/tests/kvm-no-tlb-flush.c || return
	"$lab" start 2>/dev/null || return
	tar -cf - -C "$PWD/libvirt/tests" matrix.py -C "$1" shim.so -C "$PWD/build/x86_64/guest.image" vmlinuz initramfs.cpio.gz |
		"$lab" ssh "rm -rf $dir && mkdir -p $dir && tar -xf - --no-same-owner -C $dir && chmod -R a+rX $dir"
}
