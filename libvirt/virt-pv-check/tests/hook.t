#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The hook, with simulated kernels and QEMUs.
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

fake_qemu qemu "$x86_names" "$x86_on"
me=$(uname -n)
passthrough="<cpu mode='host-passthrough'/>"
need=$(feature kvm-pv-tlb-flush require)

# hook KERNEL OPERATION [OPTION...]: XML on stdin; sets $status, $out, $err, $lines
hook() {
	local kernel=$1 operation=$2
	shift 2
	out=$(PV_FAKE_KERNEL=$kernel LD_PRELOAD=$PV_BIN/virt-pv-check-kernel.so "$check" hook --state "$TMP/state" "$@" -- \
		guest1 "$operation" begin - 2>"$TMP/.err")
	status=$?
	err=$(cat "$TMP/.err")
	lines=$(grep -c . "$TMP/.err")
}
# arrives KERNEL [OPTION...]: what libvirt does for an incoming guest, with the same XML twice
arrives() {
	local kernel=$1 xml
	shift
	xml=$(cat)
	hook "$kernel" migrate "$@" <<<"$xml"
	[ "$status" -ne 0 ] || hook "$kernel" prepare "$@" <<<"$xml"
}

arrives "x86_64:$x86_all" < <(domain "$need")
is "$status $out$err" "0 " "offered: allowed, and nothing said (stdout would replace the XML)"
is "$(ls state)" "" "the note of the arrival is gone"
hook "x86_64:$x86_no_flush" migrate < <(domain "$need")
is "$status $out $lines" "1  1" "the kernel lacks it: refused at migrate, in one line"
is "$err" "virt-pv-check: refused: guest1: kvm-pv-tlb-flush: the kernel of $me (0-simulated) does not offer it (CPUID 0x40000001 EAX bit 9); remedy: boot a kernel there that offers it, or restart the guest with kvm-pv-tlb-flush disabled" \
	"the line names guest, feature, host, bit and remedy"
is "$(ls state)" "" "and leaves no note"
hook "x86_64:$x86_no_flush" prepare < <(domain "$need")
is "$status $err" "0 " "a fresh start is not judged: nothing is in use yet"
hook "x86_64:$x86_all" migrate < <(domain "<cpu mode='host-model'/>")
is "$status $(ls state)" "0 $uuid" "migrate sees only the user's CPU: a note is left"
hook "x86_64:$x86_no_flush" prepare < <(domain "$need")
is "$status $lines" "1 1" "prepare sees what the guest runs with: refused"
hook "x86_64:$x86_no_flush" prepare < <(domain "$need")
is "$status" 0 "the note was used up: the next start is a fresh one"
hook "x86_64:$x86_all" migrate < <(domain "$need")
touch -d '1 hour ago' "state/$uuid"
hook "x86_64:$x86_no_flush" prepare < <(domain "$need")
is "$status" 0 "a note of an arrival that failed an hour ago does not count"
hook "x86_64:$x86_no_flush" restore < <(domain "$need")
is "$status $lines" "1 1" "restore: refused"
hook "x86_64:$x86_all" restore < <(domain "$need")
is "$status" 0 "restore: allowed"
hook "x86_64:$x86_no_flush" prepare < <(domain "$need")
is "$status" 1 "prepare after restore judges, too"
for operation in "start begin" "started begin" "stopped end" "release end" "reconnect begin" "attach begin" "migrate end"; do
	# shellcheck disable=SC2086 # two words
	run "$check" hook --state "$TMP/none" -- guest1 $operation -
	is "$status $out$err" "0 " "not ours: $operation"
done

arrives "x86_64:$x86_no_flush" < <(domain "$(feature kvm-pv-tlb-flush optional)")
is "$status" 1 "optional counts as in use"
arrives "x86_64:$x86_no_flush" < <(domain "$(feature kvm-pv-tlb-flush disable)")
is "$status" 0 "disabled: a kernel without it will do"
arrives "x86_64:$x86_no_flush" < <(domain "<cpu mode='custom'><model>qemu64</model></cpu>")
is "$status" 0 "not named, custom CPU: off"
arrives "x86_64:$x86_no_steal" < <(domain "<cpu mode='custom'><model>qemu64</model></cpu>")
is "$status" 3 "steal time is on by default: unknown, so refused"
like "$err" 'kvm-steal-time: unknown whether the guest uses it \(CPU mode custom\), and the kernel .* does not offer it' "and said"
arrives "x86_64:$x86_no_flush" < <(domain "$passthrough")
is "$status" 3 "host-passthrough from a source that is not known: unknown, so refused"
arrives "x86_64:$x86_all" < <(domain "$passthrough")
is "$status" 0 "host-passthrough, all is offered here: whatever it uses"
TYPE=qemu arrives "x86_64:none" < <(TYPE=qemu domain "$passthrough")
is "$status" 0 "a guest that does not run on KVM uses nothing"
arrives "x86_64:$x86_no_flush" < <(domain "$passthrough" "<features><kvm><hidden state='on'/></kvm></features>")
is "$status" 0 "a guest that is not told of KVM uses nothing"

