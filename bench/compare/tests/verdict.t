#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Verdicts on times, and the criterion on counts.
. "$(dirname "$0")/../../common/tap.sh"
cmp=$PV_BIN/pv-compare
make=$(dirname "$0")/make-samples

verdict() { # make-samples arguments; sets $out, $verdict
	"$make" "$@" >"$TMP/s.jsonl"
	# shellcheck disable=SC2086
	run "$cmp" ${options-} "$TMP/s.jsonl"
	verdict=$(sed -n 's/^  Verdict \[6\]: //p' <<<"$out")
}
base=100,101,99,100,102,98,100,101,99,100
plus=120,121,119,120,122,118,120,121,119,120
minus=80,81,79,80,82,78,80,81,79,80
near=101,102,100,101,103,99,101,102,100,101
wild=60,150,99,40,170,98,100,140,70,113

verdict off=$base on=$plus
is "$verdict" gain "a rate that grew"
verdict off=$base on=$minus
is "$verdict" loss "a rate that shrank"
verdict off=$base on=$plus 'better="lower"' 'unit="s"'
is "$verdict" loss "a time that grew"
verdict off=$base on=$minus 'better="lower"' 'unit="s"'
is "$verdict" gain "a time that shrank"
verdict off=$base on=$base
is "$verdict" "no difference larger than 5 %" "the same"
verdict off=$base on=$near
is "$verdict" "no difference larger than 5 %" "nearly the same"
# Mean 101 - 100 = 1 %, interval +/- 1.08 %.
options='--equivalence 1' verdict off=$base on=$near
like "$verdict" '^no verdict \(underpowered' "nearly the same, but asked more precisely"
options='--equivalence 20' verdict off=$base on=$plus
is "$verdict" gain "the interval reaches beyond the equivalence"
options='--equivalence 25' verdict off=$base on=$plus
is "$verdict" "no difference larger than 25 %" "the interval is within the equivalence"
like "$out" 'small but consistent: the interval excludes 0' "and that is noted"
verdict off=$base on=$wild
like "$verdict" '^no verdict \(underpowered: between -[0-9.]+ % and \+[0-9.]+ %, detectable from [0-9.]+ %\)$' \
	"too much noise"
verdict off=${base%,*} on=$plus
is "$verdict" "no verdict (9 off and 10 on runs, 10 of each needed)" "nine runs off"
verdict off=$base on=${plus%,*}
is "$verdict" "no verdict (10 off and 9 on runs, 10 of each needed)" "nine runs on"
like "$out" 'the pairs are not complete' "and that is noted"
options='--profile quick' verdict off=$base on=$plus
is "$verdict" "no verdict (quick profile: counts only)" "quick profile, many runs"
verdict off=$base on=$plus off.position='[1,2,3,4,5,6,7,8,9,10]' \
	on.position='[11,12,13,14,15,16,17,18,19,20]'
is "$verdict" "no verdict (arms not interleaved)" "one arm after the other"
verdict off=$base on=$plus emulated=true
is "$verdict" "gain (lab timings)" "emulated host"
verdict off=5,5,5,5,5,5,5,5,5,5 on=6,6,6,6,6,6,6,6,6,6
is "$verdict" gain "no spread"
like "$out" 'all off runs have the same value' "no spread is noted"
verdict off=1e300,2e300,1e300,2e300,1e300,2e300,1e300,2e300,1e300,2e300 on=$base
is "$status" 0 "huge numbers"
like "$verdict" '^no verdict \(numbers too large' "huge numbers: no verdict"
"$make" off=$base on=$plus >"$TMP/s.jsonl"
run "$cmp" --profile half "$TMP/s.jsonl"
is "$status" 2 "unknown profile"
run "$cmp" --equivalence -1 "$TMP/s.jsonl"
is "$status" 2 "negative equivalence"

tlb=('workload="tlb"' 'metric="flush_rate"' 'unit="flushes/s"' 'bystanders="busy"' flushes=100
	remote_vcpus=3)
avoided() { sed -n 's/^    IPIs avoided: //p' <<<"$out"; }
options='--profile quick'
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis='[300,306]' on.tlb_ipis='[30,45]' \
	on.deferred_flushes=200
is "$(avoided)" "yes; on/off 0.124" "IPIs avoided"
like "$out" 'off  median 1\.01; runs 1 1\.02' "IPIs of every run off"
like "$out" 'on   median 0\.125; runs 0\.1 0\.15' "IPIs of every run on, in their order"
grep -q Note: <<<"$out"
is $? 1 "nothing to note"
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis=300 on.tlb_ipis='[149,149]'
is "$(avoided)" "yes; on/off 0.497" "just below the threshold"
like "$out" 'the host counted no deferred flush' "avoided, but nothing deferred: noted"
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis=300 on.tlb_ipis='[150,150]'
is "$(avoided)" "no; on/off 0.5" "on the threshold"
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis=300 on.tlb_ipis=300
is "$(avoided)" "no; on/off 1" "IPIs not avoided"
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis=300 on.tlb_ipis='[10,290]'
is "$(avoided)" "mixed; on/off 0.5" "one run avoided them, one did not"
verdict "${tlb[@]}" off=1,2 on=1,2 flushes=10 off.tlb_ipis='[1,30]' on.tlb_ipis=1
is "$(avoided)" "mixed; on/off 0.0645" "few flushes, and one off run without IPIs"
verdict "${tlb[@]}" off=1,2 on=1,2 off.tlb_ipis=300 on.tlb_ipis='[10,null]'
like "$(avoided)" '^unknown' "one run unknown"
verdict "${tlb[@]}" off=1,2 on=1,2 'bystanders="idle"' tlb_ipis=6
is "$(avoided)" "" "idle bystanders: not judged"
like "$out" 'informational \(no gain expected on x86: lazy TLB keeps sleepers out\)' "idle, x86"
verdict "${tlb[@]}" off=1,2 on=1,2 'bystanders="idle"' tlb_ipis=6 'lane="loongarch"'
like "$out" 'informational \(bystanders sleep\)' "idle, loongarch"
verdict "${tlb[@]}" off=1,2 on=1,2 overcommit=1 tlb_ipis=300
like "$out" 'informational \(no gain expected without overcommit' "1:1"
verdict "${tlb[@]}" off=1,2 on=1,2 'feature="kvm-pv-preempt"' tlb_ipis=300
like "$out" 'informational \(the feature is not about TLB IPIs\)' "another feature"
verdict "${tlb[@]}" off=1,2 on=1,2 'lane="arm64"' tlb_ipis=300
like "$out" 'informational \(arm64 invalidates' "arm64"
done_testing
