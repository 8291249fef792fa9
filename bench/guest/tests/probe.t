#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What pv-guest reads from /proc, the kernel's log and CPUID, from fixtures.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
PYTHON=/usr/bin/python3 # what is first in PATH may be a slow wrapper
[ -x "$PYTHON" ] || PYTHON=python3

export PV_PROC_ROOT=$TMP/proc
mkdir "$PV_PROC_ROOT"
field() {
	$PYTHON -c '
import json, sys
e = json.loads(sys.stdin.read())
print(*[json.dumps(e[k]) for k in sys.argv[1:]])' "$@" <<<"$out"
}
counters() {
	run "$PV_BIN/pv-guest" counters
	[ "$status" = 0 ] || diag "$err"
}
state() {
	run "$PV_BIN/pv-guest" state "$@"
	[ "$status" = 0 ] || diag "$err"
}

# ---- /proc/interrupts, /proc/stat

cat >"$PV_PROC_ROOT/interrupts" <<'END'
           CPU0       CPU1       CPU3
  8:          1          0          0  IR-IO-APIC    8-edge      rtc0
 41:       1946          5          7 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx
NMI:          0          0          0   Non-maskable interrupts
LOC:      87440      92090          9   Local timer interrupts
RES:      23327 4294967295          1   Rescheduling interrupts
CAL:          1          2          3   99 is no count of a CPU
TLB:       6127       5028        100   TLB shootdowns
TLBX:       999        999        999   not it
ERR:          0
MIS:          0
END
cat >"$PV_PROC_ROOT/stat" <<'END'
cpu  10 20 30 40 50 60 70 815 90 100
cpu0 5 10 15 20 25 30 35 1 45 50
ctxt 1
END
counters
is "$(field TLB RES CAL LOC steal_ticks)" "11255 4294990623 6 179539 815" \
	"rows are summed over the CPUs, steal time is the 8th number"

cat >"$PV_PROC_ROOT/interrupts" <<'END'
           CPU0       CPU1
IPI0:       12         30  LoongArch  1  Rescheduling interrupts
IPI1:        4          5  LoongArch  2  Function call interrupts
ERR:          0
END
counters
is "$(field TLB RES CAL LOC IPI0 IPI1)" "null null null null 42 9" \
	"not x86: no such rows are null; the numbers end with the CPUs"

printf 'cpu  1 2 3 4 5 6 7\n' >"$PV_PROC_ROOT/stat"
counters
is "$(field steal_ticks)" null "a /proc/stat without steal time"
printf 'TLB: x y\n' >"$PV_PROC_ROOT/interrupts"
printf 'intr 1\n' >"$PV_PROC_ROOT/stat"
counters
is "$(field TLB steal_ticks)" "null null" "nonsense"
rm "$PV_PROC_ROOT"/{interrupts,stat}
counters
is "$(field TLB steal_ticks)" "null null" "no files"

# ---- the kernel's log

kmsg() { printf '%s\n' "$@" >"$PV_PROC_ROOT/kmsg"; }
said='6,2,200,-;kvm-guest: KVM setup pv remote TLB flush'
kmsg '5,0,0,-;Linux version 6.12' '6,1,100,-;x' ' SUBSYSTEM=acpi' "$said" '6,3,300,-;y'
state
is "$(field active)" '"yes"' "the kernel says so: active"
is "$(field fixture)" true "a state from fixtures says that it is one"
kmsg '5,0,0,-;Linux version 6.12' '6,1,100,-;x' ' KVM setup pv remote TLB flush' '6,2,1,c;y'
state
is "$(field active)" '"no"' "a whole log without it: not active"
kmsg '5,0,0,-;Linux' "12,1,200,-;KVM setup pv remote TLB flush"
state
is "$(field active)" '"no"' "a line that user space wrote does not count"
kmsg '6,7,0,-;x' '6,8,100,-;y'
state
is "$(field active)" '"unknown"' "the log's beginning is gone: unknown"
kmsg '6,7,0,-;x' "${said/2,200/8,200}"
state
is "$(field active)" '"yes"' "the log's beginning is gone, but the line is there: active"
kmsg '5,0,0,-;Linux' '6,1,0,-;x' '6,3,100,-;y'
state
is "$(field active)" '"unknown"' "a gap in the log: unknown"
kmsg '5,0,0,-;Linux' 'junk'
state
is "$(field active)" '"unknown"' "a log that is not understood: unknown"
{
	for i in {0..2999}; do echo "6,$i,$i,-;a line of the log, number $i"; done
	echo "6,3000,200,-;KVM setup pv remote TLB flush"
} >"$PV_PROC_ROOT/kmsg"
state
is "$(field active)" '"yes"' "a long log"
sed -i '$d' "$PV_PROC_ROOT/kmsg"
state
is "$(field active)" '"no"' "a long log without the line"
state --feature kvm-pv-sched-yield
is "$(field active feature)" '"unknown" "kvm-pv-sched-yield"' "another feature: unknown"
: >"$PV_PROC_ROOT/kmsg"
state
is "$(field active)" '"unknown"' "an empty log: unknown"
rm "$PV_PROC_ROOT/kmsg"
state
is "$(field active)" '"unknown"' "no log: unknown"

