#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands on files: exit codes, policy, fleet, cases from public reports, and input that is hostile.
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"

EMULATOR=
need=$(feature kvm-pv-tlb-flush require)
domain "$need" | sed '/<emulator>/d' >need.xml
domain "<cpu mode='host-passthrough'/>" | sed '/<emulator>/d' >pass.xml
domain "<cpu mode='custom'><model>qemu64</model></cpu>" | sed '/<emulator>/d' >plain.xml
host good >good.json
host no-kernel kvm-pv-tlb-flush >no-kernel.json
host no-qemu "" kvm-pv-tlb-flush >no-qemu.json
host no-libvirt "" "" "$x86_names" >no-libvirt.json
m() { run "$check" migrate "$@"; }

# Usage
for args in "" "fly" "host x" "domain" "domain a b" "migrate ./need.xml" "migrate --to good.json" "fleet" "hook a" \
	"migrate --plan --to good.json ./need.xml" "host --format xml" "host --emulator qemu" "hook --timeout 0 a b c d" \
	"hook --timeout x a b c d" "fleet --bogus" "migrate --to"; do
	# shellcheck disable=SC2086 # words
	run "$check" $args
	is "$status $out $(grep -c . <<<"$err")" "2  1" "usage: virt-pv-check $args"
done
run "$check" --help
like "$status $out" '^0 virt-pv-check' "--help"
run "$check" migrate --help
like "$status $out" '^0 virt-pv-check' "migrate --help"
"$check" --help >/dev/full 2>err
is "$? $(cat err)" "5 virt-pv-check: cannot write to stdout" "output that cannot be written"

# Verdicts
m --to good.json ./need.xml
is "$status $out$err" "0 allow   guest1 to good" "allowed"
m --to no-kernel.json ./need.xml
is "$status $out" "1 refuse  guest1 to no-kernel: kvm-pv-tlb-flush: the kernel of no-kernel (1) does not offer it (CPUID 0x40000001 EAX bit 9)" \
	"a failed check is visible: status, and the bit is named"
m --to good.json --to no-kernel.json ./need.xml
is "$status $(wc -l <<<"$out")" "1 2" "two destinations: the worse status"
m --to no-libvirt.json ./need.xml
like "$status $out" "^1 .*libvirt of no-libvirt \(1\) does not know this name, which is in the guest's CPU XML" \
	"a libvirt that does not know the name cannot take a guest that names it"
m --from good.json --to no-libvirt.json ./pass.xml
is "$status" 0 "but a host-passthrough guest gets there, and finds what it uses"
m --from good.json --to no-kernel.json ./pass.xml
like "$status $out" '^1 .*the kernel of no-kernel' "a host-passthrough guest uses what its host offers"
m --from no-kernel.json --to no-kernel.json ./pass.xml
is "$status" 0 "a host-passthrough guest does not use what its host does not offer"
m --to no-kernel.json ./pass.xml
like "$status $out" '^3 unknown .*unknown whether the guest uses it' "a host-passthrough guest of a host that is not known"
m --explain --to no-kernel.json ./pass.xml
like "$out" 'remedy: put a level into the policy, or say where it runs \(migrate --from\)' "--explain says what to do"
m --explain --to good.json ./plain.xml
like "$out" 'offered there beyond that: .*kvm-pv-tlb-flush' "what is extra there is only reported"
m --format json --to no-kernel.json --to good.json ./need.xml
is "$(jq -r '.[] | .to + " " + .verdict + " " + ([.reasons[].feature] | join(","))' <<<"$out")" \
	$'no-kernel refuse kvm-pv-tlb-flush\ngood allow ' "JSON"
m --format json --to good.json ./nowhere.xml
is "$status $out" "4 []" "JSON of nothing"

# Cases from public reports
m --to no-kernel.json ./plain.xml
is "$status" 0 "a guest that boots there may also migrate there: what it does not use does not count"
sed 's/"kvm-pv-tlb-flush"/&/; s/"kernel": {"version": "1", "yes": \[/&/' good.json >extra.json
m --from no-kernel.json --to extra.json ./plain.xml ./pass.xml
is "$status" 0 "an extra feature there blocks nobody (as \"ht\" did)"
m --to qemu+unix:///session?socket=/nowhere/sock ./need.xml
is "$status" 3 "a host that cannot be reached: unknown"
like "$out$err" 'unknown guest1 to qemu.unix:///session.*nothing is known about it' "and never allowed"
m --to nowhere.json ./need.xml
like "$status $out" '^4 unknown' "a saved host that is not there"
m --to good.json ./nowhere.xml
is "$status $out" "4 " "a guest that is not there"
m --to test:///default ./need.xml
like "$status $out" '^3 unknown .*its driver is TEST, not QEMU' "a URI of another driver"

