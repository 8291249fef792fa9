#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# pv-guest run: what workloads can do, and what comes of it.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
PYTHON=/usr/bin/python3 # what is first in PATH may be a slow wrapper
[ -x "$PYTHON" ] || PYTHON=python3

# pv-guest looks beside itself for the workloads.
mkdir "$TMP/bin"
cp "$PV_BIN/pv-guest" "$TMP/bin/"
cat >"$TMP/bin/pv-fake" <<'END'
#!/bin/bash
result() {
	echo "{\"workload\":\"fake\",\"implementation\":\"pv-tlb-flush\",\"metric\":\"m\"," \
		"\"unit\":\"x/s\",\"better\":\"higher\",\"value\":${1:-1.5},\"params\":\"-a\"," \
		"\"bystanders\":\"none\",\"flushes\":null,\"remote_vcpus\":null," \
		"\"details\":${2:-{\"x\":1\}}}"
}
[ "$1" = --json ] || exit 9
shift
case ${1-} in
args) result 1 "$(for a in "$@"; do printf '%s' "$a" | od -An -tx1 | tr -d ' \n'; echo; done |
	paste -sd, | sed 's/.*/{"args":"&"}/')" ;;
hang)
	sleep 100 &
	echo $! >"$0.child"
	sleep 100
	;;
deaf)
	trap '' TERM
	echo "will not end" >&2
	while :; do sleep 1; done
	;;
fail)
	yes 'line of the error' | head -c 9000 >&2
	printf 'last\1line\200\n' >&2
	result
	exit 3
	;;
signal) kill -SEGV $$ ;;
flood) yes '{"x":1}' ;;
silent) ;;
text) echo "throughput 5" ;;
two) result; result ;;
nul) printf '{"workload":"\0"}\n' ;;
missing) echo '{"workload":"fake"}' ;;
type) result '"5"' ;;
zero) result 0 ;;
negative) result -1 ;;
huge) result 1e999 ;;
extra) result 1 | sed 's/^{/{"guest":"other",/' ;;
twice) result 1 | sed 's/^{/{"workload":"fake",/' ;;
choice) result 1 | sed 's/higher/higher|lower/' ;;
control) result 1 | sed 's/-a/a\\nb/' ;;
host) result 1 '{"host":1}' ;;
interrupts) result 1 '{"interrupts":1}' ;;
ipis) result 1 '{"tlb_ipis":77}' ;;
ipisnull) result 1 '{"tlb_ipis":null}' ;;
ipisbad) result 1 '{"tlb_ipis":"many"}' ;;
big) result 1 "{\"x\":\"$(head -c 1048200 /dev/zero | tr '\0' x)\"}" ;;
daemon)
	result
	sleep 100 &
	echo $! >"$0.child"
	;;
slow) sleep 2.3; result ;;
*) result ;;
esac
END
chmod +x "$TMP/bin/pv-fake"

guest() { run "$TMP/bin/pv-guest" run "$@"; }
# Print the fields PATH... of the events named EVENT.
events() {
	$PYTHON -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["event"] != sys.argv[1]:
        continue
    got = []
    for path in sys.argv[2:]:
        v = e
        for part in path.split("."):
            v = len(v) if part == "len" else v[part]
        got.append(json.dumps(v))
    print(*got)' "$@" <<<"$out"
}
# Nobody may have waited for it yet.
gone() {
	local state
	state=$(ps -o stat= -p "$(cat "$TMP/bin/pv-fake.child")")
	[ "${state:0:1}" = Z ] || [ -z "$state" ]
}

guest --job fake:5
is "$status" 0 "a good workload: status"
is "$($PYTHON -c '
import json, sys
print(*[json.loads(l)["event"] for l in sys.stdin])' <<<"$out")" \
	"state ready begin sample done" "a good workload: the events in order"
is "$(events sample job sample.value sample.details.x sample.feature)" \
	'"fake" 1.5 1 "kvm-pv-tlb-flush"' "the workload's own fields and the guest's"
like "$(events sample sample.vcpus sample.elapsed_s sample.env)" \
	'^[1-9][0-9]* [0-9.e-]+ \{"guest_kernel": ".+", "guest_build": ".+", "glibc": "[0-9.]+"\}$' \
	"vCPUs, time and environment"
is "$(events sample sample.details.interrupts | tr -d '0-9 ')" \
	'{"TLB":,"RES":,"CAL":,"LOC":}' "counts of interrupts on x86"
is "$(events "done" jobs failed)" "1 0" "done counts"

guest --feature kvm-pv-ipi --job fake:5 --job fake:5:fail --job fake:5:ipis
is "$status" 1 "one of three jobs fails: status"
is "$(events begin job k n timeout_s args)" \
	$'"fake" 1 3 5 []\n"fake" 2 3 5 ["fail"]\n"fake" 3 3 5 ["ipis"]' "begin of each"
