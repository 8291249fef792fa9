#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Plain numbers: golden figures and hostile input.
. "$(dirname "$0")/../../common/tap.sh"
cmp=$PV_BIN/pv-compare

# perf bench sched all, 10 runs each, from the arm64 pv-vcpu-state posting (v2, 2021); its ministat
# output says: difference 3060.4 +/- 1070.09, 9.13 % +/- 3.19 %, pooled s = 1138.88.
echo 33452 33541 33365 33455 33449 33616 33479 33594 33458 33704 >"$TMP/base"
printf '%s\n' 36485 39405 36858 38047 37866 34922 34388 37203 35363 35180 >"$TMP/patched"

run "$cmp" --numbers "$TMP/base" "$TMP/patched" --better higher --unit ops/s
is "$status" 0 "golden: exit status"
like "$out" '^  Student +3060\.40 \+/- 1070\.09 ops/s' "golden: Student's interval as published"
like "$out" 'pooled s 1138\.88, t = 2\.101 ' "golden: pooled s and the tabulated t it needs"
like "$out" '3060\.40 \+/- 1070\.05 ops/s  \(the same with t = 2\.100922\)' \
	"golden: what an unrounded t gives"
like "$out" '^  Welch +3060\.40 \+/- 1150\.80 ops/s  \(df 9\.07, t = 2\.2595, standard error 509\.32' \
	"golden: Welch's interval"
is "$(awk 'BEGIN { printf "%.1f", 2.26 * 509.3225 }')" 1151.1 \
	"the 1151.1 sometimes quoted for it has t rounded to 2.26"
like "$out" '\+9\.13 % \+/- 3\.43 % \(Welch\), \+/- 3\.19 % \(Student\)' "golden: percentages"
like "$out" '^Verdict: gain$' "golden: verdict"
# 33511.3 and 36571.7 are the means; the centres below are harmonic.
like "$out" '^Throughput gained: \+8\.95 %' "golden: throughput gained"
like "$out" '^Time saved: +\+8\.21 %' "golden: time saved"

run "$cmp" --numbers "$TMP/base" "$TMP/patched"
is "$status" 0 "without --better"
like "$out" '1070\.09  \(df' "no unit, no blank for it"
grep -q Verdict <<<"$out"
is $? 1 "no verdict without --better"

# Harmonic and arithmetic: 2 and 6 have means 3 and 4; 3 and 6 have 4 and 4.5.
echo 2 6 >"$TMP/a"
echo 3 6 >"$TMP/b"
run "$cmp" --numbers "$TMP/a" "$TMP/b" --better higher
like "$out" '^off +2 +2 +4 +6 +4 +3 +2\.8284$' "means, median and deviation of off"
like "$out" '^on +2 +3 +4\.5 +6 +4\.5 +4 +2\.1213$' "means, median and deviation of on"
like "$out" '^Throughput gained: \+33\.3 %' "rates: harmonic means, 4 / 3 - 1"
like "$out" '^Time saved: +\+25\.0 %' "rates: 1 - 3 / 4"
run "$cmp" --numbers "$TMP/a" "$TMP/b" --better lower
like "$out" '^Throughput gained: -11\.1 %' "times: arithmetic means, 4 / 4.5 - 1"
like "$out" '^Time saved: +-12\.5 %' "times: 1 - 4.5 / 4"

# By hand: differences of 10, both sd 1 and n 4: se = sqrt(1/2), df 6, t = 2.446912, t80 = 0.905703.
echo 9 9 11 11 | tr ' ' '\n' >"$TMP/c" # sd 1.1547
echo 19 19 21 21 >"$TMP/d"
run "$cmp" --numbers "$TMP/c" "$TMP/d"
like "$out" 'Welch +10\.00 \+/- 2\.00  \(df 6\.00' "Welch by hand: 2.446912 x 0.816497"
like "$out" 'Smallest detectable difference .*: 2\.7374, 27\.4 % of off' \
	"detectable by hand: (2.446912 + 0.905703) x 0.816497"
# d = 10 / 1.154701 = 8.660254; J(6) = gamma(3) / (sqrt(3) gamma(2.5)) = 0.868626
like "$out" "Hedges' g: 7\.5225$" "Hedges' g by hand"

echo '1e2 # a comment 7' >"$TMP/e"
echo '  100	101' >>"$TMP/e"
run "$cmp" --numbers "$TMP/e" "$TMP/e"
is "$status" 0 "blanks, tabs, comments, exponents"
like "$out" '^off +3 ' "comments do not count"

bad() { # TEXT REGEX NAME
	printf '%b' "$1" >"$TMP/bad"
	run "$cmp" --numbers "$TMP/bad" "$TMP/a"
	is "$status" 2 "$3: exit status"
	like "$err" "$2" "$3: message"
	is "$out" "" "$3: nothing printed"
}
bad '1 2\nNaN\n' 'bad:2: NaN is not a finite number > 0' "NaN"
bad '1 inf' 'bad:1: inf is not' "infinity"
bad '1 -3' 'bad:1: -3 is not' "negative"
bad '1 0' 'bad:1: 0 is not' "zero"
bad '1 0x10' 'bad:1: 0x10 is not' "hexadecimal"
bad '1 2e999' 'bad:1: 2e999 is not' "too large"
bad '1 2;3' 'bad:1: 2;3 is not' "something else"
bad '1 \0000 2' 'bad:1: NUL' "NUL byte"
bad '1 \0033[2J' 'bad:1: \?\[2J is not' "escape sequence is not passed on"
bad '' 'no numbers: an interval needs at least two' "empty file"
bad '# 1 2 3' 'no numbers' "only a comment"
bad '17' 'only one number: an interval needs at least two' "one number"
run "$cmp" --numbers "$TMP/a" "$TMP/absent"
is "$status" 2 "absent file"
run "$cmp" --numbers "$TMP/a" "$TMP"
is "$status" 2 "a folder"
run "$cmp" --numbers "$TMP/a"
is "$status" 2 "one file"
run "$cmp" --numbers "$TMP/a" "$TMP/b" --better more
is "$status" 2 "neither higher nor lower"
run "$cmp" --numbers "$TMP/a" "$TMP/b" --out "$TMP/x"
is "$status" 2 "no report of plain numbers"
run "$cmp" --better higher "$TMP/a"
is "$status" 2 "--better without --numbers"
echo 5 5 5 >"$TMP/same"
run "$cmp" --numbers "$TMP/same" "$TMP/same" --better higher
is "$status" 0 "no spread at all"
like "$out" 'Welch +0 \+/- 0 ' "no spread: no interval"
like "$out" "Hedges' g: n/a" "no spread: no effect size"
done_testing
