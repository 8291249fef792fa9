#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # status, out, err are set by run
. "$(dirname "$0")/../../common/tap.sh"

tlb=$PV_BIN/pv-tlb
json() { python3 -c 'import json,sys; d=json.loads(sys.argv[1]); e=d["details"]; print(eval("(" + sys.argv[2] + ")"))' "$out" "$1"; }

for bad in '' '1' '1 1 1' '0 1' '-1 1' '1 -1' '-- 1 -1' '1x 1' '1 1x' '1 2147483647' '2147483647 1' \
	'1 4294967296' '18446744073709551617 1' '4096 1' '1 4096' '1.5 1' '-m lazy 1 1' '-o fork 1 1' '-S 0 1 1' \
	'-S -1 1 1' '-S 1e9 1 1' '-S nan 1 1' '-S 1s 1 1' '-n 0 1 1' '-n -1 1 1' '-n 9223372036854775808 1 1' \
	'-p 0 1 1' '-p 4097 1 1' '-p x 1 1' '-x 1 1' '--nonsense 1 1' '1 1 -m'; do
	# shellcheck disable=SC2086
	run timeout 5 "$tlb" $bad
	[[ $status:$out == 2: && $'\n'$err == *$'\n'"Usage: "* ]]
	ok $? "rejects '$bad'"
done
run "$tlb" 1 ''
is "$status" 2 "rejects an empty number"
run "$tlb" '' 1
is "$status" 2 "rejects an empty number of flushers"
run "$tlb" 1 2147483647
like "$err" "BYSTANDERS: '2147483647' is not a whole number from 0 to 4096" "says what is wrong"

run "$tlb" --help
is "$status:$err" "0:" "--help"
like "$out" 'Exit status: ' "  tells the exit status"

cpus=$(python3 -c 'import os; print(len(os.sched_getaffinity(0)))')
for op in munmap madvise mprotect; do
	for mode in busy idle; do
		run timeout 10 "$tlb" --json -S 0.1 -o $op -m $mode 1 1
		is "$status:$err:$(wc -l <<<"$out")" "0::1" "$op, $mode: one line"
		is "$(json 'd["workload"], d["implementation"], d["metric"], d["unit"], d["better"], d["params"],
			d["bystanders"], e["op"], e["flushers"], e["bystanders"], d["remote_vcpus"],
			0 < e["min_ns"] <= e["p50_ns"] <= e["p95_ns"] <= e["p99_ns"] <= e["max_ns"],
			d["flushes"] >= 5 and abs(d["value"] * e["elapsed_s"] / d["flushes"] - 1) < 1e-9,
			0.1 <= e["elapsed_s"] < 3,
			d["flushes"] * e["min_ns"] < e["elapsed_s"] * 1e9,
			e["uncounted_flushes"] <= d["flushes"] / 256 + 1')" \
			"('tlb', 'pv-tlb-flush', 'flush_rate', 'flushes/s', 'higher', '-S 0.1 -o $op -m $mode 1 1', '$mode', '$op', 1, 1, $((cpus > 1 ? 1 : 0)), True, True, True, True, True)" \
			"  fields; percentiles, rate, elapsed time, latencies within it, few flushes not counted"
	done
done

# What is flushed has to reach the other CPU, and not one CPU more.
if grep -q '^ *TLB:' /proc/interrupts && [ "$cpus" -gt 1 ]; then
	# By nearly one for each flush, but others may be using the bystander's CPU; by an idle one hardly any.
	for _ in 1 2 3 4 5; do
		run "$tlb" --json -S 0.2 1 1
		each=$(json "e['tlb_ipis_per_flush_and_remote_vcpu']")
		awk -v each="$each" 'BEGIN { exit !(each >= 0.02 && each < 1.5) }' && break
	done
	awk -v each="$each" 'BEGIN { exit !(each >= 0.02 && each < 1.5) }'
	ok $? "flushes reach a busy bystander ($each IPIs each)"
	is "$(json 'abs(e["tlb_ipis"] / d["flushes"] / d["remote_vcpus"] - e["tlb_ipis_per_flush_and_remote_vcpu"]) < 1e-9')" \
		True "  the ratio is that of the counters"
	run "$tlb" --json -S 0.2 1 0
	is "$(json 'e["tlb_ipis"] < d["flushes"] / 10')" True "nobody else is there: hardly any IPI"
	is "$(json 'd["bystanders"], d["remote_vcpus"], e["tlb_ipis_per_flush_and_remote_vcpu"]')" "('none', 0, None)" \
		"  and nothing to divide by"
else
	skip "TLB IPIs" "no TLB line in /proc/interrupts, or one CPU"
fi

run "$tlb" --json -n 100 -S 10 2 1
is "$(json 'd["flushes"], e["flushers"]')" "(200, 2)" "-n is for each flusher"
is "$(json 'e["elapsed_s"] < 9')" True "  and ends it early"
run "$tlb" --json -n 600 -p 16 -o mprotect 1 0
is "$(json 'd["flushes"], e["pages"]')" "(600, 16)" "-p"
run "$tlb" --json -n 5 -p 4096 -o mprotect 1 0
is "$(json 'd["flushes"], e["uncounted_flushes"] >= 1')" "(5, True)" "-p 4096 uses the arena up"

run "$tlb" --json -n 50 $((cpus + 1)) 2
is "$(json 'e["pinned"], d["remote_vcpus"]')" "('round-robin', $((cpus - 1)))" "more threads than CPUs"
run taskset -c 0 "$tlb" --json -n 50 1 1
is "$status:$(json 'd["remote_vcpus"], e["pinned"]')" "0:(0, 'round-robin')" "the affinity mask is kept to"

run "$tlb" -S 0.2 -m idle 1 1
is "$status:$err" "0:" "text"
like "$out" '^operation +madvise of 1 page$' "  operation"
like "$out" '^threads +1 flusher, 1 idle bystander; ' "  threads"
like "$out" '^flushes +[0-9]+ in [0-9.]+ s$' "  flushes"
like "$out" '^flush rate +[0-9.]+ flushes/s$' "  rate"
like "$out" '^latency +min [0-9.]+ [num]s +p50 [0-9.]+ [num]s +p95 .* p99 .* max [0-9.]+ [num]s$' "  latency with units"
like "$out" '^TLB IPIs +([0-9]+|unknown)' "  IPIs"
"$tlb" -n 10 1 0 >/dev/full 2>/dev/null
is $? 1 "a full stdout is a failure"

if command -v strace >/dev/null; then
	ASAN_OPTIONS=detect_leaks=0 strace -f -o "$TMP/trace" "$tlb" -n 50 1 1 >/dev/null
	[ "$(grep -c 'MADV_DONTNEED' "$TMP/trace")" -ge 50 ]
	ok $? "madvise is called for each flush"
else
	skip "system calls" "no strace"
fi
done_testing