is "$(events "done" jobs failed)" "3 1" "the others run all the same"
is "$(events error reason)" '"exit status 3"' "the reason"
is "$(events error stderr.len)" 4096 "4 KiB of its messages are kept"
like "$(events error stderr)" 'last\?line\?.n"$' "the last of them, printable"
is "$(events sample sample.feature sample.tlb_ipis | tail -n 1)" '"kvm-pv-ipi" 77' \
	"the workload's own count of TLB interrupts leads"
like "$err" 'pv-guest: job 2 of 3: fake' "words for people on stderr"

guest --job fake:5:args,a%2Cb,%25,c%20d,%c3%A4,--,=:
is "$(events sample sample.details.args)" '"61726773,612c62,25,632064,c3a4,2d2d,3d3a"' \
	"arguments: percent decoding, colons"
is "$(events begin args)" '["args", "a,b", "%", "c d", "\u00e4", "--", "=:"]' "arguments in begin"
guest --job fake:5:args,%ff
is "$(events sample sample.details.args) $(events begin args)" '"61726773,ff" ["args", null]' \
	"an argument that is not UTF-8"

for bad in fake fake: fake:0 fake:-1 fake:1x fake:86401 fake:99999999999999999999 :5 ../fake:5 \
	/bin/ls:5 exec:5 Fake:5 fake.sh:5 "fa ke:5" fake:5:a,,b "fake:5:," fake:5:%2 fake:5:%zz \
	fake:5:%00 "$(printf 'a%.0s' {1..40}):5"; do
	guest --job "$bad"
	is "$status,$out" "2," "refused: job $bad"
done
guest
is "$status" 2 "refused: no job"
guest --feature 'a b' --job fake:5
is "$status" 2 "refused: a feature's name"
run "$TMP/bin/pv-guest" state --job fake:5
is "$status" 2 "refused: a job for state"
run "$TMP/bin/pv-guest" walk
is "$status" 2 "refused: unknown command"

guest --job none:5
like "$(events error reason stderr)" '^"exit status 127" "cannot run .*/pv-none: No such file' \
	"no such workload"
while read -r what wanted; do
	guest --job "fake:5:$what"
	like "$status $(events error reason)" "^1 .*$wanted" "$what: error"
	is "$(events sample job)" "" "$what: no sample"
done <<'END'
signal killed by signal 11
flood printed more than 1048576 bytes
silent printed no result
text the result is not JSON
two printed more than one line
nul the result is not JSON
missing field .*implementation.* is missing
type field .*value.* must be a number > 0
zero field .*value.* must be a number > 0
negative field .*value.* must be a number > 0
huge the result is not JSON
extra unexpected field .*guest
twice the result is not JSON: duplicate
choice field .*better.* must be higher.lower
control field .*params.* must be a string without control
host details.host is not the workload's
interrupts details.interrupts is not the workload's
ipisbad details.tlb_ipis must be
big the event does not fit
END

guest --job fake:5:ipisnull
is "$(events sample sample.tlb_ipis)" "$(events sample sample.details.interrupts.TLB)" \
	"the workload does not know its TLB interrupts: the outer count"

guest --job fake:1:hang
is "$status $(events error reason)" '1 "timeout after 1 s"' "a hang is ended and reported"
gone
ok $? "its children are ended too"

start=$SECONDS
guest --job fake:1:deaf
is "$status $(events error reason stderr)" '1 "timeout after 1 s" "will not end\n"' \
	"a hang that ignores SIGTERM is ended"
[ $((SECONDS - start)) -le 6 ]
ok $? "3 s later"

guest --job fake:5:daemon
is "$status" 0 "a workload that leaves a process behind"
gone
ok $? "which is ended"

guest --job fake:5:slow
like "$(events progress job elapsed_s)" '^"fake" 2\.[0-9]+$' "a sign of life every 2 s"

run bash -c "'$TMP/bin/pv-guest' run --job fake:60:hang --job fake:60 & sleep 0.5; kill -TERM \$!; wait \$!"
is "$status" 1 "SIGTERM: status"
is "$(events error reason) $(events begin k)" '"interrupted by a signal" 1' "SIGTERM ends the run"
gone
ok $? "and the workload"

guest --out "$TMP/events" --job fake:5
is "$status,$out" "0," "--out FILE: silence on stdout"
is "$(tail -n 1 "$TMP/events")" '{"event":"done","jobs":1,"failed":0}' "--out FILE: the events"
guest --out /nowhere/x --job fake:5
is "$status" 1 "--out: cannot be written"
run bash -c "'$TMP/bin/pv-guest' run --job fake:5 >/dev/full"
is "$status" 1 "stdout is full"

done_testing
