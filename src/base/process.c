/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: fork, signals, guarded memory, spare descriptors, files
 * without a name, and the role of a thread. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"

/* Number of forks; written in a forked child, which has one thread. */
static atomic_uint forks;

void amg_fork_tell(
    void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    (void)pthread_atfork(before, after, in_child);
}

/* The linker defines these names at both ends of the section, with protected
 * visibility: no other library can replace them. */
extern char kept_first[] __asm__("__start_amg_locks");
extern char kept_end[] __asm__("__stop_amg_locks");

_Static_assert(
    sizeof(struct amg_lock) <= AMG_LOCK_STEP, "the next lock is one step away");

static struct amg_lock *kept_at(size_t i)
{
    char *at = kept_first + i * AMG_LOCK_STEP;

    return at < kept_end ? (struct amg_lock *)(void *)at : NULL;
}

/* A thread that holds one lock of AMG_LOCK_KEPT may wait for another such lock.
 * So fork() must not wait for a lock while it holds others: it takes all or no
 * locks. The holder of a lock may keep it for long (libfabric looks for its
 * providers under a lock), or call fork() itself: then fork() goes on without
 * the locks, and they are free in the child, but data may be half changed. */
static _Thread_local bool holds_kept;

enum { HOLD_TRIES = 20000 /* of 100 us: 50 us of sleep, 50 us to wake */ };

static bool kept_try(void)
{
    struct amg_lock *lock = NULL;
    size_t i = 0;

    while ((lock = kept_at(i)) != NULL && amg_lock_trylock(lock))
        i++;
    if (lock == NULL)
        return true;
    while (i-- > 0)
        amg_lock_unlock(kept_at(i));
    return false;
}

/* Takes the locks of AMG_LOCK_KEPT, or gives up after about two seconds. */
static void locks_hold(void)
{
    for (unsigned tries = 0; tries < HOLD_TRIES && !holds_kept; tries++) {
        holds_kept = kept_try();
        if (!holds_kept)
            amg_back_off(tries);
    }
}

static void locks_drop(void)
{
    for (size_t i = 0; holds_kept && kept_at(i) != NULL; i++)
        amg_lock_unlock(kept_at(i));
    holds_kept = false;
}

static void child_begin(void)
{
    for (size_t i = 0; kept_at(i) != NULL; i++)
        amg_lock_init(kept_at(i));
    holds_kept = false;
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_begin(void)
{
    amg_fork_tell(locks_hold, locks_drop, child_begin);
}

void amg_fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_begin);
}

unsigned amg_fork_count(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* Network libraries install signal handlers when they are loaded or first used:
 * the handler of PSM, for SIGINT, SIGTERM, SIGSEGV and others, ends the process
 * by exit(1). Libraries linked to a program install handlers before main(), so
 * the program can replace these handlers; libraries loaded later would replace
 * the program's handlers. Between save and restore, a signal runs the handler
 * of the network library, and a handler that another thread sets is lost. So a
 * driver is loaded once, by the first HG_Init() that needs the driver. */

/* NOTE(lock): held from save to restore, over dlopen() or fi_getinfo(), as the
 * signal actions belong to the process. */
static struct amg_lock signals_lock AMG_LOCK_KEPT;

void amg_signals_save(struct amg_signals *signals)
{
    amg_lock_lock(&signals_lock);
    memset(signals, 0, sizeof(*signals));
    for (int i = 1; i < AMG_SIGNALS; i++)
        (void)sigaction(i, NULL, &signals->kept[i]);
}

void amg_signals_restore(const struct amg_signals *signals)
{
    for (int i = 1; i < AMG_SIGNALS; i++)
        (void)sigaction(i, &signals->kept[i], NULL);
    amg_lock_unlock(&signals_lock);
}

/* A guard by mprotect() splits the mapping at every stack, and the kernel
 * allows 65530 mappings (vm.max_map_count): 32,000 stacks. Linux 6.13 has
 * guards that do not split a mapping, so adjacent stacks stay one mapping. */

enum {
    GUARD_INSTALL = 102, /* MADV_GUARD_INSTALL, which old headers lack */
};

void *amg_guarded_open(size_t len)
{
    size_t whole = AMG_GUARD_LEN + len;
    char *base = NULL;
    int cause = 0;

    if (whole < len) {
        errno = ENOMEM;
        return NULL;
    }
    base = mmap(NULL, whole, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    /* A huge page of 2 MiB for each stack would cost as much as 512 pages.
     * madvise() fails on kernels without huge pages. */
    madvise(base, whole, MADV_NOHUGEPAGE);
    if (madvise(base, AMG_GUARD_LEN, GUARD_INSTALL) == 0 ||
        mprotect(base, AMG_GUARD_LEN, PROT_NONE) == 0)
        return base + AMG_GUARD_LEN;
    cause = errno;
    munmap(base, whole);
    errno = cause;
    return NULL;
}

void amg_guarded_close(void *base, size_t len)
{
    munmap((char *)base - AMG_GUARD_LEN, AMG_GUARD_LEN + len);
}

/* Closing the spare descriptor makes room for the one that the caller needs.
 * A second thread may take that room first; then the caller's open() fails, as
 * without a spare. No thread waits for the spare, so there is no lock; a second
 * caller fails while the spare is in use, and has to try again later. */

enum { NONE = -1 };

static atomic_int spare = NONE; /* the descriptor; a user takes it by an
                                 * exchange */
static atomic_int holders;

uint64_t amg_descriptor_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur
                                                 : UINT64_MAX;
}

bool amg_spare_is_out(void)
{
    return atomic_load_explicit(&spare, memory_order_relaxed) == NONE;
}

static void spare_fill(void)
{
    int expected = NONE;
    int fd = NONE;

    if (!amg_spare_is_out())
        return;
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !atomic_compare_exchange_strong_explicit(&spare, &expected,
                       fd, memory_order_relaxed, memory_order_relaxed))
        close(fd);
}

