#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""CPU features of LoongArch domains in libvirt session daemons: policies, modes, migration. See run."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["LIBVIRT_BUILD"]
T = "kvm-pv-tlb-flush"
PRE = "kvm-pv-preempt"
IPI = "kvm-pv-ipi"
ST = "kvm-steal-time"
ALL = [IPI, PRE, T, ST]
AUTO = {IPI: "auto", ST: "auto"}
SERIES = dict(AUTO, **{PRE: "optin", T: "optin"})
HOSTS = {
    # host: profile
    "tcg": dict(kvm=False, series=False, qemu={}, kernel=[], host=False),
    "new": dict(kvm=True, series=True, qemu=SERIES, kernel=ALL, host=True),
    "new2": dict(kvm=True, series=True, qemu=SERIES, kernel=ALL, host=True),
    "oldkernel": dict(kvm=True, series=True, qemu=SERIES, kernel=[IPI, ST, PRE], host=True),
    "bare": dict(kvm=True, series=True, qemu=SERIES, kernel=[ST], host=True),
    "stockqemu": dict(kvm=True, series=False, qemu=AUTO, kernel=ALL, host=False),
}
WHAT = {
    "tcg": "real: QEMU with TCG, nothing simulated",
    "new": "simulated KVM host: QEMU and kernel have everything",
    "new2": "the same",
    "oldkernel": "simulated KVM host: its kernel lacks kvm-pv-tlb-flush",
    "bare": "simulated KVM host: its kernel has kvm-steal-time only",
    "stockqemu": "simulated KVM host: QEMU without the series, no \"host\" model",
}

base = tempfile.mkdtemp(prefix="lv-session-")
counts = {"ok": 0, "not ok": 0}
daemons = []


def check(ok, what, detail=""):
    counts["ok" if ok else "not ok"] += 1
    print("%-6s %s" % ("ok" if ok else "NOT OK", what))
    if detail and (not ok or os.environ.get("VERBOSE")):
        print("       " + detail.strip().replace("\n", "\n       "))
    sys.stdout.flush()
    return ok