# QEMU of another path, and the architecture
domain "$need" >emulated.xml
jq '.qemu.emulator = "/usr/bin/qemu-system-x86_64"' good.json >where.json
EMULATOR=/opt/qemu domain "$need" >opt.xml
m --to where.json ./opt.xml
like "$status $out" '^3 .*unknown whether /opt/qemu of good offers it: /usr/bin/qemu-system-x86_64 was asked' "facts of another QEMU are none"
m --to good.json ./opt.xml
is "$status" 0 "facts that name no QEMU are taken"
ARCH=aarch64 domain "<cpu mode='host-passthrough'/>" >arm.xml
m --to good.json ./arm.xml
like "$status $out" '^1 .*the guest is aarch64, the host is x86_64' "another architecture"

# Policy
policy() { echo "{\"format\": \"virt-pv-check policy\", \"version\": 1$1}" >policy.json; }
p() { m --policy policy.json "$@"; }
policy ""
p --to good.json ./need.xml
is "$status" 0 "an empty policy"
policy ', "rules": [{"feature": "kvm-pv-tlb-flush", "rule": "ignore"}]'
p --to no-kernel.json ./need.xml
is "$status" 0 "ignore"
policy ', "rules": [{"feature": "kvm-pv-tlb-flush", "rule": "require"}]'
p --to no-kernel.json ./plain.xml
like "$status $out" '^1 .*the policy requires it of no-kernel, which does not offer it' "require: of the host, whatever the guest"
p --to good.json ./plain.xml
is "$status" 0 "require: met"
jq 'del(.kernel)' good.json >no-facts.json
p --to no-facts.json ./plain.xml
is "$status" 3 "require: not known to be met"
policy ', "rules": [{"feature": "kvm-pv-tlb-flush", "rule": "forbid"}]'
p --to good.json ./need.xml
like "$status $out" '^1 .*the policy forbids it on good, and the guest uses it' "forbid"
p --to good.json ./pass.xml
like "$status $out" '^3 .*the policy forbids it on good, and the guest may use it' "forbid: not known"
p --to good.json ./plain.xml
is "$status" 0 "forbid: not used"
policy ', "groups": {"new": ["good"], "old": ["no-kernel"]}, "rules": [
	{"feature": "kvm-pv-tlb-flush", "rule": "require", "groups": ["new"]},
	{"feature": "kvm-pv-tlb-flush", "rule": "ignore"}]'
p --to no-kernel.json ./need.xml
is "$status" 0 "a rule of a group is not for others"
policy ', "groups": {"new": ["good"], "old": ["no-kernel"]}, "rules": [
	{"feature": "kvm-pv-tlb-flush", "rule": "ignore"},
	{"feature": "kvm-pv-tlb-flush", "rule": "require", "groups": ["old"]}]'
p --to no-kernel.json ./plain.xml
is "$status" 1 "a rule of a group goes before one for all"
policy ', "groups": {"old": ["no-kernel.example.org"]}, "rules": [
	{"feature": "kvm-pv-tlb-flush", "rule": "require", "groups": ["old"]}]'
p --to no-kernel.json ./plain.xml
is "$status" 1 "the short name of a host is as good as the long one"
policy ', "groups": {"old": ["no-kernel.example.org"]}, "rules": [
	{"feature": "kvm-pv-tlb-flush", "rule": "require", "groups": ["old"]}]'
