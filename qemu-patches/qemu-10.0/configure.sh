# shellcheck shell=bash disable=SC2034 # for those who source it
# SPDX-License-Identifier: GPL-2.0-only
#
# How QEMU is configured here; sourced by hooks.sh and ../build, which set $tree, $queue and $fetch.

common=(--without-default-features --enable-system --enable-tcg --enable-werror
	--enable-fdt=system --enable-slirp --enable-pixman --enable-attr --enable-virtfs --enable-trace-backends=log
	--disable-tools --disable-docs --disable-guest-agent --disable-download --disable-debug-info --disable-install-blobs
	--python=/usr/bin/python3)

# The tarball comes without firmware, which the build would unpack: empty ones do.
stub_firmware() {
	local name
	grep -qxF 'pc-bios/edk2-*.bz2' "$tree/.git/info/exclude" || echo 'pc-bios/edk2-*.bz2' >>"$tree/.git/info/exclude"
	while read -r name; do
		[ -e "$tree/pc-bios/$name.bz2" ] || bzip2 </dev/null >"$tree/pc-bios/$name.bz2"
	done < <(sed -n "s/^ *'\(edk2-[a-z0-9_-]*\.fd\)',$/\1/p" "$tree/pc-bios/meson.build")
}

# wrappers FOLDER SYSROOT: a cross toolchain out of clang-19 and the sysroot.
wrappers() {
	local tool
	mkdir -p "$1"
	for tool in cc:clang-19 c++:clang++-19; do
		cat >"$1/loongarch64-linux-gnu-${tool%%:*}" <<-SH
		#!/bin/sh
		exec $(command -v ccache || true) ${tool##*:} --target=loongarch64-linux-gnu --sysroot=$2 -fuse-ld=lld \
			-Qunused-arguments "\$@" -Wno-error=incompatible-pointer-types-discards-qualifiers
		SH
	done
	cat >"$1/loongarch64-linux-gnu-pkg-config" <<-SH
	#!/bin/sh
	export PKG_CONFIG_LIBDIR=$2/usr/lib/loongarch64-linux-gnu/pkgconfig:$2/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$2
	exec pkg-config "\$@"
	SH
	chmod +x "$1"/*
	for tool in ar nm objcopy ranlib strip; do
		ln -sf "$(command -v llvm-$tool-19)" "$1/loongarch64-linux-gnu-$tool"
	done
	ln -sf loongarch64-linux-gnu-cc "$1/loongarch64-linux-gnu-gcc"
	ln -sf loongarch64-linux-gnu-c++ "$1/loongarch64-linux-gnu-g++"
}

# python_modules FOLDER: what Debian 12 lacks of Python, for meson and configure.
python_modules() {
	local debs deb
	debs=$("$fetch" get "$queue/python.base") || return
	if [ ! -d "$1" ]; then
		for deb in "$debs"/*.deb; do
			dpkg-deb -x "$deb" "$1" || return
		done
	fi
	export PYTHONPATH=$1/usr/lib/python3/dist-packages
}

# configure_here FOLDER: a build for this machine, with TCG; user emulation is there to be compiled, by pieces.
configure_here() {
	local cc
	cc="$(command -v ccache || true) gcc"
	mkdir -p "$1"
	(cd "$1" && "$tree/configure" "${common[@]}" "--cc=${cc# }" --enable-linux-user \
		--target-list=loongarch64-softmmu,loongarch64-linux-user)
}

# configure_cross FOLDER BIN: a build for loongarch64 hosts, with KVM; its tools are made in BIN, which is to be in PATH.
configure_cross() {
	local sysroot
	sysroot=$("$fetch" get "$queue/loongarch64.base") || return
	wrappers "$2" "$sysroot"
	mkdir -p "$1"
	(cd "$1" && PATH=$2:$PATH "$tree/configure" "${common[@]}" --target-list=loongarch64-softmmu --enable-kvm \
		--cross-prefix=loongarch64-linux-gnu- --host-cc=gcc)
}
