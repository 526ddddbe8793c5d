#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Prints the statistics of Margo's monitoring as tables, with a verdict: which
# RPC takes the time, whether its calls are queued or run, which caller makes
# them, and which pool is overloaded.
import json
import os
import sys

USAGE = '''margo-stats FILE

Prints the statistics that Margo's monitoring wrote, PREFIX.HOST.PID.stats.json
or a dump, as tables, with a verdict: which RPC takes the time, whether its calls
are queued or run, which caller makes them, and which pool is overloaded. Pools
are known if the time series, PREFIX.HOST.PID.series.json, is beside FILE.

Exit code: 0; 1: FILE cannot be read or has no statistics; 2: invalid arguments.
'''
SHOWN_MAX = 10     # rows of a table
NO_PROVIDER = 65535
SHARE_MUCH = 0.5   # of a sum: worth a sentence
# A shorter wait in a pool is no sign of a queue: a round of the progress loop
# and a switch of threads take some microseconds.
QUEUED_MUCH_S = 1e-4
QUEUED_SHARE = 0.3  # less of the waits is in the pool: the answers are slow
# A pool is overloaded if, on average, so many threads are ready and do not run.
# One of them may be new: created by the progress loop that samples the pool.
READY_MANY = 2


class Row:
    """Calls of one RPC, or of one caller; times in seconds."""
    calls = run = run_max = queued = queued_max = 0
    # Parts of `run`: waits for calls that the handlers make, for bulk
    # transfers, and for the answers to leave.
    nested = bulk = answers = 0

    def add(self, run, queued):
        self.calls += run['num']
        self.run += run['sum']
        self.run_max = max(self.run_max, run['max'])
        self.queued += queued['sum']
        self.queued_max = max(self.queued_max, queued['max'])

    def time(self):
        return self.run + self.queued

    def each(self, time):
        return text_of(time / self.calls)


def text_of(seconds):
    for unit in ('s', 'ms'):
        if seconds >= 1:
            break
        seconds *= 1000
    else:
        unit = 'us'
    return '%.3g %s' % (seconds, unit) if seconds < 100 else \
        '%.0f %s' % (seconds, unit)


def numbers(operation, measure):
    """A set of numbers of an operation; all 0 if the file has none."""
    return {'num': 0, 'sum': 0, 'max': 0, **operation.get(measure, {})}


def name_of(rpc):
    """"write", or "write:3" of provider 3."""
    provider = rpc['provider_id']
    return rpc['name'] + ('' if provider == NO_PROVIDER else ':%d' % provider)


def bulk_waits(bulk):
    return sum(numbers(transfers.get('itransfer_wait', {}), 'duration')['sum']
               for title, transfers in bulk.items()
               if title.startswith(('pull from ', 'push to ')))


class Report:
    def __init__(self, stats, series):
        self.served = {}   # by RPC: calls that came here
        self.callers = {}  # the same calls, by address
        self.made = {}     # by RPC and target: calls made here
        self.pools = {}    # name: (ready threads, all threads) of each point
        self.has_series = series is not None
        rpcs = stats['rpcs'].values()
        names = {(rpc['rpc_id'], rpc['provider_id']): name_of(rpc)
                 for rpc in rpcs if rpc['name'] != ''}
        for rpc in rpcs:
            for title, peer in rpc.get('target', {}).items():
                self.add_served(name_of(rpc), title, peer)
        for rpc in rpcs:
            parent = names.get((rpc['parent_rpc_id'],
                                rpc['parent_provider_id']))
            for title, peer in rpc.get('origin', {}).items():
                self.add_made(name_of(rpc), title, peer, parent)
        for name, pool in (series or {}).get('pools', {}).items():
            if pool['size']:
                self.pools[name] = pool['size'], pool['total_size']

    def add_served(self, name, title, peer):
        ult = peer.get('ult', {})
        run = numbers(ult, 'duration')
        if run['num'] == 0:
            return
        for table, key in ((self.served, name),
                           (self.callers, title.replace('received from ', ''))):
            row = table.setdefault(key, Row())
            row.add(run, numbers(ult, 'relative_timestamp_from_handler_start'))
            row.bulk += bulk_waits(peer.get('bulk', {}))
            row.answers += numbers(peer.get('irespond_wait', {}),
                                   'duration')['sum']

    def add_made(self, name, title, peer, parent):
        wait = numbers(peer.get('iforward_wait', {}), 'duration')
        run = numbers(peer.get('forward', {}), 'duration')
        if run['num'] == 0:  # a file of Margo itself
            run = wait
        if run['num'] == 0:
            return
        self.made.setdefault(name + ' at ' + title.replace('sent to ', ''),
                             Row()).add(run, numbers({}, ''))
        if parent in self.served:
            self.served[parent].nested += wait['sum']


def ordered(table):
    return sorted(table.items(), key=lambda item: -item[1].time())


def total(table):
    return sum(row.time() for row in table.values()) or 1e-9


