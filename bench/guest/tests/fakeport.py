#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A virtio-serial port for the tests: LINK becomes one (a pty), this is what QEMU and the host do.

fakeport.py LINK socket SOCKET            what comes goes to a unix socket and back, as in QEMU
fakeport.py LINK host LOG [EVENT=LINE]... events go into LOG; after EVENT it sends LINE, or, where
                                          that is empty, closes the port
"""
import json
import os
import select
import socket
import sys
import tty


def bridge(port, path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(1)
        other, _ = server.accept()
    while True:
        for fd in select.select([port, other], [], [])[0]:
            if fd == port:
                other.sendall(os.read(port, 65536))
            else:
                data = other.recv(65536)
                if not data:
                    return
                os.write(port, data)


def host(port, log, answers):
    with os.fdopen(port, "rb", buffering=0, closefd=False) as lines, open(log, "wb") as out:
        for line in lines:
            out.write(line)
            out.flush()
            answer = answers.get(json.loads(line)["event"])
            if answer == "":
                return
            if answer:
                os.write(port, answer.encode() + b"\n")


def main():
    link, kind, path, *rest = sys.argv[1:]
    port, guests_end = os.openpty()
    tty.setraw(guests_end)
    # guests_end stays open: else the port would hang up before the guest has opened it.
    os.symlink(os.ttyname(guests_end), link + ".new")
    os.rename(link + ".new", link)
    if kind == "socket":
        bridge(port, path)
    else:
        host(port, path, dict(answer.split("=", 1) for answer in rest))


main()
