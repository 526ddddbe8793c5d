# SPDX-License-Identifier: BSD-3-Clause
"""What a seed draws: program, transport, ranks, environment, and options.

Each choice is a function of the seed and of its own name alone, so a new
variable changes no other choice of a seed, and no run depends on earlier ones.
"""
import os
import random
import shlex

LAUNCH = 'tests/processes/launch'
PROGRAMS = ('torture_hg', 'torture_margo', 'torture_thallium')
SEEDS_PER_LAUNCH = 3  # a launch of MPI costs as much as one or two of them
LIMIT_S = 40          # nothing stands still longer; more with many ranks
SEED_S = 60           # for a seed that moves on; to start and end the ranks
RANK_S = 10           # more for each rank, as many share a core
MANY_RANKS = 6        # more make few calls each

# Transport: who starts its ranks (mpiexec, or the program itself by fork()),
# and whether these may be on pretended nodes: no, maybe, or always.
TRANSPORTS = {
    'shm': ('mpiexec', 'no'),
    'auto': ('mpiexec', 'maybe'),
    'mpi': ('mpiexec', 'maybe'),
    'mpi+p2p': ('mpiexec', 'maybe'),
    'mpi+rma': ('mpiexec', 'maybe'),
    'ofi+tcp': ('mpiexec', 'always'),
    'na+sm': ('fork', 'no'),
    'tcp': ('fork', 'no'),
    'self': ('fork', 'no'),
}

# Values of the environment. None leaves the variable out; a value that stands
# twice is drawn twice as often. Small credits and messages make states common
# that the defaults reach once in a thousand calls.
ENVIRONMENT = {
    'AMALGAM_PROGRESS': [None, 'caller', 'caller', 'assist', 'thread',
                         'thread', 'caller'],
    'AMALGAM_WAIT': [None, None, None, 'spin', 'sleep', 'sleep'],
    'AMALGAM_SPIN_US': [None, None, None, '0', '2000'],
    'AMALGAM_CREDITS': [None, '1', '1', '2', '3', '8', '64', '1024'],
    'AMALGAM_MESSAGE_BYTES': [None, None, '256', '256', '512', '1000',
                              '65536'],
    'AMALGAM_PACK_BYTES': [None, None, '0', '128', '1000'],
    'AMALGAM_AGGREGATE': [None, None, 'node'],
    'AMALGAM_FRAGMENT_BYTES': [None, None, '1024', '4096', '65537',
                               '1073741824'],
    'AMALGAM_POOL_BYTES': [None, None, None, '0', '65536'],
    'AMALGAM_MAX_PENDING_BYTES': [None, None, None, '0', '1000', '100000'],
    'AMALGAM_MAX_REQUEST_BYTES': [None, None, None, '0', '65536', '1000000'],
    'AMALGAM_SHM_COPY': [None, None, 'direct', 'cma', 'segment', 'segment'],
    'AMALGAM_SHM_FENCE': [None, None, '1'],
    'ABT_MEM_MAX_NUM_STACKS': [None, None, None, '0', '1'],
}

# Paths that a normal machine does not take. UCX finds the memory of other
# ranks by System V there, as its other ways need /dev/shm or /proc.
SMALL_SHM = ['unshare', '-r', '-m', 'sh', '-c',
             'mount -t tmpfs -o size=8m none /dev/shm && exec "$@"', 'sh']
USER_NAMESPACE = ['unshare', '-r']
UCX_APART = {'UCX_TLS': 'sysv,self'}

# Runs with --faults: one in so many calls that the library makes fails; UCX must
# not put hooks into mmap().
FAULTS = ['100', '300', '1000', '1000', '3000', '10000']
WITH_FAULTS = {'UCX_MEM_EVENTS': 'n', 'UCX_MEM_MMAP_HOOK_MODE': 'none'}

# Number of bits of each mask of the programs; see plan.h, margo_torture.h, and
# torture_thallium.cc.
MASKS = {
    'torture_hg': {'ops': 14, 'ways': 10, 'handlers': 10, 'ends': 5},
    'torture_margo': {'ops': 7, 'ways': 8, 'handlers': 7, 'ends': 5},
    'torture_thallium': {'ops': 10, 'ways': 6, 'ends': 5},
}

# Bits that came later: drawn apart, so that the masks of a seed stay.
GROUPS = {'ops': ['0', '0', '0x10000', '0x20000', '0x30000'],
          'ways': ['0', '0x400']}

