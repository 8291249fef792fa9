#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# pv-collect against broken and hostile fake guests.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

printf 'line %s\n' {1..30} >a.log
printf 'the \033[2Jlast words\n' >>a.log
# hostile NAME SAID STEP...
others=b=b.sock # a second guest, without fault
late=0		# which takes this long to boot
hostile() {
	local name=$1 said=$2
	shift 2
	guest a "$@" sleep:6
	[ -z "$others" ] || guest b "sleep:$late" "${hello[@]}" "${job[@]}" "${bye[@]}"
	collect --boot-timeout 2 --timeout 2 --console-dir . a=a.sock $others
	is "$status $(find . -name 'out.jsonl*')" "1 " "$name: fails, no file"
	like "$err" "^pv-collect: guest a: .*$said" "$name: says why"
}
hostile "an error" 'tlb: timeout after 5 s; it said:' "${hello[@]}" begin:tlb:1:1 "error:tlb:timeout after 5 s"
like "$err" 'last event: begin tlb, [0-9.]+ s ago' "the last event"
is "$(grep -c '^  | ' <<<"$err") $(grep '^  | ' <<<"$err" | sed -n '1p;$p' | paste -sd,)" \
	"20 $(printf '  | line 12,  | the ?[2Jlast words')" "the last 20 lines of the console, printable"
is "$(grep -c $'\033' <<<"$err")" 0 "no escape sequences"
hostile "an error at boot" 'no virtio disk' state "raw:{\"event\":\"error\",\"job\":null,\"reason\":\"no virtio disk\"}\\n"
hostile "EOF before anything" 'closed its channel before it was done' close
hostile "EOF in a job" 'closed its channel before it was done' "${hello[@]}" begin:tlb:1:1 close
hostile "EOF in a line" 'in the middle of a line' "${hello[@]}" 'raw:{"event"' close
others=
hostile "never says a thing" 'not ready within 2 s'
hostile "never ready" 'not ready within 2 s' state
hostile "never done" 'not done within 2 s' "${hello[@]}" begin:tlb:1:1 repeat:9:progress:tlb
hostile "garbage" 'not a JSON object' 'raw:\x7fELF\xff\xfe\n'
hostile "no object" 'not a JSON object' 'raw:[1]\n'
hostile "an empty line" 'not a JSON object' 'raw:\n'
hostile "NUL" 'NUL byte' 'raw:{"event":"ready"}\0\n'
hostile "a key twice" 'not a JSON object: duplicate' 'raw:{"event":"ready","event":"ready"}\n'
hostile "an overlong line" 'line of more than 1048576 bytes' fill:1048700
hostile "an endless line" 'line of more than 1048576 bytes' state fill:9000000
hostile "too many events" 'sends more than 50000 events' "${hello[@]}" begin:tlb:1:1 \
	'repeat:60:raw:'"$(printf '{"event":"progress","job":"tlb","elapsed_s":1}\\n%.0s' {1..1000})"
hostile "an unknown event" 'unknown event "reboot"' 'raw:{"event":"reboot"}\n'
hostile "escape sequences" 'unknown event "\?\[2J"' 'raw:{"event":"\\u001b[2J"}\n'
hostile "no event" 'unknown event ""' 'raw:{}\n'
hostile "ready before state" 'event "ready" out of order' ready
hostile "two states" 'event "state" out of order' state state
others=b=b.sock late=1.5
hostile "begins before go" 'event "begin" out of order' state ready sleep:0.2 begin:tlb:1:1
others=
hostile "a sample of no job" 'event "sample" out of order' "${hello[@]}" sample:tlb
hostile "a sample of another job" 'is of job ebizzy, but tlb runs' "${hello[@]}" begin:tlb:1:1 sample:ebizzy
hostile "two samples of a job" 'event "sample" out of order' "${hello[@]}" "${job[@]}" sample:tlb
hostile "two jobs at once" 'event "begin" out of order' "${hello[@]}" begin:tlb:1:1 begin:tlb:2:2
hostile "a job too many" 'begins job 2 of 1; it should be 2 of 1|begins job 2 of 2' \
	"${hello[@]}" "${job[@]}" begin:tlb:2:2
hostile "done too early" 'is done with 0 samples of 1 jobs' "${hello[@]}" "done"
hostile "speaks after done" 'event "ready" out of order' "${hello[@]}" "${job[@]}" "done" ready
hostile "a state with a wrong field" 'event "state": field "vcpus" must be an integer >= 1' state:'{"vcpus":0}'
hostile "a state with too little" 'event "state": field "glibc" is missing' state:'{"glibc":"DELETE"}'
hostile "a state from fixtures" 'unexpected field "fixture"' state:'{"fixture":true}'
hostile "another protocol" 'speaks version 2' state:'{"version":2}'
hostile "no barrier" 'does not wait for the other guests' state:'{"barrier":false}'
hostile "vCPUs" 'changed|another feature, state or number of vCPUs' "${hello[@]}" begin:tlb:1:1 sample:tlb:'{"vcpus":4}'
hostile "changes its mind" 'another feature, state' "${hello[@]}" begin:tlb:1:1 sample:tlb:'{"active":"yes"}'
for field in host lane arm requested run seed guest schema deferred_flushes emulated; do
	hostile "overrides $field" "its sample: unexpected field \"$field\"" "${hello[@]}" begin:tlb:1:1 \
		sample:tlb:"{\"$field\":1}"
done
hostile "overrides details.host" 'details.host, which is the host' "${hello[@]}" begin:tlb:1:1 \
	sample:tlb:'{"details.host":{"overlap":1}}'
hostile "overrides env" 'env.qemu, which is the host' "${hello[@]}" begin:tlb:1:1 sample:tlb:'{"env.qemu":"9"}'
hostile "a value that is none" 'field "value" must be a number > 0' "${hello[@]}" begin:tlb:1:1 sample:tlb:'{"value":"1"}'
hostile "infinite" 'not a JSON object' "${hello[@]}" begin:tlb:1:1 'raw:{"event":"sample","job":"tlb","sample":{"value":1e999}}\n'
hostile "negative steal time" 'field "steal_s" must be a number >= 0 or null' "${hello[@]}" begin:tlb:1:1 sample:tlb:'{"steal_s":-1}'
hostile "no sample" 'field "sample" is missing' "${hello[@]}" begin:tlb:1:1 'raw:{"event":"sample","job":"tlb"}\n'

collect --boot-timeout 1 a=nowhere.sock
is "$status" 1 "nobody listens: status"
like "$err" 'guest a: nobody listens on its socket within 1 s' "says so"
like "$err" 'no console of a' "no console either"

done_testing
