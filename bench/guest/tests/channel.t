#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# pv-guest run --channel: what /init does on its virtio-serial port, under somebody else's system.
# In a mount namespace of its own, where /sys/class and /dev have such a port.
if [ -z "${PV_IN_NAMESPACE-}" ] && unshare --mount true 2>/dev/null; then
	PV_IN_NAMESPACE=1 exec unshare --mount "$0"
fi
# shellcheck source=SCRIPTDIR/../../common/tap.sh
. "$(dirname "$0")/../../common/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
PYTHON=/usr/bin/python3 # what is first in PATH may be a slow wrapper
[ -x "$PYTHON" ] || PYTHON=python3

run "$PV_BIN/pv-guest" run --channel x --out y --job tlb:5
is "$status" 2 "refused: --channel and --out"
run "$PV_BIN/pv-guest" state --channel x
is "$status" 2 "refused: a channel for state"
if [ -z "${PV_IN_NAMESPACE-}" ]; then
	skip "the channel" "no namespaces here"
	done_testing
fi

mount -t tmpfs none /sys/class && mount -t tmpfs none /dev && mkdir /dev/pts /dev/shm &&
	mount -t devpts -o ptmxmode=0666 none /dev/pts && ln -s pts/ptmx /dev/ptmx &&
	mknod -m 0666 /dev/null c 1 3 && mknod -m 0666 /dev/urandom c 1 9
ok $? "a /dev and a /sys/class of our own"
for i in 1 2 3; do
	mkdir -p "/sys/class/virtio-ports/vport0p$i"
	echo "org.example.$i" >"/sys/class/virtio-ports/vport0p$i/name"
done

mkdir "$TMP/bin"
cp "$PV_BIN/pv-guest" "$TMP/bin/"
cat >"$TMP/bin/pv-fake" <<'END'
#!/bin/bash
[ "${2-}" != slow ] || sleep 30
echo '{"workload":"fake","implementation":"pv-tlb-flush","metric":"m","unit":"x/s","better":"higher","value":1.5,' \
	'"params":"-a","bystanders":"none","flushes":null,"remote_vcpus":null,"details":{"x":1}}'
END
chmod +x "$TMP/bin/pv-fake"

# port KIND ARG...: the port org.example.2 and what is behind it, in the background.
port() {
	"$PYTHON" "$here/fakeport.py" /dev/vport0p2 "$@" &
	behind=$!
	for _ in {1..100}; do
		[ -e /dev/vport0p2 ] && break
		sleep 0.05
	done
}
# guest ARG...: on that port; then what is behind it ends.
guest() {
	run timeout 60 "$TMP/bin/pv-guest" run --channel org.example.2 "$@"
	kill "$behind" 2>/dev/null
	wait "$behind" 2>/dev/null
	rm -f /dev/vport0p2
}
events() { jq -r .event "$TMP/log" | paste -sd' '; }

port host "$TMP/log" ready=go "done=bye"
guest --feature kvm-pv-ipi --job fake:5 --job fake:5:x
is "$status/$out" 0/ "a run; nothing on stdout"
is "$(events)" "state ready begin sample begin sample done" "the events in order, on the port"
is "$(jq -c 'select(.event == "state") | [.barrier, .jobs, .feature]' "$TMP/log")" '[true,2,"kvm-pv-ipi"]' \
	"it says that it waits, and for what"
like "$err" "pv-guest: channel org.example.2 is /dev/vport0p2" "the port is found by its name"
like "$err" "pv-guest: ready, waiting for the host" "words for people on stderr"
like "$err" "pv-guest: done: 2 jobs, 0 failed" "... to the end"

port host "$TMP/log" ready=stop
guest --job fake:5
is "$status" 1 "another line in place of go: status"
is "$(events)" "state ready error" "no job is run"
is "$(jq -c 'select(.event == "error") | [.job, .reason]' "$TMP/log")" \
	'[null,"\"stop\" from the host in place of \"go\""]' "the host is told"

port host "$TMP/log" ready=go begin=
guest --job fake:60:slow
is "$status" 1 "the host goes away: status"
like "$err" "the host has closed the channel" "... and a word why"

port host "$TMP/log" ready=go
guest --job fake:5
is "$status" 0 "no bye: not a failure"
like "$err" 'no "bye" from the host within 5 s' "but said"

port host "$TMP/log"
run "$TMP/bin/pv-guest" run --channel org.example --job fake:5
is "$status" 1 "no such port: status"
like "$err" 'no virtio port "org.example"' "... not one whose name begins like it"
kill "$behind"

# With the other side of it.
cat >"$TMP/context.json" <<END
{"host": "lab1", "lane": "x86", "emulated": true, "pcpus": $(nproc), "overcommit": 1, "arm": "off",
 "requested": "no", "run": 1, "position": 1, "seed": 1, "env": {"qemu": "10.0"}}
END
port socket "$TMP/socket"
"$PV_BIN/pv-collect" --context "$TMP/context.json" --out "$TMP/samples.jsonl" --boot-timeout 60 --timeout 60 \
	--off-timeout 1 "guest1=$TMP/socket" 2>"$TMP/collect.err" &
collect=$!
guest --job fake:5
is "$status" 0 "with pv-collect on the host"
wait $collect
is "$?/$(jq -r '[.guest, .workload, .value] | join(" ")' "$TMP/samples.jsonl")" "0/guest1 fake 1.5" "... which gets the sample"

done_testing
