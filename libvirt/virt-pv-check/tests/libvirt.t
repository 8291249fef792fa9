#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Against a real libvirtd: a session of its own, with real QEMU guests under TCG. Hosts that lack something are files.
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v virsh >/dev/null || ! { command -v libvirtd || [ -x /usr/sbin/libvirtd ]; } >/dev/null ||
	[ ! -x /usr/bin/qemu-system-x86_64 ] || [ "$(uname -m)" != x86_64 ]; then
	skip "a real libvirt" "no libvirtd, virsh or qemu-system-x86_64 here"
	done_testing
fi
mkdir -p home run state
as=()
if [ "$(id -u)" -eq 0 ]; then # a session is for users
	chown 65534 home run
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
export HOME=$TMP/home XDG_RUNTIME_DIR=$TMP/run LC_ALL=C
unset LIBVIRT_DEFAULT_URI XDG_CONFIG_HOME XDG_CACHE_HOME
PATH=$PATH:/usr/sbin
"${as[@]}" libvirtd --timeout 60 >"$TMP/libvirtd.log" 2>&1 &
daemon=$!
socket=$TMP/run/libvirt/libvirt-sock
uri="qemu+unix:///session?socket=$socket"
virsh() { command virsh -q -c "$uri" "$@"; }
# shellcheck disable=SC2317 # called by the trap
finish() {
	virsh destroy guest1 >/dev/null 2>&1
	kill "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	rm -rf "$TMP"
}
trap finish EXIT
for _ in {1..150}; do
	[ -S "$socket" ] && virsh uri >/dev/null 2>&1 && break
	sleep 0.2
done

kernel "x86_64:$x86_all" "$check" host -c "$uri"
is "$status" 0 "host"
like "$out" "libvirt  $(virsh version | sed -n 's/^Using library: libvirt //p')" "libvirt's version"
like "$out" "qemu     $(/usr/bin/qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'), /usr/bin/qemu-system-x86_64" \
	"QEMU's version, by QMP"
like "$out" '^kvm-pv-tlb-flush +yes +yes +no +libvirt: the name is not for CPU XML' "this libvirt does not know the name"
echo "<cpu match='minimum'><model>qemu64</model><feature name='kvm-pv-tlb-flush'/></cpu>" >cpu.xml
like "$(virsh cpu-compare cpu.xml 2>&1)" 'Unknown CPU feature kvm-pv-tlb-flush' "which is what it says itself"
kernel "x86_64:$x86_no_flush" "$check" host -c "$uri"
like "$out" '^kvm-pv-tlb-flush +no +yes +no +kernel: no CPUID 0x40000001 EAX bit 9' "a kernel that lacks it (simulated)"
kernel x86_64:denied "$check" host -c "$uri"
like "$status $out" '^3 .*' "KVM that does not let us ask: 3"
kernel "x86_64:$x86_all" "$check" host --format json -c "$uri"
echo "$out" >me.json
is "$(jq -r '.kernel.version + " " + .qemu.emulator' me.json)" "0-simulated /usr/bin/qemu-system-x86_64" "host: JSON"
jq '.host = "old" | .kernel.yes -= ["kvm-pv-tlb-flush"] | .kernel.no += ["kvm-pv-tlb-flush"]' me.json >old.json
virsh domcapabilities >domcaps.xml
virsh capabilities >caps.xml

EMULATOR=/usr/bin/qemu-system-x86_64
run "$check" domain -c "$uri" nobody
like "$status $err" '^5 .*nobody' "domain: there is none"
TYPE=qemu domain "<cpu mode='custom'><model>qemu64</model></cpu>" >guest.xml
virsh create guest.xml >/dev/null
is "$(virsh domstate guest1)" running "a real guest (TCG) runs"
kernel "x86_64:$x86_all" "$check" domain -c "$uri" guest1
is "$status" 0 "domain"
like "$out" 'domain guest1, x86_64, running, CPU mode custom' "domain: what it is"
like "$out" '^kvm-pv-tlb-flush +no +yes +no +no +the guest does not run on KVM' "domain: requested, offered, active, why"
kernel "x86_64:$x86_all" "$check" domain -c "$uri" --agent guest1
like "$status $out" 'the guest does not run on KVM' "domain --agent, no agent in the guest"
is "$(grep -c custom-monitor "$TMP"/home/.cache/libvirt/qemu/log/guest1.log)" 0 "domain leaves the guest untainted"
kernel "x86_64:$x86_all" "$check" domain -c "$uri" --monitor guest1
like "$status $err" '^0 .*libvirt marks guest1 as tainted \(custom-monitor\)' "domain --monitor says what it does"
is "$(grep -c 'tainted: custom-monitor' "$TMP"/home/.cache/libvirt/qemu/log/guest1.log)" 1 "and does it"
kernel "x86_64:$x86_all" "$check" migrate -c "$uri" --to me.json --to old.json guest1
is "$status $(grep -c '^allow' <<<"$out")" "0 2" "migrate: it uses nothing"
kernel "x86_64:$x86_all" "$check" migrate -c "$uri" --to "$uri" --to domcaps.xml --to caps.xml guest1
is "$status" 0 "migrate: a URI, and capabilities as libvirt prints them"
virsh destroy guest1 >/dev/null

# defined, not started: no KVM is needed
domain "<cpu mode='host-passthrough'/>" >pass.xml
if virsh define pass.xml >/dev/null 2>&1; then
	kernel "x86_64:$x86_all" "$check" migrate -c "$uri" --to me.json guest1
	is "$status" 0 "migrate: host-passthrough, to a host that offers all"
	kernel "x86_64:$x86_all" "$check" migrate -c "$uri" --to old.json guest1
	like "$status $out" '^1 .*the kernel of old .* does not offer it \(CPUID 0x40000001 EAX bit 9\)' "to one whose kernel lacks it"
	kernel "x86_64:$x86_no_flush" "$check" migrate -c "$uri" --to old.json guest1
	is "$status" 0 "to one that lacks what its own host lacks, too"
	kernel "x86_64:$x86_all" "$check" domain -c "$uri" guest1
	like "$out" '^kvm-pv-tlb-flush +by mode +yes +yes +no ' "domain: not running, so nothing is active"
	virsh undefine guest1 >/dev/null
else
	skip "host-passthrough" "this libvirt does not define KVM guests here"
fi
kernel "x86_64:$x86_all" "$check" fleet "$uri" me.json old.json
like "$status $out" '^0 x86_64, 3 hosts: level' "fleet: a URI and files"
like "$out" 'deficit   kvm-pv-tlb-flush' "fleet: deficit"
done_testing
