#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The static programs run on each architecture (under user emulation where it is not this machine's).
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"

qemu=$("$top/bench/lab/fetch/pv-fetch" get "$top/bench/sysroot/qemu-user.base")/usr/bin

for arch in x86_64 aarch64 loongarch64; do
	emulate=("$qemu/qemu-$arch")
	[ "$arch" != "$(uname -m)" ] || emulate=()
	bin=$top/build/$arch/guest

	like "$(file -L "$bin/pv-ebizzy")" 'statically linked' "$arch: pv-ebizzy is static"
	run "${emulate[@]}" "$bin/pv-ebizzy" -S 1 -t 2 -s 4096 --json
	is "$status" 0 "$arch: pv-ebizzy runs"
	is "$(jq -r '.workload, .unit, .value > 0, .details.glibc != null' <<<"$out" | xargs)" \
		"ebizzy records/s true true" "$arch: pv-ebizzy counts"
	run "${emulate[@]}" "$bin/pv-tlb" -S 0.3 --json 1 1
	is "$status" 0 "$arch: pv-tlb runs"
	is "$(jq -r '.workload, .flushes > 0, .remote_vcpus' <<<"$out" | xargs)" "tlb true 1" "$arch: pv-tlb counts"
	run "${emulate[@]}" "$bin/pv-guest" params 'quiet pvb.job=tlb:30:-m,busy,1,3'
	is "$status" 0 "$arch: pv-guest understands its command line"
	run "${emulate[@]}" "$bin/pv-guest" params 'quiet pvb.job=tlb:0'
	is "$status" 2 "$arch: ... and refuses a wrong one"
	run "${emulate[@]}" "$top/build/$arch/host/pv-collect" --context /nonexistent --out "$TMP/x" g=/nonexistent
	is "$status" 2 "$arch: pv-collect wants its context"
done
done_testing