jq '.host = "no-kernel.example.com"' no-kernel.json >other.json
p --to other.json ./plain.xml
is "$status" 0 "but not that of another domain"
over_on() { policy ", \"exceptions\": [{\"feature\": \"kvm-pv-tlb-flush\", \"host\": \"no-kernel\", \"until\": \"$1\"}]"; }
over_on "$(date -u +%F)"
p --explain --to no-kernel.json ./need.xml
like "$status $out" 'not judged, by an exception: kvm-pv-tlb-flush' "an exception, to this day"
is "$status" 0 "an exception: allowed"
over_on "$(date -u -d yesterday +%F)"
p --explain --to no-kernel.json ./need.xml
like "$out" 'exceptions that are over: kvm-pv-tlb-flush' "an exception that is over is said"
is "$status" 1 "an exception that is over is as if absent"
bad_policy() {
	policy "$2"
	p --to good.json ./need.xml
	is "$status $out $(grep -c . <<<"$err")" "4  1" "policy: $1: not taken"
	like "$err" "policy.json: .*$3" "policy: $1: says why"
}
bad_policy "an unknown key" ', "rule": []' 'policy: unknown key "rule"'
bad_policy "an unknown feature" ', "rules": [{"feature": "kvm-pv-flush", "rule": "ignore"}]' 'rules: entry 1: "kvm-pv-flush" is no feature'
bad_policy "an unknown rule" ', "rules": [{"feature": "kvm-pv-ipi", "rule": "allow"}]' 'rules: entry 1: rule is none of'
bad_policy "an unknown group" ', "rules": [{"feature": "kvm-pv-ipi", "rule": "ignore", "groups": ["x"]}]' 'there is no group "x"'
bad_policy "two rules for one host" ', "groups": {"a": ["h"], "b": ["h"]}, "rules": [
	{"feature": "kvm-pv-ipi", "rule": "ignore", "groups": ["a"]}, {"feature": "kvm-pv-ipi", "rule": "forbid", "groups": ["b"]}]' \
	'rules: entry 2: a second rule for kvm-pv-ipi on the same hosts'
bad_policy "two rules for all" ', "rules": [{"feature": "kvm-pv-ipi", "rule": "ignore"}, {"feature": "kvm-pv-ipi", "rule": "forbid"}]' \
	'rules: entry 2: a second rule'
bad_policy "an exception without an end" ', "exceptions": [{"feature": "kvm-pv-ipi", "host": "h"}]' 'exceptions: entry 1: until is no date'
bad_policy "a day that is none" ', "exceptions": [{"feature": "kvm-pv-ipi", "host": "h", "until": "2027-02-29"}]' 'until is no date'
bad_policy "a level of nothing" ', "level": {"x86": []}' 'level: "x86" is none of'
bad_policy "a level of a feature of another architecture" ', "level": {"x86_64": ["kvm-pv-preempt"]}' 'no feature of x86_64'
bad_policy "a key twice" ', "rules": [], "rules": []' 'not JSON: line 1: duplicate'
for text in '' '[]' '{}' '{"format": "virt-pv-check policy", "version": 2}' '{"format": "virt-pv-check host", "version": 1}'; do
	echo "$text" >policy.json
	p --to good.json ./need.xml
	is "$status $(grep -c . <<<"$err")" "4 1" "policy: not one: $text"
done

