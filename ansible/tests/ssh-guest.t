#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that is a whole Debian, reached by ssh: the same playbooks, off and on once, on the emulated lab.
# PV_STATE: where the lab host keeps its state, as in pv-lab.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
cd "$top/ansible" || exit
PATH=$top/build/ansible/bin:$PATH
export ANSIBLE_NOCOLOR=1 PV_STATE=${PV_STATE:-$top/build/lab/x86} PV_LAB_DISKS=self
# Not the connection that Ansible may still have to another lab host with the same name.
export ANSIBLE_SSH_CONTROL_PATH_DIR=$TMP/cp
lab=$top/bench/lab/pv-lab
logs=$top/build/test-logs
mkdir -p "$logs"

# play NAME ARG...: sets $status, $out.
play() {
	run ansible-playbook bench.yml -e @tests/ssh-guest.yml -e lab_host_state="$PV_STATE" \
		-e bench_run_results="$TMP/results" "${@:2}"
	printf '%s\n' "$out" "$err" >"$logs/ssh-guest-$1.log"
}
changed() { sed -n 's/^lab-x86 .*changed=\([0-9]*\).*/\1/p' <<<"$out"; }
# state: what the lab host holds of ours.
state() { "$lab" ssh 'virsh list --all --name; ls /var/lib/pv-bench 2>/dev/null; ls /var/log/libvirt/qemu 2>/dev/null | grep pvb' | xargs; }

"$lab" stop
"$lab" start 2>/dev/null
ok $? "the lab host boots with its own image as a second disk"

play check --tags setup --check --diff
is "$status/$(state)" 0/ "check mode on a new host works and does nothing"
like "$out" 'source file="/var/lib/pv-bench/disks/pvb-debian-2x-off-1.qcow2"' "... the diff shows guests on disks of their own"
play setup --tags setup
is "$status" 0 "set-up"
like "$("$lab" ssh virsh net-list)" 'default +active' "... the guests' network is active"
play setup-again --tags setup
is "$status/$(changed)" 0/0 "a second set-up changes nothing"

play run --tags run,report
is "$status" 0 "off and on"
[ "$status" -eq 0 ] || diag "the lab host's console ends with: $(tail -n 20 "$PV_STATE/console.log")"
samples=$TMP/results/latest/samples.jsonl
is "$(jq -r '[.workload, .arm, .offered, .active] | join(" ")' "$samples" | sort | paste -sd,)" \
	"tlb off no no,tlb on yes yes" "... a sample of each, in the state that its arm says"
kernel=$("$lab" ssh uname -r)
is "$(jq -r .env.guest_kernel "$samples" | uniq)" "${kernel:-?}" "... of the distribution's kernel"
is "$(jq -rs 'sort_by(.arm) | map(.tlb_ipis / (.flushes * .remote_vcpus)) | .[0] > 0.8 and .[1] < 0.5' "$samples")" true \
	"... TLB IPIs per flush and remote vCPU: about 1 off, less than half on"
diag "$(jq -rs 'map("\(.arm): \(.tlb_ipis) TLB IPIs for \(.flushes) flushes of \(.remote_vcpus) vCPUs, \(.deferred_flushes) deferred, steal \(.steal_s) s") | join("; ")' "$samples")"
is "$(jq -rs 'map(select(.arm == "on"))[0].deferred_flushes > 0' "$samples")" true "... the host counted deferred flushes"
is "$(jq -rs 'length == 2 and all(.steal_s > 0)' "$samples")" true "... with steal time in each"
console=$("$lab" ssh cat '/var/lib/pv-bench/console/*')
like "$console" 'Debian GNU/Linux .* ttyS0' "... on the console, a Debian that has booted"
like "$console" 'pv-guest: done: 1 jobs, 0 failed' "... and what pv-guest says to people"

# A guest that does not answer in time: which, and why.
sed 's/boot_timeout: .*/boot_timeout: 3/' tests/ssh-guest.yml >"$TMP/hasty.yml"
play hasty --tags run,report -e @"$TMP/hasty.yml" -e '{"bench_guests_arms": ["off"]}'
[ "$status" -ne 0 ]
ok $? "a guest that is not ready in time fails the run"
like "$out$err" 'pvb-debian-2x-off-1: Wait for the address' "... which says who and when"
is "$(find "$TMP/results" -name 'lab-x86-*.jsonl' -newer "$TMP/hasty.yml")" "" "... and nothing of it is kept"

play teardown --tags teardown
is "$status/$(state)" 0/ "teardown leaves no guest, no file, no log"
"$lab" stop
done_testing
