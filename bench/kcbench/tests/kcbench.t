#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # status, out, err are set by run
. "$(dirname "$0")/../../common/tap.sh"

kcbench=$PV_BIN/pv-kcbench
export TMPDIR=$TMP/tmp
mkdir "$TMPDIR"
# json EXPRESSION: over the first line of $out
json() { python3 -c 'import json,sys; d=json.loads(sys.argv[1]); e=d["details"]; print(eval("(" + sys.argv[2] + ")"))' "${out%%$'\n'*}" "$1"; }

# A tree with the targets that are used of a kernel's. "Compiling" is a copy: no compiler is needed.
tree=$TMP/tree
mkdir -p "$tree/lib"
for f in init lib/a lib/b lib/c; do echo "int x;" >"$tree/$f.c"; done
cat >"$tree/Makefile" <<'MAKE'
objects = $(patsubst %.c,$(O)/%.o,$(wildcard *.c lib/*.c))
vmlinux: $(objects)
	cat $^ > $(O)/vmlinux
lib/: $(filter $(O)/lib/%,$(objects))
$(O)/%.o: %.c $(O)/.config
	@test -z "$(MAKELEVEL:0=)" -a "$$CCACHE_DISABLE" = 1
	mkdir -p $(@D)
	cp $< $@
	$(EXTRA)
defconfig tinyconfig olddefconfig:
	echo $@ >> $(O)/.config
	echo $@ >> $(O)/goals
clean:
	echo clean >> $(O)/goals
	rm -f $(objects) $(O)/vmlinux
broken: $(objects)
	@for i in $$(seq 100); do echo line $$i; done
	@echo broken on purpose; exit 1
hang:
	echo $$$$ > $(O)/pid; sleep 1000.5 & echo $$! >> $(O)/pid; sleep 1000.5
kernelversion:
	@echo 7.3.99
.PHONY: vmlinux lib/ defconfig tinyconfig olddefconfig clean broken hang kernelversion
MAKE

# -- what it refuses
for bad in '' '-s' "-s $TMP/missing" "-s $tree/Makefile" "-s $tree -j 0" "-s $tree -j -1" "-s $tree -j 2147483648" \
	"-s $tree -j 1x" "-s $tree -i 0" "-s $tree -i 99999999999999999999" "-s $tree -t -B" "-s $tree -t A=b" \
	"-s $tree -t /etc/passwd" "-s $tree -t ../x/" "-s $tree --defconfig -f" "-s $tree --config $TMP/missing" \
	"-s $tree --config $tree/Makefile --defconfig x" "-s $tree --min-objects -1" "-s $tree --clean all" \
	"-s $tree --clean objects" "-s $tree --clean objects -t vmlinux" "-s $tree --make-arg O=/" "-s $tree --timeout 0" \
	"-s $tree --timeout inf" "-s $tree -o $tree" "-s $tree -o $TMP/no/such" "-s $tree -o $tree/Makefile" "-s $tree x" \
	"-s $tree --nonsense" "-s $tree --real -t x" "-s $tree --real --clean make" "-s $tree --real --min-objects 1"; do
	# shellcheck disable=SC2086
	run timeout 5 "$kcbench" $bad
	[[ $status:$out == 2: && $'\n'$err == *$'\n'"Usage: "* ]]
	ok $? "rejects '${bad//$TMP/}'"
done
# shellcheck disable=SC2016
run "$kcbench" -s "$tree" -t '$(shell touch x)'
is "$status" 2 "rejects a target that make would expand"
run "$kcbench" -s "$tree" --label $'a\nb'
is "$status" 2 "rejects a label of two lines"
run "$kcbench" -s ''
is "$status" 2 "rejects an empty tree"
mkdir "$TMP/notree"
run "$kcbench" -s "$TMP/notree"
is "$status:$out" "1:" "a folder without a Makefile fails"
run "$kcbench" --help
is "$status:$err" "0:" "--help"
like "$out" 'Exit status: ' "  tells the exit status"

# -- its own build
run "$kcbench" -s "$tree" -j 2 -i 2
is "$status:$err" "0:" "builds"
like "$out" '^Linux compiled:      7\.3\.99 \[' "  tells the version"
is "$(grep -c '^Run ' <<<"$out")" 2 "  two runs"
for n in 1 2; do
	like "$out" "^Run $n \\(-j 2\\):        [0-9]+\\.[0-9]{2} seconds / [0-9]+\\.[0-9]{2} kernels/hour \\[P:[0-9]+%(, [0-9]+ maj\\. pagefaults)?\\]\$" \
		"  a result line of kcbench's form"
done
is "$(ls "$TMPDIR")" "" "  and leaves nothing behind"

o=$TMP/out
run env MAKEFLAGS=-n MAKELEVEL=3 "$kcbench" -s "$tree" -j 2 -i 2 -o "$o" --json --label 'with space'
is "$status:$err" "0:" "--json, -o, and a parent make's environment"
is "$(wc -l <<<"$out")" 2 "  one line for each run"
is "$(json 'd["workload"], d["implementation"], d["metric"], d["unit"], d["better"], d["bystanders"], d["flushes"], d["remote_vcpus"], d["params"]')" \
	"('kcbench', 'pv-tlb-flush', 'build_time', 's', 'lower', 'none', None, None, '-s $tree -j 2 -i 2 -o $o --label with space')" "  fields"
is "$(json 'e["run"], e["jobs"], e["objects"], e["target"], e["label"], e["tree_version"]')" \
	"(1, 2, 4, 'vmlinux', 'with space', '7.3.99')" "  details"
is "$(json '[abs(e["kernels_per_hour"] * d["value"] - 3600) < 1e-6, abs((e["user_s"] + e["sys_s"]) / d["value"] * 100 - e["percent"]) < 1e-6,
	e["user_s"] + e["sys_s"] > 0, e["majfaults"] >= 0]')" "[True, True, True, True]" "  times"
is "$(tr '\n' ' ' <"$o/goals")" "defconfig clean clean " "  configured once, cleaned before each run"
run "$kcbench" -s "$tree" -i 1 -o "$o" --json
is "$status:$(json 'e["objects"], e["label"]')" "0:(4, None)" "a configured folder"
is "$(tr '\n' ' ' <"$o/goals")" "defconfig clean clean clean " "  is not configured again"
run "$kcbench" -s "$tree" -i 1 -o "$TMP/out2" --defconfig tinyconfig
is "$status:$(head -n 1 "$TMP/out2/goals")" "0:tinyconfig" "--defconfig"
echo CONFIG_X=y >"$TMP/config"
run "$kcbench" -s "$tree" -i 1 -o "$TMP/out3" --config "$TMP/config"
is "$status:$(tr '\n' ' ' <"$TMP/out3/.config")" "0:CONFIG_X=y olddefconfig " "--config"

touch "$o/keep.o" "$o/lib/keep.ko"
ln -s "$tree" "$o/lib/link.o"
run "$kcbench" -s "$tree" -i 2 -o "$o" -t lib/ --clean objects --json --min-objects 3
is "$status:$(json 'e["objects"], e["target"]')" "0:(3, 'lib/')" "--clean objects"
is "$(tail -n 1 <<<"$out" | grep -c '"objects":3,')" 1 "  in each run"
is "$(tr '\n' ' ' <"$o/goals")" "defconfig clean clean clean " "  without make clean"
[ -e "$o/keep.o" ] && [ -e "$o/lib/keep.ko" ] && [ -L "$o/lib/link.o" ] && [ -e "$tree/lib/a.c" ]
ok $? "  removes objects of the target only"
run "$kcbench" -s "$tree" -i 1 -o "$o" -t lib/ -t vmlinux --json
is "$status:$(json 'e["target"]')" "0:lib/ vmlinux" "several targets"

# -- failed runs
run "$kcbench" -s "$tree" -i 2 -o "$o" --json --min-objects 5
is "$status:$out" "1:" "--min-objects that is not reached"
like "$err" 'only 4 objects were compiled, wanted: at least 5' "  is reported"
run "$kcbench" -s "$tree" -i 1 -o "$o" --clean objects -t lib/ --make-arg lib/=x --make-arg vmlinux --min-objects 5
is "$status" 1 "objects that were there before do not count"
run "$kcbench" -s "$tree" -i 1 -t broken
is "$status:$(grep -c '^Run' <<<"$out")" "1:0" "a failed build gives no result"
like "$err" 'broken on purpose' "  shows the end of the log"
like "$err" 'make: exit status 2' "  and make's exit status"
is "$(grep -c '^line ' <<<"$err")" 17 "  of 20 lines, with what make says"
is "$(ls "$TMPDIR")" "" "  and leaves nothing behind"
run "$kcbench" -s "$tree" -i 1 --make-arg 'EXTRA=touch $@.o; exit 3'
is "$status" 1 "--make-arg is passed on"
run env PATH=/nonexistent "$kcbench" -s "$tree"
is "$status" 1 "no make"
like "$err" 'cannot run make: No such file' "  is reported"

# dead PID: no such process, or one that nobody has asked about yet
dead() { ! grep -Eq '^State:.*[RSDT] ' "/proc/$1/status" 2>/dev/null; }
none_left() {
	local pid
	[ -s "$o/pid" ] || return 1
	while read -r pid; do dead "$pid" || return 1; done <"$o/pid"
}
run timeout 10 "$kcbench" -s "$tree" -o "$o" -i 1 -t hang --timeout 0.5
is "$status" 1 "--timeout"
like "$err" 'make: not ready after 0.5 s' "  is reported"
none_left
ok $? "  and no process survives"
for sig in TERM INT; do
	rm -f "$o/pid"
	env --default-signal=INT "$kcbench" -s "$tree" -o "$o" -i 1 -t hang >"$TMP/text" 2>/dev/null &
	for _ in $(seq 200); do
		if [ "$(wc -l 2>/dev/null <"$o/pid")" = 2 ]; then break; fi
		sleep 0.05
	done 2>/dev/null
	kill -$sig $!
	wait $! 2>/dev/null
	is $? $((128 + $(kill -l $sig))) "SIG$sig ends us"
	none_left
	ok $? "  and no process survives"
	is "$(grep -c '^Run' "$TMP/text")" 0 "  and there is no result"
done

# -- the real kcbench
# fake RESULTS [STATUS]
fake() {
	cat >"$TMP/kcbench" <<EOF2
#!/bin/sh
printf '%s\n' "\$*" > "$TMP/args"
cat <<'EOF3'
Processor:           A CPU [2 CPUs]
Linux compiled:      7.3.99 [$tree]
Filling caches:      This might take a while... Done
$1
EOF3
exit ${2-0}
EOF2
	chmod +x "$TMP/kcbench"
}
real() { run env PATH="$TMP:$PATH" "$kcbench" -s "$tree" -j 16 -i 2 --real "$@"; }
line1='Run 1 (-j 16):       161.38 seconds / 22.31 kernels/hour [P:1440%, 134 maj. pagefaults]'
fake "$line1
Run 2 (-j 16):       162.53 sec / 22.15 kernels/hour [P:1441%]"
real
is "$status:$err" "0:" "--real"
like "$out" '^Run 2 \(-j 16\):       162\.53 seconds / 22\.15 kernels/hour \[P:1441%\]$' "  result line"
is "$(cat "$TMP/args")" "-s $tree --no-download -j 16 -i 2" "  is called without download"
is "$(grep '^Run 1' <<<"$out")" "$line1" "  prints what it read"
real --json --config "$TMP/config" -o "$o" --make-arg A=1 --make-arg B=2
is "$status:$(wc -l <<<"$out")" "0:2" "--real --json"
is "$(cat "$TMP/args")" "-s $tree --no-download -j 16 -i 2 -o $o -k $TMP/config --add-make-args A=1 B=2" "  passes options on"
is "$(json 'd["implementation"], d["value"], e["run"], e["jobs"], e["percent"], e["majfaults"], e["kernels_per_hour"], e["objects"], e["user_s"]')" \
	"('upstream', 161.38, 1, 16, 1440.0, 134, 22.31, None, None)" "  sample"
run "$kcbench" -s "$tree" -j 16 "--real=$TMP/kcbench" --json
is "$status" 0 "--real=PATH"
run env PATH="$(dirname "$(command -v make)")" "$kcbench" -s "$tree" --real=/nonexistent/kcbench
is "$status" 1 "a kcbench that is missing"
like "$err" 'cannot run /nonexistent/kcbench' "  is reported"

# bad NAME RESULTS
bad() {
	fake "$2"
	real --json
	is "$status:$out" "1:" "$1"
	like "$err" "$3" "  is reported"
}
bad "one result too few" "$line1" '1 results, wanted: 2'
bad "the same run twice" "$line1
$line1" "not a result of run 2 .*'Run 1"
bad "another number of jobs" "${line1/-j 16/-j 8}" "not a result of run 1 with -j 16: 'Run 1 \\(-j 8\\)"
bad "a result without seconds" "${line1/161.38/}" "not a result of run 1"
bad "a result of 0 seconds" "${line1/161.38/0.00}" "not a result of run 1"
bad "a negative result" "${line1/161.38/-1.00}" "not a result of run 1"
bad "kcbench 0.4's points" 'Run 1 (-j 16): 1234 points' "not a result of run 1"
bad "something after the result" "$line1 or so" "not a result of run 1"
fake "$line1" 2
real
is "$status" 1 "a kcbench that fails"
like "$err" 'exit status 2' "  is reported"
like "$err" 'Filling caches' "  with what it said"
"$kcbench" -s "$tree" -i 1 --json >/dev/full 2>/dev/null
is "$?:$(ls "$TMPDIR")" "1:" "a full stdout is a failure, and leaves nothing behind"
done_testing
