#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The files of a report: well-formed, escaped, complete or not there.
. "$(dirname "$0")/../../common/tap.sh"
cmp=$PV_BIN/pv-compare
make=$(dirname "$0")/make-samples
dir=$TMP/out
html=$dir/report.html
json=$dir/report.json

tlb=('workload="tlb"' 'metric="flush_rate"' 'unit="flushes/s"' 'bystanders="busy"' flushes=100
	remote_vcpus=3)
{
	"$make" off=100,101,99,100,102,98,100,101,99,100 on=120,121,119,120,122,118,120,121,119,120
	"$make" "${tlb[@]}" off=10,11 on=20,21 off.tlb_ipis=300 on.tlb_ipis='[30,45]'
	"$make" "${tlb[@]}" overcommit=4 off=10,11 on=20,21 off.tlb_ipis=300 on.tlb_ipis='[30,45]'
	"$make" 'workload="kcbench"' 'metric="build_time"' 'unit="s"' 'better="lower"' off=7 on=6.5
} >"$TMP/s.jsonl"
echo '{"machine": "a <b>laptop</b>"}' >"$TMP/env.json"
run "$cmp" --out "$dir" --title 'A & B <i>' --env "$TMP/env.json" "$TMP/s.jsonl"
is "$status" 0 "report made"
is "$(ls -A "$dir")" "$(printf 'report.html\nreport.json')" "two files, no others"
is "$(stat -c %a "$html")" "$(printf '%o' $((0666 & ~$(umask))))" "readable as the umask says"
like "$out" 'kcbench and tlb on x86 at 2:1 to 4:1$' "what was compared"
like "$out" 'a <b>laptop</b>' "the run's environment in the text"

python3 -m json.tool "$json" >/dev/null
ok $? "report.json is JSON"
cat >"$TMP/check_json.py" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
lines = [json.loads(line) for line in open(sys.argv[2])]
c = r["cells"]
e, k, t2, t4 = c
assert [x["workload"] for x in c] == ["ebizzy", "kcbench", "tlb", "tlb"]
assert e["verdict"] == "gain" and e["off"]["n"] == 10 and len(e["off"]["samples"]) == 10
assert abs(e["off"]["mean"] - 100) < 1e-9 and abs(e["comparison"]["difference"] - 20) < 1e-9
assert e["off"]["centre"] == e["off"]["harmonic_mean"] < 100
assert e["counts"] is None and e["comparison"]["difference_half_interval"] > 0
assert k["off"]["centre"] == 7 and k["off"]["sd"] is None
assert k["comparison"]["difference_half_interval"] is None
assert t2["counts"] == {"judged": True, "ipis_avoided": "yes", "ratio_on_off": 0.125}, t2["counts"]
assert t2["on"]["ipis_per_flush_and_remote_vcpu_median"] == 0.125
assert r["title"] == "A & B <i>" and r["run_environment"] == {"machine": "a <b>laptop</b>"}
assert r["environments"] == [lines[0]["env"]] and r["profile"] == "full"
s = r["samples"]
assert [x["id"] for x in s] == list(range(1, len(lines) + 1))
assert all(x["sample"] == lines[x["line"] - 1] for x in s), "samples are whole"
assert sorted(x["line"] for x in s) == list(range(1, len(lines) + 1)), "none is lost"
assert all(x["id"] in c[x["cell"] - 1][x["sample"]["arm"]]["samples"] for x in s)
PY
run python3 "$TMP/check_json.py" "$json" "$TMP/s.jsonl"
is "$status$err" 0 "report.json: contents"

cat >"$TMP/check_html.py" <<'PY'
import re, sys
import xml.etree.ElementTree as ET
text = open(sys.argv[1], encoding="utf-8").read()
root = ET.fromstring(text.replace("<!DOCTYPE html>", "", 1))
tag = lambda e: e.tag.split("}")[1]
elements = list(root.iter())
ids = [e.get("id") for e in elements if e.get("id")]
assert len(ids) == len(set(ids)), "ids are unique"
for i in ids:
    assert re.fullmatch(r"(c|s|note|env)\d+|summary|overview|cells|environment|samples|notes", i), i
