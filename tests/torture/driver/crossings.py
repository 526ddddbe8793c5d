# SPDX-License-Identifier: BSD-3-Clause
"""Crossings: triples of a kind of traffic, a copy path, and a state of credits.

The programs count those that they visit. Faults stand where two rare things
meet, so the driver prefers seeds from which it expects triples that were not
visited, by what runs with the same choices visited before.
"""
import collections
import re

LINE = re.compile(r'^torture: crossings (.*)$', re.M)
ENTRY = re.compile(r'([^\s:=]+):([^\s:=]+):([^\s:=]+)=(\d+)')
FEW = 5  # visits that make a triple a common one


def of(text):
    """Triples and counts in the output of a program."""
    counts = collections.Counter()
    for line in LINE.findall(text):
        for *triple, count in ENTRY.findall(line):
            counts[tuple(triple)] += int(count)
    return counts


class Crossings:
    """Visits of all runs. `parts` has for each choice (a variable and its
    value, a transport ...) in how many runs each part of a triple was seen."""

    def __init__(self, path):
        self.path = path
        self.counts = collections.Counter()
        self.runs = collections.Counter()
        self.parts = collections.defaultdict(collections.Counter)
        try:
            with open(path) as lines:
                for line in lines:
                    *triple, count = line.split()
                    self.counts[tuple(triple)] += int(count)
        except FileNotFoundError:
            pass

    def add(self, choices, counts):
        parts = {part for triple in counts for part in enumerate(triple)}
        self.counts.update(counts)
        for choice in choices:
            self.runs[choice] += 1
            self.parts[choice].update(parts)

    def write(self):
        with open(self.path, 'w') as file:
            for triple, count in sorted(self.counts.items()):
                file.write('%s %d\n' % (' '.join(triple), count))

    def values(self):
        """Kinds, paths and states of credits that were ever seen."""
        return [sorted({triple[part] for triple in self.counts})
                for part in range(3)]

    def missing(self):
        kinds, paths, credits = self.values()
        return [(kind, path, state) for kind in kinds for path in paths
                for state in credits if not self.counts[kind, path, state]]

    def chance(self, part, choices):
        """Of seeing a part of a triple: a choice that makes it likely decides,
        as the same run may have other choices that were never beside it."""
        return max([(self.parts[choice][part] + 0.5) / (self.runs[choice] + 1)
                    for choice in choices if self.runs[choice]], default=0.5)

    def worth(self, choices):
        """How many rare triples a run with these choices may visit."""
        values = self.values()
        chances = [{value: self.chance((part, value), choices)
                    for value in values[part]} for part in range(3)]
        total = 0
        for kind, first in chances[0].items():
            for path, second in chances[1].items():
                for state, third in chances[2].items():
                    visits = self.counts[kind, path, state]
                    if visits < FEW:
                        total += first * second * third / (1 + visits)
        return total

    def report(self):
        """Lines: numbers, then what was never visited. A path and a state of
        credits that were never together stand in one line for all kinds."""
        missing = self.missing()
        kinds = self.values()[0]
        lines = ['crossings: %d triples visited, %d not, %d visits' % (
            len(self.counts), len(missing), sum(self.counts.values()))]
        of_pair = collections.defaultdict(set)
        for kind, path, state in missing:
            of_pair[path + ':' + state].add(kind)
        never = [pair for pair in sorted(of_pair)
                 if len(of_pair[pair]) == len(kinds)]
        if never:
            lines.append('  never together: ' + ' '.join(never))
        for kind in kinds:
            rest = [pair for pair in sorted(of_pair)
                    if pair not in never and kind in of_pair[pair]]
            if rest:
                lines.append('  never visited: %s with %s' % (
                    kind, ' '.join(rest)))
        return lines
