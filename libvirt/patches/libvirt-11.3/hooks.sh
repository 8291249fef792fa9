# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How libvirt is compiled and checked; sourced by pv-queue, which sets $tree.

build=$tree.build

# prepare: a build folder for $tree, with what the QEMU driver and its tests need.
prepare() {
	[ ! -f "$build/build.ninja" ] || return 0
	local ccache=''
	! command -v ccache >/dev/null || ccache='ccache '
	rm -rf "$build"
	CC="${ccache}cc" meson setup "$build" "$tree" --buildtype=debug --auto-features=disabled -Ddriver_qemu=enabled -Ddriver_remote=enabled \
		-Ddriver_libvirtd=enabled -Ddriver_test=enabled -Djson_c=enabled -Dlibnl=enabled -Dtests=enabled \
		-Ddocs=disabled -Dexpensive_tests=disabled -Dinit_script=none -Drpath=enabled
}

# compile FILE...: the objects of those that are C.
compile() {
	local file objects=()
	prepare || return
	for file; do
		[[ $file != *.c ]] || objects+=("$(realpath --relative-to="$build" "$tree/$file")^")
	done
	[ ${#objects[@]} -eq 0 ] || ninja -C "$build" -j2 "${objects[@]}"
}

# keycodemapdb is a submodule upstream, hence not checked there; here the tarball's files are in the tree, and the
# checks go by the last commit: one without them.
style() {
	local status=0
	prepare || return
	git -C "$tree" checkout -q --detach
	git -C "$tree" rm -r -q --cached subprojects/keycodemapdb
	git -C "$tree" commit -q -m "without the submodule"
	meson test -C "$build" --suite syntax-check --print-errorlogs || status=1
	git -C "$tree" reset -q "pv/${all[-1]}"
	git -C "$tree" checkout -q "pv/${all[-1]}"
	return $status
}

unit_tests() { prepare && ninja -C "$build" -j2 && meson test -C "$build" --no-rebuild --no-suite syntax-check --print-errorlogs; }
