# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by the *.t after tap.sh: simulated kernels and QEMUs, domains, hosts; in $TMP.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../../.." && pwd)
PV_BIN=$(cd "$PV_BIN" && pwd)
check=$PV_BIN/virt-pv-check
PYTHON=/usr/bin/python3
[ -x "$PYTHON" ] || PYTHON=python3
# the sanitizer wants to be first, but the simulated kernel is
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
chmod 755 "$TMP" # QEMU is asked as nobody
cd "$TMP" || exit 1

# kernel ANSWER COMMAND...: with a simulated kernel (tests/kernel.c)
kernel() {
	PV_FAKE_KERNEL=$1 LD_PRELOAD=$PV_BIN/virt-pv-check-kernel.so run "${@:2}"
}
x86_all=1007efa # what Linux 6.18 answers, and bit 0 off
x86_no_flush=1007cfa
x86_no_steal=1007eda

# fake_qemu FILE LISTED ON [KVM]: a SIMULATION of QEMU that speaks QMP; LISTED and ON are features, between blanks
fake_qemu() {
	local list props name
	list=$(for name in $2; do printf '{"name":"%s","type":"bool"},' "$name"; done)
	props=$(for name in $2; do
		[[ " $3 " == *" $name "* ]] && printf '"%s":true,' "$name" || printf '"%s":false,' "$name"
	done)
	cat >"$1" <<-END
		#!/bin/bash
		echo '{"QMP":{"version":{"qemu":{"micro":3,"minor":0,"major":10},"package":""},"capabilities":["oob"]}}'
		while read -r line; do
			id=\${line##*:}
			case \$line in
			*qmp_cap*) echo "{\"return\":{},\"id\":\$id" ;;
			*query-kvm*) echo "{\"return\":{\"enabled\":${4:-true},\"present\":true},\"id\":\$id" ;;
			*device-list*) echo '{"return":[${list%,}],"id":'\$id ;;
			*expansion*) echo '{"return":{"model":{"name":"host","props":{${props}"big":18446744073709551615}}},"id":'\$id ;;
			*quit*) echo '{"timestamp":{"seconds":1,"microseconds":2},"event":"SHUTDOWN"}'; echo "{\"return\":{},\"id\":\$id"; exit ;;
			esac
		done
	END
	chmod 755 "$1"
}
x86_names="kvmclock kvm-nopiodelay kvm-asyncpf kvm-steal-time kvm-pv-eoi kvm-pv-unhalt kvm-pv-tlb-flush kvm-asyncpf-vmexit
	kvm-pv-ipi kvm-poll-control kvm-pv-sched-yield kvm-asyncpf-int kvmclock-stable-bit kvm-hint-dedicated"
x86_names=$(echo $x86_names)
x86_on=${x86_names% *}
loong_names="kvm-steal-time kvm-pv-ipi kvm-pv-preempt kvm-pv-tlb-flush"

uuid=5d3bd7f2-6f0a-4e1c-9a36-0c0f1c6f0001
# domain CPU [MORE]: domain XML; ARCH and TYPE may be set
domain() {
	cat <<-END
		<domain type='${TYPE:-kvm}'>
		  <name>guest1</name>
		  <uuid>$uuid</uuid>
		  <memory unit='MiB'>64</memory>
		  <vcpu placement='static'>4</vcpu>
		  <os><type arch='${ARCH:-x86_64}' machine='pc'>hvm</type></os>
		  ${2-}
		  $1
		  <devices><emulator>${EMULATOR:-$TMP/qemu}</emulator></devices>
		</domain>
	END
}
feature() { echo "<cpu mode='custom' match='exact'><model>qemu64</model><feature policy='$2' name='$1'/></cpu>"; }

# host NAME KERNEL_NO QEMU_NO LIBVIRT_NO: a saved host; what is not "no" is "yes"
host() {
	local part json=
	for part in kernel qemu libvirt; do
		json+=", \"$part\": {\"version\": \"1\", \"yes\": [$(quoted "${2-}" not)], \"no\": [$(quoted "${2-}")]}"
		set -- "$1" "${3-}" "${4-}"
	done
	echo "{\"format\": \"virt-pv-check host\", \"version\": 1, \"host\": \"$1\", \"arch\": \"x86_64\"$json}"
}
# quoted FEATURES [not]: as a list in JSON
quoted() {
	local name list=()
	for name in $x86_names; do
		if [[ " $1 " == *" $name "* ]]; then [ -n "${2-}" ] || list+=("\"$name\""); else [ -z "${2-}" ] || list+=("\"$name\""); fi
	done
	local IFS=,
	echo "${list[*]}"
}
