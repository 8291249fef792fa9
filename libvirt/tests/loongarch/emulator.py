#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands in for qemu-system-loongarch64: a SIMULATION of a LoongArch host with KVM on top of the real QEMU with TCG.

Which host is simulated follows from $HOME: <base>/<host>/...; its profile.json tells what its QEMU and kernel can do:
  kvm     false: plain TCG, nothing is simulated
  qemu    CPU properties of its QEMU: {name: "auto" | "optin"}
  kernel  features its KVM has
  host    whether QEMU has the "host" CPU model
Capability probing runs the real QEMU behind a QMP filter. A domain runs under TCG; its kvm-* properties are checked against
the profile as QEMU would, recorded, and dropped. What the simulated QEMU does with kvm-* is this file's idea of it.
"""
import ctypes
import json
import os
import socket
import subprocess
import sys

BASE = os.path.dirname(os.path.abspath(__file__))
REAL = os.environ.get("REAL_QEMU") or open(os.path.join(BASE, "real-qemu")).read().split()


def die(message):
    sys.stderr.write("qemu-system-loongarch64: %s\n" % message)
    sys.exit(1)


def expand(profile, name, props):
    """What query-cpu-model-expansion (static) of the simulated QEMU says: (props, error)."""
    if name == "host" and not profile["host"]:
        return None, "The CPU type 'host' is not a recognized LoongArch CPU type"
    if props and not profile["series"]:
        return None, "Parameter 'model.props.%s' is unexpected" % sorted(props)[0]
    result = {"lasx": True, "lsx": True, "lbt": True, "pmu": True}
    for prop, kind in profile["qemu"].items():
        if prop in props:
            if props[prop] and prop not in profile["kernel"]:
                return None, "'%s' feature not supported by KVM host" % prop
            result[prop] = props[prop]
        elif kind == "auto":
            # QEMU without the series does not ask KVM
            result[prop] = prop in profile["kernel"] or not profile["series"]
        else:
            result[prop] = False
    return result, None


def rewrite(profile, command, reply):
    name = command.get("execute")
    if name == "query-kvm":
        return {"return": {"enabled": True, "present": True}}
    if name == "query-cpu-definitions" and profile["host"]:
        reply["return"].append({"name": "host", "typename": "host-loongarch-cpu", "static": False, "deprecated": False})
    if name == "query-cpu-model-expansion":
        model = command["arguments"]["model"]
        props, error = expand(profile, model["name"], model.get("props", {}))
        if error:
            return {"error": {"class": "GenericError", "desc": error}}
        return {"return": {"model": {"name": model["name"], "props": props}}}
    return reply


def probe(profile, argv):
    """-machine none,accel=kvm:..., -qmp unix:PATH,server=on,wait=off -pidfile FILE -daemonize"""
    path = argv[argv.index("-qmp") + 1].split(":", 1)[1].split(",")[0]
    pidfile = argv[argv.index("-pidfile") + 1]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    pid = os.fork()
    if pid:
        with open(pidfile, "w") as f:
            f.write("%d\n" % pid)
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    qemu = subprocess.Popen(REAL + ["-S", "-no-user-config", "-nodefaults", "-nographic", "-machine", "none,accel=tcg",
                                    "-qmp", "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            # libvirt kills only us: PR_SET_PDEATHSIG
                            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9))
    listener.settimeout(30)
    client = listener.accept()[0].makefile("rw")
    client.write(qemu.stdout.readline().strip() + "\r\n")
    client.flush()
    for line in client:
        command = json.loads(line)
        qemu.stdin.write(json.dumps(command) + "\n")
        qemu.stdin.flush()
        reply = json.loads(qemu.stdout.readline())
        while "event" in reply:
            reply = json.loads(qemu.stdout.readline())
        reply = dict(rewrite(profile, command, reply))
        if "id" in command:
            reply["id"] = command["id"]
        client.write(json.dumps(reply) + "\r\n")
        client.flush()
    qemu.kill()
    sys.exit(0)


def run(profile, argv, home):
    if "-accel" in argv and argv[argv.index("-accel") + 1] == "kvm":
        argv[argv.index("-accel") + 1] = "tcg"
        if "-cpu" not in argv:
            argv += ["-cpu", "la464"]
        i = argv.index("-cpu") + 1
        model, *props = argv[i].split(",")
        keep = [model if model != "host" else "max"]
        if model == "host" and not profile["host"]:
            die("unable to find CPU model 'host'")
        on = {p for p, kind in profile["qemu"].items() if kind == "auto" and p in profile["kernel"]}
        for prop in props:
            name, value = prop.split("=")
            if not name.startswith("kvm-"):
                keep.append(prop)
                continue
            if name not in profile["qemu"]:
                die("can't apply global %s-loongarch-cpu.%s=%s: Property '%s-loongarch-cpu.%s' not found"
                    % (model, name, value, model, name))
            if value == "on" and name not in profile["kernel"]:
                die("'%s' feature not supported by KVM host" % name)
            (on.add if value == "on" else on.discard)(name)
        needs = {"kvm-pv-preempt": {"kvm-steal-time"}, "kvm-pv-tlb-flush": {"kvm-steal-time", "kvm-pv-preempt"}}
        for name in sorted(on):
            missing = needs.get(name, set()) - on
            if missing:
                die("'%s' needs '%s'" % (name, sorted(missing)[0]))
        with open(os.path.join(home, "guests.log"), "a") as f:
            json.dump({"guest": argv[argv.index("-name") + 1].split(",")[0].split("=")[1],
                       "cpu": argv[i], "on": sorted(on)}, f)
            f.write("\n")
        argv[i] = ",".join(keep)
    os.execv(REAL[0], REAL + argv)


def main():
    argv = sys.argv[1:]
    rest = os.environ.get("HOME", "")
    if not rest.startswith(BASE + "/"):
        os.execv(REAL[0], REAL + argv)
    home = os.path.join(BASE, rest[len(BASE) + 1:].split("/")[0])
    with open(os.path.join(home, "profile.json")) as f:
        profile = json.load(f)
    machine = argv[argv.index("-machine") + 1] if "-machine" in argv else ""
    if profile["kvm"] and machine.startswith("none,accel=kvm"):
        probe(profile, argv)
    run(profile, argv, home)


main()