static void spare_close(void)
{
    int fd = atomic_exchange_explicit(&spare, NONE, memory_order_relaxed);

    if (fd >= 0)
        close(fd);
}

void amg_spare_hold(void)
{
    atomic_fetch_add_explicit(&holders, 1, memory_order_relaxed);
    spare_fill();
}

void amg_spare_drop(void)
{
    if (atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed) == 1)
        spare_close();
}

void amg_spare_close(int fd)
{
    int err = errno;

    if (fd >= 0)
        close(fd);
    if (atomic_load_explicit(&holders, memory_order_relaxed) > 0)
        spare_fill();
    errno = err;
}

int amg_spare_open(const char *path, int flags)
{
    int fd = open(path, flags);

    if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
        return fd;
    spare_close();
    fd = open(path, flags);
    if (fd < 0)
        amg_spare_close(fd);
    return fd;
}

_Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));

bool amg_file_may_have(uint64_t len)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY || len <= limit.rlim_cur)
        return true;
    errno = EFBIG;
    return false;
}

int amg_file_make(const char *folder, uint64_t len)
{
    int fd = amg_file_may_have(len)
                 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                 : -1;
    int error = 0;

    if (fd < 0 || (ftruncate(fd, (off_t)len) == 0 && flock(fd, LOCK_SH) == 0))
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

enum {
    STAT_CAP = 1024, /* more than /proc/PID/stat has */
    /* Fields of /proc/PID/stat, see proc(5); field 2 is a name in brackets. */
    STAT_NAME = 2,
    STAT_STATE = 3,
    STAT_THREADS = 20,
    STAT_START_TIME = 22,
    STAT_START_STACK = 28,
    TIME_BITS = 40, /* bits of a start time: 348 years in ticks of 10 ms */
};

/* Reads /proc/PID/stat; false: `errno` is set. */
static bool stat_read(uint32_t pid, char ret_text[STAT_CAP])
{
    char path[64];
    ssize_t len = 0;
    int fd = -1;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    fd = amg_spare_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, ret_text, STAT_CAP - 1);
    amg_spare_close(fd);
    if (len <= 0)
        return false;
    ret_text[len] = '\0';
    return true;
}

/* A field behind the name (the name may have spaces); NULL: no such field. */
static const char *stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')');

    for (int field = STAT_NAME; at != NULL && field < number; field++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

static uint64_t stat_number(const char *text, int number)
{
    const char *at = stat_field(text, number);

    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

/* The start time in the low TIME_BITS; in the bits above, the address of the
 * stack, because exec() keeps the start time but moves the stack. The upper
 * bits are 0 if this process may not read the address. */
static uint64_t stat_start(const char *text)
{
    return stat_number(text, STAT_START_TIME) |
           stat_number(text, STAT_START_STACK) >> 4 << TIME_BITS;
}

static bool is_other_start(uint64_t one, uint64_t other)
{
    return (one ^ other) << (64 - TIME_BITS) != 0 ||
           (one >> TIME_BITS != other >> TIME_BITS && one >> TIME_BITS != 0 &&
               other >> TIME_BITS != 0);
}

/* Whether the process is a zombie. The state alone does not tell: a process
 * whose main thread has ended shows that state, too. */
static bool stat_has_ended(const char *text)
{
    const char *state = stat_field(text, STAT_STATE);

    return state != NULL && (*state == 'Z' || *state == 'X') &&
           stat_number(text, STAT_THREADS) <= 1;
}

uint64_t amg_process_space(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino
                                                   : 0;
}

uint64_t amg_process_start(uint32_t pid)
{
    char text[STAT_CAP];

    return stat_read(pid, text) ? stat_start(text) : 0;
}

char amg_process_state(uint32_t pid)
{
    char text[STAT_CAP];
    const char *state =
        stat_read(pid, text) ? stat_field(text, STAT_STATE) : NULL;

    return state == NULL ? '\0' : *state;
}

static bool is_no_process(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

enum amg_life amg_process_life(uint32_t pid, uint64_t start_time)
{
    char text[STAT_CAP];
    uint64_t began = 0;

    if (is_no_process(pid))
        return AMG_LIFE_DEAD;
    if (!stat_read(pid, text)) /* the process may have ended meanwhile */
        return is_no_process(pid) ? AMG_LIFE_DEAD : AMG_LIFE_UNKNOWN;
    began = stat_start(text);
    if (began == 0)
        return AMG_LIFE_UNKNOWN;
    /* start_time 0: unknown, or the owner could not read /proc itself. */
    if (stat_has_ended(text) ||
        (start_time != 0 && is_other_start(began, start_time)))
        return AMG_LIFE_DEAD;
    return AMG_LIFE_ALIVE;
}
