#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The playbooks without any host: syntax, style, arguments.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
cd "$top/ansible" || exit
PATH=$top/build/ansible/bin:$PATH
export ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=False

run ansible-lint --offline
is "$status" 0 "ansible-lint, profile production"
[ "$status" -eq 0 ] || diag "$out"
for inventory in lab example; do
	run ansible-playbook -i "inventories/$inventory" --syntax-check bench.yml
	is "$status" 0 "syntax, inventory $inventory"
done
run ansible-inventory -i inventories/example --list
is "$(jq -r '._meta.hostvars["host2.example.org"].bench_guests_count' <<<"$out")" 4 "the example inventory is understood"
run ansible-galaxy collection list community.libvirt --format json
like "$out" '"version": "[2-9]' "community.libvirt is new enough"

# Each role refuses what its argument_specs do not allow, naming it, before it touches anything.
refuses() {
	run ansible-playbook -i localhost, tests/role.yml -e "$1"
	[ "$status" -ne 0 ] && grep -q 'Validating arguments' <<<"$out" && grep -q -- "$2" <<<"$out$err" &&
		! grep -qE '(changed|unreachable)=[1-9]' <<<"$out"
	ok $? "refused: $1"
}
refuses '{"role": "lab_host", "lab_host_name": "vax", "lab_host_state": "/tmp"}' 'value of lab_host_name must be one of'
refuses '{"role": "lab_host", "lab_host_name": "x86"}' 'lab_host_state'
refuses '{"role": "bench_guests", "bench_guests_arms": ["maybe"]}' 'value of bench_guests_arms must be one'
refuses '{"role": "bench_guests", "bench_guests_feature": "kvm-pv-tlb"}' 'value of bench_guests_feature must be one of'
refuses '{"role": "bench_guests", "bench_guests_count": "two"}' 'bench_guests_count'
refuses '{"role": "bench_guests", "bench_guests_sets": [{"name": "a", "overcommit": [1]}]}' 'jobs'
refuses '{"role": "bench_guests", "bench_guests_sets": [{"name": "a", "overcommit": ["half"], "jobs": []}]}' 'overcommit'
refuses '{"role": "bench_guests", "bench_guests_sets": [{"name": "a", "overcommit": [1], "jobs": [], "disk": "/x", "disk_format": "vdi"}]}' 'value of disk_format must be one of'
refuses '{"role": "bench_guests", "bench_guests_sets": [{"name": "a", "overcommit": [1], "jobs": [], "disk": "/x", "kcbench": true}]}' 'kcbench goes with our guest image'
refuses '{"role": "bench_guests", "bench_guests_sets": [{"name": "a", "overcommit": [1], "jobs": [], "ssh": {"private_key_file": "/x"}}]}' 'and ssh with disk'
refuses '{"role": "bench_guests", "bench_guests_interface": "qmp"}' 'value of bench_guests_interface must be one of'
refuses '{"role": "patched_libvirt", "patched_libvirt_build": "x", "patched_libvirt_service": "sshd"}' 'value of patched_libvirt_service must be one of'
refuses '{"role": "bench_run", "bench_run_tries": "often"}' 'bench_run_tries'
refuses '{"role": "bench_run", "bench_run_profile": "slow"}' 'value of bench_run_profile must be one of'
refuses '{"role": "bench_run", "bench_run_runs": "many"}' 'bench_run_runs'
done_testing
