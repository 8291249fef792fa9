#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
What runs in the emulated LoongArch host, and in its guests: one job, named on the kernel's command line, which prints TAP.

Everything lies in /pv: QEMU, the guests' kernel and initramfs, the witnesses of correct arithmetic and what they are to
say. Every wait is bounded; who is late is reported with its last words and killed.
"""

import argparse
import json
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

PV = os.environ.get('PV_PAYLOAD', os.path.dirname(os.path.realpath(__file__)))    # elsewhere in its tests
QEMU = f'{PV}/qemu-system-loongarch64'
CONSOLE = 'console=ttyS0,115200'

count = 0
failed = 0
lock = threading.Lock()


def say(text):
    print(text, flush=True)


def diag(text):
    for line in text.splitlines():
        say(f'# {line}')


def ok(good, name, why='', skip=''):
    global count, failed
    with lock:
        count += 1
        failed += not good
        say(f'{"ok" if good else "not ok"} {count} - {name}{skip and " # SKIP "}{skip}')
        if not good:
            diag(why)
    return good


def done():
    say(f'1..{count}')
    return 1 if failed else 0


# Not the monitor's echo
ALL_REGISTERS = '=[0-9a-f]|GPR|CSR|CPU#|^ *f[0-9]'


def console_port():
    """Where the guests' consoles go"""
    return open(os.environ.get('PV_GUEST_CONSOLE', '/dev/null'), 'wb', buffering=0)


class Guest:
    """One guest of this host; its console goes into the port pv.guest as it comes, and is kept here"""

    def __init__(self, name, opts, append, initramfs=True, cpu=None, smp=None, tee=None):
        self.name, self.lines, self.partial = name, [], b''
        self.monitor = f'/tmp/monitor-{name}'
        args = [QEMU, '-M', f'virt,accel={opts.accel}', '-cpu', cpu or opts.guest_cpu, '-smp', str(smp or opts.guest_smp),
                '-m', opts.guest_memory, '-nodefaults', '-no-reboot', '-display', 'none', '-serial', 'stdio',
                '-monitor', f'unix:{self.monitor},server=on,wait=off', '-kernel', f'{PV}/guest.efi']
        append = f'{CONSOLE} panic=-1 {append}'
        if initramfs:
            args += ['-initrd', f'{PV}/guest.cpio']
        else:
            # The host's own disks, read-only.
            for disk in 'vda', 'vdb':
                args += ['-drive', f'file=/dev/{disk},format=raw,if=none,id={disk},readonly=on,file.locking=off',
                         '-device', f'virtio-blk-pci,drive={disk}']
            args += ['-device', 'virtio-rng-pci']
            append += ' root=/dev/vda rootfstype=squashfs ro init=/init'
        args += ['-append', append]
        self.started = time.monotonic()
        self.proc = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.proc.stdout, selectors.EVENT_READ)
        self.tee = tee or console_port()
        self.tee.write(f'== guest {name}\n'.encode())

    def wait(self, pattern, until):
        """The time at which a line with the pattern came, or None. Pattern None: at which QEMU ended"""
        while True:
            left = until - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                return None
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                try:
                    self.proc.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    return None
                return None if pattern else time.monotonic()
            self.tee.write(data)
            lines = self.feed(data)
            if pattern and any(pattern in line for line in lines):
                return time.monotonic()

    def feed(self, data):
        """The lines that are complete now"""
        *lines, self.partial = (self.partial + data).split(b'\n')
        lines = [line.decode(errors='replace').rstrip('\r') for line in lines]
        self.lines += lines
        return lines

    def registers(self, everything=False):
        """What the vCPUs do"""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                s.connect(self.monitor)
                s.sendall(b'info registers -a\n')
                text = b''
                while text.count(b'(qemu)') < 2:
                    data = s.recv(65536)
                    if not data:
                        break
                    text += data
        except OSError as e:
            return f'the monitor does not answer: {e}'
        keep = [line.strip() for line in text.decode(errors='replace').splitlines()
                if re.search(ALL_REGISTERS if everything else r'^CPU#|^ PC|EENTRY|ESTAT|CRMD|BADV', line)]
        return '\n'.join(keep)

    def last_words(self):
        lines = self.lines[-25:] + ([self.partial.decode(errors='replace')] if self.partial else [])
        text = [f'guest {self.name}, last lines of its console:'] + ['  ' + line for line in lines]
        if self.proc.poll() is None:
            text += ['its QEMU still runs:', self.registers()]
        else:
            text += [f'its QEMU ended: {self.proc.returncode}']
        return '\n'.join(text)

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.selector.close()
        self.proc.stdout.close()
        self.tee.close()


