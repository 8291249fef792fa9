#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Well-formed samples that must not be used.
. "$(dirname "$0")/../../common/tap.sh"
cmp=$PV_BIN/pv-compare
make=$(dirname "$0")/make-samples

check() { # make-samples arguments; off=5 on=6 unless they say otherwise
	"$make" off=5 on=6 "$@" >"$TMP/s.jsonl"
	run "$cmp" --check "$TMP/s.jsonl"
}
good() { # NAME ARGUMENTS...
	local name=$1
	shift
	check "$@"
	is "$status $out$err" "0 2 good samples" "good: $name"
}
refused() { # NAME REGEX ARGUMENTS...
	local name=$1 regex=$2
	shift 2
	check "$@"
	is "$status" 3 "refused: $name"
	like "$err" "s\.jsonl:[12]: refused: $regex" "refused: $name: rule"
	run "$cmp" --profile quick "$TMP/s.jsonl"
	is "$status$out" 3 "refused: $name: no report either"
}

refused "requested does not follow on" 'arm is on but requested is no' \
	'on.requested="no"' 'on.offered="no"' 'on.active="no"'
refused "requested does not follow off" 'arm is off but requested is yes' \
	'off.requested="yes"' 'off.offered="yes"' 'off.active="yes"'
refused "requested unknown" 'arm is on but requested is unknown' \
	'on.requested="unknown"' 'on.offered="unknown"' 'on.active="unknown"'
refused "not offered" 'requested is yes but offered is no' 'on.offered="no"'
refused "offered though off" 'requested is no but offered is yes' 'off.offered="yes"'
refused "not active" 'requested is yes but active is unknown' 'on.active="unknown"'
refused "active though off" 'requested is no but active is yes' 'off.active="yes"'
refused "deferred though off" 'arm is off but deferred_flushes is 3' off.deferred_flushes=3
good "deferred when on" on.deferred_flushes=3
refused "busy, overcommitted, no steal" 'bystanders are busy and overcommit is 2 but steal_s is 0' \
	'bystanders="busy"' steal_s=0
refused "busy, overcommitted, steal unknown" '.*but steal_s is null' \
	'bystanders="busy"' steal_s=null
good "busy, 1:1, no steal" 'bystanders="busy"' steal_s=0 overcommit=1
good "idle, overcommitted, no steal" 'bystanders="idle"' steal_s=0

tlb=('workload="tlb"' 'bystanders="busy"' flushes=20 remote_vcpus=3)
refused "off, but hardly any IPIs" 'arm is off but there were 0\.48333 TLB IPIs' \
	"${tlb[@]}" tlb_ipis=29
good "off, half of the IPIs" "${tlb[@]}" tlb_ipis=30
good "off, too few flushes to tell" "${tlb[@]}" tlb_ipis=0 flushes=19
good "off, 1:1" "${tlb[@]}" tlb_ipis=0 overcommit=1
good "off, idle bystanders" "${tlb[@]}" tlb_ipis=0 'bystanders="idle"'
good "on, no IPIs" "${tlb[@]}" off.tlb_ipis=60 on.tlb_ipis=0
good "IPIs unknown" "${tlb[@]}" tlb_ipis=null
good "another workload" "${tlb[@]}" 'workload="ebizzy"' tlb_ipis=0
done_testing
