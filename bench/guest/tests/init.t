#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel command line, and process 1 as far as it shows without a machine.
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"

params() { run "$PV_BIN/pv-guest" params "$*"; }

params quiet console=ttyS0 pvb.job=ebizzy-json:60:-M,-S,10 pvb.job=tlb:30 x
is "$status" 0 "a command line"
is "$out" '{"channel":"org.pv-tlb-flush.results","feature":"kvm-pv-tlb-flush","barrier":true,"barrier_timeout_s":600,"kdisk":false,"watch":false,"jobs":[{"name":"ebizzy-json","timeout_s":60,"args":["-M","-S","10"]},{"name":"tlb","timeout_s":30,"args":[]}]}' \
	"jobs in order, and the defaults"
params pvb.job=tlb:1 pvb.channel=a.b pvb.feature=kvm-pv-preempt pvb.barrier=0 \
	pvb.barrier_timeout=5 pvb.kdisk=1
is "$out" '{"channel":"a.b","feature":"kvm-pv-preempt","barrier":false,"barrier_timeout_s":5,"kdisk":true,"watch":false,"jobs":[{"name":"tlb","timeout_s":1,"args":[]}]}' \
	"all parameters"
params pvb.watch=1
like "$status,$out" '^0,.*"watch":true,"jobs":\[\]' "no job, but watch"
while read -r bad wanted; do
	params pvb.job=tlb:1 "$bad"
	is "$status,$out" "2," "refused: $bad"
	like "$err" "$wanted" "refused: $bad: says why"
done <<'END'
pvb.jobs=x unknown
pvb.barrier unknown
pvb. unknown
pvb.barrier=2 bad value
pvb.barrier= bad value
pvb.barrier_timeout=0 bad value
pvb.kdisk=yes bad value
pvb.watch=2 bad value
pvb.watch=1 goes without pvb.job
pvb.channel= bad value
pvb.channel=../x bad value
pvb.feature=X bad value
pvb.job=tlb timeout|NAME:TIMEOUT
pvb.job=a/b:5 not a workload
END
params quiet
is "$status,$err" "2,pv-guest: no pvb.job on the kernel command line" "refused: no job"
params "$(for i in {1..257}; do echo "pvb.job=tlb:$i"; done)"
is "$status" 2 "refused: too many jobs"

# In a process id namespace of its own reboot() ends only that namespace: with SIGINT, for power
# off. It has no channel, so it must say so and power off.
if unshare --fork --pid --mount true 2>/dev/null; then
	# shellcheck disable=SC2016
	# The process that unshare forks gets number 1; an exit of it would show as that status.
	run timeout -s KILL 60 unshare --fork --pid --mount bash -c \
		'exec -a /init "$1" 2>"$2" 0</dev/null' - "$PV_BIN/pv-guest" "$TMP/console"
	is "$status" 130 "process 1 powers off after an error"
else
	skip "process 1" "no namespaces here"
fi

done_testing