for e in elements:
    assert tag(e) not in ("script", "link", "img", "iframe", "object", "use", "image", "b0rk"), e.tag
    for name, value in e.attrib.items():
        assert not name.lower().startswith("on"), name
        if name in ("href", "src") or name.endswith("}href"):
            assert value.startswith("#") and value[1:] in ids, (name, value)
assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/(2000/svg|1999/xhtml|1999/xlink))", text)
svgs = [e for e in elements if tag(e) == "svg"]
points = [[e.get("href") for e in svg.iter() if tag(e) == "a"] for svg in svgs]
for svg in svgs:
    for e in svg.iter():
        for name in ("color", "fill", "stroke"):
            assert e.get(name) in (None, "none", "currentColor"), "colours are the page's"
print(len(svgs), [len(p) for p in points])
for want in sys.argv[2:]:
    assert any(want in "".join(e.itertext()) for e in elements), want
PY
run python3 "$TMP/check_html.py" "$html" "A & B <i>" "a <b>laptop</b>" "flushes/s" "Throughput gained"
is "$status$err" 0 "report.html: well-formed, self-contained, no script, links resolve, unique ids"
# throughput of 4 cells, IPIs of 2; values: ebizzy 20, kcbench 2, tlb 4 each, with IPIs 4 each
is "$out" "8 [4, 2, 20, 2, 4, 4, 4, 4]" "report.html: one point per run in each plot"
grep -q 'Lab timings' "$html"
is $? 1 "no lab banner"

# The same input gives the same bytes.
run "$cmp" --out "$TMP/out2" --title 'A & B <i>' --env "$TMP/env.json" "$TMP/s.jsonl"
cmp -s "$html" "$TMP/out2/report.html" && cmp -s "$json" "$TMP/out2/report.json"
ok $? "reproducible"

# Everything that comes from outside, hostile.
# shellcheck disable=SC1003,SC2016
evil='</title><script>alert(1)</script><b0rk a=\"'"'"'>&`id`$(id)\\\\'
"$make" off=5,6 on=7,8 "workload=\"$evil\"" "implementation=\"i$evil\"" "metric=\"m$evil\"" \
	"unit=\"u$evil\"" "params=\"p$evil\"" "host=\"h$evil\"" "guest=\"g$evil\"" \
	"feature=\"f$evil\"" "env={\"k$evil\":\"v$evil\"}" "details={\"d$evil\":\"\\u0000\\n$evil\"}" \
	emulated=true >"$TMP/evil.jsonl" 2>"$TMP/evil.err"
# \u0000 is not for C; leave it out where it is refused.
run "$cmp" --check "$TMP/evil.jsonl"
is "$status" 2 "NUL in details is malformed"
sed -i 's/\\u0000//' "$TMP/evil.jsonl"
run "$cmp" --profile quick --out "$dir" --title "t</h1><script>'\"" "$TMP/evil.jsonl"
is "$status$err" 0 "hostile texts: report made"
run python3 "$TMP/check_html.py" "$html" "t</h1><script>'\"" "</title><script>alert(1)</script>"
is "$status$err" 0 "hostile texts: escaped"
grep -Eq '<script|<b0rk' "$html"
is $? 1 "hostile texts: no such element"
grep -q 'Lab timings' "$html"
ok $? "lab banner"
python3 -m json.tool "$json" >/dev/null
ok $? "hostile texts: report.json is JSON"
cp "$TMP/evil.jsonl" "$TMP/"$'a<b>\xff.jsonl'
run "$cmp" --profile quick --out "$dir" "$TMP/"$'a<b>\xff.jsonl'
is "$status" 0 "hostile file name"
run python3 "$TMP/check_html.py" "$html" 'a<b>?.jsonl:1'
is "$status$err" 0 "hostile file name: escaped"

