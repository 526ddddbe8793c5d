/* SPDX-License-Identifier: BSD-3-Clause */
/* Segment of a domain: its creation, and the mapping of a peer's. */
#include "shm/shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "shm/shm_files.h"

#define FOLDER "/dev/shm"

enum { NAME_TRIES = 100000 };

bool amg_shm_name_is_valid(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < AMG_SHM_NAME_CAP &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static uint64_t page_up(uint64_t len)
{
    return (len + AMG_SHM_PAGE - 1) / AMG_SHM_PAGE * AMG_SHM_PAGE;
}

static uint64_t line_up(uint64_t len)
{
    return (len + AMG_SHM_LINE - 1) / AMG_SHM_LINE * AMG_SHM_LINE;
}

static uint64_t random_word(void)
{
    uint64_t word = 0;

    if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != (ssize_t)sizeof(word))
        word = amg_clock_ns() * 0x9e3779b97f4a7c15ull + (uint64_t)getpid();
    return word | 1; /* never 0 */
}

static void head_lay(const struct amg_shm_plan *plan, struct amg_shm_head *head)
{
    uint64_t at = line_up(sizeof(*head));

    head->msgbuf_stride =
        (uint32_t)(sizeof(struct amg_shm_msgbuf) + line_up(plan->message_len));
    head->contexts_at = at;
    at += plan->max_contexts * sizeof(struct amg_shm_context);
    head->claims_at = at;
    at = page_up(at + AMG_SHM_SLOTS * sizeof(uint64_t));
    head->keys_at = at;
    at = page_up(at + AMG_SHM_KEYS_LEN);
    head->rings_at = at;
    at = page_up(at + AMG_SHM_SLOTS * sizeof(struct amg_shm_ring));
    head->msgbufs_at = at;
    at = page_up(at + (uint64_t)AMG_SHM_MSGBUFS * head->msgbuf_stride);
    head->chunks_at = at;
    at = page_up(at + AMG_SHM_CHUNKS_LEN);
    head->len = at;
}

static void head_fill(
    const struct amg_shm_plan *plan, struct amg_shm_head *head)
{
    struct amg_shm_owner self;

    amg_shm_files_self(&self);
    *head = (struct amg_shm_head){
        .magic = AMG_SHM_MAGIC,
        .version = AMG_SHM_VERSION,
        .head_len = sizeof(*head),
        .incarnation = random_word(),
        .pid_ns = self.pid_ns,
        .start_time = self.start_time,
        .pid = self.pid,
        .message_len = plan->message_len,
        .probe = random_word(),
        .area_fd = -1,
        .max_contexts = plan->max_contexts,
        .has_membarrier = plan->has_membarrier,
    };
    if (plan->area != NULL) {
        head->area_base = (uint64_t)(uintptr_t)plan->area->base;
        head->area_len = plan->area->len;
        head->area_fd = plan->area->fd;
    }
    head_lay(plan, head);
}

/* The private copy of what the head says. */
static void region_take(
    struct amg_shm_region *region, const struct amg_shm_head *head, void *base)
{
    char *bytes = base;

    region->head = base;
    region->len = head->len;
    memcpy(region->name, head->name, sizeof(region->name));
    region->incarnation = head->incarnation;
    region->pid_ns = head->pid_ns;
    region->start_time = head->start_time;
    region->pid = head->pid;
    region->max_contexts = head->max_contexts;
    region->message_len = head->message_len;
    region->msgbuf_stride = head->msgbuf_stride;
    region->has_membarrier = head->has_membarrier != 0;
    region->contexts = (void *)(bytes + head->contexts_at);
    region->claims = (void *)(bytes + head->claims_at);
    region->keys = bytes + head->keys_at;
    region->rings = (void *)(bytes + head->rings_at);
    region->msgbufs = (uint8_t *)bytes + head->msgbufs_at;
    region->chunks = (uint8_t *)bytes + head->chunks_at;
}

static hg_return_t segment_map(int fd, uint64_t len, void **ret_base)
{
    void *base = mmap(
        NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (base == MAP_FAILED) {
        AMG_LOG_ERROR("shm", "cannot map %" PRIu64 " bytes of " FOLDER ": %s",
            len, strerror(errno));
        return errno == ENOMEM ? HG_NOMEM : HG_NA_ERROR;
    }
    *ret_base = base;
    return HG_SUCCESS;
}

/* Gives the file without a name its name. HG_ADDRINUSE: it belongs to somebody
 * who lives. */
static hg_return_t segment_name(int fd, const char *name)
{
    char path[AMG_SHM_PATH_CAP];
    char from[64];
    uint32_t pid = 0;

    amg_shm_files_path(name, path);
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
            return HG_SUCCESS;
        if (errno != EEXIST) {
            AMG_LOG_ERROR("shm", "cannot make %s: %s (is /proc mounted?)", path,
                strerror(errno));
            return HG_NA_ERROR;
        }
        if (!amg_shm_files_remove_stale(path, &pid))
            break;
    }
    AMG_LOG_DEBUG("shm", "%s belongs to process %" PRIu32, path, pid);
    return HG_ADDRINUSE;
}

