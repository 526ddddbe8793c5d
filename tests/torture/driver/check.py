#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The driver of torture, with an invented program: what fails is found, its
command repeats it, --shrink cuts it down to its cause, and nothing is left of
a launch that never ends."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(os.path.dirname(HERE), 'run')
sys.path.insert(0, os.path.dirname(HERE))
from driver import coverage, crossings  # noqa: E402

# Seeds 10 to 19 fail if call 190 of 300 and operation 2 are in the plan, by
# copies through the segment, with two ranks or more. With AMALGAM_WAIT=sleep
# the program never ends, nor does a process of it in another session.
PROGRAM = r'''#!/bin/bash
plan_part=0/1 ops=0x3fff
while [ $# -gt 0 ]; do
    name=${1#--}
    declare "${name//-/_}=$2"
    shift 2
done
if [ "${AMALGAM_WAIT:-}" = sleep ]; then
    exec 3>"/dev/shm/amalgam-check-$CHECK"
    setsid sleep 1000 &
    sleep 1000
fi
at=${plan_part%/*} of=${plan_part#*/}
for ((s = ${seed%:*}; s <= ${seed#*:}; s++)); do
    if [ "${AMALGAM_SHM_COPY:-}" = segment ] &&
        ((s >= 10 && s < 20 && ops & 4 && fork >= 2 &&
            190 >= 300 * at / of && 190 < 300 * (at + 1) / of)); then
        echo "torture: FINDING seed $s rank 1: call 190 is lost"
        exit 1
    fi
    echo "torture: seed $s calls 300 ok"
done
echo "torture: crossings call:segment:one=300 pull:auto:few=2"
'''
SEGMENT = 'AMALGAM_SHM_COPY=segment'


