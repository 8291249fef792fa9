#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A guest for the tests: listens on SOCKET as QEMU does, and does the STEPs in order.

state[:JSON] ready begin:JOB:K:N progress:JOB sample:JOB[:JSON] error:JOB:REASON done[:JSON]
                    events; JSON replaces fields ("details.x" reaches into an object)
wait:LINE           read until LINE has come; log it with the time
raw:TEXT            TEXT with Python escapes, nothing added
fill:N              N bytes of x
repeat:N:STEP       STEP N times
sleep:S close
log:TEXT            TEXT and the time into LOG
threads:N:SECONDS   N threads called "CPU n/KVM" that run for SECONDS

usage: fakeguest.py SOCKET LOG STEP...
"""
import ctypes
import json
import os
import socket
import sys
import threading
import time

EVENTS = {
    "state": {"event": "state", "version": 1, "feature": "kvm-pv-tlb-flush", "offered": "no",
              "active": "no", "vcpus": 2, "barrier": True, "jobs": 1, "kernel": "6.12",
              "build": "#1 SMP", "glibc": "2.41", "clocksource": "kvm-clock", "mem_kb": 1000,
              "hypervisor": "KVMKVMKVM", "steal": True, "dedicated": False, "mwait": False},
    "ready": {"event": "ready"},
    "begin": {"event": "begin", "job": "", "k": 1, "n": 1, "timeout_s": 9, "args": []},
    "progress": {"event": "progress", "job": "", "elapsed_s": 1.5},
    "sample": {"event": "sample", "job": "", "sample": {
        "workload": "tlb", "implementation": "pv-tlb-flush", "metric": "flush_rate",
        "unit": "flushes/s", "better": "higher", "value": 12.5, "params": "-n 5",
        "bystanders": "busy", "flushes": 20, "remote_vcpus": 1, "details": {"x": 1},
        "vcpus": 2, "feature": "kvm-pv-tlb-flush", "offered": "no", "active": "no",
        "steal_s": 0.5, "elapsed_s": 1.0, "tlb_ipis": 20,
        "env": {"guest_kernel": "6.12", "glibc": "2.41"}}},
    "error": {"event": "error", "job": "", "reason": "", "stderr": "words\x1b[31m"},
    "done": {"event": "done", "jobs": 1, "failed": 0},
}


def replace(obj, fields):
    for path, value in fields.items():
        *parents, last = path.split(".")
        at = obj
        for part in parents:
            at = at[part]
        if value == "DELETE":
            del at[last]
        else:
            at[last] = value


class Guest:
    def __init__(self, path, log):
        self.log_file = log
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        self.conn, _ = server.accept()
        server.close()
        self.rest = b""

    def log(self, text):
        with open(self.log_file, "a", encoding="utf-8") as f:
            f.write(f"{time.monotonic():.3f} {text}\n")

    def wait(self, wanted):
        while b"\n" not in self.rest:
            got = self.conn.recv(100)
            if not got:
                sys.exit(0)
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        self.log("got " + line.decode())
        assert line.decode() == wanted, line

    def event(self, name, args):
        event = json.loads(json.dumps(EVENTS[name]))
        if name in ("begin", "progress", "sample", "error"):
            event["job"], _, args = args.partition(":")
        if name == "begin":
            event["k"], event["n"] = map(int, args.split(":"))
        elif name == "error":
            event["reason"] = args
        elif args:
            replace(event["sample"] if name == "sample" else event, json.loads(args))
        self.conn.sendall(json.dumps(event).encode() + b"\n")

    def threads(self, n, seconds):
        def run(index):
            ctypes.CDLL(None).prctl(15, f"CPU {index}/KVM".encode(), 0, 0, 0)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass
            time.sleep(30)
        for i in range(n):
            threading.Thread(target=run, args=(i,), daemon=True).start()
        time.sleep(0.2)

    def step(self, step):
        name, _, args = step.partition(":")
        if name in EVENTS:
            self.event(name, args)
        elif name == "wait":
            self.wait(args)
        elif name == "raw":
            self.conn.sendall(args.encode().decode("unicode_escape").encode("latin-1"))
        elif name == "fill":
            self.conn.sendall(b"x" * int(args))
        elif name == "repeat":
            n, _, args = args.partition(":")
            for _ in range(int(n)):
                self.step(args)
        elif name == "sleep":
            time.sleep(float(args))
        elif name == "close":
            self.conn.close()
        elif name == "log":
            self.log(args)
        elif name == "threads":
            n, _, args = args.partition(":")
            self.threads(int(n), float(args))
        else:
            sys.exit("unknown step " + step)


def main():
    guest = Guest(sys.argv[1], sys.argv[2])
    try:
        for step in sys.argv[3:]:
            guest.step(step)
    except (BrokenPipeError, ConnectionResetError):
        pass
    # Not waiting for threads.
    os._exit(0)


main()
