# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How the kernel is compiled and checked; sourced by pv-queue, which sets $tree and $queue.

build=$tree.build
kbuild() { make -s -C "$tree" O="$build" ARCH=loongarch LLVM=-19 W=1 -j2 "$@"; }

prepare() {
	[ ! -f "$build/.config" ] || return 0
	mkdir -p "$build"
	KCONFIG_ALLCONFIG=$queue/kvm.config kbuild allnoconfig || return
	if command -v ccache >/dev/null; then
		kbuild CC="ccache clang-19" prepare
	else
		kbuild prepare
	fi
}

# compile FILE...: the objects of those that are C; for LoongArch's headers, what includes them most. W=1, no warning.
compile() {
	local file objects=()
	prepare || return
	for file; do
		case $file in
		arch/loongarch/*.h) objects+=(arch/loongarch/kvm/ arch/loongarch/kernel/paravirt.o) ;;
		tools/*) ;;
		*.c) objects+=("${file%.c}.o") ;;
		esac
	done
	[ ${#objects[@]} -eq 0 ] || kbuild KCFLAGS=-Werror "${objects[@]}"
}

style() { all_patches | xargs "$tree/scripts/checkpatch.pl" --root="$tree" --no-tree --strict --no-color --quiet; }