def table_print(title, table, has_queue):
    if not table:
        return
    line = '%-40s %8s %9s %6s %9s %9s' + (' %9s %9s' if has_queue else '')
    print(line % ((title, 'calls', 'time', 'share') + (
        ('queued', 'at most', 'running', 'at most') if has_queue
        else ('each', 'at most'))))
    for key, row in ordered(table)[:SHOWN_MAX]:
        queue = (row.each(row.queued), text_of(row.queued_max))
        print(line % (
            (key, row.calls, text_of(row.time()),
             '%.0f %%' % (100 * row.time() / total(table)))
            + (queue if has_queue else ())
            + (row.each(row.run), text_of(row.run_max))))
    if len(table) > SHOWN_MAX:
        print('and %d more, with less time' % (len(table) - SHOWN_MAX))
    print()


def mean(values):
    return sum(values) / len(values)


def pools_print(pools):
    if pools:
        print('%-40s %8s %9s %9s %9s %9s' % (
            'pools: threads', 'points', 'ready', 'at most', 'all', 'at most'))
    for name, (ready, every) in pools.items():
        print('%-40s %8d %9.1f %9d %9.1f %9d' % (
            name, len(ready), mean(ready), max(ready), mean(every), max(every)))
    if pools:
        print()


def served_judge(served):
    name, row = ordered(served)[0]
    print('- %s takes most of the time of the calls served here: %.0f %% of %s.'
          % (name, 100 * row.time() / total(served), text_of(total(served))))
    wait, what = max((row.nested, 'for calls that they make'),
                     (row.bulk, 'for bulk transfers'))
    run = max(0, row.run - row.nested - row.bulk - row.answers)
    # A handler waits behind other threads before it begins, and once more when
    # its answer has left.
    behind = row.queued + row.answers
    if behind > max(run, wait, QUEUED_MUCH_S * row.calls):
        if row.queued >= QUEUED_SHARE * behind:
            print('- Its calls are queued: on average they wait %s in the pool, '
                  'and %s more until\n  their answers leave. More streams for '
                  'that pool, or shorter handlers, would help.'
                  % (row.each(row.queued), row.each(row.answers)))
        else:
            print('- Its handlers wait until their answers leave: %s of the %s '
                  'that they take on\n  average.'
                  % (row.each(row.answers), row.each(row.run)))
    elif run >= wait:
        print('- Its calls run: %s on average, after %s in the pool.'
              % (row.each(run), row.each(row.queued)))
    else:
        print('- Its handlers wait %s: %s of the %s that they take\n  on '
              'average.' % (what, row.each(wait), row.each(row.run)))


def callers_judge(callers):
    name, row = ordered(callers)[0]
    share = row.time() / total(callers)
    if len(callers) == 1:
        print('- All calls came from %s.' % name)
    elif share >= SHARE_MUCH:
        print('- One caller causes most of that time: %s, %.0f %%.'
              % (name, 100 * share))
    else:
        print('- No caller stands out: the first of %d, %s, causes %.0f %%.'
              % (len(callers), name, 100 * share))


def pools_judge(report):
    if not report.pools:
        print('- Pools are unknown: the time series %s.' % (
            'has no points' if report.has_series else 'is not beside FILE'))
        return
    name, (ready, _) = max(report.pools.items(), key=lambda x: mean(x[1][0]))
    print(('- Pool %s is overloaded: on average %.1f threads are ready, and do '
           'not run.' if mean(ready) >= READY_MANY else
           '- No pool is overloaded: in the fullest, %s, on average %.1f '
           'threads are ready.') % (name, mean(ready)))


def report_print(report):
    table_print('RPCs served here', report.served, True)
    table_print('callers of these', report.callers, True)
    table_print('calls made here', report.made, False)
    pools_print(report.pools)
    print('Verdict')
    if report.served:
        served_judge(report.served)
        callers_judge(report.callers)
        pools_judge(report)
    if report.made:
        name, row = ordered(report.made)[0]
        print('- Of the calls made here, %s takes %.0f %% of the time, %s each.'
              % (name, 100 * row.time() / total(report.made),
                 row.each(row.run)))
    if not report.served and not report.made:
        print('- No call was served or made here.')


def file_read(path):
    """The statistics, and the series or None."""
    with open(path, encoding='utf-8') as file:
        document = json.load(file)
    if 'stats' in document or 'series' in document:  # a dump
        return document.get('stats', {}), document.get('series')
    if 'pools' in document:
        raise ValueError('this is the time series; give the .stats.json')
    beside = path.replace('.stats.json', '.series.json')
    if beside == path or not os.path.exists(beside):
        return document, None
    with open(beside, encoding='utf-8') as file:
        return document, json.load(file)


def main(args):
    if args in (['-h'], ['--help']):
        print(USAGE, end='')
        return 0
    if len(args) != 1 or args[0].startswith('-') or args[0] == '':
        print(USAGE, end='', file=sys.stderr)
        return 2
    try:
        stats, series = file_read(args[0])
        report = Report(stats, series)
    except OSError as error:
        print('margo-stats: %s' % error, file=sys.stderr)
        return 1
    except ValueError as error:
        print('margo-stats: %s: %s' % (args[0], error), file=sys.stderr)
        return 1
    except (AttributeError, KeyError, TypeError):
        print('margo-stats: %s: no statistics of Margo' % args[0],
              file=sys.stderr)
        return 1
    print('process %s on %s, %s\n' % (stats.get('pid', '?'),
                                      stats.get('hostname', '?'),
                                      stats.get('address', '?')))
    report_print(report)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
