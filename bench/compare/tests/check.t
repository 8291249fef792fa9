#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is a sample: every field, and hostile text.
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
malformed() { # NAME REGEX ARGUMENTS...
	local name=$1 regex=$2
	shift 2
	check "$@"
	is "$status" 2 "malformed: $name"
	like "$err" "s\.jsonl:1: $regex" "malformed: $name: place, field and value"
}
good "as it should be"
good "nulls" tlb_ipis=null deferred_flushes=null steal_s=null
good "integers as numbers" value=7 overcommit=2 elapsed_s=9 steal_s=0
good "empty params and env" 'params=""' env={}
good "not only ASCII" 'host="höst"' 'env={"Kernel":"6.12 µ"}'

malformed "not a number" 'value: "NaN" is not a finite number > 0' 'value="NaN"'
malformed "zero" 'value: 0 is not' value=0
malformed "negative" 'value: -1\.5 is not' value=-1.5
malformed "null value" 'value: null is not' value=null
malformed "boolean value" 'value: true is not' value=true
malformed "schema" 'schema: 2 is not 1' schema=2
malformed "schema as text" 'schema: "1" is not' 'schema="1"'
malformed "better" 'better: "more" is not higher or lower' 'better="more"'
malformed "bystanders" 'bystanders: "spin" is not busy, idle or none' 'bystanders="spin"'
malformed "lane" 'lane: "riscv" is not x86, loongarch or arm64' 'lane="riscv"'
malformed "arm" 'arm: "maybe" is not off or on' 'arm="maybe"'
malformed "requested" 'requested: true is not yes, no or unknown' requested=true
malformed "emulated" 'emulated: "no" is not true or false' 'emulated="no"'
malformed "vcpus" 'vcpus: 0 is not an integer >= 1' vcpus=0
malformed "vcpus as real" 'vcpus: 4\.0 is not an integer' vcpus=4.0
malformed "run" 'run: 0 is not an integer >= 1' run=0
malformed "seed" 'seed: "x" is not an integer' 'seed="x"'
malformed "overcommit" 'overcommit: 0 is not' overcommit=0
malformed "elapsed" 'elapsed_s: 0 is not' elapsed_s=0
malformed "steal" 'steal_s: -1 is not a finite number >= 0, or null' steal_s=-1
malformed "IPIs" 'tlb_ipis: -1 is not an integer >= 0' tlb_ipis=-1
malformed "IPIs as real" 'tlb_ipis: 1\.5 is not' tlb_ipis=1.5
malformed "flushes" 'flushes: "3" is not' 'flushes="3"'
malformed "empty workload" 'workload: "" is not a text' 'workload=""'
malformed "two lines" 'params: "a\\nb" is not a text on one line' 'params="a\nb"'
malformed "escape sequence" 'host: "\\u001B\[2J" is not' 'host="\u001b[2J"'
malformed "C1 control" 'host: "\\u009B2J" is not' 'host="\u009b2J"'
malformed "reordering" 'guest: ".*" is not' 'guest="a\u202eb"'
malformed "details" 'details: \[\] is not an object' 'details=[]'
malformed "env" 'env: .* is not an object of strings' 'env={"cpus":4}'
malformed "unknown field" 'colour: "red" is not in the contract' 'colour="red"'
malformed "missing value" 'value: missing' -value
malformed "missing env" 'env: missing' -env
run "$cmp" "$TMP/s.jsonl"
is "$status$out" 2 "malformed: no report either"
check value=0 vcpus=0
is "$(grep -c 's.jsonl:1: ' <<<"$err")" 2 "all that is wrong with a sample is said"

text() { # NAME REGEX TEXT
	printf '%b' "$3" >"$TMP/t.jsonl"
	run "$cmp" --check "$TMP/t.jsonl"
	is "$status" 2 "text: $1"
	like "$err" "$2" "text: $1: message"
}
line=$("$make" off=5)
text "empty file" 't\.jsonl: empty: no samples' ''
text "empty line" 't\.jsonl:2: empty line' "$line\n\n"
text "half a line" 't\.jsonl:1: not a JSON object' '{"schema": 1, "workl'
text "an array" 't\.jsonl:1: not a JSON object: an array' '[]\n'
text "NaN" "t\.jsonl:1: not a JSON object: .*NaN" '{"value": NaN}\n'
text "1e999" "t\.jsonl:1: not a JSON object: real number overflow" '{"value": 1e999}\n'
text "a field twice" "t\.jsonl:1: not a JSON object: duplicate" '{"a": 1, "a": 2}\n'
text "two objects" "t\.jsonl:1: not a JSON object" '{} {}\n'
text "NUL byte" "t\.jsonl:1: not a JSON object" '{"a": "\0000"}\n'
text "not UTF-8" "t\.jsonl:1: not a JSON object" '{"a": "\0377"}\n'
text "escape sequences" 't\.jsonl:1: not a JSON object' '\0033[31m\n'
like "$(tr -d '\n' <<<"$err" | LC_ALL=C tr -c '[:print:]' '!')" '^[^!]*$' \
	"text: escape sequences: not passed on"
{ printf '{"a": "'; head -c 5000000 /dev/zero | tr '\0' x; echo '"}'; echo "$line"; } >"$TMP/t.jsonl"
run "$cmp" --check "$TMP/t.jsonl"
like "$status $err" '^2 .*t\.jsonl:1: line of more than' "text: endless line"
{ head -c 100000 /dev/zero | tr '\0' '['; echo; } >"$TMP/t.jsonl"
run "$cmp" --check "$TMP/t.jsonl"
is "$status" 2 "text: deeply nested"
printf '%s' "$line" >"$TMP/t.jsonl"
run "$cmp" --check "$TMP/t.jsonl"
is "$status$out" "01 good sample" "text: no newline at the end"
run "$cmp" --check "$TMP/absent"
is "$status" 2 "absent file"
run "$cmp" --check "$TMP"
is "$status" 2 "a folder"
run "$cmp" --check
is "$status" 2 "no file"

{ "$make" off=5 value=0; "$make" 'on.active="no"' on=5; "$make" off=5; } >"$TMP/s.jsonl"
run "$cmp" --check "$TMP/s.jsonl"
is "$status" 2 "malformed and refused: malformed wins"
like "$err" '1 malformed, 1 refused, 1 good samples' "malformed and refused: both counted"
done_testing
