#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Real refusals: two privileged libvirtds with real KVM guests on this machine, the hook installed on the second one.
# That the second host's kernel lacks the feature is a SIMULATION (tests/kernel.c); all else is real. The daemons have
# /etc/libvirt, /run/libvirt, /var/lib/libvirt and /var/cache/libvirt of their own (mount namespaces).
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin
usable() {
	[ "$(id -u)" -eq 0 ] && [ "$(uname -m)" = x86_64 ] && command -v virsh libvirtd qemu-system-x86_64 &&
		unshare --mount --uts true && "$PYTHON" -c 'import fcntl, os; fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), 0xAE01, 0)'
}
if ! usable >/dev/null 2>&1; then
	skip "two hosts" "needs root, usable KVM, libvirtd, virsh and qemu-system-x86_64"
	done_testing
fi

# start NAME UUID: a daemon that takes itself for the host NAME
pids=()
start() {
	local dir=$TMP/$1
	mkdir -p "$dir"/{etc/hooks/qemu.d,etc/qemu,run,lib,cache}
	printf 'unix_sock_dir = "%s"\nhost_uuid = "%s"\nauth_unix_rw = "none"\nlog_outputs = "3:file:%s"\n' \
		"$dir" "$2" "$dir/log" >"$dir/etc/libvirtd.conf"
	printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'namespaces = []' 'cgroup_controllers = []' \
		'stdio_handler = "file"' >"$dir/etc/qemu.conf"
	# Debian's libvirt wants its user to be there, even if it is not used
	{ cat /etc/passwd && echo 'libvirt-qemu:x:64055:64055::/:/bin/false'; } >"$dir/passwd"
	{ cat /etc/group && echo 'libvirt-qemu:x:64055:'; } >"$dir/group"
	# shellcheck disable=SC2016
	unshare --mount --uts bash -c '
		set -e
		mkdir -p /etc/libvirt /run/libvirt /var/lib/libvirt /var/cache/libvirt
		mount --bind "$1/etc" /etc/libvirt
		mount --bind "$1/run" /run/libvirt
		mount --bind "$1/lib" /var/lib/libvirt
		mount --bind "$1/cache" /var/cache/libvirt
		mount --bind "$1/passwd" /etc/passwd
		mount --bind "$1/group" /etc/group
		hostname "$2"
		# machined is one for both, and would not take a second guest of that name
		export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere
		exec libvirtd --pid-file "$1/pid"' - "$dir" "$1" >"$dir/out" 2>&1 &
	pids+=($!)
}
uri() { echo "qemu+unix:///system?socket=$TMP/$1/libvirt-sock"; }
virsh() { LC_ALL=C command virsh -q -c "$(uri "$1")" "${@:2}"; }
# shellcheck disable=SC2317 # called by the trap
finish() {
	virsh alpha destroy guest1
	virsh beta destroy guest1
	kill "${pids[@]}"
	wait "${pids[@]}"
	rm -rf "$TMP"
}
trap 'finish >/dev/null 2>&1' EXIT

# hook LINE: what beta's hook is
hook() {
	printf '#!/bin/sh\n%s\n' "$1" >beta/etc/hooks/qemu.d/50-virt-pv-check.new
	chmod 755 beta/etc/hooks/qemu.d/50-virt-pv-check.new
	mv beta/etc/hooks/qemu.d/50-virt-pv-check{.new,}
}
mkdir -p beta/etc/hooks/qemu.d
the_hook="exec $check hook --state $TMP/beta/state" # as in 50-virt-pv-check
shim="export ASAN_OPTIONS=$ASAN_OPTIONS LD_PRELOAD=$PV_BIN/virt-pv-check-kernel.so"
without="$shim PV_FAKE_KERNEL=x86_64:$x86_no_flush; $the_hook -- \"\$@\""
hook "$without"
start alpha 11111111-1111-4111-8111-111111111111
start beta 22222222-2222-4222-8222-222222222222
for name in alpha beta; do
	for _ in {1..150}; do
		virsh $name uri >/dev/null 2>&1 && break
		sleep 0.2
	done
	if ! virsh $name uri >/dev/null 2>&1; then
		ok 1 "$name answers"
		diag "$(tail -n 20 "$name/out" "$name/log" 2>&1)"
		done_testing
	fi
done

EMULATOR=/usr/bin/qemu-system-x86_64
domain "<cpu mode='custom' match='exact' check='partial'><model>kvm64</model></cpu>" |
	sed "s#^<domain #&xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' #
	s#</domain>#<qemu:commandline><qemu:arg value='-global'/><qemu:arg value='kvm64-x86_64-cpu.kvm-pv-tlb-flush=on'/></qemu:commandline>&#" >guest.xml