# The schema and the completion say what the program takes
schema=$top/docs/virt-pv-check/policy.schema.json
rules=$(jq -c '[.definitions.feature.enum[] | {feature: ., rule: "ignore"}]' "$schema")
policy ", \"rules\": $rules, \"level\": $(jq -c '.properties.level.properties | map_values(.items.enum)' "$schema")"
p --to good.json ./need.xml
is "$status" 0 "policy: every feature of the schema is taken"
is "$(jq -r '.properties.level.properties.x86_64.items.enum | join(" ")' "$schema")" "$x86_names" "policy: the schema has those of x86"
is "$(jq -r '.properties.level.properties.loongarch64.items.enum | join(" ")' "$schema")" "$loong_names" "policy: the schema has those of LoongArch"
# shellcheck source=SCRIPTDIR/../virt-pv-check.bash
. "$here/../virt-pv-check.bash"
complete_words() { COMP_WORDS=(virt-pv-check "$@") COMP_CWORD=$# && _virt_pv_check && echo "${COMPREPLY[*]}"; }
is "$(complete_words "")" "$("$check" --help | sed -n 's/^  virt-pv-check \([a-z]*\) .*/\1/p' | xargs) --help" "completion: the commands"
is "$(complete_words migrate --fr)" "--from" "completion: an option"
is "$(complete_words host --format j)" "json" "completion: a word"

# Fleet
run "$check" fleet good.json no-kernel.json no-libvirt.json
is "$status" 0 "fleet"
like "$(sed -n 1p <<<"$out")" '^x86_64, 3 hosts: level kvmclock, .*kvm-pv-unhalt, kvm-asyncpf-vmexit' "its level lacks what one host lacks"
like "$out" '    surplus   kvm-pv-tlb-flush' "surplus"
like "$out" '    deficit   kvm-pv-tlb-flush' "deficit"
like "$out" '<!-- kvm-pv-ipi: all offer it, but not every libvirt knows the name -->' "its CPU names nothing that a libvirt does not know"
run "$check" fleet good.json no-kernel.json
sed -n '/^<cpu/,/^<\/cpu>/p' <<<"$out" >cpu.xml
is "$(xmllint --xpath 'count(/cpu/feature[@policy="require"][@name="kvm_pv_unhalt"])' cpu.xml)" 1 "its CPU is XML, with libvirt's spelling"
is "$(xmllint --xpath 'count(/cpu/feature[contains(@name, "flush") or contains(@name, "hint")])' cpu.xml)" 0 "without what is not everywhere, or only a hint"
host no-steal kvm-steal-time >no-steal.json
run "$check" fleet good.json no-steal.json
like "$out" "<feature policy='disable' name='kvm-steal-time'/>" "what QEMU would switch on by itself is disabled"
run "$check" fleet --plan good.json no-kernel.json no-qemu.json
like "$out" $'  kvm-pv-tlb-flush' "--plan"
is "$(grep -A2 '^  kvm-pv-tlb-flush' <<<"$out" | tail -n 2 | sed 's/^ *//' | paste -sd'|')" \
	"no-kernel: kernel: no (1)|no-qemu: qemu: no (1)" "names the hosts that block it, and their part"
policy ', "rules": [{"feature": "kvm-pv-tlb-flush", "rule": "require"}]'
run "$check" fleet --policy policy.json good.json no-kernel.json
like "$status $out" '^1 .*' "fleet: the policy is broken"
like "$out" 'violates  kvm-pv-tlb-flush' "fleet: by whom"
run "$check" fleet good.json no-facts.json
is "$status" 3 "fleet: a host of which nothing is known"
run "$check" fleet good.json nowhere.json
is "$status" 4 "fleet: a host that is not there"
run "$check" fleet --format json good.json no-kernel.json
is "$(jq -r '.[0].by_host[1].deficit[0]' <<<"$out")" kvm-pv-tlb-flush "fleet: JSON"

# Saved capabilities
cat >domcaps.xml <<-END
	<domainCapabilities><path>/usr/bin/qemu-system-x86_64</path><domain>kvm</domain><arch>x86_64</arch>
	<cpu><mode name='host-model' supported='yes'><model>EPYC</model><feature policy='require' name='kvm-pv-tlb-flush'/>
	<feature policy='disable' name='kvm-pv-ipi'/></mode></cpu></domainCapabilities>
END
m --format json --to domcaps.xml ./need.xml
is "$(jq -r '.[0].verdict + " " + ([.[0].reasons[].feature] | unique | join(","))' <<<"$out")" \
	"unknown kvm-asyncpf,kvm-nopiodelay,kvm-pv-eoi,kvm-steal-time,kvmclock,kvmclock-stable-bit" \
	"domain capabilities: what libvirt reports is known, the rest is not"
sed 's/<domain>kvm/<domain>qemu/' domcaps.xml >tcg.xml
m --format json --to tcg.xml ./need.xml
like "$(jq -r '.[0].reasons[].text' <<<"$out")" 'kvm-pv-tlb-flush: unknown whether the kernel' "those of an emulator say nothing of KVM"
# A libvirt with our series lists what CPU XML may name, and keeps it out of host-model.
{
	echo "<domainCapabilities><path>/usr/bin/qemu-system-x86_64</path><domain>kvm</domain><arch>x86_64</arch><cpu>"
	echo "<enum name='other'><value>kvm-pv-unhalt</value></enum><enum name='explicitFeature'>"
	printf '<value>%s</value>' kvmclock kvmclock-stable-bit kvm-nopiodelay kvm-asyncpf kvm-steal-time kvm-pv-eoi kvm-pv-tlb-flush
	echo "</enum></cpu></domainCapabilities>"
} >explicit.xml
m --to explicit.xml ./need.xml
is "$status" 0 "domain capabilities: explicitFeature names what is offered"
sed 's/<domain>kvm/<domain>qemu/' explicit.xml >tcg.xml
m --to tcg.xml ./need.xml
is "$status" 3 "... but not by an emulator"
sed "s/explicitFeature/implicitFeature/" explicit.xml >other.xml
m --to other.xml ./need.xml
is "$status" 3 "... nor does another list"
echo "<capabilities><host><cpu><arch>x86_64</arch></cpu></host></capabilities>" >caps.xml
m --to caps.xml ./need.xml
is "$status" 3 "capabilities alone: unknown"

# Hostile input: one line, and 4
hostile() {
	m --to good.json ./hostile.xml
	is "$status $out $(grep -c . <<<"$err")" "4  1" "XML: $1: not taken"
	like "$err" "hostile.xml: .*$2" "XML: $1: says why"
	m --to hostile.xml ./need.xml
	like "$status $(grep -c . <<<"$err")" '^4 1' "XML of a host: $1: not taken"
}
: >hostile.xml
hostile "empty" "empty"
head -c 150 need.xml >hostile.xml
hostile "truncated" "not XML"
{ echo '<domain>'; head -c 4200000 /dev/zero | tr '\0' ' '; echo '</domain>'; } >hostile.xml
hostile "huge" "larger than 4 MiB"
{
	echo '<!DOCTYPE domain [<!ENTITY a "aaaaaaaaaa">'
	for i in {1..9}; do echo "<!ENTITY a$i \"&a$((i - 1));&a$((i - 1));&a$((i - 1));&a$((i - 1));&a$((i - 1));\">"; done
	echo ']>'
	sed 's/guest1/\&a9;/' need.xml
} >hostile.xml
hostile "entity bomb" "document type declaration"
{ echo '<!DOCTYPE domain [<!ENTITY a SYSTEM "file:///etc/passwd">]>'; sed 's/guest1/\&a;/' need.xml; } >hostile.xml
hostile "external entity" "document type declaration"
{ echo '<!DOCTYPE domain SYSTEM "http://127.0.0.1:9/x.dtd">'; cat need.xml; } >hostile.xml
hostile "external DTD" "document type declaration"
sed $'s/guest1/gu\xffst/' need.xml >hostile.xml
hostile "not UTF-8" "not UTF-8"
iconv -t UTF-16 need.xml >hostile.xml
hostile "UTF-16" "not UTF-8"
printf '%s\0' "$(cat need.xml)" >hostile.xml
hostile "NUL" "not UTF-8"
sed "s/<domain /<domain xmlns='http:\/\/example.org\/' /" need.xml >hostile.xml
hostile "wrong namespace" "is in the namespace"
echo '<network/>' >hostile.xml
hostile "another root" "root element is <network>"
{ printf '<domain>%.0s' {1..3000}; } >hostile.xml
hostile "deep" "not XML"
sed 's/guest1/gu\&#10;st/' need.xml >hostile.xml
m --to good.json ./hostile.xml
like "$status $err" '^4 .*<name> on one line' "a name of two lines"
printf '<domain type="kvm"><name>a\u202eb</name></domain>' >hostile.xml
m --to good.json ./hostile.xml
is "$status" 4 "a name that turns the direction of writing around"
sed "s/policy='require'/policy='maybe'/" need.xml >hostile.xml
m --to good.json ./hostile.xml
like "$status $err" '^4 .*unknown policy "maybe"' "a policy that is none"
sed "s/<feature .*\/>/&&/" need.xml >hostile.xml
m --to good.json ./hostile.xml
like "$status $err" '^4 .*named twice' "a feature named twice"
sed "s/mode='custom'/mode='host'/" need.xml >hostile.xml
m --to good.json ./hostile.xml
like "$status $err" '^4 .*unknown CPU mode' "a CPU mode that is none"
# shellcheck disable=SC2016 # for that shell
run timeout 20 bash -c 'ulimit -v 4000000; exec "$0" migrate --to good.json /dev/zero' "$check"
[[ $PV_BIN == */asan/* ]] || is "$status $err" "4 virt-pv-check: /dev/zero: larger than 4 MiB" "input without an end is not read to its end"
bad_host() {
	echo "$2" >hostile.json
	m --to hostile.json ./need.xml
	is "$status $(grep -c . <<<"$err")" "4 1" "saved host: $1: not taken"
	like "$err" "hostile.json: .*$3" "saved host: $1: says why"
}
bad_host "empty" "" "not JSON"
bad_host "an array" "[]" "not a saved host"
bad_host "another version" "$(jq -c '.version = 2' good.json)" "version is not 1"
bad_host "an unknown key" "$(jq -c '.cpu = 1' good.json)" 'host: unknown key "cpu"'
bad_host "an unknown part's key" "$(jq -c '.kernel.maybe = []' good.json)" 'kernel: unknown key "maybe"'
bad_host "an unknown feature" "$(jq -c '.kernel.yes += ["kvm-new"]' good.json)" '"kvm-new" is no feature of x86_64 that this version knows'
bad_host "yes and no" "$(jq -c '.kernel.no += ["kvm-pv-ipi"]' good.json)" 'a feature in both yes and no'
bad_host "a name with an escape" "$(jq -c '.host = "a\u001b[2J"' good.json)" 'host: not a name on one line'
bad_host "deep" "$(head -c 100000 /dev/zero | tr '\0' '[')" 'not JSON'
kernel "x86_64:$x86_all" "$check" host --format json -c qemu:///session?socket=/nowhere
is "$status" 5 "host: no such libvirt"
done_testing
