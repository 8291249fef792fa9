# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How QEMU is compiled and checked; sourced by pv-queue, which sets $tree, $queue and $fetch.
#
# Two builds, both of the loongarch64 system emulator: one that runs here, with TCG, and one for loongarch64 hosts, since
# the KVM code is compiled only there.

build=$tree.build
cross=$tree.cross
# shellcheck source=qemu-patches/qemu-10.0/configure.sh
. "$queue/configure.sh"

prepare() {
	stub_firmware && python_modules "$build.python" || return
	[ -f "$build/build.ninja" ] || configure_here "$build" || return
	[ -f "$cross/build.ninja" ] || configure_cross "$cross" "$cross.bin"
}

# compile FILE...: the objects of those that are C, in the build that has them.
compile() {
	local file here=() there=()
	prepare || return
	for file; do
		case $file in
		tests/*.c | linux-user/*.c | target/*/tcg/*.c) here+=("$(realpath --relative-to="$build" "$tree/$file")^") ;;
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
