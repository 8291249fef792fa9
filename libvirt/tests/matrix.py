#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The x86 CPU feature in libvirt, end to end, on a host with KVM.

Every "host" is a libvirt session daemon with directories of its own. Old libvirt is the distribution's own build.
A kernel or a QEMU that lacks the feature does not exist for x86 any more: both are SIMULATIONS (a preloaded shim that
clears the CPUID bit in what KVM reports; a copy of QEMU with the property's name overwritten).

Three witnesses have to agree on a running guest: the live XML, QEMU (QOM) and the guest itself (its console).
"""
import argparse
import grp
import hashlib  # noqa: F401 (before setuid: uuid loads it late)
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import time
import uuid
import xml.etree.ElementTree as ET

FEATURE = "kvm-pv-tlb-flush"
LACKING = "kvm-pv-tlb-fluXX"  # same length
SIM = {"lack-kernel": "SIMULATION: shim hides the CPUID bit", "lack-qemu": "SIMULATION: QEMU copy without the property"}


def guest_view(console):
    """What the guest itself says last: True, False or None (nothing yet).

    pv-guest with pvb.watch=1 writes "watch N: kvm-pv-tlb-flush: offered yes, active yes" once a second.
    """
    last = None
    for line in console.splitlines():
        m = re.search(r"watch \d+: %s: offered (\w+), active (\w+)" % re.escape(FEATURE), line)
        if m:
            last = m.group(1) == "yes"
    return last


def guest_ticks(console):
    """Something that grows as long as the guest runs."""
    return len(console)


class Error(Exception):
    pass


class Silent(Error):
    """The guest died or hangs before the case began."""


class Host:
    """One session daemon."""

    def __init__(self, run, name, daemon):
        self.run, self.name, self.daemon = run, name, daemon
        self.dir = f"{run.base}/hosts/{name}"
        self.socket_dir = f"{run.base}/s/{len(run.hosts)}"  # socket paths have a limit of 107 bytes
        base = os.path.basename(daemon)
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "HOME": self.dir,
            "XDG_RUNTIME_DIR": self.socket_dir, "XDG_CONFIG_HOME": f"{self.dir}/config",
            "XDG_CACHE_HOME": f"{self.dir}/cache", "XDG_DATA_HOME": f"{self.dir}/data",
        }
        for d in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            os.makedirs(self.env[d], mode=0o700, exist_ok=True)
        conf = f"{self.dir}/config/libvirt"
        os.makedirs(conf, exist_ok=True)
        with open(f"{conf}/{base}.conf", "w") as f:
            f.write(f'host_uuid = "{uuid.uuid4()}"\nlog_outputs = "2:file:{self.dir}/daemon.log"\n')
        with open(f"{conf}/qemu.conf", "w") as f:
            f.write('stdio_handler = "file"\n')
        self.sock = f"{self.socket_dir}/libvirt/" + ("libvirt-sock" if base == "libvirtd" else f"{base}-sock")
        self.uri = f"qemu+unix:///session?socket={self.sock}"
        self.proc = None

    def start(self):
        out = open(f"{self.dir}/stdio.log", "ab")
        self.proc = subprocess.Popen([self.daemon], env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        end = time.time() + self.run.slow * 60
        while time.time() < end:
            if self.proc.poll() is not None:
                raise Error(f"{self.name}: {self.daemon} ended, see {self.dir}")
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(self.sock)
                self.virsh("version")
                return
            except (OSError, Error):
                time.sleep(0.2)
        raise Error(f"{self.name}: no answer on {self.sock}")

    def stop(self):
        for name in self.virsh("list", "--name", check=False)[1].split():
            self.virsh("destroy", name, check=False)
        for name in self.virsh("list", "--all", "--name", check=False)[1].split():
            self.virsh("undefine", name, "--managed-save", check=False)
        self.proc.terminate()
        try:
            self.proc.wait(30)
        except subprocess.TimeoutExpired:
            self.proc.kill()

    def virsh(self, *args, check=True, env=None):
        p = subprocess.run([self.run.args.virsh, "-q", "-c", self.uri, *args], capture_output=True, text=True,
                           timeout=self.run.slow * 300, env=env or self.env)
        if check and p.returncode:
            raise Error(p.stderr.strip() or p.stdout.strip())
        return p.returncode, p.stdout, p.stderr.strip()

    def qmp(self, name, command, **arguments):
        req = json.dumps({"execute": command, "arguments": arguments} if arguments else {"execute": command})
        return json.loads(self.virsh("qemu-monitor-command", name, req)[1])

    # witnesses
    def live(self, name, inactive=False):
        """Policy of the feature in the XML, "-" if it is not listed."""
        xml = self.virsh("dumpxml", name, *(["--inactive"] if inactive else []))[1]
        for f in ET.fromstring(xml).iterfind("cpu/feature"):
            if f.get("name") == FEATURE:
                return f.get("policy")
        return "-"

    def qom(self, name):
        for path in ("/machine/unattached/device[0]", "/machine/peripheral/vcpu0"):
            r = self.qmp(name, "qom-get", path=path, property=FEATURE)
            if "return" in r:
                return r["return"]
        cpus = self.qmp(name, "query-cpus-fast")["return"]
        return self.qmp(name, "qom-get", path=cpus[0]["qom-path"], property=FEATURE).get("return")

    def migrated(self, name):
        """Whether QEMU was ever told to send memory."""
        return bool(self.qmp(name, "query-migrate").get("return", {}).get("status"))

    def state(self, name):
        rc, out, _ = self.virsh("domstate", name, check=False)
        return out.strip() if rc == 0 else "none"


class Run:
    def __init__(self, args):
        self.args, self.base, self.slow = args, args.base, args.slow
        self.hosts, self.rows, self.n = {}, [], 0
        self.kvm = args.virttype == "kvm"
        os.makedirs(f"{self.base}/con", exist_ok=True)
        os.makedirs(f"{self.base}/bin", exist_ok=True)
        self.emulator = f"{self.base}/bin/qemu-system-x86_64"
        self.make_emulators()

    def make_emulators(self):
        here = os.path.dirname(os.path.realpath(__file__))
        shim, lacking = f"{self.base}/bin/shim.so", f"{self.base}/bin/qemu-lacking"
        if self.args.shim:
            shutil.copy(self.args.shim, shim)
        elif self.kvm:
            subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", shim, f"{here}/kvm-no-tlb-flush.c", "-ldl"], check=True)
        if self.kvm:
            data = open(self.args.qemu, "rb").read()
            n = data.count(FEATURE.encode() + b"\0")
            if n != 1:
                raise Error(f"{self.args.qemu}: the property's name was found {n} times, not once")
            with open(lacking, "wb") as f:
                f.write(data.replace(FEATURE.encode() + b"\0", LACKING.encode() + b"\0"))
            os.chmod(lacking, 0o755)
        # libvirt gives QEMU directories of the domain in these variables, so that they tell whose QEMU this is
        with open(self.emulator, "w") as f:
            f.write("#!/bin/sh\n"
                    "case \"$HOME:$XDG_CONFIG_HOME:$XDG_CACHE_HOME:$XDG_DATA_HOME\" in\n"
                    f"*/hosts/lack-qemu[/:]*) exec {lacking} \"$@\" ;;\n"
                    f"*/hosts/lack-kernel[/:]*) export LD_PRELOAD={shim} ;;\n"
                    f"*/hosts/new1[/:]*) [ ! -e {self.base}/new1-lost-it ] || export LD_PRELOAD={shim} ;;\n"
                    "esac\n"
                    f"exec {self.args.qemu} \"$@\"\n")
        os.chmod(self.emulator, 0o755)

    def host(self, name):
        if name not in self.hosts:
            h = Host(self, name, self.args.old_daemon if name.startswith("old") else self.args.new_daemon)
            self.hosts[name] = h
            h.start()
        return self.hosts[name]

    def console(self, name):
        try:
            return open(f"{self.base}/con/{name}", errors="replace").read()
        except OSError:
            return ""

    def wait_guest(self, name, want=None):
        """Waits until the guest ticks (and says what it is expected to say); gives its view."""
        end = time.time() + self.slow * 60
        before = guest_ticks(self.console(name))
        view = None
        while time.time() < end:
            con = self.console(name)
            view = guest_view(con)
            if guest_ticks(con) > before and view is not None and (want is None or view == want):
                return view
            time.sleep(0.5)
        return view if guest_ticks(self.console(name)) > before else "silent"

    def xml(self, name, cpu, features="", virttype=None):
        boot = f"<kernel>{self.args.kernel}</kernel><initrd>{self.args.initrd}</initrd><cmdline>{self.args.append}</cmdline>"
        return f"""<domain type='{virttype or self.args.virttype}'>
  <name>{name}</name>
  <uuid>{uuid.uuid5(uuid.NAMESPACE_DNS, name)}</uuid>
  <memory unit='MiB'>{self.args.memory}</memory>
  <vcpu>{self.args.vcpus}</vcpu>
  <os><type arch='x86_64' machine='{self.args.machine}'>hvm</type>{boot if self.args.kernel else ''}</os>
  <features><acpi/><apic/>{features}</features>
  {cpu}
  <on_reboot>destroy</on_reboot>
  <devices>
    <emulator>{self.emulator}</emulator>
    <controller type='usb' model='none'/>
    <serial type='file'><source path='{self.base}/con/{name}' append='on'/><target port='0'/></serial>
    <memballoon model='none'/>
  </devices>
</domain>
"""

    def cpu(self, mode, policy=None, check=None, name=FEATURE, extra=""):
        c = f" check='{check}'" if check else ""
        f = f"<feature policy='{policy}' name='{name}'/>" if policy else ""
        if mode == "custom":
            return (f"<cpu mode='custom' match='exact'{c}><model fallback='forbid'>{self.args.model}</model>"
                    f"{f}{extra}</cpu>")
        return f"<cpu mode='{mode}'{c}>{f}{extra}</cpu>"

    def file(self, text):
        self.n += 1
        path = f"{self.base}/x{self.n}.xml"
        with open(path, "w") as f:
            f.write(text)
        return path

    def row(self, part, case, expected, got, detail=""):
        ok = expected == got
        self.rows.append({"part": part, "case": case, "expected": expected, "got": got, "ok": ok, "detail": detail})
        print(f"{'ok  ' if ok else 'FAIL'} {part:10} {case:62} {got}" + ("" if ok else f" (expected {expected})"), flush=True)
        if detail and (not ok or self.args.verbose):
            print("       " + detail.replace("\n", " "), flush=True)

    def case(self, part, case, expected, fn):
        if self.args.only and not re.search(self.args.only, f"{part} {case}"):
            return
        for left in (2, 1, 0):
            try:
                got, detail = fn()
            except Silent as e:
                got, detail = "silent", str(e)
            except Error as e:
                got, detail = "error", str(e)
            except subprocess.TimeoutExpired as e:
                got, detail = "timeout", str(e)
            # Nested guests may die in the emulated host, whatever libvirt does: that is no verdict.
            if "silent" not in got or not left:
                break
            print(f"     {part:10} {case}: the guest said nothing; once more", flush=True)
        self.row(part, case, expected, got, detail)

    def domain(self):
        self.n += 1
        return f"m{os.getpid()}-{self.n}"

    def up(self, host, cpu, wait=True, features=""):
        name = self.domain()
        host.virsh("define", self.file(self.xml(name, cpu, features)))
        host.virsh("start", name)
        if wait and self.args.kernel and self.wait_guest(name) == "silent":
            self.down(name)
            raise Silent(f"{name} says nothing on its console")
        return name

    def down(self, name):
        for h in self.hosts.values():
            h.virsh("destroy", name, check=False)
            h.virsh("undefine", name, "--managed-save", check=False)

    def witnesses(self, host, name):
        q = host.qom(name)
        on = {True: "on", False: "off"}.get(q, str(q))
        view = f"xml={host.live(name)} qemu={on}"
        if self.args.kernel:
            g = self.wait_guest(name, want=q)
            view += " guest=" + {True: "on", False: "off", None: "nothing"}.get(g, str(g))
        return view

    def agreed(self, policy, on):
        s = "on" if on else "off"
        return f"xml={policy} qemu={s}" + (f" guest={s}" if self.args.kernel else "")

    # ---- part a: capabilities, errors, round trips
    def part_a(self):
        new = self.host("new1")
        on = self.kvm

        def caps(*opts):
            def fn():
                out = new.virsh("domcapabilities", "--virttype", self.args.virttype, "--emulatorbin", self.emulator,
                                "--machine", self.args.machine, *opts)[1]
                root = ET.fromstring(out)
                enum = [v.text for v in root.iterfind("cpu/enum[@name='explicitFeature']/value")]
                model = [f.get("name") for f in root.iterfind("cpu/mode[@name='host-model']/feature")]
                return f"listed={FEATURE in enum} host-model={FEATURE in model}", ""
            return fn
        self.case("caps", "virsh domcapabilities", f"listed={on} host-model=False", caps())
        self.case("caps", "virsh domcapabilities --supported-cpu-features", f"listed={on} host-model={on}",
                  caps("--supported-cpu-features"))

        def compare(policy, check):
            def fn():
                rc, out, err = new.virsh(check, "--error", *(["--virttype", self.args.virttype, "--emulator", self.emulator]
                                                  if check.startswith("hyp") else []),
                                         self.file(self.cpu("custom", policy)), check=False)
                if rc and FEATURE not in err:
                    return "refused for another reason", err
                return ("refused" if rc else "accepted"), out.strip() + err
            return fn
        self.case("compare", "hypervisor-cpu-compare, require", "accepted" if on else "refused",
                  compare("require", "hypervisor-cpu-compare"))
        self.case("compare", "hypervisor-cpu-compare, forbid", "refused" if on else "accepted",
                  compare("forbid", "hypervisor-cpu-compare"))
        self.case("compare", "cpu-compare (knows nothing of KVM), require", "refused", compare("require", "cpu-compare"))

        def define(cpu, pattern, features="", virttype=None):
            def fn():
                name = self.domain()
                rc, _, err = new.virsh("define", self.file(self.xml(name, cpu, features, virttype)), check=False)
                new.virsh("undefine", name, check=False)
                return ("refused" if rc and re.search(pattern, err, re.S) else f"rc={rc}"), err
            return fn
        R = self.cpu("custom", "require")
        self.case("define", "misspelt name", "refused",
                  define(self.cpu("custom", "require", name="kvm-pv-tbl-flush"), r"kvm-pv-tbl-flush.*use one of"))
        self.case("define", "require in a TCG domain", "refused", define(R, r"provided by KVM", virttype="qemu"))
        if self.kvm:
            self.case("define", "require, KVM hidden", "refused",
                      define(R, r"hidden", "<kvm><hidden state='on'/></kvm>"))
            self.case("define", "require, steal time disabled", "refused",
                      define(self.cpu("custom", "require", extra="<feature policy='disable' name='kvm-steal-time'/>"),
                             r"kvm-steal-time"))
            self.case("define", "feature contradicts <kvm>", "refused",
                      define(self.cpu("custom", "disable", name="kvm-hint-dedicated"), r"contradicts",
                             "<kvm><hint-dedicated state='on'/></kvm>"))
            lack = self.host("lack-qemu")

            def lacking():
                name = self.domain()
                rc, _, err = lack.virsh("define", self.file(self.xml(name, R)), check=False)
                lack.virsh("undefine", name, check=False)
                return ("refused" if rc and "not known to QEMU binary" in err else f"rc={rc}"), err
            self.case("define", f"require, QEMU lacks it ({SIM['lack-qemu']})", "refused", lacking)

        def roundtrip(mode, policy, check):
            def fn():
                name = self.domain()
                try:
                    new.virsh("define", self.file(self.xml(name, self.cpu(mode, policy, check))))
                    if new.live(name, inactive=True) != (policy or "-"):
                        return "not in inactive XML", ""
                    rc, _, err = new.virsh("start", name, check=False)
                    if rc:
                        return "refused", err
                    if new.live(name, inactive=True) != (policy or "-"):
                        return "inactive XML changed", ""
                    return self.witnesses(new, name), ""
                finally:
                    self.down(name)
            return fn
        modes = ["custom", "host-model", "host-passthrough", "maximum"] if self.kvm else ["custom", "maximum"]
        for mode in modes:
            through = mode in ("host-passthrough", "maximum")
            for policy in (["require", "disable", "optional", "forbid", None] if self.kvm else ["disable", "optional", "forbid", None]):
                if policy == "require":
                    want = self.agreed("require", True)
                elif policy == "disable":
                    want = self.agreed("disable", False)
                elif policy == "optional":
                    want = self.agreed("require", True) if self.kvm else self.agreed("disable", False)
                elif policy == "forbid":
                    # without any check libvirt only disables it; host-passthrough is not checked by default
                    want = "refused" if self.kvm and not through else self.agreed("forbid", False)
                else:
                    want = self.agreed("require" if through else "-", through) if self.kvm else self.agreed("-", False)
                self.case("round trip", f"{mode}, {policy or 'not listed'}", want, roundtrip(mode, policy, None))
            if self.kvm:
                self.case("round trip", f"{mode}, require, check='none'", self.agreed("require", True),
                          roundtrip(mode, "require", "none"))
                self.case("round trip", f"{mode}, forbid, check='full'", "refused", roundtrip(mode, "forbid", "full"))

        if self.kvm:
            lack = self.host("lack-kernel")
            for mode in modes:
                for check in (None, "none", "partial", "full"):
                    if check == "partial" and mode in ("host-passthrough", "maximum"):
                        continue

                    def lacking(mode=mode, check=check):
                        name = self.domain()
                        lack.virsh("define", self.file(self.xml(name, self.cpu(mode, "require", check))))
                        rc, _, err = lack.virsh("start", name, check=False)
                        self.down(name)
                        return ("refused" if rc and FEATURE in err else f"rc={rc}"), err
                    self.case("lacking", f"{mode}, require, check={check or 'default'} ({SIM['lack-kernel']})", "refused", lacking)

                def optional(mode=mode):
                    name = self.up(lack, self.cpu(mode, "optional"))
                    try:
                        return self.witnesses(lack, name), ""
                    finally:
                        self.down(name)
                self.case("lacking", f"{mode}, optional ({SIM['lack-kernel']})", self.agreed("disable", False), optional)

    # ---- part b: migration, save, restore
    def migrate(self, src, dst, cpu, options=(), xml=None, features=""):
        """("arrived ..." or "refused, source runs ...", message)."""
        name = self.up(src, cpu, features=features)
        try:
            opts = list(options)
            if xml:
                opts += ["--xml", self.file(xml(src, name))]
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            rc, _, err = src.virsh("migrate", "--live", *opts, name, dst.uri, f"tcp://127.0.0.1:{port}", check=False)
            if rc == 0:
                if src.state(name) == "running":
                    return "arrived, but runs on the source, too", err
                return "arrived " + self.witnesses(dst, name), err
            if "domain is not running" in err:  # what virsh says of a guest that died before the migration began
                raise Silent(err)
            if src.state(name) != "running":
                return f"refused, source {src.state(name)}", err
            if src.migrated(name):
                return "refused, but memory was sent", err
            if dst.state(name) == "running":
                return "refused, but runs on the destination", err
            if self.args.kernel and self.wait_guest(name) == "silent":
                return "refused, source guest is silent", err
            return "refused, source runs", err
        finally:
            self.down(name)

    def part_b(self):
        def mig(case, src, dst, mode, policy, want, check=None, pattern=None, **k):
            def fn():
                got, err = self.migrate(self.host(src), self.host(dst), self.cpu(mode, policy, check), **k)
                if got == "refused, source runs" and pattern and not re.search(pattern, err, re.S):
                    got += " (for another reason)"
                return got, err
            for h in (src, dst):
                if h in SIM:
                    case += f" ({SIM[h]})"
            self.case("migrate", f"{src} -> {dst}: {case}", want, fn)

        kvm, refused = self.kvm, "refused, source runs"
        modes = ["custom", "host-model", "host-passthrough", "maximum"] if kvm else ["custom", "maximum"]
        for mode in modes:
            through = mode in ("host-passthrough", "maximum")
            implicit = self.agreed("require" if through else "-", through) if kvm else self.agreed("-", False)
            old = self.agreed("-", through and kvm)
            if kvm:
                mig(f"{mode}, require", "new1", "new2", mode, "require", "arrived " + self.agreed("require", True))
                mig(f"{mode}, optional", "new1", "new2", mode, "optional", "arrived " + self.agreed("require", True))
            mig(f"{mode}, disable", "new1", "new2", mode, "disable", "arrived " + self.agreed("disable", False))
            mig(f"{mode}, not listed", "new1", "new2", mode, None, "arrived " + implicit)
            if self.args.old_daemon:
                mig(f"{mode}, not listed", "old1", "new1", mode, None, "arrived " + implicit)
                mig(f"{mode}, not listed", "new1", "old1", mode, None, "arrived " + old)
                mig(f"{mode}, not listed", "old1", "old2", mode, None, "arrived " + old)
                mig(f"{mode}, {'require' if kvm else 'disable'}", "new1", "old1", mode, "require" if kvm else "disable",
                    refused, pattern=r"unknown CPU feature.*" + FEATURE)
            if not kvm:
                continue
            # In a nested guest a full check of the other modes fails at its start already: no SVM there.
            for check in ("none", "full" if through else "partial"):
                mig(f"{mode}, require, check={check}", "new1", "lack-kernel", mode, "require", refused, check, FEATURE)
            mig(f"{mode}, require", "new1", "lack-qemu", mode, "require", refused, pattern=FEATURE)
            mig(f"{mode}, optional", "new1", "lack-kernel", mode, "optional", refused, pattern=FEATURE)
            mig(f"{mode}, optional", "lack-kernel", "new2", mode, "optional", "arrived " + self.agreed("disable", False))
            if through:
                mig(f"{mode}, not listed", "new1", "lack-kernel", mode, None, refused, pattern=FEATURE)
                mig(f"{mode}, not listed, extra at the destination", "lack-kernel", "new2", mode, None,
                    "arrived " + self.agreed("disable", False))
            else:
                mig(f"{mode}, not listed", "new1", "lack-kernel", mode, None, "arrived " + self.agreed("-", False))
                mig(f"{mode}, not listed, extra at the destination", "lack-kernel", "new2", mode, None,
                    "arrived " + self.agreed("-", False))

        def without(src, name):
            return re.sub(rf"\s*<feature [^>]*name='{FEATURE}'/>", "", src.virsh("dumpxml", "--migratable", name)[1])

        def livexml(src, name):
            return src.virsh("dumpxml", name)[1]
        mig("custom, --xml without the feature", "new1", "new2", "custom", "require" if kvm else "disable", refused,
            pattern=r"feature count|feature", xml=without)
        if kvm:
            mig("host-passthrough, --xml out of the live XML", "new1", "new2", "host-passthrough", None,
                "arrived " + self.agreed("require", True), xml=livexml)
            if self.args.old_daemon:
                mig("host-passthrough, --xml out of the live XML", "new1", "old1", "host-passthrough", None,
                    "arrived " + self.agreed("-", True), xml=livexml)

        def save_restore(src, dst, mode, policy):
            def fn():
                a, b = self.host(src), self.host(dst)
                name = self.up(a, self.cpu(mode, policy))
                img = f"{self.base}/save-{name}"
                try:
                    a.virsh("save", name, img)
                    if a is not b:
                        a.virsh("undefine", name, check=False)
                    rc, _, err = b.virsh("restore", img, check=False)
                    if rc:
                        return ("refused, image kept" if os.path.getsize(img) else "refused, image lost") + \
                            (f", {b.state(name)}" if b.state(name) == "running" else ""), err
                    return "restored " + self.witnesses(b, name), ""
                finally:
                    self.down(name)
                    if os.path.exists(img):
                        os.unlink(img)
            return fn
        if kvm:
            for mode in modes:
                self.case("save", f"new1 -> new1: {mode}, require", "restored " + self.agreed("require", True),
                          save_restore("new1", "new1", mode, "require"))
                self.case("save", f"new1 -> lack-kernel: {mode}, require ({SIM['lack-kernel']})", "refused, image kept",
                          save_restore("new1", "lack-kernel", mode, "require"))
                if self.args.old_daemon:
                    self.case("save", f"new1 -> old1: {mode}, require", "refused, image kept",
                              save_restore("new1", "old1", mode, "require"))
            self.case("save", f"new1 -> lack-kernel: host-passthrough, not listed ({SIM['lack-kernel']})", "refused, image kept",
                      save_restore("new1", "lack-kernel", "host-passthrough", None))
        if self.args.old_daemon:
            for mode in modes:
                through = kvm and mode in ("host-passthrough", "maximum")
                self.case("save", f"new1 -> old1: {mode}, not listed", "restored " + self.agreed("-", through),
                          save_restore("new1", "old1", mode, None))
                self.case("save", f"old1 -> new1: {mode}, not listed",
                          "restored " + self.agreed("require" if through else "-", through), save_restore("old1", "new1", mode, None))

        def managed(mode, lose):
            def fn():
                h, mark = self.host("new1"), f"{self.base}/new1-lost-it"
                name = self.up(h, self.cpu(mode, "require"))
                try:
                    h.virsh("managedsave", name)
                    if lose:
                        open(mark, "w").close()
                    rc, _, err = h.virsh("start", name, check=False)
                    if rc:
                        kept = re.search(r"Managed save:\s+yes", h.virsh("dominfo", name)[1])
                        return "refused, image " + ("kept" if kept else "lost"), err
                    return "restored " + self.witnesses(h, name), ""
                finally:
                    if os.path.exists(mark):
                        os.unlink(mark)
                    self.down(name)
            return fn
        if kvm:
            for mode in modes:
                self.case("managedsave", f"{mode}, require", "restored " + self.agreed("require", True), managed(mode, False))
                # libvirt still believes in the feature, its capabilities are cached: only the last check can see it
                self.case("managedsave", f"{mode}, require, lost meanwhile ({SIM['lack-kernel']})", "refused, image kept",
                          managed(mode, True))

    # ---- cost: the same two commands on an unpatched and a patched daemon, in turns
    def part_cost(self, rounds=12):
        hosts, name = ("old1", "new1"), self.domain()
        times = {(what, host): [] for what in ("domcapabilities", "start") for host in hosts}
        for host in hosts:
            self.host(host).virsh("define", self.file(self.xml(name, self.cpu("host-passthrough"))))
        for i in range(rounds + 1):
            for host in hosts if i % 2 else reversed(hosts):
                for what, args in (("domcapabilities", ("--virttype", self.args.virttype, "--emulatorbin", self.emulator)),
                                   ("start", (name,))):
                    began = time.monotonic()
                    self.host(host).virsh(what, *args)
                    if i:  # the first round fills caches
                        times[what, host].append(1000 * (time.monotonic() - began))
                self.host(host).virsh("destroy", name)
        self.down(name)
        with open(self.args.json, "w") as f:
            json.dump({f"{what}-{host[:3]}": numbers for (what, host), numbers in times.items()}, f)

    def finish(self):
        for h in self.hosts.values():
            try:
                h.stop()
            except (Error, subprocess.TimeoutExpired) as e:
                print(f"{h.name}: {e}", file=sys.stderr)
        if self.args.part == "cost":
            return 0
        if self.args.json:
            with open(self.args.json, "w") as f:
                json.dump({"feature": FEATURE, "virttype": self.args.virttype, "rows": self.rows}, f, indent=1)
        bad = sum(not r["ok"] for r in self.rows)
        print(f"{len(self.rows)} cases, {len(self.rows) - bad} as expected, {bad} not")
        return 1 if bad or not self.rows else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--new-daemon", default="/opt/pv-libvirt/sbin/virtqemud", help="patched daemon")
    p.add_argument("--old-daemon", default="", help="unpatched daemon (default: /usr/sbin/virtqemud or libvirtd if there)")
    p.add_argument("--no-old", action="store_true", help="leave out what needs an unpatched daemon")
    p.add_argument("--virsh", default="/opt/pv-libvirt/bin/virsh")
    p.add_argument("--qemu", default="/usr/bin/qemu-system-x86_64")
    p.add_argument("--shim", help="compiled kvm-no-tlb-flush.c (default: compile it)")
    p.add_argument("--kernel", default="", help="guest kernel; without one the guest is not asked")
    p.add_argument("--initrd", default="")
    p.add_argument("--append", default="console=ttyS0 quiet pvb.watch=1")
    p.add_argument("--virttype", choices=["kvm", "qemu"], default="kvm")
    p.add_argument("--machine", default="q35")
    p.add_argument("--model", default="qemu64", help="model of custom CPUs")
    p.add_argument("--memory", type=int, default=96)
    p.add_argument("--vcpus", type=int, default=2)
    p.add_argument("--part", choices=["a", "b", "all", "cost"], default="all")
    p.add_argument("--only", help="only cases that match this regular expression")
    p.add_argument("--slow", type=float, default=1, help="factor for all timeouts")
    p.add_argument("--user", default="nobody", help="who runs the daemons if this is started by root")
    p.add_argument("--base", default="/var/tmp/pv-matrix", help="working directory; emptied")
    p.add_argument("--json")
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    if not args.old_daemon and not args.no_old:
        args.old_daemon = next((d for d in ("/usr/sbin/virtqemud", "/usr/sbin/libvirtd") if os.path.exists(d)), "")
        if not args.old_daemon:
            p.error("no unpatched daemon; give --old-daemon or --no-old")
    if args.no_old:
        args.old_daemon = ""
    if args.json:
        args.json = os.path.abspath(args.json)

    shutil.rmtree(args.base, ignore_errors=True)
    os.makedirs(args.base)
    if os.geteuid() == 0:
        pw = pwd.getpwnam(args.user)
        groups = [pw.pw_gid]
        try:
            groups.append(grp.getgrnam("kvm").gr_gid)
        except KeyError:
            pass
        if args.json:
            open(args.json, "w").close()
            os.chown(args.json, pw.pw_uid, pw.pw_gid)
        os.chown(args.base, pw.pw_uid, pw.pw_gid)
        os.setgroups(groups)
        os.setgid(pw.pw_gid)
        os.setuid(pw.pw_uid)
    if args.virttype == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
        sys.exit("/dev/kvm cannot be used (user not in group kvm?)")

    run = Run(args)
    try:
        if args.part in ("a", "all"):
            run.part_a()
        if args.part in ("b", "all"):
            run.part_b()
        if args.part == "cost":
            run.part_cost()
    finally:
        rc = run.finish()
    sys.exit(rc)


if __name__ == "__main__":
    main()