class Host:
    def __init__(self, name):
        self.name = name
        self.home = os.path.join(base, name)
        self.run = os.path.join(self.home, "run")
        os.makedirs(os.path.join(self.home, ".config/libvirt"))
        os.makedirs(self.run, mode=0o700)
        with open(os.path.join(self.home, "profile.json"), "w") as f:
            json.dump(HOSTS[name], f)
        with open(os.path.join(self.home, ".config/libvirt/qemu.conf"), "w") as f:
            f.write('stdio_handler = "file"\nsecurity_driver = "none"\n')
        with open(os.path.join(self.home, ".config/libvirt/virtqemud.conf"), "w") as f:
            f.write('host_uuid = "%s"\nlog_outputs = "2:file:%s/virtqemud.log"\n' % (uuid.uuid4(), self.home))
        self.env = dict(os.environ, HOME=self.home, XDG_RUNTIME_DIR=self.run, LC_ALL="C")
        for var in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            self.env.pop(var, None)
        env = dict(self.env)
        if HOSTS[name]["kvm"]:
            env["LD_PRELOAD"] = os.path.join(base, "uname-loong.so")
        self.daemon = subprocess.Popen([os.environ.get("VIRTQEMUD_" + name) or BUILD + "/src/virtqemud"], env=env, cwd=self.home,
                                       stdout=open(os.path.join(self.home, "out"), "w"), stderr=subprocess.STDOUT)
        daemons.append(self.daemon)
        self.socket = os.path.join(self.run, "libvirt/virtqemud-sock")
        self.uri = "qemu+unix:///session?socket=" + self.socket
        for _ in range(100):
            if os.path.exists(self.socket):
                break
            time.sleep(0.1)

    def virsh(self, *args, timeout=120):
        try:
            p = subprocess.run([BUILD + "/tools/virsh", "-q", "-c", self.uri] + list(args), env=self.env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        except subprocess.TimeoutExpired:
            return 124, "timeout"
        return p.returncode, p.stdout

    def file(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def define(self, name, cpu, virt=None):
        virt = virt or ("kvm" if HOSTS[self.name]["kvm"] else "qemu")
        return self.virsh("define", self.file(name + ".xml", """<domain type='%s'>
  <name>%s</name>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='loongarch64' machine='virt'>hvm</type></os>
  %s
  <devices>
    <emulator>%s/qemu-system-loongarch64</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
""" % (virt, name, cpu, base)))

    def live(self, name):
        """Features of the running domain: {name: policy}."""
        _, xml = self.virsh("dumpxml", name)
        cpu = re.search(r"<cpu [^>]*/>|<cpu .*?</cpu>", xml, re.S)
        return dict((n, p) for p, n in re.findall(r"<feature policy='(\w+)' name='([^']+)'", cpu.group(0) if cpu else ""))

    def argv(self, name):
        """-cpu of the newest QEMU of the domain, and the features which are on in it (simulated hosts only)."""
        try:
            with open(os.path.join(self.home, "guests.log")) as f:
                return [g for g in map(json.loads, f) if g["guest"] == name][-1]
        except (OSError, IndexError):
            return {"cpu": "", "on": []}

    def state(self, name):
        return self.virsh("domstate", name)[1].strip()

    def gone(self, name):
        self.virsh("destroy", name)
        self.virsh("undefine", name)


def cpu_xml(mode, features, attrs=""):
    inner = "".join("<feature policy='%s' name='%s'/>" % (p, n) for p, n in features)
    if mode == "custom":
        return "<cpu mode='custom' match='exact'%s><model fallback='forbid'>la464</model>%s</cpu>" % (attrs, inner)
    return "<cpu mode='%s'%s>%s</cpu>" % (mode, attrs, inner)


def message(out):
    lines = [line for line in out.split("\n") if line.startswith("error: ")]
    return lines[-1] if lines else out


def matrix(host):
    """Each mode with each policy: what define, start, the live XML and QEMU say."""
    kvm = HOSTS[host.name]["kvm"]
    kernel = HOSTS[host.name]["kernel"]
    known = T in HOSTS[host.name]["qemu"]
    can = known and {T, PRE, ST} <= set(kernel)
    print("\n# %s (%s)" % (host.name, WHAT[host.name]))
    for mode in ("custom", "host-model", "host-passthrough", "maximum"):
        supported = mode in ("custom", "maximum") or \
            (kvm and (known if mode == "host-model" else HOSTS[host.name]["host"]))
        for policy in ("require", "optional", "disable", "forbid"):
            what = "%s, %s, %s: " % (host.name, mode, policy)
            rc, out = host.define("g", cpu_xml(mode, [(policy, T)]))
            if policy == "require" and not known:
                check(rc != 0 and T in out and ("domain of type 'qemu'" in out or "does not provide" in out),
                      what + "refused when defined", message(out))
                continue
            if not check(rc == 0, what + "defined", message(out)):
                continue
            _, inactive = host.virsh("dumpxml", "--inactive", "g")
            check("<feature policy='%s' name='%s'/>" % (policy, T) in inactive, what + "inactive XML keeps it", inactive)
            rc, out = host.virsh("start", "g")
            if not supported:
                check(rc != 0 and "CPU mode '%s'" % mode in out, what + "mode refused at start", message(out))
            elif policy == "require" and not can:
                check(rc != 0 and T in out and "does not support" in out, what + "refused at start", message(out))
            elif policy == "forbid" and can and mode in ("custom", "host-model"):
                check(rc != 0 and "forbidden feature '%s'" % T in out, what + "refused at start", message(out))
            elif check(rc == 0, what + "started", message(out)):
                live = host.live("g")
                argv = host.argv("g")
                expected = {"require": "require", "optional": "require" if can else "disable",
                            "disable": "disable", "forbid": "forbid"}[policy]
                check(live.get(T) == expected, what + "live XML says " + expected, str(live))
                if kvm:
                    check((T in argv["on"]) == (expected == "require"), what + "QEMU agrees (%s)" % argv["cpu"], str(argv))
                    if known:
                        pins = {n: ("require" if n in kernel else "disable") for n in (IPI, ST)}
                        check({n: live.get(n) for n in pins} == pins, what + "automatic features are pinned", str(live))
                        check(sorted(n for n in live if live[n] == "require" and n.startswith("kvm-")) == argv["on"],
                              what + "live XML lists exactly what is on", "%s %s" % (live, argv))
                if not known:
                    check(IPI not in live, what + "nothing is pinned without data", str(live))
            host.gone("g")
    for name, policy in (("kvm-pv-tlb-flash", "require"), ("kvm-pv-tlb-flash", "disable")):
        rc, out = host.define("g", cpu_xml("custom", [(policy, name)]))
        check(rc != 0 and "unknown CPU feature '%s'" % name in out and base in out,
              "%s: misspelt %s, %s: refused when defined" % (host.name, name, policy), message(out))
    rc, out = host.define("g", cpu_xml("custom", [("require", "lsxx")]))
    rc2, out2 = host.virsh("start", "g")
    # QEMU may be gone before libvirt connects to it: then its message is in the domain's log only
    with open(os.path.join(host.home, ".cache/libvirt/qemu/log/g.log")) as f:
        log = f.read()
    check(rc == 0 and rc2 != 0 and "lsxx' not found" in out2 + log, "%s: misspelt lsxx is left to QEMU" % host.name,
          message(out2))
    host.gone("g")
    rc, out = host.define("g", cpu_xml("custom", [("require", "lsx")]))
    rc2, out2 = host.virsh("start", "g")
    check(rc == 0 and rc2 == 0, "%s: other features are not touched" % host.name, message(out2))
    host.gone("g")
    if known:
        for need in (ST, PRE):
            rc, out = host.define("g", cpu_xml("maximum", [("require", T), ("disable", need)]))
            check(rc != 0 and "'%s' needs '%s'" % (T, need) in out, "%s: %s without %s: refused when defined"
                  % (host.name, T, need), message(out))
        rc, out = host.define("g", cpu_xml("custom", [("require", T)], " check='none'"))
        rc2, out2 = host.virsh("start", "g")
        check((rc2 == 0) == can, "%s: require with check='none' is checked" % host.name, message(out2))
        host.gone("g")
    if kvm:
        rc, out = host.define("g", cpu_xml("custom", [("require", T)]), "qemu")
        check(rc != 0 and "type 'qemu'" in out, "%s: require in a TCG domain: refused when defined" % host.name, message(out))


def reports(host):
    kvm = HOSTS[host.name]["kvm"]
    known = T in HOSTS[host.name]["qemu"]
    can = known and {T, PRE, ST} <= set(HOSTS[host.name]["kernel"])
    args = ["--arch", "loongarch64", "--virttype", "kvm" if kvm else "qemu",
            "--emulatorbin", base + "/qemu-system-loongarch64"]
    rc, plain = host.virsh("domcapabilities", *args)
    rc2, full = host.virsh("domcapabilities", "--supported-cpu-features", *args)

    def model(xml):
        mode = re.search(r"<mode name='host-model' supported='yes'>.*?</mode>", xml, re.S)
        return mode and re.findall(r"policy='require' name='([^']+)'", mode.group(0))
    check(rc == 0 and rc2 == 0, host.name + ": domcapabilities", plain)
    if known:
        check(T not in model(plain) and ST in model(plain), host.name + ": host-model has what is on by default", str(model(plain)))
        check((T in model(full)) == can, host.name + ": --supported-cpu-features %s it" % ("adds" if can else "does not add"),
              str(model(full)))
        rc, out = host.virsh("hypervisor-cpu-compare", host.file("cpu.xml", cpu_xml("custom", [("require", T)])), *args[2:4],
                             "--emulator", args[5], "--arch", "loongarch64")
        check(("superset" in out or "identical" in out) == can and ("incompatible" in out) != can,
              host.name + ": hypervisor-cpu-compare", out)
    elif kvm:
        check(not model(plain), host.name + ": no host-model without reliable data", plain)
    if kvm:
        rc, out = host.virsh("cpu-compare", host.file("cpu.xml", cpu_xml("custom", [("require", T)])))
        check("identical" not in out, host.name + ": cpu-compare does not call it identical", out)


def migrate(src, dst, cpu, ok, what, extra=(), same=True, refusal=""):
    port = str(49152 + os.getpid() % 1000 + counts["ok"])
    what = "%s -> %s, %s: " % (src.name, dst.name, what)
    rc, out = src.define("m", cpu)
    rc2, out2 = src.virsh("start", "m")
    if not check(rc == 0 and rc2 == 0, what + "runs on the source", message(out + out2)):
        src.gone("m")
        return
    before = src.live("m")
    on = src.argv("m")["on"]
    rc, out = src.virsh("migrate", "--live", "m", dst.uri, "tcp://127.0.0.1:" + port, *extra)
    if not ok:
        check(rc != 0 and refusal in out, what + "refused", message(out))
        check(src.state("m") == "running", what + "source keeps running", src.state("m"))
        check("m" not in dst.virsh("list", "--all", "--name")[1].split(), what + "nothing left on the destination")
    elif check(rc == 0, what + "migrated", message(out)):
        check(dst.live("m") == before, what + "same features in live XML", "%s\n%s" % (before, dst.live("m")))
        if same:
            check(dst.argv("m")["on"] == on, what + "same features in QEMU (%s)" % " ".join(on), str(dst.argv("m")))
    src.gone("m")
    dst.gone("m")


def saved(src, dst, cpu, ok, what):
    what = "saved on %s, restored on %s, %s: " % (src.name, dst.name, what)
    image = os.path.join(base, "saved")
    rc, out = src.define("s", cpu)
    rc2, out2 = src.virsh("start", "s")
    before = src.live("s")
    rc3, out3 = src.virsh("save", "s", image)
    if not check(rc == rc2 == rc3 == 0, what + "saved", message(out + out2 + out3)):
        return
    rc, out = dst.virsh("restore", image)
    if ok:
        check(rc == 0 and dst.live("s") == before, what + "restored, same features", "%s\n%s\n%s" % (out, before, dst.live("s")))
    else:
        check(rc != 0 and T in out, what + "refused", message(out))
    src.gone("s")
    dst.gone("s")


def main():
    for name in ("emulator.py", "uname-loong.so"):
        shutil.copy(os.path.join(HERE, name), base)
    os.rename(base + "/emulator.py", base + "/qemu-system-loongarch64")
    os.chmod(base + "/qemu-system-loongarch64", 0o755)
    with open(base + "/real-qemu", "w") as f:
        f.write(os.environ["QEMU"])
    hosts = {name: Host(name) for name in HOSTS}
    new, new2, oldkernel, bare, stock = (hosts[n] for n in ("new", "new2", "oldkernel", "bare", "stockqemu"))
    for name in ("tcg", "new", "oldkernel", "bare", "stockqemu"):
        matrix(hosts[name])
        reports(hosts[name])
    print("\n# migration (all hosts simulated)")
    require = cpu_xml("custom", [("require", T)])
    migrate(new, new2, require, True, "require")
    migrate(new, new2, cpu_xml("host-model", [("require", T)]), True, "host-model, require")
    migrate(new, new2, cpu_xml("maximum", [("require", T)]), True, "maximum, require")
    migrate(new, new2, cpu_xml("host-passthrough", [("require", T)]), True, "host-passthrough, require")
    migrate(new, oldkernel, require, False, "require", refusal=T)
    migrate(new, oldkernel, cpu_xml("maximum", [("require", T)]), False, "maximum, require", refusal=T)
    migrate(new, oldkernel, cpu_xml("custom", [("optional", T)]), False, "optional is not migratable where it is missing", refusal=T)
    migrate(new, stock, require, False, "require", refusal=T)
    migrate(new, stock, cpu_xml("custom", [("optional", T)]), False, "optional", refusal=T)
    migrate(new, stock, "", True, "no CPU in XML")
    migrate(new, oldkernel, "", True, "no CPU in XML")
    migrate(new, oldkernel, cpu_xml("host-model", []), True, "host-model")
    migrate(new, bare, "", False, "the destination's kernel lacks an automatic feature", refusal=IPI)
    migrate(bare, new, "", True, "the destination's kernel has an extra automatic feature")
    migrate(bare, new, cpu_xml("host-model", []), True, "host-model, extra feature")
    migrate(oldkernel, new, cpu_xml("custom", [("optional", T)]), True, "optional resolved to disable stays off")
    migrate(stock, new, "", True, "no CPU in XML")
    migrate(stock, new, cpu_xml("custom", [("disable", IPI)]), True, "disable")
    new.define("x", require)
    _, xml = new.virsh("dumpxml", "--inactive", "x")
    new.gone("x")
    changed = new.file("dropped.xml", xml.replace("<feature policy='require' name='%s'/>" % T, "").replace(">x<", ">m<"))
    migrate(new, new2, require, False, "--xml without the feature", extra=("--xml", changed))
    print("\n# save and restore (all hosts simulated)")
    saved(new, new, require, True, "require")
    saved(new, new2, require, True, "require")
    saved(new, oldkernel, require, False, "require")
    saved(new, stock, require, False, "require")
    saved(bare, new, "", True, "no CPU in XML")


signal.signal(signal.SIGTERM, lambda *args: sys.exit(1))
try:
    main()
finally:
    for daemon in daemons:
        daemon.send_signal(signal.SIGTERM)
    for daemon in daemons:
        daemon.wait()
    if os.environ.get("KEEP"):
        print("kept: " + base)
    else:
        shutil.rmtree(base)
print("\n%d ok, %d not ok" % (counts["ok"], counts["not ok"]))
sys.exit(1 if counts["not ok"] else 0)
