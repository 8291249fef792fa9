#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The witnesses find what is wrong, pv-lvz reports who fails, ends early or hangs: all without an emulated host.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
dir=$top/bench/lab/lvz

# The vector checksum: each variant as here, one changed sum is found.
fetch=$top/bench/lab/fetch/pv-fetch
emulate=$("$fetch" get "$top/bench/sysroot/qemu-user.base")/usr/bin/qemu-loongarch64
sysroot=$("$fetch" get "$top/bench/sysroot/loongarch64.base")
flags=(-std=gnu11 -O2 -pthread -ffp-contract=off -fuse-ld=lld "$dir/pv-vsum.c" -lm)
clang-19 "${flags[@]}" -o "$TMP/native"
"$TMP/native" 4 >"$TMP/sums"
is "$(sort -u -k2 "$TMP/sums" | wc -l)" 4 "pv-vsum: each thread has its own sum"
for variant in lasx lsx no-lsx; do
	more=("-m$variant")
	[ $variant != lsx ] || more+=(-mno-lasx)
	clang-19 --target=loongarch64-linux-gnu --sysroot="$sysroot" -static "${more[@]}" "${flags[@]}" -o "$TMP/vsum"
	is "$("$emulate" "$TMP/vsum" 4)" "$(cat "$TMP/sums")" "pv-vsum: $variant as here"
done
run "$TMP/native" 2 0.2 "$TMP/sums"
is "$status" 0 "pv-vsum: its own sums are right"
like "$out" '^2 threads, [0-9]+ sums, 0 wrong' "pv-vsum: ... and counted"
sed '2s/.$/z/;2s/0z/1/;2s/z/0/' "$TMP/sums" >"$TMP/wrong"
run "$TMP/native" 2 0.2 "$TMP/wrong"
is "$status" 1 "pv-vsum: a wrong one is found"
like "$out" '^thread 1: [0-9]+ of [0-9]+ sums wrong' "pv-vsum: ... with its thread"

# Known answers: the same twice, others for one changed byte, none without a key.
mkdir "$TMP/kat"
"$dir/kat" "$TMP/kat" make
"$dir/kat" "$TMP/kat" >"$TMP/answers"
is "$("$dir/kat" "$TMP/kat")" "$(cat "$TMP/answers")" "kat: the same answers again"
like "$(cat "$TMP/answers")" '^p521 native: Verified OK$' "kat: signatures verify"
printf x | dd of="$TMP/kat/input" bs=1 seek=1000000 conv=notrunc status=none
"$dir/kat" "$TMP/kat" >"$TMP/other"
is "$(comm -12 <(sort "$TMP/answers") <(sort "$TMP/other") | grep -c ' [0-9a-f]\{32,\}$')" 2 \
	"kat: one byte changes every answer that depends on the input (not the key agreement, not the short signature)"
like "$(cat "$TMP/other")" '^p521 native: Verification failure$' "kat: ... and signatures do not verify"
rm "$TMP/kat/rsa.pem"
run "$dir/kat" "$TMP/kat"
is "$((status != 0))" 1 "kat: fails without a key"