def job_boot(opts):
    """Guests one after the other: each reaches init and powers off"""
    times = []
    for i in range(1, opts.count + 1):
        guest = Guest(str(i), opts, opts.append)
        until = guest.started + opts.timeout
        init = guest.wait('PV: init', until)
        end = guest.wait(None, until) if init else None
        good = end is not None and guest.proc.returncode == 0
        if init:
            times.append(init - guest.started)
            name = f'guest {i}: init after {times[-1]:.2f} s'
            name += f', off after {end - guest.started:.2f} s' if end else f', not off after {opts.timeout} s'
        else:
            name = f'guest {i}: no init in {opts.timeout} s'
        ok(good, name, '' if good else guest.last_words() + '\n' + host_words())
        guest.end()
        if not good and opts.stop:
            break
    if times:
        say(f'# to init: {len(times)} guests, median {statistics.median(times):.2f} s, '
            f'{min(times):.2f} to {max(times):.2f} s')
        if opts.limit:
            ok(statistics.median(times) <= opts.limit, f'median to init at most {opts.limit} s')


# What a healthy kernel never says
SICK = re.compile(r'\b(BUG|WARNING|Oops|Call Trace|Kernel panic|Internal error|Unable to handle|[Ss]oft lockup|'
                  r'[Hh]ard LOCKUP|rcu.*(stall|starved)|blocked for more than|Code: |bad page|corrupt)')


class Soaked:
    """One pv-stale, in a guest or in the host: what it says, and what is wrong with it"""

    def __init__(self, name, seconds, stall, start, guest=None, proc=None):
        self.name, self.seconds, self.stall, self.guest = name, seconds, stall, guest
        self.proc = proc or guest.proc
        self.heard = self.started = time.monotonic()
        self.start = start          # seconds in which it must begin
        self.begun, self.ended, self.exit, self.result = False, False, None, None
        self.last, self.steal, self.partial = 'nothing yet', -1.0, b''

    def line(self, text):
        """Takes a line; says what is wrong"""
        if SICK.search(text):
            return f'its kernel says: {text}'
        if m := re.search(r'pv-stale: \d+ s: .* steal (-?[\d.]+) s', text):
            self.heard, self.begun, self.last, self.steal = time.monotonic(), True, text, float(m[1])
        elif re.search(r'pv-stale: (stale|stuck|late|nothing shown): ', text):
            return text
        elif text.startswith('{"program": "pv-stale"'):
            try:
                self.result = json.loads(text)
            except ValueError:
                return f'its result is not JSON: {text}'
            self.steal = self.result['steal_s'] or 0
        elif m := re.search(r'PV: job ended: (\d+)', text):
            self.exit = int(m[1])
        return None

    def feed(self, tee):
        """Reads what is there; says what is wrong"""
        data = os.read(self.proc.stdout.fileno(), 65536)
        if not data:
            self.ended = True
            try:
                status = self.proc.wait(timeout=10)
            except subprocess.TimeoutExpired:
                return 'does not end'
            if not self.guest:
                self.exit = status
            if status or self.exit or self.exit is None or not self.result:
                return f'ended early: exit status {status}, that of pv-stale {self.exit}'
            return None
        tee.write(re.sub(rb'(?m)^', f'{self.name}: '.encode(), data))
        if self.guest:
            lines = self.guest.feed(data)
        else:
            *lines, self.partial = (self.partial + data).split(b'\n')
            lines = [line.decode(errors='replace') for line in lines]
        wrong = [w for w in map(self.line, lines) if w]
        return wrong[0] if wrong else None

    def late(self):
        """Does it hang?"""
        now = time.monotonic()
        if self.ended:
            return None
        if not self.begun:
            return f'pv-stale did not begin in {self.start} s' if now - self.started > self.start else None
        if now - self.heard > self.stall:
            return f'no progress for {self.stall} s'
        ran = now - self.started
        return f'still runs after {ran:.0f} s' if ran > self.seconds + self.start + self.stall else None


