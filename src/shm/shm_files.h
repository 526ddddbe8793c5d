/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of all segments of this user in /dev/shm: their names, whether
 * their owners live, and the removal of those that were left behind. */
#ifndef AMG_SHM_SHM_FILES_H
#define AMG_SHM_SHM_FILES_H

#include "shm/shm_segment.h"

enum { AMG_SHM_PATH_CAP = 128 };

/* Is a process alive? Nothing that a process may still use is freed, unlinked
 * or given away on the third answer. */
enum amg_shm_life {
    AMG_SHM_ALIVE,
    AMG_SHM_DEAD,
    AMG_SHM_UNTOLD, /* no answer, for instance without a descriptor left */
};

/* Of the process of that pid that began at that moment. */
typedef enum amg_shm_life (*amg_shm_life_fn)(uint32_t pid, uint64_t start_time);

/* Who this process is. */
struct amg_shm_owner {
    uint32_t pid;
    uint64_t start_time;
    uint64_t pid_ns;
};

void amg_shm_files_self(struct amg_shm_owner *ret_owner);

/* Does the process of this pid namespace live that started at that moment (0:
 * nobody knows when)? One that has ended is dead, also before its parent has
 * waited for it. */
enum amg_shm_life amg_shm_files_life(uint32_t pid, uint64_t start_time);

/* The path of the segment `name`, and of the bell of one of its contexts. */
void amg_shm_files_path(const char *name, char ret_path[AMG_SHM_PATH_CAP]);
void amg_shm_files_bell(const char *name, uint64_t incarnation,
    uint8_t context_id, char ret_path[AMG_SHM_PATH_CAP]);

/* Removes the segment at `path` if its owner is certainly dead. True: it is
 * gone now. Else `*ret_pid` is the owner's pid, or 0 when that is not known. */
bool amg_shm_files_remove_stale(const char *path, uint32_t *ret_pid);

/* Does the owner of the segment of that name and incarnation live, whose pid
 * means nothing here? */
enum amg_shm_life amg_shm_files_stranger(
    const char *name, uint64_t incarnation);

/* Does the owner of a mapped segment live? */
enum amg_shm_life amg_shm_files_owner(const struct amg_shm_region *region);

/* Opens, by amg_spare_open(), what another process of this pid namespace, and
 * of this user, has open as `fd`; -1: it has nothing of that kind (S_IFREG,
 * S_IFIFO) there, or we may not. Who is called `pid` by then, the caller finds
 * out. */
int amg_shm_files_open_of(uint32_t pid, int fd, uint32_t kind);

/* Removes the file at `path` if it is still the open one. */
void amg_shm_files_remove(const char *path, int fd);

/* Removes all that dead owners left behind. Returns how many files. */
unsigned amg_shm_files_clean(void);

#endif
