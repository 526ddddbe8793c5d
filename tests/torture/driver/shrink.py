# SPDX-License-Identifier: BSD-3-Clause
"""Cuts a failing command down to what its fault needs.

Threads make a fault come and go: a cut is kept if one of some runs still fails,
so a fault that needs what was cut stays found, and one that is rare may keep
more than it needs.
"""
import os
import re
import shlex
import tempfile

from . import draw, launch

PARTS_MOST = 256    # of a plan
CALLS = 300         # of each rank, where the command does not say
NUMBERS = {         # options, and their least values
    '--threads': 1, '--contexts': 1, '--classes': 1, '--rounds': 1}
SETTINGS = re.compile(r'(AMALGAM|ABT|MARGO|HG)_\w+$')


class Case:
    """A command in parts: environment, launcher, program, options."""

    def __init__(self, words):
        self.env = {}
        self.before = list(words)
        if self.before[:1] == ['env']:
            self.before.pop(0)
        while self.before and re.match(r'[A-Za-z_]\w*=', self.before[0]):
            name, _, value = self.before.pop(0).partition('=')
            self.env[name] = value
        first = next((i for i, word in enumerate(self.before)
                      if word.startswith('--')), len(self.before))
        if first == 0 or (len(self.before) - first) % 2:
            raise SystemExit('--shrink: no command with a program and '
                             '"--option value" pairs: %s' % shlex.join(words))
        rest = self.before[first:]
        self.options = dict(zip(rest[::2], rest[1::2]))
        del self.before[first:]

    def words(self):
        words = ['env'] + ['%s=%s' % pair for pair in self.env.items()]
        words += self.before
        for pair in self.options.items():
            words += pair
        return words

    def copy(self):
        return Case(self.words())

    def with_option(self, name, value):
        other = self.copy()
        other.options[name] = value
        return other

    def seeds(self):
        first, _, last = self.options['--seed'].partition(':')
        return range(int(first), int(last or first) + 1)

    def ranks(self):
        if '-n' in self.before:
            return int(self.before[self.before.index('-n') + 1])
        return int(self.options.get('--fork', 1))

    def with_ranks(self, ranks):
        other = self.copy()
        if '-n' in other.before:
            other.before[other.before.index('-n') + 1] = str(ranks)
        else:
            other.options['--fork'] = str(ranks)
        return other

    def masks(self):
        """Bits of each mask of the program, all known to it where no option
        says which."""
        known = draw.MASKS.get(os.path.basename(self.before[-1]),
                               draw.MASKS['torture_hg'])
        for name, count in known.items():
            every = (1 << count) - 1
            given = int(self.options.get('--' + name, '0'), 0)
            yield '--' + name, [bit for bit in range(count)
                                if (given & every or every) >> bit & 1]


class Shrink:
    """The smallest command so far, in `case`."""

    def __init__(self, words, tries, say):
        self.case = Case(words)
        self.tries = tries
        self.say = say
        self.launches = 0
        self.text = ''  # what the last failing run said

    def fault(self, case):
        """The line of one run's fault, or None."""
        seed_s = draw.SEED_S + draw.RANK_S * case.ranks()
        limit_s = seed_s + len(case.seeds()) * (
            int(case.options.get('--limit', draw.LIMIT_S)) + seed_s)
        self.launches += 1
        with tempfile.TemporaryDirectory() as folder:
            done = launch.Launch(case.words(), limit_s,
                                 os.path.join(folder, 'output'))
        if done.code == 2:
            return None  # not understood
        fault = done.fault(case.seeds())
        if fault is not None:
            self.text = done.text
        return fault

    def attempt(self, case, what):
        """Keeps `case` if it still fails."""
        for _ in range(self.tries):
            fault = self.fault(case)
            if fault is not None:
                self.case = case
                self.say('%s: still fails: %s' % (what, fault))
                return True
        self.say('%s: does not fail' % what)
        return False

    def seeds(self):
        seeds = self.case.seeds()
        for seed in seeds if len(seeds) > 1 else ():
            other = self.case.with_option('--seed', str(seed))
            if self.attempt(other, 'seed %d alone' % seed):
                return

    def parts(self):
        part, of = self.case.options.get('--plan-part', '0/1').split('/')
        part, of = int(part), int(of)
        while of < PARTS_MOST:
            of *= 2
            for half in (2 * part, 2 * part + 1):
                value = '%d/%d' % (half, of)
                other = self.case.with_option('--plan-part', value)
                if self.attempt(other, 'part %s of the plan' % value):
                    part = half
                    break
            else:
                return

    def masks(self):
        for name, bits in self.case.masks():
            for bit in bits if len(bits) > 1 else ():
                if len(dict(self.case.masks())[name]) == 1:
                    break
                rest = set(dict(self.case.masks())[name]) - {bit}
                self.attempt(self.case.with_option(
                    name, '0x%x' % sum(1 << other for other in rest)),
                    'without bit %d of %s' % (bit, name))

    def environment(self):
        for name in [name for name in self.case.env if SETTINGS.match(name)]:
            other = self.case.copy()
            del other.env[name]
            self.attempt(other, 'without ' + name)

    def ranks(self):
        for ranks in range(1, self.case.ranks()):
            if ranks > 4 and ranks != self.case.ranks() // 2:
                continue
            if self.attempt(self.case.with_ranks(ranks), '%d ranks' % ranks):
                return

    def calls(self):
        calls = int(self.case.options.get('--calls', CALLS))
        while calls > 1 and self.attempt(self.case.with_option(
                '--calls', str(calls // 2)), '%d calls' % (calls // 2)):
            calls //= 2

    def numbers(self):
        for name, least in NUMBERS.items():
            if self.case.options.get(name) != str(least):
                self.attempt(self.case.with_option(name, str(least)),
                             '%s %d' % (name, least))

    def run(self):
        """True if the command failed at all, and so was cut down."""
        faults = [self.fault(self.case) for _ in range(self.tries)]
        count = sum(fault is not None for fault in faults)
        self.say('fails in %d of %d runs' % (count, self.tries))
        if count == 0:
            return False
        before = None
        while before != self.case.words():
            before = self.case.words()
            for step in (self.seeds, self.parts, self.masks, self.environment,
                         self.ranks, self.calls, self.numbers):
                step()
        self.say('%d launches; what is left:' % self.launches)
        self.say(shlex.join(self.case.words()))
        return True
