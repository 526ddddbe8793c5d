# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command with a time limit, and leaves nothing of it behind.

mpiexec puts its ranks into sessions of their own, so neither a process group
nor a parent tells who belongs to a command. A variable of the environment does:
each command has its own value, which all its processes inherit.
"""
import glob
import itertools
import os
import re
import shutil
import signal
import subprocess
import time

MARK = 'TORTURE_RUN'  # the variable
OURS = re.compile(r'AMALGAM_|ABT_|MARGO_|HG_')
POLL_S = 0.02
LEFT_S = 3            # how long processes may outlive their launcher
STACKS_S = 20         # for gdb, per process
COARSE_S = 0.1        # the clock of file systems stands behind
SAID = ('torture: FINDING', 'Sanitizer: ', 'Sanitizer:DEADLYSIGNAL',
        'runtime error: ', 'internal error: ', 'Assertion ')
numbers = itertools.count()


def processes(mark):
    """Living processes with the mark."""
    wanted = ('%s=%s' % (MARK, mark)).encode()
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as file:
                if wanted in file.read().split(b'\0'):
                    found.append(int(path.split('/')[2]))
        except OSError:
            pass  # has ended, or belongs to another user
    return found


def files_of(pids):
    """Files of /dev/shm that these processes have mapped or open."""
    found = set()
    for pid in pids:
        try:
            with open('/proc/%d/maps' % pid) as maps:
                found |= set(re.findall(r'/dev/shm/[^\n]*', maps.read()))
            for fd in glob.glob('/proc/%d/fd/*' % pid):
                found.add(os.readlink(fd))
        except OSError:
            pass
    return {path for path in found if path.startswith('/dev/shm/')}


def stacks(pids):
    """Stacks of all threads, where there is a gdb."""
    if shutil.which('gdb') is None:
        return ''
    text = ''
    for pid in pids:
        try:
            done = subprocess.run(
                ['gdb', '-p', str(pid), '-batch', '-nx', '-ex',
                 'thread apply all bt 25'], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=STACKS_S)
        except subprocess.TimeoutExpired:
            continue
        lines = done.stdout.decode(errors='replace').splitlines()
        text += 'process %d\n' % pid + ''.join(
            line + '\n' for line in lines
            if line.startswith(('#', 'Thread')))
    return text


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Launch:
    """A command that has ended: `code`, None: at its time limit; `text`: what
    it wrote; `left`: processes that outlived its launcher."""

    def __init__(self, words, limit_s, path):
        self.mark = '%d.%d' % (os.getpid(), next(numbers))
        self.begin = time.time()
        env = {name: value for name, value in os.environ.items()
               if not OURS.match(name)}
        env.setdefault('HWLOC_PLUGINS_PATH', '/nowhere')
        env[MARK] = self.mark
        self.files = set()
        self.left = []
        # Apart, as lines of several ranks mix on their way: only rank 0 writes
        # to stdout.
        with open(path, 'wb') as said, open(path + '.err', 'w+b') as output:
            child = subprocess.Popen(
                words, env=env, stdin=subprocess.DEVNULL, stdout=said,
                stderr=output, start_new_session=True)
            try:
                self.code = self.wait(child, limit_s)
                if self.code is None:
                    output.write(stacks(processes(self.mark)).encode())
                self.wait_for_others()
            finally:
                self.clean(child)
        with open(path, errors='replace') as said:
            self.text = said.read()
        with open(path + '.err', errors='replace') as output, open(
                path, 'a') as both:
            self.text += output.read()
            both.seek(0)
            both.truncate()
            both.write(self.text)
        os.unlink(path + '.err')
        self.seconds = time.time() - self.begin

    def wait(self, child, limit_s):
        """The exit code of the launcher, or None."""
        look = self.begin + 1
        while time.time() < self.begin + limit_s:
            if child.poll() is not None:
                return child.returncode
            if time.time() > look:
                self.files |= files_of(processes(self.mark))
                look = time.time() + 2
            time.sleep(POLL_S)
        return None

    def wait_for_others(self):
        """Processes that end just after their launcher are no fault."""
        until = time.time() + LEFT_S
        self.left = processes(self.mark)
        while self.left and time.time() < until and self.code is not None:
            time.sleep(POLL_S)
            self.left = processes(self.mark)

    def clean(self, child):
        """Ends what still lives, and removes files that it left."""
        for _ in range(100):
            pids = processes(self.mark)
            if child.poll() is not None and not pids:
                break
            self.files |= files_of(pids)
            end(pids)
            time.sleep(POLL_S)
        for path in self.files:
            try:
                if os.stat(path).st_ctime > self.begin - COARSE_S:
                    os.unlink(path)
            except OSError:
                pass

    def seeds(self):
        """Seeds that ended well, and their calls."""
        return {int(seed): int(calls) for seed, calls in re.findall(
            r'^torture: seed (\d+) calls (\d+) ok', self.text, re.M)}

    def fault(self, wanted):
        """What is wrong, in a line; None: nothing. `wanted` seeds must have
        said that they are well."""
        said = next((line for line in self.text.splitlines()
                     if any(mark in line for mark in SAID)), None)
        if self.code == 77 and not said:
            return None
        if said:
            return said.strip()[:300]
        if self.code is None:
            return 'the launch did not end within its time limit'
        if self.code != 0:
            last = self.text.strip().splitlines()[-1:] or ['nothing was said']
            return 'exit code %d: %s' % (self.code, last[0][:200])
        if self.left:
            return '%d processes outlived their launcher' % len(self.left)
        missing = set(wanted) - set(self.seeds())
        if missing:
            return 'nothing is said of seed %d' % min(missing)
        return None