/* The name that was chosen, or the next free one of this process. */
static hg_return_t name_choose(
    int fd, const char *chosen, struct amg_shm_head *head)
{
    static atomic_uint next;
    char path[AMG_SHM_PATH_CAP];
    hg_return_t rc = HG_ADDRINUSE;
    uint32_t pid = 0;

    if (chosen[0] != '\0') {
        snprintf(head->name, sizeof(head->name), "%s", chosen);
        rc = segment_name(fd, head->name);
        if (rc != HG_ADDRINUSE)
            return rc;
        amg_shm_files_path(head->name, path);
        if (amg_shm_files_remove_stale(path, &pid))
            return segment_name(fd, head->name);
        AMG_LOG_ERROR("cls",
            "na+sm://%s is in use by process %" PRIu32 "; choose another name, "
            "or end that process",
            chosen, pid);
        return rc;
    }
    for (int i = 0; i < NAME_TRIES && rc == HG_ADDRINUSE; i++) {
        snprintf(head->name, sizeof(head->name), "%" PRIu32 "-%u.%d", head->pid,
            atomic_fetch_add_explicit(&next, 1, memory_order_relaxed), fd);
        rc = segment_name(fd, head->name);
    }
    return rc;
}

/* A file without a name, of the right length, locked. */
static hg_return_t file_make(uint64_t len, int *ret_fd)
{
    int fd = open(FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)len) != 0 || flock(fd, LOCK_SH) != 0) {
        AMG_LOG_ERROR("shm", "cannot make %" PRIu64 " bytes in " FOLDER ": %s",
            len, strerror(errno));
        if (fd >= 0)
            close(fd);
        return HG_NA_ERROR;
    }
    *ret_fd = fd;
    return HG_SUCCESS;
}

/* Opens the segment of that name by the descriptor of its owner; -1. */
static int open_nameless(const char *name)
{
    uint32_t pid = 0;
    unsigned number = 0;
    int fd = -1;

    errno = ENOENT;
    if (sscanf(name, "%" SCNu32 "-%u.%d", &pid, &number, &fd) != 3)
        return -1;
    return amg_shm_files_open_of(pid, fd, S_IFREG);
}

/* Takes pages of the file; false: there are too few. */
static bool file_reserve(int fd, uint64_t at, uint64_t len)
{
    int err = posix_fallocate(fd, (off_t)at, (off_t)len);

    return err != ENOSPC && err != ENOMEM;
}

bool amg_shm_region_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len)
{
    uint64_t offset = (uint64_t)((const char *)at - (const char *)region->head);
    bool is_there = true;
    struct stat status;
    char path[AMG_SHM_PATH_CAP];
    int fd = -1;

    if (region->fd >= 0)
        return file_reserve(region->fd, offset, len);
    amg_shm_files_path(region->name, path);
    fd = amg_spare_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        fd = open_nameless(region->name);
    if (fd < 0)
        return true;
    /* Another one may have that name by now. */
    if (fstat(fd, &status) == 0 && status.st_ino == region->inode)
        is_there = file_reserve(fd, offset, len);
    amg_spare_close(fd);
    return is_there;
}

hg_return_t amg_shm_region_create(
    const struct amg_shm_plan *plan, struct amg_shm_region *ret_region)
{
    struct amg_shm_region region = {.fd = -1};
    struct amg_shm_head head;
    struct amg_shm_head *shared = NULL;
    void *base = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (plan->name[0] != '\0' && !amg_shm_name_is_valid(plan->name)) {
        AMG_LOG_ERROR("cls",
            "'%s' is no name of a shared-memory class: 1 to %d of letters, "
            "digits, '.', '_', '-' are",
            plan->name, AMG_SHM_NAME_CAP - 1);
        return HG_INVALID_ARG;
    }
    head_fill(plan, &head);
    rc = file_make(head.len, &region.fd);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_NOMEM;
    if (!file_reserve(region.fd, 0,
            head.claims_at + AMG_SHM_CLAIMS_AT_ONCE * sizeof(uint64_t)) ||
        !file_reserve(
            region.fd, head.keys_at, AMG_SHM_KEYS_FIRST_PAGES * AMG_SHM_PAGE) ||
        !file_reserve(region.fd, head.msgbufs_at, head.msgbuf_stride)) {
        AMG_LOG_ERROR("shm",
            "no room for a segment in " FOLDER "; remove files there, or make "
            "it larger (docker run --shm-size)");
        goto close_fd;
    }
    rc = segment_map(region.fd, head.len, &base);
    if (rc != HG_SUCCESS)
        goto close_fd;
    shared = base;
    head.probe_addr = (uint64_t)(uintptr_t)&shared->probe;
    /* Whole but for its name; under its name, only complete. */
    if (plan->name[0] != '\0')
        snprintf(head.name, sizeof(head.name), "%s", plan->name);
    memcpy(shared, &head, sizeof(head));
    rc = name_choose(region.fd, plan->name, shared);
    if (rc != HG_SUCCESS)
        goto unmap;
    memcpy(head.name, shared->name, sizeof(head.name));
    region_take(&region, &head, base);
    *ret_region = region;
    return HG_SUCCESS;

unmap:
    munmap(base, head.len);
close_fd:
    close(region.fd);
    return rc;
}