# One arm, one run, no counts: every plot copes.
"$make" "${tlb[@]}" off=5 tlb_ipis=null >"$TMP/one.jsonl"
run "$cmp" --allow-partial --out "$dir" "$TMP/one.jsonl"
is "$status" 0 "one sample"
run python3 "$TMP/check_html.py" "$html" incomplete
is "$status$out" "01 [1]" "one sample: one plot, one point"
"$make" "${tlb[@]}" off=1e-9,1e12 on=5,5 off.tlb_ipis='[300,30000000]' on.tlb_ipis=0 >"$TMP/wide.jsonl"
run "$cmp" --out "$dir" "$TMP/wide.jsonl"
is "$status" 0 "wide range"
"$make" off=1e308,1e-320 on=5 overcommit=1e305 >"$TMP/wide.jsonl"
run "$cmp" --out "$dir" "$TMP/wide.jsonl"
is "$status" 0 "beyond what can be plotted"
python3 -m json.tool "$json" >/dev/null
ok $? "beyond what can be plotted: report.json is JSON"

# Nothing half-written.
mkdir "$TMP/none" "$TMP/broken" "$TMP/empty"
printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >"$TMP/broken/gnuplot"
printf '#!/bin/sh\nexit 0\n' >"$TMP/empty/gnuplot"
chmod +x "$TMP"/{broken,empty}/gnuplot
before=$(cat "$json" "$html" | cksum)
run env PATH="$TMP/none" "$cmp" --out "$dir" "$TMP/s.jsonl"
is "$status" 1 "no gnuplot"
like "$err" 'cannot run gnuplot.*No such file' "no gnuplot: said"
run env PATH="$TMP/broken:$PATH" "$cmp" --out "$dir" "$TMP/s.jsonl"
is "$status" 1 "gnuplot fails"
like "$err" 'gnuplot failed: no such terminal' "gnuplot fails: why"
run env PATH="$TMP/empty:$PATH" "$cmp" --out "$dir" "$TMP/s.jsonl"
is "$status" 1 "gnuplot draws nothing"
is "$(cat "$json" "$html" | cksum)" "$before" "the old report is whole"
is "$(ls -A "$dir")" "$(printf 'report.html\nreport.json')" "no temporary files"
run env PATH="$TMP/none" "$cmp" "$TMP/s.jsonl"
is "$status" 0 "no gnuplot: the text needs none"
mkdir "$TMP/tmp"
run env TMPDIR="$TMP/tmp" "$cmp" --out "$dir" "$TMP/s.jsonl"
run env TMPDIR="$TMP/tmp" PATH="$TMP/broken:$PATH" "$cmp" --out "$dir" "$TMP/s.jsonl"
is "$(ls -A "$TMP/tmp")" "" "nothing left in TMPDIR"
run "$cmp" --out "$TMP/s.jsonl" "$TMP/s.jsonl"
is "$status" 1 "--out is a file"
run "$cmp" --out "$TMP/absent/deep" "$TMP/s.jsonl"
is "$status" 1 "--out in an absent folder"
"$cmp" "$TMP/s.jsonl" >/dev/full 2>"$TMP/.err"
is $? 1 "standard output is full"
run "$cmp" --title $'two\nlines' "$TMP/s.jsonl"
is "$status" 2 "title of two lines"
echo '{"a": 1}' >"$TMP/env.json"
run "$cmp" --env "$TMP/env.json" "$TMP/s.jsonl"
is "$status" 2 "--env with something but strings"
run "$cmp" --env "$TMP/absent" "$TMP/s.jsonl"
is "$status" 2 "--env absent"
run "$cmp" --help
is "$status" 0 "--help"
like "$out" 'Exit status: 0' "--help: exit statuses"
run "$cmp"
is "$status" 2 "no samples"
run "$cmp" --frobnicate
is "$status" 2 "unknown option"
run "$cmp" --check --out x "$TMP/s.jsonl"
is "$status" 2 "--check and --out"
done_testing
