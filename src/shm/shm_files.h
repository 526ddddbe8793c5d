/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of this user in /dev/shm: names, liveness of the owners, removal of
 * stale files, and the segments in the files. */
#ifndef AMG_SHM_SHM_FILES_H
#define AMG_SHM_SHM_FILES_H

#include "base/process.h"
#include "mercury_core_types.h"
#include "shm/shm_segment.h"
#include "transport/transport.h"

/* Identifier of a domain: plain bytes, valid on this node. */
struct amg_shm_id {
    char name[AMG_SHM_NAME_CAP];
    uint64_t incarnation; /* the random number in the segment */
};

/* A rank of the node. */
struct amg_shm_rank {
    uint32_t rank; /* in the job */
    struct amg_shm_id id;
};

enum { AMG_SHM_PATH_CAP = 128 };

typedef enum amg_life (*amg_shm_life_fn)(uint32_t pid, uint64_t start_time);

/* Identity of this process. */
struct amg_shm_owner {
    uint32_t pid;
    uint64_t start_time; /* of amg_process_start() */
    uint64_t pid_ns;
};

void amg_shm_files_self(struct amg_shm_owner *ret_owner);

/* The path of the segment `name`, and of the doorbell FIFO of a context. */
void amg_shm_files_path(const char *name, char ret_path[AMG_SHM_PATH_CAP]);
void amg_shm_files_doorbell(const char *name, uint64_t incarnation,
    uint8_t context_id, char ret_path[AMG_SHM_PATH_CAP]);

/* Removes the segment at `path` if its owner is certainly dead. True: `path` no
 * longer leads to the segment. False: `*ret_pid` is the owner's pid, or 0. */
bool amg_shm_files_remove_stale(const char *path, uint32_t *ret_pid);

/* Liveness of the owner of a segment of another pid namespace. */
enum amg_life amg_shm_files_life_by_lock(
    const char *name, uint64_t incarnation);

/* Liveness of the owner of a mapped segment. */
enum amg_life amg_shm_files_owner(const struct amg_shm_region *region);

/* Opens, by amg_spare_open(), the file that a process of this pid namespace and
 * user has open as `fd`. -1, with `errno`: not a file of `kind` (S_IFREG,
 * S_IFIFO), or no permission. The caller must check which file was opened,
 * because another process may have `pid` by now. */
int amg_shm_files_open_of(uint32_t pid, int fd, uint32_t kind);

/* Removes the file at `path` if it is the file open as `fd`. */
void amg_shm_files_remove(const char *path, int fd);

/* Removes the files of all dead owners. Returns the number of these files. */
unsigned amg_shm_files_clean(void);

/* Segment of a domain, own or of a peer (shm_region.c). */

/* Parameters of a new segment. */
struct amg_shm_region_params {
    const char *name; /* chosen by the program; "": the library chooses */
    bool is_of_job;   /* the file may lose its name later */
    uint32_t max_contexts;
    uint32_t message_len;
    uint16_t first_credits;
    bool has_membarrier;
    const struct amg_area *area; /* NULL: none */
};

/* Creates the segment of this process. HG_ADDRINUSE: a process that may be
 * alive has the name; HG_INVALID_ARG: no valid name; HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_region_create(const struct amg_shm_region_params *params,
    struct amg_shm_region *ret_region);
struct amg_shm_need;
/* Bytes of /dev/shm that a segment takes; `called`: with `slots` used slots. */
void amg_shm_region_need(const struct amg_shm_region_params *params,
    uint32_t slots, struct amg_shm_need *ret_need);
/* Maps and checks the segment that is called `name`. HG_ADDRNOTAVAIL: no such
 * segment; HG_PROTOCOL_ERROR: not a segment of this version of the library, or
 * damaged; HG_NOMEM; HG_AGAIN: no descriptor is left now; HG_NA_ERROR. */
hg_return_t amg_shm_region_map(
    const char *name, struct amg_shm_region *ret_region);
enum { AMG_SHM_WHY_CAP = 80 };
/* Writes the cause of a failed mapping, with the limit to look at. Returns
 * `ret_text`. */
const char *amg_shm_region_why(hg_return_t why, char ret_text[AMG_SHM_WHY_CAP]);
/* Reserves the pages of `len` bytes at `at` in the segment, so that a write to
 * these bytes cannot raise SIGBUS. False, with `errno`: no room in /dev/shm, or
 * no descriptor is left; try again later. Other failures of the system calls
 * are ignored: true, but without reserved pages. */
bool amg_shm_region_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len);
/* Unmaps the segment; the owner first marks the segment as closed, and removes
 * the file. Accepts a zeroed region. */
void amg_shm_region_fini(struct amg_shm_region *region);

/* Whether `text` can name a segment: 1 to 63 characters of [A-Za-z0-9._-]. */
bool amg_shm_name_is_valid(const char *text);

#endif