virsh alpha create guest.xml
is "$(virsh alpha domstate guest1)" running "a real KVM guest with the feature runs on alpha"
run "$check" domain -c "$(uri alpha)" --monitor guest1
like "$out" '^kvm-pv-tlb-flush +yes +yes +yes ' "domain: requested, offered, and in the vCPU that runs"

migrate() { run virsh alpha migrate --live --unsafe guest1 "$(uri beta)" --migrateuri tcp://127.0.0.1:49321; }
refused() { # NAME REGEX
	is "$([ "$status" -ne 0 ] && echo refused)" refused "$1: refused"
	like "$err" "$2" "$1: the reason reaches the caller"
	is "$(virsh alpha domstate guest1) $(virsh beta list --all --name)" "running " "$1: the guest still runs on its source"
}
migrate
refused "migration to a kernel without it" \
	'virt-pv-check: refused: guest1: kvm-pv-tlb-flush: the kernel of beta \(0-simulated\) does not offer it \(CPUID 0x40000001 EAX bit 9\); remedy: '
hook "$shim PV_FAKE_KERNEL=x86_64:crash; $the_hook -- \"\$@\""
migrate
refused "a check that crashes" 'refused: guest1: the check itself failed'
hook "$shim PV_FAKE_KERNEL=x86_64:hang; $the_hook --timeout 1 -- \"\$@\""
migrate
refused "a check that hangs" 'refused: guest1: the check was not done within 1 s'
hook "exec /nowhere/virt-pv-check hook -- \"\$@\""
migrate
refused "a hook without its program" 'Hook script execution failed'

virsh alpha save guest1 "$TMP/saved"
cp saved saved-again
hook "$without"
run virsh beta restore "$TMP/saved"
is "$([ "$status" -ne 0 ] && echo refused)" refused "restore to a kernel without it: refused"
like "$err" 'refused: guest1: kvm-pv-tlb-flush: the kernel of beta' "the reason reaches the caller"
hook "tee -a $TMP/xml-\$2 | $check hook --state $TMP/beta/state -- \"\$@\""
run virsh beta restore "$TMP/saved"
is "$status $(virsh beta domstate guest1)" "0 running" "restore to the real kernel, which has it: runs"
is "$(for f in xml-restore xml-prepare; do grep -c 'kvm-pv-tlb-flush=on' $f; done | paste -sd' ')" "1 1" \
	"libvirt called the hook for restore and for prepare"
is "$(for f in xml-restore xml-prepare; do grep -o "check='[a-z]*'" $f; done | paste -sd' ')" "check='partial' check='full'" \
	"restore sees the user's CPU, prepare what the guest runs with"
virsh beta destroy guest1
rm -f xml-*
virsh alpha restore "$TMP/saved-again"
migrate
is "$status $err $(virsh beta domstate guest1) $(virsh alpha list --all --name)" "0  running " "migration to the real kernel: arrives"
is "$(for f in xml-migrate xml-prepare; do grep -c 'kvm-pv-tlb-flush=on' $f; done | paste -sd' ')" "1 1" \
	"libvirt called the hook for migrate and for prepare"
is "$(for f in xml-migrate xml-prepare; do grep -o "check='[a-z]*'" $f; done | paste -sd' ')" "check='partial' check='full'" \
	"migrate sees the user's CPU, prepare what the guest runs with"
virsh beta destroy guest1

# host-passthrough: the XML does not say what the guest uses
# (a nested KVM may not take all that it offers)
domain "<cpu mode='host-passthrough'><feature policy='disable' name='arch-capabilities'/></cpu>" >pass.xml
virsh alpha create pass.xml
hook "$without"
migrate
refused "host-passthrough from a source that is not known" 'unknown whether the guest uses it \(CPU mode host-passthrough\)'
echo '{"format": "virt-pv-check policy", "version": 1, "level": {"x86_64": ["kvm-pv-tlb-flush"]}}' >policy.json
hook "${without/ -- / --policy $TMP/policy.json -- }"
migrate
refused "host-passthrough in a fleet whose level has it" 'the kernel of beta .* does not offer it'
echo '{"format": "virt-pv-check policy", "version": 1, "level": {"x86_64": []}}' >policy.json
migrate
is "$status $(virsh beta domstate guest1)" "0 running" "host-passthrough in a fleet whose level has not: arrives"
virsh beta destroy guest1
hook "$without"
run virsh beta create pass.xml
is "$status" 0 "a fresh start on beta is not judged"
done_testing
