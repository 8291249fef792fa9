#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # status, out, err are set by run
. "$(dirname "$0")/../../common/tap.sh"

ebizzy=$PV_BIN/pv-ebizzy
quick=(-S 1 -t 2 -n 4 -s 65536)

# json EXPRESSION: over $out
json() { python3 -c 'import json,sys; d=json.loads(sys.argv[1]); print(eval("(" + sys.argv[2] + ")"))' "$out" "$1"; }

# What real ebizzy rejects, and what atoi would have made something else of.
for bad in '-n 0' '-s 0' '-S 0' '-t 0' '-x' '-?' '-r' '-m -M' '-n abc' '-n' '-s 7' '-n -1' '-t 3x' \
	'-S 4294967296' '-S 9223372036854775807' '-S 2147483647' '-t 2147483647' '-t 99999999999999999999' \
	'-n 4294967297' '-s 18446744073709551624' '--js' '--jso' '--hel' '--json=1' '--verbose' '-n --json' '--seconds 1'; do
	# shellcheck disable=SC2086
	run timeout 5 "$ebizzy" $bad
	[[ $status:$out == 1: && $'\n'$err == *$'\n'"Usage: "* ]]
	ok $? "rejects $bad"
done
run "$ebizzy" -t ''
is "$status" 1 "rejects an empty value"

# More than there is: said at once, not found out by the OOM killer.
for huge in '-n 2147483647' '-n 2147483647 -s 2147483647' '-s 2147483647 -t 4096' '-m -n 2147483647' \
	'-M -s 2147483647 -n 100000'; do
	# shellcheck disable=SC2086
	run timeout 10 "$ebizzy" -S 1 $huge
	is "$status:$out" "1:" "refuses $huge"
	like "$err" 'more memory than there is .*try a smaller' "  and says why"
done

run "$ebizzy" --help
is "$status:$err" "0:" "--help"
like "$out" 're-implementation of ebizzy 0.3' "  says what it is"
like "$out" 'must not be pooled' "  and what not to do with it"
for option in T l m M n p P R s S t v z; do
	like "$out" "^  -$option" "  knows -$option"
done

run "$ebizzy" "${quick[@]}"
is "$status:$err" "0:" "runs"
is "$(wc -l <<<"$out")" 4 "prints four lines"
like "$(sed -n 1p <<<"$out")" '^[1-9][0-9]* records/s$' "  records/s"
like "$(sed -n 2p <<<"$out")" '^real  1\.[0-9][0-9] s$' "  real"
like "$(sed -n 3p <<<"$out")" '^user [ 0-9][0-9]\.[0-9][0-9] s$' "  user"
like "$(sed -n 4p <<<"$out")" '^sys  [ 0-9][0-9]\.[0-9][0-9] s$' "  sys, with two blanks"

run "$ebizzy" "${quick[@]}" -v -M --json
is "$status" 0 "--json"
is "$(wc -l <<<"$out")" 1 "  is one line"
like "$err" '^never_mmap 1$' "  and -v goes to stderr"
is "$(json 'd["workload"], d["implementation"], d["metric"], d["unit"], d["better"], d["bystanders"], d["flushes"], d["remote_vcpus"]')" \
	"('ebizzy', 'pv-tlb-flush', 'throughput', 'records/s', 'higher', 'none', None, None)" "  with the fixed fields"
is "$(json 'd["params"]')" "-S 1 -t 2 -n 4 -s 65536 -v -M" "  params are the arguments"
is "$(json 'd["value"] == d["details"]["records"] / d["details"]["real_s"] and d["value"] > 0')" True "  the rate is exact"
is "$(json '[d["details"][k] for k in ("threads", "chunks", "chunk_size", "seconds", "allocator")]')" \
	"[2, 4, 65536, 1, 'malloc, never mmap']" "  settings"
is "$(json 'd["details"]["user_s"] + d["details"]["sys_s"] > 0.1')" True "  CPU time is measured"
like "$(json 'd["details"]["glibc"]')" '^2\.[0-9]+' "  glibc version"
run "$ebizzy" --json "${quick[@]}" $'a\nb'
is "$status:$out" "1:" "--json refuses arguments that are not one line"
run "$ebizzy" --json "${quick[@]}" $'\xff'
is "$status:$out" "1:" "--json refuses arguments that are not UTF-8"

run "$ebizzy" "${quick[@]}" -v -m -p -P -z -R
is "$status" 0 "-v -m -p -P -z -R"
for line in 'always_mmap 1' 'never_mmap 0' 'chunks 4' 'prevent coalescing using permissions 1' \
	'prevent coalescing using holes 1' 'random_size 1' 'chunk_size 65536' 'seconds 1' 'threads 2' 'verbose 1' \
	'linear 1' 'touch_pages 0' 'Allocated memory' 'Wrote memory' 'Threads starting' 'Threads finished'; do
	like "$out" "^$line\$" "  prints $line"
done
run "$ebizzy" "${quick[@]}" -T -p -P ignored operands
is "$status" 0 "-T -p -P, and operands are ignored"

# Every chunk, many keys and many sizes are chosen; with -s 80 there are ten records in a chunk.
"$ebizzy" -vvv -S 1 -t 1 -n 3 -s 80 -R -l 2>"$TMP/err" | head -n 20000 | grep '^Search key' >"$TMP/searches"
is "$(sed 's/.*chunk //' "$TMP/searches" | sort -u | tr '\n' ' ')" '0 1 2 ' "all chunks are chosen"
is "$(sed 's/Search key \([0-9]*\),.*/\1/' "$TMP/searches" | sort -nu | tr '\n' ' ')" '0 1 2 3 4 5 6 7 8 9 ' \
	"all keys are chosen"
is "$(sed 's/.*copy size \([0-9]*\),.*/\1/' "$TMP/searches" | sort -nu | tr '\n' ' ')" \
	'8 16 24 32 40 48 56 64 72 80 ' "-R chooses all sizes"

# No record is lost: each thread says what it searches.
run "$ebizzy" --json -vvv -S 1 -t 3 -s 2097152
is "$(grep -c '^Search key' <<<"$err")" "$(json 'd["details"]["records"]')" "all records of all threads are counted"
is "$(grep -c '^Thread started$' <<<"$err"):$(grep -Ec '^Thread finished, [0-9.]+ seconds$' <<<"$err")" "3:3" \
	"  threads start and finish"

"$ebizzy" "${quick[@]}" >/dev/full 2>"$TMP/err"
is $? 1 "a full stdout is a failure"
like "$(cat "$TMP/err")" 'cannot write to stdout' "  and it says so"
done_testing