echo '{"format": "virt-pv-check policy", "version": 1, "level": {"x86_64": ["kvm-steal-time", "kvmclock"]}}' >low.json
echo '{"format": "virt-pv-check policy", "version": 1, "level": {"x86_64": ["kvm-pv-tlb-flush"]}}' >high.json
arrives "x86_64:$x86_no_flush" --policy low.json < <(domain "$passthrough")
is "$status" 0 "the policy's level decides: not in the level, so not in use"
arrives "x86_64:$x86_no_flush" --policy high.json < <(domain "$passthrough")
is "$status" 1 "the policy's level decides: in the level, so in use"
arrives "x86_64:$x86_no_steal" --policy low.json < <(domain "<cpu mode='custom'><model>qemu64</model></cpu>")
is "$status" 1 "the level decides about what is on by default, too"
arrives "x86_64:$x86_no_flush" --policy low.json < <(domain "$need")
is "$status" 1 "the level does not decide what the XML says"
arrives "x86_64:$x86_all" --policy "$TMP/nowhere.json" < <(domain "$need")
is "$status $lines" "4 1" "no such policy: refused"
exception() {
	echo "{\"format\": \"virt-pv-check policy\", \"version\": 1, \"exceptions\":
		[{\"feature\": \"kvm-pv-tlb-flush\", \"host\": \"$me\", \"until\": \"$1\", \"why\": \"being replaced\"}]}" >exception.json
}
exception "$(date -u +%F)"
arrives "x86_64:$x86_no_flush" --policy exception.json < <(domain "$need")
is "$status" 0 "an exception that is in force today"
exception "$(date -u -d yesterday +%F)"
arrives "x86_64:$x86_no_flush" --policy exception.json < <(domain "$need")
is "$status" 1 "an exception that was over yesterday is as if absent"

hook x86_64:none migrate < <(domain "$need")
like "$status $err" '^1 .*no KVM' "no KVM here: refused"
hook x86_64:denied migrate < <(domain "$need")
like "$status $err" '^3 .*unknown whether the kernel of .* offers it: /dev/kvm: Permission denied' "KVM does not let us ask: unknown"
hook "x86_64:$x86_all" migrate < <(ARCH=aarch64 domain "$need")
like "$status $err" "^1 .*the guest is aarch64, the host is x86_64" "a guest of another architecture"
hook "x86_64:$x86_all" migrate < <(ARCH=aarch64 TYPE=qemu domain "$need")
is "$status" 0 "an emulated guest of another architecture"
hook "x86_64:$x86_all" migrate < <(ARCH=ppc64le domain "$need")
like "$status $err" "^3 .*architecture ppc64le is not known" "a guest of an architecture that is not known"

fake_qemu "qemu-old" "${x86_names/kvm-pv-tlb-flush/}" "$x86_on"
arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-old domain "$need")
like "$status $err" "^1 .*kvm-pv-tlb-flush: QEMU of $me \(10.0.3\) does not offer it" "QEMU lacks it"
arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-old domain "$(feature kvm-pv-tlb-flush disable)")
like "$status $err" "^1 .*does not have this property, which the guest sets" "QEMU does not know what the guest switches off"
fake_qemu "qemu-mask" "$x86_names" "${x86_on/kvm-pv-tlb-flush/}"
arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-mask domain "$need")
like "$status $err" "^1 .*QEMU of" "QEMU has it, the kernel has it, but QEMU does not set it"
arrives "x86_64:$x86_all" < <(EMULATOR=/nowhere/qemu domain "$need")
like "$status $err" "^3 .*/nowhere/qemu: it cannot be run" "no such QEMU: unknown"
arrives "x86_64:$x86_all" < <(EMULATOR=qemu domain "$need")
like "$status $err" "^3 .*no path of a QEMU binary" "an emulator that is no path"
printf '#!/bin/sh\nexec cat /dev/urandom\n' >qemu-noise
printf '#!/bin/sh\nexit 1\n' >qemu-dies
printf '#!/bin/sh\nexec sleep 60\n' >qemu-hangs
printf '#!/bin/sh\nid >%s/id\n' "$TMP" >qemu-id
chmod 755 qemu-*
arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-noise domain "$need")
like "$status $lines" '^3 1' "a QEMU that makes noise"
arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-dies domain "$need")
like "$status $err" '^3 .*it did not greet as QMP does' "a QEMU that dies"
arrives "x86_64:$x86_all" --timeout 0.5 < <(EMULATOR=$TMP/qemu-hangs domain "$need")
like "$status $lines $err" '^[35] 1 ' "a QEMU that hangs: refused in time"
is "$(pgrep -fc "$TMP/qemu-hangs")" 0 "and nothing of it is left"
if [ "$(id -u)" -eq 0 ]; then
	touch id && chown 65534 id
	arrives "x86_64:$x86_all" < <(EMULATOR=$TMP/qemu-id domain "$need")
	like "$(cat id)" '^uid=65534\([a-z]*\) gid=65534' "QEMU is asked without privileges"
