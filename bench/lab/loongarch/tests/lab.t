#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The LoongArch lab host: boots within a minute, its libvirt is ours behind Debian's client, lists what KVM and QEMU offer, takes
# Ansible's modules, starts guests with the features and refuses those that its kernel lacks; runs change nothing in the image.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
cd "$top" || exit
export LAB=loongarch PATH=$top/build/ansible/bin:$PATH ANSIBLE_NOCOLOR=1 ANSIBLE_CONFIG=$top/ansible/ansible.cfg
export PV_LAB_KERNEL=mainline
lab=bench/lab/pv-lab guest=build/loongarch64/guest.image
here=bench/lab/loongarch/tests
on() { "$lab" ssh "$@" </dev/null; }
# adhoc MODULE [ARGUMENTS]
adhoc() { run ansible -i ansible/inventories/lab-loongarch lab-loongarch -m "$1" -a "${2:-}"; }
# unlike TEXT WORD NAME
unlike() { is "$(grep -F -m1 -- "$2" <<<"$1")" '' "$3"; }
# define NAME FEATURE...: a guest that requires them.
define() {
	local name=$1 cpu='' f
	shift
	for f; do cpu+="<feature policy='require' name='$f'\\/>"; done
	sed "s/@NAME@/$name/; s/@CPU@/$cpu/" $here/guest.xml | "$lab" ssh "cat >/var/tmp/pv-lab/$name.xml"
	run on "virsh define /var/tmp/pv-lab/$name.xml"
}
# console NAME REGEX: what its console says that matches, within two minutes.
console() {
	on "for i in \$(seq 120); do grep -aEm1 '$2' /var/log/libvirt/qemu/$1-console.log 2>/dev/null && exit; sleep 1; done; exit 1"
}

image=$("$lab" image)
sum=$(sha256sum "$image/disk.img")
"$lab" stop
start=$SECONDS
run "$lab" start
is "$status" 0 "the lab host boots and answers ssh"
is "$((SECONDS - start < 60))" 1 "... within a minute: $((SECONDS - start)) s"
unlike "$err" 'once more' "... at the first try"
is "$(on uname -m)" loongarch64 "it is LoongArch"
is "$(on 'systemctl list-units --failed --no-legend --plain' | cut -d' ' -f1 | xargs)" '' "no unit failed"
is "$(on '[ -c /dev/kvm ] && nproc')" 2 "it has KVM, and two CPUs"

run on virsh version
is "$status" 0 "virsh version"
like "$out" 'Using library: libvirt 1[2-9]\.' "... the client is Debian's"
like "$out" 'Running hypervisor: QEMU 10\.0' "... the guests' QEMU ours"
is "$(on virsh version --daemon | sed -n 's/^Running against daemon: //p')" 11.3.0 "... the daemon, too"
run on virsh domcapabilities --arch loongarch64 --machine virt --virttype kvm
is "$status" 0 "virsh domcapabilities"
# On by default, so part of the host model; off by default, so only listed.
like "$out" "<feature policy='require' name='kvm-steal-time'/>" "... the host model has kvm-steal-time"
like "$out" "<value>kvm-pv-preempt</value>" "... kvm-pv-preempt can be asked for"
unlike "$out" 'kvm-pv-tlb-flush' "... not kvm-pv-tlb-flush, which the kernel lacks"

adhoc ping
like "$out" '"?ping"?: "?pong' "Ansible: ping"
adhoc setup 'filter=ansible_machine,ansible_distribution_release'
like "$out" 'forky' "Ansible: facts"
adhoc community.libvirt.virt 'command=list_vms'
is "$status" 0 "Ansible: community.libvirt.virt, no guest yet"
unlike "$out" 'pv-' "... which it says"

tar -cf - -C "$guest" vmlinuz initramfs.cpio.gz | "$lab" ssh 'mkdir -p /var/tmp/pv-lab && tar -xf - --no-same-owner -C /var/tmp/pv-lab'
define pv-preempt kvm-pv-preempt
is "$status" 0 "a guest that requires kvm-pv-preempt is defined"
run on virsh start pv-preempt
is "$status" 0 "... and starts"
[ "$status" -eq 0 ] || diag "$err"
like "$(console pv-preempt 'steal-time with preempt')" 'preempt enabled' "... its kernel says that preempt is enabled"
adhoc community.libvirt.virt 'command=list_vms state=running'
like "$out" 'pv-preempt' "Ansible: community.libvirt.virt lists it"
run on virsh destroy pv-preempt
is "$status" 0 "... it is ended"
define pv-plain
run on virsh start pv-plain
like "$(console pv-plain 'steal-time with preempt')" 'preempt disabled' "a guest that requires nothing: preempt is disabled"
run on virsh destroy pv-plain
define pv-flush kvm-pv-tlb-flush
run on virsh start pv-flush
is "$((status != 0))" 1 "a guest that requires kvm-pv-tlb-flush does not start"
like "$err" 'kvm-pv-tlb-flush' "... and the error names it"
diag "$err"

"$lab" stop
is "$(sha256sum "$image/disk.img")" "$sum" "the image is as it was"
is "$("$lab" status)" stopped "... and the host is gone"
done_testing