static bool part_is_inside(
    const struct amg_shm_head *head, uint64_t at, uint64_t len)
{
    return at % AMG_SHM_LINE == 0 && at >= sizeof(*head) && at <= head->len &&
           len <= head->len - at;
}

/* Why the head cannot be right, or NULL. */
static const char *head_fault(
    const struct amg_shm_head *head, uint64_t len, const char *name)
{
    if (head->magic != AMG_SHM_MAGIC)
        return "it is no segment of this library";
    if (head->version != AMG_SHM_VERSION || head->head_len != sizeof(*head))
        return "it is of another version of this library";
    if (head->len != len || head->name[AMG_SHM_NAME_CAP - 1] != '\0' ||
        strcmp(head->name, name) != 0 || head->incarnation == 0)
        return "its head does not fit the file";
    if (head->max_contexts == 0 || head->max_contexts > AMG_SHM_CONTEXTS ||
        head->msgbuf_stride % AMG_SHM_LINE != 0 ||
        head->msgbuf_stride < sizeof(struct amg_shm_msgbuf) ||
        head->message_len > head->msgbuf_stride - sizeof(struct amg_shm_msgbuf))
        return "its counts are out of range";
    if (!part_is_inside(head, head->contexts_at,
            head->max_contexts * sizeof(struct amg_shm_context)) ||
        !part_is_inside(
            head, head->claims_at, AMG_SHM_SLOTS * sizeof(uint64_t)) ||
        !part_is_inside(head, head->keys_at, AMG_SHM_KEYS_LEN) ||
        !part_is_inside(head, head->rings_at,
            AMG_SHM_SLOTS * sizeof(struct amg_shm_ring)) ||
        !part_is_inside(head, head->msgbufs_at,
            (uint64_t)AMG_SHM_MSGBUFS * head->msgbuf_stride) ||
        !part_is_inside(head, head->chunks_at, AMG_SHM_CHUNKS_LEN))
        return "its parts do not lie inside";
    return NULL;
}

bool amg_shm_region_is_open_to_us(
    const struct amg_shm_region *own, const struct amg_shm_region *other)
{
    int fd = own->pid_ns == other->pid_ns ? open_nameless(other->name) : -1;
    bool is_open = fd >= 0;

    if (is_open)
        amg_spare_close(fd);
    return is_open;
}

void amg_shm_region_unname(struct amg_shm_region *region)
{
    char path[AMG_SHM_PATH_CAP];

    amg_shm_files_path(region->name, path);
    amg_shm_files_remove(path, region->fd);
    region->has_lost_name = true;
}

/* Why no segment was opened: is there none, or may it be opened later? */
static hg_return_t open_failure(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return HG_AGAIN;
    case ENOENT:
        return HG_ADDRNOTAVAIL;
    default:
        return HG_NA_ERROR;
    }
}

hg_return_t amg_shm_region_map(
    const char *name, struct amg_shm_region *ret_region)
{
    struct amg_shm_region region = {.fd = -1};
    char path[AMG_SHM_PATH_CAP];
    struct amg_shm_head head;
    struct stat status;
    const char *fault = NULL;
    void *base = NULL;
    hg_return_t rc = HG_SUCCESS;
    int fd = -1;

    amg_shm_files_path(name, path);
    fd = amg_spare_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        fd = open_nameless(name);
    if (fd < 0)
        return open_failure(errno);
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid() ||
        pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        fault = "it cannot be read";
    else
        fault = head_fault(&head, (uint64_t)status.st_size, name);
    if (fault != NULL) {
        AMG_LOG_ERROR("shm", "%s is refused: %s", path, fault);
        amg_spare_close(fd);
        return HG_PROTOCOL_ERROR;
    }
    rc = segment_map(fd, head.len, &base);
    amg_spare_close(fd);
    if (rc != HG_SUCCESS)
        return rc;
    region_take(&region, &head, base);
    region.inode = status.st_ino;
    *ret_region = region;
    return HG_SUCCESS;
}

void amg_shm_region_fini(struct amg_shm_region *region)
{
    char path[AMG_SHM_PATH_CAP];

    if (region->head == NULL)
        return;
    if (region->fd >= 0) {
        amg_shm_files_path(region->name, path);
        atomic_store_explicit(
            &region->head->is_closed, 1, memory_order_release);
        amg_shm_files_remove(path, region->fd);
        close(region->fd);
    }
    munmap(region->head, region->len);
    region->head = NULL;
}
