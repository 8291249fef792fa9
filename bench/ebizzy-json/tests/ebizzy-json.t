#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # status, out, err are set by run
. "$(dirname "$0")/../../common/tap.sh"

prog=$PV_BIN/pv-ebizzy-json
json() { python3 -c 'import json,sys; d=json.loads(sys.argv[1]); print(eval("(" + sys.argv[2] + ")"))' "$out" "$1"; }

# fake TEXT [STATUS]: an ebizzy that prints TEXT
fake() {
	printf '%s\n' "$1" >"$TMP/text"
	printf '#!/bin/sh\ncat "%s/text"\nexit %d\n' "$TMP" "${2-0}" >"$TMP/ebizzy"
	chmod +x "$TMP/ebizzy"
}
result=$'7632 records/s\nreal 10.00 s\nuser  2.74 s\nsys   7.24 s'

fake "$result"
run "$prog" -- "$TMP/ebizzy" -S 10 -M
is "$status:$err" "0:" "reads ebizzy's output"
is "$(wc -l <<<"$out")" 1 "  prints one line"
is "$(json 'd["workload"], d["implementation"], d["metric"], d["unit"], d["better"], d["value"], d["params"]')" \
	"('ebizzy', 'upstream', 'throughput', 'records/s', 'higher', 7632.0, '-S 10 -M')" "  sample"
is "$(json 'd["bystanders"], d["flushes"], d["remote_vcpus"]')" "('none', None, None)" "  what means nothing is null"
is "$(json '[d["details"][k] for k in ("real_s", "user_s", "sys_s", "per_thread")]')" \
	"[10.0, 2.74, 7.24, []]" "  details"
run "$prog" "$TMP/ebizzy" --json
is "$status:$(json 'd["params"]')" "0:--json" "options after the program are the program's"

fake "${result/records\/s/records\/s 3800 3832}"
run "$prog" -- "$TMP/ebizzy"
is "$status:$(json 'd["value"], d["details"]["per_thread"], d["params"]')" "0:(7632.0, [3800, 3832], '')" \
	"mmtests' per-thread counts"

fake "ebizzy 0.2
(C) 2006-7 Intel Corporation
always_mmap 0
chunks 10
prevent coalescing using holes 0
page size 4096
Allocated memory
Wrote memory
Threads starting
Thread started
Search key 0, copy size 524288
Thread finished, 10.000000 seconds
Threads finished
$result"
run "$prog" -- "$TMP/ebizzy" -vvv
is "$status:$(json 'd["value"]')" "0:7632.0" "the chatter of -vvv"

# bad NAME TEXT QUOTED: refused, and stderr shows QUOTED
bad() {
	fake "$2"
	run "$prog" -- "$TMP/ebizzy"
	is "$status:$out" "1:" "refuses $1"
	like "$err" "$3" "  and shows it"
}
bad "an unknown line" "Oops: 12
$result" "line 1 .*'Oops: 12'"
bad "something after the result" "$result
more" "line 5 .*'more'"
bad "chatter after the result" "$result
Threads finished" "line 5 .*'Threads finished'"
bad "a result that breaks off" "${result%$'\n'*}" "ends before .*'sys'"
bad "no output" "" "line 1 .*''"
bad "a twisted order" $'7632 records/s\nuser  2.74 s\nreal 10.00 s\nsys   7.24 s' "wanted: real.*'user  2.74 s'"
bad "a negative rate" "-$result" "'-7632 records/s'"
bad "a rate of 0" "0${result#7632}" "0 records/s is no result"
bad "two results" "$result
$result" "line 5 .*'7632 records/s'"
bad "a rate beyond 64 bits" "99999999999999999999 ${result#7632 }" "'99999999999999999999 records/s'"
bad "letters among the per-thread counts" "${result/records\/s/records\/s 1 x}" "'7632 records/s 1 x'"
bad "a time that is not a number" "${result/10.00/nan}" "'real nan s'"
bad "a time in hexadecimal" "${result/10.00/0x10}" "'real 0x10 s'"
bad "a time without unit" "${result/10.00 s/10.00}" "'real 10.00'"

fake "$result" 3
run "$prog" -- "$TMP/ebizzy"
is "$status:$out" "1:" "an ebizzy that fails"
like "$err" 'exit status 3' "  is reported"
run "$prog" -- "$TMP/missing"
is "$status:$out" "1:" "an ebizzy that is missing"
like "$err" 'cannot run .*missing: No such file' "  is reported"
printf '#!/bin/sh\nprintf "7632 records/s\\0\\n"\n' >"$TMP/ebizzy"
run "$prog" -- "$TMP/ebizzy"
is "$status" 1 "a NUL byte"
printf '#!/bin/sh\nhead -c 3000000 /dev/zero | tr "\\0" 9\n' >"$TMP/ebizzy"
run "$prog" -- "$TMP/ebizzy"
is "$status" 1 "an endless line"

# Nothing survives: neither a timeout nor a signal to us.
printf '#!/bin/sh\nsleep 1000.25 &\necho $! >"%s/pid"\nsleep 1000.25\n' "$TMP" >"$TMP/ebizzy"
run timeout 10 "$prog" --seconds-limit 1 -- "$TMP/ebizzy"
is "$status:$out" "1:" "--seconds-limit"
like "$err" 'not ready after 1 s' "  is reported"
! kill -0 "$(cat "$TMP/pid")" 2>/dev/null
ok $? "  and nothing survives"
rm "$TMP/pid"
"$prog" -- "$TMP/ebizzy" 2>/dev/null &
while [ ! -s "$TMP/pid" ]; do sleep 0.05; done
kill -TERM $!
wait $! 2>/dev/null
is $? 143 "SIGTERM ends us"
! kill -0 "$(cat "$TMP/pid")" 2>/dev/null
ok $? "  and nothing survives"

for args in '' '--' '--seconds-limit 0 -- x' '--seconds-limit 1x -- x' '--nonsense -- x' '--seconds-limit'; do
	# shellcheck disable=SC2086
	run "$prog" $args
	is "$status:$out" "2:" "usage: '$args'"
done
run "$prog" -- ''
is "$status" 2 "usage: an empty program"
run "$prog" -- "$TMP/ebizzy" $'a\nb'
is "$status" 2 "usage: arguments of two lines"
run "$prog" --help
is "$status" 0 "--help"
like "$out" 'Exit status: ' "  tells the exit status"
done_testing
