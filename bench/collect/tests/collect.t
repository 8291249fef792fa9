#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# pv-collect against well-behaved fake guests; the host's counts; context and options.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- all is well

guest a sleep:0.2 state:'{"jobs":2}' ready wait:go begin:tlb:1:2 sleep:0.4 progress:tlb \
	sample:tlb:'{"value":1}' begin:tlb:2:2 sample:tlb:'{"value":2}' done:'{"jobs":2}' wait:bye close
guest b state sleep:0.8 log:b-ready ready wait:go begin:tlb:1:1 sleep:0.2 sample:tlb:'{"value":3}' "${bye[@]}"
collect a=a.sock b=b.sock
is "$status" 0 "two guests: status"
is "$(cut -d' ' -f2- log | head -n 3 | paste -sd,)" "b-ready,got go,got go" \
	"nobody goes before the last is ready"
is "$(samples guest value)" $'"a" 1\n"a" 2\n"b" 3' "all samples"
is "$(samples schema host lane emulated pcpus overcommit arm requested run position seed | uniq)" \
	'1 "lab1" "x86" true 2 2 "off" "no" 3 4 99' "the host's fields"
is "$(samples env | uniq)" \
	'{"guest_kernel": "6.12", "glibc": "2.41", "host_kernel": "6.12", "qemu": "10.0"}' \
	"the environments are merged"
is "$(samples workload implementation metric unit better params bystanders flushes remote_vcpus vcpus \
	feature offered active steal_s elapsed_s tlb_ipis details.x | uniq)" \
	'"tlb" "pv-tlb-flush" "flush_rate" "flushes/s" "higher" "-n 5" "busy" 20 1 2 "kvm-pv-tlb-flush" "no" "no" 0.5 1.0 20 1' \
	"the guests' fields"
is "$(samples deferred_flushes details.host.run_delay_s | uniq)" "null null" "no pid: no host counts"
is "$(head -n 1 out.jsonl | "$PYTHON" -c 'import json,sys; print(len(json.loads(sys.stdin.read())))')" \
	32 "no other fields"
read -r overlap_a start end <<<"$(samples details.host.overlap details.host.window | sed -n 1p | tr -d '[],')"
"$PYTHON" -c "
import sys
sys.exit(not (0.3 < $end - $start < 2 and 0.1 < $overlap_a < 0.9))"
ok $? "window and overlap of the longer job ($overlap_a)"
like "$(samples details.host.overlap | tail -n 1)" '^(1\.0|0\.[5-9][0-9]*)$' "overlap of the shorter job"
like "$err" 'go: 2 guests' "progress: go"
like "$err" 'a: job 2 of 2: tlb: 2 flushes/s' "progress: jobs"
is "$(stat -c %a out.jsonl) $(find . -name 'out.jsonl?*')" "644 " "mode, and no other file"

collect a=a.sock
is "$status" 2 "the file is there already"
like "$err" 'out.jsonl is there already' "says so"
guest a "${hello[@]}" "${job[@]}" "${bye[@]}"
collect --force a=a.sock
is "$status $(samples value)" "0 12.5" "--force"

rm -f out.jsonl
guest a "${hello[@]}" "${job[@]}" "done" wait:bye sleep:3
collect a=a.sock
is "$status" 0 "done, but not off: status"
like "$err" 'guest a: done, but not off within 1 s' "a warning"

# The socket comes late.
rm -f out.jsonl a.sock
(sleep 0.5; guest a "${hello[@]}" "${job[@]}" "${bye[@]}"; wait) &
collect a=a.sock
is "$status" 0 "a guest that is started later"

# ---- the host's counts

rm -f out.jsonl
guest a threads:2:1.5 "${hello[@]}" begin:tlb:1:1 sleep:1 sample:tlb "${bye[@]}"
collect a=a.sock,a.pid
is "$status" 0 "vCPU threads: status"
if [ -e /proc/self/schedstat ]; then
	# Two busy threads share Python's one lock: they wait for it, not for a CPU.
	like "$(samples details.host.run_delay_s)" '^[0-9.e-]+$' "time they waited for a CPU"