# Options that the programs draw themselves where none is given.
OPTIONS = {
    '--threads': [None, None, '1', '1', '2', '4'],
    '--contexts': [None, None, '1', '3'],
    '--classes': [None, None, '1', '2'],
    '--rounds': [None, None, None, '3'],
    '--calls': [None, None, None, '40', '1000'],
}


def pick(seed, name, values):
    """One of `values`, by seed and name."""
    return random.Random('%d %s' % (seed, name)).choice(values)


def mask(seed, name, count):
    """Bits of an option: two kinds of traffic that cross, or half of all, so
    that rare ones are not covered by the rest; None: the program draws."""
    how = pick(seed, name + ' how', ['all', 'all', 'two', 'half'])
    bits = range(count)
    if how == 'all':
        return None
    chosen = random.Random('%d %s' % (seed, name)).sample(
        bits, 2 if how == 'two' else len(bits) // 2)
    return '0x%x' % sum(1 << bit for bit in chosen)


class Build:
    """A build of the project: what it has, and how its programs are run."""

    def __init__(self, root, folder):
        self.root = root
        self.folder = os.path.abspath(folder)
        self.cache = {}
        with open(os.path.join(self.folder, 'CMakeCache.txt')) as lines:
            for line in lines:
                name, _, value = line.rstrip('\n').partition('=')
                self.cache[name.partition(':')[0]] = value
        self.sanitizer = self.cache.get('AMALGAM_SANITIZE', '')
        # Threads of MPI's libraries are no business of tsan.
        self.has_mpi = (self.cache.get('AMALGAM_MPI') == 'ON'
                        and self.sanitizer != 'tsan')
        self.has_ofi = self.cache.get('AMALGAM_OFI') == 'ON'

    def program(self, name):
        return os.path.join(self.folder, 'tests/torture', name)

    def programs(self):
        return [name for name in PROGRAMS
                if os.access(self.program(name), os.X_OK)]

    def transports(self):
        return [name for name, (starter, _) in TRANSPORTS.items()
                if (self.has_mpi or starter == 'fork')
                and (self.has_ofi or 'tcp' not in name)]

    def launcher(self):
        """What tests/processes/launch needs."""
        env = {'MPIEXEC': self.cache['MPIEXEC_EXECUTABLE']}
        for name in ('MPIEXEC_PREFLAGS', 'MPIEXEC_POSTFLAGS'):
            if self.cache.get(name):
                env[name] = self.cache[name].replace(';', ' ')
        return env

    def environment(self):
        """What the sanitizers need; see src/verbs.cmake."""
        tests = os.path.join(self.root, 'tests')
        env = {}
        if self.sanitizer in ('asan', 'tsan'):
            env['LD_LIBRARY_PATH'] = os.path.join(self.folder, 'lib')
            env['UCX_MEM_EVENTS'] = 'n'
            env['UCX_MEM_MMAP_HOOK_MODE'] = 'none'
        if self.sanitizer == 'asan':
            env['ASAN_OPTIONS'] = 'detect_leaks=1:abort_on_error=0'
            env['LSAN_OPTIONS'] = (
                'suppressions=%s/lsan.supp:print_suppressions=0' % tests)
            env['UBSAN_OPTIONS'] = 'halt_on_error=1:print_stacktrace=1'
        if self.sanitizer == 'tsan':
            env['TSAN_OPTIONS'] = 'suppressions=%s/tsan.supp' % tests
        return env


class Drawn:
    """What `seed` draws for a build; `only` fixes some of it: program,
    transport, ranks, nodes, place, limit of the launch in seconds, options, and
    variables by their names."""

    def __init__(self, build, seed, only, seeds=SEEDS_PER_LAUNCH):
        self.build = build
        self.seed = seed
        self.only = only
        self.last = seed + seeds - 1
        self.program = self.choose('program', build.programs())
        self.transport = self.choose('transport', build.transports())
        self.starter, nodes = TRANSPORTS[self.transport]
        self.is_spread = 'yes' == only.get('nodes', {
            'no': 'no', 'always': 'yes',
            'maybe': pick(seed, 'nodes', ['yes', 'no'])}[nodes])
        # Where /dev/shm is small, calls may end with HG_NOMEM, which the books
        # do not expect: that place is only taken where it is asked for.
        self.place = self.choose('place', ['plain'] * 10 + ['apart'])
        if self.starter == 'fork' and self.place == 'apart':
            self.place = 'plain'
        self.ranks = self.draw_ranks()
        self.env = self.draw_environment()
        self.options = self.draw_options()

    def choose(self, name, values):
        return self.only.get(name) or pick(self.seed, name, values)

    def draw_ranks(self):
        if self.transport == 'self':
            return 1
        many = pick(self.seed, 'many', [None] * 60 + [8, 8, 12, 16, 48])
        return int(self.choose('ranks', [many or 2, many or 2, many or 3,
                                         many or 4, many or 5, many or 6,
                                         many or 1]))

    def draw_environment(self):
        odds = pick(self.seed, 'odds', [1, 1, 4])  # one in so many is drawn
        env = {name: pick(self.seed, name, values)
               for name, values in ENVIRONMENT.items()
               if not pick(self.seed, 'without ' + name, range(odds))}
        if self.is_spread and self.transport == 'auto':
            env['AMALGAM_INTERNODE'] = pick(
                self.seed, 'internode',
                [None, 'ofi+tcp'] if self.build.has_ofi else [None])
        env.update((name, value or None) for name, value in self.only.items()
                   if name.isupper())
        return {name: value for name, value in env.items()
                if value is not None}

    def draw_options(self):
        options = {
            '--transport': self.transport,
            '--seed': '%d:%d' % (self.seed, self.last),
            '--limit': str(LIMIT_S + 2 * self.ranks),
        }
        for name, values in OPTIONS.items():
            options[name] = pick(self.seed, name, values)
        for name, count in MASKS[self.program].items():
            options['--' + name] = mask(self.seed, name, count)
            if (self.program == 'torture_hg' and name in GROUPS and
                    options['--' + name] is not None):
                options['--' + name] = '0x%x' % (
                    int(options['--' + name], 0) |
                    int(pick(self.seed, 'groups ' + name, GROUPS[name]), 0))
        if self.program == 'torture_thallium' and options['--calls'] == '1000':
            options['--calls'] = None  # its book is for fewer
        if self.ranks > MANY_RANKS:
            options['--calls'] = '40'
            options['--rounds'] = None
        if self.starter == 'fork':
            options['--fork'] = str(self.ranks)
        options.update((name, value or None)
                       for name, value in self.only.items()
                       if name.startswith('--'))
        if options.get('--faults', '') is None:
            options['--faults'] = pick(self.seed, 'faults', FAULTS)
        return {name: value for name, value in options.items()
                if value is not None}

    def choices(self):
        """Names of what was drawn, by which crossings are steered."""
        names = {'%s=%s' % pair for pair in self.env.items()}
        names |= {'%s=%s' % (name, value)
                  for name, value in self.options.items()
                  if name not in ('--seed', '--limit')}
        names |= {self.program, self.place, 'ranks=%d' % self.ranks}
        return names | ({'nodes'} if self.is_spread else set())

    def words(self):
        """The command, from `env` to the last option."""
        env = self.build.environment()
        if '--faults' in self.options:
            env.update(WITH_FAULTS)
            if 'ASAN_OPTIONS' in env:
                env['ASAN_OPTIONS'] += ':verify_asan_link_order=0'
        if self.starter == 'mpiexec':
            env.update(self.build.launcher())
        if self.place != 'plain' and self.starter == 'mpiexec':
            env.update(UCX_APART)
        env.update(self.env)
        words = ['env'] + ['%s=%s' % pair for pair in sorted(env.items())]
        if self.place == 'small':
            words += SMALL_SHM
        if self.starter == 'mpiexec':
            words.append(os.path.join(self.build.root, LAUNCH))
            if self.is_spread:
                per_node = pick(self.seed, 'per node', [1, 2, 2, 3])
                nodes = -(-self.ranks // per_node)
                words += ['-hosts', ','.join('n%d' % n for n in range(nodes)),
                          '-ppn', str(per_node)]
            words += ['-n', str(self.ranks)]
        if self.place == 'apart':
            words += USER_NAMESPACE
        if '--faults' in self.options:
            words += ['env', 'LD_PRELOAD=' + os.path.join(
                self.build.folder, 'lib/libamalgam_inject.so')]
        words.append(self.build.program(self.program))
        for pair in self.options.items():
            words += pair
        return words

    def limit_s(self):
        """After this time nothing more is expected of the command."""
        if 'limit' in self.only:
            return int(self.only['limit'])
        seeds = self.last - self.seed + 1
        slow = 3 if self.build.sanitizer else 1
        limit_s = int(self.options['--limit'])
        seed_s = SEED_S + RANK_S * self.ranks
        return slow * (seeds * (limit_s + seed_s) + seed_s)

    def __str__(self):
        return shlex.join(self.words())
