# SPDX-License-Identifier: BSD-3-Clause
"""Lines of the library that ran, from the counts of a build with gcov."""
import collections
import json
import os
import subprocess

FOLDERS = ('src/', 'mpi_backend/', 'ofi_backend/')
FILES_PER_CALL = 32  # of gcov


def found(build, suffix):
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(build.folder, folder)):
            for name in names:
                if name.endswith(suffix):
                    yield os.path.join(path, name)


def reset(build):
    for path in list(found(build, '.gcda')):
        os.unlink(path)


def count(build):
    """{file: {line: times}} of all files of the library."""
    lines = collections.defaultdict(collections.Counter)
    notes = sorted(found(build, '.gcno'))
    for first in range(0, len(notes), FILES_PER_CALL):
        done = subprocess.run(
            ['gcov', '--json-format', '--stdout'] +
            notes[first:first + FILES_PER_CALL], cwd=build.folder,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        for text in done.stdout.splitlines():
            unit = json.loads(text)
            for file in unit['files']:
                path = os.path.relpath(os.path.normpath(os.path.join(
                    unit['current_working_directory'], file['file'])),
                    build.root)
                if path.startswith(FOLDERS):
                    for line in file['lines']:
                        lines[path][line['line_number']] += line['count']
    return lines


def ranges(numbers):
    """1 2 3 7 -> 1-3 7"""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ' '.join('%d-%d' % (first, last) if first < last else str(first)
                    for first, last in runs)


def share(reached, total):
    return '%5.1f %%  %d of %d lines' % (100 * reached / max(1, total),
                                         reached, total)


def report(build, path):
    """Lines of the summary by folder; writes lines never reached to `path`."""
    lines = count(build)
    total, reached = collections.Counter(), collections.Counter()
    with open(path, 'w') as file:
        for name in sorted(lines):
            folder = os.path.dirname(name)
            missed = [line for line, times in lines[name].items() if not times]
            for key in (folder, 'all'):
                total[key] += len(lines[name])
                reached[key] += len(lines[name]) - len(missed)
            file.write('%s: %s\n' % (name, share(
                len(lines[name]) - len(missed), len(lines[name]))))
            if missed:
                file.write('    never reached: %s\n' % ranges(missed))
    return ['coverage by line (%s lists the lines never reached):' % path] + [
        '  %-16s %s' % (folder, share(reached[folder], total[folder]))
        for folder in sorted(total)]
