# SPDX-License-Identifier: GPL-2.0-only
"""matrix.py CHECKER DOC: every combination against the table in DOC (the first row that matches says it); prints TAP."""
import itertools, json, os, subprocess, sys

checker, doc = sys.argv[1:]
rows, inside = [], False
for line in open(doc):
    if "<!-- matrix -->" in line:
        inside = True
    elif "<!-- /matrix -->" in line:
        inside = False
    elif inside and line.startswith("|") and not line.startswith(("|--", "| QEMU's")):
        rows.append([cell.strip().strip("`") for cell in line.strip().strip("|").split("|")])

X86 = ["kvmclock", "kvm-nopiodelay", "kvm-asyncpf", "kvm-steal-time", "kvm-pv-eoi", "kvm-pv-unhalt", "kvm-pv-tlb-flush",
       "kvm-asyncpf-vmexit", "kvm-pv-ipi", "kvm-poll-control", "kvm-pv-sched-yield", "kvm-asyncpf-int",
       "kvmclock-stable-bit", "kvm-hint-dedicated"]
LOONG = ["kvm-steal-time", "kvm-pv-ipi", "kvm-pv-preempt", "kvm-pv-tlb-flush"]
SUBJECTS = [("x86_64", "kvm-pv-tlb-flush", "off"), ("x86_64", "kvm-steal-time", "on"),
            ("loongarch64", "kvm-pv-tlb-flush", "off"), ("loongarch64", "kvm-pv-ipi", "on")]
POLICIES = ["require", "optional", "disable", "absent"]
MODES = ["custom", "host-model", "host-passthrough", "maximum"]
STATES = ["has", "lacks", "unknown"]


def host(path, name, arch, feature, states):
    features = X86 if arch == "x86_64" else LOONG
    facts = {"format": "virt-pv-check host", "version": 1, "host": name, "arch": arch}
    for part, state in zip(("kernel", "qemu", "libvirt"), states):
        facts[part] = {"version": "1", "yes": [f for f in features if f != feature or state == "has"],
                       "no": [feature] if state == "lacks" else []}
    json.dump(facts, open(path, "w"))
    return path


def guest(path, name, arch, feature, policy, mode):
    cpu = "" if policy == "absent" else f"<feature policy='{policy}' name='{feature}'/>"
    open(path, "w").write(f"<domain type='kvm'><name>{name}</name><os><type arch='{arch}'>hvm</type></os>"
                          f"<cpu mode='{mode}'>{cpu}</cpu></domain>")
    return path


def wanted(case):
    for number, row in enumerate(rows):
        if all(cell == "any" or value in cell.split("/") for cell, value in zip(row, case)):
            return number, row[-1]
    return None, "no row"


used, bad, count, tests = set(), {}, {}, 0
for arch, feature, default in SUBJECTS:
    libvirts = STATES if arch == "x86_64" else ["has"]
    hosts = {"-".join(s): host(f"h-{'-'.join(s)}.json", "-".join(s), arch, feature, s)
             for s in itertools.product(STATES, STATES, libvirts)}
    guests = [guest(f"./g-{p}-{m}.xml", f"{p}+{m}", arch, feature, p, m) for p in POLICIES for m in MODES]
    for source in STATES:
        command = [checker, "migrate", "--format", "json"] + guests
        for path in hosts.values():
            command += ["--to", path]
        if source != "unknown":
            command += ["--from", host("source.json", "source", arch, feature, (source, "has", "has"))]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
        verdicts = json.loads(out)
        assert len(verdicts) == len(guests) * len(hosts), len(verdicts)
        for v in verdicts:
            policy, mode = v["domain"].split("+")
            case = [default, policy, mode, source] + v["to"].split("-")
            number, verdict = wanted(case)
            used.add(number)
            count[number] = count.get(number, 0) + 1
            if v["verdict"] != verdict:
                bad.setdefault(number, []).append(f"{arch} {feature} {case}: {v['verdict']}, wanted {verdict}")
            elif v["verdict"] != "allow" and not any(r["feature"] == feature for r in v["reasons"]):
                bad.setdefault(number, []).append(f"{arch} {feature} {case}: {v['verdict']} without naming it")
for number, row in enumerate(rows):
    tests += 1
    good = number in used and number not in bad
    print(f"{'ok' if good else 'not ok'} {tests} - row {number + 1}: {' '.join(row)} ({count.get(number, 0)} cases)")
    for text in bad.get(number, ["no case"] if number not in used else [])[:5]:
        print("#", text)
tests += 1
print("ok" if None not in used and rows else "not ok", tests, "- the table has a row for each case")
tests += 1
print("ok" if sum(count.values()) == 3 * 16 * (27 + 27 + 9 + 9) else "not ok", tests, f"- {sum(count.values())} cases")
print(f"1..{tests}")
