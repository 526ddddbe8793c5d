/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of this user in /dev/shm: segments, their doorbells, and node memory.
 *
 *   amalgam-UID-NAME                       a segment
 *   amalgam-UID-NAME:CONTEXT:INCARNATION   a doorbell of the segment NAME
 *   amalgam-UID-table-...                  node memory (shm_region.c)
 *
 * In the same pid namespace, pid and start time of the owner tell whether the
 * owner is alive, even if the pid was reused, the owner called exec(), the
 * owner is another class of this process, or a forked child keeps a file lock.
 * A pid of another namespace means nothing here; but each owner holds a shared
 * flock on its file, so a process that gets the exclusive flock knows that the
 * owner is dead. If pid and start time do not tell (/proc cannot be read, or no
 * descriptor is left), a file is removed only if its flock is free.
 *
 * On a node where each rank can open a neighbour's segment through /proc, the
 * segments of a job lose their names while the class opens, and their doorbells
 * get no name (amg_shm_node_unname): a job that is killed later leaves no file.
 *
 * To remove a stale segment, a process takes a second lock on the file, which
 * owners do not take, and then checks that the path still leads to the file: so
 * two processes that clean cannot remove a segment created meanwhile. The name
 * of a doorbell has the incarnation of its segment. A doorbell is made after
 * its segment and removed before its segment: so a doorbell without its segment
 * is stale. */
#include "shm/shm_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"

#define FOLDER        "/dev/shm/"
#define PREFIX        "amalgam-"
#define DOORBELL_MARK ':'

enum {
    REMOVER_TRIES = 1000, /* attempts to lock a file; all take about 0.1 s */
    STAT_CAP = 1024,      /* more than /proc/PID/stat has */
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

static uint64_t pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino
                                                   : 0;
}

void amg_shm_files_self(struct amg_shm_owner *ret_owner)
{
    char text[STAT_CAP];

    ret_owner->pid = (uint32_t)getpid();
    ret_owner->start_time =
        stat_read(ret_owner->pid, text) ? stat_start(text) : 0;
    ret_owner->pid_ns = pid_namespace();
}

static bool is_no_process(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

enum amg_shm_life amg_shm_files_life(uint32_t pid, uint64_t start_time)
{
    char text[STAT_CAP];
    uint64_t began = 0;

    if (is_no_process(pid))
        return AMG_SHM_DEAD;
    if (!stat_read(pid, text)) /* the process may have ended meanwhile */
        return is_no_process(pid) ? AMG_SHM_DEAD : AMG_SHM_LIFE_UNKNOWN;
    began = stat_start(text);
    if (began == 0)
        return AMG_SHM_LIFE_UNKNOWN;
    /* start_time 0: unknown, or the owner could not read /proc itself. */
    if (stat_has_ended(text) ||
        (start_time != 0 && is_other_start(began, start_time)))
        return AMG_SHM_DEAD;
    return AMG_SHM_ALIVE;
}

void amg_shm_files_path(const char *name, char ret_path[AMG_SHM_PATH_CAP])
{
    AMG_ASSERT(strlen(name) < AMG_SHM_NAME_CAP);
    snprintf(ret_path, AMG_SHM_PATH_CAP, FOLDER PREFIX "%u-%s",
        (unsigned)geteuid(), name);
}

void amg_shm_files_doorbell(const char *name, uint64_t incarnation,
    uint8_t context_id, char ret_path[AMG_SHM_PATH_CAP])
{
    size_t len = 0;

    amg_shm_files_path(name, ret_path);
    len = strlen(ret_path);
    snprintf(ret_path + len, AMG_SHM_PATH_CAP - len, "%c%u:%016" PRIx64,
        DOORBELL_MARK, context_id, incarnation);
}

/* Whether the path still leads to the open file. */
static bool is_at(const char *path, int fd)
{
    struct stat of_path;
    struct stat of_fd;

    return lstat(path, &of_path) == 0 && fstat(fd, &of_fd) == 0 &&
           of_path.st_ino == of_fd.st_ino && of_path.st_dev == of_fd.st_dev;
}

/* Reads the head of a segment; false: not a segment of this version. */
static bool head_read(int fd, struct amg_shm_head *ret_head)
{
    return pread(fd, ret_head, sizeof(*ret_head), 0) ==
               (ssize_t)sizeof(*ret_head) &&
           ret_head->magic == AMG_SHM_MAGIC &&
           ret_head->version == AMG_SHM_VERSION;
}

/* Makes the caller the only process that removes this file, until the caller
 * closes `fd`. Waits for another remover only for a short time: a child that
 * the other remover forked keeps the lock until the child ends. */
static bool is_only_remover(int fd)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    for (unsigned i = 0; i < REMOVER_TRIES; i++) {
        if (fcntl(fd, F_OFD_SETLK, &all) == 0)
            return true;
        amg_back_off(i);
    }
    return false;
}

/* Whether the owner of the open file is dead: by pid and start time or, if
 * these do not tell, by the flock, which a child of the owner may keep. */
