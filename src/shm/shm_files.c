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
};

void amg_shm_files_self(struct amg_shm_owner *ret_owner)
{
    ret_owner->pid = (uint32_t)getpid();
    ret_owner->start_time = amg_process_start(ret_owner->pid);
    ret_owner->pid_ns = amg_process_space();
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
    enum amg_life life = AMG_LIFE_UNKNOWN;

    if (head_read(fd, &head)) {
        *ret_pid = head.pid;
        if (head.pid_ns == amg_process_space())
            life = amg_process_life(head.pid, head.start_time);
    }
    return life == AMG_LIFE_DEAD ||
           (life == AMG_LIFE_UNKNOWN && flock(fd, LOCK_EX | LOCK_NB) == 0);
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

enum amg_life amg_shm_files_life_by_lock(const char *name, uint64_t incarnation)
{
    char path[AMG_SHM_PATH_CAP];
    struct amg_shm_head head;
    enum amg_life life = AMG_LIFE_UNKNOWN;
    int fd = -1;

    amg_shm_files_path(name, path);
    fd = amg_spare_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? AMG_LIFE_DEAD : AMG_LIFE_UNKNOWN;
    /* DEAD: another segment has the name, or no process holds the lock. */
    if (head_read(fd, &head) && head.incarnation != incarnation)
        life = AMG_LIFE_DEAD;
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        life = AMG_LIFE_DEAD;
    else if (errno == EWOULDBLOCK)
        life = AMG_LIFE_ALIVE;
    amg_spare_close(fd);
    return life;
}

enum amg_life amg_shm_files_owner(const struct amg_shm_region *region)
{
    uint64_t own = amg_process_space();

    if (region->pid_ns == own)
        return amg_process_life(region->pid, region->start_time);
    return own == 0
               ? AMG_LIFE_UNKNOWN
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
