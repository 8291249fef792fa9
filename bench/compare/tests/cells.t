#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is pooled, what is kept apart, and what cannot be compared.
. "$(dirname "$0")/../../common/tap.sh"
cmp=$PV_BIN/pv-compare
make=$(dirname "$0")/make-samples
cells() { grep -c '^Cell ' <<<"$out"; }

"$make" off=5,6 on=7,8 >"$TMP/a.jsonl"
run "$cmp" --profile quick "$TMP/a.jsonl"
is "$status $(cells)" "0 1" "one cell"

"$make" off=5,6 >"$TMP/off.jsonl"

# Every field of the key keeps samples apart.
for field in 'implementation="upstream"' 'params="-m"' 'bystanders="idle"' 'lane="loongarch"' \
	emulated=true 'host="other"' 'guest="other"' vcpus=4 pcpus=4 overcommit=3 \
	'feature="kvm-pv-ipi"' 'workload="kcbench"' 'metric="latency"'; do
	"$make" off=5,6 on=7,8 "$field" >"$TMP/b.jsonl"
	run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/b.jsonl"
	is "$status $(cells)" "0 2" "apart: $field"
	grep '"arm": "on"' "$TMP/b.jsonl" >"$TMP/on.jsonl"
	run "$cmp" "$TMP/off.jsonl" "$TMP/on.jsonl"
	is "$status" 2 "not compared: $field"
	like "$err" "differ in ${field%%=*}:" "not compared: ${field%%=*}: says why"
done
for field in seed=7 elapsed_s=3 steal_s=3 'details={"a":1}'; do
	"$make" on=7,8 "$field" >"$TMP/on.jsonl"
	run "$cmp" --profile quick "$TMP/off.jsonl" "$TMP/on.jsonl"
	is "$status $(cells)" "0 1" "together: $field"
done

"$make" off=5,6 on=7,8 'workload="kcbench"' 'metric="build_time"' 'unit="s"' 'better="lower"' \
	>"$TMP/b.jsonl"
cat "$TMP/a.jsonl" "$TMP/b.jsonl" >"$TMP/two.jsonl"
run "$cmp" --profile quick "$TMP/two.jsonl"
is "$status $(cells)" "0 2" "two benchmarks in one file"
tac "$TMP/two.jsonl" >"$TMP/owt.jsonl"
run "$cmp" --profile quick "$TMP/owt.jsonl"
one=$out
run "$cmp" --profile quick "$TMP/two.jsonl"
is "$one" "$out" "the order of the lines does not matter"

"$make" off=5,6 on=7,8 'unit="kilorecords/s"' 'params="-m"' >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/b.jsonl"
is "$status$out" 2 "mixed unit"
like "$err" 'unit is kilorecords/s and records/s: mixed' "mixed unit: said"
like "$err" 'a\.jsonl:[0-9]+' "mixed unit: where"
"$make" off=5,6 on=7,8 'better="lower"' 'params="-m"' >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/b.jsonl"
is "$status$out" 2 "mixed better"
like "$err" 'better is lower and higher: mixed' "mixed better: said"

run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/a.jsonl"
is "$status$out" 2 "the same file twice"
like "$err" 'a\.jsonl:1 and .*a\.jsonl:1: duplicate sample: both are run 1 of arm off' \
	"duplicate: said"
"$make" off=5,6 on=7,8 run=1 >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
is "$status" 2 "the same run twice"

"$make" off=5,6 on=7,8 'params="-m"' 'env={"kernel":"6.12.2","qemu":"10"}' >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/b.jsonl"
is "$status$out" 2 "mixed env"
like "$err" 'env kernel: 6\.12\.1, 6\.12\.2' "mixed env: what differs"
like "$err" 'env qemu: \(missing\), 10' "mixed env: what is missing first"
like "$err" 'env glibc: 2\.36, \(missing\)' "mixed env: what is missing then"
run "$cmp" --profile quick --allow-mixed-env "$TMP/a.jsonl" "$TMP/b.jsonl"
is "$status $(cells)" "0 2" "mixed env allowed"
like "$out" '^Environment 2:' "mixed env allowed: both shown"
"$make" on=7,8 'env={"kernel":"6.12.2"}' >"$TMP/on.jsonl"
run "$cmp" --profile quick --allow-mixed-env "$TMP/off.jsonl" "$TMP/on.jsonl"
is "$status" 2 "mixed env allowed: still not compared with each other"
"$make" off=5,6 on=7,8 'params="-m"' 'env={"glibc":"2.36","kernel":"6.12.1"}' >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/a.jsonl" "$TMP/b.jsonl"
is "$status" 0 "the same env in another order"

run "$cmp" "$TMP/off.jsonl"
is "$status$out" 2 "one arm"
like "$err" 'off\.jsonl:1: no run with arm on .*: ebizzy throughput' "one arm: cell named"
run "$cmp" --allow-partial "$TMP/off.jsonl"
is "$status" 0 "one arm allowed"
like "$out" 'incomplete: no run with arm on' "one arm allowed: listed as incomplete"

"$make" off=5 on=7 >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
is "$status" 0 "one run per arm"
like "$out" 'Difference \[3\]: 2 \+/- n/a records/s' "one run per arm: no interval"
like "$out" 'Throughput gained \[1\]: \+40\.0 %; time saved \[2\]: \+28\.6 %' \
	"one run per arm: both formulas"

# Harmonic mean of rates, arithmetic mean of times: 2 and 6 have 3 and 4.
"$make" off=2,6 on=3,6 >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
like "$out" '^ +1  ebizzy .* 2  +3  +4  records/s +\+33\.3 % +\+25\.0 %' "rates: harmonic means"
"$make" off=2,6 on=3,6 'better="lower"' 'unit="s"' >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
like "$out" '^ +1  ebizzy .* 2  +4  4\.5  s +-11\.1 % +-12\.5 %' "times: arithmetic means"

"$make" off=5,6 on=7,8 steal_s=16 vcpus=8 elapsed_s=10 >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
like "$out" 'Steal: off 16 s \(20\.0 %\), on 16 s \(20\.0 %\)' "steal share"
like "$out" 'TLB IPIs per second: off 500, on 500' "IPIs per second where flushes are unknown"
"$make" off=5,6 on=7,8 steal_s=100 vcpus=8 elapsed_s=10 >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
like "$out" 'more time was stolen than the vCPUs had' "impossible steal is noted"
"$make" off=5,6 on=7,8 emulated=true >"$TMP/b.jsonl"
run "$cmp" --profile quick "$TMP/b.jsonl"
like "$out" '^Lab timings' "emulated host: banner"
run "$cmp" --profile quick "$TMP/a.jsonl"
grep -q 'Lab timings' <<<"$out"
is $? 1 "real host: no banner"
done_testing
