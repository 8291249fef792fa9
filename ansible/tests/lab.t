#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# End to end on the emulated lab: check mode and diff tell the truth, a second set-up changes nothing, off and on
# differ in the guest's own counters, a sample in the wrong state is refused, nothing is left behind.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
cd "$top/ansible" || exit
PATH=$top/build/ansible/bin:$PATH
export ANSIBLE_NOCOLOR=1
lab=$top/bench/lab/pv-lab
logs=$top/build/test-logs
mkdir -p "$logs"

# play NAME ARG...: sets $status, $out.
play() {
	run ansible-playbook bench.yml -e @tests/e2e.yml -e bench_run_results="$TMP/results" "${@:2}"
	printf '%s\n' "$out" "$err" >"$logs/lab-$1.log"
}
changed() { sed -n 's/^lab-x86 .*changed=\([0-9]*\).*/\1/p' <<<"$out"; }
# state [COMMAND]: what the lab host holds of ours.
state() { "$lab" ssh 'virsh list --all --name; ls /var/lib/pv-bench 2>/dev/null; ls /var/log/libvirt/qemu /var/lib/libvirt/qemu/nvram 2>/dev/null | grep pvb' | xargs; }

"$lab" stop
"$lab" start 2>/dev/null
ok $? "the lab host boots and answers ssh"
pid=$(cat "$top/build/lab/x86/qemu.pid")

play check-new --tags setup --check --diff
is "$status" 0 "check mode on a new host works"
like "$out" 'disable=kvm-pv-tlb-flush' "... the diff shows the guests that would be defined, by CPU XML"
like "$(changed)" '^[1-9]' "... it says that something would change"
is "$(state)" "" "... nothing did"

play setup --tags setup
is "$status" 0 "set-up"
like "$(changed)" '^[1-9]' "... changes something"
play setup-again --tags setup
is "$status/$(changed)" 0/0 "a second set-up changes nothing"
play check-again --tags setup --check --diff
is "$status/$(changed)" 0/0 "... which check mode knows"

play run --tags run,report
is "$status" 0 "off and on"
results=$TMP/results/latest
is "$(jq -r '[.workload, .arm, .offered, .active] | join(" ")' "$results/samples.jsonl" | sort | paste -sd,)" \
	"ebizzy off no no,ebizzy on yes yes,tlb off no no,tlb on yes yes" "... a sample of each, in the state that its arm says"
is "$(jq -rs 'map(select(.workload == "tlb")) | sort_by(.arm) | map(.tlb_ipis / (.flushes * .remote_vcpus)) |
	.[0] > 0.8 and .[1] < 0.5' "$results/samples.jsonl")" true "... TLB IPIs per flush and remote vCPU: about 1 off, less than half on"
is "$(jq -r .env.requested_by "$results/samples.jsonl" | uniq)" "libvirt CPU XML" "... asked for in the CPU XML"
diag "$(jq -rs 'map(select(.workload == "tlb")) | map("\(.arm): \(.tlb_ipis) TLB IPIs for \(.flushes) flushes of \(.remote_vcpus) vCPUs, \(.deferred_flushes) deferred, steal \(.steal_s) s") | join("; ")' "$results/samples.jsonl")"
is "$(jq -rs 'map(select(.workload == "tlb" and .arm == "on"))[0].deferred_flushes > 0' "$results/samples.jsonl")" true \
	"... the host counted deferred flushes"
is "$(jq -rs 'all(.steal_s > 0)' "$results/samples.jsonl")" true "... with steal time in each"
[ -s "$results/report.html" ] && [ -s "$results/report.json" ] && grep -q 'IPIs avoided' "$results/report.txt"
ok $? "... and a report"

# A resumed run must not lose or repeat a sample: take one boot away.
before=$(cat "$(readlink -f "$results")"/boots/lab-x86-0001.jsonl)
rm "$(readlink -f "$results")"/boots/lab-x86-0002.jsonl
play resume --tags run,report -e bench_run_dir="$(readlink -f "$results")"
is "$status" 0 "an interrupted run is resumed"
is "$(wc -l <"$results/samples.jsonl")/$(cat "$(readlink -f "$results")"/boots/lab-x86-0001.jsonl)" "4/$before" "... nothing lost, nothing run twice"

# -global of another CPU type does nothing, so that "off" is not off: the samples must not be used.
play refused -e bench_guests_interface=global -e bench_guests_cpu_driver=qemu64-x86_64-cpu -e '{"bench_guests_arms": ["off"]}' --tags run,report
[ "$status" -ne 0 ]
ok $? "a sample whose state is not what its arm says fails the run"
like "$out$err" 'refused: requested is no but offered is yes' "... and it says why"
[ "$(find "$TMP/results" -name 'lab-x86-*.jsonl' -newer "$results/report.json" | wc -l)" -eq 0 ]
ok $? "... and is not kept"

# A host with Debian's libvirt alone: QEMU's -global in the place of the CPU XML. Then ours again, by the role.
libvirt() {
	run ansible-playbook tests/libvirt.yml -e part="$1"
	printf '%s\n' "$out" "$err" >"$logs/lab-libvirt-$1.log"
}
libvirt absent
is "$status" 0 "Debian's libvirt takes over again"
play fallback --tags setup --check --diff
is "$status" 0 "set-up with it"
like "$out" 'cannot be asked for' "... says that the CPU XML is not used"
like "$out" 'global host-x86_64-cpu.kvm-pv-tlb-flush=off' "... but QEMU's -global"
play insisting --tags setup --check -e bench_guests_interface=cpu-xml
[ "$status" -ne 0 ] && grep -q 'does not offer kvm-pv-tlb-flush' <<<"$out$err"
ok $? "... and is refused where the CPU XML is insisted on"
libvirt main
like "$status/$(changed)" '^0/[1-9]' "the role patched_libvirt brings ours"
libvirt main
is "$status/$(changed)" 0/0 "... once"

play teardown --tags teardown
is "$status" 0 "teardown"
is "$(state)" "" "... leaves nothing: no guest, no NVRAM, no file, no log"
play teardown-again --tags teardown
is "$status/$(changed)" 0/0 "a second teardown changes nothing"

"$lab" stop
[ ! -e "/proc/$pid" ]
ok $? "the lab host is gone"
done_testing