else
	skip "time they waited for a CPU" "no schedstat"
fi
rm -f out.jsonl
guest a threads:1:0 "${hello[@]}" sleep:1
collect a=a.sock,a.pid
is "$status" 1 "a guest with more vCPUs than its QEMU has"
like "$err" 'says it has 2 vCPUs, its QEMU has 1' "says so"
guest a "${hello[@]}" "${job[@]}" "${bye[@]}"
collect a=a.sock,a.pid
is "$status $(samples deferred_flushes details.host.run_delay_s)" "0 null null" "no vCPU threads"
like "$err" 'no vCPU threads' "a warning"
rm -f out.jsonl
guest a "${hello[@]}" "${job[@]}" "${bye[@]}"
collect a=a.sock,nowhere
is "$status $(samples deferred_flushes)" "0 null" "no pid file"
like "$err" 'cannot read a process id from nowhere' "a warning"
rm -f out.jsonl

# ---- context and options

bad() { # NAME SAID SED
	local good
	good=$(cat context.json)
	sed -i "$3" context.json
	collect a=a.sock
	is "$status $(find . -name 'out.jsonl*')" "2 " "context: $1"
	like "$err" "$2" "context: $1: says why"
	echo "$good" >context.json
}
bad "no JSON" 'context.json:[0-9]+: ' 's/}}/}/'
bad "a field is missing" '"lane" is missing' 's/"lane": "x86", //'
bad "an unknown field" 'unexpected field "guest"' 's/"lane"/"guest": "a", "lane"/'
bad "twice" 'duplicate' 's/"lane"/"host": "a", "lane"/'
bad "an arm that is none" '"arm" must be off.on' 's/"off"/"maybe"/'
bad "env of numbers" '"env" must be an object of strings' 's/"6.12"/6/'
bad "run 0" '"run" must be an integer >= 1' 's/"run": 3/"run": 0/'
mv context.json away.json
collect a=a.sock
is "$status" 2 "no context"
mv away.json context.json

expect() { # NAME SAID SED
	sed "$3" context.json >other.json
	guest a "${hello[@]}" "${job[@]}" "${bye[@]}"
	collect --context other.json a=a.sock
	is "$status $(find . -name 'out.jsonl*')" "1 " "expected: $1"
	like "$err" "$2" "expected: $1: says why"
}
expect "another feature" 'tests feature kvm-pv-tlb-flush, the context says kvm-pv-ipi' 's/"lane"/"feature": "kvm-pv-ipi", "lane"/'
expect "more vCPUs" 'has 2 vCPUs online, the context says 4' 's/"lane"/"vcpus": 4, "lane"/'
expect "less overcommit" 'overcommit 0.5 in the context, but the guests have 2 vCPUs on 2 pCPUs' 's/"overcommit": 2/"overcommit": 0.5/'
sed 's/"lane"/"feature": "kvm-pv-tlb-flush", "vcpus": 2, "lane"/' context.json >other.json
guest a "${hello[@]}" "${job[@]}" "${bye[@]}"
collect --context other.json a=a.sock
is "$status $(samples feature vcpus)" '0 "kvm-pv-tlb-flush" 2' "expected, and so it is"
rm -f out.jsonl

while read -r -a args; do
	collect "${args[@]}"
	is "$status $(find . -name 'out.jsonl*')" "2 " "refused: ${args[*]}"
done <<'END'

a
=a.sock
a=
a=a,b,c,d
a/b=a.sock
-a=a.sock
a=a.sock a=b.sock
a=a.sock b=a.sock
--timeout 0 a=a.sock
--timeout x a=a.sock
--boot-timeout -1 a=a.sock
--out /nowhere/out a=a.sock
--keep-partial a=a.sock
END
collect "a=$(printf 'x%.0s' {1..200})"
is "$status" 2 "refused: a path too long"
run "$PV_BIN/pv-collect" --help
is "$status" 0 "--help"

done_testing