def sick_log(seen):
    """What the host's kernel complains of"""
    text = subprocess.run(['dmesg'], stdout=subprocess.PIPE, text=True, check=False, errors='replace').stdout.splitlines()
    # A thousand messages are more than the ring ever loses between two looks.
    return [line for line in text if line not in seen and SICK.search(line) and not seen.add(line)]


def job_soak(opts):
    """Guests with more vCPUs than there are CPUs, pv-stale in them (and here): nothing stale, nothing stuck, no complaint"""
    boot_log = set()
    for line in sick_log(boot_log):
        diag(f'host, before any guest: {line}')
    tee, soaked, selector = console_port(), [], selectors.DefaultSelector()
    options = f'--json --progress 5 --stall {opts.stall} --oversleep {opts.oversleep} --threads {opts.threads}'
    for i in range(1, opts.guests + 1):
        job = f'pv-stale --seconds {opts.seconds} --seed {opts.seed + i} {options}'
        guest = Guest(str(i), opts, f'{opts.append} pv.job="{job}"', tee=tee)
        soaked.append(Soaked(f'guest {i}', opts.seconds, opts.stall, opts.timeout, guest))
    if opts.host_load:
        command = f'{PV}/pv-stale --seconds {opts.seconds} --seed {opts.seed} {options}'
        load = subprocess.Popen(command.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        soaked.append(Soaked('host', opts.seconds, opts.stall, opts.timeout, proc=load))
    for s in soaked:
        selector.register(s.proc.stdout, selectors.EVENT_READ, s)
    wrong, begin, look, told = [], time.monotonic(), 0, time.monotonic()
    while not wrong and not all(s.ended for s in soaked):
        for key, _ in selector.select(1):
            s = key.data
            if why := s.feed(tee):
                wrong.append((s, why))
            if s.ended:
                selector.unregister(key.fileobj)
        wrong += [(s, why) for s in soaked if (why := s.late())]
        now = time.monotonic()
        if now - look > 10:
            look = now
            wrong += [(None, f'the host\'s kernel says: {line}') for line in sick_log(boot_log)]
        if now - told > 60:
            told = now
            for s in soaked:
                diag(f'{s.name}: {s.last}')
    wrong += [(None, f'the host\'s kernel says: {line}') for line in sick_log(boot_log)]
    after = f'after {time.monotonic() - begin:.0f} s'
    if wrong:
        # What follows in the next moment belongs to it.
        until = time.monotonic() + 2
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if key.data.feed(tee) and key.data.ended:
                    selector.unregister(key.fileobj)
    for s in soaked:
        why = [w for who, w in wrong if who is s]
        said = f'{after}: {why[0]}' if why else 'pv-stale finds nothing, its kernel does not complain'
        ok(not why, f'{s.name}: {said}', '\n'.join(why[1:]))
        diag(f'{s.name}: {json.dumps(s.result) if s.result else s.last}')
        if s.guest and not wrong:
            ok(s.steal > 0, f'{s.name}: its CPUs were taken away: steal time {s.steal:.2f} s of {opts.seconds} s')
    why = [w for who, w in wrong if who is None]
    ok(not why, f'host: {after}: {why[0]}' if why else 'host: its kernel does not complain', '\n'.join(why[1:]))
    if wrong:
        diag(f'seed {opts.seed}')
        for s in soaked:
            if s.guest:
                diag(s.guest.last_words())
                diag(f'{s.name}, registers:\n{s.guest.registers(True)}')
        diag(host_words())
        # The host's registers are taken meanwhile.
        time.sleep(3)
    for s in soaked:
        if s.guest:
            s.guest.end()
        elif s.proc.poll() is None:
            s.proc.kill()
            s.proc.wait()


def host_words():
    dmesg = subprocess.run(['dmesg'], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()
    text = ['host, last lines of its log:'] + ['  ' + line for line in dmesg[-8:]]
    # Full with --host-append trace_event=kvm:*
    try:
        with open('/sys/kernel/tracing/trace', encoding='ascii', errors='replace') as f:
            trace = [line.rstrip() for line in f if not line.startswith('#')]
    except OSError as e:
        trace = [str(e)]
    if trace:
        text += ['host, last lines of its trace:'] + ['  ' + line for line in trace[-40:]]
    return '\n'.join(text)


def run(args, timeout=300, **kwargs):
    try:
        return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace',
                              timeout=timeout, check=False, **kwargs)
    except subprocess.TimeoutExpired as e:
        text = e.stdout or ''
        if isinstance(text, bytes):
            text = text.decode(errors='replace')
        return subprocess.CompletedProcess(args, 124, f'{text}\n(killed after {timeout} s)\n')


def openssl(who):
    """The known answers of OpenSSL"""
    ret = run([f'{PV}/kat', f'{PV}/kat.in'])
    with open(f'{PV}/kat.expected', encoding='ascii') as f:
        expected = f.read().splitlines()
    got = ret.stdout.splitlines()
    wrong = [f'got    {g}\nwanted {w}' for g, w in zip(got + ['nothing'] * len(expected), expected) if g != w]
    ok(ret.returncode == 0 and got == expected, f'{who}: OpenSSL, {len(expected)} answers as computed natively',
       f'exit status {ret.returncode}\n' + '\n'.join(wrong) + '\n' + '\n'.join(got[len(expected):]))


HANDSHAKES = (('curve25519-sha256', 'ssh-ed25519', 'chacha20-poly1305@openssh.com'),
              ('ecdh-sha2-nistp256', 'ecdsa-sha2-nistp256', 'aes128-gcm@openssh.com'),
              ('sntrup761x25519-sha512@openssh.com', 'rsa-sha2-512', 'aes256-ctr'),
              ('mlkem768x25519-sha256', 'ssh-ed25519', 'aes256-gcm@openssh.com'))


def ssh(who, times):
    """sshd on the loopback: each of the handshakes, and data through it"""
    d = '/tmp/ssh'
    os.makedirs(d, mode=0o700, exist_ok=True)
    config = ['Port 2222', 'ListenAddress 127.0.0.1', 'PidFile none', 'StrictModes no', f'AuthorizedKeysFile {d}/id.pub',
              'PermitRootLogin yes', 'UsePAM no']
    for key in 'ed25519', 'ecdsa', 'rsa':
        ret = run(['ssh-keygen', '-q', '-t', key, '-N', '', '-f', f'{d}/host_{key}'])
        if not ok(ret.returncode == 0, f'{who}: ssh-keygen -t {key}', ret.stdout):
            return
        config.append(f'HostKey {d}/host_{key}')
    run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{d}/id'])
    with open(f'{d}/sshd_config', 'w', encoding='ascii') as f:
        f.write('\n'.join(config) + '\n')
    with open(f'{d}/sshd.log', 'wb') as log:
        sshd = subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', f'{d}/sshd_config'], stderr=log)
    try:
        with open(f'{PV}/kat.expected', encoding='ascii') as f:
            want = f.readline().split()[1]
        for _ in range(100):
            with socket.socket() as s:
                if not s.connect_ex(('127.0.0.1', 2222)):
                    break
            time.sleep(0.1)
        for kex, host_key, cipher in HANDSHAKES:
            good, why = 0, ''
            for _ in range(times):
                with open(f'{PV}/kat.in/input', 'rb') as data:
                    ret = run(['ssh', '-p', '2222', '-i', f'{d}/id', '-F', 'none', '-o', 'BatchMode=yes',
                               '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null',
                               '-o', 'LogLevel=ERROR', '-o', f'KexAlgorithms={kex}',
                               '-o', f'HostKeyAlgorithms={host_key}', '-c', cipher, 'root@127.0.0.1', 'sha256sum'],
                              timeout=60, stdin=data)
                if ret.returncode == 0 and ret.stdout.split()[:1] == [want]:
                    good += 1
                else:
                    why = f'exit status {ret.returncode}: {ret.stdout}'
            if good < times:
                with open(f'{d}/sshd.log', encoding='utf-8', errors='replace') as f:
                    why += '\nsshd: ' + ''.join(f.readlines()[-5:])
            ok(good == times, f'{who}: ssh with {kex}, {host_key}, {cipher}: {good} of {times}', why)
    finally:
        sshd.kill()
        sshd.wait()


VARIANTS = 'lasx', 'lsx', 'scalar'


def vectors(who, threads, seconds, again=None):
    """The vector checksums, all variants at the same time; as long as again() says so"""
    sums, errors = dict.fromkeys(VARIANTS, (0, 0)), dict.fromkeys(VARIANTS, '')
    while True:
        procs = [(v, subprocess.Popen([f'{PV}/pv-vsum-{v}', str(threads), str(seconds), f'{PV}/vsum.expected'],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)) for v in VARIANTS]
        for variant, proc in procs:
            try:
                out = proc.communicate(timeout=seconds * 4 + 120)[0]
            except subprocess.TimeoutExpired:
                proc.kill()
                out = proc.communicate()[0] + '\n(killed)'
            m = re.search(r'^\d+ threads, (\d+) sums, 0 wrong, preempted (\d+) times$', out, re.M)
            if proc.returncode == 0 and m:
                sums[variant] = tuple(map(sum, zip(sums[variant], map(int, m.groups()))))
            else:
                errors[variant] += f'exit status {proc.returncode}\n{out}'
        if not again or not again():
            break
    for variant, (done, preempted) in sums.items():
        # A thread that was never interrupted proves nothing.
        ok(not errors[variant] and done and preempted, f'{who}: vector checksum, {variant}: {threads} threads, '
           f'{done} sums right, preempted {preempted} times', errors[variant])


def job_witness(opts, who='guest'):
    """In a guest, and in the host: all the witnesses"""
    openssl(who)
    ssh(who, opts.times)
    vectors(who, opts.threads, opts.seconds)


def job_check(opts):
    """Host alone, guest alone, then both at the same time"""
    job_witness(opts, 'host')

    def guest(name, seconds, beside):
        append = f'quiet pv.job="witness --times {opts.times} --threads {opts.threads} --seconds {seconds}"'
        g = Guest(name, opts, append, initramfs=False)
        until = g.started + opts.timeout
        while g.wait('PV: job ended', until) is None and time.monotonic() < until and g.proc.poll() is None:
            pass
        g.wait(None, min(until, time.monotonic() + 30))
        seen = 0
        for line in g.lines:
            m = re.match(r'(not )?ok \d+ - guest: (.*)', line)
            if m:
                seen += 1
                ok(not m[1], f'guest {beside}: {m[2]}', g.last_words())
        plan = [line for line in g.lines if re.fullmatch(r'1\.\.\d+', line)]
        ok(plan == [f'1..{seen}'] and g.proc.returncode == 0, f'guest {beside}: did all and powered off', g.last_words())
        g.end()

    guest('alone', 5, 'alone')
    # Who loses registers loses them when both want them.
    thread = threading.Thread(target=guest, args=('loaded', opts.seconds, 'beside a busy host'))
    thread.start()
    vectors('host beside a guest', opts.threads, min(opts.seconds, 20), thread.is_alive)
    thread.join()


def job_qemu(opts):
    """kvm-pv-preempt and kvm-pv-tlb-flush on real KVM, and QEMU's own test of them"""
    line = 'Using paravirt steal-time with preempt '
    for value, want in ('on', 'enabled'), ('off', 'disabled'), (None, 'disabled'):
        cpu = opts.guest_cpu + (f',kvm-pv-preempt={value}' if value else '')
        guest = Guest(f'preempt-{value}', opts, '', cpu=cpu)
        until = guest.started + opts.timeout
        good = guest.wait('PV: init', until) and guest.wait(None, until)
        said = [text for text in guest.lines if line in text]
        ok(good and len(said) == 1 and said[0].endswith(line + want),
           f'-cpu {cpu}: the guest says that preempt is {want}', guest.last_words())
        guest.end()
    cpu = f'{opts.guest_cpu},kvm-pv-tlb-flush=on'
    ret = run([QEMU, '-M', f'virt,accel={opts.accel}', '-cpu', cpu, '-m', '1G', '-nodefaults', '-display', 'none', '-S'],
              timeout=60)
    if opts.tlb_flush:
        ok(ret.returncode == 124, f'-cpu {cpu} is accepted by this kernel', ret.stdout)
    else:
        ok(ret.returncode == 1 and
           "CPU feature 'kvm-pv-tlb-flush' is not supported by KVM on this host" in ret.stdout.splitlines()[0],
           f'-cpu {cpu} is refused by name', f'exit status {ret.returncode}\n{ret.stdout}')
        diag(ret.stdout)
    os.makedirs('/tmp/build', exist_ok=True)
    ret = run([sys.executable, f'{PV}/functional/test_loongarch64_kvm_pv.py'], timeout=opts.timeout * 10,
              env=dict(os.environ, PYTHONPATH=f'{PV}/functional', QEMU_TEST_QEMU_BINARY=QEMU,
                       QEMU_BUILD_ROOT='/tmp/build', PYTHONUNBUFFERED='1'))
    ran = set()
    for text in ret.stdout.splitlines():
        m = re.match(r'(not ok|ok) \d+ (?:\S+\.)?(test_\w+)(.*)', text)
        if m:
            ok(m[1] == 'ok', f'QEMU\'s {m[2]}{m[3]}')
            if 'SKIP' not in m[3]:
                ran.add(m[2])
    # What asks for features that the kernel lacks may be skipped; these need KVM alone.
    missing = {'test_defaults', 'test_expansion_tells_the_truth', 'test_host_model', 'test_hotplug'} - ran
    ok(ret.returncode == 0 and not missing, f'QEMU\'s test_loongarch64_kvm_pv.py: {len(ran)} tests ran',
       f'not run: {" ".join(missing)}\n{ret.stdout[-4000:]}')


# Linux's own selftests of KVM: what differs from a plain run of each that the Makefile lists. ARGS: its options here, and
# WHY; SKIP: it may say that it cannot run, and why; any other that says so has failed; LIMITS: so many limits of the others.
SELFTESTS = {
    'loongarch/pmu_test': {'skip': 'no PMU is emulated'},
    # Late, not lost: with 10 ms it passes also when its vCPUs stay where they are (-m 0), which at 100 us it never did.
    'arch_timer': {'args': '-e 10000', 'why': 'at the margin of 100 us it fails at times, with 1 vCPU too; not with 10 ms'},
    # 512 virtual machines, each with 4 vCPUs and 64 threads that all spin on the CPUs of whoever makes the next; no options.
    'hardware_disable_test': {'limits': 3},
}
QUICK = 'loongarch/fpu_test', 'steal_time', 'guest_print_test', 'coalesced_io_test', 'kvm_binary_stats_test'


def selftest(test, limit):
    """Runs one: exit status (124: killed after LIMIT seconds), what it said, seconds"""
    start = time.monotonic()
    args = [f'{PV}/selftests/{test}', *SELFTESTS.get(test, {}).get('args', '').split()]
    with subprocess.Popen(args, start_new_session=True, cwd='/tmp', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as proc:
        try:
            out = proc.communicate(timeout=limit)[0]
            status = proc.returncode
        except subprocess.TimeoutExpired:
            stacks = run(['sh', '-c', f'for t in /proc/{proc.pid}/task/*; do cat $t/comm $t/stat $t/stack; done']).stdout
            os.killpg(proc.pid, signal.SIGKILL)
            out = proc.communicate()[0] + f'\n(killed after {limit} s)\n{stacks}'.encode()
            status = 124
        finally:
            # Its children, if it left any.
            try:
                os.killpg(proc.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return status, out.decode(errors='replace'), time.monotonic() - start


def job_selftests(opts):
    """Each of Linux's selftests of KVM, one after the other"""
    with open(f'{PV}/selftests/list', encoding='ascii') as f:
        tests = [line.strip() for line in f]
    for name in sorted({*SELFTESTS, *QUICK} - {*tests}):
        ok(False, f'{name} is a test of this kernel')
    tests = [t for t in tests if (t in QUICK or not opts.quick) and re.search(opts.regex, t)]
    ok(bool(tests), f'{len(tests)} tests to run')
    say(f'# kernel {os.uname().release}, {os.cpu_count()} CPUs')
    for test in tests:
        if 'args' in SELFTESTS.get(test, {}):
            say(f'# options: {test} {SELFTESTS[test]["args"]}: {SELFTESTS[test]["why"]}')
    for i in range(opts.times):
        for test in tests:
            special = SELFTESTS.get(test, {})
            say(f'# {test} starts')
            status, out, seconds = selftest(test, (opts.limit or 300) * special.get('limits', 1))
            args = f' {special["args"]}' if 'args' in special else ''
            name = f'{test}{args}: {seconds:.1f} s' + (f', time {i + 1} of {opts.times}' if opts.times > 1 else '')
            lines = out.strip().splitlines() or ['said nothing']
            if status == 4:
                # print_skip() says ", skipping test" after the reason and a newline.
                reason = next((line for line in lines if re.search('skip|not supported|not met', line, re.I)), lines[-1])
                ok('skip' in special, name, f'was skipped: {reason}', skip=reason if 'skip' in special else '')
            else:
                ok(status == 0, name, f'exit status {status}\n' + '\n'.join(lines[-60:]) + '\n' + host_words())


def main():
    parser = argparse.ArgumentParser()
    jobs = {name[4:]: function for name, function in globals().items() if name.startswith('job_')}
    parser.add_argument('job', choices=jobs)
    parser.add_argument('--accel', default='kvm')
    parser.add_argument('--guest-cpu', default='la464')
    parser.add_argument('--guest-smp', type=int, default=1)
    parser.add_argument('--guest-memory', default='512M')
    parser.add_argument('--append', default='', help='boot: more words for the guest\'s kernel, blanks as %%20')
    parser.add_argument('--timeout', type=int, default=60, help='of one guest, in seconds of the host')
    parser.add_argument('--count', type=int, default=1)
    parser.add_argument('--limit', type=float, default=0)
    parser.add_argument('--stop', action='store_true', help='boot: end at the first failure')
    parser.add_argument('--times', type=int, default=1)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--guests', type=int, default=1)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--stall', type=int, default=30, help='soak: seconds without progress')
    parser.add_argument('--oversleep', type=int, default=5, help='soak: seconds by which a timer may be late')
    parser.add_argument('--host-load', action='store_true', help='soak: pv-stale also in the host')
    parser.add_argument('--tlb-flush', action='store_true', help='qemu: the host\'s kernel has PV TLB flush')
    parser.add_argument('--regex', default='', help='selftests: only these')
    parser.add_argument('--quick', action='store_true', help='selftests: the five of CI')
    opts = parser.parse_args()
    opts.append = opts.append.replace('%20', ' ')
    if opts.job != 'witness' and opts.accel == 'kvm' and not ok(os.path.exists('/dev/kvm'), 'the host has /dev/kvm',
                                                              host_words()):
        return done()
    jobs[opts.job](opts)
    return done()


sys.exit(main())