class Check:
    """A build whose only program is the invented one."""

    def __init__(self, folder):
        self.folder = folder
        self.build = os.path.join(folder, 'build')
        self.failed = False
        programs = os.path.join(self.build, 'tests/torture')
        os.makedirs(programs)
        with open(os.path.join(self.build, 'CMakeCache.txt'), 'w') as file:
            file.write('AMALGAM_MPI:BOOL=OFF\nAMALGAM_OFI:BOOL=OFF\n')
        self.program = os.path.join(programs, 'torture_hg')
        with open(self.program, 'w') as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)
        os.environ['CHECK'] = str(os.getpid())

    def that(self, holds, what, text=''):
        if not holds:
            self.failed = True
            print('FAILED: %s\n%s' % (what, text))

    def run(self, code, *words):
        """Output of a command that has to end with `code`."""
        done = subprocess.run(words, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=100)
        text = done.stdout.decode()
        self.that(done.returncode == code, 'exit code %d, not %d, of %s' % (
            done.returncode, code, shlex.join(words)), text)
        return text

    def drive(self, code, *words):
        """The driver, with what all runs here have in common."""
        only = ['--only=' + pair for pair in (
            'transport=na+sm', 'ranks=3', 'place=plain', 'AMALGAM_WAIT=')]
        return self.run(code, RUN, '--build', self.build, *only, *words)

    def finds_and_repeats(self):
        text = self.drive(1, '--seed', '7', '--runs', '5', '--only', SEGMENT,
                          '--only=--ops=0x3f', '--only=AMALGAM_CREDITS=2')
        commands = re.findall('repeat it by: (.*)', text)
        self.that(len(commands) == 4 and '4 findings' in text and
                  'found 4 times: torture: FINDING seed N rank N: ' in text,
                  'four launches have seeds from 10 to 19', text)
        kept = re.search('its output: (.*)', text).group(1)
        with open(kept) as file:
            self.that(file.readline().strip() == commands[0],
                      'a kept output begins with its command')
        self.that('call 190 is lost' in self.run(
            1, *shlex.split(commands[0])), 'the command repeats the finding')
        return commands[0]

    def shrinks(self, command):
        text = self.run(0, RUN, '--tries', '1', '--shrink',
                        *shlex.split(command))
        words = shlex.split(text.splitlines()[-1])
        settings = [word for word in words
                    if word.startswith(('AMALGAM', 'ABT'))]
        self.that(settings == [SEGMENT], 'one variable is left', text)
        for pair in (('--ops', '0x4'), ('--fork', '2'), ('--seed', '10'),
                     ('--threads', '1')):
            self.that(pair in zip(words, words[1:]), '%s %s' % pair, text)
        part = re.search(r'--plan-part (\d+)/256', text.splitlines()[-1])
        self.that(part and int(part.group(1)) == 256 * 190 // 300,
                  'the part of the plan with the call', text)
        self.run(1, *words)
        self.that('fails in 0 of 1' in self.run(
            1, RUN, '--tries', '1', '--shrink', self.program, '--seed', '1'),
            'what does not fail is not cut')

    def is_content(self):
        text = self.drive(0, '--seed', '100', '--runs', '4', '--jobs', '2')
        self.that('12 seeds, 3600 calls, 0 findings' in text and
                  'crossings: 2 triples visited, 6 not' in text and
                  'never together: auto:one segment:few' in text,
                  'a report of runs without a finding', text)
        self.that(not [name for name in os.listdir(self.build)
                       if name.startswith('torture-')
                       and name not in self.kept],
                  'nothing is kept of runs without a finding')
        self.run(77, RUN, '--build', self.build, '--runs', '1', '--only',
                 'program=torture_margo', '--only', 'transport=mpi')

    def ends_what_stands(self):
        text = self.drive(1, '--runs', '1', '--only', 'limit=1',
                          '--only=AMALGAM_WAIT=sleep')
        self.that('did not end within its time limit' in text,
                  'a launch has a limit', text)
        self.that(not os.path.exists('/dev/shm/amalgam-check-%d' % os.getpid()),
                  'no file is left')
        for pid in os.listdir('/proc'):
            try:
                with open('/proc/%s/environ' % pid, 'rb') as file:
                    is_ours = b'CHECK=%d\0' % os.getpid() in file.read()
            except OSError:
                continue
            self.that(not is_ours, 'process %s is left' % pid)

    def steers(self):
        seen = crossings.Crossings(os.path.join(self.folder, 'crossings'))
        for _ in range(9):
            seen.add({'A=1', 'B=1'}, {('call', 'segment', 'one'): 9})
            seen.add({'A=2', 'B=1'}, {('call', 'segment', 'few'): 9})
            seen.add({'A=2', 'B=2'}, {('pull', 'segment', 'few'): 9})
        self.that('  never visited: pull with segment:one' in seen.report(),
                  'what is reported', '\n'.join(seen.report()))
        self.that(seen.missing() == [('pull', 'segment', 'one')],
                  'what was never visited')
        self.that(seen.worth({'A=1', 'B=2'}) > seen.worth({'A=1', 'B=1'}) and
                  seen.worth({'A=1', 'B=2'}) > seen.worth({'A=2', 'B=2'}),
                  'the choices that lead there are preferred')
        seen.write()
        self.that(crossings.Crossings(seen.path).counts == seen.counts,
                  'crossings are read back')

    def covers(self):
        """Lines of a file of two functions, of which one is called."""
        if shutil.which('gcc') is None or shutil.which('gcov') is None:
            return
        source = os.path.join(self.folder, 'src')
        objects = os.path.join(self.build, 'src')
        os.makedirs(source)
        os.makedirs(objects)
        with open(os.path.join(source, 'two.c'), 'w') as file:
            file.write('int one(int a)\n{\n    return a + 1;\n}\n'
                       'int main(void)\n{\n    return 0;\n}\n')
        self.run(0, 'gcc', '--coverage', '-o', os.path.join(objects, 'two'),
                 os.path.join(source, 'two.c'))
        self.run(0, os.path.join(objects, 'two'))
        lines = os.path.join(self.folder, 'lines')
        build = types.SimpleNamespace(root=self.folder, folder=self.build)
        text = '\n'.join(coverage.report(build, lines))
        with open(lines) as file:
            missed = file.read()
        self.that('50.0 %' in text and 'never reached: 1 3\n' in missed,
                  'lines that were not reached', text + '\n' + missed)

    def all(self):
        command = self.finds_and_repeats()
        self.kept = [name for name in os.listdir(self.build)
                     if name.startswith('torture-')]
        self.shrinks(command)
        self.is_content()
        self.ends_what_stands()
        self.steers()
        self.covers()


with tempfile.TemporaryDirectory() as temporary:
    check = Check(temporary)
    check.all()
sys.exit(check.failed)