# pv-lvz, with a program in the place of the emulator, which writes what the host would.
mkdir -p "$TMP/product/functional"
touch "$TMP/product/qemu-system-loongarch64" "$TMP/kernel"
cat >"$TMP/emulator" <<'SH'
#!/usr/bin/env bash
for arg; do
	[[ $arg != file,id=results,path=* ]] || results=${arg#*path=}
	[[ $arg != file:*host-console.log ]] || console=${arg#file:}
done
echo 'a word of the kernel' >"$console"
. "$FAKE" >"$results"
SH
chmod +x "$TMP/emulator"
export PV_LVZ_QEMU=$TMP/emulator FAKE=$TMP/fake
lvz() {
	printf '%s\n' "$1" >"$FAKE"
	run "$dir/pv-lvz" boot --kernel "$TMP/kernel" --guest-kernel "$TMP/kernel" --product "$TMP/product" --silence 2
}
lvz 'echo "ok 1 - a"; echo 1..1'
is "$status" 0 "pv-lvz: all well"
like "$out" '^ok 1 - a$' "pv-lvz: shows the host's TAP"
lvz 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2'
is "$status" 1 "pv-lvz: a test failed"
lvz 'echo "ok 1 - a"'
is "$status" 1 "pv-lvz: no plan"
like "$out" '^# a word of the kernel$' "pv-lvz: ... with the host's last words"
lvz 'echo "ok 1 - a"; echo 1..2'
is "$status" 1 "pv-lvz: fewer results than planned"
lvz 'echo "ok 1 - a"; echo 1..1; exit 3'
is "$status" 1 "pv-lvz: the emulator failed"
lvz 'echo "ok 1 - a"; exec sleep 100'
is "$status" 1 "pv-lvz: the host hangs"
like "$out" '^Bail out! The host said nothing for 2 s' "pv-lvz: ... and that is said"
like "$out" '^# a word of the kernel$' "pv-lvz: ... with its last words"
is "$(pgrep -f "$TMP/emulator" || true)" '' "pv-lvz: ... and ended"

# The soak's bundle.
printf '%s\n' 'echo "ok 1 - the host has /dev/kvm"; echo "not ok 2 - guest 1: pv-stale: stale: a"; echo 1..2' >"$FAKE"
soak() {
	run "$dir/pv-lvz" soak --kernel "$TMP/kernel" --guest-kernel "$TMP/kernel" --product "$TMP/product" --minutes 0.2 "$@"
}
soak --guests 2 --seed 5
is "$status" 1 "pv-lvz soak: a test failed"
like "$out" '^# seed 5; all that is known: build/lvz/soak$' "pv-lvz soak: ... and says the seed"
like "$(cat "$top/build/lvz/soak/again")" '^bench/lab/lvz/pv-lvz soak .*--guests 2 --seed=5$' \
	"pv-lvz soak: ... and how to do it again"
like "$(cat "$top/build/lvz/soak/command")" 'pv.job="soak .*--guest-smp=4 .*--seconds=12 --seed=5 --guests=2 --threads=8 ' \
	"pv-lvz soak: the job"
like "$(cat "$top/build/lvz/soak/host-registers")" '^the monitor does not answer' \
	"pv-lvz soak: ... with the host's registers, if there are any"
for bad in '--minutes x' '--guests 0' '--guests 9' '--seed x' '--stall 1.5' '--minutes nan' '--minutes -1' '--minutes 1e9' \
	'--guest-smp 0' '--seed -1' '--stall 0'; do
	# shellcheck disable=SC2086
	soak $bad
	is "$status" 2 "pv-lvz soak: rejects $bad"
done

soak --control nonsense
is "$status:$(head -1 <<<"$out")" "1:not ok 1 - control nonsense: there is none of that name" "pv-lvz soak: no such control"

# The soak's judge: job.py with a program in the place of the guest's QEMU, which writes what a console would.
mkdir "$TMP/payload"
cat >"$TMP/payload/qemu-system-loongarch64" <<'SH'
#!/usr/bin/env bash
progress() { echo "pv-stale: $1 s: 5 changes, 6 accesses, 7 faults, 8 naps, longest oversleep 0.1 s, steal $2 s"; }
result() { echo "{\"program\": \"pv-stale\", \"result\": \"clean\", \"steal_s\": $1}"; }
echo 'PV: init'
. "$FAKE"
SH
chmod +x "$TMP/payload/qemu-system-loongarch64"
judge() {
	printf '%s\n' "$1" >"$FAKE"
	run env PV_PAYLOAD="$TMP/payload" timeout 60 "$dir/job.py" soak --accel tcg --seconds 2 --seed 1 --stall 3 --timeout 4
}
judge 'progress 1 0.5; result 1.5; echo "PV: job ended: 0"'
is "$status" 0 "soak: a clean guest"
like "$out" '^ok 2 - guest 1: its CPUs were taken away: steal time 1.50 s of 2 s$' "soak: ... with its steal time"
judge 'progress 1 0; result 0; echo "PV: job ended: 0"'
is "$status" 1 "soak: no steal time"
like "$out" '^not ok 2 - guest 1: its CPUs were taken away: steal time 0.00 s' "soak: ... is a failure"
judge 'progress 1 0.5; result null; echo "PV: job ended: 0"'
is "$status" 1 "soak: unknown steal time"
# symptom WHAT SCRIPT TEXT
symptom() {
	judge "$2"
	is "$status:$(grep -cE '^1\.\.[0-9]+$' <<<"$out")" 1:1 "soak: $1"
	like "$out" "^not ok 1 - guest 1: after [0-9]+ s: $3" "soak: ... is reported"
	like "$out" '^# seed 1$' "soak: ... with the seed"
}
symptom 'stale' 'progress 1 0.5; echo "pv-stale: stale: read an old generation: address 0x1"; sleep 9' \
	'pv-stale: stale: read an old generation'
symptom 'a late timer' 'progress 1 0.5; echo "pv-stale: late: a sleep of 10 ms lasted 9.0 s more; time"; sleep 9' \
	'pv-stale: late: '
symptom 'nothing happened' 'progress 1 0.5; echo "pv-stale: nothing shown: no fork happened"; echo "PV: job ended: 4"' \
	'pv-stale: nothing shown'
symptom 'an oops' 'progress 1 0.5; echo "[ 1.0] Oops[#1]:"; sleep 9' "its kernel says: .* Oops"
symptom 'a warning' 'echo "[ 1.0] WARNING: CPU: 0 PID: 1 at mm/x.c"; progress 1 0.5; sleep 9' "its kernel says: .* WARNING"
symptom 'a panic at boot' 'echo "[ 1.0] Kernel panic - not syncing: x"; exit 0' "its kernel says: .* Kernel panic"
symptom 'silence' 'progress 1 0.5; exec sleep 30' 'no progress for 3 s'
symptom 'a guest that does not begin' 'exec sleep 30' 'pv-stale did not begin in 4 s'
symptom 'an early end' 'progress 1 0.5; exit 0' 'ended early: exit status 0, that of pv-stale None'
symptom 'a crash of pv-stale' 'progress 1 0.5; echo "PV: job ended: 139"' 'ended early: exit status 0, that of pv-stale 139'
symptom 'no result' 'progress 1 0.5; echo "PV: job ended: 0"' 'ended early: '
symptom 'the emulator fails' 'progress 1 0.5; result 1; echo "PV: job ended: 0"; exit 1' 'ended early: exit status 1'
symptom 'a guest without end' 'while progress 1 0.5; do sleep 0.5; done' 'still runs after '

# Linux's selftests: what the job makes of how each ends. A host is not needed for that.
mkdir -p "$TMP/pv/selftests/loongarch"
cp "$dir/job.py" "$TMP/pv"
printf '%s\n' loongarch/{fpu,pmu}_test arch_timer {coalesced_io,guest_print,kvm_binary_stats,hardware_disable}_test steal_time \
	>"$TMP/pv/selftests/list"
program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$TMP/pv/selftests/$1"
	chmod +x "$TMP/pv/selftests/$1"
}
program loongarch/fpu_test 'exit 0'
program loongarch/pmu_test 'echo "PMU is not supported here"; exit 4'
program arch_timer '[ "$*" = "-e 10000" ]'
program coalesced_io_test 'echo "1..0 # SKIP - KVM_CAP_COALESCED_PIO not met"; exit 4'
program guest_print_test 'echo "==== Test Assertion Failure ===="; echo "  guest_print_test.c:7: a == b"; exit 254'
program kvm_binary_stats_test 'kill -SEGV $$'
program hardware_disable_test 'exec sleep 4'
program steal_time "sleep 54321 & exec sleep 54321"
selftests() { run "$TMP/pv/job.py" selftests --accel tcg --limit 2 "$@"; }
selftests
is "$status" 1 "selftests: some failed"
printf '%s\n' "$out" >"$TMP/results.tap"
like "$out" '^ok [0-9]+ - loongarch/fpu_test: [0-9.]+ s$' "selftests: passes"
like "$out" '^ok [0-9]+ - loongarch/pmu_test: [0-9.]+ s # SKIP PMU is not supported here$' \
	"selftests: may skip itself, and says why"
like "$out" '^ok [0-9]+ - arch_timer -e 10000: ' "selftests: has its options"
like "$out" '^not ok [0-9]+ - coalesced_io_test: ' "selftests: skips itself, which it may not"
like "$out" '^not ok [0-9]+ - guest_print_test: ' "selftests: fails"
like "$out" '^not ok [0-9]+ - kvm_binary_stats_test: ' "selftests: dies of a signal"
like "$out" '^ok [0-9]+ - hardware_disable_test: 4\.' "selftests: has more time, where that is said"
like "$out" '^# \(killed after 2(\.0)? s\)$' "selftests: hangs, is killed"
is "$(pgrep -fx 'sleep 54321' || true)" '' "selftests: ... and its children"
selftests --regex 'fpu|pmu' --times 2
is "$status" 0 "selftests: only those that are asked for"
like "$out" '^ok 5 - loongarch/pmu_test: .* s, time 2 of 2 # SKIP' "selftests: ... as often as asked for"
selftests --regex nosuch
is "$status" 1 "selftests: nothing to run is a failure"
sed -i /steal_time/d "$TMP/pv/selftests/list"
selftests --regex fpu
like "$out" '^not ok [0-9]+ - steal_time is a test of this kernel$' "selftests: one that the kernel lost is missed"
table=$("$dir/pv-lvz" table "$TMP/results.tap")
like "$table" '^\| guest_print_test \| FAIL \| 1 of 1 \| [0-9.]+ \| exit status 254, guest_print_test\.c:7: a == b \|$' \
	"table: a failure with its line"
like "$table" '^\| steal_time \| FAIL .* \| exit status 124, \(killed after 2(\.0)? s\) \|$' "table: what was killed"
like "$table" '^\| loongarch/pmu_test \| SKIP \| 1 of 1 \| [0-9.]+ \| PMU is not supported here \|$' \
	"table: a skip with its reason"
like "$table" '^\| arch_timer \| PASS .* \| run with .-e 10000.: ' "table: options and why"
run "$dir/pv-lvz" table /dev/null
is "$status" 1 "table: no result is an error"
done_testing