# ---- CPUID

if [ "$(uname -m)" != x86_64 ]; then
	skip "CPUID" "not x86"
	done_testing
fi

# KVM's features EAX, hints EDX and the base of the leaves.
kvm() {
	local base=${3:-40000000}
	cat >"$PV_PROC_ROOT/cpuid" <<-END
	1 0 0 80000000 0
	40000000 40000001 7263694d 666f736f 76482074
	$base 40000001 4b4d564b 564b4d56 4d
	$(printf %x $((0x$base + 1))) $1 0 0 $2
	END
}
kvm 220 0
state
is "$(field offered steal hypervisor dedicated mwait)" '"yes" true "KVMKVMKVM" false false' "bits 9 and 5"
kvm 20 1
state
is "$(field offered steal dedicated)" '"no" true true' "bit 9 off, the dedicated hint"
kvm 200 0
state
is "$(field offered steal)" '"yes" false' "bit 5 off"
kvm 220 0 40000100
state
is "$(field offered hypervisor)" '"yes" "KVMKVMKVM"' "with Hyper-V's leaves before KVM's"
for feature in kvm-steal-time:5 kvm-pv-unhalt:7 kvm-pv-ipi:11 kvm-pv-sched-yield:13; do
	kvm "$(printf %x $((1 << ${feature#*:})))" 0
	state --feature "${feature%:*}"
	is "$(field offered)" '"yes"' "${feature%:*} is bit ${feature#*:}"
	kvm "$(printf %x $((~(1 << ${feature#*:}) & 0xffffffff)))" 0
	state --feature "${feature%:*}"
	is "$(field offered)" '"no"' "${feature%:*} is no other bit"
done
state --feature kvm-pv-preempt
is "$(field offered)" '"unknown"' "a feature of another architecture: unknown"
kvm 220 0
printf 'console=ttyS0 no-steal-acc\n' >"$PV_PROC_ROOT/cmdline"
state
is "$(field offered steal)" '"yes" false' "no-steal-acc"
printf 'console=ttyS0 no-steal-accx\n' >"$PV_PROC_ROOT/cmdline"
state
is "$(field steal)" 'true' "no other word"
cat >"$PV_PROC_ROOT/cpuid" <<'END'
1 0 0 80000008 0
40000000 40000001 54474354 43544743 47435447
40000001 ffffffff 0 0 0
END
state
is "$(field offered steal hypervisor mwait dedicated)" '"no" false "TCGTCGTCGTCG" true null' \
	"another hypervisor offers nothing"
printf '1 0 0 0 0\n40000000 0 4b4d564b 564b4d56 4d\n40000001 220 0 0 0\n' >"$PV_PROC_ROOT/cpuid"
state
is "$(field offered hypervisor)" '"no" ""' "no hypervisor"

unset PV_PROC_ROOT
run "$PV_BIN/pv-guest" state
is "$status" 0 "the real thing"
unlike=$(grep -c fixture <<<"$out")
is "$unlike" 0 "is no fixture"

done_testing