static bool owner_is_dead(int fd, uint32_t *ret_pid)
{
    struct amg_shm_head head;
    enum amg_shm_life life = AMG_SHM_LIFE_UNKNOWN;

    if (head_read(fd, &head)) {
        *ret_pid = head.pid;
        if (head.pid_ns == pid_namespace())
            life = amg_shm_files_life(head.pid, head.start_time);
    }
    return life == AMG_SHM_DEAD ||
           (life == AMG_SHM_LIFE_UNKNOWN && flock(fd, LOCK_EX | LOCK_NB) == 0);
}

bool amg_shm_files_remove_stale(const char *path, uint32_t *ret_pid)
{
    int fd = amg_spare_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_gone = false;

    *ret_pid = 0;
    if (fd < 0)
        return errno == ENOENT;
    if (owner_is_dead(fd, ret_pid))
        is_gone =
            is_only_remover(fd) && (!is_at(path, fd) || unlink(path) == 0);
    amg_spare_close(fd);
    return is_gone;
}

int amg_shm_files_open_of(uint32_t pid, int fd, uint32_t kind)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%d", pid, fd);
    /* Checks the kind first: to open some devices has side effects. */
    if (stat(path, &status) != 0)
        return -1;
    if ((status.st_mode & S_IFMT) != kind || status.st_uid != geteuid()) {
        errno = ENOENT;
        return -1;
    }
    return amg_spare_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void amg_shm_files_remove(const char *path, int fd)
{
    if (is_at(path, fd))
        unlink(path);
}

enum amg_shm_life amg_shm_files_life_by_lock(
    const char *name, uint64_t incarnation)
{
    char path[AMG_SHM_PATH_CAP];
    struct amg_shm_head head;
    enum amg_shm_life life = AMG_SHM_LIFE_UNKNOWN;
    int fd = -1;

    amg_shm_files_path(name, path);
    fd = amg_spare_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? AMG_SHM_DEAD : AMG_SHM_LIFE_UNKNOWN;
    /* DEAD: another segment has the name, or no process holds the lock. */
    if (head_read(fd, &head) && head.incarnation != incarnation)
        life = AMG_SHM_DEAD;
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        life = AMG_SHM_DEAD;
    else if (errno == EWOULDBLOCK)
        life = AMG_SHM_ALIVE;
    amg_spare_close(fd);
    return life;
}

enum amg_shm_life amg_shm_files_owner(const struct amg_shm_region *region)
{
    uint64_t own = pid_namespace();

    if (region->pid_ns == own)
        return amg_shm_files_life(region->pid, region->start_time);
    return own == 0
               ? AMG_SHM_LIFE_UNKNOWN
               : amg_shm_files_life_by_lock(region->name, region->incarnation);
}

/* Whether the segment of the doorbell `file` no longer exists. */
static bool doorbell_is_stale(const char *file)
{
    char path[AMG_SHM_PATH_CAP];
    struct amg_shm_head head;
    const char *mark = strchr(file, DOORBELL_MARK);
    const char *last = strrchr(file, DOORBELL_MARK);
    bool is_stale = false;
    int fd = -1;

    snprintf(path, sizeof(path), FOLDER "%.*s", (int)(mark - file), file);
    fd = amg_spare_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT;
    /* The owner of a segment of another version may be alive. */
    if (head_read(fd, &head))
        is_stale = head.incarnation != strtoull(last + 1, NULL, 16);
    amg_spare_close(fd);
    return is_stale;
}

static bool file_clean(const char *file)
{
    char path[sizeof(FOLDER) + NAME_MAX];
    uint32_t pid = 0;

    snprintf(path, sizeof(path), FOLDER "%s", file);
    if (strchr(file, DOORBELL_MARK) == NULL)
        return amg_shm_files_remove_stale(path, &pid);
    return doorbell_is_stale(file) && unlink(path) == 0;
}

/* Removes stale doorbells, or all other stale files; returns how many files. */
static unsigned folder_clean(DIR *folder, bool doorbells)
{
    char prefix[AMG_SHM_PATH_CAP];
    struct dirent *entry = NULL;
    unsigned count = 0;
    size_t len = 0;

    amg_shm_files_path("", prefix);
    len = strlen(prefix) - strlen(FOLDER);
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *file = entry->d_name;

        if (strncmp(file, prefix + strlen(FOLDER), len) == 0 &&
            strlen(file) < AMG_SHM_PATH_CAP - sizeof(FOLDER) &&
            (strchr(file, DOORBELL_MARK) != NULL) == doorbells)
            count += file_clean(file);
    }
    return count;
}

unsigned amg_shm_files_clean(void)
{
    DIR *folder = opendir(FOLDER);
    unsigned count = 0;

    if (folder == NULL)
        return 0;
    count = folder_clean(folder, false);
    count += folder_clean(folder, true);
    closedir(folder);
    if (count > 0)
        AMG_LOG_INFO(
            "shm", "removed %u files of dead processes from %s", count, FOLDER);
    return count;
}
