# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How QEMU is compiled and checked; sourced by pv-queue, which sets $tree, $queue and $fetch.
#
# Two builds, both of the loongarch64 system emulator: one that runs here, with TCG, and one for loongarch64 hosts, since
# the KVM code is compiled only there.

build=$tree.build
cross=$tree.cross
common=(--target-list=loongarch64-softmmu --without-default-features --enable-system --enable-tcg --enable-werror
	--enable-fdt=system --enable-slirp --enable-pixman --enable-attr --enable-trace-backends=log --disable-tools
	--disable-docs --disable-guest-agent --disable-download --disable-debug-info --disable-install-blobs
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

prepare() {
	local debs deb cc
	stub_firmware
	debs=$("$fetch" get "$queue/python.base") || return
	if [ ! -d "$build.python" ]; then
		for deb in "$debs"/*.deb; do
			dpkg-deb -x "$deb" "$build.python" || return
		done
	fi
	export PYTHONPATH=$build.python/usr/lib/python3/dist-packages
	if [ ! -f "$build/build.ninja" ]; then
		cc="$(command -v ccache || true) gcc"
		mkdir -p "$build"
		(cd "$build" && "$tree/configure" "${common[@]}" "--cc=${cc# }") || return
	fi
	if [ ! -f "$cross/build.ninja" ]; then
		wrappers "$cross.bin" "$("$fetch" get "$queue/loongarch64.base")"
		mkdir -p "$cross"
		(cd "$cross" && PATH=$cross.bin:$PATH "$tree/configure" "${common[@]}" --enable-kvm \
			--cross-prefix=loongarch64-linux-gnu- --host-cc=gcc) || return
	fi
}

# compile FILE...: the objects of those that are C, in the build that has them.
compile() {
	local file here=() there=()
	prepare || return
	for file; do
		case $file in
		tests/*.c) here+=("$(realpath --relative-to="$build" "$tree/$file")^") ;;
		*/kvm/*.c) there+=("$(realpath --relative-to="$cross" "$tree/$file")^") ;;
		*.c)
			here+=("$(realpath --relative-to="$build" "$tree/$file")^")
			there+=("$(realpath --relative-to="$cross" "$tree/$file")^")
			;;
		esac
	done
	[ ${#here[@]} -eq 0 ] || ninja -C "$build" -j2 "${here[@]}" || return
	[ ${#there[@]} -eq 0 ] || PATH=$cross.bin:$PATH ninja -C "$cross" -j2 "${there[@]}"
}

style() { (cd "$tree" && all_patches | xargs scripts/checkpatch.pl --no-color --quiet); }

# The qtests need no KVM; what does is tests/functional/test_loongarch64_kvm_pv.py, on a LoongArch host.
unit_tests() {
	prepare && ninja -C "$build" -j2 qemu-system-loongarch64 tests/qtest/loongarch-pv-features-test &&
		(cd "$build" && QTEST_QEMU_BINARY=./qemu-system-loongarch64 tests/qtest/loongarch-pv-features-test)
}
