# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by the *.t after tap.sh: fake guests, and pv-collect started on them, in $TMP.
here=$(cd "$(dirname "$0")" && pwd)
PYTHON=/usr/bin/python3 # what is first in PATH may be a slow wrapper
[ -x "$PYTHON" ] || PYTHON=python3
cd "$TMP" || exit 1

cat >context.json <<'END'
{"host": "lab1", "lane": "x86", "emulated": true, "pcpus": 2, "overcommit": 2, "arm": "off",
 "requested": "no", "run": 3, "position": 4, "seed": 99,
 "env": {"host_kernel": "6.12", "qemu": "10.0"}}
END

# guest NAME STEP...: in the background, on NAME.sock.
pids=()
guest() {
	local name=$1
	shift
	rm -f "$name.sock"
	"$PYTHON" "$here/fakeguest.py" "$name.sock" log "$@" &
	pids+=($!)
	echo $! >"$name.pid"
}
# collect ARG...: then all guests are ended.
collect() {
	run "$PV_BIN/pv-collect" --context context.json --out out.jsonl --boot-timeout 5 --timeout 5 \
		--off-timeout 1 "$@"
	kill "${pids[@]}" 2>/dev/null
	wait
	pids=()
}
# Print the fields PATH... of each sample.
samples() {
	"$PYTHON" -c '
import json, sys
for line in open("out.jsonl"):
    s = json.loads(line)
    got = []
    for path in sys.argv[1:]:
        v = s
        for part in path.split("."):
            v = v[part]
        got.append(json.dumps(v))
    print(*got)' "$@"
}
hello=(state ready wait:go)
job=(begin:tlb:1:1 sample:tlb)
bye=(done wait:bye close)
