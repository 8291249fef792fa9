#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Usage, clean runs, and that the detector detects: a build of its own tells the threads of a change before it is made
# (--early), or does not make it (--skip), and what it does then must be found.
# shellcheck disable=SC2154 # status, out, err are set by run
. "$(dirname "$0")/../../common/tap.sh"

stale=$PV_BIN/pv-stale
source=$(cd "$(dirname "$0")/.." && pwd)/pv-stale.c
json() {
	python3 -c 'import json,sys; d=json.loads(sys.argv[1]); o=d["ops"]; f=d["found"]; print(eval("(" + sys.argv[2] + ")"))' \
		"$out" "$1"
}

for bad in '1' '--' '-x' '--nonsense' '--nonsense=1' '--seconds' '--seconds=' '--seconds 0' '--seconds 0.01' '--seconds -1' \
	'--seconds +1' '--seconds 1s' '--seconds nan' '--seconds inf' '--seconds 1e3' '--seconds 0x10' '--seconds 1..2' \
	'--seconds 604801' '--threads' '--threads 0' '--threads 1' '--threads 1025' '--threads -2' '--threads +2' '--threads 2x' \
	'--threads 2.0' '--threads 4294967298' '--threads 18446744073709551618' '--threads 99999999999999999999999' '--pages 0' \
	'--pages -1' '--pages 1025' '--pages 4294967297' '--pages 18446744073709551617' '--seed' '--seed -1' '--seed x' \
	'--seed 18446744073709551616' '--seed 99999999999999999999' '--stall 0' '--stall 3601' '--stall 18446744073709551646' \
	'--oversleep -1' '--oversleep x' '--progress 0' '--json=1' '--early munmap' '--skip swap' '--blind' '--seconds 1 2'; do
	# shellcheck disable=SC2086
	run timeout 5 "$stale" $bad
	[[ $status:$out == 2: && $'\n'$err == *$'\n'"Usage: "* ]]
	ok $? "rejects '$bad'"
done
run "$stale" --threads ''
is "$status" 2 "rejects an empty number"
run "$stale" --pages 2147483648
like "$err" "^pv-stale: --pages: '2147483648' is not a whole number from 1 to 1024$" "says what is wrong"
run "$stale" --help
is "$status:$err" "0:" "--help"
like "$out" 'Exit status: ' "  tells the exit status"

cpus=$(python3 -c 'import os; print(len(os.sched_getaffinity(0)))')
run timeout 30 "$stale" --json --seconds 3 --threads 6 --pages=12 --seed 18446744073709551615 --progress 1
is "$status:$(wc -l <<<"$out")" "0:1" "clean: one line"
is "$(json 'd["program"], d["result"], d["seed"], d["threads"], d["flushers"], d["cpus"], d["pages"], f,
	3 <= d["elapsed_s"] < 10')" \
	"('pv-stale', 'clean', 18446744073709551615, 6, 2, $cpus, 12, None, True)" "  fields"
is "$(json 'sorted(o), min(o.values()) >= 5')" \
	"(['cow', 'dontneed', 'fork', 'mmap', 'mprotect-none', 'mprotect-ro', 'mprotect-rw', 'mremap', 'munmap', 'swap'], True)" \
	"  each operation happened"
is "$(json 'd["reads"] > 10000, d["writes"] > 3000, d["exact"] > 0.5 * (d["reads"] + d["writes"]), d["faults"] > 100,
	d["naps"] > 100, 0 < d["oversleep_max_s"] < 5')" "(True, True, True, True, True, True)" "  and was looked at"
is "$(($(grep -c '^pv-stale: [0-9]* s: [0-9]* changes, ' <<<"$err") >= 2))" 1 "  progress on standard error"
like "$err" '^pv-stale: seed 18446744073709551615$' "  and the seed"
run timeout 30 "$stale" --seconds 2 --threads 2 --pages 1 --progress 1
is "$status" 0 "two threads, one slot"
like "$out" '^clean: 2\.[0-9] s, 2 threads \(1 flushers\) on [0-9]+ CPUs, 1 slots, seed [0-9]+$' "  text"
like "$out" '^fork +[1-9][0-9]* ' "  operations"
like "$out" '^pv-stale: 1 s: [0-9]+ changes, ' "  progress"
run timeout 30 "$stale" --seconds 2 --threads 48 --pages 64 --oversleep 0
is "$status" 0 "many threads"
run timeout 30 taskset -c 0 "$stale" --json --seconds 2 --threads 4
is "$status:$(json 'd["cpus"]')" 0:1 "on one CPU"
# Far more slots than changes.
run timeout 30 "$stale" --json --seconds 0.1 --threads 2 --oversleep 0
is "$status:$(json 'd["result"]')" "$([ "$status" -eq 0 ] && echo 0:clean || echo 4:nothing)" \
	"a short run: clean, or nothing shown"
"$stale" --seconds 1 >/dev/full 2>/dev/null
is $? 3 "a full stdout is a failure"
run bash -c 'ulimit -v 20000; exec "$1" --seconds 1 --pages 1024' - "$PV_BIN/../../native/bin/pv-stale"
is "$status" 3 "no memory: refused"
like "$err" '^pv-stale: (mmap|memory|thread .*): ' "  and says what"

cc=${CC:-cc}
flags=(-std=c11 -g -O2 -Wall -Wextra -Werror -pthread -DPV_STALE_EARLY)
[[ $PV_BIN != *asan* ]] || flags+=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all)
# shellcheck disable=SC2086 # CC may have arguments
if ! command -v "${cc%% *}" >/dev/null; then
	skip "detection" "no C compiler"
	done_testing
fi
# shellcheck disable=SC2086
$cc "${flags[@]}" "$source" -o "$TMP/broken"
ok $? "the broken build compiles, as plain C11"
run timeout 30 "$TMP/broken" --json --seconds 2
is "$status" 0 "unbroken, it finds nothing"
run timeout 30 "$TMP/broken" --early nothing
is "$status" 2 "rejects an unknown operation"

# found OPTIONS WHAT: in ten seconds.
found() {
	local began=$SECONDS
	# shellcheck disable=SC2086
	run timeout 40 "$TMP/broken" --json --seconds 10 --seed 7 $1
	is "$status:$(json 'd["result"], d["seed"]')" "1:('stale', 7)" "$1: found after $((SECONDS - began)) s"
	like "$err" "^pv-stale: stale: ($2).*: address 0x[0-9a-f]+, expected .* CPU -?[0-9]+, thread [0-9]+ .*time .* seed 7$" \
		"  says what, where, when"
}
old='read an old generation' fault='SIGSEGV from (reading|writing to) what is (mapped|writable)'
changed='a page that is not mapped writable has changed|the page has changed while it was not writable'
found '--early munmap' "read without SIGSEGV|wrote without SIGSEGV|$changed"
found '--early mmap' "$fault"
found '--early swap' "$old|$changed|read a generation that"
found '--early mprotect-ro' "wrote without SIGSEGV|$changed"
found '--early mprotect-none' "read without SIGSEGV|wrote without SIGSEGV|$changed"
found '--early mprotect-rw' "$fault"
found '--early dontneed' "$old"
found '--early cow' "$old"
found '--early mremap' "$fault|read without SIGSEGV"
found '--early fork' "a child's page has another generation|the parent's stores have changed|$old"
# Where no access is judged, the traces of stores tell.
found '--skip mprotect-ro --blind' "$changed"
found '--skip swap --blind' 'a page that is not mapped writable has changed|the page has changed'
found '--skip fork --blind' "the parent's stores have changed a child's page|a child's page "
done_testing
