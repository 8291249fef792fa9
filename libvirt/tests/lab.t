#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The CPU feature in libvirt, end to end on the emulated x86 host: matrix.py there, each of its cases a test.
#
#   lab.t [REGEX]    all cases (half an hour), or those that match; a table of them goes to build/libvirt-matrix.md
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PV_BIN=${PV_BIN:-$top/build/native/bin}
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
cd "$top" || exit
only=${1:-}
# shellcheck source=SCRIPTDIR/ship.sh
. libvirt/tests/ship.sh

"$lab" stop
ship "$TMP"
ok $? "the lab host boots and takes the test"
"$lab" ssh "python3 $dir/matrix.py $guest ${only:+--only $(printf %q "$only")}" </dev/null >"$TMP/out" 2>&1
status=$?
"$lab" ssh cat $dir/out.json >"$TMP/matrix.json" 2>/dev/null
cases=$(jq '.rows | length' "$TMP/matrix.json" 2>/dev/null)
[ "${cases:-0}" -gt 0 ]
ok $? "the cases are run: ${cases:-none}"
while read -r bad text; do
	ok "$bad" "$text"
done < <(jq -r '.rows[] | "\(if .ok then 0 else 1 end) \(.part): \(.case): \(.got)"' "$TMP/matrix.json")
ok $status "... to the end, and all as expected"
[ $status -eq 0 ] || diag "$(grep -vE '^ok ' "$TMP/out" | tail -n 40)"
"$lab" stop

if [ $_failed -eq 0 ]; then
	{
		echo '<!-- SPDX-License-Identifier: GPL-2.0-only -->'
		echo "# kvm-pv-tlb-flush in libvirt, on the emulated x86 host"
		echo
		echo "Written by \`make libvirt-test\`${only:+ (a run of the cases that match \`$only\`)}. \"new\" hosts run our libvirt, \"old\" ones"
		echo "Debian's; each is a session daemon of its own on the lab host. Seen in the live XML (xml), in QEMU (qemu) and by the guest itself"
		echo '(guest). Lacking kernels and QEMUs are simulations.'
		echo
		echo '| | case | seen |'
		echo '|---|---|---|'
		jq -r '.rows[] | "| \(.part) | \(.case) | \(.got) |"' "$TMP/matrix.json"
	} >build/libvirt-matrix.md
fi
done_testing