else
	skip "QEMU is asked without privileges" "not root"
fi

hook x86_64:hang migrate --timeout 0.5 < <(domain "$need")
is "$status $lines" "5 1" "a check that hangs: refused, in one line"
like "$err" 'refused: guest1: the check was not done within 0.5 s' "which says so"
hook x86_64:crash migrate < <(domain "$need")
is "$status $lines" "5 1" "a check that crashes: refused, in one line"
like "$err" 'refused: guest1: the check itself failed \(Killed\)' "which says so"
hook "x86_64:$x86_all" migrate --timeout 0.5 < <(sleep 2)
is "$status $lines" "5 1" "XML that does not come"
hook "x86_64:$x86_all" migrate --state /proc/nowhere < <(domain "$need")
like "$status $err" '^5 .*cannot write in /proc/nowhere' "where no note can be left: refused"
: >"state/$uuid"
ln -sf /etc/passwd "state/$uuid"
hook "x86_64:$x86_all" migrate < <(domain "$need")
is "$status $(stat -c %F "state/$uuid")" "0 regular empty file" "a link in the place of the note is not followed"
rm -f "state/$uuid"

bad() { # NAME REGEX; XML on stdin
	hook "x86_64:$x86_all" migrate
	is "$status $lines" "4 1" "$1: refused, in one line"
	like "$err" "its XML: .*$2" "$1: says why"
}
bad "empty" "empty" </dev/null
bad "truncated" "not XML" < <(domain "$need" | head -c 200)
bad "no uuid" "no <uuid>" < <(domain "$need" | grep -v uuid)
bad "5 MiB" "larger than 4 MiB" < <(domain "$need" "<!--$(head -c 5242880 /dev/zero | tr '\0' x)-->")

loong_feature() { feature "$1" "$2" | sed 's/qemu64/la464/'; }
fake_qemu qemu "$loong_names" "$loong_names"
export ARCH=loongarch64
arrives loongarch64:6,7,10,11 < <(domain "$(loong_feature kvm-pv-tlb-flush require)")
is "$status $err" "0 " "LoongArch: offered"
arrives loongarch64:6,7,10 < <(domain "$(loong_feature kvm-pv-tlb-flush require)")
like "$status $err" '^1 .*KVM VM attribute 11 of KVM_LOONGARCH_VM_FEAT_CTRL' "LoongArch: the kernel lacks attribute 11"
arrives loongarch64:old < <(domain "$(loong_feature kvm-pv-tlb-flush require)")
is "$status" 1 "LoongArch: a kernel without attributes of VMs"
arrives loongarch64:7 < <(domain "$(loong_feature kvm-pv-tlb-flush disable)")
like "$status $err" '^3 .*kvm-pv-ipi: unknown whether the guest uses it' "LoongArch: IPIs are on by default"
fake_qemu qemu "kvm-steal-time kvm-pv-ipi" "kvm-steal-time kvm-pv-ipi"
arrives loongarch64:6,7,10,11 < <(domain "$(loong_feature kvm-pv-tlb-flush disable)")
like "$status $err" '^1 .*does not have this property' "LoongArch: mainline QEMU has no such property, not even off"
fake_qemu qemu "" "" false
arrives loongarch64:6,7,10,11 < <(domain "$(loong_feature kvm-pv-tlb-flush require)")
like "$status $err" '^3 .*only where it can use KVM' "LoongArch: a QEMU without KVM does not tell"
ARCH=aarch64
fake_qemu qemu "kvm-steal-time" "kvm-steal-time"
arrives aarch64:1 < <(domain "$(feature kvm-steal-time require)")
is "$status $err" "0 " "arm64: steal time"
arrives aarch64:1 < <(domain "<cpu mode='host-passthrough'/>")
is "$status $err" "0 " "arm64: what was only proposed comes with no CPU"
arrives aarch64:0 < <(domain "$(feature kvm-steal-time require)")
like "$status $err" '^1 .*KVM_CAP_STEAL_TIME' "arm64: no steal time"
arrives aarch64:1 < <(domain "$(feature kvm-pv-vcpu-state require)")
like "$status $err" '^1 .*QEMU|^3 .*no kernel is known to say' "arm64: what was only proposed is not allowed"
done_testing
